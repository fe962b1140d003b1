"""A twin's steady state depends neither on the length of the measurement nor on the size of its blocks."""

from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.drives import parallelism, twin
from flashtwin.drives.tables import OpenLoop
from flashtwin.replays import aged
from flashtwin.replays.presets import System

FILL = 0.85
MODES_US = 60.0, 100.0


def drive() -> System:
    """Four dies that program 48 pages at once."""
    return ft.system("conventional", settings={
        "nand.channels": 4, "nand.chips_per_channel": 1, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
        "nand.blocks_per_plane": 1000, "nand.pages_per_block": 48 * 352, "nand.page_bytes": 4096,
        "nand.bus_mt_s": 1600.0, "nand.bus_width_bits": 8, "nand.command_ns": 150, "nand.metadata_bytes": 512,
        "nand.program_pages": 48, "nand.sense_pages": 4, "nand.read_us": sum(MODES_US) / 2,
        "nand.read_types_us": list(MODES_US), "nand.program_us": 1000.0, "nand.erase_us": 3500.0,
        "engine.controller_us": 10.0, "engine.write_completes": "buffered", "engine.write_buffer_pages": 1024,
        "engine.write_cache_us": 0.0,
        "engine.write_cache_pages": 0, "engine.buffer_reads": True, "engine.multi_plane": "none",
        "engine.collection_in_turn": True, "ftl.gc.step_pages": 4,
    })  # fmt: skip


def test_a_longer_look_sees_the_same_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    # A short load touches few of the pages in use. The others have to be there all the same, or nothing is collected.
    found = []
    for requests in (15_000, 60_000):
        monkeypatch.setattr(twin, "REQUESTS", requests)
        found.append(twin.saturated_per_s(twin.small(drive()), FILL, 1.0))
    assert found[0] == pytest.approx(found[1], rel=0.03)


def test_all_loads_of_a_twin_share_one_aged_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its times are: ageing knows none. Without this a fit leaves a file for each load, which none reads."""
    monkeypatch.setattr(twin, "REQUESTS", 5_000)
    monkeypatch.setattr(aged, "LEAST_S", 0.0)
    rows = [OpenLoop(FILL, 2_000.0 * rate, 0.0, 2_000.0 * rate, {}, {}) for rate in (1, 2)]

    def measured() -> list[OpenLoop]:
        drives = (twin.small(drive()), twin.small(drive().with_sets({"nand.program_us": 1500.0})))
        return [twin.open_loop(one, row, 1.0, seed=seed) for one in drives for seed, row in enumerate(rows)]

    made = measured()
    monkeypatch.setenv(aged.VARIABLE, str(tmp_path))
    assert measured() == made
    assert len(aged.drives()) == 1


def test_an_erase_costs_a_page_what_it_cost_in_large_blocks() -> None:
    large, small = (one.config["nand"] for one in (drive(), twin.small(drive())))
    assert small["erase_us"] / small["pages_per_block"] == pytest.approx(large["erase_us"] / large["pages_per_block"])


def test_reads_of_an_idle_twin_tell_its_dies_and_page_types() -> None:
    little = twin.small(drive())
    alone = twin.reads_alone(little, FILL, 1.0)
    rest_us = alone.modes()[0].time_us - MODES_US[0]
    assert 10.0 < rest_us < 15.0
    assert [mode.time_us - rest_us for mode in alone.modes()] == pytest.approx(MODES_US, rel=0.01)
    depths = [twin.reads_at_depth(little, depth, FILL, 1.0) for depth in (1, 2, 4, 8, 16, 32)]
    units = next(one for one in parallelism.parallel_units(depths, alone, None, 10.0) if one.key == "parallel_units")
    assert (units.value, units.is_measured) == (4, True)
