"""Batches and holds of collection and the spread of writes, on rows whose laws are known."""

import math
from dataclasses import replace

import numpy as np
import pytest

import flashtwin as ft
from flashtwin.drives import twin, writes
from flashtwin.drives.estimates import Estimate
from flashtwin.drives.histogram import PERCENTILES
from flashtwin.drives.tables import OpenLoop
from flashtwin.replays.presets import System

LENGTH_US, PLACES = 9000.0, 600.0
#: Writes a second, and their p99.9 in us, of a Kioxia CM7-R (SSD-iq, PVLDB 18(11), 2025).
CM7_R = (
    (79_239, 555.0), (89_146, 1643.0), (99_061, 2524.0), (108_953, 3254.0), (118_847, 3882.0), (128_760, 4391.0),
    (148_546, 5221.0), (198_053, 6248.0), (247_562, 6396.0), (297_056, 6459.5),
)  # fmt: skip


def rows(stalls_us: dict[float, float]) -> list[OpenLoop]:
    """Rates with their longest writes, and a light one at which none waits."""
    return [
        OpenLoop(800.0, rate, 0.0, rate, {}, {"50p": 8.0, "99p9": us})
        for rate, us in ({10e3: 15.0} | stalls_us).items()
    ]


def law(rate: float) -> float:
    return LENGTH_US - PLACES * 1e6 / rate


def test_the_law_is_found_in_rows_that_scatter_and_its_intervals_hold() -> None:
    held = {"stall_us": 0, "engine.write_buffer_pages": 0}
    for seed in range(100):
        random = np.random.default_rng(seed)
        length, places = writes.batches(
            rows({rate: law(rate) * random.normal(1.0, 0.02) for rate in np.linspace(80e3, 300e3, 8).tolist()})
        )
        assert length.number == pytest.approx(LENGTH_US, rel=0.06)
        assert places.number == pytest.approx(PLACES, rel=0.12)
        for one, known in ((length, LENGTH_US), (places, PLACES)):
            held[one.key] += one.low <= known <= one.high  # type: ignore[operator]
    assert all(count >= 85 for count in held.values()), held


def test_rates_near_saturation_may_miss_the_law() -> None:
    """There the host waits as well: the CM7-R waits no longer at 300,000/s than at 200,000."""
    length, places = writes.batches(rows(dict(CM7_R)))
    assert 10_000 < length.number < 10_800
    assert 740 < places.number < 820


@pytest.mark.parametrize(
    "waits",
    [
        {},
        {100e3: law(100e3), 200e3: law(200e3)},
        dict.fromkeys((100e3, 150e3, 200e3, 250e3), 4000.0),
        {100e3: 900.0, 150e3: 700.0, 200e3: 2500.0, 250e3: 8000.0},
        {rate: law(rate) / 100 for rate in (100e3, 150e3, 200e3)},
        {rate: 20 * law(rate) for rate in (100e3, 150e3, 200e3)},
    ],
    ids=["no row", "two rates", "as long at all rates", "another law", "no stall", "too long"],
)
def test_no_batches_where_nothing_tells_them(waits: dict[float, float]) -> None:
    assert writes.batches(rows(waits)) == []


@pytest.mark.parametrize("mean_us", [0.4, 0.8, 1.5])
def test_the_spread_of_light_rates_is_found_beside_stalls(mean_us: float) -> None:
    random = np.random.default_rng(5)
    times = 7.0 + random.exponential(mean_us, 400_000)
    light = {name: float(np.quantile(times, share)) for name, share in PERCENTILES.items()}
    below = [OpenLoop(800.0, rate, 0.0, rate, {}, light) for rate in (10e3, 20e3)]
    below.append(OpenLoop(800.0, 90e3, 0.0, 90e3, {}, {**light, "99p": 1041.0, "99p9": 1643.0}))
    (found,) = writes.spread(below)
    assert found.number == pytest.approx(mean_us, rel=0.05)
    assert writes.spread(below[2:]) == []


def test_writes_that_vary_otherwise_have_no_spread() -> None:
    """A few of them wait much longer, the others not at all, as on a Solidigm P5520."""
    light = {"50p": 8.0, "90p": 8.1, "99p": 8.2, "99p9": 23.0}
    assert writes.spread([OpenLoop(1788.0, 10e3, 0.0, 10e3, {}, light)]) == []


