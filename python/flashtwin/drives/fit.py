"""The fit of a drive as people ask for it: its twin, and the twin's errors."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
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

if TYPE_CHECKING:
    from flashtwin.drives.drive import FittedDrive

#: Why reads alone are not enough.
_NO_OPEN_LOOP = (
    "the twin needs response times at offered rates; run the jobs `open-loop-...` of `flashtwin fit jobs "
    "--destroys-data DEVICE`, or give the columns of latency.csv"
)


#: What NAND can be: times in us, and bytes programmed by bytes of data.
_NAND = {"nand.read_us": (20.0, 200.0), "nand.program_us": (200.0, 10_000.0), "overhead": (0.98, 1.4)}
#: Reads of an idle drive with NAND, in us.
_IDLE_US = (20.0, 1000.0)


@dataclass(frozen=True)
class DriveFit:
    """A drive, its twin and the twin's errors. Made by `fit_drive`.

    >>> import flashtwin as ft
    >>> found = ft.fit_drive("results")  # doctest: +SKIP
    >>> [(one.key, one.value) for one in found.estimates if one.is_measured]  # doctest: +SKIP
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
    seen = fitting.every_other(measured) if every_other else measured
    if not seen.open_loop:
        return DriveFit(measured.drive, figures, None, why=_NO_OPEN_LOOP)
    idlest = min(seen.open_loop, key=lambda row: row.read_us.get("50p", math.inf))
    if reason := _no_nand("read_us_50p", idlest.read_us.get("50p", _IDLE_US[0]), _IDLE_US):
        return DriveFit(measured.drive, figures, None, why=f"{reason}, in the row of {idlest.offered_per_s:,.0f}/s")
    notify(f"fitting {measured.drive} on {_told(seen)}: takes 1 to 5 minutes")
    try:
        drive = fitting.fit_drive(seen, notify, seed=seed)
    except DriveError as error:
        return DriveFit(measured.drive, figures, None, why=str(error))
    for key, bounds in _NAND.items():
        if key in drive.estimates and (reason := _no_nand(key, drive.estimates.number(key), bounds)):
            return DriveFit(measured.drive, figures, None, why=f"{reason} ({drive.estimates[key].source})")
    notify("measured beside predicted")
    whole = measured if more is None else _joined(measured, more)
    twin = fitting.predicted(drive, whole, notify, seed=seed + 1)
    return DriveFit(measured.drive, figures, drive, compared(whole, twin, seen))


def _no_nand(key: str, value: float, bounds: tuple[float, float]) -> str | None:
    """Why a figure is none of a drive with NAND; None where it may be one."""
    if bounds[0] <= value <= bounds[1]:
        return None
    return (
        f"{key} is {value:g}, and NAND has {bounds[0]:g} to {bounds[1]:g}: this is not a drive that the model can be, "
        "for example a hard disk or Optane, or its rows are in another unit"
    )


def _told(measured: Measurements) -> str:
    parts = [
        (len(measured.open_loop), "rates"), (len(measured.overwritten), "runs of writes"),
        (len(measured.depths), "depths of reads"), (len(measured.sizes), "sizes of reads"),
    ]  # fmt: skip
    return ", ".join(f"{count} {name}" for count, name in parts if count) or "few experiments"


def _joined(measured: Measurements, more: Measurements) -> Measurements:
    rates = {row.offered_per_s for row in measured.open_loop}
    new = [row for row in more.open_loop if row.offered_per_s not in rates]
    both = sorted([*measured.open_loop, *new], key=lambda row: row.offered_per_s)
    return replace(
        measured, open_loop=tuple(both), overwritten=(*measured.overwritten, *more.overwritten),
        steady=(*measured.steady, *more.steady),
    )  # fmt: skip
