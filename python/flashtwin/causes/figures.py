"""The figures of one replay that show causes, and the one of them that a user wants better.

Pure: plain numbers, kept as JSON, so that a replay done once answers for every goal.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin.errors import ConfigError
from flashtwin.judgement.ledger import ALL, SERVICE, SLOWEST_PERCENT, SLOWEST_PERMILLE
from flashtwin.results.figures import spelled
from flashtwin.results.schema import summary_field
from flashtwin.results.trees import dig

#: Kinds of requests, with the words for them.
KINDS = {"all": "requests", "read": "reads", "write": "writes"}
#: Figures of response times, each with the requests of the wait ledger that stand nearest to it.
STATISTICS: Mapping[str, str] = {
    "mean": ALL, "p50": ALL, "p90": ALL, "p95": SLOWEST_PERCENT, "p99": SLOWEST_PERCENT, "p99_9": SLOWEST_PERMILLE,
    "p99_99": SLOWEST_PERMILLE, "max": SLOWEST_PERMILLE,
}  # fmt: skip
#: The goal of a closed loop: how long the drive takes for the whole trace.
TIME = "time"
#: Counts that are kept of a replay, with their paths in its summary.
COUNTS: Mapping[str, str] = {
    "requests": "requests.completed", "completed_ns": "completed_ns", "programs": "pages_programmed",
    "gc_programs": "flash_writes.gc", "erases": "erases.total", "copies": "flash_writes.replica",
    "ram_bytes": "ram.total_bytes", "pages_hashed": "page_ops.pages_hashed", "page_writes": "page_ops.write",
    "mapping_misses": "mapping_cache.misses", "duplicates_missed": "dedup.duplicates_missed",
    "reads": "requests.read", "writes": "requests.write", "footprint_pages": "trace.footprint_pages",
    "page_reads": "page_ops.read", "duration_ns": "duration_ns",
}  # fmt: skip


@dataclass(frozen=True)
class Goal:
    """The figure that is to become smaller: a response time of some requests, or the time for the whole trace."""

    kind: str
    statistic: str

    @property
    def name(self) -> str:
        """As `--goal` takes it."""
        return TIME if self.statistic == TIME else f"{self.kind}.{self.statistic}"

    @property
    def words(self) -> str:
        """As a sentence names it."""
        if self.statistic == TIME:
            return "the time for the whole trace"
        names = {"mean": "mean response", "max": "longest response"}
        return f"the {names.get(self.statistic, self.statistic.replace('_', '.'))} of {KINDS[self.kind]}"


def goal(text: str) -> Goal:
    """Reads `read.p99`, `all.mean`, `write.max` or `time`.

    Raises:
        ConfigError: there is no such figure; the message names the nearest.
    """
    text = spelled(text)
    known = [TIME, *(f"{kind}.{statistic}" for kind in KINDS for statistic in STATISTICS)]
    if text not in known:
        near = difflib.get_close_matches(text, known, n=1)
        hint = f"did you mean '{near[0]}'?" if near else "such as read.p99, all.mean or time"
        raise ConfigError(f"goal '{text}' is no figure; {hint} (all, read or write, then {', '.join(STATISTICS)})")
    kind, _, statistic = text.partition(".")
    return Goal("all", TIME) if text == TIME else Goal(kind, statistic)


def usual_goal(config: Mapping[str, Any]) -> Goal:
    """The goal where nobody chose: the mean response; in a closed loop, whose times are its depth's, the whole time."""
    return Goal("all", TIME if config["replay"]["queue_depth"] else "mean")


@dataclass(frozen=True)
class Figures:
    """The figures of a replay that are kept: times in ns, and counts (`figures["erases"]`)."""

    #: By kind, then by statistic; of kinds that some request has.
    response: Mapping[str, Mapping[str, float]]
    #: The wait ledger's means by kind, requests and charge, `service` among them.
    ledger: Mapping[str, Mapping[str, Mapping[str, float]]]
    counts: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.counts[name]

    def value(self, chosen: Goal) -> float | None:
        """The goal's figure in ns; None where no request has one."""
        if chosen.statistic == TIME:
            return float(self["completed_ns"]) if self["requests"] else None
        return self.response.get(chosen.kind, {}).get(chosen.statistic)

    def charges(self, chosen: Goal) -> Mapping[str, float]:
        """The time of the goal's requests by charge, in ns: waits and service."""
        return self.ledger.get(chosen.kind, {}).get(STATISTICS.get(chosen.statistic, ALL), {})

    def waited_share(self, chosen: Goal) -> float:
        """Which share of the goal's requests' time is waiting, 0 to 1; 0 where nothing is known of it."""
        charges = self.charges(chosen)
        total = sum(charges.values())
        return 1.0 - charges.get(SERVICE, 0.0) / total if total > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        """As it is written; not copied as by `asdict`, for that takes long."""
        return dict(vars(self))


def figures_of(summary: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> Figures:
    """The figures of a replay from its summary and the rows of its table `wait_ledger`."""
    response = {
        kind: {name: float(value) for name in STATISTICS if (value := found.get(f"{name}_ns")) is not None}
        for kind in KINDS
        if (found := dig(summary, summary_field(f"response.{kind}"))) and found["count"]
    }
    charged: dict[str, dict[str, dict[str, float]]] = {}
    for row in ledger:
        if row["mean_ns"] is not None:
            charges = charged.setdefault(row["kind"], {}).setdefault(row["requests"], {})
            charge = SERVICE if row["part"] == SERVICE else row["charge"]
            charges[charge] = charges.get(charge, 0.0) + float(row["mean_ns"])
    counts = {name: int(dig(summary, summary_field(path)) or 0) for name, path in COUNTS.items()}
    return Figures(response, charged, counts)