def test_a_twin_with_batches_keeps_to_the_law() -> None:
    """Its blocks are smaller than a drive's, and take a batch all the same."""
    length_us, places, program_us = 8000.0, 240, 150.0
    drive = ft.system("conventional", settings={
        "nand.channels": 8, "nand.chips_per_channel": 2, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
        "nand.blocks_per_plane": 1000, "nand.pages_per_block": 48 * 352, "nand.page_bytes": 4096,
        "nand.bus_mt_s": 1600.0, "nand.program_pages": 12, "nand.sense_pages": 4, "nand.read_us": 60.0,
        "nand.program_us": program_us, "nand.erase_us": 3500.0, "engine.controller_us": 8.0,
        "engine.write_completes": "buffered", "engine.write_buffer_pages": places, "engine.write_cache_us": 0.0,
        "engine.write_cache_pages": 0, "engine.buffer_reads": True, "engine.collection_in_turn": True,
        "engine.suspend": "program-erase", "engine.suspend_times": 0, "engine.suspend_reads": 1_000_000,
        "engine.collection_batch_us": length_us, "ftl.gc.step_pages": 0,
    })  # fmt: skip
    little = twin.small(drive)
    rates = (40e3, 50e3)
    played = [
        twin.open_loop(little, OpenLoop(1.0, rate, 5e3, rate - 5e3, {}, {}, asked_per_s=rate), 1.25) for rate in rates
    ]
    for row in played:
        stall_us = length_us + program_us - (places - 12) * 1e6 / row.writes_per_s
        assert row.write_us["99p9"] == pytest.approx(stall_us, abs=0.08 * length_us)


def _held(load: float, every_us: float, *, full_per_s: float = 100e3) -> OpenLoop:
    """A row of holds that grow, as long as slots are free."""
    share, rate = load**2, load * full_per_s
    waits = {name: max(every_us * share * math.log(share / (1.0 - PERCENTILES[name])), 0.0) for name in PERCENTILES}
    times = {name: 9.0 + wait for name, wait in waits.items()}
    return OpenLoop(800.0, rate, 5e3, rate - 5e3, {"50p": 70.0, "99p9": 400.0}, times, asked_per_s=rate)


def _saturated(per_s: float) -> OpenLoop:
    return OpenLoop(800.0, 2 * per_s, 6e3, per_s, {"50p": 140.0}, {"50p": 3800.0}, asked_per_s=2 * per_s)


def _values(found: list[Estimate]) -> dict[str, float]:
    return {one.key: one.number for one in found}


def test_growing_holds_are_found_with_their_modes() -> None:
    below = [replace(_held(load, 25e3), writes_per_s=load * 100e3) for load in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)]
    # At 40 and 50 % all slots are taken, reads wait, and seven queues of 64 requests pass 90,000 requests a second.
    both_us = 2e6 * 448 / 36e3
    for at in (3, 4):
        times = {name: both_us - 5e3 if name == "99p99" else 10e3 for name in ("99p", "99p9", "99p99")}
        write_us, read_us = {**below[at].write_us, **times}, {"50p": 75.0, "99p9": 3e3, "99p99": 5e3}
        below[at] = replace(below[at], write_us=write_us, read_us=read_us, reads_per_s=40e3 - below[at].writes_per_s)
    found = _values(writes.holds(below, [_saturated(100e3)], 100e3))
    assert found["engine.hold_every_us"] == pytest.approx(25e3, rel=0.01)
    assert found["engine.hold_full_writes_per_s"] == 100_000
    # Six queues of 64, and 5,000 writes and reads a second that take 3.94 ms together.
    assert found["engine.slots"] == math.ceil(1.02 * (6 * 64 + 5e3 * 3940 / 1e6))
    assert 50e3 < found["engine.urgent_writes_per_s"] < 60e3
    assert found["engine.hold_pass_share"] == pytest.approx(0.9, rel=0.01)


def test_a_rate_without_waits_contradicts_growing_holds() -> None:
    """The two percentiles of a single rate agree with the law by chance, as on a drive whose RAM hides its batches."""
    below = [_held(load, 25e3) for load in (0.2, 0.4)]
    assert writes.holds(below, [_saturated(100e3)], 100e3)
    below[0] = replace(below[0], write_us=dict.fromkeys(PERCENTILES, 9.0))
    assert writes.holds(below, [_saturated(100e3)], 100e3) == []


