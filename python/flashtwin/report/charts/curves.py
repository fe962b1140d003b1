"""Shared by charts of curves: reading a curve off a table, and reading a value off a curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flashtwin.results.reading import Floats, SavedTable


def curve(table: SavedTable | None, x: str, y: str) -> tuple[Floats, Floats] | None:
    """Two columns as a curve in ascending order of x, without the points where either is missing."""
    if table is None:
        return None
    a, b = table.get(x), table.get(y)
    if a is None or b is None:
        return None
    keep = np.isfinite(a) & np.isfinite(b)
    if not keep.any():
        return None
    order = np.argsort(a[keep], kind="stable")
    return a[keep][order], b[keep][order]


def first_at(x: Floats, y: Floats, level: float) -> float | None:
    """The first x at which an ascending curve is at `level` or above; None when it stays below."""
    reached = np.flatnonzero(y >= level)
    return float(x[reached[0]]) if reached.size else None


def sentence(parts: Sequence[str]) -> str:
    """Parts joined by semicolons as one sentence with a capital letter."""
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def nearest(values: Sequence[float], wanted: float) -> float | None:
    """The value nearest to the wanted one; of two as near the smaller."""
    return min(values, key=lambda value: (abs(value - wanted), value), default=None)
