"""How charts look: colours, type, axes; and how a figure becomes the bytes of an SVG or a PNG.

Figures are made with explicit `Figure` objects inside `styled()`: no pyplot,
no state left behind, and the user's matplotlibrc does not matter. The same
figure gives the same bytes: no timestamps, ids derived from a fixed salt.

Dark mode: neutral colours are written as hex codes that occur nowhere else,
so that the page can replace them (and the systems' colours) by CSS variables.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from flashtwin.results.reading import Run, Study

from . import units

INK = "#1b1f25"
MUTED = "#5b6571"
GRID = "#e1e5eb"
SURFACE = "#fffffe"

#: (light, dark) pairs after Okabe and Ito, whose hues stay apart for all common colour blindnesses.
#: Grey is the baseline's; the others are given to known systems first, then in order.
GREY = ("#8b939e", "#9aa3ae")
HUES = (
    ("#0b72b5", "#4ba3e3"),  # blue
    ("#d55e01", "#f0803c"),  # vermilion
    ("#009e74", "#2fc89c"),  # green
    ("#cc79a8", "#de93bc"),  # purple
    ("#e69f02", "#f2b632"),  # orange
    ("#56b4ea", "#7cc9f5"),  # sky
    ("#7a5195", "#a583c2"),  # violet
    ("#6b7f1e", "#a4bb4a"),  # olive
)
KNOWN = {"ca-ssd": 0, "rr-ssd": 1, "oracle": 2, "caftl": 5, "pblru": 3, "ds-ftl": 4}

#: One pair a cause of flash writes (after Tol's muted scheme); apart from the systems' colours.
CAUSE_COLOURS = {
    "host": ("#9aa5b1", "#8793a1"),
    "unique": ("#44738f", "#5f9abd"),
    "missed_duplicate": ("#ddcb77", "#ddcb77"),
    "reborn": ("#88ccef", "#a5dcf7"),
    "gc": ("#882256", "#c25b90"),
    "replica": ("#cc6678", "#e38a9a"),
    "metadata": ("#332289", "#8c7fe0"),
    "wear_levelling": ("#44aa98", "#6cc4b6"),
}
READ = ("#44778f", "#62a5c4")
WRITE = ("#bb5567", "#dd8292")

#: One pair for each thing that requests wait for, and one for service; related waits have related hues.
WAIT_COLOURS = {
    "host_read": READ,
    "host_program": WRITE,
    "gc_read": ("#c79ac0", "#d9b5d4"),
    "gc_program": ("#99317a", "#c66fae"),
    "erase": ("#52173f", "#a8537f"),
    "copy": ("#99993b", "#bcbc62"),
    "table_page": ("#3b2f8c", "#8f84e6"),
    "comparison": ("#1f7a45", "#4fb57c"),
    "order": ("#b5a89b", "#a3968a"),
    "suspension": ("#8fd0ee", "#6fb6d6"),
    "channel": ("#dcc36a", "#e4cf86"),
    "hash_queue": ("#3fa898", "#63c4b6"),
    "tables": ("#7c72c4", "#a9a1ea"),
    "page_program": ("#e7b4bd", "#efc6cd"),
    "cache_place": ("#6d5240", "#a98a74"),
    "other": ("#87909b", "#7b8794"),
    "service": ("#cfd5dc", "#454e59"),
}

#: Steps of one quantity (page sizes, over-provisioning, cache sizes), from little to much.
ORDERED = (
    ("#8cc5e3", "#2d6a86"),
    ("#5aa6cd", "#3f8bad"),
    ("#3a86b2", "#57a9cd"),
    ("#2f6699", "#7cc3e2"),
    ("#3d4b84", "#9ad6ef"),
    ("#4a3273", "#b9e4f6"),
    ("#3f1c54", "#d3effb"),
    ("#2a0f39", "#e9f8fe"),
)

Dash = Literal["-"] | tuple[float, Sequence[float]]
#: Line styles that tell more systems apart than there are hues.
DASHES: tuple[Dash, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

#: From nothing (pale) to much (dark): reads the same on paper and for the colour-blind.
QUEUE_COLOURS = LinearSegmentedColormap.from_list(
    "queue", ["#f3f5f8", "#cfe0ec", "#8fbcd4", "#4a8fb0", "#2f6690", "#4a3272", "#2a0f38"]
)

WIDTH = 9.6

_RC = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.facecolor": SURFACE,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "path.simplify": True,
    "savefig.facecolor": SURFACE,
    "svg.fonttype": "none",
    "svg.hashsalt": "flashtwin",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": MUTED,
    "xtick.labelsize": 8.5,
    "xtick.major.size": 3,
    "xtick.minor.size": 0,
    "ytick.color": MUTED,
    "ytick.labelsize": 8.5,
    "ytick.major.size": 3,
    "ytick.minor.size": 0,
}


@contextmanager
def styled() -> Iterator[None]:
    """The report's look, and matplotlib's own defaults for all else, while a figure is made or saved."""
    with matplotlib.style.context(["default", _RC]):
        yield


def figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure; sizes in inches."""
    fig = Figure(figsize=(width, height), layout="constrained")
    engine = fig.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(w_pad=0.05, h_pad=0.04, wspace=0.045, hspace=0.03)
    return fig


