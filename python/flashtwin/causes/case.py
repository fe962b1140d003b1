"""A search over changes of one system. Pure: it names keys to set and takes figures, and replays nothing.

`replaying.replay_all` asks several of them in turn for the replays that they want, within one budget. `searching` looks
for the best settings, `inquiry` for what holds a system back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flashtwin.errors import ConfigError
from flashtwin.judgement.catalogue import Level, Sets, Subject
from flashtwin.judgement.goals import Figures, Goal
from flashtwin.replays.grounds import moved_ground
from flashtwin.replays.presets import System
from flashtwin.results.keys import traits

Key = tuple[tuple[str, Any], ...]

#: A drive with more dies that collects has at most this share more of spare space than the drive as it is. Ours.
SPARE_TOLERANCE = 0.1


def key_of(sets: Mapping[str, Any]) -> Key:
    return tuple(sorted(sets.items()))


@dataclass(frozen=True)
class Consequence:
    """The result of a replay with keys changed, beside the unchanged replay."""

    level: Level
    before: Figures
    after: Figures
    goal: Goal

    @property
    def name(self) -> str:
        """The cause that it is about, of several the first."""
        return next(iter(self.level.of), "")

    @property
    def value(self) -> float:
        """The goal's figure with the keys set; searches ask for it only where there is one."""
        return self.goal.value(self.after.summary) or 0.0

    @property
    def percent(self) -> float:
        """The share of the figure that is saved; below 0 where it becomes worse."""
        before = self.goal.cost(self.goal.value(self.before.summary) or 0.0)
        return (before - self.goal.cost(self.value)) / before * 100.0 if before else 0.0

    def more(self, count: str) -> int:
        return int(self.after[count] - self.before[count])


@dataclass
class Search:
    """Replays of one system with keys changed: those that are known, those that failed, and those to make next."""

    system: System
    goal: Goal
    known: dict[Key, Figures] = field(default_factory=dict)
    #: Replays that could not be made, with the reason.
    failed: dict[Key, str] = field(default_factory=dict)
    _made: dict[Key, System | None] = field(default_factory=dict, repr=False)

    def wanted(self) -> list[Sets]:
        """The next replays, the most telling first; none that cannot be built."""
        return self.missing([{}])

    def welcome(self) -> list[Sets]:
        return []

    @property
    def base(self) -> Figures | None:
        return self.known.get(())

    @cached_property
    def case(self) -> Subject:
        one = self.system
        figures = self.base or Figures({}, {})
        return Subject(one.config, traits(one.config), one.raw_pages, one.capacity_pages, figures, self.goal)

    def made(self, sets: Mapping[str, Any]) -> System | None:
        """The system with these keys; None where there is no such drive for the trace, with the reason in `failed`."""
        key = key_of(sets)
        if not key:
            return self.system
        if key not in self._made:
            self._made[key] = None
            try:
                made = self.system.with_sets(sets)
                reason = self._refusal(made, sets)
            except ConfigError as error:
                reason = str(error)
            if reason:
                self.failed[key] = reason
            else:
                self._made[key] = made
        return self._made[key]

    def missing(self, asked: Iterable[Mapping[str, Any]]) -> list[Sets]:
        """Of replays, those that are not known and can be made, each once."""
        found = {key_of(sets): dict(sets) for sets in asked}
        return [
            sets for key, sets in found.items()
            if key not in self.known and self.made(sets) is not None and key not in self.failed
        ]  # fmt: skip

    def competes(self, _: Mapping[str, Any]) -> bool:
        """Whether keys change the controller alone, so that the ground must stay as it is."""
        return True

    def _refusal(self, made: System, sets: Mapping[str, Any]) -> str:
        """Why the trace cannot be replayed on a drive, in a sentence without its end; empty where it can."""
        case = self.case
        if self.competes(sets) and (moved := moved_ground(self.system, made, sets)):
            return f"the change would not stand on the ground of the others, because it moves {', '.join(moved)}"
        needs = int(case.base["trace.footprint_pages"])
        if made.capacity_pages < needs:
            return f"the drive would hold {made.capacity_pages:,} pages, and the trace touches {needs:,}"
        spare, now = made.raw_pages - needs, case.raw_pages - needs
        if made.planes != case.planes and case.collects and abs(spare - now) > SPARE_TOLERANCE * now:
            would_be, is_now = (f"{100 * pages / needs:.1f} %" for pages in (spare, now))
            return f"in whole blocks the raw over-provisioning would be {would_be} instead of {is_now}"
        return ""
