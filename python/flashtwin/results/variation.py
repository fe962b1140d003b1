"""How much figures vary over the points of a sweep: which deserve a chart or a column, and which are equal.

A line holds the points that differ in one key alone; a cell of it the runs with one value of that key, several only
where seeds were swept. Points whose runs have the same configuration are one run. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin.results import figures
from flashtwin.results.figures import Figure

#: Figures that may be shown, by topic; of those that vary alike the first is the one to look at.
FAMILIES = {
    "writes": ("write.mean", "write.p99", "write.p50", "write.p99_9"),
    "reads": ("read.mean", "read.p99", "read.p50", "read.p99_9"),
    "flushes": ("flush.mean", "flush.p99"),
    "flash": ("programs", "wa", "erases"),
    "tables": ("ram",),
    "rates": ("iops", "mb_per_s"),
}
#: A figure that varies by less than this share is named and not drawn.
BARELY = 0.01

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Variation:
    """The largest relative range of a figure, and the two values it lies between."""

    figure: Figure
    #: (largest - smallest) / largest, from 0 to 1.
    share: float
    first: float
    last: float


@dataclass(frozen=True)
class RunGroup:
    """The distinct runs of a line with one value of its key: one, or one for each seed."""

    value: Any
    rows: tuple[Row, ...]
    #: Whether no run of the cell is missing or refused.
    whole: bool

    def numbers(self, figure: Figure) -> list[float]:
        return [float(row[figure.path]) for row in self.rows if row.get(figure.path) is not None]

    def mean(self, figure: Figure) -> float | None:
        """The mean over seeds; None where a run is missing or has no such figure."""
        found = self.numbers(figure)
        return sum(found) / len(found) if found and self.whole and len(found) == len(self.rows) else None


@dataclass(frozen=True)
class Line:
    """The points of one trace and system that differ in one key alone, and in seeds."""

    trace: str
    system: str
    others: tuple[tuple[str, Any], ...]
    cells: tuple[RunGroup, ...]

    @property
    def runs(self) -> frozenset[tuple[Any, str]]:
        """The data of a chart: each value with the runs it has."""
        return frozenset((_plain(cell.value), str(row["key"])) for cell in self.cells for row in cell.rows)

    @property
    def is_one_run(self) -> bool:
        """Whether the same run stands for several values: the system does not look at the key."""
        return len(self.cells) > 1 and len({key for _, key in self.runs}) == 1


def is_seed(key: str) -> bool:
    """Whether a key draws another sample of the same thing."""
    return key.rpartition(".")[2].endswith("seed")


def distinct(rows: Iterable[Row]) -> list[Row]:
    """The first row of each run of a system; points whose configurations are equal are one run."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        found.setdefault((str(row["system"]), str(row["key"])), row)
    return list(found.values())


