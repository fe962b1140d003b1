"""Steps possible in practice: for each bottleneck, keys to set and their cost.

Replays measure the cost in programs, erases and RAM; `takes` states the rest, for example more hash lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from flashtwin.causes.case import Case, Sets, WhatIf, more_dies
from flashtwin.causes.figures import TIME
from flashtwin.replays import caching
from flashtwin.units import plural

#: Speeds of NAND interfaces in MT/s: SDR, then ONFI and Toggle grades (ONFI 1.0 to 5.1).
GRADES_MT_S = (50.0, 133.0, 200.0, 400.0, 533.0, 667.0, 800.0, 1066.0, 1200.0, 1600.0, 2400.0, 3600.0)
#: Rates of a host's link in MB/s: SATA 6 Gb/s, then four lanes of PCIe 3.0, 4.0 and 5.0 (128b/130b coding).
LINKS_MB_S = {600.0: "SATA 6 Gb/s", 3938.0: "PCIe 3.0 x4", 7877.0: "PCIe 4.0 x4", 15754.0: "PCIe 5.0 x4"}
#: Blocks that are added as spare, as shares of the drive's: about 7 % spare becomes 14 %, then 28 %.
_SPARE = (1.07, 1.20)
#: Blocks by which a watermark of collection is moved, as a share of a plane's; one at least. Ours.
_WATERMARK = 0.03

Steps = Iterator[WhatIf]


def hashing(case: Case) -> Steps:
    """More lanes; a pipeline has none to add to."""
    lanes = int(case["engine.hash_lanes"])
    for more in (lanes * times for times in (2, 4, 16)):
        if 0 < more <= 65_536:
            takes = plural(more - lanes, "more hash lane")
            yield WhatIf(f"{more} hash lanes instead of {lanes}", {"engine.hash_lanes": more}, takes)


def bus(case: Case) -> Steps:
    """The next grades of the interface; twice the channels for the same chips."""
    for grade in [grade for grade in GRADES_MT_S if grade > case["nand.bus_mt_s"]][:2]:
        yield WhatIf(f"an interface of {grade:g} MT/s", {"nand.bus_mt_s": grade}, f"{grade:g} MT/s on every channel")
    channels, chips = int(case["nand.channels"]), int(case["nand.chips_per_channel"])
    if chips % 2 == 0:
        sets: Sets = {"nand.channels": channels * 2, "nand.chips_per_channel": chips // 2}
        yield WhatIf(f"{channels * 2} channels for the same chips", sets, f"{channels} more channels")


def collection(case: Case) -> Steps:
    """More spare, idle time, other watermarks, other victims, another wear rule, hot pages apart from cold ones."""
    yield from _spare(case)
    yield from _idle(case)
    yield from _watermarks(case)
    for victim in ("greedy", "cost-benefit"):
        yield WhatIf(f"victims by `{victim}`", {"ftl.gc.victim": victim})
    for policy, words in (
        ("none", "no wear levelling: the block erased first is used next"),
        ("dynamic", "the block erased least often used next"),
        ("static", "wear levelling that moves cold data"),
    ):
        yield WhatIf(words, {"ftl.wear.policy": policy})
    yield WhatIf("hot and cold pages in separate blocks", {"ftl.partition.policy": "bloom-filters"}, "filters in RAM")
    yield WhatIf("collection in smaller steps", {"ftl.gc.step_pages": max(int(case["ftl.gc.step_pages"]) // 2, 1)})


def _spare(case: Case) -> Steps:
    """More blocks: the raw over-provisioning with them, and as it is."""
    blocks, raw = int(case["nand.blocks_per_plane"]), case.system.raw_pages
    for more in (max(round(blocks * times), blocks + 1) for times in _SPARE):
        then, now = (100.0 * (raw * of / blocks / case.base["footprint_pages"] - 1) for of in (more, blocks))
        yield WhatIf(
            f"raw over-provisioning of {then:.1f} % instead of {now:.1f} %", {"nand.blocks_per_plane": more},
            f"{plural(more - blocks, 'more block')} a plane",
        )  # fmt: skip


def _idle(case: Case) -> Steps:
    """Collection in idle time: blocks erased beforehand beyond those at which collection begins anyway."""
    blocks = int(case["nand.blocks_per_plane"])
    collects = "collects-in-idle-time" in case.traits
    now = math.ceil(float(case["ftl.gc.idle_reserve"]) * blocks) if collects else _begins_at(case)
    for count in (now + times * _step(blocks) for times in (1, 3)):
        share = _share(count, blocks)
        if share is not None:
            words = f"collection in idle time until {count} blocks of a plane are free"
            yield WhatIf(words, {"ftl.gc.idle": "reserve", "ftl.gc.idle_reserve": share})
    if collects:
        yield WhatIf("no collection in idle time", {"ftl.gc.idle": "none"})


def _watermarks(case: Case) -> Steps:
    """Collection that begins earlier or later, and that goes on for longer once it has begun."""
    blocks, begins = int(case["nand.blocks_per_plane"]), _begins_at(case)
    ends, step = max(math.ceil(float(case["ftl.gc.stop"]) * blocks), begins + 1), _step(blocks)
    for words, start, stop in (
        (f"collection that goes on until {ends + step} blocks of a plane are free", begins, ends + step),
        (f"collection that begins with {begins + step} free blocks in a plane", begins + step, ends + step),
        (f"collection that begins with {begins - step} free blocks in a plane", begins - step, ends - step),
    ):
        at, until = _share(start, blocks), _share(stop, blocks)
        if start > int(case["ftl.gc.urgent"]) and at is not None and until is not None:
            yield WhatIf(words, {"ftl.gc.start": at, "ftl.gc.stop": until})


def _begins_at(case: Case) -> int:
    """Free blocks of a plane at which collection begins."""
    share = float(case["ftl.gc.start"]) * int(case["nand.blocks_per_plane"])
    return max(math.ceil(share), int(case["ftl.gc.urgent"]) + 1)


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


def erases(case: Case) -> Steps:
    """Erases that make way for reads; more spare, so that there are fewer; erases in idle time."""
    if case["engine.suspend"] == "none":
        yield WhatIf("erases that reads can suspend", {"engine.suspend": "erase"}, "chips that can suspend")
    yield from _spare(case)
    yield from _idle(case)


def placement(case: Case) -> Steps:
    """Other allocations and another view of the load; copies as choices."""
    for policy in ("least-loaded", "dynamic", "static"):
        yield WhatIf(f"pages placed by `{policy}`", {"ftl.allocation.policy": policy})
    yield WhatIf("chip load as expected wait", {"engine.load": "expected-wait"})
    if "replicates" in case.traits and "redirects" not in case.traits:
        yield WhatIf("reads from any copy", {"ftl.redirection.policy": "replicas"})
    yield from reads(case)


def dies(case: Case) -> Steps:
    """Twice the dies, or more of a die at work at a time."""
    count, concurrency = int(case["nand.dies_per_chip"]), case["engine.concurrency"]
    sets = more_dies(case, (2,))[1]
    yield WhatIf(f"{count * 2} dies per chip instead of {count}, same capacity", sets, "twice the dies")
    if concurrency == "chip" and count > 1:
        yield WhatIf("dies that work independently", {"engine.concurrency": "die"})
    if concurrency != "plane" and case["nand.planes_per_die"] > 1:
        # Planes that work on their own need no common command.
        alone: Sets = {"engine.concurrency": "plane", "engine.multi_plane": "none"}
        yield WhatIf("planes that work independently", alone, "planes with their own decoders")
        yield from _several_planes(case)


def _several_planes(case: Case) -> Steps:
    """Commands for several planes of a die, where the planes do not work on their own."""
    alone = case["engine.concurrency"] == "plane" or case["nand.program_pages"] > 1
    if not alone and 1 < case["nand.planes_per_die"] <= 64:
        yield WhatIf("commands on several planes", {"engine.multi_plane": "any-page"})


def suspension(_: Case) -> Steps:
    """Interruptions at the usual cost."""
    for policy, words in (("erase", "erases"), ("program-erase", "programs and erases")):
        yield WhatIf(f"{words} that reads can suspend", {"engine.suspend": policy}, "chips that can suspend")


def mapping(case: Case) -> Steps:
    """A larger cache of the mapping tables."""
    size = case["ftl.mapping_cache.bytes"]
    for times in (2, 4, 16) if isinstance(size, int) else ():
        yield WhatIf(f"a mapping cache {times} times as large", {"ftl.mapping_cache.bytes": size * times})
    yield WhatIf("all mapping tables in RAM", {"ftl.mapping_cache.bytes": "unlimited"})


def fingerprints(case: Case) -> Steps:
    """A larger store of fingerprints."""
    entries = case["ftl.dedup.fingerprint_entries"]
    for times in (2, 8) if isinstance(entries, int) else ():
        yield WhatIf(f"{entries * times} fingerprints", {"ftl.dedup.fingerprint_entries": entries * times})
    yield WhatIf("a fingerprint store without a limit", {"ftl.dedup.fingerprint_entries": "unlimited"})


def copies(case: Case) -> Steps:
    """Fewer copies, of contents read more; at other times; more space for them."""
    if "copies-at-period-ends" in case.traits:
        half_s = float(case["replay.period_s"]) / 2
        yield WhatIf("a copy for every fourth read", {"ftl.replication.copies_per_read": 0.25})
        yield WhatIf("at most one more copy per content", {"ftl.replication.most_copies": 2})
        yield WhatIf("copies as soon as they are earned", {"ftl.replication.policy": "on-line"})
        yield WhatIf(f"periods of {half_s:g} s", {"replay.period_s": half_s})
    yield WhatIf("copies after 10 ms of idle time", {"engine.idle_us": 10_000.0})
    yield WhatIf("space for copies (alpha) of 0.2", {"ftl.replication.alpha": 0.2}, "a fifth more space")
    yield WhatIf("no copies", {"ftl.replication.policy": "none"})


def depth(case: Case) -> Steps:
    """More under way for the whole time, fewer for response times."""
    now = int(case["replay.queue_depth"])
    depths, takes = [now * times for times in (2, 4, 16)], "longer responses"
    if case.goal.statistic != TIME:
        depths = sorted({max(now // times, 1) for times in (2, 4)} - {now}, reverse=True)
        takes = "fewer requests a second"
    for number in depths:
        yield WhatIf(f"a queue depth of {number}", {"replay.queue_depth": number}, takes)


def slots(case: Case) -> Steps:
    """More slots; queues in turn, so that a queue of stalled writes holds up itself alone."""
    now = int(case["engine.slots"])
    for more in (now * times for times in (2, 4, 16)):
        if more < 2**32:
            words = f"{plural(more, 'slot')} of the controller instead of {now}"
            yield WhatIf(words, {"engine.slots": more}, plural(more - now, "more slot"))
    yield WhatIf("submission queues served in turn", {"engine.arbitration": "round-robin"})


def link(case: Case) -> Steps:
    """The next links."""
    for rate, name in [one for one in LINKS_MB_S.items() if one[0] > case["engine.link_mb_s"]][:2]:
        yield WhatIf(f"a link of {rate:g} MB/s ({name})", {"engine.link_mb_s": rate}, f"{name} to the host")


def programs(case: Case) -> Steps:
    """Writes that need not wait for their program; several planes at once; another allocation."""
    yield from _answered_early(case)
    yield from _several_planes(case)
    yield WhatIf("pages placed by `least-loaded`", {"ftl.allocation.policy": "least-loaded"})


def _answered_early(case: Case) -> Steps:
    """Either a write cache, or writes that complete once hashed: the core has no drive with both."""
    cache, completes = int(case["engine.write_cache_pages"]), case["engine.write_completes"]
    waits = completes not in caching.EARLY
    if waits:
        pages = 4 * cache or caching.PAGES
        takes = f"{_memory(case, pages - cache)} of protected DRAM"
        yield WhatIf(f"a write-back cache of {pages:,} pages", {caching.KEY: pages, caching.PROTECTED: True}, takes)
    # A system that does not hash would answer at once: a cache for that is tried above.
    room = int(case["engine.write_buffer_pages"]) if completes == "hashed" else 0
    if case.base["pages_hashed"] and (room or (waits and not cache)):
        places = 4 * room or caching.PAGES
        words = f"writes that complete when hashed, with protected RAM for {places:,} pages"
        sets: Sets = {"engine.write_completes": "hashed", "engine.write_buffer_pages": places, caching.PROTECTED: True}
        yield WhatIf(words, sets, f"{_memory(case, places - room)} of power-protected RAM")


def _memory(case: Case, pages: int) -> str:
    return f"{pages * int(case['nand.page_bytes']) / 2**20:,.0f} MiB"


def reads(_: Case) -> Steps:
    """Waiting reads of one page served together."""
    yield WhatIf("waiting reads of one page served together", {"engine.merge_reads": "same-page"})
