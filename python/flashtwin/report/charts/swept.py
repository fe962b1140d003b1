"""The trade-off of two figures over the points of a sweep, and code that the charts of a sweep share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from flashtwin import units
from flashtwin.results import figures
from flashtwin.results.sweeps import SavedSweep, number
from flashtwin.results.variation import distinct

from .. import axes as scales
from .. import style
from .base import Data, Drawing, nothing

#: Traces that have panels of their own.
TRACES_MAX = 6
#: From this ratio of the largest to the smallest value on, an axis is logarithmic.
WIDE = 20.0

Row = Mapping[str, Any]


def colours(found: SavedSweep) -> dict[str, str]:
    """One colour a system, as in the report of a study."""
    return {name: light for name, (light, _) in style.of_systems((name, name) for name in found.systems).items()}


def trade(found: SavedSweep) -> Drawing:
    """Every point by two figures; those that no other one beats are joined."""
    across, up = found.trade
    there = [trace for trace in found.traces if _of(found, trace, (across, up))]
    if not there:
        return nothing(f"No point has both figures, {across.label} and {up.label}.")
    shown = [trace for trace in there if not any(_is_flat(found, trace, one) for one in (across, up))][:TRACES_MAX]
    if not shown:
        flat = [one.label for one in (across, up) if all(_is_flat(found, trace, one) for trace in there)]
        return nothing(
            f"There is none: {units.names_plain(flat) or 'one figure or the other'} is the same at every point."
        )
    fig, places = panels(len(shown), min(len(shown), 2), 3.6 if len(shown) == 1 else 2.9)
    sees = []
    for axes, trace in zip(places, shown, strict=True):
        rows = _of(found, trace, (across, up))
        best = figures.front([[one.cost(row[one.path]) for one in (across, up)] for row in rows])
        _cloud(axes, found, rows, (across, up))
        _front(axes, (across, up), [rows[place] for place in best])
        _limits(axes, found, across, up)
        scaled(axes, "x", across, [row[across.path] for row in rows])
        scaled(axes, "y", up, [row[up.path] for row in rows])
        axes.set_title(trace if len(shown) > 1 else "")
        style.quiet(axes, "both")
        sees.append(_seen(found, trace, rows, best))
    legend(fig, found, front=True)
    return Drawing(fig, sees=sees, data=data(found, (across, up)))


def _is_flat(found: SavedSweep, trace: str, one: figures.Figure) -> bool:
    """Whether a figure is the same in all runs of a trace."""
    return len({number(row, one) for row in _of(found, trace, (one,))}) == 1


def _seen(found: SavedSweep, trace: str, rows: Sequence[Row], best: Sequence[int]) -> str:
    numbers = ", ".join(str(rows[place]["point"]) for place in best[:12])
    more = ", …" if len(best) > 12 else ""
    where = f"On {trace}, " if len(found.traces) > 1 else ""
    so_far = "" if found.complete else " so far"
    are = "is" if len(best) == 1 else "are"
    return (
        f"{where}{units.count(len(best))} of {units.plural(len(rows), 'run')} {are} beaten by no other one"
        f"{so_far}: point {numbers}{more}."
    )


def _of(found: SavedSweep, trace: str, wanted: Sequence[figures.Figure]) -> list[Row]:
    """The runs of a trace that have all of the figures; points of equal configuration are one."""
    mine = [row for row in found.done if row["trace"] == trace]
    return [row for row in distinct(mine) if all(number(row, one) is not None for one in wanted)]


def panels(number_of: int, across: int, height: float) -> tuple[Drawn, list[Axes]]:
    """A figure with places for this many panels, some side by side."""
    # On a column they stand one below the other, and a place without a panel would be a gap.
    across = 1 if style.is_column() else max(1, min(across, number_of))
    rows = math.ceil(number_of / across)
    fig = style.figure(0.5 + rows * height)
    places = list(fig.subplots(rows, across, squeeze=False).flatten())
    for axes in places[number_of:]:
        axes.remove()
    return fig, places[:number_of]


def _cloud(axes: Axes, found: SavedSweep, rows: Sequence[Row], wanted: tuple[figures.Figure, figures.Figure]) -> None:
    across, up = wanted
    kept = [figures.keeps(row, found.bounds) for row in rows]
    # What lies under another point stays to be seen: the first system is the largest.
    for system, width in zip(found.systems, style.widths(len(found.systems)), strict=True):
        for good in (True, False):
            mine = [row for row, its in zip(rows, kept, strict=True) if row["system"] == system and its is good]
            # What breaks a bound is hollow.
            face: dict[str, Any] = {} if good else {"markerfacecolor": "none", "markeredgewidth": 0.8}
            axes.plot(
                [row[across.path] for row in mine], [row[up.path] for row in mine], linestyle="none", marker="o",
                markersize=2.6 + 1.5 * width, alpha=0.9, color=colours(found)[system], **face,
            )  # fmt: skip
    best = found.best_trial.rows if found.best_trial else [found.best]
    ringed = [row for row in rows if row in best]
    if ringed:
        axes.plot(
            [row[across.path] for row in ringed], [row[up.path] for row in ringed], linestyle="none", marker="o",
            markersize=11, markerfacecolor="none", markeredgecolor=style.INK, markeredgewidth=1.3,
        )  # fmt: skip


def _front(axes: Axes, wanted: tuple[figures.Figure, figures.Figure], best: Sequence[Row]) -> None:
    across, up = wanted
    points = sorted({(row[across.path], row[up.path]) for row in best})
    if len(points) > 1:
        # The step runs from each point towards worse values of the x figure.
        where: Literal["pre", "post"] = "pre" if across.more_is_better else "post"
        axes.step(*zip(*points, strict=True), where=where, color=style.INK, linewidth=0.9, zorder=1)


def _limits(axes: Axes, found: SavedSweep, across: figures.Figure, up: figures.Figure) -> None:
    for bound in found.bounds:
        if bound.figure.path == across.path:
            axes.axvline(bound.limit, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
        if bound.figure.path == up.path:
            axes.axhline(bound.limit, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))


def scaled(axes: Axes, which: str, figure: figures.Figure, values: Sequence[float]) -> None:
    """An axis in the figure's own unit, logarithmic where values lie far apart."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    far = min(values) > 0 and max(values) / min(values) >= WIDE
    if far:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(nbins=5))
    if figure.unit == "ns":
        axis.set_major_formatter(FuncFormatter(lambda value, _: _time(value, values)))
    elif figure.unit == "bytes":
        axis.set_major_formatter(FuncFormatter(lambda value, _: scales.plain_size(value)))
    else:
        style.counts(axes, which)
    if which == "x":
        axes.set_xlabel(figure.label)
    elif not axes.get_title("left"):
        axes.set_ylabel(figure.label)


