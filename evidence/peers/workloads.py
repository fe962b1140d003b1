"""Requests that every simulator gets: made ones, and samples of public traces."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

SECTOR_BYTES = 512
PAGE_SECTORS = 8

#: MQSim logs whole microseconds. Requests that are so far apart can be told apart in its log.
GAP_NS = 3_000


class Request(NamedTuple):
    """One request of the host, in sectors of 512 bytes."""

    time_ns: int
    sector: int
    sectors: int
    write: bool


Requests = Sequence[Request]


class HotShare(NamedTuple):
    """A share of the pages that gets another share of the requests."""

    pages: float
    requests: float


def line(request: Request) -> str:
    """A request as MQSim, SSDsim and flashtwin read it."""
    return f"{request.time_ns} 0 {request.sector} {request.sectors} {0 if request.write else 1}"


def text(requests: Iterable[Request]) -> str:
    """A whole trace in their common format."""
    return "".join(line(request) + "\n" for request in requests)


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
    places = footprint_pages // pages
    out = []
    for index in range(count):
        now -= mean_gap_us * 1000 * math.log(1.0 - rng.random())
        place = index % places if sequential else drawn(rng, places, hot)
        sectors = pages * PAGE_SECTORS
        out.append(Request(int(now), place * sectors, sectors, rng.random() < write_share))
    return spaced(out)


def drawn(rng: random.Random, places: int, hot: HotShare | None) -> int:
    """One of this many places, by popularity."""
    if hot is None:
        return rng.randrange(places)
    border = int(places * hot.pages)
    return rng.randrange(border) if rng.random() < hot.requests else rng.randrange(border, places)


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

    def phase(count: int, share: float, *, sequential: bool) -> list[Request]:
        return made(
            count=count,
            mean_gap_us=fill_gap_us if sequential and fill_gap_us is not None else mean_gap_us,
            hot=None if sequential else hot,
            write_share=share,
            footprint_pages=footprint_pages,
            sequential=sequential,
        )

    filled = phase(footprint_pages, 1.0, sequential=True)
    begin = filled[-1].time_ns + GAP_NS
    after = phase(overwrites, write_share, sequential=False)
    return [*filled, *(request._replace(time_ns=request.time_ns + begin) for request in after)]


def counts(requests: Iterable[Request]) -> dict[str, int]:
    """Requests of each kind."""
    writes = [request.write for request in requests]
    return {"read": len(writes) - sum(writes), "write": sum(writes)}


def pages_of(request: Request) -> range:
    """Pages that a request touches."""
    return range(request.sector // PAGE_SECTORS, -(-(request.sector + request.sectors) // PAGE_SECTORS))


def pages_read(requests: Iterable[Request]) -> set[int]:
    """Distinct pages that are read."""
    return {page for request in requests if not request.write for page in pages_of(request)}
