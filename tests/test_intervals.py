"""Intervals of differences between two runs, against plain resampling of single requests."""

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin.results import intervals
from flashtwin.results.intervals import Blocks, Interval, Refusal, compare

from .conftest import ROOT


def tables(
    times_ns: np.ndarray, each: int, arrivals_ns: np.ndarray | None = None, kinds: np.ndarray | None = None
) -> dict[str, pa.Table]:
    """The tables of a run whose requests took these times, by the definition in docs/results.md."""
    blocks, fine = [], []
    arrivals_ns = np.arange(len(times_ns)) * 100 if arrivals_ns is None else arrivals_ns
    kinds = np.full(len(times_ns), "read") if kinds is None else kinds
    for block, begin in enumerate(range(0, len(times_ns), each)):
        for kind in np.unique(kinds[begin : begin + each]):
            own = np.flatnonzero(kinds[begin : begin + each] == kind) + begin
            times, arrived = times_ns[own], arrivals_ns[own]
            blocks.append((block, begin, str(kind), len(own), int(times.sum()), int(arrived[0]), int(arrived[-1])))
            # 64 buckets for each doubling.
            widths = 2 ** np.maximum(np.floor(np.log2(np.maximum(times, 1))).astype(int) - 6, 0)
            for low, count in zip(*np.unique(times // widths * widths, return_counts=True), strict=True):
                width = 2 ** max(int(math.log2(max(low, 1))) - 6, 0)
                fine.append((block, str(kind), int(low), int(low) + width - 1, int(count)))
    numbers = ["count", "sum_ns", "first_arrival_ns", "last_arrival_ns"]
    columns = [pa.array(column) for column in zip(*blocks, strict=True)]
    fine_columns = [pa.array(column) for column in zip(*fine, strict=True)]
    return {
        "request_blocks": pa.table(columns, names=["block", "first_request", "kind", *numbers]),
        "request_block_histogram": pa.table(fine_columns, names=["block", "kind", "lower_ns", "upper_ns", "count"]),
    }


def run_of(times_ns: np.ndarray, each: int = 0, **more: np.ndarray) -> Blocks:
    return Blocks.of(tables(times_ns, each or math.ceil(len(times_ns) / 100), **more).__getitem__)


def waits(rng: np.random.Generator, number: int) -> np.ndarray:
    """Times with a tail, alike for a while, as those of a queue."""
    load = np.repeat(rng.gamma(8.0, 1 / 8, math.ceil(number / 50)), 50)[:number]
    return np.rint(50_000 + 40_000 * load * rng.exponential(1.0, number)).astype(np.int64)


def interval(first: Blocks, second: Blocks, *how: str) -> Interval:
    found = compare(first, second, *how)  # type: ignore[arg-type]
    assert isinstance(found, Interval), found
    return found


def refusal(first: Blocks, second: Blocks, *how: str) -> Refusal:
    found = compare(first, second, *how)  # type: ignore[arg-type]
    assert isinstance(found, Refusal), found
    return found


@given(number=st.integers(10_000, 20_000), seed=st.integers(0, 1000))
def test_interval_is_that_of_resampled_requests(number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = waits(rng, number)
    second = np.rint(first * rng.uniform(0.6, 1.1, number)).astype(np.int64)
    each = math.ceil(number / 100)
    blocks = -(-number // each)
    starts = [group * blocks // 20 * each for group in range(20)] + [number]
    parts = [np.arange(low, high) for low, high in pairwise(starts)]
    picks = np.random.default_rng(intervals.SEED).integers(0, 20, (intervals.DRAWS, 20))
    for statistic, of in (("mean", np.mean), ("p99", lambda all_: np.quantile(all_, 0.99, method="inverted_cdf"))):
        draws = []
        for draw in picks[:: 1 if statistic == "mean" else 5]:
            own = np.concatenate([parts[at] for at in draw])
            draws.append(of(second[own]) - of(first[own]))
        point = of(second) - of(first)
        low, high = (point + intervals.WIDENING * (end - point) for end in np.quantile(draws, intervals.QUANTILES))
        found = interval(run_of(first), run_of(second), "read", statistic)
        # A percentile of a histogram is in the exact one's bucket.
        slack = 0.001 * abs(point) if statistic == "mean" else of(first) / 64 + 0.2 * (high - low)
        assert found.low_ns == pytest.approx(low, abs=slack)
        assert found.high_ns == pytest.approx(high, abs=slack)
        for value, times in ((found.first_ns, first), (found.second_ns, second)):
            assert value == pytest.approx(of(times), rel=1e-9 if statistic == "mean" else 1 / 64)


@given(blocks=st.integers(20, 200), seed=st.integers(0, 1000), statistic=st.sampled_from(["mean", "p50", "p99"]))
def test_swapped_runs_negate_and_a_copy_is_equal(blocks: int, seed: int, statistic: str) -> None:
    rng = np.random.default_rng(seed)
    times = waits(rng, 12_000)
    each = math.ceil(len(times) / blocks)
    first, second = run_of(times, each), run_of(times + rng.integers(0, 30_000, len(times)), each)
    there, back = interval(first, second, "all", statistic), interval(second, first, "all", statistic)
    assert back.difference_ns == -there.difference_ns
    assert (back.low_ns, back.high_ns) == pytest.approx((-there.high_ns, -there.low_ns), rel=1e-9, abs=1e-3)
    assert there.ratio_low is not None
    assert back.ratio_high == pytest.approx(1 / there.ratio_low)
    same = interval(first, first, "all", statistic)
    assert (same.low_ns, same.difference_ns, same.high_ns, same.ratio_low, same.ratio_high) == (0, 0, 0, 1, 1)


def test_too_little_is_refused_with_what_would_tell() -> None:
    rng = np.random.default_rng(1)
    times = waits(rng, 9_999)
    first, second = run_of(times), run_of(times + 1_000)
    assert isinstance(compare(first, second, "read", "mean"), Interval)
    few = refusal(first, second, "read", "p99")
    assert (few.reason, few.requests_needed) == ("too-few-requests", 10_000)
    assert few.sentence == "too few to tell: 9,999 reads; a p99 takes 10,000"
    none = refusal(first, second, "flush", "mean")
    assert none.sentence == "too few to tell: 0 flushes; a mean takes 2,000"
    later = times.copy()
    later[: len(times) * 9 // 20] += 1_000
    rare = refusal(first, run_of(later), "read", "mean")
    assert (rare.reason, rare.requests_needed) == ("too-few-blocks", 11_110)
    # A trace cut to 15 writes has no winner, and a copy is equal however few there are.
    cut = [run_of(waits(rng, 15), kinds=np.full(15, "write")) for _ in range(2)]
    assert refusal(*cut, "all", "mean").reason == "too-few-requests"
    assert interval(cut[0], cut[0], "all", "mean").contains_zero


def test_drive_that_falls_behind_gets_no_interval() -> None:
    number = 20_000
    rng = np.random.default_rng(2)
    arrivals = np.cumsum(rng.exponential(10_000, number)).astype(np.int64)
    ends, end = np.zeros(number, np.int64), 0
    for at, arrived in enumerate(arrivals):
        # From its middle on, a server of 9 us gets slower than the requests that come.
        end = max(end, arrived) + (9_000 if at < number // 2 else 12_500)
        ends[at] = end
    behind = run_of(ends - arrivals, arrivals_ns=arrivals)
    keeps_up = run_of(waits(rng, number), arrivals_ns=arrivals)
    for pair in ((behind, keeps_up), (keeps_up, behind)):
        found = refusal(*pair, "all", "mean")
        assert (found.reason, found.requests_needed) == ("falls-behind", None)
        assert found.served == pytest.approx(arrivals[-1] / ends[-1], rel=0.02)
        assert found.since_ns == pytest.approx(arrivals[number // 2], rel=0.1)


@pytest.mark.parametrize(("how", "reason"), [({"queue_depth": 4}, "drifts"), ({"speed": 10}, "falls-behind")])
def test_writes_that_age_or_overload_a_drive_get_no_interval(how: dict[str, int], reason: str) -> None:
    number = 20_000
    pages = np.random.default_rng(5).integers(0, 4_000, number)
    frame = pa.table(
        {
            "time_ns": np.arange(number) * 1_000_000,
            "op": np.ones(number, np.uint8),
            "offset_bytes": pages * 4096,
            "length_bytes": np.full(number, 4096),
        }
    )
    small = {
        "device": "ds-ftl", "nand.channels": 2, "nand.chips_per_channel": 2, "nand.dies_per_chip": 1,
        "nand.planes_per_die": 1, "nand.pages_per_block": 16,
    }  # fmt: skip
    # Collection begins in the course of the trace; two systems differ in how many blocks it waits for.
    pair = {
        f"{blocks} blocks": ft.system("conventional", settings={**small, "blocks_per_plane": blocks, **how})
        for blocks in (76, 90)
    }
    both = ft.compare(ft.Trace.from_frame(frame, name="writes"), pair)
    found = refusal(*(Blocks.of(run.table) for run in both.values()), "write", "mean")
    assert found.reason == reason
    assert (found.drift_ns is not None) == (reason == "drifts")


def test_difference_that_changes_along_the_trace_is_marked() -> None:
    rng = np.random.default_rng(3)
    times = waits(rng, 20_000)
    slower = np.where(np.arange(20_000) < 10_000, times, np.rint(times * 1.2)).astype(np.int64)
    found = interval(run_of(times), run_of(slower), "all", "mean")
    assert found.drift_ns is not None
    halves = slower[:10_000].mean() - times[:10_000].mean(), slower[10_000:].mean() - times[10_000:].mean()
    assert found.drift_ns == pytest.approx(halves)
    steady = interval(run_of(times), run_of(np.rint(times * 1.1).astype(np.int64)), "all", "mean")
    assert steady.drift_ns is None


@pytest.mark.parametrize(
    ("collected", "sentence"),
    [
        ((0, 0, 0, 0), ""),
        ((50, 52, 49, 51), ""),
        ((80, 60, 20, 20), "1.70 programs in the first half of the writes, 1.20"),
    ],
)
def test_there_is_no_interval_while_an_aged_drive_settles(collected: tuple[int, ...], sentence: str) -> None:
    """Four periods of 100 programs for the host, with so many of collection."""
    table = {"periods": pa.table({"host_programs": [100] * 4, "gc_programs": collected})}.__getitem__
    why = intervals.unsettled("footprint", table)
    assert sentence in why
    assert bool(why) == bool(sentence)
    assert intervals.unsettled("first-reads", table) == ""


def test_every_other_block_is_half_of_the_requests() -> None:
    rng = np.random.default_rng(4)
    run = run_of(waits(rng, 20_000))
    even, odd = run.every_other(0), run.every_other(1)
    assert set(even.first_requests) | set(odd.first_requests) == set(run.first_requests)
    assert even.kinds["all"].counts.sum() == odd.kinds["all"].counts.sum() == 10_000
    with pytest.raises(ft.ArgumentError, match="different traces"):
        compare(even, odd)
    with pytest.raises(ft.ArgumentError, match="'p95' is none of mean, p50, p99, p99_9"):
        compare(run, run, "all", "p95")  # type: ignore[arg-type]


def test_tables_of_a_replay_are_those_of_its_requests() -> None:
    path = ROOT / "traces" / "webvm-small.fiu.zst"
    trace = ft.open(path, to_s=30)
    for system, settings in (("rr-ssd", {}), ("conventional", {"queue_depth": 8}), ("ca-ssd", {"engine.slots": 4})):
        how = {"period_s": 10, "speed": 10, "settings": settings}
        result = ft.replay(trace, system, per_request=True, **how)
        requests = pa.table(result.table("requests")).sort_by("request")
        assert requests["request"].to_pylist() == list(range(len(trace)))
        times, arrivals = requests["response_ns"].to_numpy(), requests["arrival_ns"].to_numpy()
        expected = tables(times, math.ceil(len(trace) / 100), arrivals, requests["op"].to_numpy())
        for name, table in expected.items():
            assert pa.table(result.table(name)).to_pylist() == table.to_pylist()
        streamed = ft.replay(ft.scan(path, to_s=30), system, **how)
        for name in expected:
            assert pa.table(streamed.table(name)).equals(pa.table(result.table(name)))
