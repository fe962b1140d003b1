"""The choice among candidates, by margin and cost.

The fastest has the best figure of the goal. The choice is the cheapest whose loss against the fastest is at most the
margin, by the upper end of its interval. A cheaper candidate whose interval contains 0 and reaches beyond the margin is
not told apart. Nobody is preferred for being the baseline, nor for being named first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.judgement.costs import Prices, rounded
from flashtwin.judgement.goals import Goal, goal_of
from flashtwin.judgement.losses import Loss, loss_of
from flashtwin.results.reading import SavedRun, StudyFolder

#: The share of the figure that is given up for a cheaper candidate, unless the user says otherwise. Ours.
WORTH = 0.05
#: Least requests of the goal's kind for a choice; of a percentile, least requests beyond it. Ours.
LEAST, BEYOND = 100, 10


@dataclass(frozen=True, eq=False)
class Candidate:
    """A system with a set of controller changes, on the ground of all others."""

    run: SavedRun
    system: str
    price: float = 0.0
    #: The changes in words, and by their names in the catalogue.
    settings: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    sets: Mapping[str, Any] = field(default_factory=dict)
    #: The goal's figure of the system as configured; None where it is that, or was not replayed so.
    as_configured: float | None = None
    command: str = ""
    #: Other candidates whose runs are equal to this one's.
    also: tuple[str, ...] = ()

    @cached_property
    def late(self) -> float | None:
        """How many times as long as its trace it took; None where it kept up."""
        return facts.late_by(self.run.numbers)

    @property
    def lanes(self) -> int:
        """Lanes of its hash unit; 0 where it hashes nothing."""
        return int(self.run.setting("engine.hash_lanes") or 0) if self.run.count("page_ops.pages_hashed") else 0

    @property
    def how(self) -> str:
        """Its settings, to follow its name: `with 16 hash lanes and static placement`, `as configured`."""
        return f"with {units.names_plain(list(self.settings))}" if self.settings else "as configured"

    @property
    def words(self) -> str:
        """Its name and settings."""
        also = f" (also {units.names(list(self.also))})" if self.also else ""
        return f"`{self.system}`{also} {self.how}"


@dataclass(frozen=True, eq=False)
class Decision:
    """The candidates of a table, the best first, and which of them to choose."""

    goal: Goal
    worth: float
    #: Equal runs are one.
    candidates: tuple[Candidate, ...]
    baseline: Candidate
    #: Whether settings were searched; otherwise all are as configured.
    is_searched: bool

    @property
    def fastest(self) -> Candidate:
        """The best figure."""
        return self.candidates[0]

    @property
    def too_few(self) -> str:
        """Why there are too few requests to choose by; empty where there are enough."""
        return too_few(self.goal, self.fastest.run.numbers)

    @cached_property
    def choice(self) -> Candidate | None:
        """The cheapest whose loss is within the margin; None where too little is known."""
        if self.too_few:
            return None
        if self.fastest.late is not None:
            return self.fastest
        within = (candidate for candidate in self.candidates if self.loss(candidate).at_most <= self.worth)
        return min(within, key=_price)

    @cached_property
    def alike(self) -> list[Candidate]:
        """Cheaper candidates that are not told apart from the fastest."""
        if self.choice is None:
            return []
        cheaper = (candidate for candidate in self.candidates if _price(candidate) < _price(self.choice))
        return [candidate for candidate in cheaper if self.loss(candidate).is_open(self.worth)]

    def value(self, candidate: Candidate) -> float:
        """The goal's figure of a candidate."""
        return value_of(candidate, self.goal) or 0.0

    def loss(self, candidate: Candidate, against: Candidate | None = None) -> Loss:
        """By how much a candidate's figure is worse than another's, the fastest's unless said otherwise."""
        other = self.fastest if against is None else against
        if candidate is other:
            return Loss(0.0)
        if candidate.late is not None and other.late is None:
            return Loss(math.inf)
        return loss_of(other.run, candidate.run, self.goal)

    def in_place_of(self, goal: Goal) -> Decision:
        """The same candidates by another goal."""
        return replace(self, goal=goal, candidates=_ranked(self.candidates, goal))


def too_few(goal: Goal, numbers: Mapping[str, Any]) -> str:
    """Why a trace has too few requests to choose by; empty where it has enough."""
    count, least = int(numbers.get(f"response.{goal.kind}.count") or 0), LEAST
    if goal.statistic.startswith("p"):
        beyond = 100.0 - float(goal.statistic[1:].replace("_", "."))
        least = max(LEAST, math.ceil(round(BEYOND * 100.0 / beyond, 6)))
    if count >= least:
        return ""
    noun = {"read": "read", "write": "write", "flush": "flush command"}.get(goal.kind, "request")
    return f"{units.plural(count, noun)}, fewer than the {least:,} needed for {goal.words}"


