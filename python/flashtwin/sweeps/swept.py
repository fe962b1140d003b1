"""A sweep in its folder: the points, their runs in the store, one tidy table."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, ReportError
from flashtwin.progress import Notify
from flashtwin.replays.running import Result, stored
from flashtwin.results import figures, folder, names, over, variation
from flashtwin.results.effects import NoEffect
from flashtwin.results.formats import FORMAT
from flashtwin.results.frames import Tabular, one_row, shown, table_of
from flashtwin.results.sweeps import DONE, FAILED, MISSING, SavedSweep, best_row, read_plan
from flashtwin.sweeps.store import Store, write_synced

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Planned:
    """A point of a sweep: trace and system, the key of its run in the store, and the command that makes it alone."""

    #: Its number, counted from 1, in the order of the sweep.
    point: int
    trace: str
    system: str
    #: Whole keys of the configuration with their values, as text.
    settings: dict[str, str]
    command: str
    #: None where the configuration is refused, for the reason in `error`.
    key: str | None
    error: str | None = None
    #: Of the keys in `settings`, those that the system does not look at: its run is made without them.
    ignored: list[str] = field(default_factory=list)
    #: In a search over several traces, the setting that this is a run of; 0 is the reference.
    trial: int | None = None


@dataclass(frozen=True)
class Plan:
    """The description of a sweep in its folder."""

    #: `grid`, `zip`, `sample` or `search`.
    mode: str
    store: Path
    traces: list[dict[str, Any]]
    systems: list[str]
    #: Keys that are swept, with their values as text; of a range that is drawn from, its ends.
    axes: dict[str, list[str]]
    points: list[Planned]
    trade: list[str]
    #: Of a search: `minimize`, `maximize`, `subject_to`, `trials`, `ended`; over several traces also `over`.
    search: dict[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Writes it into the folder; shards of one sweep write the same."""
        # A store inside the folder moves with it.
        store, here = self.store.resolve(), path.resolve()
        place = str(store.relative_to(here)) if store.is_relative_to(here) else str(store)
        said = {**asdict(self), "flashtwin": folder.VERSION, "format": FORMAT, "store": place}
        write_synced(path / names.SWEEP, (json.dumps(said, indent=1, ensure_ascii=False) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> Plan:
        file = path / names.SWEEP
        if not file.is_file():
            raise ReportError(f"{path}: no {names.SWEEP} in it; expected a folder that `flashtwin sweep` wrote")
        said = read_plan(path)
        said = {key: value for key, value in said.items() if key not in ("flashtwin", "format")}
        try:
            found = [Planned(**one) for one in said["points"]]
            return cls(**{**said, "store": path / said["store"], "points": found})
        except (KeyError, TypeError) as error:
            raise ReportError(f"{file}: not a sweep of this version of flashtwin ({error}); sweep again") from None


@checked
class Sweep(Tabular):
    """Many replays: a row for each point, whether it is done, refused or missing.

    As a frame: `point`, `trace`, `system`, `status` (done, failed, missing), `error`, `key`, the swept keys, then every
    number of the summaries under its dotted name; a point that is not done has none. A sweep that is not `complete`
    says so wherever it is shown.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").sample(0.02)
    >>> swept = ft.sweep(trace, "out/swept", ["conventional", "ca-ssd"], speed=[1, 10], workers=1)
    >>> [best["system"] for best in swept.bests("pages_programmed")]
    ['ca-ssd', 'ca-ssd']
    """

    def __init__(self, path: Path, plan: Plan, table: pyarrow.Table) -> None:
        """Use `flashtwin.sweep` or `Sweep.read`."""
        self.path = path
        self.plan = plan
        self._table = table

    @classmethod
    def read(cls, path: str | Path) -> Sweep:
        """Reads a sweep's folder: from its store, as far as the runs have come, or else from its table.

        Raises:
            ReportError: there is no sweep in the folder, or what stands there cannot be read.
        """
        path = Path(path)
        plan = Plan.read(path)
        if plan.store.is_dir():
            return cls(path, plan, _table(plan))
        return cls(path, plan, folder.read_table(names.table(path, names.SWEEP_ROWS)))

    @cached_property
    def _saved(self) -> SavedSweep:
        return SavedSweep(self.path, asdict(self.plan), self._table.to_pylist())

    def __repr__(self) -> str:
        return f"<flashtwin.Sweep {str(self.path)!r}: {self.state}>"

    def __len__(self) -> int:
        return len(self.plan.points)

    @property
    def state(self) -> str:
        """How far the sweep is, in words."""
        counts = self.counts
        refused = f", {counts[FAILED]} refused" if counts[FAILED] else ""
        if self.complete:
            return f"{len(self)} points{refused}"
        if not counts[MISSING]:
            return f"partial: the search has not ended; {len(self)} points so far{refused}"
        return f"partial: {counts[DONE]} of {len(self)} points{refused}, {counts[MISSING]} missing"

    @cached_property
    def counts(self) -> dict[str, int]:
        """Points that are done, failed (refused) and missing."""
        return self._saved.counts

    @property
    def complete(self) -> bool:
        """Whether no point is missing, and a search has ended; refused points are no gap, for they would be again."""
        return self._saved.complete

    @property
    def effects(self) -> list[NoEffect]:
        """Keys that changed nothing on a system, and why where the figures tell."""
        return self._saved.effects

    @property
    def missing(self) -> list[Planned]:
        """The points that have not been replayed yet."""
        return self._with(MISSING)

    @property
    def failed(self) -> list[Planned]:
        """The points that the core refused; `errors` has the reasons."""
        return self._with(FAILED)

    @property
    def errors(self) -> dict[int, str]:
        """Why points were refused, by their numbers."""
        return {row["point"]: row["error"] for row in self._saved.rows if row["error"] is not None}

    def _with(self, status: str) -> list[Planned]:
        return [point for point, row in zip(self.plan.points, self._saved.rows, strict=True) if row["status"] == status]

    def result(self, point: int) -> Result:
        """The run of a point, by its number; its tables where the sweep kept them.

        Raises:
            ArgumentError: there is no such point, or it has no run.
        """
        planned = next((one for one in self.plan.points if one.point == point), None)
        if planned is None:
            raise ArgumentError(f"there is no point {point}; they are numbered from 1 to {len(self)}")
        kept = Store(self.plan.store).get(planned.key) if planned.key else None
        if kept is None or kept.summary is None:
            raise ArgumentError(f"point {point} has no run; make it with `{planned.command}`")
        return stored(planned.system, json.dumps(kept.summary, ensure_ascii=False), kept.tables)

    def best(self, figure: str, subject_to: str = "") -> dict[str, Any] | None:
        """The row with the best figure (`"read.p99"`) within bounds (`"wa<=1.2,ram<=64MB"`); None without one.

        The best is the smallest; of throughput (`"iops"`) the largest. Of a sweep that is not `complete` it is the best
        so far. Of a search over several traces it is the best setting over all of them that keeps the bounds on each,
        and the row is that of its first trace; `trial` finds the others.

        Raises:
            ArgumentError: a figure is not known, or the points are of several traces, drives or loads, which nobody
                chooses among; `bests` has one of each. A search is over the keys that it was given.
        """
        wanted, limits, saved = figures.figure(figure), figures.bounds(subject_to), self._saved
        groups = saved.by_condition(saved.rows)
        if len(groups) > 1 and not saved.goals:
            what = ", ".join(saved.conditions) or "trace"
            raise ArgumentError(f"points of {len(groups)} conditions ({what}) do not compete; `bests` has one of each")
        found = best_row(saved.rows, wanted, limits, saved.over)
        return None if found is None else dict(found)

    def bests(self, figure: str, subject_to: str = "") -> list[dict[str, Any]]:
        """The row with the best figure of each trace, drive and load (speed, queue depth, contents, preload).

        Raises:
            ArgumentError: a figure is not known.
        """
        wanted, limits = figures.figure(figure), figures.bounds(subject_to)
        groups = self._saved.by_condition(self._saved.rows).values()
        return [dict(row) for group in groups if (row := best_row(group, wanted, limits, None)) is not None]

    def pareto(self, by: str | None = None) -> pyarrow.Table:
        """The points that no other one beats in all of the figures (`"read.mean,programs"`), as rows.

        Only points of one trace, drive and load (speed, queue depth, contents, preload) are compared. Of a search over
        several traces: the rows, on all of them, of the settings that no other one beats over all.

        Raises:
            ArgumentError: a figure is not known.
        """
        wanted = figures.figures(by or ",".join(self.plan.trade))
        rows = self._saved.rows
        if self._saved.over:
            trials = over.trials(rows, wanted, (), self._saved.over)
            front = figures.front([[one.cost(value) for one, value in zip(wanted, trial.ratios, strict=True)]
                                   for trial in trials])  # fmt: skip
            return table_of([dict(row) for place in front for row in trials[place].rows])
        rows = [row for row in rows if all(row.get(one.path) is not None for one in wanted)]
        best: list[Mapping[str, Any]] = []
        for group in self._saved.by_condition(rows).values():
            best += [group[place] for place in figures.front(figures.costs(group, wanted))]
        return table_of(best)

    def to_arrow(self) -> pyarrow.Table:
        """A row for each point."""
        return self._table

    def _repr_html_(self) -> str:
        axes = [f"config.{key}" for key in self.plan.axes]
        asked = figures.figures(",".join(self.plan.trade))
        wanted = variation.columns(self._saved.rows, asked, closed=self._saved.is_closed, at_most=5)
        columns = ["point", "trace", "system", "status", *axes, *(one.path for one in wanted.shown)]
        there = [name for name in dict.fromkeys(columns) if name in self._table.column_names]
        return f"<p>{html.escape(repr(self))}</p>{shown(self._table.select(there))}"

    def write(self, *, page: bool = True) -> None:
        """Writes the table and, if asked for, the page into the folder."""
        self.write_table()
        if not page:
            folder.without_report(self.path)
            return
        from flashtwin import report

        report.build(self.path)

    def write_table(self) -> None:
        """Writes the table alone."""
        write_synced(names.table(self.path, names.SWEEP_ROWS), folder.table_bytes(self._table))

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / names.REPORT


def finish(out: Path, *, alone: bool, page: bool = True, notify: Notify | None = None) -> Sweep:
    """Writes table and page. One shard of several leaves them to the last, which finds the sweep complete."""
    found = Sweep.read(out)
    if alone or found.complete:
        found.write(page=page)
        if notify:
            for effect in found.effects:
                notify(effect.line)
    elif notify:
        notify(f"{found.state}; when all shards have ended, `flashtwin report {out}` writes table and page")
    return found


def _table(plan: Plan) -> pyarrow.Table:
    """A row for each point in the order of the plan: the same bytes for any order in which runs end."""
    import pyarrow

    store = Store(plan.store)
    rows = [_row(planned, store, plan.axes) for planned in plan.points]
    if plan.search.get("over"):
        goals = [figures.figure(name) for name in (*plan.search["minimize"], *plan.search["maximize"])]
        rows = over.with_ratios(rows, goals, plan.search["over"])
    table = table_of(rows)
    for name in ("error", "key"):
        # All of them may be missing, which has no type of its own.
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].cast(pyarrow.string()))
    whole = SavedSweep(plan.store, asdict(plan), rows).complete
    return table.replace_schema_metadata({"flashtwin.complete": "true" if whole else "false"})


def _row(planned: Planned, store: Store, axes: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    kept = store.get(planned.key) if planned.key else None
    error = planned.error or (kept.error if kept is not None else None)
    found = one_row(kept.summary) if kept is not None and kept.summary is not None else {}
    status = FAILED if error is not None else DONE if found else MISSING
    # A key that a system ignores is in the point, but not in the run that stands for it.
    made = {name: value for name, value in found.items() if name.removeprefix("config.") not in planned.ignored}
    swept = {f"config.{key}": made.get(f"config.{key}", _value(planned.settings.get(key))) for key in axes}
    first = {
        "point": planned.point, "trace": planned.trace, "system": planned.system, "status": status,
        "error": error, "key": planned.key, **({} if planned.trial is None else {"trial": planned.trial}), **swept,
    }  # fmt: skip
    # A run may have been made from a file of another name with the same requests.
    named = {"trace.name": planned.trace} if found else {}
    return {**first, **{key: value for key, value in found.items() if key not in first}, **named}


def _value(text: str | None) -> Any:
    """A value as the configuration would have it, for points without one."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
