"""Effects of deduplication, replication, redirection and spreading on twins of drives of today, and their causes.

Every design stands on one ground: a fitted drive (`devices/real`), made as small as a recorded trace asks for, aged, as
its twin is measured (`flashtwin.drives.twin`). The load is relative to the drive: the clock of the trace is found at
which `conventional` still answers writes without waiting (its knee), and the loads are shares of it.

A case is one trace on one drive under one load. Its change is that of each seed, design against baseline. A change no
greater than the spread over seeds, or than a hundredth, is a tie.
"""

import io
import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import flashtwin as ft
from evidence import code
from evidence.code import ROOT
from evidence.forms import NOTHING, change, grid, signed, span
from evidence.studies.drives import AGED, PERIOD_S, blocks, figures, preset, trace_period_s
from evidence.studies.ranges import LEAST, WORDS, sign
from evidence.study import CAPTURED, Data, Lab, Study
from flashtwin.drives.history import begin_collection
from flashtwin.replays.presets import System
from flashtwin.settings import Value

DEVICES = ROOT / "devices" / "real"
#: The drives that stand on all traces: the one with most dies, with all loads and seeds, and the one with the fewest.
MAIN = ("kioxia-cm7-r-3840", "sk-hynix-pe8110-960")
#: The others stand on two traces, one with many duplicates and the one with the fewest, with deduplication and copies.
OTHERS = ("micron-7450-max-800", "solidigm-p5520-1920")
CONTRAST = ("mail", "trans")
#: Workloads as the papers describe them, each at a scale whose footprint is near that of the captures. They stand on
#: the drives of `MAIN` with deduplication and copies.
DESCRIBED: Mapping[str, float] = {"rr-ssd/hadoop": 0.3, "rr-ssd/desktop": 0.2, "ds-ftl/home1": 0.1, "ca-ssd/mids": 0.5}
SEEDS = (1, 2, 3)
#: The traces that have all seeds on the first drive.
SEEDED = ("webvm", "mail", "trans")
BASE = "conventional"
#: A trace has many duplicates if they are more of its written pages.
MANY_PERCENT = 50.0
SYSTEMS = ("conventional", "ds-ftl", "ca-ssd", "rr-ssd", "oracle")
#: The systems that hash every page, and their lanes. Papers have one lane.
HASHING, LANES = ("ca-ssd", "rr-ssd", "oracle"), 16
COPYING = ("conventional", "ca-ssd", "rr-ssd")
#: Loads, as parts of the clock at the knee of `conventional`.
LOADS: Mapping[str, float] = {"near the knee": 1.0, "past the knee": 4.0}
NEAR, PAST = LOADS
#: Near the knee once more: consecutive pages of an address range on consecutive dies, instead of filling one unit.
STATIC = "near the knee, static placement"
#: A drive is below its knee while its mean write takes no longer: an idle one takes 8 to 28 us, a program over 1 ms.
KNEE_NS = 100_000
#: The clocks that are tried are powers of 2: the exponents.
SLOWEST, FASTEST = -8, 12
#: Spare flash, as a share of the trace's pages, and program units of a block.
SPARE, BLOCK_UNITS = 0.2, 4
#: The ground of the twins that the fit measures (`flashtwin.drives.twin.small`), the same for all designs.
GROUND: Mapping[str, Value] = {
    **AGED, "ftl.wear.policy": "none", "ftl.allocation.policy": "dynamic", "engine.merge_reads": "none",
    # Pages that wait in RAM for their program unit to fill are no load of a die; "queue-length" counts them.
    "engine.load": "expected-wait", "replay.period_s": PERIOD_S,
}  # fmt: skip


