"""Gains of the designs on drives of today: verdicts, tables and the picture, all from the figures of the stage.

A cell is one trace on one drive under one load. Its change is that of each seed, design against baseline. A change no
greater than the spread over seeds, or than a hundredth, is a tie.
"""

from __future__ import annotations

import io
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evidence.conclusions import LEAST, change, sign
from evidence.forms import NOTHING, grid, percent, ratio, signed, span, us
from evidence.stages.gains import CHOICES, LIGHT, MAIN, NEAR, PAST, STATIC

Data = Mapping[str, Any]
BASE = "conventional"
#: Of written pages that are duplicates: more are many.
_MANY_PERCENT = 50.0


@dataclass(frozen=True)
class Cell:
    """The change of a figure on one drive and trace, seed by seed."""

    drive: str
    trace: str
    changes: Sequence[float]
    #: The spread over seeds.
    spread: float

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return statistics.fmean(self.changes)

    @property
    def sign(self) -> int:
        """-1 where the figure falls, 1 where it rises, 0 for a tie."""
        return sign(self.mean, max(LEAST, self.spread))

    @property
    def text(self) -> str:
        """The change with its range over seeds; a tie is called one."""
        return f"{span(self.changes, signed)}" + (" (tie)" if self.sign == 0 else "")


def cells(
    data: Data, design: str, figure: str, load: str = NEAR, base: str = BASE, traces: Sequence[str] = ()
) -> list[Cell]:
    """The cells of these traces, or of all, in which both systems stand and the figure is defined."""
    found = []
    for drive, trace, grounds in _grounds(data):
        if traces and trace not in traces:
            continue
        systems = _systems(grounds, load)
        if design in systems and base in systems:
            known = _changes(systems[base], systems[design], figure)
            if known:
                found.append((drive, trace, known))
    return [
        Cell(drive, trace, known, _spread(data, drive, trace, design, figure, base)) for drive, trace, known in found
    ]


def _spread(data: Data, drive: str, trace: str, design: str, figure: str, base: str) -> float:
    """The spread over seeds near the knee; that of the first drive, or the widest, where there is a single seed."""
    spreads = {}
    for name, of, grounds in _grounds(data):
        systems = _systems(grounds, NEAR)
        known = _changes(systems[base], systems.get(design, ()), figure)
        if len(known) > 1:
            spreads[name, of] = max(known) - min(known)
    return spreads.get((drive, trace), spreads.get((MAIN[0], trace), max(spreads.values(), default=0.0)))


def _grounds(data: Data) -> Iterator[tuple[str, str, Data]]:
    """Drive, trace, and the result there."""
    for drive, traces in data["drives"].items():
        for trace, grounds in traces.items():
            yield drive, trace, grounds


def duplicated(data: Data, *, many: bool) -> list[str]:
    """The traces of whose written pages more than half are duplicates, or the others."""
    shares = {trace: grounds["duplicate_percent"] for _, trace, grounds in _grounds(data)}
    return [trace for trace, share in shares.items() if (share > _MANY_PERCENT) == many]


def _systems(grounds: Data, load: str) -> dict[str, list[Data]]:
    """The figures of each system under a load, seed by seed; none where the load was not replayed."""
    return {name: list(seeds.values()) for name, seeds in grounds["loads"].get(load, {}).items()}


def _changes(before: Sequence[Data], after: Sequence[Data], figure: str) -> list[float]:
    pairs = (change(one[figure], other[figure]) for one, other in zip(before, after, strict=False))
    return [value for value in pairs if value is not None]


def went(found: Sequence[Cell]) -> str:
    """Which way a figure goes over the cells, with the range: `falls in all 12 cases (-87 to -20 %)`."""
    told = [(number, word) for number, word in _counted(found) if number]
    if not told:
        return f"is not defined {NOTHING}"
    of, range_ = len(found), f"({span((one.mean for one in found), _whole)})"
    (number, word), *others = told
    if not others:
        return f"{word} in all {of} cases {range_}"
    more = "".join(f", {other} in {count}" for count, other in others)
    return f"{word} in {number} of {of} cases{more} {range_}"


def _counted(found: Sequence[Cell]) -> list[tuple[int, str]]:
    signs = [one.sign for one in found]
    return [(signs.count(-1), "falls"), (signs.count(1), "rises"), (signs.count(0), "ties")]


