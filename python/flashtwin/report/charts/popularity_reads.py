"""Reads and writes over contents sorted by reads: the reach of replicating popular ones (RR-SSD, Fig. 4)."""

from __future__ import annotations

import numpy as np

from flashtwin import units
from flashtwin.results.reading import Floats, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve, first_at

_CURVES = (
    ("read_by_read_order", "reads", style.READ[0]),
    ("write_by_read_order", "writes", style.WRITE[0]),
)
#: The share of reads whose contents are marked, as in the paper.
_MARK = 0.8


def draw(workload: TraceResults) -> Drawing:
    """One panel: the share of reads and of writes that the contents most read receive."""
    table = workload.workload("popularity")
    curves: dict[str, tuple[Floats, Floats]] = {}
    for kind, _, _ in _CURVES:
        found = curve(table.where("kind", kind) if table is not None else None, "value_fraction", "access_fraction")
        if found is not None:
            curves[kind] = found
    if not curves:
        return nothing(no_content(workload, "popularity"))
    fig = style.figure(2.8)
    axes = fig.subplots()
    data = Data(("kind", "value_fraction", "access_fraction"))
    for kind, label, colour in _CURVES:
        if kind not in curves:
            continue
        x, y = curves[kind]
        axes.plot(np.append(0, x) * 100, np.append(0, y) * 100, color=colour, label=label)
        data.rows.extend((kind, float(a), float(b)) for a, b in zip(x, y, strict=True))
    at = first_at(*curves["read_by_read_order"], _MARK) if "read_by_read_order" in curves else None
    if at is not None:
        axes.plot([at * 100] * 2, [0, _MARK * 100], color=style.MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
        axes.plot([0, at * 100], [_MARK * 100] * 2, color=style.MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
    scales.shares(style.quiet(axes, "both"))
    scales.shares(axes, "x")
    axes.set_xlabel("of all contents, the most read first")
    axes.set_title("Share of page accesses that they receive")
    scales.inside_legend(axes, "lower right")
    return Drawing(fig, _sees(curves, at), data=data)


def no_content(workload: TraceResults, table: str) -> str:
    """Why a chart about contents cannot be drawn."""
    if workload.trace.get("has_content") is False:
        return "The trace carries no content."
    return f"No table `{table}` was written: the trace was not characterized, or has no page with known content."


def _sees(curves: dict[str, tuple[Floats, Floats]], at: float | None) -> list[str]:
    if at is None:
        return ["No page with known content is read."]
    text = f"80 % of the page reads go to {units.percent(at * 100)} of the contents"
    if "write_by_read_order" in curves:
        x, y = curves["write_by_read_order"]
        text += f", which receive {units.percent(float(np.interp(at, x, y)) * 100)} of the page writes"
    return [f"{text}."]


CHART = Chart(
    "popularity_reads",
    "Contents by how often they are read",
    "Are the contents that are read most also those that are written most?",
    "contents",
    draw,
)
