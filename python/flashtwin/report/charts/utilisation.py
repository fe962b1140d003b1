"""How busy chips, channels and the hash unit are (DS-FTL paper: standard deviation of channel utilisation)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing

HASH_UNIT = "hash_unit"
PANELS = (("chips", "chip", "Chips"), ("channels", "channel", "Channels"), (HASH_UNIT, "hash unit", "Hash unit"))


def draw(study: StudyFolder) -> Drawing:
    """One dot a chip (or channel), with the mean as a bar, for each system."""
    shown = [panel for panel in PANELS if any(_shares(run, panel[0]) is not None for run in study.runs)]
    if not shown:
        return nothing("No run has the tables `chips` or `channels` with a column `utilisation`.")
    fig = style.figure(max(1.9, 0.8 + 0.46 * len(study.runs)))
    panels = fig.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    data = Data(("level", "system", "index", "utilisation_percent"))
    for axes, (table, _, title) in zip(panels, shown, strict=True):
        _dots(axes, study, table, data)
        axes.set_title(title)
    notes = [
        f"The table `{table}` is missing, so {table} are not shown."
        for table, _, _ in PANELS
        if table != HASH_UNIT and not any(table == panel[0] for panel in shown)
    ]
    tables = [panel for panel in shown if panel[0] != HASH_UNIT]
    sees = [sentence for table, word, _ in tables[:1] for sentence in _sees(study, table, word)]
    return Drawing(fig, [*sees, *_sees_hash_unit(study)], notes, data)


def _shares(run: SavedRun, name: str) -> Floats | None:
    if name == HASH_UNIT:
        share = run.number("hash_unit.utilisation")
        return None if share is None else np.array([share * 100.0])
    table = run.table(name)
    column = table.get("utilisation") if table is not None else None
    return None if column is None else column[np.isfinite(column)] * 100.0


def _dots(axes: Axes, study: StudyFolder, table: str, data: Data) -> None:
    colours = style.colours(study)
    highest = 0.0
    for place, run in enumerate(study.runs):
        values = _shares(run, table)
        if values is None:
            why = "none" if table == HASH_UNIT else "not recorded"
            axes.text(0, place, f" {why}", va="center", size=style.SMALL_PT, color=style.MUTED)
            continue
        # Spread by the golden ratio: even, without chance, and neighbours apart.
        shift = (np.arange(values.size) * 0.618034 % 1.0 - 0.5) * 0.5
        axes.scatter(values, place + shift, s=11, color=colours[run.name], alpha=0.65, linewidth=0)
        axes.vlines(values.mean(), place - 0.34, place + 0.34, color=style.INK, linewidth=1.4)
        highest = max(highest, float(values.max()))
        data.rows.extend((table, run.name, index, float(value)) for index, value in enumerate(values))
    style.name_bars(style.quiet(axes, "x"), study.runs)
    style.percents(axes, "x")
    axes.set_xlim(0, highest * 1.06 or 1.0)
    axes.set_xlabel("of the time busy")


def _sees(study: StudyFolder, table: str, word: str) -> list[str]:
    spread = []
    for run in study.runs:
        values = _shares(run, table)
        if values is not None and values.mean() > 0:
            spread.append((float(values.max() / values.mean()), float(values.mean()), run))
    if not spread:
        return [f"No {word} was busy in any run."]
    worst, best = max(spread, key=lambda row: row[0]), min(spread, key=lambda row: row[0])
    text = (
        f"The busiest {word} works {units.significant(worst[0])} times as much as the average one "
        f"under `{worst[2].label}`"
    )
    if best[2] is worst[2]:
        return [f"{text}, where a {word} is busy {units.percent(worst[1])} of the time."]
    return [f"{text}, {units.significant(best[0])} times under `{best[2].label}`."]


def _sees_hash_unit(study: StudyFolder) -> list[str]:
    """How busy it is, where it is busiest."""
    known = [(share, run) for run in study.runs if (share := run.number("hash_unit.utilisation")) is not None]
    if not known:
        return []
    share, run = max(known, key=lambda pair: pair[0])
    lanes = run.number("hash_unit.lanes")
    of = "" if lanes is None else f" of `{run.label}`, with {units.plural(lanes, 'lane')},"
    return [f"The hash unit{of} works {units.percent(share * 100.0)} of the time."]


CHART = Chart(
    "utilisation",
    "How evenly the device is used",
    "Is the work spread over all chips and channels, and is the hash unit at its limit?",
    "flash",
    draw,
)
