"""Hidden drives, measured by the twin itself, come out of a fit as they were."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flashtwin as ft
from flashtwin.drives import fitting, measuring
from flashtwin.drives.drive import BLOCK_PAGES, DIE_GIB, MAPPING_BYTES
from flashtwin.drives.victims import VICTIMS
from flashtwin.replays.presets import System

DRIVES = 20


def hidden(seed: int) -> System:
    """A drive whose numbers nobody chose."""
    draw = np.random.default_rng(seed)
    dies = int(2 ** draw.integers(3, 7))
    blocks = round(draw.uniform(0.8, 1.2) * DIE_GIB * 2**30 / (BLOCK_PAGES * MAPPING_BYTES))
    fast_us = float(draw.uniform(35, 80))
    # A share of the flash pages is half as slow again, on every other drive.
    slow = int(draw.integers(4, 9)) if draw.random() < 0.5 else 0
    types = [round(fast_us, 2)] * (12 - slow) + [round(1.6 * fast_us, 2)] * slow
    return ft.system("conventional", settings={
        "nand.channels": min(dies, 8), "nand.chips_per_channel": dies // min(dies, 8), "nand.dies_per_chip": 1,
        "nand.planes_per_die": 1, "nand.blocks_per_plane": blocks, "nand.pages_per_block": BLOCK_PAGES,
        "nand.page_bytes": 4096, "nand.program_pages": 48, "nand.sense_pages": 4, "nand.metadata_bytes": 512,
        "nand.parity_stripe": int(draw.integers(16, 65)), "nand.read_us": round(float(np.mean(types)), 2),
        "nand.read_types_us": types if slow else [], "nand.program_us": round(float(draw.uniform(700, 2500)), 1),
        "nand.erase_us": 3500.0, "nand.bus_mt_s": 1600.0, "nand.bus_width_bits": 8, "nand.command_ns": 150,
        "nand.pe_cycles": 3000, "engine.resume_us": 5.0, "engine.controller_us": round(float(draw.uniform(7, 13)), 1),
        "engine.write_completes": "hashed", "engine.write_buffer_pages": 4096, "engine.buffer_reads": True,
        "engine.write_cache_pages": 0, "engine.multi_plane": "none", "engine.reads_before_urgent": True,
        "engine.suspend": "program-erase", "engine.suspend_times": 0, "engine.suspend_reads": 1_000_000,
        "engine.suspend_us": round(float(draw.uniform(5, 60)), 1),
        "engine.suspend_slice_us": round(float(draw.uniform(60, 200)), 1),
        "ftl.gc.victim": str(draw.choice(VICTIMS)),
    })  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(DRIVES))
def test_a_hidden_drive_is_recovered(seed: int) -> None:
    drive = hidden(seed)
    nand, engine = drive.config["nand"], drive.config["engine"]
    fill = float(np.random.default_rng(seed).uniform(0.8, 0.9))
    measured = measuring.measure(drive, measuring.usual(drive, fill, seed=7), seed=8)
    found = fitting.fit_drive(measured, seed=9).estimates
    space = measuring.space_gib(drive)
    assert found.number("space_gib") == pytest.approx(space, rel=0.01)
    assert found.number("overhead") == pytest.approx(measuring.overhead(drive), rel=0.01)
    dies = found.number("nand.channels") * found.number("nand.chips_per_channel")
    assert dies == 2 ** round(math.log2(space / DIE_GIB))
    assert found["ftl.gc.victim"].value == drive.config["ftl"]["gc"]["victim"]
    assert ("nand.read_types_us" in found) == bool(nand["read_types_us"])
    # Data tell programs a second: of twice the dies, each takes twice as long.
    assert found.number("nand.program_us") / dies == pytest.approx(nand["program_us"] / drive.planes, rel=0.03)
    assert found.number("engine.controller_us") == pytest.approx(engine["controller_us"], rel=0.03)
    assert found.number("nand.read_us") == pytest.approx(nand["read_us"], rel=0.03)
    # Suspend delay and slice: the median of their sum is told, and each by itself only roughly.
    sums = (one["suspend_us"] + math.log(2) * one["suspend_slice_us"] for one in (
        engine, {key: found.number(f"engine.{key}") for key in ("suspend_us", "suspend_slice_us")}))  # fmt: skip
    assert next(sums) == pytest.approx(next(sums), rel=0.03)
