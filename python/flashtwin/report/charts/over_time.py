"""Charts over time: response times, improvement period by period, queues at the chips and the hash unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results import ledger
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import colours, mark
from ..declared import (
    Axis,
    ColourBar,
    Data,
    Drawing,
    Frame,
    LegendEntry,
    Panel,
    chart,
    line_key,
    nothing,
    patch_key,
    shorten,
)
from . import timelines
from .response import note

SLICES = ledger.REQUESTS[1:]
_EVERY = {"color": colours.MUTED, "linewidth": 0.9, "linestyle": (0, (4, 3))}


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

    @property
    def edges(self) -> Floats:
        """The starts of all buckets, and the end of the last."""
        return np.append(self.start_ns, self.start_ns[-1] + self.width_ns)


@chart("Response times over time", "When do requests wait, and do the slowest come all at once?", "time")
def response_over_time(study: StudyFolder) -> Drawing:
    """For reads and for writes: mean and 99th percentile over time; under them, how the slowest 1 % add up."""
    found = {(run.name, kind): _course(run, kind) for run in study.runs for kind, _ in facts.KINDS[:2]}
    kinds = [(kind, title) for kind, title in facts.KINDS[:2] if any(found[run.name, kind] for run in study.runs)]
    if not kinds:
        return nothing("No run has the table `response_over_time`, so there is nothing to draw over time.")
    data = Data(("system", "kind", "start_ns", "count", "mean_ns", "p99_ns", "max_ns", *(name for name, _ in SLICES)))
    looks = colours.lines_of_runs(study)
    widths = dict(zip(study.runs, colours.widths(len(study.runs)), strict=True))
    end = max(float(course.edges[-1]) for course in found.values() if course is not None)
    arrival = Axis("time of arrival on the device, since the first request", "time", (None, 8), low=0, high=end)
    rows: list[list[Panel]] = []
    for kind, title in kinds:
        courses = {run: course for run in study.runs if (course := found[run.name, kind]) is not None}
        lines = {run: {**looks[run.name], "linewidth": 0.55 * widths[run]} for run in courses}
        for run, one in courses.items():
            columns = (one.start_ns, one.count, one.mean_ns, one.p99_ns, one.max_ns, *one.slowest.values())
            data.add((run.name, kind), *columns)
        rows += [
            [_times(title, courses, lines)],
            [_slowest(courses, lines, arrival if kind == kinds[-1][0] else Axis())],
        ]
    shown = [run for run in study.runs if any(found[run.name, kind] for kind, _ in kinds)]
    keys = [*(line_key(run.label, **looks[run.name]) for run in shown), line_key("all requests", **_EVERY)]
    grid = {"sharex": True, "height_ratios": [2.1, 0.95] * len(kinds)}
    hidden = [run.label for run in study.runs if run not in shown]
    notes = note("No `response_over_time` was written for {}.", hidden)
    sees = _sees_courses(study, [kind for kind, _ in kinds], found)
    return Drawing(Frame(0.6 + 3.2 * len(kinds), rows, keys, grid=grid), sees, notes, data)


def _course(run: SavedRun, kind: str) -> Course | None:
    table = run.table("response_over_time")
    names = ("start_ns", "width_ns", "count", "mean_ns", "p99_ns", "max_ns", *(name for name, _ in SLICES))
    known = None if table is None else timelines.columns(table.where("kind", kind), *names)
    if known is None or not known[2].sum():
        return None
    start, width, count, mean, p99, most, *slowest = known
    by_slice = {name: values for (name, _), values in zip(SLICES, slowest, strict=True)}
    return Course(start, float(width[0]), count, mean, p99, most, by_slice)


def _times(title: str, courses: Mapping[SavedRun, Course], lines: Mapping[SavedRun, dict[str, Any]]) -> Panel:
    marks = []
    for run, course in courses.items():
        for values, alpha in ((course.mean_ns, 0.4), (course.p99_ns, 1.0)):
            heights = np.append(values, values[-1])
            marks.append(mark.step(course.edges, heights, where="post", alpha=alpha, **lines[run]))
    # Reads of pages that hold nothing take no time at all: a logarithm has no place for them.
    some = any(np.nanmax(one.args[1], initial=0) > 0 for one in marks)
    y_axis = Axis(ticks="durations", of=7 if some else None, log=some)
    return Panel(marks, f"{title}: 99th percentile, and (pale) mean", y=y_axis, grid="both")


def _slowest(courses: Mapping[SavedRun, Course], lines: Mapping[SavedRun, dict[str, Any]], arrival: Axis) -> Panel:
    """How the slowest 1 % add up; all requests, whose arrival is the trace's unless the loop is closed, once."""
    marks = []
    for run, course in courses.items():
        marks += _add_up(course, course.slowest[SLICES[0][0]], lines[run])
    first = next(iter(courses.values()))
    marks += _add_up(first, first.count, _EVERY)
    look = {"size": 9, "weight": "normal", "color": colours.MUTED}
    marks.append(mark.of("set_yticks")([0, 50, 100]))
    y_axis = Axis(ticks="percents", low=0, high=103)
    return Panel(marks, "of the slowest 1 %, arrived so far", arrival, y_axis, "both", title_look=look)


