"""Everything that was measured on a drive, in one folder: results of `flashtwin fit jobs`, tidy CSV files, or both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from flashtwin.drives import checks, counters, fio, tidy
from flashtwin.drives.figures import FatalDriveError, LongTable, Parameter
from flashtwin.drives.fio import FioJob, Served
from flashtwin.drives.histogram import Histogram
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Datasheet, Measurements
from flashtwin.errors import DriveError
from flashtwin.progress import Notify
from flashtwin.results import names

#: Of the submissions, the share at full depth from which more was offered than the drive does.
_SATURATED = 0.2
#: By how much the bytes of the host's counter may differ from those of fio.
_FOREIGN = 0.05
#: Overwrites after which random writes are in their steady state, for jobs that nobody divided into parts.
_STEADY_OVERWRITES = 3.0
_GIB = 2**30
#: Bytes of the writes that the tables count.
_PAGE_BYTES = 4096
#: Parameters and metrics of an experiment, by names of the long table.
_Figures = tuple[str, Mapping[str, Parameter], Mapping[str, float | Histogram | None]]


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
    table, unasked = _read(place, note, skip_bad=skip_bad)
    if not table.drives:
        why = unasked or [
            "`flashtwin fit jobs` prints the experiments to run. A CSV file needs the columns of one of these: "
            f"{tidy.COLUMNS}"
        ]
        raise DriveError(f"{place}: no measurements; {'; '.join(why)}")
    for text in unasked:
        note(f"left out: {text}")
    measured = table.measurements(place, drive, note, skip_bad=skip_bad)
    if place.is_dir() or place.suffix != ".csv":
        measured = _described(measured, (place if place.is_dir() else place.parent) / names.DRIVE_IDENTITY)
    for gap in gaps(measured):
        note(gap)
    return measured


def drives(place: Path) -> list[str]:
    """Names of the drives in a folder whose open loop was measured."""
    table, _ = _read(place, lambda _: None, skip_bad=True)
    has_rates = {one[:2] for one in table.figures if one.experiment == "open_loop"}
    return [name for name, own in table.drives.items() if own & has_rates]


def gaps(measured: Measurements) -> Iterator[str]:
    """Figures that the measurements do not determine for want of an experiment, and which one would."""
    counted = [row for row in measured.overwritten if row.amplification is not None]
    fills = {row.fill_gib for row in counted if row.pattern.kind == "uniform"}
    if measured.overwritten and not counted:
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


def _read(place: Path, note: Notify, *, skip_bad: bool) -> tuple[LongTable, list[str]]:
    """All figures, and why files that nobody asked for are left out."""
    if not place.exists():
        raise DriveError(
            f"{place}: there is no such file or folder; `flashtwin fit jobs` prints a script that makes it"
        )
    table, unasked = LongTable(), list[str]()

    def refuse(drive: str | None, error: DriveError) -> None:
        unasked.append(str(error)) if drive is None else table.refuse(drive, error)

    runs: dict[tuple[str, ...], list[FioJob]] = {}
    for file in sorted(place.iterdir()) if place.is_dir() else [place]:
        try:
            if file.suffix == ".csv":
                tidy.read(file, table)
            elif file.suffix in (".json", ".txt") or file == place:
                for job in _jobs(file, refuse):
                    runs.setdefault(_run(job), []).append(job)
        except DriveError as error:
            if not skip_bad:
                raise
            note(f"left out: {error}")
    for jobs in runs.values():
        _add(table, jobs, refuse)
    return table, unasked


def _jobs(file: Path, refuse: fio.Refuse) -> list[FioJob]:
    if file.name == names.DRIVE_IDENTITY or counters.is_counter_file(file):
        return []
    jobs = fio.read_jobs(file, refuse)
    if not jobs and (found := counters.recognized(file)):
        told = ", ".join(f"{count:,} bytes of the {kind}" for kind, count in found.items())
        refuse(None, DriveError(
            f"{file}: counters ({told}) of no job; name them JOB.before.{counters.SMART}.txt and so on, as the script "
            "of `flashtwin fit jobs` does"
        ))  # fmt: skip
    return jobs


def _run(job: FioJob) -> tuple[str, ...]:
    """Jobs of one experiment: parts of a run of writes, threads of an open loop."""
    if job.experiment not in (*_SEVERAL, "open-loop"):
        return str(job.file), job.name, str(job.tags)
    return job.drive, *(job.tags.get(tag, "") for tag in ("experiment", "series", "fill", "offered"))


def _add(table: LongTable, jobs: Sequence[FioJob], refuse: fio.Refuse) -> None:
    first = jobs[0]
    try:
        if first.experiment == "open-loop":
            made = [_open_loop(jobs)]
        elif first.experiment in _SEVERAL:
            made = _overwriting(jobs)
        elif first.experiment in _SINGLE:
            made = _SINGLE[first.experiment](first)
        else:
            refuse(None, DriveError(f"{first.place}: there is no experiment '{first.experiment}'"))
            made = []
        for experiment, parameters, metrics in made:
            table.add(first.drive, experiment, parameters, metrics, first.place)
    except DriveError as error:
        # The drive is none that the model can be, whoever asked for the job.
        is_asked = first.is_tagged or isinstance(error, FatalDriveError)
        refuse(first.drive if is_asked else None, error)


def _described(measured: Measurements, file: Path) -> Measurements:
    """With model and capacity as the drive says them (`nvme id-ctrl -o json`), where it was asked."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return measured
    if not isinstance(told, Mapping):
        return measured
    size, model = told.get("tnvmcap"), " ".join(str(told.get("mn") or "").split())
    is_known = isinstance(size, int | float) and not isinstance(size, bool) and 0 < size < float(1 << 60)
    capacity = float(int(size)) if is_known else None  # type: ignore[arg-type]
    sheet = Datasheet(model, None if capacity is None else capacity / 1e9, None) if model else None
    return replace(measured, capacity_bytes=capacity, datasheet=measured.datasheet or sheet)


