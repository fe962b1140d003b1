"""Steps that can really be taken: for each thing that may hold a workload back, keys to set and what they take.

What a step costs in programs, erases and RAM is measured; `takes` says what a replay does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flashtwin.causes.case import Case, Config, at, more_dies
from flashtwin.causes.figures import TIME
from flashtwin.replays import caching
from flashtwin.results.keys import traits
from flashtwin.settings import Value

#: Speeds of NAND interfaces in MT/s: SDR, then ONFI and Toggle grades (ONFI 1.0 to 5.1).
GRADES_MT_S = (50.0, 133.0, 200.0, 400.0, 533.0, 667.0, 800.0, 1066.0, 1200.0, 1600.0, 2400.0, 3600.0)
#: Blocks that are added as spare, as shares of the drive's: about 7 % spare becomes 14 %, then 28 %.
_SPARE = (1.07, 1.20)
#: Blocks by which a watermark of collection is moved, as a share of a plane's; one at least. Ours.
_WATERMARK = 0.03


@dataclass(frozen=True)
class Step:
    """Keys to set, in words, and what this takes that no replay counts."""

    words: str
    sets: Mapping[str, Value]
    takes: str = ""


def hashing(case: Case) -> Iterator[Step]:
    """More lanes; a pipeline has none to add to."""
    lanes = int(at(case.config, "engine.hash_lanes"))
    for times in (2, 4, 16):
        if 0 < lanes * times <= 65_536:
            yield Step(
                f"{lanes * times} hash lanes for {lanes}", {"engine.hash_lanes": lanes * times},
                f"{lanes * times - lanes} more hash lane{'s' if lanes * times - lanes > 1 else ''}",
            )  # fmt: skip


def bus(case: Case) -> Iterator[Step]:
    """The next grades of the interface; twice the channels for the same chips."""
    speed = float(at(case.config, "nand.bus_mt_s"))
    for grade in [grade for grade in GRADES_MT_S if grade > speed][:2]:
        yield Step(f"an interface of {grade:g} MT/s", {"nand.bus_mt_s": grade}, f"{grade:g} MT/s on every channel")
    channels, chips = int(at(case.config, "nand.channels")), int(at(case.config, "nand.chips_per_channel"))
    if chips % 2 == 0:
        sets = {"nand.channels": channels * 2, "nand.chips_per_channel": chips // 2}
        yield Step(f"{channels * 2} channels for the same chips", sets, f"{channels} more channels")


def collection(case: Case) -> Iterator[Step]:
    """More spare, idle time, other watermarks, other victims, another wear rule, hot pages apart from cold ones."""
    yield from _spare(case)
    yield from _idle(case)
    yield from _watermarks(case)
    for victim in ("greedy", "cost-benefit"):
        yield Step(f"victims by `{victim}`", {"ftl.gc.victim": victim})
    for policy, words in _WEAR.items():
        yield Step(words, {"ftl.wear.policy": policy})
    yield Step("hot pages apart from cold ones", {"ftl.partition.policy": "bloom-filters"}, "filters in RAM")
    yield Step(
        "collection in smaller steps", {"ftl.gc.step_pages": max(int(at(case.config, "ftl.gc.step_pages")) // 2, 1)}
    )


_WEAR = {
    "none": "no wear levelling: the block erased first is used next",
    "dynamic": "the block erased least often used next",
    "static": "wear levelling that moves cold data",
}


def _spare(case: Case) -> Iterator[Step]:
    """More blocks: the raw over-provisioning with them, and as it is."""
    blocks = int(at(case.config, "nand.blocks_per_plane"))
    for times in _SPARE:
        more = max(round(blocks * times), blocks + 1)
        now, then = (
            100.0 * (case.system.raw_pages * count / blocks / case.base.footprint_pages - 1) for count in (blocks, more)
        )
        words = f"raw over-provisioning of {then:.1f} % for {now:.1f} %"
        yield Step(
            words,
            {"nand.blocks_per_plane": more},
            f"{more - blocks} more block{'s' if more - blocks > 1 else ''} a plane",
        )


def _idle(case: Case) -> Iterator[Step]:
    """Collection in idle time: blocks erased beforehand beyond those at which collection begins anyway."""
    blocks = int(at(case.config, "nand.blocks_per_plane"))
    collects = "collects-in-idle-time" in traits(case.config)
    now = math.ceil(float(at(case.config, "ftl.gc.idle_reserve")) * blocks) if collects else _begins_at(case.config)
    for times in (1, 3):
        count = now + times * _step(blocks)
        share = _share(count, blocks)
        if share is not None:
            words = f"collection in idle time until {count} blocks of a plane are free"
            yield Step(words, {"ftl.gc.idle": "reserve", "ftl.gc.idle_reserve": share})
    if collects:
        yield Step("no collection in idle time", {"ftl.gc.idle": "none"})


def _watermarks(case: Case) -> Iterator[Step]:
    """Collection that begins earlier or later, and that goes on for longer once it has begun."""
    blocks, begins = int(at(case.config, "nand.blocks_per_plane")), _begins_at(case.config)
    ends = max(math.ceil(float(at(case.config, "ftl.gc.stop")) * blocks), begins + 1)
    for words, start, stop in (
        ("collection that goes on until {stop} blocks of a plane are free", begins, ends + _step(blocks)),
        ("collection that begins with {start} free blocks in a plane", begins + _step(blocks), ends + _step(blocks)),
        ("collection that begins with {start} free blocks in a plane", begins - _step(blocks), ends - _step(blocks)),
    ):
        shares = {"ftl.gc.start": _share(start, blocks), "ftl.gc.stop": _share(stop, blocks)}
        sets = {key: share for key, share in shares.items() if share is not None}
        if start > int(at(case.config, "ftl.gc.urgent")) and len(sets) == len(shares):
            yield Step(words.format(start=start, stop=stop), sets)


def _begins_at(config: Config) -> int:
    """Free blocks of a plane at which collection begins."""
    share = float(at(config, "ftl.gc.start")) * int(at(config, "nand.blocks_per_plane"))
    return max(math.ceil(share), int(at(config, "ftl.gc.urgent")) + 1)


def _step(blocks: int) -> int:
    return max(round(_WATERMARK * blocks), 1)


def _share(count: int, blocks: int) -> float | None:
    """The shortest share of a plane's blocks that rounds up to `count` of them; None where there is none below 1."""
    for digits in range(1, 10):
        parts = int(10**digits)
        share = math.floor(count / blocks * parts) / parts
        if share < 1 and math.ceil(share * blocks) == count:
            return share
    return None


