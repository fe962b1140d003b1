"""The one free parameter: the arrival rate at which Oracle's gain is the published one. Pure."""

import math
from collections.abc import Callable
from dataclasses import dataclass

#: Points of percent within which the target counts as met.
CLOSE = 0.25
#: The first rate tried is multiplied or divided by this until the target lies between two.
STEP = 4.0
#: Rates tried to bracket the target, and within the bracket.
BRACKET, BISECT = 12, 10
#: No lower rate is tried: what waits at a 256th of the recorded clock came at one instant, and does so by any clock.
LOWEST = 1 / 256


#: The result at a rate; None for one that is too high.
Measure = Callable[[float], float | None]


@dataclass(frozen=True)
class RateResult:
    rate: float
    value: float
    #: Whether the value is the target; otherwise the rate is that of the nearest value seen.
    met: bool
    #: Everything tried: rate and value, ascending.
    tried: tuple[tuple[float, float], ...]


def rate_for(target: float, measure: Measure, start: float = 1.0) -> RateResult:
    """The rate at which `measure`, which rises with it on the whole, yields the target; bisected logarithmically.

    `measure` gives None for a rate that is too high to mean anything. Where the target is not reached below
    that, or at any rate, the nearest value seen is returned as not met.

    >>> rate_for(20.0, lambda rate: 40.0 * rate / (rate + 3.0)).met
    True
    """
    tried: dict[float, float | None] = {}

    def value(rate: float) -> float | None:
        if rate not in tried:
            tried[rate] = measure(rate)
        return tried[rate]

    first = value(start)
    if first is not None and first < target:
        _climb(target, value, start)
    else:
        _descend(target, value, start)
    for _ in range(BISECT):
        seen = _known(tried)
        above = min((rate for rate in seen if seen[rate] >= target), default=None)
        below = max((rate for rate in seen if seen[rate] < target and rate < (above or 0.0)), default=None)
        if above is None or below is None or min(abs(known - target) for known in seen.values()) <= CLOSE:
            break
        value(math.sqrt(below * above))
    seen = _known(tried)
    rate = min(seen, key=lambda known: (abs(seen[known] - target), known), default=start)
    nearest = seen.get(rate, 0.0)
    return RateResult(rate, nearest, rate in seen and abs(nearest - target) <= CLOSE, tuple(sorted(seen.items())))


def _known(tried: dict[float, float | None]) -> dict[float, float]:
    return {rate: value for rate, value in tried.items() if value is not None}


def _climb(target: float, value: Measure, start: float) -> None:
    """Tries higher rates until one reaches the target or is too high: behind a peak there may be a higher one."""
    rate = best = start
    for _ in range(BRACKET):
        found = value(rate * STEP)
        if found is None:
            _climb_to_limit(target, value, rate, rate * STEP)
            return
        rate *= STEP
        if found >= target:
            return
        if found > (value(best) or 0.0):
            best = rate
    if best < rate:
        _climb_peak(target, value, best / STEP, best, best * STEP)


def _descend(target: float, value: Measure, start: float) -> None:
    """Tries lower rates until one means something and stays below the target, or none lower makes sense."""
    rate, before = start, value(start)
    for _ in range(BRACKET):
        if rate / STEP < LOWEST:
            return
        rate /= STEP
        found = value(rate)
        if found is not None and found < target:
            if before is None:
                _climb_to_limit(target, value, rate, rate * STEP)
            return
        before = found


def _climb_to_limit(target: float, value: Measure, low: float, high: float) -> None:
    """Tries rates between one that is below the target and one that is too high."""
    for _ in range(BISECT // 2):
        middle = math.sqrt(low * high)
        found = value(middle)
        if found is not None and found >= target:
            return
        low, high = (low, middle) if found is None else (middle, high)


def _climb_peak(target: float, value: Measure, low: float, middle: float, high: float) -> None:
    """Looks around a peak between two rates for a value that reaches the target."""

    def known(rate: float) -> float:
        found = value(rate)
        return -math.inf if found is None else found

    for _ in range(BISECT // 2):
        left, right = math.sqrt(low * middle), math.sqrt(middle * high)
        best = max((middle, left, right), key=known)
        if known(best) >= target:
            return
        if best == left:
            middle, high = left, middle
        elif best == right:
            low, middle = middle, right
        else:
            low, high = left, right
