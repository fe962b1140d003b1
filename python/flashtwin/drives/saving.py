"""Measurements as the CSV files that `tables` reads: those of a twin stand beside those of a drive."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from flashtwin.drives.tables import PERCENTILES, Measurements, OpenLoop, OverwriteRun, SteadyWrites
from flashtwin.results import folder, names


def save(measured: Measurements, place: Path) -> list[Path]:
    """Writes a file for each kind of experiment that there is, whole or not at all."""
    place.mkdir(parents=True, exist_ok=True)
    found = []
    for name, columns, rows in (
        (names.LATENCY, _OPEN_LOOP, map(_open_loop, measured.open_loop)),
        (names.WRITE_AMPLIFICATION, _OVERWRITTEN, map(_overwritten, measured.overwritten)),
        (names.STEADY_WRITES, _STEADY, map(_steady, measured.steady)),
    ):
        lines = [{"drive": measured.drive, **row} for row in rows]
        if lines:
            folder.write_text(place / name, _csv(columns, lines))
            found.append(place / name)
    return found


def _csv(columns: Sequence[str], lines: Iterable[Mapping[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, ["drive", *columns], lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


_TIMES = ("read_us", "write_us", "bulk_write_us")
_OPEN_LOOP = ("fill_gib", "offered_per_s", "reads_per_s", "writes_per_s",
              *(f"{kind}_{name}" for kind in _TIMES for name in PERCENTILES))  # fmt: skip
_OVERWRITTEN = ("fill_gib", "pattern", "details", "file", "overwrites", "wa_last_quarter",
                "writes_per_s_last_quarter")  # fmt: skip
_STEADY = ("series", "pattern", "details", "writes_per_s",
           *(f"write_us_{name}" for name in PERCENTILES))  # fmt: skip


def _open_loop(row: OpenLoop) -> dict[str, object]:
    return {
        "fill_gib": _number(row.fill_gib), "offered_per_s": _number(row.offered_per_s),
        "reads_per_s": _number(row.reads_per_s), "writes_per_s": _number(row.writes_per_s),
        **{f"{kind}_{name}": _number(time) for kind in _TIMES for name, time in getattr(row, kind).items()},
    }  # fmt: skip


def _overwritten(row: OverwriteRun) -> dict[str, object]:
    return {
        "fill_gib": _number(row.fill_gib), "pattern": row.pattern.name, "details": row.pattern.details,
        "file": row.series, "overwrites": _number(row.overwrites), "wa_last_quarter": _number(row.amplification),
        "writes_per_s_last_quarter": _number(row.writes_per_s),
    }  # fmt: skip


def _steady(row: SteadyWrites) -> dict[str, object]:
    return {
        "series": row.series, "pattern": row.pattern.name, "details": row.pattern.details,
        "writes_per_s": _number(row.writes_per_s),
        **{f"write_us_{name}": _number(time) for name, time in row.write_us.items()},
    }  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"
