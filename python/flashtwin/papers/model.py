"""Types of a reproduction: papers with their workloads, set-ups and items, and how an item is judged.

An item declares what was published (`Quantity`, `Overall`), its bars (`BarPanel`) and its tables (`WorkloadTable`).
`Item.judge` is the one evaluator: it puts them beside the facts of each workload. Where a figure needs more than that,
a function of the facts by workload stands in the place of the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flashtwin.papers.claims import Claim
from flashtwin.papers.facts import Fact, mean, measured, minus
from flashtwin.results.trees import literal
from flashtwin.settings import Value

if TYPE_CHECKING:
    from flashtwin.papers.bench import Stand
    from flashtwin.papers.sensitivity import Sensitivity

#: A series of bars: its name, the measured and the published values by group.
Series = tuple[str, Sequence[float | None], Sequence[float | None]]
#: Measurements of one item on one workload, by fact or by name, and those of all workloads.
Facts = dict[Any, Any]
ByWorkload = Mapping[str, Facts]
#: A published number, or a range with an open end as None.
Published = float | tuple[float | None, float | None]
#: A share of the published workloads' size, or the name of one that each paper chooses for itself.
Scale = float | Literal["default", "quick"]


def percent(value: float | None) -> str:
    """`12.3 %`; an en dash for a missing number."""
    # Adding 0 makes of -0.0 a 0.
    return "–" if value is None else f"{round(value, 1) + 0.0:.1f} %"


def column(facts: ByWorkload, names: Sequence[str], fact: Fact | str) -> list[float | None]:
    """One figure of every workload, in the paper's order; None where it was not measured."""
    return [facts.get(name, {}).get(fact) for name in names]


@dataclass(frozen=True)
class Quantity:
    """A published quantity, with one number for each workload."""

    title: str
    fact: Fact
    #: One value for all workloads of the item, or the value of each; workloads without one have no claim.
    published: Published | Mapping[str, Published]
    unit: str = "%"
    effect: bool = False
    #: Why a workload that was measured lacks the figure.
    why: str = ""

    def claim(self, subject: str, measured: float | None, why: str) -> Claim:
        """Published beside measured, for one workload or for a statistic."""
        value = self.published[subject] if isinstance(self.published, Mapping) else self.published
        low, high = value if isinstance(value, tuple) else (value, value)
        return Claim(subject, self.title, low, high, measured, self.unit, self.effect, why)


def gain(title: str, fact: Fact, published: Published | Mapping[str, Published], why: str = "") -> Quantity:
    """A quantity in percent with a sign."""
    return Quantity(title, fact, published, effect=True, why=why)


def above(title: str, one: Fact, other: Fact, least: float = 0.0) -> Quantity:
    """That one figure exceeds another, in points."""
    return Quantity(title, minus(one, other), (least, None), "points", effect=True)


@dataclass(frozen=True)
class Overall(Quantity):
    """A published statistic over the workloads, such as their mean."""

    subject: str = "mean"
    statistic: Callable[[Any], float | None] = mean
    #: What must be there: the figure of every workload of the paper or of the run, every workload, or any figure.
    needs: Literal["figures", "run", "workloads", "any"] = "figures"

    def overall(self, facts: ByWorkload, names: Sequence[str]) -> Claim:
        """Published beside measured; `why` says of which workloads the statistic is."""
        known = [value for value in column(facts, names, self.fact) if value is not None]
        whole = (
            bool(known)
            and {
                "figures": len(known) == len(names),
                "run": len(known) == len(facts),
                "workloads": len(facts) == len(names),
                "any": True,
            }[self.needs]
        )
        return self.claim(self.subject, self.statistic(known) if whole else None, self.why)


#: Quantities in the order of their claims. Those of a tuple alternate, workload by workload.
Quantities = Sequence[Quantity | tuple[Quantity, ...]]


