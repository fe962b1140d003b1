"""The figure of a run that a user wants better: any that a sweep knows, or the time for the whole trace."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin import units
from flashtwin.judgement.ledger import ALL, SLOWEST_PERCENT, SLOWEST_PERMILLE
from flashtwin.results.figures import Figure, figure

#: Kinds of requests, with the words for them.
KINDS = {"all": "requests", "read": "reads", "write": "writes", "flush": "flushes"}
#: The requests of the wait ledger that stand nearest to a percentile.
_SLOWEST = {
    "p95": SLOWEST_PERCENT, "p99": SLOWEST_PERCENT, "p99_9": SLOWEST_PERMILLE, "p99_99": SLOWEST_PERMILLE,
    "max": SLOWEST_PERMILLE,
}  # fmt: skip
#: The goal of a closed loop: how long the drive takes for the whole trace.
TIME = Figure("time", "completed_ns", "time for the whole trace")
_WORDS = {
    "programs": "the number of pages programmed", "erases": "the number of erases", "ram": "the size of tables in RAM",
    "life": "the life used by the trace", "time": "the time for the whole trace",
}  # fmt: skip


@dataclass(frozen=True)
class Goal:
    """A figure of a run, and how much of it is good."""

    figure: Figure

    @property
    def name(self) -> str:
        """As `--goal` takes it."""
        return self.figure.name

    @property
    def words(self) -> str:
        """As a sentence names it."""
        if not self.statistic:
            return _WORDS.get(self.name, f"the {self.figure.label}")
        names = {"mean": "mean response", "max": "longest response"}
        return f"the {names.get(self.statistic, self.statistic.replace('_', '.'))} of {KINDS[self.kind]}"

    @property
    def kind(self) -> str:
        """The requests that it is about."""
        return self._response[0]

    @property
    def statistic(self) -> str:
        """Of response times the statistic, such as `p99`; empty of all else."""
        return self._response[1]

    @property
    def requests(self) -> str:
        """The requests of the wait ledger that it is about."""
        return _SLOWEST.get(self.statistic, ALL)

    @property
    def _response(self) -> tuple[str, str]:
        found = re.fullmatch(r"response\.(\w+)\.(\w+)_ns", self.figure.path)
        return (found[1], found[2]) if found and found[1] in KINDS else ("all", "")

    def value(self, summary: Mapping[str, Any]) -> float | None:
        """The figure in a summary's numbers by dotted path; None where there is none."""
        if self.name == "life":
            # By programs instead of erases: most replays end before collection has begun.
            pages = summary.get("erases.blocks", 0) * summary["config.nand.pages_per_block"]
            used = pages * summary["config.nand.pe_cycles"]
            return 100.0 * summary.get("pages_programmed", 0) / used if used else None
        if self.figure == TIME and not summary.get("requests.completed"):
            return None
        missing = None if self.statistic else 0
        value = summary.get(self.figure.path, missing)
        return None if value is None or not summary.get(f"response.{self.kind}.count", 1) else float(value)

    def cost(self, value: float) -> float:
        """Of costs the smallest is the best, and a ratio of two says by how much."""
        if not self.figure.more_is_better:
            return value
        return 1.0 / value if value else float("inf")

    def written(self, value: float | None) -> str:
        """The value as people read it."""
        if self.name == "life" and value is not None:
            # A trace uses the smallest part of a percent.
            return f"{units.significant(value)} %"
        return self.figure.written(value)


def goal_of(text: str) -> Goal:
    """The goal of a name, such as `read.p99`, `programs` or `time`.

    Raises:
        ArgumentError: there is no such figure; the message names the nearest.
    """
    return Goal(TIME if text == TIME.name else figure(text))
