"""Response times over time, and when the slowest requests came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from flashtwin import units
from flashtwin.judgement import facts, ledger
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing

#: The two slices, as columns of the table, with the words for them.
SLICES = ledger.REQUESTS[1:]


@dataclass(frozen=True)
class Course:
    """Response times of the requests of a kind, bucket by bucket of their arrival; a bucket without any has NaN."""

    start_ns: Floats
    width_ns: float
    count: Floats
    mean_ns: Floats
    p99_ns: Floats
    max_ns: Floats
    slowest: dict[str, Floats]


def draw(study: StudyFolder) -> Drawing:
    """For reads and for writes: mean and 99th percentile over time; under them, how the slowest 1 % add up."""
    found = {(run.name, kind): _course(run, kind) for run in study.runs for kind, _ in facts.KINDS[:2]}
    kinds = [(kind, title) for kind, title in facts.KINDS[:2] if any(found[run.name, kind] for run in study.runs)]
    if not kinds:
        return nothing("No run has the table `response_over_time`, so there is nothing to draw over time.")
    fig = style.figure(0.6 + 3.2 * len(kinds))
    panels = fig.subplots(2 * len(kinds), 1, sharex=True, squeeze=False, height_ratios=[2.1, 0.95] * len(kinds))[:, 0]
    data = Data(("system", "kind", "start_ns", "count", "mean_ns", "p99_ns", "max_ns", *(name for name, _ in SLICES)))
    colours, dashes = style.colours(study), style.dashes(study)
    for place, (kind, title) in enumerate(kinds):
        times, slowest = panels[2 * place : 2 * place + 2]
        for run, width in zip(study.runs, style.widths(len(study.runs)), strict=True):
            course = found[run.name, kind]
            if course is None:
                continue
            look: Any = {"color": colours[run.name], "linestyle": dashes[run.name], "linewidth": 0.55 * width}
            _times(times, course, look)
            _add_up(slowest, course, course.slowest[SLICES[0][0]], look)
            _rows(data, run, kind, course)
        _all_of_them(slowest, [found[run.name, kind] for run in study.runs])
        times.set_title(f"{title}: 99th percentile, and (pale) mean")
        slowest.set_title("of the slowest 1 %, arrived so far", size=9, weight="normal", color=style.MUTED)
        _scales(times, slowest)
    shown = [run for run in study.runs if any(found[run.name, kind] for kind, _ in kinds)]
    panels[-1].set_xlim(0, max(_end(course) for course in found.values() if course is not None))
    style.time_axis(panels[-1], ticks=8)
    panels[-1].set_xlabel("time of arrival on the device, since the first request")
    lines = [Line2D([], [], color=colours[run.name], linestyle=dashes[run.name]) for run in shown]
    every = Line2D([], [], color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
    style.legend_above(fig, [*lines, every], [*(run.label for run in shown), "all requests"])
    return Drawing(fig, _sees(study, [kind for kind, _ in kinds]), _absent(study, shown), data)


def _course(run: SavedRun, kind: str) -> Course | None:
    table = run.table("response_over_time")
    rows = table.where("kind", kind) if table is not None else None
    if rows is None or rows.rows == 0:
        return None
    names = ("start_ns", "width_ns", "count", "mean_ns", "p99_ns", "max_ns", *(name for name, _ in SLICES))
    columns = [values for name in names if (values := rows.get(name)) is not None]
    if len(columns) < len(names) or not columns[2].sum():
        return None
    start, width, count, mean, p99, most, *slowest = columns
    by_slice = {name: values for (name, _), values in zip(SLICES, slowest, strict=True)}
    return Course(start, float(width[0]), count, mean, p99, most, by_slice)


def _end(course: Course) -> float:
    return float(course.start_ns[-1] + course.width_ns)


def _edges(course: Course) -> Floats:
    return np.append(course.start_ns, _end(course))


def _times(axes: Axes, course: Course, look: dict[str, Any]) -> None:
    for values, alpha in ((course.mean_ns, 0.4), (course.p99_ns, 1.0)):
        axes.step(_edges(course), np.append(values, values[-1]), where="post", alpha=alpha, **look)


def _add_up(axes: Axes, course: Course, counts: Floats, look: dict[str, Any]) -> None:
    """The share of some requests that had arrived by each moment."""
    total = counts.sum()
    if total > 0:
        axes.plot(_edges(course), np.append(0.0, np.cumsum(counts)) / total * 100.0, **look)


def _all_of_them(axes: Axes, courses: list[Course | None]) -> None:
    """The arrival of all requests, which is the trace's unless the loop is closed: once, of the first run."""
    first = next(course for course in courses if course is not None)
    _add_up(axes, first, first.count, {"color": style.MUTED, "linewidth": 0.9, "linestyle": (0, (4, 3))})


