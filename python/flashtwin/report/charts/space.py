"""Space that a content-addressed store needs, over time (characterization of contents: space)."""

from __future__ import annotations

import numpy as np

from flashtwin import units
from flashtwin.results.reading import TraceResults

from .. import style
from .base import Chart, Data, Drawing, nothing
from .popularity_reads import no_content


def draw(workload: TraceResults) -> Drawing:
    """Pages that hold data and distinct contents among them, at the end of each period."""
    table = workload.workload("space")
    if table is None:
        return nothing(no_content(workload, "space"))
    end, pages, contents = (table.get(name) for name in ("end_ns", "pages_held", "contents_held"))
    if end is None or pages is None or contents is None:
        return nothing("The table `space` holds no pages with data.")
    fig = style.figure(2.5)
    axes = fig.subplots()
    at, start = np.append(0.0, end), np.append(pages[:1], pages)
    axes.step(at, start, where="pre", color=style.GREY[0])
    held = np.append(contents[:1], contents)
    axes.step(at, held, where="pre", color=style.HUES[0][0])
    axes.fill_between(at, held, step="pre", color=style.HUES[0][0], alpha=0.15, linewidth=0)
    style.counts(style.quiet(axes))
    style.time_axis(axes, float(end[-1]))
    axes.set_xlim(0, float(end[-1]))
    axes.set_ylim(0, float(np.nanmax(pages)) * 1.05)
    axes.set_xlabel("time of the trace")
    style.legend_above(fig, axes.get_lines(), ["pages that hold data", "distinct contents among them"])
    share = table.get("share_percent")
    data = Data(("period", "end_ns", "pages_held", "contents_held", "share_percent"))
    columns = [table.columns.get(name, np.full(table.rows, np.nan)) for name in data.header]
    data.rows.extend(tuple(float(value) for value in row) for row in zip(*columns, strict=True))
    last = float(share[-1]) if share is not None and np.isfinite(share[-1]) else None
    text = f"At the end {units.count(float(pages[-1]))} pages hold {units.count(float(contents[-1]))} distinct contents"
    return Drawing(fig, [f"{text}: {units.percent(last)} of the space." if last is not None else f"{text}."], data=data)


CHART = Chart(
    "space",
    "Space with and without duplicates",
    "How much of the footprint would a store need that keeps each content once?",
    "contents",
    draw,
)