def alike(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows of each run together; a row without a run is alone."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        run = str(row["key"] if row["status"] == "done" else row["point"])
        found.setdefault((str(row["trace"]), str(row["system"]), str(row["status"]), run), []).append(row)
    return list(found.values())


def joined(rows: Sequence[Row], column: str) -> str:
    """The values of a column in the rows of one run, each once: `1, 2, 4`; empty where there is none."""
    return ", ".join(dict.fromkeys(plain(row[column]) for row in rows if row.get(column) is not None))


def plain(value: Any) -> str:
    """A value as a person would write it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def lines(rows: Sequence[Row], key: str, others: Sequence[str]) -> list[Line]:
    """The lines along a key, in the order of the rows, replayed or not; rows without a value of the key are left out.

    The keys `others` are equal within a line. Keys that are in neither (seeds) may differ.
    """
    column = f"config.{key}"
    found: dict[Any, dict[Any, list[Row]]] = {}
    for row in rows:
        if row.get(column) is not None:
            place = (
                str(row["trace"]),
                str(row["system"]),
                *((one, _plain(row.get(f"config.{one}"))) for one in others),
            )
            found.setdefault(place, {}).setdefault(_plain(row[column]), []).append(row)
    return [
        Line(place[0], place[1], place[2:], tuple(_cell(cells[value], column) for value in _ordered(cells)))
        for place, cells in found.items()
    ]


def _cell(rows: Sequence[Row], column: str) -> RunGroup:
    done = [row for row in rows if row["status"] == "done"]
    return RunGroup(rows[0][column], tuple(distinct(done)), len(done) == len(rows))


def _ordered(cells: Iterable[Any]) -> list[Any]:
    found = list(cells)
    return sorted(found) if all(isinstance(value, float) for value in found) else found


def _plain(value: Any) -> Any:
    """A value that can be compared: numbers as floats, all else as text."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def candidates(rows: Sequence[Row], *, closed: bool) -> list[Figure]:
    """The figures that a row has, by family; no rates without a closed loop, because the trace's clock decides them."""
    known = [figures.figure(name) for family, of in FAMILIES.items() if closed or family != "rates" for name in of]
    return [one for one in known if any(row.get(one.path) is not None for row in rows)]


def variations(groups: Iterable[Sequence[RunGroup]], wanted: Sequence[Figure]) -> list[Variation]:
    """The largest relative range of each figure within a group; figures that no two cells have are left out."""
    groups = list(groups)
    found = []
    for one in wanted:
        of_groups = [[value for cell in group if (value := cell.mean(one)) is not None] for group in groups]
        ranges = []
        for values in filter(lambda values: len(values) > 1, of_groups):
            low, high = min(values), max(values)
            first, last = (low, high) if values.index(low) <= values.index(high) else (high, low)
            ranges.append(Variation(one, (high - low) / high if high else 0.0, first, last))
        if ranges:
            found.append(max(ranges, key=lambda range_: range_.share))
    return found


def in_turn(found: Sequence[Variation]) -> list[Variation]:
    """The variation that is largest comes first, then the largest of each other family, then the second of each.

    Shares that are the same in tenths count as equal, and the order in `FAMILIES` decides: so a mean stands before its
    percentiles. What varies by less than half a tenth has no turn and comes last.
    """
    family_of = {figures.figure(name).path: family for family, of in FAMILIES.items() for name in of}
    by_family: dict[str, list[Variation]] = {}
    for one in sorted(found, key=lambda one: -_tenths(one)):
        by_family.setdefault(family_of.get(one.figure.path, one.figure.path), []).append(one)
    turns = [(_tenths(one) == 0, turn, -_tenths(one), one) for of in by_family.values() for turn, one in enumerate(of)]
    return [one for *_, one in sorted(turns, key=lambda turn: turn[:3])]


def _tenths(found: Variation) -> int:
    return round(10 * found.share)


@dataclass(frozen=True)
class PointColumns:
    #: Figures that differ: those that were asked for, then those that vary most.
    shown: list[Figure]
    #: Figures that are equal at every point, with their value.
    equal: list[tuple[Figure, float]]


def columns(rows: Sequence[Row], asked: Sequence[Figure], *, closed: bool, at_most: int) -> PointColumns:
    """The figures that a table of points shows, at least one if there is any."""
    done = [row for row in rows if row["status"] == "done"]
    known = list({one.path: one for one in (*asked, *candidates(done, closed=closed))}.values())
    there = [one for one in known if any(row.get(one.path) is not None for row in done)]
    values = {one.path: {row.get(one.path) for row in done} for one in there}
    varied = variations([[RunGroup(None, (row,), whole=True) for row in distinct(done)]], there)
    order = [one.figure for one in in_turn(varied) if len(values[one.figure.path]) > 1]
    first = [one for one in asked if one in order]
    shown = [*first, *(one for one in order if one not in first)][: max(at_most, len(first))]
    if not shown:
        # Where nothing was replayed, the table has a column to say so in.
        shown = there[:1] or list(asked[:1])
    equal = [(one, float(done[0][one.path])) for one in there if one not in shown and len(values[one.path]) == 1]
    return PointColumns(shown, equal)
