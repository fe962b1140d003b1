"""Results of the papers, looked up by paper, item, subject and quantity; and tables that pages make of them.

A template begins with `{% set rr = reproduced(reproduction, "rr-ssd") %}`. What is asked for and not there is an
error that says what there is instead: a renamed item must not leave a hole in a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidence.forms import NOTHING, grid, us
from flashtwin.papers.claims import Agreement
from flashtwin.papers.markdown import MARKS
from flashtwin.report.reproduction import published, value

Figures = Mapping[str, Any]
#: An item, a subject and a quantity of it.
Wanted = tuple[str, str, str]

#: A number as tables write it, with what may stand around it: `-1,070.6 %`, `55.5 ~`.
NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?")

#: Subjects of one word that are no names.
WORDS = ("mean", "published", "lowest", "highest", "largest", "median", "traces", "reads", "writes", "both")


class MissingError(LookupError):
    """A figure that the data do not hold."""


@dataclass(frozen=True)
class PaperResults:
    """One paper with its results."""

    paper: Figures

    def item(self, name: str) -> Figures:
        """A table or figure of the paper by its id."""
        return _one(self.paper["items"], "id", name, f"{self.paper['id']}: item")

    def claim(self, item: str, subject: str, quantity: str) -> Figures:
        """A published number beside the measured one."""
        claims = self.item(item)["claims"]
        for one in claims:
            if (one["subject"], one["quantity"]) == (subject, quantity):
                return dict(one)
        there = ", ".join(sorted({f"'{one['subject']}: {one['quantity']}'" for one in claims}))
        raise MissingError(f"{self.paper['id']} {item}: no claim '{subject}: {quantity}'; there are {there}")

    def measured(self, item: str, subject: str, quantity: str) -> float:
        """The measured value, as a number."""
        claim = self.claim(item, subject, quantity)
        if claim["measured"] is None:
            raise MissingError(f"{self.paper['id']} {item}: '{subject}: {quantity}' was not measured: {claim['why']}")
        return float(claim["measured"])

    def has(self, item: str, subject: str, quantity: str) -> bool:
        """Whether there is such a claim, and it was measured."""
        return any(
            (one["subject"], one["quantity"]) == (subject, quantity) and one["measured"] is not None
            for one in self.item(item)["claims"]
        )

    def figure(self, item: str, subject: str, quantity: str) -> str:
        """The measured value, with its unit: `23.4 %`."""
        return value(self.measured(item, subject, quantity), self.claim(item, subject, quantity)["unit"])

    def published(self, item: str, subject: str, quantity: str) -> str:
        """The published value, with its unit: `17 to 57 %`."""
        return published(self.claim(item, subject, quantity))

    def cell(self, item: str, subject: str, quantity: str) -> str:
        """The measured value with the mark of its verdict: `23.4 % ✓`."""
        return _measured(self.claim(item, subject, quantity))

    def verdict(self, item: str) -> str:
        """The verdict on an item: `agrees`."""
        return str(self.item(item)["verdict"])

    def subjects(self, item: str, quantity: str, *verdicts: str) -> list[str]:
        """Whose measured claims of a quantity have one of the verdicts; of any, where none is named."""
        return [
            one["subject"]
            for one in self.item(item)["claims"]
            if one["quantity"] == quantity
            and one["measured"] is not None
            and (not verdicts or one["verdict"] in verdicts)
        ]

    def values(self, item: str, quantity: str, without: Collection[str] = ("mean",)) -> dict[str, float]:
        """The measured values of a quantity by subject; a mean over the others is left out."""
        return {
            one["subject"]: float(one["measured"])
            for one in self.item(item)["claims"]
            if one["quantity"] == quantity and one["measured"] is not None and one["subject"] not in without
        }

    def near(self, item: str, quantity: str, points: float) -> list[str]:
        """Subjects whose measured value is at most this many points from the published one."""
        return [name for name, away in self._away(item, quantity).items() if abs(away) <= points]

    def above(self, item: str, quantity: str) -> list[str]:
        """Whose measured value is above the published one."""
        return [name for name, away in self._away(item, quantity).items() if away > 0]

    def below(self, item: str, quantity: str, limit: float) -> list[str]:
        """Whose measured value is below a limit."""
        return [name for name, found in self.values(item, quantity).items() if found < limit]

    def _away(self, item: str, quantity: str) -> dict[str, float]:
        """How far measured values are above the published numbers."""
        return {
            name: found - float(self.claim(item, name, quantity)["published_low"])
            for name, found in self.values(item, quantity).items()
        }

    def notes(self, item: str, *beginnings: str) -> list[str]:
        """Sentences that the item computed; only those that begin so, where beginnings are given."""
        return [note for note in self.item(item)["notes"] if not beginnings or note.startswith(beginnings)]

    def rows(self, item: str, title: str) -> list[dict[str, str]]:
        """A table of an item, found by words of its title: a mapping from its header for each row."""
        tables = self.item(item)["tables"]
        for table in tables:
            if title in table["title"]:
                return [dict(zip(table["header"], row, strict=True)) for row in table["rows"]]
        there = ", ".join(f"'{table['title']}'" for table in tables) or "none"
        raise MissingError(f"{self.paper['id']} {item}: no table '{title}'; there are {there}")

    def entry(self, item: str, title: str, column: str, *labels: str) -> str:
        """A cell of an item's table, in the row whose first cells are these."""
        return _column(self._row(item, title, labels), column, f"{self.paper['id']} {item}")

    def number(self, item: str, title: str, column: str, *labels: str) -> float:
        """The same as a number."""
        text = self.entry(item, title, column, *labels)
        found = parsed(text)
        if found is None:
            raise MissingError(f"{self.paper['id']} {item}: '{column}' of {', '.join(labels)} is '{text}', no number")
        return found

    def _row(self, item: str, title: str, labels: Sequence[str]) -> dict[str, str]:
        rows = self.rows(item, title)
        for row in rows:
            if tuple(row.values())[: len(labels)] == tuple(labels):
                return row
        there = "; ".join(", ".join(tuple(row.values())[: len(labels)]) for row in rows)
        raise MissingError(f"{self.paper['id']} {item}: no row '{', '.join(labels)}'; there are {there}")

    # Tables, as Markdown.

    def verdicts(self) -> str:
        """Every item with its verdict, and how many of its numbers agree."""
        rows = []
        for item in self.paper["items"]:
            counts = item["counts"]
            known = sum(count for verdict, count in counts.items() if verdict != Agreement.UNKNOWN)
            agree, sign = counts[Agreement.AGREES], counts[Agreement.SIGN]
            rows.append([f"`{item['id']}`", item["place"], item["title"], item["verdict"], f"{agree} + {sign}", known])
        return grid(["item", "place", "what", "verdict", "✓ + ~", "of"], rows)

    def beside(self, *wanted: Wanted) -> str:
        """Chosen claims, one a row: published, measured, verdict."""
        claims = [self.claim(*one) for one in wanted]
        rows = [[one["subject"], one["quantity"], published(one), _value(one), one["verdict"]] for one in claims]
        return grid(["of", "what", "published", "measured", "verdict"], rows)

    def claims(self, item: str, *quantities: str) -> str:
        """Claims of an item that were measured, a column for each quantity: `26.6 % → 24.1 % ✓`."""
        there = list(dict.fromkeys(one["quantity"] for one in self.item(item)["claims"]))
        return self.columns(*((item, quantity) for quantity in quantities or there))

    def columns(self, *pairs: tuple[str, str]) -> str:
        """The same with columns of several items: an item and a quantity each."""
        found = {
            (one["subject"], column): one
            for column in pairs
            for one in self.item(column[0])["claims"]
            if one["quantity"] == column[1] and one["measured"] is not None
        }
        measured = [column for column in pairs if any(key[1] == column for key in found)]
        if not measured:
            raise MissingError(
                f"{self.paper['id']}: nothing was measured of {', '.join(': '.join(one) for one in pairs)}"
            )
        rows = [
            [_named(subject), *(_pair(found.get((subject, column))) for column in measured)]
            for subject in dict.fromkeys(subject for subject, _ in found)
        ]
        return grid(["published → measured", *(quantity for _, quantity in measured)], rows)

    def table(self, item: str, title: str, *columns: str, where: Mapping[str, Collection[str]] | None = None) -> str:
        """A table of an item, or some columns of it, or the rows in which these columns hold one of these."""
        every = self.rows(item, title)
        for column in (*columns, *(where or {})):
            _column(every[0], column, f"{self.paper['id']} {item}")
        kept = [row for row in every if all(row[column] in of for column, of in (where or {}).items())]
        names = list(columns) or list(every[0])
        return grid(names, ([_named(row[names[0]]), *(row[name] for name in names[1:])] for row in kept))


