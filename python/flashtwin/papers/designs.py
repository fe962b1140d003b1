"""A paper under other choices of the engine: every choice declared once, its headlines, and one designed experiment.

Papers leave choices open. `sensitivity` makes one at a time otherwise. Here a balanced design screens them all, then
the few that matter are replayed in all combinations. The set-ups are ranked by their distance to all published numbers,
over all workloads together: nothing is chosen for one.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from flashtwin.errors import FlashtwinError
from flashtwin.experiments import Effects, Factor, Row, balanced, effects, levels, sets_of
from flashtwin.papers.bench import ForSystem, Stand
from flashtwin.papers.claims import Agreement, Claim, number
from flashtwin.papers.facts import Fact, measured
from flashtwin.papers.model import Item, Needs, Outcome, Overall, Quantities, all_quantities, claims_of
from flashtwin.papers.panels import ByWorkload, Display, Facts, Series, bars, chart, table
from flashtwin.settings import Value

#: Cap of a number's error, in tolerances: no single number decides.
FARTHEST = 5.0
SHOWN = 5
NOTHING = "–"
#: A recipe's key, and more pages than an extent has.
RENEWED, WHOLE = "reads.renewed_pages", 4096
#: Levels that are as the paper's set-up or the presets have them.
SETUP, PRESETS = "the set-up of this page", "the presets"

#: Every choice that several papers leave open, with its levels: the keys that each sets.
CHOICES: dict[str, Mapping[str, Mapping[str, Value]]] = {
    "rate": {f"{speed:g} times": {"replay.speed": speed} for speed in (0.25, 0.5, 1.0, 2.0, 4.0, 10.0)},
    "concurrency": levels("engine.concurrency", "die", "chip", "plane"),
    "load": levels("engine.load", "queue-length", "reads-waiting", "expected-wait"),
    "buffer reads": {"on": {"engine.buffer_reads": True}, "off": {"engine.buffer_reads": False}},
    "preload": levels("replay.preload", "first-reads", "footprint", "none"),
    "write completes": levels("engine.write_completes", "programmed", "transferred", "hashed", "buffered"),
    "hashing": {
        "1 lane": {"engine.hash_lanes": 1}, "4 lanes": {"engine.hash_lanes": 4}, "16 lanes": {"engine.hash_lanes": 16},
        "a pipeline": {"engine.hash_lanes": 0}, "0 µs": {"engine.hash_us": 0},
    },
    "allocation": levels("ftl.allocation.policy", "static", "dynamic", "least-loaded", "hipa"),
    "order": {
        **levels("ftl.allocation.order", "CWDP", "WDPC", "DPWC", "PDWC"),
        "PDWC by 4": {"ftl.allocation.order": "PDWC", "ftl.allocation.stripe_pages": 4},
    },
    # Pages that a place takes before the next place's turn.
    "stripe": levels("ftl.allocation.stripe_pages", 1, 2, 4),
    "merging": levels("engine.merge_reads", "none", "same-page"),
    "idle rule": {f"{us // 1000} ms": {"engine.idle_us": us} for us in (0, 1_000, 10_000)},
    # A cache has a rule of its own for when a write is complete.
    "write cache": {
        f"{pages:,} pages": {"engine.write_completes": "programmed", "engine.write_cache_pages": pages}
        for pages in (64, 1024, 8192)
    },
    "suspension": levels("engine.suspend", "none", "program-erase"),
    "ties": levels("ftl.redirection.ties", "home", "lowest", "next-in-turn", "random"),
    "zero page": levels("ftl.zero_page", "stored", "mapped"),
    # A choice of the recipes: what is new in the reads of a day.
    "renewal": {
        "extents": {}, "extents, in place": {RENEWED: WHOLE}, "8 pages": {RENEWED: 8}, "pages": {RENEWED: 1},
    },
    # Keys of replication that the RR-SSD paper leaves open.
    "copies": {
        "one a read": {},
        "0.25 a read": {"ftl.replication.copies_per_read": 0.25},
        "at most 2": {"ftl.replication.most_copies": 2},
        "at most 4": {"ftl.replication.most_copies": 4},
        "read twice": {"ftl.replication.least_popularity": 2},
        "Pop a sum": {"ftl.replication.score_popularity": "sum"},
    },
}  # fmt: skip


def choice(name: str, *chosen: str) -> Factor:
    """These levels of a choice, all where none is named. In a designed experiment the first is the presets'."""
    return Factor(name, {level: CHOICES[name][level] for level in chosen or CHOICES[name]})


def write_completes(*rules: str, caches: Sequence[str]) -> Factor:
    """When a write is complete: by a rule, or in a cache of so many pages."""
    in_caches = {f"in a cache of {size}": sets for size, sets in choice("write cache", *caches).levels.items()}
    return Factor("write completes", {**choice("write completes", *rules).levels, **in_caches})


