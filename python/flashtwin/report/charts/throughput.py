"""Throughput against response time: the points of a sweep of the queue depth, a line for each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from flashtwin import units
from flashtwin.results import figures
from flashtwin.results.sweeps import DEPTH, SavedSweep, number

from .. import style
from . import swept
from .base import Data, Drawing, nothing

#: Across, and up: one panel each.
ACROSS = figures.figure("iops")
UP = (figures.figure("all.mean"), figures.figure("all.p99"))

Row = Mapping[str, Any]


def is_swept(found: SavedSweep) -> bool:
    """Whether there are several depths to draw a line through."""
    return len({row[f"config.{DEPTH}"] for row in _rows(found)}) > 1 if DEPTH in found.axes else False


def draw(found: SavedSweep) -> Drawing:
    """Mean and 99th percentile of the response by the requests served a second, one depth after the other."""
    rows = _rows(found)
    traces = [trace for trace in found.traces if any(row["trace"] == trace for row in rows)][: swept.TRACES_MAX]
    if not traces:
        return nothing("No point of a closed loop was replayed.")
    fig, places = swept.panels(2 * len(traces), 2, 3.2 if len(traces) == 1 else 2.7)
    sees: list[str] = []
    for place, trace in enumerate(traces):
        lines = _lines(found, [row for row in rows if row["trace"] == trace])
        for axes, up in zip(places[2 * place : 2 * place + 2], UP, strict=True):
            axes.set_title(up.label if len(traces) == 1 else f"{style.shorten(trace, 22)}: {up.label}", size=9)
            _panel(axes, found, lines, up)
        sees += _seen(found, trace, lines)
    hues = swept.colours(found)
    handles = [Line2D([], [], color=hues[name], marker="o", markersize=4) for name in found.systems]
    style.legend_above(fig, handles, list(found.systems))
    keys = [key for key in found.axes if key != DEPTH]
    data = Data(("point", "trace", "system", DEPTH, *keys, ACROSS.path, *(up.path for up in UP)))
    data.rows += [tuple(row.get(name if name in row else f"config.{name}") for name in data.header) for row in rows]
    return Drawing(fig, sees=sees, data=data)


def _rows(found: SavedSweep) -> list[Row]:
    """Points of a closed loop with all figures, by depth."""
    column = f"config.{DEPTH}"
    whole = [
        row for row in found.done if row.get(column) and all(number(row, one) is not None for one in (ACROSS, *UP))
    ]
    return sorted(whole, key=lambda row: row[column])


def _lines(found: SavedSweep, rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """The points of each system and of each combination of the other swept keys, by depth."""
    others = [f"config.{key}" for key in found.axes if key != DEPTH]
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        lines.setdefault((row["system"], *(str(row.get(key)) for key in others)), []).append(row)
    order = {name: place for place, name in enumerate(found.systems)}
    return dict(sorted(lines.items(), key=lambda line: order[line[0][0]]))


def _panel(axes: Axes, found: SavedSweep, lines: Mapping[tuple[Any, ...], list[Row]], up: figures.Figure) -> None:
    hues = swept.colours(found)
    wide = dict(zip(found.systems, style.widths(len(found.systems)), strict=True))
    for (system, *_), rows in lines.items():
        across, values = [row[ACROSS.path] for row in rows], [row[up.path] for row in rows]
        axes.plot(across, values, color=hues[system], linewidth=wide[system], marker="o", markersize=1.5 + wide[system])
    every = [row for rows in lines.values() for row in rows]
    swept.scaled(axes, "x", ACROSS, [row[ACROSS.path] for row in every])
    swept.scaled(axes, "y", up, [row[up.path] for row in every])
    # Depths stand at the first line alone: the others have the same, in the same order.
    for row in next(iter(lines.values())):
        axes.annotate(
            units.count(row[f"config.{DEPTH}"]), (row[ACROSS.path], row[up.path]), (0, 5), textcoords="offset points",
            ha="center", size=7, color=style.MUTED,
        )  # fmt: skip
    style.quiet(axes, "both")


def _seen(found: SavedSweep, trace: str, lines: Mapping[tuple[Any, ...], list[Row]]) -> list[str]:
    """The most that each system serves, with how many requests under way, and how long these then take."""
    sentences = []
    where = f"On {trace}, " if len(found.traces) > 1 else ""
    for (system, *others), rows in lines.items():
        if others and any(other != line[0] for other, line in zip(others, _first_values(found), strict=True)):
            continue
        most = max(rows, key=lambda row: row[ACROSS.path])
        sentences.append(
            f"{where}`{system}` serves at most {units.count(most[ACROSS.path])} requests a second, with "
            f"{units.count(most[f'config.{DEPTH}'])} under way and a mean of {units.duration(most[UP[0].path])}."
        )
    return sentences


def _first_values(found: SavedSweep) -> list[list[str]]:
    return [values for key, values in found.axes.items() if key != DEPTH]
