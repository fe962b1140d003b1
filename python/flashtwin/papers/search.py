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
    search = _RateSearch(target, measure)
    first = search.value(start)
    if first is not None and first < target:
        search.climb(start)
    else:
        search.descend(start)
    for _ in range(BISECT):
        seen = search.seen
        above = min((rate for rate in seen if seen[rate] >= target), default=None)
        below = max((rate for rate in seen if seen[rate] < target and rate < (above or 0.0)), default=None)
        if above is None or below is None or min(abs(known - target) for known in seen.values()) <= CLOSE:
            break
        search.value(math.sqrt(below * above))
    seen = search.seen
    rate = min(seen, key=lambda known: (abs(seen[known] - target), known), default=start)
    nearest = seen.get(rate, 0.0)
    return RateResult(rate, nearest, rate in seen and abs(nearest - target) <= CLOSE, tuple(sorted(seen.items())))


class _RateSearch:
    def __init__(self, target: float, measure: Measure) -> None:
        self._target, self._measure = target, measure
        self._tried: dict[float, float | None] = {}

    def value(self, rate: float) -> float | None:
        if rate not in self._tried:
            self._tried[rate] = self._measure(rate)
        return self._tried[rate]

    @property
    def seen(self) -> dict[float, float]:
        return {rate: value for rate, value in self._tried.items() if value is not None}

    def _height(self, rate: float) -> float:
        found = self.value(rate)
        return -math.inf if found is None else found

    def climb(self, start: float) -> None:
        """Tries higher rates until one reaches the target or is too high: behind a peak there may be a higher one."""
        rates = [start]
        for _ in range(BRACKET):
            found = self.value(rates[-1] * STEP)
            if found is None:
                self._climb_to_limit(rates[-1], rates[-1] * STEP)
                return
            rates.append(rates[-1] * STEP)
            if found >= self._target:
                return
        best = max(rates, key=self._height)
        if best < rates[-1]:
            self._climb_peak(best / STEP, best, best * STEP)

    def descend(self, start: float) -> None:
        """Tries lower rates until one means something and stays below the target, or none lower makes sense."""
        rate = start
        for _ in range(BRACKET):
            if rate / STEP < LOWEST:
                return
            before, found = self.value(rate), self.value(rate / STEP)
            rate /= STEP
            if found is not None and found < self._target:
                if before is None:
                    self._climb_to_limit(rate, rate * STEP)
                return

    def _climb_to_limit(self, low: float, high: float) -> None:
        """Tries rates between one that is below the target and one that is too high."""
        for _ in range(BISECT // 2):
            middle = math.sqrt(low * high)
            found = self.value(middle)
            if found is not None and found >= self._target:
                return
            low, high = (low, middle) if found is None else (middle, high)

    def _climb_peak(self, low: float, middle: float, high: float) -> None:
        """Looks around a peak between two rates for a value that reaches the target."""
        for _ in range(BISECT // 2):
            left, right = math.sqrt(low * middle), math.sqrt(middle * high)
            best = max((middle, left, right), key=self._height)
            if self._height(best) >= self._target:
                return
            around = {left: (low, left, middle), right: (middle, right, high)}
            low, middle, high = around.get(best, (left, middle, right))