@dataclass(frozen=True)
class Headline(Overall):
    """A figure that a paper is remembered for, in percent: that of one workload, or the mean of several."""

    effect: bool = True
    needs: Needs = "any"
    #: Where it stands on the chart: the panel, and a shorter name there.
    panel: str = ""
    group: str = ""

    def under(self, facts: ByWorkload, quantity: str) -> Claim:
        return number(self.title, quantity, self.goal, self.value(facts), effect=self.effect)

    @property
    def goal(self) -> float:
        """The published number."""
        return cast("float", self.published)


def measure_under(stand: Stand, sets: Mapping[str, Value], for_system: ForSystem, facts: Iterable[Fact]) -> Facts:
    """The facts of one workload where all systems have these keys."""
    sets = dict(sets)
    pages = sets.pop(RENEWED, None)
    of = stand.again(renewed=int(pages)) if pages else stand
    if of is None:
        return dict.fromkeys(facts)
    with of.otherwise(sets, for_system):
        return measured(dict.fromkeys(facts), of)


def plain(value: float) -> str:
    # Adding 0 makes of -0.0 a 0.
    return f"{round(value, 1) + 0.0:.1f}"


@dataclass(frozen=True)
class SetupTrial:
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
    def off(self) -> str:
        return f"off by {self.distance or 0.0:.2f}, {self.agree} agree"

    @property
    def cells(self) -> list[str]:
        figures = [NOTHING if value is None else plain(value) for value in self.figures]
        return [*figures, f"{self.distance:.2f}" if self.distance is not None else NOTHING, self.agree]

    def described(self, factors: Sequence[Factor]) -> str:
        """`order PDWC, concurrency chip`: changes against the presets; the set-up with one level, by its name."""
        if not self.row:
            return self.name
        changed = [f"{one.name} {self.row[one.name]}" for one in factors if self.row[one.name] != one.default]
        return ", ".join(changed) or PRESETS


