"""A paper's figure in its own form: grouped bars or lines, measured, with the published values marked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter

from .. import axes as scales
from .. import style
from .base import Cell, Data, Drawing

Panel = Mapping[str, Any]

#: Panels beside each other: of bars, of lines.
BARS_ACROSS, LINES_ACROSS = 1, 3
#: Groups up to this many let two panels of bars stand side by side.
FEW_GROUPS = 4
#: The mark of a published value.
MARK: dict[str, Any] = {
    "marker": "D",
    "markersize": 5.0,
    "markerfacecolor": style.SURFACE,
    "markeredgewidth": 1.4,
    "linestyle": "none",
}


def draw(panels: Sequence[Panel]) -> Drawing:
    """All panels of a figure, and their numbers."""
    names = list(dict.fromkeys(series["name"] for panel in panels for series in panel["series"]))
    colours = style.series_colours(names)
    fig = style.figure(_height(panels))
    across = _across(panels)
    rows = math.ceil(len(panels) / across)
    places = fig.subplots(rows, across, squeeze=False).flatten()
    for axes, panel in zip(places, panels, strict=False):
        (_bars if panel["form"] == "bars" else _lines)(axes, panel, colours)
        axes.set_title(panel["title"])
    for axes in places[len(panels) :]:
        axes.remove()
    _legend(fig, panels, colours)
    return Drawing(fig, data=_data(panels))


def _across(panels: Sequence[Panel]) -> int:
    if panels[0]["form"] == "lines":
        return min(len(panels), LINES_ACROSS)
    few = all(len(panel["groups"]) <= FEW_GROUPS for panel in panels)
    return min(len(panels), BARS_ACROSS * 2 if few else BARS_ACROSS)


def _height(panels: Sequence[Panel]) -> float:
    rows = math.ceil(len(panels) / _across(panels))
    return 0.5 + rows * (2.6 if panels[0]["form"] == "bars" else 2.5)


def _bars(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    series, groups = panel["series"], panel["groups"]
    stacked = panel["stacked"]
    width = 0.7 if stacked else 0.8 / max(len(series), 1)
    base = [0.0] * len(groups)
    for place, one in enumerate(series):
        shift = 0.0 if stacked else (place - (len(series) - 1) / 2) * width
        heights = [value if value is not None else 0.0 for value in one["measured"]]
        x = [group + shift for group in range(len(groups))]
        axes.bar(x, heights, width * 0.92, base if stacked else None, color=colours[one["name"]], linewidth=0)
        if stacked:
            base = [low + high for low, high in zip(base, heights, strict=True)]
        marks = [(at, value) for at, value in zip(x, one["published"], strict=False) if value is not None]
        if marks:
            axes.plot(*zip(*marks, strict=True), color=style.INK, **MARK)
    axes.set_xticks(range(len(groups)), [style.shorten(group, 14) for group in groups])
    if len(groups) > FEW_GROUPS * 3:
        axes.tick_params(axis="x", rotation=60)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.axhline(0.0, color=style.MUTED, linewidth=0.7)
    axes.set_ylabel(panel["y_label"])
    style.quiet(axes, "y")


def _lines(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    for one in panel["series"]:
        known = [(x, y) for x, y in zip(one["x"], one["y"], strict=True) if y is not None]
        if known:
            marker = "o" if panel.get("points") or len(known) <= 16 else ""
            line = "none" if panel.get("points") else "-"
            x, y = zip(*known, strict=True)
            axes.plot(x, y, color=colours[one["name"]], marker=marker, markersize=3.2, linewidth=1.5, linestyle=line)
    for point in panel["published"]:
        axes.plot([point["x"]], [point["y"]], color=style.INK, **MARK)
    if panel["x_log"]:
        scales.log_counts(axes)
    elif all(float(x).is_integer() for one in panel["series"] for x in one["x"]):
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    if panel["y_log"] and any((y or 0) > 0 for one in panel["series"] for y in one["y"]):
        axes.set_yscale("log")
        style.counts(axes)
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        style.counts(axes)
    axes.set_xlabel(panel["x_label"])
    axes.set_ylabel(panel["y_label"])
    style.quiet(axes, "both")


def _legend(fig: Figure, panels: Sequence[Panel], colours: Mapping[str, str]) -> None:
    """One name a colour, and the mark of published values; none where one colour is used."""
    bars = panels[0]["form"] == "bars"
    handles: list[Artist] = [
        Patch(facecolor=colour, edgecolor="none") if bars else Line2D([], [], color=colour)
        for colour in colours.values()
    ]
    labels = list(colours)
    published = any(
        value is not None for panel in panels for one in panel["series"] for value in one.get("published", ())
    ) or any(panel.get("published") for panel in panels)
    if len(labels) == 1 and not published:
        return
    if published:
        handles.append(Line2D([], [], color=style.INK, **MARK))
        labels.append("published")
    style.legend_above(fig, handles, labels)


def _data(panels: Sequence[Panel]) -> Data:
    data = Data(("panel", "series", "x", "measured", "published"))
    for panel in panels:
        for one in panel["series"]:
            if panel["form"] == "bars":
                published = [*one["published"], *([None] * len(panel["groups"]))]
                columns: Sequence[Sequence[Cell]] = (panel["groups"], one["measured"], published)
            else:
                columns = (one["x"], one["y"], [None] * len(one["x"]))
            data.rows += [(panel["title"], one["name"], *row) for row in zip(*columns, strict=False)]
        if panel["form"] == "lines":
            data.rows += [(panel["title"], p["name"], p["x"], None, p["y"]) for p in panel["published"]]
    return data
