"""Slots and arbitration from the medians of a saturated drive, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flashtwin.drives import front_end
from flashtwin.drives.estimates import Estimates
from flashtwin.drives.tables import OpenLoop


def saturated(read_us: float, write_us: float, bulk_us: float, per_s: float = 80_000.0) -> OpenLoop:
    return OpenLoop(900.0, 2 * per_s, 0.05 * per_s, 0.95 * per_s, {"50p": read_us}, {"50p": write_us}, {"50p": bulk_us})


@pytest.mark.parametrize(
    ("row", "slots", "arbitration"),
    [
        # One queue for all: a read waits 5,000 us for a slot, a write 500 us more: 0.0005 s x 80,000/s.
        (saturated(5000, 5500, 5500), 40, "fifo"),
        # The queue that sends little gets a slot soon; its writes wait for all that hold one: 0.002 s x 76,000/s.
        (saturated(200, 2000, 4000), 152, "round-robin"),
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
    # The P5520: reads wait a fifth as long as writes.
    (unknown,) = front_end.front_end(saturated(425, 2130, 3242))
    assert (unknown.value, unknown.is_measured) == (0, False)


def test_without_a_saturated_row_there_is_no_limit_and_that_is_said() -> None:
    reached = replace(saturated(100, 10, 10), offered_per_s=80_000.0)
    assert front_end.telling([reached]) is None
    (none,) = front_end.front_end(None)
    assert (none.value, none.is_measured) == (0, False)


def test_slots_move_by_what_the_twin_waits_otherwise() -> None:
    row = saturated(5000, 5500, 5500)
    estimates = Estimates(front_end.front_end(row))
    # The twin's writes wait 250 us less than the drive's, so it wants 0.00025 s x 76,000/s more slots.
    (moved,) = front_end.mended(estimates, [row], saturated(5000, 5250, 5250))
    assert moved.value == 40 + 19
    assert front_end.mended(Estimates(front_end.front_end(saturated(150, 3300, 3400))), [row], row) == []


def test_a_burst_grows_with_the_wait_of_reads_for_their_turn() -> None:
    busy = replace(saturated(140, 10, 10), offered_per_s=80_000.0)
    row = saturated(200, 2000, 4000)
    estimates = Estimates(front_end.front_end(row))
    # 60 us more than without a wait, where the twin's reads wait 20 us with one request in a turn.
    slots, burst = front_end.mended(estimates, [busy, row], saturated(160, 2000, 4000))
    assert (slots.value, burst.value) == (152, 3)
