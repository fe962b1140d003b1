"""Reads what fio writes: results as `--output-format=json+` or `json`, and logs of bandwidth.

The experiment of a job stands in its description, e.g. `flashtwin experiment=read-depth depth=16 drive=mine`. Of any
other job it follows from the job's own options.
"""

from __future__ import annotations

import glob
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from flashtwin.drives.histogram import Histogram
from flashtwin.errors import DriveError

#: The first word of a description that says which experiment a job is.
TAG = "flashtwin"
#: Name of a drive whose jobs do not say it.
NAMELESS = "my-drive"
#: fio counts in nanoseconds from this version on.
_OLDEST = 3
#: A job that is shorter may leave an empty log, and so does one all of whose requests are under way at the same time.
_SHORT_S, _FEW = 3.0, 32
_CURE = "Run it again, or delete the file to fit without it"
_AGAIN = "run the job again with --output-format=json+"
#: The engines that never use the page cache.
_UNCACHED = {"spdk", "io_uring_cmd", "nbd", "xnvme", "libblkio", "sg"}
_PAGE_BYTES = 4096
#: Options by which a message names a job that is none.
_TELLING = ("rw", "bs", "iodepth", "numjobs", "rate", "rate_iops", "rwmixread", "random_distribution", "size")
_USABLE = (
    "a fit uses random reads (4 KB at any depth), random writes of 4 KB (one at a time, or "
    "three times over the addresses), sequential writes, and open loops (rw=randrw with rate_iops and size)"
)


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
    """One job of a result, as one experiment."""

    file: Path
    name: str
    tags: Mapping[str, str]
    #: None where the job has no such requests.
    read: Served | None
    write: Served | None
    #: Share of the submissions at which 64 requests or more were under way.
    share_deep: float
    #: Whether its description says the experiment.
    is_tagged: bool = True

    @property
    def place(self) -> str:
        """As messages name it."""
        return f"{self.file}: job '{self.name}'"

    @property
    def drive(self) -> str:
        """The drive that it ran on."""
        return self.tags.get("drive") or NAMELESS

    @property
    def experiment(self) -> str:
        """Its name in `flashtwin fit jobs`."""
        return self.tags.get("experiment", "")

    def number(self, tag: str) -> float:
        """A tag that is a number of 0 or more. A job in one piece is part 1 of 1.

        Raises:
            DriveError: it is missing, or is none.
        """
        text = self.tags.get(tag, {"part": "1", "of": "1"}.get(tag, ""))
        value = _float(text)
        if value is None or not 0 <= value <= 1e18:
            raise DriveError(
                f"{self.place}: its description has no {tag}=NUMBER but '{text[:60]}'; use the job files of "
                "`flashtwin fit jobs`, whose script sets all variables"
            )
        return value

    def served(self, kind: str, *, needs_bins: bool = False) -> Served:
        """The results in the direction that the experiment is about.

        Raises:
            DriveError: it has no requests of that kind, or only their percentiles where all times are needed.
        """
        found = self.read if kind == "read" else self.write
        if found is None:
            raise DriveError(f"{self.place}: it served no {kind}s; is it the job file of `flashtwin fit jobs`? {_CURE}")
        if needs_bins and found.times.shares:
            raise DriveError(f"{self.place}: plain `json` has percentiles only, and this needs the bins; {_AGAIN}")
        return found


#: Called with the drive's name, or None where nobody asked for the job, and why it cannot be used.
Refuse = Callable[[str | None, DriveError], None]


