"""The sheet of a chart: the width of a text, or that of one column of two.

Every chart is drawn twice by the same function. On the width of a text, 7 inches, panels stand side by side; this
is what a desk's screen and a printed page show. On a column, 3.3 inches, they stand one below the other; this is
what a phone shows. Both are saved for papers. Letters have the same size on both, so that none is too small.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from . import fitting


@dataclass(frozen=True)
class Medium:
    """A width, and whether panels stand one below the other on it."""

    #: Its name in file names; empty for the usual one.
    name: str
    width_in: float
    stacked: bool


TEXT = Medium("", 7.0, stacked=False)
COLUMN = Medium("column", 3.3, stacked=True)
MEDIA = (TEXT, COLUMN)

_medium: ContextVar[Medium] = ContextVar("medium", default=TEXT)

#: Dots an inch of the picture in a notebook.
NOTEBOOK_DPI = 120

#: Charts give their heights for a page of this width, on which letters are of 9 points; here they are of 7.
_DESIGN_WIDTH_IN = 9.6
_HEIGHT_SCALE = 0.77


@contextmanager
def on(medium: Medium) -> Iterator[None]:
    """Charts made within are drawn for this medium."""
    token = _medium.set(medium)
    try:
        yield
    finally:
        _medium.reset(token)


def is_column() -> bool:
    """Whether panels stand one below the other."""
    return _medium.get().stacked


class Sheet(Figure):
    """A figure whose panels stand one below the other where the medium is narrow; a notebook shows it as a picture."""

    def _repr_png_(self) -> bytes:
        """The picture that a notebook shows."""
        return self._picture("png")

    def _repr_svg_(self) -> str:
        """The same as a drawing; letters are paths, so that it looks alike without our fonts."""
        return self._picture("svg").decode()

    def _picture(self, kind: str) -> bytes:
        out = io.BytesIO()
        with matplotlib.style.context(["default", {"svg.hashsalt": "flashtwin"}]):
            fitting.lay_out(self)
            metadata = {"Software": None} if kind == "png" else {"Date": None}
            self.savefig(out, format=kind, dpi=NOTEBOOK_DPI, metadata=metadata)
        return out.getvalue()

    def subplots(self, nrows: int = 1, ncols: int = 1, **how: Any) -> Any:
        """As Matplotlib's, also in its result: panels [row][column], wherever they stand."""
        if not is_column() or ncols == 1:
            return super().subplots(nrows, ncols, **how)
        heights = how.pop("height_ratios", None) or [1.0] * nrows
        how.pop("width_ratios", None)
        sharex, sharey, squeeze = how.pop("sharex", False), how.pop("sharey", False), how.pop("squeeze", True)
        self.set_figheight(self.get_figheight() * ncols)
        # Panels of one x axis belong together; else those of one row do.
        by_column = sharex == "col"
        order = [(row, column) for row in range(nrows) for column in range(ncols)]
        order.sort(key=lambda place: place[::-1] if by_column else place)
        ratios = [heights[row] for row, _ in order]
        stack = super().subplots(nrows * ncols, 1, squeeze=False, height_ratios=ratios, **how)[:, 0]
        panels = np.empty((nrows, ncols), dtype=object)
        for axes, place in zip(stack, order, strict=True):
            panels[place] = axes
        _share(panels, sharex, sharey)
        return panels.squeeze() if squeeze else panels


def _share(panels: Any, sharex: bool | str, sharey: bool | str) -> None:
    """Shares axes as `subplots` does, but leaves the labels: no panel stands beside another that has them."""
    rows, columns = panels.shape
    for row in range(rows):
        for column in range(columns):
            for kind, share in ((sharex, "sharex"), (sharey, "sharey")):
                first = {True: (0, 0), "all": (0, 0), "row": (row, 0), "col": (0, column)}.get(kind)
                if first is not None and first != (row, column):
                    getattr(panels[row, column], share)(panels[first])


def figure(height: float, width: float = _DESIGN_WIDTH_IN) -> Figure:
    """An empty figure; sizes in inches of a page 9.6 inches wide, which the medium scales."""
    size = _medium.get().width_in * (1.0 if is_column() else width / _DESIGN_WIDTH_IN), height * _HEIGHT_SCALE
    fig = Sheet(figsize=size, layout="constrained")
    engine = fig.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        # One below the other, a title stands close to the labels of the panel above it.
        engine.set(w_pad=0.04, h_pad=0.05 if is_column() else 0.03, wspace=0.045, hspace=0.03)
    return fig


def legend_columns(labels: Sequence[str], most: int) -> int:
    """How many entries of a legend fit beside each other."""
    entry_in = (max(map(len, labels), default=1) * 4.2 + 26.0) / 72.0
    return max(1, min(most, len(labels), int(_medium.get().width_in / entry_in)))
