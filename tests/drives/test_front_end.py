"""Slots and arbitration from the medians of a saturated drive, by hand."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from flashtwin.drives import front_end
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.tables import OpenLoop


def saturated(read_us: float, write_us: float, bulk_us: float, per_s: float = 80_000.0) -> OpenLoop:
    return OpenLoop(900.0, 2 * per_s, 0.05 * per_s, 0.95 * per_s, {"50p": read_us}, {"50p": write_us}, {"50p": bulk_us})


def simulated(slots: int, *, shared: bool) -> OpenLoop:
    """448 requests under way, a twentieth of them reads; a drive that ends a write each 12 us and reads in 100 us."""
    random = np.random.default_rng(slots)
    now, times = 0.0, {"R": [], "W": []}  # type: ignore[var-annotated]
    queue: deque[tuple[str, float]] = deque(("R" if random.random() < 0.05 else "W", 0.0) for _ in range(448))
    held: deque[float] = deque()

    def another() -> tuple[str, float]:
        return "R" if random.random() < 0.05 else "W", now

    for _ in range(60_000):
        while queue and (len(held) < slots or not shared):
            kind, since = queue.popleft()
            if kind == "W":
                held.append(since)
                continue
            times["R"].append(now + 100.0 - since)
            queue.append(another())
        now += 12.0
        times["W"].append(now - held.popleft())
        queue.append(another())
    read, write = (np.array(times[kind][len(times[kind]) // 3 :]) for kind in "RW")
    rates = (len(times["R"]) / now * 1e6, len(times["W"]) / now * 1e6)
    return OpenLoop(900.0, 200e3, *rates, {"50p": float(np.median(read))}, {"50p": float(np.median(write))})


@pytest.mark.parametrize("slots", [32, 64])
def test_shared_slots_are_found_where_reads_wait(slots: int) -> None:
    found = Estimates(front_end.front_end(simulated(slots, shared=True)))
    assert found[front_end.ARBITRATION].value == "fifo"
    assert found.number(front_end.SLOTS) == pytest.approx(slots, rel=0.25)


def test_reads_that_pass_have_no_limit() -> None:
    (none,) = front_end.front_end(simulated(64, shared=False))
    assert (none.value, none.is_measured) == (0, True)


@pytest.mark.parametrize(
    ("row", "slots", "arbitration"),
    [
        # One queue for all: a read waits 5,000 us for a slot, a write 500 us more: 0.0005 s x 76,000/s.
        (saturated(5000, 5500, 5500), 38, "fifo"),
        # The queue that sends little gets a slot soon; its writes wait for all that hold one: 0.0018 s x 76,000/s.
        (saturated(200, 2000, 4000), 137, "round-robin"),
        # The P5520: its reads wait longer for their turn.
        (saturated(425, 2130, 3242), 130, "round-robin"),
        # Reads pass and all writes wait alike: as many as the host has under way.
        (saturated(150, 3300, 3400), 0, None),
    ],
)
def test_the_class_is_told_from_one_row(row: OpenLoop, slots: int, arbitration: str | None) -> None:
    found = Estimates(front_end.front_end(row))
    assert found.number(front_end.SLOTS) == slots
    if arbitration is not None:
        assert found[front_end.ARBITRATION].value == arbitration


def test_a_class_in_between_is_said_to_be_unknown() -> None:
    (unknown,) = front_end.front_end(saturated(425, 2130, 2242))
    assert (unknown.value, unknown.is_measured) == (0, False)


def test_no_saturated_row_means_no_limit_with_a_note() -> None:
    reached = replace(saturated(100, 10, 10), offered_per_s=80_000.0)
    assert front_end.telling([reached]) is None
    (none,) = front_end.front_end(None)
    assert (none.value, none.is_measured) == (0, False)


def test_slots_move_by_what_the_twin_waits_otherwise() -> None:
    row = saturated(5000, 5500, 5500)
    estimates = Estimates(front_end.front_end(row))
    # The twin's writes wait 250 us less than the drive's: 0.00025 s x 76,000/s more slots, 0.7 of them at once.
    (moved,) = front_end.mended(estimates, [row], saturated(5000, 5250, 5250))
    assert moved.value == 38 + 13
    assert front_end.mended(Estimates(front_end.front_end(saturated(150, 3300, 3400))), [row], row) == []


def test_a_burst_grows_with_the_wait_of_reads_for_their_turn() -> None:
    busy = replace(saturated(140, 10, 10), offered_per_s=80_000.0)
    row = saturated(200, 2000, 4000)
    estimates = Estimates(front_end.front_end(row))
    # 60 us more than without a wait, where the twin's reads wait 20 us with one request in a turn.
    slots, burst = front_end.mended(estimates, [busy, row], saturated(160, 2000, 4000))
    assert (slots.value, burst.value) == (137, 3)


@pytest.mark.parametrize(("unit", "smaller"), [(48, 24), (24, 12), (12, None), (4, None)])
def test_program_unit_shrinks_where_reads_wait_less_than_in_turn(unit: int, smaller: int | None) -> None:
    busy, row = replace(saturated(135, 10, 10), offered_per_s=80_000.0), saturated(425, 2130, 3242)
    array = [
        Estimate("nand.program_pages", unit, is_measured=False),
        Estimate("nand.program_us", 40.0 * unit, "us", 39.0 * unit, 41.0 * unit),
        Estimate("nand.sense_pages", 4),
    ]
    estimates = Estimates([*front_end.front_end(row), *array])
    # The drive's reads wait 290 us for their turn, the twin's 605 us.
    twin = saturated(740, 2130, 3242)
    found = {one.key: one for one in front_end.smaller_unit(estimates, [busy, row], twin)}
    if smaller is None:
        assert found == {}
    else:
        program = found["nand.program_us"]
        assert (found["nand.program_pages"].value, found["nand.program_pages"].is_measured) == (smaller, True)
        # As many pages a second.
        assert (program.low, program.value, program.high) == (39.0 * smaller, 40.0 * smaller, 41.0 * smaller)
    # Reads that wait as long leave it alone, and so do those of queues that send several requests in a turn.
    assert front_end.smaller_unit(estimates, [busy, row], saturated(440, 2130, 3242)) == []
    several = estimates.with_all([replace(estimates[front_end.BURST], value=2)])
    assert front_end.smaller_unit(several, [busy, row], twin) == []
