"""Replays: one trace on one system, or on several side by side."""

from __future__ import annotations

import html
import json
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, ConfigError, ReportError
from flashtwin.progress import Notify, Progress, numbered
from flashtwin.replays import aged
from flashtwin.replays.filling import filled
from flashtwin.replays.grounds import check_raw_pages, on_one_ground
from flashtwin.replays.periods import with_periods
from flashtwin.replays.presets import System, Systems, as_system, warn_of_ignored
from flashtwin.replays.timelines import wanted
from flashtwin.results import earlier, folder, ground, names, schema, together
from flashtwin.results.documents import json_object
from flashtwin.results.frames import StoredRun, Table, Tabular, one_row, shown, stacked, table_of
from flashtwin.results.responses import Responses
from flashtwin.results.trees import dig
from flashtwin.settings import Value, merged
from flashtwin.traces.scan import Replayable, Scan, as_replayable, prepare
from flashtwin.traces.trace import Trace

if TYPE_CHECKING:
    import pyarrow
    from matplotlib.figure import Figure


@checked
class Result(Tabular):
    """The result of one system on one trace. As a frame: one row, every number of the summary under its dotted name.

    >>> import flashtwin as ft
    >>> result = ft.replay("traces/webvm-small.fiu.zst", "rr-ssd", period_s=120)
    >>> result.row["response.all.mean_ns"] == result.summary["response"]["all"]["mean_ns"]
    True
    """

    def __init__(self, name: str, native: _core.RunResult | StoredRun) -> None:
        """Wraps the core's result, or a stored one; use `flashtwin.replay` or `Result.read`."""
        self.name = name
        self._native = native

    @classmethod
    def read(cls, path: str | Path) -> Result:
        """Reads the folder of one run: that of `save`, or one below `runs` in a result folder.

        Raises:
            ReportError: there is no run in the folder, or what stands there cannot be read.
        """
        from flashtwin.results.reading import read_json

        path = Path(path)
        file = path / names.SUMMARY
        if not file.is_file():
            several = (path / names.STUDY).is_file()
            more = "; of several, as here, `Comparison.read` reads all" if several else ""
            raise ReportError(f"{path}: no {names.SUMMARY} in it; expected the folder of one run{more}")
        read_json(file)
        return stored(path.name, file.read_text(encoding="utf-8"), names.tables(path))

    def __repr__(self) -> str:
        return f"<flashtwin.Result {self.name!r} of {self.summary['trace']['name']!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        tables = {name: self.table(name).to_arrow for name in self.table_names}
        return Result, (self.name, StoredRun(self._native.summary_json, tables))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All totals, with the whole configuration; units are in the names, undefined ratios are None."""
        return json_object(self._native.summary_json)

    @property
    def response(self) -> Responses:
        """Response times in nanoseconds: `result.response.read.p99_ns`, `.write.mean_ns`; None where there is none."""
        return Responses.of(self.summary)

    @property
    def row(self) -> dict[str, Any]:
        """Every number of the summary, the configuration included, under its dotted name."""
        return one_row(self.summary)

    @property
    def table_names(self) -> list[str]:
        """Names that `table` knows."""
        return self._native.table_names

    def table(self, name: str) -> Table:
        """A table such as `"periods"` or `"chips"`, for anything that speaks the Arrow PyCapsule interface.

        `polars.DataFrame(result.table("chips"))`, `pyarrow.table(result.table("chips"))`, ...
        """
        return Table(self._native.table(name))

    def to_arrow(self) -> pyarrow.Table:
        """`row` as a table of PyArrow."""
        return table_of([self.row])

    def _repr_html_(self) -> str:
        return _html([self], repr(self))

    def chart(self, name: str = "response") -> Figure:
        """One of the report's charts, of this run alone, as a Matplotlib figure."""
        return _chart({self.name: self}, name)

    def save(self, path: str | Path) -> Path:
        """Writes the summary and the tables into a folder, made if need be; returns the folder."""
        with folder.prepared(path, holding=names.SUMMARY) as ready:
            self._native.write(ready)
        return ready


