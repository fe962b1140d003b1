"""Documents of studies and sweeps: whole ones fit, and of a damaged one the missing or wrong value is named."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from flashtwin.results import shapes

from .test_fuzz import made_study, made_sweep, written

#: Values that readers do without, or take as they are. `rows.0` stands for all rows.
FREE = {
    "candidates.json": {"format", "second_goal", "own_prices", "shown", "acknowledged", "acknowledged.value"},
    "grounds.json": {"format", "rows.0.choice"},
    "explained.json": {"format", "interrupted", "figures.before"},
    "sweep.json": {
        "store", "search", "flashtwin", "format", "traces.0.path", "traces.0.digest", "axes.engine.hash_us",
        *(f"points.0.{key}" for key in ("settings.engine.hash_us", "key", "error", "ignored", "trial")),
    },
}  # fmt: skip
SHAPES = dict(zip(FREE, (shapes.CANDIDATES, shapes.GROUNDS, shapes.EXPLAINED, shapes.PLAN), strict=True))


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    files = {**made_study()[0], **written(made_sweep)[0]}
    return {name: json.loads(next(text for file, text in files.items() if file.endswith(name))) for name in FREE}


def damaged(value: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each place with the whole without it, and with something there that no reader takes."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        without, other = copy.copy(value), copy.copy(value)
        other[key] = ...
        del without[key]
        here = f"{place}.{key}".lstrip(".")
        # A list without one of its values is a list.
        yield here, without if isinstance(value, dict) else other, other
        for below, less, changed in damaged(value[key], here):
            without, other = copy.copy(value), copy.copy(value)
            without[key], other[key] = less, changed
            yield below, without, other


@pytest.mark.parametrize("name", FREE)
def test_every_value_that_a_reader_needs_is_looked_at(name: str, documents: dict[str, Any]) -> None:
    whole, shape = documents[name], SHAPES[name]
    assert shapes.misfit(whole, shape) is None
    free = set()
    for place, without, other in damaged(whole):
        wrong = [shapes.misfit(one, shape) for one in (without, other)]
        # Of several alternatives the whole is named.
        assert all(one is None or place.startswith(one) for one in wrong), (place, wrong)
        if None in wrong and ".sets." not in place:
            free.add(re.sub(r"\.\d+", ".0", place))
    assert free == FREE[name]


@pytest.mark.parametrize(("value", "shape", "wrong"), [
    (True, {"a": float}, "a"), (1, {"a": bool}, "a"), (1, {"a": float}, None), (1.5, {"a": int}, "a"),
    (None, {"a": (float, type(None))}, None), ("x", {"a": (float, type(None))}, "a"),
    ([1, "x"], {"a": [int]}, "a.1"), ({"b": 1}, {"a": [int]}, "a"), ({"b": "x"}, {"a": {shapes.EACH: str}}, None),
    ({"b": 1}, {"a": {shapes.EACH: str}}, "a.b"), ({}, {"a": {"b?": int}}, None),
    ({"b": "x"}, {"a": {"b?": int}}, "a.b"),
    (0, {"a": shapes.PLAN["trade"]}, "a"), (["read.mean"], {"a": shapes.PLAN["trade"]}, "a"),
    ("no.figure", {"a": shapes.CANDIDATES["goal"]}, "a"), ("time", {"a": shapes.CANDIDATES["goal"]}, None),
])  # fmt: skip
def test_kinds(value: Any, shape: Any, wrong: str | None) -> None:
    assert shapes.misfit({"a": value}, shape) == wrong
