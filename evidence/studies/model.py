"""Figures of the page on the model: wear levelling, partitions, mapping tables on flash, planes in one command."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import flashtwin as ft
from evidence.code import ROOT
from evidence.studies.drives import FIGURES, preset
from evidence.study import Data, Lab, Study
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
FIELDS = {
    **FIGURES, **{f"erases_{key}": f"erases.per_block_{key}" for key in ("min", "max", "mean", "stddev")},
    "write_amplification": "write_amplification", "hit_ratio": "mapping_cache.hit_ratio",
    "tables": "flash_writes.metadata", "pages": "mapping_cache.pages", "shared": "page_ops.multi_plane_ops",
    "bytes_per_footprint_page": "simulator.bytes_per_footprint_page",
    "bytes_per_content": "simulator.bytes_per_content",
}  # fmt: skip


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


def measure(lab: Lab) -> Data:
    trans = lab.trace("trans")
    erases = ("erases_min", "erases_max", "erases_mean", "erases_stddev", "write_amplification")
    wearing = {label: preset(label, "hot-cold", TRANS, EIGHT, LEVELLING[label]) for label in
               ("none", "dynamic", "static 4/16", "static 4/4")}  # fmt: skip
    order: dict[str, Value] = {"replay.speed": 10.0}
    orders = {name: preset(name, "modern", order, {"ftl.allocation.order": name}) for name in ("PCWD", "CWDP")}
    found = {
        "wear_trans": _section(lab, trans, wearing, *erases),
        "partitions_trans": _section(lab, trans, dict(_partitioned()), "write_amplification"),
        "modern": _section(lab, lab.trace("webvm"), orders, "read_ns", "read_p99_ns", "shared"),
    }
    trace = hot_writes(lab, "tenth-takes-all", 768, 0.1, 1.0, 200 * 768)
    drive: dict[str, Value] = {**ONE_PLANE, "nand.blocks_per_plane": 64, "nand.pages_per_block": 16}
    levelled = {label: preset(label, "conventional", drive, keys) for label, keys in LEVELLING.items()}
    found["wear_made"] = _section(lab, trace, levelled, *erases)
    footprint = round(512 * 32 * (1 - 0.22))
    trace = hot_writes(lab, "tenth-takes-nine-tenths", footprint, 0.1, 0.9, 20 * footprint)
    drive |= {"nand.blocks_per_plane": 512, "nand.pages_per_block": 32, "replay.preload": "footprint"}
    parts = {
        f"{victim}/{label}": preset(label, "conventional", drive, PARTITIONS[label], {"ftl.gc.victim": victim})
        for victim in ("greedy", "fifo")
        for label in ("none", "bloom-filters", "offline 2")
    }
    found["partitions_made"] = _section(lab, trace, parts, "write_amplification")
    small = lab.note(ft.open(ROOT / "traces" / "webvm-small.fiu.zst"))
    found["tables"] = _section(
        lab, small, dict(_cached()), "read_ns", "write_ns", "programs", "hit_ratio", "tables", "pages",
        "bytes_per_footprint_page", "bytes_per_content",
    )  # fmt: skip
    return found


def _section(lab: Lab, trace: ft.Trace, systems: Mapping[str, System], *names: str) -> dict[str, Any]:
    """Figures by system; the figure itself if there is one only."""
    kept = lab.replays(trace, systems)
    if len(names) == 1:
        return {label: replay.get(FIELDS[names[0]]) for label, replay in kept.items()}
    return {label: {name: replay.get(FIELDS[name]) for name in names} for label, replay in kept.items()}


def _partitioned() -> Iterator[tuple[str, System]]:
    """Partitions on eight planes by two victims, and on 64, where eight pairs of active blocks have no room."""
    for place, size, victim in (("8", EIGHT, "greedy"), ("8", EIGHT, "cost-benefit"), ("64", SIXTY_FOUR, "greedy")):
        for label, keys in PARTITIONS.items():
            if (place, label) != ("64", "offline 8"):
                sets = ({**size, "ftl.gc.victim": victim}, keys)
                yield f"{place}/{victim}/{label}", preset(label, "conventional", TRANS, *sets)


def _cached() -> Iterator[tuple[str, System]]:
    period: Mapping[str, Value] = {"replay.period_s": 120.0}
    for system in ("conventional", "rr-ssd"):
        for label, size in CACHES.items():
            keys: dict[str, Value] = {} if size is None else {"ftl.mapping_cache.bytes": size}
            yield f"{system}/{label}", preset(label, system, period, keys)
    for every_s in CHECKPOINTS_S:
        keys = {"ftl.mapping_cache.checkpoint_s": every_s}
        yield f"rr-ssd/every {every_s:g} s", preset(f"{every_s}", "rr-ssd", period, keys)


STUDY = Study("model", "wear levelling, partitions, mapping tables on flash, planes in one command", measure)