def stored(name: str, summary_json: str, tables: Mapping[str, Path]) -> Result:
    return Result(name, StoredRun(summary_json, {key: partial(folder.read_table, one) for key, one in tables.items()}))


@checked
class Comparison(Tabular):
    """What several systems did with one trace, by name; the first is the baseline.

    It is used as a mapping of names to results. As a frame: one row a run, every number of the summaries under its
    dotted name. (It is no `collections.abc.Mapping`: of such, Polars would take the names alone. So would pandas, which
    goes by rows: `to_pandas()`.)

    >>> import flashtwin as ft
    >>> both = ft.compare("traces/webvm-small.fiu.zst", ["conventional", "ca-ssd"], period_s=120)
    >>> list(both), both.baseline.name
    (['conventional', 'ca-ssd'], 'conventional')
    """

    def __init__(
        self, trace: Replayable | Mapping[str, Any], results: Mapping[str, Result], *, equal_ground: bool = False
    ) -> None:
        """Use `flashtwin.compare` or `Comparison.read`."""
        #: The trace; None when the comparison was read from files or came from another process.
        self.trace = trace if isinstance(trace, Trace | Scan) else None
        self._info: Mapping[str, Any] = {} if isinstance(trace, Trace | Scan) else trace
        #: Whether all systems were given the baseline's ground.
        self.equal_ground = equal_ground
        self._results = dict(results)
        #: Where each run comes from, where `of` put them together.
        self.gathered: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def read(cls, path: str | Path) -> Comparison:
        """Reads a result folder that `save`, `flashtwin study` or `flashtwin compare` wrote.

        Raises:
            ReportError: there are no runs in the folder, or what stands there cannot be read.
        """
        from flashtwin.results.reading import load

        found = load(path)
        order = [found.baseline, *found.others(found.baseline)]
        results = {run.name: Result.read(run.folder) for run in order}
        return cls(found.trace, results, equal_ground=bool(found.info.get("equal_ground")))

    @property
    def info(self) -> Mapping[str, Any]:
        """The trace in numbers, as `Trace.info`; of a streamed trace, found out when it is first asked for."""
        return self._info if self.trace is None else self.trace.info

    @classmethod
    def of(cls, *runs: Result | Comparison | str | Path) -> Comparison:
        """Runs made at different times, by paths or as objects, side by side; the first is the baseline.

        A path is a result folder, of which all runs are taken, the folder of one run, the folder of a sweep, or an
        entry of a sweep's store. Runs of one name are called by what differs in their settings. Whether they
        replayed one trace, and are of one version, `warnings` tells.

        Raises:
            ReportError: there is no run at a path.

        >>> import flashtwin as ft
        >>> one = ft.replay("traces/webvm-small.fiu.zst", "rr-ssd", period_s=120)
        >>> two = ft.replay("traces/webvm-small.fiu.zst", "rr-ssd", period_s=60)
        >>> list(ft.Comparison.of(one, two))
        ['rr-ssd (replay.period_s=120)', 'rr-ssd (replay.period_s=60)']
        """
        saved: list[together.SavedResult] = []
        objects: dict[int, Result] = {}
        for run in runs:
            if isinstance(run, str | Path):
                saved += together.gather([run])
                continue
            for name, result in run.items() if isinstance(run, Comparison) else [(run.name, run)]:
                objects[len(saved)] = result
                saved.append(together.SavedResult(name, name, Path(), result.summary, {}))
        if not saved:
            raise ArgumentError("no run is named; name results, or folders of them")
        labelled = together.labelled(saved)
        results = {run.label: _named(objects.get(place), run) for place, run in enumerate(labelled)}
        found = cls(dict(labelled[0].summary["trace"]), results)
        found.gathered = [run.as_json() for run in labelled]
        return found

    @property
    def warnings(self) -> list[str]:
        """Warnings before figures are compared: other traces, other versions of flashtwin."""
        runs = [together.SavedResult(name, name, Path(), one.summary, {}) for name, one in self._results.items()]
        return together.warnings(runs, folder.VERSION)

    def __getitem__(self, name: str) -> Result:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, name: object) -> bool:
        return name in self._results

    def keys(self) -> KeysView[str]:
        """The names, in the order asked for."""
        return self._results.keys()

    def values(self) -> ValuesView[Result]:
        """The results, in the order asked for."""
        return self._results.values()

    def items(self) -> ItemsView[str, Result]:
        """Names and results, in the order asked for."""
        return self._results.items()

    def get(self, name: str) -> Result | None:
        """The result of that name; None where there is none."""
        return self._results.get(name)

    def __repr__(self) -> str:
        name = self.trace.name if self.trace is not None else self.info.get("name", "")
        return f"<flashtwin.Comparison of {name!r}: {', '.join(self)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # The trace stays: it may be a thousand times as large as what became of it.
        return partial(Comparison, equal_ground=self.equal_ground), (dict(self.info), self._results)

    @property
    def baseline(self) -> Result:
        """The first system's result, which the others are measured against."""
        return next(iter(self._results.values()))

    @property
    def ground(self) -> list[ground.Difference]:
        """Differences between the systems beyond their mechanisms; see `flashtwin.results.ground`."""
        return ground.ground({name: result.summary["config"] for name, result in self._results.items()})

    def table(self, name: str) -> Table:
        """A table of all runs, one below the other, with the run's name in the first column, `run`."""
        return Table(stacked({run: result.table(name) for run, result in self._results.items()}, "run"))

    def to_arrow(self) -> pyarrow.Table:
        """One row a run: its name in `run`, then `Result.row`; a figure that a run has not is missing."""
        return table_of([{"run": name, **result.row} for name, result in self._results.items()])

    def _repr_html_(self) -> str:
        return _html(list(self._results.values()), repr(self))

    def chart(self, name: str = "response") -> Figure:
        """One of the report's charts, of all systems, as a Matplotlib figure."""
        return _chart(self._results, name)

    def save(self, path: str | Path) -> Path:
        """Writes the result folder that `flashtwin report` reads; returns it."""
        with folder.prepared(path) as ready:
            _write(ready, self._results, self.info, equal_ground=self.equal_ground, gathered=self.gathered)
        return ready


