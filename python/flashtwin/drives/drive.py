"""A fitted drive: its estimates as keys of the configuration, and as the device file that every command takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from flashtwin.drives import laws
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.history import begin_collection
from flashtwin.drives.spare import OVERHEAD, SPACE
from flashtwin.errors import DriveError
from flashtwin.replays.presets import System, as_system
from flashtwin.settings import literal

#: The unit of the mapping in bytes, pages in a flash page of 16 KB, and pages that a TLC die of four planes programs at
#: once: usual since about 2015. Nothing in the tables tells them apart from others with the same rate.
MAPPING_BYTES, SENSE_PAGES, PROGRAM_PAGES = 4096, 4, 48
#: Pages of a block: 352 word lines.
BLOCK_PAGES = PROGRAM_PAGES * 352
#: Bytes of a die: 512 Gbit, the usual one of drives of 1 to 4 TB of the time.
DIE_GIB = 64.0
#: Times that no table tells apart: typical of TLC of these years (devices/tlc-2021.toml).
ERASE_US, RESUME_US, BUS_MT_S, COMMAND_NS = 3500.0, 5.0, 1600.0, 150
#: Spare bytes of a page that travel with it.
METADATA_BYTES = 512
#: Figure of the experiment that counts the dies, or any other units that read in parallel.
_UNITS = "parallel_units"
#: No drive reads for longer than it programs, by much.
_MOST_SENSING = 0.6
#: Below this an overhead is none: one unit of two hundred.
_LEAST_OVERHEAD = 1.005
_PAGES_PER_GIB = 2**30 // MAPPING_BYTES


@dataclass(frozen=True)
class FittedDrive:
    """A drive as its measurements tell it."""

    name: str
    estimates: Estimates
    #: The rows that it was fitted on, in words.
    fitted_on: str

    @property
    def toml(self) -> str:
        """The device file: each key with its interval and the experiment that tells it."""
        lines = [
            f"# {self.name}, fitted to measurements.",
            f"source = {literal(f'Fitted on {self.fitted_on}.')}",
            f"undetermined = {literal([one.key for one in self._keys() if not one.is_measured])}",
        ]
        tables: dict[str, list[Estimate]] = {"nand": []}
        for one in self._keys():
            tables.setdefault(one.key.rpartition(".")[0], []).append(one)
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

    def _keys(self) -> Iterator[Estimate]:
        return (one for one in self.estimates if "." in one.key)


def conventional(estimates: Estimates) -> System:
    """A conventional SSD on a drive as it is estimated so far."""
    return as_system("conventional", estimates.keys)  # type: ignore[arg-type]


def flash_array(estimates: Estimates, saturated: Estimate, used_gib: float) -> list[Estimate]:
    """Geometry and times of the flash from space, overhead, idle reads and the saturated rate of uniform writes.

    tPROG follows from 1 / (X WA) = (tPROG / K + tR (1 - (1 - v)^m) / m) / D with D dies of `DIE_GIB` each. More dies
    that are as much slower write as fast: the rate tells only their quotient.

    Raises:
        DriveError: collection alone would take longer than the saturated rate leaves.
    """
    space, overhead = estimates.number(SPACE), estimates.number(OVERHEAD)
    dies = _dies(estimates, space)
    amplified = float(laws.amplification(space, used_gib, 1.0))
    read_us = estimates.number("nand.read_us")
    busy_us = dies * 1e6 / (saturated.number * amplified * overhead)
    senses_us = _senses_us(read_us, amplified)
    program_us = PROGRAM_PAGES * (busy_us - senses_us)
    if program_us <= 0:
        raise DriveError(
            f"the saturated rate of {saturated.number:,.0f} writes/s leaves no time for programs on {dies} dies "
            f"whose reads take {read_us:.0f} us; is the rate that of sequential writes?"
        )
    # As many moves as a page costs, and one more, so that collection keeps up without haste.
    steps = Estimate("ftl.gc.step_pages", math.ceil(amplified), source="amplification of uniform writes, smoothly")
    return [*_geometry(space, dies, estimates), *_parity(estimates[OVERHEAD]), *_times(program_us, saturated), steps]


def sensing_share(estimates: Estimates, per_s: float, used_gib: float, read_us: float) -> float:
    """Share of the time of busy dies in which they read for collection, at `per_s` saturated uniform writes."""
    space = estimates.number(SPACE)
    amplified = float(laws.amplification(space, used_gib, 1.0))
    busy_us = _dies(estimates, space) * 1e6 / (per_s * amplified * estimates.number(OVERHEAD))
    return min(_senses_us(read_us, amplified) / busy_us, _MOST_SENSING)


def _senses_us(read_us: float, amplified: float) -> float:
    """Time of flash reads for each page that is programmed."""
    return read_us * float(laws.senses(laws.valid_share(amplified), SENSE_PAGES))


def _parity(overhead: Estimate) -> Iterator[Estimate]:
    """The overhead of every program as parity: one unit in this many."""
    stripes = [_stripe(end) for end in (overhead.number, overhead.high, overhead.low) if end is not None]
    low, high = (None, None) if len(stripes) < 3 else stripes[1:]
    yield Estimate("nand.parity_stripe", stripes[0], "units", low, high, overhead.source, overhead.is_measured)


def _stripe(overhead: float) -> int:
    return round(overhead / (overhead - 1.0)) if overhead > _LEAST_OVERHEAD else 0


def _dies(estimates: Estimates, space_gib: float) -> int:
    """As many as reads at several depths tell; else those that the capacity usually has."""
    if _UNITS in estimates and estimates[_UNITS].is_measured:
        return int(estimates.number(_UNITS))
    return 1 << max(round(math.log2(space_gib / DIE_GIB)), 0)


def _geometry(space_gib: float, dies: int, estimates: Estimates) -> Iterator[Estimate]:
    channels = math.gcd(dies, 8)
    blocks = round(space_gib * _PAGES_PER_GIB / dies / BLOCK_PAGES)
    usual = "usual for the capacity"
    told = _UNITS in estimates and estimates[_UNITS].is_measured
    source = estimates[_UNITS].source if told else usual
    yield Estimate("nand.channels", channels, source=usual, is_measured=False)
    yield Estimate("nand.chips_per_channel", dies // channels, source=source, is_measured=told)
    for key, value in (
        ("dies_per_chip", 1), ("planes_per_die", 1),
        ("pages_per_block", BLOCK_PAGES), ("page_bytes", MAPPING_BYTES), ("metadata_bytes", METADATA_BYTES),
        ("program_pages", PROGRAM_PAGES), ("sense_pages", SENSE_PAGES),
    ):  # fmt: skip
        yield Estimate(f"nand.{key}", value, source=usual, is_measured=False)
    yield Estimate("nand.blocks_per_plane", blocks, source="physical space")
    for key, share in begin_collection(blocks).items():
        yield Estimate(key, share, source="two free blocks a die", is_measured=False)


def _times(program_us: float, saturated: Estimate) -> Iterator[Estimate]:
    low, high = (program_us * saturated.number / end if end else None for end in (saturated.high, saturated.low))
    yield Estimate("nand.program_us", round(program_us, 1), "us", low, high, "saturated writes, for these dies")
    for key, number, unit in (
        ("nand.erase_us", ERASE_US, "us"), ("nand.bus_mt_s", BUS_MT_S, "MT/s"), ("nand.bus_width_bits", 8, ""),
        ("nand.command_ns", COMMAND_NS, "ns"), ("nand.pe_cycles", 3000, ""), ("engine.resume_us", RESUME_US, "us"),
    ):  # fmt: skip
        yield Estimate(key, number, unit, source="typical of the class", is_measured=False)
