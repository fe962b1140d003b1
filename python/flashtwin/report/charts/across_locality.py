"""Gains of waiting and distance in logical locality over many traces (SWC, Fig. 15 and 16)."""

from __future__ import annotations

from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import Collection, SavedTable

from .. import style
from . import across
from .base import Chart, Drawing, nothing

_PANELS = (("15", "δP_D of writes: gain of waiting"), ("16", "δP_T of writes: gain of distance"))


def draw(results: Collection) -> Drawing:
    """Two histograms over tenths, three distances and three times side by side."""
    known = [(table, title) for name, title in _PANELS if (table := results.figure(name)) is not None]
    if not known:
        return nothing(across.nobody(results, "large_enough", "10,000 requests and 5,000 writes"))
    fig = style.figure(2.5)
    for axes, (table, title) in zip(fig.subplots(1, len(known), squeeze=False, sharey=True)[0], known, strict=True):
        _panel(axes, table, title)
    return Drawing(fig, _sees(results), data=across.data(results, "15", "16"))


def _panel(axes: Axes, table: SavedTable, title: str) -> None:
    names = _writes(table)
    colours = style.ordered(len(names) or 1)
    known = [
        (name.partition(", ")[2], table.where("series", name), colour)
        for name, colour in zip(names, colours, strict=False)
    ]
    across.histogram(axes, known, 10.0, 100.0)
    style.percents(style.quiet(axes), "x")
    axes.set_xlim(0, 100)
    axes.set_title(f"Traces by {title}")
    axes.legend(loc="upper right", handlelength=0.9)


def _writes(table: SavedTable) -> list[str]:
    return [name for name in across.series(table) if name.startswith("write")]


def _sees(results: Collection) -> list[str]:
    sentences = []
    for figure, words in (("15", "waiting adds"), ("16", "a larger distance adds")):
        table = results.figure(figure)
        parts = []
        for name in _writes(table) if table is not None else []:
            median = across.single(table.where("series", name), "median") if table is not None else None
            if median is not None:
                parts.append(f"{units.percent(median * 100)} at {name.partition(', ')[2]}")
        if parts:
            sentences.append(f"In the median trace {words} {', '.join(parts)}.")
    return sentences


CHART = Chart(
    "across_locality",
    "Logical locality over all traces",
    "Is it better to look further or to wait longer?",
    "across_reading",
    draw,
)