def _add_up(course: Course, counts: Floats, look: Mapping[str, Any]) -> list[mark.Mark]:
    total = counts.sum()
    return [mark.plot(course.edges, np.append(0.0, np.cumsum(counts)) / total * 100.0, **look)] if total > 0 else []


def _sees_courses(study: StudyFolder, kinds: list[str], found: Mapping[tuple[str, str], Course | None]) -> list[str]:
    """Of each kind, for the run with the longest tail and for the one with the shortest."""
    sentences = []
    for kind in kinds:
        known = [(run.number(f"response.{kind}.p99_9_ns"), run) for run in study.runs if found[run.name, kind]]
        tails = sorted(((tail, run) for tail, run in known if tail is not None), key=lambda pair: -pair[0])
        for _, run in dict.fromkeys(tails[:1] + tails[-1:]):
            course = found[run.name, kind]
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


Compared = list[tuple[SavedRun, timelines.Curve]]


@chart("Improvement period by period", "Does what was learned in one period help in the next?", "time")
def periods(study: StudyFolder) -> Drawing:
    """How much shorter the mean response is than the reference's, and, below, New and Rep (RR-SSD paper, Fig. 9)."""
    base, runs = facts.reference(study), facts.subjects(study)
    if not runs:
        return nothing(f"There is only one run, `{base.label}`, so there is nothing to compare it with.")
    reads, every = (_improvements(runs, base, column) for column in ("read_mean_ns", "all_mean_ns"))
    if not reads and not every:
        return nothing(
            f"No period has a mean response time of `{base.label}` and of another run: the table `periods` is "
            "missing, has other periods, or no read completed in any of them."
        )
    data = Data(("series", "system", "period", "percent"))
    panels = [
        _improvement(study, compared, data, words, base)
        for compared, words in ((reads, "reads"), (every, "all requests"))
        if compared
    ]
    heights = [2.2] * len(panels)
    shares = _shares(study, runs)
    if shares:
        panels.append(_new_and_rep(study, shares, data))
        heights.append(1.5)
    known = [period + 1 for _, (period, _) in (*reads, *every)]
    x_axis = Axis(
        "period", "whole", 14, low=min(at.min() for at in known) - 0.7, high=max(at.max() for at in known) + 0.7
    )
    panels[-1] = replace(panels[-1], x=x_axis)
    keys = [*_improvement_keys(study, [run for run, _ in (*reads, *every)]), *_share_keys(shares)]
    frame = Frame(
        sum(heights) + 0.7, [[panel] for panel in panels], keys, grid={"sharex": True, "height_ratios": heights}
    )
    notes = [] if shares else ["New and Rep are not shown: no system counted them period by period."]
    return Drawing(frame, _sees_periods(reads, base, shares), notes, data)


def _improvements(runs: Sequence[SavedRun], base: SavedRun, column: str) -> Compared:
    known = [(run, timelines.by_period(run, base, column)) for run in runs]
    return [(run, one) for run, one in known if one is not None and np.isfinite(one[1]).any()]


def _improvement(study: StudyFolder, compared: Compared, data: Data, words: str, base: SavedRun) -> Panel:
    """Designs as bars side by side, reads from any chip (oracle) as a line across them: the paper's form."""
    hues = colours.of_runs(study)
    designs = [run for run, _ in compared if not run.is_ideal]
    many = max(period.size for _, (period, _) in compared) > 40
    width = 0.8 / max(len(designs), 1)
    marks = []
    for run, (period, values) in compared:
        colour, at = hues[run.name], period + 1
        data.add((f"{words}, shorter by", run.name), at, values)
        if run.is_ideal:
            x, y = np.append(at - 0.5, at[-1] + 0.5), np.append(values, values[-1])
            marks.append(mark.step(x, y, where="post", color=colour))
        elif many:
            marks.append(mark.plot(at, values, color=colour, linewidth=1.2))
        else:
            place = at - 0.4 + (designs.index(run) + 0.5) * width
            marks.append(mark.bar(place, values, width * 0.92, color=colour, linewidth=0))
    marks.append(mark.axhline(0, color=colours.MUTED, linewidth=0.8))
    title = f"Mean response time of {words}: how much shorter than under {shorten(base.label)}"
    return Panel(marks, title, y=Axis(ticks="percents"))


