"""What response times of writes below the knee tell: batches of collection, and how much the time of RAM varies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flashtwin.drives.estimates import SPREAD, STALL, Estimate
from flashtwin.drives.histogram import PERCENTILES
from flashtwin.drives.laws import Array
from flashtwin.drives.tables import OpenLoop

#: The percentile that tells a stall, which is this long at least, in microseconds and by the median at the lightest
#: load.
_TELLS, _LEAST_US, _LEAST_TIMES = "99p9", 400.0, 5.0
#: Largest miss of the law at one of its rates, and rates that must keep to it: so many, because two always do, and this
#: share of those with stalls.
_MISS, _RATES, _SHARE = 0.08, 3, 0.5
#: What is longer is no batch, and no block of a twin would hold it.
_LONGEST_US = 100e3
#: Median of an exponential distribution by its mean.
MEDIAN = math.log(2.0)
#: Percentiles that tell the spread, where the last is below so many times the least median and none is missed by more.
_BEYOND_MEDIAN, _SPREAD_TIMES, _SPREAD_MISS = ("90p", "99p", "99p9"), 3.0, 0.3


def batches(below: Sequence[OpenLoop]) -> list[Estimate]:
    """Length of a batch with the programs beside it, and places of RAM: stall = length - places / rate.

    Nothing where writes do not wait like that.

    The law holds from the rate on at which writes begin to wait. Near saturation the host waits as well, so the
    highest rates may miss it.

    Args:
        below: rows that the drive keeps up with.
    """
    rows = [row for row in below if _TELLS in row.write_us and "50p" in row.write_us]
    rows.sort(key=lambda row: row.writes_per_s)
    least_us = max(_LEAST_US, _LEAST_TIMES * rows[0].write_us["50p"]) if rows else 0.0
    stalled = [row for row in rows if row.write_us[_TELLS] >= least_us]
    for count in range(len(stalled), _RATES - 1, -1):
        if count >= _SHARE * len(stalled) and (law := _law(stalled[:count])):
            return law
    return []


def _law(rows: Sequence[OpenLoop]) -> list[Estimate]:
    gap_us = np.array([1e6 / row.writes_per_s for row in rows])
    stall_us = np.array([row.write_us[_TELLS] for row in rows])
    (length, places), deviations, worst = _fitted(np.stack([np.ones_like(gap_us), -gap_us], axis=1), stall_us, stall_us)
    if places < 1.0 or not stall_us.max() < length < _LONGEST_US or worst > _MISS:
        return []
    source = f"stalls of writes at {len(rows)} rates as length - places / rate, missed by {worst:.0%} at most"
    return [
        _estimate(STALL, "us", length, deviations[0], source),
        _estimate("engine.write_buffer_pages", "pages", places, deviations[1], source),
    ]


def spread(below: Sequence[OpenLoop]) -> list[Estimate]:
    """Mean of a random time beside the median of writes that wait for nothing; nothing where it is not exponential.

    Args:
        below: rows that the drive keeps up with.
    """
    times = [row.write_us for row in below if set(_BEYOND_MEDIAN) <= set(row.write_us)]
    quickest_us = min((one["50p"] for one in times), default=0.0)
    times = [one for one in times if one[_TELLS] < _SPREAD_TIMES * quickest_us]
    if not times:
        return []
    measured = np.array([one[name] for one in times for name in _BEYOND_MEDIAN])
    more = measured - np.repeat([one["50p"] for one in times], len(_BEYOND_MEDIAN))
    means = np.tile([-math.log(1.0 - PERCENTILES[name]) - MEDIAN for name in _BEYOND_MEDIAN], len(times))
    (mean,), (deviation,), worst = _fitted(means[:, None], more, measured)
    if worst > _SPREAD_MISS or not 0.0 < MEDIAN * mean < quickest_us - 1.0:
        return []
    source = f"p90, p99 and p99.9 of writes at {len(times)} light rates, missed by {worst:.0%} at most"
    return [_estimate(SPREAD, "us", mean, deviation, source)]


def _fitted(sides: Array, values: Array, scales: Array) -> tuple[list[float], list[float], float]:
    """Least squares of misses by these scales: the factors, their standard deviations, and the largest miss."""
    sides, values = sides / scales[:, None], values / scales
    factors, *_ = np.linalg.lstsq(sides, values, rcond=None)
    misses = sides @ factors - values
    variance = np.linalg.inv(sides.T @ sides) * (misses @ misses) / max(len(values) - len(factors), 1)
    return factors.tolist(), np.sqrt(np.diag(variance)).tolist(), float(np.abs(misses).max())


def _estimate(key: str, unit: str, value: float, deviation: float, source: str) -> Estimate:
    return Estimate(key, round(value, 2), unit, value - 1.96 * deviation, value + 1.96 * deviation, source)
