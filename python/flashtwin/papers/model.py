"""Types of a reproduction: papers, workloads, items, and for each item its measurement and judgement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flashtwin.papers.claims import Claim

if TYPE_CHECKING:
    from flashtwin.papers.bench import Stand
    from flashtwin.papers.sensitivity import Sensitivity
    from flashtwin.papers.setup import Setup

#: A series of bars: its name, the measured and the published values by group.
Series = tuple[str, Sequence[float | None], Sequence[float | None]]

#: Measurements of one item on one workload; JSON values.
Facts = dict[str, Any]

#: A share of the published workloads' size, or the name of one that each paper chooses for itself.
Scale = float | Literal["default", "quick"]


@dataclass(frozen=True)
class Statistic:
    """A published figure about a workload, and how it is measured on ours."""

    name: str
    published: float
    unit: str
    place: str
    measure: Callable[[Stand], float | None]


@dataclass(frozen=True)
class PaperWorkload:
    """A trace of the paper: its name there, the recipe, the names of recorded files, its published numbers."""

    name: str
    recipe: str
    #: Beginnings of file names under which its owners publish it.
    files: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = ()
    #: The recorded file itself, where it is known.
    path: Path | None = None
    #: The volume of that file that is the workload; None: the whole file.
    volume: str | None = None


@dataclass
class Outcome:
    """The claims of an item, with its chart and notes."""

    claims: list[Claim]
    #: Panels of the chart, as `flashtwin.report` draws them; none where there is nothing to draw.
    chart: dict[str, Any] | None = None
    #: Sentences computed from the figures.
    notes: list[str] = field(default_factory=list)
    #: Further tables: title, header, rows.
    tables: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper."""

    id: str
    title: str
    place: str
    #: Names of the workloads it is measured on.
    workloads: tuple[str, ...]
    #: Measures one workload.
    measure: Callable[[Stand], Facts]
    #: Puts published beside measured; facts by workload, in the paper's order.
    judge: Callable[[Mapping[str, Facts]], Outcome]


@dataclass(frozen=True)
class Paper:
    """A paper with its workloads and items."""

    id: str
    title: str
    citation: str
    #: The simulated systems, and how the rate of arrival was chosen.
    setting: str
    workloads: tuple[PaperWorkload, ...]
    items: tuple[Item, ...]
    #: Sizes of recipes: one that measures all papers in less than half an hour on two cores, one in three minutes.
    default_scale: float
    quick_scale: float
    #: Options of the characterization that the paper's figures ask for.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Where any traces will do as workloads: finds them, in a folder of recorded ones or without.
    population: Callable[[Path | None], tuple[PaperWorkload, ...]] | None = None
    #: Its headlines under other choices of the engine; none where nothing is replayed.
    sensitivity: Sensitivity | None = None
    #: Keys fixed by its text or found, that differ from the presets; none where items say it themselves.
    setup: Setup | None = None

    def workload(self, name: str) -> PaperWorkload:
        """The workload of that name."""
        return next(workload for workload in self.workloads if workload.name == name)

    def scale(self, asked: Scale) -> float:
        """The size of recipes as a share of the published one."""
        if isinstance(asked, str):
            return self.quick_scale if asked == "quick" else self.default_scale
        return asked


def bars(
    groups: Sequence[str], series: Sequence[Series], label: str,
    *, title: str = "", stacked: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """A panel of grouped bars: for each series its name, the measured and the published values by group."""
    return {
        "form": "bars",
        "title": title,
        "groups": list(groups),
        "y_label": label,
        "stacked": stacked,
        "series": [
            {"name": name, "measured": list(measured), "published": list(published)}
            for name, measured, published in series
        ],
    }


def lines(
    series: Sequence[tuple[str, Sequence[float], Sequence[float | None]]], x_label: str, y_label: str,
    *, title: str = "", published: Sequence[tuple[str, float, float]] = (), x_log: bool = False, y_log: bool = False,
    points: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """A panel of lines, or of points alone: name, x and y of each; published points by the name of their line."""
    return {
        "form": "lines",
        "title": title,
        "x_label": x_label,
        "y_label": y_label,
        "x_log": x_log,
        "y_log": y_log,
        "points": points,
        "series": [{"name": name, "x": list(x), "y": list(y)} for name, x, y in series],
        "published": [{"name": name, "x": x, "y": y} for name, x, y in published],
    }


def chart(*panels: dict[str, Any]) -> dict[str, Any]:
    """A chart of panels side by side."""
    return {"panels": list(panels)}


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of those that are known; None without any."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
