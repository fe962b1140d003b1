"""A fitted drive: numbers of the model as keys of the configuration, and as the device file for every command."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from flashtwin.drives import laws
from flashtwin.drives.estimates import BOUNDS, FIFO, ROUND_ROBIN, SPREAD, STALL, Estimate, Estimates
from flashtwin.drives.history import begin_collection
from flashtwin.drives.tables import Measurements
from flashtwin.replays.presets import System, as_system
from flashtwin.settings import literal

#: The unit of the mapping in bytes, pages in a flash page of 16 KB, and pages that a TLC die of four planes programs at
#: once: usual since about 2015. Nothing in the tables tells them apart from others with the same rate.
MAPPING_BYTES, SENSE_PAGES, PROGRAM_PAGES = 4096, 4, 48
#: Pages of a program, where waits for the turn of a queue tell them.
_UNITS_OF_PROGRAM = (48, 24, 12, 4)
#: Pages of a block: 352 word lines.
BLOCK_PAGES = PROGRAM_PAGES * 352
#: Bytes of a die: 512 Gbit, the usual one of drives of 1 to 4 TB of the time.
DIE_GIB = 64.0
#: Times that no table tells apart: typical of TLC of these years (devices/tlc-2021.toml).
ERASE_US, RESUME_US, BUS_MT_S, COMMAND_NS = 3500.0, 5.0, 1600.0, 150
#: Spare bytes of a page that travel with it.
METADATA_BYTES = 512
#: Pages of power-protected RAM behind which a write is complete: no table of these tells how many there are.
BUFFER_PAGES = 4096
#: Types of flash page that spread the times of an idle die by more than this share.
_PAGE_TYPES, _EVEN = 12, 0.05
#: Or that tell the share of fast ones: few where these are as near as that, because a median steps at a half.
_SHARE_TYPES, _SHARE_OFF = 48, 0.01
#: Most requests that a queue sends in a turn.
_MOST_BURST = 64
#: Below this an overhead is none: one unit of two hundred.
_LEAST_OVERHEAD = 1.005
_PAGES_PER_GIB = 2**30 // MAPPING_BYTES
_USUAL, _TYPICAL = "usual for the capacity", "typical of the class"
_PROTECTED = "usual for drives with power-loss protection"
#: Keys that no experiment tells. That RAM is all the cache there is, and the planes of a die are one plane.
_FIXED: Mapping[str, Mapping[str, float | int | str]] = {
    _PROTECTED: {
        "engine.write_completes": "buffered", "engine.write_buffer_pages": BUFFER_PAGES, "engine.write_cache_us": 0.0,
        "engine.write_cache_protected": True, "engine.buffer_reads": True, "engine.write_cache_pages": 0,
        "engine.multi_plane": "none", "engine.reads_before_urgent": True, "engine.collection_in_turn": True,
        "engine.suspend": "program-erase", "engine.suspend_times": 0, "engine.suspend_reads": 1_000_000,
    },
    _USUAL: {
        "nand.dies_per_chip": 1, "nand.planes_per_die": 1, "nand.pages_per_block": BLOCK_PAGES,
        "nand.page_bytes": MAPPING_BYTES, "nand.metadata_bytes": METADATA_BYTES, "nand.sense_pages": SENSE_PAGES,
    },
    _TYPICAL: {
        "nand.erase_us": ERASE_US, "nand.bus_mt_s": BUS_MT_S, "nand.bus_width_bits": 8, "nand.command_ns": COMMAND_NS,
        "nand.pe_cycles": 3000,
    },
}  # fmt: skip


@dataclass(frozen=True)
class FittedDrive:
    """A drive as its measurements tell it."""

    name: str
    estimates: Estimates
    #: The rows that the fit has seen.
    seen: Measurements

    @property
    def toml(self) -> str:
        """The device file: each key with its interval and the experiment that tells it."""
        keys = [estimate for estimate in self.estimates if "." in estimate.key]
        lines = [
            f"# {self.name}, fitted to measurements.",
            f"source = {literal(_source(self.seen))}",
            f"undetermined = {literal([estimate.key for estimate in keys if not estimate.is_measured])}",
        ]
        tables: dict[str, list[Estimate]] = {"nand": []}
        for estimate in keys:
            tables.setdefault(estimate.key.rpartition(".")[0], []).append(estimate)
        for table, estimates in tables.items():
            # The keys of the flash stand at the top of a device's file.
            lines += [] if table == "nand" else ["", f"[{table}]"]
            for one in estimates:
                interval = f"; {one.interval} {one.unit}".rstrip() if one.interval else ""
                lines += [f"# {one.source}{interval}", f"{one.key.rpartition('.')[2]} = {literal(one.value)}"]
        return "\n".join(lines) + "\n"

    @property
    def system(self) -> System:
        """A conventional SSD on this drive, under its name."""
        return replace(conventional(self.estimates), name=self.name)


class FittedRows(NamedTuple):
    """The rows that a device file names as its source."""

    drive: str
    fill_gib: float
    offered_per_s: frozenset[float]
    runs: frozenset[str]

    def among(self, measured: Measurements) -> Measurements:
        """Those of measurements, if these are of the same drive, which another unit of its model is not."""
        if measured.specimen != self.drive:
            return Measurements(measured.drive)
        return replace(
            measured, open_loop=tuple(row for row in measured.open_loop if row.offered_per_s in self.offered_per_s),
            overwritten=tuple(row for row in measured.overwritten if str(row) in self.runs),
            steady=tuple(row for row in measured.steady if str(row) in self.runs),
        )  # fmt: skip


def _source(seen: Measurements) -> str:
    rates = ", ".join(f"{row.offered_per_s:.0f}" for row in seen.open_loop)
    runs = "; ".join(dict.fromkeys(str(row) for row in (*seen.overwritten, *seen.steady)))
    return f"Fitted on {seen.specimen}, {seen.used_gib:g} GiB in use: open loop at {rates}/s. Runs: {runs or 'none'}."


def fitted_rows(system: System) -> FittedRows | None:
    """The rows that a drive was fitted on, by its file; None of a device that no fit made."""
    source = str(system.config["nand"].get("source", ""))
    parts = re.fullmatch(r"Fitted on (.+), (\S+) GiB in use: open loop at (.+)/s\. Runs: (.*)\.", source)
    if parts is None:
        return None
    try:
        rates = frozenset(float(rate) for rate in parts[3].split(", "))
        return FittedRows(parts[1], float(parts[2]), rates, frozenset(parts[4].split("; ")))
    except ValueError:
        return None


def conventional(estimates: Estimates) -> System:
    """A conventional SSD on a drive as it is estimated so far."""
    return as_system("conventional", estimates.keys)  # type: ignore[arg-type]


def before_flash_us(controller_us: float) -> float:
    """Time of a read apart from that of its flash page: controller, command, and transfer."""
    return controller_us + (MAPPING_BYTES + METADATA_BYTES) / BUS_MT_S + COMMAND_NS / 1e3


def read_us(keys: Mapping[str, float]) -> float:
    """Mean time of a flash read."""
    slower = (1.0 - keys.get("fast_page_share", 1.0)) * keys.get("slow_page_more_us", 0.0)
    return max(keys["idle_read_us"] - before_flash_us(keys["engine.controller_us"]), 1.0) + slower


def usual_dies(space_gib: float) -> int:
    """As many as a drive of this space usually has."""
    return 1 << max(round(math.log2(space_gib / DIE_GIB)), 0)


def settings(keys: Mapping[str, float], dies: int, sources: Mapping[str, str], used_gib: float) -> list[Estimate]:
    """Numbers of the model, and the keys of the configuration that follow from them.

    Args:
        keys: of the model.
        dies: programs at a time.
        sources: the experiment behind each number; one that has none is usual.
        used_gib: space in use, whose amplification decides how fast collection has to be.
    """

    def told(
        key: str, value: float | str | list[float], unit: str = "", by: str = "", usual: str = _TYPICAL
    ) -> Estimate:
        source = sources.get(by or key)
        return Estimate(key, value, unit, source=source or usual, is_measured=source is not None)

    space, overhead = keys["space_gib"], keys["overhead"]
    blocks = max(round(space * _PAGES_PER_GIB / dies / BLOCK_PAGES), 1)
    channels = math.gcd(dies, 8)
    amplified = float(laws.amplification(space, used_gib))
    fixed = (Estimate(key, value, source=why, is_measured=False)
             for why, values in _FIXED.items() for key, value in values.items())  # fmt: skip
    return [
        *(told(key, value, _unit(key)) for key, value in keys.items() if "." not in key),
        *fixed,
        told("nand.channels", channels, by="", usual=_USUAL),
        told("nand.chips_per_channel", dies // channels, by="parallel_units", usual=_USUAL),
        told("nand.blocks_per_plane", blocks, by="space_gib", usual=_USUAL),
        *(Estimate(key, share, source="two free blocks a die", is_measured=False)
          for key, share in begin_collection(blocks).items()),
        told("nand.parity_stripe", stripe(overhead), "units", "overhead"),
        told(SPREAD, round(keys.get(SPREAD, 0.0), 2), "us"),
        told("engine.controller_us", round(keys["engine.controller_us"], 2), "us"),
        told("nand.read_us", round(read_us(keys), 2), "us", "idle_read_us"),
        *([told("nand.read_types_us", types, "us", "idle_read_us")] if (types := _read_types(keys)) else []),
        told("engine.suspend_us", round(keys["engine.suspend_us"], 2), "us"),
        told("engine.suspend_slice_us", round(keys["engine.suspend_slice_us"], 2), "us"),
        told("engine.resume_us", round(keys["engine.resume_us"], 1), "us"),
        *_batches(keys, sources),
        *_front_end(keys, sources),
        *_program(keys, sources),
        # As many moves as a page costs, and one more, so that collection keeps up without haste. Batches are regular if
        # collection is in step with writes.
        Estimate("ftl.gc.step_pages", 0 if STALL in sources else math.ceil(amplified),
                 source="amplification of uniform writes, smoothly"),
    ]  # fmt: skip


def _unit(key: str) -> str:
    return "GiB" if key.endswith("gib") else "us" if key.endswith("us") else BOUNDS[key].unit if key in BOUNDS else ""


def stripe(overhead: float) -> int:
    """The overhead of every program as parity: one unit in this many."""
    return round(overhead / (overhead - 1.0)) if overhead > _LEAST_OVERHEAD else 0


def _read_types(keys: Mapping[str, float]) -> list[float]:
    """Times of flash pages, where they differ."""
    base = keys["idle_read_us"]
    fast = max(base - before_flash_us(keys["engine.controller_us"]), 1.0)
    if "slow_page_more_us" in keys:
        share, count = keys["fast_page_share"], _PAGE_TYPES
        if abs(round(share * count) / count - share) > _SHARE_OFF:
            count = _SHARE_TYPES
        few = round(share * count)
        return [round(fast, 2)] * few + [round(fast + keys["slow_page_more_us"], 2)] * (count - few)
    jitter = keys.get("idle_read_spread", 0.0)
    if jitter <= _EVEN:
        return []
    law = laws.ReadLaw(base, 1.0, 1.0, 1.0, 0.0, 1.0, jitter)
    return [round(max(fast + time - base, 1.0), 2) for time in law.idle_quantiles(_PAGE_TYPES).tolist()]


def _batches(keys: Mapping[str, float], sources: Mapping[str, str]) -> Iterator[Estimate]:
    """A write waits for a batch and for the program that frees its place.

    It waits longest if places hold the pages of a program that has not begun.
    """
    if source := sources.get(STALL):
        pages = _program_pages(keys, sources)
        length_us = round(max(keys[STALL] - keys["nand.program_us"] * pages / PROGRAM_PAGES, 1.0), 1)
        yield Estimate("engine.collection_batch_us", length_us, "us", source=source)
        places = round(keys["engine.write_buffer_pages"] + pages)
        yield Estimate("engine.write_buffer_pages", places, "pages", source=source)


def _front_end(keys: Mapping[str, float], sources: Mapping[str, str]) -> Iterator[Estimate]:
    source = sources.get("engine.slots", "no rate that the drive does not reach: no limit")
    slots = max(round(keys["engine.slots"]), 1) if "engine.slots" in keys else 0
    yield Estimate("engine.slots", slots, source=source, is_measured="engine.slots" in sources)
    if "pages_of_a_turn" in keys:
        burst = min(max(round(keys["pages_of_a_turn"] / PROGRAM_PAGES), 1), _MOST_BURST)
        yield Estimate("engine.arbitration", ROUND_ROBIN, source=source)
        yield Estimate("engine.arbitration_burst", burst, source=source)
    elif slots:
        is_held = "engine.hold_every_us" in sources
        yield Estimate("engine.arbitration", ROUND_ROBIN if is_held else FIFO, source=source)


def _program_pages(keys: Mapping[str, float], sources: Mapping[str, str]) -> int:
    return _nearest(_UNITS_OF_PROGRAM, keys["pages_of_a_turn"]) if "pages_of_a_turn" in sources else PROGRAM_PAGES


def _program(keys: Mapping[str, float], sources: Mapping[str, str]) -> Iterator[Estimate]:
    """A program frees the slots of all its writes at once, and a read waits for that: so the wait tells its pages."""
    pages, source = _program_pages(keys, sources), sources.get("pages_of_a_turn")
    yield Estimate("nand.program_pages", pages, source=source or _USUAL, is_measured=source is not None)
    time = round(keys["nand.program_us"] * pages / PROGRAM_PAGES, 1)
    told = sources.get("nand.program_us")
    yield Estimate("nand.program_us", time, "us", source=told or _TYPICAL, is_measured=told is not None)


def _nearest(values: Sequence[int], number: float) -> int:
    return min(values, key=lambda value: abs(math.log(value / number)))