def reproduced(data: Figures, paper: str) -> PaperResults:
    """A paper of a stage's data."""
    return PaperResults(_one(data["papers"], "id", paper, "paper"))


def parsed(text: str, place: int = 0) -> float | None:
    """The number in a cell; of several, the one at a place: `78 ✓ / 87 ✓` holds two."""
    found = NUMBER.findall(text)
    if place >= len(found):
        return None
    return float(found[place].replace(",", "").replace("−", "-"))


def summary(data: Figures) -> str:
    """Counts of the papers' figures, by paper: items and numbers with each verdict."""
    head = ["paper", "items", *(str(verdict) for verdict in Agreement), "numbers", *MARKS.values()]
    rows = []
    for paper in data["papers"]:
        items, claims = paper["items"], [claim for item in paper["items"] for claim in item["claims"]]
        known = [claim for claim in claims if claim["measured"] is not None]
        rows.append([
            paper["id"], len(items), *(sum(item["verdict"] == verdict for item in items) for verdict in Agreement),
            len(known), *(sum(claim["verdict"] == verdict for claim in known) for verdict in MARKS),
        ])  # fmt: skip
    return grid(head, rows)


def together(item_titles: Mapping[str, str], papers: Mapping[str, PaperResults]) -> str:
    """Claims of items that were measured on several sets of traces: published, then one column a set."""
    first = next(iter(papers.values()))
    rows = []
    for name, title in item_titles.items():
        shown = title
        for claim in first.item(name)["claims"]:
            key = (name, claim["subject"], claim["quantity"])
            cells = [_measured(found.claim(*key)) if found.has(*key) else NOTHING for found in papers.values()]
            if set(cells) != {NOTHING}:
                rows.append([shown, f"{claim['subject']}: {claim['quantity']}", published(claim), *cells])
                shown = ""
    return grid(["finding", "what", "published", *papers], rows)