def erases(case: Case) -> Iterator[Step]:
    """Erases that make way for reads; more spare, so that there are fewer; erases in idle time."""
    if at(case.config, "engine.suspend") == "none":
        yield Step("erases that reads may interrupt", {"engine.suspend": "erase"}, "chips that can suspend")
    yield from _spare(case)
    yield from _idle(case)


def placement(case: Case) -> Iterator[Step]:
    """Other allocations and another view of the load; copies as choices."""
    for policy in ("least-loaded", "dynamic", "static"):
        yield Step(f"pages placed by `{policy}`", {"ftl.allocation.policy": policy})
    yield Step("chip load as expected wait", {"engine.load": "expected-wait"})
    if "replicates" in traits(case.config) and "redirects" not in traits(case.config):
        yield Step("reads from any copy", {"ftl.redirection.policy": "replicas"})
    yield from _merging()


def dies(case: Case) -> Iterator[Step]:
    """Twice the dies, or more of a die at work at a time."""
    count = int(at(case.config, "nand.dies_per_chip"))
    _, sets = more_dies(case, (2,))
    yield Step(f"{count * 2} dies a chip for {count}", sets, "twice the dies, of half the blocks each")
    concurrency = at(case.config, "engine.concurrency")
    if concurrency == "chip" and count > 1:
        yield Step("dies that work on their own", {"engine.concurrency": "die"})
    if concurrency != "plane" and at(case.config, "nand.planes_per_die") > 1:
        # Planes that work on their own need no common command.
        alone: Mapping[str, Value] = {"engine.concurrency": "plane", "engine.multi_plane": "none"}
        yield Step("planes that work on their own", alone, "planes with decoders of their own")
        yield from _several_planes(case)


def _several_planes(case: Case) -> Iterator[Step]:
    """Commands for several planes of a die, where the planes do not work on their own."""
    alone = at(case.config, "engine.concurrency") == "plane" or at(case.config, "nand.program_pages") > 1
    if not alone and 1 < at(case.config, "nand.planes_per_die") <= 64:
        yield Step("commands on several planes", {"engine.multi_plane": "any-page"})


