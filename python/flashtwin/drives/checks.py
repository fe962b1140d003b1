"""Whether measurements can be used: rows that no drive has, steady state, and an SLC cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from flashtwin.drives.tables import Depth, OpenLoop, OverwriteRun, SingleRequests

#: SNIA's Solid State Storage Performance Test Specification, 2.1.24: in five rounds the rate stays within 20 % of its
#: mean, and a line through it rises or falls by 10 % at most.
ROUNDS = 5
_RANGE, _SLOPE = 0.20, 0.10
#: By how much the rate drops where a cache of another cell type ends.
_DROP = 1.6
#: Share of the rates that lie on their side of the drop at least: one that comes back is no cache.
_KEPT = 0.9
#: Parts into which a sequential fill is divided to look for one.
PARTS = 100
#: Bytes of the medium by bytes of the host, GiB in use, and response times in microseconds; others have another unit.
_POSSIBLE_WA, _MOST_GIB, _POSSIBLE_US = (0.05, 100.0), float(1 << 20), (0.5, 60e6)
#: Requests a second, and requests under way, beyond which no drive is.
_POSSIBLE_PER_S, _MOST_UNDER_WAY = (1e-3, 1e9), 1 << 14
#: A median is at most this many times the mean of the requests that may be under way.
_LONGEST_QUEUE = 4
#: A median of a rate is at most this many times that of a greater one that the drive keeps up with as well.
_STRANGE = 20.0


def impossible(row: object) -> str | None:
    """Why no drive has this row, and the cure; None where one may have it."""
    rates = [getattr(row, name) for name in ("per_s", "reads_per_s", "writes_per_s") if hasattr(row, name)]
    if rates and not any(rates):
        return "it served nothing; run it again, or delete it"
    if strange := [rate for rate in rates if rate and not _POSSIBLE_PER_S[0] <= rate <= _POSSIBLE_PER_S[1]]:
        return f"{strange[0]:g} requests a second: no drive does that; is it in another unit?"
    if isinstance(row, Depth) and row.depth > _MOST_UNDER_WAY:
        return f"{row.depth:g} requests under way: {_MOST_UNDER_WAY:,} at most are expected; delete it"
    if isinstance(row, OpenLoop) and (reason := _impossible_load(row, sum(rates))):
        return reason
    if isinstance(row, OpenLoop | OverwriteRun) and row.fill_gib > _MOST_GIB:
        return f"fill_gib is {row.fill_gib:g}: no drive holds that; is it in another unit than GiB?"
    amplified = getattr(row, "amplification", None)
    if amplified is not None and not _POSSIBLE_WA[0] < amplified < _POSSIBLE_WA[1]:
        return (
            f"the medium took {amplified:.3g} times the host's bytes, which no drive does; is it in per cent, or the "
            "counter in another unit than bytes?"
        )
    return next(_impossible_times(row), None)


def _impossible_load(row: OpenLoop, served_per_s: float) -> str | None:
    if served_per_s > 2 * row.offered_per_s + row.load.fixed_per_s:
        return (
            f"offered_per_s is {row.offered_per_s:g}, and {served_per_s:,.0f}/s were served; is it in thousands? Write "
            "requests a second"
        )
    median_us = row.read_us.get("50p", 0.0)
    if median_us > _LONGEST_QUEUE * row.load.depth * 1e6 / max(row.reads_per_s, 1.0):
        return (
            f"read_us_50p is {median_us:g} at {row.reads_per_s:,.0f} reads/s: so many requests were never under way; "
            "is it in another unit than microseconds?"
        )
    return None


def strangers(rows: Sequence[OpenLoop]) -> Iterator[tuple[OpenLoop, str]]:
    """Rows of an open loop that the others contradict, and the cure.

    A lighter load does not wait longer by a power of ten, and is not refused where a heavier one is served.
    """
    rows = sorted(rows, key=lambda row: row.offered_per_s)
    for at, row in enumerate(rows):
        if reason := _stranger(row, rows[at + 1 :]):
            yield row, reason


def _stranger(row: OpenLoop, heavier: Sequence[OpenLoop]) -> str | None:
    for name, compared in (("read_us", min), ("write_us", max)):
        median = getattr(row, name).get("50p", 0.0)
        others = [time for other in heavier if (time := getattr(other, name).get("50p"))]
        if others and median > _STRANGE * compared(others):
            return (
                f"{name}_50p is {median:g}, and {compared(others):g} at a greater rate; is it in another unit than "
                "microseconds?"
            )
    served = max((other.served_per_s for other in heavier), default=0.0)
    if row.served_per_s < row.offered_per_s / 2 and served > 2 * row.offered_per_s:
        return (
            f"{row.served_per_s:,.0f}/s were served, and {served:,.0f}/s at a greater rate; run it again, or delete it"
        )
    return None


def _impossible_times(row: object) -> Iterator[str]:
    alone = {"50p": row.times.percentile_us(0.5)} if isinstance(row, SingleRequests) else {}
    for name in ("times", "read_us", "write_us", "bulk_write_us"):
        last = 0.0
        for share, time in (alone if name == "times" else getattr(row, name, {})).items():
            if not _POSSIBLE_US[0] <= time <= _POSSIBLE_US[1]:
                yield (
                    f"{name}_{share} is {time:g}: no response time in microseconds is that short or long; is it in "
                    "another unit, or were direct=1 and the device's name lost?"
                )
            if time < last:
                yield f"{name}_{share} is {time:g}, less than the percentile before it"
            last = time


def unsteady(rates: Sequence[float]) -> str | None:
    """Why the last five rounds are not in steady state; None where they are, or are fewer."""
    last = np.array(rates[-ROUNDS:], dtype=float)
    if last.size < ROUNDS:
        return None
    mean = float(last.mean())
    spread = float(np.ptp(last)) / mean
    slope = float(np.polyfit(np.arange(ROUNDS), last, 1)[0]) * (ROUNDS - 1) / mean
    if spread > _RANGE:
        return f"the rate of the last {ROUNDS} parts spreads by {spread:.0%} of its mean (SNIA allows {_RANGE:.0%})"
    if abs(slope) > _SLOPE:
        way = "rises" if slope > 0 else "falls"
        return f"the rate {way} by {abs(slope):.0%} over the last {ROUNDS} parts (SNIA allows {_SLOPE:.0%})"
    return None


@dataclass(frozen=True)
class Drop:
    """Where the rate of a sequential fill drops for good."""

    #: Share of the drive that was written by then.
    at_share: float
    before: float
    after: float


def hundredths(kib_per_s: np.ndarray, time_ms: np.ndarray) -> np.ndarray:
    """The rate by hundredths of the bytes written, from a log by second; shape (100,)."""
    order = np.argsort(time_ms, kind="stable")
    rate, time = kib_per_s[order], time_ms[order]
    spans = np.diff(time, prepend=0.0)
    done = np.concatenate([[0.0], np.cumsum(rate * spans)])
    ends = np.linspace(0.0, done[-1], PARTS + 1)
    # Where nothing was written time goes on: of equal amounts the last counts.
    moments = np.interp(ends, done, np.concatenate([[0.0], np.cumsum(spans)]))
    return np.asarray(np.diff(ends) / np.maximum(np.diff(moments), 1e-9))


def slc_cache(rates: np.ndarray) -> Drop | None:
    """The one drop of a sequential fill by which a cache of fewer bits a cell shows itself.

    Both sides are flat: garbage collection and thermal throttling rise and fall. A drive that is written while it is
    warm may slow down by a third; a cache is faster by `_DROP` at least.
    """
    found = [drop for at in range(2, rates.size - 2) if (drop := _drop(rates, at)) is not None]
    return max(found, key=lambda one: one[0], default=(0.0, None))[1]


def _drop(rates: np.ndarray, at: int) -> tuple[float, Drop] | None:
    """The drop at one place, after the share of the rates that lie on their side of it."""
    before, after = float(np.median(rates[:at])), float(np.median(rates[at:]))
    if after <= 0 or before < _DROP * after:
        return None
    middle = (before * after) ** 0.5
    kept = float((rates[:at] > middle).sum() + (rates[at:] < middle).sum()) / rates.size
    return (kept, Drop(at / rates.size, before, after)) if kept >= _KEPT else None
