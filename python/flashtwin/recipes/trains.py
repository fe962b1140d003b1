"""The trains of a trace as a recipe has them: `arrivals.trains` of docs/workloads.md."""

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Requests further apart are of different trains, as the characterization has it.
APART_NS = 1_000_000
#: Percents of the trains, and of the gaps within them, at which points are taken.
LENGTHS_AT = (10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.8, 100)
GAPS_AT = (5, 10, 25, 50, 75, 90, 95, 99, 100)
#: Shorter trains than these on average are none.
LEAST_MEAN = 1.5
#: Mean silence between trains of the busiest hour without which they cannot be made.
LEAST_SILENCE_NS = 2.5 * APART_NS

_Column = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Trains:
    #: Keys of `arrivals.trains`.
    recipe: dict[str, Any]
    #: When each train that is not joined to the one before begins.
    starts_ns: _Column


def measure(time_ns: _Column, write: _Column, follows: _Column, busiest: float) -> Trains | None:
    """The trains of requests in order of time; None where there are none, or none that a recipe could make."""
    gaps = np.diff(time_ns)
    breaks = gaps > APART_NS
    first = np.concatenate([[0], np.flatnonzero(breaks) + 1])
    lengths = np.diff(np.append(first, len(time_ns)))
    mean = float(lengths.mean())
    lasts_ns = gaps[~breaks].sum() / len(first)
    every_ns = float(time_ns[-1]) / len(first) / busiest
    if mean < LEAST_MEAN or every_ns - lasts_ns < LEAST_SILENCE_NS:
        return None
    writes = np.add.reduceat(write.astype(np.int64), first)
    mixes = (writes > 0) & (writes < lengths)
    joins = np.zeros(len(first), dtype=bool)
    joins[1:] = follows[first[1:]] & (write[first[1:]] == write[first[1:] - 1])
    mixed = float(mixes.mean())
    # A joined train continues the run of addresses of the train before, unless that run ends with its train. A train
    # that mixes reads and writes is not joined, and no train is joined to it.
    within = min(1.0, max((follows.mean() - joins.mean() / mean) / max(1 - 1 / mean, 1e-9), 1e-9))
    joined = min(float(joins.mean()), 0.95 * (1 - mixed) ** 2 * within)
    stretches = (1 - joined / within + mixed) / mean
    # A run of writes ends when the train turns to reads.
    if follows[write].mean() > 1 - stretches:
        return None
    recipe = {
        "lengths": _with_mean(_points(lengths, LENGTHS_AT), mean),
        "gaps_us": _points(gaps[~breaks] / 1e3, GAPS_AT, 1),
        "joined_percent": round(100 * joined, 4),
        "mixed_percent": round(100 * mixed, 4),
    }
    return Trains(recipe, time_ns[first[~joins]])


def _points(values: _Column, percents: tuple[float, ...], digits: int | None = None) -> list[list[float]]:
    """Points of a distribution, each above the one before; whole numbers with their exact percents."""
    ordered = np.sort(values)
    points: list[list[float]] = []
    for percent in percents:
        value = ordered[max(0, int(np.ceil(percent / 100 * len(ordered))) - 1)]
        upto = 100 * float(np.searchsorted(ordered, value, side="right")) / len(ordered)
        shown = int(value) if digits is None else round(float(value), digits)
        if points and shown <= points[-1][0]:
            points[-1][1] = upto
        else:
            points.append([shown, upto])
    points[-1][1] = 100.0
    return [[value, round(upto, 4)] for value, upto in points]


def _with_mean(points: list[list[float]], mean: float) -> list[list[float]]:
    """The points with another share for the longest trains, so that all have the mean: they are not spread evenly."""
    if len(points) == 1:
        return points
    starts = [1, *(value + 1 for value, _ in points[:-1])]
    means = [_mean(int(start), int(value)) for start, (value, _) in zip(starts, points, strict=True)]
    shares = np.diff([0.0, *(upto for _, upto in points)]) / 100
    # The last two ranges share their trains so that the mean of all is the one wanted.
    rest = mean - float(np.dot(shares[:-2], means[:-2]))
    both = float(shares[-2] + shares[-1])
    longest = float(np.clip((rest - both * means[-2]) / (means[-1] - means[-2]), 1e-4, both - 1e-4))
    return [*points[:-2], [points[-2][0], round(100 * (1 - longest), 4)], points[-1]]


def _mean(low: int, high: int) -> float:
    """The mean of whole numbers that are spread evenly on a logarithmic scale."""
    numbers = np.arange(low, high + 1)
    shares = np.log1p(1 / numbers)
    return float((numbers * shares).sum() / shares.sum())
