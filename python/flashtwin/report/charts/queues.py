"""Queue length of every chip over time, with and without redirection (RR-SSD paper, Fig. 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import style, timelines
from .base import Chart, Data, Drawing, nothing

#: More heat maps than this do not fit on a page.
MAX_PANELS = 4


def draw(study: StudyFolder) -> Drawing:
    """A heat map a system on one colour scale; under it the shortest, mean and longest queue, and the hash unit's."""
    base = facts.reference(study)
    wanted = (base, *facts.subjects(study))
    known = [(run, timelines.queues(run)) for run in wanted]
    shown = [(run, queue) for run, queue in known if queue is not None][:MAX_PANELS]
    if not shown:
        return nothing("No run has the table `queue_over_time`, so queues cannot be shown.")
    notes = _absent(known)
    hashing = {run.name: timelines.hash_queue(run) for run, _ in shown}
    fig, panels = _panels([hashing[run.name] is not None for run, _ in shown])
    top = max(float(queue.mean.max()) for _, queue in shown)
    longest = max(float(queue.spread[2].max()) for _, queue in shown)
    most_hashing = max((float(queue.mean.max()) for queue in hashing.values() if queue is not None), default=0.0)
    # log(1 + x) shows short queues and long ones on one scale, and has a zero.
    norm = FuncNorm((np.log1p, np.expm1), 0, max(top, 1.0))
    data = Data(("system", "start_ns", "chip_shortest", "chips_mean", "chip_longest", "hash_unit_mean"))
    for (run, queue), (heat, lines, hash_unit) in zip(shown, panels, strict=True):
        _heat(heat, queue, norm)
        heat.set_title(style.shorten(run.label, 60))
        _lines(lines, queue, longest, style.colours(study)[run.name])
        at_start = _hash_unit_line(hash_unit, hashing[run.name], most_hashing)
        spread = zip(queue.start_ns, *queue.spread, strict=True)
        rows = [[float(value) for value in row] for row in spread]
        data.rows.extend((run.name, *row, at_start.get(row[0])) for row in rows)
    bar = fig.colorbar(
        ScalarMappable(norm, style.QUEUE_COLOURS),
        ax=[heat for heat, _, _ in panels],
        pad=0.01,
        aspect=12 * len(shown),
        fraction=0.03,
    )
    bar.outline.set_visible(False)
    bar.set_label("mean queue length of a chip")
    bar.set_ticks([tick for tick in (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000) if tick <= max(top, 1.0)])
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    _legend(fig, any(queue is not None for queue in hashing.values()))
    last = next(axes for axes in reversed(panels[-1]) if axes is not None)
    style.time_axis(last, ticks=8)
    last.set_xlabel("time on the device since the first request")
    return Drawing(fig, _sees(shown), notes, data)


def _panels(hashes: Sequence[bool]) -> tuple[Figure, list[tuple[Axes, Axes, Axes | None]]]:
    """For each system a place for the heat map, one for the lines, and one for the hash unit where it has one."""
    heights = [height for hash_unit in hashes for height in (1.7, 0.9, *([0.55] if hash_unit else []))]
    fig = style.figure(0.45 + sum(heights) + 0.05 * len(heights))
    rows = fig.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    left = iter(rows)
    return fig, [(next(left), next(left), next(left) if hash_unit else None) for hash_unit in hashes]


def _heat(axes: Axes, queue: timelines.Queues, norm: Normalize) -> None:
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


def _lines(axes: Axes, queue: timelines.Queues, longest: float, colour: str) -> None:
    low, mean, high = queue.spread
    ends = np.append(queue.start_ns, queue.start_ns[-1] + queue.width_ns[-1])

    def steps(values: Floats) -> Floats:
        return np.append(values, values[-1])

    axes.fill_between(ends, steps(low), steps(high), step="post", color=colour, alpha=0.22, linewidth=0)
    # Hundreds of steps in thick lines would be a black band.
    thin = 0.55 if mean.size > 150 else 1.0
    axes.step(ends, steps(high), where="post", color=colour, linewidth=0.6 * thin)
    axes.step(ends, steps(mean), where="post", color=style.INK, linewidth=1.1 * thin)
    _queue_axis(axes, longest)
    axes.set_ylabel("chips")


def _hash_unit_line(axes: Axes | None, queue: timelines.HashQueue | None, most: float) -> dict[float, float]:
    """Draws the hash unit's queue; its means by the bins' starts, none without hashing."""
    if queue is None or axes is None:
        return {}
    ends = np.append(queue.start_ns, queue.start_ns[-1] + queue.width_ns[-1])
    levels = np.append(queue.mean, queue.mean[-1])
    axes.fill_between(ends, 0, levels, step="post", color=style.WAIT_COLOURS["hash_queue"][0], linewidth=0)
    _queue_axis(axes, most)
    axes.set_ylabel("hash unit")
    return {float(start): float(level) for start, level in zip(queue.start_ns, queue.mean, strict=True)}


def _queue_axis(axes: Axes, longest: float) -> None:
    """A y axis of queue lengths on which 0, 1 and thousands differ visibly."""
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.6)
    axes.set_ylim(0, max(longest, 1.0) * 1.15)
    axes.yaxis.set_major_locator(_decades(longest))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    style.quiet(axes, "y")


def _legend(fig: Figure, hashes: bool) -> None:
    """The caption of each heat map."""
    shown: list[tuple[Artist, str]] = [
        (Patch(facecolor=style.MUTED, alpha=0.35, linewidth=0), "chips, shortest to longest"),
        (Line2D([], [], color=style.INK, linewidth=1.1), "mean of the chips"),
    ]
    if hashes:
        shown.append((Patch(facecolor=style.WAIT_COLOURS["hash_queue"][0], linewidth=0), "hash unit"))
    style.legend_above(fig, [handle for handle, _ in shown], [label for _, label in shown])


def _decades(longest: float) -> FixedLocator:
    ticks = [0.0, 1.0]
    while ticks[-1] * 10 <= max(longest, 1.0) * 1.15:
        ticks.append(ticks[-1] * 10)
    # Five labels do not fit above one another: of many decades, 0 and every other one.
    return FixedLocator(ticks if len(ticks) < 5 else [0.0, *ticks[2::2]])


def _sees(shown: list[tuple[SavedRun, timelines.Queues]]) -> list[str]:
    sentences = []
    for run, queue in shown:
        imbalance = queue.imbalance
        if imbalance is None:
            sentences.append(f"Under `{run.label}` no request ever waited for a chip{_hash_unit(run)}.")
            continue
        mean = float(np.average(queue.mean.mean(axis=0), weights=queue.width_ns))
        sentences.append(
            f"Under `{run.label}` the mean queue of a chip is {units.significant(mean)}; "
            f"the longest is {units.significant(imbalance)} times the mean at the same moment{_hash_unit(run)}."
        )
    return sentences


def _hash_unit(run: SavedRun) -> str:
    mean, most = run.number("hash_unit.queue_mean"), run.number("hash_unit.queue_max")
    if mean is None or most is None:
        return ""
    return f"; its hash unit holds {units.significant(mean)} pages on average and {units.count(most)} at most"


def _absent(known: list[tuple[SavedRun, timelines.Queues | None]]) -> list[str]:
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
    "Queues at the chips and the hash unit over time",
    "Are some chips overloaded while others wait, and does redirection even that out?",
    "time",
    draw,
)
