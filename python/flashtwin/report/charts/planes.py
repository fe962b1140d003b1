"""Duplicates by plane under a given allocation (DS-FTL, Fig. 3 and 4)."""

from __future__ import annotations

import numpy as np

from flashtwin import units
from flashtwin.results.reading import TraceResults

from .. import style
from .base import Chart, Data, Drawing, nothing
from .popularity_reads import no_content

_WORDS = {"static": "static allocation (by address)", "round-robin": "round robin (in order of writing)"}


def draw(workload: TraceResults) -> Drawing:
    """One panel an allocation: the share of a plane's pages whose content the plane holds already."""
    table = workload.workload("duplicates_by_plane")
    if table is None:
        return nothing(no_content(workload, "duplicates_by_plane"))
    allocations = list(dict.fromkeys(table.texts.get("allocation", ())))
    planes = max(table.values("planes"), default=None)
    data = Data(("allocation", "planes", "plane", "pages", "contents", "duplicate_percent"))
    fig = style.figure(2.5)
    panels = fig.subplots(1, max(len(allocations), 1), squeeze=False, sharey=True)[0]
    sees = []
    for axes, allocation in zip(panels, allocations, strict=False):
        rows = table.where("allocation", allocation)
        columns = [rows.columns.get(name, np.full(rows.rows, np.nan)) for name in data.header[1:]]
        data.rows.extend((allocation, *(float(value) for value in row)) for row in zip(*columns, strict=True))
        shown = rows.where("planes", planes) if planes is not None else rows
        percent = shown.get("duplicate_percent")
        if percent is None:
            continue
        axes.bar(shown.columns["plane"], percent, 0.75, color=style.HUES[0][0], linewidth=0)
        axes.axhline(float(np.nanmean(percent)), color=style.INK, linewidth=1.0, linestyle=(0, (4, 2)))
        style.percents(style.quiet(axes))
        axes.set_title(_WORDS.get(allocation, allocation).capitalize())
        axes.set_xlabel(f"plane, of {int(planes)}" if planes is not None else "plane")
        low, high = (units.percent(float(value)) for value in (np.nanmin(percent), np.nanmax(percent)))
        mean = units.percent(float(np.nanmean(percent)))
        sees.append(f"Under {_WORDS.get(allocation, allocation)} {low} to {high} ({mean} on average) are duplicates.")
    if not sees:
        return nothing("The table `duplicates_by_plane` holds no plane with pages.")
    share = workload.fact("duplicate_write_percent")
    if share is not None:
        sees.append(f"On the whole device {units.percent(share)} of the page writes are.")
    return Drawing(fig, sees, data=data)


CHART = Chart(
    "planes",
    "Duplicates within planes",
    "How many of a plane's pages does the same plane hold already?",
    "contents",
    draw,
)
