"""Intervals of differences between two runs of one trace, by resampling blocks of its requests.

Both runs served the same requests, so one draw of blocks serves both. An interval of 95 % is for another stretch of the
same steady workload. It says nothing about other workloads, other drives or the model's error.

    >>> import flashtwin as ft
    >>> from flashtwin.results.intervals import Blocks, compare
    >>> both = ft.compare("traces/webvm-small.fiu.zst", ["conventional", "ca-ssd"], period_s=120)
    >>> first, second = (Blocks.of(run.table) for run in both.values())
    >>> found = compare(first, second, "write", "mean")
    >>> found.low_ns < found.difference_ns < found.high_ns
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from flashtwin.errors import ArgumentError
from flashtwin.results import schema
from flashtwin.results.documents import arrow_table
from flashtwin.results.frames import ArrowTable

Kind = Literal["read", "write", "flush", "all"]
Statistic = Literal["mean", "p50", "p99", "p99_9"]
Reason = Literal["too-few-requests", "too-few-blocks", "falls-behind", "drifts"]

#: Blocks that are drawn, and draws. Ours: automatic block lengths (Politis and White 2004) covered no better.
MERGED, DRAWS, SEED = 20, 1_000, 1
#: Ends of an interval, and how much further out they are moved. Ours: the quantile of t with 19 degrees of freedom over
#: the normal one is 1.07, and quantiles of 20 blocks fall a little short.
QUANTILES, WIDENING = (0.025, 0.975), 1.10
#: If long blocks give an interval so many times as wide as short ones do, neighbouring blocks are alike. Ours.
DRIFT, SHORT_BLOCKS = 1.5, 100
#: Fewest requests of the kind, and fewest of the 20 blocks in which the runs differ. Ours: the slowest hundredth of
#: 10,000 has 100 requests.
FLOORS: Mapping[Statistic, int] = {"mean": 2_000, "p50": 2_000, "p99": 10_000, "p99_9": 100_000}
LEAST_DIFFERING = 10
#: There is no interval if the second half's mean is so many times the first's, or if the means of the last blocks rise
#: one after the other above all before, to as many times. Ours: in no trial did an interval from the first half hold
#: the whole's. The drive falls behind if it also serves less than this share of the rate offered; else it ages.
BEHIND, RISING, SERVED = 1.3, 4, 0.99
#: An aged drive settles while a host page takes so many times as many programs in one half as in the other. Ours.
SETTLES = 1.1
_SHARES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KindBlocks:
    """Requests of one kind: counts and sums of response times by block, and counts by block and bucket of time."""

    counts: Floats
    sums_ns: Floats
    buckets: Floats


@dataclass(frozen=True)
class Blocks:
    """A run by blocks of the trace's requests: `Blocks.of(result.table)`."""

    #: Place in the trace of each block's first request.
    first_requests: Floats
    #: By block: first and last arrival.
    times_ns: Floats
    #: By bucket: lowest and highest time.
    bounds_ns: Floats
    kinds: Mapping[str, KindBlocks]

    @classmethod
    def of(cls, table: Callable[[str], ArrowTable]) -> Blocks:
        """Reads the tables `request_blocks` and `request_block_histogram` of a run.

        Raises:
            ArgumentError: they are none that a run writes.
        """
        blocks, fine = (_columns(name, table(name)) for name in ("request_blocks", "request_block_histogram"))
        kind, of, fine_kind, fine_of, lower = (
            blocks["kind"], blocks["block"], fine["kind"], fine["block"], fine["lower_ns"]
        )  # fmt: skip
        # A warm-up has no blocks.
        begin = of.min(initial=of.max(initial=0))
        of, fine_of = of - begin, fine_of - begin
        number = int(of.max()) + 1 if len(of) else 0
        if number > len(of) or (fine_of >= number).any() or (fine_of < 0).any():
            raise ArgumentError("request_blocks and its histogram are not of the same blocks")
        first, times = np.zeros(number), np.zeros((number, 2))
        first[of], times[:, 0] = blocks["first_request"], np.inf
        np.minimum.at(times[:, 0], of, blocks["first_arrival_ns"])
        np.maximum.at(times[:, 1], of, blocks["last_arrival_ns"])
        lowest, bucket = np.unique(lower, return_inverse=True)
        bounds = np.stack([lowest, lowest]).astype(float)
        bounds[1, bucket] = fine["upper_ns"]
        kinds = {}
        for name in ("read", "write", "flush"):
            own, own_fine = kind == name, fine_kind == name
            one = KindBlocks(np.zeros(number), np.zeros(number), np.zeros((number, len(lowest))))
            one.counts[of[own]] = blocks["count"][own]
            one.sums_ns[of[own]] = blocks["sum_ns"][own]
            one.buckets[fine_of[own_fine], bucket[own_fine]] = fine["count"][own_fine]
            kinds[name] = one
        reads, writes = kinds["read"], kinds["write"]
        kinds["all"] = KindBlocks(*(getattr(reads, one) + getattr(writes, one) for one in KindBlocks.__annotations__))
        return cls(first, times, bounds, kinds)

    def every_other(self, start: Literal[0, 1]) -> Blocks:
        """Half of the blocks: candidates are ranked by those from 0, and differences stated on those from 1.

        The best of a hundred replays looks better than it is on the requests that it was chosen by.
        """
        own = slice(start, None, 2)
        of = {kind: KindBlocks(one.counts[own], one.sums_ns[own], one.buckets[own]) for kind, one in self.kinds.items()}
        return replace(self, first_requests=self.first_requests[own], times_ns=self.times_ns[own], kinds=of)

    @cached_property
    def halves(self) -> tuple[dict[str, float], dict[str, float]]:
        """Statistics of each half by their paths in a summary, where the second has enough for an interval."""
        half, rest = (self.every_other(start) for start in (0, 1))
        known = [(kind, statistic) for kind in get_args(Kind) for statistic, least in FLOORS.items()
                 if rest.kinds[kind].counts.sum() >= least]  # fmt: skip
        first, second = (
            {f"response.{kind}.{statistic}_ns": float(_values(one, kind, statistic, _WHOLE)[0])
             for kind, statistic in known} for one in (half, rest)
        )  # fmt: skip
        return first, second


