"""The designs on equal ground, over everything that no paper fixes: a balanced design, and seeds by themselves.

In each row all systems stand on one ground: a drive, its age, a load, and one option of each open choice.
A statement is published with the range that it has over all rows (`evidence.conclusions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evidence.stage import CAPTURED, Lab, Stage
from evidence.stages.drives import AGED, PERIOD_S, SPEED, blocks, figures, named
from evidence.store import KeptReplay
from flashtwin.experiments import Factor, balanced, sets_of
from flashtwin.replays.presets import System
from flashtwin.settings import Value

#: Under one placement `static`, `dynamic` and `hipa` are `conventional`; `modern` is another array.
SYSTEMS = ("conventional", "ds-ftl", "ca-ssd", "caftl", "rr-ssd", "rr-ssd-online", "pblru", "oracle")
ROWS = 64
SEEDS = (1, 2, 3)
#: Share of the time that dies work under the busy load, on `conventional`.
BUSY = 0.3
#: Spare pages, as a share of the trace's pages.
SPARE = {"28 %": 0.28, "10 %": 0.10}
#: The TLC die of `devices/tlc-2021.toml`, on the channels of its time.
TLC: Mapping[str, Value] = {
    "nand.read_us": 45.0,
    "nand.program_us": 356.0,
    "nand.erase_us": 3500.0,
    "nand.bus_mt_s": 533,
}
PIPELINE: Mapping[str, Value] = {"engine.hash_lanes": 0}


def _levels(key: str, *values: Value) -> dict[str, Mapping[str, Value]]:
    """Levels that are the values of one key."""
    return {str(value): {key: value} for value in values}


def _started(start: float, more: float) -> Mapping[str, Value]:
    """When a plane begins to collect, and how much later it stops."""
    return {"ftl.gc.start": start, "ftl.gc.stop": round(start + more, 4)}


#: All factors. The first level is that of the presets.
FACTORS: tuple[Factor, ...] = (
    Factor("seed", _levels("seed", *SEEDS)),
    Factor("load", {"light": {}, "busy": {}}),
    Factor("spare space", {name: {} for name in SPARE}),
    Factor("age", {
        "aged, own contents": {**AGED, "replay.preload_contents": "own"},
        "aged, the trace's contents": {**AGED, "replay.preload_contents": "trace"},
        "new": {"replay.preload": "first-reads"},
    }),
    Factor("placement", _levels("ftl.allocation.policy", "static", "dynamic", "least-loaded")),
    Factor("order", {
        "CWDP": {"ftl.allocation.order": "CWDP", "ftl.allocation.stripe_pages": 1},
        "PDWC": {"ftl.allocation.order": "PDWC", "ftl.allocation.stripe_pages": 1},
        "PDWC, four pages a plane": {"ftl.allocation.order": "PDWC", "ftl.allocation.stripe_pages": 4},
    }),
    Factor("channels", {
        "8 of 2 chips": {"nand.channels": 8, "nand.chips_per_channel": 2},
        "4 of 4 chips": {"nand.channels": 4, "nand.chips_per_channel": 4},
    }),
    Factor("flash", {"SLC of DS-FTL": {}, "TLC of 2021": TLC}),
    Factor("wear rule", {
        "dynamic": {"ftl.wear.policy": "dynamic"},
        "none": {"ftl.wear.policy": "none"},
        "static": {"ftl.wear.policy": "static", "ftl.wear.threshold": 4, "ftl.wear.every": 8},
    }),
    Factor("victim", _levels("ftl.gc.victim", "greedy", "cost-benefit", "d-choices")),
    Factor("start of collection", {
        "5 %": _started(0.05, 0.0), "5 %, two points longer": _started(0.05, 0.02), "8 %": _started(0.08, 0.0),
    }),
    Factor("steps of collection", {
        "8 pages": {"ftl.gc.step_pages": 8}, "3 pages": {"ftl.gc.step_pages": 3},
        "8 pages, urgent from 3 blocks": {"ftl.gc.step_pages": 8, "ftl.gc.urgent": 3},
    }),
    Factor("idle collection", {
        "none": {"ftl.gc.idle": "none"},
        "10 % free": {"ftl.gc.idle": "reserve", "ftl.gc.idle_reserve": 0.1, "ftl.gc.idle_valid": 0.75},
    }),
    Factor("idle time", _levels("engine.idle_us", 1000.0, 100.0)),
    Factor("background jobs", _levels("ftl.background.jobs", 4096, 64)),
    Factor("units", _levels("engine.concurrency", "die", "chip")),
    Factor("load measure", _levels("engine.load", "queue-length", "reads-waiting", "expected-wait")),
    Factor("write completes", {
        "programmed": {"engine.write_completes": "programmed"},
        "transferred": {"engine.write_completes": "transferred"},
        "hashed": {"engine.write_completes": "hashed", "engine.write_buffer_pages": 4096},
        "in a write cache": {
            "engine.write_cache_pages": 4096, "engine.write_cache_us": 9.0, "engine.write_cache_dirty": 0.9,
        },
    }),
    Factor("reads first", _levels("engine.reads_before_write", 0, 8)),
    Factor("merged reads", _levels("engine.merge_reads", "none", "same-page")),
    Factor("reads from RAM", _levels("engine.buffer_reads", True, False)),
    Factor("planes at once", _levels("engine.multi_plane", "none", "any-page")),
    Factor("suspension", {
        "none": {"engine.suspend": "none"},
        "program-erase": {"engine.suspend": "program-erase"},
        "program-erase, once for one read": {
            "engine.suspend": "program-erase", "engine.suspend_us": 50.0, "engine.resume_us": 20.0,
            "engine.suspend_times": 1, "engine.suspend_reads": 1,
        },
    }),
    Factor("controller", _levels("engine.controller_us", 0.0, 5.0)),
    Factor("hash unit", {
        "1 lane": {"engine.hash_lanes": 1}, "16 lanes": {"engine.hash_lanes": 16}, "pipeline": PIPELINE,
    }),
    Factor("fingerprints", _levels("ftl.dedup.fingerprint_entries", "unlimited", 65_536)),
    Factor("copies", {
        "one a read": {},
        "at most 2": {"ftl.replication.most_copies": 2},
        "for pages read twice": {"ftl.replication.least_popularity": 2},
        "one in four reads": {"ftl.replication.copies_per_read": 0.25},
        "popularity a sum": {"ftl.replication.score_popularity": "sum"},
        "dropped each period": {"ftl.replication.adjust_every": 1, "ftl.replication.class_pages": 256},
    }),
    Factor("spreading", {
        "in turn": {}, "by load": {"ftl.spread.place": "least-loaded"},
        "own copy stays": {"ftl.spread.own_copy_counts": False},
        "small filters, one candidate": {
            "ftl.spread.bloom_bits_per_page": 6, "ftl.spread.bloom_hashes": 4, "ftl.spread.bloom_rebuild": 0.25,
            "ftl.spread.candidates": 1,
        },
    }),
)  # fmt: skip

#: Keys whose levels are worked out for each trace: the clock and the size of the drive.
WORKED_OUT = frozenset({"replay.speed", "nand.blocks_per_plane"})

_DESIGN = "what a design is made of"
_PUBLISHED = "a paper states it"
_WHOLE = "the recorded traces have whole pages with recorded contents and the clock is kept"
_SCHEME = "not what is compared: {} is a system of its own"
_CAUSE = "switches off what may make the score lose:"
_TODAY = "flash of drives of today, which no paper has"
_FRONT = "the recorded traces have one submission queue, and no paper has a front end"
_FLUSH = "the recorded traces have no flushes"
#: Keys that are not varied, or that begin so, each with the reason.
EXCLUDED: Mapping[str, str] = {
    "name": "a label", "description": "a label", "nand.source": "a label",
    "device": "its numbers are varied one by one: `nand`",
    "verify": "compares and changes nothing",
    "ftl.mapping": _DESIGN, "ftl.redirection.policy": _DESIGN, "ftl.replication.policy": _DESIGN,
    "ftl.spread.policy": _DESIGN, "ftl.dedup.sampling_pages": _DESIGN, "ftl.dedup.out_of_line": _DESIGN,
    "ftl.dedup.eviction": _DESIGN,
    "ftl.dedup.tables": "both forms give the same traffic (a test)",
    "ftl.mapping_cache.": f"{_PUBLISHED}: 256 MB (RR-SSD III.B), more than these tables take",
    "ftl.allocation.hipa_": _SCHEME.format("`hipa`"),
    "ftl.partition.": _SCHEME.format("`hot-cold`"),
    "ftl.gc.choices": "of `d-choices`: 10, as Van Houdt (2013) recommends",
    "ftl.replication.alpha": f"{_PUBLISHED}: 0 and above (RR-SSD III.B); the space is part of what is bought",
    "ftl.replication.degree": f"{_PUBLISHED} and rejects the others (RR-SSD II.D)",
    "ftl.replication.few_copies": "of a degree that RR-SSD II.D rejects",
    "ftl.replication.placement": f"{_PUBLISHED} and compares the others (RR-SSD Fig. 11)",
    "ftl.replication.score_ties": f"{_CAUSE} `fig-11-causes`", "ftl.replication.equals": f"{_CAUSE} `fig-11-causes`",
    "ftl.spread.count_written": "it counts, and decides nothing",
    "ftl.spread.verify": f"{_PUBLISHED}: twins are compared (DS-FTL 4.2.1)",
    "engine.hash_us": f"{_PUBLISHED}: 12 us (RR-SSD Table II), 32 us (CA-SSD 5.1)",
    "replay.history": "the papers age at random; drives that were measured have histories of their own",
    "replay.queue_depth": _WHOLE, "replay.partial_write": _WHOLE, "replay.content": _WHOLE,
    "replay.period_s": "a day of the recorded traces is 120 s (RR-SSD: a day)",
    "engine.slots": _FRONT, "engine.arbitration": _FRONT, "engine.arbitration_burst": _FRONT,
    "engine.link_mb_s": _FRONT, "replay.queue_limit": _FRONT,
    "engine.flush": _FLUSH, "engine.write_cache_protected": _FLUSH,
    "engine.reads_before_urgent": _TODAY, "engine.collection_in_turn": _TODAY,
    "engine.suspend_slice_us": _TODAY, "nand.program_pages": _TODAY,
    "nand.sense_pages": _TODAY, "nand.parity_stripe": _TODAY, "nand.read_types_us": _TODAY,
    "nand.dies_per_chip": _PUBLISHED, "nand.planes_per_die": _PUBLISHED, "nand.pages_per_block": _PUBLISHED,
    "nand.page_bytes": _PUBLISHED, "nand.metadata_bytes": "spare bytes: 3 % of a transfer",
    "nand.bus_width_bits": "varied as `nand.bus_mt_s`", "nand.command_ns": "0.2 us of a transfer of 100",
    "nand.pe_cycles": "wear is a share of it; nothing else changes",
}  # fmt: skip


def design() -> list[dict[str, str]]:
    """The rows: the ground of the presets, the balanced design, and the seeds by themselves under both loads."""
    alone: Iterator[dict[str, str]] = (
        {"seed": str(seed), "load": load, "hash unit": "pipeline"} for load in ("light", "busy") for seed in SEEDS
    )
    return [{}, *balanced(FACTORS, ROWS), *alone]


def _systems(trace: str, row: Mapping[str, str], speed: float) -> dict[str, System]:
    sets = sets_of(FACTORS, row)
    spare = SPARE[row.get("spare space", "28 %")]
    keys: dict[str, Value] = {
        "device": "ds-ftl", "nand.blocks_per_plane": blocks(trace, spare), "replay.period_s": PERIOD_S,
        "replay.speed": speed, **sets,
    }  # fmt: skip
    return {system: named(system, system, defining_kept(system, keys)) for system in SYSTEMS}


def defining_kept(system: str, keys: Mapping[str, Value]) -> dict[str, Value]:
    """The same ground; what defines a design stays: the small store of CAFTL."""
    own = {"ftl.dedup.fingerprint_entries"} if system == "caftl" else set()
    return {key: value for key, value in keys.items() if key not in own}


def busy_speed(light: KeptReplay) -> float:
    """The clock at which dies that the light load leaves idle most of the time work for the share `BUSY` of it."""
    share = light.get("utilisation.chip_mean")
    assert share, "the light load keeps no die busy"
    return float(f"{SPEED * BUSY / share:.3g}")


def measure(lab: Lab) -> Mapping[str, Any]:
    """Figures by trace, row and system; the rows themselves."""
    rows = design()
    traces: dict[str, list[dict[str, Any]]] = {}
    for name in CAPTURED:
        trace = lab.trace(name)
        light = {f"{at}": _systems(name, row, SPEED)["conventional"] for at, row in enumerate(rows)}
        idle = lab.store.replays(trace, light)
        speeds = [
            busy_speed(idle[f"{at}"]) if row.get("load") == "busy" else SPEED for at, row in enumerate(rows)
        ]  # fmt: skip
        systems = {
            f"{at}/{system}": one
            for at, (row, speed) in enumerate(zip(rows, speeds, strict=True))
            for system, one in _systems(name, row, speed).items()
        }
        kept = lab.store.replays(trace, systems)
        traces[name] = [
            {"speed": speed, "busy": kept[f"{at}/conventional"].get("utilisation.chip_mean"),
             "systems": {system: _figures(kept[f"{at}/{system}"]) for system in SYSTEMS}}
            for at, speed in enumerate(speeds)
        ]  # fmt: skip
    return {"rows": rows, "traces": traces}


def _figures(kept: KeptReplay) -> dict[str, Any]:
    wanted = ("read_ns", "read_p99_ns", "write_ns", "write_p99_ns", "programs", "erases")
    found = figures(kept)
    return {name: found[name] for name in wanted}


STAGE = Stage("ranges", "the designs on equal ground, over everything that no paper fixes", measure)