def suspension(_: Case) -> Iterator[Step]:
    """Interruptions at the usual cost."""
    for policy, words in (("erase", "erases"), ("program-erase", "programs and erases")):
        yield Step(f"{words} that reads may interrupt", {"engine.suspend": policy}, "chips that can suspend")


def mapping(case: Case) -> Iterator[Step]:
    """A larger cache of the mapping tables."""
    size = at(case.config, "ftl.mapping_cache.bytes")
    if isinstance(size, int):
        for times in (2, 4, 16):
            yield Step(f"a mapping cache {times} times as large", {"ftl.mapping_cache.bytes": size * times})
    yield Step("all mapping tables in RAM", {"ftl.mapping_cache.bytes": "unlimited"})


def fingerprints(case: Case) -> Iterator[Step]:
    """A larger store of fingerprints."""
    entries = at(case.config, "ftl.dedup.fingerprint_entries")
    if isinstance(entries, int):
        for times in (2, 8):
            yield Step(f"{entries * times} fingerprints", {"ftl.dedup.fingerprint_entries": entries * times})
    yield Step("a store of all fingerprints", {"ftl.dedup.fingerprint_entries": "unlimited"})


def copies(case: Case) -> Iterator[Step]:
    """Fewer copies, of what is read more; at other times; more room for them."""
    if "copies-at-period-ends" in traits(case.config):
        yield Step("a copy for every fourth read", {"ftl.replication.copies_per_read": 0.25})
        yield Step("one copy more at most", {"ftl.replication.most_copies": 2})
        yield Step("copies as soon as they are earned", {"ftl.replication.policy": "on-line"})
        yield Step(
            f"periods of {at(case.config, 'replay.period_s') / 2:g} s",
            {"replay.period_s": float(at(case.config, "replay.period_s")) / 2},
        )
    yield Step("copies that wait for 10 ms without other work", {"engine.idle_us": 10_000.0})
    yield Step("space for copies (alpha) of 0.2", {"ftl.replication.alpha": 0.2}, "a fifth more space")
    yield Step("no copies", {"ftl.replication.policy": "none"})


def depth(case: Case) -> Iterator[Step]:
    """More under way for the whole time, fewer for response times."""
    under_way = int(at(case.config, "replay.queue_depth"))
    deeper = [under_way * times for times in (2, 4, 16)]
    fewer = sorted({max(under_way // times, 1) for times in (2, 4)} - {under_way}, reverse=True)
    for number in deeper if case.goal.statistic == TIME else fewer:
        takes = "longer responses" if case.goal.statistic == TIME else "fewer requests a second"
        yield Step(f"a queue depth of {number}", {"replay.queue_depth": number}, takes)


def programs(case: Case) -> Iterator[Step]:
    """Writes that need not wait for their program; several planes at once; another allocation."""
    yield from _answered_early(case)
    yield from _several_planes(case)
    yield Step("pages placed by `least-loaded`", {"ftl.allocation.policy": "least-loaded"})


def _answered_early(case: Case) -> Iterator[Step]:
    """Either a write cache, or writes that complete once hashed: the core has no drive with both."""
    cache, completes = int(at(case.config, "engine.write_cache_pages")), at(case.config, "engine.write_completes")
    waits = completes not in caching.EARLY
    if waits:
        pages = 4 * cache or caching.PAGES
        takes = f"{_memory(case, pages - cache)} of protected DRAM"
        yield Step(f"a write-back cache of {pages:,} pages", {caching.KEY: pages, caching.PROTECTED: True}, takes)
    # A system that does not hash would answer at once: what a cache takes for that is known, and tried above.
    room = int(at(case.config, "engine.write_buffer_pages")) if completes == "hashed" else 0
    if case.base.pages_hashed and (room or (waits and not cache)):
        places = 4 * room or caching.PAGES
        words = f"writes that complete when hashed, with protected RAM for {places:,} pages"
        sets: Mapping[str, Value] = {"engine.write_completes": "hashed", "engine.write_buffer_pages": places}
        yield Step(words, sets, f"{_memory(case, places - room)} of power-protected RAM")


def _memory(case: Case, pages: int) -> str:
    return f"{pages * int(at(case.config, 'nand.page_bytes')) / 2**20:,.0f} MiB"


def reads(_: Case) -> Iterator[Step]:
    """Waiting reads of one page served together."""
    yield from _merging()


def _merging() -> Iterator[Step]:
    yield Step("waiting reads of one page served together", {"engine.merge_reads": "same-page"})
