"""How many replays fit into a time: none is begun that would not end in it, as far as is known by then.

Pure but for the clock, which a test may set.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

#: Of the replays that seem to fit, no more are begun at once than rounds of these: their times are known only then.
ROUNDS = 2


@dataclass
class Budget:
    """Seconds for replays, of which some are done at once; what a replay takes is learned from those that ended."""

    #: Seconds that may pass; None is as many as it takes.
    effort_s: float | None
    #: Replays that are done at once.
    at_once: int
    #: What one replay takes: measured, or a guess until one has ended.
    replay_s: float
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        """The time begins to run."""
        self._began, self._rounds, self._spent_s = self.clock(), 0, 0.0

    @property
    def left_s(self) -> float:
        """What is left of the time; below 0, what is under way is given up, for half a replay says nothing."""
        return float("inf") if self.effort_s is None else self.effort_s - (self.clock() - self._began)

    def next(self, wanted: int) -> int:
        """How many of the replays wanted are to be begun now."""
        return min(self.fits(wanted), ROUNDS * self.at_once)

    def fits(self, wanted: int) -> int:
        """How many of the replays wanted would end in the time that is left."""
        rounds = max(self.left_s, 0.0) / max(self.replay_s, 1e-6)
        return min(wanted, int(min(rounds, wanted)) * self.at_once)

    def ended(self, replays: int, seconds: float) -> None:
        """Learns from replays begun together: what one takes is the mean over the rounds so far."""
        self._rounds += -(-replays // self.at_once)
        self._spent_s += seconds
        self.replay_s = self._spent_s / self._rounds