@dataclass(frozen=True, kw_only=True)
class Experiment(Item):
    """The open choices of a paper, and its published numbers.

    Example: `rows=48, few={"concurrency": ("chip", "die")}` replays 48 rows of the design, then both with everything
    else as `fixed` says.
    """

    id: str = "set-ups"
    title: str = "Every choice that the paper leaves open, and the set-up nearest to all its numbers"
    ours: bool = True
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
    fixed: Row = field(default_factory=dict)
    #: Whether the drives of a set-up keep up; figures of drives that do not mean nothing.
    keep_up: Fact
    #: Choices with more levels than a design takes: each level by itself, under the paper's set-up.
    alone: Sequence[Factor] = ()
    #: Further keys of a level by factor and level, which depend on the workload; None where it is too small for that.
    worked: Mapping[tuple[str, str], Callable[[Stand], Mapping[str, Value] | None]] = field(default_factory=dict)
    for_system: ForSystem = lambda _, sets: sets

    @cached_property
    def screen(self) -> list[Row]:
        return list(balanced(self.factors, self.rows))

    @cached_property
    def named_rows(self) -> dict[str, Row]:
        """Every row of the design, then all combinations of the few, by the name of its facts."""
        fixed = {factor.name: factor.default for factor in self.factors} | dict(self.fixed)
        full = [dict(zip(self.few, chosen, strict=True)) for chosen in itertools.product(*self.few.values())]
        rows: dict[str, Row] = {f"screen {at}": row for at, row in enumerate(self.screen)}
        return rows | {f"full {at}": {**fixed, **row} for at, row in enumerate(full)}

    def all_sets(self, stand: Stand) -> Iterator[tuple[str, Mapping[str, Value] | None]]:
        """The keys of every set-up on one workload, by name; None where a level cannot be had on it."""
        for name, row in self.named_rows.items():
            yield name, self._with_worked(stand, sets_of(self.factors, row), row)
        for factor in self.alone:
            for level, sets in factor.levels.items():
                yield f"{factor.name} {level}", self._with_worked(stand, sets, {factor.name: level})
        yield SETUP, {}
        yield PRESETS, sets_of(self.factors, {})

    def _with_worked(self, stand: Stand, sets: Mapping[str, Value], row: Row) -> Mapping[str, Value] | None:
        found = dict(sets)
        for more in (worked(stand) for (factor, level), worked in self.worked.items() if row.get(factor) == level):
            if more is None:
                return None
            found |= more
        return found

    def figures(self, stand: Stand, sets: Mapping[str, Value]) -> Facts | None:
        """None for a drive that falls behind, or cannot be had, as one whose planes are too small to collect."""
        wanted = [one.fact for one in self.headlines if stand.name in one.of]
        wanted += [
            one.fact for one in all_quantities(self.quantities)
            if not isinstance(one.published, Mapping) or stand.name in one.published
        ]  # fmt: skip
        try:
            if measure_under(stand, sets, self.for_system, [self.keep_up])[self.keep_up]:
                return measure_under(stand, sets, self.for_system, wanted)
        except FlashtwinError:
            pass
        return None

    def measure(self, stand: Stand) -> Facts:
        return {name: None if sets is None else self.figures(stand, sets) for name, sets in self.all_sets(stand)}

    def tried(self, facts: ByWorkload) -> dict[str, SetupTrial]:
        """All set-ups that were measured on every workload of the run, by their names."""
        found = {}
        for name in next(iter(facts.values()), {}):
            of = {workload: measured[name] for workload, measured in facts.items()}
            if None not in of.values():
                figures = [headline.value(of) for headline in self.headlines]
                row = self.named_rows.get(name, {})
                found[name] = SetupTrial(name, row, claims_of(self.quantities, of, self.workloads), figures)
        return found

    def judge(self, facts: ByWorkload) -> Outcome:
        """The headlines at the nearest set-up, what moves them, and the nearest beside the set-up and the presets."""
        every = self.tried(facts)
        known = [one for one in every.values() if one.distance is not None]
        ranked = sorted(known, key=lambda one: (one.distance or 0.0, one.name))
        at_best = {name: found[ranked[0].name] for name, found in facts.items()} if ranked else {}
        claims = [replace(one.under(at_best, one.title), subject="nearest set-up") for one in self.headlines]
        if not ranked:
            return Outcome(claims)
        others = [every[name] for name in (SETUP, PRESETS) if name in every]
        series: list[Series] = [("the nearest", ranked[0].figures, [one.goal for one in self.headlines])]
        series += [(one.name, one.figures, [None] * len(self.headlines)) for one in others]
        panel = bars([headline.group or headline.title for headline in self.headlines], series, "%")
        notes = [
            *self._notes(facts, len(every)),
            f"The nearest is {ranked[0].off}: {ranked[0].described(self.factors)}.",
            *(f"{one.name[0].upper()}{one.name[1:]}: {one.off}." for one in others if one.distance is not None),
        ]
        return Outcome(claims, chart(panel), notes, self._tables(every, ranked, others))

    def _tables(
        self, every: Mapping[str, SetupTrial], ranked: Sequence[SetupTrial], others: Sequence[SetupTrial]
    ) -> list[Display]:
        titles = [*(headline.title for headline in self.headlines), "distance", "numbers that agree"]
        nearest = [[str(at), one.described(self.factors), *one.cells] for at, one in enumerate(ranked[:SHOWN], start=1)]
        nearest += [["", one.name, *one.cells] for one in others]
        moved = self._effects(every)
        return [
            *([self._effects_table(moved)] if moved else []),
            table("Set-ups nearest to all published numbers at once", ["rank", "set-up", *titles], nearest),
            *(
                table(f"{one.name}, everything else as it is", [one.name, *titles], [
                    [level, *every[name].cells] for level in one.levels if (name := f"{one.name} {level}") in every
                ])
                for one in self.alone
            ),
        ]  # fmt: skip

    def _notes(self, facts: ByWorkload, comparable: int) -> list[str]:
        all_of = next(iter(facts.values()))
        all_of_paper = len(self.workloads)
        of_paper = f" (the paper has {all_of_paper})" if len(facts) < all_of_paper else ""
        return [
            f"{len(all_of)} set-ups were tried, each on all {len(facts)} workloads of this run{of_paper}; "
            f"{len(all_of) - comparable} of them cannot be compared: a drive falls behind, or cannot be made so small. "
            "The best of many is better than it deserves: it shows that such a set-up exists, not "
            "that it was the authors'.",
            f"Distance: the mean over all published numbers of how many tolerances each is off, {FARTHEST:g} at most.",
        ]

    def _effects(self, every: Mapping[str, SetupTrial]) -> dict[str, Effects]:
        """Main effects on each headline and on the distance, over the rows that were measured on every workload."""
        known = [every[name] for at in range(len(self.screen)) if (name := f"screen {at}") in every]
        rows = [one.row for one in known]
        factors = [one for one in self.factors if len({row[one.name] for row in rows}) == len(one.levels)]
        columns = {one.title: [trial.figures[place] for trial in known] for place, one in enumerate(self.headlines)}
        columns["distance"] = [trial.distance for trial in known]
        found = {title: effects(factors, rows, values) for title, values in columns.items()}
        return {title: one for title, one in found.items() if one is not None}

    def _effects_table(self, moved: Mapping[str, Effects]) -> Display:
        """A row a choice, those first that move the distance most; in each cell the range, and the level on top."""

        def cell(found: Effects, factor: str) -> str:
            of = found.of[factor]
            return f"{found.range_of(factor):.2g} ({max(of, key=lambda level: of[level])})"

        names = {factor.name: ", ".join(factor.levels) for factor in self.factors}
        order = moved.get("distance", next(iter(moved.values()))).strongest()
        rows = [[name, names[name], *(cell(one, name) for one in moved.values())] for name in order]
        residual = [f"{one.residual:.2g}" if one.residual is not None else NOTHING for one in moved.values()]
        return table(
            "What each choice moves: highest level less lowest, and which is the highest", ["choice", "levels", *moved],
            [*rows, ["left unexplained (standard deviation)", "", *residual]],
        )  # fmt: skip