def _time(value: float, values: Sequence[float]) -> str:
    """A time with as many digits as tell the ticks apart."""
    spread = max(values) - min(values)
    if spread <= 0 or spread / max(values) > 0.02:
        return style.plain_duration(value)
    for limit, divisor, unit in ((1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e3, 1e3, "µs")):
        if max(values) >= limit:
            return f"{value / divisor:,.{min(6, max(0, math.ceil(-math.log10(spread / divisor)) + 1))}f} {unit}"
    return f"{value:,.0f} ns"


def legend(fig: Drawn, found: SavedSweep, *, front: bool = False) -> None:
    """A colour for each system, above the panels."""
    hues = colours(found)
    handles = [Line2D([], [], linestyle="none", marker="o", color=hues[name]) for name in found.systems]
    labels = list(found.systems)
    if front:
        handles.append(Line2D([], [], color=style.INK, linewidth=0.9))
        labels.append("not beaten")
    style.legend_above(fig, handles, labels)


def data(found: SavedSweep, wanted: Sequence[figures.Figure]) -> Data:
    """Every point with its keys and these figures."""
    keys = list(found.axes)
    data = Data(("point", "trace", "system", *keys, *(one.path for one in wanted)))
    data.rows += [
        (row["point"], row["trace"], row["system"], *(row.get(f"config.{key}") for key in keys),
         *(row.get(one.path) for one in wanted))
        for row in found.done
    ]  # fmt: skip
    return data