def verdict(found: Sequence[Cell]) -> str:
    """The effect of a design on a figure that is to be small, in words that the cells bear out."""
    falls, rises, ties = (number for number, _ in _counted(found))
    if falls and rises:
        return "pays in some cases and costs in others"
    if not falls and not rises:
        return "changes nothing"
    return f"{'pays' if falls else 'costs'}{' or changes nothing' if ties else ''}"


def placements(data: Data, designs: Sequence[str], traces: Sequence[str] = ()) -> str:
    """Whether the verdicts on reads are the same under both placements."""
    both = {
        name: [verdict(cells(data, name, "read_ns", load, traces=traces)) for load in (NEAR, STATIC)]
        for name in designs
    }
    other = [name for name, (filling, static) in both.items() if filling != static]
    if not other:
        return "Placement does not change the verdict on reads"
    names = " and ".join([", ".join(f"`{name}`" for name in other[:-1]), f"`{other[-1]}`"][other[:-1] == [] :])
    return f"Placement decides what {names} {'do' if other[:-1] else 'does'} for reads"


def _whole(share: float | None) -> str:
    return signed(share, 0)


def knee_factors(data: Data, design: str) -> list[float]:
    """By how much faster a clock a design keeps up with than `conventional`, cell by cell."""
    return [2.0 ** (grounds["knees"][design] - grounds["knees"][BASE]) for _, _, grounds in _grounds(data)]


def times(factors: Iterable[float]) -> str:
    """`2 to 16 times`."""
    return f"{span(factors, lambda value: f'{value:g}')} times"


def knees_moved(data: Data, design: str) -> str:
    """The effect of a design on the load at which writes begin to wait, chosen by the factors."""
    factors = knee_factors(data, design)
    of, more, less = len(factors), sum(one > 1 for one in factors), sum(one < 1 for one in factors)
    if not more and not less:
        return "takes as much load before writes wait"
    words = [f"{word} load in {number} of {of} cases" for number, word in ((more, "more"), (less, "less")) if number]
    return f"takes {' and '.join(words)} before writes wait ({times(factors)} the clock)"


def typical(data: Data, system: str, figure: str, load: str = NEAR, beside: str = NEAR) -> str:
    """The median over cells of a time in microseconds, of the cells that have the load `beside` as well."""
    known = [
        one[figure] for _, _, grounds in _grounds(data) if _systems(grounds, beside)
        for one in _systems(grounds, load).get(system, ()) if one[figure] is not None
    ]  # fmt: skip
    return us(statistics.median(known), 0) if known else NOTHING


def short(drive: str) -> str:
    """A drive without its maker and size: `cm7-r` for `kioxia-cm7-r-3840`."""
    return "-".join(drive.split("-")[1:-1]).removeprefix("hynix-")


def changes_table(data: Data, figure: str, designs: Sequence[str], load: str = NEAR) -> str:
    """A row a drive and trace: the figure of `conventional`, and the change of each design."""
    by_design = [{(one.drive, one.trace): one for one in cells(data, design, figure, load)} for design in designs]
    rows = []
    for drive, trace, grounds in _grounds(data):
        systems = _systems(grounds, load)
        if not systems:
            continue
        own = [one[figure] for one in systems[BASE]]
        found = [by.get((drive, trace)) for by in by_design]
        told = (one.text if one else NOTHING for one in found)
        rows.append([short(drive), f"`{trace}`", _plain(figure, own), *told])
    return grid(["drive", "trace", f"`{BASE}`", *(f"`{design}`" for design in designs)], rows)


def _plain(figure: str, values: Sequence[float | None]) -> str:
    return span(values, us) + " us" if figure.endswith("_ns") else span(values, lambda value: f"{value or 0:,.0f}")


def writes_table(data: Data) -> str:
    """A row a drive and trace: mean and p99 of writes, us, near the knee and past it."""
    shown = ((BASE, NEAR), ("ca-ssd", NEAR), ("ca-ssd, 1 lane", NEAR), (BASE, PAST), ("ca-ssd", PAST), ("rr-ssd", PAST))
    rows = []
    for drive, trace, grounds in _grounds(data):
        first = (_systems(grounds, load)[system][0] for system, load in shown)
        told = (f"{us(one['write_ns'], 0)} / {us(one['write_p99_ns'], 0)}" for one in first)
        rows.append([short(drive), f"`{trace}`", *told])
    return grid(["drive", "trace", *(f"`{system}`{'' if load == NEAR else ', past'}" for system, load in shown)], rows)