def read_jobs(file: Path, refuse: Refuse) -> list[FioJob]:
    """The experiments of one result; nothing of a file of something else.

    Jobs of the same name and description are one: numjobs without group_reporting.

    Raises:
        DriveError: the file is cut, or of a version that cannot be used.
    """
    result = _parsed(file, refuse)
    if not isinstance(result, Mapping) or "fio version" not in result:
        return []
    version = re.search(r"fio-(\d+)", str(result["fio version"]))
    if version is not None and int(version[1][:6]) < _OLDEST:
        raise DriveError(
            f"{file}: {result['fio version']} counts in microseconds and has no bins of nanoseconds; run the jobs "
            f"with fio {_OLDEST}.0 or later"
        )
    jobs = result.get("jobs")
    if not isinstance(jobs, list) or not all(isinstance(job, Mapping) for job in jobs):
        raise DriveError(f"{file}: the result has no list of jobs; {_AGAIN}")
    groups: dict[tuple[str, str], list[FioJob]] = {}
    for job in jobs:
        options = {**_mapping(result.get("global options")), **_mapping(job.get("job options"))}
        words = str(options.get("description") or job.get("desc") or "").split()
        is_tagged = words[:1] == [TAG]
        tags = dict(word.split("=", 1) for word in words if "=" in word) if is_tagged else {}
        try:
            served = _job(file, job, options, is_tagged=is_tagged)
            for experiment in [tags] if is_tagged else _experiments(served, options):
                groups.setdefault((served.name, str(experiment)), []).append(replace(served, tags=experiment))
        except DriveError as error:
            refuse((tags.get("drive") or NAMELESS) if is_tagged else None, error)
    found = []
    for parts in groups.values():
        try:
            found.append(_merged(parts))
        except DriveError as error:
            refuse(parts[0].drive if parts[0].is_tagged else None, error)
    return found


def _parsed(file: Path, refuse: Refuse) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None
    # fio writes its warnings into the file as well, before and after the JSON.
    begin = re.search(r"^\{", text, re.MULTILINE)
    if begin is None:
        if re.search(r"^\d+;fio-\d|\bIOPS=", text, re.MULTILINE):
            refuse(None, DriveError(f"{file}: fio's terse or normal output, which has no bins; {_AGAIN}"))
        elif file.suffix == ".json":
            why = "is empty" if not text.strip() else "holds no JSON"
            raise DriveError(f"{file}: the file {why}; did fio fail? {_CURE}")
        return None
    try:
        return json.JSONDecoder().raw_decode(text, begin.start())[0]
    except (ValueError, RecursionError):
        line = text.count("\n") + 1
        raise DriveError(
            f"{file}: the JSON is cut or damaged (the file ends in line {line:,}); fio was stopped before it had "
            f"written everything. {_CURE}"
        ) from None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _experiments(job: FioJob, options: Mapping[str, Any]) -> list[dict[str, str]]:
    """The experiments that a job is by its options, as tags.

    Raises:
        DriveError: it is none that a fit uses.
    """
    kind, block = str(options.get("rw", "read")), _bytes(options.get("bs", "4k"))
    # A synchronous engine has one request under way, whatever iodepth says.
    is_synchronous = re.search(r"sync\d?$|^mmap$", str(options.get("ioengine", "psync")))
    under_way, threads = (_float(options.get(key, 1)) or 1.0 for key in ("iodepth", "numjobs"))
    depth = int(threads if is_synchronous else under_way * threads)
    size, law = _bytes(options.get("size")), str(options.get("random_distribution", "random")).split(":")
    device = str(options.get("filename", ""))
    drive = Path(device).name if device.startswith("/dev/") else NAMELESS
    is_small = block == _PAGE_BYTES
    found: list[dict[str, str]] = []
    if rates := _offered(options, block):
        if kind in ("randrw", "randwrite") and is_small and law == ["random"] and size:
            reads, rate = rates[0] / sum(rates), threads * sum(rates)
            found += [{"experiment": "rated", "rate": str(rate), "reads": str(reads), "depth": str(int(under_way)),
                       "threads": str(int(threads)), "fill": str(size)}]  # fmt: skip
    elif kind == "randread" and law == ["random"] and is_small:
        found += [{"experiment": "read-alone"}] if depth == 1 else []
        found += [{"experiment": "read-depth", "depth": str(depth)}]
    elif kind == "randwrite" and is_small and depth == 1:
        found += [{"experiment": "write-alone"}]
    elif kind == "randwrite" and is_small and size and law[0] in ("random", "zipf"):
        name = "uniform" if law == ["random"] else "zipf"
        found += [{"experiment": name, "exponent": "".join(law[1:2]), "fill": str(size)}]
    elif kind == "write" and size:
        found += [{"experiment": "sequential", "fill": str(size)}]
    if not found:
        told = ", ".join(f"{key}={options[key]}" for key in _TELLING if key in options) or "no options"
        raise DriveError(f"{job.place}: it is no experiment that a fit uses ({told}); {_USABLE}")
    return [{"drive": drive, "series": f"{job.file.stem} {job.name}", **tags} for tags in found]


