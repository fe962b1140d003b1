"""The long table of measurements: one figure a row, from results of fio and from CSV files alike."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from flashtwin.drives.histogram import PERCENTILES, Histogram
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import EXPERIMENTS, Datasheet, Measurements
from flashtwin.errors import DriveError
from flashtwin.progress import Notify

#: A response time outside of this, in microseconds, is in another unit.
_POSSIBLE_US = (0.5, 60e6)
#: The one experiment that no row of `Measurements` has for itself.
#: Bytes of the medium by bytes of the host, and GiB in use.
_POSSIBLE_WA, _MOST_GIB = (0.05, 100.0), float(1 << 20)
#: The thread at a fixed rate, which some tables leave out of the offered rate; half of it are reads, and of its 64
#: requests under way, a median is at most twice the mean.
_FIXED_PER_S, _LONGEST_QUEUE = 10_000, 4 * 64
#: Repeats of an experiment differ by less than this factor, their tails apart.
_CONTRADICTION = 1.25
DATASHEET = "datasheet"
Parameter = float | str | Pattern


class MeasuredFigure(NamedTuple):
    """One measured figure."""

    drive: str
    #: The letter of the specimen; empty where it is not said.
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
    #: Why an experiment of a drive cannot be used, by drive and unit.
    faults: list[tuple[tuple[str, str], DriveError]] = field(default_factory=list)

    def add(
        self, name: str, experiment: str, parameters: Mapping[str, Parameter],
        metrics: Mapping[str, float | Histogram | None], origin: str,
    ) -> None:  # fmt: skip
        """The figures of one experiment."""
        for metric, measured in metrics.items():
            self.figures.append(
                MeasuredFigure(*_specimen(name), experiment, tuple(parameters.items()), metric, measured, origin)
            )

    def refuse(self, name: str, error: DriveError) -> None:
        """An experiment that cannot be used. It only matters to those who ask for this drive."""
        self.faults.append((_specimen(name), error))

    @property
    def drives(self) -> dict[str, set[tuple[str, str]]]:
        """Specimens by the name of the drive. Several units of a model are drives of their own."""
        units: dict[str, set[str]] = {}
        for drive, unit in self._specimens():
            units.setdefault(drive, set()).add(unit)
        found: dict[str, set[tuple[str, str]]] = {}
        for drive, letters in units.items():
            is_one = len(letters - {""}) < 2
            for unit in letters:
                found.setdefault(drive if is_one or not unit else f"{drive}-{unit}", set()).add((drive, unit))
        return dict(sorted(found.items()))

    def measurements(self, place: object, drive: str | None, note: Notify, *, skip_bad: bool = False) -> Measurements:
        """The rows of one drive.

        Raises:
            DriveError: there are none, they are of several drives and none is named, or one cannot be used.
        """
        name, own = self._chosen(place, drive)
        for specimen, error in self.faults:
            if specimen in own:
                _left_out(error, note, skip_bad=skip_bad)
        experiments: dict[object, list[MeasuredFigure]] = {}
        for one in self.figures:
            if one[:2] in own and one.experiment != DATASHEET:
                experiments.setdefault((one.experiment, one.parameters, one.origin), []).append(one)
        kept: dict[object, list[MeasuredFigure]] = {}
        rows: dict[str, list[Any]] = {}
        for figures in experiments.values():
            try:
                earlier = kept.setdefault(_repeatable(figures), figures)
                is_first = earlier is figures
                _check(figures, [] if is_first else earlier)
                if not is_first and [one[4:6] for one in figures] == [one[4:6] for one in earlier]:
                    continue
                rows.setdefault(figures[0].experiment, []).append(_row(figures))
            except DriveError as error:
                _left_out(error, note, skip_bad=skip_bad)
        for experiment, key in _ORDER.items():
            rows.get(experiment, []).sort(key=operator.attrgetter(key))
        measured = Measurements(name, datasheet=self._datasheet(name))
        return replace(measured, **{key: tuple(found) for key, found in rows.items()})  # type: ignore[arg-type]

    def _specimens(self) -> set[tuple[str, str]]:
        known = {one[:2] for one in self.figures if one.experiment != DATASHEET}
        return known | {specimen for specimen, _ in self.faults}

    def _chosen(self, place: object, drive: str | None) -> tuple[str, set[tuple[str, str]]]:
        found = self.drives
        names = ", ".join(found)
        if drive is None:
            if len(found) > 1:
                raise DriveError(f"{place}: measurements of several drives; name one of them: {names}")
            return next(iter(found.items()))
        # The only unit of a model goes by the model's name.
        name = next((name for name, own in found.items() if drive == name or _specimen(drive) in own), None)
        if name is None:
            raise DriveError(f"{place}: no measurements of '{drive}'; there are those of {names}")
        return name, found[name]

    def _datasheet(self, drive: str) -> Datasheet | None:
        sheets: dict[str, dict[str, Any]] = {}
        for one in self.figures:
            if one.experiment == DATASHEET:
                sheets.setdefault(str(one.parameters[0][1]), {})[one.metric] = one.measured
        model = max(sheets, key=lambda name: _likeness(name, drive), default="")
        return Datasheet(model, **sheets[model]) if model and _likeness(model, drive) >= 1.0 else None


#: The parameter by which the rows of an experiment are sorted; others keep the order of the files.
_ORDER = {"open_loop": "offered_per_s", "depths": "depth", "sizes": "size_bytes"}


class FatalDriveError(DriveError):
    """The drive is none that the model can be: no experiment of it can be used."""


def _left_out(error: DriveError, note: Notify, *, skip_bad: bool) -> None:
    if not skip_bad or isinstance(error, FatalDriveError):
        raise error
    note(f"left out: {error}")


def _repeatable(figures: Sequence[MeasuredFigure]) -> object:
    """Equal for experiments that must agree. A run of writes depends on those before it, unless its file was copied."""
    first = figures[0]
    if first.experiment != "overwritten":
        return first[:4]
    return *first[:4], tuple(one.measured for one in figures), first.origin.rpartition(":")[2]


def _specimen(name: str) -> tuple[str, str]:
    """A drive's name and the letter of its specimen: `solidigm-p5520-1920-a` is one of those."""
    letter = re.fullmatch(r"(.+)-([a-z])", name)
    return (letter[1], letter[2]) if letter else (name, "")