def colours(study: Study) -> dict[str, str]:
    """One colour a run, the same on every chart: grey for the baseline, then by system, then in order."""
    return {name: pair[0] for name, pair in colour_pairs(study).items()}


def colour_pairs(study: Study) -> dict[str, tuple[str, str]]:
    """The light and the dark colour of each run."""
    pairs = {study.baseline.name: GREY}
    taken: set[int] = set()
    for run in study.others(study.baseline):
        hue = KNOWN.get(run.system)
        if hue is not None and hue not in taken:
            pairs[run.name] = HUES[hue]
            taken.add(hue)
    # With more runs than hues they come round again; `dashes` then tells them apart.
    free = [hue for hue in range(len(HUES)) if hue not in taken] or list(range(len(HUES)))
    for place, run in enumerate(run for run in study.runs if run.name not in pairs):
        pairs[run.name] = HUES[free[place % len(free)]]
    return pairs


def series_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour a series where series are not runs: that of the system it is named after, else the next free one."""
    taken = {name: KNOWN[name] for name in names if name in KNOWN}
    free = [hue for hue in range(len(HUES)) if hue not in taken.values()] or list(range(len(HUES)))
    others = [name for name in names if name not in taken]
    chosen = taken | {name: free[place % len(free)] for place, name in enumerate(others)}
    return {name: HUES[chosen[name]][0] for name in names}


def dashes(study: Study) -> dict[str, Dash]:
    """A line style a run: solid, unless an earlier run has the same colour."""
    seen: dict[str, int] = {}
    styles: dict[str, Dash] = {}
    for run in study.runs:
        colour = colours(study)[run.name]
        styles[run.name] = DASHES[seen.get(colour, 0) % len(DASHES)]
        seen[colour] = seen.get(colour, 0) + 1
    return styles


def quiet(axes: Axes, grid: str = "y") -> Axes:
    """Grid lines in one direction only (`x`, `y`, `both` or `none`)."""
    axes.grid(False)
    if grid != "none":
        axes.grid(True, axis=grid)  # type: ignore[arg-type]
    return axes


def log_time(axes: Axes) -> None:
    """A logarithmic axis of nanoseconds, labelled `100 µs`, `1 ms`, `10 ms`."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=9))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_duration(value)))


def plain_duration(ns: float) -> str:
    """A duration without trailing zeros, for axes: `1 ms`, not `1.00 ms`."""
    text = units.duration(ns)
    value, _, unit = text.partition(" ")
    if "." in value:
        value = value.rstrip("0").rstrip(".")
    return f"{value} {unit}"


def time_axis(axes: Axes, top: float | None = None, ticks: int = 6) -> None:
    """A linear x axis of nanoseconds with round numbers in one unit; no ticks beyond `top`."""
    axis = axes.xaxis
    low, high = axis.get_view_interval()
    top = high if top is None else top
    unit, divisor = next(
        (unit, divisor)
        for unit, divisor, limit in (
            ("ns", 1.0, 1.2e3),
            ("µs", 1e3, 1.2e6),
            ("ms", 1e6, 1.2e9),
            ("s", 1e9, 600e9),
            ("min", 60e9, 7200e9),
            ("h", 3600e9, 96 * 3600e9),
            ("days", 86_400e9, float("inf")),
        )
        if top < limit
    )
    # The locator works on the values shown, so that ticks fall on round ones of the unit.
    locator = MaxNLocator(nbins=ticks, steps=[1, 2, 2.5, 5, 10])
    shown = [tick * divisor for tick in locator.tick_values(low / divisor, top / divisor)]
    axis.set_ticks([tick for tick in shown if low <= tick <= top])
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{_short(value / divisor)} {unit}"))


def _short(value: float) -> str:
    return f"{value:,.3f}".rstrip("0").rstrip(".").replace("-", units.MINUS)


def value_label(axes: Axes, x: float, y: float, text: str) -> None:
    """Words just behind the end of a bar."""
    axes.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", size=8)


def with_change(value: str, change: float | None) -> str:
    """A value and, in brackets, its change against the baseline when there is one."""
    return value if change is None else f"{value} ({units.change(change)})"


