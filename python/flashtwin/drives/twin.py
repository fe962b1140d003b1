"""Measuring the twin of a drive as the drive was measured: the same load, the same percentiles.

The twin has the dies of the drive and fewer blocks: what a read meets depends on dies, programs and the share of valid
pages, and not on how many blocks there are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flashtwin.drives.drive import MAPPING_BYTES
from flashtwin.drives.estimates import Estimates
from flashtwin.drives.history import begin_collection
from flashtwin.drives.tables import OpenLoop, Times
from flashtwin.replays.presets import System, system
from flashtwin.replays.running import compare
from flashtwin.settings import Value
from flashtwin.traces.trace import Trace

#: Blocks of a die of the twin, and program units of each.
BLOCKS, BLOCK_UNITS = 24, 10
#: Requests of an open loop on the twin, and the longest simulated time in seconds.
REQUESTS, LONGEST_S = 240_000, 10.0
#: The load of the measurements: a thread at a fixed rate, half of it reads, and others with exponential gaps and one
#: read in a hundred.
_FIXED_PER_S, _BULK_READS = 10_000, 0.01
#: Seven threads of depth 64.
_IN_FLIGHT = 448
#: As results call the percentiles.
_KEYS = {"50p": "p50_ns", "90p": "p90_ns", "99p": "p99_ns", "99p9": "p99_9_ns", "99p99": "p99_99_ns"}


def twin(estimates: Estimates, more: Mapping[str, Value] | None = None) -> System:
    """The drive with fewer blocks, as a conventional SSD in steady state."""
    pages = int(estimates.number("nand.program_pages")) * BLOCK_UNITS
    smaller: dict[str, Value] = {
        "nand.blocks_per_plane": BLOCKS, "nand.pages_per_block": pages, **begin_collection(BLOCKS),
        "ftl.wear.policy": "none", "ftl.allocation.policy": "dynamic", "replay.preload": "footprint",
    }  # fmt: skip
    return system("conventional", settings={**estimates.keys, **smaller, **(more or {})})  # type: ignore[dict-item]


def open_loop(drive: System, row: OpenLoop, space_gib: float, *, seed: int = 0) -> tuple[Times, Times]:
    """Response times of reads and of writes in us, at the rate of the row."""
    seconds = min(REQUESTS / row.offered_per_s, LONGEST_S)
    fill = row.fill_gib / space_gib
    trace = _load(row.offered_per_s, seconds, int(fill * drive.capacity_pages), np.random.default_rng(seed))
    response = compare(trace, {drive.name: drive}, fill=fill, threads=1)[drive.name].summary["response"]
    reads, writes = ({name: response[kind][key] / 1e3 for name, key in _KEYS.items()} for kind in ("read", "write"))
    return reads, writes


def saturated_per_s(drive: System, fill_gib: float, space_gib: float, *, seed: int = 0) -> float:
    """Uniform writes a second with as many in flight as the measurements had."""
    random = np.random.default_rng(seed)
    fill = fill_gib / space_gib
    pages = random.integers(0, int(fill * drive.capacity_pages), REQUESTS)
    trace = _trace(np.zeros(REQUESTS), np.ones(REQUESTS, dtype=bool), pages)
    closed = drive.with_sets({"replay.queue_depth": _IN_FLIGHT})
    served = compare(trace, {drive.name: closed}, fill=fill, threads=1)[drive.name].summary["throughput"]
    return float(served["requests_per_s"])


def _load(per_s: float, seconds: float, pages: int, random: np.random.Generator) -> Trace:
    """Requests of the thread that is looked at, which reads and writes in turn, and of the others."""
    fixed = np.arange(int(_FIXED_PER_S * seconds))
    others = random.poisson(max(per_s - _FIXED_PER_S, 0.0) * seconds)
    times = np.concatenate([fixed * (1e9 / _FIXED_PER_S), random.random(others) * seconds * 1e9])
    writes = np.concatenate([fixed % 2 == 1, random.random(others) >= _BULK_READS])
    order = np.argsort(times, kind="stable")
    return _trace(times[order], writes[order], random.integers(0, pages, times.size))


def _trace(times_ns: np.ndarray, is_write: np.ndarray, pages: np.ndarray) -> Trace:
    asked = {
        "time_ns": times_ns.astype(np.int64), "op": np.where(is_write, "W", "R"), "offset_bytes": pages * MAPPING_BYTES,
        "length_bytes": np.full(pages.size, MAPPING_BYTES),
    }  # fmt: skip
    return Trace.from_frame(asked, name="open-loop")
