"""The figures of one replay that causes are told from, and the one of them that a user wants better.

Pure: plain numbers, kept as JSON, so that a replay done once answers for every goal.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flashtwin.errors import ConfigError

KINDS = ("all", "read", "write")
#: Figures of response times, each with the requests of the wait ledger that stand nearest to it.
STATISTICS: Mapping[str, str] = {
    "mean": "all",
    "p50": "all",
    "p90": "all",
    "p95": "slowest_1_percent",
    "p99": "slowest_1_percent",
    "p99_9": "slowest_0_1_percent",
    "p99_99": "slowest_0_1_percent",
    "max": "slowest_0_1_percent",
}
#: The goal of a closed loop: how long the drive takes for the whole trace.
TIME = "time"


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
    def requests(self) -> str:
        """The requests of the wait ledger that it is about."""
        return STATISTICS.get(self.statistic, "all")

    @property
    def words(self) -> str:
        """As a sentence names it."""
        if self.statistic == TIME:
            return "the time for the whole trace"
        of = {"all": "requests", "read": "reads", "write": "writes"}[self.kind]
        return (
            f"the mean response of {of}"
            if self.statistic == "mean"
            else f"the longest response of {of}"
            if self.statistic == "max"
            else f"the {self.statistic.replace('_', '.')} of {of}"
        )


def goal(text: str) -> Goal:
    """Reads `read.p99`, `all.mean`, `write.max` or `time`.

    Raises:
        ConfigError: there is no such figure; the message names the nearest.
    """
    known = [TIME, *(f"{kind}.{statistic}" for kind in KINDS for statistic in STATISTICS)]
    if text not in known:
        near = difflib.get_close_matches(text, known, n=1)
        hint = f"did you mean '{near[0]}'?" if near else "such as read.p99, all.mean or time"
        raise ConfigError(f"goal '{text}' is no figure; {hint} (all, read or write, then {', '.join(STATISTICS)})")
    kind, _, statistic = text.partition(".")
    return Goal("all", TIME) if text == TIME else Goal(kind, statistic)


def usual_goal(config: Mapping[str, Any]) -> Goal:
    """The goal where nobody chose: the mean response; in a closed loop, whose times are its depth's, the whole time."""
    return Goal("all", TIME) if config["replay"]["queue_depth"] else Goal("all", "mean")


@dataclass(frozen=True)
class Figures:
    """What of a replay is kept: times in ns, counts, bytes. Response times that no request has are missing."""

    #: By kind, then by statistic: ns.
    response: Mapping[str, Mapping[str, float]]
    #: By kind, requests and charge: ns of the mean.
    waits: Mapping[str, Mapping[str, Mapping[str, float]]]
    #: By kind and requests: ns of the mean that are no waiting.
    service: Mapping[str, Mapping[str, float]]
    requests: int
    completed_ns: int
    programs: int
    gc_programs: int
    erases: int
    copies: int
    ram_bytes: int
    pages_hashed: int
    mapping_misses: int
    duplicates_missed: int
    page_writes: int
    footprint_pages: int

    def value(self, chosen: Goal) -> float | None:
        """The goal's figure in ns; None where no request has one."""
        if chosen.statistic == TIME:
            return float(self.completed_ns) if self.requests else None
        return self.response.get(chosen.kind, {}).get(chosen.statistic)

    def waited_share(self, chosen: Goal) -> float:
        """Which share of the goal's requests' time is waiting, 0 to 1; 0 where nothing is known of it."""
        total = self.ledger_ns(chosen)
        return sum(self.charges(chosen).values()) / total if total > 0 else 0.0

    def ledger_ns(self, chosen: Goal) -> float:
        """The mean of the goal's requests as the wait ledger has it: waiting and service, in ns."""
        return sum(self.charges(chosen).values()) + self.service.get(chosen.kind, {}).get(chosen.requests, 0.0)

    def charges(self, chosen: Goal) -> Mapping[str, float]:
        """What the goal's requests wait for: ns by charge of the wait ledger."""
        return self.waits.get(chosen.kind, {}).get(chosen.requests, {})

    def as_json(self) -> dict[str, Any]:
        """As it is written."""
        return asdict(self)


def figures_of(summary: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> Figures:
    """The figures of a replay from its summary and the rows of its table `wait_ledger`."""
    response = {
        kind: {name: float(value) for name in STATISTICS if (value := found.get(f"{name}_ns")) is not None}
        for kind in KINDS
        if (found := summary["response"].get(kind)) and found.get("count")
    }
    waits: dict[str, dict[str, dict[str, float]]] = {}
    service: dict[str, dict[str, float]] = {}
    for row in ledger:
        kind, requests, charge, mean = (row[key] for key in ("kind", "requests", "charge", "mean_ns"))
        if mean is None:
            continue
        if row["part"] == "service":
            of_kind = service.setdefault(kind, {})
            of_kind[requests] = of_kind.get(requests, 0.0) + float(mean)
        else:
            waits.setdefault(kind, {}).setdefault(requests, {})[charge] = float(mean)
    writes = summary["flash_writes"]
    return Figures(
        response=response,
        waits=waits,
        service=service,
        requests=int(summary["requests"]["completed"]),
        completed_ns=int(summary["completed_ns"]),
        programs=int(summary["pages_programmed"]),
        gc_programs=int(writes["gc"]),
        erases=int(summary["erases"]["total"]),
        copies=int(writes["replica"]),
        ram_bytes=int(summary["ram"]["total_bytes"]),
        pages_hashed=int(summary["page_ops"]["pages_hashed"]),
        mapping_misses=int((summary.get("mapping_cache") or {}).get("misses") or 0),
        duplicates_missed=int((summary.get("dedup") or {}).get("duplicates_missed") or 0),
        page_writes=int(summary["page_ops"]["write"]),
        footprint_pages=int(summary["trace"]["footprint_pages"]),
    )
