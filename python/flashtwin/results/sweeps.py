"""Reads the folder of a sweep: its points in order and the figures of each. Reads files only."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from flashtwin.errors import ReportError
from flashtwin.results import figures, names, shapes
from flashtwin.results import over as across
from flashtwin.results.effects import NoEffect, without_effect
from flashtwin.results.figures import Figure
from flashtwin.results.formats import lacking
from flashtwin.results.keys import K
from flashtwin.results.reading import column_kind, read_arrow, read_json
from flashtwin.results.schema import SUMMARY, TEXTS
from flashtwin.results.trees import as_number
from flashtwin.results.variation import PointColumns, columns, is_seed

#: The key that says how many requests are under way in a closed loop; with 0 the trace's clock says when they come.
DEPTH = K.replay.queue_depth
#: Keys that are given to a buyer: drive, load and state of the drive. Points under other conditions do not compete.
CONDITIONS = ("device", K.replay.speed, DEPTH, K.replay.content, K.replay.preload)
#: The state of a point: replayed, refused by the core, or not replayed yet.
DONE, FAILED, MISSING = "done", "failed", "missing"
FIGURES_MAX = 8


@dataclass(frozen=True, eq=False)
class SavedSweep:
    """A sweep that was written down: a row for each point."""

    folder: Path
    plan: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]

    @property
    def done(self) -> list[Mapping[str, Any]]:
        return [row for row in self.rows if row["status"] == DONE]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Points that are done, failed (refused) and missing."""
        statuses = [row["status"] for row in self.rows]
        return {status: statuses.count(status) for status in (DONE, FAILED, MISSING)}

    @property
    def complete(self) -> bool:
        """Whether no point is missing, and a search has ended; refused points are no gap, for they would be again."""
        return not self.counts[MISSING] and bool(self.search.get("ended", True))

    @property
    def effects(self) -> list[NoEffect]:
        """Keys that changed nothing on a system."""
        ignored = {int(point["point"]): point.get("ignored") or () for point in self.plan["points"]}
        return without_effect(self.done, self.plan["axes"], ignored)

    @property
    def traces(self) -> list[str]:
        return [str(trace["name"]) for trace in self.plan["traces"]]

    @property
    def systems(self) -> list[str]:
        return [str(name) for name in self.plan["systems"]]

    @property
    def axes(self) -> dict[str, list[str]]:
        """Keys that take more than one value, with these as text."""
        return {key: values for key, values in self.plan["axes"].items() if len(values) > 1}

    @property
    def search(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.plan.get("search") or {}
        return found

    @property
    def goals(self) -> list[str]:
        """Names of the figures that a search makes small, then of those that it makes large."""
        return [*self.search.get("minimize", []), *self.search.get("maximize", [])]

    @property
    def bounds(self) -> list[figures.Bound]:
        return figures.bounds(str(self.search.get("subject_to", "")))

    @property
    def trade(self) -> list[Figure]:
        return [figures.figure(name) for name in self.plan["trade"]][:2]

    @property
    def seeds(self) -> list[str]:
        """Keys that draw another sample of the same thing."""
        return [key for key in self.axes if is_seed(key)]

    @property
    def conditions(self) -> list[str]:
        return [key for key in self.axes if key in CONDITIONS]

    def by_condition(self, rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
        """Rows by their trace and the values of `conditions`: only rows of one condition can beat one another."""
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for row in rows:
            condition = (row["trace"], *(row.get(f"config.{key}") for key in self.conditions))
            groups.setdefault(condition, []).append(row)
        return groups

    @property
    def is_closed(self) -> bool:
        """Whether a closed loop was replayed at some point, so that rates are those of the drive."""
        return any(row.get(f"config.{DEPTH}") for row in self.done)

    @cached_property
    def columns(self) -> PointColumns:
        """The figures of the table: the goals, the trade-off, and the figures that vary most."""
        asked = [figures.figure(name) for name in dict.fromkeys([*self.goals, *self.plan["trade"]])]
        return columns(self.rows, asked, closed=self.is_closed, at_most=FIGURES_MAX)

    @property
    def best(self) -> Mapping[str, Any] | None:
        """The result of a search of one figure; None without one."""
        if len(self.goals) != 1:
            return None
        return best_row(self.done, figures.figure(self.goals[0]), self.bounds, self.over)

    @property
    def over(self) -> across.Over | None:
        """How a search judged settings over several traces; None where it did not."""
        found: across.Over | None = self.search.get("over")
        return found

    @property
    def tried(self) -> list[across.Trial]:
        """Of a search over several traces, the settings by the first goal."""
        if self.over is None or not self.goals:
            return []
        return across.trials(self.rows, [figures.figure(self.goals[0])], self.bounds, self.over)

    @cached_property
    def best_trial(self) -> across.Trial | None:
        """Of a search over several traces for one figure, the setting that it found; None without one."""
        return across.best(self.tried, figures.figure(self.goals[0])) if len(self.goals) == 1 else None


def best_row(
    rows: Sequence[Mapping[str, Any]], wanted: Figure, limits: Sequence[figures.Bound], over: across.Over | None
) -> Mapping[str, Any] | None:
    """The row with the best figure that keeps the limits; of settings on several traces that of the first trace."""
    if over is not None:
        found = across.best(across.trials(rows, [wanted], limits, over), wanted)
        return None if found is None else found.rows[0]
    good = [row for row in rows if row.get(wanted.path) is not None and figures.keeps(row, limits)]
    return min(good, key=lambda row: wanted.cost(row[wanted.path]), default=None)


def number(row: Mapping[str, Any], figure: Figure) -> float | None:
    return as_number(row.get(figure.path))


def is_sweep(folder: Path | str) -> bool:
    return (Path(folder) / names.SWEEP).is_file()


def load(folder: Path | str) -> SavedSweep:
    path = Path(folder)
    plan = read_plan(path)
    file = names.table(path, names.SWEEP_ROWS)
    table = read_arrow(file)
    if wrong := _misfit(table):
        raise ReportError(f"{file}: its column {wrong} is missing or of another kind; sweep again")
    rows = table.to_pylist()
    of_plan, of_rows = ([(one["trace"], one["system"]) for one in of] for of in (plan["points"], rows))
    known = itertools.product((one["name"] for one in plan["traces"]), plan["systems"])
    if of_plan != of_rows or not {*of_plan} <= {*known}:
        raise ReportError(f"{path}: table and points of the sweep do not belong together; sweep again")
    return SavedSweep(path, plan, rows)


def _misfit(table: Any) -> str | None:
    """The column that is not as a sweep writes it."""
    texts, numbers = {*TEXTS, "trace", "system", "status", "error", "key"}, {"point", "trial"}
    lacking = {"point", "trace", "system", "status", "key"} - {*table.column_names}
    for name, values in zip(table.column_names, table.columns, strict=True):
        kind = column_kind(values)
        wanted = str if name in texts else float if name in numbers or name in SUMMARY else kind
        if kind not in (wanted, None) or (name in numbers and values.null_count):
            lacking.add(name)
    return min(lacking, default=None)


def read_plan(folder: Path) -> Mapping[str, Any]:
    file = folder / names.SWEEP
    plan = read_json(file)
    lacking(file, plan, command := f"flashtwin sweep TRACE --out {folder}")
    shapes.check(file, plan, shapes.PLAN, command)
    return plan
