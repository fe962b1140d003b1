"""What deduplication, replication, redirection and spreading bring on twins of drives of today, and what decides it.

Every design stands on one ground: a fitted drive (`devices/real`), made as small as a recorded trace asks for, aged, as
its twin is measured (`flashtwin.drives.twin`). The load is relative to the drive: the clock of the trace is found at
which `conventional` still answers writes without waiting (its knee), and the loads are shares of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flashtwin as ft
from evidence import sources
from evidence.places import ROOT
from evidence.stage import CAPTURED, Lab, Stage
from evidence.stages.drives import AGED, PERIOD_S, figures, named
from evidence.store import KeptReplay
from flashtwin.drives.history import begin_collection
from flashtwin.replays.presets import System
from flashtwin.settings import Value

DEVICES = ROOT / "devices" / "real"
#: The drives that stand on all traces: the one with most dies, with all loads and seeds, and the one with the fewest.
MAIN = ("kioxia-cm7-r-3840", "sk-hynix-pe8110-960")
#: The others stand on two traces, one with many duplicates and the one with the fewest, with deduplication and copies.
OTHERS = ("micron-7450-max-800", "solidigm-p5520-1920")
CONTRAST = ("mail", "trans")
SEEDS = (1, 2, 3)
#: The traces that have all seeds on the first drive.
SEEDED = ("webvm", "mail", "trans")
#: Preset and hash lanes; papers have one lane.
SYSTEMS: Mapping[str, tuple[str, int]] = {
    "conventional": ("conventional", 0), "ds-ftl": ("ds-ftl", 0), "ca-ssd": ("ca-ssd", 16), "rr-ssd": ("rr-ssd", 16),
    "oracle": ("oracle", 16),
}  # fmt: skip
#: The systems on the other drives.
COPYING = ("conventional", "ca-ssd", "rr-ssd")
ONE_LANE: Mapping[str, tuple[str, int]] = {"ca-ssd, 1 lane": ("ca-ssd", 1), "rr-ssd, 1 lane": ("rr-ssd", 1)}
#: Loads, as parts of the clock at the knee of `conventional`.
LOADS: Mapping[str, float] = {"light": 1 / 8, "near the knee": 1.0, "past the knee": 4.0}
LIGHT, NEAR, PAST = LOADS
#: Near the knee once more: consecutive pages of an address range on consecutive dies, instead of filling one unit.
STATIC = "near the knee, static placement"
#: The systems whose knee is found.
KNEES = ("conventional", "ca-ssd")
#: A drive is below its knee while its mean write takes no longer: an idle one takes 8 to 28 us, a program over 1 ms.
KNEE_NS = 100_000
#: The clocks that are tried are powers of 2: the exponents.
SLOWEST, FASTEST = -8, 8
#: Spare flash, as a share of the trace's pages, and program units of a block.
SPARE, BLOCK_UNITS = 0.2, 4
#: The ground of the twins that the fit measures (`flashtwin.drives.twin.small`), the same for all designs.
GROUND: Mapping[str, Value] = {
    **AGED, "ftl.wear.policy": "none", "ftl.allocation.policy": "dynamic", "engine.merge_reads": "none",
    # Pages that wait in RAM for their program unit to fill are no load of a die; "queue-length" counts them.
    "engine.load": "expected-wait", "replay.period_s": PERIOD_S,
}  # fmt: skip


@dataclass(frozen=True)
class Drive:
    """A fitted drive, and how small a trace makes it."""

    name: str
    spare: float = SPARE
    block_units: int = BLOCK_UNITS

    def keys(self, trace: ft.Trace) -> dict[str, Value]:
        """The drive for a trace: the dies it has, and blocks for the pages of the trace and the spare ones."""
        # The path as it is from here: the configuration names it, and no path of one machine is to be in a key.
        device = os.path.relpath(DEVICES / f"{self.name}.toml", Path.cwd())
        system = ft.system("conventional", settings={"device": device})
        pages = self.block_units * int(system.config["nand"]["program_pages"])
        blocks = round(trace.info["footprint_pages"] * (1 + self.spare) / (system.planes * pages))
        return {
            "device": device, "nand.pages_per_block": pages, "nand.blocks_per_plane": blocks,
            **begin_collection(blocks), **GROUND,
        }  # fmt: skip

    def holds(self, trace: ft.Trace) -> bool:
        """Whether the trace fits: a drive of few large blocks keeps too many of them back."""
        system = ft.system("conventional", settings=self.keys(trace))
        return system.capacity_pages >= int(trace.info["footprint_pages"])


def replayed(
    lab: Lab, trace: ft.Trace, keys: Mapping[str, Value], systems: Mapping[str, tuple[str, int]]
) -> dict[str, KeptReplay]:
    """Replays of systems on one ground, by name."""
    return lab.store.replays(trace, {name: one(name, *made, keys) for name, made in systems.items()})


def one(name: str, preset: str, lanes: int, keys: Mapping[str, Value]) -> System:
    """A system on a ground; lanes where it hashes every page."""
    hashing: dict[str, Value] = {"engine.hash_lanes": lanes} if lanes else {}
    return named(name, preset, hashing, keys)


@dataclass(frozen=True)
class Choice:
    """Something that neither a paper nor a fit settles, and its levels: keys, or another drive."""

    name: str
    levels: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    drives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: Under which it is varied.
    loads: tuple[str, ...] = (NEAR,)
    #: The designs that look at it.
    systems: tuple[str, ...] = ("conventional", "ds-ftl", "ca-ssd", "rr-ssd")


_HASHING = ("ca-ssd", "rr-ssd")
#: Varied one at a time. Levels of the ground itself are not repeated.
BOTH = (NEAR, PAST)
CHOICES = (
    Choice("spare flash", loads=BOTH, drives={
        # Of larger blocks, the drive of the smallest trace has too few.
        "10 %, blocks of half the pages": {"spare": 0.1, "block_units": 2}, "44 %": {"spare": 0.44},
        "300 %, next to nothing to move": {"spare": 3.0},
    }),
    Choice("pages of a block", drives={"half": {"block_units": 2}, "twice": {"block_units": 8}}),
    Choice("contents of the aged drive", {"as in the trace": {"replay.preload_contents": "trace"}},
           systems=_HASHING),
    Choice("write buffer", loads=BOTH, levels={
        "256 pages": {"engine.write_buffer_pages": 256}, "65,536 pages": {"engine.write_buffer_pages": 65_536},
    }),
    Choice("a write completes", {
        "in RAM without a limit": {"engine.write_completes": "buffered", "engine.write_buffer_pages": 0},
        "in a write-back cache of 4,096 pages": {
            "engine.write_completes": "programmed", "engine.write_buffer_pages": 0, "engine.write_cache_pages": 4096,
        },
    }),
    Choice("victim", {
        "cost-benefit": {"ftl.gc.victim": "cost-benefit"},
    }),
    Choice("placement", {
        "static": {"ftl.allocation.policy": "static"},
        "static, 4 pages a die": {"ftl.allocation.policy": "static", "ftl.allocation.stripe_pages": 4},
    }),
    Choice("suspension", {"none": {"engine.suspend": "none"}, "at any moment": {"engine.suspend_slice_us": 0.0}}),
    Choice("collection", {"behind host writes": {"engine.collection_in_turn": False}}),
    Choice("front end", {"56 slots": {"engine.slots": 56}}),
    Choice("pages sensed at once", {"1": {"nand.sense_pages": 1}}),
    Choice("erase and bus", {"10 ms, 800 MT/s": {"nand.erase_us": 10_000.0, "nand.bus_mt_s": 800.0}}),
    Choice("hash lanes", loads=BOTH, levels={
        "1": {"engine.hash_lanes": 1}, "4": {"engine.hash_lanes": 4}, "as many as wanted": {"engine.hash_lanes": 0},
    }, systems=_HASHING),
    Choice("time of a fingerprint", {"1 us": {"engine.hash_us": 1.0}, "32 us": {"engine.hash_us": 32.0}},
           systems=_HASHING),
    Choice("fingerprints kept", {"65,536": {"ftl.dedup.fingerprint_entries": 65_536}}, systems=_HASHING),
    Choice("copies", {
        "none (no period ends)": {"replay.period_s": 10_000.0},
        "at most 2 of a content": {"ftl.replication.most_copies": 2},
    }, systems=("rr-ssd",)),
    Choice("copies under static placement", {
        "none": {"ftl.allocation.policy": "static", "replay.period_s": 10_000.0},
    }, systems=("conventional", "rr-ssd")),
    Choice("redirection", {"off": {"ftl.redirection.policy": "home"}}, systems=("rr-ssd", "ds-ftl")),
    Choice("merged reads", {"of one page": {"engine.merge_reads": "same-page"}}),
    Choice("load measure", {
        "queue length": {"engine.load": "queue-length"},
        "queue length, static placement": {"engine.load": "queue-length", "ftl.allocation.policy": "static"},
    }, systems=("conventional", "ds-ftl", "rr-ssd", "oracle")),
)  # fmt: skip


def measure(lab: Lab) -> Mapping[str, Any]:
    """Figures by drive, trace, load, system and seed; the knees; one choice at a time on a drive with two traces."""
    drives: dict[str, dict[str, Any]] = {name: {} for name in (*MAIN, *OTHERS)}
    for trace in CAPTURED:
        for name in (*MAIN, *(OTHERS if trace in CONTRAST else ())):
            lab.say(f"{trace} on {name}")
            drives[name][trace] = _grid(lab, lab.trace(trace), name)
    choices = {trace: _choices(lab, lab.trace(trace), drives[MAIN[0]][trace]["knees"]) for trace in CONTRAST}
    return {"seeds": list(SEEDS), "drives": drives, "choices": choices}


def _grid(lab: Lab, trace: ft.Trace, name: str) -> dict[str, Any]:
    """One trace on one drive."""
    keys = Drive(name).keys(trace)
    knees: dict[str, int] = {}
    for system in KNEES:
        found = knee(lab, trace, keys, system, start=knees.get("conventional", 0))
        knees[system] = _recorded(name, trace.name, system) if found is None else found
    loads = {}
    for load in _loads(name):
        ground = {**keys, "replay.speed": LOADS.get(load, 1.0) * 2.0 ** knees["conventional"]}
        if load == STATIC:
            ground["ftl.allocation.policy"] = "static"
        seeds = SEEDS if load == NEAR and name == MAIN[0] and trace.name in SEEDED else SEEDS[:1]
        systems = {system: SYSTEMS[system] for system in (SYSTEMS if name in MAIN else COPYING)}
        each = {f"{seed}": replayed(lab, trace, {**ground, "seed": seed}, systems) for seed in seeds}
        loads[load] = {system: {seed: _figures(kept[system]) for seed, kept in each.items()} for system in systems}
        if load == NEAR:
            lanes = replayed(lab, trace, ground, ONE_LANE)
            loads[load] |= {system: {f"{SEEDS[0]}": _figures(kept)} for system, kept in lanes.items()}
    duplicates = trace.info["duplicate_write_percent"]
    return {"keys": _shown(keys), "duplicate_percent": duplicates, "knees": knees, "loads": loads}


def _loads(name: str) -> tuple[str, ...]:
    """The loads, and placements, under which a drive is replayed."""
    if name == MAIN[0]:
        return (*LOADS, STATIC)
    return (NEAR, PAST, STATIC) if name in MAIN else (NEAR, PAST)


def _shown(keys: Mapping[str, Value]) -> dict[str, Value]:
    """The keys that make a drive small."""
    return {key: value for key, value in keys.items() if key.startswith("nand.")}


def _recorded(drive: str, trace: str, system: str) -> int:
    """A knee as it stands: where a sample is made again, most replays of the search are not."""
    record = STAGE.record()
    return int(record["data"]["drives"][drive][trace]["knees"][system]) if record else 0


def knee(lab: Lab, trace: ft.Trace, keys: Mapping[str, Value], system: str, *, start: int = 0) -> int | None:
    """The fastest clock, as an exponent of 2, at which writes hardly wait; None where a replay has no figures."""

    def keeps_up(exponent: int) -> bool | None:
        kept = replayed(lab, trace, {**keys, "replay.speed": 2.0**exponent}, {system: SYSTEMS[system]})[system]
        mean_ns = kept.get("response.write.mean_ns")
        return None if mean_ns is None else mean_ns <= KNEE_NS

    return last(keeps_up, start)


def last(holds: Callable[[int], bool | None], start: int) -> int | None:
    """The greatest number near `start` for which something holds that holds for all smaller ones."""
    at, held = start, holds(start)
    step = 1 if held else -1
    while SLOWEST < at < FASTEST:
        now = holds(at + step)
        if held is None or now is None:
            return None
        at += step
        if now is not held:
            return at - 1 if held else at
    return at


def _choices(lab: Lab, trace: ft.Trace, knees: Mapping[str, int]) -> dict[str, Any]:
    """The designs by load, choice and level."""
    return {
        load: {choice.name: _levels(lab, trace, choice, load, knees) for choice in CHOICES if load in choice.loads}
        for load in BOTH
    }


def _levels(lab: Lab, trace: ft.Trace, choice: Choice, load: str, knees: Mapping[str, int]) -> dict[str, Any]:
    """The designs that look at a choice, under each of its levels."""
    levels: dict[str, tuple[Drive, Mapping[str, Value]]] = {
        **{level: (Drive(MAIN[0]), sets) for level, sets in choice.levels.items()},
        **{level: (Drive(MAIN[0], **other), {}) for level, other in choice.drives.items()},  # type: ignore[arg-type]
    }
    found = {}
    for level, (drive, sets) in levels.items():
        if drive.holds(trace):
            keys = {**drive.keys(trace), "replay.speed": LOADS[load] * 2.0 ** knees["conventional"], **sets}
            kept = replayed(lab, trace, keys, {name: SYSTEMS[name] for name in choice.systems})
            found[level] = {name: _figures(one_kept) for name, one_kept in kept.items()}
    return found


def _figures(kept: KeptReplay) -> dict[str, Any]:
    """The figures of a replay for the page."""
    wanted = (
        "read_ns", "read_p99_ns", "write_ns", "write_p99_ns", "all_ns", "programs", "pages_written", "erases",
        "ram_bytes", "hash_utilisation",
    )  # fmt: skip
    found = figures(kept)
    more = {
        "read_queueing_ns": kept.get("response.read.split.queueing_ns"), "busy": kept.get("utilisation.chip_mean"),
        "senses_shared": kept.get("flash_operations.reads_with_others"),
        "suspensions": kept.get("page_ops.suspensions"),
    }  # fmt: skip
    return {**{name: found[name] for name in wanted}, **more}


CODE = (*sources.REPLAY, *sources.DRIVES, "python/flashtwin/drives/history.py")
STAGE = Stage("gains", "what the designs bring on drives of today", measure, CODE)
