"""Measurements of drives in tidy CSV files, one row an experiment.

A file is known by its columns, not by its name. Rows of other drives are left out, and so are columns that no
experiment has.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flashtwin.drives.patterns import Pattern
from flashtwin.errors import DriveError

#: Percentiles of a response time by column, e.g. `read_us_99p9`.
PERCENTILES: Mapping[str, float] = {"50p": 0.5, "90p": 0.9, "99p": 0.99, "99p9": 0.999, "99p99": 0.9999}
#: A response time outside of this, in microseconds, is in another unit.
_POSSIBLE_US = (0.5, 60e6)

#: Response times in microseconds, by the names of `PERCENTILES`.
Times = Mapping[str, float]
_Row = Mapping[str, str]


@dataclass(frozen=True)
class OpenLoop:
    """Response times of 4 KB requests at a rate that is offered, in steady state (`latency.csv`)."""

    fill_gib: float
    offered_per_s: float
    reads_per_s: float
    writes_per_s: float
    read_us: Times
    write_us: Times
    #: Of the threads that write nearly all; empty where it was not measured by itself.
    bulk_write_us: Times = field(default_factory=dict)

    @property
    def is_reached(self) -> bool:
        """Whether the drive keeps up: nearly all requests that are offered are answered."""
        return self.reads_per_s + self.writes_per_s >= 0.985 * self.offered_per_s


@dataclass(frozen=True)
class Overwritten:
    """Write amplification and rate of a pattern, closed loop (`write-amplification.csv`)."""

    fill_gib: float
    pattern: Pattern
    #: Runs of one series follow one another on the drive, in the order of the file.
    series: str
    #: How often all addresses in use were written.
    overwrites: float
    #: Bytes of the medium by bytes of the host, in the last quarter; None where it was not counted.
    amplification: float | None
    writes_per_s: float


@dataclass(frozen=True)
class Steady:
    """4 KB writes a second in steady state, closed loop (`steady-writes.csv`)."""

    series: str
    pattern: Pattern
    writes_per_s: float
    write_us: Times


@dataclass(frozen=True)
class Datasheet:
    """What the maker promises (`datasheets.csv`); None where the sheet says nothing."""

    model: str
    capacity_gb: float | None
    random_writes_per_s: float | None


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured on one drive."""

    drive: str
    open_loop: tuple[OpenLoop, ...] = ()
    overwritten: tuple[Overwritten, ...] = ()
    steady: tuple[Steady, ...] = ()
    datasheet: Datasheet | None = None

    @property
    def saturated(self) -> tuple[OpenLoop, ...]:
        """Rows at which more was offered than the drive does."""
        return tuple(row for row in self.open_loop if not row.is_reached)


def read(folder: Path, drive: str | None = None) -> Measurements:
    """The measurements of one drive among the CSV files of a folder, or in one file; specimens of a model are one.

    Raises:
        DriveError: there are none, they are of several drives and none is named, or a row is wrong; the message names
            file and line.
    """
    found, sheets = _all(folder)
    chosen = _chosen(folder, found, _model(drive) if drive else None)
    rows = found[chosen]
    sheet = max(sheets, key=lambda one: _likeness(one.model, chosen), default=None)
    return Measurements(
        chosen,
        tuple(sorted(rows.get(OpenLoop, []), key=lambda row: row.offered_per_s)),  # type: ignore[arg-type]
        tuple(rows.get(Overwritten, [])),  # type: ignore[arg-type]
        tuple(rows.get(Steady, [])),  # type: ignore[arg-type]
        sheet if sheet is not None and _likeness(sheet.model, chosen) >= 1.0 else None,
    )


def drives(folder: Path) -> list[str]:
    """Names of the drives whose open loop was measured.

    Raises:
        DriveError: a row is wrong.
    """
    return sorted(name for name, rows in _all(folder)[0].items() if OpenLoop in rows)


def _all(folder: Path) -> tuple[dict[str, dict[type, list[object]]], list[Datasheet]]:
    """The rows of each drive by kind, and all datasheets."""
    found: dict[str, dict[type, list[object]]] = {}
    sheets: list[Datasheet] = []
    for file in sorted(folder.glob("*.csv")) if folder.is_dir() else [folder]:
        for name, row in _rows(file):
            if isinstance(row, Datasheet):
                sheets.append(row)
            elif row is not None:
                found.setdefault(name, {}).setdefault(type(row), []).append(row)
    return found, sheets


def _chosen(folder: Path, found: Mapping[str, object], drive: str | None) -> str:
    if not found:
        columns = "; ".join(", ".join(sorted(needed)) for needed, _ in _MAKERS)
        raise DriveError(f"{folder}: no measurements; a CSV file needs the columns of one of these: {columns}")
    names = ", ".join(sorted(found))
    if drive is None:
        if len(found) > 1:
            raise DriveError(f"{folder}: measurements of several drives; name one of them: {names}")
        return next(iter(found))
    if drive not in found:
        raise DriveError(f"{folder}: no measurements of '{drive}'; there are those of {names}")
    return drive


