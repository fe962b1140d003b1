"""Counts of targets met and missed, for the page on recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evidence.forms import NOTHING, grid, signed

Targets = Sequence[Mapping[str, Any]]
#: Statistics that count something; all others are shares or sizes.
COUNTS = ("requests", "footprint_pages", "write_entries_for_90_percent", "read_entries_for_90_percent")


def every(recipes: Mapping[str, Mapping[str, Any]], verdict: str = "") -> list[dict[str, Any]]:
    """All targets with a verdict, or all that there are, each with the name of its recipe."""
    return [
        {"recipe": name, **target}
        for name, one in recipes.items()
        for target in one["targets"]
        if not verdict or target["verdict"] == verdict
    ]


def checks(recipes: Mapping[str, Mapping[str, Any]]) -> str:
    """Each recipe: its targets, those met, and the one that is furthest off among them."""
    rows = []
    for name, one in recipes.items():
        met = [target for target in one["targets"] if target["verdict"] == "met"]
        exact = [target for target in met if target["bound"] == "equal"]
        last = max(exact, key=lambda target: abs(target["error"] or 0.0), default=None)
        worst = NOTHING if last is None else f"`{last['metric']}` {signed(last['error'] or 0.0)}"
        rows.append([f"`{name}`", f"{one['scale']:.3g}", len(one["targets"]), len(met), worst])
    return grid(["recipe", "scale", "targets", "met", "furthest off of these"], rows)


def imitations(fits: Mapping[str, Targets]) -> str:
    """Each statistic of each trace beside that of its imitation."""
    rows = [
        [f"`{metric}`", *(_beside(fits[trace], metric) for trace in fits)]
        for metric in dict.fromkeys(target["metric"] for targets in fits.values() for target in targets)
    ]
    return grid(["statistic", *fits], rows).replace("| --- " * (1 + len(fits)), "| --- " + "| ---: " * len(fits), 1)


def error(fits: Mapping[str, Targets], trace: str, metric: str) -> float:
    """How far an imitation is from its trace, as a share of it.

    Raises:
        KeyError: it was not compared.
    """
    for target in fits[trace]:
        if target["metric"] == metric:
            return float(target["error"] or 0.0)
    raise KeyError(f"{trace}: {metric}")


def errors(fits: Mapping[str, Targets], metric: str) -> list[float]:
    """The same of all traces."""
    return [error(fits, trace, metric) for trace in fits]


def furthest(*found: Sequence[float]) -> float:
    """The largest error of all, without its sign."""
    return max(abs(value) for values in found for value in values)


def _beside(targets: Targets, metric: str) -> str:
    target = next((target for target in targets if target["metric"] == metric), None)
    if target is None:
        return NOTHING
    digits = 0 if metric in COUNTS or target["wanted"] >= 1000 else 2
    wanted, found = (f"{target[key]:,.{digits}f}" for key in ("wanted", "found"))
    return f"{wanted} → {found} ({signed(target['error'] or 0.0, 2)})"


WORDS = {word.__name__: word for word in (every, checks, imitations, error, errors, furthest)}
