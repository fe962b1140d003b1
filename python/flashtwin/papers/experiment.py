"""One designed experiment a paper: every choice that it leaves open, against all that it published at once.

A balanced design screens the choices, then the few that matter are replayed in all combinations. The set-ups are ranked
by their distance to all published numbers, over all workloads together: nothing is chosen for one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flashtwin.errors import FlashtwinError
from flashtwin.experiments import Effects, Factor, Row, balanced, effects, levels, sets_of
from flashtwin.papers.bench import ForSystem, Stand
from flashtwin.papers.claims import Agreement, Claim, number
from flashtwin.papers.facts import Fact, measured
from flashtwin.papers.model import (
    ByWorkload,
    ComputedItem,
    Facts,
    Outcome,
    Quantities,
    Series,
    bars,
    chart,
    claims_of,
    table,
)
from flashtwin.papers.sensitivity import NOTHING, Headline
from flashtwin.settings import Value

ID = "set-ups"
#: Cap of a number's error, in tolerances: no single number decides.
FARTHEST = 5.0
SHOWN = 5
#: Levels that are as the paper's set-up or the presets have them.
SETUP, PRESETS = "the set-up of this page", "the presets"

#: Keys that depend on the workload, such as a drive as large as its footprint; None where it is too small for that.
Worked = Callable[[Stand], Mapping[str, Value] | None]

#: Choices that several papers leave open; the first level is the presets'.
ORDER = Factor("order", levels("ftl.allocation.order", "CWDP", "WDPC", "DPWC", "PDWC"))
STRIPE = Factor("pages before the next", levels("ftl.allocation.stripe_pages", 1, 2, 4))
HASH_UNIT = Factor("hash unit", {"1 lane": {"engine.hash_lanes": 1}, "pipeline": {"engine.hash_lanes": 0}})
MERGED = Factor("merged reads", levels("engine.merge_reads", "none", "same-page"))
SUSPENSION = Factor("suspension", levels("engine.suspend", "none", "program-erase"))
LOAD = Factor("load", levels("engine.load", "queue-length", "reads-waiting", "expected-wait"))
FROM_RAM = Factor("reads from RAM", levels("engine.buffer_reads", True, False))


def rates(*speeds: float) -> Factor:
    """The rate of arrival, as a factor of the trace's clock."""
    return Factor("rate", {f"{speed:g} times": {"replay.speed": speed} for speed in speeds})


def write_completes(*rules: str, caches: Mapping[str, int]) -> Factor:
    """When a write is complete: by a rule, or in a cache of so many pages."""
    in_caches: dict[str, Mapping[str, Value]] = {
        name: {"engine.write_completes": "programmed", "engine.write_cache_pages": pages}
        for name, pages in caches.items()
    }
    return Factor("write completes", {**levels("engine.write_completes", *rules), **in_caches})


@dataclass(frozen=True)
class Experiment:
    """The open choices of a paper, and its published numbers.

    Example: `Experiment(factors, 48, measure, claims, headlines, {"units": ("chip", "die")}, {...})` replays 48 rows of
    the design, then both units with everything else as `fixed` says.
    """

    #: The choices; the first level is the presets'.
    factors: Sequence[Factor]
    rows: int
    #: All published numbers, beside which those of one set-up stand.
    quantities: Quantities
    #: The paper's headline numbers: the effect of each choice on them is shown.
    headlines: Sequence[Headline]
    #: The few that matter: levels by factor, replayed in all combinations.
    few: Mapping[str, Sequence[str]]
    #: Levels of the other factors in these replays, where they are not the first.
    fixed: Row
    #: Whether the drives of a set-up keep up; figures of drives that do not mean nothing.
    keep_up: Fact
    #: Choices with more levels than a design takes: each level by itself, under the paper's set-up.
    alone: Sequence[Factor] = ()
    #: Levels whose keys depend on the workload, by factor and level.
    worked: Mapping[tuple[str, str], Worked] = field(default_factory=dict)
    for_system: ForSystem = lambda _, sets: sets

    @cached_property
    def screen(self) -> list[Row]:
        """The rows of the design."""
        return list(balanced(self.factors, self.rows))

    def rows_of(self) -> Iterator[tuple[str, Row]]:
        """Every row of the design, then all combinations of the few, by the name of its facts."""
        fixed = {factor.name: factor.default for factor in self.factors} | dict(self.fixed)
        full = [dict(zip(self.few, chosen, strict=True)) for chosen in itertools.product(*self.few.values())]
        yield from ((f"screen {at}", row) for at, row in enumerate(self.screen))
        yield from ((f"full {at}", {**fixed, **row}) for at, row in enumerate(full))

    def all_sets(self, stand: Stand) -> Iterator[tuple[str, Mapping[str, Value] | None]]:
        """The keys of every set-up on one workload, by name; None where a level cannot be had on it."""
        for name, row in self.rows_of():
            yield name, self._with_worked(stand, sets_of(self.factors, row), row)
        for factor in self.alone:
            for level, sets in factor.levels.items():
                yield f"{factor.name} {level}", self._with_worked(stand, sets, {factor.name: level})
        yield SETUP, {}
        yield PRESETS, sets_of(self.factors, {})

    def _with_worked(self, stand: Stand, sets: Mapping[str, Value], row: Row) -> Mapping[str, Value] | None:
        found = dict(sets)
        for (factor, level), worked in self.worked.items():
            if row.get(factor) == level:
                more = worked(stand)
                if more is None:
                    return None
                found |= more
        return found


