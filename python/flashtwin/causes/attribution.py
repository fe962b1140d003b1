"""From replays with one thing ideal at a time to causes, to pairs that share the blame, and to steps ranked.

cost(k) = T - T(k ideal), T being the goal's figure. Of two causes of which one is a part of the other (erases of
garbage collection) both costs are large; the narrower one is named first when it explains half of the wider one's
cost: it says more, and less has to be changed for it. What flash cells take comes last: nobody can change it.

A pair's interaction is cost(ab) - cost(a) - cost(b) (Fields et al., "Interaction cost", 2003): above 0 each hides
behind the other, below 0 either of them would do.

Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flashtwin.causes.case import Case, Sets, at
from flashtwin.causes.figures import Figures, Goal
from flashtwin.causes.knobs import BY_NAME, KNOBS, Knob
from flashtwin.causes.remedies import Step

# The thresholds are decisions of this project; no paper has them.
#: A narrower cause is named before the wider one that it is a part of from this share of the wider one's cost on.
NARROWER_SHARE = 0.5
#: A cause or a step that changes the figure by less than this, in percent, is left out of what is told.
TOLD_PERCENT = 1.0
#: From this share of the figure on, in percent, a cause that can be removed holds a workload back: on an idle drive of
#: today transfers, or hashing, take about a tenth. Where much of the figure is waiting, `NAMED_PERCENT` is enough.
BLAMED_PERCENT = 15.0
NAMED_PERCENT = 5.0
#: A workload without such a cause is held back by nothing when waiting is less than this share of the figure.
WAITING_SHARE = 0.2
#: A smaller step is enough when it brings this share of what the best step brings, and leaves a figure that is at most
#: `ENOUGH_PERCENT` longer than the shortest.
ENOUGH_SHARE = 0.9
ENOUGH_PERCENT = 20.0
#: A pair is replayed, and its interaction told, from this share of the figure on, in percent.
PAIR_PERCENT = 5.0
#: Causes whose pairs are looked at.
PAIRED = 3

NOTHING = "nothing"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class WhatIf:
    """A replay with some keys set otherwise: the goal's figure as it is and with them, in ns."""

    knob: Knob
    #: As a sentence says what is otherwise: `hashing at no cost`, `16 hash lanes for 1`.
    words: str
    sets: Sets
    before_ns: float
    after_ns: float

    @property
    def cost_ns(self) -> float:
        """T - T(otherwise); below 0 where the figure grows."""
        return self.before_ns - self.after_ns

    @property
    def percent(self) -> float:
        """The same as a share of the figure."""
        return self.cost_ns / self.before_ns * 100.0 if self.before_ns > 0 else 0.0


@dataclass(frozen=True)
class Cause(WhatIf):
    """One thing ideal: what the figure falls by is what it costs."""

    #: Whether the ideal was reached: a drive meant never to collect did not.
    reached: bool = True


@dataclass(frozen=True)
class Taken(WhatIf):
    """A step that can be taken, and what it took beside the run as it is."""

    #: What no replay counts.
    takes: str = ""
    programs: int = 0
    erases: int = 0
    ram_bytes: int = 0
    #: Its place among the steps as they are tried, small ones first.
    place: int = 0


@dataclass(frozen=True)
class Pair:
    """Two causes that are not part of one another, and what they cost together, in ns."""

    first: Cause
    second: Cause
    sets: Sets
    cost_ns: float

    @property
    def interaction_ns(self) -> float:
        """cost(ab) - cost(a) - cost(b)."""
        return self.cost_ns - self.first.cost_ns - self.second.cost_ns

    @property
    def percent(self) -> float:
        """The interaction as a share of the figure."""
        return self.interaction_ns / self.first.before_ns * 100.0 if self.first.before_ns > 0 else 0.0


def ordered(causes: Iterable[Cause]) -> list[Cause]:
    """The causes that cost something, the first to be named first."""
    real = [cause for cause in causes if cause.percent >= TOLD_PERCENT]
    cost = {cause.knob.name: cause.cost_ns for cause in real}

    def weight(cause: Cause) -> tuple[bool, float, int, float, int]:
        mine = cost[cause.knob.name]
        wider = [cost[name] for name in cause.knob.within & cost.keys() if mine >= NARROWER_SHARE * cost[name]]
        # Among those that explain the same wider one: the narrowest, then the dearest.
        return cause.knob.is_cells, -max([mine, *wider]), -len(cause.knob.within), -mine, KNOBS.index(cause.knob)

    return sorted(real, key=weight)


def bottleneck(causes: Sequence[Cause], base: Figures, goal: Goal) -> str:
    """The name of what holds the workload back; `nothing` where it takes what flash cells and transfers take."""
    waits = base.waited_share(goal) >= WAITING_SHARE
    first = next((cause for cause in causes if not cause.knob.is_cells), None)
    if first is not None and first.percent >= (NAMED_PERCENT if waits else BLAMED_PERCENT):
        return first.knob.name
    if not causes or not waits:
        return NOTHING
    # Much waiting without a single cause: the largest, though it be the cells' own.
    return max(causes, key=lambda cause: cause.cost_ns).knob.name


def to_pair(causes: Sequence[Cause]) -> list[tuple[Cause, Cause]]:
    """Pairs of the first causes of which neither is a part of the other."""
    large = [cause for cause in causes if cause.percent >= PAIR_PERCENT and not cause.knob.is_cells][:PAIRED]
    return [
        (one, other)
        for one, other in itertools.combinations(large, 2)
        if one.knob.name not in other.knob.within and other.knob.name not in one.knob.within
    ]


def both(one: Cause, other: Cause) -> Sets:
    """The keys of two ideals; where they set the same, the first one's."""
    return {**other.sets, **one.sets}


def ranked(steps: Iterable[Taken]) -> list[Taken]:
    """Steps by what they bring, the most first; of two that bring the same, the one that costs less."""
    return sorted(steps, key=lambda taken: (taken.after_ns, taken.programs, taken.ram_bytes, sorted(taken.sets)))


def first_step(steps: Sequence[Taken], name: str) -> Taken | None:
    """What to do first: of the steps against a cause the smallest that is enough, else what brings most at all."""
    helping = [taken for taken in steps if taken.percent >= TOLD_PERCENT]
    against = [taken for taken in helping if taken.knob.name == name] or helping[:1]
    if not against:
        return None
    enough = ENOUGH_SHARE * max(taken.percent for taken in against)
    longest = (1 + ENOUGH_PERCENT / 100.0) * min(taken.after_ns for taken in against)
    small_first = sorted(against, key=lambda taken: taken.place)
    return next(taken for taken in small_first if taken.percent >= enough and taken.after_ns <= longest)


def is_reached(name: str, ideal: Figures) -> bool:
    """Whether an ideal came about: no sizes guarantee that no plane of a drive fills up."""
    return not (ideal.erases or ideal.gc_programs) if name == "gc" else True


def steps_of(causes: Sequence[Cause], case: Case) -> list[tuple[Knob, Step]]:
    """What can be done about the causes, in their order; the same keys once, and none that is so already."""
    found: list[tuple[Knob, Step]] = []
    seen: set[tuple[tuple[str, object], ...]] = set()
    for cause in causes:
        for step in BY_NAME[cause.knob.name].steps(case):
            key = tuple(sorted(step.sets.items()))
            if key not in seen and any(at(case.config, name) != value for name, value in step.sets.items()):
                seen.add(key)
                found.append((cause.knob, step))
    return found
