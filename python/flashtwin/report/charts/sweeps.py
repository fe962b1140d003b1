"""Charts of a sweep: the trade-off of two figures, trace by trace, throughput against response time, key by key."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flashtwin import units
from flashtwin.results import figures
from flashtwin.results.figures import Figure
from flashtwin.results.sweeps import DEPTH, SavedSweep, number
from flashtwin.results.variation import (
    BARELY,
    Line,
    Variation,
    candidates,
    distinct,
    in_turn,
    lines,
    plain,
    variations,
)

from .. import colours, mark
from ..declared import Axis, Chart, Data, Drawing, Frame, LegendEntry, Panel, is_column, line_key, nothing, shorten

TRACES_MAX = 6
#: Points of a system that each have a mark of their own, with a tip.
TIPS_MAX = 300
FIGURES_MAX, PANELS_MAX = 6, 12
#: Settings of a search over several traces that are shown, the best first; traces told apart by their marks.
TRIALS_MAX = 20
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
#: How several traces are looked at as one.
OVER_WORDS = {"mean": "the geometric mean of the ratios", "worst": "the worst of the ratios"}
#: Stands for the values of all keys, where these were put side by side.
SETTING = "setting"
SERVED, RESPONSES = figures.figure("iops"), (figures.figure("all.mean"), figures.figure("all.p99"))
_LIMIT = {"color": colours.MUTED, "linewidth": 0.9, "linestyle": (0, (4, 3))}

Row = Mapping[str, Any]


def charts(found: SavedSweep) -> list[Chart[SavedSweep]]:
    """The charts of a sweep, the trade-off first."""
    across, up = found.trade
    title = f"{across.label} against {up.label}"
    # With a capital, but for p99.
    title = title if title[1:2].isdigit() else title[0].upper() + title[1:]
    ask = f"What does {across.label} cost in {up.label}, and which points does no other one beat?"
    chosen = [Chart("trade", title, ask, "trade", trade)]
    if found.over is not None:
        ask = f"What does a setting bring on each trace, beside {found.search['reference']} as it is?"
        chosen.append(Chart("over", "Trace by trace", ask, "multiples", over_traces))
    if len({row[f"config.{DEPTH}"] for row in _deep(found)} if DEPTH in found.axes else ()) > 1:
        ask = "How much does each system serve, and from where on do more requests under way only wait longer?"
        chosen.append(Chart("throughput", "Throughput against response time", ask, "multiples", throughput))
    for place, key in enumerate(keys_of(found), start=1):
        ask = f"What changes with `{key}`?" if key != SETTING else f"What changes with {', '.join(found.axes)}?"
        chosen.append(Chart(f"by-{place}", f"By {key}", ask, "multiples", partial(by_key, key=key)))
    return chosen


def hues_of(found: SavedSweep) -> dict[str, str]:
    return {name: light for name, (light, _) in colours.of_systems((name, name) for name in found.systems).items()}


def _widths(found: SavedSweep) -> dict[str, float]:
    return dict(zip(found.systems, colours.widths(len(found.systems)), strict=True))


def _keys(found: SavedSweep) -> list[LegendEntry]:
    return [line_key(name, linestyle="none", marker="o", color=hue) for name, hue in hues_of(found).items()]


def _data(found: SavedSweep, wanted: Sequence[Figure]) -> Data:
    data = Data(("point", "trace", "system", *found.axes, *(one.path for one in wanted)))
    columns = ("point", "trace", "system", *(f"config.{key}" for key in found.axes), *(one.path for one in wanted))
    data.rows += [tuple(row.get(name) for name in columns) for row in found.done]
    return data


def _rows(panels: Sequence[Panel], across: int) -> list[list[Panel | None]]:
    """Panels some side by side; on a column one below the other, where a place without a panel would be a gap."""
    across = 1 if is_column() else max(1, min(across, len(panels)))
    filled = [*panels, *[None] * (-len(panels) % across)]
    return [filled[at : at + across] for at in range(0, len(filled), across)]


def _scaled(one: Figure, rows: Iterable[Row], label: str = "") -> Axis:
    return Axis(label, "figure", (one, [row[one.path] for row in rows]))


def trade(found: SavedSweep) -> Drawing:
    """Every point by two figures; those that no other one beats are joined."""
    wanted = across, up = found.trade
    whole = [row for row in found.done if all(number(row, one) is not None for one in wanted)]
    if not whole:
        return nothing(f"No point has both figures, {across.label} and {up.label}.")
    every = {condition: distinct(rows) for condition, rows in found.by_condition(whole).items()}
    varied = {key: rows for key, rows in every.items() if not any(_is_flat(rows, one) for one in wanted)}
    if not varied:
        flat = units.names_plain([one.label for one in wanted if all(_is_flat(rows, one) for rows in every.values())])
        where = "point" if len(every) == 1 else "point of a trace and condition"
        return nothing(f"There is none: {flat or 'one figure or the other'} is the same at every {where}.")
    panels, sees = [], []
    if found.conditions:
        sees.append(f"Points compete at equal {units.names(found.conditions)} only, because these are given.")
    for condition, rows in list(varied.items())[:PANELS_MAX]:
        best = figures.front(figures.costs(rows, wanted))
        marks = [*_cloud(found, rows), *_front(found, [rows[place] for place in best])]
        for bound in found.bounds:
            marks += [mark.axvline(bound.limit, **_LIMIT)] if bound.figure.path == across.path else []
            marks += [mark.axhline(bound.limit, **_LIMIT)] if bound.figure.path == up.path else []
        where = _where(found, condition)
        x_axis = _scaled(across, rows, across.label)
        panels.append(Panel(marks, where, x_axis, _scaled(up, rows, up.label), "both"))
        sees.append(_sees_front(found, where, rows, best))
    if len(varied) > len(panels):
        sees.append(f"{len(panels)} of {len(varied)} conditions are drawn; the CSV has all.")
    rows_of = _rows(panels, 2)
    height = 0.5 + len(rows_of) * (3.6 if len(panels) == 1 else 2.9)
    keys = [*_keys(found), line_key("not beaten", color=colours.INK, linewidth=0.9)]
    return Drawing(Frame(height, rows_of, keys), sees, data=_data(found, wanted))


def _is_flat(rows: Sequence[Row], one: Figure) -> bool:
    return len({number(row, one) for row in rows}) == 1


def _where(found: SavedSweep, condition: tuple[Any, ...]) -> str:
    """A condition in words: the trace, if there are several, and the values of its keys."""
    trace, *values = condition
    parts = [shorten(trace, 22)] if len(found.traces) > 1 else []
    keys = (key.rpartition(".")[2].replace("_", " ") for key in found.conditions)
    return ", ".join([*parts, *(f"{key} {plain(value)}" for key, value in zip(keys, values, strict=True))])


def _cloud(found: SavedSweep, rows: Sequence[Row]) -> list[mark.Mark]:
    across, up = found.trade
    marks = []
    # What lies under another point stays to be seen: the first system is the largest.
    for system, width in _widths(found).items():
        for good in (True, False):
            mine = [row for row in rows if row["system"] == system and figures.keeps(row, found.bounds) is good]
            # What breaks a bound is hollow.
            face: dict[str, Any] = {} if good else {"markerfacecolor": "none", "markeredgewidth": 0.8}
            look = {"color": hues_of(found)[system], "alpha": 0.9, **face}
            parts = [[row] for row in mine] if len(mine) <= TIPS_MAX else [mine]
            marks += [_dots(part, across, up, 2.6 + 1.5 * width, **look) for part in parts]
    best = found.best_trial.rows if found.best_trial else [found.best]
    ringed = [row for row in rows if row in best]
    ring = {"markerfacecolor": "none", "markeredgecolor": colours.INK, "markeredgewidth": 1.3}
    return [*marks, _dots(ringed, across, up, 11, **ring)] if ringed else marks


def _dots(rows: Sequence[Row], across: Figure, up: Figure, size: float, **look: Any) -> mark.Mark:
    x, y = [row[across.path] for row in rows], [row[up.path] for row in rows]
    tip = ""
    if len(rows) == 1:
        figures_of = (f"{one.label} {one.written(rows[0][one.path])}" for one in (across, up))
        tip = f"point {rows[0]['point']}, {rows[0]['system']}: {', '.join(figures_of)}"
    return mark.plot(x, y, linestyle="none", marker="o", markersize=size, tip=tip, **look)


def _front(found: SavedSweep, best: Sequence[Row]) -> list[mark.Mark]:
    across, up = found.trade
    points = sorted({(row[across.path], row[up.path]) for row in best})
    # The step runs from each point towards worse values of the x figure.
    where = "pre" if across.more_is_better else "post"
    look = {"color": colours.INK, "linewidth": 0.9, "zorder": 1}
    return [mark.step(*zip(*points, strict=True), where=where, **look)] if len(points) > 1 else []


def _sees_front(found: SavedSweep, where: str, rows: Sequence[Row], best: Sequence[int]) -> str:
    numbers = ", ".join(str(rows[place]["point"]) for place in best[:12])
    more = ", …" if len(best) > 12 else ""
    before = f"{where}: " if where else ""
    so_far = "" if found.complete else " so far"
    are = "is" if len(best) == 1 else "are"
    return (
        f"{before}{units.count(len(best))} of {units.plural(len(rows), 'run')} {are} beaten by no other one"
        f"{so_far}: point {numbers}{more}."
    )


def over_traces(found: SavedSweep) -> Drawing:
    """A search over several traces: a column for each setting, the best first, beside the reference.

    A mark stands for a trace, a bar for all of them.
    """
    one = figures.figure(found.goals[0])
    ranked = sorted(found.tried, key=lambda trial: (not trial.kept, one.cost(trial.ratios[0]), trial.number))
    tried = ranked[:TRIALS_MAX]
    if not tried:
        return nothing(f"No setting has {one.label} on every trace.")
    ratio, places = f"ratio.{one.path}", range(len(tried))
    looks = {
        trace: {"linestyle": "none", "marker": SHAPES[place % len(SHAPES)], "color": colours.MUTED}
        for place, trace in enumerate(found.traces)
    }
    bar = {"linestyle": "none", "marker": "_", "markeredgewidth": 2.2, "color": colours.INK}
    marks = [mark.axhline(1.0, **_LIMIT)]
    for place, look in enumerate(looks.values()):
        marks.append(mark.plot(places, [trial.rows[place][ratio] for trial in tried], markersize=5, **look))
    marks.append(mark.plot(places, [trial.ratios[0] for trial in tried], markersize=16, **bar))
    x_axis = Axis("trial", "names", [f"{trial.number}{'' if trial.kept else '*'}" for trial in tried])
    panel = Panel(marks, x=x_axis, y=Axis(f"{one.label}, of the reference's"))
    together = "geometric mean" if found.over == "mean" else "worst"
    keys = [line_key(shorten(trace, 24), **look) for trace, look in looks.items()]
    data = Data(("trial", "system", "kept", f"over.{one.path}", *(f"ratio on {trace}" for trace in found.traces)))
    for trial in tried:
        ratios = (row[ratio] for row in trial.rows)
        data.rows.append((trial.number, trial.rows[0]["system"], trial.kept, trial.ratios[0], *ratios))
    sees, best = [], found.best_trial
    if best is not None:
        each = ", ".join(f"{units.ratio(row[ratio])} on {row['trace']}" for row in best.rows)
        sees.append(f"The best over the traces is trial {best.number}: {units.ratio(best.ratios[0])} ({each}).")
    if any(not trial.kept for trial in tried):
        sees.append("A trial with a star breaks a bound on some trace.")
    return Drawing(Frame(3.2, [[panel]], [*keys, line_key(together, **bar)]), sees, data=data)


def throughput(found: SavedSweep) -> Drawing:
    """Mean and 99th percentile of the response by the requests served a second, one depth after the other."""
    rows = _deep(found)
    traces = [trace for trace in found.traces if any(row["trace"] == trace for row in rows)][:TRACES_MAX]
    if not traces:
        return nothing("No point of a closed loop was replayed.")
    panels: list[Panel] = []
    sees: list[str] = []
    for trace in traces:
        of_setting = _by_setting(found, [row for row in rows if row["trace"] == trace])
        before = "" if len(traces) == 1 else f"{shorten(trace, 22)}: "
        panels += [_served(found, of_setting, up, before) for up in RESPONSES]
        sees += _sees_served(found, trace, of_setting)
    rows_of = _rows(panels, 2)
    keys = [line_key(name, color=hue, marker="o", markersize=4) for name, hue in hues_of(found).items()]
    others = [key for key in found.axes if key != DEPTH]
    data = Data(("point", "trace", "system", DEPTH, *others, SERVED.path, *(up.path for up in RESPONSES)))
    data.rows += [tuple(row.get(name if name in row else f"config.{name}") for name in data.header) for row in rows]
    height = 0.5 + len(rows_of) * (3.2 if len(traces) == 1 else 2.7)
    return Drawing(Frame(height, rows_of, keys), sees, data=data)


def _deep(found: SavedSweep) -> list[Row]:
    column, wanted = f"config.{DEPTH}", (SERVED, *RESPONSES)
    whole = [row for row in found.done if row.get(column) and all(number(row, one) is not None for one in wanted)]
    return sorted(whole, key=lambda row: row[column])


def _by_setting(found: SavedSweep, rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """The points of each system and of each combination of the other swept keys, by depth."""
    others = [f"config.{key}" for key in found.axes if key != DEPTH]
    of_setting: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        of_setting.setdefault((row["system"], *(str(row.get(key)) for key in others)), []).append(row)
    order = {name: place for place, name in enumerate(found.systems)}
    return dict(sorted(of_setting.items(), key=lambda line: order[line[0][0]]))


def _served(found: SavedSweep, of_setting: Mapping[tuple[Any, ...], list[Row]], up: Figure, before: str) -> Panel:
    hues, widths = hues_of(found), _widths(found)
    marks = []
    for (system, *_), rows in of_setting.items():
        x, y = [row[SERVED.path] for row in rows], [row[up.path] for row in rows]
        look = {"color": hues[system], "linewidth": widths[system], "markersize": 1.5 + widths[system]}
        marks.append(mark.plot(x, y, marker="o", **look))
    # Depths stand at the first line alone: the others have the same, in the same order.
    at = {"textcoords": "offset points", "ha": "center", "size": 7, "color": colours.MUTED}
    marks += [
        mark.annotate(units.count(row[f"config.{DEPTH}"]), (row[SERVED.path], row[up.path]), (0, 5), **at)
        for row in next(iter(of_setting.values()))
    ]
    every = [row for rows in of_setting.values() for row in rows]
    x_axis = _scaled(SERVED, every, SERVED.label)
    return Panel(marks, before + up.label, x_axis, _scaled(up, every), "both", title_look={"size": 9})


def _sees_served(found: SavedSweep, trace: str, of_setting: Mapping[tuple[Any, ...], list[Row]]) -> list[str]:
    first = [values[0] for key, values in found.axes.items() if key != DEPTH]
    where = f"On {trace}, " if len(found.traces) > 1 else ""
    sentences = []
    for (system, *others), rows in of_setting.items():
        if others == first:
            most = max(rows, key=lambda row: row[SERVED.path])
            sentences.append(
                f"{where}`{system}` serves at most {units.count(most[SERVED.path])} requests a second, with "
                f"{units.count(most[f'config.{DEPTH}'])} under way and a mean of "
                f"{units.duration(most[RESPONSES[0].path])}."
            )
    return sentences


@dataclass(frozen=True)
class KeyPanel:
    """Lines on one trace at one setting of the other keys; of settings that made the same runs, one is drawn."""

    title: str
    lines: tuple[Line, ...]


def keys_of(found: SavedSweep) -> list[str]:
    """What charts are drawn by: each key but seeds; the settings as a whole where they were put side by side."""
    keys = [key for key in found.axes if key not in found.seeds] or list(found.axes)
    return [SETTING] if found.plan["mode"] == "zip" and len(keys) > 1 else keys


def panels_of(found: SavedSweep, key: str) -> list[KeyPanel]:
    rows, others = found.rows, [one for one in found.axes if one != key and one not in found.seeds]
    if found.plan["mode"] != "grid":
        # Drawn from ranges, or side by side, no two points agree in the other keys.
        others = []
    if key == SETTING:
        swept = [f"config.{one}" for one in found.axes if one not in found.seeds]
        rows = [{**row, f"config.{SETTING}": ", ".join(plain(row.get(one)) for one in swept)} for row in rows]
    by_setting: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines(rows, key, others):
        if any(cell.rows for cell in line.cells):
            by_setting.setdefault((line.trace, *line.others), []).append(line)
    same: dict[Any, list[tuple[Any, ...]]] = {}
    for setting, its in by_setting.items():
        same.setdefault(frozenset((line.system, line.runs) for line in its), []).append(setting)
    return [KeyPanel(_title(found, settings), tuple(by_setting[settings[0]])) for settings in same.values()]


def _title(found: SavedSweep, settings: Sequence[tuple[Any, ...]]) -> str:
    """The setting of a panel; of several settings with the same runs, each value."""
    parts = [] if len(found.traces) == 1 else [shorten(settings[0][0], 22)]
    # The last part of each key, or the whole where another ends alike.
    last = [key.rpartition(".")[2] for key in found.axes]
    for place, (key, _) in enumerate(settings[0][1:], start=1):
        short = key.rpartition(".")[2]
        values = dict.fromkeys(plain(setting[place][1]) for setting in settings)
        parts.append(f"{short if last.count(short) == 1 else key} {', '.join(values)}")
    return "; ".join(parts)


def by_key(found: SavedSweep, key: str) -> Drawing:
    """The figures that vary most with a key, a panel for each setting of the other keys."""
    every, joined = panels_of(found, key), found.plan["mode"] in ("grid", "zip")
    cells = [line.cells for panel in every for line in panel.lines]
    varied = variations(cells, candidates(found.done, closed=found.is_closed))
    if not varied:
        return nothing("Fewer than two values of this key have all their runs.")
    shown = every[:PANELS_MAX]
    order = in_turn([one for one in varied if one.share >= BARELY]) or in_turn(varied)[:1]
    drawn = order[: max(1, min(FIGURES_MAX, PANELS_MAX // len(shown)))]
    of_figures = [_panels(found, key, shown, one.figure, joined=joined) for one in drawn]
    if len(shown) == 1:
        rows = _rows([panel for panels in of_figures for panel in panels], 2)
    else:
        # Panels of one figure stand side by side.
        rows = [row for panels in of_figures for row in _rows(panels, 3)]
    sees = [*_sees_varied(key, varied, drawn), *_explained(found, key, shown, joined=joined)]
    if len(every) > len(shown):
        sees.append(f"{len(shown)} of {len(every)} settings of the other keys are drawn; the CSV has all.")
    return Drawing(
        Frame(0.5 + len(rows) * 2.4, rows, _keys(found)), sees, data=_data(found, [one.figure for one in order])
    )


def _panels(found: SavedSweep, key: str, shown: Sequence[KeyPanel], one: Figure, *, joined: bool) -> list[Panel]:
    """One figure in all panels, on one scale."""
    cells = [cell for panel in shown for line in panel.lines for cell in line.cells]
    values = [cell.value for cell in cells]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    words = None if numbers else list(dict.fromkeys(map(str, values)))
    heights = [height for cell in cells for height in cell.numbers(one)]
    if words is None:
        x_axis = Axis(key, "key", values)
    else:
        x_axis = Axis(key, "names", [shorten(word, 16) for word in words], low=-0.5, high=len(words) - 0.5)
    panels: list[Panel] = []
    for panel in shown:
        marks = [one_mark for line in panel.lines for one_mark in _line(found, line, one, words, joined=joined)]
        title = f"{one.label}; {panel.title}" if panel.title else one.label
        # Panels share the scale, and so its locator and its labels.
        y_axis = Axis(ticks="figure", of=(one, heights)) if heights and not panels else Axis()
        panels.append(Panel(marks, title, x_axis, y_axis, same_y=panels[0] if panels else None))
    return panels


def _line(found: SavedSweep, line: Line, one: Figure, words: list[str] | None, *, joined: bool) -> list[mark.Mark]:
    look: dict[str, Any] = {"color": hues_of(found)[line.system]}
    width = _widths(found)[line.system]
    if line.is_one_run:
        value = next(cell.mean(one) for cell in line.cells)
        return [] if value is None else [mark.axhline(value, linewidth=width, linestyle=(0, (4, 2)), **look)]
    at = [float(cell.value if words is None else words.index(str(cell.value))) for cell in line.cells]
    means = [cell.mean(one) for cell in line.cells]
    spread = [cell.numbers(one) for cell in line.cells]
    dots = {"marker": "o", "markersize": 2 + 1.2 * width, "markeredgewidth": 0, **look}
    if not joined:
        x = [place for place, numbers in zip(at, spread, strict=True) for _ in numbers]
        return [mark.plot(x, [value for numbers in spread for value in numbers], linestyle="none", alpha=0.85, **dots)]
    # A run that is missing leaves a gap.
    curve = mark.plot(at, [math.nan if mean is None else mean for mean in means], linewidth=width, **dots)
    if all(len(numbers) <= 1 for numbers in spread):
        return [curve]
    low, high = ([end(numbers, default=math.nan) for numbers in spread] for end in (min, max))
    return [mark.fill_between(at, low, high, alpha=0.2, linewidth=0, **look), curve]


def _sees_varied(key: str, varied: Sequence[Variation], drawn: Sequence[Variation]) -> list[str]:
    top = max(varied, key=lambda one: one.share)
    if top.share == 0:
        return [f"No figure varies with `{key}`."]
    sees = [f"With `{key}` {_ranges([top])} varies most."]
    more = [one for one in varied if one.share >= BARELY and one not in drawn]
    sees += [f"Not drawn, though they vary: {_ranges(more)}."] if more else []
    barely = [one.figure.label for one in varied if 0 < one.share < BARELY]
    sees += [f"Varied by less than {units.percent(100 * BARELY)}: {', '.join(barely)}."] if barely else []
    equal = [one.figure.label for one in varied if one.share == 0]
    return sees + ([f"Did not vary: {', '.join(equal)}."] if equal else [])


def _ranges(found: Sequence[Variation]) -> str:
    return ", ".join(
        f"{one.figure.label} ({one.figure.written(one.first)} to {one.figure.written(one.last)})" for one in found
    )


def _explained(found: SavedSweep, key: str, shown: Sequence[KeyPanel], *, joined: bool) -> list[str]:
    if not joined:
        return ["Each dot is a run; other keys differ between them."]
    sees = []
    every = [line for panel in shown for line in panel.lines]
    flat = [name for name in found.systems if any(line.system == name and line.is_one_run for line in every)]
    if flat:
        sees.append(f"Dashed: {units.names(flat)} made one run for all values, because `{key}` does not matter there.")
    seeds = max((len(cell.rows) for line in every for cell in line.cells), default=1)
    if seeds > 1:
        sees.append(
            f"A line is the mean over {units.plural(seeds, 'seed')}, the band reaches from the lowest to the highest."
        )
    if len(shown) > 1:
        sees.append("Panels of one figure have one scale.")
    return sees
