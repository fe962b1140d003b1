"""The effect of fewer partitions: f_r <= 3 instead of 2 over many traces (SWC, Fig. 4 and 9)."""

from __future__ import annotations

from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import Collection, SavedTable

from .. import style
from . import across
from .across_write_amplification import NEEDED
from .base import Chart, Drawing, nothing

_PANELS = (("4", "at the traces' own granularity", "23 %"), ("9", "with pages of 16 KiB", "a third"))


def draw(results: Collection) -> Drawing:
    """Two histograms of the change of the write amplification."""
    known = [(table, words) for name, words, _ in _PANELS if (table := results.figure(name)) is not None]
    if not known:
        return nothing(across.nobody(results, "write_amplification", NEEDED))
    fig = style.figure(2.4)
    for axes, (table, words) in zip(fig.subplots(1, len(known), squeeze=False)[0], known, strict=True):
        _histogram(axes, table, words)
    return Drawing(fig, _sees(results), data=across.data(results, "4", "9"))


def _histogram(axes: Axes, table: SavedTable, words: str) -> None:
    edges = across.statistic(table, "traces")[0]
    width = float(edges[1] - edges[0]) if edges.size > 1 else 1.0
    across.histogram(axes, [("", table, style.HUES[0][0])], width)
    axes.axvline(0, color=style.INK, linewidth=0.8)
    style.percents(style.quiet(axes), "x")
    axes.set_xlabel("change of write amplification")
    axes.set_title(f"Traces, {words}")


def _sees(results: Collection) -> list[str]:
    sentences = []
    for name, words, paper in _PANELS:
        table = results.figure(name)
        if table is None:
            continue
        below, down = across.single(table, "below_5_percent"), across.single(table, "down_percent")
        if below is not None and down is not None:
            sentences.append(
                f"Needing f_r ≤ 3 only, {words}, the write amplification grows by less than 5 % in "
                f"{units.percent(below)} of the traces and falls in {units.percent(down)} (SWC: almost all, {paper})."
            )
    return sentences


CHART = Chart(
    "across_knee",
    "Fewer partitions",
    "What does it cost to allow a frequency ratio of 3 instead of 2?",
    "across_writing",
    draw,
)