def value_of(candidate: Candidate, goal: Goal) -> float | None:
    """The goal's figure of a candidate; None where it has none."""
    return goal.value(candidate.run.numbers)


def _price(candidate: Candidate) -> tuple[float, int, str]:
    return rounded(candidate.price), len(candidate.settings), candidate.system


def decide(study: StudyFolder) -> Decision | None:
    """The decision of a study, from its candidates; where nobody searched, from its runs as configured.

    None where no run that could be built has the goal's figure.
    """
    return decide_among(study.every_candidate, study.candidates)


def decide_among(study: StudyFolder, search: Mapping[str, Any]) -> Decision | None:
    """The decision among runs; `search` says how they were found, and is empty where they are as configured."""
    runs = {run.name: run for run in study.runs if not run.is_ideal}
    goal = goal_of(str(search["goal"])) if search else _usual_goal(study)
    candidates = [Candidate(run, run.label) for run in runs.values()]
    if search:
        candidates = [
            Candidate(
                runs[row["name"]], row["system"], 0.0, tuple(row["settings"]), tuple(row["changes"]), row["sets"],
                row["as_configured"], row["command"], tuple(row["also"]),
            )
            for row in search["candidates"] if row["name"] in runs
        ]  # fmt: skip
    candidates = [candidate for candidate in candidates if value_of(candidate, goal) is not None]
    if not candidates:
        return None
    prices = Prices(**search["prices"]) if search else Prices.read()
    ranked = _ranked(_merged(_priced(candidates, prices, search.get("capacity_bytes"))), goal)
    name = str(search["baseline"]) if search else study.baseline.label
    base = next((candidate for candidate in ranked if name in (candidate.system, *candidate.also)), ranked[0])
    return Decision(goal, float(search["worth"]) if search else WORTH, ranked, base, bool(search))


def _usual_goal(study: StudyFolder) -> Goal:
    return goal_of("time" if study.baseline.setting("replay.queue_depth") else "all.mean")


def _priced(candidates: Sequence[Candidate], prices: Prices, capacity_bytes: float | None) -> list[Candidate]:
    """The candidates with their prices; runs of another version, which lack keys, have none."""
    most = max(candidate.run.count("pages_programmed") for candidate in candidates)
    priced = []
    for candidate in candidates:
        try:
            price = prices.of(candidate.run.numbers, capacity_bytes or candidate.run.raw_bytes, most)
        except KeyError:
            price = candidate.run.count("pages_programmed")
        priced.append(replace(candidate, price=price))
    return priced


def _merged(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Equal runs of several systems as one candidate, the cheapest of them."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(repr(facts.happened(candidate.run.numbers)), []).append(candidate)
    merged = []
    for equal in groups.values():
        first, *others = sorted(equal, key=_price)
        also = {*first.also, *(name for candidate in others for name in (candidate.system, *candidate.also))}
        merged.append(replace(first, also=tuple(sorted(also - {first.system}))))
    return merged


def _ranked(candidates: Sequence[Candidate], goal: Goal) -> tuple[Candidate, ...]:
    """The best first; one that falls behind its trace after all that keep up, by how much it does."""

    def rank(candidate: Candidate) -> tuple[float, float, tuple[float, int, str]]:
        return candidate.late or 0.0, goal.cost(value_of(candidate, goal) or 0.0), _price(candidate)

    return tuple(sorted((candidate for candidate in candidates if value_of(candidate, goal) is not None), key=rank))


def given_up(candidate: Candidate, other: Candidate) -> str:
    """What a candidate saves against another: `70 % less flash written, 12 fewer hash lanes`; empty for nothing."""
    parts = []
    programs = facts.change_of(candidate.run, other.run, "pages_programmed")
    if programs is not None and facts.gains(programs):
        parts.append(f"{units.percent(-programs)} less flash written")
    lanes = other.lanes - candidate.lanes
    parts += [units.plural(lanes, "fewer hash lane")] if lanes > 0 else []
    less = other.run.count("ram.total_bytes") - candidate.run.count("ram.total_bytes")
    parts += [f"{units.size(less)} less RAM"] if less > 0 else []
    simpler = [text for text in other.settings if text not in candidate.settings]
    return ", ".join(parts) or (f"doing without {units.names_plain(simpler)}" if simpler else "a lower price")
