"""The candidates: each system as it is, with its best cheap settings, and with a write cache besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from flashtwin import units
from flashtwin.judgement import choosing
from flashtwin.judgement.choosing import Candidate, RankedSystem
from flashtwin.results.reading import StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing

#: Systems shown at most: the best.
SHOWN = 6
#: Values that are further apart than this are drawn on a logarithmic axis.
_LOGARITHMIC = 8.0
#: Marked points: colour and mark.
_MARKS = (
    ("as it is", style.GREY[0], "o"),
    ("best settings", style.HUES[0][0], "s"),
    ("and a write cache", style.HUES[1][0], "D"),
)


def shown(found: Mapping[str, Any], most: int = SHOWN) -> list[RankedSystem]:
    """The choice, the best systems beside it, and the baseline at any place."""
    first, ranked = choosing.chosen(found), choosing.ranking(found)
    ordered = sorted(ranked, key=lambda one: first is None or one.name != first.name)
    base = [one for one in ordered[most:] if one.name == found["baseline"]]
    return [*ordered[: most - len(base)], *base]


def times(one: RankedSystem) -> tuple[float | None, float | None, float | None]:
    """The goal's figure in ns as the system is, with its best settings, and with a write cache; None where unknown."""
    return one.as_is_ns, _ns(one.plain), _ns(one.cached)


def _ns(one: Candidate | None) -> float | None:
    return None if one is None else float(one["after_ns"])


def draw(study: StudyFolder) -> Drawing:
    """Marks by system, on one axis of time."""
    rows = shown(study.candidates) if study.candidates else []
    if not rows:
        return nothing("No settings were tried; a study with `--effort` does that.")
    fig = style.figure((1.05 if style.is_column() else 0.72) + 0.21 * len(rows))
    axes = fig.subplots()
    values = [value for row in rows for value in times(row) if value is not None]
    if max(values) > _LOGARITHMIC * max(min(values), 1e-9) > 0:
        axes.set_xscale("log")
    for place, row in enumerate(rows):
        own = [value for value in times(row) if value is not None]
        axes.plot([min(own), max(own)], [place, place], color=style.GRID, linewidth=2.2, zorder=1)
        for value, (name, colour, mark) in zip(times(row), _MARKS, strict=True):
            if value is not None:
                marks = axes.plot([value], [place], mark, color=colour, markersize=4.6, zorder=2)
                style.tip(marks, f"{row.name}, {name}: {units.duration(value)}")
        axes.annotate(
            units.duration(min(own)), (min(own), place), (-5, 0), textcoords="offset points", ha="right", va="center",
            size=style.SMALL_PT,
        )  # fmt: skip
    _finish(study, rows, values, axes)
    handles = [axes.plot([], [], mark, color=colour, markersize=4.6)[0] for _, colour, mark in _MARKS]
    style.legend_above(fig, handles, [name for name, _, _ in _MARKS])
    return Drawing(fig, _sees(study), data=_data(study))


def _finish(study: StudyFolder, rows: list[RankedSystem], values: list[float], axes: Axes) -> None:
    style.quiet(axes, "x")
    axes.set_yticks(range(len(rows)), [style.shorten(row.name) for row in rows])
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0, labelcolor=style.INK, labelsize=style.NAME_PT)
    axes.spines["left"].set_visible(False)
    if axes.get_xscale() == "log":
        # Room for the least value to the left of its mark.
        spread = max(values) / min(values)
        axes.set_xlim(min(values) / spread ** (0.6 if style.is_column() else 0.25), max(values) * spread**0.05)
        style.log_time(axes)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=9))
    else:
        room = (0.5 if style.is_column() else 0.2) * (max(values) - min(values) or max(values))
        axes.set_xlim(min(values) - room, max(values) + 0.1 * room)
        style.time_axis(axes, max(values) * 1.04)
    axes.set_xlabel(str(study.candidates["goal_words"]).removeprefix("the "))


def _sees(study: StudyFolder) -> list[str]:
    found = study.candidates
    sentences = [
        "Cheap settings take no more flash, dies or blocks: hash lanes, placement, suspension, how the load is "
        "measured, merged reads. The best of each system are from "
        f"{units.plural(found['replays'], 'replay')}, "
        f"all on the drive of `{found['baseline']}`."
    ]
    if found["unfinished"]:
        sentences.append("Some settings were not tried; `--effort all` tries them.")
    for name, reason in found["left_out"].items():
        sentences.append(f"`{name}` is left out: {str(reason).rstrip('.')}.")
    return sentences


def _data(study: StudyFolder) -> Data:
    data = Data(("system", "write_cache", "goal", "as_is_ns", "after_ns", "programs", "erases", "ram_bytes", "command"))
    for one in study.candidates["candidates"]:
        data.rows.append(
            (one["system"], int(one["cached"]), study.candidates["goal"], one["as_is_ns"], one["after_ns"],
             one["programs"], one["erases"], one["ram_bytes"], one["command"])
        )  # fmt: skip
    return data


CHART = Chart("candidates", "The candidates", "How far do cheap settings carry each system?", "verdict", draw)
