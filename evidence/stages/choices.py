"""One choice at a time on the recorded traces: idle time, merging, hash lanes, comparisons, data on an aged drive.

Causes that the pages name are switched off here, and the effect goes or stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evidence.stage import CAPTURED, Lab, Stage
from evidence.stages.drives import AGED, PERIOD_S, drive, figures, named
from flashtwin.replays.presets import System
from flashtwin.settings import Value

#: The drive of the RR-SSD paper, new; ten times as fast as recorded, since it has 64 chips that are nearly empty.
LARGE: Mapping[str, Value] = {"device": "rr-ssd", "replay.speed": 10.0, "replay.period_s": PERIOD_S}
IDLE_US = (0.0, 100.0, 1000.0, 10_000.0)
LANES = (1, 2, 4, 16, 64)
MERGING = ("none", "same-page", "same-content")
SUSPENDING: Mapping[str, Value] = {"engine.suspend": "program-erase"}
CONTENTS = ("own", "trace")


def idle() -> Iterator[System]:
    """When copies are made in idle time, on the large drive."""
    for system in ("ca-ssd", "rr-ssd", "oracle"):
        yield named(f"large/{system}", system, LARGE)
    for system in ("rr-ssd-online", "pblru"):
        for idle_us in IDLE_US:
            keys: dict[str, Value] = {"engine.idle_us": idle_us}
            yield named(f"large/{system}/idle {idle_us:g}", system, LARGE, keys)
    for idle_us in (0.0, 1000.0):
        keys = {"engine.idle_us": idle_us}
        yield named(f"large/rr-ssd-online/idle {idle_us:g}/suspend", "rr-ssd-online", LARGE, keys, SUSPENDING)


def merging(trace: str) -> Iterator[System]:
    """Reads of one page, and of twins, served together or each by itself, on both drives."""
    for where, keys in (("small", {**drive(trace), **AGED}), ("large", dict(LARGE))):
        for system in ("conventional", "ca-ssd", "rr-ssd", "oracle"):
            for rule in MERGING[:2]:
                yield named(f"{where}/{system}/merge {rule}", system, keys, {"engine.merge_reads": rule})
    for rule in MERGING:
        yield named(f"small/ds-ftl/merge {rule}", "ds-ftl", drive(trace), AGED, {"engine.merge_reads": rule})


def others(trace: str) -> Iterator[System]:
    """Hash lanes, placement behind the hash unit, comparisons of DS-FTL, data on an aged drive."""
    aged = {**drive(trace), **AGED}
    for lanes in LANES:
        yield named(f"small/ca-ssd/lanes {lanes}", "ca-ssd", aged, {"engine.hash_lanes": lanes})
    yield named("small/ca-ssd/hash 0", "ca-ssd", aged, {"engine.hash_us": 0.0})
    for idle_us in (0.0, 1000.0):
        yield named(f"small/ds-ftl/idle {idle_us:g}", "ds-ftl", aged, {"engine.idle_us": idle_us})
    yield named("small/ds-ftl/verify false", "ds-ftl", aged, {"ftl.spread.verify": False})
    yield named("small/ds-ftl/own false", "ds-ftl", aged, {"ftl.spread.own_copy_counts": False})
    for contents in CONTENTS:
        for system in ("conventional", "ca-ssd", "rr-ssd", "oracle"):
            keys: dict[str, Value] = {"replay.preload_contents": contents}
            yield named(f"small/{system}/contents {contents}", system, aged, keys)


def measure(lab: Lab) -> Mapping[str, Any]:
    """Figures by trace and by option."""
    traces = {}
    for name in CAPTURED:
        wanted = [*merging(name), *others(name)]
        if name in ("webvm", "trans"):
            wanted += idle()
        systems = {system.name: system for system in wanted}
        kept = lab.store.replays(lab.trace(name), systems)
        traces[name] = {label: figures(kept[label]) for label in systems}
    return {"traces": traces}


STAGE = Stage("choices", "one choice at a time on the recorded traces", measure)
