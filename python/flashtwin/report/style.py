"""How charts look: type, axes, labels; beside it `colours` has the colours, `sheet` the widths.

Figures are made with explicit `Figure` objects inside `styled()`: no pyplot,
no state left behind, and the user's matplotlibrc does not matter.

Dark mode: neutral colours are written as hex codes that occur nowhere else,
so that the page can replace them (and the systems' colours) by CSS variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from flashtwin import units
from flashtwin.results.reading import SavedRun, StudyFolder

from . import fonts
from .colours import (
    CAUSE_COLOURS,
    GREY,
    HUES,
    KNOWN,
    READ,
    WAIT_COLOURS,
    WRITE,
    colour_pairs,
    colours,
    of_systems,
    ordered,
    page_pairs,
    series_colours,
)
from .sheet import figure, is_column, legend_columns

__all__ = [
    "CAUSE_COLOURS", "GREY", "HUES", "KNOWN", "READ", "WAIT_COLOURS", "WRITE", "colour_pairs", "colours", "figure",
    "is_column", "of_systems", "ordered", "page_pairs", "series_colours",
]  # fmt: skip

INK = "#1b1f25"
MUTED = "#5b6571"
GRID = "#e1e5eb"
SURFACE = "#fffffe"

Dash = Literal["-"] | tuple[float, Sequence[float]]
#: Line styles that tell more systems apart than there are hues.
DASHES: tuple[Dash, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))

#: The beginning of the id of a mark that has a tip.
TIP = "tip "

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

#: From nothing (pale) to much (dark): reads the same on paper and for the colour-blind.
QUEUE_COLOURS = LinearSegmentedColormap.from_list(
    "queue", ["#f3f5f8", "#cfe0ec", "#8fbcd4", "#4a8fb0", "#2f6690", "#4a3272", "#2a0f38"]
)

#: The size of letters in points: the least, of labels beside bars and ticks, and of names and titles.
SMALL_PT, LABEL_PT, NAME_PT, TITLE_PT = 6.6, 7.0, 7.2, 7.6

_RC = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.labelsize": LABEL_PT,
    "axes.linewidth": 0.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlepad": 6,
    "axes.titlesize": TITLE_PT,
    "axes.titleweight": "bold",
    "figure.facecolor": SURFACE,
    "font.size": LABEL_PT,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "legend.fontsize": LABEL_PT,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "path.simplify": True,
    "pdf.fonttype": 42,
    "savefig.facecolor": SURFACE,
    "svg.fonttype": "none",
    "svg.hashsalt": "flashtwin",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": MUTED,
    "xtick.labelsize": SMALL_PT,
    "xtick.major.size": 2.3,
    "xtick.minor.size": 0,
    "ytick.color": MUTED,
    "ytick.labelsize": SMALL_PT,
    "ytick.major.size": 2.3,
    "ytick.minor.size": 0,
}


_in_style: ContextVar[bool] = ContextVar("in_style", default=False)


@contextmanager
def styled(*, saved: bool = True) -> Iterator[None]:
    """The report's look, and matplotlib's own defaults for all else, while a figure is made or saved.

    Within itself it changes nothing. Where nothing is saved, fonts are not cut: that takes as long as some charts.
    """
    if _in_style.get():
        yield
        return
    families = list(fonts.families()) if saved else [fonts.WHOLE]
    token = _in_style.set(True)
    try:
        with matplotlib.style.context(["default", {**_RC, "font.family": families}]):
            yield
    finally:
        _in_style.reset(token)


def dashes(study: StudyFolder) -> dict[str, Dash]:
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
    axes.annotate(text, (x, y), (3, 0), textcoords="offset points", va="center", size=SMALL_PT)


def tip(artists: Iterable[Artist], text: str) -> None:
    """Words that a reader sees who points at a mark; the SVG has them as its title."""
    for artist in artists:
        artist.set_gid(f"{TIP}{text}")


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


def name_bars(axes: Axes, runs: Sequence[SavedRun]) -> None:
    """Systems down the y axis, the first on top, in ink: they are names, not ticks."""
    axes.set_yticks(range(len(runs)), [shorten(run.label) for run in runs])
    axes.set_ylim(len(runs) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=NAME_PT)
    axes.spines["left"].set_visible(False)


def shorten(name: str, limit: int = 26) -> str:
    """A name that fits beside a bar."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def legend_above(fig: Figure, handles: Sequence[Artist], labels: Sequence[str], columns: int = 6) -> None:
    """One legend for the whole figure, in a row above it (in several rows when there are more than `columns`)."""
    names = [shorten(label) for label in labels]
    fig.legend(
        list(handles),
        names,
        loc="outside upper left",
        ncols=legend_columns(names, columns),
        handlelength=1.4,
        columnspacing=1.6,
        borderaxespad=0.0,
    )
