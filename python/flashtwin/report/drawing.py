"""Draws a declared chart as a Matplotlib figure, without pyplot, so that the user's matplotlibrc does not matter."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import FuncNorm, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from . import fitting, fonts, tips
from .colours import GRID, INK, LABEL_PT, MUTED, SMALL_PT, SURFACE, TITLE_PT
from .declared import Axis, ColourBar, Frame, LegendEntry, Panel, is_column, medium, shorten
from .mark import Mark
from .scales import SCALES, logarithmic
from .tips import TIP

#: From nothing (pale) to much (dark): reads the same on paper and for the colour-blind.
_HEAT = LinearSegmentedColormap.from_list(
    "queue", ["#f3f5f8", "#cfe0ec", "#8fbcd4", "#4a8fb0", "#2f6690", "#4a3272", "#2a0f38"]
)
#: Dots an inch of the picture in a notebook.
_NOTEBOOK_DPI = 120
#: Charts give their heights for a page of this width, on which letters are of 9 points; here they are of 7.
_DESIGN_WIDTH_IN, _HEIGHT_SCALE = 9.6, 0.77

#: Fonts of saved figures are TrueType, because publishers refuse Type 3; ids come from a fixed salt.
_SAVED = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.hashsalt": "flashtwin"}
#: By format, what keeps the time out of a file, so that equal figures give equal bytes.
_TIMELESS = {"pdf": {"CreationDate": None}, "png": {"Software": None}, "svg": {"Date": None}}
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
    "savefig.facecolor": SURFACE,
    "svg.fonttype": "none",
    **_SAVED,
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
def styled(*, embedded: bool = True) -> Iterator[None]:
    """The report's look, and matplotlib's own defaults for all else, while a figure is made or saved.

    Within itself it changes nothing. Fonts are cut only where files embed them, because that takes as long as a chart.
    """
    if _in_style.get():
        yield
        return
    families = list(fonts.families()) if embedded else [fonts.WHOLE]
    token = _in_style.set(True)
    try:
        with matplotlib.style.context(["default", {**_RC, "font.family": families}]):
            yield
    finally:
        _in_style.reset(token)


class Sheet(Figure):
    """A figure whose panels stand one below the other where the medium is narrow; a notebook shows it as a picture."""

    def savefig(self, fname: Any, **how: Any) -> None:
        """As Matplotlib's, whatever the user's matplotlibrc has for fonts and salt."""
        kind = str(how.get("format") or Path(str(fname)).suffix.lstrip("."))
        with matplotlib.style.context(_SAVED):
            super().savefig(fname, **{"metadata": _TIMELESS.get(kind), **how})

    def _repr_png_(self) -> bytes:
        return self._picture("png")

    def _repr_svg_(self) -> str:
        """The same as a drawing; letters are paths, so that it looks alike without our fonts."""
        return self._picture("svg").decode()

    def _picture(self, kind: str) -> bytes:
        out = io.BytesIO()
        with matplotlib.style.context("default"):
            fitting.lay_out(self)
            self.savefig(out, format=kind, dpi=_NOTEBOOK_DPI)
        return out.getvalue()

    def subplots(self, nrows: int = 1, ncols: int = 1, **how: Any) -> Any:
        """As Matplotlib's, also in its result: panels [row][column], wherever they stand."""
        if not is_column() or ncols == 1:
            return super().subplots(nrows, ncols, **how)
        heights = how.pop("height_ratios", None) or [1.0] * nrows
        how.pop("width_ratios", None)
        sharex, sharey = how.pop("sharex", False), how.pop("sharey", False)
        self.set_figheight(self.get_figheight() * ncols)
        # Panels of one x axis belong together; else those of one row do.
        by_column = sharex == "col"
        order = [(row, column) for row in range(nrows) for column in range(ncols)]
        order.sort(key=lambda place: place[::-1] if by_column else place)
        ratios = [heights[row] for row, _ in order]
        stack = super().subplots(nrows * ncols, 1, height_ratios=ratios, **how)[:, 0]
        panels = np.empty((nrows, ncols), dtype=object)
        for axes, place in zip(stack, order, strict=True):
            panels[place] = axes
        _share(panels, sharex, sharey)
        return panels


def _share(panels: Any, sharex: bool | str, sharey: bool | str) -> None:
    """Shares axes as `subplots` does, but leaves the labels: no panel stands beside another that has them."""
    rows, columns = panels.shape
    for row in range(rows):
        for column in range(columns):
            for kind, share in ((sharex, "sharex"), (sharey, "sharey")):
                first = {True: (0, 0), "row": (row, 0), "col": (0, column)}.get(kind)
                if first is not None and first != (row, column):
                    getattr(panels[row, column], share)(panels[first])


def _sheet(height: float) -> Sheet:
    fig = Sheet(figsize=(medium.get().width_in, height * _HEIGHT_SCALE), layout="constrained")
    engine = fig.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        # One below the other, a title stands close to the labels of the panel above it.
        engine.set(w_pad=0.04, h_pad=0.05 if is_column() else 0.03, wspace=0.045, hspace=0.03)
    return fig


def figure(frame: Frame) -> Figure:
    with styled():
        fig = _sheet(frame.height_in)
        places: dict[Panel, Axes] = {}
        for axes, panel in _places(fig, frame):
            if panel is None:
                axes.remove()
                continue
            places[panel] = axes
        mappable = None
        for panel, axes in places.items():
            if panel.same_y is not None:
                axes.sharey(places[panel.same_y])
            mappable = _draw(axes, panel, frame.keys) or mappable
        if frame.colour_bar is not None:
            _colour_bar(fig, frame.colour_bar, mappable, places)
        if frame.keys:
            _legend_above(fig, frame)
    return fig