#: `New` or `Rep`, the run that counted it, periods and percent.
Share = tuple[str, SavedRun, Floats, Floats]


def _shares(study: StudyFolder, runs: Sequence[SavedRun]) -> list[Share]:
    """New once, as it is the trace's, and Rep for every run that has replicas.

    A page map does not know earlier reads, and counts none.
    """
    looking = [run for run in (*runs, *study.runs) if "deduplicates" in run.traits]
    new = [("New", run, *share) for run in looking if (share := _share(run, "new_value_reads")) is not None]
    copying = [run for run in runs if not run.is_ideal and "replicates" in run.traits]
    rep = [("Rep", run, *share) for run in copying if (share := _share(run, "replicated_value_reads")) is not None]
    return [*new[:1], *rep]


def _share(run: SavedRun, column: str) -> tuple[Floats, Floats] | None:
    known = timelines.columns(run.table("periods"), column, "page_reads", "period")
    if known is None or np.nansum(known[1]) == 0:
        return None
    part, whole, period = known
    return period + 1, np.where(whole > 0, part / np.where(whole > 0, whole, 1.0) * 100.0, np.nan)


def _new_and_rep(study: StudyFolder, shares: list[Share], data: Data) -> Panel:
    hues = colours.of_runs(study)
    marks = []
    for name, run, at, values in shares:
        shape = "" if at.size > 60 else ("o" if name == "Rep" else "s")
        colour = colours.MUTED if name == "New" else hues[run.name]
        marks.append(mark.plot(at, values, color=colour, marker=shape, markersize=4, linewidth=1.4))
        data.add((name, "" if name == "New" else run.name), at, values)
    title = "Page reads of contents never read before (New), and of contents that have replicas (Rep)"
    return Panel(marks, title, y=Axis(ticks="shares"))


def _improvement_keys(study: StudyFolder, compared: Sequence[SavedRun]) -> list[LegendEntry]:
    hues = colours.of_runs(study)
    return [
        line_key(f"{run.label}: any chip", color=hues[run.name])
        if run.is_ideal
        else patch_key(run.label, hues[run.name])
        for run in study.runs
        if run in compared
    ]


def _share_keys(shares: list[Share]) -> list[LegendEntry]:
    named = {name for name, *_ in shares}
    looks = (("New", colours.MUTED, "s"), ("Rep", colours.INK, "o"))
    return [line_key(name, color=colour, marker=shape, markersize=4) for name, colour, shape in looks if name in named]


def _sees_periods(reads: Compared, base: SavedRun, shares: list[Share]) -> list[str]:
    sentences = []
    for run, (_, improvement) in reads:
        values = improvement[np.isfinite(improvement)]
        ends = dict.fromkeys(units.change(-float(value)) for value in (values.max(), values.min()))
        by = f"{' to '.join(ends)} against `{base.label}` in {units.plural(values.size, 'period')}"
        sentences.append(f"Reads under `{run.label}` change by {by}.")
    for name, run, _, values in shares:
        if name == "Rep" and np.isfinite(values).any():
            low, high = (units.percent(float(value)) for value in (np.nanmin(values), np.nanmax(values)))
            sentences.append(f"Between {low} and {high} of a period's page reads find replicas under `{run.label}`.")
    return sentences[:3]


#: More heat maps than this do not fit on a page.
MAPS_MAX = 4
_HASH_COLOUR = colours.WAIT_COLOURS["hash_queue"][0]


