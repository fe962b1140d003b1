"""What the documents of studies and sweeps hold: where a damaged one is read, its file and the value are named.

A shape is a type, a tuple of alternatives, `[shape]` for a list, or a mapping of keys to shapes. Of a mapping, `EACH`
is the shape of every value, and a key with a question mark may be missing. A function says whether a value fits.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from flashtwin.errors import ArgumentError, ReportError
from flashtwin.results.figures import TIME, bounds, figure
from flashtwin.results.over import Over
from flashtwin.results.trees import as_number

EACH = "*"
_NONE = type(None)


def _is_read(value: Any, read: Callable[[str], Any]) -> bool:
    try:
        return isinstance(value, str) and read(value) is not None
    except ArgumentError:
        return False


def _figure(value: Any) -> bool:
    return _is_read(value, figure)


def _goal(value: Any) -> bool:
    return value == TIME.name or _figure(value)


def _bounds(value: Any) -> bool:
    return _is_read(value, bounds)


def _two_figures(value: Any) -> bool:
    return isinstance(value, list) and len(value) >= 2 and all(map(_figure, value))


def _above_0(value: Any) -> bool:
    return (as_number(value) or 0.0) > 0.0


def _from_0(value: Any) -> bool:
    number = as_number(value)
    return number is not None and number >= 0.0


_MODES = ("grid", "zip", "sample", "search")
#: Keys of a configuration with their values.
_SETS = {EACH: object}

CANDIDATES = {
    "goal": _goal, "second_goal?": (_goal, _NONE), "worth": _from_0, "replays": int, "baseline": str,
    "capacity_bytes": (_above_0, _NONE), "unfinished": [str], "left_out": {EACH: str}, "shown?": [str],
    "prices": dict.fromkeys(("flash_gib", "ram_gib", "protected_ram_gib", "lane", "die"), _from_0),
    "candidates": [{
        "name": str, "system": str, "also": [str], "settings": [str], "changes": [str], "sets": _SETS,
        "as_configured": (float, _NONE), "command": str,
    }],
    "acknowledged?": (operator.not_, {"choice": str, "others": [{"value": str, "choice": str, "words": str}]}),
}  # fmt: skip
GROUNDS = {
    "goal_words": str, "changes": [str],
    "rows": [{
        "device": str, "speed": float, "words": str, "value": (str, _NONE), "gain": (float, _NONE),
        "late": (float, _NONE), "why": str, "alike": [str],
    }],
}  # fmt: skip
_CHANGE = {
    "name": str, "words": str, "change": str, "kind": str, "sets": _SETS, "value": float, "percent": float,
    "programs": float, "erases": float, "ram_bytes": float, "takes": str, "command": str,
}  # fmt: skip
EXPLAINED = {
    "topic": str, "claim": str, "answer": str, "reason": str, "figures": {EACH: float}, "evidence": [str],
    "action": {"words": str, "command": str, "sets": _SETS, "change": str, "replayed": bool}, "estimate": str,
    "system": str, "goal": _goal, "goal_words": str, "before": float, "command": str, "more": [str], "replays": int,
    "causes": [{**_CHANGE, "label": str}], "steps": [_CHANGE],
}  # fmt: skip
PLAN = {
    "mode": _MODES.__contains__, "traces": [{"name": str}], "systems": [str], "axes": {EACH: [str]},
    "trade": _two_figures,
    "points": [{
        "point": int, "trace": str, "system": str, "settings": {EACH: str}, "command": str,
        "ignored?": ([str], _NONE), "trial?": (int, _NONE),
    }],
    # Of a grid there is no search.
    "search?": (operator.not_, {
        "minimize": [_figure], "maximize": [_figure], "subject_to": _bounds, "trials": int, "reference?": str,
        "over?": (_NONE, get_args(Over).__contains__),
    }),
}  # fmt: skip


def misfit(value: Any, shape: Any, place: str = "") -> str | None:
    """The place of the first value that is missing or of another kind, such as `rows.0.speed`; None without one."""
    if isinstance(shape, tuple):
        return None if any(misfit(value, one) is None for one in shape) else place
    inner: Iterable[tuple[str, Any, Any]]
    if isinstance(shape, Mapping) and isinstance(value, Mapping):
        inner = _of_keys(value, shape)
    elif isinstance(shape, list) and isinstance(value, list):
        inner = ((str(at), one, shape[0]) for at, one in enumerate(value))
    else:
        return None if not isinstance(shape, list | Mapping) and _fits(value, shape) else place
    found = (misfit(one, of, f"{place}.{name}".lstrip(".")) for name, one, of in inner)
    return next((one for one in found if one is not None), None)


def check(file: Path, found: Mapping[str, Any], shape: Mapping[str, Any], command: str) -> None:
    """Raises `ReportError` where a document is not of its shape; the command makes it again."""
    if (wrong := misfit(found, shape)) is not None:
        raise ReportError(f"{file}: its value '{wrong}' is missing or of another kind; make it again: `{command}`")


def _fits(value: Any, shape: Any) -> bool:
    if not isinstance(shape, type):
        return bool(shape(value))
    is_kind = isinstance(value, (int, float) if shape is float else shape)
    return is_kind and (shape in (bool, object) or not isinstance(value, bool))


def _of_keys(value: Mapping[str, Any], shape: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Each value with its key and its shape; a missing one with no alternative, because that fits nothing."""
    if EACH in shape:
        return [(key, one, shape[EACH]) for key, one in value.items()]
    keys = {key.removesuffix("?"): of for key, of in shape.items() if not key.endswith("?") or key[:-1] in value}
    return [(key, value.get(key), of if key in value else ()) for key, of in keys.items()]
