"""The drive that the recorded traces are compared on, and the figures that are kept of a replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flashtwin as ft
from evidence.store import KeptReplay
from flashtwin.replays.presets import System
from flashtwin.settings import Value

#: Blocks a plane, such that a trace's footprint leaves 28 % of spare pages.
BLOCKS_PER_PLANE = {"webvm": 502, "mail": 309, "homes": 231, "trans": 95}
SPARE = 0.28
#: The clock: as recorded, from a RAM disk, the bursts are more than 16 chips can take.
SPEED = 0.1
PERIOD_S = 120.0

NEW: Mapping[str, Value] = {"replay.preload": "first-reads"}
AGED: Mapping[str, Value] = {"replay.preload": "footprint"}


def drive(trace: str) -> dict[str, Value]:
    """16 chips with 4 KB pages, as small as the trace asks for, and the clock."""
    return {
        "device": "ds-ftl",
        "nand.blocks_per_plane": BLOCKS_PER_PLANE[trace],
        "replay.speed": SPEED,
        "replay.period_s": PERIOD_S,
    }


def blocks(trace: str, spare: float) -> int:
    """Blocks a plane that leave this share of spare pages, such as 0.1."""
    return round(BLOCKS_PER_PLANE[trace] * (1 + spare) / (1 + SPARE))


def named(name: str, preset: str, *sets: Mapping[str, Value]) -> System:
    """A preset with keys set otherwise, under another name."""
    merged: dict[str, Value] = {}
    for one in sets:
        merged |= one
    system = ft.system(preset, settings=merged)
    return System(name, system._resolved, system._made_from)


def figures(kept: KeptReplay) -> dict[str, Any]:
    """The figures of a replay for the pages; times in nanoseconds, None where undefined."""
    return {
        "read_ns": kept.get("response.read.mean_ns"),
        "read_p99_ns": kept.get("response.read.p99_ns"),
        "write_ns": kept.get("response.write.mean_ns"),
        "write_p99_ns": kept.get("response.write.p99_ns"),
        "all_ns": kept.get("response.all.mean_ns"),
        "programs": kept.get("pages_programmed"),
        "pages_written": kept.get("host_pages_written"),
        "erases": kept.get("erases.total"),
        "ram_bytes": (kept.get("ram.total_bytes") or 0) + (kept.get("ram.write_cache_bytes") or 0) or None,
        "copies": kept.get("replication.copies"),
        "hash_utilisation": kept.get("hash_unit.utilisation"),
        "hash_wait_ns": kept.get("response.write.split.hash_wait_ns"),
    }
