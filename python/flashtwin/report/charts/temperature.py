"""Temperature ranges: partitions for a frequency ratio, and the lowest ratio for a number of them (SWC, Fig. 1, 6)."""

from __future__ import annotations

from matplotlib.axes import Axes

from flashtwin.results.reading import Floats, SavedTable, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve

_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def draw(workload: TraceResults) -> Drawing:
    """Two panels, one line a page size."""
    partitions, f_min = workload.workload("partitions"), workload.workload("f_min")
    panels = [
        (table, x, y)
        for table, x, y in ((partitions, "frequency_ratio", "partitions"), (f_min, "partitions", "f_min"))
        if table is not None and table.get(y) is not None
    ]
    if not panels:
        return nothing(
            "No table `partitions` or `f_min` was written: no page is written, or nothing was characterized."
        )
    fig = style.figure(2.9)
    data = Data(("panel", "page_bytes", "x", "y"))
    shown = fig.subplots(1, len(panels), squeeze=False)[0]
    for axes, (table, x, y) in zip(shown, panels, strict=True):
        _lines(axes, table, x, y, data)
        if y == "partitions":
            axes.set_title("Partitions needed")
            axes.set_xlabel("highest frequency ratio allowed within one (f_r)")
            scales.factors(axes, (1.5, 2, 2.5, 3, 4, 5, 8, 10, 16, 32), "x")
            axes.set_ylim(bottom=0)
            scales.whole_numbers(axes, "y")
        else:
            axes.set_title("Lowest frequency ratio reached (f_min)")
            axes.set_xlabel("partitions")
            scales.factors(axes, _TICKS)
            axes.axhline(2, color=style.MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
    scales.inside_legend(shown[-1], "upper right", "page size", 2)
    return Drawing(fig, _sees(partitions), _absent(f_min), data)


def _lines(axes: Axes, table: SavedTable, x: str, y: str, data: Data) -> None:
    pages = table.values("page_bytes")
    for page, colour in zip(pages, style.ordered(len(pages)), strict=True):
        found: tuple[Floats, Floats] | None = curve(table.where("page_bytes", page), x, y)
        if found is not None:
            axes.plot(*found, color=colour, marker="o", markersize=2.5, linewidth=1.3, label=scales.plain_size(page))
            data.rows.extend((y, page, float(a), float(b)) for a, b in zip(*found, strict=True))
    style.quiet(axes, "both")


def _sees(partitions: SavedTable | None) -> list[str]:
    if partitions is None:
        return []
    page = partitions.values("page_bytes")[0]
    rows = partitions.where("page_bytes", page)
    parts = []
    for ratio in (1.5, 2.0, 3.0):
        needed = rows.where("frequency_ratio", ratio).get("partitions")
        if needed is not None:
            parts.append(f"{needed[0]:.0f} for f_r ≤ {scales.plain(ratio)}")
    if not parts:
        return []
    text = f"Partitions needed with pages of {scales.plain_size(page)}: {', '.join(parts)}."
    return [text, "SWC finds 3-26, 2-16 and 2-11 over its traces."]


def _absent(f_min: SavedTable | None) -> list[str]:
    if f_min is None:
        return []
    beyond = (
        f_min.rows - int((f_min.columns["f_min"] == f_min.columns["f_min"]).sum()) if "f_min" in f_min.columns else 0
    )
    return ["Values of f_min beyond 1,000 are not searched for and not drawn."] if beyond else []


CHART = Chart(
    "temperature",
    "Temperature ranges",
    "How many partitions keep pages of like update frequency together?",
    "writing",
    draw,
)
