"""Measuring a twin as drives are measured: the same load, the same percentiles.

The twin has the dies of the drive and fewer blocks: what a read meets depends on dies, programs and the share of valid
pages, and not on how many blocks there are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flashtwin.drives.drive import MAPPING_BYTES
from flashtwin.drives.history import begin_collection
from flashtwin.drives.tables import PERCENTILES, OpenLoop, Times
from flashtwin.errors import DriveError
from flashtwin.replays.presets import System
from flashtwin.replays.running import compare
from flashtwin.traces.trace import Trace

#: Blocks of a die of the twin, and program units of each; pages of each at least.
BLOCKS, BLOCK_UNITS, LEAST_BLOCK_PAGES = 24, 10, 64
#: Requests of an open loop on the twin, and the longest simulated time in seconds.
REQUESTS, LONGEST_S = 240_000, 10.0
#: The load of the measurements: a thread at a fixed rate, half of it reads, and others with exponential gaps and one
#: read in a hundred.
_FIXED_PER_S, _BULK_READS = 10_000, 0.01
#: Those threads, and the requests of each that are under way at most.
_BULK_THREADS, _DEPTH = 6, 64
_IN_FLIGHT = (1 + _BULK_THREADS) * _DEPTH
#: A median up to this many times that of the controller alone is one of requests that wait for nothing.
_NO_WAIT = 1.01
#: Response times beyond a percentile that tell it.
_BEYOND = 5
#: Share of an open loop after which the drive is looked at: until then queues build up.
_WARM = 0.1


def small(drive: System) -> System:
    """The same system with fewer blocks, in steady state."""
    pages = max(int(drive.config["nand"]["program_pages"]) * BLOCK_UNITS, LEAST_BLOCK_PAGES)
    return drive.with_sets({
        "nand.blocks_per_plane": BLOCKS, "nand.pages_per_block": pages, **begin_collection(BLOCKS),
        "ftl.wear.policy": "none", "ftl.allocation.policy": "dynamic", "replay.preload": "footprint",
        "replay.content": "unique",
    })  # fmt: skip


def open_loop(drive: System, row: OpenLoop, space_gib: float, *, seed: int = 0) -> OpenLoop:
    """The row as the twin has it: response times and rates under the same load."""
    # Tables differ in what they count as offered; a drive that keeps up serves it all.
    per_s = row.reads_per_s + row.writes_per_s if row.is_reached else row.offered_per_s
    seconds = min(REQUESTS / per_s, LONGEST_S)
    fill = row.fill_gib / space_gib
    trace, queues = _load(per_s, seconds, _units(drive, fill), np.random.default_rng(seed))
    bounded = drive.with_sets({"replay.queue_limit": _DEPTH})
    result = compare(trace, {drive.name: bounded}, fill=fill, threads=1, per_request=True)[drive.name]
    answers = pa.table(result.table("requests"))
    response_ns = answers["response_ns"].to_numpy()
    done_s = (answers["arrival_ns"].to_numpy() + response_ns) / 1e9
    # Requests that the drive could not take in time are answered after the last was offered, without the others beside.
    seen = (done_s > _WARM * seconds) & (done_s <= seconds)
    is_write = np.asarray(answers["op"].cast(pa.string()).to_numpy(zero_copy_only=False) == "write")
    is_fixed = queues[answers["request"].to_numpy()] == 0
    span_s = (1.0 - _WARM) * seconds
    reads_per_s, writes_per_s = (float(np.sum(seen & kind) / span_s) for kind in (~is_write, is_write))
    parts = (is_fixed & ~is_write, is_fixed & is_write, ~is_fixed & is_write)
    times = (_percentiles(response_ns[seen & part] / 1e3) for part in parts)
    return OpenLoop(row.fill_gib, row.offered_per_s, reads_per_s, writes_per_s, *times)


def saturated_per_s(drive: System, fill_gib: float, space_gib: float, *, seed: int = 0) -> float:
    """Uniform writes a second with as many in flight as the measurements had.

    Raises:
        DriveError: the drive's RAM takes any number of writes at once.
    """
    random = np.random.default_rng(seed)
    fill = fill_gib / space_gib
    pages = random.integers(0, _units(drive, fill), REQUESTS)
    trace = _trace(np.zeros(REQUESTS), np.ones(REQUESTS, dtype=bool), pages, np.zeros(REQUESTS, dtype=np.uint8))
    closed = drive.with_sets({"replay.queue_depth": _IN_FLIGHT})
    summary = compare(trace, {drive.name: closed}, fill=fill, threads=1)[drive.name].summary
    # A drive that has nobody wait is not saturated, however many requests are under way.
    if summary["response"]["write"]["p50_ns"] <= _NO_WAIT * float(drive.config["engine"]["controller_us"]) * 1e3:
        raise DriveError(
            f"{drive.name}: writes are complete in RAM without end, so nothing saturates the drive; set how much RAM it"
            " has: engine.write_buffer_pages = 4096"
        )
    return float(summary["throughput"]["requests_per_s"])


def _units(drive: System, fill: float) -> int:
    """Addresses of 4 KB in use."""
    return int(fill * drive.capacity_pages) * int(drive.config["nand"]["page_bytes"]) // MAPPING_BYTES


def _percentiles(response_us: np.ndarray) -> Times:
    """The percentiles that have enough response times beyond them to be told."""
    told = {name: share for name, share in PERCENTILES.items() if response_us.size * (1.0 - share) >= _BEYOND}
    return {name: float(np.quantile(response_us, share)) for name, share in told.items()}


def _load(per_s: float, seconds: float, pages: int, random: np.random.Generator) -> tuple[Trace, np.ndarray]:
    """Requests of the thread that is looked at, which reads and writes in turn, and of the others; and their queues."""
    fixed = np.arange(int(_FIXED_PER_S * seconds))
    others = random.poisson(max(per_s - _FIXED_PER_S, 0.0) * seconds)
    times = np.concatenate([fixed * (1e9 / _FIXED_PER_S), random.random(others) * seconds * 1e9])
    writes = np.concatenate([fixed % 2 == 1, random.random(others) >= _BULK_READS])
    queues = np.concatenate([np.zeros(fixed.size), random.integers(1, _BULK_THREADS + 1, others)]).astype(np.uint8)
    order = np.argsort(times, kind="stable")
    pages_asked = random.integers(0, pages, times.size)
    return _trace(times[order], writes[order], pages_asked, queues[order]), queues[order]


def _trace(times_ns: np.ndarray, is_write: np.ndarray, pages: np.ndarray, queues: np.ndarray) -> Trace:
    asked = {
        "time_ns": times_ns.astype(np.int64), "op": np.where(is_write, "W", "R"), "offset_bytes": pages * MAPPING_BYTES,
        "length_bytes": np.full(pages.size, MAPPING_BYTES), "queue": queues,
    }  # fmt: skip
    return Trace.from_frame(asked, name="open-loop")
