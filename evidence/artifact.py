"""Facts of each stage for a reviewer of artefacts: its needs, its time, the tolerance of its figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evidence.forms import grid, us
from evidence.stage import CAPTURED
from evidence.tables import took

#: Stages whose figures are seconds of one machine.
OF_ONE_MACHINE = ("speed", "sweeps", "live")
#: The needs of a stage beside traces.
MORE = {"real-drives": "measured drives, `--drives DIR`", "gains": "recorded traces, `--captured DIR`"}
NOTHING = "the repository"


def stages(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Every stage that was measured, in the order of measuring."""
    rows = [
        [f"[{one['title']}](docs/evidence/{name}.json)", f"`{one['command']}`", needs(name, one["traces"]),
         took(one["wall_s"]), tolerance(name)]
        for name, one in records.items()
    ]  # fmt: skip
    return grid(["figures", "command", "needs", "time", "tolerance"], rows)


def needs(name: str, traces: Iterable[str]) -> str:
    """Which inputs a stage reads that are not in the repository."""
    read = set(traces)
    found = [MORE[name]] if name in MORE else []
    if read & set(CAPTURED) and not found:
        found.append("recorded traces, `--captured DIR`")
    if name == "findings":
        found.append("public traces, `--samples DIR`")
    return "; ".join(found) or NOTHING


def tolerance(name: str) -> str:
    """How far a figure that is measured again may be from the one that stands."""
    if name in OF_ONE_MACHINE:
        return "ratios within one run; seconds by a factor of two"
    return "the errors on its page, as far as SciPy's fits repeat" if name == "real-drives" else "none: every digit"


def demo(lanes: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures of the demo's trace as `flashtwin compare` prints them, by system."""
    rows = [
        ["mean response, us", *(us(one["all_ns"]) for one in lanes.values())],
        ["reads", *(us(one["read_ns"]) for one in lanes.values())],
        ["writes", *(us(one["write_ns"]) for one in lanes.values())],
        ["pages programmed", *(f"{one['programs']:,}" for one in lanes.values())],
    ]
    return grid(["", *(f"`{name}`" for name in lanes)], rows)


WORDS = {"artifact_stages": stages, "artifact_demo": demo, "artifact_time": took}