def ram_times(data: Data, design: str) -> str:
    """The RAM of a design's tables over that of `conventional`, over drives and traces."""
    loads = [found for _, _, one in _grounds(data) if design in (found := _systems(one, NEAR))]
    return span(
        (one[design][0]["ram_bytes"] / one[BASE][0]["ram_bytes"] for one in loads), lambda value: ratio(value, 1)
    )


def lanes_busy(data: Data, design: str) -> str:
    """The share of the time that hash lanes work near the knee, over drives and traces."""
    loads = [found for _, _, one in _grounds(data) if design in (found := _systems(one, NEAR))]
    return span((one[design][0]["hash_utilisation"] for one in loads), lambda value: percent(value, 2))


def drives_table(data: Data) -> str:
    """How small each drive was made, how fast the clock ran, and how much of the time dies worked."""
    rows = []
    for drive, trace, grounds in _grounds(data):
        near = _systems(grounds, NEAR)[BASE][0]
        rows.append([
            short(drive), f"`{trace}`", grounds["keys"]["nand.blocks_per_plane"], f"{2.0 ** grounds['knees'][BASE]:g}",
            percent(near["busy"], 1), ratio(near["programs"] / near["pages_written"]),
            f"{knee_of(grounds, 'ca-ssd'):g}",
        ])  # fmt: skip
    head = ["drive", "trace", "blocks a die", "clock at the knee", "dies work", "WA", "knee of `ca-ssd`, times"]
    return grid(head, rows)


def knee_of(grounds: Data, design: str) -> float:
    """The clock at a design's knee over that of `conventional`."""
    return float(2.0 ** (grounds["knees"][design] - grounds["knees"][BASE]))


@dataclass(frozen=True)
class ChangeByChoice:
    """A change under every choice, on one trace: that of the ground, and those of all levels."""

    ground: float
    levels: Mapping[tuple[str, str], float]
    #: A change of no more than this is a tie.
    tie: float

    @property
    def mover(self) -> tuple[str, str]:
        """The choice and the level that move it most."""
        return max(self.levels, key=lambda one: abs(self.levels[one] - self.ground))

    @property
    def turned(self) -> list[tuple[str, str]]:
        """Levels under which the change has the opposite sign; of a tie, none."""
        own = sign(self.ground, self.tie)
        return [one for one, value in self.levels.items() if sign(value, self.tie) * own < 0]


def varied(data: Data, trace: str, design: str, figure: str, base: str = BASE, load: str = NEAR) -> ChangeByChoice:
    """The change on the main drive of the choices, under each of them, with the first seed."""
    ground = {name: seeds[0] for name, seeds in _systems(data["drives"][MAIN[0]][trace], load).items()}
    levels = {}
    for choice, found in data["choices"][trace][load].items():
        for level, systems in found.items():
            # A design that a choice does not touch is as the ground has it.
            moved = (
                change(systems.get(base, ground[base])[figure], systems[design][figure]) if design in systems else None
            )
            if moved is not None:
                levels[choice, level] = moved
    own = change(ground[base][figure], ground[design][figure])
    assert own is not None, f"{design}: {figure} is not defined on {trace}"
    return ChangeByChoice(own, levels, max(LEAST, _spread(data, MAIN[0], trace, design, figure, base)))


#: The changes that are looked at under every choice: design, figure and load, against `conventional`.
QUESTIONS = (
    ("`ca-ssd`: programs", "ca-ssd", "programs", NEAR), ("`ca-ssd`: mean read", "ca-ssd", "read_ns", NEAR),
    ("`ca-ssd`: mean write", "ca-ssd", "write_ns", NEAR),
    ("`ca-ssd`: mean write past the knee", "ca-ssd", "write_ns", PAST),
    ("`rr-ssd`: mean read", "rr-ssd", "read_ns", NEAR), ("`rr-ssd`: p99 of reads", "rr-ssd", "read_p99_ns", NEAR),
    ("`ds-ftl`: mean read", "ds-ftl", "read_ns", NEAR),
)  # fmt: skip


