"""Each system as its paper has it, on the recorded traces and one aged drive."""

from collections.abc import Callable

from evidence.forms import NOTHING, change, grid, ratio, us
from evidence.studies.drives import AGED, drive, figures, preset
from evidence.study import CAPTURED, Data, Lab, Study

SYSTEMS = (
    "conventional", "static", "dynamic", "hipa", "hot-cold", "modern", "ds-ftl", "ca-ssd", "ca-ssd-inverted", "caftl",
    "rr-ssd", "rr-ssd-online", "pblru", "oracle",
)  # fmt: skip


def measure(lab: Lab) -> Data:
    traces = {}
    for name in CAPTURED:
        systems = {system: preset(system, system, drive(name), AGED) for system in SYSTEMS}
        replays = lab.replays(lab.trace(name), systems)
        traces[name] = {system: figures(replays[system]) for system in SYSTEMS}
    return {"traces": traces}


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
    }


def _amplification(one: Data) -> str:
    return ratio(one["programs"] / one["pages_written"]) if one["pages_written"] else NOTHING


STUDY = Study("comparison", "all systems on the recorded traces, as their papers have them", measure, pages)
