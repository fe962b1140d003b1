"""Repeated comparisons: paired differences with intervals, and refusals where nothing varies."""

import math
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin.results.intervals import Blocks, Interval, compare
from flashtwin.sweeps.replicating import t_quantile

from .conftest import ROOT

PAIR = ("conventional", "ca-ssd")
RECIPE = "rr-ssd/webvm"


@pytest.fixture(scope="module")
def trace() -> ft.Trace:
    return ft.open(ROOT / "traces" / "webvm-small.fiu.zst", to_s=30)


def test_over_blocks_is_the_interval_beside_exact_figures(trace: ft.Trace) -> None:
    found = ft.replicate(trace, PAIR, figures=["all.mean", "write.p99"], period_s=10)
    both = ft.compare(trace, PAIR, period_s=10)
    mean, p99 = found.rows
    exact = [run.response.all.mean_ns for run in both.values()]
    assert [mean["baseline_value"], mean["value"]] == exact
    interval = compare(*(Blocks.of(run.table) for run in both.values()))
    assert isinstance(interval, Interval)
    assert (mean["low"], mean["high"], mean["ratio_low"]) == (interval.low_ns, interval.high_ns, interval.ratio_low)
    assert (p99["low"], p99["high"]) == (None, None)
    assert p99["note"].startswith("too few to tell")
    assert found.to_arrow().num_rows == 2


def test_over_synthesis_is_student_s_interval_of_paired_differences() -> None:
    found = ft.replicate(RECIPE, PAIR, 5, over="synthesis", scale=0.001, figures=["all.mean", "programs"])
    differences = []
    for seed in range(5):
        both = ft.compare(ft.synthesize(RECIPE, scale=0.001, seed=seed), PAIR)
        differences.append(both["ca-ssd"].response.all.mean_ns - both.baseline.response.all.mean_ns)
    mean = sum(differences) / 5
    half = 2.776 * math.sqrt(sum((one - mean) ** 2 for one in differences) / 4 / 5)
    row = found.rows[0]
    assert (row["n"], row["difference"]) == (5, pytest.approx(mean))
    assert (row["low"], row["high"]) == pytest.approx((mean - half, mean + half), abs=0.01 * half)
    assert found.values.to_arrow().num_rows == 5 * 2 * 2


def test_aged_drives_differ_by_seed_and_new_ones_do_not(trace: ft.Trace) -> None:
    aged: dict[str, Any] = {"settings": {"preload": "footprint"}, "fill": 0.9, "figures": ["write.mean"]}
    for over in ("ageing", "seed"):
        (row,) = ft.replicate(trace, PAIR, 5, over=over, **aged).rows
        assert row["low"] < row["difference"] < row["high"]
    with pytest.raises(ft.ArgumentError, match=r"draw no random number.*repeat over 'blocks'"):
        ft.replicate(trace, PAIR, 5, over="seed")
    with pytest.raises(ft.ArgumentError, match=r"the drives are new.*set preload='footprint'"):
        ft.replicate(trace, PAIR, 5, over="ageing")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"over": "weeks"}, "expected one of 'blocks', 'synthesis', 'ageing', 'seed'"),
        ({"over": "synthesis"}, r"takes a recipe; ft.imitate\(trace\)"),
        ({"over": "seed", "n": 4}, "n is 4: 5 replications"),
        ({"over": "seed", "n": "abc"}, "n is 'abc', of type str: expected a whole number"),
        ({"n": 10}, "leave n out"),
        ({"figures": ["programs"]}, "'programs' has no interval over blocks"),
        ({"systems": ["ca-ssd"]}, "name two or more"),
    ],
)
def test_impossible_replications_name_the_cure(trace: ft.Trace, how: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.ArgumentError, match=message):
        ft.replicate(trace, **{"systems": PAIR, **how})


def test_quantiles_of_t_are_those_of_tables() -> None:
    known = {4: 2.776, 5: 2.571, 9: 2.262, 19: 2.093, 100: 1.984}
    assert {freedom: t_quantile(freedom) for freedom in known} == pytest.approx(known, rel=0.003)


def test_seeds_of_a_sweep_are_those_of_its_systems(trace: ft.Trace, tmp_path: Path) -> None:
    swept = ft.sweep(trace, tmp_path / "out", PAIR, seed=[1, 2, 3], workers=1)
    rows = swept.to_arrow().to_pylist()
    assert [(row["system"], row["config.seed"]) for row in rows] == [(name, at) for name in PAIR for at in (1, 2, 3)]
    for wrong in ({"seed": "abc"}, {"seed": [1, 1.5]}, {"search_seed": "abc"}, {"search_seed": -1}):
        with pytest.raises(ft.ArgumentError, match=r"expected .*whole number"):
            ft.sweep(trace, tmp_path / "wrong", PAIR, **wrong)  # type: ignore[arg-type]


Pair = tuple[ft.Result, ft.Result]


def differences(both: Pair) -> tuple[float, float]:
    """Of the mean, and of the p99."""
    first, second = (run.response.all for run in both)
    return second.mean_ns - first.mean_ns, second.p99_ns - first.p99_ns


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "scale", "speed"), [("rr-ssd/webvm", 0.005, 100), ("ds-ftl/webmail", 0.002, 100)])
def test_intervals_hold_the_mean_over_other_syntheses(recipe: str, scale: float, speed: float) -> None:
    """The intervals of 40 syntheses against the mean over 200 others."""
    how: dict[str, Any] = {"speed": speed, "period_s": ft.workload(recipe).period_s(scale)}

    def replayed(seed: int) -> Pair:
        first, second = ft.compare(ft.synthesize(recipe, scale=scale, seed=seed), PAIR, **how).values()
        return first, second

    means = [sum(of) / 200 for of in zip(*(differences(replayed(seed)) for seed in range(1000, 1200)), strict=True)]
    known: dict[str, list[bool]] = {"mean": [], "p99": []}
    for seed in range(40):
        blocks = [Blocks.of(run.table) for run in replayed(seed)]
        for mean, (statistic, held) in zip(means, known.items(), strict=True):
            found = compare(*blocks, "all", statistic)  # type: ignore[arg-type]
            if isinstance(found, Interval):
                held.append(found.low_ns <= mean <= found.high_ns)
    shares = {statistic: (sum(held) / max(len(held), 1), len(held)) for statistic, held in known.items()}
    assert min(number for _, number in shares.values()) >= 30, shares
    assert shares["mean"][0] >= 0.85, shares
    assert shares["p99"][0] >= 0.8, shares
