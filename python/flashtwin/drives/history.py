"""What a drive amplifies after one pattern and another: the controller of the twin, without a clock.

Amplification depends on what was written before, so a series of runs is played from the erased drive on. The drive is
smaller than the real one: `BLOCKS` superblocks, as many as decide what a victim holds, of fewer pages each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flashtwin import _core
from flashtwin.drives.tables import Overwritten
from flashtwin.errors import DriveError
from flashtwin.replays.presets import system
from flashtwin.settings import Value

#: Superblocks of the drive that is played, and pages of each. A real drive has about a thousand.
BLOCKS, BLOCK_PAGES = 600, 512
#: Blocks of a plane that hold no data: collection begins at two free ones, and one of the host's is open.
KEPT_BACK = 3
#: Victim rules among which a fit chooses.
VICTIMS = ("greedy", "cost-benefit", "d-choices", "fifo")
_PARTS = 8


@dataclass(frozen=True)
class Played:
    """One run on the twin."""

    #: Pages programmed by pages written, by eighths of the run; the overhead of a program is not in it.
    eighths: tuple[float, ...]

    @property
    def last_quarter(self) -> float:
        """As `wa_last_quarter` counts it."""
        return sum(self.eighths[-2:]) / 2


def played(
    rows: Sequence[Overwritten],
    space_gib: float,
    victim: str,
    settings: Mapping[str, Value] | None = None,
    *,
    seed: int = 0,
) -> list[Played]:
    """The runs of one series, one after the other on a drive that was erased before the first.

    Args:
        rows: the series, in order.
        space_gib: physical space, as `spare` has it.
        victim: rule by which collection chooses, one of `VICTIMS`.
        settings: more keys of the controller.
        seed: of the addresses and of the controller.

    Raises:
        DriveError: a pattern cannot be played.
    """
    usable = (BLOCKS - KEPT_BACK) * BLOCK_PAGES
    pages_of = {row.fill_gib: int(usable * row.fill_gib / space_gib) for row in rows}
    drive = _core.Overwriting(_controller(victim, settings or {}, seed), max(pages_of.values()))
    random = np.random.default_rng(seed)
    return [Played(tuple(_written(drive, row, pages_of[row.fill_gib], random))) for row in rows]


def begin_collection(blocks: int) -> dict[str, float]:
    """The keys by which collection begins, and ends, as late as it can in planes of so many blocks.

    Spare space is what is not in use: blocks that collection kept free beyond these would be missing in it.
    """
    # Between two blocks, so that rounding does not matter.
    share = round((KEPT_BACK - 0.5) / blocks, 6)
    return {"ftl.gc.start": share, "ftl.gc.stop": share}


def can_be_played(rows: Iterable[Overwritten]) -> bool:
    """Whether the addresses of all runs can be made again."""
    return all(row.pattern.kind != "fiozipf" for row in rows)


def _written(drive: _core.Overwriting, row: Overwritten, pages: int, random: np.random.Generator) -> Iterator[float]:
    addresses = row.pattern.addresses(pages, max(int(row.overwrites * pages), _PARTS), random).astype(np.uint32)
    for part in np.array_split(addresses, _PARTS):
        host, programs, _, _ = drive.write(part.tobytes())
        yield programs / host


def _controller(victim: str, settings: Mapping[str, Value], seed: int) -> _core.Resolved:
    if victim not in VICTIMS:
        raise DriveError(f"there is no victim rule '{victim}'; there are {', '.join(VICTIMS)}")
    # One plane: a block is a superblock, which collection takes as a whole.
    one = {f"nand.{level}": 1 for level in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")}
    keys: dict[str, Value] = {
        **one, "nand.blocks_per_plane": BLOCKS, "nand.pages_per_block": BLOCK_PAGES, "ftl.gc.victim": victim,
        **begin_collection(BLOCKS), "ftl.wear.policy": "none", "seed": seed, **settings,
    }  # fmt: skip
    return system("conventional", settings=keys)._resolved


def chosen_victim(
    series: Sequence[Sequence[Overwritten]], space_gib: float, overhead: float, *, seed: int = 0
) -> tuple[str, Mapping[str, float]]:
    """The victim rule that comes nearest to what skewed patterns amplify, and the mean error of each in percent.

    Only series that can be played and hold a skewed run with a known amplification count.

    Raises:
        DriveError: there is no such series.
    """
    telling = [rows for rows in series if can_be_played(rows) and any(_tells(row) for row in rows)]
    if not telling:
        raise DriveError(
            "no run of a skewed pattern with its write amplification tells how victims are chosen; write one and read "
            "the drive's media counter (`nvme ocp smart-add-log`) before and after it"
        )
    errors = {}
    for victim in VICTIMS:
        misses = [
            abs(run.last_quarter * overhead / float(row.amplification or 1.0) - 1.0) * 100.0
            for rows in telling
            for row, run in zip(rows, played(rows, space_gib, victim, seed=seed), strict=True)
            if _tells(row)
        ]
        errors[victim] = sum(misses) / len(misses)
    return min(errors, key=errors.__getitem__), errors


def _tells(row: Overwritten) -> bool:
    return row.amplification is not None and row.pattern.is_skewed


def by_series(rows: Iterable[Overwritten]) -> list[list[Overwritten]]:
    """Runs that follow one another on the drive, in their order.

    Where fewer addresses are in use than in the run before, the drive was erased in between: a series of its own.
    """
    found: list[list[Overwritten]] = []
    last: dict[str, list[Overwritten]] = {}
    for row in rows:
        before = last.get(row.series)
        if before is None or row.fill_gib < before[-1].fill_gib:
            last[row.series] = before = []
            found.append(before)
        before.append(row)
    return found
