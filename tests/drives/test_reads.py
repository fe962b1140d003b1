"""The law of reads, fitted to reads that were drawn one by one."""

import numpy as np
import pytest

from flashtwin.drives import reads
from flashtwin.drives.tables import FITTED, PERCENTILES, OpenLoop

SATURATED_PER_S = 80_000.0
SUSPEND_US, SLICE_US, BUSY = 70.0, 75.0, 0.91


def drawn(load: float, idle_us: np.ndarray) -> OpenLoop:
    """A rate of the open loop: a read waits for a suspended program if its die is busy."""
    random = np.random.default_rng(3)
    is_busy = random.random(idle_us.size) < BUSY * load
    wait_us = SUSPEND_US + SLICE_US * np.minimum(random.exponential(size=idle_us.size), 5.0)
    times = np.quantile(idle_us + np.where(is_busy, wait_us, 0.0), [PERCENTILES[name] for name in FITTED])
    rate = load * SATURATED_PER_S
    return OpenLoop(800, rate, 0.0, rate, {name: float(us) for name, us in zip(FITTED, times, strict=True)}, {})


@pytest.mark.parametrize("spread", [0.04, 0.12, 0.2])
def test_medians_between_the_rates_are_those_of_a_drive_whose_pages_take_different_times(spread: float) -> None:
    """Medians rise with the rate until half of the dies are busy, and then step."""
    idle_us = np.random.default_rng(2).normal(57.0, 57.0 * spread, 400_000).clip(20.0)
    law, _ = reads.read_law(tuple(drawn(load, idle_us) for load in (0.13, 0.38, 0.63, 0.87)), SATURATED_PER_S)
    between = np.array([0.25, 0.5, 0.75])
    expected = [drawn(load, idle_us).read_us["50p"] for load in between]
    assert law.percentiles(np.array([0.5]), between)[:, 0] == pytest.approx(expected, rel=0.1)


def test_two_types_of_flash_page_are_found_where_the_median_steps_twice() -> None:
    idle_us = np.random.default_rng(2).choice([60.0, 105.0], 400_000, p=[0.6, 0.4])
    law, _ = reads.read_law(tuple(drawn(load, idle_us) for load in np.linspace(0.05, 0.95, 7)), SATURATED_PER_S)
    assert law.fast_share == pytest.approx(0.6, abs=0.1)
    assert law.slower_us == pytest.approx(45.0, rel=0.15)


#: Writes a second, then `FITTED`, of a SK Hynix PE8110 (SSD-iq, PVLDB 18(11), 2025), saturated by 79,352 writes/s.
MEASURED = (
    (9_950.0, 56.0, 146.0, 315.0, 457.5),
    (29_760.0, 66.0, 188.0, 396.5, 520.0),
    (49_551.0, 146.0, 234.0, 419.0, 548.0),
    (69_338.0, 156.0, 278.0, 447.5, 604.0),
)


def test_median_does_not_step_at_a_rate_because_a_row_happens_to_lie_on_the_step() -> None:
    """At 40,000/s the drive's median is 71 us. Two types of page that meet one row in the middle of a step say 116."""
    rows = tuple(OpenLoop(894, rate, 0.0, rate, dict(zip(FITTED, times, strict=True)), {}) for rate, *times in MEASURED)
    law, figures = reads.read_law(rows, 79_352.0)
    assert law.percentiles(np.array([0.5]), np.array([0.5]))[0, 0] == pytest.approx(71.0, rel=0.15)
    assert {one.key for one in figures} >= {"idle_read_us", "idle_read_spread"}
