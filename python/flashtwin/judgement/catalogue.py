"""The changes that `study`, `explain` and `advise` propose: one row each, and whether it helps is for a replay to tell.

A controller change competes with others on one ground. A drive change makes another ground, and a change of the host
another load: these are shown beside a choice and are never part of it. Pure: figures in, keys and words out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin.judgement.goals import VOLUMES, Figures, Goal
from flashtwin.results.figures import TIME
from flashtwin.results.keys import K
from flashtwin.results.rows import PAGE_SIZES
from flashtwin.results.trees import dig
from flashtwin.units import plural, size

Sets = dict[str, Any]

CONTROLLER, DRIVE, HOST = "controller", "drive", "host"
#: When a search tries a controller change: at once, beside what is best so far, beside the best of all.
BEGINS, BESIDE, LAST = range(3)

#: Times as many lanes, slots, entries as there are. Ours, as are all sizes here that name no source.
_TIMES = (4, 16)
#: Pages of a write cache: 16 MiB of 4 KiB.
CACHE_PAGES = 4096
#: Rules under which a write is answered before its page is programmed: the core has no drive with a cache besides.
EARLY = ("hashed", "buffered")
#: Speeds of NAND interfaces in MT/s: SDR, then ONFI and Toggle grades (ONFI 1.0 to 5.1).
GRADES_MT_S = (50.0, 133.0, 200.0, 400.0, 533.0, 667.0, 800.0, 1066.0, 1200.0, 1600.0, 2400.0, 3600.0)
#: Rates of a host's link in MB/s; PCIe with 128b/130b coding.
LINKS_MB_S = {600.0: "SATA 6 Gb/s", 3938.0: "PCIe 3.0 x4", 7877.0: "PCIe 4.0 x4", 15754.0: "PCIe 5.0 x4"}
#: Blocks that are added as spare, as shares of the drive's: about 7 % spare becomes 14 %, then 28 %.
_SPARE = (1.07, 1.20)
#: By how much a watermark of collection is moved, as a share of a plane's blocks.
_WATERMARK = 0.03


@dataclass(frozen=True)
class Level:
    """A change of a certain size, its keys, and the cost that no replay counts."""

    #: The change in words: `hashing at no cost`, `16 hash lanes`.
    words: str
    sets: Mapping[str, Any]
    takes: str = ""
    #: The row of the catalogue, its kind, and the bottlenecks that it is about.
    change: str = ""
    kind: str = ""
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A system, the figures of its replay as it is, and the goal. Its keys are `subject["nand.channels"]`."""

    config: Mapping[str, Any]
    traits: frozenset[str]
    raw_pages: int
    capacity_pages: int
    base: Figures
    goal: Goal

    def __getitem__(self, key: str) -> Any:
        return dig(self.config, key)

    def changes(self, sets: Mapping[str, Any]) -> Sets:
        """Of the keys, those that are not so already."""
        return {key: value for key, value in sets.items() if self[key] != value}

    @property
    def planes(self) -> int:
        return self.raw_pages // (int(self[K.nand.blocks_per_plane]) * int(self[K.nand.pages_per_block]))

    @property
    def collects(self) -> bool:
        """Whether the replay collected garbage: spare space then decides the cost of writes."""
        return bool(self.base["erases.total"] or self.base["flash_writes.gc"])

    def happens(self, cause: str) -> bool:
        """Whether a bottleneck can cost anything, by what was replayed; without a replay any can."""
        if not self.base.summary:
            return True
        if cause == "suspension" and (self.goal.kind == "write" or not self.base["response.read.count"]):
            return False
        return cause not in _NEEDS or any(self.base[one] or self[one] for one in _NEEDS[cause].split())


#: Counts of a replay, or keys, one of which is above 0 where a bottleneck costs anything.
_NEEDS = {
    "hash": "page_ops.pages_hashed", "gc": "erases.total flash_writes.gc", "erase": "erases.total",
    "suspension": "pages_programmed", "mapping": "mapping_cache.misses", "fingerprints": "dedup.duplicates_missed",
    "copies": "flash_writes.replica", "slots": K.engine.slots, "link": K.engine.link_mb_s,
    "queue_depth": K.replay.queue_depth, "program": "pages_programmed",
}  # fmt: skip

Levels = Iterator[Level]


