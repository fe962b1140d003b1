"""How figures stand in tables and sentences of the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flashtwin.papers.model import Facts


def percent(value: float | None) -> str:
    """`12.3 %`; an en dash for what is missing."""
    return "–" if value is None else f"{value:.1f} %"


def micro(ns: float | None) -> str:
    """Nanoseconds as microseconds."""
    return "–" if ns is None else f"{ns / 1e3:,.1f} µs"


def count(value: float | None) -> str:
    """A count."""
    return "–" if value is None else f"{value:,.0f}"


def column(facts: Mapping[str, Facts], names: Sequence[str], key: str) -> list[float | None]:
    """One figure of every workload, in the paper's order."""
    return [facts.get(name, {}).get(key) for name in names]