@dataclass(frozen=True)
class Interval:
    """The difference of a statistic between two runs, the second less the first, with an interval of 95 %."""

    kind: Kind
    statistic: Statistic
    #: Requests of the kind.
    requests: int
    #: The statistic of each run; percentiles are to half a bucket (0.8 %).
    first_ns: float
    second_ns: float
    #: Ends of the interval of the difference.
    low_ns: float
    high_ns: float
    #: The second as a multiple of the first, with the ends of its interval; None if one of them is 0.
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    #: The difference in each half of the trace, if the interval is too narrow: the difference changes along the trace,
    #: or the trace is too short.
    drift_ns: tuple[float, float] | None = None

    @property
    def difference_ns(self) -> float:
        """The second run's statistic less the first's."""
        return self.second_ns - self.first_ns

    @property
    def contains_zero(self) -> bool:
        """Whether the runs are not told apart."""
        return self.low_ns <= 0 <= self.high_ns


@dataclass(frozen=True)
class Refusal:
    """Why there is no honest interval."""

    reason: Reason
    sentence: str
    #: Requests of the kind that would tell; None if more of them would not.
    requests_needed: int | None = None
    #: Of response times that rise: the rate served as a share of the rate offered, and since when (simulated time).
    served: float | None = None
    since_ns: int | None = None
    #: The difference in each half of the trace, if they rise although the drive keeps up.
    drift_ns: tuple[float, float] | None = None