@dataclass(frozen=True)
class Change:
    """Something that may be set otherwise, in one of several levels, the dearest last."""

    name: str
    kind: str
    #: The bottlenecks that it may remove.
    causes: tuple[str, ...]
    levels: tuple[Level, ...] | Callable[[Subject], Levels]
    #: When a search tries it.
    when: int = LAST

    def of(self, subject: Subject) -> list[Level]:
        """The levels that are not set already, with the keys that each changes; none where nothing can come of it."""
        if not any(map(subject.happens, self.causes)):
            return []
        levels = self.levels if isinstance(self.levels, tuple) else self.levels(subject)
        changed = (Level(one.words, subject.changes(one.sets), one.takes, self.name, self.kind, self.causes)
                   for one in levels)  # fmt: skip
        return [one for one in changed if one.sets]


def _times(of: Subject, key: str, words: str, takes: str = "", most: int = 2**32) -> Levels:
    now = of[key]
    for more in (now * times for times in _TIMES) if isinstance(now, int) else ():
        if 0 < more <= most:
            yield Level(words.format(more), {key: more}, takes.format(more - now))


def _lanes(of: Subject) -> Levels:
    # A pipeline (0 lanes) has none to add to.
    if of[K.engine.hash_us]:
        yield from _times(of, K.engine.hash_lanes, "{:,} hash lanes", "{:,} more hash lanes", most=65_536)


_PLACEMENT = (
    Level("static placement", {K.ftl.allocation.policy: "static"}),
    Level("dynamic placement", {K.ftl.allocation.policy: "dynamic"}),
    Level("placement by expected wait", {K.ftl.allocation.policy: "least-loaded", K.engine.load: "expected-wait"}),
    Level("least-loaded placement", {K.ftl.allocation.policy: "least-loaded"}),
)
_SUSPENSION = tuple(
    Level(f"{what} that reads suspend", {K.engine.suspend: policy}, "chips that can suspend")
    for policy, what in (("erase", "erases"), ("program-erase", "programs and erases"))
)
_LOAD = (Level("load by expected wait", {K.engine.load: "expected-wait"}),)
_PARTITIONS = (
    Level("hot and cold pages in separate blocks", {K.ftl.partition.policy: "bloom-filters"}, "filters in RAM"),
)
#: The change that keeps volumes apart, and most handles of a drive: those of today have 8 or 16.
HANDLES, _MOST_HANDLES = "handles", 16


def _handles(of: Subject) -> Levels:
    """The host's part; whether it pays depends on the size of reclaim units and on what the volumes write."""
    volumes = int(of.base[VOLUMES])
    if 2 <= volumes <= _MOST_HANDLES and of.base["write_amplification"] > 1.0:
        sets = {K.ftl.partition.policy: "volumes", K.ftl.partition.partitions: volumes}
        yield Level("a placement handle for each volume", sets, f"a host that names {volumes} handles")


def _merging(of: Subject) -> Levels:
    if of[K.engine.merge_reads] == "none":
        yield Level("merged reads", {K.engine.merge_reads: "same-page"})


def write_cache(pages: int = CACHE_PAGES) -> Sets:
    return {K.engine.write_cache_pages: pages, K.engine.write_cache_protected: True}


def _write_cache(of: Subject) -> Levels:
    now = int(of[K.engine.write_cache_pages])
    if of[K.engine.write_completes] not in EARLY:
        pages = 4 * now or CACHE_PAGES
        memory = size(pages * int(of[K.nand.page_bytes])).replace(".0 ", " ")
        yield Level(f"a {memory} write cache", write_cache(pages), f"{memory} of protected RAM")


def _store(of: Subject) -> Levels:
    yield from _times(of, K.ftl.dedup.fingerprint_entries, "{:,} fingerprints")
    yield Level("a fingerprint store without a limit", {K.ftl.dedup.fingerprint_entries: "unlimited"})


def _mapping(of: Subject) -> Levels:
    yield from _times(of, K.ftl.mapping_cache.bytes, "a mapping cache of {:,} bytes")
    yield Level("all mapping tables in RAM", {K.ftl.mapping_cache.bytes: "unlimited"})


def _copies(of: Subject) -> Levels:
    yield Level("no copies", {K.ftl.replication.policy: "none"})
    if "copies-at-period-ends" in of.traits:
        yield Level("a copy for every fourth read", {K.ftl.replication.copies_per_read: 0.25})
        yield Level("at most one more copy of a content", {K.ftl.replication.most_copies: 2})
        yield Level("copies as soon as they are earned", {K.ftl.replication.policy: "on-line"})
    yield Level("copies after 10 ms of idle time", {K.engine.idle_us: 10_000.0})
    yield Level("space for copies (alpha) of 0.2", {K.ftl.replication.alpha: 0.2}, "a fifth more space")


def _redirection(of: Subject) -> Levels:
    if "replicates" in of.traits and "redirects" not in of.traits:
        yield Level("reads from any copy", {K.ftl.redirection.policy: "replicas"})


