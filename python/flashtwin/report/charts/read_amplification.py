"""Read amplification by page size and cache, beside the estimate from request sizes (SWC, Fig. 10 and 17)."""

from __future__ import annotations

from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import SavedTable, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve

#: The cache that the read-simulator always has: one page.
BUFFER = 1.0


def draw(workload: TraceResults) -> Drawing:
    """RA by page size, one line a cache; and RA against its estimate at 16 KiB."""
    table = workload.workload("read_amplification")
    if table is None or table.get("read_amplification") is None:
        return nothing("No table `read_amplification` was written: no page is read, or nothing was characterized.")
    fig = style.figure(2.9)
    left, right = fig.subplots(1, 2, width_ratios=[1.5, 1.0])
    data = Data(("page_bytes", "cache_pages", "read_amplification", "estimated", "locality_discount"))
    _by_page(left, table, data)
    _estimate(right, table)
    return Drawing(fig, _sees(table), data=data)


def _by_page(axes: Axes, table: SavedTable, data: Data) -> None:
    caches = table.values("cache_pages")
    for cache, colour in zip(caches, style.ordered(len(caches)), strict=True):
        rows = table.where("cache_pages", cache)
        found = curve(rows, "page_bytes", "read_amplification")
        if found is not None:
            axes.plot(*found, color=colour, marker="o", markersize=3, label=_cache(cache))
        names = ("page_bytes", "cache_pages", "read_amplification", "estimated", "locality_discount")
        columns = [rows.columns[name] for name in names if name in rows.columns]
        if len(columns) == len(names):
            data.rows.extend(tuple(float(value) for value in row) for row in zip(*columns, strict=True))
    estimate = curve(table.where("cache_pages", caches[0]), "page_bytes", "estimated")
    if estimate is not None:
        axes.plot(*estimate, color=style.MUTED, linewidth=1.2, linestyle=(0, (3, 2)), label="estimate from sizes")
    style.quiet(axes, "both")
    scales.sizes(axes, table.values("page_bytes"))
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: scales.plain(value))
    axes.set_xlabel("page size")
    axes.set_title("Sectors read / sectors asked for")
    scales.inside_legend(axes, "upper left")


def _estimate(axes: Axes, table: SavedTable) -> None:
    """The estimate less the value of one-sector pages as the unit, against the discount; the model is the diagonal."""
    x, y = table.get("locality_discount"), table.get("estimated")
    if x is None or y is None or table.get("normalised") is None:
        axes.set_axis_off()
        return
    gap = y - table.columns["normalised"]
    caches = table.values("cache_pages")
    for cache, colour in zip(caches, style.ordered(len(caches)), strict=True):
        keep = table.columns["cache_pages"] == cache
        axes.plot(x[keep], gap[keep], "o", color=colour, markersize=4)
    top = max(float(value) for value in (*x[x == x], *gap[gap == gap], 0.01))
    axes.plot([0, top], [0, top], color=style.MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
    style.quiet(axes, "both")
    axes.set_xlabel("locality discount: estimate × P(page, cache)")
    axes.set_title("Estimate less read amplification")


def _cache(pages: float) -> str:
    return "no cache" if pages == 0 else f"cache of {pages:.0f} page{'s' if pages != 1 else ''}"


def _sees(table: SavedTable) -> list[str]:
    rows = table.where("cache_pages", BUFFER)
    found = curve(rows if rows.rows else table, "page_bytes", "read_amplification")
    if found is None:
        return []
    amplification = dict(zip(map(float, found[0]), map(float, found[1]), strict=True))
    shown = [size for size in (4096.0, 8192.0, 16384.0, 32768.0) if size in amplification] or [max(amplification)]
    parts = [f"{units.ratio(amplification[size])} at {scales.plain_size(size)}" for size in shown]
    return [f"With a buffer of one page the read amplification is {', '.join(parts)}."]


CHART = Chart(
    "read_amplification",
    "Read amplification",
    "How much more is read than asked for as pages grow, and how much of it does a small cache save?",
    "reading",
    draw,
)
