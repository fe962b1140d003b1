"""Sweeps: traces on systems with keys set to one value after another, each run kept as it ends.

Finished runs, of any process, are not made again: they lie in a store under the digest of their input.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, ConfigError, FlashtwinError, OutputError
from flashtwin.progress import Notify, Progress
from flashtwin.replays.filling import BLOCKS, FILL, filled, kind
from flashtwin.replays.folders import SYSTEMS, without_contents
from flashtwin.replays.grounds import on_ground_of
from flashtwin.replays.periods import with_periods
from flashtwin.replays.presets import System, Systems, warn_of_ignored
from flashtwin.replays.running import name_systems
from flashtwin.results import figures, folder, names
from flashtwin.results.keys import KEYS, matters, whole_key
from flashtwin.results.over import Over
from flashtwin.settings import literal, merged, seed_of, seeds_of
from flashtwin.sweeps import crew, plan
from flashtwin.sweeps.plan import Point, Sets
from flashtwin.sweeps.runs import RunTask
from flashtwin.sweeps.searching import search
from flashtwin.sweeps.store import Store, clear_left_over
from flashtwin.sweeps.swept import Plan, Planned, Sweep, finish
from flashtwin.sweeps.swept_traces import SweepTrace, known
from flashtwin.traces.reading import Reading
from flashtwin.traces.scan import Replayable, Scan
from flashtwin.traces.trace import OnBadLine, Trace

TRADE = "read.mean,programs"


@dataclass(frozen=True)
class SweepOptions:
    reading: Reading = field(default_factory=Reading)
    mode: plan.Mode = "grid"
    sample: int | None = None
    search_seed: int = 0
    workers: int = 0
    on: Any = None
    shard: tuple[int, int] | None = None
    store: Path | None = None
    keep_tables: bool = False
    equal_ground: bool = False
    stream: bool = False
    trade: str = TRADE
    minimize: str = ""
    maximize: str = ""
    subject_to: str = ""
    trials: int = 100
    over: Over = "mean"
    #: Whether nobody named the systems: of those, a trace without contents leaves out what looks at contents.
    any_systems: bool = False
    report: bool = True


@checked
def sweep(
    traces: Trace | Scan | str | Path | Sequence[Trace | Scan | str | Path],
    out: str | Path,
    systems: Systems = SYSTEMS,
    *,
    settings: Mapping[str, Any] | None = None,
    zip: bool = False,  # noqa: A002 - as people know it
    sample: int | None = None,
    search_seed: int = 0,
    seed: int | Iterable[int] | None = None,
    minimize: str = "",
    maximize: str = "",
    subject_to: str = "",
    trials: int = 100,
    over: Over = "mean",
    workers: int = 0,
    on: Any = None,
    shard: str | None = None,
    store: str | Path | None = None,
    keep_tables: bool = False,
    equal_ground: bool = False,
    stream: bool = False,
    trade: str = TRADE,
    format: str | None = None,  # noqa: A002 - as in `open`
    on_bad_line: OnBadLine = "fail",
    report: bool = True,
    progress: Progress | None = None,
    notify: Notify | None = None,
    **sets: Any,
) -> Sweep:
    """Replays traces on systems with keys set to one value after another; one row a point, one page.

    Each run is kept as it ends, complete or not at all; done again with the same folder, or with the same store,
    only missing runs are replayed. Points that the core refuses are rows with the reason.

    Args:
        traces: files, folders of files, what `open` or `scan` returned, or several of these.
        out: the folder for table and page; new, empty, or holding a sweep.
        systems: as in `compare`.
        settings: keys with what to set them to in turn: a list, one value, or a range as text, `"0.1:0.5:0.1"`
            (with a step), `"1:64"` or `"1:64:log"` (to draw from, with `sample` or `minimize`).
        zip: values side by side, the first with the first, instead of each with each.
        sample: replay this many of the points only, drawn by `search_seed`.
        search_seed: another one draws points, or searches, otherwise.
        seed: seeds of the systems, one or several, as in `compare`: 2 systems and 3 seeds are 6 points.
        minimize: search instead: the figure to make small (`"read.p99"`), or several for the trade-off between them.
            Where no key has several values, the search is over the changes of the controller that `study` tries.
        maximize: the same of throughput, of which more is better: `"iops"`, `"read.mb_per_s"`; both may be given.
        subject_to: the limits of the search: `"wa<=1.2,ram<=64MB"`.
        trials: how many points a search replays at most; of several traces, how many settings, each on all of them.
        over: how a search judges a setting on several traces: by the geometric `"mean"` of its ratios to the first
            system as it is, or by the `"worst"` of them. Bounds are kept on every trace.
        workers: processes; 0 is one for each core, 1 does all in this process.
        on: a Dask cluster, a Dask client, or an address such as `"dask://host:8786"`, to replay there instead.
        shard: `"2/8"`: of the runs, this process makes the second of eight parts.
        store: where runs are kept, `store` in `out` when not given; any number of sweeps may share one.
        keep_tables: whether each run keeps its tables as well, a hundred times as much as the summary.
        equal_ground: as in `compare`, for each point by itself.
        stream: whether each run reads its file again instead of holding the trace, as those of a `scan` do.
        trade: the two figures that the page sets against one another.
        format: the format of all files, where their looks leave doubt.
        on_bad_line: `"fail"` or `"skip"`.
        report: whether to draw the page, which takes longer than reading 100 runs from the store.
        progress: told `"reading"` and `"runs"`, how many are done and how many there are (`flashtwin.progress`).
        notify: called with a sentence when runs are reused or fail.
        **sets: the same as `settings`, as keywords.

    Raises:
        FlashtwinError: a trace, a system or an argument is wrong, or the folder cannot be written.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").sample(0.02)
    >>> swept = ft.sweep(trace, "out/sweep", ["conventional", "rr-ssd"], speed=[1, 10], workers=1)
    >>> len(swept), swept.complete
    (4, True)
    """
    given = [traces] if isinstance(traces, Trace | Scan | str | Path) else list(traces)
    how = SweepOptions(
        Reading(format, on_bad_line), "zip" if zip else "grid", sample, seed_of("search_seed", search_seed), workers,
        on, plan.shard(shard) if shard else None, Path(store) if store else None, keep_tables, equal_ground, stream,
        trade, minimize, maximize, subject_to, trials, over, systems is SYSTEMS, report,
    )  # fmt: skip
    if seed is not None:
        sets["seed"] = seeds_of(seed)
    axes = {key: as_axis(key, value) for key, value in merged(settings, sets).items()}
    return run(given, Path(out), name_systems(systems, {}), axes, how, progress, notify)


def as_axis(key: str, value: Any) -> plan.Axis:
    """The values of a key, from those of a Python caller: one value, several, or a range as text."""
    if isinstance(value, str):
        found = plan.axis(value) if ":" in value else None
        return found if isinstance(found, plan.Range) else (_text(value),)
    several = list(value) if isinstance(value, Iterable) and not isinstance(value, Mapping) else [value]
    if not several:
        raise ArgumentError(f"{key}: no value is given; give one at least")
    try:
        return tuple(dict.fromkeys(_text(one) for one in several))
    except ArgumentError as error:
        raise ArgumentError(f"{key}: {error}") from None


def _text(value: Any) -> str:
    """A value as people type it: a word that can be nothing else needs no quotes."""
    plain = isinstance(value, str) and re.fullmatch(r"[A-Za-z][A-Za-z_-]*", value) is not None
    return str(value) if plain and value not in ("true", "false", "inf", "nan") else literal(value)


def run(
    traces: Sequence[Trace | Scan | str | Path],
    out: Path,
    systems: Mapping[str, System],
    axes: Mapping[str, plan.Axis],
    how: SweepOptions,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Sweep:
    for key in (key for key in axes if key != FILL and whole_key(key) not in KEYS):
        # No system has it, so that all points would fail. The core's message names the nearest key.
        next(iter(systems.values())).with_sets({key: 0})
    made_ready(out)
    store = Store((how.store or out / names.STORE).resolve())
    try:
        # Of sweeps that were killed before.
        _clear(store, out)
        bench = SweepBench(known(traces, how.reading, store, progress, stream=how.stream), systems, store, how)
        figures.figures(how.trade)
        if how.minimize or how.maximize:
            return search(bench, out, axes, progress, notify)
        planned = bench.plan(_points(bench, axes, notify), axes, notify)
        planned.write(out)
        bench.make(planned.points, progress, notify, say_reused=True)
        return finish(out, alone=how.shard is None, page=how.report, notify=notify)
    finally:
        # Of this one's workers that were killed.
        _clear(store, out)


def _clear(store: Store, out: Path) -> None:
    store.clear_left_over()
    clear_left_over(out)


def made_ready(out: Path) -> None:
    """Makes the folder; any number of processes may sweep in it at once."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{out}: cannot be made ({(error.strerror or str(error)).lower()})") from None
    ours = {names.SWEEP, names.STORE}
    held = [entry.name for entry in out.iterdir() if not entry.name.startswith(".")]
    if held and not ours & set(held):
        raise OutputError(f"{out}: holds '{min(held)}' but no sweep; choose a new or an empty folder")


