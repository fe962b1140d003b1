"""The table of a paper (`NAME.toml`): its set-up, workloads and items, each with what was published and where.

A claim is a row: `what` it is of, `published`, and where they differ from the usual `unit`, `effect`, `why`. `fact` is
the name of the figure that is measured, where it is not `what`. With `over` the claim is a statistic over the
workloads, with `spread` three of them: lowest, highest, mean. `published` is a number, a range (`inf` for an open end),
one of these by workload, or its name in `[published]`. Rows in a list of their own alternate, workload by workload.
Braces in prose name an entry of `[texts]`.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

from flashtwin.papers.facts import Fact, mean
from flashtwin.papers.model import Choice, FirstRule, Item, Overall, Paper, PaperWorkload, Quantities, Quantity, Setup

Row = Mapping[str, Any]
#: Of an item beside its row in `[items]`: each a section of the file, by the items that have it.
SECTIONS = ("first", "missing", "decided", "said", "claims", "why", "left_out")
#: The place of an item that is called by it: `fig-9`, `table-2`.
PLACES = {"fig": "Fig.", "table": "Table"}
STATISTICS: Mapping[str, Callable[[Any], float | None]] = {"lowest": min, "highest": max, "mean": mean}


class PaperTable:
    """What a paper published, as its items ask for it."""

    def __init__(self, id_: str) -> None:
        """Reads the table of the paper that is called so."""
        text = resources.files("flashtwin.papers").joinpath(f"{id_.replace('-', '_')}.toml").read_text("utf-8")
        self.id = id_
        self._of: Mapping[str, Any] = tomllib.loads(text)
        self.setup = Setup(tuple(Choice(key, **one) for key, one in self._of.get("setup", {}).items()))
        self._texts = {"setup": self.setup.command, **self._of.get("texts", {})}
        #: Values that several items or charts share, by name; those of a map are by workload.
        self.published = {name: _published(value) for name, value in self._of.get("published", {}).items()}
        self._columns: Mapping[str, Any] = self._of.get("workloads", {})
        self.names = tuple(name for of in self._columns.values() for name in of["rows"])

    def _prose(self, of: Any) -> Any:
        """The same with the texts that its prose names."""
        match of:
            case str():
                return of.format(**self._texts)
            case list():
                return [self._prose(one) for one in of]
            case dict():
                return {key: self._prose(one) for key, one in of.items()}
        return of

    def _workloads(self, of: str | Sequence[str] | None) -> tuple[str, ...]:
        """Workloads by name, those of a table, or all."""
        return tuple(self._columns[of]["rows"] if isinstance(of, str) else of or self.names)

    def values(self, what: str) -> dict[str, float]:
        """Shared values of all workloads."""
        return dict(self.published[what])

    def rows(self, place: str) -> dict[str, list[float]]:
        """The rows of a table of workloads."""
        return dict(self._columns[place]["rows"])

    def columns(self, place: str, facts: Mapping[str, Fact]) -> tuple[Quantity, ...]:
        """A table of workloads as quantities, of the facts by the names of its columns."""
        of = self._columns[place]
        return tuple(
            Quantity(name, facts[name], {workload: row[at] for workload, row in of["rows"].items()}, unit)
            for at, (name, unit) in enumerate(of["columns"])
        )

    def item(
        self, id_: str, figures: Mapping[str, Any] | None = None, kind: type[Item] = Item, *,
        first: Mapping[str, Fact] | Quantities = (), claims: Quantities = (), **code: Any,
    ) -> Item:  # fmt: skip
        """An item of its row; `figures` are the facts of its claims, `first` those of its first rule.

        Claims that code makes come before those of the row.
        """
        kind_of_place, _, number = id_.partition("-")
        more = {section: self._of[section][id_] for section in SECTIONS if id_ in self._of.get(section, {})}
        place = f"{PLACES.get(kind_of_place, '')} {number}"
        of = {"place": place, **self._prose({**self._of["items"][id_], **more})}
        rows, missing, rule = of.pop("claims", []), of.pop("missing", ""), of.pop("first", None)
        if rule:
            if isinstance(first, Mapping):
                first = self.quantities(rows, {**(figures or {}), **first}, missing)
            rule = FirstRule(rule["changed"], rule["words"], first)
        return kind(
            id=id_, workloads=self._workloads(of.pop("of", self._of.get("of"))), first=rule,
            claims=(*claims, *self.quantities(rows, figures or {}, missing)), **of, **code,
        )  # fmt: skip

    def quantities(self, rows: Sequence[Row | list[Row]], figures: Mapping[str, Any], missing: str) -> Quantities:
        found: list[Quantity | tuple[Quantity, ...]] = []
        for row in rows:
            if isinstance(row, list):
                found.append(tuple(self.quantity(one, figures, missing) for one in row))
            elif "spread" in row:
                of = {key: value for key, value in row.items() if key != "spread"}
                found += [
                    self.quantity(
                        {"fact": row["what"], **of, "what": f"{row['what']}, {over}", "published": value, "over": over},
                        figures, missing,
                    )
                    for over, value in zip(STATISTICS, self.value(row["spread"]), strict=True)
                ]  # fmt: skip
            else:
                found.append(self.quantity(row, figures, missing))
        return found

    def quantity(self, row: Row, figures: Mapping[str, Any], missing: str) -> Quantity:
        of = {"why": missing, **row} if missing else dict(row)
        title, over = of.pop("what"), of.pop("over", "")
        fact, published = figures[of.pop("fact", title)], self.value(of.pop("published"))
        if not over:
            return Quantity(title, fact, published, **of)
        if over == "mean" and not missing:
            of = {"why": self._of["no_mean"], **of}
        return Overall(title, fact, published, statistic=STATISTICS[over], **of)

    def value(self, value: Any) -> Any:
        """A published value, or one of `[published]` by its name or the name of its row and its own: `read.static`."""
        if not isinstance(value, str):
            return _published(value)
        if value in self.published:
            return self.published[value]
        name, _, key = value.partition(".")
        return self.published[name][key]

    def paper(
        self, items: Sequence[Item], statistics: Mapping[str, tuple[Quantity, ...]] | None = None, **code: Any
    ) -> Paper:
        """The paper with its items in the order of the table; `statistics` are quantities of its workloads by place."""
        of, by_id = self._of, {item.id: item for item in items}
        workloads = tuple(
            PaperWorkload(name, f"{self.id}/{name}", tuple(of["files"].get(name, ())), (statistics or {})[place], place)
            for place, table in self._columns.items()
            for name in table["rows"]
        )
        return Paper(
            self.id, of["title"], of["citation"], self._prose(of["setting"]), of["default_scale"], of["quick_scale"],
            workloads, tuple(by_id[name] for name in of["items"]), setup=self.setup if self.setup.choices else None,
            **code,
        )  # fmt: skip


def _published(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _published(one) for name, one in value.items()}
    if isinstance(value, list):
        return tuple(None if math.isinf(end) else float(end) for end in value)
    return value if isinstance(value, tuple) else float(value)
