"""Gains of logical locality by a larger distance and by a longer wait (SWC, Fig. 15 and 16)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import SavedTable, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve

_ALONG = (
    ("time", "Gain of waiting, at this distance (δP_D)", "distance (pages)"),
    ("distance", "Gain of looking further, at this time (δP_T)", "time (requests)"),
)
#: The largest distance and the longest time that the paper shows.
_PAPER = (("time", 64), ("distance", 250))
_KINDS = (("write", "writes", style.WRITE[0]), ("read", "reads", style.READ[0]))


def draw(workload: TraceResults) -> Drawing:
    """Two panels: the gain of waiting by distance, and of distance by the wait."""
    table = workload.workload("locality_gain")
    if table is None or table.get("gain") is None:
        return nothing("No table `locality_gain` was written: the trace was not characterized.")
    fig = style.figure(2.6)
    data = Data(("along", "kind", "at", "gain"))
    for axes, (along, title, label) in zip(fig.subplots(1, 2, sharey=True), _ALONG, strict=True):
        _panel(axes, table.where("along", along), along, data)
        axes.set_title(title)
        axes.set_xlabel(label)
    return Drawing(fig, _sees(table), data=data)


def _panel(axes: Axes, rows: SavedTable, along: str, data: Data) -> None:
    for kind, label, colour in _KINDS:
        found = curve(rows.where("kind", kind), "at", "gain")
        if found is not None:
            axes.plot(np.maximum(found[0], 0.5), found[1] * 100, color=colour, marker="o", markersize=3, label=label)
            data.rows.extend((along, kind, float(a), float(b)) for a, b in zip(*found, strict=True))
    scales.log_counts(axes)
    scales.shares(style.quiet(axes, "both"))
    scales.inside_legend(axes, "best")


def _sees(table: SavedTable) -> list[str]:
    sentences = []
    for kind, label, _ in _KINDS:
        best = {}
        for along, most in _PAPER:
            found = curve(table.where("along", along).where("kind", kind), "at", "gain")
            if found is not None:
                best[along] = float(found[1][found[0] <= most].max(initial=0.0)) * 100
        if len(best) == 2:
            sentences.append(
                f"For {label}, waiting adds up to {units.percent(best['time'])} within 64 pages, a larger distance up "
                f"to {units.percent(best['distance'])} within 250 requests."
            )
    return sentences or ["The gains of one kind of request only are known."]


CHART = Chart(
    "locality_gain",
    "What waiting is worth",
    "Is it better to look further or to wait longer?",
    "locality",
    draw,
)
