"""Read amplification over many traces, its estimate and the locality discount (SWC, Fig. 10, 17, 18)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flashtwin import units
from flashtwin.results.reading import Collection, Floats, SavedTable

from .. import axes as scales
from .. import style
from . import across
from .base import Chart, Drawing, nothing

NEEDED = "10,000 requests, 5,000 writes and 5,000 reads"


def draw(results: Collection) -> Drawing:
    """Boxes by page size and the scatter against the estimate; below, four regressions on the discount."""
    boxes, estimates, discounts = (results.figure(name) for name in ("10", "17", "18"))
    if boxes is None:
        return nothing(across.nobody(results, "read_amplification", NEEDED))
    fig = style.figure(5.2)
    names = across.series(discounts) if discounts is not None else []
    left, right, below = _panels(fig, len(names))
    _boxes(left, boxes)
    _estimates(right, estimates)
    for axes, name in zip(below, names, strict=True):
        if discounts is not None:
            _discount(axes, discounts.where("series", name), name, first=axes is below[0])
    return Drawing(fig, _sees(boxes, discounts), data=across.data(results, "10", "17", "18"))


def _panels(fig: Figure, discounts: int) -> tuple[Axes, Axes, list[Axes]]:
    """Two panels, and below them one for each discount; all below one another where the medium is narrow."""
    if style.is_column():
        fig.set_figheight(fig.get_figheight() * (2 + discounts) / 2.4)
        left, right, *below = fig.subplots(2 + discounts, 1)
        return left, right, below
    halves: Any = fig.subfigures(2, 1)
    left, right = halves[0].subplots(1, 2, width_ratios=[1.5, 1.0])
    below = list(halves[1].subplots(1, max(discounts, 1), squeeze=False)[0])
    if not discounts:
        below.pop().set_axis_off()
    return left, right, below


def _boxes(axes: Axes, table: SavedTable) -> None:
    x = across.statistic(table, "median")[0]
    across.boxes(axes, table, np.arange(x.size, dtype=float), style.HUES[0][0])
    axes.set_xticks(range(x.size), [scales.plain_size(float(value)) for value in x])
    axes.tick_params(axis="x", labelsize=style.SMALL_PT)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: scales.plain(value))
    style.quiet(axes)
    axes.set_title("Read amplification by page size")


def _estimates(axes: Axes, table: SavedTable | None) -> None:
    names = across.series(table) if table is not None else []
    top = 1.0
    for name, colour in zip(names, style.ordered(len(names) or 1), strict=False):
        if table is None:
            continue
        x, y = across.statistic(table.where("series", name), "trace")
        axes.plot(x, y, "o", color=colour, markersize=3.5, label=name.replace("cache of ", ""))
        top = max([top, *x, *y])
    _line(axes, np.array([0.0, top]), 1.0, 0.0)
    style.quiet(axes, "both")
    axes.set_xlabel("estimate from request sizes")
    axes.set_title("RA with 16 KiB pages / RA with one-sector pages")
    scales.inside_legend(axes, "upper left", "cache, pages")


def _discount(axes: Axes, table: SavedTable, name: str, *, first: bool) -> None:
    x, y = across.statistic(table, "trace")
    axes.plot(x, y, "o", color=style.HUES[0][0], markersize=3.5)
    ends = np.array([0.0, float(x.max()) if x.size else 1.0])
    _line(axes, ends, 1.0, 0.0)
    slope, intercept = across.single(table, "slope"), across.single(table, "intercept")
    if slope is not None and intercept is not None:
        axes.plot(ends, slope * ends + intercept, color=style.HUES[2][0], linewidth=1.5)
    page, cache = (float(part.rpartition(" ")[2]) for part in name.split(","))
    style.quiet(axes, "both")
    axes.set_title(f"{scales.plain_size(page)}, cache of {cache:.0f}")
    axes.set_xlabel("locality discount")
    if first or style.is_column():
        axes.set_ylabel("estimate less RA")


def _line(axes: Axes, x: Floats, slope: float, intercept: float) -> None:
    axes.plot(x, slope * x + intercept, color=style.MUTED, linewidth=0.9, linestyle=(0, (3, 2)))


def _sees(boxes: SavedTable, discounts: SavedTable | None) -> list[str]:
    x, most = across.statistic(boxes, "maximum")
    sentences = []
    if x.size:
        share = units.percent(float(most[-1] * x[0] / x[-1] * 100))
        sentences.append(
            f"At {scales.plain_size(float(x[-1]))} the highest read amplification is {units.ratio(float(most[-1]))}, "
            f"{share} of the page in sectors (SWC: never above 50 %)."
        )
    if discounts is not None:
        for name in reversed(across.series(discounts)):
            rows = discounts.where("series", name)
            slope, fit = across.single(rows, "slope"), across.single(rows, "r_squared")
            if slope is not None and fit is not None:
                sentences.append(
                    f"With {_words(name)} the difference to the estimate is {units.significant(slope)} times the "
                    f"locality discount (R² {units.significant(fit, 2)}; the model says 1)."
                )
                break
    return sentences


def _words(name: str) -> str:
    page, cache = (float(part.rpartition(" ")[2]) for part in name.split(","))
    return f"pages of {scales.plain_size(page)} and a cache of {cache:.0f}"


CHART = Chart(
    "across_read_amplification",
    "Read amplification over all traces",
    "How much do larger pages cost, and does locality explain what is saved?",
    "across_reading",
    draw,
)
