"""Rows of measurements by experiment: the input of a fit, and the questions to a twin."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from flashtwin.drives.estimates import Estimate
from flashtwin.drives.histogram import Histogram, Times
from flashtwin.drives.patterns import Pattern
from flashtwin.errors import DriveError

#: Percentiles that a fit looks at. Beyond them, rare events decide that no law knows.
FITTED = ("50p", "90p", "99p", "99p9")
#: The name of the saturated rate among the estimates.
SATURATED_RATE = "saturated_writes_per_s"
#: Rows up to this share of the saturated rate; nearer to it one per cent of the rate is a factor of the time.
BELOW_THE_KNEE = 0.97
#: Threads of an open loop that a twin can tell apart.
MOST_THREADS = 250
#: Overwrites after which random writes are in their steady state.
STEADY_OVERWRITES = 3.0
#: A drive keeps up if it serves this share of the requests.
_REACHED = 0.985
#: Fills that differ by less are the same.
_SAME_FILL = 0.02
#: Lightest rates that tell requests beside the offered ones, and by how much these may differ.
_LIGHTEST, _AGREE = 3, 0.1


@dataclass(frozen=True)
class Load:
    """The threads of an open loop. The defaults are those of SSD-iq's tables and of `flashtwin fit jobs`."""

    #: Of the thread whose response times count; half of it are reads. 0: there is none, and all threads count.
    fixed_per_s: float = 10_000.0
    #: Share of reads of the other threads, which send with exponential gaps.
    read_share: float = 0.01
    #: Requests of a thread that are under way at most.
    depth: int = 64
    #: How many others there are.
    threads: int = 6

    @property
    def under_way(self) -> int:
        """Requests of all threads that are under way at most."""
        return (self.threads + (self.fixed_per_s > 0)) * self.depth


@dataclass(frozen=True)
class OpenLoop:
    """Response times of 4 KB requests at a rate that is offered, in steady state (`latency.csv`)."""

    fill_gib: float
    offered_per_s: float
    reads_per_s: float
    writes_per_s: float
    read_us: Times
    write_us: Times
    #: Of the threads that write nearly all; empty where it was not measured by itself.
    bulk_write_us: Times = field(default_factory=dict)
    load: Load = Load()
    #: Requests asked for, where a table does not count all of them as offered.
    asked_per_s: float | None = None
    #: Loads that were played, of a row of a twin.
    seeds: int = 1

    @property
    def served_per_s(self) -> float:
        return self.reads_per_s + self.writes_per_s

    @property
    def is_reached(self) -> bool:
        """Whether the drive keeps up: nearly all requests that were asked for are answered."""
        return self.served_per_s >= _REACHED * (self.asked_per_s or self.offered_per_s)

    @property
    def is_saturated(self) -> bool:
        """Whether more was asked for than the drive does."""
        return not self.is_reached

    @property
    def place(self) -> object:
        """The same for a row of a drive and of its twin; so for other rows."""
        return self.fill_gib, self.offered_per_s, self.load

    def __str__(self) -> str:
        return f"open loop, {self.offered_per_s:,.0f}/s"


@dataclass(frozen=True)
class OverwriteRun:
    """Write amplification and rate of a pattern, closed loop (`write-amplification.csv`)."""

    fill_gib: float
    pattern: Pattern
    #: Runs of one series follow one another on the drive, in the order of the file.
    series: str
    #: How often all addresses in use were written.
    overwrites: float
    #: Bytes of the medium by bytes of the host, in the last quarter; None where it was not counted.
    amplification: float | None
    writes_per_s: float

    @property
    def place(self) -> object:
        return self.fill_gib, self.pattern, self.series, self.overwrites

    def __str__(self) -> str:
        return f"{self.pattern} at {self.fill_gib:g} GiB, {self.series}".rstrip(", ")


@dataclass(frozen=True)
class SteadyWrites:
    """4 KB writes a second in steady state, closed loop (`steady-writes.csv`)."""

    series: str
    pattern: Pattern
    writes_per_s: float
    write_us: Times

    @property
    def place(self) -> object:
        return self.pattern, self.series

    def __str__(self) -> str:
        return f"{self.pattern}, {self.series}".rstrip(", ")


@dataclass(frozen=True)
class SingleRequests:
    """4 KB requests one at a time, on a drive that does nothing else."""

    #: `read` or `write`.
    kind: str
    times: Histogram


