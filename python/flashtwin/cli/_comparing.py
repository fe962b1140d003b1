"""Targets and measured values side by side, for people and machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flashtwin.cli._talk import table
from flashtwin.recipes.workloads import Achieved

if TYPE_CHECKING:
    from flashtwin.recipes.imitation import Replayed


def as_row(one: Achieved) -> dict[str, Any]:
    return {
        "metric": one.target.metric,
        "target": one.wanted,
        "bound": one.target.bound,
        "within_percent": one.target.within_percent,
        "achieved": one.found,
        "error": one.error,
        "verdict": one.verdict,
        "source": one.target.source,
        "conflict": one.target.conflict,
    }


def comparison(achieved: list[Achieved]) -> str:
    header = ("statistic", "target", "achieved", "error %", "verdict", "source")
    return table(header, [_cells(one) for one in achieved], last_is_text=True)


def replayed_row(one: Replayed) -> dict[str, Any]:
    return {**asdict(one), "error": one.error}


def side_by_side(replays: list[Replayed]) -> str:
    rows = [
        (
            one.system,
            one.figure,
            *("-" if value is None else number(value) for value in (one.original, one.imitation)),
            "-" if one.error is None else f"{100 * one.error:+.2f}",
        )
        for one in replays
    ]
    return table(("system", "figure", "original", "imitation", "error %"), rows)


#: How a bound is written before its value.
_SIGNS = {"equal": "", "at-most": "<= ", "at-least": ">= "}


def _cells(one: Achieved) -> tuple[str, ...]:
    wanted = _SIGNS[one.target.bound] + number(one.wanted)
    error = "-" if one.error is None else f"{100 * one.error:+.2f}"
    found = "-" if one.found is None else number(one.found)
    return one.target.metric, wanted, found, error, one.verdict, one.target.source


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
