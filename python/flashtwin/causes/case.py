"""The subject of an inquiry, the replays that may be made, and their results.

Pure: configurations and figures in, keys and reasons out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flashtwin.causes.figures import Figures, Goal
from flashtwin.errors import ConfigError
from flashtwin.replays.presets import System
from flashtwin.results.keys import traits
from flashtwin.results.trees import dig
from flashtwin.settings import Value

Sets = dict[str, Value]
Key = tuple[tuple[str, Any], ...]

#: A drive with more dies that collects has at most this share more of spare space than the drive as it is. Ours.
SPARE_TOLERANCE = 0.1


@dataclass(frozen=True)
class WhatIf:
    """Keys set otherwise: one thing ideal, two at once, or a step that can be taken."""

    #: The change in words: `hashing at no cost`, `16 hash lanes instead of 1`.
    words: str
    sets: Mapping[str, Value]
    #: Of a step, the cost that no replay counts.
    takes: str = ""
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
    def after_ns(self) -> float:
        """The goal's figure with the keys set; inquiries ask for it only where there is one."""
        return self.after.value(self.goal) or 0.0

    @property
    def cost_ns(self) -> float:
        """T - T(otherwise); below 0 where the figure grows."""
        return (self.before.value(self.goal) or 0.0) - self.after_ns

    @property
    def percent(self) -> float:
        """The same as a share of the figure."""
        return self.cost_ns / before * 100.0 if (before := self.before.value(self.goal)) else 0.0

    def more(self, count: str) -> int:
        """How many more of something there are, such as `erases`."""
        return self.after[count] - self.before[count]


@dataclass(frozen=True)
class Case:
    """The question: a system, whose keys are `case["nand.channels"]`, the figures of its replay, and the goal."""

    system: System
    base: Figures
    goal: Goal
    _refusals: dict[Key, str] = field(default_factory=dict, repr=False, compare=False)

    def __getitem__(self, key: str) -> Any:
        return dig(self.system.config, key)

    @cached_property
    def traits(self) -> frozenset[str]:
        """Traits of the system."""
        return traits(self.system.config)

    @property
    def collects(self) -> bool:
        """Whether the replay collected garbage: spare space then decides the cost of writes."""
        return collected(self.base)

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
        needs = self.base["footprint_pages"]
        if made.capacity_pages < needs:
            return f"the drive would hold {made.capacity_pages:,} pages, and the trace touches {needs:,}"
        spare, now = made.raw_pages - needs, self.system.raw_pages - needs
        if made.planes != self.system.planes and self.collects and abs(spare - now) > SPARE_TOLERANCE * now:
            would_be, is_now = (f"{100 * pages / needs:.1f} %" for pages in (spare, now))
            return f"in whole blocks the raw over-provisioning would be {would_be} instead of {is_now}"
        return ""


def key_of(sets: Mapping[str, Any]) -> Key:
    """Keys and values as something that can be looked up."""
    return tuple(sorted(sets.items()))


def collected(figures: Figures) -> bool:
    """Whether a replay collected garbage."""
    return bool(figures["erases"] or figures["gc_programs"])


def more_dies(case: Case, times: Sequence[int]) -> tuple[int, Sets]:
    """The first of several multiples of the dies with which a drive can be built; where none will do, the last.

    Blocks are divided so that the raw over-provisioning stays: it decides what collection takes. For example, 96 blocks
    a plane become 12 with eight times the dies. On a drive that never collected, spare space decides nothing: there
    each plane also has the blocks that its controller keeps back, so that the drive holds as much as before.
    """
    blocks = int(case["nand.blocks_per_plane"])
    # A drive holds one page less than its planes do together.
    used = (case.system.capacity_pages + 1) // (case.system.planes * int(case["nand.pages_per_block"]))
    divided, kept_back = (blocks, 0) if case.collects else (used, blocks - used)
    for several in times:
        sets: Sets = {
            "nand.dies_per_chip": int(case["nand.dies_per_chip"]) * several,
            "nand.blocks_per_plane": kept_back - (-divided // several),
        }
        if not case.refusal(sets):
            break
    return several, sets
