"""One designed experiment a paper: every choice that it leaves open, against all that it published at once.

A balanced design screens the choices: each row is a whole set-up, replayed on every workload. The few that matter are
then replayed in full, each combination of their levels, and choices with many levels one level after the other. All
set-ups that were tried are put in order by their distance to all published numbers of the paper, over all workloads
together: nothing is chosen for one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flashtwin.errors import FlashtwinError
from flashtwin.experiments import Effects, Factor, Row, balanced, effects, sets_of
from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import Agreement, Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart
from flashtwin.papers.sensitivity import Headline
from flashtwin.settings import Value

ID = "set-ups"
#: Cap of a number's error, in tolerances: no single number decides.
FARTHEST = 5.0
#: Set-ups that the table of the nearest shows.
SHOWN = 5
#: Levels that are as the paper's set-up or the presets have them.
SETUP, PRESETS = "the set-up of this page", "the presets"
NOTHING = "–"

#: Keys that depend on the workload, such as a drive as large as its footprint; None where it is too small for that.
Worked = Callable[[Stand], Mapping[str, Value] | None]


@dataclass(frozen=True)
class Experiment:
    """The open choices of a paper, and its published numbers.

    Example: `Experiment(factors, 48, measure, claims, headlines, {"units": ("chip", "die")}, {...})` replays 48 rows of
    the design, then both units with everything else as `fixed` says.
    """

    #: The choices; the first level is the presets'.
    factors: Sequence[Factor]
    #: Rows of the screening design.
    rows: int
    #: The figures of one workload with these keys set; None where they mean nothing, as on a drive that falls behind.
    measure: Callable[[Stand, Mapping[str, Value]], Facts | None]
    #: All published numbers beside those of one set-up, from the figures by workload.
    claims: Callable[[Mapping[str, Facts]], Sequence[Claim]]
    #: The paper's headline numbers: the effect of each choice on them is shown.
    headlines: Sequence[Headline]
    #: The few that matter: levels by factor, replayed in all combinations.
    few: Mapping[str, Sequence[str]]
    #: Levels of the other factors in these replays.
    fixed: Row
    #: Choices with more levels than a design takes: each level by itself, under the paper's set-up.
    alone: Sequence[Factor] = ()
    #: Levels whose keys depend on the workload, by factor and level.
    worked: Mapping[tuple[str, str], Worked] = field(default_factory=dict)

    @cached_property
    def screen(self) -> list[Row]:
        """The rows of the design."""
        return list(balanced(self.factors, self.rows))

    @cached_property
    def full(self) -> list[Row]:
        """All combinations of the few."""
        return [
            {**self.fixed, **dict(zip(self.few, levels, strict=True))}
            for levels in itertools.product(*self.few.values())
        ]

    def rows_of(self) -> Iterator[tuple[str, Row]]:
        """Every row of the design by the name of its facts."""
        for part, rows in (("screen", self.screen), ("full", self.full)):
            yield from ((f"{part} {at}", row) for at, row in enumerate(rows))

    def sets(self, stand: Stand, row: Row) -> Mapping[str, Value] | None:
        """The keys of a row on one workload; None where a level cannot be had on it."""
        return self._with_worked(stand, sets_of(self.factors, row), row)

    def sets_alone(self, stand: Stand, factor: Factor, level: str) -> Mapping[str, Value] | None:
        """The same of a level by itself, under the paper's set-up."""
        return self._with_worked(stand, {**stand.setup, **factor.levels[level]}, {factor.name: level})

    def _with_worked(self, stand: Stand, sets: Mapping[str, Value], row: Row) -> Mapping[str, Value] | None:
        found = dict(sets)
        for (factor, level), worked in self.worked.items():
            if row.get(factor) == level:
                more = worked(stand)
                if more is None:
                    return None
                found |= more
        return found


