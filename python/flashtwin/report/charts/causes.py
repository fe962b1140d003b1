"""The bottleneck of each system: how much the goal's figure falls with one resource at a time ideal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashtwin import units
from flashtwin.results.reading import StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing

#: Causes shown at most, those that cost most in any system.
SHOWN = 8


def draw(study: StudyFolder) -> Drawing:
    """Bars by cause, one a system."""
    found = study.explained
    costs = {name: {one["name"]: float(one["percent"]) for one in data["causes"]} for name, data in found.items()}
    weight = {cause: max(of.get(cause, 0.0) for of in costs.values()) for of in costs.values() for cause in of}
    causes = sorted(weight, key=lambda cause: (-weight[cause], cause))[:SHOWN]
    if not causes:
        return nothing("Nothing was switched off to see what it costs; `flashtwin explain DIR` does that.")
    runs = [run for run in study.runs if run.name in costs]
    colours = style.colours(study)
    fig = style.figure(0.9 + 0.2 * len(causes) * (len(runs) + 1))
    axes = fig.subplots()
    height = 0.8 / len(runs)
    for row, cause in enumerate(causes):
        for place, run in enumerate(runs):
            percent = costs[run.name].get(cause)
            if percent is None:
                continue
            y = row - 0.4 + (place + 0.5) * height
            bar = axes.barh(y, percent, height * 0.9, color=colours[run.name], linewidth=0)
            style.tip(bar, f"{run.label}: {units.percent(percent)}")
            style.value_label(axes, percent, y, units.percent(percent))
    labels = {one["name"]: str(one["label"]) for data in found.values() for one in data["causes"]}
    axes.set_yticks(range(len(causes)), [labels[cause] for cause in causes])
    axes.invert_yaxis()
    style.quiet(axes, "x")
    style.percents(axes, "x")
    axes.set_xlim(0, max(weight.values()) * 1.15)
    axes.set_xlabel("less with this at no cost")
    handles = [axes.barh(0, 0, color=colours[run.name]) for run in runs]
    style.legend_above(fig, [bar[0] for bar in handles], [run.label for run in runs])
    return Drawing(fig, _sees(found), data=_data(found))


def _sees(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    goals = sorted({str(data["goal_words"]) for data in found.values()})
    return [
        *(str(data["claim"]) for data in found.values()),
        f"Each bar is one replay of the same trace with one thing ideal, and by how much {units.names_plain(goals)} "
        "falls. Bars of one system may sum to more than 100 %: a nanosecond may have two causes.",
    ]


def _data(found: Mapping[str, Mapping[str, Any]]) -> Data:
    data = Data(("system", "goal", "cause", "before_ns", "after_ns", "percent", "command"))
    for name, one in found.items():
        for cause in one["causes"]:
            data.rows.append(
                (name, one["goal"], cause["name"], one["before_ns"], cause["after_ns"], cause["percent"],
                 cause["command"])
            )  # fmt: skip
    return data


CHART = Chart("causes", "What each thing costs", "What would be gone if one thing cost nothing?", "limits", draw)
