"""The amplification of a drive after a series of patterns: the controller of the twin, without a clock.

Amplification depends on earlier writes, so a series of runs is played from the erased drive on. The drive is
smaller than the real one: `BLOCKS` superblocks, enough to decide the valid pages of a victim, of fewer pages each. A
page stands for as many neighbours in popularity of the real drive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from flashtwin import _core
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Measurements, OverwriteRun, SteadyWrites
from flashtwin.replays.presets import System
from flashtwin.settings import Value

#: Superblocks of the drive that is played, and pages of each. A real drive has about a thousand.
BLOCKS, BLOCK_PAGES = 600, 512
#: Blocks of a plane that hold no data: collection begins at two free ones, and one of the host's is open.
KEPT_BACK = 3
_QUARTERS = 4
#: Overwrites by which a skewed pattern is in its steady state.
OVERWRITES = 10.0


def played(rows: Sequence[OverwriteRun], space_gib: float, drive: System, *, seed: int = 0) -> list[float]:
    """Pages programmed by pages written, in the last quarter of each run of one series.

    The runs follow one another on a drive that was erased before the first. The overhead of a program is not in it.

    Args:
        rows: the series, in order.
        space_gib: physical space.
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
        _last_quarter(flash, row, pages_of[row.fill_gib], int(row.fill_gib * 2**30) // page_bytes, random)
        for row in rows
    ]


def amplified(
    drive: System, asked: Measurements, used_gib: float, space_gib: float, *, seed: int = 0
) -> Iterator[tuple[OverwriteRun | SteadyWrites, float]]:
    """The rows without a clock, and what each amplifies; those whose addresses cannot be drawn are left out.

    A row of `steady` is a run by itself, after the drive was erased and filled in order (SSD-iq, scripts/benchwa.sh).
    """
    for series in playable(asked.overwritten):
        yield from zip(series, played(series, space_gib, drive, seed=seed), strict=True)
    for row in asked.steady:
        if row.pattern.is_known:
            runs = [(Pattern("sequential"), 1.0), (row.pattern, OVERWRITES)]
            alone = [OverwriteRun(used_gib, pattern, "", times, None, 0.0) for pattern, times in runs]
            yield row, played(alone, space_gib, drive, seed=seed)[-1]


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


def _last_quarter(
    drive: _core.Overwriting, row: OverwriteRun, pages: int, ranks: int, random: np.random.Generator
) -> float:
    count = max(int(row.overwrites * pages), _QUARTERS)
    addresses = row.pattern.addresses(pages, count, random, ranks=ranks).astype(np.uint32)
    last = count - count // _QUARTERS
    drive.write(addresses[:last].tobytes())
    host, programs, _, _ = drive.write(addresses[last:].tobytes())
    return programs / host


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
