"""The least squares over keys, on figures that are drawn or computed by hand: no twin is measured here."""

import functools
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import flashtwin as ft
from flashtwin.drives import fitting, history, laws, measuring
from flashtwin.drives.drive import BUFFER_PAGES, PROGRAM_PAGES, SENSE_PAGES, conventional, read_us, settings
from flashtwin.drives.estimates import Estimate
from flashtwin.drives.fitting import FitCase
from flashtwin.drives.histogram import PERCENTILES
from flashtwin.drives.model import DriveModel, bounds
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import FITTED, Measurements, OpenLoop, OverwriteRun, SteadyWrites
from flashtwin.errors import DriveError

SATURATED_PER_S = 80_000.0
SUSPEND_US, SLICE_US, BUSY = 70.0, 75.0, 0.91
UNIFORM, SEQUENTIAL = Pattern("uniform"), Pattern("sequential")
ZIPF = Pattern("zipf", is_shuffled=True, exponent=0.8)
SATURATED = OpenLoop(800.0, 200e3, 5_000.0, SATURATED_PER_S, {"50p": 150.0}, {"50p": 3300.0}, {"50p": 3400.0})


def drawn(load: float, idle_us: np.ndarray) -> OpenLoop:
    """A rate of the open loop: a read waits for a suspended program if its die is busy."""
    random = np.random.default_rng(3)
    is_busy = random.random(idle_us.size) < BUSY * load
    wait_us = SUSPEND_US + SLICE_US * np.minimum(random.exponential(size=idle_us.size), 5.0)
    times = np.quantile(idle_us + np.where(is_busy, wait_us, 0.0), [PERCENTILES[name] for name in FITTED])
    rate = load * SATURATED_PER_S
    return OpenLoop(800, rate, 0.0, rate, {name: float(us) for name, us in zip(FITTED, times, strict=True)}, {})


def case(rows: Sequence[OpenLoop], saturated: OpenLoop = SATURATED, **more: object) -> FitCase:
    return fitting.prepared(Measurements("mine", (*rows, saturated), **more))  # type: ignore[arg-type]


def medians(solved: FitCase, loads: Sequence[float]) -> np.ndarray:
    return solved.model.law(solved.keys).percentiles(np.array([0.5]), np.array(loads))[:, 0]


@pytest.mark.parametrize("spread", [0.04, 0.12, 0.2])
def test_medians_between_the_rates_follow_from_the_spread_of_idle_reads(spread: float) -> None:
    """Medians rise with the rate until half of the dies are busy, and then step."""
    idle_us = np.random.default_rng(2).normal(57.0, 57.0 * spread, 400_000).clip(20.0)
    solved = case([drawn(load, idle_us) for load in (0.13, 0.38, 0.63, 0.87)])
    between = (0.25, 0.5, 0.75)
    expected = [drawn(load, idle_us).read_us["50p"] for load in between]
    assert medians(solved, between) == pytest.approx(expected, rel=0.1)


def test_two_types_of_flash_page_are_found_where_the_median_steps_twice() -> None:
    idle_us = np.random.default_rng(2).choice([60.0, 105.0], 400_000, p=[0.6, 0.4])
    solved = case([drawn(load, idle_us) for load in np.linspace(0.05, 0.95, 7)])
    assert solved.keys["fast_page_share"] == pytest.approx(0.6, abs=0.1)
    assert solved.keys["slow_page_more_us"] == pytest.approx(45.0, rel=0.15)


#: Writes a second, then `FITTED`, of a SK Hynix PE8110 (SSD-iq, PVLDB 18(11), 2025), saturated by 79,352 writes/s.
MEASURED = (
    (9_950.0, 56.0, 146.0, 315.0, 457.5),
    (29_760.0, 66.0, 188.0, 396.5, 520.0),
    (49_551.0, 146.0, 234.0, 419.0, 548.0),
    (69_338.0, 156.0, 278.0, 447.5, 604.0),
)


