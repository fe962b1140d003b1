"""How large requests are and how closely they follow one another."""

from __future__ import annotations

from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import Floats, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import first_at, sentence

_KINDS = (("read", "reads", style.READ[0]), ("write", "writes", style.WRITE[0]))


def draw(workload: TraceResults) -> Drawing:
    """Two cumulative distributions: bytes a request by kind, and the time since the request before."""
    sizes = _sizes(workload)
    gaps = _gaps(workload)
    notes = []
    if not sizes:
        notes.append("No table `request_sizes` was written, so the sizes of requests are not shown.")
    if gaps is None:
        notes.append("No table `interarrival` was written, or there is one request only: gaps are not shown.")
    if not sizes and gaps is None:
        return nothing(*notes)
    fig = style.figure(2.7)
    panels = list(fig.subplots(1, bool(sizes) + (gaps is not None), squeeze=False)[0])
    data = Data(("panel", "series", "x", "share_at_most"))
    if sizes:
        _draw_sizes(panels.pop(0), sizes, data)
    if gaps is not None:
        _draw_gaps(panels.pop(0), gaps, data)
    return Drawing(fig, _sees(sizes, gaps), notes, data)


def _sizes(workload: TraceResults) -> dict[str, tuple[Floats, Floats]]:
    table = workload.workload("request_sizes")
    found = {}
    for kind, _, _ in _KINDS:
        rows = table.where("kind", kind) if table is not None else None
        x, y = (rows.get("bytes"), rows.get("fraction")) if rows is not None else (None, None)
        if x is not None and y is not None:
            found[kind] = (x, y)
    return found


def _gaps(workload: TraceResults) -> tuple[Floats, Floats] | None:
    table = workload.workload("interarrival")
    if table is None:
        return None
    x, y = table.get("interval_ns"), table.get("fraction")
    return (x, y) if x is not None and y is not None else None


def _draw_sizes(axes: Axes, sizes: dict[str, tuple[Floats, Floats]], data: Data) -> None:
    for kind, label, colour in _KINDS:
        if kind in sizes:
            x, y = sizes[kind]
            axes.step(x, y * 100.0, where="post", color=colour, label=label)
            data.rows.extend(("bytes", kind, float(a), float(b)) for a, b in zip(x, y, strict=True))
    scales.log_bytes(axes, min(x.min() for x, _ in sizes.values()), max(x.max() for x, _ in sizes.values()))
    scales.shares(style.quiet(axes, "both"))
    axes.set_title("Requests of at most this size")
    scales.inside_legend(axes, "lower right")


def _draw_gaps(axes: Axes, gaps: tuple[Floats, Floats], data: Data) -> None:
    x, y = gaps
    shown = x > 0
    axes.step(x[shown], y[shown] * 100.0, where="post", color=style.HUES[0][0])
    data.rows.extend(("interval_ns", "all", float(a), float(b)) for a, b in zip(x, y, strict=True))
    if shown.any():
        style.log_time(axes)
    scales.shares(style.quiet(axes, "both"))
    axes.set_title("Requests that follow within this time")


def _sees(sizes: dict[str, tuple[Floats, Floats]], gaps: tuple[Floats, Floats] | None) -> list[str]:
    sentences = []
    halves = [
        f"half of the {label} are of at most {scales.plain_size(at)}"
        for kind, label, _ in _KINDS
        if kind in sizes and (at := first_at(*sizes[kind], 0.5)) is not None
    ]
    if halves:
        sentences.append(sentence(halves))
    if gaps is not None:
        x, y = gaps
        together = float(y[x <= 0].max()) if (x <= 0).any() else 0.0
        if together > 0:
            sentences.append(f"{units.percent(together * 100)} come at the same time as the request before them.")
        at = first_at(x, y, 0.5)
        if at:
            sentences.append(f"Half come within {units.duration(at)} of it.")
    return sentences


CHART = Chart(
    "requests",
    "Sizes of requests and gaps between them",
    "How large are requests, and do they come in bursts?",
    "workload",
    draw,
)