def _collection(of: Subject) -> Levels:
    for victim in ("greedy", "cost-benefit"):
        yield Level(f"victims by `{victim}`", {K.ftl.gc.victim: victim})
    yield Level("no wear levelling: the block erased first is used next", {K.ftl.wear.policy: "none"})
    yield Level("the block erased least often used next", {K.ftl.wear.policy: "dynamic"})
    yield Level("wear levelling that moves cold data", {K.ftl.wear.policy: "static"})
    if (pages := int(of[K.ftl.gc.step_pages])) > 1:
        yield Level("collection in smaller steps", {K.ftl.gc.step_pages: pages // 2})
    yield Level("collection in step with writes", {K.ftl.gc.step_pages: 0})
    if of[K.engine.collection_batch_us]:
        yield Level("collection in turn with writes instead of in batches", {K.engine.collection_batch_us: 0.0})
    if of[K.engine.hold_every_us]:
        yield Level("collection that holds no writes back", {K.engine.hold_every_us: 0.0})
    for words, earlier, longer in (("begins earlier", 1, 1), ("goes on for longer", 0, 1), ("begins later", -1, -1)):
        start, stop = of[K.ftl.gc.start] + earlier * _WATERMARK, of[K.ftl.gc.stop] + longer * _WATERMARK
        if 0.0 < start <= stop < 1.0:
            yield Level(f"collection that {words}", {K.ftl.gc.start: round(start, 6), K.ftl.gc.stop: round(stop, 6)})


def _idle(of: Subject) -> Levels:
    """Collection in idle time: blocks erased beforehand beyond those at which collection begins anyway."""
    begins = float(of[K.ftl.gc.idle_reserve if "collects-in-idle-time" in of.traits else K.ftl.gc.start])
    for share in (round(begins + times * _WATERMARK, 6) for times in (1, 3)):
        words = f"collection in idle time until {100 * share:g} % of a plane's blocks are free"
        # Batches and collection in idle time exclude each other.
        if share < 1.0 and not of[K.engine.collection_batch_us]:
            yield Level(words, {K.ftl.gc.idle: "reserve", K.ftl.gc.idle_reserve: share})
    yield Level("no collection in idle time", {K.ftl.gc.idle: "none"})


def _slots(of: Subject) -> Levels:
    yield from _times(of, K.engine.slots, "{:,} slots of the controller", "{:,} slots", most=2**32 - 1)
    yield Level("submission queues served in turn", {K.engine.arbitration: "round-robin"})


def _spare(of: Subject) -> Levels:
    blocks, footprint = int(of[K.nand.blocks_per_plane]), of.base["trace.footprint_pages"] or 1
    for more in (max(round(blocks * times), blocks + 1) for times in _SPARE):
        then, now = (100.0 * (of.raw_pages * of_blocks / blocks / footprint - 1) for of_blocks in (more, blocks))
        words = f"raw over-provisioning of {then:.1f} % instead of {now:.1f} %"
        yield Level(words, {K.nand.blocks_per_plane: more}, f"{plural(more - blocks, 'more block')} a plane")


def _interface(of: Subject) -> Levels:
    for grade in [grade for grade in GRADES_MT_S if grade > of[K.nand.bus_mt_s]][:2]:
        yield Level(f"an interface of {grade:g} MT/s", {K.nand.bus_mt_s: grade}, f"{grade:g} MT/s on every channel")
    channels, chips = int(of[K.nand.channels]), int(of[K.nand.chips_per_channel])
    if chips % 2 == 0:
        sets = {K.nand.channels: channels * 2, K.nand.chips_per_channel: chips // 2}
        yield Level(f"{channels * 2} channels for the same chips", sets, f"{channels} more channels")


def times_the_dies(of: Subject, times: int) -> Sets:
    """Several times the dies, with the raw over-provisioning as it is: 96 blocks a plane become 12 with eight times.

    On a drive that never collected, spare space decides nothing: there each plane also has the blocks that its
    controller keeps back, so that the drive holds as much as before.
    """
    blocks = int(of[K.nand.blocks_per_plane])
    # A drive holds one page less than its planes do together.
    used = (of.capacity_pages + 1) // (of.planes * int(of[K.nand.pages_per_block]))
    divided, kept_back = (blocks, 0) if of.collects else (used, blocks - used)
    dies = int(of[K.nand.dies_per_chip]) * times
    return {K.nand.dies_per_chip: dies, K.nand.blocks_per_plane: kept_back - (-divided // times)}


def _dies(of: Subject) -> Levels:
    count, concurrency = int(of[K.nand.dies_per_chip]), of[K.engine.concurrency]
    words = f"{count * 2} dies per chip instead of {count}, same capacity"
    yield Level(words, times_the_dies(of, 2), "twice the dies")
    if concurrency == "chip" and count > 1:
        yield Level("dies that work independently", {K.engine.concurrency: "die"})
    if concurrency != "plane" and of[K.nand.planes_per_die] > 1:
        # Planes that work on their own need no common command.
        alone = {K.engine.concurrency: "plane", K.engine.multi_plane: "none"}
        yield Level("planes that work independently", alone, "planes with their own decoders")
        if of[K.nand.program_pages] == 1 and of[K.nand.planes_per_die] <= 64:
            yield Level("commands on several planes", {K.engine.multi_plane: "any-page"})


def _link(of: Subject) -> Levels:
    for rate, name in [one for one in LINKS_MB_S.items() if one[0] > of[K.engine.link_mb_s]][:2]:
        yield Level(f"a link of {rate:g} MB/s ({name})", {K.engine.link_mb_s: rate}, f"{name} to the host")


def _page_size(of: Subject) -> Levels:
    """Other pages on as much flash; a system that looks contents up by page takes the trace's."""
    now, blocks = int(of[K.nand.page_bytes]), int(of[K.nand.blocks_per_plane])
    for page in PAGE_SIZES if "looks-at-contents" not in of.traits else ():
        words = f"pages of {page // 1024} KiB instead of {now // 1024}, same capacity"
        if page != now:
            yield Level(words, {K.nand.page_bytes: page, K.nand.blocks_per_plane: blocks * now // page})


def _acknowledgement(of: Subject) -> Levels:
    """Writes that are answered from protected RAM once they are hashed; a page map would answer at once."""
    room = int(of[K.engine.write_buffer_pages]) if of[K.engine.write_completes] == "hashed" else 0
    waits = of[K.engine.write_completes] not in EARLY and not of[K.engine.write_cache_pages]
    if of.base["page_ops.pages_hashed"] and (room or waits):
        places = 4 * room or CACHE_PAGES
        words = f"writes that complete when hashed, with protected RAM for {places:,} pages"
        sets = {**write_cache(places), K.engine.write_completes: "hashed"}
        sets[K.engine.write_buffer_pages] = sets.pop(K.engine.write_cache_pages)
        memory = f"{(places - room) * int(of[K.nand.page_bytes]) / 2**20:,.0f} MiB"
        yield Level(words, sets, f"{memory} of power-protected RAM")


def _depth(of: Subject) -> Levels:
    if of.goal.figure == TIME:
        yield from _times(of, K.replay.queue_depth, "a queue depth of {:,}", "longer responses", most=65_536)
    for less in (int(of[K.replay.queue_depth]) // times for times in (2, 4) if of.goal.figure != TIME):
        if less:
            yield Level(f"a queue depth of {less:,}", {K.replay.queue_depth: less}, "fewer requests a second")


#: All changes. Of a bottleneck, small ones come first: the first that is enough is advised.
CHANGES = (
    Change("lanes", CONTROLLER, ("hash",), _lanes, BEGINS),
    Change("placement", CONTROLLER, ("placement", "program"), _PLACEMENT, BEGINS),
    Change("suspension", CONTROLLER, ("suspension", "erase"), _SUSPENSION, BEGINS),
    Change("write cache", CONTROLLER, ("program",), _write_cache, BEGINS),
    Change("load measure", CONTROLLER, ("placement",), _LOAD, BESIDE),
    Change("merging", CONTROLLER, ("placement", "read"), _merging, BESIDE),
    Change("redirection", CONTROLLER, ("placement",), _redirection),
    Change("collection", CONTROLLER, ("gc",), _collection),
    Change("idle collection", CONTROLLER, ("gc",), _idle),
    Change("partitions", CONTROLLER, ("gc",), _PARTITIONS),
    Change("fingerprint store", CONTROLLER, ("fingerprints",), _store),
    Change("mapping cache", CONTROLLER, ("mapping",), _mapping),
    Change("copies", CONTROLLER, ("copies",), _copies),
    Change("slots", CONTROLLER, ("slots",), _slots),
    Change(HANDLES, DRIVE, ("gc",), _handles),
    Change("spare flash", DRIVE, ("gc",), _spare),
    Change("interface", DRIVE, ("bus",), _interface),
    Change("dies", DRIVE, ("dies", "program"), _dies),
    Change("link", DRIVE, ("link",), _link),
    Change("page size", DRIVE, ("read",), _page_size),
    Change("acknowledgement", DRIVE, ("program",), _acknowledgement),
    Change("queue depth", HOST, ("queue_depth",), _depth),
)
BY_NAME: Mapping[str, Change] = {one.name: one for one in CHANGES}
