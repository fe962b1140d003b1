"""Whether contents stay popular from period to period (RR-SSD, Fig. 5)."""

from __future__ import annotations

import numpy as np

from flashtwin import units
from flashtwin.results.reading import Floats, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve
from .popularity_reads import no_content

#: More lines than this are not told apart: the first, the last and evenly between.
_LINES_MAX = 8


def draw(workload: TraceResults) -> Drawing:
    """One line a period, all on the first period's order of contents."""
    table = workload.workload("popularity_by_period")
    if table is None:
        return nothing(no_content(workload, "popularity_by_period"))
    periods = table.values("period")
    lines: dict[int, tuple[Floats, Floats]] = {}
    for period in _chosen(periods):
        found = curve(table.where("period", period), "value_fraction", "access_fraction")
        if found is not None:
            lines[int(period)] = found
    if not lines:
        return nothing("No period has page reads of known content.")
    fig = style.figure(2.8)
    axes = fig.subplots()
    data = Data(("period", "value_fraction", "access_fraction"))
    for colour, (period, (x, y)) in zip(style.ordered(len(lines)), lines.items(), strict=True):
        axes.plot(np.append(0, x) * 100, np.append(0, y) * 100, color=colour, label=f"period {period + 1}")
        data.rows.extend((period, float(a), float(b)) for a, b in zip(x, y, strict=True))
    scales.shares(style.quiet(axes, "both"))
    scales.shares(axes, "x")
    axes.set_xlabel("of the contents, those most read in the first period first")
    axes.set_title("Share of a period's page reads that they receive")
    style.legend_above(fig, axes.get_lines(), [f"period {period + 1}" for period in lines], columns=8)
    notes = (
        [f"{len(periods) - len(lines)} of {len(periods)} periods are left out."] if len(lines) < len(periods) else []
    )
    return Drawing(fig, _sees(lines), notes, data)


def _chosen(periods: list[float]) -> list[float]:
    if len(periods) <= _LINES_MAX:
        return periods
    return [periods[place] for place in np.unique(np.linspace(0, len(periods) - 1, _LINES_MAX).astype(int))]


def _sees(lines: dict[int, tuple[Floats, Floats]]) -> list[str]:
    first = min(lines)
    later = [float(np.interp(0.1, x, y)) * 100 for period, (x, y) in lines.items() if period != first]
    own = float(np.interp(0.1, *lines[first])) * 100
    text = f"The tenth of contents most read in period {first + 1} receives {units.percent(own)} of its page reads"
    if not later:
        return [f"{text}; there is no later period to compare with."]
    low, high = units.percent(min(later)), units.percent(max(later))
    return [f"{text}, and {low if low == high else f'{low} to {high}'} of those of later periods."]


CHART = Chart(
    "popularity_drift",
    "Popularity from period to period",
    "Are the contents that are popular in one period popular in the next ones?",
    "contents",
    draw,
)
