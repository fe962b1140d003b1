"""The time to resume, from writes alone beside writes among reads."""

from dataclasses import replace

import pytest

from flashtwin.drives import measuring, resuming, twin
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Measurements, OpenLoop, OverwriteRun, SteadyWrites

from .test_round_trip import hidden

DIES = 8


def estimates(resume_us: float, alone_per_s: float) -> Estimates:
    found = {
        resuming.RESUME: resume_us,
        resuming.ALONE: alone_per_s,
        "nand.channels": DIES,
        "nand.chips_per_channel": 1,
    }
    return Estimates([Estimate(key, value) for key, value in found.items()])


def test_what_a_read_costs_by_hand() -> None:
    """A tenth of 8 dies, 800,000 us a second, for 5,000 reads: 160 us each, of which the twin has half."""
    row = OpenLoop(800.0, 200e3, 5_000.0, 90_000.0, {}, {})
    (found,) = resuming.mended(estimates(10.0, 100_000.0), row, among_reads_per_s=95_000.0, alone_per_s=100_000.0)
    assert found.number == pytest.approx(10.0 + 80.0)
    assert found.is_measured
    assert (found.low, found.high) == pytest.approx((90.0 - 32.0, 90.0 + 32.0))
    # A difference of one per cent is that of another seed.
    assert not resuming.mended(estimates(10.0, 100_000.0), row, among_reads_per_s=91_000.0, alone_per_s=100_000.0)


def test_the_rate_of_writes_alone_is_told_by_any_pattern() -> None:
    """Two runs of three are 1.2 times as fast as they follow from the rate among reads; a fill tells nothing."""
    uniform, fill = Pattern("uniform"), Pattern("sequential")
    runs = (OverwriteRun(1.0, fill, "a", 1.0, 1.0, 900.0), OverwriteRun(1.0, uniform, "a", 4.0, 2.0, 120.0))
    steady = tuple(
        SteadyWrites("b", Pattern("zipf", exponent=one), rate, {}) for one, rate in ((0.2, 120.0), (1.0, 150.0))
    )
    drive = Measurements("made", (OpenLoop(1.0, 400.0, 1.0, 200.0, {}, {}),), runs, steady)
    played = replace(
        drive,
        overwritten=tuple(replace(row, writes_per_s=100.0) for row in runs),
        steady=tuple(replace(row, writes_per_s=100.0) for row in steady),
    )
    saturated = Estimate("rate", 1000.0)
    (found,) = resuming.writes_alone(drive, played, saturated)
    assert (found.number, found.low, found.high) == pytest.approx((1200.0, 1200.0, 1500.0))
    assert not resuming.writes_alone(replace(drive, open_loop=()), played, saturated)


def test_a_step_goes_towards_a_hidden_time_to_resume_and_not_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every read meets a program that it may suspend, so that one step is too short."""
    monkeypatch.setattr(twin, "REQUESTS", 40_000)
    monkeypatch.setattr(twin, "SHORTEST_S", 0.7)
    drive, fill = hidden(0)
    space, known_us = measuring.space_gib(drive), 400.0
    asked = OpenLoop(fill * space, 300e3, 0.0, float("nan"), {}, {})

    def rates(resume_us: float, seed: int) -> tuple[OpenLoop, float]:
        small = twin.small(drive.with_sets({"engine.resume_us": resume_us, "engine.slots": 0}))
        alone = twin.saturated_per_s(small, fill * space, space, seed=seed)
        return twin.open_loop(small, asked, space, seed=seed), alone

    row, alone = rates(known_us, seed=1)
    again, twin_alone = rates(5.0, seed=2)
    (found,) = resuming.mended(estimates(5.0, alone), row, again.writes_per_s, twin_alone)
    assert drive.planes == DIES
    assert 0.2 * known_us < found.number < 1.1 * known_us
    again, twin_alone = rates(known_us, seed=2)
    assert not resuming.mended(estimates(known_us, alone), row, again.writes_per_s, twin_alone)