def by_clock(found: PaperResults, names: Mapping[str, str], speeds: Sequence[str]) -> str:
    """DS-FTL's mean latencies below static allocation: a row a trace by its own name, a column a clock."""
    kinds = {"reads": "fig-10b", "writes": "fig-10a"}
    head = [f"{kind}, {'as recorded' if speed == '1' else 'x ' + speed}" for kind in kinds for speed in speeds]
    column = "DS-FTL below static"
    rows = [
        [f"`{trace}`", *(found.entry(item, f"Mean {kind} when", column, name, speed)
                         for kind, item in kinds.items() for speed in speeds)]
        for name, trace in names.items()
    ]  # fmt: skip
    published_ = [
        [found.published(item, "mean", f"{kind}: {column}"), *([""] * (len(speeds) - 1))]
        for kind, item in kinds.items()
    ]
    return grid(["", *head], [*rows, ["published, mean", *(cell for cells in published_ for cell in cells)]])


def mean_reads(traces: Mapping[str, Mapping[str, Figures]], runs: Mapping[str, str]) -> str:
    """Mean reads of runs by trace, in microseconds: a row a run by its label here."""
    rows = [[label, *(us(of[name]["read_ns"]) for of in traces.values())] for label, name in runs.items()]
    return grid(["mean read, us", *(f"`{name}`" for name in traces)], rows)


def moving(data: Figures) -> list[tuple[str, int]]:
    """The engine's choices, with the headlines whose sign, verdict or figure each takes away; most first."""
    table = data["sensitivity"][1]
    counts = {
        row["choice"]: sum(int(row[column]) for column in ("no figure", "sign changes", "verdict changes"))
        for row in (dict(zip(table["header"], cells, strict=True)) for cells in table["rows"])
    }
    return sorted(counts.items(), key=lambda pair: -pair[1])


def by_choice(data: Figures) -> str:
    """How many headlines each of the engine's choices moves."""
    table = data["sensitivity"][1]
    return grid(table["header"], table["rows"])


def headlines(found: PaperResults, *titles: str) -> str:
    """Headlines of a paper as decided, and between the lowest and the highest figure of all the engine's choices."""
    rows = found.rows("sensitivity", "Headlines under each choice")
    wanted = titles or tuple(row["headline"] for row in rows)
    cells = []
    for title in wanted:
        row = found._row("sensitivity", "Headlines under each choice", [title])
        ends = (found.claim("sensitivity", title, f"{end} of all choices") for end in ("lowest", "highest"))
        cells.append([
            title, row["published"], row["as decided"], *(_measured(end) for end in ends), row["depends on"]
        ])  # fmt: skip
    return grid(["headline, %", "published", "as decided", "lowest", "highest", "depends on"], cells)


def listed(names: Iterable[str], none: str = "none") -> str:
    """Names in a sentence: `webvm`, `mail` and `homes`."""
    found = [f"`{name}`" for name in names]
    if not found:
        return none
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"


def _one(of: Iterable[Figures], key: str, name: str, what: str) -> Figures:
    known = list(of)
    for one in known:
        if one[key] == name:
            return one
    raise MissingError(f"{what} '{name}' is not there; there are {', '.join(str(one[key]) for one in known)}")


def _column(row: Mapping[str, str], column: str, what: str) -> str:
    if column not in row:
        raise MissingError(f"{what}: no column '{column}'; there are {', '.join(row)}")
    return row[column]


def _named(subject: str) -> str:
    """A name of one word is that of a workload or a system, and stands as code."""
    name = re.fullmatch(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*", subject) and subject not in WORDS
    return f"`{subject}`" if name else subject


def _value(claim: Figures) -> str:
    return value(claim["measured"], claim["unit"])


def _measured(claim: Figures) -> str:
    return NOTHING if claim["measured"] is None else f"{_value(claim)} {MARKS[Agreement(claim['verdict'])]}"


def _pair(claim: Figures | None) -> str:
    return "" if claim is None else f"{published(claim)} → {_measured(claim)}"


#: Functions for templates.
LOOKUPS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (reproduced, parsed, summary, together, moving, mean_reads, by_clock, by_choice, headlines, listed)
}