def item(plan: Experiment, place: str, workloads: Sequence[str]) -> ComputedItem:
    """The item of a paper."""
    return ComputedItem(
        ID, "Every choice that the paper leaves open, and the set-up nearest to all its numbers", place,
        tuple(workloads), measures=lambda stand: measure(plan, stand),
        outcome=lambda facts: judge(plan, facts, workloads),
    )  # fmt: skip


def measure(plan: Experiment, stand: Stand) -> Facts:
    """The figures of one workload under every set-up."""
    return {
        name: None if sets is None else _figures_of(plan, stand, sets) for name, sets in plan.all_sets(stand)
    }  # fmt: skip


def _figures_of(plan: Experiment, stand: Stand, sets: Mapping[str, Value]) -> Facts | None:
    """None for a drive that falls behind, or cannot be had, as one whose planes are too small to collect."""
    quantities = [one for entry in plan.quantities for one in (entry if isinstance(entry, tuple) else (entry,))]
    wanted = [
        *(one.fact for one in quantities if not isinstance(one.published, Mapping) or stand.name in one.published),
        *(one.fact for one in plan.headlines if stand.name in one.of),
    ]
    try:
        with stand.otherwise(sets, plan.for_system):
            return measured(dict.fromkeys(wanted), stand) if measured([plan.keep_up], stand)[plan.keep_up] else None
    except FlashtwinError:
        return None


@dataclass(frozen=True)
class SetupTrial:
    """A set-up with its numbers beside the published ones."""

    name: str
    row: Row
    claims: Sequence[Claim]
    figures: Sequence[float | None]

    @cached_property
    def distance(self) -> float | None:
        """The mean distance of all its numbers, in tolerances."""
        known = [min(one.distance, FARTHEST) for one in self.claims if one.distance is not None]
        return sum(known) / len(known) if known else None

    @property
    def agree(self) -> str:
        """`3 of 7`: numbers that agree, of those that were measured."""
        verdicts = [one.verdict for one in self.claims if one.measured is not None]
        return f"{verdicts.count(Agreement.AGREES)} of {len(verdicts)}"

    @property
    def cells(self) -> list[str]:
        """Its headlines, distance and agreement in a table."""
        figures = [NOTHING if value is None else f"{round(value, 1) + 0.0:.1f}" for value in self.figures]
        return [*figures, f"{self.distance:.2f}" if self.distance is not None else NOTHING, self.agree]


def tried(plan: Experiment, facts: ByWorkload, names: Sequence[str]) -> dict[str, SetupTrial]:
    """All set-ups that were measured on every workload of the run, by their names."""
    rows = dict(plan.rows_of())
    found = {}
    for name in next(iter(facts.values()), {}):
        of = {workload: measured[name] for workload, measured in facts.items()}
        if None not in of.values():
            figures = [headline.value(of) for headline in plan.headlines]
            claims = claims_of(plan.quantities, of, names)
            found[name] = SetupTrial(name, rows.get(name, {}), claims, figures)
    return found


