"""The device and the requests that every simulator gets."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SECTOR_BYTES = 512
PAGE_SECTORS = 8

#: MQSim logs whole microseconds. Requests that are so far apart can be told apart in its log.
GAP_NS = 3_000


@dataclass(frozen=True)
class Device:
    """Geometry and timing that all simulators can express alike, by flashtwin's names of keys."""

    channels: int = 8
    chips_per_channel: int = 2
    dies_per_chip: int = 2
    planes_per_die: int = 2
    blocks_per_plane: int = 2048
    pages_per_block: int = 64
    page_bytes: int = 4096
    read_us: int = 75
    program_us: int = 400
    erase_us: int = 3800
    bus_mt_s: int = 40
    command_ns: int = 175
    #: A plane collects when this many of its blocks are free.
    free_blocks: int = 32

    @property
    def chips(self) -> int:
        return self.channels * self.chips_per_channel

    @property
    def pages(self) -> int:
        planes = self.chips * self.dies_per_chip * self.planes_per_die
        return planes * self.blocks_per_plane * self.pages_per_block

    @property
    def transfer_us(self) -> float:
        """Command and data of a page on the bus, which is 8 bits wide."""
        return self.page_bytes / self.bus_mt_s + self.command_ns / 1000

    def mean_gap_us(self, load: float, *, write_share: float, pages: int = 1) -> float:
        """Mean time between requests that keeps the busiest of chips and channels at work for `load` of the time.

        Chips do one operation at a time here, as the peers' do.
        """
        array_us = write_share * self.program_us + (1 - write_share) * self.read_us
        page_us = max((self.transfer_us + array_us) / self.chips, self.transfer_us / self.channels)
        return page_us * pages / load


class Request(NamedTuple):
    time_ns: int
    sector: int
    sectors: int
    write: bool


Requests = Sequence[Request]


class HotShare(NamedTuple):
    """A share of the pages that gets another share of the requests."""

    pages: float
    requests: float


def text(requests: Iterable[Request]) -> str:
    """A trace as MQSim, SSDsim and flashtwin read it."""
    return "".join(f"{time_ns} 0 {sector} {sectors} {int(not write)}\n" for time_ns, sector, sectors, write in requests)


def spaced(requests: Iterable[Request]) -> list[Request]:
    """The same requests in order of time, none less than `GAP_NS` after the one before."""
    out: list[Request] = []
    earliest = 0
    for request in sorted(requests, key=lambda each: each.time_ns):
        out.append(request._replace(time_ns=max(request.time_ns, earliest)))
        earliest = out[-1].time_ns + GAP_NS
    return out


def made(
    *,
    count: int,
    mean_gap_us: float,
    write_share: float,
    footprint_pages: int,
    pages: int = 1,
    sequential: bool = False,
    hot: HotShare | None = None,
) -> list[Request]:
    """Arrivals of a Poisson process; addresses uniform over the footprint, one after another, or mostly `hot` ones."""
    rng = random.Random(1)
    now = 0.0
    places, sectors = footprint_pages // pages, pages * PAGE_SECTORS
    border = int(places * hot.pages) if hot else 0
    out = []
    for index in range(count):
        now -= mean_gap_us * 1000 * math.log(1.0 - rng.random())
        if sequential:
            place = index % places
        elif hot and rng.random() < hot.requests:
            place = rng.randrange(border)
        else:
            place = rng.randrange(border, places)
        out.append(Request(int(now), place * sectors, sectors, rng.random() < write_share))
    return spaced(out)


def filled_and_overwritten(
    *,
    footprint_pages: int,
    overwrites: int,
    mean_gap_us: float,
    write_share: float,
    hot: HotShare | None = None,
    fill_gap_us: float | None = None,
) -> list[Request]:
    """Every page written once in order, then requests of one page, uniform or mostly for `hot` pages."""
    fill_gap_us = fill_gap_us or mean_gap_us
    filled = made(
        count=footprint_pages, mean_gap_us=fill_gap_us, write_share=1.0, footprint_pages=footprint_pages,
        sequential=True,
    )  # fmt: skip
    after = made(
        count=overwrites, mean_gap_us=mean_gap_us, write_share=write_share, footprint_pages=footprint_pages, hot=hot
    )
    begin = filled[-1].time_ns + GAP_NS
    return [*filled, *(request._replace(time_ns=request.time_ns + begin) for request in after)]


def counts(requests: Iterable[Request]) -> dict[str, int]:
    writes = [request.write for request in requests]
    return {"read": len(writes) - sum(writes), "write": sum(writes)}


def pages_read(requests: Iterable[Request]) -> set[int]:
    reads = (request for request in requests if not request.write)
    return {
        page
        for read in reads
        for page in range(read.sector // PAGE_SECTORS, -(-(read.sector + read.sectors) // PAGE_SECTORS))
    }
