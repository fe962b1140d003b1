"""Whether measurements can be used: steady state, an SLC cache, and periods of slow reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
#: A period of spikes explains this share of them at least.
_PERIODIC = 0.3
#: A read this many times as long as the median is a spike.
_SPIKE = 3.0


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


def spikes(read_ns: np.ndarray) -> np.ndarray:
    """Which reads took much longer than most."""
    return np.asarray(read_ns > _SPIKE * np.median(read_ns))


def period(at_write: np.ndarray, writes: int) -> float | None:
    """The number of writes from one spike to the next; None where there is no such number.

    Args:
        at_write: for each spike the number of writes before it, ascending.
        writes: all of them.
    """
    if at_write.size < 20:
        return None
    hits = np.bincount(at_write, minlength=writes + 1).astype(float)
    hits = np.minimum(hits, 1.0)
    around = hits - hits.mean()
    size = 1 << int(np.ceil(np.log2(2 * around.size)))
    spectrum = np.fft.rfft(around, size)
    alike = np.fft.irfft(spectrum * np.conj(spectrum), size)[: max(around.size // 8, 2)]
    alike = alike / alike[0]
    # A spike may be seen a write early or late.
    near = alike[1:-1] + np.minimum(alike[:-2], alike[2:]).clip(0.0)
    lags = np.arange(1, near.size + 1)
    usable = lags >= 4
    if not usable.any():
        return None
    top = near[usable].max()
    if top < _PERIODIC:
        return None
    # Multiples of a period are as good; the first that is nearly as good is the period.
    first = int(lags[usable][np.argmax(near[usable] >= 0.8 * top)])
    # The spikes in between, refined over all of them.
    gaps = np.diff(at_write)
    close = gaps[(gaps > 0.75 * first) & (gaps < 1.25 * first)]
    return float(close.mean()) if close.size else float(first)