def judge(plan: Experiment, facts: ByWorkload, workloads: Sequence[str]) -> Outcome:
    """The headlines at the nearest set-up; what moves them; the nearest of all, beside the set-up and the presets."""
    every = tried(plan, facts, workloads)
    ranked = sorted(
        (one for one in every.values() if one.distance is not None), key=lambda one: (one.distance or 0.0, one.name)
    )
    best = ranked[0] if ranked else None
    at_best = {name: found[best.name] for name, found in facts.items()} if best else {}
    claims = [
        number("nearest set-up", one.title, one.published, one.value(at_best), effect=one.effect)
        for one in plan.headlines
    ]
    if best is None:
        return Outcome(claims)
    moved = _effects(plan, every)
    titles = [*(headline.title for headline in plan.headlines), "distance", "numbers that agree"]
    nearest = [[str(place), _described(plan, one), *one.cells] for place, one in enumerate(ranked[:SHOWN], start=1)]
    nearest += [["", name, *every[name].cells] for name in (SETUP, PRESETS) if name in every]
    tables = [
        *([_effects_table(plan, moved)] if moved else []),
        table("Set-ups nearest to all published numbers at once", ["rank", "set-up", *titles], nearest),
    ]
    for factor in plan.alone:
        names = {level: f"{factor.name} {level}" for level in factor.levels}
        rows = [[level, *every[name].cells] for level, name in names.items() if name in every]
        tables.append(table(f"{factor.name}, everything else as it is", [factor.name, *titles], rows))
    return Outcome(claims, _chart(plan, every, best), _notes(plan, every, best, facts, len(workloads)), tables)


def _effects(plan: Experiment, every: Mapping[str, SetupTrial]) -> dict[str, Effects]:
    """Main effects on each headline and on the distance, over the rows that were measured on every workload."""
    rows = [(row, every.get(f"screen {at}")) for at, row in enumerate(plan.screen)]
    known = [(row, one) for row, one in rows if one is not None]
    factors = [one for one in plan.factors if len({row[one.name] for row, _ in known}) == len(one.levels)]
    columns = {
        headline.title: [one.figures[place] for _, one in known] for place, headline in enumerate(plan.headlines)
    } | {"distance": [one.distance for _, one in known]}  # fmt: skip
    found = {title: effects(factors, [row for row, _ in known], values) for title, values in columns.items()}
    return {title: one for title, one in found.items() if one is not None}


def _effects_table(plan: Experiment, moved: Mapping[str, Effects]) -> dict[str, Any]:
    """A row a choice, those first that move the distance most; in each cell the range, and the level on top."""

    def cell(found: Effects, factor: str) -> str:
        of = found.of[factor]
        return f"{found.range_of(factor):.2g} ({max(of, key=lambda level: of[level])})"

    order = moved.get("distance", next(iter(moved.values()))).strongest()
    names = {factor.name: ", ".join(factor.levels) for factor in plan.factors}
    rows = [[name, names[name], *(cell(one, name) for one in moved.values())] for name in order]
    residual = [f"{one.residual:.2g}" if one.residual is not None else NOTHING for one in moved.values()]
    return table(
        "What each choice moves: highest level less lowest, and which is the highest", ["choice", "levels", *moved],
        [*rows, ["left unexplained (standard deviation)", "", *residual]],
    )  # fmt: skip


def _described(plan: Experiment, one: SetupTrial) -> str:
    """`order PDWC, units chip`: changes against the presets; the set-up with one level, by its name."""
    if not one.row:
        return one.name
    otherwise = [
        f"{factor.name} {level}" for factor in plan.factors if (level := one.row[factor.name]) != factor.default
    ]  # fmt: skip
    return ", ".join(otherwise) or PRESETS


def _notes(
    plan: Experiment, every: Mapping[str, SetupTrial], best: SetupTrial, facts: ByWorkload, workloads: int
) -> list[str]:
    all_of = next(iter(facts.values()))
    notes = [
        f"{len(all_of)} set-ups were tried, each on all {len(facts)} workloads of this run"
        + (f" (the paper has {workloads})" if len(facts) < workloads else "")
        + f"; {len(all_of) - len(every)} of them cannot be compared: a drive falls behind, or cannot be made so small. "
        "The best of many is better than it deserves: it shows that such a set-up exists, not "
        "that it was the authors'.",
        f"Distance: the mean over all published numbers of how many tolerances each is off, {FARTHEST:g} at most.",
        f"The nearest is off by {best.distance:.2f}, {best.agree} agree: {_described(plan, best)}.",
    ]
    for name in (SETUP, PRESETS):
        if name in every and every[name].distance is not None:
            one = every[name]
            notes.append(f"{name[0].upper()}{name[1:]}: off by {one.distance:.2f}, {one.agree} agree.")
    return notes


def _chart(plan: Experiment, every: Mapping[str, SetupTrial], best: SetupTrial) -> dict[str, Any]:
    shown = {"the nearest": best} | {name: every[name] for name in (SETUP, PRESETS) if name in every}
    as_published = [headline.published for headline in plan.headlines]
    series: list[Series] = [
        (name, list(one.figures), as_published if name == "the nearest" else [None] * len(as_published))
        for name, one in shown.items()
    ]
    return chart(bars([headline.group or headline.title for headline in plan.headlines], series, "%"))
