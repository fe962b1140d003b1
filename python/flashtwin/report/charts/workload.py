"""Charts of requests: when they come, how large they are and how closely they follow one another; facts in brief."""

from collections.abc import Callable

import numpy as np

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import SavedTable, StudyFolder, TraceResults

from .. import colours, mark
from ..declared import Axis, Data, Drawing, Frame, Panel, chart, nothing, plain_size
from .timelines import Curve, columns, first_at

#: With more periods than this, bars become an area.
MAX_BARS = 80
KINDS = (("read", "reads", colours.READ[0]), ("write", "writes", colours.WRITE[0]))


@chart("The workload in brief", "When do requests come, and do a few contents receive most of them?", "workload")
def workload(study: TraceResults) -> Drawing:
    """Requests per period, and the popularity of contents where the trace carries them (RR-SSD paper, Fig. 4)."""
    notes: list[str] = []
    periods = _periods(study, notes)
    curves = _popularity(study, notes)
    data = Data(("panel", "series", "x", "y"))
    panels = [_requests(periods, data)] if periods is not None else []
    panels += [_cdf(curves, data)] if curves else []
    if not panels:
        return nothing(*notes)
    return Drawing(Frame(2.7, [panels]), _sees(periods, curves), notes, data)


def _periods(study: TraceResults, notes: list[str]) -> SavedTable | None:
    """Rows with `reads` and `writes`: of the workload, else of any run (the trace is the same)."""
    runs = study.runs if isinstance(study, StudyFolder) else ()
    for table in (study.workload("periods"), *(run.table("periods") for run in runs)):
        if columns(table, "reads", "writes") is not None:
            return table
    notes.append("No table `periods` with reads and writes was written, so requests over time are not shown.")
    return None


def _columns(table: SavedTable | None, x: str, y: str) -> dict[str, Curve]:
    of_kind = {kind: columns(table.where("kind", kind), x, y) for kind, _, _ in KINDS} if table is not None else {}
    return {kind: (known[0], known[1]) for kind, known in of_kind.items() if known is not None}


def _popularity(study: TraceResults, notes: list[str]) -> dict[str, Curve]:
    curves = _columns(study.workload("popularity"), "value_fraction", "access_fraction")
    if not curves:
        unknown = study.trace.get("has_content") is False
        why = "the trace carries no content" if unknown else "no table `popularity` was written"
        notes.append(f"The popularity of contents is not shown: {why}.")
    return {kind: (np.append(0.0, x), np.append(0.0, y)) for kind, (x, y) in curves.items()}


def _requests(table: SavedTable, data: Data) -> Panel:
    reads, writes = (np.nan_to_num(table.columns[name]) for name in ("reads", "writes"))
    period = table.get("period")
    x = np.arange(1, reads.size + 1) if period is None else period + (1 if period.min() == 0 else 0)
    data.add(("requests", "reads"), x, reads)
    data.add(("requests", "writes"), x, writes)
    if reads.size <= MAX_BARS:
        marks = [
            mark.bar(x, reads, 0.8, color=colours.READ[0], label="reads", linewidth=0),
            mark.bar(x, writes, 0.8, bottom=reads, color=colours.WRITE[0], label="writes", linewidth=0),
        ]
    else:
        both = [colours.READ[0], colours.WRITE[0]]
        marks = [mark.of("stackplot")(x, reads, writes, colors=both, labels=["reads", "writes"], linewidth=0)]
    marks += [
        mark.of("margins")(y=0.22),
        mark.legend(loc="upper right", ncols=2, handlelength=0.9, borderaxespad=0.0, columnspacing=1.2),
    ]
    return Panel(marks, "Requests per period", Axis("period", "whole"), Axis(ticks="counts"))


def _cdf(curves: dict[str, Curve], data: Data) -> Panel:
    marks = []
    for kind, label, colour in KINDS:
        if kind in curves:
            x, y = curves[kind]
            marks.append(mark.plot(x * 100.0, y * 100.0, color=colour, label=label))
            data.add(("popularity", kind), x, y)
    marks += [
        mark.plot([0, 100], [0, 100], color=colours.MUTED, linewidth=0.8, linestyle=(0, (2, 3)),
             label="all equally popular"),
        mark.legend(loc="lower right", borderaxespad=0.3),
    ]  # fmt: skip
    x_axis = Axis("of the contents, most popular first", "shares")
    return Panel(marks, "Share of page accesses they receive", x_axis, Axis(ticks="shares"), "both")


def fraction_holding(curve: Curve, accesses: float) -> float | None:
    """The smallest share of contents (percent) that receives this share (0-1) of the accesses."""
    x, y = curve
    return None if y[-1] < accesses else float(np.interp(accesses, y, x)) * 100.0


def _sees(periods: SavedTable | None, curves: dict[str, Curve]) -> list[str]:
    sentences = []
    if periods is not None and periods.rows > 1:
        total = np.nan_to_num(periods.columns["reads"]) + np.nan_to_num(periods.columns["writes"])
        if total.min() > 0:
            factor = units.significant(float(total.max() / total.min()))
            sentences.append(f"The busiest of {periods.rows} periods has {factor} times the requests of the quietest.")
        else:
            sentences.append(f"{int((total == 0).sum())} of {periods.rows} periods have no request.")
    elif periods is not None:
        sentences.append("The trace lasts one period, so nothing learned in a period can be used in a later one.")
    parts = [
        f"80 % of page {kind}s go to {units.percent(at)} of the contents {'read' if kind == 'read' else 'written'}"
        for kind, curve in curves.items()
        if (at := fraction_holding(curve, 0.8)) is not None
    ]
    return sentences + (["; ".join(parts).capitalize() + "."] if parts else [])