def _places(fig: Sheet, frame: Frame) -> list[tuple[Axes, Panel | None]]:
    """The axes of each panel. Rows of unlike length are drawings of their own, one below the other on a column."""
    how = {"squeeze": False, **frame.grid}
    if len({len(row) for row in frame.rows}) == 1:
        grid = list(fig.subplots(len(frame.rows), len(frame.rows[0]), **how).flatten())
        return list(zip(grid, (panel for row in frame.rows for panel in row), strict=True))
    if is_column():
        fig.set_figheight(fig.get_figheight() * len(frame.panels) / 2.4)
        return list(zip(fig.subplots(len(frame.panels), 1, squeeze=False)[:, 0], frame.panels, strict=True))
    parts: Any = fig.subfigures(len(frame.rows), 1)
    found: list[tuple[Axes, Panel | None]] = []
    for part, row in zip(parts, frame.rows, strict=True):
        ratios = frame.grid.get("width_ratios") if row is frame.rows[0] else None
        found += zip(part.subplots(1, len(row), squeeze=False, width_ratios=ratios)[0], row, strict=True)
    return found


def _draw(axes: Axes, panel: Panel, keys: Sequence[LegendEntry]) -> Any:
    """Draws a panel; returns its heat map, if it has one."""
    axes.use_sticky_edges = panel.sticky
    drawn = None
    untold: list[tuple[Mark, Any]] = []
    for mark in panel.marks:
        if mark.method == "heat":
            drawn = _heat(axes, mark)
            continue
        artists = getattr(axes, mark.method)(*mark.args, **mark.how)
        if mark.tip:
            for artist in tips.each(artists):
                artist.set_gid(f"{TIP}{mark.tip}")
        else:
            untold.append((mark, artists))
    axes.grid(False)
    if panel.grid != "none":
        axes.grid(True, axis=panel.grid)  # type: ignore[arg-type]
    if panel.title:
        axes.set_title(panel.title, **panel.title_look)
    for which, axis in (("x", panel.x), ("y", panel.y)):
        _scale(axes, which, axis)
    if panel.legend:
        _legend_inside(axes, *panel.legend)
    # Also for heat maps, which are pictures without parts.
    words = ", ".join(filter(None, (panel.title, panel.x.label, panel.y.label)))
    axes.set_gid(TIP + words if words else None)
    for mark, artists in untold:
        tips.give(axes, mark, artists, keys, panel.title or panel.y.label)
    return drawn


def _scale(axes: Axes, which: str, axis: Axis) -> None:
    if axis.log:
        logarithmic(axes, which)
    if axis.low is not None or axis.high is not None:
        (axes.set_xlim if which == "x" else axes.set_ylim)(axis.low, axis.high)
    if axis.ticks:
        SCALES[axis.ticks](axes, which, axis.of)
    if axis.label:
        (axes.set_xlabel if which == "x" else axes.set_ylabel)(axis.label)


def _heat(axes: Axes, mark: Mark) -> Any:
    most = mark.how["most"]
    # log(1 + x) shows short queues and long ones on one scale, and has a zero.
    norm = FuncNorm((np.log1p, np.expm1), 0, most) if mark.how.get("log") else Normalize(0, most)
    for spine in axes.spines.values() if mark.how.get("log") else ():
        spine.set_visible(False)
    # Rasterised: a mesh of 512 x 64 vector cells would be megabytes.
    return axes.pcolormesh(*mark.args, cmap=_HEAT, norm=norm, rasterized=True)


def _colour_bar(fig: Figure, bar: ColourBar, mappable: Any, places: dict[Panel, Axes]) -> None:
    drawn = fig.colorbar(mappable, ax=[places[panel] for panel in bar.panels], **bar.how)
    drawn.outline.set_visible(False)
    if bar.label:
        drawn.set_label(bar.label)
    if bar.ticks is not None:
        drawn.set_ticks(bar.ticks)
    else:
        drawn.ax.tick_params(length=0, labelsize=SMALL_PT)
    drawn.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}{bar.unit}"))


def _legend_inside(axes: Axes, loc: Any, title: str | None = None, ncols: int = 1) -> None:
    legend = axes.legend(
        loc=loc, title=title, ncols=ncols, handlelength=1.4, borderaxespad=0.3, columnspacing=1.2,
        title_fontsize=SMALL_PT,
    )  # fmt: skip
    if title is not None:
        legend.set_alignment("left")
        legend.get_title().set_color(MUTED)


def _legend_above(fig: Figure, frame: Frame) -> None:
    """One legend for the whole figure, in a row above it, or in as many as it takes."""
    names = [shorten(key.label) for key in frame.keys]
    handles = [Patch(**key.how) if key.kind == "patch" else Line2D([], [], **key.how) for key in frame.keys]
    entry_in = (max(map(len, names)) * 4.2 + 26.0) / 72.0
    columns = max(1, min(frame.key_columns, len(names), int(medium.get().width_in / entry_in)))
    fig.legend(
        handles, names, loc="outside upper left", ncols=columns, handlelength=1.4, columnspacing=1.6,
        borderaxespad=0.0,
    )  # fmt: skip


def note(title: str, reasons: Sequence[str]) -> Figure:
    """A figure that says why there is no chart, for callers who asked for a figure."""
    with styled():
        fig = _sheet(1.4)
        fig.text(0.02, 0.72, title, weight="bold", size=TITLE_PT)
        fig.text(0.02, 0.18, "\n".join(reason.replace("`", "") for reason in reasons), wrap=True, color=MUTED)
    return fig
