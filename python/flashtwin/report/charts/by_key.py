"""The charts of a sweep by key: the figures that vary most with it, a panel for each setting of the other keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

from flashtwin import units
from flashtwin.results.figures import Figure
from flashtwin.results.sweeps import SavedSweep
from flashtwin.results.variation import BARELY, Line, RunGroup, Variation, candidates, in_turn, lines, plain, variations

from .. import axes as scales
from .. import style
from .base import Drawing, nothing
from .swept import colours, data, legend, panels, scaled

#: Figures of a key, and panels of a chart in all.
FIGURES_MAX, PANELS_MAX = 6, 12
#: Stands for the values of all keys, where these were put side by side.
SETTING = "setting"
#: From this ratio of the largest to the smallest value on, the axis of a key is logarithmic.
FAR = 8.0
#: Values of a key that each have a tick.
TICKS_MAX = 7
#: Dash of a system that does not look at the key.
_DASH = (0, (4, 2))


@dataclass(frozen=True)
class Panel:
    """Lines on one trace at one setting of the other keys; of settings that made the same runs, one is drawn."""

    title: str
    lines: tuple[Line, ...]


def draw(found: SavedSweep, key: str) -> Drawing:
    """Figures against the values of a key."""
    return _draw(found, key, panels_of(found, key), joined=found.plan["mode"] in ("grid", "zip"))


def keys_of(found: SavedSweep) -> list[str]:
    """What charts are drawn by: each key but seeds; the settings as a whole where they were put side by side."""
    keys = [key for key in found.axes if key not in found.seeds] or list(found.axes)
    return [SETTING] if found.plan["mode"] == "zip" and len(keys) > 1 else keys


def panels_of(found: SavedSweep, key: str) -> list[Panel]:
    """The panels of a key, in the order of the sweep."""
    rows, others = found.rows, [one for one in found.axes if one != key and one not in found.seeds]
    if found.plan["mode"] != "grid":
        # Drawn from ranges, or side by side, no two points agree in the other keys.
        others = []
    if key == SETTING:
        rows = [{**row, f"config.{SETTING}": _setting(found, row)} for row in rows]
    by_setting: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines(rows, key, others):
        if any(cell.rows for cell in line.cells):
            by_setting.setdefault((line.trace, *line.others), []).append(line)
    same: dict[Any, list[tuple[Any, ...]]] = {}
    for setting, its in by_setting.items():
        same.setdefault(frozenset((line.system, line.runs) for line in its), []).append(setting)
    short = short_names(list(found.axes))
    return [
        Panel(_title(found, settings, short), tuple(by_setting[settings[0]]))
        for settings in same.values()
    ]  # fmt: skip


def _setting(found: SavedSweep, row: Mapping[str, Any]) -> str:
    """The values of all keys of a row but seeds, as a label."""
    return ", ".join(plain(row.get(f"config.{key}")) for key in found.axes if key not in found.seeds)


def _title(found: SavedSweep, settings: Sequence[tuple[Any, ...]], short: dict[str, str]) -> str:
    """The setting of a panel; of several settings with the same runs, each value."""
    said = [] if len(found.traces) == 1 else [style.shorten(settings[0][0], 22)]
    for place, (key, _) in enumerate(settings[0][1:], start=1):
        values = dict.fromkeys(plain(setting[place][1]) for setting in settings)
        said.append(f"{short[key]} {', '.join(values)}")
    return "; ".join(said)


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """The last part of each key, or the whole where another ends alike."""
    last = [key.rpartition(".")[2] for key in keys]
    return {key: one if last.count(one) == 1 else key for key, one in zip(keys, last, strict=True)}


def _draw(found: SavedSweep, key: str, every: Sequence[Panel], *, joined: bool) -> Drawing:
    varied = variations(
        [line.cells for panel in every for line in panel.lines], candidates(found.done, closed=found.is_closed)
    )
    if not varied:
        return nothing("Fewer than two values of this key have all their runs.")
    shown = every[:PANELS_MAX]
    room = max(1, min(FIGURES_MAX, PANELS_MAX // len(shown)))
    order = in_turn([one for one in varied if one.share >= BARELY]) or in_turn(varied)[:1]
    drawn = order[:room]
    across = 2 if len(shown) == 1 else min(3, len(shown))
    fig, places = _places(len(drawn), len(shown), across)
    for one, row in zip(drawn, places, strict=True):
        _row(row, found, key, shown, one.figure, joined=joined)
    legend(fig, found)
    left_out = (
        [f"{len(shown)} of {len(every)} settings of the other keys are drawn; the CSV has all."]
        if len(every) > len(shown)
        else []
    )
    sees = [*_seen(key, varied, drawn), *_explained(found, key, shown, joined=joined), *left_out]
    return Drawing(fig, sees=sees, data=data(found, [one.figure for one in order]))


def _places(figures: int, number: int, across: int) -> tuple[Any, list[list[Axes]]]:
    """A figure with the axes of each figure's panels; panels of one figure stand side by side."""
    if style.is_column():
        across = 1
    if number == 1:
        fig, flat = panels(figures, across, 2.4)
        return fig, [[axes] for axes in flat]
    rows = math.ceil(number / across)
    fig = style.figure(0.5 + figures * rows * 2.4)
    grid = fig.subplots(figures * rows, across, squeeze=False)
    found = []
    for place in range(figures):
        flat = list(grid[place * rows : (place + 1) * rows].flatten())
        for axes in flat[number:]:
            axes.remove()
        found.append(flat[:number])
    return fig, found


