"""Partitions and frequency ratios over many traces (SWC, Fig. 1 and 6)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import Collection, SavedTable

from .. import axes as scales
from .. import style
from . import across
from .base import Chart, Drawing, nothing

_NEEDED = "10,000 requests and 5,000 writes"
_TICKS = (1, 2, 5, 10, 30, 100, 300, 1000)


def draw(results: Collection) -> Drawing:
    """Boxes by category, by f_r and by N; the median f_min by page size."""
    panels = [(make, table) for make, name in _PANELS if (table := results.figure(name)) is not None]
    if not panels:
        return nothing(across.nobody(results, "large_enough", _NEEDED))
    rows = (len(panels) + 1) // 2
    fig = style.figure(2.75 * rows)
    for axes, (make, table) in zip(fig.subplots(rows, 2, squeeze=False).flat, panels, strict=False):
        make(axes, table)
    for axes in fig.axes[len(panels) :]:
        axes.set_axis_off()
    return Drawing(fig, _sees(results), data=across.data(results, "1a", "1b", "1c", "6"))


def _categories(axes: Axes, table: SavedTable) -> None:
    names = across.series(table)
    for place, name in enumerate(names):
        colour = style.INK if name == "all" else style.HUES[0][0]
        across.boxes(axes, table.where("series", name), np.array([float(place)]), colour)
    axes.set_xticks(range(len(names)), [style.shorten(name, 12) for name in names])
    style.quiet(axes).set_ylim(bottom=0)
    axes.set_title("Partitions for f_r ≤ 2, by folder")


def _ratios(axes: Axes, table: SavedTable) -> None:
    x = across.statistic(table, "median")[0]
    across.boxes(axes, table, np.arange(x.size, dtype=float), style.HUES[0][0])
    axes.set_xticks(range(x.size), [f"≤ {scales.plain(float(value))}" for value in x])
    style.quiet(axes).set_ylim(bottom=0)
    axes.set_title("Partitions by frequency ratio")
    axes.set_xlabel("f_r")


def _lowest(axes: Axes, table: SavedTable) -> None:
    x = across.statistic(table, "median")[0]
    across.boxes(axes, table, x, style.HUES[0][0])
    style.quiet(axes)
    scales.factors(axes, _TICKS)
    axes.set_title("Lowest frequency ratio, f_min(N)")
    axes.set_xlabel("partitions N")


def _by_page(axes: Axes, table: SavedTable) -> None:
    names = sorted(across.series(table), key=float)
    for name, colour in zip(names, style.ordered(len(names)), strict=True):
        x, y = across.statistic(table.where("series", name), "median")
        axes.plot(x, y, color=colour, marker="o", markersize=2.5, linewidth=1.3, label=scales.plain_size(float(name)))
    style.quiet(axes, "both")
    scales.factors(axes, _TICKS)
    axes.set_title("Median f_min(N) by page size")
    axes.set_xlabel("partitions N")
    scales.inside_legend(axes, "upper right", ncols=2)


_PANELS = ((_categories, "1a"), (_ratios, "1b"), (_lowest, "1c"), (_by_page, "6"))


def _sees(results: Collection) -> list[str]:
    table = results.figure("1b")
    if table is None:
        return []
    parts = []
    for ratio, paper in ((1.5, "3 to 26"), (2.0, "2 to 16"), (3.0, "2 to 11")):
        rows = table.where("x", ratio)
        low, high = across.single(rows, "minimum"), across.single(rows, "maximum")
        if low is not None and high is not None:
            parts.append(f"{units.count(low)} to {units.count(high)} for f_r ≤ {scales.plain(ratio)} (SWC: {paper})")
    return [f"The traces need {', '.join(parts)} partitions."] if parts else []


CHART = Chart(
    "across_partitions",
    "Partitions over all traces",
    "How many partitions do traces need, and how narrow can a few of them be?",
    "across_writing",
    draw,
)
