"""Everything that was measured on a drive, in one folder: results of `flashtwin fit jobs`, tidy CSV files, or both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from flashtwin.drives import checks, counters, fio, tidy
from flashtwin.drives.figures import FatalDriveError, LongTable, Parameter
from flashtwin.drives.fio import FioJob, Served
from flashtwin.drives.histogram import Histogram
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import MOST_THREADS, STEADY_OVERWRITES, Measurements, OverwriteRun, SteadyWrites
from flashtwin.errors import DriveError
from flashtwin.progress import Notify
from flashtwin.results import names

#: Of the submissions, the share at full depth from which more was offered than the drive does.
_SATURATED = 0.2
#: By how much the bytes of the host's counter may differ from those of fio.
_FOREIGN = 0.05
_GIB = 2**30
#: Missing parts of a run that a message names.
_NAMED = 8
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
    table = _read(place)
    if not table.drives:
        for error in table.unread:
            raise error
        why = table.unasked or [
            "`flashtwin fit jobs` prints the experiments to run. A CSV file needs the columns of one of these: "
            f"{tidy.COLUMNS}"
        ]
        raise DriveError(f"{place}: no measurements; {'; '.join(why)}")
    for text in table.unasked:
        note(f"left out: {text}")
    measured = table.measurements(place, drive, note, skip_bad=skip_bad)
    if place.is_dir() or place.suffix != ".csv":
        measured = _described(measured, (place if place.is_dir() else place.parent) / names.DRIVE_IDENTITY)
    for gap in gaps(measured):
        note(gap)
    return measured


def drives(place: Path) -> list[str]:
    """Names of the drives in a folder whose open loop was measured."""
    table = _read(place)
    has_rates = {one[:2] for one in table.figures if one.experiment == "open_loop"}
    return [name for name, own in table.drives.items() if own & has_rates]


def gaps(measured: Measurements) -> Iterator[str]:
    """Figures that the measurements do not determine for want of an experiment, and which one would."""
    rows: list[OverwriteRun | SteadyWrites] = [*measured.overwritten, *measured.steady]
    for row in rows:
        if not row.pattern.is_known:
            yield f"left out: {row}: nobody can draw its addresses again"
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


def _read(place: Path) -> LongTable:
    """All figures, and what cannot be used."""
    if not place.exists():
        raise DriveError(
            f"{place}: there is no such file or folder; `flashtwin fit jobs` prints a script that makes it"
        )
    table = LongTable()
    runs: dict[tuple[str, ...], list[FioJob]] = {}
    for file in sorted(place.iterdir()) if place.is_dir() else [place]:
        try:
            if file.suffix == ".csv":
                tidy.read(file, table)
            elif file.suffix in (".json", ".txt") or file == place:
                for job in _jobs(file, table.refuse):
                    runs.setdefault(_run(job), []).append(job)
        except DriveError as error:
            # Text beside the results may be anything.
            table.unasked.append(str(error)) if file.suffix == ".txt" else table.unread.append(error)
    for jobs in runs.values():
        _add(table, jobs)
    return table


def _jobs(file: Path, refuse: fio.Refuse) -> list[FioJob]:
    if file.name == names.DRIVE_IDENTITY or counters.is_counter_file(file):
        return []
    jobs = fio.read_jobs(file, refuse)
    if not jobs and (counts := counters.recognized(file)):
        told = ", ".join(f"{count:,} bytes of the {kind}" for kind, count in counts.items())
        refuse(None, DriveError(
            f"{file}: counters ({told}) of no job; name them JOB.before.{counters.SMART}.txt and so on, as the script "
            "of `flashtwin fit jobs` does"
        ))  # fmt: skip
    return jobs


def _run(job: FioJob) -> tuple[str, ...]:
    """Equal for the jobs of one experiment: parts of a run of writes, threads of an open loop."""
    if job.experiment == "rated":
        return str(job.file), "rated"
    if "part" not in job.tags and job.experiment != "open-loop":
        return str(job.file), job.name, str(job.tags)
    return job.drive, *(job.tags.get(tag, "") for tag in ("experiment", "series", "fill", "offered"))


def _add(table: LongTable, jobs: Sequence[FioJob]) -> None:
    first = jobs[0]
    if first.experiment not in EXPERIMENTS:
        table.refuse(None, DriveError(f"{first.place}: there is no experiment '{first.experiment}'"))
        return
    try:
        table.add(first.drive, *EXPERIMENTS[first.experiment](jobs), first.place)
    except DriveError as error:
        # Of a drive that is none that the model can be, nothing else counts, whoever asked for the job.
        is_asked = first.is_tagged or isinstance(error, FatalDriveError)
        table.refuse(first.drive if is_asked else None, error)


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
    return replace(measured, capacity_bytes=capacity, model=model)


# Experiments. Each is made of the jobs that `_run` puts together.


def _alone(jobs: Sequence[FioJob]) -> _Figures:
    kind = jobs[0].experiment.removesuffix("-alone")
    return "alone", {"kind": kind}, {"times": jobs[0].served(kind, needs_bins=True).times}


def _depth(jobs: Sequence[FioJob]) -> _Figures:
    served, depth = jobs[0].served("read"), max(int(jobs[0].number("depth")), 1)
    return "depths", {"depth": depth}, {"per_s": served.per_s, **_percentiles("read_us", served)}


def _percentiles(name: str, served: Served | None) -> dict[str, float]:
    """Response times as metrics, e.g. `read_us_50p`."""
    return {f"{name}_{share}": time for share, time in served.times.times_us.items()} if served else {}


def _open_loop(jobs: Sequence[FioJob]) -> _Figures:
    by_name = {job.name: job for job in jobs}
    fixed, bulk = by_name.get("fixed"), by_name.get("bulk")
    if fixed is None or fixed.read is None or fixed.write is None:
        raise DriveError(
            f"{jobs[0].file}: the open loop has no job 'fixed' that reads and writes; its response times are the "
            "figures. Use the job file of `flashtwin fit jobs`"
        )
    if fixed.number("offered") <= 0:
        raise DriveError(f"{fixed.place}: offered=0; the script computes it from the saturated rate")
    return _rates(fixed, bulk, fixed.number("offered"), {})


def _rated(jobs: Sequence[FioJob]) -> _Figures:
    """Jobs with a rate of their own: one, or one at a fixed rate, half of it reads, beside one that writes more."""
    jobs = sorted(jobs, key=lambda job: job.number("rate"))
    main, *others = jobs
    is_fixed = main.number("reads") == 0.5 and main.number("threads") == 1
    if len(others) > 1 or (others and not is_fixed):
        raise DriveError(
            f"{main.file}: {len(jobs)} jobs with rates at the same time; an open loop is one job, or one thread at a "
            "fixed rate with half reads (rwmixread=50) beside another job"
        )
    bulk = others[0] if others else None
    if main.read is None or main.write is None:
        raise DriveError(f"{main.place}: an open loop needs reads and writes; use rw=randrw with rwmixread")
    of = bulk or main
    if of.number("threads") > MOST_THREADS:
        raise DriveError(f"{of.place}: numjobs is more than {MOST_THREADS}, which no twin plays")
    load = {"fixed_per_s": main.number("rate") if bulk else 0.0, "read_share": of.number("reads"),
            "depth": of.number("depth"), "threads": of.number("threads")}  # fmt: skip
    return _rates(main, bulk, sum(job.number("rate") for job in jobs), load)


def _rates(fixed: FioJob, bulk: FioJob | None, offered: float, load: dict[str, float]) -> _Figures:
    jobs = [job for job in (fixed, bulk) if job is not None]
    reads = sum(job.read.per_s for job in jobs if job.read)
    writes = sum(job.write.per_s for job in jobs if job.write)
    # fio issues less than asked for where its host is short of time. Only at full depth it is the drive that holds it.
    is_full = max(job.share_deep for job in jobs) >= _SATURATED
    times = {
        **_percentiles("read_us", fixed.read), **_percentiles("write_us", fixed.write),
        **_percentiles("bulk_write_us", bulk.write if bulk else None),
    }  # fmt: skip
    offered = offered if is_full else reads + writes
    place = {"fill_gib": fixed.number("fill") / _GIB, "offered_per_s": offered, **load}
    return "open_loop", place, {"reads_per_s": reads, "writes_per_s": writes, "asked_per_s": offered, **times}


def _written(jobs: Sequence[FioJob]) -> _Figures:
    """A run of writes in parts: write amplification and rate of the last quarter."""
    parts = sorted(jobs, key=lambda job: job.number("part"))
    first, pattern = parts[0], _pattern(parts[0])
    of, fill = int(first.number("of")), first.number("fill") / _GIB
    if fill <= 0:
        raise DriveError(f"{first.place}: fill=0; the script sets FILL to the bytes in use")
    have = [int(job.number("part")) for job in parts]
    name = f"{first.file}: {first.experiment} at {fill:,.1f} GiB"
    if len(have) != of or have != list(range(1, of + 1)):
        missing = list(islice((part for part in range(1, of + 1) if part not in have), _NAMED + 1))
        more = " and more" if len(missing) > _NAMED else ""
        which = f"{', '.join(map(str, missing[:_NAMED]))}{more} of {of} are missing" if missing else "are there twice"
        raise DriveError(f"{name}: parts {which}; run the script again, it goes on where it stopped")
    writes = [job.served("write") for job in parts]
    overwrites = sum(one.bytes for one in writes) / (fill * _GIB)
    reason = checks.unsteady([one.per_s for one in writes])
    if pattern.kind == "sequential":
        _expect_no_cache(first, writes[0])
    elif not first.is_tagged and overwrites < STEADY_OVERWRITES:
        reason = f"its addresses were written {overwrites:.2g} times over, and {STEADY_OVERWRITES:g} are needed"
    if reason:
        raise DriveError(
            f"{name}: the drive was not in its steady state: {reason}; write more often over it "
            "(`flashtwin fit jobs --overwrites 8`), and let nothing else use it"
        )
    last = max(of // 4, 1)
    seconds = sum(one.requests / one.per_s for one in writes[-last:] if one.per_s > 0)
    per_s = sum(one.bytes for one in writes[-last:]) / _PAGE_BYTES / seconds if seconds > 0 else 0.0
    return (
        "overwritten",
        {"fill_gib": fill, "pattern": pattern, "series": first.tags.get("series", ""), "overwrites": overwrites},
        {"amplification": _amplification(parts[-last:]), "writes_per_s": per_s},
    )


def _expect_no_cache(job: FioJob, served: Served) -> None:
    rates = fio.rate_log(job, served)
    drop = None if rates is None else checks.slc_cache(checks.hundredths(*rates))
    if drop is not None:
        raise FatalDriveError(
            f"{job.place}: the rate drops once, from {drop.before * 1.024e-3:,.0f} to {drop.after * 1.024e-3:,.0f} "
            f"MB/s, when {drop.at_share:.0%} of the drive is written: an SLC cache, which the twin does not have, so "
            "no fit would hold. Measure a drive without one, as most for data centres are, or one whose cache is "
            "turned off"
        )


def _pattern(job: FioJob) -> Pattern:
    """As the tables name it. fio's zipf has a name of its own: it never writes two addresses in five."""
    if job.experiment == "zipf":
        return Pattern("fiozipf", exponent=job.number("exponent"))
    if job.experiment == "zones":
        share, writes = job.number("hot") / 100, job.number("writes") / 100
        if not (0 < share < 1 and 0 < writes < 1):
            raise DriveError(f"{job.place}: hot={share:.0%} of the addresses and writes={writes:.0%} are no shares")
        return Pattern("zones", zones=((share, writes), (1 - share, 1 - writes)))
    return Pattern(job.experiment)


