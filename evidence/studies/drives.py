"""The drive that the recorded traces are compared on, and the figures that are kept of a replay."""

from collections.abc import Mapping
from typing import Any

import flashtwin as ft
from evidence.study import Replay
from flashtwin.replays.presets import System
from flashtwin.settings import Value

#: Blocks a plane, such that a trace's footprint leaves 28 % of spare pages.
BLOCKS_PER_PLANE = {"webvm": 502, "mail": 309, "homes": 231, "trans": 95}
SPARE = 0.28
#: The clock. As recorded, from a RAM disk, the bursts are more than 16 chips can take.
SPEED = 0.1
PERIOD_S = 120.0
#: Of a trace that says no period: the recorded ones have seven days.
PERIODS = 7

AGED: Mapping[str, Value] = {"replay.preload": "footprint"}
FIGURES = {
    "read_ns": "response.read.mean_ns", "read_p99_ns": "response.read.p99_ns", "write_ns": "response.write.mean_ns",
    "write_p99_ns": "response.write.p99_ns", "all_ns": "response.all.mean_ns", "programs": "pages_programmed",
    "pages_written": "host_pages_written", "erases": "erases.total", "copies": "replication.copies",
    "hash_utilisation": "hash_unit.utilisation",
}  # fmt: skip


def drive(trace: str) -> dict[str, Value]:
    """16 chips with 4 KB pages, as small as the trace asks for, and the clock."""
    return {
        "device": "ds-ftl", "nand.blocks_per_plane": BLOCKS_PER_PLANE[trace], "replay.speed": SPEED,
        "replay.period_s": PERIOD_S,
    }  # fmt: skip


def trace_period_s(trace: ft.Trace) -> float:
    """Seconds between replications, so that a trace has as many as the recorded ones."""
    return float(trace.info["duration_ns"]) / 1e9 / PERIODS


def blocks(trace: ft.Trace, system: System, spare: float) -> int:
    """Blocks a plane that leave this share of spare pages, such as 0.1."""
    pages = system.planes * int(system.config["nand"]["pages_per_block"])
    return round(int(trace.info["footprint_pages"]) * (1 + spare) / pages)


def preset(name: str, base: str, *sets: Mapping[str, Value]) -> System:
    """A preset with other values of keys, under another name."""
    merged: dict[str, Value] = {}
    for one in sets:
        merged |= one
    system = ft.system(base, settings=merged)
    return System(name, system._resolved, system._made_from)


def figures(replay: Replay, *names: str) -> dict[str, Any]:
    """All or some figures of a replay for the pages; times in nanoseconds, None if undefined."""
    ram = (replay.get("ram.total_bytes") or 0) + (replay.get("ram.write_cache_bytes") or 0)
    known = {**{name: replay.get(field) for name, field in FIGURES.items()}, "ram_bytes": ram or None}
    return {name: known[name] for name in names or known}
