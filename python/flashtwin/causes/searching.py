"""The best cheap settings of one system, with or without a write cache, in few replays.

A search replays nothing: like an inquiry it names keys to set and takes figures. It begins with the system as it is,
and with what mostly helps at once, with another placement and without. From the best so far it changes one setting at a
time, until no change is better. tests/causes/test_choosing.py holds it against every combination.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from flashtwin.causes.case import Key, Sets, key_of
from flashtwin.causes.cheap import Axis, Level, axes
from flashtwin.causes.figures import Figures, Goal
from flashtwin.errors import ConfigError
from flashtwin.replays.presets import System
from flashtwin.results.ground import LABELS
from flashtwin.results.keys import K, mattering, matters
from flashtwin.results.trees import leaves, literal

#: Of settings whose figures are this near to the best, the cheapest is taken; cheap settings shorten waits alone, so
#: that there is no more to gain where these are a smaller share. Ours.
EQUAL = 0.01
#: A replay that ends this much later than its trace, in time and in ns, could not keep up. Ours.
LATE_FACTOR, LATE_NS = 1.1, 50_000_000
#: Longer than any response time: a drive that cannot keep up is worse than any that can.
_NEVER_NS = 1e18

#: Of each axis the number of its level, 0 for none.
Point = tuple[int, ...]


@dataclass
class Search:
    """Chooses the cheap settings to replay next, and keeps the best of those replayed."""

    system: System
    goal: Goal
    #: The write cache that all its replays have; None: as the system is.
    cache: Level | None = None
    #: Whether more than the beginning is asked for.
    goes_on: bool = False
    known: dict[Key, Figures] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The settings that may be changed."""
        return axes(self.system.config)

    def wanted(self) -> list[Sets]:
        """The next settings to replay; empty when none is left that may be better."""
        if missing := self._missing([self.none, self.all, self._all_where_it_is()]):
            return missing
        best = self.best()
        if not self.goes_on or best is None:
            return []
        # Where nothing waits, settings can only be shown to be needless.
        return self._missing(self._without(best) if self._waits_for_nothing(best) else self._beside(best))

    def best(self) -> Point | None:
        """Of the settings replayed the cheapest that is practically the best; None as long as there is none."""
        found = {point: cost for point in self._points() if (cost := self.cost(point)) is not None}
        if not found:
            return None
        longest = min(found.values()) * (1 + EQUAL)
        near = [point for point, value in found.items() if value <= longest]
        return min(near, key=lambda point: (sum(map(bool, point)), sum(point), found[point], point))

    def cost(self, point: Point) -> float | None:
        """The figure to compare: that of the goal; where the drive falls behind its trace, by how much it does.

        Then pages wait in RAM that is without end, and reads of those take no time.
        """
        found = self.figures(point)
        value = None if found is None else found.value(self.goal)
        if found is None or value is None:
            return None
        late = lateness(self.system, found)
        return value if late is None else _NEVER_NS * late

    def value(self, point: Point) -> float | None:
        """The goal's figure in ns; None where it was not replayed, or no request has one."""
        found = self.figures(point)
        return None if found is None else found.value(self.goal)

    def figures(self, point: Point) -> Figures | None:
        """The result of a replay with these settings."""
        return self.known.get(key_of(self.sets(point)))

    def levels(self, point: Point) -> list[Level]:
        """The settings of a point, the write cache last."""
        chosen = [axis[level - 1] for axis, level in zip(self.axes, point, strict=True) if level]
        return chosen if self.cache is None else [*chosen, self.cache]

    def sets(self, point: Point) -> Sets:
        """The keys that a point sets."""
        return {key: value for level in self.levels(point) for key, value in level.sets.items()}

    @property
    def none(self) -> Point:
        """The system as it is, but for the write cache."""
        return (0,) * len(self.axes)

    @cached_property
    def all(self) -> Point:
        """The start of a search: of each axis that matters, the dearest level."""
        point = tuple(len(axis) if axis[-1].begins else 0 for axis in self.axes)
        made = self.made(point)
        return point if made is None else tuple(
            level if level and self._matters(made, axis, level) else 0
            for axis, level in zip(self.axes, point, strict=True)
        )  # fmt: skip

    def _all_where_it_is(self) -> Point:
        """The same without another placement: that makes a drive another one, for better or worse."""
        places = [K.ftl.allocation.policy in axis[0].sets for axis in self.axes]
        return tuple(0 if moves else level for moves, level in zip(places, self.all, strict=True))

    def _waits_for_nothing(self, point: Point) -> bool:
        found = self.figures(point)
        return found is not None and bool(found.charges(self.goal)) and found.waited_share(self.goal) < EQUAL

    def _without(self, point: Point) -> list[Point]:
        """The points with one setting less."""
        return [(*point[:place], 0, *point[place + 1 :]) for place, level in enumerate(point) if level]

    def _beside(self, point: Point) -> list[Point]:
        """The points that differ in one setting; and in a second one, where only the first makes that one matter.

        For example, `conventional` weighs loads only if it places pages on the least loaded chip.
        """
        one = self._changed(point)
        here = self.made(point)
        two = [
            next_point
            for changed in one
            if self._sensible(changed)
            for next_point in self._changed(changed)
            if here is not None and self._opens(here, changed, next_point)
        ]
        return [*one, *two]

    def _changed(self, point: Point) -> list[Point]:
        return [
            (*point[:place], level, *point[place + 1 :])
            for place, axis in enumerate(self.axes)
            for level in range(len(axis) + 1)
            if level != point[place]
        ]

    def _opens(self, here: System, changed: Point, next_point: Point) -> bool:
        """Whether `next_point` sets a key that does not matter `here`."""
        places = [place for place, level in enumerate(next_point) if level and level != changed[place]]
        return any(not self._matters(here, self.axes[place], next_point[place]) for place in places)

    def _points(self) -> list[Point]:
        """The points that were replayed."""
        return [point for point in self._asked if key_of(self.sets(point)) in self.known]

    @cached_property
    def _asked(self) -> dict[Point, None]:
        return {}

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
        try:
            return self.system.with_sets(self.sets(point))
        except ConfigError as error:
            self.failed[key_of(self.sets(point))] = str(error)
            return None

    @staticmethod
    def _matters(made: System, axis: Axis, level: int) -> bool:
        return any(matters(key, made.config) for key in axis[level - 1].sets)


def lateness(system: System, figures: Figures) -> float | None:
    """How many times as long as its trace a replay took; None where the drive kept up, or the loop is closed."""
    replay = system.config["replay"]
    planned_ns = figures["duration_ns"] / float(replay["speed"])
    late = figures["completed_ns"] > LATE_FACTOR * planned_ns + LATE_NS
    return figures["completed_ns"] / planned_ns if late and planned_ns and not replay["queue_depth"] else None


def shape(system: System) -> list[tuple[str, str]]:
    """A system with everything cheap, without labels: two of one shape are one candidate."""
    search = Search(system, Goal("all", "mean"))
    made = search.made(search.all) or system
    flat = dict(leaves(made.config))
    told = mattering(flat, made.config) - LABELS
    return [(key, literal(value)) for key, value in flat.items() if key in told]