@chart("Sizes of requests and gaps between them", "How large are requests, and do they come in bursts?", "workload")
def requests(study: TraceResults) -> Drawing:
    """Two cumulative distributions: bytes a request by kind, and the time since the request before."""
    sizes = _columns(study.workload("request_sizes"), "bytes", "fraction")
    intervals = columns(study.workload("interarrival"), "interval_ns", "fraction")
    data = Data(("panel", "series", "x", "share_at_most"))
    panels, notes = [], []
    if sizes:
        panels.append(_sizes(sizes, data))
    else:
        notes.append("No table `request_sizes` was written, so the sizes of requests are not shown.")
    gaps = (intervals[0], intervals[1]) if intervals is not None else None
    if gaps is not None:
        panels.append(_gaps(gaps, data))
    else:
        notes.append("No table `interarrival` was written, or there is one request only: gaps are not shown.")
    return Drawing(Frame(2.7, [panels]), _sees_requests(sizes, gaps), notes, data) if panels else nothing(*notes)


def _sizes(sizes: dict[str, Curve], data: Data) -> Panel:
    marks = []
    for kind, label, colour in KINDS:
        if kind in sizes:
            x, y = sizes[kind]
            marks.append(mark.step(x, y * 100.0, where="post", color=colour, label=label))
            data.add(("bytes", kind), x, y)
    ends = min(x.min() for x, _ in sizes.values()), max(x.max() for x, _ in sizes.values())
    x_axis = Axis(ticks="size range", of=ends)
    return Panel(marks, "Requests of at most this size", x_axis, Axis(ticks="shares"), "both", ("lower right",))


def _gaps(gaps: Curve, data: Data) -> Panel:
    x, y = gaps
    data.add(("interval_ns", "all"), x, y)
    shown = x > 0
    marks = [mark.step(x[shown], y[shown] * 100.0, where="post", color=colours.SERIES[0][0])]
    x_axis = Axis(ticks="log time") if shown.any() else Axis()
    return Panel(marks, "Requests that follow within this time", x_axis, Axis(ticks="shares"), "both")


def _sees_requests(sizes: dict[str, Curve], gaps: Curve | None) -> list[str]:
    halves = [
        f"half of the {label} are of at most {plain_size(at)}"
        for kind, label, _ in KINDS
        if kind in sizes and (at := first_at(*sizes[kind], 0.5)) is not None
    ]
    sentences = [f"H{'; '.join(halves)[1:]}."] if halves else []
    if gaps is not None:
        x, y = gaps
        together = float(y[x <= 0].max()) if (x <= 0).any() else 0.0
        if together > 0:
            sentences.append(f"{units.percent(together * 100)} come at the same time as the request before them.")
        at = first_at(x, y, 0.5)
        if at:
            sentences.append(f"Half come within {units.duration(at)} of it.")
    return sentences


def table_of_facts(study: TraceResults) -> list[tuple[str, str]]:
    total, peak = study.fact("requests"), study.fact("requests_per_second.peak")

    def with_share(value: float) -> str:
        part = facts.share(value, total)
        return units.count(value) if part is None else f"{units.count(value)}, {units.percent(part)}"

    def with_peak(value: float) -> str:
        mean = f"mean {units.significant(value) if value < 1000 else units.count(value)}"
        return mean if peak is None else f"{mean}, peak {units.count(peak)} in one second"

    contents: tuple[str, str, Callable[[float], str]] = ("Distinct contents", "contents", units.count)
    if study.trace.get("has_content") is False:
        contents = ("Content", "contents", lambda _: "not recorded in the trace")
    rows: list[tuple[str, str, Callable[[float], str]]] = [
        ("Requests", "requests", units.count),
        ("Reads", "reads", with_share),
        ("Writes", "writes", with_share),
        ("Trims", "trims", with_share),
        ("Flushes", "flushes", with_share),
        ("Bytes read", "read_bytes", units.size),
        ("Bytes written", "write_bytes", units.size),
        ("Duration", "duration_ns", units.duration),
        ("Footprint", "footprint_pages", lambda n: f"{units.count(n)} pages of 4 KiB ({units.size(n * 4096)})"),
        ("Requests per second", "requests_per_second.mean", with_peak),
        ("Mean read request", "request_bytes.read.mean", units.size),
        ("Mean write request", "request_bytes.write.mean", units.size),
        contents,
        ("Duplicates among page writes", "duplicate_write_percent", units.percent),
        ("Zeroes among page reads", "zero_read_percent", units.percent),
        ("Zeroes among page writes", "zero_write_percent", units.percent),
        ("Distinct values / page reads", "unique_values_read_percent", units.percent),
        ("Distinct values / page writes", "unique_values_write_percent", units.percent),
        ("Sequential requests", "sequential_percent", units.percent),
    ]
    known = [(label, write, value) for label, path, write in rows if (value := study.fact(path)) is not None]
    # Most traces have no trims or flushes.
    rare = ("Trims", "Flushes", "Distinct contents")
    return [(label, write(value)) for label, write, value in known if value or label not in rare]
