"""Possible bottlenecks: one row each, with the keys that remove it in theory.

`within` names the wider causes that include this one: for example, erases are a part of garbage collection, which is a
part of the load on the chips. The changes against a bottleneck are rows of `flashtwin.judgement.catalogue`. A new
bottleneck is one row here and one scenario in tests/causes/.

Pure: configurations in, keys out. Whether it costs anything is for a replay to tell.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flashtwin.causes.case import Case, Sets, WhatIf
from flashtwin.judgement.catalogue import always, happened, is_set, times_the_dies
from flashtwin.settings import Value

#: Transfers a second, in millions, at which the largest page takes less than a nanosecond.
_FREE_BUS_MT_S = 1e9
#: Most lanes of a hash unit that a configuration accepts.
_ALL_LANES = 65_536
#: Times as many dies as there are; the first of them with which a drive can be built.
_DIES_TIMES = (8, 4, 2)
#: Times as many requests under way as there are.
_DEPTH_TIMES = 64
#: A new drive has this many times the space of all data held and written, so that no plane fills up.
_ROOM_TIMES = 4


@dataclass(frozen=True)
class Bottleneck:
    """Something that may hold a workload back."""

    name: str
    #: As a chart names it.
    label: str
    #: As a sentence names it.
    words: str
    #: As a sentence says that it is switched off; of a drive that depends on the case, what says so.
    without: str | Callable[[Case], str]
    #: Charges of the wait ledger that speak for it.
    charges: frozenset[str]
    #: Keys under which it costs nothing, or what gives them.
    ideal: Mapping[str, Value] | Callable[[Case], Sets]
    #: Whether it can cost anything at all: an event that never happened needs no replay.
    applies: Callable[[Case], bool] = always
    #: Wider things that it is a part of, directly or not.
    within: frozenset[str] = field(default_factory=frozenset)
    #: Whether it is the time of the flash cells, which no controller changes.
    is_cells: bool = False

    def off(self, case: Case) -> WhatIf:
        """The replay without it; of no keys where it costs nothing already."""
        words = self.without if isinstance(self.without, str) else self.without(case)
        sets = self.ideal(case) if callable(self.ideal) else self.ideal
        return WhatIf(words, case.changes(sets), of=(self.name,))

    def spoken_for(self, case: Case) -> float:
        """Its time in the wait ledger: ns of the mean of the goal's requests."""
        charges = case.base.charges(case.goal)
        return sum(charges.get(charge, 0.0) for charge in self.charges)


_CHIP = frozenset(
    ("host_read", "host_program", "gc_read", "gc_program", "erase", "copy", "table_page", "comparison", "order")
)
#: The causes that include more work for the flash.
_FLASH = frozenset(("dies", "placement", "suspension", "read", "program"))


def _suspends_nothing(case: Case) -> bool:
    return case.count("pages_programmed") > 0 and case.count("response.read.count") > 0 and case.goal.kind != "write"


def _dies_times(case: Case) -> int:
    """The first multiple of the dies with which a drive can be built; where none will do, the last."""
    fitting = (times for times in _DIES_TIMES if not case.refusal(times_the_dies(case, times)))
    return next(fitting, _DIES_TIMES[-1])


def _many_dies(case: Case) -> Sets:
    engine: Sets = {"engine.concurrency": "die"} if case["engine.concurrency"] == "chip" else {}
    return {**times_the_dies(case, _dies_times(case)), **engine}


