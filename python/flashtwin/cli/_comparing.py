"""Targets beside what was achieved, as people and machines read it."""

from __future__ import annotations

from typing import Any

from flashtwin.cli._talk import table
from flashtwin.recipes.workloads import Achieved


def as_row(one: Achieved) -> dict[str, Any]:
    """For machines."""
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
    """Target beside achieved, as a table."""
    header = ("statistic", "target", "achieved", "error %", "verdict")
    return table(header, [_cells(one) for one in achieved])


def _cells(one: Achieved) -> tuple[str, ...]:
    wanted = ("<= " if one.target.bound == "at-most" else "") + number(one.wanted)
    error = "-" if one.error is None else f"{100 * one.error:+.2f}"
    return one.target.metric, wanted, "-" if one.found is None else number(one.found), error, one.verdict


def number(value: float) -> str:
    """A number as people read it."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
