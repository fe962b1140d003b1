"""Types of a reproduction: papers with their workloads, set-ups and items, and how an item is judged.

An item declares its published numbers (`Quantity`, `Overall`), its charts and its tables (`panels`), each by the facts
that they are of. `Item.judge` is the one evaluator. Where a figure needs more, a function of the facts by workload
stands in the place of a declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from flashtwin.papers.claims import Agreement, Claim, Published, judge, number
from flashtwin.papers.facts import Fact, mean, measured
from flashtwin.papers.panels import BarPanel, ByWorkload, Curves, Display, Facts, WorkloadTable, chart, column
from flashtwin.recipes.workloads import workload
from flashtwin.results.trees import literal
from flashtwin.settings import Value

if TYPE_CHECKING:
    from flashtwin.papers.bench import Stand

#: A share of the published workloads' size, or the name of one that each paper chooses for itself.
Scale = float | Literal["default", "quick"]
#: Figures that must be there for a statistic over the workloads.
Needs = Literal["figures", "run", "workloads", "any"]
T = TypeVar("T")
#: Something else than a declaration, from the facts by workload.
Computed = Callable[[ByWorkload], list[T]]


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

    def claim(self, subject: str, measured: float | None, why: str = "") -> Claim:
        value = self.published[subject] if isinstance(self.published, Mapping) else self.published
        return number(subject, self.title, value, measured, self.unit, effect=self.effect, why=why)


def gain(title: str, fact: Fact, published: Published | Mapping[str, Published], why: str = "") -> Quantity:
    return Quantity(title, fact, published, effect=True, why=why)


@dataclass(frozen=True)
class Overall(Quantity):
    """A published statistic over the workloads, such as their mean."""

    subject: str = "mean"
    statistic: Callable[[Any], float | None] = mean
    #: What must be there: the figure of every workload of the paper or of the run, every workload, or any figure.
    needs: Needs = "figures"
    #: Only these workloads of the item.
    of: Sequence[str] = ()

    def value(self, facts: ByWorkload, names: Sequence[str] = ()) -> float | None:
        names = self.of or names
        known = [value for value in column(facts, names, self.fact) if value is not None]
        enough = {
            "figures": len(known) == len(names),
            "run": len(known) == len(facts),
            "workloads": len(facts) == len(names),
            "any": True,
        }[self.needs]
        return self.statistic(known) if known and enough else None

    def overall(self, facts: ByWorkload, names: Sequence[str]) -> Claim:
        """Published beside measured; `why` says of which workloads the statistic is."""
        return self.claim(self.subject, self.value(facts, names), self.why)


#: Quantities in the order of their claims. Those of a tuple alternate, workload by workload.
Quantities = Sequence[Quantity | tuple[Quantity, ...] | Computed[Claim]]


def all_quantities(quantities: Quantities) -> list[Quantity]:
    entries = [entry if isinstance(entry, tuple) else (entry,) for entry in quantities]
    return [one for entry in entries for one in entry if isinstance(one, Quantity)]


def claims_of(quantities: Quantities, facts: ByWorkload, names: Sequence[str]) -> list[Claim]:
    claims: list[Claim] = []
    for entry in quantities:
        if isinstance(entry, Overall):
            claims.append(entry.overall(facts, names))
        elif isinstance(entry, Quantity | tuple):
            claims += _by_workload(entry if isinstance(entry, tuple) else (entry,), facts, names)
        else:
            claims += entry(facts)
    return claims


def _by_workload(together: Sequence[Quantity], facts: ByWorkload, names: Sequence[str]) -> list[Claim]:
    known = {tuple(one.published) if isinstance(one.published, Mapping) else tuple(names) for one in together}
    return [
        one.claim(name, facts.get(name, {}).get(one.fact), one.why if name in facts else "")
        for name in (known.pop() if len(known) == 1 else names)
        for one in together
        if not isinstance(one.published, Mapping) or name in one.published
    ]


@dataclass
class Outcome:
    claims: list[Claim]
    #: Panels of the chart, as `flashtwin.report` draws them; none where there is nothing to draw.
    chart: Display | None = None
    notes: list[str] = field(default_factory=list)
    tables: list[Display] = field(default_factory=list)


@dataclass(frozen=True)
class FirstRule:
    """How an item was judged until its results had been seen."""

    #: The date of the change, and the words for what was otherwise until then.
    changed: str
    words: str
    claims: Quantities


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper. Its text and published numbers are in the paper's table (`tables`)."""

    id: str
    title: str
    place: str
    workloads: tuple[str, ...]
    claims: Quantities = ()
    #: The chart, and the tables beside the claims; both only where something was measured.
    panels: Sequence[BarPanel | Curves | Computed[Display]] = ()
    tables: Sequence[WorkloadTable | Computed[Display]] = ()
    #: Notes that are always said come first; those of facts only where something was measured.
    said: Sequence[str] = ()
    notes: Computed[str] = lambda _: []
    #: Facts that functions above use; those of declarations are known.
    facts: Sequence[Fact] = ()
    #: Why published and measured differ, where that is known; shown beside a verdict that is not "agrees".
    why: str = ""
    #: Whether the question is ours: it restates numbers that other items have, under set-ups of our own.
    ours: bool = False
    first: FirstRule | None = None

    def measure(self, stand: Stand) -> Facts:
        shown = [fact for one in (*self.panels, *self.tables) if not callable(one) for fact in one.facts]
        first = self.first.claims if self.first else ()
        wanted = (*(one.fact for one in all_quantities([*self.claims, *first])), *shown, *self.facts)
        return measured(dict.fromkeys(wanted), stand)

    def judge(self, facts: ByWorkload) -> Outcome:
        claims = claims_of(self.claims, facts, self.workloads)
        panels, tables = (self.displays(parts, facts) if facts else [] for parts in (self.panels, self.tables))
        return Outcome(claims, chart(*panels), [*self.said, *(self.notes(facts) if facts else [])], tables)

    def judge_first(self, facts: ByWorkload) -> Agreement | None:
        """The verdict by the first rule; None where that is the present one."""
        return judge(claims_of(self.first.claims, facts, self.workloads)).verdict if self.first else None

    def displays(
        self, parts: Sequence[BarPanel | Curves | WorkloadTable | Computed[Display]], facts: ByWorkload
    ) -> list[Display]:
        each = (one(facts) if callable(one) else one.show(facts, self.workloads) for one in parts)
        return [drawn for many in each for drawn in many]


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

    @property
    def size(self) -> int:
        """Bytes of the file, or requests of the recipe: the larger of two takes longer."""
        if self.path is not None:
            return self.path.stat().st_size
        return int(workload(self.recipe).recipe["requests"]["count"])


