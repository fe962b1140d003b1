"""Measurements in tidy CSV files, one row an experiment. A file is known by its columns, not by its name."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashtwin.drives.figures import DATASHEET, LongTable
from flashtwin.drives.histogram import PERCENTILES
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Measurements
from flashtwin.errors import DriveError
from flashtwin.results import folder, names


@dataclass(frozen=True)
class _Layout:
    """The columns of an experiment, by the names of its figures."""

    experiment: str
    file: str
    parameters: Mapping[str, str]
    metrics: Mapping[str, str]
    #: Response times; each percentile is a column.
    times: Sequence[str] = ()
    optional: Sequence[str] = ()

    @property
    def needed(self) -> set[str]:
        """The columns by which a file is known."""
        columns = {*self.parameters.values(), *self.metrics.values()} - set(self.optional)
        return columns | ({"read_us_50p"} if "read_us" in self.times else set())

    @property
    def percentiles(self) -> list[str]:
        return [f"{time}_{name}" for time in self.times for name in PERCENTILES]


def _same(*columns: str) -> dict[str, str]:
    return {column: column for column in columns}


#: The most telling first. A pattern has two columns.
_LAYOUTS = (
    _Layout("open_loop", names.LATENCY, _same("drive", "fill_gib", "offered_per_s"),
            _same("reads_per_s", "writes_per_s"), ("read_us", "write_us", "bulk_write_us")),
    _Layout("overwritten", names.WRITE_AMPLIFICATION,
            {**_same("drive", "fill_gib", "pattern", "details"), "series": "file", "overwrites": "overwrites"},
            {"amplification": "wa_last_quarter", "writes_per_s": "writes_per_s_last_quarter"},
            optional=("file", "wa_last_quarter")),
    _Layout("steady", names.STEADY_WRITES, _same("drive", "series", "pattern", "details"), _same("writes_per_s"),
            ("write_us",)),
    _Layout(DATASHEET, "", _same("model"), {"capacity_gb": "capacityGB", "random_writes_per_s": "RndWriteIOPS"},
            optional=("RndWriteIOPS",)),
)  # fmt: skip
_TEXTS = {"drive", "model", "pattern", "details", "series"}
_MAY_BE_MISSING = {"amplification", "capacity_gb", "random_writes_per_s"}
_MAY_BE_0 = {"reads_per_s", "writes_per_s"}
COLUMNS = "; ".join(", ".join(sorted(layout.needed)) for layout in _LAYOUTS)


def read(file: Path, table: LongTable) -> None:
    """Adds the rows of a file; nothing where it has the columns of no experiment.

    Raises:
        DriveError: it cannot be read.
    """
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines)
            layout = next((one for one in _LAYOUTS if one.needed <= set(reader.fieldnames or ())), None)
            for row in reader if layout is not None else ():
                _add(layout, row, f"{file}:{reader.line_num}", table)  # type: ignore[arg-type]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None


def _add(layout: _Layout, row: dict[str, str], origin: str, table: LongTable) -> None:
    name = (row.get("drive") or row.get("model") or "").strip()
    if None in row or None in row.values():
        table.refuse(name, DriveError(f"{origin}: the line has other columns than the first; is it cut?"))
        return
    read = _Reading(origin, row)
    try:
        parameters: dict[str, Any] = {
            key: read.value(column, key) for key, column in layout.parameters.items() if key != "drive"
        }
        if "pattern" in parameters:
            parameters["pattern"] = read.pattern
            del parameters["details"]
        metrics: dict[str, Any] = {key: read.value(column, key) for key, column in layout.metrics.items()}
        metrics |= {column: time for column in layout.percentiles if (time := read.number(column)) is not None}
        if "read_us" in layout.times and not any(key.startswith("read_us") for key in metrics):
            return
        table.add(name, layout.experiment, parameters, metrics, origin)
    except DriveError as error:
        table.refuse(name, error)


@dataclass(frozen=True)
class _Reading:
    """One line of a file, whose cells are checked as they are asked for."""

    origin: str
    row: Mapping[str, str]

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
        return value

    def value(self, column: str, key: str) -> float | str | None:
        if key in _TEXTS:
            return self.text(column)
        number = self.number(column)
        if number is None and key not in _MAY_BE_MISSING:
            raise DriveError(f"{self.origin}: {column} is missing")
        if number == 0 and key not in _MAY_BE_MISSING | _MAY_BE_0:
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
    for layout in _LAYOUTS[:3]:
        lines = [_cells(layout, measured.drive, row) for row in getattr(measured, layout.experiment)]
        if lines:
            text = io.StringIO()
            writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
            folder.write_text(place / layout.file, text.getvalue())
            written.append(place / layout.file)
    return written


def _cells(layout: _Layout, drive: str, row: object) -> dict[str, str]:
    cells = {"drive": drive}
    for key, column in [*layout.parameters.items(), *layout.metrics.items()][1:]:
        pattern = getattr(row, "pattern", None)
        text = {"pattern": pattern and pattern.name, "details": pattern and pattern.details}.get(key)
        cells[column] = _text(getattr(row, key)) if text is None else text
    for time in layout.times:
        cells |= {f"{time}_{name}": _text(getattr(row, time).get(name)) for name in PERCENTILES}
    return cells


def _text(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or math.isnan(value) else f"{value:.6g}"
