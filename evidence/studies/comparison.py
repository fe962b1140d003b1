"""Each system as its paper has it, on the recorded traces and one aged drive, and its gains on other drives."""

import itertools
from collections.abc import Callable, Iterable, Mapping

from evidence.code import ROOT
from evidence.forms import NOTHING, change, grid, ratio, signed, span, us
from evidence.studies.drives import AGED, PERIOD_S, drive, figures, preset
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


def measure(lab: Lab) -> Data:
    traces, elsewhere = {}, {}
    for name in CAPTURED:
        trace = lab.trace(name)
        systems = {system: preset(system, system, drive(name), AGED) for system in SYSTEMS}
        replays = lab.replays(trace, systems)
        traces[name] = {system: figures(replays[system]) for system in SYSTEMS}
        places = list(itertools.product(DRIVES, SPEEDS, LANES))
        replays = lab.replays(
            trace, {f"{design} {place}": _on(design, *place) for design in DESIGNS for place in places}
        )
        elsewhere[name] = [
            {"drive": place[0], "speed": place[1], "lanes": place[2],
             **{design: figures(replays[f"{design} {place}"], "all_ns", "read_ns", "programs") for design in DESIGNS}}
            for place in places
        ]  # fmt: skip
    return {"traces": traces, "elsewhere": elsewhere}


def _on(design: str, device: str, speed: float, lanes: int) -> System:
    """A design on another drive. Where pages go and which copy is read are its own."""
    file = ROOT / "devices" / "real" / f"{device}.toml"
    sets: Mapping[str, Value] = {
        "device": str(file) if file.is_file() else device, "replay.speed": speed, "replay.period_s": PERIOD_S,
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
        **_elsewhere(data["elsewhere"]),
    }


def _elsewhere(traces: Mapping[str, list[Data]]) -> Data:
    """Gains on every drive, under every load: a row a drive and load with the range over the traces."""
    cells = [cell for of in traces.values() for cell in of]

    def moves(chosen: Iterable[Data], figure: str, before: str, after: str) -> list[float]:
        found = (change(cell[before][figure], cell[after][figure]) for cell in chosen)
        return [one for one in found if one is not None]

    rows = []
    for device, speed, lanes in itertools.product(DRIVES, SPEEDS, LANES):
        here = [cell for cell in cells if (cell["drive"], cell["speed"], cell["lanes"]) == (device, speed, lanes)]
        spans = (
            span(moves(here, figure, before, after), signed)
            for figure, before, after in (
                ("programs", "conventional", "ca-ssd"), ("all_ns", "conventional", "ca-ssd"),
                ("read_ns", "ca-ssd", "rr-ssd"), ("programs", "ca-ssd", "rr-ssd"),
            )
        )  # fmt: skip
        rows.append([f"`{device}`", f"{speed:g}", f"{lanes}", *spans])
    head = ["drive", "speed", "lanes", "pages programmed", "mean response", "copies: mean read", "copies: programmed"]
    many = [cell for cell in cells if cell["lanes"] == max(LANES)]
    return {
        "elsewhere": grid(head, rows),
        "elsewhere_cells": len(cells),
        "ca_programs": moves(cells, "programs", "conventional", "ca-ssd"),
        "ca_responses": {
            device: moves((cell for cell in many if cell["drive"] == device), "all_ns", "conventional", "ca-ssd")
            for device in DRIVES
        },
        "ca_fewer": [-one for one in moves(cells, "programs", "conventional", "ca-ssd")],
        "rr_on_paper": moves((cell for cell in cells if cell["drive"] == "rr-ssd"), "read_ns", "ca-ssd", "rr-ssd"),
        "rr_elsewhere": moves((cell for cell in cells if cell["drive"] != "rr-ssd"), "read_ns", "ca-ssd", "rr-ssd"),
        "rr_programs": moves(cells, "programs", "ca-ssd", "rr-ssd"),
    }


def _amplification(one: Data) -> str:
    return ratio(one["programs"] / one["pages_written"]) if one["pages_written"] else NOTHING


STUDY = Study("comparison", "all systems on the recorded traces, as their papers have them", measure, pages)
