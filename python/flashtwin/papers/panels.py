"""Charts and tables of an item: declared by their facts, and as `flashtwin.report` draws them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashtwin.papers.facts import Fact

#: A series of bars: its name, the measured and the published values by group.
Series = tuple[str, Sequence[float | None], Sequence[float | None]]
#: Measurements of one item on one workload, by fact or by name, and those of all workloads.
Facts = dict[Any, Any]
ByWorkload = Mapping[str, Facts]
#: A panel or a table, as results have it.
Display = dict[str, Any]


def percent(value: float | None) -> str:
    """`12.3 %`; an en dash for a missing number."""
    # Adding 0 makes of -0.0 a 0.
    return "–" if value is None else f"{round(value, 1) + 0.0:.1f} %"


def digits(form: str, unit: str = "") -> Callable[[float | None], str]:
    """Writes numbers by a format, such as `.2f`; an en dash for a missing one."""
    return lambda value: "–" if value is None else f"{value:{form}}{unit}"


def column(facts: ByWorkload, names: Sequence[str], fact: Fact | str) -> list[float | None]:
    """One figure of every workload, in the paper's order; None where it was not measured."""
    return [facts.get(name, {}).get(fact) for name in names]


@dataclass(frozen=True)
class BarPanel:
    """A panel of grouped bars, a group for each workload."""

    label: str
    #: The figure of each series; with published values by workload where there are some.
    series: Mapping[str, Fact | tuple[Fact, Mapping[str, float]]]
    title: str = ""

    @property
    def facts(self) -> list[Fact]:
        return [one[0] if isinstance(one, tuple) else one for one in self.series.values()]

    def show(self, facts: ByWorkload, names: Sequence[str]) -> list[Display]:
        series: list[Series] = []
        for name, one in self.series.items():
            fact, published = one if isinstance(one, tuple) else (one, None)
            beside = [] if published is None else [published.get(workload) for workload in names]
            series.append((name, column(facts, names, fact), beside))
        return [bars(names, series, self.label, title=self.title)]


@dataclass(frozen=True)
class Curves:
    """Panels of lines, one for each workload that has some."""

    x_label: str
    y_label: str
    #: x and y by the name of the line.
    curves: Fact
    #: A published point by workload: the name of the line, x and y.
    published: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    x_log: bool = False
    y_log: bool = False
    #: Only these workloads of the item.
    of: Sequence[str] = ()
    #: Whether all workloads are in one panel, a line each, with x and y as its curve.
    together: bool = False

    @property
    def facts(self) -> list[Fact]:
        return [self.curves]

    def show(self, facts: ByWorkload, names: Sequence[str]) -> list[Display]:
        """The panels; lines without a point are left out."""
        names = self.of or names
        found = {name: facts[name][self.curves] for name in names if name in facts}
        grouped = {"": found} if self.together else found
        panels = []
        for name, curves in grouped.items():
            series = [(line, *curve) for line, curve in (curves or {}).items() if curve and curve[0]]
            points = [point for of, point in self.published.items() if self.together or of == name]
            # A panel of the one workload that an item has needs no title.
            title = name if len(names) > 1 else ""
            if series:
                panels.append(lines(
                    series, self.x_label, self.y_label, title=title, published=points, x_log=self.x_log,
                    y_log=self.y_log,
                ))  # fmt: skip
        return panels


#: How a column is written: a figure in percent, a figure with its format, a published value in percent, or a word.
Column = Fact | tuple[Fact, Callable[[Any], str]] | Mapping[str, float] | str


class WorkloadTable:
    """A table with a row for each workload, or several with the same columns."""

    def __init__(self, title: str, *rows: Mapping[str, Any]) -> None:
        self.title = title
        self.rows: tuple[Mapping[str, Column], ...] = rows

    @property
    def facts(self) -> list[Fact]:
        cells = [one[0] if isinstance(one, tuple) else one for row in self.rows for one in row.values()]
        return [one for one in cells if isinstance(one, Fact)]

    def show(self, facts: ByWorkload, names: Sequence[str]) -> list[Display]:
        rows = [
            [name, *(_cell(one, name, found) for one in row.values())] for name, found in facts.items()
            for row in self.rows
        ]  # fmt: skip
        return [table(self.title, ["workload", *self.rows[0]], rows)]


def _cell(one: Column, name: str, facts: Facts) -> str:
    if isinstance(one, str):
        return one
    if isinstance(one, Mapping):
        return percent(one.get(name))
    fact, write = one if isinstance(one, tuple) else (one, percent)
    return write(facts[fact])


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Display:
    return {"title": title, "header": list(header), "rows": [list(row) for row in rows]}


def bars(
    groups: Sequence[str], series: Sequence[Series], label: str, *, title: str = "", stacked: bool = False
) -> Display:
    drawn = [
        {"name": name, "measured": list(measured), "published": list(published)} for name, measured, published in series
    ]
    return {
        "form": "bars", "title": title, "groups": list(groups), "y_label": label, "stacked": stacked, "series": drawn,
    }  # fmt: skip


def lines(
    series: Sequence[tuple[str, Sequence[float], Sequence[float | None]]], x_label: str, y_label: str,
    *, title: str = "", published: Sequence[tuple[str, float, float]] = (), x_log: bool = False, y_log: bool = False,
    points: bool = False,
) -> Display:  # fmt: skip
    """A panel of lines, or of points alone: name, x and y of each; published points by the name of their line."""
    return {
        "form": "lines", "title": title, "x_label": x_label, "y_label": y_label, "x_log": x_log, "y_log": y_log,
        "points": points,
        "series": [{"name": name, "x": list(x), "y": list(y)} for name, x, y in series],
        "published": [{"name": name, "x": x, "y": y} for name, x, y in published],
    }  # fmt: skip


def chart(*panels: Display) -> Display | None:
    return {"panels": list(panels)} if panels else None