@dataclass(frozen=True)
class Depth:
    """4 KB reads with a number of them under way."""

    depth: int
    per_s: float
    read_us: Times


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured on one drive."""

    drive: str
    open_loop: tuple[OpenLoop, ...] = ()
    overwritten: tuple[OverwriteRun, ...] = ()
    steady: tuple[SteadyWrites, ...] = ()
    alone: tuple[SingleRequests, ...] = ()
    depths: tuple[Depth, ...] = ()
    #: Bytes that the drive offers, as `nvme id-ctrl` says; None where it was not asked.
    capacity_bytes: float | None = None
    #: The drive's own name; empty where it was not asked.
    model: str = ""
    #: The letter of the unit, where rows name one: another unit is another drive, whatever its model is called.
    unit: str = ""

    @property
    def saturated(self) -> tuple[OpenLoop, ...]:
        """Rows at which more was asked for than the drive does."""
        return tuple(row for row in self.open_loop if row.is_saturated)

    @property
    def used_gib(self) -> float:
        """Space in use under the open loop, or else at most; 0 where no row says it."""
        rows = self.open_loop or self.overwritten
        return max((row.fill_gib for row in rows), default=0.0)

    @property
    def specimen(self) -> str:
        """The name of the very drive."""
        return f"{self.drive}-{self.unit}" if self.unit and not self.drive.endswith(f"-{self.unit}") else self.drive

    def alone_of(self, kind: str) -> SingleRequests | None:
        """The requests of one kind that ran alone."""
        return next((row for row in self.alone if row.kind == kind), None)

    def below(self, saturated_per_s: float) -> list[OpenLoop]:
        """The rows of the open loop that the drive keeps up with by a margin."""
        most = BELOW_THE_KNEE * saturated_per_s
        return [row for row in self.open_loop if row.is_reached and row.writes_per_s <= most]

    @property
    def knee(self) -> Estimate:
        """Writes a second beyond which more cannot be done.

        Raises:
            DriveError: nothing tells.
        """
        closed = [row.writes_per_s for row in self.overwritten
                  if row.pattern.kind == "uniform" and abs(row.fill_gib / self.used_gib - 1) < _SAME_FILL]  # fmt: skip
        closed = closed or [row.writes_per_s for row in self.steady if row.pattern.kind == "uniform"]
        for rates, source in (
            ([row.writes_per_s for row in self.saturated], "open loop, {} rates that the drive does not reach"),
            (closed, "{} runs of uniform writes, closed loop"),
        ):
            if rates:
                return Estimate(SATURATED_RATE, statistics.median(rates), "1/s", min(rates), max(rates),
                                source.format(len(rates)))  # fmt: skip
        raise DriveError(
            f"{self.drive}: nothing tells how many writes a second saturate it; measure the open loop beyond what the "
            "drive reaches, or uniform writes in a closed loop"
        )


#: The class of an experiment's rows, by its name in the long table, which is its field of `Measurements`.
EXPERIMENTS: Mapping[str, Any] = {
    "open_loop": OpenLoop, "overwritten": OverwriteRun, "steady": SteadyWrites, "alone": SingleRequests,
    "depths": Depth,
}  # fmt: skip
Row = TypeVar("Row", OpenLoop, OverwriteRun, SteadyWrites)


def pairs(rows: Sequence[Row], twins: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Rows of the drive with those of the twin in the same place; equal ones in their order."""
    waiting: dict[object, list[Row]] = {}
    for row in twins:
        waiting.setdefault(row.place, []).append(row)
    for row in rows:
        if equal := waiting.get(row.place):
            yield row, equal.pop(0)


def with_asked(rows: Sequence[OpenLoop]) -> list[OpenLoop]:
    """The open loop with the requests that were asked for, by rate.

    Some tables leave the reads of the fixed thread out of the offered rate. At light rates everything is served, so the
    surplus there tells them: it is the same at all rates.
    """
    rows = sorted(rows, key=lambda row: row.offered_per_s)
    by_load: dict[Load, list[OpenLoop]] = {}
    for row in rows:
        by_load.setdefault(row.load, []).append(row)
    more = {load: _surplus_per_s(same) for load, same in by_load.items()}
    return [row if row.asked_per_s else replace(row, asked_per_s=row.offered_per_s + more[row.load]) for row in rows]


def _surplus_per_s(rows: Sequence[OpenLoop]) -> float:
    fixed = rows[0].load.fixed_per_s
    lightest = [row.served_per_s - row.offered_per_s for row in rows[:_LIGHTEST]]
    middle = statistics.median(more for more in lightest if abs(more - lightest[0]) <= _AGREE * fixed)
    return middle if 0.0 < middle <= (1.0 + _AGREE) * fixed else 0.0
