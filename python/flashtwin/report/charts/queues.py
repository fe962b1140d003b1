"""Queue length of every chip over time, with and without redirection (RR-SSD paper, Fig. 2)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, Normalize
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from .. import facts, style, units
from ..results import Floats, Run, Study
from .base import Chart, Data, Drawing, nothing

#: More heat maps than this do not fit on a page.
MAX_PANELS = 4


def draw(study: Study) -> Drawing:
    """A heat map a system on one colour scale, and under it the shortest, mean and longest queue."""
    base = facts.reference(study)
    wanted = (base, *facts.subjects(study))
    known = [(run, facts.queues(run)) for run in wanted]
    shown = [(run, queue) for run, queue in known if queue is not None][:MAX_PANELS]
    if not shown:
        return nothing("No run has the table `queue_over_time`, so queues cannot be shown.")
    notes = _absent(known)
    fig = style.figure(2.75 * len(shown) + 0.3)
    panels = fig.subplots(2 * len(shown), 1, sharex=True, squeeze=False, height_ratios=[1.7, 1.0] * len(shown))[:, 0]
    top = max(float(queue.mean.max()) for _, queue in shown)
    longest = max(float(queue.spread[2].max()) for _, queue in shown)
    # log(1 + x) shows short queues and long ones on one scale, and has a zero.
    norm = FuncNorm((np.log1p, np.expm1), 0, max(top, 1.0))
    data = Data(("system", "start_ns", "chip_shortest", "chips_mean", "chip_longest"))
    for place, (run, queue) in enumerate(shown):
        _heat(panels[2 * place], queue, norm)
        panels[2 * place].set_title(style.shorten(run.label, 60))
        _lines(panels[2 * place + 1], queue, longest, style.colours(study)[run.name])
        spread = zip(queue.start_ns, *queue.spread, strict=True)
        data.rows.extend((run.name, *(float(value) for value in row)) for row in spread)
    bar = fig.colorbar(
        ScalarMappable(norm, style.QUEUE_COLOURS), ax=list(panels[::2]), pad=0.01, aspect=12 * len(shown), fraction=0.03
    )
    bar.outline.set_visible(False)
    bar.set_label("mean queue length of a chip")
    bar.set_ticks([tick for tick in (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000) if tick <= max(top, 1.0)])
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    style.time_axis(panels[-1], ticks=8)
    panels[-1].set_xlabel("time on the device since the first request")
    return Drawing(fig, _sees(shown), notes, data)


def _heat(axes: Axes, queue: facts.Queues, norm: Normalize) -> None:
    edges = np.append(queue.start_ns, queue.start_ns[-1] + queue.width_ns[-1])
    rows = np.arange(queue.chips.size + 1) - 0.5
    # Rasterised: a mesh of 512 x 64 vector cells would be megabytes.
    axes.pcolormesh(edges, rows, queue.mean, cmap=style.QUEUE_COLOURS, norm=norm, rasterized=True)
    style.quiet(axes, "none")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_ylabel("chip")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axes.tick_params(axis="x", length=0)


def _lines(axes: Axes, queue: facts.Queues, longest: float, colour: str) -> None:
    low, mean, high = queue.spread
    ends = np.append(queue.start_ns, queue.start_ns[-1] + queue.width_ns[-1])

    def steps(values: Floats) -> Floats:
        return np.append(values, values[-1])

    axes.fill_between(ends, steps(low), steps(high), step="post", color=colour, alpha=0.22, linewidth=0)
    # Hundreds of steps in thick lines would be a black band.
    thin = 0.55 if mean.size > 150 else 1.0
    axes.step(ends, steps(high), where="post", color=colour, linewidth=0.6 * thin)
    axes.step(ends, steps(mean), where="post", color=style.INK, linewidth=1.1 * thin)
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.6)
    axes.set_ylim(0, max(longest, 1.0) * 1.15)
    axes.yaxis.set_major_locator(_decades(longest))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_ylabel("queue")
    style.quiet(axes, "y")


def _decades(longest: float) -> FixedLocator:
    ticks = [0.0, 1.0]
    while ticks[-1] * 10 <= max(longest, 1.0) * 1.15:
        ticks.append(ticks[-1] * 10)
    return FixedLocator(ticks)


def _sees(shown: list[tuple[Run, facts.Queues]]) -> list[str]:
    sentences = []
    for run, queue in shown:
        imbalance = queue.imbalance
        if imbalance is None:
            sentences.append(f"Under `{run.label}` no request ever waited for a chip.")
            continue
        mean = float(np.average(queue.mean.mean(axis=0), weights=queue.width_ns))
        sentences.append(
            f"Under `{run.label}` the mean queue of a chip is {units.significant(mean)}; "
            f"the longest is {units.significant(imbalance)} times the mean at the same moment."
        )
    return sentences


def _absent(known: list[tuple[Run, facts.Queues | None]]) -> list[str]:
    notes = []
    missing = [run.label for run, queue in known if queue is None]
    if missing:
        notes.append(f"No `queue_over_time` was written for {units.names(missing)}.")
    left_out = [run.label for run, queue in known if queue is not None][MAX_PANELS:]
    if left_out:
        notes.append(f"Only {MAX_PANELS} systems fit; not shown: {units.names(left_out)}.")
    return notes


CHART = Chart(
    "queues",
    "Queues at the chips over time",
    "Are some chips overloaded while others wait, and does redirection even that out?",
    "time",
    draw,
)
