"""Steps that can really be taken: for each thing that may hold a workload back, keys to set and what they take.

What a step costs in programs, erases and RAM is measured; `takes` says what a replay does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin.causes.figures import TIME, Figures, Goal
from flashtwin.settings import Value

Config = Mapping[str, Any]

#: Speeds of NAND interfaces in MT/s: SDR, then ONFI and Toggle grades (ONFI 1.0 to 5.1).
GRADES_MT_S = (50.0, 133.0, 200.0, 400.0, 533.0, 667.0, 800.0, 1066.0, 1200.0, 1600.0, 2400.0, 3600.0)
#: Spare blocks that are added, as shares of the drive's: about 7 % spare becomes 14 %, then 28 %.
_SPARE = ((1.07, "7 % more blocks of spare"), (1.20, "20 % more blocks of spare"))


@dataclass(frozen=True)
class Case:
    """What is asked: a system's configuration, the figures of its replay, and the figure to shorten."""

    config: Config
    base: Figures
    goal: Goal


@dataclass(frozen=True)
class Step:
    """Keys to set, in words, and what this takes that no replay counts."""

    words: str
    sets: Mapping[str, Value]
    takes: str = ""


def at(config: Config, key: str) -> Any:
    """The value of a whole dotted key."""
    found: Any = config
    for part in key.split("."):
        found = found[part]
    return found


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
    """More spare, other victims, hot pages apart from cold ones, smaller steps."""
    blocks = int(at(case.config, "nand.blocks_per_plane"))
    for times, words in _SPARE:
        more = max(round(blocks * times), blocks + 1)
        yield Step(words, {"nand.blocks_per_plane": more}, f"{more - blocks} more blocks a plane")
    for victim in ("greedy", "cost-benefit"):
        yield Step(f"victims by `{victim}`", {"ftl.gc.victim": victim})
    yield Step("hot pages apart from cold ones", {"ftl.partition.policy": "bloom-filters"}, "filters in RAM")
    yield Step(
        "collection in smaller steps", {"ftl.gc.step_pages": max(int(at(case.config, "ftl.gc.step_pages")) // 2, 1)}
    )


def erases(case: Case) -> Iterator[Step]:
    """Erases that make way for reads; more spare, so that there are fewer."""
    if at(case.config, "engine.suspend") == "none":
        yield Step("erases that reads may interrupt", {"engine.suspend": "erase"}, "chips that can suspend")
    yield from (step for step in collection(case) if "nand.blocks_per_plane" in step.sets)


def placement(case: Case) -> Iterator[Step]:
    """Other allocations and another view of the load; copies as choices."""
    for policy in ("least-loaded", "dynamic", "static"):
        yield Step(f"pages placed by `{policy}`", {"ftl.allocation.policy": policy})
    yield Step("chip load as expected wait", {"engine.load": "expected-wait"})
    if at(case.config, "ftl.replication.policy") != "none" and at(case.config, "ftl.redirection.policy") == "home":
        yield Step("reads from any copy", {"ftl.redirection.policy": "replicas"})
    yield from _merging()


def dies(case: Case) -> Iterator[Step]:
    """Twice the dies, or more of a die at work at a time."""
    count, blocks = int(at(case.config, "nand.dies_per_chip")), int(at(case.config, "nand.blocks_per_plane"))
    fewer = max(-(-blocks // 2), min(blocks, 8))
    sets = {"nand.dies_per_chip": count * 2, "nand.blocks_per_plane": fewer}
    yield Step(f"{count * 2} dies a chip for {count}", sets, "twice the dies, of half the blocks each")
    concurrency = at(case.config, "engine.concurrency")
    if concurrency == "chip" and count > 1:
        yield Step("dies that work on their own", {"engine.concurrency": "die"})
    if concurrency != "plane" and at(case.config, "nand.planes_per_die") > 1:
        takes = "planes with decoders of their own"
        yield Step("planes that work on their own", {"engine.concurrency": "plane"}, takes)
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
    if at(case.config, "ftl.replication.policy") == "end-of-period":
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
    if at(case.config, "engine.write_completes") == "programmed":
        cache: Mapping[str, Value] = {"engine.write_cache_pages": 4096, "engine.write_cache_protected": True}
        yield Step("a write-back cache of 4,096 pages", cache, "protected DRAM")
        buffer: Mapping[str, Value] = {"engine.write_completes": "hashed", "engine.write_buffer_pages": 4096}
        yield Step("writes that complete in a buffer of 4,096 pages", buffer, "protected RAM")
    if at(case.config, "engine.concurrency") != "plane" and at(case.config, "nand.planes_per_die") > 1:
        yield Step("commands on several planes", {"engine.multi_plane": "any-page"})
    yield Step("pages placed by `least-loaded`", {"ftl.allocation.policy": "least-loaded"})


def reads(_: Case) -> Iterator[Step]:
    """Waiting reads of one page served together."""
    yield from _merging()


def _merging() -> Iterator[Step]:
    yield Step("waiting reads of one page served together", {"engine.merge_reads": "same-page"})