@dataclass(frozen=True)
class Choice:
    """A key that is set otherwise than in the presets, and why."""

    key: str
    value: Value
    #: Where the paper speaks of it.
    place: str
    #: The paper's words; the finding, where it has none.
    words: str

    @property
    def text(self) -> str:
        """As `--set` takes it: `engine.hash_lanes=0`."""
        return f"{self.key}={literal(self.value)}"


@dataclass(frozen=True)
class Setup:
    """The keys that a paper fixes or leaves open, as differences to the presets: one set-up for all its items."""

    choices: tuple[Choice, ...]

    @property
    def sets(self) -> Mapping[str, Value]:
        return {one.key: one.value for one in self.choices}

    @property
    def command(self) -> str:
        """The options that turn a preset into the set-up: `--set engine.hash_lanes=0`."""
        return " ".join(f"--set {one.text}" for one in self.choices)


@dataclass(frozen=True)
class Paper:
    id: str
    title: str
    citation: str
    #: The simulated systems, and how the rate of arrival was chosen.
    setting: str
    #: Sizes of recipes: one that measures all papers in less than half an hour on two cores, one in three minutes.
    default_scale: float
    quick_scale: float
    workloads: tuple[PaperWorkload, ...]
    items: tuple[Item, ...]
    #: Keys fixed by its text or found, that differ from the presets; none where items say it themselves.
    setup: Setup | None = None
    #: Options of the characterization that the paper's figures ask for.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Where any traces will do as workloads: finds them, in a folder of recorded ones or without.
    population: Callable[[Path | None], tuple[PaperWorkload, ...]] | None = None

    def workload(self, name: str) -> PaperWorkload:
        return next(workload for workload in self.workloads if workload.name == name)

    def scale(self, asked: Scale) -> float:
        if isinstance(asked, str):
            return self.quick_scale if asked == "quick" else self.default_scale
        return asked