def _offered(options: Mapping[str, Any], block: int | None) -> tuple[float, float] | None:
    """Reads and writes a second that a thread offers; None of a job without a rate."""
    limits, parts = str(options.get("rate_iops") or "").split(","), 1.0
    if limits == [""]:
        limits, parts = str(options.get("rate") or "").split(","), float(block or 1)
    numbers = [(_bytes(limit) or 0) / parts for limit in limits]
    if not any(numbers):
        return None
    if len(numbers) > 1:
        return (numbers[0], numbers[1]) if any(numbers[:2]) else None
    reads = (_float(options.get("rwmixread", 50)) or 0.0) / 100
    reads = {"randrw": min(max(reads, 0.0), 1.0), "randread": 1.0}.get(str(options.get("rw")), 0.0)
    # fio limits each direction by itself, and keeps the mix.
    per_s = numbers[0] / max(reads, 1.0 - reads)
    return per_s * reads, per_s * (1.0 - reads)


def _bytes(text: Any) -> int | None:
    """Bytes of `4k`, `4KiB` or `4096`; None of what is no single size."""
    number = re.fullmatch(r"(\d{1,18})([kmgtp]?)(i?b)?", str(text).lower())
    return int(number[1]) << 10 * " kmgtp".index(number[2] or " ") if number else None


def _job(file: Path, job: Mapping[str, Any], options: Mapping[str, Any], *, is_tagged: bool) -> FioJob:
    name = str(job.get("jobname", ""))
    place = f"{file}: job '{name}'"
    failed = job.get("error")
    if failed != 0:
        raise DriveError(
            f"{place}: fio reports error {failed}; its messages stand in the log beside the file, or at the beginning "
            f"of the file. {_CURE}"
        )
    direct = str(options.get("direct", int(options.get("buffered") == "0")))
    if "rw" in options and direct not in ("", "1") and options.get("ioengine") not in _UNCACHED:
        raise DriveError(f"{place}: direct=0 measures the page cache of the host; run it with direct=1")
    # fio counts submissions by the greatest power of two that was under way.
    power = 1 << max(int(_float(options.get("iodepth")) or 64), 1).bit_length() - 1
    deep = _float(_mapping(job.get("iodepth_level")).get(str(power) if power < 64 else ">=64"))
    read, write = (_served(job.get(kind), f"{place}, {kind}s") for kind in ("read", "write"))
    if read is None and write is None and "mixed" in job:
        raise DriveError(f"{place}: it reports reads and writes as one; run it without unified_rw_reporting")
    return FioJob(file, name, {}, read, write, (deep or 0.0) / 100.0, is_tagged)


def _served(side: Any, place: str) -> Served | None:
    if not isinstance(side, Mapping) or _number(side, "total_ios", place) == 0:
        return None
    requests = int(_number(side, "total_ios", place))
    return Served(
        requests, int(_number(side, "io_bytes", place)), _number(side, "iops", place),
        _number(side, "bw_bytes", place), _number(side, "runtime", place) / 1e3, _times(side, requests, place),
    )  # fmt: skip


def _times(side: Mapping[str, Any], requests: int, place: str) -> Histogram:
    """Response times from submission. fio has all of these only with lat_percentiles=1; others begin a little later."""
    total, completion = _mapping(side.get("lat_ns")), _mapping(side.get("clat_ns"))
    if not total and not completion:
        raise DriveError(f"{place}: no times in nanoseconds (`clat_ns`); {_AGAIN} of fio {_OLDEST}.0 or later")
    later = max(_float(_mapping(side.get("slat_ns")).get("mean")) or 0.0, 0.0)
    both = ((total, 0.0), (completion, later))
    for times, more in both:
        counts: dict[int, int] = {}
        for time, count in _points(times, "bins", place).items():
            counts[int(time + more)] = counts.get(int(time + more), 0) + int(count)
        if any(counts.values()):
            return Histogram.of(counts)
    for times, more in both:
        known = _points(times, "percentile", place)
        if shares := {round(share / 100, 6): time + more for share, time in known.items() if 0 < share < 100}:
            return Histogram.of_percentiles(shares, requests)
    if not any(_float(times.get("mean")) for times, _ in both):
        raise DriveError(f"{place}: fio kept no response times; run it without gtod_reduce and disable_clat")
    raise DriveError(f"{place}: neither bins nor percentiles of the response times; {_AGAIN}")


