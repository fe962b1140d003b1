"""Each system as its paper has it, on the recorded traces and one aged drive, and its gains on other drives."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import flashtwin as ft
from evidence import code
from evidence.code import ROOT
from evidence.forms import NOTHING, change, grid, ratio, signed, span, us
from evidence.studies.drives import AGED, PERIOD_S, drive, figures, preset, trace_period_s
from evidence.study import CAPTURED, Data, Lab, Study
from flashtwin.replays.presets import System
from flashtwin.settings import Value

SYSTEMS = (
    "conventional", "static", "dynamic", "hipa", "hot-cold", "modern", "ds-ftl", "ca-ssd", "ca-ssd-inverted", "caftl",
    "rr-ssd", "rr-ssd-online", "pblru", "oracle",
)  # fmt: skip
#: The drive of the RR-SSD paper, one of a unit with caches of today, and one fitted to measurements.
DRIVES = ("rr-ssd", "tlc-unit-2021", "micron-7450-max-800")
SPEEDS = (1.0, 20.0)
LANES = (1, 16)
DESIGNS = ("conventional", "ca-ssd", "rr-ssd")
#: The papers' workloads at so much of their length. Every trace that was not captured has as many periods.
OTHERS_SCALE = 0.02
#: A figure, the system that it changes from, and the one that it changes to.
MOVES = {
    "pages programmed": ("programs", "conventional", "ca-ssd"),
    "mean response": ("all_ns", "conventional", "ca-ssd"),
    "copies: mean read": ("read_ns", "ca-ssd", "rr-ssd"),
    "copies: programmed": ("programs", "ca-ssd", "rr-ssd"),
}


def measure(lab: Lab) -> Data:
    traces, elsewhere, others = {}, {}, {}
    for name in CAPTURED:
        trace = lab.trace(name)
        systems = {system: preset(system, system, drive(name), AGED) for system in SYSTEMS}
        replays = lab.replays(trace, systems)
        traces[name] = {system: figures(replays[system]) for system in SYSTEMS}
        elsewhere[name] = _places(lab, trace, PERIOD_S)
    for name, trace in lab.others(OTHERS_SCALE):
        others[name] = _places(lab, trace, trace_period_s(trace))
    return {"traces": traces, "elsewhere": elsewhere, "others": others}


def _places(lab: Lab, trace: ft.Trace, period_s: float) -> list[dict[str, Any]]:
    """The three designs on every drive, at every clock, with every number of lanes."""
    places = list(itertools.product(DRIVES, SPEEDS, LANES))
    replays = lab.replays(
        trace, {f"{design} {place}": _on(design, period_s, *place) for design in DESIGNS for place in places}
    )
    return [
        {"drive": place[0], "speed": place[1], "lanes": place[2],
         **{design: figures(replays[f"{design} {place}"], "all_ns", "read_ns", "programs") for design in DESIGNS}}
        for place in places
    ]  # fmt: skip


def _on(design: str, period_s: float, device: str, speed: float, lanes: int) -> System:
    """A design on another drive. Where pages go and which copy is read are its own."""
    file = ROOT / "devices" / "real" / f"{device}.toml"
    sets: Mapping[str, Value] = {
        "device": str(file) if file.is_file() else device, "replay.speed": speed, "replay.period_s": period_s,
        "engine.hash_lanes": lanes,
    }  # fmt: skip
    return preset(design, design, sets)


def pages(data: Data) -> Data:
    """A table for reads, one for writes, one for write amplification and RAM: a row a system, a column a trace."""
    traces = data["traces"]

    def table(cell: Callable[[Data], str]) -> list[str]:
        rows = ([f"`{name}`", *(cell(of[name]) for of in traces.values())] for name in traces["webvm"])
        return grid(["", *(f"`{trace}`" for trace in traces)], rows)

    return {
        "reads": table(lambda one: f"{us(one['read_ns'])} / {us(one['read_p99_ns'], 0)}"),
        "writes": table(lambda one: f"{us(one['write_ns'])} / {us(one['write_p99_ns'], 0)}"),
        "flash": table(lambda one: f"{_amplification(one)}; {ratio(one['ram_bytes'] / 1e6, 1)}"),
        "trans": {
            name: {key: traces["trans"][name][key] for key in ("write_ns", "erases")}
            for name in ("conventional", "ca-ssd", "static", "ds-ftl")
        },
        "ca_writes": [change(of["conventional"]["write_ns"], of["ca-ssd"]["write_ns"]) for of in traces.values()],
        **_elsewhere(data["elsewhere"], data["others"]),
    }


def _elsewhere(captured: Mapping[str, list[Data]], others: Mapping[str, list[Data]]) -> Data:
    """Gains on every drive, under every load, with the range over the traces, and trace by trace."""
    cells, unseen = ([cell for of in traces.values() for cell in of] for traces in (captured, others))

    def ranges(chosen: Sequence[Data]) -> list[str]:
        return [span(moves(chosen, *move), signed) for move in MOVES.values()]

    rows = [
        [
            f"`{device}`",
            f"{speed:g}",
            f"{lanes}",
            *ranges([one for one in cells if _place(one) == (device, speed, lanes)]),
        ]
        for device, speed, lanes in itertools.product(DRIVES, SPEEDS, LANES)
    ]
    return {
        "elsewhere": grid(["drive", "speed", "lanes", *MOVES], rows),
        "elsewhere_cells": len(cells),
        "others": grid(["workload", *MOVES], ([f"`{name}`", *ranges(of)] for name, of in others.items())),
        "others_traces": len(others),
        "others_cells": len(unseen),
        "seen": _statements(cells),
        "unseen": _statements(unseen),
    }


def moves(cells: Iterable[Data], figure: str, before: str, after: str) -> list[float]:
    found = (change(cell[before][figure], cell[after][figure]) for cell in cells)
    return [one for one in found if one is not None]


def _place(cell: Data) -> tuple[str, float, int]:
    return cell["drive"], cell["speed"], cell["lanes"]


def _statements(cells: Sequence[Data]) -> Data:
    """The ranges that README states."""
    fewer, responses, reads, copied = MOVES.values()
    many = [cell for cell in cells if cell["lanes"] == max(LANES)]
    return {
        "ca_fewer": [-one for one in moves(cells, *fewer)],
        "ca_responses": {
            device: moves((cell for cell in many if cell["drive"] == device), *responses) for device in DRIVES
        },
        "rr_on_paper": moves((cell for cell in cells if cell["drive"] == "rr-ssd"), *reads),
        "rr_elsewhere": moves((cell for cell in cells if cell["drive"] != "rr-ssd"), *reads),
        "rr_programs": moves(cells, *copied),
    }


def _amplification(one: Data) -> str:
    return ratio(one["programs"] / one["pages_written"]) if one["pages_written"] else NOTHING


STUDY = Study(
    "comparison",
    "all systems on the recorded traces, as their papers have them",
    measure,
    pages,
    (*code.REPLAY, *code.TWINS),
    needs="`--captured DIR`, public traces, `--samples DIR`",
)
