"""Fits and measurements of a drive as people ask for them: its twin, and the twin's errors."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flashtwin.arguments import checked
from flashtwin.drives.comparing import FigureComparison, compared
from flashtwin.drives.estimates import Estimate
from flashtwin.drives.results import read_results
from flashtwin.drives.tables import Measurements
from flashtwin.errors import DriveError, not_installed
from flashtwin.progress import Notify
from flashtwin.replays.presets import System, as_system
from flashtwin.settings import Value

if TYPE_CHECKING:
    from flashtwin.drives.drive import FittedDrive

#: Why reads alone are not enough.
_NO_OPEN_LOOP = (
    "the twin needs response times at offered rates; run the jobs `open-loop-...` of `flashtwin fit jobs "
    "--destroys-data DEVICE`, or give the columns of latency.csv"
)


@dataclass(frozen=True)
class DriveFit:
    """A drive, its twin and the twin's errors. Made by `fit_drive`.

    >>> import flashtwin as ft
    >>> fit = ft.fit_drive("results")  # doctest: +SKIP
    >>> [(estimate.key, estimate.value) for estimate in fit.estimates if estimate.is_measured]  # doctest: +SKIP
    """

    #: The drive's name.
    drive: str
    #: Figures of the experiments that tell something by themselves.
    figures: Sequence[Estimate]
    #: The twin; None where the measurements are not enough for one.
    fitted: FittedDrive | None
    #: Measured beside predicted.
    compared: Sequence[FigureComparison] = field(default_factory=list)
    #: Why there is no twin.
    why: str | None = None

    @property
    def estimates(self) -> list[Estimate]:
        """All figures: those that the measurements determine first, then the others."""
        both = [*self.figures, *(self.fitted.estimates if self.fitted is not None else [])]
        return sorted({one.key: one for one in both}.values(), key=lambda one: not one.is_measured)


@dataclass(frozen=True)
class MeasuredTwin:
    """The experiments of a drive on a twin. Made by `measure`.

    >>> import flashtwin as ft
    >>> ft.measure("my-drive.toml").rows.open_loop  # doctest: +SKIP
    """

    rows: Measurements
    #: Rows of a real drive beside them, where some were given.
    compared: Sequence[FigureComparison] = field(default_factory=list)


@checked
def fit_drive(
    results: str | Path,
    drive: str | None = None,
    *,
    predict: str | Path | None = None,
    every_other: bool = False,
    skip_bad: bool = False,
    seed: int = 0,
    notify: Notify = lambda _: None,
) -> DriveFit:
    """The twin of a drive you own, from measurements. It takes minutes, and needs SciPy.

    Args:
        results: the folder from the script of `flashtwin fit jobs`, or a CSV file (docs/fit.md).
        drive: its name, if the results hold several.
        predict: more results of the same drive, which the twin only predicts.
        every_other: fit on every other rate and pattern and the lowest and highest fill, and predict the rest.
        skip_bad: leave out unusable experiments.
        seed: of the loads on the twin.
        notify: told what happens, a line each.

    Raises:
        DriveError: the results cannot be used; the message names the file and the cure.
        FlashtwinError: SciPy is not installed.

    >>> import flashtwin as ft
    >>> print(ft.fit_drive("results").fitted.toml)  # doctest: +SKIP
    """
    expect_scipy()
    measured = read_results(Path(results), drive, notify, skip_bad=skip_bad)
    more = None if predict is None else read_results(Path(predict), measured.drive, notify, skip_bad=skip_bad)
    return fit_measured(measured, more, every_other=every_other, seed=seed, notify=notify)


@checked
def measure(
    drive: str | Path | System,
    *,
    predict: str | Path | None = None,
    of: str | None = None,
    fill: float | None = None,
    settings: Mapping[str, Value] | None = None,
    seed: int = 1,
    notify: Notify = lambda _: None,
) -> MeasuredTwin:
    """The experiments of a drive on its twin: response times at rates, write amplification, rates of patterns.

    Args:
        drive: a device's name or its file, on which a conventional SSD stands, or a system.
        predict: measurements of a real drive, whose rows are measured and compared.
        of: the drive, if these hold several.
        fill: share of the physical space in use, where neither the rows nor the drive's file say it.
        settings: keys that differ from the system's.
        seed: of the loads.
        notify: told what happens, a line each.

    Raises:
        DriveError: the rows cannot be read or played.
        FlashtwinError: SciPy is not installed.

    >>> import flashtwin as ft
    >>> ft.measure("my-drive.toml", predict="results").compared  # doctest: +SKIP
    """
    expect_scipy()
    from flashtwin.drives import measuring
    from flashtwin.drives.drive import fitted_rows

    system = drive if isinstance(drive, System) else as_system("conventional", {"device": str(drive)})
    system = system.with_sets(dict(settings or {}))
    if predict is None:
        return MeasuredTwin(measuring.measured_as_usual(system, fill or measuring.FILLS[-1], notify, seed=seed))
    measured = read_results(Path(predict), of, notify)
    rows = measuring.measure(system, measured, notify, fill=fill, seed=seed)
    fitted = fitted_rows(system)
    seen = Measurements(measured.drive) if fitted is None else fitted.among(measured)
    return MeasuredTwin(rows, compared(measured, rows, seen))


def expect_scipy() -> None:
    """Says how SciPy is installed, where it is not.

    Raises:
        FlashtwinError: it is not.
    """
    if importlib.util.find_spec("scipy") is None:
        raise not_installed("a fit", "SciPy", "scipy")


def fit_measured(
    measured: Measurements, more: Measurements | None, *, every_other: bool, seed: int, notify: Notify
) -> DriveFit:
    """The closed forms, which take no time, and then the twin."""
    # SciPy takes half a second to load.
    from flashtwin.drives import fitting, parallelism

    figures = parallelism.estimates(measured)
    part = fitting.every_other(measured) if every_other else measured
    if not part.open_loop:
        return DriveFit(measured.drive, figures, None, why=_NO_OPEN_LOOP)
    counts = [(len(part.open_loop), "rates"), (len(part.overwritten) + len(part.steady), "runs of writes")]
    told = ", ".join(f"{count} {name}" for count, name in counts if count)
    notify(f"fitting {measured.drive} on {told}: takes 1 to 5 minutes")
    try:
        drive = fitting.fit_drive(part, notify, seed=seed)
    except DriveError as error:
        return DriveFit(measured.drive, figures, None, why=str(error))
    notify("measured beside predicted")
    whole = measured if more is None else _joined(measured, more)
    twin = fitting.predicted(drive, whole, notify, seed=seed + 1)
    return DriveFit(measured.drive, figures, drive, compared(whole, twin, drive.seen))


def _joined(measured: Measurements, more: Measurements) -> Measurements:
    """Both, equal rows once."""
    new = [row for row in more.open_loop if row not in measured.open_loop]
    both = sorted([*measured.open_loop, *new], key=lambda row: row.offered_per_s)
    return replace(
        measured, open_loop=tuple(both), overwritten=(*measured.overwritten, *more.overwritten),
        steady=(*measured.steady, *(row for row in more.steady if row not in measured.steady)),
    )  # fmt: skip