def _named(result: Result | None, run: together.SavedResult) -> Result:
    if result is not None:
        return Result(run.label, result._native)
    return stored(run.label, json.dumps(run.summary, ensure_ascii=False), run.tables)


_SHOWN = (
    ("mean read, ns", "response.read.mean_ns"),
    ("p99 of reads, ns", "response.read.p99_ns"),
    ("p99.9 of reads, ns", "response.read.p99_9_ns"),
    ("mean write, ns", "response.write.mean_ns"),
    ("p99 of writes, ns", "response.write.p99_ns"),
    ("p99.9 of writes, ns", "response.write.p99_9_ns"),
    ("mean flush, ns", "response.flush.mean_ns"),
    ("p99 of flushes, ns", "response.flush.p99_ns"),
    ("IOPS", "throughput.all.iops"),
    ("MB/s", "throughput.all.mb_per_s"),
    ("pages programmed", "pages_programmed"),
    ("write amplification", "write_amplification"),
    ("erases", "erases.total"),
)


def _html(results: Sequence[Result], title: str) -> str:
    flushed = any(dig(one.summary, schema.summary_field("requests.flush")) for one in results)
    columns = [(label, path) for label, path in _SHOWN if flushed or "flush" not in path]
    rows = [
        {"run": one.name, **{label: dig(one.summary, schema.summary_field(path)) for label, path in columns}}
        for one in results
    ]
    return f"<p>{html.escape(title)}</p>{shown(table_of(rows))}"


