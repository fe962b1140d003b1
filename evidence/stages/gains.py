"""What designs that look at contents bring on drives that were measured, and what decides it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import flashtwin as ft
from evidence.stage import CAPTURED, Lab, Stage
from evidence.stages import real_drives
from evidence.stages.drives import figures
from flashtwin.drives.twin import BLOCK_UNITS
from flashtwin.replays.presets import System
from flashtwin.replays.running import fitted
from flashtwin.settings import Value

SYSTEMS = ("conventional", "ds-ftl", "ca-ssd", "rr-ssd", "oracle")
#: Keys that no measurement of a drive tells, and the clock: each is set to all of its values.
FACTORS: Mapping[str, tuple[Value, ...]] = {
    "replay.speed": (0.1, 1.0),
    "engine.hash_lanes": (1, 16),
    "ftl.allocation.policy": ("static", "dynamic"),
}
SEEDS = (1, 2)
#: The share of the drive that the trace's pages take up.
FILL = 0.9


def measure(lab: Lab) -> Mapping[str, Any]:
    """By drive and trace: a row for each setting, with the figures of each system."""
    drives = sorted(path.stem for path in real_drives.DEVICES.glob("*.toml"))
    return {"drives": {name: {trace: _on(lab, name, trace) for trace in CAPTURED} for name in drives}}


def _on(lab: Lab, drive: str, trace: str) -> list[dict[str, Any]]:
    opened = lab.trace(trace)
    systems = {
        (number, name): _system(drive, name, setting)
        for number, setting in enumerate(settings()) for name in SYSTEMS
    }  # fmt: skip
    filled = fitted(opened, {f"{number} {name}": one for (number, name), one in systems.items()}, FILL)
    kept = lab.store.replays(opened, filled)
    return [
        {"setting": dict(setting), "systems": {name: figures(kept[f"{number} {name}"]) for name in SYSTEMS}}
        for number, setting in enumerate(settings())
    ]


def settings() -> Iterator[Mapping[str, Value]]:
    """All combinations of the factors, and the first of them under other seeds."""
    for values in itertools.product(*FACTORS.values()):
        yield {**dict(zip(FACTORS, values, strict=True)), "seed": 0}
    for seed in SEEDS:
        yield {**{key: values[0] for key, values in FACTORS.items()}, "seed": seed}


def _system(drive: str, name: str, setting: Mapping[str, Value]) -> System:
    """A design on a fitted drive whose blocks are as small as the traces ask for."""
    base = ft.system(name, settings={"device": str(real_drives.DEVICES / f"{drive}.toml")})
    pages = int(base.config["nand"]["program_pages"]) * BLOCK_UNITS
    return base.with_sets({
        "nand.pages_per_block": pages, "replay.preload": "footprint", "replay.period_s": 120.0,
        "ftl.wear.policy": "none", **setting,
    })  # fmt: skip


STAGE = Stage(
    "gains",
    "designs that look at contents, on drives that were measured",
    measure,
    (*real_drives.CODE, "systems", "devices"),
)
