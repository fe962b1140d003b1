"""The trace: requests over time and the skew of its contents (RR-SSD paper, Fig. 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import Floats, SavedTable, StudyFolder, TraceResults

from .. import style
from .base import Chart, Data, Drawing, nothing

#: With more periods than this, bars become an area.
MAX_BARS = 80


def draw(study: TraceResults) -> Drawing:
    """Requests per period, and the popularity CDFs where the trace carries content."""
    notes: list[str] = []
    periods = _periods(study, notes)
    curves = _popularity(study, notes)
    if periods is None and not curves:
        return nothing(*notes)
    fig = style.figure(2.7)
    panels = list(fig.subplots(1, (periods is not None) + bool(curves), squeeze=False)[0])
    data = Data(("panel", "series", "x", "y"))
    if periods is not None:
        _requests(panels.pop(0), periods, data)
    if curves:
        _cdf(panels.pop(0), curves, data)
    return Drawing(fig, _sees(periods, curves), notes, data)


def _periods(study: TraceResults, notes: list[str]) -> SavedTable | None:
    """Rows with `reads` and `writes`: of the workload, else of any run (the trace is the same)."""
    runs = study.runs if isinstance(study, StudyFolder) else ()
    candidates = [study.workload("periods"), *(run.table("periods") for run in runs)]
    for table in candidates:
        if table is not None and table.get("reads") is not None and table.get("writes") is not None:
            return table
    notes.append("No table `periods` with reads and writes was written, so requests over time are not shown.")
    return None


def _popularity(study: TraceResults, notes: list[str]) -> dict[str, tuple[Floats, Floats]]:
    table = study.workload("popularity")
    curves = {}
    for kind in ("read", "write"):
        rows = table.where("kind", kind) if table is not None else None
        x, y = (rows.get("value_fraction"), rows.get("access_fraction")) if rows is not None else (None, None)
        if x is not None and y is not None:
            curves[kind] = (np.append(0.0, x), np.append(0.0, y))
    if not curves:
        why = (
            "the trace carries no content"
            if study.trace.get("has_content") is False
            else "no table `popularity` was written"
        )
        notes.append(f"The popularity of contents is not shown: {why}.")
    return curves


def _requests(axes: Axes, table: SavedTable, data: Data) -> None:
    reads, writes = (np.nan_to_num(table.columns[name]) for name in ("reads", "writes"))
    period = table.get("period")
    x = np.arange(1, reads.size + 1) if period is None else period + (1 if period.min() == 0 else 0)
    if reads.size <= MAX_BARS:
        axes.bar(x, reads, 0.8, color=style.READ[0], label="reads", linewidth=0)
        axes.bar(x, writes, 0.8, bottom=reads, color=style.WRITE[0], label="writes", linewidth=0)
    else:
        axes.stackplot(
            x, reads, writes, colors=[style.READ[0], style.WRITE[0]], labels=["reads", "writes"], linewidth=0
        )
    style.counts(style.quiet(axes))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
    axes.set_xlabel("period")
    axes.set_title("Requests per period")
    axes.margins(y=0.22)
    axes.legend(loc="upper right", ncols=2, handlelength=0.9, borderaxespad=0.0, columnspacing=1.2)
    for name, values in (("reads", reads), ("writes", writes)):
        data.rows.extend(("requests", name, float(at), float(value)) for at, value in zip(x, values, strict=True))


def _cdf(axes: Axes, curves: dict[str, tuple[Floats, Floats]], data: Data) -> None:
    for kind, colour in (("read", style.READ[0]), ("write", style.WRITE[0])):
        if kind in curves:
            x, y = curves[kind]
            axes.plot(x * 100.0, y * 100.0, color=colour, label=f"{kind}s")
            data.rows.extend(("popularity", kind, float(a), float(b)) for a, b in zip(x, y, strict=True))
    axes.plot([0, 100], [0, 100], color=style.MUTED, linewidth=0.8, linestyle=(0, (2, 3)), label="all equally popular")
    style.quiet(axes, "both")
    style.percents(axes, "x")
    style.percents(axes, "y")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 101)
    axes.set_xlabel("of the contents, most popular first")
    axes.set_title("Share of page accesses they receive")
    axes.legend(loc="lower right", borderaxespad=0.3)


def fraction_holding(curve: tuple[Floats, Floats], accesses: float) -> float | None:
    """The smallest share of contents (percent) that receives this share (0-1) of the accesses."""
    x, y = curve
    if y[-1] < accesses:
        return None
    return float(np.interp(accesses, y, x)) * 100.0


def _sees(periods: SavedTable | None, curves: dict[str, tuple[Floats, Floats]]) -> list[str]:
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
    parts = []
    for kind, curve in curves.items():
        at = fraction_holding(curve, 0.8)
        if at is not None:
            parts.append(f"80 % of page {kind}s go to {units.percent(at)} of the contents {_past(kind)}")
    if parts:
        sentences.append("; ".join(parts).capitalize() + ".")
    return sentences


def _past(kind: str) -> str:
    return "read" if kind == "read" else "written"


def table_of_facts(study: TraceResults) -> list[tuple[str, str]]:
    """The trace in brief, as label and value; unknown ones are left out."""
    fact, rows = study.fact, list[tuple[str, str]]()

    def add(label: str, path: str, text: str | None, *more: str) -> None:
        if fact(path) is not None and text is not None:
            rows.append((label, ", ".join([text, *more])))

    requests = fact("requests")
    add("Requests", "requests", units.count(requests))
    for label, key in (("Reads", "reads"), ("Writes", "writes"), ("Trims", "trims"), ("Flushes", "flushes")):
        value = fact(key)
        if value or key in ("reads", "writes"):
            part = facts.share(value, requests)
            add(label, key, units.count(value), *([units.percent(part)] if part is not None else []))
    add("Bytes read", "read_bytes", units.size(fact("read_bytes")))
    add("Bytes written", "write_bytes", units.size(fact("write_bytes")))
    add("Duration", "duration_ns", units.duration(fact("duration_ns")))
    footprint = fact("footprint_pages")
    add(
        "Footprint",
        "footprint_pages",
        f"{units.count(footprint)} pages of 4 KiB ({units.size((footprint or 0) * 4096)})",
    )
    _rates(study, add)
    if study.trace.get("has_content") is False:
        rows.append(("Content", "not recorded in the trace"))
    add("Distinct contents", "contents", units.count(fact("contents")) if fact("contents") else None)
    for label, key in (
        ("Duplicates among page writes", "duplicate_write_percent"),
        ("Zeroes among page reads", "zero_read_percent"),
        ("Zeroes among page writes", "zero_write_percent"),
        ("Distinct values / page reads", "unique_values_read_percent"),
        ("Distinct values / page writes", "unique_values_write_percent"),
        ("Sequential requests", "sequential_percent"),
    ):
        add(label, key, units.percent(fact(key)))
    return rows


def _rates(study: TraceResults, add: Callable[..., None]) -> None:
    mean, peak = study.fact("requests_per_second.mean"), study.fact("requests_per_second.peak")
    more = [f"peak {units.count(peak)} in one second"] if peak is not None else []
    add("Requests per second", "requests_per_second.mean", f"mean {_rate(mean)}", *more)
    for kind in ("read", "write"):
        path = f"request_bytes.{kind}.mean"
        value = study.fact(path)
        if value is not None:
            add(f"Mean {kind} request", path, units.size(value))


def _rate(value: float | None) -> str:
    if value is None:
        return units.MISSING
    return units.significant(value) if value < 1000 else units.count(value)


CHART = Chart(
    "workload",
    "The workload in brief",
    "When do requests come, and do a few contents receive most of them?",
    "workload",
    draw,
)