def item(plan: Experiment, place: str, workloads: Sequence[str]) -> Item:
    """The item of a paper."""
    return Item(
        ID, "Every choice that the paper leaves open, and the set-up nearest to all its numbers", place,
        tuple(workloads), lambda stand: measure(plan, stand), lambda facts: judge(plan, facts, len(workloads)),
    )  # fmt: skip


def measure(plan: Experiment, stand: Stand) -> Facts:
    """The figures of one workload under every set-up."""
    wanted: dict[str, Mapping[str, Value] | None] = {name: plan.sets(stand, row) for name, row in plan.rows_of()}
    for factor in plan.alone:
        wanted |= {f"{factor.name} {level}": plan.sets_alone(stand, factor, level) for level in factor.levels}
    wanted |= {SETUP: stand.setup, PRESETS: {}}
    return {name: None if sets is None else _figures_of(plan, stand, sets) for name, sets in wanted.items()}


def _figures_of(plan: Experiment, stand: Stand, sets: Mapping[str, Value]) -> Facts | None:
    """None for a drive that cannot be had, as one whose planes are too small to collect."""
    try:
        return plan.measure(stand, sets)
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
    def agree(self) -> int:
        """Numbers that agree."""
        return sum(one.verdict is Agreement.AGREES for one in self.claims)

    @property
    def known(self) -> int:
        """Numbers that were measured."""
        return sum(one.measured is not None for one in self.claims)


def tried(plan: Experiment, facts: Mapping[str, Facts]) -> dict[str, SetupTrial]:
    """All set-ups that were measured on every workload of the run, by their names."""
    rows = dict(plan.rows_of())
    found = {}
    for name in next(iter(facts.values()), {}):
        of = {workload: found_[name] for workload, found_ in facts.items()}
        if None in of.values():
            continue
        figures = [headline.value(of) for headline in plan.headlines]
        found[name] = SetupTrial(name, rows.get(name, {}), plan.claims(of), figures)
    return found


def judge(plan: Experiment, facts: Mapping[str, Facts], workloads: int) -> Outcome:
    """The headlines at the nearest set-up; what moves them; the nearest of all, beside the set-up and the presets."""
    every = tried(plan, facts)
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
    tables = [
        *([_effects_table(plan, moved)] if moved else []),
        _nearest(plan, every, ranked),
        *(_alone(plan, factor, every) for factor in plan.alone),
    ]
    return Outcome(claims, _chart(plan, every, best), _notes(plan, every, best, facts, workloads), tables)


def _effects(plan: Experiment, every: Mapping[str, SetupTrial]) -> dict[str, Effects]:
    """Main effects on each headline and on the distance, over the rows that were measured on every workload."""
    rows = [(row, every.get(f"screen {at}")) for at, row in enumerate(plan.screen)]
    known = [(row, one) for row, one in rows if one is not None]
    factors = [one for one in plan.factors if len({row[one.name] for row, _ in known}) == len(one.levels)]
    titles = [headline.title for headline in plan.headlines]
    columns = {
        title: [one.figures[place] for _, one in known] for place, title in enumerate(titles)
    } | {"distance": [one.distance for _, one in known]}  # fmt: skip
    found = {title: effects(factors, [row for row, _ in known], values) for title, values in columns.items()}
    return {title: one for title, one in found.items() if one is not None}


def _effects_table(plan: Experiment, moved: Mapping[str, Effects]) -> dict[str, Any]:
    """A row a choice, those first that move the distance most; in each cell the range, and the level on top."""
    order = moved.get("distance", next(iter(moved.values()))).strongest()
    levels = {factor.name: ", ".join(factor.levels) for factor in plan.factors}
    rows = [[name, levels[name], *(_range(one, name) for one in moved.values())] for name in order]
    residual = [f"{one.residual:.2g}" if one.residual is not None else NOTHING for one in moved.values()]
    return {
        "title": "What each choice moves: highest level less lowest, and which is the highest",
        "header": ["choice", "levels", *moved],
        "rows": [*rows, ["left unexplained (standard deviation)", "", *residual]],
    }


