"""Measured beside predicted: every figure of every row that a twin can play, and how far apart they are."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flashtwin.drives.knee import BELOW, saturated
from flashtwin.drives.tables import FITTED, Measurements, OpenLoop, OverwriteRun, pairs

#: Where a row lies: near the knee one per cent of the rate is a factor of the time, so these rows count apart.
BELOW_THE_KNEE, NEAR_THE_KNEE, SATURATED, CLOSED_LOOP = "below the knee", "near the knee", "saturated", "closed loop"


@dataclass(frozen=True)
class FigureComparison:
    """One figure of one experiment: measured, and as the twin has it."""

    experiment: str
    #: One of the regimes of this module.
    regime: str
    figure: str
    unit: str
    measured: float
    predicted: float
    #: Whether the row was among those that the drive was fitted on.
    is_fitted: bool

    @property
    def error_percent(self) -> float | None:
        """By how much the twin is above the measurement; None where that is 0."""
        return (self.predicted / self.measured - 1.0) * 100.0 if self.measured else None


@dataclass(frozen=True)
class Error:
    """How far the twin is from the drive in one figure of one regime."""

    regime: str
    figure: str
    is_fitted: bool
    points: int
    #: Means and greatest of the absolute errors in percent.
    mean_percent: float
    worst_percent: float


def compared(measured: Measurements, twin: Measurements, fitted: Measurements) -> list[FigureComparison]:
    """Rows of a drive beside those of its twin.

    Args:
        measured: of the drive.
        twin: the same rows, by `measuring.measure`.
        fitted: the rows of `measured` that the drive was fitted on.

    Raises:
        DriveError: nothing tells where the drive is saturated.
    """
    found: list[FigureComparison] = []
    knee_per_s = saturated(measured).number if measured.open_loop else 0.0
    for row, other in pairs(measured.open_loop, twin.open_loop):
        found += _open_loop(row, other, knee_per_s, is_fitted=row in fitted.open_loop)
    for ran, again in pairs(measured.overwritten, twin.overwritten):
        found += _closed(ran, again, is_fitted=ran in fitted.overwritten)
    for steady, again_ in pairs(measured.steady, twin.steady):
        name = f"{steady.pattern}, {steady.series}"
        found.append(FigureComparison(name, CLOSED_LOOP, "writes", "1/s", steady.writes_per_s, again_.writes_per_s,
                              steady in fitted.steady))  # fmt: skip
    return found


def errors(rows: Iterable[FigureComparison]) -> list[Error]:
    """By regime and figure, fitted rows apart from predicted ones."""
    groups: dict[tuple[str, str, bool], list[float]] = {}
    for row in rows:
        if row.error_percent is not None:
            groups.setdefault((row.regime, row.figure, row.is_fitted), []).append(abs(row.error_percent))
    return [
        Error(regime, figure, is_fitted, len(found), statistics.fmean(found), max(found))
        for (regime, figure, is_fitted), found in groups.items()
    ]


def _open_loop(row: OpenLoop, twin: OpenLoop, knee_per_s: float, *, is_fitted: bool) -> Iterator[FigureComparison]:
    name = f"open loop, {row.offered_per_s:,.0f}/s"
    regime = _regime(row, knee_per_s)
    # Of a saturated drive the tails say how long the queues of the load are.
    figures = FITTED if regime != SATURATED else FITTED[:1]
    for kind, known, found in (("read", row.read_us, twin.read_us), ("write", row.write_us, twin.write_us)):
        for figure in figures:
            if figure in known and figure in found:
                text = f"{kind} p{figure.replace('p', '.').rstrip('.')}"
                yield FigureComparison(name, regime, text, "us", known[figure], found[figure], is_fitted)
    if regime == SATURATED:
        known_per_s, found_per_s = (one.reads_per_s + one.writes_per_s for one in (row, twin))
        yield FigureComparison(name, regime, "requests", "1/s", known_per_s, found_per_s, is_fitted)


def _closed(row: OverwriteRun, twin: OverwriteRun, *, is_fitted: bool) -> Iterator[FigureComparison]:
    name = f"{row.pattern} at {row.fill_gib:g} GiB, {row.series}".rstrip(", ")
    if row.amplification is not None and twin.amplification is not None:
        yield FigureComparison(name, CLOSED_LOOP, _kind("write amplification", row), "", row.amplification,
                       twin.amplification, is_fitted)  # fmt: skip
    if row.pattern.kind != "sequential":
        # A sequential write is as fast as the link and the channels, which these experiments do not tell.
        yield FigureComparison(
            name, CLOSED_LOOP, _kind("writes", row), "1/s", row.writes_per_s, twin.writes_per_s, is_fitted
        )


def _kind(figure: str, row: OverwriteRun) -> str:
    return f"{figure}, {'skewed' if row.pattern.is_skewed else row.pattern.kind}"


def _regime(row: OpenLoop, knee_per_s: float) -> str:
    if not row.is_reached:
        return SATURATED
    return NEAR_THE_KNEE if row.offered_per_s > BELOW * knee_per_s else BELOW_THE_KNEE
