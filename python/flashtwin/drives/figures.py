"""The long table of measurements: one figure a row, from results of fio and from CSV files alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from flashtwin.drives import checks
from flashtwin.drives.histogram import PERCENTILES, Histogram
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import EXPERIMENTS, Load, Measurements, OpenLoop, with_asked
from flashtwin.errors import DriveError
from flashtwin.progress import Notify

#: Repeats of an experiment differ by less than this factor, their tails apart.
_CONTRADICTION, _TAILS = 1.25, ("99p9", "99p99")
Parameter = float | str | Pattern
#: A drive's name and the letter of its specimen, which is empty where it is not said.
Specimen = tuple[str, str]
_LOAD = {one.name for one in fields(Load)}


class FatalDriveError(DriveError):
    """The drive is none that the model can be: no experiment of it can be used."""


class MeasuredFigure(NamedTuple):
    """One measured figure."""

    drive: str
    unit: str
    #: A name of `EXPERIMENTS`.
    experiment: str
    #: Names and values.
    parameters: tuple[tuple[str, Parameter], ...]
    metric: str
    #: None where it was not counted.
    measured: float | Histogram | None
    #: File and line, or file and job.
    origin: str


@dataclass
class LongTable:
    """All figures that were read, and the experiments that could not be."""

    figures: list[MeasuredFigure] = field(default_factory=list)
    #: Why an experiment of a drive cannot be used.
    faults: list[tuple[Specimen, DriveError]] = field(default_factory=list)
    #: Files and lines that cannot be read, of nobody knows which drive.
    unread: list[DriveError] = field(default_factory=list)
    #: Why jobs that nobody asked for are left out.
    unasked: list[str] = field(default_factory=list)

    def add(
        self, name: str, experiment: str, parameters: Mapping[str, Parameter],
        metrics: Mapping[str, float | Histogram | None], origin: str,
    ) -> None:  # fmt: skip
        """The figures of one experiment."""
        place = (*_specimen(name), experiment, tuple(parameters.items()))
        self.figures += [MeasuredFigure(*place, metric, measured, origin) for metric, measured in metrics.items()]

    def refuse(self, name: str | None, error: DriveError) -> None:
        """An experiment that cannot be used. It only matters to those who ask for this drive, if it has a name."""
        self.unasked.append(str(error)) if name is None else self.faults.append((_specimen(name), error))

    @property
    def drives(self) -> dict[str, set[Specimen]]:
        """Specimens by the name of the drive. Several units of a model are drives of their own."""
        units: dict[str, set[str]] = {}
        for drive, unit in [*(one[:2] for one in self.figures), *(specimen for specimen, _ in self.faults)]:
            units.setdefault(drive, set()).add(unit)
        specimens: dict[str, set[Specimen]] = {}
        for drive, letters in units.items():
            is_one = len(letters - {""}) < 2
            for unit in letters:
                specimens.setdefault(drive if is_one or not unit else f"{drive}-{unit}", set()).add((drive, unit))
        return dict(sorted(specimens.items()))

    def measurements(self, place: object, drive: str | None, note: Notify, *, skip_bad: bool = False) -> Measurements:
        """The rows of one drive.

        Raises:
            DriveError: there are none, they are of several drives and none is named, or one cannot be used.
        """
        name, own = self._chosen(place, drive)
        faults = [error for specimen, error in self.faults if specimen in own]
        # Whoever names a drive does not ask about files of others.
        for error in self.unread:
            if drive is None and not skip_bad:
                raise error
            note(f"left out: {error}")
        rows: dict[str, list[Any]] = {experiment: [] for experiment in EXPERIMENTS}
        origins: dict[int, str] = {}
        for row, experiment, origin, reason in self._rows(own):
            if reason:
                faults.append(DriveError(f"{origin}: {reason}"))
            else:
                rows[experiment].append(row)
                origins[id(row)] = origin
        for row, reason in checks.strangers(rows["open_loop"]):
            rows["open_loop"].remove(row)
            faults.append(DriveError(f"{origins[id(row)]}: {reason}"))
        for error in faults:
            if not skip_bad or isinstance(error, FatalDriveError):
                raise error
            note(f"left out: {error}")
        rows["open_loop"] = with_asked(rows["open_loop"])
        rows["depths"].sort(key=lambda row: row.depth)
        units = max(unit for _, unit in own)
        return Measurements(name, unit=units, **{key: tuple(of_kind) for key, of_kind in rows.items()})  # type: ignore[arg-type]

    def _chosen(self, place: object, drive: str | None) -> tuple[str, set[Specimen]]:
        drives = self.drives
        if drive is None and len(drives) > 1:
            raise DriveError(f"{place}: measurements of several drives; name one of them: {', '.join(drives)}")
        # The only unit of a model goes by the model's name.
        name = next(
            (name for name, own in drives.items() if drive in (None, name) or _specimen(drive or "") in own), ""
        )
        if not name:
            raise DriveError(f"{place}: no measurements of '{drive}'; there are those of {', '.join(drives)}")
        return name, drives[name]

    def _rows(self, own: set[Specimen]) -> Iterator[tuple[Any, str, str, str | None]]:
        """Row, experiment and origin of each experiment, copies apart, and why it cannot be used."""
        experiments: dict[object, list[MeasuredFigure]] = {}
        for figure in self.figures:
            if figure[:2] in own:
                experiments.setdefault((figure[2:4], figure.origin), []).append(figure)
        earlier: dict[object, list[MeasuredFigure]] = {}
        for figures in experiments.values():
            row, known, first = _row(figures), earlier.setdefault(_repeatable(figures), figures), figures[0]
            reason = checks.impossible(row) or _contradiction(figures, known)
            if reason or known is figures or [one[4:6] for one in figures] != [one[4:6] for one in known]:
                yield row, first.experiment, first.origin, reason


def _specimen(name: str) -> Specimen:
    """`solidigm-p5520-1920-a` is a specimen of a model."""
    letter = re.fullmatch(r"(.+)-([a-z])", name)
    return (letter[1], letter[2]) if letter else (name, "")


def _row(figures: Sequence[MeasuredFigure]) -> Any:
    """The figures of one experiment as its row: percentiles as one field, e.g. `read_us_50p` of `read_us`."""
    kind = EXPERIMENTS[figures[0].experiment]
    values: dict[str, Any] = {one.name: {} for one in fields(kind) if one.name.endswith("_us")}
    load: dict[str, Any] = {}
    for name, value in (*figures[0].parameters, *((one.metric, one.measured) for one in figures)):
        head, _, share = name.rpartition("_")
        if share in PERCENTILES:
            values[head][share] = value
        elif kind is OpenLoop and name in _LOAD:
            load[name] = value if name in ("fixed_per_s", "read_share") else int(value)  # type: ignore[arg-type]
        else:
            values[name] = value
    return kind(**values, **({"load": Load(**load)} if load else {}))


def _repeatable(figures: Sequence[MeasuredFigure]) -> object:
    """Equal for experiments that must agree. A run of writes depends on those before it, unless its file was copied."""
    first = figures[0]
    if first.experiment != "overwritten":
        return first[:4]
    return *first[:4], tuple(one.measured for one in figures), first.origin.rpartition(":")[2]


def _contradiction(figures: Sequence[MeasuredFigure], known: Sequence[MeasuredFigure]) -> str | None:
    """How an experiment differs from an earlier one with the same parameters, and the cure."""
    by_metric = {one.metric: one for one in known}
    for one in figures:
        old = by_metric.get(one.metric, one)
        if isinstance(one.measured, Histogram) or one.metric.endswith(_TAILS):
            continue
        low, high = sorted((float(old.measured or 0.0), float(one.measured or 0.0)))  # type: ignore[arg-type]
        if high > _CONTRADICTION * low:
            both = f"{one.metric} is {one.measured:g}, and {old.measured:g} in {old.origin}"
            return f"{both} for the same parameters; delete the wrong one"
    return None
