"""Measuring a twin as drives are measured: the same load, the same percentiles.

The twin has the dies of the drive and fewer blocks: the wait of a read depends on dies, programs and the share of valid
pages, and not on how many blocks there are.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute

from flashtwin.drives.drive import MAPPING_BYTES
from flashtwin.drives.histogram import PERCENTILES, Histogram, Times
from flashtwin.drives.history import begin_collection
from flashtwin.drives.tables import Depth, Load, OpenLoop
from flashtwin.errors import DriveError
from flashtwin.replays.presets import System
from flashtwin.replays.running import compare
from flashtwin.traces.trace import Trace

#: Blocks of a die of the twin, and program units of each; pages of each at least.
BLOCKS, BLOCK_UNITS, BLOCK_BATCHES, LEAST_BLOCK_PAGES = 24, 10, 1.5, 64
#: Requests that are looked at, and the least and the longest simulated time of an open loop in seconds. In the least
#: the thread that is looked at has enough reads for their 99.9th percentile.
REQUESTS, SHORTEST_S, LONGEST_S = 160_000, 1.5, 10.0
#: Holds of collection that tell the percentiles of the writes that wait for them.
HOLDS = 400
#: Reads on a drive that does nothing else.
READS = 20_000
#: Waits of a saturated drive differ between loads: so many are played until the standard error of the medians'
#: logarithms is below this.
MOST_SEEDS, STANDARD_ERROR = 8, 0.05
#: Pages of the reads by which a trace touches all pages.
_LARGE_PAGES = 256
#: A median up to this many times that of the controller alone is one of requests that wait for nothing.
_NO_WAIT = 1.01
#: Response times beyond a percentile that tell it.
_BEYOND = 5
#: Shares of an open loop after which the drive is looked at: until then free blocks are used up, and, where more is
#: offered than the drive does, the RAM for writes and the queues fill.
_WARM, _WARM_SATURATED = 0.1, 0.4


def small(drive: System) -> System:
    """The same system with fewer blocks, in steady state."""
    nand = drive.config["nand"]
    batch_us = float(drive.config["engine"]["collection_batch_us"])
    # A block takes the moves of several batches.
    units = max(BLOCK_UNITS, math.ceil(BLOCK_BATCHES * batch_us / float(nand["program_us"])))
    pages = max(int(nand["program_pages"]) * units, LEAST_BLOCK_PAGES)
    return drive.with_sets({
        # Smaller blocks are erased more often: a page's part of an erase stays the same.
        "nand.erase_us": float(nand["erase_us"]) * min(pages / int(nand["pages_per_block"]), 1.0),
        "nand.blocks_per_plane": BLOCKS, "nand.pages_per_block": pages, **begin_collection(BLOCKS),
        "ftl.wear.policy": "none", "ftl.allocation.policy": "dynamic", "replay.preload": "footprint",
        # These traces have none: all loads find the same aged drive (`replays/aged.py`).
        "replay.content": "recorded",
    })  # fmt: skip


def open_loop(drive: System, row: OpenLoop, space_gib: float, *, seed: int = 0, tells_holds: bool = True) -> OpenLoop:
    """The row as the twin has it: response times and rates under the same load.

    Of a row that the drive does not reach, means over loads of other seeds.

    Args:
        drive: a small one.
        row: of the drive.
        space_gib: physical space of the drive.
        seed: of the load.
        tells_holds: whether to play for as long as holds of collection need to tell their writes.
    """
    holds_s = HOLDS * float(drive.config["engine"]["hold_every_us"]) / 1e6 if tells_holds and row.is_reached else 0.0
    plays = [_played(drive, row, space_gib, seed, holds_s)]
    while not row.is_reached and (len(plays) < 2 or standard_error(plays) > STANDARD_ERROR) and len(plays) < MOST_SEEDS:
        plays.append(_played(drive, row, space_gib, seed + 1000 * len(plays)))
    reads_per_s, writes_per_s = (
        statistics.fmean(getattr(play, name) for play in plays) for name in ("reads_per_s", "writes_per_s")
    )
    read_us, write_us, bulk_us = (
        _mean([getattr(play, name) for play in plays]) for name in ("read_us", "write_us", "bulk_write_us")
    )
    return replace(row, reads_per_s=reads_per_s, writes_per_s=writes_per_s, read_us=read_us, write_us=write_us,
                   bulk_write_us=bulk_us, seeds=len(plays))  # fmt: skip


def standard_error(plays: Sequence[OpenLoop]) -> float:
    """Of the means of the logarithms of medians, the greater one of reads and writes."""
    logs = ([math.log(times["50p"]) for play in plays if "50p" in (times := getattr(play, name))]
            for name in ("read_us", "write_us"))  # fmt: skip
    return max((statistics.stdev(one) / math.sqrt(len(one)) for one in logs if len(one) > 1), default=0.0)


def _mean(plays: Sequence[Times]) -> Times:
    """Geometric means of the percentiles that all plays tell."""
    names = [name for name in plays[0] if all(name in times for times in plays)]
    return {name: statistics.geometric_mean(times[name] for times in plays) for name in names}


def _played(drive: System, row: OpenLoop, space_gib: float, seed: int, least_s: float = 0.0) -> OpenLoop:
    """The row under one load. A drive that keeps up serves everything, whatever a table calls offered."""
    per_s = row.served_per_s if row.is_reached else row.asked_per_s or row.offered_per_s
    warm = _WARM if row.is_reached else _WARM_SATURATED
    seconds = min(max(REQUESTS / per_s, SHORTEST_S, least_s) / (1.0 - warm), LONGEST_S)
    fill = row.fill_gib / space_gib
    trace, queues = _load(row.load, per_s, seconds, _units(drive, fill), np.random.default_rng(seed))
    answers = _answers(trace, drive.with_sets({"replay.queue_limit": row.load.depth}), queues.size)
    response_ns = answers["response_ns"].to_numpy()
    done_s = (answers["arrival_ns"].to_numpy() + response_ns) / 1e9
    # Requests that the drive could not take in time are answered after the last was offered, without the others beside.
    seen = (done_s > warm * seconds) & (done_s <= seconds)
    is_write = np.asarray(answers["op"].cast(pa.string()).to_numpy(zero_copy_only=False) == "write")
    is_fixed = queues[answers["request"].to_numpy()] == 0
    span_s = (1.0 - warm) * seconds
    reads_per_s, writes_per_s = (float(np.sum(seen & kind) / span_s) for kind in (~is_write, is_write))
    parts = (is_fixed & ~is_write, is_fixed & is_write, ~is_fixed & is_write)
    if not row.load.fixed_per_s:
        parts = (~is_write, is_write, is_write & False)
    read_us, write_us, bulk_us = (_percentiles(response_ns[seen & part] / 1e3) for part in parts)
    return OpenLoop(row.fill_gib, row.offered_per_s, reads_per_s, writes_per_s, read_us, write_us, bulk_us)


def saturated_per_s(drive: System, fill_gib: float, space_gib: float, *, seed: int = 0) -> float:
    """Uniform writes a second with as many in flight as the measurements had.

    Raises:
        DriveError: the drive's RAM takes any number of writes at once.
    """
    fill = fill_gib / space_gib
    writes = _closed(drive, "W", round(REQUESTS / (1.0 - _WARM_SATURATED)), Load().under_way, fill, seed)
    median_ns = float(np.median(writes.response_ns))
    # A drive that has nobody wait is not saturated, however many requests are under way.
    alone = (float(drive.config["engine"][key]) for key in ("controller_us", "write_cache_us", "write_cache_spread_us"))
    if median_ns <= _NO_WAIT * sum(alone) * 1e3:
        raise DriveError(
            f"{drive.name}: writes are complete in RAM without end, so nothing saturates the drive; set how much RAM it"
            " has: engine.write_buffer_pages = 4096"
        )
    return writes.per_s


def reads_alone(drive: System, fill_gib: float, space_gib: float, *, seed: int = 0) -> Histogram:
    """Response times of 4 KB reads one at a time."""
    return Histogram.of_times(_closed(drive, "R", READS, 1, fill_gib / space_gib, seed).response_ns)


def reads_at_depth(drive: System, depth: int, fill_gib: float, space_gib: float, *, seed: int = 0) -> Depth:
    """4 KB reads with a number of them under way."""
    found = _closed(drive, "R", READS, depth, fill_gib / space_gib, seed)
    return Depth(depth, found.per_s, Histogram.of_times(found.response_ns).times_us)


@dataclass(frozen=True)
class _ClosedLoop:
    """The measurements of a closed loop once it has warmed up."""

    per_s: float
    response_ns: np.ndarray


def _closed(drive: System, op: str, requests: int, depth: int, fill: float, seed: int) -> _ClosedLoop:
    """Requests of 4 KB to random addresses, `depth` of them under way at any time."""
    units = _units(drive, fill)
    pages = np.random.default_rng(seed).integers(0, units, requests)
    queues = np.zeros(requests, dtype=np.uint8)
    trace = _trace(np.zeros(requests), np.full(requests, op == "W"), pages, queues, units)
    answers = _answers(trace, drive.with_sets({"replay.queue_depth": depth}), requests)
    response_ns = answers["response_ns"].to_numpy()
    done_ns = answers["arrival_ns"].to_numpy() + response_ns
    order = np.argsort(done_ns, kind="stable")
    # At the end fewer than `depth` are under way.
    first, last = order[int(_WARM_SATURATED * requests)], order[requests - depth]
    seen = (done_ns > done_ns[first]) & (done_ns <= done_ns[last])
    return _ClosedLoop(float(seen.sum() / (done_ns[last] - done_ns[first]) * 1e9), response_ns[seen])


def _units(drive: System, fill: float) -> int:
    """Addresses of 4 KB in use."""
    return int(fill * drive.capacity_pages) * int(drive.config["nand"]["page_bytes"]) // MAPPING_BYTES


def _percentiles(response_us: np.ndarray) -> Times:
    """The percentiles that have enough response times beyond them to be told."""
    told = {name: share for name, share in PERCENTILES.items() if response_us.size * (1.0 - share) >= _BEYOND}
    return {name: float(np.quantile(response_us, share)) for name, share in told.items()}


def _load(
    load: Load, per_s: float, seconds: float, pages: int, random: np.random.Generator
) -> tuple[Trace, np.ndarray]:
    """Requests of the thread that is looked at, which reads and writes in turn, and of the others; and their queues."""
    fixed = np.arange(int(load.fixed_per_s * seconds))
    others = random.poisson(max(per_s - load.fixed_per_s, 0.0) * seconds)
    # Anywhere until the next of its kind, as by a host's own delays: what a drive does at exactly regular times would
    # meet requests at exactly regular times in a few phases only, and tails would hang on which.
    at_fixed_s = (fixed + 2.0 * random.random(fixed.size)) / max(load.fixed_per_s, 1.0)
    fixed_is_write = fixed % 2 == 1
    times = np.concatenate([at_fixed_s * 1e9, random.random(others) * seconds * 1e9])
    writes = np.concatenate([fixed_is_write, random.random(others) >= load.read_share])
    queues = np.concatenate([np.zeros(fixed.size), random.integers(1, load.threads + 1, others)]).astype(np.uint8)
    order = np.argsort(times, kind="stable")
    pages_asked = random.integers(0, pages, times.size)
    return _trace(times[order], writes[order], pages_asked, queues[order], pages), queues[order]


def _answers(trace: Trace, drive: System, requests: int) -> pa.Table:
    """Response times of the first `requests` of a trace, without the reads at its end."""
    result = compare(trace, {drive.name: drive}, threads=1, per_request=True)[drive.name]
    answers = pa.table(result.table("requests"))
    return answers.filter(pa.compute.less(answers["request"], requests))


def _trace(times_ns: np.ndarray, is_write: np.ndarray, pages: np.ndarray, queues: np.ndarray, used: int) -> Trace:
    """Requests, and reads of all `used` pages after the last, so that the drive holds pages that no request touches."""
    begins = np.arange(0, used, _LARGE_PAGES)
    sizes = np.concatenate([np.ones(pages.size), np.minimum(_LARGE_PAGES, used - begins)]).astype(np.int64)
    at_end = np.full(begins.size, times_ns[-1])
    asked = {
        "time_ns": np.concatenate([times_ns, at_end]).astype(np.int64),
        "op": np.where(np.concatenate([is_write, np.zeros(begins.size, dtype=bool)]), "W", "R"),
        "offset_bytes": np.concatenate([pages, begins]) * MAPPING_BYTES,
        "length_bytes": sizes * MAPPING_BYTES,
        "queue": np.concatenate([queues, np.zeros(begins.size, dtype=np.uint8)]),
    }
    return Trace.from_frame(asked, name="open-loop")
