"""The settings of one system to choose among, in few replays: the fastest, and the cheapest that is nearly as fast.

A search begins as configured, and with what mostly helps, with another placement and write cache and without. From the
best so far it changes one setting at a time, until no change is better. Then it takes settings away within the margin.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from flashtwin.causes.case import Search, key_of
from flashtwin.judgement import facts
from flashtwin.judgement.catalogue import BEGINS, BESIDE, CHANGES, CONTROLLER, LAST, Change, Level, Sets
from flashtwin.judgement.costs import rounded
from flashtwin.judgement.goals import Figures, Goal
from flashtwin.replays.presets import System
from flashtwin.results.ground import LABELS
from flashtwin.results.keys import mattering, matters
from flashtwin.results.trees import leaves, literal

#: Settings shorten waits alone: there is no more to gain where these are a smaller share. Ours.
EQUAL = 0.01
#: Larger than any figure: a drive that cannot keep up is worse than any that can.
_NEVER = 1e18
#: Changes that make a drive another one, for better or worse: a search begins with them and without.
_OTHERS = ("placement", "write cache")

#: Of each axis the number of its level, 0 for none.
Point = tuple[int, ...]


@dataclass
class SettingsSearch(Search):
    """Chooses the settings to replay next, and keeps the best of those replayed."""

    #: What a system with these figures costs.
    price: Callable[[System, Figures], float] = lambda *_: 0.0
    #: Whether more than the beginning is asked for, and whether changes that rarely matter are tried.
    goes_on: bool = False
    tunes: bool = False
    #: The largest cost that is good enough for a cheaper candidate; 0 as long as the fastest is looked for.
    limit: float = 0.0
    _asked: dict[Point, None] = field(default_factory=dict)
    _prices: dict[Point, float] = field(default_factory=dict)

    @cached_property
    def axes(self) -> list[tuple[Change, list[Level]]]:
        """The settings that may be changed, once the system was replayed as configured; levels exclude one another."""
        found = [(change, change.of(self.case)) for change in CHANGES if change.kind == CONTROLLER]
        return [(change, levels) for change, levels in found if levels]

    def wanted(self) -> list[Sets]:
        if self.base is None:
            return [] if () in self.failed else [{}]
        if missing := self.asked([(0,) * len(self.axes), *self.beginnings()]):
            return missing
        best = self.fastest()
        if not self.goes_on or best is None:
            return []
        # Where nothing waits, settings can only be shown to be needless.
        waits = self._waits(best)
        for when in (BESIDE, LAST) if self.tunes else (BESIDE,):
            if missing := self.asked(self._beside(best, when) if waits else self._without(best)):
                return missing
        return self.asked(self._without(self.cheapest() or best)) if self.limit else []

    def fastest(self) -> Point | None:
        """The settings with the best figure, of equal ones the cheapest; None as long as there is none."""
        costs = self._costs()
        return min(costs, key=lambda point: (costs[point], *self.dearness(point)), default=None)

    def cheapest(self) -> Point | None:
        """The cheapest settings within the limit; None where none is."""
        near = [point for point, cost in self._costs().items() if cost <= self.limit]
        return min(near, key=self.dearness, default=None)

    @property
    def best_cost(self) -> float:
        return min(self._costs().values(), default=math.inf)

    @property
    def base_price(self) -> float:
        return math.inf if self.base is None else self.price(self.system, self.base)

    def figures(self, point: Point) -> Figures | None:
        return self.known.get(key_of(self.sets(point)))

    def levels(self, point: Point) -> list[Level]:
        return [levels[level - 1] for (_, levels), level in zip(self.axes, point, strict=True) if level]

    def sets(self, point: Point) -> Sets:
        return {key: value for level in self.levels(point) for key, value in level.sets.items()}

    def dearness(self, point: Point) -> tuple[float, int, Point]:
        """The order of points by price; of equal ones, by the number of settings."""
        made, found = self.made(self.sets(point)), self.figures(point)
        if point not in self._prices:
            self._prices[point] = math.inf if made is None or found is None else self.price(made, found)
        return rounded(self._prices[point]), sum(map(bool, point)), point

    def asked(self, points: list[Point]) -> list[Sets]:
        """Of points, those that are sensible and not known yet."""
        sensible = [point for point in points if self.is_sensible(point)]
        self._asked |= dict.fromkeys(sensible)
        return self.missing(map(self.sets, sensible))

    def is_sensible(self, point: Point) -> bool:
        """Whether there is such a drive, on which every setting matters."""
        made = self.made(self.sets(point))
        return made is not None and all(_matters(made, level) for level in self.levels(point))

    def beginnings(self) -> list[Point]:
        """Of each axis that mostly helps the dearest level; with another placement and a write cache, and without."""
        all_ = tuple(len(levels) if change.when == BEGINS else 0 for change, levels in self.axes)
        made = self.made(self.sets(all_)) or self.system
        most = [(change.name, level if level and _matters(made, levels[level - 1]) else 0)
                for (change, levels), level in zip(self.axes, all_, strict=True)]  # fmt: skip
        without = [tuple(0 if name in left_out else level for name, level in most)
                   for left_out in itertools.product(*((name, "") for name in _OTHERS))]  # fmt: skip
        return list(dict.fromkeys(reversed(without)))

    def _costs(self) -> dict[Point, float]:
        """The figure of each point; where the drive falls behind its trace, by how much it does."""
        costs = {}
        for point, found in ((point, self.figures(point)) for point in self._asked):
            if found is not None and (value := self.goal.value({**found.summary, **found.half})) is not None:
                late = facts.late_by(found.summary)
                costs[point] = self.goal.cost(value) if late is None else _NEVER * late
        return costs

    def _waits(self, point: Point) -> bool:
        found = self.figures(point)
        known = found is not None and self.goal.statistic and found.charges(self.goal)
        return not (found is not None and known and found.waited_share(self.goal) < EQUAL)

    def _without(self, point: Point) -> list[Point]:
        return [
            (*point[:place], lower, *point[place + 1 :]) for place, level in enumerate(point) for lower in range(level)
        ]

    def _beside(self, point: Point, when: int) -> list[Point]:
        return [
            (*point[:place], level, *point[place + 1 :]) for place, (change, levels) in enumerate(self.axes)
            for level in range(len(levels) + 1) if change.when <= when and level != point[place]
        ]  # fmt: skip


def _matters(made: System, level: Level) -> bool:
    return any(matters(key, made.config) for key in level.sets)


def shape(system: System, goal: Goal) -> list[tuple[str, str]]:
    """A system with everything that mostly helps, without labels: two of one shape are one candidate."""
    search = SettingsSearch(system, goal)
    made = search.made(search.sets(search.beginnings()[0])) or system
    flat = dict(leaves(made.config))
    told = mattering(flat, made.config) - LABELS
    return [(key, literal(value)) for key, value in flat.items() if key in told]
