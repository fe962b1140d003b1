"""Write amplification against partitioning overhead by page size, with f_r = 2 and 3 marked (SWC, Fig. 8)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from flashtwin import units
from flashtwin.results.reading import SavedTable, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve
from .wa_partitions import BLOCK_PAGES, absent, why_missing

_MARKS = (("f_r<=2", "f_r ≤ 2", "v"), ("f_r<=3", "f_r ≤ 3", "s"))


def draw(workload: TraceResults) -> Drawing:
    """One line a page size at the lowest over-provisioning, the usual block size."""
    table = _at(workload.workload("write_amplification"))
    if table is None:
        return nothing(why_missing(workload))
    fig = style.figure(3.1)
    axes = fig.subplots()
    data = Data(("page_bytes", "purpose", "partitions", "partitioning_overhead", "write_amplification"))
    pages = table.values("page_bytes")
    for page, colour in zip(pages, style.ordered(len(pages)), strict=True):
        rows = table.where("page_bytes", page)
        found = curve(rows.where("purpose", "grid"), "partitioning_overhead", "write_amplification")
        if found is not None:
            axes.plot(*found, color=colour, marker="o", markersize=2.5, linewidth=1.3, label=scales.plain_size(page))
        for purpose, _, marker in _MARKS:
            marked = rows.where("purpose", purpose)
            x, y = marked.get("partitioning_overhead"), marked.get("write_amplification")
            if x is not None and y is not None:
                axes.plot(x, y, marker, color=colour, markersize=7, markeredgecolor=style.SURFACE, linestyle="none")
        _rows(data, page, rows)
    _finish(axes, float(table.values("over_provisioning_percent")[0]))
    return Drawing(fig, _sees(table, pages), absent(table), data)


def _at(table: SavedTable | None) -> SavedTable | None:
    """The rows at the lowest over-provisioning and the usual block size; None without a result."""
    if table is None or table.get("write_amplification") is None:
        return None
    table = table.where("over_provisioning_percent", table.values("over_provisioning_percent")[0])
    blocks = table.values("block_pages")
    rows = table.where("block_pages", BLOCK_PAGES if BLOCK_PAGES in blocks else blocks[0])
    return rows if rows.get("write_amplification") is not None else None


def _finish(axes: Axes, provision: float) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=9))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{scales.plain(value * 100)} %"))
    style.quiet(axes, "both")
    axes.set_xlabel("partitioning overhead: (partitions + 1) / over-provisioned blocks")
    axes.set_title(f"Write amplification at OP {scales.plain(provision)} %")
    marks = [
        Line2D([], [], marker=marker, color=style.MUTED, markersize=6, linestyle="none", label=label)
        for _, label, marker in _MARKS
    ]
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    axes.legend(handles=[*lines, *marks], loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.4)


def _rows(data: Data, page: float, rows: SavedTable) -> None:
    names = ("partitions", "partitioning_overhead", "write_amplification")
    columns = [rows.columns.get(name, np.full(rows.rows, np.nan)) for name in names]
    purposes = rows.texts.get("purpose", ("",) * rows.rows)
    data.rows.extend(
        (page, purpose, *(float(value) for value in values))
        for purpose, values in zip(purposes, zip(*columns, strict=True), strict=True)
    )


def _sees(table: SavedTable, pages: list[float]) -> list[str]:
    parts = []
    for page in pages:
        found = table.where("page_bytes", page).where("purpose", "f_r<=3").get("write_amplification")
        if found is not None:
            parts.append(f"{units.ratio(float(found[0]))} at {scales.plain_size(page)}")
    if not parts:
        return [f"{len(pages)} page sizes were looked at."]
    return [f"With as many partitions as f_r ≤ 3 needs, the write amplification is {', '.join(parts)}."]


CHART = Chart(
    "wa_page_size",
    "Write amplification and page size",
    "Where does another partition cost more than it saves?",
    "writing",
    draw,
)
