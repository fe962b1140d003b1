"""Steady state and SLC caches, on made rates."""

import numpy as np
import pytest

from flashtwin.drives import checks


@pytest.mark.parametrize(
    ("rates", "reason"),
    [
        ([300, 200, 100, 98, 101, 100, 99, 100], None),
        ([300, 200, 100], None),
        ([100, 130, 100, 100, 100], "spreads by 28%"),
        ([110, 107, 104, 101, 98], "falls by 12%"),
        ([100, 103, 106, 109, 112], "rises by 11%"),
    ],
)
def test_steady_is_as_snia_has_it(rates: list[float], reason: str | None) -> None:
    found = checks.unsteady(rates)
    assert (found is None) == (reason is None)
    assert reason is None or reason in str(found)


def noisy(rates: np.ndarray) -> np.ndarray:
    return rates * np.random.default_rng(0).normal(1.0, 0.03, rates.size)


@pytest.mark.parametrize("at", [3, 25, 80])
def test_an_slc_cache_is_one_drop_for_good(at: int) -> None:
    rates = noisy(np.where(np.arange(100) < at, 2000.0, 700.0))
    drop = checks.slc_cache(rates)
    assert drop.at_share == pytest.approx(at / 100, abs=0.01)
    assert (drop.before, drop.after) == pytest.approx((2000, 700), rel=0.05)


@pytest.mark.parametrize(
    "rates",
    [
        np.full(100, 1500.0),
        np.where(np.arange(100) < 50, 1500.0, 1100.0),
        np.where(np.arange(100) % 10 < 5, 2000.0, 700.0),
        np.where((np.arange(100) > 30) & (np.arange(100) < 60), 700.0, 2000.0),
        np.linspace(1000, 1500, 100),
    ],
    ids=["flat", "warm", "throttled", "comes-back", "rises"],
)
def test_other_rates_are_no_cache(rates: np.ndarray) -> None:
    assert checks.slc_cache(noisy(rates)) is None


def test_hundredths_are_of_what_is_written_and_not_of_time() -> None:
    # Half of the drive at 200 and half at 100: a third of the time, then two thirds.
    time_ms = np.arange(1000.0, 31_000.0, 1000.0)
    rates = checks.hundredths(np.where(time_ms <= 10_000, 200.0, 100.0), time_ms)
    assert rates[:50] == pytest.approx(200.0 / 1)
    assert rates[50:] == pytest.approx(100.0)
