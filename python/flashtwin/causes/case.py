"""The subject of an inquiry, the replays that may be made, and their results. Pure: figures in, keys out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from flashtwin.causes.figures import Figures
from flashtwin.errors import ConfigError
from flashtwin.judgement.catalogue import Subject
from flashtwin.judgement.goals import TIME, Goal
from flashtwin.replays.presets import System
from flashtwin.results.keys import traits
from flashtwin.settings import Value

Sets = dict[str, Value]
Key = tuple[tuple[str, Any], ...]

#: A drive with more dies that collects has at most this share more of spare space than the drive as it is. Ours.
SPARE_TOLERANCE = 0.1


@dataclass(frozen=True)
class WhatIf:
    """Keys set otherwise: one thing ideal, two at once, or a step that can be taken."""

    #: The change in words: `hashing at no cost`, `16 hash lanes`.
    words: str
    sets: Mapping[str, Value]
    #: Of a step, the cost that no replay counts, and the row of the catalogue.
    takes: str = ""
    change: str = ""
    #: The causes that it is about.
    of: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """By which its replay is known."""
        return key_of(self.sets)


@dataclass(frozen=True)
class Consequence:
    """The result of a replay with keys changed, beside the unchanged replay."""

    what_if: WhatIf
    before: Figures
    after: Figures
    goal: Goal

    @property
    def name(self) -> str:
        """The cause that it is about; of two joined by a plus sign."""
        return "+".join(self.what_if.of)

    @property
    def value(self) -> float:
        """The goal's figure with the keys set; inquiries ask for it only where there is one."""
        return self.after.value(self.goal) or 0.0

    @property
    def cost(self) -> float:
        """What is saved; below 0 where the figure becomes worse."""
        return self.goal.cost(self.before.value(self.goal) or 0.0) - self.goal.cost(self.value)

    @property
    def percent(self) -> float:
        """The same as a share of the figure."""
        before = self.goal.cost(self.before.value(self.goal) or 0.0)
        return self.cost / before * 100.0 if before else 0.0

    def more(self, count: str) -> int:
        """How many more of something there are, such as `erases`."""
        return int(self.after[count] - self.before[count])


@dataclass(frozen=True, kw_only=True)
class Case(Subject):
    """The question: a system, whose keys are `case["nand.channels"]`, the figures of its replay, and the goal."""

    system: System
    base: Figures
    goal: Goal
    _refusals: dict[Key, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, system: System, base: Figures, goal: Goal) -> Self:
        """The case of a system."""
        return cls(
            config=system.config, traits=traits(system.config), raw_pages=system.raw_pages,
            capacity_pages=system.capacity_pages, numbers=base.summary, is_timed=goal.figure == TIME, system=system,
            base=base, goal=goal,
        )  # fmt: skip

    def changes(self, sets: Mapping[str, Value]) -> Sets:
        """Of the keys, those that are not so already."""
        return {key: value for key, value in sets.items() if self[key] != value}

    def refusal(self, sets: Mapping[str, Value]) -> str:
        """Why no drive with these keys can be built for the trace, in a sentence without its end; empty where one can.

        For example, `the drive would hold 9,000 pages, and the trace touches 9,300`.
        """
        key = key_of(sets)
        if key not in self._refusals:
            self._refusals[key] = self._refusal(sets)
        return self._refusals[key]

    def _refusal(self, sets: Mapping[str, Value]) -> str:
        try:
            made = self.system.with_sets(sets)
        except ConfigError as error:
            return str(error)
        needs = int(self.base["trace.footprint_pages"])
        if made.capacity_pages < needs:
            return f"the drive would hold {made.capacity_pages:,} pages, and the trace touches {needs:,}"
        spare, now = made.raw_pages - needs, self.raw_pages - needs
        if made.planes != self.planes and self.collects and abs(spare - now) > SPARE_TOLERANCE * now:
            would_be, is_now = (f"{100 * pages / needs:.1f} %" for pages in (spare, now))
            return f"in whole blocks the raw over-provisioning would be {would_be} instead of {is_now}"
        return ""


def key_of(sets: Mapping[str, Any]) -> Key:
    """Keys and values as something that can be looked up."""
    return tuple(sorted(sets.items()))
