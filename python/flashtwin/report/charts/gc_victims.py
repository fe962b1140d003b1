"""Valid pages in the blocks that garbage collection chose (CA-SSD paper: valid pages per victim)."""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D

from flashtwin import units
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing


def draw(study: StudyFolder) -> Drawing:
    """The CDF over victims; the further left, the cheaper is a collection."""
    known = [(run, _victims(run)) for run in study.runs]
    shown = [(run, victims) for run, victims in known if victims is not None]
    if not shown:
        return nothing(_reason(study))
    fig = style.figure(2.6)
    axes = fig.subplots()
    colours, dashes = style.colours(study), style.dashes(study)
    data = Data(("system", "valid_pages", "victims", "share_at_most"))
    for (run, (pages, victims)), width in zip(shown, style.widths(len(shown)), strict=True):
        cdf = np.cumsum(victims) / victims.sum()
        axes.step(
            np.append(pages[0], pages),
            np.append(0.0, cdf) * 100.0,
            where="post",
            color=colours[run.name],
            linestyle=dashes[run.name],
            linewidth=width,
        )
        data.rows.extend((run.name, int(a), int(b), float(c)) for a, b, c in zip(pages, victims, cdf, strict=True))
    style.percents(style.quiet(axes, "both"))
    axes.set_ylim(0, 101)
    axes.set_xlim(left=0)
    axes.set_xlabel("valid pages in the block when it is collected")
    axes.set_ylabel("of the victims")
    lines = [Line2D([], [], color=colours[run.name], linestyle=dashes[run.name]) for run, _ in shown]
    style.legend_above(fig, lines, [run.label for run, _ in shown])
    return Drawing(fig, _sees(shown), _absent(known), data)


def _victims(run: SavedRun) -> tuple[Floats, Floats] | None:
    table = run.table("gc_victims")
    if table is None:
        return None
    pages, victims = table.get("valid_pages"), table.get("victims")
    if pages is None or victims is None or np.nansum(victims) <= 0:
        return None
    order = np.argsort(pages, kind="stable")
    return pages[order], np.nan_to_num(victims[order])


def _sees(shown: list[tuple[SavedRun, tuple[Floats, Floats]]]) -> list[str]:
    means = [(float(np.average(pages, weights=victims)), float(victims.sum()), run) for run, (pages, victims) in shown]
    worst, best = max(means, key=lambda row: row[0]), min(means, key=lambda row: row[0])
    text = f"A victim under `{worst[2].label}` holds {units.significant(worst[0])} valid pages on average"
    if best[2] is worst[2]:
        return [f"{text}; {units.count(worst[1])} blocks were collected."]
    return [f"{text}, under `{best[2].label}` {units.significant(best[0])}; each must be written again."]


def _reason(study: StudyFolder) -> str:
    if any(run.count("erases.total") for run in study.runs):
        return "Blocks were erased, but the table `gc_victims` is missing, so what they held is not known."
    return "No garbage collection took place in any run: the writes of this trace fit into the free blocks."


def _absent(known: list[tuple[SavedRun, tuple[Floats, Floats] | None]]) -> list[str]:
    without = [run for run, victims in known if victims is None]
    idle = [run.label for run in without if not run.count("erases.total")]
    lost = [run.label for run in without if run.count("erases.total")]
    notes = [f"No garbage collection took place under {units.names(idle)}."] if idle else []
    if lost:
        notes.append(f"The table `gc_victims` is missing for {units.names(lost)}.")
    return notes


CHART = Chart(
    "gc_victims",
    "Valid pages per garbage-collection victim",
    "How much must be moved to free a block?",
    "flash",
    draw,
)