def test_the_median_does_not_step_where_one_row_happens_to_lie_on_a_step() -> None:
    """At 40,000/s the drive's median is 71 us. Two types of page that meet one row in the middle of a step say 116."""
    rows = [OpenLoop(894, rate, 0.0, rate, dict(zip(FITTED, times, strict=True)), {}) for rate, *times in MEASURED]
    solved = case(rows, replace(SATURATED, fill_gib=894.0, writes_per_s=79_352.0))
    assert medians(solved, [0.5]) == pytest.approx([71.0], rel=0.15)
    assert "idle_read_spread" in solved.free


def saturated(read_us: float, write_us: float, bulk_us: float, per_s: float = 80_000.0) -> OpenLoop:
    return OpenLoop(800.0, 2 * per_s, 0.05 * per_s, 0.95 * per_s, {"50p": read_us}, {"50p": write_us}, {"50p": bulk_us})


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
    return OpenLoop(800.0, 200e3, *rates, {"50p": float(np.median(read))}, {"50p": float(np.median(write))})


#: Reads of an idle drive, at rates that leave the front end alone.
IDLE = [drawn(load, np.full(10_000, 60.0)) for load in (0.1, 0.2)]


@functools.cache
def idle_case() -> FitCase:
    return case(IDLE)


def front_end(row: OpenLoop) -> dict[str, Estimate]:
    keys, sources = dict(idle_case().keys), dict[str, str]()
    telling = replace(idle_case().model.telling, saturated=None)
    fitting.front_end(Measurements("mine", (*IDLE, row)), telling, keys, [], sources)
    return {estimate.key: estimate for estimate in settings(keys, telling.dies, sources, 800.0)}


@pytest.mark.parametrize(
    ("row", "slots", "arbitration"),
    [
        (simulated(32, shared=True), 32, "fifo"),
        (simulated(64, shared=True), 64, "fifo"),
        (simulated(64, shared=False), 0, None),
        # One queue for all: a read waits 5,000 us for a slot, a write 500 us more: 0.0005 s x 76,000/s.
        (saturated(5000, 5500, 5500), 38, "fifo"),
        # The queue that sends little gets a slot soon; its writes wait for all that hold one: 0.0018 s x 76,000/s.
        (saturated(200, 2000, 4000), 152, "round-robin"),
        # The P5520: its reads wait longer for their turn.
        (saturated(425, 2130, 3242), 162, "round-robin"),
        # Reads pass and all writes wait alike: as many as the host has under way.
        (saturated(150, 3300, 3400), 0, None),
    ],
)
def test_slots_follow_from_waits_at_saturation(row: OpenLoop, slots: int, arbitration: str | None) -> None:
    keys = front_end(row)
    assert keys["engine.slots"].number == pytest.approx(slots, rel=0.25)
    assert keys["engine.slots"].is_measured
    assert ("engine.arbitration" in keys) == (arbitration is not None)
    assert arbitration is None or keys["engine.arbitration"].value == arbitration


def test_a_front_end_in_between_is_said_to_be_unknown() -> None:
    slots = front_end(saturated(425, 2130, 2242))["engine.slots"]
    assert (slots.value, slots.is_measured) == (0, False)


@pytest.mark.parametrize(("read_us", "pages", "burst"), [(425, 24, 1), (800, 48, 1), (2000, 48, 2), (210, 12, 1)])
def test_the_wait_for_a_turn_tells_pages_of_a_program_or_requests_of_a_turn(
    read_us: float, pages: int, burst: int
) -> None:
    keys = front_end(saturated(read_us, 5000, 9000))
    assert (keys["nand.program_pages"].value, keys["engine.arbitration_burst"].value) == (pages, burst)
    # As many pages a second, whatever a program has.
    page_us = idle_case().keys["nand.program_us"] / PROGRAM_PAGES
    assert keys["nand.program_us"].number == pytest.approx(page_us * pages, rel=1e-3)


