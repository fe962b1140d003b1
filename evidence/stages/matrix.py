"""The designs on equal ground: static, dynamic and least-loaded placement, new and aged, suspension off and on.

Whatever a paper leaves open is the same for all systems of a column; what defines a design stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from evidence.stage import CAPTURED, Lab, Stage
from evidence.stages.drives import AGED, NEW, drive, figures, named
from flashtwin.settings import Value

#: Under one placement `static`, `dynamic` and `hipa` are `conventional`; `modern` is another array.
SYSTEMS = ("conventional", "ds-ftl", "ca-ssd", "caftl", "rr-ssd", "rr-ssd-online", "pblru", "oracle")
PLACEMENTS = ("static", "dynamic", "least-loaded")
AGES: Mapping[str, Mapping[str, Value]] = {"new": NEW, "aged": AGED}
SUSPENSION = {"no": "none", "yes": "program-erase"}
#: What papers leave open, the same for all; reads of one page do not merge, of twins neither.
EQUAL: Mapping[str, Value] = {
    "engine.merge_reads": "none", "engine.idle_us": 1000.0, "engine.load": "queue-length",
    "engine.write_cache_pages": 0, "ftl.allocation.order": "CWDP",
}  # fmt: skip


def columns() -> Iterator[tuple[str, dict[str, Value]]]:
    """Every ground by its name, `aged/static/no`, with the keys that make it."""
    for age, placement, suspension in product(AGES, PLACEMENTS, SUSPENSION):
        keys: dict[str, Value] = {"ftl.allocation.policy": placement, "engine.suspend": SUSPENSION[suspension]}
        yield f"{age}/{placement}/{suspension}", {**EQUAL, **AGES[age], **keys}


def measure(lab: Lab) -> Mapping[str, Any]:
    """Figures by trace, ground and system."""
    traces: dict[str, dict[str, dict[str, Any]]] = {}
    for name in CAPTURED:
        systems = {
            f"{column}/{system}": named(system, system, drive(name), keys)
            for column, keys in columns()
            for system in SYSTEMS
        }
        kept = lab.store.replays(lab.trace(name), systems)
        traces[name] = {
            column: {system: figures(kept[f"{column}/{system}"]) for system in SYSTEMS} for column, _ in columns()
        }
    return {"traces": traces}


STAGE = Stage("matrix", "the designs on equal ground: placement, age, suspension", measure)
