"""Everything that was measured on a drive, in one folder: results of `flashtwin fit jobs`, tidy CSV files, or both."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from flashtwin.drives import checks, counters, fio, tables
from flashtwin.drives.counters import BytesWritten
from flashtwin.drives.fio import FioJob, Served
from flashtwin.drives.histogram import Histogram
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.probes import (
    Depth,
    Duplicates,
    MixedLoad,
    Probes,
    SequentialFill,
    SingleRequests,
    SizedReads,
    Spikes,
    WritesAfterDiscard,
    WritesAfterPause,
)
from flashtwin.drives.tables import Datasheet, Measurements, OpenLoop, OverwriteRun, SteadyWrites
from flashtwin.errors import DriveError
from flashtwin.progress import Notify
from flashtwin.results import names

#: The file with the drive's own description (`nvme id-ctrl -o json`).
IDENTITY = names.DRIVE_IDENTITY
#: Of the submissions, the share at full depth from which more was offered than the drive does.
_SATURATED = 0.2
#: By how much the bytes of the host's counter may differ from those of fio.
_FOREIGN = 0.05
_GIB = 2**30
#: Bytes of the writes that the tables count.
_PAGE_BYTES = 4096
#: Name of a drive whose jobs do not say it.
_NAMELESS = "my-drive"
#: Seconds at the beginning of a job after a pause.
_FIRST_S = 5.0
_Of = TypeVar("_Of")
_Made = TypeVar("_Made")


@dataclass
class _Folder:
    """One folder as it is read."""

    folder: Path
    note: Notify
    #: Whether an experiment that cannot be used is left out, and said, instead of ending everything.
    skip_bad: bool
    rows: tables.Rows = field(default_factory=dict)

    def tried(self, make: Callable[[_Of], Sequence[_Made]], of: _Of) -> Sequence[_Made]:
        """What `make` makes of a file or of jobs; nothing where that cannot be used and is to be left out."""
        try:
            return make(of)
        except DriveError as error:
            if not self.skip_bad or isinstance(error, SlcCacheError):
                raise
            self.note(f"left out: {error}")
            return []


def read_results(
    place: Path, drive: str | None = None, note: Notify = lambda _: None, *, skip_bad: bool = False
) -> Measurements:
    """The measurements of one drive in a folder, or in one CSV file or one result of fio.

    Args:
        place: the folder or file.
        drive: its name, where there are several.
        note: called with what is missing or was left out.
        skip_bad: leave out experiments that cannot be used, except where they say that no twin fits.

    Raises:
        DriveError: nothing can be used, several drives are there and none is named, or an experiment cannot be used;
            the message names the file, the job and the cure.
    """
    if not place.exists():
        raise DriveError(
            f"{place}: there is no such file or folder; `flashtwin fit jobs` prints a script that makes it"
        )
    reading = _Folder(place, note, skip_bad)
    if place.is_dir() or place.suffix == ".csv":
        reading.rows.update(tables.found_rows(place))
    jobs: dict[str, list[FioJob]] = {}
    for job in _jobs(reading):
        jobs.setdefault(job.drive or _NAMELESS, []).append(job)
    names = {name for name, rows in reading.rows.items() if not all(isinstance(row, Datasheet) for row in rows)}
    for name, own in jobs.items():
        # Of several drives only the one that is asked for is looked at; the others are named at most.
        is_asked = name == drive or (drive is None and names | jobs.keys() == {name})
        reading.rows.setdefault(name, []).extend(_rows(reading, own) if is_asked else [Probes()])
    measured = tables.gathered(place, reading.rows, drive)
    told = measured.probes.told
    if measured.datasheet is None and told.get("model"):
        measured = replace(measured, datasheet=_datasheet(told))
    for gap in gaps(measured):
        note(gap)
    return measured


def gaps(measured: Measurements) -> Iterator[str]:
    """Figures that the measurements do not determine for want of an experiment, and which one would."""
    counted = [row for row in measured.overwritten if row.pattern.kind == "uniform" and row.amplification is not None]
    fills = {row.fill_gib for row in counted}
    if measured.overwritten and not any(row.amplification is not None for row in measured.overwritten):
        yield (
            "no run of writes has counters of the medium's bytes: spare space and write amplification are not "
            "determined; if the drive knows `nvme ocp smart-add-log`, run the jobs again with it installed"
        )
    elif len(fills) < 2:
        yield (
            f"uniform writes with counters: {len(fills)} of two fills at least; spare space and overhead are not "
            "determined, and four fills tell them well; run the jobs `uniform-...` of `flashtwin fit jobs "
            "--destroys-data DEVICE`"
        )


def _jobs(reading: _Folder) -> list[FioJob]:
    if reading.folder.is_dir():
        files = sorted(reading.folder.glob("*.json"))
    else:
        files = [reading.folder] if reading.folder.suffix != ".csv" else []
    found: list[FioJob] = []
    for file in files:
        if file.name == IDENTITY or file.name.endswith((f".{counters.SMART}.json", f".{counters.OCP}.json")):
            continue
        found += reading.tried(fio.read_jobs, file)
    return found


def _rows(reading: _Folder, jobs: Sequence[FioJob]) -> list[object]:
    """The rows of one drive: experiments of one job each, and those of several parts."""
    probes: list[object] = []
    rows: list[object] = []
    runs: dict[tuple[str, ...], list[FioJob]] = {}
    for job in jobs:
        if job.experiment in _SEVERAL:
            runs.setdefault(_SEVERAL[job.experiment](job), []).append(job)
        elif job.experiment in _SINGLE:
            probes += reading.tried(_of_one, job)
        else:
            reading.note(f"{job.place}: there is no experiment '{job.experiment}'; it is left out")
    for parts in runs.values():
        for row in reading.tried(_of_run, parts):
            (probes if isinstance(row, SequentialFill | WritesAfterDiscard) else rows).append(row)
    return [*rows, _probes(probes, _identity(reading.folder))]


def _probes(rows: Sequence[object], told: Mapping[str, str]) -> Probes:
    kinds: dict[str, type] = {
        "alone": SingleRequests, "depths": Depth, "sizes": SizedReads, "spikes": Spikes, "fills": SequentialFill,
        "mixed": MixedLoad, "paused": WritesAfterPause, "discarded": WritesAfterDiscard, "duplicates": Duplicates,
    }  # fmt: skip
    found = {name: tuple(row for row in rows if isinstance(row, kind)) for name, kind in kinds.items()}
    capacity = float(told["capacity"]) if told.get("capacity") else None
    whole = replace(Probes(**found), capacity_bytes=capacity, told=told)  # type: ignore[arg-type]
    return replace(
        whole,
        depths=tuple(sorted(whole.depths, key=lambda row: row.depth)),
        sizes=tuple(sorted(whole.sizes, key=lambda row: row.size_bytes)),
    )


def _identity(folder: Path) -> dict[str, str]:
    """Model and capacity as the drive says them; nothing where it was not asked."""
    file = (folder if folder.is_dir() else folder.parent) / IDENTITY
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(value, Mapping):
        return {}
    capacity = value.get("tnvmcap")
    known = isinstance(capacity, int | float) and not isinstance(capacity, bool) and 0 < capacity < float(1 << 60)
    return {
        "model": " ".join(str(value.get("mn") or "").split()),
        **({"capacity": str(int(capacity))} if known else {}),  # type: ignore[arg-type]
    }


def _datasheet(told: Mapping[str, str]) -> Datasheet:
    capacity = told.get("capacity")
    return Datasheet(told["model"], None if capacity is None else float(capacity) / 1e9, None)


# Experiments of one job.


def _alone(kind: str) -> Callable[[FioJob], SingleRequests]:
    return lambda job: SingleRequests(kind, job.served(kind).times)


def _depth(job: FioJob) -> Depth:
    served = job.served("read")
    return Depth(max(int(job.number("depth")), 1), served.per_s, served.times.times_us)


def _sized(job: FioJob) -> SizedReads:
    served = job.served("read")
    # The slowest responses come from the host; the mean of a thousand reads would be moved by one of them.
    return SizedReads(int(job.number("size")), served.times.trimmed(0.99).mean_us, served.times.times_us)


def _spikes(job: FioJob) -> Spikes:
    log = fio.read_log(job, "lat")
    if log is None:
        raise DriveError(
            f"{job.place}: its log of latencies is missing, which tells the buffer's size; run it again in the folder "
            "of the results, or delete the file to fit without it"
        )
    writes = int(log.is_write.sum())
    reads = log.value[~log.is_write]
    if not reads.size or not writes:
        raise DriveError(f"{job.place}: its log has no reads or no writes; run it again with its own job file")
    slow = checks.spikes(reads)
    at_write = np.cumsum(log.is_write)[~log.is_write][slow]
    return Spikes(
        writes, float(slow.mean()), float(np.median(reads[slow])) / 1e3 if slow.any() else 0.0,
        checks.period(at_write, writes),
    )  # fmt: skip


def _mixed(job: FioJob) -> MixedLoad:
    return MixedLoad(job.number("reads"), *_rates(job), *_times(job))


def _rates(job: FioJob) -> tuple[float, float]:
    return job.read.per_s if job.read else 0.0, job.write.per_s if job.write else 0.0


def _times(job: FioJob) -> tuple[Mapping[str, float], Mapping[str, float]]:
    return job.read.times.times_us if job.read else {}, job.write.times.times_us if job.write else {}


def _paused(job: FioJob) -> WritesAfterPause:
    log = fio.read_log(job, "bw")
    served = job.served("write")
    if log is None:
        raise DriveError(f"{job.place}: its log of bandwidth is missing; run it again in the folder of the results")
    fio.check_log_is_whole(job, log, served)
    per_s = log.value / 4.0
    first = per_s[log.time_ms <= _FIRST_S * 1e3]
    last = per_s[log.time_ms > log.time_ms.max() / 2]
    return WritesAfterPause(job.number("pause"), float((first if first.size else per_s).mean()), float(last.mean()))


def _duplicates(job: FioJob) -> Duplicates:
    served = job.served("write")
    return Duplicates(job.number("duplicates"), served.per_s, served.times.times_us)


_SINGLE: Mapping[str, Callable[[FioJob], object]] = {
    "read-alone": _alone("read"), "write-alone": _alone("write"), "read-depth": _depth, "read-size": _sized,
    "spikes": _spikes, "mixed": _mixed, "paused": _paused, "duplicates": _duplicates,
}  # fmt: skip


def _of_one(job: FioJob) -> list[object]:
    return [_SINGLE[job.experiment](job)]


# Experiments of several jobs.


def _run(job: FioJob) -> tuple[str, ...]:
    """Jobs of one run: parts of the same series at the same fill."""
    return job.experiment, job.tags.get("series", ""), job.tags.get("fill", "")


#: The columns that identify the jobs of one run.
_SEVERAL: Mapping[str, Callable[[FioJob], tuple[str, ...]]] = {
    "open-loop": lambda job: (job.experiment, job.tags.get("offered", ""), job.tags.get("fill", "")),
    **dict.fromkeys(("sequential", "uniform", "zipf", "zones", "discarded"), _run),
}


def _of_run(jobs: Sequence[FioJob]) -> list[object]:
    experiment = jobs[0].experiment
    if experiment == "open-loop":
        return [_open_loop(jobs)]
    if experiment == "sequential":
        return _sequential(jobs[0])
    return _overwriting(jobs)


def _open_loop(jobs: Sequence[FioJob]) -> OpenLoop:
    by_name = {job.name: job for job in jobs}
    fixed = by_name.get("fixed")
    if fixed is None or fixed.read is None or fixed.write is None:
        raise DriveError(
            f"{jobs[0].file}: the open loop has no job 'fixed' that reads and writes; its response times are the "
            "figures. Use the job file of `flashtwin fit jobs`"
        )
    bulk = by_name.get("bulk")
    rates = [_rates(job) for job in by_name.values()]
    reads, writes = sum(rate for rate, _ in rates), sum(rate for _, rate in rates)
    # fio issues less than asked for where its host is short of time. Only at full depth it is the drive that holds it.
    full = max(job.share_deep for job in by_name.values()) >= _SATURATED
    offered = jobs[0].number("offered")
    if not full:
        offered = reads + writes
    if offered <= 0:
        raise DriveError(f"{fixed.place}: offered=0; the script computes it from the saturated rate")
    return OpenLoop(
        fixed.number("fill") / _GIB, offered, reads, writes, fixed.read.times.times_us, fixed.write.times.times_us,
        bulk.write.times.times_us if bulk is not None and bulk.write is not None else {},
    )  # fmt: skip


def _sequential(job: FioJob) -> list[object]:
    served = job.served("write")
    fill = _fill_gib(job)
    series = job.tags.get("series", "")
    row = OverwriteRun(
        fill, Pattern("sequential"), series, served.bytes / (fill * _GIB), _amplification([job]),
        served.bytes_per_s / _PAGE_BYTES,
    )  # fmt: skip
    log = fio.read_log(job, "bw")
    if log is None:
        return [row]
    fio.check_log_is_whole(job, log, served)
    rates = checks.hundredths(log.value, log.time_ms)
    drop = checks.slc_cache(rates)
    if drop is not None:
        raise SlcCacheError(
            f"{job.place}: the rate drops once, from {drop.before * 1.024e-3:,.0f} to {drop.after * 1.024e-3:,.0f} "
            f"MB/s, when {drop.at_share:.0%} of the drive is written: an SLC cache, which the twin does not have, so "
            "no fit would hold. Measure a drive without one, as most for data centres are, or one whose cache is "
            "turned off"
        )
    return [row, SequentialFill(fill, served.bytes_per_s / 1e6, tuple(float(rate) * 1.024e-3 for rate in rates))]


class SlcCacheError(DriveError):
    """The drive has a cache that the twin does not have: no experiment of it can be used."""


def _fill_gib(job: FioJob) -> float:
    fill = job.number("fill")
    if fill <= 0:
        raise DriveError(f"{job.place}: fill=0; the script sets FILL to the bytes in use")
    return fill / _GIB


def _overwriting(jobs: Sequence[FioJob]) -> list[object]:
    """A run of random writes in parts: write amplification and rate of the last quarter."""
    parts = sorted(jobs, key=lambda job: job.number("part"))
    first = parts[0]
    of = int(first.number("of"))
    have = [int(job.number("part")) for job in parts]
    name = f"{first.file}: {first.experiment} at {_fill_gib(first):,.1f} GiB"
    if have != list(range(1, of + 1)):
        missing = sorted(set(range(1, min(of, 1000) + 1)) - set(have))
        which = f"{', '.join(map(str, missing))} of {of} are missing" if missing else "are there twice"
        raise DriveError(f"{name}: parts {which}; run the script again, it goes on where it stopped")
    writes = [job.served("write") for job in parts]
    if reason := checks.unsteady([one.per_s for one in writes]):
        raise DriveError(
            f"{name}: the drive was not in its steady state: {reason}; write more often over it "
            "(`flashtwin fit jobs --overwrites 8`), and let nothing else use it"
        )
    last = max(of // 4, 1)
    fill = _fill_gib(first)
    amplification = _amplification(parts[-last:])
    per_s = _rate(writes[-last:])
    if first.experiment == "discarded":
        return [WritesAfterDiscard(fill, amplification, per_s)]
    overwrites = sum(one.bytes for one in writes) / (fill * _GIB)
    series, pattern = first.tags.get("series", ""), _pattern(first)
    times = Histogram.merged(one.times for one in writes[-last:]).times_us
    return [
        OverwriteRun(fill, pattern, series, overwrites, amplification, per_s),
        SteadyWrites(series, pattern, per_s, times),
    ]


def _rate(writes: Sequence[Served]) -> float:
    """Of parts of equal size: all requests by all the time."""
    seconds = sum(one.requests / one.per_s for one in writes if one.per_s > 0)
    if seconds <= 0:
        raise DriveError("a part of random writes took no time; run it again with its own job file")
    return sum(one.requests for one in writes) / seconds


def _pattern(job: FioJob) -> Pattern:
    """As the tables name it. fio's zipf has a name of its own: it never writes two addresses in five."""
    if job.experiment == "zipf":
        return Pattern("fiozipf", exponent=job.number("exponent"))
    if job.experiment == "zones":
        share, writes = job.number("hot") / 100, job.number("writes") / 100
        if not (0 < share < 1 and 0 < writes < 1):
            raise DriveError(f"{job.place}: hot={share:.0%} of the addresses and writes={writes:.0%} are no shares")
        return Pattern("zones", zones=((share, writes), (1 - share, 1 - writes)))
    return Pattern("uniform")