def choices_table(data: Data) -> str:
    """A row a question and trace: the change, its range over all choices, what moves it most, what turns it round."""
    rows = []
    for label, design, figure, load in QUESTIONS:
        for trace in data["choices"]:
            one = varied(data, trace, design, figure, load=load)
            choice, level = one.mover
            turned = "; ".join(f"{name}: {value}" for name, value in one.turned) or NOTHING
            rows.append([
                label, f"`{trace}`", signed(one.ground), span([one.ground, *one.levels.values()], signed),
                f"{choice}: {level} ({signed(one.levels[choice, level])})", turned,
            ])  # fmt: skip
    return grid(["figure", "trace", "change", "range", "moved most by", "turned round by"], rows)


def turns(data: Data, choice: str) -> str:
    """The changes that a choice turns round, by figure, trace and level."""
    found = []
    for label, design, figure, load in QUESTIONS:
        for trace in data["choices"]:
            turned = varied(data, trace, design, figure, load=load).turned
            found += [f"{label} on `{trace}` ({level})" for name, level in turned if name == choice]
    return "; ".join(found) or "none of them"


def choices_named() -> str:
    """The factors."""
    return ", ".join(choice.name for choice in CHOICES)


@dataclass(frozen=True)
class Cause:
    """A possible cause of a change: a choice and its level under which the cause is gone."""

    effect: str
    design: str
    base: str
    figure: str
    cause: str
    off: tuple[str, str]
    #: Under which the effect is looked at, where that is not the ground.
    on: tuple[str, str] | None = None
    load: str = NEAR


_STATIC = ("placement", "static")
_UNCOLLECTED = ("spare flash", "300 %, next to nothing to move")
#: By name.
CAUSES: Mapping[str, Cause] = {
    "collected": Cause("`ca-ssd`, programs", "ca-ssd", BASE, "programs", "moves of collection", _UNCOLLECTED),
    "hashing": Cause("`ca-ssd`, mean write", "ca-ssd", BASE, "write_ns",
                     "12 us of hashing (1 us instead)", ("time of a fingerprint", "1 us")),
    "stalled": Cause("`ca-ssd`, mean write past the knee", "ca-ssd", BASE, "write_ns",
                     "moves of collection", _UNCOLLECTED, load=PAST),
    "filling": Cause("`ca-ssd`, mean read", "ca-ssd", BASE, "read_ns", "filling unit after unit (static instead)",
                     _STATIC),
    "spreading": Cause("`ds-ftl`, mean read", "ds-ftl", BASE, "read_ns", "redirection", ("redirection", "off")),
    "redirecting": Cause("`rr-ssd` against `ca-ssd`, mean read", "rr-ssd", "ca-ssd", "read_ns", "redirection",
                         ("redirection", "off")),
    "senses": Cause("`rr-ssd` against `ca-ssd`, p99 of reads", "rr-ssd", "ca-ssd", "read_p99_ns",
                    "one sense for four pages (for each one instead)", ("pages sensed at once", "1")),
    "copying": Cause("`rr-ssd`, mean read, static placement", "rr-ssd", BASE, "read_ns", "copies",
                     ("copies under static placement", "none"), _STATIC),
    "gathered": Cause("`ds-ftl`, mean read, static placement, load as queue length", "ds-ftl", BASE, "read_ns",
                      "counting pages that wait for their unit (expected wait instead)", _STATIC,
                      ("load measure", "queue length, static placement")),
}  # fmt: skip
_GONE = {"the effect is gone", "the effect turns round", "most of it is gone"}


def _switched(data: Data, one: Cause, trace: str) -> tuple[float, float, float]:
    """A change with its cause, without it, and how small a change is a tie."""
    found = varied(data, trace, one.design, one.figure, one.base, one.load)
    return found.levels[one.on] if one.on else found.ground, found.levels[one.off], found.tie


def caused(data: Data, name: str, trace: str) -> bool:
    """Whether most of an effect goes with its cause."""
    with_it, left, tie = _switched(data, CAUSES[name], trace)
    return sign(with_it, tie) != 0 and gone(with_it, left) in _GONE


