"""The charts of a sweep: the trade-off of two figures, and small multiples of each key that was swept."""

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
from flashtwin.results.sweeps import Swept, number

from .. import axes as scales
from .. import style
from .base import Data, Drawing, nothing

#: Traces that have panels of their own; figures that a trace has, when there are several traces.
TRACES_MAX, FIGURES_OF_MANY = 6, 3
#: Figures of one trace.
FIGURES_MAX = 4
#: From this ratio of the largest to the smallest value on, an axis is logarithmic.
WIDE = 20.0

Row = Mapping[str, Any]


def colours(found: Swept) -> dict[str, str]:
    """One colour a system, as in the report of a study."""
    return {name: light for name, (light, _) in style.of_systems((name, name) for name in found.systems).items()}


def trade(found: Swept) -> Drawing:
    """Every point by two figures; those that no other one beats are joined."""
    across, up = found.trade
    shown = [trace for trace in found.traces if _of(found, trace, (across, up))][:TRACES_MAX]
    if not shown:
        return nothing(f"No point has both figures, {across.label} and {up.label}.")
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
    _legend(fig, found, front=True)
    return Drawing(fig, sees=sees, data=_data(found, (across, up)))


def _seen(found: Swept, trace: str, rows: Sequence[Row], best: Sequence[int]) -> str:
    numbers = ", ".join(str(rows[place]["point"]) for place in best[:12])
    more = ", …" if len(best) > 12 else ""
    where = f"On {trace}, " if len(found.traces) > 1 else ""
    so_far = "" if found.complete else " so far"
    are = "is" if len(best) == 1 else "are"
    return (
        f"{where}{units.count(len(best))} of {units.plural(len(rows), 'point')} {are} beaten by no other one"
        f"{so_far}: {numbers}{more}."
    )


def by_key(found: Swept, key: str) -> Drawing:
    """Figures against what a key was set to, a panel for each figure and trace."""
    wanted = found.figures[: FIGURES_MAX if len(found.traces) == 1 else FIGURES_OF_MANY]
    pairs = [(trace, one) for trace in found.traces[:TRACES_MAX] for one in wanted]
    pairs = [(trace, one) for trace, one in pairs if _of(found, trace, (one,))]
    if not pairs:
        return nothing("No point was replayed.")
    fig, places = panels(len(pairs), 2 if len(found.traces) == 1 else len(wanted), 2.4)
    column = f"config.{key}"
    values = [row.get(column) for row in found.done]
    labels = _words(values)
    for axes, (trace, one) in zip(places, pairs, strict=True):
        rows = [row for row in _of(found, trace, (one,)) if row.get(column) is not None]
        axes.set_title(one.label if len(found.traces) == 1 else f"{style.shorten(trace, 22)}: {one.label}")
        _against(axes, found, rows, trace, key, one, labels)
        axes.set_xlabel(key)
        style.quiet(axes, "y")
    _legend(fig, found)
    return Drawing(fig, sees=_means(found), data=_data(found, wanted))