def test_the_program_time_leaves_time_for_reads_of_hosts_and_collection() -> None:
    """All dies are busy at the saturated rate: with programs, flash reads for moves, and reads with what they cost."""
    solved = idle_case()
    keys, dies = solved.keys, solved.model.telling.dies
    amplified = float(laws.amplification(keys["space_gib"], 800.0))
    senses_us = read_us(keys) * float(laws.senses(laws.valid_share(amplified), SENSE_PAGES))
    page_us = keys["nand.program_us"] / PROGRAM_PAGES + senses_us
    busy_us = SATURATED_PER_S * amplified * page_us + 5000.0 * (read_us(keys) + keys["engine.resume_us"])
    assert busy_us == pytest.approx(dies * 1e6, rel=0.01)


def test_the_time_to_resume_follows_from_writes_alone() -> None:
    """A tenth of the dies' time for 5,000 reads: by hand, dies x 1e6 / 10 / 5,000 us for each."""
    solved = idle_case()
    telling = replace(solved.model.telling, alone_per_s=SATURATED_PER_S / 0.9)
    free = ["nand.program_us", "engine.resume_us"]
    found = DriveModel(telling).solve(solved.keys, free, solved.shifts).keys
    cost_us = found["engine.resume_us"] + read_us(found)
    assert cost_us == pytest.approx(telling.dies * 1e6 / 10 / 5000, rel=0.05)


def test_space_and_overhead_follow_from_two_fills() -> None:
    runs = tuple(
        OverwriteRun(fill, UNIFORM, "a", 4.0, float(laws.amplification(1000, fill, 1.05)), 0.0)
        for fill in (500.0, 800.0)
    )
    keys = case(IDLE, overwritten=runs).keys
    assert (keys["space_gib"], keys["overhead"]) == pytest.approx((1000, 1.05), rel=2e-3)


def test_one_fill_takes_the_overhead_of_sequential_writes() -> None:
    amplified = float(laws.amplification(1000, 800, 1.05))
    runs = (
        OverwriteRun(800.0, SEQUENTIAL, "a", 1.0, 1.05, 9000.0),
        OverwriteRun(800.0, UNIFORM, "a", 4.0, amplified, 5000.0),
    )
    keys = case(IDLE, overwritten=runs).keys
    assert (keys["space_gib"], keys["overhead"]) == pytest.approx((1000, 1.05), rel=2e-3)


def test_a_shift_of_the_twin_is_taken_over() -> None:
    """A twin whose saturated rate is a tenth below the law's: programs are a tenth shorter."""
    solved = idle_case()
    figures = solved.model.by_laws(solved.keys)
    figures[solved.model.places().index((str(solved.model.telling.saturated), "writes"))] -= np.log(1 / 0.9)
    moved = solved.shifted(figures).solved(0.4)
    rates = [one.model.by_laws(one.keys)[-4] for one in (solved, moved)]
    assert np.exp(rates[1] - rates[0]) == pytest.approx(1 / 0.9, rel=0.01)


def test_every_number_stays_within_its_bounds() -> None:
    """Reads of 480 us are neither of one type of flash page that NAND has, nor of two."""
    slow = [replace(row, read_us={name: 8 * us for name, us in row.read_us.items()}) for row in IDLE]
    solved = case(slow)
    for key in solved.free:
        low, high = bounds(key, solved.keys, 800.0)
        assert low * 0.999 <= solved.keys[key] <= high * 1.001
    with pytest.raises(DriveError, match=r"read p50 is 480, which no nand.read_us from 20 to 200 us gives"):
        solved.expect_nand()


@pytest.mark.parametrize(
    ("read_us", "write_us", "message"),
    [
        (8000.0, 9000.0, r"/s: read p50 is 8,000, which no nand.read_us from 20 to 200 us gives"),
        (11.0, 12.0, r"/s: read p50 is 11, which no nand.read_us"),
        (70.0, 9000.0, r"/s: write p50 is 9,000, which no engine.controller_us from 0.5 to 1000 us gives"),
    ],
    ids=["hard-disk", "optane", "writes-in-ns"],
)
def test_what_is_no_nand_is_named(read_us: float, write_us: float, message: str) -> None:
    rows = [replace(row, read_us={"50p": read_us}, write_us={"50p": write_us}) for row in IDLE]
    with pytest.raises(DriveError, match=f"{message}.*this is not a drive that the model can be"):
        case(rows)


