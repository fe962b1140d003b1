"""Write amplification over many traces by partitions, over-provisioning and page size (SWC, Fig. 2, 3, 7)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import Collection, SavedTable

from .. import axes as scales
from .. import style
from . import across
from .base import Chart, Drawing, nothing

NEEDED = "10,000 requests, 100,000 page writes and 4 writes of each sector"


def draw(results: Collection) -> Drawing:
    """Means with their confidence intervals by partitions; percentiles at the lowest OP; means by page size."""
    means, spread, pages = (results.figure(name) for name in ("2", "3", "7"))
    if means is None:
        return nothing(across.nobody(results, "write_amplification", NEEDED))
    fig = style.figure(2.9)
    left, middle, right = fig.subplots(1, 3)
    names = across.series(means)
    for name, colour in zip(names, reversed(style.ordered(len(names))), strict=True):
        across.interval(left, means.where("series", name), colour, name)
    left.set_title("Mean write amplification")
    left.set_xlabel("partitions")
    scales.inside_legend(style.quiet(left, "both"), "upper right")
    _spread(middle, spread, names[0])
    _pages(right, pages)
    return Drawing(fig, _sees(spread), data=across.data(results, "2", "3", "7"))


def _spread(axes: Axes, table: SavedTable | None, name: str) -> None:
    if table is not None:
        rows = table.where("series", name)
        x = across.statistic(rows, "median")[0]
        across.boxes(axes, rows, np.arange(x.size, dtype=float), style.HUES[0][0])
        axes.set_xticks(range(x.size), [f"{value:.0f}" for value in x])
    style.quiet(axes)
    axes.set_xlabel("partitions")
    axes.set_title(f"All traces at {name}")


def _pages(axes: Axes, table: SavedTable | None) -> None:
    names = across.series(table) if table is not None else []
    lowest = [name for name in names if name.split(",")[0] == names[0].split(",")[0]]
    # The numbers of partitions that the paper's figure shows, where there are such.
    lowest = [name for name in lowest if name.split()[-2] in ("2", "8", "16")] or lowest[:3]
    for name, colour in zip(lowest, style.ordered(len(lowest) or 1), strict=False):
        if table is not None:
            across.interval(axes, table.where("series", name), colour, name.partition(", ")[2])
    if table is not None:
        scales.sizes(axes, table.values("x"))
    axes.set_xlabel("page size")
    axes.set_title(f"Mean at {lowest[0].split(',')[0]}" if lowest else "By page size")
    scales.inside_legend(style.quiet(axes, "both"), "upper left")
    axes.tick_params(axis="x", labelsize=style.SMALL_PT)


def _sees(table: SavedTable | None) -> list[str]:
    if table is None:
        return []
    sentences = []
    rows = table.where("series", "OP 50 %").where("x", 4.0)
    low = across.single(rows, "below_1.05_percent")
    if low is not None:
        sentences.append(
            f"At OP 50 % with 4 partitions {units.percent(low)} of the traces stay below a write amplification of 1.05 "
            "(SWC: almost 80 %)."
        )
    first = across.series(table)[0]
    x, median = across.statistic(table.where("series", first), "median")
    if x.size > 1:
        sentences.append(
            f"At {first} the median falls from {units.ratio(float(median[0]))} with {x[0]:.0f} to "
            f"{units.ratio(float(median.min()))} with {x[int(median.argmin())]:.0f} partitions."
        )
    return sentences


CHART = Chart(
    "across_write_amplification",
    "Write amplification over all traces",
    "What do partitions, spare space and page size do on the whole?",
    "across_writing",
    draw,
)