@checked
def replay(
    trace: Replayable | str | Path,
    system: str | Path | System,
    *,
    settings: Mapping[str, Value] | None = None,
    fill: float | None = None,
    progress: Progress | None = None,
    per_request: bool = False,
    timeline: str | Path | None = None,
    timeline_from_s: float | None = None,
    timeline_to_s: float | None = None,
    **sets: Value,
) -> Result:
    """Replays a trace on one system.

    Args:
        trace: what `open` or `scan` returned, or a path.
        system: a name of `systems()`, a path of a TOML file, or what `system` returned.
        settings: keys of the configuration to set otherwise, dotted ones as they are: `{"engine.hash_lanes": 4}`.
        fill: the share of the drive that the trace's pages take up, such as 0.9: the drive has as few blocks as that
            takes (`flashtwin.replays.filling`). Without it, the drive is as large as it is.
        progress: told how far reading and replaying are (`flashtwin.progress`).
        per_request: whether the result has a table `requests` too, every request by itself with its response time in
            parts. It is held in memory, compressed; `study` and `flashtwin replay --out` write it as it grows.
        timeline: a file for what channels, dies, the hash unit and garbage collection did when, and the requests with
            what they waited for, in the format of Perfetto: open it at https://ui.perfetto.dev.
        timeline_from_s: leave out of the timeline what ended before this second of the drive's time, such as 3.5.
        timeline_to_s: leave out of it what begins at this second or later.
        **sets: the same as keywords. A `period_s` that nobody sets is chosen from the trace's length
            (`flashtwin.replays.periods`); `content="unique"` gives a trace without
            contents one of its own for every page write, `content="zipf(0.8,100000)"` values drawn by
            popularity.

    Raises:
        ArgumentError: an argument is of the wrong kind.
        ConfigError: the system or one of the keys is wrong, or the run ended before its timeline begins.
        OutputError: there is no place for the timeline.
        TraceError: the trace lacks the contents that the system needs.
        SimError: the system cannot replay the trace (it does not fit on the device, say).

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> result = ft.replay(trace, "rr-ssd", settings={"engine.hash_lanes": 4})
    >>> result.summary["requests"]["completed"] == len(trace)
    True
    >>> len(result.table("chips"))
    64
    """
    drawn = wanted(timeline, timeline_from_s, timeline_to_s)
    named = name_systems(system, merged(settings, sets))
    opened = as_replayable(trace, progress)
    (chosen,) = fitted(opened, named, fill, progress=progress).values()
    requests, told = [None] if per_request else None, numbered(progress, [chosen.name])
    return Result(chosen.name, aged.run(opened, [chosen], 1, told, requests=requests, timeline=drawn)[0])


@checked
def compare(
    trace: Replayable | str | Path,
    systems: Systems,
    *,
    settings: Mapping[str, Value] | None = None,
    fill: float | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    equal_ground: bool = False,
    per_request: bool = False,
    **sets: Value,
) -> Comparison:
    """Replays one trace on several systems, on all cores, over one copy of the trace.

    Args:
        trace: what `open` or `scan` returned, or a path.
        systems: the systems, first the baseline, or a single one; a mapping gives them names of its own, so that one
            system can stand beside itself with other keys.
        settings: keys to set otherwise in every system given by name, dotted ones as they are.
        fill: as in `replay`; systems on one kind of drive get as many blocks.
        threads: how many run at once; 0 is one for each core. Results do not depend on it.
        progress: told how far reading and each system are (`flashtwin.progress`).
        equal_ground: whether every system gets the baseline's device, engine, allocation, collection and
            replay keys, so that only their mechanisms differ. Without it, see
            `Comparison.ground` for what else differs.
        per_request: as in `replay`, of every system.
        **sets: the same as keywords.

    Raises:
        ArgumentError: an argument is of the wrong kind.
        ConfigError: a system or one of the keys is wrong, or two systems have one name.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> both = ft.compare(trace, ["conventional", "ca-ssd"])
    >>> both["ca-ssd"].summary["pages_programmed"] < both.baseline.summary["pages_programmed"]
    True
    """
    chosen = name_systems(systems, merged(settings, sets), equal_ground=equal_ground)
    opened = as_replayable(trace, progress)
    chosen = fitted(opened, chosen, fill, progress=progress)
    if equal_ground:
        check_raw_pages(chosen)
    results = side_by_side(opened, chosen, threads, progress, per_request=per_request)
    return Comparison(opened, results, equal_ground=equal_ground)


