"""A fitted drive: its estimates as keys of the configuration, and as the device file that every command takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flashtwin.drives import laws
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.spare import OVERHEAD, SPACE
from flashtwin.errors import DriveError
from flashtwin.settings import literal

#: The unit of the mapping in bytes, pages in a flash page of 16 KB, and pages that a TLC die of four planes programs at
#: once: usual since about 2015. Nothing in the tables tells them apart from others with the same rate.
MAPPING_BYTES, SENSE_PAGES, PROGRAM_PAGES = 4096, 4, 48
#: Bytes of a die: 512 Gbit, the usual one of drives of 1 to 4 TB of the time.
DIE_GIB = 64.0
#: Times that no table tells apart: typical of TLC of these years (devices/tlc-2021.toml).
ERASE_US, RESUME_US, BUS_MT_S = 3500.0, 5.0, 1600.0
#: The channel's time for the metadata of a page, as a share of its bytes.
METADATA_BYTES = 512
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
            f"# {self.name}, fitted to measurements by `flashtwin fit`.",
            f"source = {literal(self.source)}",
        ]
        table = "nand"
        for one in sorted(self._keys(), key=lambda one: not one.key.startswith("nand.")):
            of, _, key = one.key.rpartition(".")
            if of != table:
                lines += ["", f"[{of}]"]
                table = of
            lines += [f"# {one.source}{f'; {one.interval} {one.unit}'.rstrip() if one.interval else ''}"]
            lines += [f"{key} = {literal(one.value)}"]
        return "\n".join(lines) + "\n"

    @property
    def source(self) -> str:
        """Where the numbers come from, as a device says it."""
        unknown = [one.key for one in self._keys() if not one.is_measured]
        return (
            f"Fitted on {self.fitted_on or 'measurements'}. Not determined by them: {', '.join(unknown) or 'nothing'}."
        )

    @property
    def keys(self) -> Mapping[str, object]:
        """Keys of the configuration, as `--set` takes them."""
        return {one.key: one.value for one in self._keys()}

    def _keys(self) -> Iterator[Estimate]:
        return (one for one in self.estimates if "." in one.key)


def flash_array(estimates: Estimates, saturated: Estimate, used_gib: float) -> list[Estimate]:
    """Geometry and times of the flash from space, overhead, idle reads and the saturated rate of uniform writes.

    tPROG follows from 1 / (X WA) = (tPROG / K + tR (1 - (1 - v)^m) / m) / D with D dies of `DIE_GIB` each. More dies
    that are as much slower write as fast: the rate tells only their quotient.

    Raises:
        DriveError: collection alone would take longer than the saturated rate leaves.
    """
    space, overhead = estimates.number(SPACE), estimates.number(OVERHEAD)
    dies = max(2 ** round(math.log2(space / DIE_GIB)), 1)
    amplified = float(laws.amplification(space, used_gib, 1.0))
    read_us = estimates.number("nand.read_us")
    busy_us = dies * 1e6 / (float(saturated.value) * amplified * overhead)  # type: ignore[arg-type]
    senses_us = read_us * float(laws.senses(laws.valid_share(amplified), SENSE_PAGES))
    program_us = PROGRAM_PAGES * (busy_us - senses_us)
    if program_us <= 0:
        raise DriveError(
            f"the saturated rate of {float(saturated.value):,.0f} writes/s leaves no time for programs on {dies} dies "  # type: ignore[arg-type]
            f"whose reads take {read_us:.0f} us; is the rate that of sequential writes?"
        )
    return [*_geometry(space, dies), *_times(program_us, saturated)]


def _geometry(space_gib: float, dies: int) -> Iterator[Estimate]:
    channels = min(dies, 8)
    block_pages = PROGRAM_PAGES * 352
    blocks = round(space_gib * _PAGES_PER_GIB / dies / block_pages)
    usual = "usual for the capacity"
    for key, value in (
        ("channels", channels), ("chips_per_channel", dies // channels), ("dies_per_chip", 1), ("planes_per_die", 1),
        ("pages_per_block", block_pages), ("page_bytes", MAPPING_BYTES), ("metadata_bytes", METADATA_BYTES),
        ("program_pages", PROGRAM_PAGES), ("sense_pages", SENSE_PAGES),
    ):  # fmt: skip
        yield Estimate(f"nand.{key}", value, source=usual, is_measured=False)
    yield Estimate("nand.blocks_per_plane", blocks, source="physical space")
    for key in ("ftl.gc.start", "ftl.gc.stop"):
        yield Estimate(key, round(2.5 / blocks, 6), source="two free blocks a die", is_measured=False)


def _times(program_us: float, saturated: Estimate) -> Iterator[Estimate]:
    value = float(saturated.value)  # type: ignore[arg-type]
    low, high = (program_us * value / end if end else None for end in (saturated.high, saturated.low))
    yield Estimate("nand.program_us", round(program_us, 1), "us", low, high, "saturated writes, for these dies")
    for key, number, unit in (
        ("nand.erase_us", ERASE_US, "us"), ("nand.bus_mt_s", BUS_MT_S, "MT/s"), ("nand.bus_width_bits", 8, ""),
        ("nand.command_ns", 150, "ns"), ("nand.pe_cycles", 3000, ""), ("engine.resume_us", RESUME_US, "us"),
    ):  # fmt: skip
        yield Estimate(key, number, unit, source="typical of the class", is_measured=False)
