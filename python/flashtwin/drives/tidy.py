"""Measurements in tidy CSV files, one row an experiment. A file is known by its columns, not by its name."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashtwin.drives.figures import LongTable
from flashtwin.drives.histogram import PERCENTILES
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import MOST_THREADS, Measurements
from flashtwin.errors import DriveError
from flashtwin.results import folder, names


@dataclass(frozen=True)
class _Layout:
    """The columns of an experiment."""

    file: str
    #: Columns by the names of figures.
    columns: Mapping[str, str]
    #: Response times; each percentile is a column.
    times: Sequence[str]
    #: Columns that a file may leave out: the threads of a load, and what was asked of them.
    optional: Sequence[str] = ()
    #: Columns that are only written.
    written: Sequence[str] = ()

    @property
    def needed(self) -> set[str]:
        """The columns by which a file is known."""
        columns = {"drive", *self.columns.values()} - {"file", "wa_last_quarter"}
        return columns | ({"read_us_50p"} if "read_us" in self.times else set())


def _same(*columns: str) -> dict[str, str]:
    return {column: column for column in columns}


#: By experiment, the most telling first.
_LAYOUTS = {
    "open_loop": _Layout(names.LATENCY, _same("fill_gib", "offered_per_s", "reads_per_s", "writes_per_s"),
                         ("read_us", "write_us", "bulk_write_us"),
                         ("fixed_per_s", "read_share", "depth", "threads", "asked_per_s"), ("is_saturated", "seeds")),
    "overwritten": _Layout(
        names.WRITE_AMPLIFICATION,
        {**_same("fill_gib", "pattern", "details"), "series": "file", "overwrites": "overwrites",
         "amplification": "wa_last_quarter", "writes_per_s": "writes_per_s_last_quarter"}, ()),
    "steady": _Layout(names.STEADY_WRITES, _same("series", "pattern", "details", "writes_per_s"), ("write_us",)),
}  # fmt: skip
_PARAMETERS = {
    "fill_gib", "offered_per_s", "pattern", "details", "series", "overwrites", "fixed_per_s", "read_share", "depth",
    "threads",
}  # fmt: skip
_MAY_BE_ZERO = {"fixed_per_s", "read_share"}
COLUMNS = "; ".join(", ".join(sorted(needed)) for needed in (one.needed for one in _LAYOUTS.values()))


def read(file: Path, table: LongTable) -> None:
    """Adds the rows of a file; nothing where it has the columns of no experiment. A bad row is refused by itself.

    Raises:
        DriveError: it cannot be read.
    """
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines)
            columns = set(reader.fieldnames or ())
            experiment = next((name for name, one in _LAYOUTS.items() if one.needed <= columns), None)
            if experiment is None:
                return
            for row in reader:
                _add(table, experiment, _CsvRow(f"{file}:{reader.line_num}", row))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None


def _add(table: LongTable, experiment: str, line: _CsvRow) -> None:
    name = line.text("drive")
    if not name:
        table.unread.append(DriveError(f"{line.origin}: drive is missing"))
        return
    try:
        parameters, figures = line.figures(_LAYOUTS[experiment])
    except DriveError as error:
        table.refuse(name, error)
        return
    if experiment != "open_loop" or any(key.startswith("read_us") for key in figures):
        table.add(name, experiment, parameters, figures, line.origin)


@dataclass(frozen=True)
class _CsvRow:
    """One line of a file, whose cells are checked as they are asked for."""

    origin: str
    row: Mapping[str | None, Any]

    def figures(self, layout: _Layout) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and metrics."""
        if None in self.row or None in self.row.values():
            raise DriveError(f"{self.origin}: the line has other columns than the first; is it cut?")
        values: dict[str, Any] = {key: self.value(key, column) for key, column in layout.columns.items()}
        if values.pop("details", None) is not None:
            values["pattern"] = self.pattern
        values |= {key: self.value(key, key) for key in layout.optional if self.text(key)}
        parameters = {key: values.pop(key) for key in list(values) if key in _PARAMETERS}
        times = {column: self.number(column)
                 for column in (f"{time}_{name}" for time in layout.times for name in PERCENTILES)}  # fmt: skip
        return parameters, values | {column: time for column, time in times.items() if time is not None}

    def text(self, column: str) -> str:
        return (self.row.get(column) or "").strip()

    def number(self, column: str) -> float | None:
        """The value of a cell; None where nothing stands in it."""
        text = self.text(column)
        if text in ("", "?", "nan"):
            return None
        try:
            value = float(text)
        except ValueError:
            raise DriveError(f"{self.origin}: {column} is '{text}': a number is expected") from None
        if not math.isfinite(value) or value < 0:
            raise DriveError(f"{self.origin}: {column} is {text}: a number of 0 or more is expected")
        most = {"read_share": 1, "threads": MOST_THREADS}.get(column, math.inf)
        if value > most:
            raise DriveError(f"{self.origin}: {column} is {text}: {most} at most is expected")
        return value

    def value(self, key: str, column: str) -> float | str | None:
        if key in ("pattern", "details", "series"):
            return self.text(column)
        number = self.number(column)
        if number is None and key != "amplification":
            raise DriveError(f"{self.origin}: {column} is missing")
        if number == 0 and key in _PARAMETERS - _MAY_BE_ZERO:
            raise DriveError(f"{self.origin}: {column} is 0: more is expected")
        return number

    @property
    def pattern(self) -> Pattern:
        try:
            return Pattern.read(self.text("pattern"), self.text("details"))
        except DriveError as error:
            raise DriveError(f"{self.origin}: {error}") from None


def write(measured: Measurements, place: Path) -> list[Path]:
    """Writes a file for each kind of experiment that there is, whole or not at all."""
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for experiment, layout in _LAYOUTS.items():
        lines = [{"drive": measured.drive, **_cells(layout, row)} for row in getattr(measured, experiment)]
        if lines:
            text = io.StringIO()
            writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
            folder.write_text(place / layout.file, text.getvalue())
            written.append(place / layout.file)
    return written


def _cells(layout: _Layout, row: Any) -> dict[str, str]:
    values = {key: getattr(row, key) for key in layout.columns if key != "details"}
    if "pattern" in values:
        values |= {"pattern": row.pattern.name, "details": row.pattern.details}
    cells = {column: _text(values[key]) for key, column in layout.columns.items()}
    for column in (*layout.optional, *layout.written):
        value = getattr(row.load, column) if hasattr(row.load, column) else getattr(row, column)
        cells[column] = str(value).lower() if isinstance(value, bool) else _text(value)
    return cells | {
        f"{time}_{name}": _text(getattr(row, time).get(name)) for time in layout.times for name in PERCENTILES
    }


def _text(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or math.isnan(value) else f"{value:.6g}"
