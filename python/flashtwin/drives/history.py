"""The amplification of a drive after a series of patterns: the controller of the twin, without a clock.

Amplification depends on earlier writes, so a series of runs is played from the erased drive on. The drive is
smaller than the real one: `BLOCKS` superblocks, enough to decide the valid pages of a victim, of fewer pages each. A
page stands for as many neighbours in popularity of the real drive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flashtwin import _core
from flashtwin.drives.tables import OverwriteRun
from flashtwin.replays.presets import System
from flashtwin.settings import Value

#: Superblocks of the drive that is played, and pages of each. A real drive has about a thousand.
BLOCKS, BLOCK_PAGES = 600, 512
#: Blocks of a plane that hold no data: collection begins at two free ones, and one of the host's is open.
KEPT_BACK = 3
_PARTS = 8


@dataclass(frozen=True)
class HistoryRun:
    """One run on the twin."""

    #: Pages programmed by pages written, by eighths of the run; the overhead of a program is not in it.
    eighths: tuple[float, ...]

    @property
    def last_quarter(self) -> float:
        """As `wa_last_quarter` counts it."""
        return sum(self.eighths[-2:]) / 2


def played(rows: Sequence[OverwriteRun], space_gib: float, drive: System, *, seed: int = 0) -> list[HistoryRun]:
    """The runs of one series, one after the other on a drive that was erased before the first.

    Args:
        rows: the series, in order.
        space_gib: physical space, as `spare` has it.
        drive: whose controller writes. It is played on one plane: a block is a superblock, taken as a whole.
        seed: of the addresses and of the controller.

    Raises:
        ConfigError: the controller looks at contents.
    """
    usable = (BLOCKS - KEPT_BACK) * BLOCK_PAGES
    pages_of = {row.fill_gib: int(usable * row.fill_gib / space_gib) for row in rows}
    flash = _core.Overwriting(drive.with_sets({**_ONE_PLANE, "seed": seed})._resolved, max(pages_of.values()))
    random, page_bytes = np.random.default_rng(seed), int(drive.config["nand"]["page_bytes"])
    return [
        HistoryRun(tuple(_written(flash, row, pages_of[row.fill_gib], int(row.fill_gib * 2**30) // page_bytes, random)))
        for row in rows
    ]


def begin_collection(blocks: int) -> dict[str, float]:
    """The keys by which collection begins, and ends, as late as it can in planes of this many blocks.

    Spare space is space not in use: blocks that collection kept free beyond these would be missing in it.
    """
    # Between two blocks, so that rounding does not matter.
    share = round((KEPT_BACK - 0.5) / blocks, 6)
    return {"ftl.gc.start": share, "ftl.gc.stop": share}


def playable(rows: Iterable[OverwriteRun]) -> list[list[OverwriteRun]]:
    """The series all of whose addresses can be drawn again."""
    return [series for series in by_series(rows) if all(row.pattern.is_known for row in series)]


def _written(
    drive: _core.Overwriting, row: OverwriteRun, pages: int, ranks: int, random: np.random.Generator
) -> Iterator[float]:
    count = max(int(row.overwrites * pages), _PARTS)
    addresses = row.pattern.addresses(pages, count, random, ranks=ranks)
    for part in np.array_split(addresses.astype(np.uint32), _PARTS):
        host, programs, _, _ = drive.write(part.tobytes())
        yield programs / host


#: The keys of the drive that is played: pages are programmed one by one, since only their number counts.
_ONE_PLANE: Mapping[str, Value] = {
    "nand.channels": 1, "nand.chips_per_channel": 1, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
    "nand.blocks_per_plane": BLOCKS, "nand.pages_per_block": BLOCK_PAGES, "nand.program_pages": 1,
    "nand.sense_pages": 1, "nand.parity_stripe": 0, **begin_collection(BLOCKS), "ftl.wear.policy": "none",
}  # fmt: skip


def by_series(rows: Iterable[OverwriteRun]) -> list[list[OverwriteRun]]:
    """Runs that follow one another on the drive, in their order.

    Where fewer addresses are in use than in the run before, the drive was erased in between: a series of its own.
    """
    found: list[list[OverwriteRun]] = []
    last: dict[str, list[OverwriteRun]] = {}
    for row in rows:
        before = last.get(row.series)
        if before is None or row.fill_gib < before[-1].fill_gib:
            last[row.series] = before = []
            found.append(before)
        before.append(row)
    return found