def test_intervals_contain_the_value_and_one_that_is_too_wide_is_none() -> None:
    assert Estimate("nand.read_us", 50.0).with_interval(40.0, 45.0).high == 50.0
    wide = Estimate("nand.read_us", 50.0, source="reads").with_interval(20.0, 199.0)
    assert (wide.low, wide.is_measured) == (None, False)
    assert wide.source == "reads; 20 to 199 is too wide to tell anything"
    # Half of the decade from 20 to 200 us ends at 63.2 us.
    kept, gone = (Estimate("nand.read_us", 50.0).with_interval(20.0, high) for high in (63.0, 64.0))
    assert [(one.high, one.is_measured) for one in (kept, gone)] == [(63.0, True), (None, False)]
    idle_us = np.random.default_rng(2).normal(57.0, 3.0, 100_000)
    solved = case([drawn(load, idle_us) for load in (0.13, 0.38, 0.63, 0.87)])
    keys = {one.key: one for one in solved.with_intervals(np.full(solved.shifts.size, 0.02), 0)}
    for key, known in (("engine.suspend_slice_us", SLICE_US), ("engine.suspend_us", SUSPEND_US)):
        assert keys[key].low < known < keys[key].high  # type: ignore[operator]
    assert not keys["engine.write_buffer_pages"].is_measured
    assert keys["engine.write_buffer_pages"].value == BUFFER_PAGES


@pytest.mark.parametrize("by", ["amplification", "rate"])
def test_the_victim_rule_of_a_made_drive_is_found_again(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By rates, all of which are a quarter too low: their ratios tell."""
    monkeypatch.setattr(history, "OVERWRITES", 3.0)
    solved = idle_case()
    hidden = conventional(solved.estimates().with_all([Estimate("ftl.gc.victim", "fifo")]))
    space, used = solved.keys["space_gib"], 800.0
    rows = Measurements(
        "made", (), (OverwriteRun(used, SEQUENTIAL, "a", 1.0, 0.0, 0.0), OverwriteRun(used, ZIPF, "a", 3.0, 0.0, 0.0)),
        (SteadyWrites("b", ZIPF, 0.0, {}), SteadyWrites("b", UNIFORM, 0.0, {})),
    )  # fmt: skip
    rows = replace(rows, steady=()) if by == "amplification" else replace(rows, overwritten=())
    overwritten, steady = [], []
    for row, value in history.amplified(hidden, rows, used, space, seed=5):
        per_s = 0.75 * solved.model.telling.dies * 1e6 / solved.model.write_us(solved.keys, value)
        if isinstance(row, OverwriteRun):
            overwritten.append(replace(row, amplification=value * solved.keys["overhead"], writes_per_s=per_s))
        else:
            steady.append(replace(row, writes_per_s=per_s))
    measured = Measurements("made", (), tuple(overwritten), tuple(steady))
    others = solved.with_patterns(measured, 1).others
    found = others["ftl.gc.victim"]
    assert (found.value, found.is_measured) == ("fifo", True)
    assert "fifo 0%" in found.source or "fifo 1%" in found.source
    assert others.number("writes_alone_per_s") == pytest.approx(0.75 * SATURATED_PER_S, rel=0.15)


def test_half_the_rate_is_twice_the_time_of_the_dies() -> None:
    """By hand: 1,070 us for 48 pages, tR 45 us for four; at v = 1/2 all but 1/16 of flash pages are read."""
    page_us = 1070 / 48
    assert laws.write_us(1.0, page_us, 45.0, 4) == pytest.approx(page_us)
    assert laws.write_us(2.0, page_us, 45.0, 4) == pytest.approx(2 * (page_us + 45 * (1 - 1 / 16) / 4))


def test_without_rates_below_saturation_the_fit_says_so() -> None:
    with pytest.raises(DriveError, match=r"1 of 2 rates lie below the saturated rate.*Measure more rates"):
        case(IDLE[:1])
    assert measuring.overhead(ft.system("conventional", settings={"nand.parity_stripe": 11})) == pytest.approx(1.1)
