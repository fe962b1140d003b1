"""Figures of a workload, declared: the replays that each needs, and its value from these.

Facts are computed with: `a - b`, `a / b * 100.0`, `found["key"]`. A figure that is undefined, or computed from one that
is, is None. `measured` makes all replays that an item needs at once, side by side, and then its facts.

    saved(Run("ca-ssd"), Run("rr-ssd"), "response.read.mean_ns")      # by how many percent reads are shorter
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from flashtwin.settings import Value

if TYPE_CHECKING:
    from flashtwin.papers.bench import PaperRun, Stand
    from flashtwin.replays.presets import System

T = TypeVar("T")
#: Keys that depend on the workload, such as a drive as large as its footprint.
Worked = Callable[["Stand"], Mapping[str, Value]]


@dataclass(frozen=True)
class Run:
    """A system with keys set otherwise, on any workload."""

    system: str
    sets: tuple[tuple[str, Value], ...] = ()
    worked: tuple[Worked, ...] = ()
    #: Whether the paper's set-up is below these keys.
    setup: bool = True

    def on(self, stand: Stand) -> System:
        keys = {key: value for worked in self.worked for key, value in worked(stand).items()}
        make = stand.system if self.setup else stand.preset
        return make(self.system, **{**keys, **dict(self.sets)})


@dataclass(frozen=True, eq=False)
class Fact:
    """A figure of a workload, or anything else that is measured on it; JSON values."""

    runs: tuple[Run, ...]
    #: From the workload, and the runs in their order.
    value: Callable[[Stand, Sequence[PaperRun]], Any]
    #: Whether it reads tables of the runs, and not their summaries alone.
    tables: bool = True

    def __add__(self, other: Fact) -> Fact:
        return derived(operator.add, self, other)

    def __sub__(self, other: Fact) -> Fact:
        return derived(operator.sub, self, other)

    def __truediv__(self, other: Fact | float) -> Fact:
        if isinstance(other, Fact):
            return derived(operator.truediv, self, other)
        return derived(lambda value: value / other, self)

    def __mul__(self, factor: float) -> Fact:
        return derived(lambda value: value * factor, self)

    def __getitem__(self, key: str) -> Fact:
        return derived(lambda found: found.get(key), self)


def measured(facts: Iterable[Fact], stand: Stand) -> dict[Any, Any]:
    facts = list(facts)
    runs = list(dict.fromkeys(run for fact in facts for run in fact.runs))
    names = {run: f"{run.system}-{place}" for place, run in enumerate(runs)}
    tabled = {names[run] for fact in facts if fact.tables for run in fact.runs}
    done = stand.runs({name: run.on(stand) for run, name in names.items()}, tabled)
    by_run = dict(zip(runs, done.values(), strict=True))
    return {fact: fact.value(stand, [by_run[run] for run in fact.runs]) for fact in facts}


def every(facts: Mapping[Any, Mapping[Any, Fact]]) -> list[Fact]:
    return [fact for of in facts.values() for fact in of.values()]


def as_list(*facts: Fact) -> Fact:
    """Several facts as one list, undefined ones among them."""

    def value(stand: Stand, runs: Sequence[PaperRun]) -> Any:
        rest, values = list(runs), []
        for fact in facts:
            values.append(fact.value(stand, rest[: len(fact.runs)]))
            rest = rest[len(fact.runs) :]
        return values

    runs = tuple(run for fact in facts for run in fact.runs)
    return Fact(runs, value, any(fact.tables for fact in facts))


def derived(compute: Callable[..., Any], *facts: Fact) -> Fact:
    """A fact computed from others, all of which must be defined."""
    together = as_list(*facts)

    def value(stand: Stand, runs: Sequence[PaperRun]) -> Any:
        values = together.value(stand, runs)
        try:
            return None if any(one is None for one in values) else compute(*values)
        except ZeroDivisionError:
            return None

    return Fact(together.runs, value, together.tables)


def of_runs(compute: Callable[..., Any], *runs: Run, tables: bool = True) -> Fact:
    return Fact(runs, lambda _, done: compute(*done), tables)


def once(compute: Callable[[Stand], T]) -> Callable[[Stand], T]:
    """The same, computed once a workload."""

    def kept(stand: Stand) -> T:
        if compute not in stand.memo:
            stand.memo[compute] = compute(stand)
        found: T = stand.memo[compute]
        return found

    return kept


def of_trace(compute: Callable[[Stand], Any]) -> Fact:
    """A fact of the workload itself, or one that makes its replays one after another; computed once a workload."""
    kept = once(compute)
    return Fact((), lambda stand, _: kept(stand))


def trace_fact(key: str) -> Fact:
    return of_trace(lambda stand: stand.fact(key))


#: The size of the workload as a share of the published one.
SCALE = of_trace(lambda stand: stand.source.scale)


def all_keep_up(*runs: Run) -> Fact:
    return of_runs(lambda *done: all(run.keeps_up for run in done), *runs, tables=False)


def total(run: Run, path: str, missing: float | None = None) -> Fact:
    """A number of a replay's summary; `missing` where the summary has none."""
    return of_runs(lambda done: missing if (found := done.get(path)) is None else found, run, tables=False)


def saved(baseline: Run, other: Run, path: str) -> Fact:
    """By how many percent a figure of a replay is smaller than the baseline's."""
    return derived(smaller, total(baseline, path), total(other, path))


def smaller(before: float | None, after: float | None) -> float | None:
    """By how many percent a figure is smaller than before; None where either is undefined."""
    return None if not before or after is None else (1.0 - after / before) * 100.0


def share(part: float | None, whole: float | None) -> float | None:
    """A part of a whole in percent; None where that is undefined."""
    return None if part is None or not whole else part / whole * 100.0


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of those that are known; None without any."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
