"""Parallel units and service times of a drive, from experiments that only this module looks at.

Times are microseconds. Each law names its source; a figure that the data do not determine counts as undetermined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import OptimizeResult, least_squares

from flashtwin.drives.estimates import Estimate
from flashtwin.drives.histogram import Histogram
from flashtwin.drives.tables import Depth, Measurements, SingleRequests

#: Error of the law of parallel units itself, by which intervals are widened (simulations: up to 8 %).
_MODEL_ERROR = 0.08
#: A fit that misses its rates by more than this tells nothing.
_WORST_MISS = 0.06
#: Beyond this, rates that stay below the law at the greatest depths are limited by a front end.
_LIMITED_MISS = 0.02
#: Depths that tell units, at least.
_LEAST_DEPTHS = 5
#: Weight of the prior of Z, as a share of one read, beside the logarithm of one rate.
_FIXED_WEIGHT = 0.5
#: Bytes of a parallel unit in GiB: from a plane of 256 Gbit flash to two dies of 1 Tbit.
_UNIT_GIB = (8.0, 256.0)
#: Farther than this from a number that drives have, D is not rounded.
_ROUNDED = 0.15
#: Slowest reads that the host delays, and not the drive.
_HOST = 0.99
_MOST_LOG, _MOST_UNITS = 700.0, 1e5
_GIB = 2**30


def estimates(measured: Measurements) -> list[Estimate]:
    """All figures that these experiments tell, of those that were run."""
    return [*_of_reads(measured), *_of_writes(measured)]


def _of_reads(measured: Measurements) -> Iterator[Estimate]:
    alone = measured.alone_of("read")
    if alone is not None:
        yield from page_types(alone)
    if measured.depths:
        times = None if alone is None else alone.times
        yield from parallel_units(measured.depths, times, measured.capacity_bytes, _unhurried_write_us(measured))


def _unhurried_write_us(measured: Measurements) -> float | None:
    """Response time of a write that RAM takes at once; None where no write is known to be one."""
    alone = measured.alone_of("write")
    if alone is not None:
        return alone.times.percentile_us(0.5)
    return min((row.write_us["50p"] for row in measured.open_loop if "50p" in row.write_us), default=None)


def _of_writes(measured: Measurements) -> Iterator[Estimate]:
    alone = measured.alone_of("write")
    if alone is not None:
        median = alone.times.percentile_us(0.5)
        low, high = alone.times.percentile_us(0.25), alone.times.percentile_us(0.75)
        yield Estimate("buffer_us", round(median, 2), "us", low, high, "median and quartiles of writes one at a time")


def page_types(alone: SingleRequests) -> Iterator[Estimate]:
    """Modes of the response times of reads one at a time: types of flash page differ in tR."""
    modes = alone.times.modes()
    shares = ", ".join(f"{mode.share:.0%}" for mode in modes)
    source = f"modes of reads one at a time ({shares} of {alone.times.count:,})"
    yield Estimate("read_modes_us", [round(mode.time_us, 1) for mode in modes], "us", source=source)


def throughput(depths: np.ndarray, units: float, service: float, fixed: float, cv: float) -> np.ndarray:
    """Reads a second with n under way on `units` servers that draw requests evenly, at each depth.

    Mean value analysis of a closed network with first-come-first-served queues whose service times have a coefficient
    of variation `cv` (Reiser, A queueing network analysis of computer communication networks with window flow control,
    1979): an arrival finds the queue of n - 1 requests and the rest of the one in service. For n = 1 it is 1 / (Z + S);
    for large n, n / X has the slope S / D and the intercept S (D - 1) / D (1 + cv^2) / 2, without Z.

    Args:
        depths: ascending; between two numbers of requests the rate is taken as a line.
        units: parallel units D.
        service: time S on a unit.
        fixed: time Z that passes nowhere in a queue.
        cv: of the service time.
    """
    queue = busy = 0.0
    rest = (1.0 + cv * cv) / 2.0
    # With the second part the intercept keeps its meaning for any number of units.
    ahead_of_it = rest + (1.0 - rest) / units
    rates = np.zeros(math.ceil(depths[-1]) + 1)
    for under_way in range(1, rates.size):
        response = service * (1.0 + max(queue - busy, 0.0) + busy * ahead_of_it)
        rate = under_way / (fixed + response)
        queue, busy = rate * response / units, min(rate * service / units, 1.0)
        rates[under_way] = rate * 1e6
    return np.asarray(np.interp(depths, np.arange(rates.size), rates))


def parallel_units(
    rows: Sequence[Depth], alone: Histogram | None, capacity_bytes: float | None = None, fixed_us: float | None = None
) -> list[Estimate]:
    """Parallel units D, their service time S and the fixed delay Z, from reads a second by depth.

    D counts the units that serve reads in parallel: dies, or planes that read by themselves. The response time of one
    read at a time is Z + S; by its histogram reads differ.

    Args:
        rows: reads a second; depth 1 and four more at least.
        alone: response times of reads one at a time; None: as if all were alike.
        capacity_bytes: of the drive, to which D is rounded.
        fixed_us: about how long Z is, for example a write that RAM takes: it passes the same host, link and controller.
            Without it, D and S are less certain than their quotient.
    """
    depths = np.array([row.depth for row in rows], dtype=float)
    found = np.array([row.per_s for row in rows])
    if depths.size < _LEAST_DEPTHS or depths[0] != 1 or found.min() <= 0:
        return [_unknown("parallel_units", "reads at depth 1 and four more depths are needed")]
    deviation = 0.0 if alone is None else alone.trimmed(_HOST).deviation_us
    best = _fitted(depths, found, deviation, fixed_us)
    if _miss(best) > _LIMITED_MISS and fixed_us is not None:
        best = _behind_places(depths, found, deviation, fixed_us) or best
    miss = _miss(best)
    # Where the law goes on to rise and the drive does not, something in front of the units is the limit.
    is_limited = miss > _LIMITED_MISS and float(np.mean(best.fun[depths.size - 2 : depths.size])) > _LIMITED_MISS / 2
    if is_limited or miss > _WORST_MISS:
        hidden = "; a front end hides them" if is_limited else ""
        return [_unknown("parallel_units", f"the rates by depth miss any number of units by {miss:.1%}{hidden}")]
    return list(_unit_figures(best, found, capacity_bytes))


def _behind_places(depths: np.ndarray, found: np.ndarray, deviation: float, fixed_us: float) -> OptimizeResult | None:
    """With the number of requests that a front end lets through as a third unknown; None where that tells no units.

    The depths below it must be many, and bring enough requests for them to meet on a unit.
    """
    between = np.sqrt(depths[_LEAST_DEPTHS - 1 : -1] * depths[_LEAST_DEPTHS:])
    tries = [_fitted(depths, found, deviation, fixed_us, places) for places in between]
    best = min(tries, key=lambda one: float(one.cost), default=None)
    if best is None:
        return None
    places = float(np.exp(best.x[2]))
    meets = float(np.max(depths[depths <= places])) >= math.exp(best.x[0]) / 2
    return best if meets and _miss(best) <= _LIMITED_MISS else None


def _fitted(
    depths: np.ndarray, found: np.ndarray, deviation: float, fixed_us: float | None, places: float | None = None
) -> OptimizeResult:
    """Least squares over the logarithm of D, S by the time of one read, and the logarithm of the places, if any."""
    one_us = 1e6 / found[0]

    def misses(x: np.ndarray) -> np.ndarray:
        units, service = float(np.exp(x[0])), one_us * float(x[1])
        fixed = max(one_us - service, 0.0)
        under_way = depths if places is None else np.minimum(depths, np.exp(x[2]))
        logs = np.log(throughput(under_way, units, service, fixed, deviation / service) / found)
        return np.asarray(logs if fixed_us is None else np.append(logs, _FIXED_WEIGHT * (fixed - fixed_us) / one_us))

    units = (min(max(share * one_us * found.max() / 1e6, 1.5), _MOST_UNITS) for share in (0.6, 0.9))
    starts = [[math.log(one), share] for one, share in zip(units, (0.6, 0.9), strict=True)]
    low, high = [0.0, 0.05], [math.log(_MOST_UNITS), 1.1]
    if places is not None:
        starts = [[*start, math.log(places)] for start in starts]
        low, high = [*low, math.log(depths[_LEAST_DEPTHS - 1])], [*high, math.log(depths[-1])]
    tries = (least_squares(misses, start, bounds=(low, high)) for start in starts)
    return min(tries, key=lambda one: float(one.cost))


def _miss(best: OptimizeResult) -> float:
    return float(np.sqrt(np.mean(best.fun**2)))


def _unit_figures(best: OptimizeResult, per_s: np.ndarray, capacity_bytes: float | None) -> Iterator[Estimate]:
    one_us = 1e6 / per_s[0]
    freedom = max(best.fun.size - best.x.size, 1)
    variance = np.linalg.pinv(best.jac.T @ best.jac) * (best.fun @ best.fun) / freedom
    margins = np.hypot(1.96 * np.sqrt(np.diag(variance)[:2]), _MODEL_ERROR * np.array([1.0, best.x[1]]))
    units, service = float(np.exp(best.x[0])), float(best.x[1]) * one_us
    # Rates that hardly grow leave an interval beyond all numbers.
    low, high = (float(np.exp(min(best.x[0] + sign * margins[0], _MOST_LOG))) for sign in (-1, 1))
    source = f"reads a second at {per_s.size} depths, missed by {_miss(best):.1%}"
    source += f", by {math.exp(best.x[2]):.0f} requests at once" if best.x.size > 2 else ""
    rounded = allowed_units(units, capacity_bytes)
    if rounded != round(units):
        source += f"; {units:.1f} rounded to what drives have"
    known = high < 2.0 * low
    source += "" if known else "; the interval is too wide to say more"
    yield Estimate("parallel_units", rounded, "", low, high, source, is_measured=known)
    margin = float(margins[1]) * one_us
    for key, value in (("read_service_us", service), ("read_fixed_us", max(one_us - service, 0.0))):
        yield Estimate(key, round(value, 2), "us", max(value - margin, 0.0), value + margin, source, is_measured=known)


def allowed_units(units: float, capacity_bytes: float | None = None) -> int:
    """The number of parallel units that is nearest to `units` among those that drives have: 2^k and 3 * 2^k.

    A unit holds 8 to 256 GiB. Where the nearest is more than 15 % away, nothing is rounded.
    """
    candidates = [base << power for base in (1, 3) for power in range(14)]
    if capacity_bytes is not None:
        # Flash is sold in powers of two: a drive of 960 GB has 1,024 GiB or a little more.
        physical = capacity_bytes / 1e9 * 1.0666
        candidates = [one for one in candidates if _UNIT_GIB[0] <= physical / one <= _UNIT_GIB[1]] or candidates
    nearest = min(candidates, key=lambda one: abs(math.log(one / units)))
    return nearest if abs(math.log(nearest / units)) <= _ROUNDED else max(round(units), 1)


def _unknown(key: str, why: str) -> Estimate:
    return Estimate(key, "unknown", source=why, is_measured=False)
