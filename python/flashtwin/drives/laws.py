"""Closed forms of a drive in steady state: its write amplification, the time of its reads, and its write rate.

Pure NumPy and SciPy. Times are microseconds, sizes GiB or pages; each law names its source.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import lambertw

Array = np.ndarray

#: No rest of a slice is longer than this many means (`engine.suspend_slice_us`): longer ones are cut to it.
SLICE_CUT = 5.0
#: Share of a batch in which dies collect: it begins once that much is ordered (`engine.collection_batch_us`).
BATCH_SHARE = 0.5
#: Standard deviation of the logistic distribution with scale 1.
_LOGISTIC = float(np.pi / np.sqrt(3.0))
#: Halvings by which a percentile is found.
_HALVINGS = 20


def amplification(physical: Array | float, used: Array | float, overhead: float = 1.0) -> Array:
    """Write amplification of uniform writes under FIFO or greedy collection with large blocks.

    A = a / (a + W0(-a e^-a)) with a = physical / used space (Desnoyers, TOS 2014, eq. 9), times an overhead that every
    program has: parity and metadata. Both spaces in the same unit.

    >>> round(float(amplification(1078, 745.2, 1.035)), 2)
    1.89
    """
    a = np.asarray(physical, dtype=float) / np.asarray(used, dtype=float)
    a = np.maximum(a, 1.0 + 1e-9)
    return np.asarray(overhead * a / (a + np.real(lambertw(-a * np.exp(-a)))))


def valid_share(host_amplification: Array | float) -> Array:
    """Share of a victim's pages that are valid: 1 - 1 / A."""
    return 1.0 - 1.0 / np.asarray(host_amplification, dtype=float)


def senses(valid: Array | float, pages: int) -> Array:
    """Flash reads a page of a victim, where `pages` of them lie in one flash page and a share of them is valid.

    A flash page is read unless all its pages are invalid: (1 - (1 - v)^m) / m.
    """
    return (1.0 - (1.0 - np.asarray(valid, dtype=float)) ** pages) / pages


def write_us(
    amplified: float, program_us: float, read_us: float, sense_pages: int, collected_share: float = 1.0
) -> float:
    """Time of the dies for a page that the host writes: A (tPROG / K + tR (1 - (1 - v)^m) / m).

    Args:
        amplified: pages programmed for a page written, with all that collection moves.
        program_us: of one page, tPROG / K.
        read_us: of a flash page.
        sense_pages: pages of a flash page.
        collected_share: of the time in which the host waits for collection; for the rest dies are idle.
    """
    busy_us = amplified * (program_us + read_us * float(senses(valid_share(max(amplified, 1.0)), sense_pages)))
    return program_us + (busy_us - program_us) / collected_share


@dataclass(frozen=True)
class ReadLaw:
    """Response times of reads on dies that write for a share of the time.

    A read of a die that programs waits until the program stands still: for `suspend_us`, then for the rest of a slice,
    which is exponential and cut at five means. A read of a die that reads for collection waits for the rest of that
    flash read. Flash pages of two types take different times. There is no queue of reads: the law is for few reads
    beside many writes.
    """

    #: From the command to the data, on an idle die and of a fast page.
    base_us: float
    suspend_us: float
    slice_us: float
    #: Share of the fast pages, and how much longer the slow ones take.
    fast_share: float
    slower_us: float
    #: Share of the time that dies write, by the share of the saturated rate that is offered.
    busy: float
    #: Standard deviation of reads of fast pages on an idle die, as a share of their time.
    jitter: float = 0.03
    #: Share of the time of busy dies in which they read for collection.
    sensing: float = 0.0

    def share_below(self, time_us: Array, load: Array) -> Array:
        """Share of the reads that take at most this time; `load` is the share of the saturated rate."""
        u = np.clip(self.busy * load, 0.0, 1.0)
        total = np.zeros(np.broadcast_shapes(np.shape(time_us), np.shape(load)))
        for share, more in ((self.fast_share, 0.0), (1.0 - self.fast_share, self.slower_us)):
            if share <= 0.0:
                continue
            ready = self.base_us + more
            idle = _soft_step((time_us - ready) / (self.jitter * ready))
            late = np.maximum(time_us - ready - self.suspend_us, 0.0) / self.slice_us
            programs = np.where(late < SLICE_CUT, -np.expm1(-late), 1.0)
            # A flash read is about as long as all of a read of an idle die.
            rest = np.clip((time_us - ready) / self.base_us, 0.0, 1.0)
            busy = (1.0 - self.sensing) * programs + self.sensing * rest
            total = total + share * ((1.0 - u) * idle + u * busy)
        return total

    def percentiles(self, shares: Array, load: Array) -> Array:
        """Response times in us at these shares; shape (loads, shares)."""
        load = np.asarray(load, dtype=float)[:, None]
        shares = np.asarray(shares, dtype=float)[None, :]
        low = np.zeros((load.size, shares.size))
        high = np.full_like(low, 2.0 * (self.base_us + self.slower_us) + self.suspend_us + 6.0 * self.slice_us)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            enough = self.share_below(middle, load) >= shares
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        return high

    def idle_quantiles(self, count: int) -> Array:
        """Times in us of fast pages on an idle die, one for each of `count` equal shares of them."""
        shares = (np.arange(count) + 0.5) / count
        return self.base_us * (1.0 + self.jitter * np.log(shares / (1.0 - shares)) / _LOGISTIC)


def _soft_step(x: Array) -> Array:
    """A step of 0 to 1 at 0 that is as wide as its argument is scaled; the logistic curve with a deviation of 1."""
    return 1.0 / (1.0 + np.exp(-np.clip(_LOGISTIC * x, -40.0, 40.0)))
