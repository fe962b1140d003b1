"""The trace that comes with flashtwin, as `make demo` studies it, and the hash unit with more lanes."""

from collections.abc import Mapping

import flashtwin as ft
from evidence.code import ROOT
from evidence.studies.drives import figures, preset
from evidence.study import Data, Lab, Study
from flashtwin.settings import Value

TRACE = ROOT / "traces" / "webvm-small.fiu.zst"
#: As `DEMO_ARGS` in the Makefile has it.
KEYS: Mapping[str, Value] = {"replay.period_s": 120.0, "replay.speed": 100.0}
SYSTEMS = ("conventional", "ca-ssd", "rr-ssd", "oracle")
LANES = (1, 16)
DEMO_LANES = 16


def measure(lab: Lab) -> Data:
    """The four systems of a study with one lane and more, and where waiting reads of a page merge."""
    trace = lab.note(ft.open(TRACE))
    systems = {
        f"{system}/{lanes}": preset(system, system, KEYS, {"engine.hash_lanes": lanes})
        for system in SYSTEMS
        for lanes in LANES
    }
    more: Mapping[str, Value] = {"engine.hash_lanes": DEMO_LANES, "engine.merge_reads": "same-page"}
    merging = {name: preset(name, name, KEYS, more) for name in SYSTEMS}
    kept = lab.replays(trace, {**systems, **{f"{name}/merging": one for name, one in merging.items()}})
    first = kept["ca-ssd/1"]
    return {
        "lanes": {str(lanes): {name: figures(kept[f"{name}/{lanes}"]) for name in SYSTEMS} for lanes in LANES},
        "merging": {name: figures(kept[f"{name}/merging"]) for name in SYSTEMS},
        "duplicate_writes": first.get("page_ops.duplicate_writes"),
        "page_writes": first.get("page_ops.write"),
        "page_ops": first.get("trace.page_ops"),
    }


def pages(data: Data) -> Data:
    wanted = ("all_ns", "read_ns", "write_ns", "programs", "copies")

    def short(systems: Mapping[str, Data]) -> dict[str, Data]:
        return {name: {key: one[key] for key in wanted} for name, one in systems.items()}

    return {
        "one": short(data["lanes"]["1"]), "some": short(data["lanes"]["16"]),
        "merging": {name: {"read_ns": one["read_ns"]} for name, one in data["merging"].items()},
        **{key: data[key] for key in ("duplicate_writes", "page_writes", "page_ops")},
    }  # fmt: skip


STUDY = Study("demo", "the trace that comes with flashtwin", measure, pages, needs="the repository")
