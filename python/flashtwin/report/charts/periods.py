"""Improvement per period over the reference, with New and Rep below it (RR-SSD paper, Fig. 9)."""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import style, timelines
from .base import Chart, Data, Drawing, nothing

PANELS = (("read_mean_ns", "reads"), ("all_mean_ns", "all requests"))


def draw(study: StudyFolder) -> Drawing:
    """How much shorter the mean response is, period by period, and why it can be so."""
    base, runs = facts.reference(study), facts.subjects(study)
    if not runs:
        return nothing(f"There is only one run, `{base.label}`, so there is nothing to compare it with.")
    series = {column: _improvements(runs, base, column) for column, _ in PANELS}
    shown = [(column, words) for column, words in PANELS if series[column]]
    if not shown:
        return nothing(
            f"No period has a mean response time of `{base.label}` and of another run: the table `periods` is "
            "missing, has other periods, or no read completed in any of them."
        )
    shares = _shares(study, runs)
    heights = [2.2] * len(shown) + ([1.5] if shares else [])
    fig = style.figure(sum(heights) + 0.7)
    panels = fig.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    data = Data(("series", "system", "period", "percent"))
    for axes, (column, words) in zip(panels, shown, strict=False):
        _improvement(axes, study, series[column], data, words)
        axes.set_title(f"Mean response time of {words}: how much shorter than under {style.shorten(base.label)}")
    if shares:
        _new_and_rep(panels[-1], study, shares, data)
    panels[-1].set_xlabel("period")
    known = [periods.period + 1 for rows in series.values() for _, periods in rows]
    panels[-1].set_xlim(min(at.min() for at in known) - 0.7, max(at.max() for at in known) + 0.7)
    panels[-1].xaxis.set_major_locator(MaxNLocator(nbins=14, integer=True, min_n_ticks=1))
    _legend(fig, study, series, shares)
    notes = [] if shares else ["New and Rep are not shown: no system counted them period by period."]
    return Drawing(fig, _sees(series, base, shares), notes, data)


def _improvements(runs: tuple[SavedRun, ...], base: SavedRun, column: str) -> list[tuple[SavedRun, timelines.Periods]]:
    found = []
    for run in runs:
        periods = timelines.by_period(run, base, column)
        if periods is not None and np.isfinite(periods.improvement).any():
            found.append((run, periods))
    return found


def _improvement(
    axes: Axes, study: StudyFolder, series: list[tuple[SavedRun, timelines.Periods]], data: Data, words: str
) -> None:
    """Designs as bars side by side, bounds (oracle) as a line across them: the paper's form."""
    colours = style.colours(study)
    bars = [pair for pair in series if not pair[0].is_ideal]
    many = max((periods.period.size for _, periods in series), default=0) > 40
    width = 0.8 / max(len(bars), 1)
    for run, periods in series:
        colour, values, at = colours[run.name], periods.improvement, periods.period + 1
        data.rows.extend((f"{words}, shorter by", run.name, int(p), float(v)) for p, v in zip(at, values, strict=True))
        if run.is_ideal:
            axes.step(np.append(at - 0.5, at[-1] + 0.5), np.append(values, values[-1]), where="post", color=colour)
        elif many:
            axes.plot(at, values, color=colour, linewidth=1.2)
        else:
            place = next(index for index, pair in enumerate(bars) if pair[0] is run)
            axes.bar(at - 0.4 + (place + 0.5) * width, values, width * 0.92, color=colour, linewidth=0)
    axes.axhline(0, color=style.MUTED, linewidth=0.8)
    style.percents(style.quiet(axes))


def _shares(study: StudyFolder, runs: tuple[SavedRun, ...]) -> list[tuple[str, SavedRun, Floats, Floats]]:
    """(New, run) once, as it is the trace's, and (Rep, run) for every run that has replicas.

    A page map does not know earlier reads, and counts none.
    """
    found: list[tuple[str, SavedRun, Floats, Floats]] = []
    for run in (*runs, *study.runs):
        new = _share(run, "new_value_reads") if "deduplicates" in run.traits else None
        if new is not None:
            found.append(("New", run, *new))
            break
    for run in runs:
        rep = _share(run, "replicated_value_reads")
        if rep is not None and not run.is_ideal and "replicates" in run.traits:
            found.append(("Rep", run, *rep))
    return found


def _share(run: SavedRun, column: str) -> tuple[Floats, Floats] | None:
    table = run.table("periods")
    if table is None:
        return None
    part, whole, period = table.get(column), table.get("page_reads"), table.get("period")
    if part is None or whole is None or period is None or np.nansum(whole) == 0:
        return None
    return period + 1, np.where(whole > 0, part / np.where(whole > 0, whole, 1.0) * 100.0, np.nan)


def _new_and_rep(
    axes: Axes, study: StudyFolder, shares: list[tuple[str, SavedRun, Floats, Floats]], data: Data
) -> None:
    colours = style.colours(study)
    for name, run, at, values in shares:
        colour = style.MUTED if name == "New" else colours[run.name]
        marker = "" if at.size > 60 else ("o" if name == "Rep" else "s")
        axes.plot(at, values, color=colour, marker=marker, markersize=4, linewidth=1.4)
        system = "" if name == "New" else run.name
        data.rows.extend((name, system, int(p), float(v)) for p, v in zip(at, values, strict=True))
    style.percents(style.quiet(axes))
    axes.set_ylim(0, 101)
    axes.set_title("Page reads of contents never read before (New), and of contents that have replicas (Rep)")


def _legend(
    fig: Figure,
    study: StudyFolder,
    series: dict[str, list[tuple[SavedRun, timelines.Periods]]],
    shares: list[tuple[str, SavedRun, Floats, Floats]],
) -> None:
    colours = style.colours(study)
    present = [run for run in study.runs if any(run is other for rows in series.values() for other, _ in rows)]
    handles: list[Artist] = [
        Line2D([], [], color=colours[run.name]) if run.is_ideal else Patch(color=colours[run.name], linewidth=0)
        for run in present
    ]
    labels = [f"{run.label} (bound)" if run.is_ideal else run.label for run in present]
    for name, colour, marker in (("New", style.MUTED, "s"), ("Rep", style.INK, "o")):
        if any(name == share for share, *_ in shares):
            handles.append(Line2D([], [], color=colour, marker=marker, markersize=4))
            labels.append(name)
    style.legend_above(fig, handles, labels)


def _sees(
    series: dict[str, list[tuple[SavedRun, timelines.Periods]]],
    base: SavedRun,
    shares: list[tuple[str, SavedRun, Floats, Floats]],
) -> list[str]:
    sentences = []
    for run, periods in series["read_mean_ns"]:
        values = periods.improvement[np.isfinite(periods.improvement)]
        ends = dict.fromkeys(units.change(-float(value)) for value in (values.max(), values.min()))
        by = f"{' to '.join(ends)} against `{base.label}` in {units.plural(values.size, 'period')}"
        sentences.append(f"Reads under `{run.label}` change by {by}.")
    for name, run, _, values in shares:
        if name == "Rep" and np.isfinite(values).any():
            low, high = (units.percent(float(value)) for value in (np.nanmin(values), np.nanmax(values)))
            sentences.append(f"Between {low} and {high} of a period's page reads find replicas under `{run.label}`.")
    return sentences[:3]


CHART = Chart(
    "periods",
    "Improvement period by period",
    "Does what was learned in one period help in the next?",
    "time",
    draw,
)