def causes_table(data: Data) -> str:
    """A row a cause and trace: the change with the cause, the change without it, and whether the effect went."""
    rows = []
    for one in CAUSES.values():
        for trace in data["choices"]:
            with_it, left, tie = _switched(data, one, trace)
            if sign(with_it, tie) == 0:
                continue
            rows.append([one.effect, f"`{trace}`", signed(with_it), one.cause, signed(left), gone(with_it, left)])
    return grid(["change", "trace", "is", "switched off", "then", "so"], rows)


def gone(with_it: float, without: float) -> str:
    """Whether an effect went when its cause was switched off, in words."""
    if sign(with_it, LEAST) == 0:
        return "no effect to explain" if sign(without, LEAST) == 0 else "an effect appears"
    if sign(without, LEAST) == 0:
        return "the effect is gone"
    if without * with_it < 0:
        return "the effect turns round"
    left = without / with_it
    if left > 1.1:
        return "the effect grows"
    return "most of it is gone" if left < 0.5 else "part of it is gone" if left < 0.9 else "the effect stays"


#: Panels of the picture: title, figure, load.
_PANELS = (
    ("mean read, near the knee", "read_ns", NEAR), ("mean read, static placement", "read_ns", STATIC),
    ("mean write, near the knee", "write_ns", NEAR), ("mean write, past the knee", "write_ns", PAST),
    ("pages programmed", "programs", NEAR),
)  # fmt: skip
_DRAWN = (
    ("ca-ssd", "#0077bb", "o"),
    ("rr-ssd", "#cc3311", "s"),
    ("oracle", "#999999", "|"),
    ("ds-ftl", "#009988", "^"),
)


def picture(data: Data) -> str:
    """The figure of each design over that of `conventional`: a row a drive and trace, a panel a figure. SVG."""
    rows = [(drive, trace) for drive, trace, _ in _grounds(data)]
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gains", "font.size": 8}):
        figure = Figure(figsize=(9.6, 0.32 * len(rows) + 1.2), layout="constrained")
        axes = figure.subplots(1, len(_PANELS), sharey=True)
        for panel, (title, name, load) in zip(axes, _PANELS, strict=True):
            _panel(panel, data, rows, name, load)
            panel.set_title(title, fontsize=7)
        axes[0].set_yticks(range(len(rows)), [f"{short(drive)}, {trace}" for drive, trace in rows])
        axes[0].invert_yaxis()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(_DRAWN), frameon=False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _panel(panel: Axes, data: Data, rows: Sequence[tuple[str, str]], name: str, load: str) -> None:
    panel.axvline(1.0, color="black", linewidth=0.8)
    for place, (design, colour, marker) in enumerate(_DRAWN):
        for one in cells(data, design, name, load):
            at = rows.index((one.drive, one.trace)) + 0.16 * (place - 1.5)
            low, high = 1 + min(one.changes), 1 + max(one.changes)
            panel.plot([low, high], [at, at], color=colour, linewidth=1.0)
            panel.plot(1 + one.mean, at, marker, color=colour, markersize=4, label=_once(panel, design))
    if load == PAST:
        # Gains of two or three powers of ten.
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.xaxis.set_minor_formatter(lambda *_: "")
    elif panel.get_xlim()[0] < 0.4:
        panel.set_xlim(left=0.0)
    panel.set_xlabel("times that of conventional", fontsize=7)
    panel.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)


def _once(panel: Axes, label: str) -> str:
    """A label for the first mark of a design only."""
    return "" if label in panel.get_legend_handles_labels()[1] else label


WORDS: Mapping[str, Callable[..., Any] | str] = {
    "gain_cells": cells, "gain_went": went, "gain_verdict": verdict, "gain_placements": placements,
    "gain_knees": knees_moved, "gain_typical": typical, "gain_ram": ram_times, "gain_lanes": lanes_busy,
    "gain_table": changes_table, "gain_writes": writes_table, "gain_drives": drives_table,
    "gain_choices": choices_table, "gain_causes": causes_table, "gain_caused": caused, "gain_turns": turns,
    "gain_varied": choices_named, "gain_traces": duplicated,
    "gain_main": short(MAIN[0]), "LIGHT": LIGHT, "NEAR": NEAR, "PAST": PAST, "STATIC": STATIC,
}  # fmt: skip
