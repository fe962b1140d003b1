"""By how much one run's figure is worse than another's, with its interval."""

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from flashtwin import units
from flashtwin.judgement.goals import Goal
from flashtwin.results import names
from flashtwin.results.documents import read_parquet
from flashtwin.results.reading import SavedRun

if TYPE_CHECKING:
    from flashtwin.results.intervals import Blocks


@dataclass(frozen=True)
class Loss:
    """A share of the figure: 0.016 for 1.6 % more; below 0 where it is better."""

    share: float
    #: The interval of 95 %; None where there is none.
    interval: tuple[float, float] | None = None
    #: Why there is no interval, or what speaks against it.
    why: str = ""

    @property
    def at_most(self) -> float:
        """The upper end of the interval."""
        return self.share if self.interval is None else self.interval[1]

    def is_open(self, margin: float) -> bool:
        """Whether the two are not told apart: they may be equal, and may differ by more than the margin."""
        return self.interval is not None and self.interval[0] <= 0.0 <= self.interval[1] > margin

    def more_trace(self, margin: float) -> float:
        """How many times as much trace would tell, as the interval narrows with the root of its length."""
        if self.interval is None:
            return math.inf
        half = (self.interval[1] - self.interval[0]) / 2.0
        needed = max(abs(self.share), margin - self.share)
        return (half / needed) ** 2 if needed > 0 else math.inf

    def words(self, more: str, less: str) -> str:
        """`1.6 % (0.4 to 2.4) longer`; the interval is in the same direction."""
        sign, word = (-1.0, less) if self.share < 0 else (1.0, more)
        text = units.percent(abs(self.share) * 100.0)
        if self.interval is not None:
            low, high = sorted(sign * end * 100.0 for end in self.interval)
            text += f" ({units.significant(low, 2)} to {units.significant(high, 2)})"
        return f"{text} {word}"


@functools.lru_cache(maxsize=1024)
def loss_of(best: SavedRun, other: SavedRun, goal: Goal) -> Loss:
    """The loss of a run against another, paired over the blocks of the trace where it is one of response times."""
    # Intervals need NumPy, which takes a tenth of a second to load.
    from flashtwin.results import intervals

    before, after = (goal.value(run.numbers) for run in (best, other))
    if not before or after is None:
        return Loss(0.0 if before == after else math.inf)
    share = goal.cost(after) / goal.cost(before) - 1.0
    blocks, statistic = (_blocks(best), _blocks(other)), goal.statistic
    if not statistic or None in blocks:
        return Loss(share)
    if statistic not in get_args(intervals.Statistic):
        return Loss(share, why=f"none is drawn for {goal.words}")
    interval = intervals.compare(blocks[0], blocks[1], goal.kind, statistic)  # type: ignore[arg-type]
    if isinstance(interval, intervals.Refusal):
        return Loss(share, why=interval.sentence.removeprefix("no interval: "))
    if interval.ratio_low is None or interval.ratio_high is None:
        return Loss(share, why="one of the figures is 0")
    why = ""
    if interval.drift_ns is not None:
        halves = units.names_plain([units.duration(abs(half)) for half in interval.drift_ns])
        why = f"the difference changes along the trace, or it is too short: {halves} in its halves"
    # A percentile is to half a bucket, and the summary's own is exact.
    return Loss(share, (min(interval.ratio_low - 1.0, share), max(interval.ratio_high - 1.0, share)), why)


@functools.lru_cache(maxsize=64)
def _blocks(run: SavedRun) -> "Blocks | None":
    """The run's response times by block of the trace; None where no file has them."""
    from flashtwin.results.intervals import Blocks

    tables = {name: names.table(run.folder, name) for name in ("request_blocks", "request_block_histogram")}
    if not all(file.is_file() for file in tables.values()):
        return None
    return Blocks.of(lambda name: read_parquet(tables[name]))
