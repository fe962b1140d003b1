"""Figures of the page on the model: wear levelling, partitions, mapping tables on flash, planes in one command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import flashtwin as ft
from evidence.code import ROOT
from evidence.studies.drives import figures, named
from evidence.study import Data, Lab, Replay, Study
from flashtwin.replays.presets import System
from flashtwin.settings import Value

PAGE = 4096
#: One plane, so that nothing but the policy decides; blocks and pages follow.
ONE_PLANE: Mapping[str, Value] = {
    "device": "ds-ftl", "nand.channels": 1, "nand.chips_per_channel": 1, "nand.dies_per_chip": 1,
    "nand.planes_per_die": 1,
}  # fmt: skip
LEVELLING: Mapping[str, Mapping[str, Value]] = {
    "none": {"ftl.wear.policy": "none"},
    "dynamic": {"ftl.wear.policy": "dynamic"},
    "static 16/16": {"ftl.wear.policy": "static", "ftl.wear.threshold": 16, "ftl.wear.every": 16},
    "static 4/16": {"ftl.wear.policy": "static", "ftl.wear.threshold": 4, "ftl.wear.every": 16},
    "static 4/4": {"ftl.wear.policy": "static", "ftl.wear.threshold": 4, "ftl.wear.every": 4},
    "static 4/1": {"ftl.wear.policy": "static", "ftl.wear.threshold": 4, "ftl.wear.every": 1},
}
PARTITIONS: Mapping[str, Mapping[str, Value]] = {
    "none": {"ftl.partition.policy": "none"},
    "bloom-filters": {"ftl.partition.policy": "bloom-filters", "ftl.partition.partitions": 2},
    "window 1": {
        "ftl.partition.policy": "bloom-filters", "ftl.partition.partitions": 2, "ftl.partition.window": 1.0,
    },
    "offline 2": {"ftl.partition.policy": "offline", "ftl.partition.partitions": 2},
    "offline 8": {"ftl.partition.policy": "offline", "ftl.partition.partitions": 8},
}  # fmt: skip
#: `trans` on eight planes and on 64, with over-provisioning of a fifth.
TRANS: Mapping[str, Value] = {"device": "ds-ftl", "replay.preload": "footprint", "replay.period_s": 120.0}
EIGHT: Mapping[str, Value] = {
    "nand.chips_per_channel": 1, "nand.dies_per_chip": 1, "nand.planes_per_die": 1, "nand.blocks_per_plane": 704,
    "replay.speed": 0.2,
}  # fmt: skip
SIXTY_FOUR: Mapping[str, Value] = {"nand.blocks_per_plane": 88, "replay.speed": 1.0}
CACHES = {"unlimited": None, "2 MiB": 2 << 20, "256 KiB": 256 << 10, "64 KiB": 64 << 10}
CHECKPOINTS_S = (60.0, 10.0, 1.0)


def hot_writes(lab: Lab, name: str, pages: int, hot_share: float, writes_to_hot: float, writes: int) -> ft.Trace:
    """Every page once, then writes of which a share falls on the first pages; uniform within both."""
    draw = np.random.default_rng(1)
    hot = max(1, round(hot_share * pages))
    to_hot = draw.random(writes) < writes_to_hot
    chosen = np.where(to_hot, draw.integers(0, hot, writes), draw.integers(hot, pages, writes))
    order = np.concatenate([np.arange(pages), chosen])
    path = lab.scratch("made") / f"{name}.csv"
    with path.open("w", encoding="ascii") as out:
        for at, page in enumerate(order):
            out.write(f"{128166372000000000 + at * 50_000},made,0,Write,{page * PAGE},{PAGE},0\n")
    return lab.note(ft.open(path))


def wear(kept: Replay) -> dict[str, Any]:
    """How unevenly blocks were erased."""
    keys = ("min", "max", "mean", "stddev")
    found = {f"erases_{key}": kept.get(f"erases.per_block_{key}") for key in keys}
    return {**found, "write_amplification": kept.get("write_amplification")}


def measure(lab: Lab) -> Data:
    """Everything, by section of the page."""
    return {
        "wear_made": _wear_made(lab),
        "partitions_made": _partitions_made(lab),
        **_trans(lab),
        "tables": _tables(lab),
        "modern": _modern(lab),
    }


def _wear_made(lab: Lab) -> dict[str, Any]:
    trace = hot_writes(lab, "tenth-takes-all", 768, 0.1, 1.0, 200 * 768)
    drive: dict[str, Value] = {**ONE_PLANE, "nand.blocks_per_plane": 64, "nand.pages_per_block": 16}
    systems = {label: named(label, "conventional", drive, keys) for label, keys in LEVELLING.items()}
    return {label: wear(kept) for label, kept in lab.replays(trace, systems).items()}


def _partitions_made(lab: Lab) -> dict[str, Any]:
    blocks, pages_per_block = 512, 32
    footprint = round(blocks * pages_per_block * (1 - 0.22))
    trace = hot_writes(lab, "tenth-takes-nine-tenths", footprint, 0.1, 0.9, 20 * footprint)
    drive: dict[str, Value] = {
        **ONE_PLANE, "nand.blocks_per_plane": blocks, "nand.pages_per_block": pages_per_block,
        "replay.preload": "footprint",
    }  # fmt: skip
    systems = {
        f"{victim}/{label}": named(label, "conventional", drive, PARTITIONS[label], {"ftl.gc.victim": victim})
        for victim in ("greedy", "fifo")
        for label in ("none", "bloom-filters", "offline 2")
    }
    return {label: kept.get("write_amplification") for label, kept in lab.replays(trace, systems).items()}


def _trans(lab: Lab) -> dict[str, Any]:
    trace = lab.trace("trans")
    wearing = {
        label: named(label, "hot-cold", TRANS, EIGHT, LEVELLING[label])
        for label in ("none", "dynamic", "static 4/16", "static 4/4")
    }
    drives: Mapping[str, Mapping[str, Value]] = {
        "8/greedy": {**EIGHT, "ftl.gc.victim": "greedy"},
        "8/cost-benefit": {**EIGHT, "ftl.gc.victim": "cost-benefit"},
        "64/greedy": {**SIXTY_FOUR, "ftl.gc.victim": "greedy"},
    }
    parts = {
        f"{drive}/{label}": named(label, "conventional", TRANS, keys, partition)
        for drive, keys in drives.items()
        for label, partition in PARTITIONS.items()
        # 64 planes of 88 blocks have no room for eight pairs of active blocks.
        if (drive, label) != ("64/greedy", "offline 8")
    }
    kept = lab.replays(trace, {**{f"wear/{label}": one for label, one in wearing.items()}, **parts})
    return {
        "wear_trans": {label: wear(kept[f"wear/{label}"]) for label in wearing},
        "partitions_trans": {label: kept[label].get("write_amplification") for label in parts},
    }


def _cached() -> Iterator[tuple[str, System]]:
    for system in ("conventional", "rr-ssd"):
        for label, size in CACHES.items():
            keys: dict[str, Value] = {} if size is None else {"ftl.mapping_cache.bytes": size}
            yield f"{system}/{label}", named(label, system, {"replay.period_s": 120.0}, keys)
    for every_s in CHECKPOINTS_S:
        keys = {"ftl.mapping_cache.checkpoint_s": every_s}
        yield f"rr-ssd/every {every_s:g} s", named(f"{every_s}", "rr-ssd", {"replay.period_s": 120.0}, keys)


def _tables(lab: Lab) -> dict[str, Any]:
    trace = lab.note(ft.open(ROOT / "traces" / "webvm-small.fiu.zst"))
    found = {}
    for label, kept in lab.replays(trace, dict(_cached())).items():
        found[label] = {
            **figures(kept),
            "hit_ratio": kept.get("mapping_cache.hit_ratio"),
            "tables": kept.get("flash_writes.metadata"),
            "pages": kept.get("mapping_cache.pages"),
            "bytes_per_footprint_page": kept.get("simulator.bytes_per_footprint_page"),
            "bytes_per_content": kept.get("simulator.bytes_per_content"),
        }
    return found


def _modern(lab: Lab) -> dict[str, Any]:
    keys: dict[str, Value] = {"replay.speed": 10.0}
    systems = {order: named(order, "modern", keys, {"ftl.allocation.order": order}) for order in ("PCWD", "CWDP")}
    kept = lab.replays(lab.trace("webvm"), systems)
    return {order: {**figures(kept[order]), "shared": kept[order].get("page_ops.multi_plane_ops")} for order in systems}


def pages(data: Data) -> Data:
    """All of it but the figures of a replay that no page states."""
    wanted = {
        "read_ns", "write_ns", "programs", "hit_ratio", "tables", "pages", "bytes_per_footprint_page",
        "bytes_per_content", "read_p99_ns", "shared",
    }  # fmt: skip
    of_replays = ("tables", "modern")
    short = {
        part: {label: {key: one[key] for key in one if key in wanted} for label, one in data[part].items()}
        for part in of_replays
    }
    return {**data, **short}


STUDY = Study("model", "wear levelling, partitions, mapping tables on flash, planes in one command", measure, pages)