def _range(found: Effects, factor: str) -> str:
    levels = found.of[factor]
    return f"{found.range_of(factor):.2g} ({max(levels, key=lambda level: levels[level])})"


def _nearest(plan: Experiment, every: Mapping[str, SetupTrial], ranked: Sequence[SetupTrial]) -> dict[str, Any]:
    """The nearest set-ups, the paper's, and the presets."""
    rows = [(str(place), one) for place, one in enumerate(ranked[:SHOWN], start=1)]
    rows += [("", every[name]) for name in (SETUP, PRESETS) if name in every]
    titles = [headline.title for headline in plan.headlines]
    return {
        "title": "Set-ups nearest to all published numbers at once",
        "header": ["rank", "set-up", *titles, "distance", "numbers that agree"],
        "rows": [[rank, _described(plan, one), *_figures(one)] for rank, one in rows],
    }


def _described(plan: Experiment, one: SetupTrial) -> str:
    """`order PDWC, units chip`: changes against the presets; the set-up with one level, by its name."""
    if not one.row:
        return one.name
    otherwise = [
        f"{factor.name} {level}" for factor in plan.factors if (level := one.row[factor.name]) != factor.default
    ]  # fmt: skip
    return ", ".join(otherwise) or PRESETS


def _alone(plan: Experiment, factor: Factor, every: Mapping[str, SetupTrial]) -> dict[str, Any]:
    rows = [[level, *_figures(every[name])] for level in factor.levels if (name := f"{factor.name} {level}") in every]
    titles = [headline.title for headline in plan.headlines]
    return {
        "title": f"{factor.name}, everything else as it is",
        "header": [factor.name, *titles, "distance", "numbers that agree"],
        "rows": rows,
    }


def _figures(one: SetupTrial) -> list[str]:
    figures = [NOTHING if value is None else f"{round(value, 1) + 0.0:.1f}" for value in one.figures]
    return [*figures, f"{one.distance:.2f}" if one.distance is not None else NOTHING, f"{one.agree} of {one.known}"]


def _notes(
    plan: Experiment, every: Mapping[str, SetupTrial], best: SetupTrial, facts: Mapping[str, Facts], workloads: int
) -> list[str]:
    all_of = next(iter(facts.values()))
    notes = [
        f"{len(all_of)} set-ups were tried, each on all {len(facts)} workloads of this run"
        + (f" (the paper has {workloads})" if len(facts) < workloads else "")
        + f"; {len(all_of) - len(every)} of them cannot be compared: a drive falls behind, or cannot be made so small. "
        "The best of many is better than it deserves: it shows that such a set-up exists, not "
        "that it was the authors'.",
        f"Distance: the mean over all published numbers of how many tolerances each is off, {FARTHEST:g} at most.",
    ]
    nearest = _described(plan, best)
    notes.append(f"The nearest is off by {best.distance:.2f}, {best.agree} of {best.known} agree: {nearest}.")
    for name in (SETUP, PRESETS):
        if name in every and every[name].distance is not None:
            one = every[name]
            notes.append(f"{name[0].upper()}{name[1:]}: off by {one.distance:.2f}, {one.agree} of {one.known} agree.")
    return notes


def _chart(plan: Experiment, every: Mapping[str, SetupTrial], best: SetupTrial) -> dict[str, Any]:
    """The headlines as published, at the nearest set-up, under the paper's, and under the presets."""
    shown = {"the nearest": best} | {name: every[name] for name in (SETUP, PRESETS) if name in every}
    as_published = [headline.published for headline in plan.headlines]
    series: list[Series] = [
        (name, list(one.figures), as_published if name == "the nearest" else [None] * len(as_published))
        for name, one in shown.items()
    ]
    return chart(bars([headline.group or headline.title for headline in plan.headlines], series, "%"))
