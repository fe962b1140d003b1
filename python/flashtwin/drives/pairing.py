"""Rows of a drive beside the same rows of a twin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from flashtwin.drives.tables import OpenLoop, OverwriteRun, SteadyWrites

Row = TypeVar("Row", OpenLoop, OverwriteRun, SteadyWrites)


def pairs(rows: Sequence[Row], twins: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Rows of the drive with those of the twin that are about the same; equal ones in their order."""
    waiting: dict[object, list[Row]] = {}
    for row in twins:
        waiting.setdefault(_about(row), []).append(row)
    for row in rows:
        if found := waiting.get(_about(row)):
            yield row, found.pop(0)


def _about(row: OpenLoop | OverwriteRun | SteadyWrites) -> object:
    if isinstance(row, OpenLoop):
        return row.fill_gib, row.offered_per_s
    if isinstance(row, OverwriteRun):
        return row.fill_gib, row.pattern, row.series, row.overwrites
    return row.pattern, row.series
