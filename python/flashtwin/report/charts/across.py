"""Shared by charts over many traces: boxes, lines with intervals and histograms out of `distributions`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes

from flashtwin.results.reading import Collection, Floats, SavedTable

from .. import axes as scales
from .. import style
from .base import Data

HEADER = ("figure", "series", "x", "statistic", "value")


def series(table: SavedTable) -> list[str]:
    """The names of the series, in order."""
    return list(dict.fromkeys(table.texts.get("series", ())))


def statistic(table: SavedTable, name: str) -> tuple[Floats, Floats]:
    """One statistic of one series: x and value in ascending order of x."""
    rows = table.where("statistic", name)
    if not rows.rows or "x" not in rows.columns:
        return np.zeros(0), np.zeros(0)
    order = np.argsort(rows.columns["x"], kind="stable")
    return rows.columns["x"][order], rows.columns["value"][order]


def single(table: SavedTable, name: str) -> float | None:
    """A statistic that has one value in the series."""
    rows = table.where("statistic", name)
    return float(rows.columns["value"][0]) if rows.rows else None


def boxes(axes: Axes, table: SavedTable, places: Floats, colour: str, width: float = 0.55) -> None:
    """Boxes from the 25th to the 75th percentile with the median, whiskers from minimum to maximum."""
    stats = {name: statistic(table, name)[1] for name in ("minimum", "p25", "median", "p75", "maximum")}
    if any(values.size != places.size for values in stats.values()):
        return
    axes.vlines(places, stats["minimum"], stats["maximum"], color=colour, linewidth=1.0)
    axes.bar(
        places, stats["p75"] - stats["p25"], width, bottom=stats["p25"], color=style.SURFACE, edgecolor=colour,
        linewidth=1.2,
    )  # fmt: skip
    # Bars stick to their bottom, so that limits would cut through a box's edge.
    axes.use_sticky_edges = False
    axes.hlines(stats["median"], places - width / 2, places + width / 2, color=colour, linewidth=2.0)


def interval(axes: Axes, table: SavedTable, colour: str, label: str) -> None:
    """The mean as a line with its 95 % confidence interval."""
    x, mean = statistic(table, "mean")
    axes.plot(x, mean, color=colour, marker="o", markersize=3.5, label=label)
    at, low = statistic(table, "ci95_low")
    _, high = statistic(table, "ci95_high")
    if at.size and low.size == high.size:
        axes.vlines(at, low, high, color=colour, linewidth=1.0)


def histogram(axes: Axes, tables: Iterable[tuple[str, SavedTable, str]], width: float, scale: float = 1.0) -> None:
    """Counts of traces by bin, several series side by side."""
    known = [(label, statistic(table, "traces"), colour) for label, table, colour in tables]
    part = width * 0.9 / max(len(known), 1)
    for place, (label, (edges, counts), colour) in enumerate(known):
        left = edges * scale + width * 0.05 + part * (place + 0.5)
        axes.bar(left, counts, part * 0.95, color=colour, linewidth=0, label=label)
    scales.whole_numbers(axes, "y")


def data(results: Collection, *figures: str) -> Data:
    """The rows of `distributions` behind a chart, scatters with the trace in place of the statistic."""
    found = Data(HEADER)
    for figure in figures:
        table = results.figure(figure)
        if table is None:
            continue
        x = table.columns.get("x", np.full(table.rows, np.nan))
        traces = table.texts.get("trace", ("",) * table.rows)
        for row in range(table.rows):
            statistic_ = table.texts["statistic"][row]
            name = traces[row] if statistic_ == "trace" else statistic_
            found.rows.append(
                (figure, table.texts["series"][row], float(x[row]), name, float(table.columns["value"][row]))
            )
    return found


def nobody(results: Collection, entering: str, needed: str) -> str:
    """Why there is nothing to draw: no trace is large enough."""
    counts = results.info.get("counts")
    held = counts.get(entering) if isinstance(counts, dict) else None
    if held == 0:
        return f"No trace enters this statistic: it takes {needed}."
    return "The distributions of this figure were not written."
