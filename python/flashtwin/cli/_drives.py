"""Measured beside predicted, as the verbs on drives print it."""

from __future__ import annotations

from collections.abc import Sequence

from flashtwin.cli._talk import table
from flashtwin.drives.comparing import Compared, errors


def beside(rows: Sequence[Compared]) -> str:
    """Every figure, and below them the errors by kind."""
    points = table(
        ["experiment", "figure", "measured", "twin", "error", "row"],
        [[row.experiment, f"{row.figure}, {row.unit}".rstrip(", "), f"{row.measured:,.4g}", f"{row.predicted:,.4g}",
          f"{row.error_percent:+.1f} %", _kind(is_fitted=row.is_fitted)] for row in rows],
    )  # fmt: skip
    kinds = table(
        ["regime", "figure", "rows", "points", "mean error", "worst"],
        [[one.regime, one.figure, _kind(is_fitted=one.is_fitted), str(one.points), f"{one.mean_percent:.1f} %",
          f"{one.worst_percent:.1f} %"] for one in errors(rows)],
    )  # fmt: skip
    return f"{points}\n\n{kinds}"


def _kind(*, is_fitted: bool) -> str:
    return "fitted" if is_fitted else "predicted"
