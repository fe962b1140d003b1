"""Possible bottlenecks: one row each, with the keys that remove it in theory and the steps possible in practice.

`ideal` gives the keys under which the thing costs nothing; `steps` those that a designer may choose, each with its
cost. `within` names the wider causes that include this one: for example, erases are a part of garbage collection, which
is a part of the load on the chips. A new candidate is one row here and one scenario in tests/causes/.

Pure: configurations in, keys out. Whether a step helps is for a replay to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from flashtwin.causes import remedies
from flashtwin.causes.case import Case, Sets, WhatIf, more_dies
from flashtwin.causes.figures import TIME
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
class Candidate:
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
    #: Whether it can cost anything at all: an event that never happened needs no replay.
    applies: Callable[[Case], bool]
    #: Keys under which it costs nothing, or what gives them.
    ideal: Mapping[str, Value] | Callable[[Case], Sets]
    #: The steps against it, in the order in which they are tried.
    steps: Callable[[Case], Iterator[WhatIf]]
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


def _always(_: Case) -> bool:
    return True


def _programs(case: Case) -> bool:
    return case.base["programs"] > 0


def _suspends_nothing(case: Case) -> bool:
    return _programs(case) and "read" in case.base.response and case.goal.kind != "write"


def _several_times_the_dies(case: Case) -> str:
    return f"{more_dies(case, _DIES_TIMES)[0]} times the dies"


def _many_dies(case: Case) -> Sets:
    engine: Sets = {"engine.concurrency": "die"} if case["engine.concurrency"] == "chip" else {}
    return {**more_dies(case, _DIES_TIMES)[1], **engine}


def _new_drive(case: Case) -> Sets:
    """A drive that has not been aged, and so large that no plane runs out of erased blocks."""
    pages = _ROOM_TIMES * sum(case.base[count] for count in ("footprint_pages", "page_writes", "copies"))
    blocks = 64 + -(-pages // (case.system.planes * case["nand.pages_per_block"]))
    aged: Sets = {"replay.preload": "first-reads"} if case["replay.preload"] == "footprint" else {}
    return {"nand.blocks_per_plane": max(blocks, int(case["nand.blocks_per_plane"])), **aged}


def _depth(case: Case) -> Sets:
    """For the whole time a deep queue; for response times, which grow with the depth, one request at a time."""
    depth = int(case["replay.queue_depth"])
    return {"replay.queue_depth": min(depth * _DEPTH_TIMES, 65_536) if case.goal.statistic == TIME else 1}


def _no_sensing(case: Case) -> Sets:
    types: Sets = {"nand.read_types_us": 0.0} if case["nand.read_types_us"] else {}
    return {"nand.read_us": 0.0, **types}


#: The things that may hold a workload back.
CANDIDATES: tuple[Candidate, ...] = (
    Candidate(
        "hash", "hash unit", "the hash unit", "hashing at no cost", frozenset(("hash_queue",)),
        lambda case: case.base["pages_hashed"] > 0,
        {"engine.hash_us": 0.0, "engine.hash_lanes": _ALL_LANES}, remedies.hashing,
    ),
    Candidate(
        "bus", "channels", "the channels", "channels without a transfer time", frozenset(("channel",)),
        _always, {"nand.bus_mt_s": _FREE_BUS_MT_S, "nand.command_ns": 0}, remedies.bus,
    ),
    Candidate(
        "gc", "garbage collection", "garbage collection", "a new drive that never collects",
        frozenset(("gc_read", "gc_program", "erase")), lambda case: case.collects, _new_drive, remedies.collection,
        within=_FLASH,
    ),
    Candidate(
        "erase", "erases", "erases", "erases that take no time", frozenset(("erase",)),
        lambda case: case.base["erases"] > 0, {"nand.erase_us": 0.0}, remedies.erases,
        within=_FLASH | {"gc"},
    ),
    Candidate(
        "placement", "uneven chips", "uneven load on the chips",
        "writes to the chip with the shortest wait and reads from it, wherever the page lies", _CHIP, _always,
        {
            "ftl.allocation.policy": "least-loaded", "ftl.redirection.policy": "any-chip",
            "engine.load": "expected-wait",
        },
        remedies.placement, within=_FLASH - {"placement"},
    ),
    Candidate(
        "dies", "too few dies", "too few dies", _several_times_the_dies, _CHIP, _always, _many_dies, remedies.dies,
        within=frozenset(("read", "program")),
    ),
    Candidate(
        "suspension", "reads behind programs", "reads behind programs and erases",
        "programs and erases that any read can suspend",
        frozenset(("host_program", "gc_program", "erase", "copy")), _suspends_nothing,
        {
            "engine.suspend": "program-erase", "engine.suspend_us": 0.0, "engine.suspend_slice_us": 0.0,
            "engine.resume_us": 0.0, "engine.suspend_times": 1_000_000, "engine.suspend_reads": 1_000_000,
        },
        remedies.suspension, within=frozenset(("program",)),
    ),
    Candidate(
        "mapping", "mapping misses", "misses in the mapping cache", "all mapping tables in RAM",
        frozenset(("tables", "table_page")),
        lambda case: case.base["mapping_misses"] > 0,
        {"ftl.mapping_cache.bytes": "unlimited", "ftl.mapping_cache.checkpoint_s": 0.0}, remedies.mapping,
        within=_FLASH | {"bus"},
    ),
    Candidate(
        "fingerprints", "missed duplicates", "duplicates that a small fingerprint store misses",
        "a fingerprint store without a limit", frozenset(),
        lambda case: case.base["duplicates_missed"] > 0,
        {"ftl.dedup.fingerprint_entries": "unlimited"}, remedies.fingerprints,
        within=_FLASH,
    ),
    Candidate(
        "copies", "making copies", "copying popular contents", "no copies", frozenset(("copy",)),
        lambda case: case.base["copies"] > 0, {"ftl.replication.policy": "none"}, remedies.copies,
        within=_FLASH,
    ),
    Candidate(
        "slots", "controller slots", "the slots of the controller", "a slot for every request", frozenset(("slot",)),
        lambda case: case["engine.slots"] > 0, {"engine.slots": 0}, remedies.slots,
    ),
    Candidate(
        "link", "host link", "the link to the host", "a link without a transfer time", frozenset(("link",)),
        lambda case: case["engine.link_mb_s"] > 0, {"engine.link_mb_s": 0.0}, remedies.link,
    ),
    Candidate(
        "queue_depth", "queue depth", "the queue depth of the host", "another queue depth",
        frozenset(),
        lambda case: case["replay.queue_depth"] > 0, _depth, remedies.depth,
    ),
    Candidate(
        "program", "tPROG", "the time of programs (tPROG)", "programs that take no time",
        frozenset(("host_program", "gc_program", "copy", "page_program")), _programs,
        {"nand.program_us": 0.0}, remedies.programs, is_cells=True,
    ),
    Candidate(
        "read", "tR", "the time of reads (tR)", "reads that take no time",
        frozenset(("host_read", "gc_read", "table_page")),
        _always, _no_sensing, remedies.reads, is_cells=True,
    ),
)  # fmt: skip

BY_NAME: Mapping[str, Candidate] = {one.name: one for one in CANDIDATES}


def proposed(case: Case) -> list[Candidate]:
    """Candidates that can cost anything, the largest charge of the wait ledger first."""
    # The ledger has no charge for the host or the cells; the queue depth goes first, the cells last.
    return sorted(
        (one for one in CANDIDATES if one.applies(case)),
        key=lambda one: (one.name != "queue_depth", one.is_cells, -one.spoken_for(case), CANDIDATES.index(one)),
    )
