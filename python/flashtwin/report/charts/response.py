"""Mean response time of each system, split into its parts (RR-SSD paper, Fig. 1)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import SavedRun, StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing

#: How strongly each part is painted in its system's colour: waiting, which policies act on, more than service.
STRENGTH = {
    "queueing": 1.0,
    "channel_wait": 0.8,
    "hash_wait": 0.64,
    "other_wait": 0.52,
    "hash": 0.4,
    "transfer": 0.31,
    "flash": 0.21,
    "controller": 0.12,
}


def draw(study: StudyFolder) -> Drawing:
    """Stacked bars for reads, writes and all requests, with the change against the baseline."""
    kinds = [(kind, title) for kind, title in facts.KINDS if any(facts.mean(run, kind) for run in study.runs)]
    if not kinds:
        return nothing("No request completed in any run, so there is no response time to show.")
    # All requests are the same as the only kind there is.
    if len(kinds) == 2:
        kinds = [pair for pair in kinds if pair[0] != "all"]
    fig = style.figure(max(2.0, 0.95 + 0.42 * len(study.runs)))
    panels = fig.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for axes, (kind, title) in zip(panels, kinds, strict=True):
        _bars(axes, study, kind)
        axes.set_title(f"{title}, mean")
    splits = [facts.split(run, kind) or {} for run in study.runs for kind, _ in kinds]
    present = [(key, label) for key, label in facts.PARTS if any(parts.get(key) for parts in splits)]
    patches = [Patch(facecolor=style.MUTED, alpha=STRENGTH[key], edgecolor="none") for key, _ in present]
    style.legend_above(fig, patches, [label for _, label in present], columns=4)
    return Drawing(fig, _sees(study, [kind for kind, _ in kinds]), _absent(study), _data(study))


def _bars(axes: Axes, study: StudyFolder, kind: str) -> None:
    colours = style.colours(study)
    longest = max(facts.mean(run, kind) or 0.0 for run in study.runs)
    for place, run in enumerate(study.runs):
        mean = facts.mean(run, kind)
        if mean is None:
            style.value_label(axes, 0, place, "no such request")
            continue
        left = 0.0
        # Without its parts, a mean is a bar of the strength that none of them has.
        for key, width in (facts.split(run, kind) or {"": mean}).items():
            strength = STRENGTH.get(key, 0.9)
            bar = axes.barh(place, width, 0.62, left, color=colours[run.name], alpha=strength, linewidth=0)
            style.tip(bar, f"{run.label}, {dict(facts.PARTS).get(key, 'mean')}: {units.duration(width)}")
            left += width
        change = None if run is study.baseline else facts.change(mean, facts.mean(study.baseline, kind))
        style.value_label(axes, max(left, mean), place, style.with_change(units.duration(mean), change))
    style.name_bars(style.quiet(axes, "x"), study.runs)
    axes.set_xlim(0, (longest or 1.0) * 1.62)
    style.time_axis(axes, longest or 1.0, 3)


def _sees(study: StudyFolder, kinds: Sequence[str]) -> list[str]:
    words = {"read": "A read", "write": "A write", "all": "A request"}
    sentences = []
    for kind in kinds:
        if kind == "all" and len(kinds) > 1:
            continue
        shares = [(facts.waiting_share(run, kind), run) for run in study.runs]
        known = [(value, run) for value, run in shares if value is not None]
        if not known:
            continue
        sentences.append(_waiting(words[kind], known))
    return sentences


def _waiting(subject: str, known: Sequence[tuple[float, SavedRun]]) -> str:
    (low, least), (high, most) = min(known, key=lambda pair: pair[0]), max(known, key=lambda pair: pair[0])
    if units.percent(high) == units.percent(low):
        return f"{subject} spends {units.percent(high)} of its time waiting."
    return (
        f"{subject} spends {units.percent(high)} of its time waiting under `{most.label}` "
        f"and {units.percent(low)} under `{least.label}`."
    )


def _absent(study: StudyFolder) -> list[str]:
    notes = []
    for kind, words in (("read", "read"), ("write", "write")):
        if not any(facts.mean(run, kind) for run in study.runs):
            notes.append(f"The trace has no completed {words} request, so there is no panel for {words}s.")
    plain = [run.label for run in study.runs if facts.mean(run, "all") and facts.split(run, "all") is None]
    if plain:
        notes.append(f"The split of the response time was not recorded for {units.names(plain)}.")
    return notes


def _data(study: StudyFolder) -> Data:
    keys = [key for key, _ in facts.PARTS]
    data = Data(("system", "kind", "mean_ns", *(f"{key}_ns" for key in keys), "change_percent"))
    for run in study.runs:
        for kind, _ in facts.KINDS:
            parts = facts.split(run, kind) or {}
            mean = facts.mean(run, kind)
            change = facts.change(mean, facts.mean(study.baseline, kind))
            data.rows.append((run.name, kind, mean, *(parts.get(key) for key in keys), change))
    return data


CHART = Chart(
    "response",
    "Mean response time and what it is made of",
    "How long does a request take, how much of that is waiting, and for what?",
    "response",
    draw,
)
