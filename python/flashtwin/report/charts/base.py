"""The type of a chart: a name, a question, and a function from results to a drawing."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from matplotlib.figure import Figure

from .. import style

Cell = str | float | int | None

#: The input of a chart: a `StudyFolder`, the `TraceResults` it has in common with a characterization, or a
#: `Collection` of traces.
Results_contra = TypeVar("Results_contra", contravariant=True)


@dataclass
class Data:
    """The numbers behind a chart, as rows: the content of its CSV file."""

    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

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
    """A chart made from results.

    `figure` is None when they hold nothing to draw; `absent` then says
    what is missing and why. `sees` are sentences computed from the data.
    """

    figure: Figure | None
    sees: Sequence[str] = ()
    absent: Sequence[str] = ()
    data: Data = field(default_factory=lambda: Data(()))


@dataclass(frozen=True)
class Chart(Generic[Results_contra]):
    """A chart that the report can draw."""

    name: str
    title: str
    #: The question that the chart answers, as the reader would ask it.
    question: str
    #: Where it stands on the page: a key of `page.SECTIONS`.
    section: str
    draw: Callable[[Results_contra], Drawing]


def nothing(*reasons: str) -> Drawing:
    """A drawing without a figure, with the reasons in words."""
    return Drawing(None, absent=reasons)


def note_figure(title: str, reasons: Sequence[str]) -> Figure:
    """A figure that says why there is no chart, for callers who asked for a figure."""
    with style.styled():
        fig = style.figure(1.4)
        fig.text(0.02, 0.72, title, weight="bold", size=style.TITLE_PT)
        fig.text(0.02, 0.18, "\n".join(reason.replace("`", "") for reason in reasons), wrap=True, color=style.MUTED)
    return fig
