"""The declaration of a chart: panels with marks, sentences and numbers. It needs no Matplotlib; `drawing` draws it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from flashtwin import units

from .mark import Mark

Cell = str | float | int | None

#: The input of a chart: a `StudyFolder`, the `TraceResults` it has in common with a characterization, a `Collection`
#: of traces, a `SavedSweep`.
Results_contra = TypeVar("Results_contra", contravariant=True)


@dataclass(frozen=True)
class Medium:
    """A width, and whether panels stand one below the other on it."""

    #: Its name in file names; empty for the usual one.
    name: str
    width_in: float
    stacked: bool

    @property
    def suffix(self) -> str:
        return f"-{self.name}" if self.name else ""


#: Every chart is drawn on both: on the width of a text for desks and printed pages, on that of a column for phones.
#: Letters have the same size on both, so that none is too small.
TEXT, COLUMN = Medium("", 7.0, stacked=False), Medium("column", 3.3, stacked=True)
MEDIA = (TEXT, COLUMN)

medium: ContextVar[Medium] = ContextVar("medium", default=TEXT)


@contextmanager
def on(wanted: Medium) -> Iterator[None]:
    """Charts declared and drawn within are for this medium."""
    token = medium.set(wanted)
    try:
        yield
    finally:
        medium.reset(token)


def is_column() -> bool:
    """Whether panels stand one below the other."""
    return medium.get().stacked


@dataclass(frozen=True)
class Axis:
    """An axis: its label, its ticks by the name of a function in `scales` with an argument, and its limits."""

    label: str = ""
    ticks: str = ""
    of: Any = None
    low: float | None = None
    high: float | None = None
    log: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    marks: Sequence[Mark] = ()
    title: str = ""
    x: Axis = Axis()
    y: Axis = Axis()
    #: Directions of grid lines: `x`, `y`, `both` or `none`.
    grid: str = "y"
    #: Of a legend within the panel: its corner, title and columns.
    legend: tuple[Any, ...] = ()
    title_look: Mapping[str, Any] = field(default_factory=dict)
    #: The panel with the same y axis, if any.
    same_y: Panel | None = None
    #: Whether limits keep to the ends of bars.
    sticky: bool = True


@dataclass(frozen=True)
class LegendEntry:
    label: str
    kind: str
    how: Mapping[str, Any]


def line_key(label: str, **how: Any) -> LegendEntry:
    return LegendEntry(label, "line", how)


def patch_key(label: str, colour: str, **how: Any) -> LegendEntry:
    return LegendEntry(label, "patch", {"facecolor": colour, "linewidth": 0, **how})


@dataclass(frozen=True)
class ColourBar:
    panels: Sequence[Panel]
    how: Mapping[str, Any]
    unit: str = ""
    label: str = ""
    ticks: Sequence[float] | None = None


@dataclass(frozen=True)
class Frame:
    """Panels in rows; None for a place without a panel. Inches are those of a page 9.6 inches wide."""

    height_in: float
    rows: Sequence[Sequence[Panel | None]]
    keys: Sequence[LegendEntry] = ()
    key_columns: int = 6
    #: `sharex`, `sharey`, `width_ratios` and `height_ratios`, as for Matplotlib's `subplots`.
    grid: Mapping[str, Any] = field(default_factory=dict)
    colour_bar: ColourBar | None = None

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row if panel is not None]


@dataclass
class Data:
    """The numbers behind a chart, as rows: the content of its CSV file."""

    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def add(self, names: tuple[Cell, ...], *columns: Sequence[Any] | Any) -> None:
        """A row for each place of the columns, with the same names before it."""
        self.rows.extend((*names, *map(float, values)) for values in zip(*columns, strict=True))

    def csv(self) -> str:
        """Comma-separated text with a header line; a missing number is an empty field."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.header)
        for row in self.rows:
            writer.writerow([_cell(value) for value in row])
        return out.getvalue()


def _cell(value: Cell) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else f"{value:.9g}"
    return str(value)


@dataclass(frozen=True)
class Drawing:
    """A chart of some results. Without a frame there is nothing to draw, and `absent` says what is missing and why."""

    frame: Frame | None
    sees: Sequence[str] = ()
    absent: Sequence[str] = ()
    data: Data = field(default_factory=lambda: Data(()))


def nothing(*reasons: str) -> Drawing:
    """A drawing without a frame, with the reasons in words."""
    return Drawing(None, absent=reasons)


@dataclass(frozen=True)
class Chart(Generic[Results_contra]):
    name: str
    title: str
    #: The question that the chart answers, as the reader would ask it.
    question: str
    #: Where it stands on the page: a key of `page.SECTIONS`.
    section: str
    draw: Callable[[Results_contra], Drawing]


def chart(
    title: str, question: str, section: str
) -> Callable[[Callable[[Results_contra], Drawing]], Chart[Results_contra]]:
    """Makes a function from results to a drawing a chart of its name."""

    def named(draw: Callable[[Results_contra], Drawing]) -> Chart[Results_contra]:
        return Chart(draw.__name__, title, question, section, draw)

    return named


def shorten(name: str, limit: int = 26) -> str:
    return name if len(name) <= limit else name[: limit - 1] + "…"


def with_change(value: str, change: float | None) -> str:
    return value if change is None else f"{value} ({units.change(change)})"


def plain(value: float) -> str:
    """A number for axes and legends, without trailing zeros: `2`, `1.5`, `0.07`."""
    return f"{value:,.3f}".rstrip("0").rstrip(".").replace("-", units.MINUS)


def plain_size(value: float) -> str:
    """Bytes without trailing zeros, for axes and legends: `4 KiB`, not `4.00 KiB`."""
    return _without_zeros(units.size(value))


def plain_duration(ns: float) -> str:
    """A duration without trailing zeros, for axes: `1 ms`, not `1.00 ms`."""
    return _without_zeros(units.duration(ns))


def _without_zeros(words: str) -> str:
    number, _, unit = words.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"
