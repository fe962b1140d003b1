"""The output of `flashtwin fit`: keys with their intervals, and measured beside predicted."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from flashtwin.cli._talk import data, table
from flashtwin.drives.comparing import Error, FigureComparison, errors
from flashtwin.drives.estimates import Estimate
from flashtwin.drives.fit import DriveFit

_WIDTH = 90


def show(done: DriveFit) -> None:
    header = ("key", "value", "interval of 95 %", "experiment")
    rows = [(one.key, _value(one), one.interval, _short(_experiment(one))) for one in done.estimates]
    data(table(header, rows, last_is_text=True))
    if done.compared:
        data("")
        data(beside(done.compared))


_COMPARED = ("experiment", "figure", "measured", "twin", "error", "row")
#: Of one figure, for machines.
_COLUMNS = ("experiment", "regime", "figure", "unit", "measured", "predicted", "error_percent", "is_fitted", "seeds")
_ERRORS = ("regime", "figure", "rows", "points", "mean error", "worst")


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _value(one: Estimate) -> str:
    if isinstance(one.value, bool):
        return "true" if one.value else "false"
    if isinstance(one.value, list):
        return _list(one.value)
    text = one.value if isinstance(one.value, str) else _number(one.value)
    return f"{text} {one.unit}".rstrip()


def _list(values: Sequence[float]) -> str:
    """Equal values in a row as one: `8 x 60, 4 x 100`."""
    runs = [(value, len(list(equal))) for value, equal in groupby(values)]
    return ", ".join(f"{value:g}" if count == 1 else f"{count} x {value:g}" for value, count in runs) + " us"


def _experiment(one: Estimate) -> str:
    return one.source if one.is_measured else f"not determined: {one.source}"


def _cells(row: FigureComparison) -> tuple[str, ...]:
    return (
        row.experiment, row.figure, f"{_number(row.measured)} {row.unit}".rstrip(),
        f"{_number(row.predicted)} {row.unit}".rstrip(), _percent(row), _word(is_fitted=row.is_fitted),
    )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"


def _percent(row: FigureComparison) -> str:
    return "" if row.error_percent is None else f"{row.error_percent:+.1f} %"


def beside(rows: Sequence[FigureComparison]) -> str:
    return (
        f"{table(_COMPARED, [_cells(row) for row in rows])}\n\n{table(_ERRORS, [_kind(one) for one in errors(rows)])}"
    )


def _kind(one: Error) -> tuple[str, ...]:
    return (
        one.regime, one.figure, _word(is_fitted=one.is_fitted), str(one.points), f"{one.mean_percent:.1f} %",
        f"{one.worst_percent:.1f} %",
    )  # fmt: skip


def _word(*, is_fitted: bool) -> str:
    return "fitted" if is_fitted else "predicted"


def as_json(done: DriveFit) -> dict[str, Any]:
    return {
        "drive": done.drive,
        "estimates": [
            {
                "key": one.key, "value": one.value, "unit": one.unit, "low": _finite(one.low),
                "high": _finite(one.high), "experiment": one.source, "is_measured": one.is_measured,
            }
            for one in done.estimates
        ],
        "compared": [{name: getattr(row, name) for name in _COLUMNS} for row in done.compared],
        "why_no_device": done.why,
    }  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def written(done: DriveFit, ending: str) -> str:
    """The report: measured beside predicted as CSV, or both tables as Markdown."""
    rows = [_cells(row) for row in done.compared]
    if ending == ".csv":
        lines = io.StringIO()
        writer = csv.DictWriter(lines, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in done.compared:
            error = "" if row.error_percent is None else f"{row.error_percent:.2f}"
            is_fitted = str(row.is_fitted).lower()
            told = {"measured": repr(row.measured), "predicted": repr(row.predicted), "error_percent": error}
            writer.writerow({name: getattr(row, name) for name in _COLUMNS} | told | {"is_fitted": is_fitted})
        return lines.getvalue()
    keys = [(one.key, _value(one), one.interval, _experiment(one)) for one in done.estimates]
    parts = [f"# {done.drive}", "", *_markdown(("key", "value", "interval of 95 %", "experiment"), keys)]
    if rows:
        parts += ["", "## Measured beside predicted", "", *_markdown(_COMPARED, rows), ""]
        parts += ["## Errors", "", *_markdown(_ERRORS, [_kind(one) for one in errors(done.compared)])]
    return "\n".join([*parts, *(["", f"No device file: {done.why}"] if done.why else [])]) + "\n"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (header, ["---"] * len(header), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
