"""The trace that comes with flashtwin, as `make demo` studies it, and the hash unit with more lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flashtwin as ft
from evidence.places import ROOT
from evidence.stage import Lab, Stage
from evidence.stages.drives import figures, named
from flashtwin.settings import Value

TRACE = ROOT / "traces" / "webvm-small.fiu.zst"
#: As `DEMO_ARGS` in the Makefile has it.
KEYS: Mapping[str, Value] = {"replay.period_s": 120.0, "replay.speed": 100.0}
SYSTEMS = ("conventional", "ca-ssd", "rr-ssd", "oracle")
LANES = (1, 2, 4, 16, 64)
DEMO_LANES = 16


def measure(lab: Lab) -> Mapping[str, Any]:
    """The four systems of a study with one lane and more, and where waiting reads of a page merge."""
    trace = lab.keep(ft.open(TRACE))
    systems = {
        f"{system}/{lanes}": named(system, system, KEYS, {"engine.hash_lanes": lanes})
        for system in SYSTEMS
        for lanes in LANES
    }
    more: Mapping[str, Value] = {"engine.hash_lanes": DEMO_LANES, "engine.merge_reads": "same-page"}
    merging = {name: named(name, name, KEYS, more) for name in SYSTEMS}
    kept = lab.store.replays(trace, {**systems, **{f"{name}/merging": one for name, one in merging.items()}})
    one = kept["ca-ssd/1"]
    return {
        "lanes": {str(lanes): {name: figures(kept[f"{name}/{lanes}"]) for name in SYSTEMS} for lanes in LANES},
        "merging": {name: figures(kept[f"{name}/merging"]) for name in SYSTEMS},
        "duplicate_writes": one.get("page_ops.duplicate_writes"),
        "page_writes": one.get("page_ops.write"),
        "page_ops": one.get("trace.page_ops"),
    }


STAGE = Stage("demo", "the trace that comes with flashtwin", measure)
