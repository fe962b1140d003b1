"""What response times of writes below the knee tell: batches and holds of collection, and the spread of RAM's time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

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
#: Error of the laws themselves, by which intervals are widened (drives drawn at random: up to 6 %).
_LAW_ERROR = 0.05
#: What is longer is no batch, and no block of a twin would hold it.
_LONGEST_US = 100e3
#: Median of an exponential distribution by its mean.
MEDIAN = math.log(2.0)
#: Percentiles that tell holds, at rates up to this share of the saturated one, because near it writes wait for RAM too.
_HELD, _CALM = ("99p", "99p9"), 0.66
#: Misses of the laws of holds; a length that differs by more than this factor is that of another mode.
_GROWING_MISS, _REGULAR_MISS, _ANOTHER = 0.25, 0.25, 1.5
#: A rate contradicts the law where it has no waits and the law has such of so many times the least.
_SURELY_LONG = 2.0
#: Share of the slots from which a hold may end early, and by how much slow reads are longer that wait for slots.
_SLOTS_TAKEN, _QUEUED = 0.8, 2.0
#: So many slots beyond those in use that chance does not take them all.
_SLOTS_MORE = 1.02
#: Share of a rate at which the recent rate is surely not lower.
_SURELY = 0.93
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


def holds(below: Sequence[OpenLoop], saturated: Sequence[OpenLoop], knee_per_s: float) -> list[Estimate]:
    """How collection holds writes back, in its two modes (`engine.hold_every_us`); nothing where it does not.

    Args:
        below: rows that the drive keeps up with.
        saturated: rows at which more was asked for.
        knee_per_s: writes of the saturated drive.
    """
    rows = sorted((row for row in below if {"50p", *_HELD} <= set(row.write_us)), key=lambda row: row.writes_per_s)
    calm = [row for row in rows if row.writes_per_s <= _CALM * knee_per_s]
    return _growing(calm, saturated, knee_per_s) or _regular(calm)


def _growing(calm: Sequence[OpenLoop], saturated: Sequence[OpenLoop], knee_per_s: float) -> list[Estimate]:
    """Holds of u^2 of the time, u the share of the saturated rate, and of the mean length `every` u^2.

    Of the writes the share u^2 e^(-w / (every u^2)) waits longer than w, as long as there are free slots.
    """
    full = [row for row in saturated if "50p" in row.read_us and "50p" in row.write_us]
    slots = statistics.median([_under_way(row) for row in full]) if full else 0.0
    every_us, quiet_loads = [], []
    for row in calm:
        load = (row.writes_per_s / knee_per_s) ** 2
        for wait_us, beyond in _waits(row):
            if wait_us < _LEAST_US:
                quiet_loads.append(load * math.log(max(load / beyond, 1.0)))
            elif wait_us * row.writes_per_s / 1e6 > _SLOTS_TAKEN * slots:
                continue
            elif load <= beyond:
                return []
            else:
                every_us.append(wait_us / (load * math.log(load / beyond)))
    if len(every_us) < 2 or _off(every_us) > _GROWING_MISS:
        return []
    if statistics.median(every_us) * max(quiet_loads, default=0.0) > _SURELY_LONG * _LEAST_US:
        return []
    source = f"longest writes at light rates, {len(every_us)} percentiles, missed by {_off(every_us):.0%} at most"
    return [
        _of_many("engine.hold_every_us", every_us, "us", source),
        Estimate("engine.hold_full_writes_per_s", round(knee_per_s), "1/s", source="the saturated rate"),
        Estimate("engine.slots", math.ceil(_SLOTS_MORE * slots), source="under way at saturation, as reads pass"),
        *_modes(calm, every_us),
    ]


def _under_way(row: OpenLoop) -> float:
    """Requests of a saturated row: all that the other threads may have, and those of the one at a fixed rate."""
    of_fixed = (row.load.fixed_per_s / 2) * (row.write_us["50p"] + row.read_us["50p"]) / 1e6
    return row.load.threads * row.load.depth + of_fixed


def queued(below: Sequence[OpenLoop]) -> list[OpenLoop]:
    """Rows whose slowest reads wait for slots: several times longer than those of most other rows."""
    rows = [row for row in below if _TELLS in row.read_us]
    usual_us = statistics.median([row.read_us[_TELLS] for row in rows]) if rows else 0.0
    return [row for row in rows if row.read_us[_TELLS] > _QUEUED * usual_us]


def _modes(calm: Sequence[OpenLoop], every_us: Sequence[float]) -> Iterator[Estimate]:
    """A mode that lets a part of the writes pass, so that reads wait for slots, and an urgent one that lets all."""
    lazy = queued(calm)
    last_per_s = max((row.writes_per_s for row in lazy), default=0.0)
    urgent_per_s = min((row.writes_per_s for row in calm if row.writes_per_s > last_per_s), default=0.0)
    source = f"reads wait for slots at {len(lazy)} rates"
    yield _urgent_from(last_per_s, urgent_per_s, source)
    yield _of_many("engine.urgent_hold_every_us", every_us, "us", "that of the other mode")
    # All queues are full and send in turn, the one with half reads as many as any other.
    times = [(row, max(row.read_us, key=PERCENTILES.__getitem__)) for row in lazy if row.load.fixed_per_s]
    shares = [
        min(2e6 * row.load.under_way / (row.read_us[name] + row.write_us[name]) / row.served_per_s, 1.0)
        for row, name in times if name in row.write_us
    ]  # fmt: skip
    if shares:
        yield _of_many("engine.hold_pass_share", shares, "", f"slowest reads and writes at {len(shares)} rates")


def _urgent_from(last_lazy: float, first_urgent: float, source: str) -> Estimate:
    """The recent rate varies, and the first rate of the urgent mode is one by far."""
    return Estimate("engine.urgent_writes_per_s", round(_SURELY * first_urgent), "1/s", last_lazy, first_urgent, source)


def _regular(calm: Sequence[OpenLoop]) -> list[Estimate]:
    """Holds of one length in each mode: of the share of time f that they take, f (1 - w / length) waits longer."""
    lengths: list[float] = []
    shares: list[float] = []
    for row in calm:
        (first, beyond), (last, beyond_last) = _waits(row)
        lengths.append((beyond * last - beyond_last * first) / (beyond - beyond_last))
        shares.append(beyond / max(1.0 - first / lengths[-1], beyond) if lengths[-1] > 0 else 0.0)
        if last < _SPREAD_TIMES * row.write_us["50p"]:
            return []
    cuts = [at for at in range(1, len(calm)) if not 1 / _ANOTHER < lengths[at] / lengths[at - 1] < _ANOTHER]
    parts: list[slice] = [slice(0, at) for at in cuts] + [slice(cuts[0] if cuts else 0, None)]
    if len(cuts) > 1 or any(len(lengths[part]) < 2 or _off(lengths[part]) > _REGULAR_MISS for part in parts):
        return []
    found = []
    for part, prefix in zip(parts, ("hold", "urgent_hold"), strict=False):
        source = f"p99 and p99.9 of writes at {len(lengths[part])} rates; lengths differ by {_off(lengths[part]):.0%}"
        every_us = [length / share for length, share in zip(lengths[part], shares[part], strict=True)]
        found += [_of_many(f"engine.{prefix}_us", lengths[part], "us", source),
                  _of_many(f"engine.{prefix}_every_us", every_us, "us", source)]  # fmt: skip
    if cuts:
        lazy, urgent = calm[cuts[0] - 1 : cuts[0] + 1]
        found.append(
            _urgent_from(lazy.writes_per_s, urgent.writes_per_s, "the rate at which the lengths of holds change")
        )
    return found


def _waits(row: OpenLoop) -> Iterator[tuple[float, float]]:
    """Waits beside the median, and the share of writes that wait longer."""
    for name in _HELD:
        yield row.write_us[name] - row.write_us["50p"], 1.0 - PERCENTILES[name]


def _off(values: Sequence[float]) -> float:
    """The largest difference from the median, as a share of it."""
    middle = statistics.median(values)
    return max(abs(value / middle - 1.0) for value in values)


def _of_many(key: str, values: Sequence[float], unit: str, source: str) -> Estimate:
    """The median of values that several rows give."""
    deviation = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return _estimate(key, unit, statistics.median(values), deviation, source)


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
    margin = math.hypot(1.96 * deviation, _LAW_ERROR * value)
    return Estimate(key, round(value, 2), unit, value - margin, value + margin, source)
