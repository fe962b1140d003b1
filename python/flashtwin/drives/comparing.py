"""Measured beside predicted: every figure of every row that a twin can play, and how far apart they are."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from flashtwin.drives import tables
from flashtwin.drives.tables import FITTED, Measurements, OpenLoop, OverwriteRun, SteadyWrites, pairs

#: Where a row lies: near the knee one per cent of the rate is a factor of the time, so these rows count apart.
BELOW_THE_KNEE, NEAR_THE_KNEE, SATURATED, CLOSED_LOOP = "below the knee", "near the knee", "saturated", "closed loop"
_Row = OpenLoop | OverwriteRun | SteadyWrites


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
    #: Loads that the twin's figure is a mean of.
    seeds: int = 1

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
        fitted: the rows of `measured` that the fit has seen.

    Raises:
        DriveError: nothing tells where the drive is saturated.
    """
    knee_per_s = measured.knee.number if measured.open_loop else 0.0
    both: list[tuple[_Row, _Row, bool]] = [
        *((row, other, row in fitted.open_loop) for row, other in pairs(measured.open_loop, twin.open_loop)),
        *((row, other, row in fitted.overwritten) for row, other in pairs(measured.overwritten, twin.overwritten)),
        *((row, other, row in fitted.steady) for row, other in pairs(measured.steady, twin.steady)),
    ]
    found = []
    for row, other, is_fitted in both:
        regime = _regime(row, knee_per_s)
        theirs = _figures(other, regime)
        found += [
            FigureComparison(str(row), regime, figure, unit, known, theirs[figure, unit], is_fitted,
                             getattr(other, "seeds", 1))
            for (figure, unit), known in _figures(row, regime).items() if (figure, unit) in theirs
        ]  # fmt: skip
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


def _figures(row: _Row, regime: str) -> dict[tuple[str, str], float]:
    """What a row has, by name and unit."""
    if isinstance(row, SteadyWrites):
        return {("writes", "1/s"): row.writes_per_s}
    found: dict[tuple[str, str], float] = {}
    if isinstance(row, OpenLoop):
        for kind, times in (("read", row.read_us), ("write", row.write_us)):
            # Of a saturated drive the tails say how long the queues of the load are.
            for share in FITTED if regime != SATURATED else FITTED[:1]:
                if share in times:
                    found[f"{kind} p{share.replace('p', '.').rstrip('.')}", "us"] = times[share]
        return found if regime != SATURATED else {**found, ("requests", "1/s"): row.reads_per_s + row.writes_per_s}
    kind = "skewed" if row.pattern.is_skewed else row.pattern.kind
    if row.amplification is not None:
        found[f"write amplification, {kind}", ""] = row.amplification
    if kind != "sequential":
        # A sequential write is as fast as the link and the channels, which these experiments do not tell.
        found[f"writes, {kind}", "1/s"] = row.writes_per_s
    return found


def _regime(row: _Row, knee_per_s: float) -> str:
    if not isinstance(row, OpenLoop):
        return CLOSED_LOOP
    if not row.is_reached:
        return SATURATED
    return NEAR_THE_KNEE if row.writes_per_s > tables.BELOW_THE_KNEE * knee_per_s else BELOW_THE_KNEE
