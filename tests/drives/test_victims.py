"""The rule by which blocks are collected is found again, by amplification and by rate."""

from dataclasses import replace

import pytest

import flashtwin as ft
from flashtwin.drives import measuring, victims
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Measurements, OverwriteRun, SteadyWrites
from flashtwin.errors import DriveError
from flashtwin.replays.presets import System

ZIPF, UNIFORM, SEQUENTIAL = Pattern("zipf", is_shuffled=True, exponent=0.8), Pattern("uniform"), Pattern("sequential")
#: A thousandth of a drive: only shares count.
DIE = {
    "engine.write_completes": "buffered", "nand.channels": 1, "nand.chips_per_channel": 1, "nand.dies_per_chip": 1,
    "nand.planes_per_die": 1,
}  # fmt: skip


def drive(victim: str) -> System:
    return ft.system("conventional", settings={**DIE, "device": "tlc-unit-2021", "ftl.gc.victim": victim})


def asked(space_gib: float) -> Measurements:
    used = 0.85 * space_gib
    rows = [(SEQUENTIAL, 1.0), (ZIPF, 3.0)]
    return Measurements(
        "made", (), tuple(OverwriteRun(used, pattern, "one", times, 0.0, 0.0) for pattern, times in rows),
        (SteadyWrites("two", ZIPF, 0.0, {}),),
    )  # fmt: skip


@pytest.mark.parametrize("by", ["amplification", "rate"])
def test_the_victim_rule_of_a_made_drive_is_found_again(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "OVERWRITES", 3.0)
    hidden = drive("fifo")
    space = measuring.space_gib(hidden)
    cost = measuring.Cost(hidden, 1e5, 3.0)
    rows = asked(space)
    rows = replace(rows, steady=()) if by == "amplification" else replace(rows, overwritten=())
    measured = measuring.closed_loop(hidden, rows, cost, 0.85 * space, seed=5)
    chosen, errors = victims.chosen_victim(drive("greedy"), measured, cost, 0.85 * space)
    assert chosen == "fifo"
    assert errors["fifo"] < 2.0
    assert errors["greedy"] > 5.0


def test_without_a_skewed_run_nothing_tells() -> None:
    with pytest.raises(DriveError, match="no run of a skewed pattern tells"):
        victims.chosen_victim(drive("greedy"), Measurements("made"), measuring.Cost(drive("greedy"), 1e5, 3.0), 1.0)


def test_half_the_rate_is_twice_the_time_of_the_dies() -> None:
    """By hand: 1,070 us for 48 pages, tR 45 us for four; at v = 1/2 all but 1/16 of flash pages are read."""
    cost = measuring.Cost(drive("greedy"), 1e5, 1.0)
    page_us = 1070 / 48
    assert cost.per_s(1.0) == pytest.approx(1e5)
    assert cost.per_s(2.0) == pytest.approx(1e5 * page_us / (2 * (page_us + 45 * (1 - 1 / 16) / 4)))