def _new_drive(case: Case) -> Sets:
    """A drive that has not been aged, and so large that no plane runs out of erased blocks."""
    counts = ("trace.footprint_pages", "page_ops.write", "flash_writes.replica")
    pages = _ROOM_TIMES * int(sum(map(case.count, counts)))
    blocks = 64 + -(-pages // (case.planes * case["nand.pages_per_block"]))
    aged: Sets = {"replay.preload": "first-reads"} if case["replay.preload"] == "footprint" else {}
    return {"nand.blocks_per_plane": max(blocks, int(case["nand.blocks_per_plane"])), **aged}


def _depth(case: Case) -> Sets:
    """For the whole time a deep queue; for response times, which grow with the depth, one request at a time."""
    depth = int(case["replay.queue_depth"])
    return {"replay.queue_depth": min(depth * _DEPTH_TIMES, 65_536) if case.is_timed else 1}


def _no_sensing(case: Case) -> Sets:
    types: Sets = {"nand.read_types_us": 0.0} if case["nand.read_types_us"] else {}
    return {"nand.read_us": 0.0, **types}


BOTTLENECKS: tuple[Bottleneck, ...] = (
    Bottleneck(
        "hash", "hash unit", "the hash unit", "hashing at no cost", frozenset(("hash_queue",)),
        {"engine.hash_us": 0.0, "engine.hash_lanes": _ALL_LANES}, happened("page_ops.pages_hashed"),
    ),
    Bottleneck(
        "bus", "channels", "the channels", "channels without a transfer time", frozenset(("channel",)),
        {"nand.bus_mt_s": _FREE_BUS_MT_S, "nand.command_ns": 0},
    ),
    Bottleneck(
        "gc", "garbage collection", "garbage collection", "a new drive that never collects",
        frozenset(("gc_read", "gc_program", "erase")), _new_drive, lambda case: case.collects, _FLASH,
    ),
    Bottleneck(
        "erase", "erases", "erases", "erases that take no time", frozenset(("erase",)),
        {"nand.erase_us": 0.0}, happened("erases.total"), _FLASH | {"gc"},
    ),
    Bottleneck(
        "placement", "uneven chips", "uneven load on the chips",
        "writes to the chip with the shortest wait and reads from it, wherever the page lies", _CHIP,
        {
            "ftl.allocation.policy": "least-loaded", "ftl.redirection.policy": "any-chip",
            "engine.load": "expected-wait",
        },
        within=_FLASH - {"placement"},
    ),
    Bottleneck(
        "dies", "too few dies", "too few dies", lambda case: f"{_dies_times(case)} times the dies", _CHIP, _many_dies,
        within=frozenset(("read", "program")),
    ),
    Bottleneck(
        "suspension", "reads behind programs", "reads behind programs and erases",
        "programs and erases that any read can suspend", frozenset(("host_program", "gc_program", "erase", "copy")),
        {
            "engine.suspend": "program-erase", "engine.suspend_us": 0.0, "engine.suspend_slice_us": 0.0,
            "engine.resume_us": 0.0, "engine.suspend_times": 1_000_000, "engine.suspend_reads": 1_000_000,
        },
        _suspends_nothing, frozenset(("program",)),
    ),
    Bottleneck(
        "mapping", "mapping misses", "misses in the mapping cache", "all mapping tables in RAM",
        frozenset(("tables", "table_page")),
        {"ftl.mapping_cache.bytes": "unlimited", "ftl.mapping_cache.checkpoint_s": 0.0},
        happened("mapping_cache.misses"), _FLASH | {"bus"},
    ),
    Bottleneck(
        "fingerprints", "missed duplicates", "duplicates that a small fingerprint store misses",
        "a fingerprint store without a limit", frozenset(), {"ftl.dedup.fingerprint_entries": "unlimited"},
        happened("dedup.duplicates_missed"), _FLASH,
    ),
    Bottleneck(
        "copies", "making copies", "copying popular contents", "no copies", frozenset(("copy",)),
        {"ftl.replication.policy": "none"}, happened("flash_writes.replica"), _FLASH,
    ),
    Bottleneck(
        "slots", "controller slots", "the slots of the controller", "a slot for every request", frozenset(("slot",)),
        {"engine.slots": 0}, is_set("engine.slots"),
    ),
    Bottleneck(
        "link", "host link", "the link to the host", "a link without a transfer time", frozenset(("link",)),
        {"engine.link_mb_s": 0.0}, is_set("engine.link_mb_s"),
    ),
    Bottleneck(
        "queue_depth", "queue depth", "the queue depth of the host", "another queue depth", frozenset(),
        _depth, is_set("replay.queue_depth"),
    ),
    Bottleneck(
        "program", "tPROG", "the time of programs (tPROG)", "programs that take no time",
        frozenset(("host_program", "gc_program", "copy", "page_program")), {"nand.program_us": 0.0},
        happened("pages_programmed"), is_cells=True,
    ),
    Bottleneck(
        "read", "tR", "the time of reads (tR)", "reads that take no time",
        frozenset(("host_read", "gc_read", "table_page")), _no_sensing, is_cells=True,
    ),
)  # fmt: skip

BY_NAME: Mapping[str, Bottleneck] = {one.name: one for one in BOTTLENECKS}


def proposed(case: Case) -> list[Bottleneck]:
    """Those that can cost anything, the largest charge of the wait ledger first."""
    # The ledger has no charge for the host or the cells; the queue depth goes first, the cells last.
    return sorted(
        (one for one in BOTTLENECKS if one.applies(case)),
        key=lambda one: (one.name != "queue_depth", one.is_cells, -one.spoken_for(case), BOTTLENECKS.index(one)),
    )