def _amplification(jobs: Sequence[FioJob]) -> float | None:
    """Bytes of the medium by bytes of the host; None where the medium's are not counted."""
    counted = [_written(job) for job in jobs]
    medium = [one.medium_bytes for one in counted]
    if any(one is None for one in medium):
        return None
    host = sum(job.served("write").bytes for job in jobs)
    total = sum(one for one in medium if one is not None)
    if host <= 0 or total <= 0:
        raise DriveError(
            f"{jobs[-1].place}: the medium's counter did not move; some drives count only every few minutes. Write "
            "more a part (`flashtwin fit jobs --overwrites 8`), or delete its .ocp files to fit without them"
        )
    found = total / host
    if not 0.05 < found < 1000 or not math.isfinite(found):
        raise DriveError(
            f"{jobs[-1].place}: the medium took {found:.3g} times the host's bytes, which no drive does; is the "
            "counter in another unit than bytes? Write the files with `nvme ocp smart-add-log DEVICE -o json`"
        )
    return found


def _written(job: FioJob) -> BytesWritten:
    stem = job.file.name.removesuffix(".json")
    folder = job.file.parent
    before, after = (counters.read_counters(folder, stem, moment) for moment in ("before", "after"))
    found = counters.written(before, after, job.place)
    by_fio = job.served("write").bytes
    if found.host_bytes is not None:
        # Counters of data units are cut to thousands of sectors, and the end of a job waits in RAM.
        slack = max(_FOREIGN * by_fio, 16 * counters.DATA_UNIT_BYTES)
        if abs(found.host_bytes - by_fio) > slack:
            raise DriveError(
                f"{job.place}: the drive counts {found.host_bytes:,} bytes of the host and fio {by_fio:,}; does "
                "something else write to the drive, or is the file of another run? Run the job again"
            )
    return found
