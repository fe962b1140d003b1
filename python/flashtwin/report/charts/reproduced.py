"""A paper's figure in its own form: grouped bars or lines, measured, with the published values marked."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashtwin.results.trees import as_number

from .. import colours, mark
from ..declared import Axis, Cell, Data, Drawing, Frame, LegendEntry, Panel, line_key, patch_key, shorten

PaperPanel = Mapping[str, Any]

#: Groups up to this many let two panels of bars stand side by side.
FEW_GROUPS = 4
PUBLISHED: dict[str, Any] = {
    "color": colours.INK,
    "marker": "D",
    "markersize": 5.0,
    "markerfacecolor": colours.SURFACE,
    "markeredgewidth": 1.4,
    "linestyle": "none",
}


def draw(panels: Sequence[PaperPanel]) -> Drawing:
    names = list(dict.fromkeys(series["name"] for panel in panels for series in panel["series"]))
    hues = colours.series_colours(names)
    bars = panels[0]["form"] == "bars"
    few = all(len(panel["groups"]) <= FEW_GROUPS for panel in panels) if bars else True
    across = min(len(panels), (2 if few else 1) if bars else 3)
    drawn: list[Panel | None] = [(_bars if panel["form"] == "bars" else _lines)(panel, hues) for panel in panels]
    drawn += [None] * (-len(drawn) % across)
    rows = [drawn[at : at + across] for at in range(0, len(drawn), across)]
    frame = Frame(0.5 + len(rows) * (2.6 if bars else 2.5), rows, _keys(panels, hues, bars=bars))
    return Drawing(frame, data=_data(panels))


def _bars(panel: PaperPanel, hues: Mapping[str, str]) -> Panel:
    series, groups, stacked = panel["series"], panel["groups"], panel["stacked"]
    width = 0.7 if stacked else 0.8 / max(len(series), 1)
    base = [0.0] * len(groups)
    marks = []
    for place, one in enumerate(series):
        shift = 0.0 if stacked else (place - (len(series) - 1) / 2) * width
        heights = [as_number(value) or 0.0 for value in one["measured"]]
        x = [group + shift for group in range(len(groups))]
        look = {"color": hues[one["name"]], "linewidth": 0}
        marks.append(mark.bar(x, heights, width * 0.92, base if stacked else None, **look))
        if stacked:
            base = [low + high for low, high in zip(base, heights, strict=True)]
        of_paper = map(as_number, one["published"])
        known = [(at, value) for at, value in zip(x, of_paper, strict=False) if value is not None]
        marks += [mark.plot(*zip(*known, strict=True), **PUBLISHED)] if known else []
    marks.append(mark.axhline(0.0, color=colours.MUTED, linewidth=0.7))
    if len(groups) > FEW_GROUPS * 3:
        marks.append(mark.tick_params(axis="x", rotation=60))
    x_axis = Axis(ticks="names", of=[shorten(group, 14) for group in groups], low=-0.6, high=len(groups) - 0.4)
    return Panel(marks, panel["title"], x_axis, Axis(panel["y_label"]))


def _lines(panel: PaperPanel, hues: Mapping[str, str]) -> Panel:
    marks = []
    for one in panel["series"]:
        points = zip(map(as_number, one["x"]), map(as_number, one["y"]), strict=True)
        known = [(x, y) for x, y in points if x is not None and y is not None]
        if known:
            look = {
                "color": hues[one["name"]],
                "marker": "o" if panel.get("points") or len(known) <= 16 else "",
                "markersize": 3.2,
                "linewidth": 1.5,
                "linestyle": "none" if panel.get("points") else "-",
            }
            marks.append(mark.plot(*zip(*known, strict=True), **look))
    marks += [mark.plot([float(point["x"])], [float(point["y"])], **PUBLISHED) for point in panel["published"]]
    whole = all(float(x).is_integer() for one in panel["series"] for x in one["x"])
    x_axis = Axis(panel["x_label"], "log counts" if panel["x_log"] else "whole" if whole else "", 6)
    log = panel["y_log"] and any((as_number(y) or 0) > 0 for one in panel["series"] for y in one["y"])
    y_axis = Axis(panel["y_label"], "decades" if log else "counts with zero", log=log)
    return Panel(marks, panel["title"], x_axis, y_axis, "both")


def _keys(panels: Sequence[PaperPanel], hues: Mapping[str, str], *, bars: bool) -> list[LegendEntry]:
    """One name a colour, and the mark of published values; none where one colour is used."""
    keys = [patch_key(name, hue) if bars else line_key(name, color=hue) for name, hue in hues.items()]
    published = any(
        panel.get("published")
        or any(value is not None for one in panel["series"] for value in one.get("published", ()))
        for panel in panels
    )
    if published:
        return [*keys, line_key("published", **PUBLISHED)]
    return keys if len(keys) > 1 else []


def _data(panels: Sequence[PaperPanel]) -> Data:
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
