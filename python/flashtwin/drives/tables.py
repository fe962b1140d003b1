"""Measurements of drives in tidy CSV files, one row an experiment.

A file is known by its columns, not by its name. Rows of other drives are left out, and so are columns that no
experiment has.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from flashtwin.drives.histogram import PERCENTILES as PERCENTILES  # noqa: PLC0414 - a name of this module as well
from flashtwin.drives.histogram import Times as Times  # noqa: PLC0414
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.probes import Probes
from flashtwin.errors import DriveError

#: Percentiles that a fit looks at. Beyond them, rare events decide that no law knows.
FITTED = ("50p", "90p", "99p", "99p9")
#: A response time outside of this, in microseconds, is in another unit.
_POSSIBLE_US = (0.5, 60e6)

_Row = Mapping[str, str]
_Kind = TypeVar("_Kind")


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
class OverwriteRun:
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
class SteadyWrites:
    """4 KB writes a second in steady state, closed loop (`steady-writes.csv`)."""

    series: str
    pattern: Pattern
    writes_per_s: float
    write_us: Times


@dataclass(frozen=True)
class Datasheet:
    """The maker's specification (`datasheets.csv`); None where the sheet has no value."""

    model: str
    capacity_gb: float | None
    random_writes_per_s: float | None


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured on one drive."""

    drive: str
    open_loop: tuple[OpenLoop, ...] = ()
    overwritten: tuple[OverwriteRun, ...] = ()
    steady: tuple[SteadyWrites, ...] = ()
    datasheet: Datasheet | None = None
    #: Experiments that no table has, from fio.
    probes: Probes = field(default_factory=Probes)

    @property
    def saturated(self) -> tuple[OpenLoop, ...]:
        """Rows at which more was offered than the drive does."""
        return tuple(row for row in self.open_loop if not row.is_reached)


#: Rows of an experiment in the order in which they were found, by the name of the drive.
Rows = dict[str, list[object]]


def read(folder: Path, drive: str | None = None) -> Measurements:
    """The measurements of one drive among the CSV files of a folder, or in one file; specimens of a model are one.

    Raises:
        DriveError: there are none, they are of several drives and none is named, or a row is wrong; the message names
            file and line.
    """
    return gathered(folder, found_rows(folder), drive)


def found_rows(folder: Path) -> Rows:
    """All rows of the CSV files of a folder, or of one file; a datasheet stands under the name of its model."""
    found: Rows = {}
    for file in sorted(folder.glob("*.csv")) if folder.is_dir() else [folder]:
        for name, row in _rows(file):
            if row is not None:
                found.setdefault(name, []).append(row)
    return found


def gathered(folder: Path, found: Mapping[str, Sequence[object]], drive: str | None = None) -> Measurements:
    """The rows of one drive.

    Raises:
        DriveError: there are none, or they are of several drives and none is named.
    """
    sheets = [row for rows in found.values() for row in rows if isinstance(row, Datasheet)]
    measured = {name: [row for row in rows if not isinstance(row, Datasheet)] for name, rows in found.items()}
    chosen = _chosen(folder, {name: rows for name, rows in measured.items() if rows}, _model(drive) if drive else None)
    rows = measured[chosen]
    sheet = max(sheets, key=lambda one: _likeness(one.model, chosen), default=None)
    return Measurements(
        chosen,
        tuple(sorted(_of(OpenLoop, rows), key=lambda row: row.offered_per_s)),
        tuple(_of(OverwriteRun, rows)),
        tuple(_of(SteadyWrites, rows)),
        sheet if sheet is not None and _likeness(sheet.model, chosen) >= 1.0 else None,
        next(iter(_of(Probes, rows)), Probes()),
    )


def drives(folder: Path) -> list[str]:
    """Names of the drives whose open loop was measured.

    Raises:
        DriveError: a row is wrong.
    """
    return sorted(name for name, rows in found_rows(folder).items() if _of(OpenLoop, rows))


def _of(kind: type[_Kind], rows: Sequence[object]) -> list[_Kind]:
    return [row for row in rows if isinstance(row, kind)]


def _chosen(folder: Path, found: Mapping[str, object], drive: str | None) -> str:
    if not found:
        columns = "; ".join(", ".join(sorted(needed)) for needed, _ in _MAKERS)
        raise DriveError(
            f"{folder}: no measurements; `flashtwin fit jobs` prints the experiments to run. A CSV file needs the "
            f"columns of one of these: {columns}"
        )
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


def _overwritten(line: _Reading) -> OverwriteRun:
    return OverwriteRun(
        line.positive("fill_gib"), line.pattern(), line.text("file"), line.positive("overwrites"),
        line.number("wa_last_quarter"), line.positive("writes_per_s_last_quarter"),
    )  # fmt: skip


def _steady(line: _Reading) -> SteadyWrites:
    return SteadyWrites(line.text("series"), line.pattern(), line.positive("writes_per_s"), line.times("write_us"))


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