def _amplification(jobs: Sequence[FioJob]) -> float | None:
    """Bytes of the medium by bytes of the host; None where the medium's are not counted."""
    host, medium = 0, 0
    for job in jobs:
        stem, by_fio = job.file.name.removesuffix(".json"), job.served("write").bytes
        by_host, by_medium = (counters.written(job.file.parent, stem, kind) for kind in (counters.SMART, counters.OCP))
        # Counters of data units are cut to thousands of sectors, and the end of a job waits in RAM.
        slack = max(_FOREIGN * by_fio, 16 * counters.DATA_UNIT_BYTES)
        if by_host is not None and abs(by_host - by_fio) > slack:
            raise DriveError(
                f"{job.place}: the drive counts {by_host:,} bytes of the host and fio {by_fio:,}; does something else "
                "write to the drive, or is the file of another run? Run the job again"
            )
        if by_medium is None:
            return None
        host, medium = host + by_fio, medium + by_medium
    if host <= 0 or medium <= 0:
        raise DriveError(
            f"{jobs[-1].place}: the medium's counter did not move; some drives count only every few minutes. Write "
            "more a part (`flashtwin fit jobs --overwrites 8`), or delete its .ocp files to fit without them"
        )
    return medium / host


EXPERIMENTS: Mapping[str, Callable[[Sequence[FioJob]], _Figures]] = {
    "read-alone": _alone, "write-alone": _alone, "read-depth": _depth, "open-loop": _open_loop,
    "rated": _rated,
    **dict.fromkeys(("sequential", "uniform", "zipf", "zones"), _written),
}  # fmt: skip
