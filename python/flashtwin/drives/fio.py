"""Reads what fio writes: results as `--output-format=json+`, and logs of bandwidth and of latencies.

A job says which experiment it is in its description, e.g. `flashtwin experiment=read-depth depth=16 drive=mine`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flashtwin.drives.histogram import Histogram
from flashtwin.errors import DriveError

#: The first word of a description that says which experiment a job is.
TAG = "flashtwin"
#: fio counts in nanoseconds from this version on.
_OLDEST = 3
#: A median outside of this, in microseconds, is in another unit, or none of a drive.
_POSSIBLE_US = (0.5, 60e6)
#: A job that is shorter may leave an empty log.
_SHORT_S = 3.0
#: So does a job all of whose requests are under way at the same time.
_FEW = 32
_CURE = "Run it again, or delete the file to fit without it"
_AGAIN = "run the job again with --output-format=json+"


@dataclass(frozen=True)
class Served:
    """The results of one job in one direction."""

    requests: int
    bytes: int
    per_s: float
    bytes_per_s: float
    runtime_s: float
    times: Histogram


@dataclass(frozen=True)
class FioJob:
    """One job of a result that says which experiment it is."""

    file: Path
    name: str
    experiment: str
    tags: Mapping[str, str]
    #: None where the job has no such requests.
    read: Served | None
    write: Served | None
    #: Share of the submissions at which 64 requests or more were under way.
    share_deep: float

    @property
    def place(self) -> str:
        """As messages name it."""
        return f"{self.file}: job '{self.name}'"

    @property
    def drive(self) -> str:
        """The drive that it ran on."""
        return self.tags.get("drive", "")

    def number(self, tag: str) -> float:
        """A tag that is a number above 0.

        Raises:
            DriveError: it is missing, or is none.
        """
        text = self.tags.get(tag)
        value = _float(text)
        if value is None or value < 0:
            raise DriveError(
                f"{self.place}: its description has no {tag}=NUMBER but '{text or ''}'; use the job files of "
                "`flashtwin fit jobs`, whose script sets all variables"
            )
        return value

    def served(self, kind: str) -> Served:
        """The results in the direction that the experiment is about.

        Raises:
            DriveError: it has no requests of that kind.
        """
        found = self.read if kind == "read" else self.write
        if found is None:
            raise DriveError(f"{self.place}: no {kind}s were done; is it the job file of `flashtwin fit jobs`? {_CURE}")
        return found


def read_jobs(file: Path) -> list[FioJob]:
    """The jobs of one result that say which experiment they are; none of a JSON file of something else.

    Jobs of the same name and description are one: numjobs without group_reporting.

    Raises:
        DriveError: the file is cut, of a version or a format that cannot be used, or a job failed.
    """
    result = _parsed(file)
    if not isinstance(result, Mapping) or "fio version" not in result:
        return []
    _check_version(file, str(result["fio version"]))
    jobs = result.get("jobs")
    if not isinstance(jobs, list) or not all(isinstance(job, Mapping) for job in jobs):
        raise DriveError(f"{file}: the result has no list of jobs; {_AGAIN}")
    shared = result.get("global options")
    found: dict[tuple[str, str], list[FioJob]] = {}
    for job in jobs:
        words = _description(job, shared if isinstance(shared, Mapping) else {})
        if words and words[0] == TAG:
            one = _job(file, job, words[1:])
            found.setdefault((one.name, " ".join(words)), []).append(one)
    return [_merged(parts) for parts in found.values()]


def _parsed(file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None
    # fio writes its warnings into the file as well, before and after the JSON.
    begin = re.search(r"^\{", text, re.MULTILINE)
    if begin is None:
        why = "is empty" if not text.strip() else "holds no JSON"
        raise DriveError(f"{file}: the file {why}; did fio fail? {_CURE}")
    try:
        return json.JSONDecoder().raw_decode(text, begin.start())[0]
    except (ValueError, RecursionError):
        line = text.count("\n") + 1
        raise DriveError(
            f"{file}: the JSON is cut or damaged (the file ends in line {line:,}); fio was stopped before it had "
            f"written everything. {_CURE}"
        ) from None


def _check_version(file: Path, version: str) -> None:
    found = re.search(r"fio-(\d+)", version)
    if found is not None and int(found[1][:6]) < _OLDEST:
        raise DriveError(
            f"{file}: {version} counts in microseconds and has no bins of nanoseconds; run the jobs with fio "
            f"{_OLDEST}.0 or later"
        )


def _description(job: Mapping[str, Any], shared: Mapping[str, Any]) -> list[str]:
    options = job.get("job options")
    own = options.get("description") if isinstance(options, Mapping) else None
    return str(own or job.get("desc") or shared.get("description") or "").split()


def _job(file: Path, job: Mapping[str, Any], words: Sequence[str]) -> FioJob:
    name = str(job.get("jobname", ""))
    place = f"{file}: job '{name}'"
    tags = dict(word.split("=", 1) for word in words if "=" in word)
    if not tags.get("experiment"):
        raise DriveError(f"{place}: its description does not say experiment=NAME; use `flashtwin fit jobs`")
    failed = job.get("error")
    if failed != 0:
        raise DriveError(
            f"{place}: fio reports error {failed}; its messages stand in the log beside the file, or at the beginning "
            f"of the file. {_CURE}"
        )
    levels = job.get("iodepth_level")
    deep = _float(levels.get(">=64")) if isinstance(levels, Mapping) else None
    return FioJob(
        file, name, tags["experiment"], tags, _served(job.get("read"), f"{place}, reads"),
        _served(job.get("write"), f"{place}, writes"), (deep or 0.0) / 100.0,
    )  # fmt: skip


def _served(side: Any, place: str) -> Served | None:
    if not isinstance(side, Mapping) or _number(side, "total_ios", place) == 0:
        return None
    if "clat_ns" not in side:
        raise DriveError(f"{place}: no times in nanoseconds (`clat_ns`); {_AGAIN} of fio {_OLDEST}.0 or later")
    # From submission; fio has bins of these only with lat_percentiles=1.
    times = next((one for key in ("lat_ns", "clat_ns") if (one := _histogram(side.get(key), place)) is not None), None)
    if times is None:
        raise DriveError(f"{place}: no bins of the response times; plain `json` leaves them out. {_AGAIN.capitalize()}")
    median = times.percentile_us(0.5)
    if not _POSSIBLE_US[0] <= median <= _POSSIBLE_US[1]:
        raise DriveError(
            f"{place}: the median is {median:g} us, which no drive has; do the bins have another unit than "
            "nanoseconds, or did direct=1 and the device's name get lost?"
        )
    return Served(
        int(_number(side, "total_ios", place)), int(_number(side, "io_bytes", place)),
        _number(side, "iops", place), _number(side, "bw_bytes", place), _number(side, "runtime", place) / 1e3, times,
    )  # fmt: skip


def _histogram(times: Any, place: str) -> Histogram | None:
    bins = times.get("bins") if isinstance(times, Mapping) else None
    if not isinstance(bins, Mapping) or not bins:
        return None
    counts: dict[int, int] = {}
    for time, count in bins.items():
        at, number = _float(time), _float(count)
        if at is None or number is None or at < 0 or number < 0 or at > 1e18 or number > 1e15:
            raise DriveError(f"{place}: the bin '{time}' with '{count}' is no time with a count; {_AGAIN}")
        counts[int(at)] = counts.get(int(at), 0) + int(number)
    return Histogram.of(counts) if any(counts.values()) else None


def _number(side: Mapping[str, Any], key: str, place: str) -> float:
    value = _float(side.get(key))
    if value is None or value < 0 or value > 1e18:
        raise DriveError(f"{place}: {key} is {side.get(key)!r}: a number is expected; {_AGAIN}")
    return value


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _merged(parts: Sequence[FioJob]) -> FioJob:
    first = parts[0]
    if len(parts) == 1:
        return first
    deep = sum(part.share_deep for part in parts) / len(parts)
    read, write = (_together([side for part in parts if (side := getattr(part, kind))]) for kind in ("read", "write"))
    return FioJob(first.file, first.name, first.experiment, first.tags, read, write, deep)


def _together(parts: Sequence[Served]) -> Served | None:
    if not parts:
        return None
    return Served(
        sum(part.requests for part in parts), sum(part.bytes for part in parts), sum(part.per_s for part in parts),
        sum(part.bytes_per_s for part in parts), max(part.runtime_s for part in parts),
        Histogram.merged(part.times for part in parts),
    )  # fmt: skip


@dataclass(frozen=True)
class Log:
    """A log of fio: a line for each request, or for each interval."""

    time_ms: np.ndarray
    #: KiB/s of a bandwidth log, nanoseconds of a latency log.
    value: np.ndarray
    is_write: np.ndarray


def read_log(job: FioJob, kind: str) -> Log | None:
    """The log `bw` or `lat` that stands beside a result under its name; None where there is none.

    Raises:
        DriveError: it is empty, cut or damaged.
    """
    stem = job.file.name.removesuffix(".json")
    files = sorted(job.file.parent.glob(f"{_escaped(stem)}_{kind}.*.log"))
    sides = [side for side in (job.read, job.write) if side is not None]
    seconds, requests = max((side.runtime_s for side in sides), default=0.0), sum(side.requests for side in sides)
    if seconds < _SHORT_S or requests <= _FEW:
        # A log of averages has no line before its first interval has ended, or where all requests end at once.
        files = [file for file in files if file.stat().st_size]
    if not files:
        return None
    parts = [_log(file) for file in files]
    return Log(*(np.concatenate([getattr(part, of) for part in parts]) for of in ("time_ms", "value", "is_write")))


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _log(file: Path) -> Log:
    try:
        text = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None
    if not text.strip():
        raise DriveError(f"{file}: the log is empty; did the disk fill up? {_CURE}")
    lines = text.split("\n")
    if lines[-1]:
        raise DriveError(f"{file}:{len(lines)}: the log is cut in the middle of a line. {_CURE}")
    rows = []
    for number, line in enumerate(lines[:-1], start=1):
        words = [_float(word.strip()) for word in line.split(",")[:3]]
        if len(words) < 3 or None in words or words[1] < 0 or words[2] not in (0, 1, 2):  # type: ignore[operator]
            raise DriveError(f"{file}:{number}: '{line[:60]}' is no line of a log of fio. {_CURE}")
        rows.append(words)
    table = np.array(rows, dtype=float)
    return Log(table[:, 0], table[:, 1], table[:, 2] == 1)


def check_log_is_whole(job: FioJob, log: Log, served: Served) -> None:
    """Compares a log of bandwidth with the result that it belongs to.

    Raises:
        DriveError: it ends early, or counts in another unit.
    """
    lasted = (log.time_ms.max() - log.time_ms.min()) / 1e3
    if lasted < 0.9 * served.runtime_s - 2.0:
        raise DriveError(
            f"{job.place}: its log ends after {lasted:.0f} s of {served.runtime_s:.0f} s; the log is cut. {_CURE}"
        )
    factor = float(log.value.mean()) * 1024 / max(served.bytes_per_s, 1.0)
    if not 0.5 < factor < 2.0:
        raise DriveError(
            f"{job.place}: by its log the rate is {factor:.3g} times that of the result; is the log in another unit "
            f"than KiB/s, or of another run? {_CURE}"
        )