# Experiments of one job.


def _percentiles(**served: Served | Histogram | None) -> dict[str, float | Histogram | None]:
    """Response times as metrics, e.g. `read_us_50p`."""
    times = {name: one.times if isinstance(one, Served) else one for name, one in served.items() if one is not None}
    return {f"{name}_{share}": time for name, one in times.items() for share, time in one.times_us.items()}


def _alone(kind: str) -> Callable[[FioJob], list[_Figures]]:
    return lambda job: [("alone", {"kind": kind}, {"times": job.served(kind, needs_bins=True).times})]


def _depth(job: FioJob) -> list[_Figures]:
    served, depth = job.served("read"), max(int(job.number("depth")), 1)
    return [("depths", {"depth": depth}, {"per_s": served.per_s, **_percentiles(read_us=served)})]


def _sized(job: FioJob) -> list[_Figures]:
    # The slowest responses come from the host; the mean of a thousand reads would be moved by one of them.
    mean_us = job.served("read", needs_bins=True).times.trimmed(0.99).mean_us
    return [("sizes", {"size_bytes": int(job.number("size"))}, {"mean_us": mean_us})]


def _spikes(job: FioJob) -> list[_Figures]:
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
    return [("spikes", {"writes": writes}, {
        "share": float(slow.mean()), "spike_us": float(np.median(reads[slow])) / 1e3 if slow.any() else 0.0,
        "period_writes": checks.period(at_write, writes),
    })]  # fmt: skip


def _sequential(job: FioJob) -> list[_Figures]:
    served, fill = job.served("write"), _fill_gib(job)
    if (log := fio.read_log(job, "bw")) is not None:
        fio.check_log_is_whole(job, log, served)
        drop = checks.slc_cache(checks.hundredths(log.value, log.time_ms))
        if drop is not None:
            raise FatalDriveError(
                f"{job.place}: the rate drops once, from {drop.before * 1.024e-3:,.0f} to "
                f"{drop.after * 1.024e-3:,.0f} MB/s, when {drop.at_share:.0%} of the drive is written: an SLC cache, "
                "which the twin does not have, so no fit would hold. Measure a drive without one, as most for data "
                "centres are, or one whose cache is turned off"
            )
    overwrites, pages_per_s = served.bytes / (fill * _GIB), served.bytes_per_s / _PAGE_BYTES
    return [_run_of_writes(job, Pattern("sequential"), overwrites, [job], pages_per_s)]