def _model(name: str) -> str:
    """A drive's name without the letter of its specimen: `solidigm-p5520-1920-a` is one of those."""
    return re.sub(r"-[a-z]$", "", name)


def _likeness(model: str, drive: str) -> float:
    """Share of the words of a drive's name that stand in the model's, its capacity apart: `SK Hynix PE8110`."""
    words = [word for word in drive.lower().split("-") if not word.isdigit() and len(word) > 1]
    has = model.lower().replace("-", " ").split()
    hits = sum(any(word == one or (len(word) > 4 and word in one) for one in has) for word in words)
    return hits / len(words) if words else 0.0


def _rows(file: Path) -> Iterator[tuple[str, object]]:
    """Drive and row of each line; of a file that has the columns of no experiment nothing."""
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            make = _maker(frozenset(reader.fieldnames or ()))
            if make is None:
                return
            for row in reader:
                if None in row or None in row.values():
                    raise DriveError(f"{file}:{reader.line_num}: the line has other columns than the first; is it cut?")
                yield _model(row.get("drive") or row.get("model") or ""), make(_Reading(file, reader.line_num, row))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None


class _Reading:
    """One line of a file, whose numbers are checked as they are asked for."""

    def __init__(self, file: Path, number: int, row: _Row) -> None:
        self._place = f"{file}:{number}"
        self._row = row

    def text(self, column: str) -> str:
        return (self._row.get(column) or "").strip()

    def number(self, column: str) -> float | None:
        """The value of a column; None where nothing stands in it."""
        text = self.text(column)
        if text in ("", "?", "nan"):
            return None
        try:
            value = float(text)
        except ValueError:
            raise DriveError(f"{self._place}: {column} is '{text}': a number is expected") from None
        if not math.isfinite(value) or value < 0:
            raise DriveError(f"{self._place}: {column} is {text}: a number of 0 or more is expected")
        return value

    def needed(self, column: str) -> float:
        value = self.number(column)
        if value is None:
            raise DriveError(f"{self._place}: {column} is missing")
        return value

    def positive(self, column: str) -> float:
        value = self.needed(column)
        if value == 0:
            raise DriveError(f"{self._place}: {column} is 0: more is expected")
        return value

    def times(self, prefix: str) -> dict[str, float]:
        """The percentiles of a response time, in microseconds."""
        found = {name: time for name in PERCENTILES if (time := self.number(f"{prefix}_{name}")) is not None}
        last = 0.0
        for name, time in found.items():
            if not _POSSIBLE_US[0] <= time <= _POSSIBLE_US[1]:
                raise DriveError(
                    f"{self._place}: {prefix}_{name} is {time:g}: no response time in microseconds is "
                    "that short or long; is it in another unit?"
                )
            if time < last:
                raise DriveError(f"{self._place}: {prefix}_{name} is {time:g}, less than the percentile before it")
            last = time
        return found

    def pattern(self) -> Pattern:
        try:
            return Pattern.read(self.text("pattern"), self.text("details"))
        except DriveError as error:
            raise DriveError(f"{self._place}: {error}") from None


def _open_loop(line: _Reading) -> OpenLoop | None:
    read_us = line.times("read_us")
    if not read_us:
        return None
    return OpenLoop(
        line.positive("fill_gib"), line.positive("offered_per_s"), line.needed("reads_per_s"),
        line.needed("writes_per_s"), read_us, line.times("write_us"), line.times("bulk_write_us"),
    )  # fmt: skip


def _overwritten(line: _Reading) -> Overwritten:
    return Overwritten(
        line.positive("fill_gib"), line.pattern(), line.text("file"), line.positive("overwrites"),
        line.number("wa_last_quarter"), line.positive("writes_per_s_last_quarter"),
    )  # fmt: skip


def _steady(line: _Reading) -> Steady:
    return Steady(line.text("series"), line.pattern(), line.positive("writes_per_s"), line.times("write_us"))


def _datasheet(line: _Reading) -> Datasheet:
    return Datasheet(line.text("model"), line.number("capacityGB"), line.number("RndWriteIOPS"))


#: The columns by which an experiment is known, the most telling first.
_MAKERS: tuple[tuple[frozenset[str], Callable[[_Reading], object]], ...] = (
    (frozenset(("drive", "fill_gib", "offered_per_s", "reads_per_s", "writes_per_s", "read_us_50p")), _open_loop),
    (frozenset(("drive", "fill_gib", "pattern", "details", "overwrites", "writes_per_s_last_quarter")), _overwritten),
    (frozenset(("drive", "series", "pattern", "details", "writes_per_s")), _steady),
    (frozenset(("model", "capacityGB")), _datasheet),
)


def _maker(columns: frozenset[str]) -> Callable[[_Reading], object] | None:
    return next((make for needed, make in _MAKERS if needed <= columns), None)
