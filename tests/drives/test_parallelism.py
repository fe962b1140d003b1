"""Parallel units and page types beside simulations that know no formula."""

import heapq

import numpy as np
import pytest

from flashtwin.drives import parallelism
from flashtwin.drives.histogram import Histogram
from flashtwin.drives.tables import Depth, SingleRequests


def histogram(times_us: np.ndarray) -> Histogram:
    times, counts = np.unique(np.round(times_us, 1), return_counts=True)
    return Histogram.of({int(time * 1000): int(count) for time, count in zip(times, counts, strict=True)})


def simulated(
    units: int, service: float, fixed: float, spread: float, under_way: int, *, front: float = 0.0
) -> tuple[float, np.ndarray]:
    """Reads a second and response times in us: each read takes the front end, then one unit at random, in order."""
    random = np.random.default_rng(under_way)
    count = 20_000
    sigma = np.sqrt(np.log(1 + spread * spread))
    times = service * np.exp(sigma * random.standard_normal(count) - sigma * sigma / 2)
    unit = random.integers(0, units, count)
    free, front_free = np.zeros(units), 0.0
    ready = [0.0] * under_way
    ends, responses = [], []
    for read in range(count):
        begin = heapq.heappop(ready)
        front_free = max(front_free, begin) + front
        end = max(free[unit[read]], front_free + fixed) + times[read]
        free[unit[read]] = end
        heapq.heappush(ready, end)
        ends.append(end)
        responses.append(end - begin)
    ends.sort()
    first, last = count // 5, count - max(under_way, count // 5)
    return (last - first) / (ends[last] - ends[first]) * 1e6, np.array(responses)


def measured(*drive: float, front: float = 0.0) -> tuple[list[Depth], Histogram]:
    rows = []
    for depth in (2**power for power in range(11)):
        rate, times = simulated(int(drive[0]), *drive[1:], depth, front=front)
        rows.append(Depth(depth, rate, {}))
        if depth == 1:
            alone = histogram(times)
    return rows, alone


@pytest.mark.parametrize("drive", [(8, 80.0, 30.0, 0.0), (32, 60.0, 10.0, 0.2), (128, 60.0, 12.0, 0.1)])
def test_units_of_a_simulated_drive_are_found(drive: tuple[float, ...]) -> None:
    rows, alone = measured(*drive)
    found = {one.key: one for one in parallelism.parallel_units(rows, alone)}
    units, service, fixed = (found[key] for key in ("parallel_units", "read_service_us", "read_fixed_us"))
    assert units.value == drive[0]
    assert units.is_measured
    for one, true in ((service, drive[1]), (fixed, drive[2])):
        assert one.low <= true <= one.high
    assert service.number == pytest.approx(drive[1], rel=0.1)


@pytest.mark.parametrize(
    ("units", "service", "front"),
    [(128, 60.0, 1.0), (128, 60.0, 0.6), (64, 60.0, 2.0), (64, 80.0, 1.5), (32, 60.0, 3.0), (16, 60.0, 5.0)],
)
def test_units_behind_a_front_end_are_told_by_the_depths_below_it(units: int, service: float, front: float) -> None:
    rows, alone = measured(units, service, 12.0, 0.1, front=front)
    found = parallelism.parallel_units(rows, alone, None, 12.0)[0]
    assert (found.value, found.is_measured) == (units, True)


@pytest.mark.parametrize(
    ("units", "places"), [(16, 56), (32, 69), (32, 48), (32, 100), (64, 90), (64, 120), (8, 48), (8, 120)]
)
def test_units_behind_places_for_requests_are_told(units: int, places: int) -> None:
    """By depths up to 128; with more places than 64 the last of them still brings more reads than the one before."""
    depths = list(map((2).__pow__, range(8)))
    rows = [Depth(depth, simulated(units, 60.0, 12.0, 0.1, min(depth, places))[0], {}) for depth in depths]
    assert (rows[-1].per_s == rows[-2].per_s) == (places <= 64)
    assert parallelism.parallel_units(rows, None, None, 12.0)[0].value == units


@pytest.mark.parametrize(("front", "fixed_us"), [(1.0, None), (2.0, 12.0)])
def test_units_behind_a_front_end_are_not_told_by_too_little(front: float, fixed_us: float | None) -> None:
    """Without a write that tells the delay, or with few requests for each unit below the limit."""
    rows, alone = measured(128, 60.0, 12.0, 0.1, front=front)
    (units,) = parallelism.parallel_units(rows, alone, None, fixed_us)
    assert not units.is_measured
    assert "a front end hides them" in units.source


def test_rates_that_no_drive_has_tell_no_units() -> None:
    rows = [Depth(2**power, rate, {}) for power, rate in enumerate((9e3, 16e3, 20e3, 60e3, 43e3, 150e3, 55e3, 57e3))]
    (found,) = parallelism.parallel_units(rows, None)
    assert (found.value, found.is_measured) == ("unknown", False)
    for greatest in (40e3, 1e12):
        # An interval beyond all numbers, and a first guess beyond the bounds.
        rates = (10e3, 20e3, 40e3, 80e3, greatest)
        found = parallelism.parallel_units([Depth(1 << at, rate, {}) for at, rate in enumerate(rates)], None)
        assert not found[0].is_measured
    (found,) = parallelism.parallel_units(rows[:3], None)
    assert "depth 1 and four more" in found.source


@pytest.mark.parametrize(
    ("units", "capacity", "allowed"),
    [(33.6, None, 32), (90.0, None, 96), (30.0, 960e9, 32), (5.5, 960e9, 6), (39.0, None, 39), (300.0, 960e9, 300)],
)
def test_units_are_rounded_to_what_drives_have(units: float, capacity: float | None, allowed: int) -> None:
    assert parallelism.allowed_units(units, capacity) == allowed


def test_page_types_are_modes_of_the_histogram() -> None:
    random = np.random.default_rng(0)
    slow = random.random(30_000) < 0.4
    times = np.where(slow, 100.0, 62.0) * np.exp(0.02 * random.standard_normal(30_000))
    times[:30] = 4000.0
    (found,) = parallelism.page_types(SingleRequests("read", histogram(times)))
    assert found.value == pytest.approx([62.0, 100.0], rel=0.01)
    assert "(61%, 39% of 30,000)" in found.source
    (one,) = parallelism.page_types(
        SingleRequests("read", histogram(62.0 * np.exp(0.05 * random.standard_normal(30_000))))
    )
    assert one.value == pytest.approx([62.0], rel=0.02)
