"""Where a period's reads go: contents popular before, read before, seen before, new (RR-SSD, Fig. 5 and 6)."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import MaxNLocator

from flashtwin import units
from flashtwin.results.reading import Floats, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .popularity_reads import no_content

_SHARES = (
    ("popular_before_percent", "popular one period ago", style.HUES[1][0]),
    ("read_before_percent", "read one period ago", style.HUES[0][0]),
    ("seen_before_percent", "seen one period ago", style.HUES[5][0]),
    ("first_read_percent", "never read before", style.GREY[0]),
)


def draw(workload: TraceResults) -> Drawing:
    """Shares of each period's page reads, and below them the contents seen for the first time."""
    table = workload.workload("popularity_stability")
    if table is None:
        return nothing(no_content(workload, "popularity_stability"))
    period = table.columns["period"] + 1
    known = [
        (label, colour, table.columns[name], name) for name, label, colour in _SHARES if table.get(name) is not None
    ]
    new = table.get("new_contents")
    if not known and new is None:
        return nothing("There is one period only, so nothing can be said of stability.")
    fig = style.figure(4.0)
    above, below = fig.subplots(2, 1, sharex=True, height_ratios=[2.2, 1.0])
    data = Data(("period", "series", "value"))
    marker = "o" if period.size <= 40 else ""
    for label, colour, values, name in known:
        above.plot(period, values, color=colour, marker=marker, markersize=4, label=label)
        data.rows.extend((int(p), name, float(v)) for p, v in zip(period, values, strict=True))
    scales.shares(style.quiet(above))
    above.set_title("Page reads of a period, by what is known of their contents")
    if known:
        style.legend_above(fig, above.get_lines(), [label for label, _, _, _ in known])
    if new is not None:
        below.bar(period, new, 0.7, color=style.READ[0], linewidth=0)
        data.rows.extend((int(p), "new_contents", float(v)) for p, v in zip(period, new, strict=True))
    style.counts(style.quiet(below))
    below.set_title("Contents seen for the first time")
    below.set_xlabel("period")
    below.xaxis.set_major_locator(MaxNLocator(nbins=14, integer=True, min_n_ticks=1))
    return Drawing(fig, _sees({name: values for _, _, values, name in known}, new), data=data)


def _sees(shares: dict[str, Floats], new: Floats | None) -> list[str]:
    sentences = []
    popular = shares.get("popular_before_percent")
    if popular is not None and np.isfinite(popular).any():
        sentences.append(
            f"On average {units.percent(float(np.nanmean(popular)))} of a period's page reads go to the tenth of "
            "contents that was read most in the period before."
        )
    first = shares.get("first_read_percent")
    if first is not None and np.isfinite(first[1:]).any():
        sentences.append(f"{units.percent(float(np.nanmean(first[1:])))} go to contents never read before.")
    if new is not None and new.size > 1:
        most = int(np.nanargmax(new[1:])) + 1
        sentences.append(f"After the first, up to {units.count(float(new[most]))} new contents appear in a period.")
    return sentences or ["There is one period only."]


CHART = Chart(
    "stability",
    "What one period tells about the next",
    "How many reads would copies made at the end of the period before have served?",
    "contents",
    draw,
)