def _words(values: Sequence[Any]) -> list[str] | None:
    """The values in order, where they are words; None where all are numbers."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values if value is not None):
        return None
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def _against(
    axes: Axes, found: Swept, rows: Sequence[Row], trace: str, key: str, one: figures.Figure,
    labels: list[str] | None,
) -> None:  # fmt: skip
    column = f"config.{key}"

    def place(row: Row) -> float:
        return float(row[column]) if labels is None else float(labels.index(str(row[column])))

    hues, wide = colours(found), style.widths(len(found.systems))
    for system, width in zip(found.systems, wide, strict=True):
        mine = [row for row in rows if row["system"] == system]
        axes.plot(
            [place(row) for row in mine], [row[one.path] for row in mine], linestyle="none", marker="o",
            markersize=2 + 1.2 * width, markeredgewidth=0, alpha=0.85, color=hues[system],
        )  # fmt: skip
        means = _mean_of(found, trace, system, key, one)
        if len(means) > 1:
            line = sorted((place(row), value) for row, value in means)
            axes.plot(*zip(*line, strict=True), color=hues[system], linewidth=width)
    if labels is not None:
        axes.set_xticks(range(len(labels)), [style.shorten(label, 16) for label in labels])
        axes.set_xlim(-0.5, len(labels) - 0.5)
    else:
        _plain_scale(axes, [place(row) for row in rows])
    scaled(axes, "y", one, [row[one.path] for row in rows])


def _mean_of(found: Swept, trace: str, system: str, key: str, one: figures.Figure) -> list[tuple[Row, float]]:
    """The mean at each value of a key, over what else was swept: only where every point of the value is there.

    What is drawn from ranges, or was searched for, has no such means: other keys differ from value to value.
    """
    if found.plan["mode"] not in ("grid", "zip"):
        return []
    column = f"config.{key}"
    groups: dict[Any, list[Row]] = {}
    for row in found.rows:
        if row["trace"] == trace and row["system"] == system:
            groups.setdefault(row.get(column), []).append(row)
    means = []
    for value, rows in groups.items():
        numbers = [number(row, one) for row in rows]
        known = [one for one in numbers if one is not None]
        if value is not None and len(known) == len(rows):
            means.append((rows[0], sum(known) / len(known)))
    return means


def _means(found: Swept) -> list[str]:
    """What the lines are, where there are any."""
    if found.plan["mode"] not in ("grid", "zip"):
        return ["Each dot is a point; other keys differ between them."]
    if len(found.axes) < 2:
        return []
    whole = "" if found.complete else ", where all of them are there"
    return [f"Each dot is a point; a line joins the means over what else was swept{whole}."]


def _of(found: Swept, trace: str, wanted: Sequence[figures.Figure]) -> list[Row]:
    """The rows of a trace that have all of the figures."""
    return [
        row for row in found.done
        if row["trace"] == trace and all(number(row, one) is not None for one in wanted)
    ]  # fmt: skip


def panels(number_of: int, across: int, height: float) -> tuple[Drawn, list[Axes]]:
    """A figure with places for so many panels, some side by side."""
    across = max(1, min(across, number_of))
    rows = math.ceil(number_of / across)
    fig = style.figure(0.5 + rows * height)
    places = list(fig.subplots(rows, across, squeeze=False).flatten())
    for axes in places[number_of:]:
        axes.remove()
    return fig, places[:number_of]


def _cloud(axes: Axes, found: Swept, rows: Sequence[Row], wanted: tuple[figures.Figure, figures.Figure]) -> None:
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


def _limits(axes: Axes, found: Swept, across: figures.Figure, up: figures.Figure) -> None:
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
    elif not axes.get_title():
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


def _plain_scale(axes: Axes, values: Sequence[float]) -> None:
    """The axis of a key that is a number."""
    positive = [value for value in values if value > 0]
    if len(positive) == len(values) and max(values) / min(values) >= WIDE:
        scales.log_counts(axes)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: scales.plain(value)))


def _legend(fig: Drawn, found: Swept, *, front: bool = False) -> None:
    hues = colours(found)
    handles = [Line2D([], [], linestyle="none", marker="o", color=hues[name]) for name in found.systems]
    labels = list(found.systems)
    if front:
        handles.append(Line2D([], [], color=style.INK, linewidth=0.9))
        labels.append("not beaten")
    style.legend_above(fig, handles, labels)


def _data(found: Swept, wanted: Sequence[figures.Figure]) -> Data:
    keys = list(found.axes)
    data = Data(("point", "trace", "system", *keys, *(one.path for one in wanted)))
    data.rows += [
        (row["point"], row["trace"], row["system"], *(row.get(f"config.{key}") for key in keys),
         *(row.get(one.path) for one in wanted))
        for row in found.done
    ]  # fmt: skip
    return data