def _each(entry: Quantity | tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    return entry if isinstance(entry, tuple) else (entry,)


def claims_of(quantities: Quantities, facts: ByWorkload, names: Sequence[str]) -> list[Claim]:
    """Published beside measured, number by number."""
    claims: list[Claim] = []
    for entry in quantities:
        if isinstance(entry, Overall):
            claims.append(entry.overall(facts, names))
            continue
        together = _each(entry)
        alone = together[0].published if len(together) == 1 else None
        for name in alone if isinstance(alone, Mapping) else names:
            claims += [
                one.claim(name, facts.get(name, {}).get(one.fact), one.why if name in facts else "")
                for one in together
                if not isinstance(one.published, Mapping) or name in one.published
            ]
    return claims


@dataclass(frozen=True)
class BarPanel:
    """A panel of grouped bars, a group for each workload."""

    label: str
    #: The figure of each series; with published values by workload where there are some.
    series: Mapping[str, Fact | tuple[Fact, Mapping[str, float]]]
    title: str = ""

    def panel(self, facts: ByWorkload, names: Sequence[str]) -> dict[str, Any]:
        """As `flashtwin.report` draws it."""
        series: list[Series] = []
        for name, one in self.series.items():
            fact, published = one if isinstance(one, tuple) else (one, None)
            beside = [] if published is None else [published.get(workload) for workload in names]
            series.append((name, column(facts, names, fact), beside))
        return bars(names, series, self.label, title=self.title)


#: How a column is written: a figure in percent, a figure with its format, or a published value in percent.
Column = Fact | tuple[Fact, Callable[[Any], str]] | Mapping[str, float]


@dataclass(frozen=True)
class WorkloadTable:
    """A table with a row for each workload."""

    title: str
    columns: Mapping[str, Column]

    def table(self, facts: ByWorkload) -> dict[str, Any]:
        """As pages show it."""
        rows = [[name, *(_cell(one, name, found) for one in self.columns.values())] for name, found in facts.items()]
        return table(self.title, ["workload", *self.columns], rows)


def _cell(one: Column, name: str, facts: Facts) -> str:
    if isinstance(one, Mapping):
        return percent(one.get(name))
    fact, written = one if isinstance(one, tuple) else (one, percent)
    return written(facts[fact])


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """A table as pages show it."""
    return {"title": title, "header": list(header), "rows": [list(row) for row in rows]}


@dataclass
class Outcome:
    """The claims of an item, with its chart and notes."""

    claims: list[Claim]
    #: Panels of the chart, as `flashtwin.report` draws them; none where there is nothing to draw.
    chart: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper."""

    id: str
    title: str
    place: str
    workloads: tuple[str, ...]
    claims: Quantities | Callable[[ByWorkload], list[Claim]] = ()
    #: The chart, and the tables beside the claims; both only where something was measured.
    panels: Sequence[BarPanel] | Callable[[ByWorkload], Sequence[dict[str, Any]]] = ()
    tables: Sequence[WorkloadTable] | Callable[[ByWorkload], Sequence[dict[str, Any]]] = ()
    notes: Callable[[ByWorkload], list[str]] = lambda _: []
    #: Facts that functions above use; those of declarations are known.
    facts: Sequence[Fact] = ()

    def measure(self, stand: Stand) -> Facts:
        """Measures one workload."""
        declared = [
            *([] if callable(self.claims) else [one.fact for entry in self.claims for one in _each(entry)]),
            *([] if callable(self.panels) else [one for bars in self.panels for one in bars.series.values()]),
            *([] if callable(self.tables) else [one for table in self.tables for one in table.columns.values()]),
            *self.facts,
        ]
        facts = [one[0] if isinstance(one, tuple) else one for one in declared]
        return measured(dict.fromkeys(one for one in facts if isinstance(one, Fact)), stand)

    def judge(self, facts: ByWorkload) -> Outcome:
        """Puts published beside measured, from the facts by workload."""
        names = self.workloads
        claims = self.claims(facts) if callable(self.claims) else claims_of(self.claims, facts, names)
        panels: Sequence[dict[str, Any]] = ()
        tables: Sequence[dict[str, Any]] = ()
        if facts:
            panels = self.panels(facts) if callable(self.panels) else [one.panel(facts, names) for one in self.panels]
            tables = self.tables(facts) if callable(self.tables) else [one.table(facts) for one in self.tables]
        return Outcome(claims, chart(*panels) if panels else None, self.notes(facts), list(tables))


@dataclass(frozen=True)
class ComputedItem(Item):
    """An item that measures and judges by functions of its own."""

    measures: Callable[[Stand], Facts] = lambda _: {}
    outcome: Callable[[ByWorkload], Outcome] = lambda _: Outcome([])

    def measure(self, stand: Stand) -> Facts:
        """Measures one workload."""
        return self.measures(stand)

    def judge(self, facts: ByWorkload) -> Outcome:
        """Puts published beside measured, from the facts by workload."""
        return self.outcome(facts)


@dataclass(frozen=True)
class PaperWorkload:
    """A trace of the paper: its name there, the recipe, the names of recorded files, its published numbers."""

    name: str
    recipe: str
    #: Beginnings of file names under which its owners publish it.
    files: tuple[str, ...] = ()
    #: Published figures about the workload itself, and the table that has them.
    statistics: tuple[Quantity, ...] = ()
    place: str = ""
    path: Path | None = None
    #: The volume of that file that is the workload; None: the whole file.
    volume: str | None = None


@dataclass(frozen=True)
class Choice:
    """A key that is set otherwise than in the presets, and why.

    Example:
        >>> Choice("engine.hash_lanes", 0, "Table II", "Hashing Latency = 12us").text
        'engine.hash_lanes=0'
    """

    key: str
    value: Value
    #: Where the paper speaks of it.
    place: str
    #: The paper's words; the finding, where it has none.
    words: str

    @property
    def text(self) -> str:
        """As `--set` takes it."""
        return f"{self.key}={literal(self.value)}"


@dataclass(frozen=True)
class Setup:
    """The keys that a paper fixes or leaves open, as differences to the presets: one set-up for all its items."""

    choices: tuple[Choice, ...]

    @property
    def sets(self) -> Mapping[str, Value]:
        """Keys and values."""
        return {one.key: one.value for one in self.choices}

    @property
    def command(self) -> str:
        """The options that turn a preset into the set-up: `--set engine.hash_lanes=0`."""
        return " ".join(f"--set {one.text}" for one in self.choices)

    def without(self, key: str) -> Mapping[str, Value]:
        """The set-up with one choice taken back."""
        return {one.key: one.value for one in self.choices if one.key != key}


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
