"""The one free parameter: the arrival rate at which Oracle gains what was published. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

#: Points of percent within which the target counts as met.
CLOSE = 0.25
#: The first rate tried is multiplied or divided by this until the target lies between two.
STEP = 4.0
#: Rates tried to bracket the target, and within the bracket.
BRACKET, BISECT = 10, 10


@dataclass(frozen=True)
class Found:
    """A rate and what it yields."""

    rate: float
    value: float
    #: Whether the value is the target; otherwise the rate is that of the nearest value seen.
    met: bool
    #: Everything tried: rate and value, ascending.
    tried: tuple[tuple[float, float], ...]


def rate_for(target: float, measure: Callable[[float], float], start: float = 1.0) -> Found:
    """The rate at which `measure`, which rises with the rate, yields the target; bisected on a logarithmic scale.

    Where it rises no more before it gets there, the nearest value seen is returned as not met.

    >>> rate_for(20.0, lambda rate: 40.0 * rate / (rate + 3.0)).met
    True
    """
    seen: dict[float, float] = {}

    def value(rate: float) -> float:
        if rate not in seen:
            seen[rate] = measure(rate)
        return seen[rate]

    if value(start) < target:
        _climb(target, value, start)
    else:
        _descend(target, value, start)
    for _ in range(BISECT):
        above = min((rate for rate in seen if seen[rate] >= target), default=None)
        below = max((rate for rate in seen if seen[rate] < target and rate < (above or 0.0)), default=None)
        if above is None or below is None or min(abs(known - target) for known in seen.values()) <= CLOSE:
            break
        value(math.sqrt(below * above))
    rate = min(seen, key=lambda known: (abs(seen[known] - target), known))
    return Found(rate, seen[rate], abs(seen[rate] - target) <= CLOSE, tuple(sorted(seen.items())))


def _climb(target: float, value: Callable[[float], float], start: float) -> None:
    """Tries higher rates until one reaches the target, or the value has passed its peak."""
    rate, best = start, value(start)
    for _ in range(BRACKET):
        rate *= STEP
        if value(rate) >= target:
            return
        if value(rate) < best - 2 * CLOSE:
            _climb_peak(target, value, rate / STEP**2, rate / STEP, rate)
            return
        best = max(best, value(rate))


def _descend(target: float, value: Callable[[float], float], start: float) -> None:
    """Tries lower rates until one stays below the target."""
    rate = start
    for _ in range(BRACKET):
        rate /= STEP
        if value(rate) < target:
            return


def _climb_peak(target: float, value: Callable[[float], float], low: float, middle: float, high: float) -> None:
    """Looks around a peak between two rates for a value that reaches the target."""
    for _ in range(BISECT // 2):
        left, right = math.sqrt(low * middle), math.sqrt(middle * high)
        best = max((middle, left, right), key=value)
        if value(best) >= target:
            return
        if best == left:
            middle, high = left, middle
        elif best == right:
            low, middle = middle, right
        else:
            low, high = left, right