def test_regular_holds_are_found_with_their_modes() -> None:
    def row(rate: float, length_us: float, share: float) -> OpenLoop:
        waits = {name: length_us * (1.0 - (1.0 - PERCENTILES[name]) / share) for name in ("99p", "99p9")}
        return OpenLoop(800.0, rate, 0.0, rate, {}, {"50p": 8.0, **{name: 8.0 + wait for name, wait in waits.items()}})

    below = [row(rate, 170.0, 0.015) for rate in (10e3, 20e3, 30e3)] + [row(rate, 65.0, 0.02) for rate in (45e3, 60e3)]
    found = _values(writes.holds(below, [], 100e3))
    wanted = {
        "engine.hold_us": 170.0, "engine.hold_every_us": 170.0 / 0.015, "engine.urgent_hold_us": 65.0,
        "engine.urgent_hold_every_us": 65.0 / 0.02, "engine.urgent_writes_per_s": 0.93 * 45e3,
    }  # fmt: skip
    assert found == pytest.approx(wanted, rel=1e-3)
    one_mode = _values(writes.holds(below[:3], [], 100e3))
    assert set(one_mode) == {"engine.hold_us", "engine.hold_every_us"}
    assert writes.holds(rows({10e3: 12.0, 20e3: 13.0, 30e3: 14.0}), [], 100e3) == []


def _holding(**keys: float) -> System:
    return ft.system("conventional", settings={
        "nand.channels": 8, "nand.chips_per_channel": 2, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
        "nand.blocks_per_plane": 1000, "nand.pages_per_block": 48 * 352, "nand.page_bytes": 4096,
        "nand.bus_mt_s": 1600.0, "nand.program_pages": 12, "nand.sense_pages": 4, "nand.read_us": 60.0,
        "nand.program_us": 150.0, "nand.erase_us": 3500.0, "engine.controller_us": 8.0,
        "engine.write_completes": "buffered", "engine.write_buffer_pages": 4096, "engine.write_cache_us": 0.0,
        "engine.write_cache_pages": 0, "engine.buffer_reads": True, "engine.collection_in_turn": True,
        "engine.suspend": "program-erase", "engine.suspend_times": 0, "engine.suspend_reads": 1_000_000,
        **{f"engine.{key}": value for key, value in keys.items()},
    })  # fmt: skip


def _on_twin(drive: System, rate: float) -> OpenLoop:
    asked = OpenLoop(1.0, rate, 5e3, rate - 5e3, {}, {}, asked_per_s=rate)
    return twin.open_loop(twin.small(drive), asked, 1.25)


@pytest.mark.parametrize("rate", [20e3, 30e3])
def test_a_twin_with_growing_holds_keeps_to_the_law(rate: float) -> None:
    # So often that thousands of holds tell the longest.
    drive = _holding(hold_every_us=2e3, hold_full_writes_per_s=60_000, slots=2000, urgent_writes_per_s=0)
    row = _on_twin(drive, rate)
    share = (row.writes_per_s / 60e3) ** 2
    for name in ("99p", "99p9"):
        wait_us = 2e3 * share * math.log(share / (1.0 - PERCENTILES[name]))
        assert row.write_us[name] - row.write_us["50p"] == pytest.approx(wait_us, rel=0.15)


def test_a_twin_with_regular_holds_changes_its_mode_with_the_rate() -> None:
    # No multiples of the 200 us after which the thread that is looked at writes again: all parts of a hold are met.
    drive = _holding(hold_every_us=10_007.3, hold_us=300.0, urgent_writes_per_s=30_000, urgent_hold_every_us=3001.7,
                     urgent_hold_us=90.0)  # fmt: skip
    for rate, length_us, share in ((20e3, 300.0, 300 / 10_007.3), (45e3, 90.0, 90 / 3001.7)):
        row = _on_twin(drive, rate)
        for name in ("99p", "99p9"):
            wait_us = length_us * (1.0 - (1.0 - PERCENTILES[name]) / share)
            assert row.write_us[name] - row.write_us["50p"] == pytest.approx(wait_us, rel=0.05)
