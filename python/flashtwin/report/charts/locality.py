"""Logical locality P(D, T) as a map and in cross-sections (SWC, Fig. 14)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from flashtwin import units
from flashtwin.results.reading import Floats, SavedTable, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing

_AT_TIMES = (1.0, 25.0, 250.0)
_AT_DISTANCES = (1.0, 16.0, 64.0)


def draw(workload: TraceResults) -> Drawing:
    """A row for each kind of request: the map, then P along the distance and along the time."""
    table = workload.workload("logical_locality")
    grids = {kind: _grid(table.where("kind", kind)) for kind in ("write", "read")} if table is not None else {}
    known = {kind: grid for kind, grid in grids.items() if grid is not None}
    if table is None or not known:
        return nothing("No table `logical_locality` was written: the trace was not characterized.")
    fig = style.figure(2.75 * len(known) + 0.2)
    panels = fig.subplots(len(known), 3, squeeze=False, width_ratios=[1.25, 1.0, 1.0])
    data = Data(("kind", "distance_pages", "time_requests", "probability"))
    mesh = None
    for row, (kind, (distance, time, probability)) in zip(panels, known.items(), strict=True):
        mesh = _map(row[0], distance, time, probability)
        row[0].set_title(f"{kind.capitalize()}s: share that meet another")
        _sections(row[1], distance, probability.T, time, _AT_TIMES, "requests")
        row[1].set_xlabel("within this distance (pages)")
        _sections(row[2], time, probability, distance, _AT_DISTANCES, "pages")
        row[2].set_xlabel("within this time (requests)")
        data.rows.extend(
            (kind, float(d), float(t), float(probability[i, j]))
            for i, d in enumerate(distance)
            for j, t in enumerate(time)
        )
    if mesh is not None:
        _bar(fig, mesh, panels)
    return Drawing(fig, [text for kind, grid in known.items() if (text := _see(kind, *grid))], data=data)


def _grid(rows: SavedTable) -> tuple[Floats, Floats, Floats] | None:
    """Distances, times, and P as a matrix over both (missing points are NaN)."""
    if rows.get("probability") is None:
        return None
    distance, d = np.unique(rows.columns["distance_pages"], return_inverse=True)
    time, t = np.unique(rows.columns["time_requests"], return_inverse=True)
    matrix = np.full((distance.size, time.size), np.nan)
    matrix[d, t] = rows.columns["probability"]
    return distance, time, matrix


def _map(axes: Axes, distance: Floats, time: Floats, probability: Floats) -> QuadMesh:
    mesh = axes.pcolormesh(
        _edges(np.maximum(distance, 0.5)), _edges(time), probability.T * 100,
        cmap=style.QUEUE_COLOURS, vmin=0, vmax=100, rasterized=True, shading="flat",
    )  # fmt: skip
    scales.log_counts(axes)
    scales.log_counts(axes, "y")
    style.quiet(axes, "none")
    axes.set_xlabel("distance (pages)")
    axes.set_ylabel("time (requests)")
    return mesh


def _edges(centres: Floats) -> Floats:
    """Edges of cells on a logarithmic scale around the given centres."""
    if centres.size == 1:
        return np.array([centres[0] / 1.5, centres[0] * 1.5])
    between = np.sqrt(centres[1:] * centres[:-1])
    return np.concatenate([[centres[0] ** 2 / between[0]], between, [centres[-1] ** 2 / between[-1]]])


def _bar(fig: Figure, mesh: QuadMesh, panels: np.ndarray) -> None:
    bar = fig.colorbar(mesh, ax=list(panels[:, 0]), location="left", shrink=0.7, aspect=25, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    bar.ax.tick_params(length=0, labelsize=style.SMALL_PT)


def _sections(axes: Axes, x: Floats, probability: Floats, at: Floats, wanted: tuple[float, ...], unit: str) -> None:
    places = list(dict.fromkeys(int(np.abs(at - value).argmin()) for value in (*wanted, at[-1])))
    for place, colour in zip(places, style.ordered(len(places)), strict=True):
        label = f"{units.count(float(at[place]))} {unit if at[place] != 1 else unit[:-1]}"
        axes.plot(np.maximum(x, 0.5), probability[place] * 100, color=colour, label=label)
    scales.log_counts(axes)
    scales.shares(style.quiet(axes, "both"))
    scales.inside_legend(axes, "best")


def _see(kind: str, distance: Floats, time: Floats, probability: Floats) -> str | None:
    def at(d: float, t: float) -> float:
        return float(probability[np.abs(distance - d).argmin(), np.abs(time - t).argmin()]) * 100

    near, soon, both = at(1, time[-1]), at(distance[-1], 1), at(distance[-1], time[-1])
    if not np.isfinite([near, soon, both]).all():
        return None
    return (
        f"{units.percent(at(1, 1))} of the {kind}s meet the next one at a distance of one page at most, "
        f"{units.percent(near)} one of the next {units.count(float(time[-1]))}, and {units.percent(soon)} the "
        f"next one within {units.count(float(distance[-1]))} pages."
    )


CHART = Chart(
    "locality",
    "Logical locality",
    "How likely is another request to a nearby page, and how soon?",
    "locality",
    draw,
)
