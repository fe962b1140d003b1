"""The settings of one system to choose among, in few replays: the fastest, and the cheapest that is nearly as fast.

A search replays nothing: like an inquiry it names keys to set and takes figures. It begins with the system as
configured, and with what mostly helps at once, with another placement and write cache and without. From the best so
far it changes one setting at a time, until no change is better. Then it takes settings away, as long as the figure
stays within the margin. tests/causes/test_choosing.py holds it against every combination.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from flashtwin.causes.case import Case, Key, Sets, key_of
from flashtwin.causes.figures import Figures
from flashtwin.errors import ConfigError
from flashtwin.judgement.catalogue import BEGINS, BESIDE, CONTROLLER, LAST, Change, Level, of_kind
from flashtwin.judgement.costs import rounded
from flashtwin.judgement.goals import Goal
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
#: A change of the catalogue with its levels for a system: these exclude one another.
Axis = tuple[Change, list[Level]]


@dataclass
class Search:
    """Chooses the settings to replay next, and keeps the best of those replayed."""

    system: System
    goal: Goal
    #: What a system with these figures costs.
    price: Callable[[System, Figures], float]
    #: Whether more than the beginning is asked for, and whether changes that rarely matter are tried.
    goes_on: bool = False
    tunes: bool = False
    #: The largest cost that is good enough for a cheaper candidate; 0 as long as the fastest is looked for.
    limit: float = 0.0
    known: dict[Key, Figures] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)
    _asked: dict[Point, None] = field(default_factory=dict)
    _made: dict[Point, System | None] = field(default_factory=dict)
    _prices: dict[Point, float] = field(default_factory=dict)

    @property
    def base(self) -> Figures | None:
        """The replay as configured."""
        return self.known.get(())

    @cached_property
    def axes(self) -> list[Axis]:
        """The settings that may be changed, once the system was replayed as configured."""
        case = Case.of(self.system, self.base or Figures({}, {}), self.goal)
        found = [(change, change.of(case)) for change in of_kind(CONTROLLER)]
        return [(change, levels) for change, levels in found if levels]

    def wanted(self) -> list[Sets]:
        """The next settings to replay; empty when none is left that may be better."""
        if self.base is None:
            return [] if () in self.failed else [{}]
        if missing := self._missing([self.none, *self._beginnings()]):
            return missing
        best = self.fastest()
        if not self.goes_on or best is None:
            return []
        # Where nothing waits, settings can only be shown to be needless.
        waits = not self._waits_for_nothing(best)
        for when in (BESIDE, LAST) if self.tunes else (BESIDE,):
            if missing := self._missing(self._beside(best, when) if waits else self._without(best)):
                return missing
        return self._missing(self._without(self.cheapest() or best)) if self.limit else []

    def fastest(self) -> Point | None:
        """The settings with the best figure, of equal ones the cheapest; None as long as there is none."""
        costs = self._costs()
        return min(costs, key=lambda point: (costs[point], *self.dearness(point)), default=None)

    def cheapest(self) -> Point | None:
        """The cheapest settings within the limit; None where none is."""
        near = [point for point, cost in self._costs().items() if cost <= self.limit]
        return min(near, key=self.dearness, default=None)

    def cost(self, point: Point) -> float | None:
        """The figure to compare: that of the goal; where the drive falls behind its trace, by how much it does."""
        found = self.figures(point)
        value = None if found is None else found.value(self.goal)
        if found is None or value is None:
            return None
        return self.goal.cost(value) if found.lateness is None else _NEVER * found.lateness

    def figures(self, point: Point) -> Figures | None:
        """The result of a replay with these settings."""
        return self.known.get(key_of(self.sets(point)))

    def levels(self, point: Point) -> list[tuple[Change, Level]]:
        """The settings of a point."""
        return [
            (change, levels[level - 1]) for (change, levels), level in zip(self.axes, point, strict=True) if level
        ]  # fmt: skip

    def sets(self, point: Point) -> Sets:
        """The keys that a point sets."""
        return {key: value for _, level in self.levels(point) for key, value in level.sets.items()}

    @property
    def none(self) -> Point:
        """The system as configured."""
        return (0,) * len(self.axes)

    def beside(self, point: Point) -> list[Point]:
        """The replayed points that differ from one in one setting."""
        return [other for other in self._changed(point, LAST) if self.figures(other) is not None]

    @property
    def replayed(self) -> list[Point]:
        """The points that were asked for and replayed."""
        return [point for point in self._asked if self.figures(point) is not None]

    def _costs(self) -> dict[Point, float]:
        return {point: cost for point in self._asked if (cost := self.cost(point)) is not None}

    def dearness(self, point: Point) -> tuple[float, int, Point]:
        """The order of points by price; of equal ones, by the number of settings."""
        if point not in self._prices:
            made, found = self.made(point), self.figures(point)
            self._prices[point] = math.inf if made is None or found is None else self.price(made, found)
        return rounded(self._prices[point]), sum(map(bool, point)), point

    def _beginnings(self) -> list[Point]:
        """Of each axis that mostly helps the dearest level; with another placement and a write cache, and without."""
        all_ = tuple(len(levels) if change.when == BEGINS else 0 for change, levels in self.axes)
        made = self.made(all_)
        if made is not None:
            all_ = tuple(
                level if level and self._matters(made, axis, level) else 0
                for axis, level in zip(self.axes, all_, strict=True)
            )
        without = [
            tuple(0 if change.name in left_out else level for (change, _), level in zip(self.axes, all_, strict=True))
            for left_out in itertools.product(*((name, "") for name in _OTHERS))
        ]
        return list(dict.fromkeys([all_, *reversed(without)]))

    def _waits_for_nothing(self, point: Point) -> bool:
        found = self.figures(point)
        if found is None or not self.goal.statistic or not found.charges(self.goal):
            return False
        return found.waited_share(self.goal) < EQUAL

    def _without(self, point: Point) -> list[Point]:
        """The points with a lower level of one setting, or without it."""
        return [
            (*point[:place], lower, *point[place + 1 :]) for place, level in enumerate(point) for lower in range(level)
        ]

    def _beside(self, point: Point, when: int) -> list[Point]:
        """The points that differ in one setting; and in a second one, where only the first makes that one matter.

        For example, `conventional` weighs loads only if it places pages on the least loaded chip.
        """
        one = self._changed(point, when)
        here = self.made(point)
        two = [
            next_point
            for changed in one
            if self._sensible(changed)
            for next_point in self._changed(changed, when)
            if here is not None and self._opens(here, changed, next_point)
        ]
        return [*one, *two]

    def _changed(self, point: Point, when: int) -> list[Point]:
        return [
            (*point[:place], level, *point[place + 1 :])
            for place, (change, levels) in enumerate(self.axes)
            if change.when <= when
            for level in range(len(levels) + 1)
            if level != point[place]
        ]

    def _opens(self, here: System, changed: Point, next_point: Point) -> bool:
        """Whether `next_point` sets a key that does not matter `here`."""
        places = [place for place, level in enumerate(next_point) if level and level != changed[place]]
        return any(not self._matters(here, self.axes[place], next_point[place]) for place in places)

    def _missing(self, points: list[Point]) -> list[Sets]:
        """Of points, those that can be built and where every setting matters, not known yet."""
        found: dict[Key, Sets] = {}
        for point in points:
            sets = self.sets(point)
            key = key_of(sets)
            if key in self.failed or not self._sensible(point):
                continue
            self._asked[point] = None
            if key not in self.known:
                found[key] = sets
        return list(found.values())

    def _sensible(self, point: Point) -> bool:
        made = self.made(point)
        chosen = ((axis, level) for axis, level in zip(self.axes, point, strict=True) if level)
        return made is not None and all(self._matters(made, axis, level) for axis, level in chosen)

    def made(self, point: Point) -> System | None:
        """The system with these settings; None where there is no such drive."""
        if point not in self._made:
            try:
                self._made[point] = self.system.with_sets(self.sets(point))
            except ConfigError as error:
                self.failed[key_of(self.sets(point))] = str(error)
                self._made[point] = None
        return self._made[point]

    @staticmethod
    def _matters(made: System, axis: Axis, level: int) -> bool:
        return any(matters(key, made.config) for key in axis[1][level - 1].sets)


def shape(system: System, goal: Goal) -> list[tuple[str, str]]:
    """A system with everything that mostly helps, without labels: two of one shape are one candidate."""
    search = Search(system, goal, lambda *_: 0.0)
    made = search.made(search._beginnings()[0]) or system
    flat = dict(leaves(made.config))
    told = mattering(flat, made.config) - LABELS
    return [(key, literal(value)) for key, value in flat.items() if key in told]
