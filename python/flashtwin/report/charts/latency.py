"""The distribution of response times: CDF and, for the tail, the complementary CDF (RR-SSD paper, Fig. 13)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing

#: Points that are enough for a smooth line at the width of the page.
MAX_POINTS = 400
#: The share of requests that may be faster than where the axis begins: a read that comes as its page
#: leaves the chip takes 1 ns, and six empty decades would follow.
FASTEST = 1e-3


def draw(study: StudyFolder) -> Drawing:
    """Two columns (reads, writes), the CDF above and 1 - CDF on a log axis below."""
    kinds = [(kind, title) for kind, title in facts.KINDS[:2] if any(_curve(run, kind) for run in study.runs)]
    if not kinds:
        return nothing("No run has the table `latency_histogram` with counts, so no distribution can be drawn.")
    fig = style.figure(5.6)
    grid = fig.subplots(2, len(kinds), sharex="col", squeeze=False)
    data = Data(("system", "kind", "upper_ns", "share_at_most"))
    for column, (kind, title) in enumerate(kinds):
        _panel(study, kind, grid[0][column], grid[1][column], data)
        grid[0][column].set_title(title)
    for above, below in zip(*(row if style.is_column() else row[:1] for row in grid), strict=True):
        above.set_ylabel("requests answered in this time")
        below.set_ylabel("requests that take longer")
    shown = [run for run in study.runs if any(_curve(run, kind) for kind, _ in kinds)]
    colours, dashes = style.colours(study), style.dashes(study)
    lines = [Line2D([], [], color=colours[run.name], linestyle=dashes[run.name]) for run in shown]
    style.legend_above(fig, lines, [run.label for run in shown])
    return Drawing(fig, _sees(study, [kind for kind, _ in kinds]), _absent(study, shown, kinds), data)


def _curve(run: SavedRun, kind: str) -> tuple[Floats, Floats, float] | None:
    """Upper ends in ns, the share of requests at most that long, and the number of requests."""
    table = run.table("latency_histogram")
    rows = table.where("kind", kind) if table is not None else None
    if rows is None or rows.rows == 0:
        return None
    upper, count = rows.get("upper_ns"), rows.get("count")
    if upper is None or count is None or np.nansum(count) <= 0:
        return None
    order = np.argsort(upper, kind="stable")
    total = float(np.nansum(count))
    return upper[order], np.cumsum(np.nan_to_num(count[order])) / total, total


def _thin(upper: Floats, cdf: Floats) -> tuple[Floats, Floats]:
    """Fewer points: evenly in log time, and always those of the tail's decades."""
    if upper.size <= MAX_POINTS:
        return upper, cdf
    position = np.log(np.maximum(upper, 1.0))
    even = np.searchsorted(position, np.linspace(position[0], position[-1], MAX_POINTS - 80))
    tail = np.searchsorted(cdf, 1.0 - np.logspace(-1, -7, 60))
    keep = np.unique(np.clip(np.concatenate([[0], even, tail, [upper.size - 1]]), 0, upper.size - 1))
    return upper[keep], cdf[keep]


def _panel(study: StudyFolder, kind: str, top: Axes, bottom: Axes, data: Data) -> None:
    colours, dashes = style.colours(study), style.dashes(study)
    fewest, first, last = 1.0, math.inf, 0.0
    for run, width in zip(study.runs, style.widths(len(study.runs)), strict=True):
        curve = _curve(run, kind)
        if curve is None:
            continue
        upper, cdf, total = curve
        upper, cdf = _thin(np.maximum(upper, 1.0), cdf)
        look: Any = {"color": colours[run.name], "linestyle": dashes[run.name], "linewidth": width}
        style.tip(top.step(upper, cdf * 100.0, where="post", **look), run.label)
        # The last point of 1 - CDF is zero, which a log axis cannot show.
        rest = np.where(cdf < 1.0 - 0.5 / total, 1.0 - cdf, np.nan)
        style.tip(bottom.step(upper, rest * 100.0, where="post", **look), run.label)
        fewest = min(fewest, 1.0 / total)
        first, last = min(first, float(upper[np.searchsorted(cdf, FASTEST)])), max(last, float(upper[-1]))
        data.rows.extend((run.name, kind, float(x), float(y)) for x, y in zip(upper, cdf, strict=True))
    style.quiet(top, "both").set_ylim(0, 101)
    style.percents(top)
    style.log_time(style.quiet(bottom, "both"))
    bottom.set_yscale("log")
    bottom.set_ylim(max(fewest, 1e-7) * 100.0, 100.0)
    bottom.yaxis.set_minor_locator(NullLocator())
    bottom.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6f}".rstrip("0").rstrip(".") + " %"))
    bottom.set_xlabel("response time")
    margin = max((last / first) ** 0.01, 1.05)
    bottom.set_xlim(first / margin, last * margin)


def _sees(study: StudyFolder, kinds: list[str]) -> list[str]:
    sentences = []
    for kind in kinds:
        known = [(run.number(f"response.{kind}.p99_ns"), run) for run in study.runs]
        tails = [(value, run) for value, run in known if value is not None and facts.mean(run, kind) is not None]
        if not tails:
            continue
        (low, best), (high, worst) = min(tails, key=lambda pair: pair[0]), max(tails, key=lambda pair: pair[0])
        if low == high:
            sentences.append(f"99 % of {kind}s are answered within {units.duration(low)}.")
        else:
            sentences.append(
                f"99 % of {kind}s are answered within {units.duration(low)} under `{best.label}`, "
                f"{units.duration(high)} under `{worst.label}`."
            )
    return sentences


def _absent(study: StudyFolder, shown: list[SavedRun], kinds: list[tuple[str, str]]) -> list[str]:
    notes = []
    hidden = [run.label for run in study.runs if run not in shown]
    if hidden:
        notes.append(f"No `latency_histogram` was written for {units.names(hidden)}.")
    if len(kinds) == 1:
        other = "writes" if kinds[0][0] == "read" else "reads"
        notes.append(f"There are no {other} in the histograms, so there is no panel for them.")
    return notes


CHART = Chart(
    "latency",
    "Distribution of response times",
    "What do most requests see, and what the slowest ones?",
    "response",
    draw,
)
