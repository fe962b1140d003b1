"""Each system as its paper has it, on the recorded traces and one aged drive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidence.stage import CAPTURED, Lab, Stage
from evidence.stages.drives import AGED, drive, figures, named
from flashtwin.results import ground

SYSTEMS = (
    "conventional", "static", "dynamic", "hipa", "hot-cold", "modern", "ds-ftl", "ca-ssd", "ca-ssd-inverted", "caftl",
    "rr-ssd", "rr-ssd-online", "pblru", "oracle",
)  # fmt: skip


def measure(lab: Lab) -> Mapping[str, Any]:
    """Figures by trace and system, and other differences between the systems."""
    traces = {}
    for name in CAPTURED:
        systems = {system: named(system, system, drive(name), AGED) for system in SYSTEMS}
        kept = lab.store.replays(lab.trace(name), systems)
        traces[name] = {system: figures(kept[system]) for system in SYSTEMS}
    configs = {system: named(system, system, drive("webvm"), AGED).config for system in SYSTEMS}
    return {"traces": traces, "ground": [one.as_json() for one in ground.ground(configs)]}


STAGE = Stage("comparison", "all systems on the recorded traces, as their papers have them", measure)
