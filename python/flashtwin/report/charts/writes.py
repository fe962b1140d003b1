"""Pages programmed by cause, with their effect on the device's life (CA-SSD paper: W_total and its parts)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import SavedRun, StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing


def draw(study: StudyFolder) -> Drawing:
    """One stacked bar a system; write amplification, erases and life used beside it."""
    if not any(_causes(run) for run in study.runs):
        return nothing("No run recorded a flash write: the trace has no writes, or `flash_writes` is missing.")
    fig = style.figure(max(1.9, 1.05 + 0.42 * len(study.runs)))
    axes, beside = fig.subplots(1, 2, width_ratios=[3.1, 1.0])
    totals = [sum(_causes(run).values()) for run in study.runs]
    for place, run in enumerate(study.runs):
        left = 0.0
        for key, pages in _causes(run).items():
            bar = axes.barh(
                place, pages, 0.62, left, color=style.CAUSE_COLOURS[key][0], edgecolor=style.SURFACE, linewidth=0.6
            )
            style.tip(bar, f"{run.label}, {dict(facts.CAUSES)[key]}: {units.count(pages)} pages")
            left += pages
        change = None if run is study.baseline else facts.change(left, totals[study.runs.index(study.baseline)])
        style.value_label(axes, left, place, style.with_change(units.count(left), change))
    style.name_bars(style.quiet(axes, "x"), study.runs)
    axes.set_xlim(0, max(totals) * 1.3 or 1.0)
    style.counts(axes, "x")
    axes.set_xlabel("pages programmed")
    _columns(beside, study)
    present = [(key, label) for key, label in facts.CAUSES if any(_causes(run).get(key) for run in study.runs)]
    patches = [Patch(facecolor=style.CAUSE_COLOURS[key][0], linewidth=0) for key, _ in present]
    style.legend_above(fig, patches, [label for _, label in present])
    return Drawing(fig, _sees(study), _absent(study), _data(study))


def _causes(run: SavedRun) -> dict[str, float]:
    counts = {key: run.count(f"flash_writes.{key}") for key, _ in facts.CAUSES}
    return {key: value for key, value in counts.items() if value > 0}


def _columns(axes: Axes, study: StudyFolder) -> None:
    """Figures beside the bars, aligned with them like the columns of a table."""
    style.name_bars(style.quiet(axes, "none"), study.runs)
    axes.set_frame_on(False)
    axes.set_xticks([])
    if not style.is_column():
        axes.set_yticks([])
    axes.set_xlim(0, 1)
    for at, title, cells in (
        (0.20, "WA", [units.ratio(run.number("write_amplification")) for run in study.runs]),
        (0.57, "erases", [units.count(run.number("erases.total")) for run in study.runs]),
        (1.00, "life used", [units.percent(run.number("erases.life_used_percent")) for run in study.runs]),
    ):
        axes.text(at, -0.6, title, ha="right", va="bottom", size=style.SMALL_PT, color=style.MUTED)
        for place, cell in enumerate(cells):
            axes.text(at, place, cell, ha="right", va="center", size=style.LABEL_PT)


def _sees(study: StudyFolder) -> list[str]:
    sentences = []
    base = study.baseline
    changes = [(facts.change_of(run, base, "pages_programmed"), run) for run in study.others(base)]
    known = [(value, run) for value, run in changes if value is not None]
    if known:
        value, run = min(known, key=lambda pair: pair[0])
        sentences.append(f"`{run.label}` programs {units.more_or_fewer(value, 'pages', f'`{base.label}`')}.")
    copies = [(facts.share_of(run, "flash_writes.replica", "pages_programmed") or 0.0, run) for run in study.runs]
    most, run = max(copies, key=lambda pair: pair[0])
    if most > 0:
        sentences.append(f"Replicas are {units.percent(most)} of what `{run.label}` programs.")
    if not any(run.count("erases.total") for run in study.runs):
        sentences.append("No block had to be erased: the trace does not fill the device, so wear is not tested here.")
    return sentences


def _absent(study: StudyFolder) -> list[str]:
    empty = [run.label for run in study.runs if not _causes(run)]
    return [f"No flash write was recorded for {units.names(empty)}."] if empty else []


def _data(study: StudyFolder) -> Data:
    keys = [key for key, _ in facts.CAUSES]
    data = Data(("system", *keys, "pages_programmed", "write_amplification", "erases", "life_used_percent"))
    for run in study.runs:
        data.rows.append(
            (
                run.name,
                *(run.number(f"flash_writes.{key}") for key in keys),
                run.number("pages_programmed"),
                run.number("write_amplification"),
                run.number("erases.total"),
                run.number("erases.life_used_percent"),
            )
        )
    return data


CHART = Chart(
    "writes",
    "Pages programmed, by cause",
    "What was written to flash, why, and what does it cost in life?",
    "flash",
    draw,
)