def keys(name: str, trace: ft.Trace, spare: float = SPARE) -> dict[str, Value]:
    """A fitted drive for a trace: the dies it has, and blocks for the pages of the trace and the spare ones."""
    # The path as it is from here: the configuration names it, and no path of one machine is to be in a key.
    device = os.path.relpath(DEVICES / f"{name}.toml", Path.cwd())
    program_pages = int(ft.system("conventional", settings={"device": device}).config["nand"]["program_pages"])
    found: dict[str, Value] = {"device": device, "nand.pages_per_block": BLOCK_UNITS * program_pages}
    size = blocks(trace, ft.system("conventional", settings=found), spare)
    return {**found, "nand.blocks_per_plane": size, **begin_collection(size), **GROUND}


def systems(names: Iterable[str], ground: Mapping[str, Value]) -> dict[str, System]:
    """Systems on a ground, with lanes where every page is hashed."""
    return {name: preset(name, name, {"engine.hash_lanes": LANES} if name in HASHING else {}, ground) for name in names}


@dataclass(frozen=True)
class Cause:
    """A possible cause of a change of a figure, and the keys or the drive under which it is gone."""

    effect: str
    design: str
    base: str
    figure: str
    cause: str
    off: Mapping[str, Value]
    #: Keys under which the effect is looked at, beside the ground.
    on: Mapping[str, Value] = field(default_factory=dict)
    load: str = "near the knee"
    spare_off: float = SPARE


_STATIC: Mapping[str, Value] = {"ftl.allocation.policy": "static"}
_HOME: Mapping[str, Value] = {"ftl.redirection.policy": "home"}
#: Next to nothing is left to move.
_UNCOLLECTED = 3.0
CAUSES = (
    Cause("`ca-ssd`, programs", "ca-ssd", BASE, "programs", "moves of collection", {}, spare_off=_UNCOLLECTED),
    Cause("`ca-ssd`, mean write", "ca-ssd", BASE, "write_ns", "12 us of hashing (1 us instead)",
          {"engine.hash_us": 1.0}),
    Cause("`ca-ssd`, mean write past the knee", "ca-ssd", BASE, "write_ns", "moves of collection", {}, load=PAST,
          spare_off=_UNCOLLECTED),
    Cause("`ca-ssd`, mean read", "ca-ssd", BASE, "read_ns", "filling unit after unit (static instead)", _STATIC),
    Cause("`ds-ftl`, mean read", "ds-ftl", BASE, "read_ns", "redirection", _HOME),
    Cause("`rr-ssd` against `ca-ssd`, mean read", "rr-ssd", "ca-ssd", "read_ns", "redirection", _HOME),
    Cause("`rr-ssd` against `ca-ssd`, p99 of reads", "rr-ssd", "ca-ssd", "read_p99_ns",
          "one sense for four pages (for each one instead)", {"nand.sense_pages": 1}),
    Cause("`rr-ssd`, mean read, static placement", "rr-ssd", BASE, "read_ns", "copies (no period ends)",
          {**_STATIC, "replay.period_s": 10_000.0}, _STATIC),
    Cause("`ds-ftl`, mean read, static placement, load as queue length", "ds-ftl", BASE, "read_ns",
          "counting pages that wait for their unit (expected wait instead)", _STATIC,
          {**_STATIC, "engine.load": "queue-length"}),
)  # fmt: skip


def measure(lab: Lab) -> Data:
    drives: dict[str, dict[str, Any]] = {name: {} for name in (*MAIN, *OTHERS)}
    causes = {}
    for trace in CAPTURED:
        recorded = lab.trace(trace)
        for name in (*MAIN, *(OTHERS if trace in CONTRAST else ())):
            lab.say(f"{trace} on {name}")
            seeds, designs = SEEDS if trace in SEEDED else SEEDS[:1], SYSTEMS if name in MAIN else COPYING
            drives[name][trace] = _grid(lab, recorded, name, seeds, {}, designs)
        if trace in CONTRAST:
            causes[trace] = {
                one.effect: _switched(lab, recorded, one, drives[MAIN[0]][trace]["knee"]) for one in CAUSES
            }
    for name, scale in DESCRIBED.items():
        for described, made in lab.others(scale, [name]):
            for drive in MAIN:
                lab.say(f"{described} on {drive}")
                ground = {"replay.period_s": trace_period_s(made)}
                drives[drive][described] = _grid(lab, made, drive, SEEDS[:1], ground, COPYING)
    return {"drives": drives, "causes": causes}