def _row(
    places: Sequence[Axes], found: SavedSweep, key: str, shown: Sequence[Panel], one: Figure, *, joined: bool
) -> None:
    """One figure in all panels, on one scale."""
    values = [cell.value for panel in shown for line in panel.lines for cell in line.cells]
    words = None if all(_is_number(value) for value in values) else list(dict.fromkeys(map(str, values)))
    heights = [number for panel in shown for line in panel.lines for cell in line.cells for number in cell.numbers(one)]
    for axes, panel in zip(places, shown, strict=True):
        if axes is not places[0]:
            axes.sharey(places[0])
        axes.set_title(f"{one.label}; {panel.title}" if panel.title else one.label)
        for line in panel.lines:
            _line(axes, found, line, one, words, joined=joined)
        _scale(axes, values, words)
        axes.set_xlabel(key)
        style.quiet(axes, "y")
    # Panels share the scale, and so its locator and its labels.
    if heights:
        scaled(places[0], "y", one, heights)


def _line(axes: Axes, found: SavedSweep, line: Line, one: Figure, words: list[str] | None, *, joined: bool) -> None:
    hue = colours(found)[line.system]
    width = style.widths(len(found.systems))[found.systems.index(line.system)]
    if line.is_one_run:
        value = next(cell.mean(one) for cell in line.cells)
        if value is not None:
            axes.axhline(value, color=hue, linewidth=width, linestyle=_DASH)
        return
    at = [_place(cell, words) for cell in line.cells]
    means = [cell.mean(one) for cell in line.cells]
    spread = [cell.numbers(one) for cell in line.cells]
    if joined and any(len(numbers) > 1 for numbers in spread):
        axes.fill_between(
            at, [min(one, default=math.nan) for one in spread], [max(one, default=math.nan) for one in spread],
            color=hue, alpha=0.2, linewidth=0,
        )  # fmt: skip
    elif not joined:
        means = [None for _ in means]
        axes.plot(
            [place for place, numbers in zip(at, spread, strict=True) for _ in numbers],
            [number for numbers in spread for number in numbers],
            linestyle="none", marker="o", markersize=2 + 1.2 * width, markeredgewidth=0, alpha=0.85, color=hue,
        )  # fmt: skip
    # A run that is missing leaves a gap.
    heights = [math.nan if mean is None else mean for mean in means]
    axes.plot(at, heights, color=hue, linewidth=width, marker="o", markersize=2 + 1.2 * width, markeredgewidth=0)


def _place(cell: RunGroup, words: list[str] | None) -> float:
    return float(cell.value) if words is None else float(words.index(str(cell.value)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scale(axes: Axes, values: Sequence[Any], words: list[str] | None) -> None:
    """The axis of the key: words as they come, numbers on a logarithmic scale where they lie far apart."""
    if words is not None:
        axes.set_xticks(range(len(words)), [style.shorten(word, 16) for word in words])
        axes.set_xlim(-0.5, len(words) - 0.5)
        return
    if min(values) > 0 and max(values) / min(values) >= FAR:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    swept = sorted(set(values))
    axes.xaxis.set_major_locator(FixedLocator(swept) if len(swept) <= TICKS_MAX else _many(axes))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: scales.plain(value)))


def _many(axes: Axes) -> Locator:
    """Ticks at round numbers, for more values than can each have one."""
    return LogLocator(numticks=7) if axes.get_xscale() == "log" else MaxNLocator(nbins=6)


def _seen(key: str, varied: Sequence[Variation], drawn: Sequence[Variation]) -> list[str]:
    """The figure that varies most, the others that vary, and those that do not."""
    top = max(varied, key=lambda one: one.share)
    if top.share == 0:
        return [f"No figure varies with `{key}`."]
    said = [f"With `{key}` {_ranges([top])} varies most."]
    more = [one for one in varied if one.share >= BARELY and one not in drawn]
    said += [f"Not drawn, though they vary: {_ranges(more)}."] if more else []
    barely = [one.figure.label for one in varied if 0 < one.share < BARELY]
    said += [f"Varied by less than {units.percent(100 * BARELY)}: {', '.join(barely)}."] if barely else []
    equal = [one.figure.label for one in varied if one.share == 0]
    return said + ([f"Did not vary: {', '.join(equal)}."] if equal else [])


def _ranges(found: Sequence[Variation]) -> str:
    return ", ".join(
        f"{one.figure.label} ({one.figure.written(one.first)} to {one.figure.written(one.last)})" for one in found
    )


def _explained(found: SavedSweep, key: str, shown: Sequence[Panel], *, joined: bool) -> list[str]:
    """The legend of lines, bands and dashes, where there are any."""
    if not joined:
        return ["Each dot is a run; other keys differ between them."]
    said = []
    every = [line for panel in shown for line in panel.lines]
    flat = [name for name in found.systems if any(line.system == name and line.is_one_run for line in every)]
    if flat:
        said.append(f"Dashed: {units.names(flat)} made one run for all values, because `{key}` does not matter there.")
    seeds = max((len(cell.rows) for line in every for cell in line.cells), default=1)
    if seeds > 1:
        said.append(
            f"A line is the mean over {units.plural(seeds, 'seed')}, the band reaches from the lowest to the highest."
        )
    if len(shown) > 1:
        said.append("Panels of one figure have one scale.")
    return said
