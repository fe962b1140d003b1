"""Cost of reading over many traces, with whole and with partial reads (SWC, Fig. 12)."""

from __future__ import annotations

import numpy as np

from flashtwin import units
from flashtwin.results.reading import Collection, SavedTable

from .. import axes as scales
from .. import style
from . import across
from .across_read_amplification import NEEDED
from .base import Chart, Drawing, nothing

_WAYS = (("full", "whole pages", style.GREY), ("partial", "partial reads", style.HUES[0]))


def draw(results: Collection) -> Drawing:
    """Boxes by page size, whole beside partial, relative to whole reads of the smallest pages."""
    table = results.figure("12")
    if table is None:
        return nothing(across.nobody(results, "read_amplification", NEEDED))
    fig = style.figure(2.7)
    axes = fig.subplots()
    for place, (way, label, colour) in enumerate(_WAYS):
        rows = table.where("series", f"slc-mlc, {way}")
        x = across.statistic(rows, "median")[0]
        across.boxes(axes, rows, np.arange(x.size, dtype=float) + (place - 0.5) * 0.36, colour[0], 0.3)
        axes.plot([], [], color=colour[0], linewidth=5, label=label)
        axes.set_xticks(range(x.size), [scales.plain_size(float(value)) for value in x])
    axes.axhline(1, color=style.MUTED, linewidth=0.8)
    style.quiet(axes).set_ylim(bottom=0)
    axes.set_xlabel("page size (SLC/MLC)")
    axes.set_title("Flash time of all reads, relative to whole reads of the smallest pages")
    scales.inside_legend(axes, "upper left")
    return Drawing(fig, _sees(table), data=across.data(results, "12"))


def _sees(table: SavedTable) -> list[str]:
    x, halved = across.statistic(table.where("series", "slc-mlc, partial"), "halved_percent")
    if not x.size:
        return []
    best = int(halved.argmax())
    return [
        f"Partial reads at least halve the cost in up to {units.percent(float(halved[best]))} of the traces "
        f"(at {scales.plain_size(float(x[best]))}; SWC: 75 %)."
    ]


CHART = Chart(
    "across_read_cost",
    "Flash time of reading over all traces",
    "Do partial reads pay in general?",
    "across_reading",
    draw,
)