def compare(first: Blocks, second: Blocks, kind: Kind = "all", statistic: Statistic = "mean") -> Interval | Refusal:
    """The difference between two runs of one trace, the second less the first.

    Raises:
        ArgumentError: the runs are of different traces, or there is no such kind or statistic.
    """
    for value, known in ((kind, get_args(Kind)), (statistic, get_args(Statistic))):
        if value not in known:
            raise ArgumentError(f"'{value}' is none of {', '.join(known)}")
    pair = first.kinds[kind], second.kinds[kind]
    same = np.array_equal(first.first_requests, second.first_requests)
    if not same or not np.array_equal(pair[0].counts, pair[1].counts):
        raise ArgumentError("the runs are of different traces or warm-ups; an interval is of two runs of one trace")
    requests = int(pair[0].counts.sum())
    differ = _merged(pair[0].sums_ns, MERGED) != _merged(pair[1].sums_ns, MERGED)
    said = {"all": "reads and writes", "flush": "flushes"}.get(kind, f"{kind}s")
    if requests and not differ.any():
        equal = float(_values(first, kind, statistic, _WHOLE)[0])
        return Interval(kind, statistic, requests, equal, equal, 0.0, 0.0, 1.0, 1.0, 1.0)
    if requests < FLOORS[statistic]:
        named = statistic.replace("_", ".")
        sentence = f"too few to tell: {requests:,} {said}; a {named} takes {FLOORS[statistic]:,}"
        return Refusal("too-few-requests", sentence, FLOORS[statistic])
    if differ.sum() < LEAST_DIFFERING:
        needed = math.ceil(requests * LEAST_DIFFERING / differ.sum())
        sentence = f"too few to tell: the runs differ in {differ.sum()} of {MERGED} parts of the trace, and it takes "
        return Refusal("too-few-blocks", f"{sentence}{LEAST_DIFFERING}; {needed:,} {said} would do", needed)
    rises = _rises(first, kind, said) or _rises(second, kind, said)
    if rises is None:
        return _interval(first, second, kind, statistic, requests)
    return replace(rises, drift_ns=_halves(first, second, kind, statistic)) if rises.reason == "drifts" else rises


def unsettled(preload: object, table: Callable[[str], ArrowTable]) -> str:
    """Why there is no interval over the transient after ageing, by the table `periods`; empty where there is none."""
    if preload != "footprint":
        return ""
    host, collected = _columns("periods", table("periods"), ("host_programs", "gc_programs")).values()
    early = host.cumsum() <= host.sum() / 2
    halves = [(host[part].sum(), collected[part].sum()) for part in (early, ~early)]
    if not all(written for written, _ in halves):
        return ""
    before, after = (1.0 + copied / written for written, copied in halves)
    if max(before, after) <= SETTLES * min(before, after):
        return ""
    return (
        "the drive settles after its ageing: a page of the host takes "
        f"{before:.2f} programs in the first half of the writes, {after:.2f} in the second"
    )


def _columns(name: str, table: ArrowTable, wanted: tuple[str, ...] = ()) -> dict[str, Any]:
    """The wanted columns of a table, or all that it has by its schema: whole numbers but for the kind of requests."""
    held, found = arrow_table(table), {}
    for column in wanted or schema.TABLES[name]:
        values = held[column].to_numpy() if column in held.column_names else None
        if values is None or (column != "kind" and values.dtype.kind not in "iu"):
            raise ArgumentError(f"{name}: its column {column} is missing, or not of whole numbers alone")
        found[column] = values
    return found


def _halves(first: Blocks, second: Blocks, kind: Kind, statistic: Statistic) -> tuple[float, float]:
    early, late = _values(second, kind, statistic, np.eye(2)) - _values(first, kind, statistic, np.eye(2))
    return float(early), float(late)


