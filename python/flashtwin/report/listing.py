"""Every trace of many with its main figures, a row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results import names
from flashtwin.results.reading import Collection, SavedTable


@dataclass(frozen=True)
class ListedTrace:
    """A trace: its name, where its own report lies beside the page (if anywhere), and its figures as text."""

    name: str
    link: str
    cells: tuple[str, ...]


Get = Callable[[SavedTable, int], float | None]


def _of(column: str) -> Get:
    def get(table: SavedTable, row: int) -> float | None:
        values = table.columns.get(column)
        return None if values is None or values[row] != values[row] else float(values[row])

    return get


def _writes(table: SavedTable, row: int) -> float | None:
    return facts.share(_of("info.writes")(table, row), _of("info.requests")(table, row))


def _footprint(table: SavedTable, row: int) -> float | None:
    pages = _of("info.footprint_pages")(table, row)
    return None if pages is None else pages * 4096


#: Title, second line of the title, the figure, how it is written.
COLUMNS: tuple[tuple[str, str, Get, Callable[[float | None], str]], ...] = (
    ("Requests", "", _of("info.requests"), units.count),
    ("Writes", "of requests", _writes, units.percent),
    ("Duration", "", _of("info.duration_ns"), units.duration),
    ("Footprint", "", _footprint, units.size),
    ("Duplicates", "of page writes", _of("info.duplicate_write_percent"), units.percent),
    ("Partitions", "f_r ≤ 2", _of("partitions_fr2"), units.count),
    ("WA", "OP 7 %", _of("wa_partitions_1"), units.ratio),
    ("RA", "16 KiB pages", _of("ra_16384"), units.ratio),
)


def listed(results: Collection) -> list[ListedTrace]:
    """A row a trace, in the order of the table of traces; none where there is no such table."""
    table = results.traces
    if table is None:
        return []
    found = []
    for row, name in enumerate(table.texts.get("trace", ())):
        page = f"{names.TRACES}/{names.file_name(name)}/{names.REPORT}"
        link = page if (results.folder / page).is_file() else ""
        found.append(ListedTrace(name, link, tuple(write(get(table, row)) for _, _, get, write in COLUMNS)))
    return found
