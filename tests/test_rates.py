"""The search for the rate at which a bound's gain is the published one."""

import pytest

from flashtwin.papers.search import CLOSE, rate_for


@pytest.mark.parametrize("target", [1.0, 10.0, 26.6, 39.0])
@pytest.mark.parametrize("start", [0.01, 1.0, 500.0])
def test_the_rate_is_found_on_a_monotone_function(target: float, start: float) -> None:
    calls: list[float] = []

    def gain(rate: float) -> float:
        calls.append(rate)
        return 40.0 * rate / (rate + 3.0)

    found = rate_for(target, gain, start)
    assert found.met
    assert abs(gain(found.rate) - target) <= CLOSE
    calls.pop()
    assert len(calls) == len(set(calls)) == len(found.tried), "no rate is tried twice"
    assert len(calls) <= 20


def test_a_target_out_of_reach_is_said_to_be() -> None:
    found = rate_for(50.0, lambda rate: 40.0 * rate / (rate + 3.0))
    assert not found.met
    assert found.value == max(value for _, value in found.tried)


def test_a_peak_between_two_rates_is_looked_for() -> None:
    def gain(rate: float) -> float:
        return 40.0 * rate / 10.0 if rate <= 10.0 else 40.0 * 10.0 / rate

    assert rate_for(30.0, gain).met
    beyond = rate_for(45.0, gain)
    assert not beyond.met
    assert beyond.value > 30.0


@pytest.mark.parametrize("limit", [1e4, 1e12])
def test_behind_a_low_peak_the_search_goes_on(limit: float) -> None:
    """Trains alone make a peak at a rate at which the drive is idle on average."""

    def gain(rate: float) -> float | None:
        return None if rate > limit else 8.0 / (1.0 + abs(rate - 60.0) / 60.0) + 40.0 * rate / (rate + 3000.0)

    assert rate_for(20.0, gain).met


@pytest.mark.parametrize("start", [0.01, 1.0, 500.0, 1e6])
@pytest.mark.parametrize(("target", "met"), [(20.0, True), (36.0, True), (39.9, False)])
def test_rates_that_are_too_high_count_for_nothing(start: float, target: float, met: bool) -> None:
    """Beyond 100 nothing is measured: up to there 38.8 can be reached."""
    found = rate_for(target, lambda rate: 40.0 * rate / (rate + 3.0) if rate <= 100.0 else None, start)
    assert found.met == met
    assert found.rate <= 100.0
    assert met or found.rate > 50.0


def test_rate_search_ends_if_all_requests_arrive_at_once() -> None:
    """The captured traces have trains of one instant: their reads wait by any clock, and 110 years are refused."""
    rates: list[float] = []
    found = rate_for(20.0, lambda rate: rates.append(rate) or 60.0 + rate)
    assert not found.met
    assert found.value == min(value for _, value in found.tried)
    assert min(rates) >= 1 / 256


def test_when_no_rate_means_anything_none_is_met() -> None:
    found = rate_for(20.0, lambda _: None)
    assert (found.met, found.tried) == (False, ())