def _points(times: Mapping[str, Any], key: str, place: str) -> dict[float, float]:
    """Numbers by number: counts by time, or times by percentile."""
    found: dict[float, float] = {}
    for text, value in _mapping(times.get(key)).items():
        at, number = _float(text), _float(value)
        if at is None or number is None or not 0 <= at <= 1e18 or not 0 <= number <= 1e15:
            raise DriveError(f"{place}: '{text}' with '{value}' among its {key}: numbers are expected; {_AGAIN}")
        found[at] = number
    return found


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
    sides = ([side for part in parts if (side := getattr(part, kind))] for kind in ("read", "write"))
    read, write = (_together(side, first.place) for side in sides)
    return replace(first, read=read, write=write, share_deep=deep)


def _together(parts: Sequence[Served], place: str) -> Served | None:
    if not parts:
        return None
    if any(part.times.shares for part in parts):
        raise DriveError(f"{place}: percentiles of {len(parts)} threads apart; {_AGAIN}, or with group_reporting=1")
    requests, total, per_s, bytes_per_s = (
        sum(getattr(part, key) for part in parts) for key in ("requests", "bytes", "per_s", "bytes_per_s")
    )
    times = Histogram.merged(part.times for part in parts)
    return Served(requests, total, per_s, bytes_per_s, max(part.runtime_s for part in parts), times)


def rate_log(job: FioJob, served: Served) -> tuple[np.ndarray, np.ndarray] | None:
    """KiB/s and milliseconds of the bandwidth log that stands beside a result; None where there is none.

    Raises:
        DriveError: it is empty, cut or damaged, or in another unit.
    """
    files = sorted(job.file.parent.glob(f"{glob.escape(job.file.name.removesuffix('.json'))}_bw.*.log"))
    if served.runtime_s < _SHORT_S or served.requests <= _FEW:
        # A log of averages has no line before its first interval has ended, or where all requests end at once.
        files = [file for file in files if file.stat().st_size]
    if not files:
        return None
    time_ms, kib_per_s = np.concatenate([_log(file) for file in files]).T
    lasted = (time_ms.max() - time_ms.min()) / 1e3
    if lasted < 0.9 * served.runtime_s - 2.0:
        raise DriveError(
            f"{job.place}: its log ends after {lasted:.0f} s of {served.runtime_s:.0f} s; the log is cut. {_CURE}"
        )
    factor = float(kib_per_s.mean()) * 1024 / max(served.bytes_per_s, 1.0)
    if not 0.5 < factor < 2.0:
        raise DriveError(
            f"{job.place}: by its log the rate is {factor:.3g} times that of the result; is the log in another unit "
            f"than KiB/s, or of another run? {_CURE}"
        )
    return kib_per_s, time_ms


def _log(file: Path) -> np.ndarray:
    """Milliseconds and values, line by line."""
    try:
        text = file.read_text(encoding="ascii")
        rows = [tuple(map(float, line.split(",")[:2])) for line in text.splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None
    except ValueError as error:
        raise DriveError(f"{file}: it is no log of fio: {error}. {_CURE}") from None
    if not text:
        raise DriveError(f"{file}: the log is empty; did the disk fill up? {_CURE}")
    if not text.endswith("\n"):
        raise DriveError(f"{file}:{len(rows)}: the log is cut in the middle of a line. {_CURE}")
    values = np.array([row for row in rows if len(row) == 2])
    if len(values) < len(rows) or not np.isfinite(values).all() or (values < 0).any():
        raise DriveError(f"{file}: a time and a value of 0 or more are expected in each line. {_CURE}")
    return values
