"""Axes that several workload charts share: sizes, counts and shares on a logarithmic scale.

Ticks are few, round and written in the units of the page; nothing here depends on the chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from flashtwin import units

from . import style

#: Above this many sizes, every other one is labelled.
_LABELS_MAX = 10


def plain_size(value: float) -> str:
    """Bytes without trailing zeros, for axes and legends: `4 KiB`, not `4.00 KiB`."""
    text = units.size(value)
    number, _, unit = text.partition(" ")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number} {unit}"


def plain(value: float) -> str:
    """A number for axes and legends, without trailing zeros: `2`, `1.5`, `0.07`."""
    return f"{value:,.3f}".rstrip("0").rstrip(".").replace("-", units.MINUS)


def sizes(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic x axis of bytes with a tick at each of the given sizes."""
    axes.set_xscale("log", base=2)
    shown = list(values)
    if len(shown) > _LABELS_MAX:
        shown = shown[:: len(shown) // _LABELS_MAX + 1]
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_size(value)))


def log_bytes(axes: Axes, low: float, high: float) -> None:
    """A logarithmic x axis of bytes from `low` to `high`, a tick at every fourfold size."""
    first = int(np.floor(np.log2(max(low, 1.0)) / 2)) * 2
    sizes(axes, [2.0**power for power in range(first, int(np.ceil(np.log2(max(high, 2.0)))) + 1, 2)])


def log_counts(axes: Axes, which: str = "x") -> None:
    """A logarithmic axis of counts, labelled 1, 10, 100, 1 K, ..."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(numticks=9))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))


def short_count(value: float) -> str:
    """A count for an axis: `100`, `1 K`, `2.5 M`."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " K")):
        if abs(value) >= limit:
            return f"{plain(value / limit)}{unit}"
    return plain(value)


def whole_numbers(axes: Axes, which: str = "x") -> None:
    """Ticks at whole numbers only."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def shares(axes: Axes, which: str = "y") -> None:
    """An axis of shares in percent, from 0 to 100."""
    style.percents(axes, which)
    if which == "y":
        axes.set_ylim(0, 101)
    else:
        axes.set_xlim(0, 100)


def factors(axes: Axes, ticks: Sequence[float], which: str = "y") -> None:
    """A logarithmic axis of ratios with the given ticks; where it spans little, 1.2 and 1.5 as well."""
    axis = axes.yaxis if which == "y" else axes.xaxis
    (axes.set_yscale if which == "y" else axes.set_xscale)("log")
    low, high = axis.get_view_interval()
    fine = (1.2, 1.5, 3.0) if high < low * 12 else ()
    axis.set_major_locator(FixedLocator(sorted({*ticks, *fine})))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


Corner = Literal["best", "upper left", "upper right", "lower left", "lower right"]


def inside_legend(axes: Axes, loc: Corner = "upper right", title: str | None = None, ncols: int = 1) -> None:
    """A legend within the axes, close to its corner."""
    axes.legend(
        loc=loc,
        title=title,
        ncols=ncols,
        handlelength=1.4,
        borderaxespad=0.3,
        columnspacing=1.2,
        title_fontsize=style.SMALL_PT,
    )
    legend = axes.get_legend()
    if legend is not None and title is not None:
        legend.set_alignment("left")
        legend.get_title().set_color(style.MUTED)