def widths(number: int) -> list[float]:
    """Line widths that let a line be seen under one drawn over it: the first is the widest."""
    return [1.5 + 1.2 * (number - 1 - place) / max(number - 1, 1) if number > 1 else 1.7 for place in range(number)]


def counts(axes: Axes, which: str = "y") -> None:
    """Tick labels such as 20 K, 1.5 M on an axis of counts."""
    axis = axes.yaxis if which == "y" else axes.xaxis

    def label(value: float, _: object) -> str:
        if 0 < abs(value) < 1:
            return _short(value)
        for limit, divisor, unit in ((1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " K")):
            if abs(value) >= limit:
                return f"{_short(value / divisor)}{unit}"
        return _short(value)

    axis.set_major_formatter(FuncFormatter(label))


def percents(axes: Axes, which: str = "y") -> None:
    """Tick labels in percent."""
    axis = axes.yaxis if which == "y" else axes.xaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{_short(value)} %"))


def name_bars(axes: Axes, runs: Sequence[Run]) -> None:
    """Systems down the y axis, the first on top, in ink: they are names, not ticks."""
    axes.set_yticks(range(len(runs)), [shorten(run.label) for run in runs])
    axes.set_ylim(len(runs) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=9.5)
    axes.spines["left"].set_visible(False)


def shorten(name: str, limit: int = 26) -> str:
    """A name that fits beside a bar."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def legend_above(fig: Figure, handles: Sequence[Artist], labels: Sequence[str], columns: int = 6) -> None:
    """One legend for the whole figure, in a row above it (in several rows when there are more than `columns`)."""
    fig.legend(
        list(handles),
        [shorten(label) for label in labels],
        loc="outside upper left",
        ncols=min(len(labels), columns),
        handlelength=1.4,
        columnspacing=1.6,
        borderaxespad=0.0,
    )


def svg(fig: Figure) -> str:
    """The figure as a stand-alone SVG document, in light colours, text kept as text."""
    buffer = io.StringIO()
    with styled():
        canvas: Any = FigureCanvasSVG(fig)  # its methods carry no types
        _fix_layout(fig)
        canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue()
    text = re.sub(r"<!DOCTYPE.*?>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # Text was laid out in DejaVu Sans, which is wide: any system font fits in its place.
    return text.replace("'DejaVu Sans'", FONT.replace("'DejaVu Sans', ", "'DejaVu Sans', "))


def _fix_layout(fig: Figure) -> None:
    """Lays the figure out once, for all its files: layout is most of the work.

    The solver's last digits depend on the order of objects in memory; rounded
    positions do not, so that the same results give the same bytes.
    """
    fig.draw_without_rendering()
    fig.set_layout_engine("none")
    for axes in fig.axes:
        left, bottom, width, height = (round(float(value), 6) for value in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


def png(fig: Figure, dpi: int = 200) -> bytes:
    """The figure as a PNG on a light ground."""
    buffer = io.BytesIO()
    with styled():
        fig.set_dpi(dpi)
        canvas: Any = FigureCanvasAgg(fig)  # its methods carry no types
        # Optimizing would take twice as long and save a fiftieth.
        canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def themed(document: str, name: str, pairs: Sequence[tuple[str, str]]) -> str:
    """An SVG document made fit to stand inside the page: no prologue, unique ids, colours as CSS variables.

    `pairs` are the (light, dark) colours in the order of the page's variables
    `--c0`, `--c1`, ...
    """
    body = document[document.index("<svg") :]
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    # The page's style sheet decides the size.
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    for colour, variable in ((INK, "ink"), (MUTED, "muted"), (GRID, "grid"), (SURFACE, "paper")):
        body = body.replace(colour, f"var(--{variable})")
    for place, (light, _) in enumerate(pairs):
        body = body.replace(light, f"var(--c{place})")
    return body


def ordered(number: int) -> list[str]:
    """`number` colours from pale to dark, for steps of one quantity."""
    if number == 1:
        return [ORDERED[3][0]]
    last = len(ORDERED) - 1
    # Few steps use the middle of the scale, whose ends are hard to see or to tell from ink.
    first, end = (0, last) if number > 5 else (1, last - 1)
    return [ORDERED[round(first + (end - first) * place / (number - 1))][0] for place in range(number)]


def page_pairs(study: Study | None) -> list[tuple[str, str]]:
    """Every (light, dark) pair that charts use, for the page's variables."""
    runs = colour_pairs(study).values() if study is not None else ()
    pairs = [*runs, *CAUSE_COLOURS.values(), *WAIT_COLOURS.values(), GREY, *HUES, *ORDERED]
    return list(dict.fromkeys(pairs))
