"""Laws of drives beside simulations and published points."""

import math

import numpy as np
import pytest

from flashtwin.drives import laws
from flashtwin.drives.laws import ReadLaw


@pytest.mark.parametrize("a", [1.07, 1.2, 1.5, 2.0, 4.0])
def test_amplification_is_the_fixed_point_of_fifo_collection(a: float) -> None:
    """A page stays valid while the whole drive is written once more: v = exp(-a (1 - v))."""
    valid = 0.5
    for _ in range(3000):
        valid = math.exp(-a * (1.0 - valid))
    assert float(laws.amplification(a, 1.0)) == pytest.approx(1.0 / (1.0 - valid), rel=1e-6)
    assert float(laws.valid_share(laws.amplification(a, 1.0))) == pytest.approx(valid, rel=1e-6)


def test_amplification_grows_with_fill_and_overhead() -> None:
    used = np.linspace(100.0, 999.0, 50)
    found = laws.amplification(1000.0, used)
    assert np.all(np.diff(found) > 0)
    assert laws.amplification(1000.0, used, 1.1) == pytest.approx(1.1 * found)


def test_flash_page_is_sensed_if_any_page_is_valid() -> None:
    random = np.random.default_rng(0)
    valid = random.random((200_000, 4)) < 0.3
    assert float(laws.senses(0.3, 4)) == pytest.approx(valid.any(axis=1).mean() / 4, rel=0.01)
    assert float(laws.senses(0.3, 1)) == pytest.approx(0.3)


@pytest.mark.parametrize("load", [0.0, 0.3, 0.9])
@pytest.mark.parametrize(
    "law",
    [
        ReadLaw(60, 40, 90, 1.0, 0.0, 1.0, 0.002),
        ReadLaw(60, 10, 90, 0.6, 45.0, 0.9, 0.002),
        ReadLaw(60, 40, 90, 1.0, 0.0, 0.9, 0.002, sensing=0.4),
    ],
)
def test_percentiles_of_reads_are_those_of_drawn_ones(law: ReadLaw, load: float) -> None:
    random = np.random.default_rng(1)
    count = 1_000_000
    time = law.base_us + np.where(random.random(count) < law.fast_share, 0.0, law.slower_us)
    # As the engine draws it: longer times than five means are cut to five.
    rest = law.slice_us * np.minimum(random.exponential(size=count), laws.SLICE_CUT)
    is_busy = random.random(count) < law.busy * load
    waits = np.where(
        random.random(count) < law.sensing, law.base_us * random.random(count), law.suspend_us + rest
    )  # fmt: skip
    time = np.where(is_busy, time + waits, time)
    shares = np.array([0.2, 0.9, 0.99, 0.999])
    found = law.percentiles(shares, np.array([load]))[0]
    assert found == pytest.approx(np.quantile(time, shares), rel=0.03)


def test_quantiles_of_idle_reads_are_those_of_the_law() -> None:
    law = ReadLaw(60, 40, 90, 1.0, 0.0, 1.0, 0.2)
    at = law.idle_quantiles(12)
    assert law.share_below(at, np.array(0.0)) == pytest.approx((np.arange(12) + 0.5) / 12)
    assert at.mean() == pytest.approx(60.0)
    assert at.std() == pytest.approx(0.2 * 60.0, rel=0.1)