def _run_of_writes(job: FioJob, pattern: Pattern, overwrites: float, last: Sequence[FioJob], per_s: float) -> _Figures:
    series = job.tags.get("series", "")
    return (
        "overwritten",
        {"fill_gib": _fill_gib(job), "pattern": pattern, "series": series, "overwrites": overwrites},
        {"amplification": _amplification(last), "writes_per_s": per_s},
    )


_SINGLE: Mapping[str, Callable[[FioJob], list[_Figures]]] = {
    "read-alone": _alone("read"), "write-alone": _alone("write"), "read-depth": _depth, "read-size": _sized,
    "spikes": _spikes, "sequential": _sequential,
}  # fmt: skip
#: Experiments of parts that follow one another.
_SEVERAL = ("uniform", "zipf", "zones")
EXPERIMENTS = (*_SINGLE, *_SEVERAL, "open-loop")


# Experiments of several jobs.


def _open_loop(jobs: Sequence[FioJob]) -> _Figures:
    by_name = {job.name: job for job in jobs}
    fixed = by_name.get("fixed")
    if fixed is None or fixed.read is None or fixed.write is None:
        raise DriveError(
            f"{jobs[0].file}: the open loop has no job 'fixed' that reads and writes; its response times are the "
            "figures. Use the job file of `flashtwin fit jobs`"
        )
    bulk = by_name.get("bulk")
    reads, writes = (
        sum(side.per_s for job in by_name.values() if (side := getattr(job, kind)) is not None)
        for kind in ("read", "write")
    )
    # fio issues less than asked for where its host is short of time. Only at full depth it is the drive that holds it.
    full = max(job.share_deep for job in by_name.values()) >= _SATURATED
    offered = fixed.number("offered")
    if not full:
        offered = reads + writes
    if offered <= 0:
        raise DriveError(f"{fixed.place}: offered=0; the script computes it from the saturated rate")
    times = _percentiles(read_us=fixed.read, write_us=fixed.write, bulk_write_us=bulk.write if bulk else None)
    load = {"fill_gib": fixed.number("fill") / _GIB, "offered_per_s": offered}
    return "open_loop", load, {"reads_per_s": reads, "writes_per_s": writes, **times}


def _fill_gib(job: FioJob) -> float:
    fill = job.number("fill")
    if fill <= 0:
        raise DriveError(f"{job.place}: fill=0; the script sets FILL to the bytes in use")
    return fill / _GIB


def _overwriting(jobs: Sequence[FioJob]) -> list[_Figures]:
    """A run of random writes in parts: write amplification and rate of the last quarter."""
    parts = sorted(jobs, key=lambda job: job.number("part"))
    first = parts[0]
    of, fill = int(first.number("of")), _fill_gib(first)
    have = [int(job.number("part")) for job in parts]
    name = f"{first.file}: {first.experiment} at {fill:,.1f} GiB"
    if have != list(range(1, of + 1)):
        missing = sorted(set(range(1, min(of, 1000) + 1)) - set(have))
        which = f"{', '.join(map(str, missing))} of {of} are missing" if missing else "are there twice"
        raise DriveError(f"{name}: parts {which}; run the script again, it goes on where it stopped")
    writes = [job.served("write", needs_bins=len(parts) > 1) for job in parts]
    overwrites = sum(one.bytes for one in writes) / (fill * _GIB)
    reason = checks.unsteady([one.per_s for one in writes])
    if not first.is_tagged and overwrites < _STEADY_OVERWRITES:
        reason = f"its addresses were written {overwrites:.2g} times over, and {_STEADY_OVERWRITES:g} are needed"
    if reason:
        raise DriveError(
            f"{name}: the drive was not in its steady state: {reason}; write more often over it "
            "(`flashtwin fit jobs --overwrites 8`), and let nothing else use it"
        )
    last = max(of // 4, 1)
    return [_run_of_writes(first, _pattern(first), overwrites, parts[-last:], _rate(writes[-last:]))]


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
    return total / host


def _written(job: FioJob) -> counters.Counters:
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