def _grid(
    lab: Lab, trace: ft.Trace, name: str, seeds: Sequence[int], more: Mapping[str, Value], names: Sequence[str]
) -> dict[str, Any]:
    drive = {**keys(name, trace), **more}
    at = knee(lab, trace, drive)
    loads = {}
    for load in (NEAR, PAST, STATIC) if name in MAIN else (NEAR, PAST):
        ground = {**drive, "replay.speed": LOADS.get(load, 1.0) * 2.0**at}
        if load == STATIC:
            ground["ftl.allocation.policy"] = "static"
        drawn = seeds if load == NEAR and name == MAIN[0] else SEEDS[:1]
        each = {f"{seed}": lab.replays(trace, systems(names, {**ground, "seed": seed})) for seed in drawn}
        loads[load] = {system: {seed: figures(kept[system], *WORDS) for seed, kept in each.items()} for system in names}
    return {"duplicate_percent": trace.info["duplicate_write_percent"], "knee": at, "loads": loads}


def knee(lab: Lab, trace: ft.Trace, drive: Mapping[str, Value]) -> int:
    """The fastest clock, as an exponent of 2, at which writes of `conventional` hardly wait."""

    def keeps_up(exponent: int) -> bool:
        kept = lab.replays(trace, systems([BASE], {**drive, "replay.speed": 2.0**exponent}))[BASE]
        return (kept.get("response.write.mean_ns") or 0.0) <= KNEE_NS

    return last_exponent(keeps_up)


def last_exponent(holds: Callable[[int], bool]) -> int:
    """The greatest exponent for which something holds that holds for all smaller ones."""
    at, held = 0, holds(0)
    step = 1 if held else -1
    while SLOWEST < at < FASTEST:
        at += step
        if holds(at) is not held:
            return at - 1 if held else at
    return at


def _switched(lab: Lab, trace: ft.Trace, one: Cause, at: int) -> dict[str, float | None]:
    def changed(spare: float, sets: Mapping[str, Value]) -> float | None:
        ground = {**keys(MAIN[0], trace, spare), "replay.speed": LOADS[one.load] * 2.0**at, **sets}
        kept = lab.replays(trace, systems((one.base, one.design), ground))
        return change(*(figures(kept[name])[one.figure] for name in (one.base, one.design)))

    return {"with": changed(SPARE, one.on), "without": changed(one.spare_off, one.off)}


@dataclass(frozen=True)
class Case:
    """The change of a figure on one drive and trace, seed by seed."""

    drive: str
    trace: str
    changes: Sequence[float]
    spread: float

    @property
    def mean(self) -> float:
        return statistics.fmean(self.changes)

    @property
    def sign(self) -> int:
        """-1 if the figure falls, 1 if it rises, 0 for a tie."""
        return sign(self.mean, max(LEAST, self.spread))


def cases(data: Data, design: str, figure: str, load: str, base: str = BASE, traces: Sequence[str] = ()) -> list[Case]:
    """The cases of these traces, or of all, in which both systems stand and the figure is defined."""
    found = []
    for drive, trace, grounds in _grounds(data):
        by_system = _by_system(grounds, load)
        known = _changes(by_system.get(base, ()), by_system.get(design, ()), figure)
        if known and (not traces or trace in traces):
            found.append(Case(drive, trace, known, _spread(data, drive, trace, design, figure, base)))
    return found


def _spread(data: Data, drive: str, trace: str, design: str, figure: str, base: str) -> float:
    """The spread over seeds near the knee. With a single seed it is that of the first drive, or the widest."""
    spreads = {}
    for name, of, grounds in _grounds(data):
        by_system = _by_system(grounds, NEAR)
        known = _changes(by_system[base], by_system.get(design, ()), figure)
        if len(known) > 1:
            spreads[name, of] = max(known) - min(known)
    return spreads.get((drive, trace), spreads.get((MAIN[0], trace), max(spreads.values(), default=0.0)))