def side_by_side(
    trace: Replayable,
    systems: Mapping[str, System],
    threads: int = 0,
    progress: Progress | None = None,
    *,
    per_request: bool = False,
    informed: bool = False,
) -> dict[str, Result]:
    """Replays a trace on systems that fit it. `informed` as in `flashtwin.replays.aged.run`."""
    requests = [None] * len(systems) if per_request else None
    native = aged.run(
        trace, list(systems.values()), threads, numbered(progress, list(systems)), requests=requests, informed=informed
    )
    return {name: Result(name, result) for name, result in zip(systems, native, strict=True)}


def fitted(
    trace: Replayable,
    systems: Mapping[str, System],
    fill: float | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> dict[str, System]:
    """Systems with the keys that depend on the trace: the period where nobody has set it, and the blocks to fill."""
    prepare(trace, [system._resolved for system in systems.values()], progress)
    found = with_periods(trace.duration_ns, systems, notify)
    return found if fill is None else filled(trace, found, fill, notify)


def name_systems(
    systems: Systems,
    sets: Mapping[str, Value],
    *,
    equal_ground: bool = False,
    by_all: bool = False,
) -> dict[str, System]:
    """The systems by the names under which their results will be kept; on the first one's ground if asked for.

    A key that a system does not look at is warned of, with `by_all` one that none of them looks at.
    """
    if isinstance(systems, str | Path | System):
        # One may be given without a list around it; a string is a sequence of letters, too.
        systems = [systems]
    if isinstance(systems, Mapping):
        given = list(systems.values())
        named = {name: as_system(system, sets) for name, system in systems.items()}
    else:
        given = list(systems)
        chosen = [as_system(system, sets if not isinstance(system, System) else {}) for system in given]
        named = dict(zip(_told_apart(chosen), chosen, strict=True))
    if not named:
        raise ConfigError("no system is named; name at least one, such as 'conventional'")
    for name in named:
        folder.check_run_name(name)
    if equal_ground:
        named = on_one_ground(named)
    by_name = [one for one, by in zip(named.items(), given, strict=True) if not isinstance(by, System)]
    warn_of_ignored(by_name, sets, by_all=by_all)
    return named


def _told_apart(systems: Sequence[System]) -> list[str]:
    """The systems' names; a file's that has the name of another system says in brackets which file it is."""
    called = [system.name for system in systems]
    files = [Path(system.recipe[0]) for system in systems]
    names = [
        f"{name} ({file.stem})" if file.suffix == ".toml" and called.count(name) > 1 and file.stem != name else name
        for name, file in zip(called, files, strict=True)
    ]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        of = dict.fromkeys(str(file) for name, file in zip(names, files, strict=True) if name == twice)
        where = f" ({' and '.join(of)}); change `name` in one of the files" if len(of) > 1 else "; name each once"
        raise ConfigError(
            f"system '{twice}' is named twice{where}, or give them names of their own: "
            "ft.compare(trace, {'a': ft.system(...), 'b': ft.system(...)})"
        )
    return names


def _chart(results: Mapping[str, Result], name: str) -> Figure:
    """Draws through a result folder, as the report does, so that both show the same."""
    from flashtwin import report

    with TemporaryDirectory(prefix="flashtwin-") as scratch:
        path = Path(scratch)
        _write(path, results, next(iter(results.values())).summary["trace"])
        return report.chart(name, path)


def _write(
    path: Path,
    results: Mapping[str, Result],
    trace: Mapping[str, Any],
    *,
    equal_ground: bool = False,
    gathered: Sequence[Mapping[str, Any]] = (),
) -> None:
    for name, result in results.items():
        earlier.keep(path, name, result.summary)
        folder.write_run(path, name, result._native)
    configs = {name: result.summary["config"] for name, result in results.items()}
    more = what_else_differs(configs, equal_ground=equal_ground)
    folder.write_study(path, trace, list(results), {**more, "gathered": list(gathered)} if gathered else more)


def what_else_differs(configs: Mapping[str, Mapping[str, Any]], *, equal_ground: bool) -> dict[str, Any]:
    return {"equal_ground": equal_ground, "ground": [one.as_json() for one in ground.ground(configs)]}
