"""RAM that the controller's mapping tables need, by table."""

from __future__ import annotations

from matplotlib.patches import Patch

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import SavedRun, StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing

PARTS = (
    ("lpn_to_ppn_bytes", "LPN → PPN", 0),
    ("lpn_to_vpn_bytes", "LPN → VPN", 3),
    ("vpn_to_ppn_bytes", "VPN → PPN", 1),
    ("fingerprint_store_bytes", "fingerprint store", 2),
    ("replica_lists_bytes", "replica lists", 5),
    ("inverse_tables_bytes", "inverse tables", 4),
)
_COLOURS = [*style.CAUSE_COLOURS.values()]


def draw(study: StudyFolder) -> Drawing:
    """One stacked bar a system."""
    totals = {run.name: _total(run) for run in study.runs}
    if not any(totals.values()):
        return nothing("No run recorded the size of its tables (`ram` in its summary).")
    fig = style.figure(max(1.8, 0.95 + 0.42 * len(study.runs)))
    axes = fig.subplots()
    for place, run in enumerate(study.runs):
        left = 0.0
        for key, label, colour in _present(study):
            width = run.count(f"ram.{key}")
            face = _COLOURS[colour][0]
            bar = axes.barh(place, width, 0.62, left, color=face, edgecolor=style.SURFACE, linewidth=0.6)
            style.tip(bar, f"{run.label}, {label}: {units.size(width)}")
            left += width
        total = totals[run.name] or 0.0
        change = None if run is study.baseline else facts.change(total or None, totals[study.baseline.name])
        text = units.size(total) if total else "not recorded"
        style.value_label(axes, left, place, style.with_change(text, change))
    style.name_bars(style.quiet(axes, "x"), study.runs)
    axes.set_xlim(0, max(value or 0.0 for value in totals.values()) * 1.25)
    axes.set_xticks([])
    axes.grid(False)
    axes.spines["bottom"].set_visible(False)
    patches = [Patch(facecolor=_COLOURS[colour][0], linewidth=0) for _, _, colour in _present(study)]
    style.legend_above(fig, patches, [label for _, label, _ in _present(study)])
    return Drawing(fig, _sees(study), _absent(study), _data(study))


def _present(study: StudyFolder) -> list[tuple[str, str, int]]:
    """The tables that some run has, each with a place in the palette."""
    return [part for part in PARTS if any(run.count(f"ram.{part[0]}") for run in study.runs)]


def _total(run: SavedRun) -> float | None:
    total = run.number("ram.total_bytes")
    return total if total is not None else sum(run.count(f"ram.{key}") for key, _, _ in PARTS) or None


def _sees(study: StudyFolder) -> list[str]:
    sized = [(value, run) for run in study.runs if (value := _total(run))]
    most, run = max(sized, key=lambda pair: pair[0])
    parts = [(run.count(f"ram.{key}"), label) for key, label, _ in PARTS]
    largest, label = max(parts)
    change = None if run is study.baseline else facts.change(most, _total(study.baseline))
    text = f"`{run.label}` needs the most, {units.size(most)}"
    text += f" ({units.change(change)} against `{study.baseline.label}`)" if change is not None else ""
    if largest:
        text += f", of which the {label if label[0].islower() else label + ' map'} is {units.size(largest)}"
    return [f"{text}."]


def _absent(study: StudyFolder) -> list[str]:
    missing = [run.label for run in study.runs if not _total(run)]
    return [f"The size of the tables was not recorded for {units.names(missing)}."] if missing else []


def _data(study: StudyFolder) -> Data:
    data = Data(("system", *(key for key, _, _ in PARTS), "total_bytes"))
    for run in study.runs:
        data.rows.append((run.name, *(run.number(f"ram.{key}") for key, _, _ in PARTS), _total(run)))
    return data


CHART = Chart(
    "ram",
    "RAM of the mapping tables",
    "What does knowing the contents cost in controller memory?",
    "flash",
    draw,
)