def _rises(run: Blocks, kind: Kind, said: str) -> Refusal | None:
    counts, sums = (_merged(one, MERGED) for one in (run.kinds[kind].counts, run.kinds[kind].sums_ns))
    half = len(counts) // 2
    early, late = (sums[part].sum() / max(counts[part].sum(), 1.0) for part in (slice(half), slice(half, None)))
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    rises = bool(np.all(np.diff(means[-RISING:]) > 0)) and means[-RISING] > means[:-RISING].max()
    rises = rises and means[-1] > BEHIND * early
    if not early or (late <= BEHIND * early and not rises):
        return None
    # Since the last part that was served nearly as fast as the first half.
    since = int(np.flatnonzero(means <= BEHIND * early)[-1]) + 1
    begins, ends = run.times_ns.T
    begin = begins[min(since * len(begins) // MERGED, len(begins) - 1)]
    # In the end the drive is behind by the time that its last requests take.
    offered = ends.max() - begins.min()
    served = offered / (offered + means[-1])
    times, part = (late / early, "second half") if late > BEHIND * early else (means[-1] / early, "last twentieth")
    sentence = f"no interval: {said} of the trace's {part} take {times:.1f} times as long as those of its first half, "
    if served < SERVED:
        return Refusal("falls-behind", f"{sentence}because the drive falls behind", None, float(served), int(begin))
    return Refusal("drifts", f"{sentence}although the drive keeps up", None, float(served), int(begin))


def _interval(first: Blocks, second: Blocks, kind: Kind, statistic: Statistic, requests: int) -> Interval:
    before, after = (float(_values(run, kind, statistic, _WHOLE)[0]) for run in (first, second))
    # Requests of one bucket are not told apart.
    resolution = 0.0 if statistic == "mean" else 1 / 128

    def ends(blocks: int) -> tuple[float, float, float | None, float | None]:
        weights = _weights(min(blocks, len(first.first_requests)))
        one, other = (_values(run, kind, statistic, weights) for run in (first, second))
        low, high = _widened(other - one, after - before, resolution * max(before, after))
        if not before or not after:
            return low, high, None, None
        drawn = (one > 0) & (other > 0)
        least, most = _widened(np.log(other[drawn] / one[drawn]), math.log(after / before), resolution)
        return low, high, math.exp(least), math.exp(most)

    low, high, least, most = ends(MERGED)
    short_low, short_high, *_ = ends(SHORT_BLOCKS)
    alike = high - low > DRIFT * (short_high - short_low)
    drift = _halves(first, second, kind, statistic) if alike else None
    ratio = after / before if before and after else None
    return Interval(kind, statistic, requests, before, after, low, high, ratio, least, most, drift)


def _widened(draws: Floats, point: float, resolution: float) -> tuple[float, float]:
    low, high = np.quantile(draws, QUANTILES)
    out = point + WIDENING * min(low - point, 0.0) - resolution, point + WIDENING * max(high - point, 0.0) + resolution
    return float(out[0]), float(out[1])


def _merged(blocks: Floats, number: int) -> Floats:
    """Neighbouring blocks together, to `number` of them or as many as there are."""
    number = min(number, len(blocks))
    return np.add.reduceat(blocks, np.arange(number) * len(blocks) // number) if number else blocks


@cache
def _weights(blocks: int) -> Floats:
    """How often each block is in each draw; the same for all runs."""
    picks = np.random.default_rng(SEED).integers(0, blocks, (DRAWS, blocks))
    return np.stack([np.bincount(draw, minlength=blocks) for draw in picks]).astype(float)


_WHOLE = np.ones((1, 1))


def _values(run: Blocks, kind: Kind, statistic: Statistic, weights: Floats) -> Floats:
    """The statistic of each row of weights, one for each of equally many neighbouring blocks."""
    of, number = run.kinds[kind], weights.shape[1]
    if statistic == "mean":
        counts = weights @ _merged(of.counts, number)
        return np.divide(weights @ _merged(of.sums_ns, number), counts, out=np.zeros(len(counts)), where=counts > 0)
    used = of.buckets.any(axis=0)
    upto = weights @ _merged(of.buckets[:, used], number).cumsum(axis=1)
    ranks = np.ceil(_SHARES[statistic] * upto[:, -1])[:, None]
    at = np.minimum((upto < ranks).sum(axis=1, keepdims=True), upto.shape[1] - 1)
    above = np.take_along_axis(upto, at, axis=1)
    inside = above - np.where(at > 0, np.take_along_axis(upto, np.maximum(at - 1, 0), axis=1), 0.0)
    # Within a bucket requests are taken to be spread evenly.
    part = (ranks - (above - inside) - 0.5) / np.maximum(inside, 1.0)
    lower, upper = run.bounds_ns[:, used][:, at]
    return np.asarray((lower + part * (upper - lower))[:, 0], dtype=np.float64)
