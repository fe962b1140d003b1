"""Write amplification by partitions, one line an over-provisioning (SWC, Fig. 2 and 3)."""

from __future__ import annotations

from flashtwin import units
from flashtwin.results.reading import Floats, SavedTable, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve

#: Sizes to draw when there are several: the paper's block size and the standard page.
PAGE_BYTES, BLOCK_PAGES = 4096.0, 128.0


def draw(workload: TraceResults) -> Drawing:
    """One panel: the grid's runs at one page and block size."""
    table = grid(workload)
    if table is None:
        return nothing(why_missing(workload))
    table, page, block = at_size(table)
    fig = style.figure(2.9)
    axes = fig.subplots()
    data = Data(("over_provisioning_percent", "partitions", "write_amplification"))
    provisions = table.values("over_provisioning_percent")
    lines = {}
    for provision, colour in zip(provisions, reversed(style.ordered(len(provisions))), strict=True):
        found = curve(table.where("over_provisioning_percent", provision), "partitions_asked", "write_amplification")
        if found is not None:
            lines[provision] = found
            axes.plot(*found, color=colour, marker="o", markersize=3.5, label=f"{scales.plain(provision)} %")
            data.rows.extend((provision, float(a), float(b)) for a, b in zip(*found, strict=True))
    if not lines:
        return nothing("No run of the grid has a write amplification: the partitions do not fit into the spare blocks.")
    style.quiet(axes, "both")
    axes.set_xlabel(f"partitions (pages of {scales.plain_size(page)}, blocks of {block:.0f} pages)")
    axes.set_title("Write amplification")
    axes.set_ylim(bottom=1.0 - 0.03 * (axes.get_ylim()[1] - 1.0))
    scales.whole_numbers(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title="OP", handlelength=1.4, alignment="left")
    return Drawing(fig, _sees(lines), absent(table), data)


def grid(workload: TraceResults) -> SavedTable | None:
    """The runs of the grid; None without any that yielded a figure."""
    table = workload.workload("write_amplification")
    rows = table.where("purpose", "grid") if table is not None else None
    return rows if rows is not None and rows.get("write_amplification") is not None else None


def at_size(table: SavedTable) -> tuple[SavedTable, float, float]:
    """The rows of one page and block size: 4 KiB and 128 pages, or the smallest there are."""
    pages = table.values("page_bytes")
    page = PAGE_BYTES if PAGE_BYTES in pages else pages[0]
    rows = table.where("page_bytes", page)
    blocks = rows.values("block_pages")
    block = BLOCK_PAGES if BLOCK_PAGES in blocks else blocks[0]
    return rows.where("block_pages", block), page, block


def why_missing(workload: TraceResults) -> str:
    """Why there is no write amplification to draw, in the words of the core where it gave some."""
    table = workload.workload("write_amplification")
    reasons = [reason for reason in dict.fromkeys(table.texts.get("why_missing", ())) if reason] if table else []
    if reasons:
        return f"The write amplification could not be simulated: {reasons[0].rstrip('.')}."
    return "No table `write_amplification` was written: no page is written, or the trace was not characterized."


def absent(table: SavedTable) -> list[str]:
    """The runs without a result, in words."""
    reasons = [reason for reason in table.texts.get("why_missing", ()) if reason]
    if not reasons:
        return []
    return [f"{len(reasons)} of {table.rows} runs have no result: {reasons[0].rstrip('.')}."]


def _sees(lines: dict[float, tuple[Floats, Floats]]) -> list[str]:
    if all(float(y.max()) <= 1.0 for _, y in lines.values()):
        return ["The trace does not overwrite enough to fill the device, so no valid page is ever moved."]
    provision = min(lines)
    x, y = lines[provision]
    values = dict(zip(map(float, x), map(float, y), strict=True))
    first, best = min(values), min(values, key=lambda count: (values[count], count))
    start = f"{units.ratio(values[first])} with {_parts(first)}"
    text = f"At OP {scales.plain(provision)} % the write amplification is {start}"
    if best != first:
        text += f" and lowest, {units.ratio(values[best])}, with {_parts(best)}"
    return [f"{text}."]


def _parts(count: float) -> str:
    return "1 partition" if count == 1 else f"{count:.0f} partitions"


CHART = Chart(
    "wa_partitions",
    "Write amplification and partitions",
    "What does separating hot from cold pages save, and how much space must be spare?",
    "writing",
    draw,
)