def _grounds(data: Data) -> Iterator[tuple[str, str, Data]]:
    for drive, traces in data["drives"].items():
        for trace, grounds in traces.items():
            yield drive, trace, grounds


def _by_system(grounds: Data, load: str) -> dict[str, list[Data]]:
    """The figures of each system under a load, seed by seed; none if the load was not replayed."""
    return {name: list(seeds.values()) for name, seeds in grounds["loads"].get(load, {}).items()}


def _changes(before: Sequence[Data], after: Sequence[Data], figure: str) -> list[float]:
    pairs = (change(one[figure], other[figure]) for one, other in zip(before, after, strict=False))
    return [value for value in pairs if value is not None]


def direction(found: Sequence[Case]) -> str:
    """How a figure changes over the cases, with the range: `falls in all 12 cases (-87 to -20 %)`."""
    if not found:
        return NOTHING
    signs = [one.sign for one in found]
    counted = [(signs.count(one), word) for one, word in ((-1, "falls"), (1, "rises"), (0, "ties")) if one in signs]
    words = ", ".join(f"{word} in {number if len(counted) > 1 else f'all {number} cases'}" for number, word in counted)
    return f"{words} ({span((one.mean for one in found), lambda share: signed(share, 0))})"


def verdict(found: Sequence[Case]) -> str:
    """The effect of a design on a figure that is to be small, in words that the cases support."""
    signs = {one.sign for one in found}
    if {-1, 1} <= signs:
        return "pays in some cases and costs in others"
    if signs <= {0}:
        return "changes nothing"
    return f"{'pays' if -1 in signs else 'costs'}{' or changes nothing' if 0 in signs else ''}"


COMPARED = (
    ("pages programmed", "programs", NEAR), ("mean read", "read_ns", NEAR), ("p99 of reads", "read_p99_ns", NEAR),
    ("mean read, static placement", "read_ns", STATIC), ("mean write", "write_ns", NEAR),
    ("mean write past the knee", "write_ns", PAST),
)  # fmt: skip


def remainder(with_it: float, without: float) -> str:
    """Whether an effect went when its cause was switched off, in words."""
    if sign(without, LEAST) == 0:
        return "the effect is gone"
    if without * with_it < 0:
        return "the effect turns round"
    left = without / with_it
    if left > 1.1:
        return "the effect grows"
    return "most of it is gone" if left < 0.5 else "part of it is gone" if left < 0.9 else "the effect stays"


def _stays(of: Data) -> bool:
    """Whether an effect is still there once its cause is switched off."""
    return bool(remainder(of["with"], of["without"]) == "the effect stays")


def _causes_table(data: Data) -> list[str]:
    rows = []
    for one in CAUSES:
        for trace, found in data["causes"].items():
            tie = max(LEAST, _spread(data, MAIN[0], trace, one.design, one.figure, one.base))
            with_it, without = found[one.effect]["with"], found[one.effect]["without"]
            if sign(with_it, tie) != 0:
                so = remainder(with_it, without)
                rows.append([one.effect, f"`{trace}`", signed(with_it), one.cause, signed(without), so])
    return grid(["change", "trace", "is", "switched off", "then", "so"], rows)


