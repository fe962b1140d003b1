"""How figures stand in tables and sentences of the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flashtwin.papers.model import Facts


def percent(value: float | None) -> str:
    """`12.3 %`; an en dash for a missing number."""
    # Adding 0 makes of -0.0 a 0.
    return "–" if value is None else f"{round(value, 1) + 0.0:.1f} %"


def micro(ns: float | None) -> str:
    """Nanoseconds as microseconds."""
    return "–" if ns is None else f"{ns / 1e3:,.1f} µs"


def count(value: float | None) -> str:
    """A count."""
    return "–" if value is None else f"{value:,.0f}"


def column(facts: Mapping[str, Facts], names: Sequence[str], key: str) -> list[float | None]:
    """One figure of every workload, in the paper's order."""
    return [facts.get(name, {}).get(key) for name in names]


def clock(value: float) -> str:
    """A factor of the clock, four digits."""
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"
