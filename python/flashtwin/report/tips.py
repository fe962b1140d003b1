"""Tips of marks that a chart gave none: the series and its values, as the axis writes them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from .declared import LegendEntry, plain
from .mark import Mark

#: The beginning of the id of a mark that has a tip.
TIP = "tip "


def give(axes: Axes, mark: Mark, artists: Any, keys: Sequence[LegendEntry], otherwise: str) -> None:
    """Sets the ids of a mark's artists. `otherwise` is the name of a series that has neither label nor legend."""
    # A line across the whole panel that is no series is a help for the eye.
    name = _series(mark, keys) or ("" if mark.method in ("axhline", "axvline") else otherwise)
    axis: Any = axes.xaxis if mark.method == "barh" else axes.yaxis
    for artist in each(artists):
        values = _values(artist, mark.method)
        if name and values.size:
            ends = dict.fromkeys(_written(axis, end) for end in (float(values.min()), float(values.max())))
            artist.set_gid(f"{TIP}{name}: {' to '.join(ends)}")
        elif name and isinstance(artist, Collection):
            artist.set_gid(f"{TIP}{name}")


def each(artists: Any) -> Iterable[Any]:
    """The artists of a mark: a method of `Axes` returns one or several."""
    return artists if isinstance(artists, Iterable) else [artists]


def _series(mark: Mark, keys: Sequence[LegendEntry]) -> str:
    """The label of a mark, or of the legend's entry that looks like it."""
    look = mark.how
    if look.get("label"):
        return str(look["label"])
    colour = look.get("color")
    alike = [key for key in keys if colour is not None and colour in (key.how.get("color"), key.how.get("facecolor"))]
    dashed = [key for key in alike if key.how.get("linestyle", "-") == look.get("linestyle", "-")]
    return next((key.label for key in [*dashed, *alike]), "")


def _values(artist: Any, method: str) -> Any:
    """Finite values of lines and bars; none of other artists."""
    found: Any = ()
    if isinstance(artist, Line2D):
        found = artist.get_ydata()
    elif isinstance(artist, Rectangle):
        found = [artist.get_width() if method == "barh" else artist.get_height()]
    values = np.asarray(found, dtype=float)
    return values[np.isfinite(values)]


def _written(axis: Any, value: float) -> str:
    formatter, short = axis.get_major_formatter(), float(f"{value:.4g}")
    return str(formatter(short, None)) if isinstance(formatter, FuncFormatter) else plain(short)