def pages(data: Data) -> Data:
    shares = {trace: grounds["duplicate_percent"] for _, trace, grounds in _grounds(data)}
    many = [trace for trace, share in shares.items() if share > MANY_PERCENT]
    few = [trace for trace in shares if trace not in many]
    designs = ("ca-ssd", "rr-ssd", "oracle", "ds-ftl")

    def table(traces: Sequence[str]) -> list[str]:
        return grid(["against `conventional`", *(f"`{design}`" for design in designs)], (
            [label, *(direction(cases(data, design, figure, load, traces=traces)) for design in designs)]
            for label, figure, load in COMPARED
        ))  # fmt: skip

    flash = cases(data, "ca-ssd", "programs", NEAR)
    copies = cases(data, "rr-ssd", "programs", NEAR, "ca-ssd")
    return {
        "many": many, "few": few, "table_many": table(many), "table_few": table(few),
        "flash": {"verdict": verdict(flash), "went": direction(flash)},
        "copies": {"verdict": verdict(copies), "went": direction(copies)},
        "writes": {
            "near": verdict(cases(data, "ca-ssd", "write_ns", NEAR, traces=many)),
            "past": verdict(cases(data, "ca-ssd", "write_ns", PAST, traces=many)),
        },
        "reads": {
            placement: {
                design: verdict(cases(data, design, "read_ns", load, traces=many)) for design in designs[:2]
            }
            for placement, load in (("filling", NEAR), ("static", STATIC))
        },
        "causes": _causes_table(data), "main": MAIN[0], "fastest": 2**FASTEST,
        "stays": [name for name, of in data["causes"][CONTRAST[0]].items() if _stays(of)],
        "kept_up": sorted({trace for _, trace, grounds in _grounds(data) if grounds["knee"] >= FASTEST}),
    }  # fmt: skip


_PANELS = (
    ("mean read, near the knee", "read_ns", NEAR), ("mean read, static placement", "read_ns", STATIC),
    ("mean write, near the knee", "write_ns", NEAR), ("mean write, past the knee", "write_ns", PAST),
    ("pages programmed", "programs", NEAR),
)  # fmt: skip
_DRAWN = (
    ("ca-ssd", "#0077bb", "o"), ("rr-ssd", "#cc3311", "s"), ("oracle", "#999999", "|"), ("ds-ftl", "#009988", "^"),
)  # fmt: skip


def drawings(data: Data) -> Mapping[Path, str]:
    """The figure of each design over that of `conventional`: a row a drive and trace, a panel a figure."""
    rows = [(drive, trace) for drive, trace, _ in _grounds(data)]
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gains", "font.size": 8}):
        figure = Figure(figsize=(9.6, 0.32 * len(rows) + 1.2), layout="constrained")
        axes = figure.subplots(1, len(_PANELS), sharey=True)
        for panel, (title, name, load) in zip(axes, _PANELS, strict=True):
            _panel(panel, data, rows, name, load)
            panel.set_title(title, fontsize=7)
        axes[0].set_yticks(range(len(rows)), [f"{_short(drive)}, {trace}" for drive, trace in rows])
        axes[0].invert_yaxis()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(_DRAWN), frameon=False)
        return {ROOT / "docs" / "images" / "gains.svg": svg(figure)}


def svg(figure: Figure) -> str:
    """A drawing as text, without blanks at the ends of lines."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _short(drive: str) -> str:
    """A drive without its maker and size: `cm7-r` for `kioxia-cm7-r-3840`."""
    return "-".join(drive.split("-")[1:-1]).removeprefix("hynix-")


def _panel(panel: Axes, data: Data, rows: Sequence[tuple[str, str]], name: str, load: str) -> None:
    panel.axvline(1.0, color="black", linewidth=0.8)
    for place, (design, colour, marker) in enumerate(_DRAWN):
        for nth, one in enumerate(cases(data, design, name, load)):
            at = rows.index((one.drive, one.trace)) + 0.16 * (place - 1.5)
            low, high = 1 + min(one.changes), 1 + max(one.changes)
            panel.plot([low, high], [at, at], color=colour, linewidth=1.0)
            panel.plot(1 + one.mean, at, marker, color=colour, markersize=4, label="" if nth else design)
    if load == PAST:
        # Gains of two or three powers of ten.
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.xaxis.set_minor_formatter(lambda *_: "")
    elif panel.get_xlim()[0] < 0.4:
        panel.set_xlim(left=0.0)
    panel.set_xlabel("times that of conventional", fontsize=7)
    panel.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)


CODE = (*code.REPLAY, *code.TWINS, "python/flashtwin/drives/history.py", "evidence/studies/ranges.py")
STUDY = Study("gains", "effects of the designs on drives of today", measure, pages, CODE, drawings)
