"""Response times as fio's `json+` has them: a count for each bin, from which any percentile follows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

#: Percentiles of a response time by the names that columns have, e.g. `read_us_99p9`.
PERCENTILES: Mapping[str, float] = {"50p": 0.5, "90p": 0.9, "99p": 0.99, "99p9": 0.999, "99p99": 0.9999}
#: Response times in microseconds, by the names of `PERCENTILES`.
Times = Mapping[str, float]

#: Width of the smoothing before modes are sought, as a share of the time. fio's bins are up to 1.6 % wide.
_SMOOTH = 0.02
#: A mode has this share of all requests at least, and the valley beside it is this deep.
_LEAST_SHARE, _VALLEY = 0.05, 0.6


@dataclass(frozen=True)
class Mode:
    """A peak of a histogram: where it lies, and the share of the requests around it."""

    time_us: float
    share: float


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts by response time in nanoseconds, in ascending order."""

    times_ns: np.ndarray
    counts: np.ndarray
    #: The shares whose times are known, where a result has percentiles alone; empty: all of them.
    shares: tuple[float, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Whether another has the same counts. Arrays alone would answer element by element."""
        return (
            isinstance(other, Histogram)
            and self.shares == other.shares
            and all(np.array_equal(*both) for both in ((self.times_ns, other.times_ns), (self.counts, other.counts)))
        )

    def __hash__(self) -> int:
        return hash((self.times_ns.tobytes(), self.counts.tobytes(), self.shares))

    @classmethod
    def of_percentiles(cls, times_ns: Mapping[float, float], count: int) -> Histogram:
        """From times by share, as plain `json` of fio has them."""
        shares = sorted(times_ns)
        counts = np.diff([*shares[:-1], 1.0], prepend=0.0) * count
        return cls(np.array([times_ns[share] for share in shares]), counts, tuple(shares))

    @classmethod
    def of(cls, bins: Mapping[int, int]) -> Histogram:
        """From the counts by time."""
        times = sorted(bins)
        return cls(np.array(times, dtype=float), np.array([bins[time] for time in times], dtype=float))

    @classmethod
    def of_times(cls, times_ns: np.ndarray) -> Histogram:
        """Of response times one by one."""
        times, counts = np.unique(times_ns, return_counts=True)
        return cls(times.astype(float), counts.astype(float))

    @classmethod
    def merged(cls, parts: Iterable[Histogram]) -> Histogram:
        """Several as one, e.g. those of fio's jobs of one group."""
        parts = list(parts)
        if len(parts) == 1:
            return parts[0]
        bins: dict[int, int] = {}
        for part in parts:
            for time, count in zip(part.times_ns, part.counts, strict=True):
                bins[int(time)] = bins.get(int(time), 0) + int(count)
        return cls.of(bins)

    @property
    def count(self) -> int:
        """Requests in all bins."""
        return round(float(self.counts.sum()))

    @property
    def mean_us(self) -> float:
        """Mean response time."""
        return float(np.average(self.times_ns, weights=self.counts)) / 1e3

    @property
    def deviation_us(self) -> float:
        """Standard deviation of the response times."""
        spread = np.average((self.times_ns / 1e3 - self.mean_us) ** 2, weights=self.counts)
        return float(np.sqrt(spread))

    def percentile_us(self, share: float) -> float:
        """The time that this share of the requests does not exceed."""
        enough = np.searchsorted(np.cumsum(self.counts), share * self.counts.sum() * (1 - 1e-12))
        return float(self.times_ns[min(int(enough), self.times_ns.size - 1)]) / 1e3

    @property
    def times_us(self) -> dict[str, float]:
        """The percentiles that the tables have; those that too few requests tell are left out."""
        known = {name: share for name, share in PERCENTILES.items() if not self.shares or share in self.shares}
        return {name: self.percentile_us(share) for name, share in known.items() if self.count * (1 - share) >= 1}

    def trimmed(self, share: float) -> Histogram:
        """Without the slowest requests: all up to this share."""
        keep = self.times_ns <= self.percentile_us(share) * 1e3
        return Histogram(self.times_ns[keep], self.counts[keep])

    def modes(self) -> tuple[Mode, ...]:
        """The peaks, by time. A drive that reads one at a time has one for each type of flash page."""
        whole = self.trimmed(0.999)
        logs = np.log(np.maximum(whole.times_ns, 1.0))
        grid = np.arange(logs.min() - 0.1, logs.max() + 0.1, _SMOOTH / 4)
        weights = whole.counts / whole.counts.sum()
        density = np.zeros_like(grid)
        for log, weight in zip(logs, weights, strict=True):
            density += weight * np.exp(-0.5 * ((grid - log) / _SMOOTH) ** 2)
        return _modes(grid, density)


def _modes(grid: np.ndarray, density: np.ndarray) -> tuple[Mode, ...]:
    from scipy.signal import find_peaks  # loads for half a second

    peaks, found = find_peaks(density, prominence=0.0)
    tops = [int(top) for top in peaks[found["prominences"] >= (1.0 - _VALLEY) * density[peaks]]]
    while True:
        ends = [0, *(int(left + density[left:right].argmin()) for left, right in itertools.pairwise(tops)), grid.size]
        shares = [density[begin:end].sum() / density.sum() for begin, end in itertools.pairwise(ends)]
        if min(shares) >= _LEAST_SHARE:
            return tuple(
                Mode(float(np.exp(grid[top])) / 1e3, float(share)) for top, share in zip(tops, shares, strict=True)
            )
        # The least goes first: its share may make a neighbour a mode.
        del tops[int(np.argmin(shares))]
