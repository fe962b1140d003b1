"""Twelve small workloads and drives, each with one known bottleneck. Times in ns, pages of 4,096 bytes, fixed seeds."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import flashtwin as ft
from flashtwin.settings import Value

PAGE = 4096
US, MS, S = 1_000, 1_000_000, 1_000_000_000
#: Time in ns, kind, page, pages, content of each page of a write (every page of one request the same).
Request = tuple[int, str, int, int, int | None]

#: A drive so small that a few thousand writes fill it: four dies of one plane.
SMALL: Mapping[str, Value] = {
    "nand.channels": 2, "nand.chips_per_channel": 2, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
    "nand.blocks_per_plane": 40, "nand.pages_per_block": 32,
}  # fmt: skip
ONE_DIE = {**SMALL, "nand.channels": 1, "nand.chips_per_channel": 1, "nand.blocks_per_plane": 256}


@dataclass(frozen=True)
class Scenario:
    """A workload on a drive, and its known bottleneck."""

    cause: str
    system: str
    requests: tuple[Request, ...]
    goal: str | None = None
    settings: Mapping[str, Value] = field(default_factory=dict)

    def trace(self) -> ft.Trace:
        rows = sorted(self.requests, key=lambda row: row[0])
        columns = {
            "time_ns": [row[0] for row in rows],
            "op": [row[1] for row in rows],
            "offset_bytes": [row[2] * PAGE for row in rows],
            "length_bytes": [row[3] * PAGE for row in rows],
        }
        if any(row[4] is not None for row in rows):
            columns["content"] = [[row[4] or 0] * row[3] for row in rows]
        return ft.Trace.from_frame(columns, name=self.cause)


def hash_lane() -> Scenario:
    """Bursts of duplicates: nothing to program, all to hash, one page after the other."""
    requests = [(burst * 2 * MS, "W", burst * 64 + page, 1, 1) for burst in range(40) for page in range(64)]
    return Scenario("hash", "ca-ssd", tuple(requests))


def slow_bus() -> Scenario:
    """Reads on an interface of the nineties: the transfer takes longer than the cells."""
    draw = random.Random(1)
    requests = [(number * 300 * US, "R", draw.randrange(4096), 1, None) for number in range(2000)]
    return Scenario("bus", "conventional", tuple(requests), settings={"nand.bus_mt_s": 20.0, "nand.channels": 2})


def collection() -> Scenario:
    """Random overwrites of a drive that is nearly full: most programs move pages."""
    draw = random.Random(2)
    pages = 4 * 40 * 32 * 75 // 100
    fill = [(0, "R", page, 1, None) for page in range(pages)]
    writes = [(S + number * 900 * US, "W", draw.randrange(pages), 1, None) for number in range(6000)]
    return Scenario("gc", "conventional", (*fill, *writes), "write.mean", {**SMALL, "replay.preload": "footprint"})


def hot_chip() -> Scenario:
    """Pages that all lie on one of 64 chips, read faster than it can."""
    draw = random.Random(3)
    requests = [(number * 70 * US, "R", draw.randrange(64) * 512, 1, None) for number in range(3000)]
    return Scenario("placement", "conventional", tuple(requests))


def erase_tail() -> Scenario:
    """A drive written round and round, whose blocks are wholly invalid when they are erased; reads meet erases."""
    draw = random.Random(4)
    pages = 4 * 40 * 32 // 2
    writes = [(number * 800 * US, "W", number % pages, 1, None) for number in range(4 * pages)]
    reads = [(400 * US + number * 800 * US, "R", draw.randrange(pages), 1, None) for number in range(4 * pages)]
    return Scenario("erase", "conventional", (*writes, *reads), "read.p99_9", {**SMALL, "nand.erase_us": 20_000.0})


def mapping_misses() -> Scenario:
    """Random reads over many pages, with RAM for a hundredth of the mapping."""
    draw = random.Random(5)
    requests = [(number * 200 * US, "R", draw.randrange(400_000), 1, None) for number in range(4000)]
    return Scenario("mapping", "conventional", tuple(requests), settings={"ftl.mapping_cache.bytes": 16_384})


def replica_pass() -> Scenario:
    """A new set of contents read in every period: copies that nobody reads, made as soon as a die is idle."""
    return Scenario("copies", "rr-ssd-online", tuple(_moving_on()), "read.p99", {
        **SMALL, "nand.blocks_per_plane": 400, "replay.period_s": 0.06, "engine.idle_us": 0.0,
        "ftl.replication.alpha": 4.0,
    })  # fmt: skip


def _moving_on() -> Iterator[Request]:
    draw = random.Random(6)
    for period in range(10):
        for number in range(200):
            page = period * 100 + draw.randrange(100)
            yield period * 60 * MS + number * 300 * US, "R", page, 1, page + 1


def too_few_dies() -> Scenario:
    draw = random.Random(7)
    times = [number * 80 * US + draw.randrange(80 * US) for number in range(4000)]
    requests = [(time, "R", draw.randrange(4096), 1, None) for time in times]
    return Scenario("dies", "conventional", tuple(requests), settings=ONE_DIE)


def one_slot() -> Scenario:
    """A controller that takes one request at a time, before chips that could read many."""
    draw = random.Random(10)
    requests = [(number * 40 * US, "R", draw.randrange(4096), 1, None) for number in range(2000)]
    return Scenario("slots", "conventional", tuple(requests), settings={"engine.slots": 1})


def slow_link() -> Scenario:
    """Reads of eight pages over a link that takes longer for them than the chips."""
    draw = random.Random(11)
    requests = [(number * 600 * US, "R", draw.randrange(4096), 8, None) for number in range(1500)]
    return Scenario("link", "conventional", tuple(requests), settings={"engine.link_mb_s": 50.0})


def queue_depth() -> Scenario:
    """One request at a time on 64 chips."""
    draw = random.Random(8)
    requests = [(number * US, "R", draw.randrange(100_000), 1, None) for number in range(3000)]
    return Scenario("queue_depth", "conventional", tuple(requests), settings={"replay.queue_depth": 1})


def nothing() -> Scenario:
    """A read now and then."""
    draw = random.Random(9)
    requests = [(number * 10 * MS, "R", draw.randrange(4096), 1, None) for number in range(500)]
    return Scenario("nothing", "conventional", tuple(requests))


SCENARIOS = (
    hash_lane, slow_bus, collection, hot_chip, erase_tail, mapping_misses, replica_pass, too_few_dies, queue_depth,
    one_slot, slow_link, nothing,
)  # fmt: skip
