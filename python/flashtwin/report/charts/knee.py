"""The knee of the hash unit: the mean response against the speed of the trace, for several numbers of lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from flashtwin import units
from flashtwin.results.reading import StudyFolder

from .. import axes as marks
from .. import style
from .base import Chart, Data, Drawing, nothing


def draw(study: StudyFolder) -> Drawing:
    """One curve a number of lanes."""
    found = knee(study)
    if found is None:
        return nothing("No system was replayed with other speeds and lanes of its hash unit.")
    name, points = found
    lanes = sorted({int(point["lanes"]) for point in points})
    speeds = sorted({float(point["speed"]) for point in points})
    fig = style.figure(3.0)
    axes = fig.subplots()
    for colour, number in zip(style.ordered(len(lanes)), lanes, strict=True):
        of = sorted((float(point["speed"]), float(point["mean_ns"])) for point in points if point["lanes"] == number)
        label = units.plural(number, "lane")
        axes.plot([x for x, _ in of], [y for _, y in of], marker="o", markersize=3.5, color=colour, label=label)
    _finish(axes, speeds)
    return Drawing(fig, _sees(study.explained[name]), data=_data(name, points))


def knee(study: StudyFolder) -> tuple[str, Sequence[Mapping[str, Any]]] | None:
    """The first system whose knee was looked for, and its points."""
    return next(((name, one["knee"]) for name, one in study.explained.items() if len(one["knee"]) > 2), None)


def _finish(axes: Axes, speeds: Sequence[float]) -> None:
    style.quiet(axes)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda ns, _: style.plain_duration(ns)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    if len(speeds) > 1:
        marks.factors(axes, speeds, "x")
    axes.set_xlabel("times the recorded speed")
    axes.set_title("Mean response of all requests")
    marks.inside_legend(axes, "upper left")


def _sees(explained: Mapping[str, Any]) -> list[str]:
    return [f"Under `{explained['system']}`, where every page written is hashed first.", str(explained["knee_words"])]


def _data(name: str, points: Sequence[Mapping[str, Any]]) -> Data:
    rows = [(name, float(point["speed"]), int(point["lanes"]), float(point["mean_ns"])) for point in points]
    return Data(("system", "speed", "lanes", "mean_ns"), [tuple(row) for row in rows])


CHART = Chart(
    "knee", "The knee of the hash unit", "How much load does the hash unit carry, and how many lanes are enough?",
    "limits", draw,
)  # fmt: skip
