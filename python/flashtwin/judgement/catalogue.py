"""The changes that `study`, `explain` and `advise` propose. `sweep --minimize` searches the keys that it is given.

A controller change competes with others on one ground. A drive change makes another ground, and a change of the host
another load: these are shown beside a choice and are never part of it. A change is one row; whether it helps is for a
replay to tell.

Pure: a configuration and figures in, keys and words out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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
#: Rates of a host's link in MB/s: SATA 6 Gb/s, then four lanes of PCIe 3.0, 4.0 and 5.0 (128b/130b coding).
LINKS_MB_S = {600.0: "SATA 6 Gb/s", 3938.0: "PCIe 3.0 x4", 7877.0: "PCIe 4.0 x4", 15754.0: "PCIe 5.0 x4"}
#: Blocks that are added as spare, as shares of the drive's: about 7 % spare becomes 14 %, then 28 %.
_SPARE = (1.07, 1.20)
#: By how much a watermark of collection is moved, as a share of a plane's blocks.
_WATERMARK = 0.03


@dataclass(frozen=True)
class Subject:
    """A system, the figures of its replay as it is, and whether the goal is the time for the whole trace."""

    config: Mapping[str, Any]
    traits: frozenset[str]
    raw_pages: int
    capacity_pages: int
    numbers: Mapping[str, float]
    is_timed: bool

    def __getitem__(self, key: str) -> Any:
        return dig(self.config, key)

    def count(self, name: str) -> float:
        """A figure of the replay, 0 where it has none."""
        return self.numbers.get(name, 0)

    @property
    def planes(self) -> int:
        """Planes of the drive."""
        return self.raw_pages // (int(self[K.nand.blocks_per_plane]) * int(self[K.nand.pages_per_block]))

    @property
    def collects(self) -> bool:
        """Whether the replay collected garbage: spare space then decides the cost of writes."""
        return bool(self.count("erases.total") or self.count("flash_writes.gc"))


@dataclass(frozen=True)
class Level:
    """A change of a certain size: its words, its keys, and the cost that no replay counts."""

    words: str
    sets: Mapping[str, Any]
    takes: str = ""


Levels = Iterator[Level]


def always(_: Subject) -> bool:
    """Whatever was replayed."""
    return True


@dataclass(frozen=True)
class Change:
    """Something that may be set otherwise, in one of several levels, the dearest last."""

    name: str
    kind: str
    #: The bottlenecks that it may remove.
    causes: tuple[str, ...]
    levels: Callable[[Subject], Levels]
    #: Whether it can matter, by what was replayed.
    applies: Callable[[Subject], bool] = always
    #: When a search tries it.
    when: int = LAST

    def of(self, subject: Subject) -> list[Level]:
        """The levels that are not set already."""
        found = self.levels(subject) if self.applies(subject) else ()
        return [one for one in found if any(subject[key] != value for key, value in one.sets.items())]


def _lanes(of: Subject) -> Levels:
    now = int(of[K.engine.hash_lanes])
    # A pipeline (0 lanes) has none to add to.
    for lanes in (now * times for times in _TIMES):
        if 0 < lanes <= 65_536 and of[K.engine.hash_us]:
            sets = {K.engine.hash_lanes: lanes}
            yield Level(plural(lanes, "hash lane"), sets, plural(lanes - now, "more hash lane"))


def _placement(_: Subject) -> Levels:
    for policy in ("static", "dynamic", "least-loaded"):
        yield Level(f"{policy} placement", {K.ftl.allocation.policy: policy})


def _suspension(_: Subject) -> Levels:
    for policy, what in (("erase", "erases"), ("program-erase", "programs and erases")):
        yield Level(f"{what} that reads suspend", {K.engine.suspend: policy}, "chips that can suspend")


def _load(_: Subject) -> Levels:
    yield Level("load by expected wait", {K.engine.load: "expected-wait"})


def _merging(of: Subject) -> Levels:
    if of[K.engine.merge_reads] == "none":
        yield Level("merged reads", {K.engine.merge_reads: "same-page"})


def write_cache(pages: int = CACHE_PAGES) -> Sets:
    """The keys of a write-back cache in protected RAM."""
    return {K.engine.write_cache_pages: pages, K.engine.write_cache_protected: True}


def _write_cache(of: Subject) -> Levels:
    now = int(of[K.engine.write_cache_pages])
    if of[K.engine.write_completes] not in EARLY:
        pages = 4 * now or CACHE_PAGES
        memory = size(pages * int(of[K.nand.page_bytes])).replace(".0 ", " ")
        yield Level(f"a {memory} write cache", write_cache(pages), f"{memory} of protected RAM")


def _partitions(_: Subject) -> Levels:
    sets = {K.ftl.partition.policy: "bloom-filters"}
    yield Level("hot and cold pages in separate blocks", sets, "filters in RAM")


def _store(of: Subject) -> Levels:
    entries = of[K.ftl.dedup.fingerprint_entries]
    for number in (entries * times for times in _TIMES) if isinstance(entries, int) else ():
        yield Level(f"{number:,} fingerprints", {K.ftl.dedup.fingerprint_entries: number})
    yield Level("a fingerprint store without a limit", {K.ftl.dedup.fingerprint_entries: "unlimited"})


def _mapping(of: Subject) -> Levels:
    bytes_ = of[K.ftl.mapping_cache.bytes]
    for times in _TIMES if isinstance(bytes_, int) else ():
        yield Level(f"a mapping cache {times} times as large", {K.ftl.mapping_cache.bytes: bytes_ * times})
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
    """Other victims, another wear rule, smaller steps, idle time, other watermarks."""
    for victim in ("greedy", "cost-benefit"):
        yield Level(f"victims by `{victim}`", {K.ftl.gc.victim: victim})
    for policy, words in (
        ("none", "no wear levelling: the block erased first is used next"),
        ("dynamic", "the block erased least often used next"),
        ("static", "wear levelling that moves cold data"),
    ):
        yield Level(words, {K.ftl.wear.policy: policy})
    yield Level("collection in smaller steps", {K.ftl.gc.step_pages: max(int(of[K.ftl.gc.step_pages]) // 2, 1)})
    start, stop = (float(of[key]) for key in (K.ftl.gc.start, K.ftl.gc.stop))
    for words, begins, ends in (
        ("collection that begins earlier", start + _WATERMARK, stop + _WATERMARK),
        ("collection that goes on for longer", start, stop + _WATERMARK),
        ("collection that begins later", start - _WATERMARK, stop - _WATERMARK),
    ):
        if 0.0 < begins <= ends < 1.0:
            yield Level(words, {K.ftl.gc.start: round(begins, 6), K.ftl.gc.stop: round(ends, 6)})


def _idle(of: Subject) -> Levels:
    """Collection in idle time: blocks erased beforehand beyond those at which collection begins anyway."""
    begins = float(of[K.ftl.gc.idle_reserve if "collects-in-idle-time" in of.traits else K.ftl.gc.start])
    for share in (round(begins + times * _WATERMARK, 6) for times in (1, 3)):
        words = f"collection in idle time until {100 * share:g} % of a plane's blocks are free"
        if share < 1.0:
            yield Level(words, {K.ftl.gc.idle: "reserve", K.ftl.gc.idle_reserve: share})
    yield Level("no collection in idle time", {K.ftl.gc.idle: "none"})


def _slots(of: Subject) -> Levels:
    now = int(of[K.engine.slots])
    for more in (now * times for times in _TIMES):
        if more < 2**32:
            yield Level(f"{plural(more, 'slot')} of the controller", {K.engine.slots: more}, plural(more - now, "slot"))
    yield Level("submission queues served in turn", {K.engine.arbitration: "round-robin"})


def _spare(of: Subject) -> Levels:
    blocks, footprint = int(of[K.nand.blocks_per_plane]), of.count("trace.footprint_pages") or 1
    for more in (max(round(blocks * times), blocks + 1) for times in _SPARE):
        then, now = (100.0 * (of.raw_pages * of_blocks / blocks / footprint - 1) for of_blocks in (more, blocks))
        words = f"raw over-provisioning of {then:.1f} % instead of {now:.1f} %"
        yield Level(words, {K.nand.blocks_per_plane: more}, f"{plural(more - blocks, 'more block')} a plane")


def _interface(of: Subject) -> Levels:
    """The next grades of the interface; twice the channels for the same chips."""
    for grade in [grade for grade in GRADES_MT_S if grade > of[K.nand.bus_mt_s]][:2]:
        yield Level(f"an interface of {grade:g} MT/s", {K.nand.bus_mt_s: grade}, f"{grade:g} MT/s on every channel")
    channels, chips = int(of[K.nand.channels]), int(of[K.nand.chips_per_channel])
    if chips % 2 == 0:
        sets = {K.nand.channels: channels * 2, K.nand.chips_per_channel: chips // 2}
        yield Level(f"{channels * 2} channels for the same chips", sets, f"{channels} more channels")


def times_the_dies(of: Subject, times: int) -> Sets:
    """Several times the dies, with the raw over-provisioning as it is: it decides what collection takes.

    For example, 96 blocks a plane become 12 with eight times the dies. On a drive that never collected, spare space
    decides nothing: there each plane also has the blocks that its controller keeps back, so that the drive holds as
    much as before.
    """
    blocks = int(of[K.nand.blocks_per_plane])
    # A drive holds one page less than its planes do together.
    used = (of.capacity_pages + 1) // (of.planes * int(of[K.nand.pages_per_block]))
    divided, kept_back = (blocks, 0) if of.collects else (used, blocks - used)
    dies = int(of[K.nand.dies_per_chip]) * times
    return {K.nand.dies_per_chip: dies, K.nand.blocks_per_plane: kept_back - (-divided // times)}


def _dies(of: Subject) -> Levels:
    """Twice the dies, or more of a die at work at a time."""
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


def page_size(kilobytes: int) -> Sets:
    """The keys of another page size."""
    return {K.nand.page_bytes: kilobytes * 1024}


def _page_size(of: Subject) -> Levels:
    """Other pages on as much flash; a system that looks contents up by page takes the trace's."""
    now, blocks = int(of[K.nand.page_bytes]), int(of[K.nand.blocks_per_plane])
    for page in PAGE_SIZES if "looks-at-contents" not in of.traits else ():
        words = f"pages of {page // 1024} KiB instead of {now // 1024}, same capacity"
        if page != now:
            yield Level(words, {**page_size(page // 1024), K.nand.blocks_per_plane: blocks * now // page})


def _acknowledgement(of: Subject) -> Levels:
    """Writes that are answered from protected RAM once they are hashed; a page map would answer at once."""
    room = int(of[K.engine.write_buffer_pages]) if of[K.engine.write_completes] == "hashed" else 0
    waits = of[K.engine.write_completes] not in EARLY and not of[K.engine.write_cache_pages]
    if of.count("page_ops.pages_hashed") and (room or waits):
        places = 4 * room or CACHE_PAGES
        words = f"writes that complete when hashed, with protected RAM for {places:,} pages"
        sets = {
            K.engine.write_completes: "hashed", K.engine.write_buffer_pages: places,
            K.engine.write_cache_protected: True,
        }  # fmt: skip
        memory = f"{(places - room) * int(of[K.nand.page_bytes]) / 2**20:,.0f} MiB"
        yield Level(words, sets, f"{memory} of power-protected RAM")


def _depth(of: Subject) -> Levels:
    """More under way for the whole time, fewer for response times."""
    now = int(of[K.replay.queue_depth])
    depths, takes = [now * times for times in (2, 4, 16)], "longer responses"
    if not of.is_timed:
        depths = sorted({max(now // times, 1) for times in (2, 4)} - {now}, reverse=True)
        takes = "fewer requests a second"
    for number in depths:
        yield Level(f"a queue depth of {number}", {K.replay.queue_depth: number}, takes)


def _collects(of: Subject) -> bool:
    return of.collects


def happened(count: str) -> Callable[[Subject], bool]:
    """Whether a count of the replay is above 0."""
    return lambda of: of.count(count) > 0


def is_set(key: str) -> Callable[[Subject], bool]:
    """Whether a key is above 0."""
    return lambda of: bool(of[key] > 0)


#: All changes. Of a bottleneck, small ones come first: the first that is enough is advised.
CHANGES: tuple[Change, ...] = (
    Change("lanes", CONTROLLER, ("hash",), _lanes, when=BEGINS),
    Change("placement", CONTROLLER, ("placement", "program"), _placement, when=BEGINS),
    Change("suspension", CONTROLLER, ("suspension", "erase"), _suspension, when=BEGINS),
    Change("write cache", CONTROLLER, ("program",), _write_cache, when=BEGINS),
    Change("load measure", CONTROLLER, ("placement",), _load, when=BESIDE),
    Change("merging", CONTROLLER, ("placement", "read"), _merging, when=BESIDE),
    Change("redirection", CONTROLLER, ("placement",), _redirection),
    Change("collection", CONTROLLER, ("gc",), _collection, _collects),
    Change("idle collection", CONTROLLER, ("gc", "erase"), _idle, _collects),
    Change("partitions", CONTROLLER, ("gc",), _partitions, _collects),
    Change("fingerprint store", CONTROLLER, ("fingerprints",), _store, happened("dedup.duplicates_missed")),
    Change("mapping cache", CONTROLLER, ("mapping",), _mapping, happened("mapping_cache.misses")),
    Change("copies", CONTROLLER, ("copies",), _copies, happened("flash_writes.replica")),
    Change("slots", CONTROLLER, ("slots",), _slots, is_set(K.engine.slots)),
    Change("spare flash", DRIVE, ("gc", "erase"), _spare, _collects),
    Change("interface", DRIVE, ("bus",), _interface),
    Change("dies", DRIVE, ("dies", "program"), _dies),
    Change("link", DRIVE, ("link",), _link, is_set(K.engine.link_mb_s)),
    Change("page size", DRIVE, ("read",), _page_size),
    Change("acknowledgement", DRIVE, ("program",), _acknowledgement),
    Change("queue depth", HOST, ("queue_depth",), _depth, is_set(K.replay.queue_depth)),
)  # fmt: skip
BY_NAME: Mapping[str, Change] = {one.name: one for one in CHANGES}


def of_kind(kind: str) -> list[Change]:
    """The changes of a kind, in order."""
    return [one for one in CHANGES if one.kind == kind]
