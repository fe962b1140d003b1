"""Flash time of all reads by page size, with whole and with partial reads (SWC, Fig. 11)."""

from __future__ import annotations

from flashtwin import units
from flashtwin.results.reading import SavedTable, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve

_CHIPS = {"slc-mlc": ("SLC/MLC", "-"), "tlc": ("TLC", (0, (4, 2)))}
_WAYS = (("full_ns", "whole pages", style.GREY[0]), ("partial_ns", "partial reads", style.HUES[0][0]))


def draw(workload: TraceResults) -> Drawing:
    """One panel; two ways of reading, one line style a chip."""
    table = workload.workload("read_cost")
    if table is None or table.get("full_ns") is None:
        return nothing("No table `read_cost` was written: no page is read, or the trace was not characterized.")
    fig = style.figure(2.7)
    axes = fig.subplots()
    data = Data(("chip", "page_bytes", "way", "ns"))
    for chip, (words, dash) in _CHIPS.items():
        rows = table.where("chip", chip)
        for column, label, colour in _WAYS:
            found = curve(rows, "page_bytes", column)
            if found is None:
                continue
            x, y = found
            # TLC is known for one page size only (SWC, Table 2): a point.
            marker = "s" if x.size == 1 else "o"
            axes.plot(
                x, y / 1e9, color=colour, linestyle=dash, marker=marker, markersize=4 + (x.size == 1),
                label=f"{label}, {words}",
            )  # fmt: skip
            data.rows.extend((chip, float(a), column, float(b)) for a, b in zip(x, y, strict=True))
    style.quiet(axes, "both")
    scales.sizes(axes, table.values("page_bytes"))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("page size")
    axes.set_title("Flash time of all reads, in seconds")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.8)
    return Drawing(fig, _sees(table.where("chip", "slc-mlc")), data=data)


def _sees(rows: SavedTable) -> list[str]:
    full, partial = curve(rows, "page_bytes", "full_ns"), curve(rows, "page_bytes", "partial_ns")
    if full is None or partial is None:
        return []
    costs = dict(zip(full[0], full[1], strict=True))
    cheapest = min(costs, key=lambda size: (costs[size], size))
    sentences = [
        f"Whole pages are read fastest at {scales.plain_size(float(cheapest))}: {units.duration(costs[cheapest])}."
    ]
    parts = [
        f"{units.percent((1 - part / costs[size]) * 100)} at {scales.plain_size(float(size))}"
        for size, part in zip(*partial, strict=True)
        if size in (8192.0, 16384.0, 32768.0) and costs.get(size)
    ]
    if parts:
        sentences.append(f"Partial reads save {', '.join(parts)} on SLC/MLC.")
    return sentences


CHART = Chart(
    "read_cost",
    "Flash time of reading",
    "What do larger pages cost or save in reading, and do partial reads pay?",
    "reading",
    draw,
)