def _points(bench: SweepBench, axes: Mapping[str, plan.Axis], notify: Notify | None) -> list[Point]:
    how, number = bench.how, len(bench.traces)
    called = list(bench.systems)
    if how.sample is None:
        found = plan.points(number, called, axes, how.mode)
    else:
        found = plan.sample(how.sample, how.search_seed, number, called, axes)
    if not how.any_systems:
        return found
    fit = [without_contents(trace, bench.systems, notify) for trace in bench.traces]
    return [point for point in found if point.system in fit[point.trace]]


@dataclass
class SweepBench:
    """The environment of points: traces, systems with nothing swept yet, the store, and the replayer."""

    traces: Sequence[SweepTrace]
    systems: Mapping[str, System]
    store: Store
    how: SweepOptions
    _resolved: dict[Sets, dict[str, System | str]] = field(default_factory=dict)
    _runs: dict[str, RunTask] = field(default_factory=dict)
    #: Blocks a plane of drives that are filled, by trace, share and kind of drive: equal flash for all points.
    _blocks: dict[tuple[int, str, str], int] = field(default_factory=dict)
    _last: tuple[int, Replayable] | None = None

    def plan(self, points: Sequence[Point], axes: Mapping[str, plan.Axis], notify: Notify | None = None) -> Plan:
        self._equal_flash(points, notify)
        whole = {key: whole_key(key) for key in axes}
        # Of keys with several values, the result says so: `SavedSweep.effects`.
        single = [key for key, found in axes.items() if key != FILL and len(_said(found)) == 1]
        warn_of_ignored([(one.system, made) for one in points if isinstance(made := self._system(one), System)], single)
        values = {whole[key]: _said(found) for key, found in axes.items()}
        drawn = self.how.sample is not None
        return Plan(
            "sample" if drawn else self.how.mode,
            self.store.path,
            [trace.as_json for trace in self.traces],
            list(self.systems),
            values,
            [self.planned(number, point) for number, point in enumerate(points, start=1)],
            [figure.name for figure in figures.figures(self.how.trade)],
        )

    def planned(self, number: int, point: Point, trial: int | None = None) -> Planned:
        """A point with the key of its run, or with why there can be none."""
        trace = self.traces[point.trace]
        system = self._system(point)
        ignored = self._ignored(point, system)
        if ignored:
            system = self._system(replace(point, sets=tuple(one for one in point.sets if one[0] not in ignored)))
        if isinstance(system, System):
            system = self._fitted(point, system)
        settings = {whole_key(key): text for key, text in point.sets}
        shown = Planned(
            number, trace.name, point.system, settings, self._command(point, system), None,
            ignored=[whole_key(key) for key in ignored], trial=trial,
        )  # fmt: skip
        if isinstance(system, str):
            return replace(shown, error=system)
        key = folder.run_key(trace.digest, system.config)
        name, sets = system.recipe
        file = str(Path(name).resolve()) if name.endswith(".toml") else name
        self._runs[key] = RunTask(
            key, str(self.store.path), trace.source.absolute(), point.system, file, sets, self.how.keep_tables
        )
        return replace(shown, key=key)

    def make(
        self,
        points: Sequence[Planned],
        progress: Progress | None = None,
        notify: Notify | None = None,
        *,
        say_reused: bool = False,
    ) -> None:
        """Replays runs that the store has not, each once; failures other than refusals are reported."""
        keys = plan.shared(list(dict.fromkeys(point.key for point in points if point.key)), self.how.shard)
        missing = [key for key in keys if not self.store.has(key, tables=self.how.keep_tables)]
        if say_reused and notify and len(missing) < len(keys):
            notify(f"reusing {len(keys) - len(missing)} of {len(keys)} runs from {_shown(self.store.path)}")
        lost = crew.do_all([self._runs[key] for key in missing], self.how.workers, self.how.on, "runs", progress)
        if notify:
            for message in dict.fromkeys(message for _, message in lost):
                notify(message)

    def _fitted(self, point: Point, system: System) -> System | str:
        """The system with the keys that depend on the trace: the period where nobody has set it, the blocks to fill."""
        fill = dict(point.sets).get(FILL)
        if fill is not None:
            blocks = self._blocks.get((point.trace, fill, kind(system)))
            try:
                others = {name: one for name, one in self._resolved[point.sets].items() if isinstance(one, System)}
                blocks = blocks or self._filled(point.trace, fill, others)[point.system]
            except FlashtwinError as error:
                return str(error)
            system = system.with_sets({BLOCKS: blocks})
        return with_periods(self.traces[point.trace].duration_ns, {point.system: system})[point.system]

    def _filled(
        self, trace: int, fill: str, systems: Mapping[str, System], notify: Notify | None = None
    ) -> dict[str, int]:
        """Blocks a plane of drives that a trace fills, by the names of their systems."""
        made = filled(self._opened(trace), systems, _share(fill), notify)
        return {name: int(one.config["nand"]["blocks_per_plane"]) for name, one in made.items()}

    def _equal_flash(self, points: Sequence[Point], notify: Notify | None) -> None:
        """Points that fill drives of one kind to one share get equally many blocks, for any other keys."""
        drives: dict[tuple[int, str, str], dict[str, System]] = {}
        each = {one for point in points for one in point.sets}
        swept = {key for key, _ in each if key != FILL and sum(other == key for other, _ in each) > 1}
        for point in points:
            fill, system = dict(point.sets).get(FILL), self._system(point)
            if fill is not None and isinstance(system, System):
                others = [f"{key}={text}" for key, text in point.sets if key in swept]
                label = f"{point.system} ({', '.join(others)})" if others else point.system
                drives.setdefault((point.trace, fill, kind(system)), {})[label] = system
        for (trace, fill, of), systems in drives.items():
            # A share that is none, or a drive that cannot be so large, is an error of its points.
            with suppress(FlashtwinError):
                self._blocks[trace, fill, of] = max(self._filled(trace, fill, systems, notify).values())

    def _opened(self, place: int) -> Replayable:
        """A trace itself; the last one is kept, for points come trace by trace."""
        if self._last is None or self._last[0] != place:
            self._last = (place, self.traces[place].source.replayable())
        return self._last[1]

    def _ignored(self, point: Point, system: System | str) -> list[str]:
        """The keys set by a point that its system does not look at; points that differ in them alone share a run."""
        if isinstance(system, str) or self.how.equal_ground:
            return []
        return [key for key, _ in point.sets if not matters(whole_key(key), system.config)]

    def _system(self, point: Point) -> System | str:
        if point.sets not in self._resolved:
            self._resolved[point.sets] = self._with(point.sets)
        return self._resolved[point.sets][point.system]

    def _with(self, sets: Sets) -> dict[str, System | str]:
        """Every system with keys set, or why it refuses them; on the first one's ground if asked for."""
        made: dict[str, System | str] = {}
        sets = tuple(one for one in sets if one[0] != FILL)
        for name, system in self.systems.items():
            try:
                made[name] = system.with_texts(sets)
            except FlashtwinError as error:
                made[name] = str(error)
        good = {name: system for name, system in made.items() if isinstance(system, System)}
        if not self.how.equal_ground or not good:
            return made
        if next(iter(made)) not in good:
            return dict.fromkeys(made, str(next(iter(made.values()))))
        stand: dict[str, System] = {}
        for name, system in good.items():
            try:
                stand[name] = on_ground_of(stand, system) if stand else system
            except ConfigError as error:
                made[name] = str(error)
        return made | stand

    def _command(self, point: Point, system: System | str) -> str:
        source, base = self.traces[point.trace].source, self.systems[point.system]
        name, before = base.recipe
        sets = [*before, *point.sets] if isinstance(system, str) else system.recipe[1]
        sets = [one for one in sets if one[0] != FILL]
        words = ["flashtwin", "replay", source.path, *source.words, "--system", name]
        words += [word for key, text in sets for word in ("--set", f"{key}={text}")]
        return shlex.join(words)


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"fill is '{text}': expected a share above 0 and up to 1, such as 0.9") from None


def _said(found: plan.Axis) -> list[str]:
    steps = found.steps if isinstance(found, plan.Range) else found
    return list(steps) if steps is not None else [found.at(0.0), found.at(1.0)] if isinstance(found, plan.Range) else []


def _shown(path: Path) -> str:
    """A path as short as it is clear."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
