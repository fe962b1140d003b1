"""Rows of measurements by experiment: what a fit looks at, and what a twin is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flashtwin.drives.histogram import PERCENTILES as PERCENTILES  # noqa: PLC0414 - a name of this module as well
from flashtwin.drives.histogram import Histogram
from flashtwin.drives.histogram import Times as Times  # noqa: PLC0414
from flashtwin.drives.patterns import Pattern

#: Percentiles that a fit looks at. Beyond them, rare events decide that no law knows.
FITTED = ("50p", "90p", "99p", "99p9")


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

    @property
    def is_reached(self) -> bool:
        """Whether the drive keeps up: nearly all requests that are offered are answered."""
        return self.reads_per_s + self.writes_per_s >= 0.985 * self.offered_per_s

    @property
    def place(self) -> object:
        """The same for a row of a drive and of its twin; so for other rows."""
        return self.fill_gib, self.offered_per_s


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
class SizedReads:
    """Reads of one size, one at a time."""

    size_bytes: int
    mean_us: float


@dataclass(frozen=True)
class Datasheet:
    """The maker's specification (`datasheets.csv`); None where the sheet has no value."""

    model: str
    capacity_gb: float | None
    random_writes_per_s: float | None


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured on one drive."""

    drive: str
    open_loop: tuple[OpenLoop, ...] = ()
    overwritten: tuple[OverwriteRun, ...] = ()
    steady: tuple[SteadyWrites, ...] = ()
    datasheet: Datasheet | None = None
    alone: tuple[SingleRequests, ...] = ()
    depths: tuple[Depth, ...] = ()
    sizes: tuple[SizedReads, ...] = ()
    #: Bytes that the drive offers, as `nvme id-ctrl` says; None where it was not asked.
    capacity_bytes: float | None = None

    @property
    def saturated(self) -> tuple[OpenLoop, ...]:
        """Rows at which more was offered than the drive does."""
        return tuple(row for row in self.open_loop if not row.is_reached)

    def alone_of(self, kind: str) -> SingleRequests | None:
        """The requests of one kind that ran alone."""
        return next((row for row in self.alone if row.kind == kind), None)


#: The class of an experiment's rows, by its name in the long table, which is its field of `Measurements`.
EXPERIMENTS: Mapping[str, Any] = {
    "open_loop": OpenLoop, "overwritten": OverwriteRun, "steady": SteadyWrites, "alone": SingleRequests,
    "depths": Depth, "sizes": SizedReads,
}  # fmt: skip
Row = TypeVar("Row", OpenLoop, OverwriteRun, SteadyWrites)


def pairs(rows: Sequence[Row], twins: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Rows of the drive with those of the twin in the same place; equal ones in their order."""
    waiting: dict[object, list[Row]] = {}
    for row in twins:
        waiting.setdefault(row.place, []).append(row)
    for row in rows:
        if found := waiting.get(row.place):
            yield row, found.pop(0)
