"""`flashtwin reproduce` on the terminal: scale, counts and reasons."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flashtwin.cli import _reproducing
from flashtwin.papers import papers
from flashtwin.papers.claims import Agreement

FOLDER = Path("here")
AT_DEFAULT = json.loads(resources.files("flashtwin.papers").joinpath(_reproducing.VERDICTS).read_text("utf-8"))


def item(name: str, verdict: str, explanation: str = "") -> dict[str, Any]:
    return {"id": name, "verdict": verdict, "explanation": explanation, "counts": dict.fromkeys(map(str, Agreement), 1)}


def paper(*items: dict[str, Any], kind: str = "synthetic", scale: float = 0.02, name: str = "rr-ssd") -> dict[str, Any]:
    return {"id": name, "workloads": [{"kind": kind, "scale": scale}], "items": list(items)}


def test_default_scale_verdicts_match_todays_items() -> None:
    for name, one in papers().items():
        assert AT_DEFAULT[name]["scale"] == one.default_scale
        assert set(AT_DEFAULT[name]["items"]) == {item.id for item in one.items}


def test_item_that_differs_by_the_scale_alone_is_not_claimed() -> None:
    assert AT_DEFAULT["rr-ssd"]["items"]["periods"] == "agrees"
    found = paper(item("periods", "disagrees"), item("table-1", "disagrees", "One copy more. And so on."))
    said = _reproducing.summary([found], FOLDER)
    assert said == [
        "scale: recipes of 2 % of the published size; the default is 20 %",
        "2 tables and figures: disagree 1, not claimed at this scale 1",
        "another verdict at the default scale: rr-ssd periods (agrees)",
        "why rr-ssd table-1: One copy more.",
    ]


def test_recorded_traces_and_larger_recipes_are_judged() -> None:
    for found in (paper(item("periods", "disagrees"), kind="recorded", scale=1.0),
                  paper(item("periods", "disagrees"), scale=0.5)):  # fmt: skip
        assert _reproducing.counts([found])[_reproducing.NOT_CLAIMED] == 0
        assert _reproducing.counts([found])[Agreement.DISAGREES] == 1


def test_papers_of_different_scales_are_told_apart() -> None:
    said = _reproducing.summary([paper(), paper(name="ds-ftl", scale=0.01)], FOLDER)
    assert said[:2] == [
        "scale of rr-ssd: recipes of 2 % of the published size; the default is 20 %",
        "scale of ds-ftl: recipes of 1 % of the published size; the default is 10 %",
    ]


def test_reasons_are_few_and_the_rest_has_a_place() -> None:
    reasons = ["A", "A", "B", "C", "D", ""]
    found = paper(*(item(f"x-{at}", "disagrees", f"{one}." if one else "") for at, one in enumerate(reasons)))
    said = _reproducing.summary([found], FOLDER)[2:]
    assert said[0] == "why rr-ssd x-0, rr-ssd x-1: A."
    assert said[-2:] == [f"why 1 other: see {FOLDER / 'reproduction.md'}", "no reason is known for rr-ssd x-5"]
    assert len(said) == 5


def test_sentence_ends_neither_at_a_figure_nor_in_a_number() -> None:
    assert _reproducing._first_sentence("As in Fig. 4 it is 0.5 of it. More.") == "As in Fig. 4 it is 0.5 of it."


@given(st.lists(st.sampled_from([str(one) for one in Agreement]), max_size=20))
def test_every_item_is_counted_once(verdicts: list[str]) -> None:
    names = list(AT_DEFAULT["rr-ssd"]["items"])
    found = paper(*(item(names[at % len(names)], one) for at, one in enumerate(verdicts)))
    assert sum(_reproducing.counts([found]).values()) == len(verdicts)
