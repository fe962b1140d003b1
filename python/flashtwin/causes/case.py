"""What an inquiry is about, and whether a drive with other keys can be built for it.

Pure: configurations in, keys and reasons out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashtwin.causes.figures import Figures, Goal
from flashtwin.errors import ConfigError
from flashtwin.replays.presets import System
from flashtwin.settings import Value

Config = Mapping[str, Any]
Sets = dict[str, Value]
Key = tuple[tuple[str, Any], ...]

#: A drive with more dies that collects has at most this share more of spare space than the drive as it is. Ours.
SPARE_TOLERANCE = 0.1


@dataclass(frozen=True)
class Case:
    """What is asked: a system, the figures of its replay, and the figure to shorten."""

    system: System
    base: Figures
    goal: Goal
    _refusals: dict[Key, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def config(self) -> Config:
        """Every key of the system."""
        return self.system.config

    @property
    def collects(self) -> bool:
        """Whether the replay collected garbage: how much spare space there is then decides what it takes."""
        return self.base.erases > 0 or self.base.gc_programs > 0

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
        needs = self.base.footprint_pages
        if made.capacity_pages < needs:
            return f"the drive would hold {made.capacity_pages:,} pages, and the trace touches {needs:,}"
        spare, now = made.raw_pages - needs, self.system.raw_pages - needs
        if made.planes != self.system.planes and self.collects and abs(spare - now) > SPARE_TOLERANCE * now:
            return (
                f"in whole blocks the raw over-provisioning would be {100 * spare / needs:.1f} % instead of "
                f"{100 * now / needs:.1f} %"
            )
        return ""


def key_of(sets: Mapping[str, Any]) -> Key:
    """Keys and values as something that can be looked up."""
    return tuple(sorted(sets.items()))


def at(config: Config, key: str) -> Any:
    """The value of a whole dotted key."""
    found: Any = config
    for part in key.split("."):
        found = found[part]
    return found


def more_dies(case: Case, times: Sequence[int]) -> tuple[int, Sets]:
    """The first of several multiples of the dies with which a drive can be built; where none will do, the last.

    Blocks are divided so that the raw over-provisioning stays: it decides what collection takes. For example, 96 blocks
    a plane become 12 with eight times the dies. On a drive that never collected, spare space decides nothing: there
    each plane also has the blocks that its controller keeps back, so that the drive holds as much as before.
    """
    nand = case.config["nand"]
    blocks = int(nand["blocks_per_plane"])
    # A drive holds one page less than its planes do together.
    used = (case.system.capacity_pages + 1) // (case.system.planes * int(nand["pages_per_block"]))
    divided, kept_back = (blocks, 0) if case.collects else (used, blocks - used)
    for several in times:
        sets: Sets = {
            "nand.dies_per_chip": int(nand["dies_per_chip"]) * several,
            "nand.blocks_per_plane": kept_back - (-divided // several),
        }
        if not case.refusal(sets):
            break
    return several, sets