@chart(
    "Queues at the chips and the hash unit over time",
    "Are some chips overloaded while others wait, and does redirection even that out?",
    "time",
)
def queues(study: StudyFolder) -> Drawing:
    """A heat map a system; under it shortest, mean and longest queue, and the hash unit's (RR-SSD paper, Fig. 2)."""
    wanted = (facts.reference(study), *facts.subjects(study))
    known = [(run, timelines.queues(run)) for run in wanted]
    shown = [(run, queue) for run, queue in known if queue is not None][:MAPS_MAX]
    if not shown:
        return nothing("No run has the table `queue_over_time`, so queues cannot be shown.")
    hashing = {run.name: timelines.hash_queue(run) for run, _ in shown}
    top = max(1.0, *(float(queue.mean.max()) for _, queue in shown))
    longest = max(float(queue.spread[2].max()) for _, queue in shown)
    most_hashing = max((float(mean.max()) for _, mean in filter(None, hashing.values())), default=0.0)
    data = Data(("system", "start_ns", "chip_shortest", "chips_mean", "chip_longest", "hash_unit_mean"))
    hues = colours.of_runs(study)
    maps, panels, heights = [], [], []
    for run, queue in shown:
        maps.append(_map(run, queue, top))
        panels += [maps[-1], _spread(queue, longest, hues[run.name])]
        heights += [1.7, 0.9]
        hash_queue = hashing[run.name]
        means: Mapping[float, float] = {}
        if hash_queue is not None:
            panels.append(_hash_unit(hash_queue, most_hashing))
            heights.append(0.55)
            means = dict(zip(hash_queue[0][:-1].tolist(), hash_queue[1].tolist(), strict=True))
        for start, *spread in zip(queue.start_ns, *queue.spread, strict=True):
            data.rows.append((run.name, *map(float, (start, *spread)), means.get(float(start))))
    x_axis = Axis("time on the device since the first request", "time", (None, 8))
    panels[-1] = replace(panels[-1], x=x_axis)
    ticks = [tick for tick in (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000) if tick <= top]
    beside = {"pad": 0.01, "aspect": 12 * len(shown), "fraction": 0.03}
    scale = ColourBar(maps, beside, "", "mean queue length of a chip", ticks)
    keys = [
        patch_key("chips, shortest to longest", colours.MUTED, alpha=0.35),
        line_key("mean of the chips", color=colours.INK, linewidth=1.1),
    ]
    if any(queue is not None for queue in hashing.values()):
        keys.append(patch_key("hash unit", _HASH_COLOUR))
    grid = {"sharex": True, "height_ratios": heights}
    height = 0.45 + sum(heights) + 0.05 * len(heights)
    frame = Frame(height, [[panel] for panel in panels], keys, grid=grid, colour_bar=scale)
    return Drawing(frame, _sees_queues(shown), _absent_queues(known), data)


def _map(run: SavedRun, queue: timelines.Queues, top: float) -> Panel:
    edges = np.append(queue.start_ns, queue.start_ns[-1] + queue.width_ns[-1])
    cells = mark.heat(edges, np.arange(queue.chips.size + 1) - 0.5, queue.mean, most=top, log=True)
    marks = [cells, mark.tick_params(axis="x", length=0)]
    return Panel(marks, shorten(run.label, 60), y=Axis("chip", "whole", 4), grid="none")


def _spread(queue: timelines.Queues, longest: float, colour: str) -> Panel:
    ends = np.append(queue.start_ns, queue.start_ns[-1] + queue.width_ns[-1])
    low, mean, high = (np.append(values, values[-1]) for values in queue.spread)
    # Hundreds of steps in thick lines would be a black band.
    thin = 0.55 if mean.size > 151 else 1.0
    marks = [
        mark.fill_between(ends, low, high, step="post", color=colour, alpha=0.22, linewidth=0),
        mark.step(ends, high, where="post", color=colour, linewidth=0.6 * thin),
        mark.step(ends, mean, where="post", color=colours.INK, linewidth=1.1 * thin),
    ]
    return Panel(marks, y=Axis("chips", "queue lengths", longest))


def _hash_unit(queue: timelines.Curve, most: float) -> Panel:
    ends, mean = queue
    marks = [mark.fill_between(ends, 0, np.append(mean, mean[-1]), step="post", color=_HASH_COLOUR, linewidth=0)]
    return Panel(marks, y=Axis("hash unit", "queue lengths", most))


def _sees_queues(shown: list[tuple[SavedRun, timelines.Queues]]) -> list[str]:
    sentences = []
    for run, queue in shown:
        held, most = run.number("hash_unit.queue_mean"), run.number("hash_unit.queue_max")
        more = ""
        if held is not None and most is not None:
            pages = f"{units.significant(held)} pages on average and {units.count(most)} at most"
            more = f"; its hash unit holds {pages}"
        if queue.imbalance is None:
            sentences.append(f"Under `{run.label}` no request ever waited for a chip{more}.")
            continue
        mean = float(np.average(queue.mean.mean(axis=0), weights=queue.width_ns))
        sentences.append(
            f"Under `{run.label}` the mean queue of a chip is {units.significant(mean)}; "
            f"the longest is {units.significant(queue.imbalance)} times the mean at the same moment{more}."
        )
    return sentences


def _absent_queues(known: list[tuple[SavedRun, timelines.Queues | None]]) -> list[str]:
    missing = [run.label for run, queue in known if queue is None]
    left_out = [run.label for run, queue in known if queue is not None][MAPS_MAX:]
    return [
        *note("No `queue_over_time` was written for {}.", missing),
        *note(f"Only {MAPS_MAX} systems fit; not shown: {{}}.", left_out),
    ]