def _scales(times: Axes, slowest: Axes) -> None:
    # Reads of pages that hold nothing take no time at all: a logarithm has no place for them.
    if any(np.nanmax(line.get_ydata(), initial=0) > 0 for line in times.lines):
        times.set_yscale("log")
        times.yaxis.set_major_locator(LogLocator(numticks=7))
    times.yaxis.set_minor_formatter(NullFormatter())
    times.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.plain_duration(value)))
    style.quiet(times, "both")
    style.percents(style.quiet(slowest, "both"))
    slowest.set_ylim(0, 103)
    slowest.set_yticks([0, 50, 100])


def _rows(data: Data, run: SavedRun, kind: str, course: Course) -> None:
    columns = (course.start_ns, course.count, course.mean_ns, course.p99_ns, course.max_ns, *course.slowest.values())
    data.rows.extend((run.name, kind, *map(float, row)) for row in zip(*columns, strict=True))


def _sees(study: StudyFolder, kinds: list[str]) -> list[str]:
    """Of each kind, for the run with the longest tail and for the one with the shortest."""
    sentences = []
    for kind in kinds:
        known = [(run.number(f"response.{kind}.p99_9_ns"), run) for run in study.runs if _course(run, kind)]
        tails = sorted(((tail, run) for tail, run in known if tail is not None), key=lambda pair: -pair[0])
        for _, run in dict.fromkeys((tails[:1] + tails[-1:]) if tails else []):
            course = _course(run, kind)
            if course is not None:
                sentences.append(_concentration(run, kind, course))
    return sentences


def _concentration(run: SavedRun, kind: str, course: Course) -> str:
    """How much of the time holds half of the slowest 1 %, its busiest part, and the waits of these."""
    name, words = SLICES[0]
    counts = course.slowest[name]
    descending = np.sort(counts)[::-1]
    buckets = int(np.searchsorted(np.cumsum(descending), counts.sum() / 2.0) + 1)
    densest = int(counts.argmax())
    waited = _waited_for(run, kind, name, float(course.start_ns[densest]))
    time = units.percent(100.0 * buckets / counts.size)
    return (
        f"Half of {words} of {kind}s under `{run.label}` came within {time} of the time, most of them about "
        f"{units.duration(float(course.start_ns[densest]) + course.width_ns / 2)} after the first request{waited}."
    )


def _waited_for(run: SavedRun, kind: str, name: str, start_ns: float) -> str:
    table = run.table("slowest_over_time")
    if table is None:
        return ""
    rows = table.where("kind", kind).where("requests", name).where("start_ns", start_ns)
    sums = rows.get("sum_ns")
    if sums is None:
        return ""
    waits = [
        (float(ns), charge)
        for ns, part, charge in zip(sums, rows.texts["part"], rows.texts["charge"], strict=True)
        if part != ledger.SERVICE
    ]
    most, charge = max(waits, default=(0.0, ""))
    share = units.percent(100.0 * most / float(sums.sum()))
    return f"; these waited longest for {ledger.words(charge)} ({share} of their time)" if most > 0 else ""


def _absent(study: StudyFolder, shown: list[SavedRun]) -> list[str]:
    hidden = [run.label for run in study.runs if run not in shown]
    return [f"No `response_over_time` was written for {units.names(hidden)}."] if hidden else []


CHART = Chart(
    "response_over_time",
    "Response times over time",
    "When do requests wait, and do the slowest come all at once?",
    "time",
    draw,
)
