"""Rows of the experiments that only `flashtwin fit jobs` asks for: one request at a time, depths, sizes, pauses, ..."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flashtwin.drives.histogram import Histogram, Times


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
    read_us: Times


@dataclass(frozen=True)
class Spikes:
    """Writes with a reader beside them: how often a read takes much longer than others."""

    writes: int
    #: Share of the reads that are spikes, and their median.
    share: float
    spike_us: float
    #: Writes from one spike to the next, as SSDcheck counts them; None where spikes have no period.
    period_writes: float | None


@dataclass(frozen=True)
class SequentialFill:
    """Sequential writes over the whole drive."""

    fill_gib: float
    mb_per_s: float
    #: The rate by hundredths of the drive.
    by_hundredths: tuple[float, ...]


@dataclass(frozen=True)
class MixedLoad:
    """Random reads and writes in a closed loop."""

    read_percent: float
    reads_per_s: float
    writes_per_s: float
    read_us: Times
    write_us: Times


@dataclass(frozen=True)
class WritesAfterPause:
    """Random writes after a pause."""

    pause_s: float
    #: Rate of the first seconds after the pause, and that of the end.
    first_per_s: float
    steady_per_s: float


@dataclass(frozen=True)
class WritesAfterDiscard:
    """Uniform writes to one half of the drive after the other half was discarded."""

    fill_gib: float
    amplification: float | None
    writes_per_s: float


@dataclass(frozen=True)
class Duplicates:
    """Random writes of which a share has contents that were written before."""

    duplicate_percent: float
    writes_per_s: float
    write_us: Times


@dataclass(frozen=True)
class Probes:
    """All rows of these experiments that were measured on one drive."""

    alone: tuple[SingleRequests, ...] = ()
    depths: tuple[Depth, ...] = ()
    sizes: tuple[SizedReads, ...] = ()
    spikes: tuple[Spikes, ...] = ()
    fills: tuple[SequentialFill, ...] = ()
    mixed: tuple[MixedLoad, ...] = ()
    paused: tuple[WritesAfterPause, ...] = ()
    discarded: tuple[WritesAfterDiscard, ...] = ()
    duplicates: tuple[Duplicates, ...] = ()
    #: Bytes that the drive offers, as `nvme id-ctrl` says; None where it was not asked.
    capacity_bytes: float | None = None
    #: Other facts, such as the model's name.
    told: Mapping[str, str] = field(default_factory=dict)

    def alone_of(self, kind: str) -> SingleRequests | None:
        """The requests of one kind that ran alone."""
        return next((row for row in self.alone if row.kind == kind), None)