def _likeness(model: str, drive: str) -> float:
    """Share of the words of a drive's name that stand in the model's, its capacity apart: `SK Hynix PE8110`."""
    words = [word for word in _specimen(drive)[0].lower().split("-") if not word.isdigit() and len(word) > 1]
    has = model.lower().replace("-", " ").split()
    hits = sum(any(word == one or (len(word) > 4 and word in one) for one in has) for word in words)
    return hits / len(words) if words else 0.0


def _row(figures: Sequence[MeasuredFigure]) -> Any:
    """The figures of one experiment as its row: percentiles as one field, e.g. `read_us_50p` of `read_us`."""
    kind = EXPERIMENTS[figures[0].experiment]
    values: dict[str, Any] = {one.name: {} for one in fields(kind) if one.name.endswith("_us")}
    for name, value in (*figures[0].parameters, *((one.metric, one.measured) for one in figures)):
        head, _, share = name.rpartition("_")
        if share in PERCENTILES:
            values[head][share] = value
        else:
            values[name] = value
    return kind(**values)


def _check(figures: Sequence[MeasuredFigure], earlier: Sequence[MeasuredFigure]) -> None:
    """Refuses an experiment that no drive can have, or that contradicts an earlier one with the same parameters."""
    origin = figures[0].origin
    values = {**dict(figures[0].parameters), **{one.metric: one.measured for one in figures}}
    _check_times(figures)
    rates = [float(values[name]) for name in ("per_s", "reads_per_s", "writes_per_s") if name in values]  # type: ignore[arg-type]
    if rates and not any(rates):
        raise DriveError(f"{origin}: it served nothing; run it again, or delete it")
    fill, offered, amplified = (values.get(name) for name in ("fill_gib", "offered_per_s", "amplification"))
    if isinstance(fill, float) and fill > _MOST_GIB:
        raise DriveError(f"{origin}: fill_gib is {fill:g}: no drive holds that; is it in another unit than GiB?")
    if isinstance(amplified, float) and not _POSSIBLE_WA[0] < amplified < _POSSIBLE_WA[1]:
        raise DriveError(
            f"{origin}: the medium took {amplified:.3g} times the host's bytes, which no drive does; is it in per "
            "cent, or the counter in another unit than bytes?"
        )
    if isinstance(offered, float) and sum(rates) > 2 * offered + _FIXED_PER_S:
        raise DriveError(
            f"{origin}: offered_per_s is {offered:g}, and {sum(rates):,.0f}/s were served; is it in thousands? Write "
            "requests a second"
        )
    median = values.get("read_us_50p")
    if offered and isinstance(median, float) and median > _LONGEST_QUEUE * 1e6 / max(rates[0], 1.0):
        raise DriveError(
            f"{origin}: read_us_50p is {median:g} at {rates[0]:,.0f} reads/s: so many requests were never under way; "
            "is it in another unit than microseconds?"
        )
    for known in earlier:
        both = next((one for one in figures if one.metric == known.metric), known)
        if not isinstance(known.measured, Histogram) and not both.metric.endswith(("99p9", "99p99")):
            low, high = sorted((float(known.measured or 0), float(both.measured or 0)))  # type: ignore[arg-type]
            if high > _CONTRADICTION * low:
                raise DriveError(
                    f"{origin}: {both.metric} is {both.measured:g}, and {known.measured:g} in {known.origin} for the "
                    "same parameters; delete the wrong one"
                )


def _check_times(figures: Sequence[MeasuredFigure]) -> None:
    last: dict[str, float] = {}
    for one in figures:
        head, _, share = one.metric.rpartition("_")
        if share not in PERCENTILES and not isinstance(one.measured, Histogram):
            continue
        time = one.measured.percentile_us(0.5) if isinstance(one.measured, Histogram) else float(one.measured or 0.0)
        if not _POSSIBLE_US[0] <= time <= _POSSIBLE_US[1]:
            raise DriveError(
                f"{one.origin}: {one.metric} is {time:g}: no response time in microseconds is that short or long; is "
                "it in another unit, or were direct=1 and the device's name lost?"
            )
        if time < last.get(head, 0.0):
            raise DriveError(f"{one.origin}: {one.metric} is {time:g}, less than the percentile before it")
        last[head] = time
