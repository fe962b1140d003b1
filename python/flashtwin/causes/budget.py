"""How much is replayed: a number of page operations, so that a busy machine replays the same as an idle one."""

from dataclasses import dataclass


@dataclass
class Budget:
    """Page operations for replays of one trace, each of which takes as many as the trace has."""

    #: Page operations that may be replayed; None is as many as it takes.
    effort: int | None
    #: Those of one replay.
    replay_ops: int
    #: Replays that were begun.
    begun: int = 0

    def at_least(self, replays: int) -> None:
        """Raises the effort, unless it is none, so that this number of further replays fits."""
        if self.effort:
            self.effort = max(self.effort, (self.begun + replays) * self.replay_ops)

    def fits(self, wanted: int) -> int:
        """How many of the replays wanted there is effort for."""
        if self.effort is None:
            return wanted
        return max(min(wanted, self.effort // max(self.replay_ops, 1) - self.begun), 0)

    def begin(self, wanted: int) -> int:
        """Takes the effort for as many of the replays wanted as there is some for; returns how many."""
        number = self.fits(wanted)
        self.begun += number
        return number

    @property
    def left(self) -> int | None:
        """Page operations that were not used."""
        return None if self.effort is None else max(self.effort - self.begun * self.replay_ops, 0)
