"""Possible bottlenecks: one row each, with the keys that switch it off. Pure: configurations in, keys out.

The changes against a bottleneck are rows of `flashtwin.judgement.catalogue`. A new bottleneck is one row here and one
scenario in tests/causes/.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flashtwin.judgement.catalogue import Change, Level, Levels, Sets, Subject, times_the_dies
from flashtwin.results.figures import TIME

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
#: The kind of a change that nobody can make.
IDEAL = "ideal"


@dataclass(frozen=True)
class Bottleneck(Change):
    """Something that may hold a workload back; its levels switch it off, the first with which a drive can be built."""

    #: As a sentence names it; a chart leaves out the article.
    words: str = ""
    #: Charges of the wait ledger that speak for it.
    charges: frozenset[str] = frozenset()
    #: Wider things that it is a part of, directly or not.
    within: frozenset[str] = frozenset()
    #: Whether it is the time of the flash cells, which no controller changes.
    is_cells: bool = False

    def charge(self, case: Subject) -> float:
        """Its time in the wait ledger: ns of the mean of the goal's requests."""
        charges = case.base.charges(case.goal)
        return sum(charges.get(charge, 0.0) for charge in self.charges)


def _many_dies(case: Subject) -> Levels:
    engine: Sets = {"engine.concurrency": "die"} if case["engine.concurrency"] == "chip" else {}
    for times in _DIES_TIMES:
        yield Level(f"{times} times the dies", {**times_the_dies(case, times), **engine})


def _new_drive(case: Subject) -> Levels:
    """A drive that has not been aged, and so large that no plane runs out of erased blocks."""
    counts = ("trace.footprint_pages", "page_ops.write", "flash_writes.replica")
    pages = _ROOM_TIMES * int(sum(case.base[count] for count in counts))
    blocks = 64 + -(-pages // (case.planes * case["nand.pages_per_block"]))
    aged: Sets = {"replay.preload": "first-reads"} if case["replay.preload"] == "footprint" else {}
    sets = {"nand.blocks_per_plane": max(blocks, int(case["nand.blocks_per_plane"])), **aged}
    yield Level("a new drive that never collects", sets)


def _depth(case: Subject) -> Levels:
    """For the whole time a deep queue; for response times, which grow with the depth, one request at a time."""
    deep = min(int(case["replay.queue_depth"]) * _DEPTH_TIMES, 65_536)
    yield Level("another queue depth", {"replay.queue_depth": deep if case.goal.figure == TIME else 1})


def _no_sensing(case: Subject) -> Levels:
    types: Sets = {"nand.read_types_us": 0.0} if case["nand.read_types_us"] else {}
    yield Level("reads that take no time", {"nand.read_us": 0.0, **types})


#: Waits for a chip.
_CHIP = "host_read host_program gc_read gc_program erase copy table_page comparison order"
#: The causes that include more work for the flash.
_FLASH = "dies placement suspension read program"


def _row(
    name: str, words: str, charges: str, levels: tuple[str, Sets] | Callable[[Subject], Levels], within: str = "",
    *, is_cells: bool = False,
) -> Bottleneck:  # fmt: skip
    of = (Level(*levels),) if isinstance(levels, tuple) else levels
    charged, wider = (frozenset(text.split()) for text in (charges, within))
    return Bottleneck(name, IDEAL, (name,), of, words=words, charges=charged, within=wider, is_cells=is_cells)


BOTTLENECKS = (
    _row("hash", "the hash unit", "hash_queue",
         ("hashing at no cost", {"engine.hash_us": 0.0, "engine.hash_lanes": _ALL_LANES})),
    _row("bus", "the channels", "channel",
         ("channels without a transfer time", {"nand.bus_mt_s": _FREE_BUS_MT_S, "nand.command_ns": 0})),
    _row("gc", "garbage collection", "gc_read gc_program erase", _new_drive, _FLASH),
    _row("erase", "erases", "erase", ("erases that take no time", {"nand.erase_us": 0.0}), f"{_FLASH} gc"),
    _row("placement", "uneven load on the chips", _CHIP,
         ("writes to the chip with the shortest wait and reads from it, wherever the page lies",
          {"ftl.allocation.policy": "least-loaded", "ftl.redirection.policy": "any-chip",
           "engine.load": "expected-wait"}),
         "dies suspension read program"),
    _row("dies", "too few dies", _CHIP, _many_dies, "read program"),
    _row("suspension", "reads behind programs and erases", "host_program gc_program erase copy",
         ("programs and erases that any read can suspend",
          {"engine.suspend": "program-erase", "engine.suspend_us": 0.0, "engine.suspend_slice_us": 0.0,
           "engine.resume_us": 0.0, "engine.suspend_times": 1_000_000, "engine.suspend_reads": 1_000_000}),
         "program"),
    _row("mapping", "misses in the mapping cache", "tables table_page",
         ("all mapping tables in RAM",
          {"ftl.mapping_cache.bytes": "unlimited", "ftl.mapping_cache.checkpoint_s": 0.0}), f"{_FLASH} bus"),
    _row("fingerprints", "duplicates that a small fingerprint store misses", "",
         ("a fingerprint store without a limit", {"ftl.dedup.fingerprint_entries": "unlimited"}), _FLASH),
    _row("copies", "copying popular contents", "copy", ("no copies", {"ftl.replication.policy": "none"}), _FLASH),
    _row("slots", "the slots of the controller", "slot", ("a slot for every request", {"engine.slots": 0})),
    _row("link", "the link to the host", "link", ("a link without a transfer time", {"engine.link_mb_s": 0.0})),
    _row("queue_depth", "the queue depth of the host", "", _depth),
    _row("program", "the time of programs (tPROG)", "host_program gc_program copy page_program",
         ("programs that take no time", {"nand.program_us": 0.0}), is_cells=True),
    _row("read", "the time of reads (tR)", "host_read gc_read table_page", _no_sensing, is_cells=True),
)  # fmt: skip
BY_NAME: Mapping[str, Bottleneck] = {one.name: one for one in BOTTLENECKS}
