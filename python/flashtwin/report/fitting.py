"""The last touches of a figure, once its places are known: nothing overlaps, nothing hides, nothing vanishes."""

import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from matplotlib.transforms import Bbox

#: Strokes and marks are given for a page 9.6 inches wide; figures are 7 or 3.3.
_STROKE = 0.75
#: Bars shorter than this are outlined, so that what is not nothing is not invisible. In points.
_LEAST_BAR_PT = 0.9
#: Curves closer than this, in points, over this share of what both span look like one.
_CLOSE_PT, _SHARE = 0.6, 0.35
_SAMPLES = 160
#: The length of a dash of coinciding curves, in points.
_DASH_PT = 5.0


def lay_out(fig: Figure) -> None:
    """Lays a figure out once, for all its files: layout is most of the work.

    The solver's last digits depend on the order of objects in memory; rounded
    positions do not, so that the same results give the same bytes.
    """
    tell_apart(fig)
    engine = fig.get_layout_engine()
    if not isinstance(engine, ConstrainedLayoutEngine):
        return
    engine.execute(fig)
    if any([_thin_ticks(fig), _wrap_titles(fig)]):
        engine.execute(fig)
    fig.set_layout_engine("none")
    for axes in fig.axes:
        left, bottom, width, height = (round(float(value), 6) for value in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


def tell_apart(fig: Figure) -> None:
    """Curves that coincide, and bars too small to be seen; strokes of the medium. Once a figure."""
    if getattr(fig, "_is_told_apart", False):
        return
    fig._is_told_apart = True  # type: ignore[attr-defined]
    for axes in fig.axes:
        _drop_unseen_ticks(axes)
        _scale_strokes([*axes.lines, *axes.collections])
        _outline_small_bars(axes)
        _part_curves(axes)
    legends = [*fig.legends, *(legend for axes in fig.axes if (legend := axes.get_legend()) is not None)]
    for legend in legends:
        _scale_strokes(handle for handle in legend.legend_handles if handle is not None)


def _drop_unseen_ticks(axes: Axes) -> None:
    """Minor ticks without labels: they have no length, but to place hundreds of them takes a fifth of the layout."""
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_minor_formatter(), NullFormatter):
            axis.set_minor_locator(NullLocator())


def _scale_strokes(artists: Iterable[Any]) -> None:
    for artist in artists:
        if isinstance(artist, Line2D):
            artist.set_linewidth(artist.get_linewidth() * _STROKE)
            artist.set_markersize(artist.get_markersize() * _STROKE)
            artist.set_markeredgewidth(artist.get_markeredgewidth() * _STROKE)
        elif isinstance(artist, LineCollection):
            artist.set_linewidth([width * _STROKE for width in np.atleast_1d(artist.get_linewidth())])
        elif isinstance(artist, PathCollection):
            artist.set_sizes([size * _STROKE**2 for size in artist.get_sizes()])


def _outline_small_bars(axes: Axes) -> None:
    """A bar that is not nothing has an outline of its own colour, as wide as a stroke, where it is thinner."""
    for container in axes.containers:
        for bar in container if isinstance(container, BarContainer) else ():
            lengths = abs(bar.get_width()), abs(bar.get_height())
            if min(lengths) == 0 or not np.isfinite(lengths).all():
                continue
            box = bar.get_transform().transform_bbox(Bbox.unit())
            if min(abs(box.width), abs(box.height)) / axes.figure.dpi * 72 < _LEAST_BAR_PT:
                bar.set_edgecolor(bar.get_facecolor())
                bar.set_linewidth(_LEAST_BAR_PT)


def _part_curves(axes: Axes) -> None:
    """Coinciding curves share their way dash by dash: each of n leaves n - 1 dashes to the others."""
    curves = [line for line in axes.lines if line.get_linestyle() == "-" and np.size(line.get_xdata()) > 2]
    shapes = {line: _sampled(line, axes) for line in curves}
    left = list(curves)
    while left:
        first = left.pop(0)
        group = [first, *(line for line in left if _coincide(shapes[first], shapes[line]))]
        left = [line for line in left if line not in group]
        # The first, lowest, is whole: what lies above it is broken.
        for place, line in enumerate(group[1:], start=1):
            unit = _DASH_PT / line.get_linewidth()
            line.set_linestyle((place * unit, (unit, unit * (len(group) - 1))))
            line.set_dash_capstyle("butt")


def _sampled(line: Line2D, axes: Axes) -> tuple[float, float, Any, Any] | None:
    """A curve in points on the page: where it begins and ends, and its places."""
    path = line.get_path()
    points = np.asarray(line.get_transform().transform_path(path).vertices) / axes.figure.dpi * 72
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < 3 or (np.diff(points[:, 0]) < 0).any():
        return None
    return float(points[0, 0]), float(points[-1, 0]), points[:, 0], points[:, 1]


def _coincide(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return False
    start, end = max(one[0], other[0]), min(one[1], other[1])
    if end <= start:
        return False
    at = np.linspace(start, end, _SAMPLES)
    near = np.abs(np.interp(at, *one[2:]) - np.interp(at, *other[2:])) < _CLOSE_PT
    return bool(near.mean() >= _SHARE)


def _thin_ticks(fig: Figure) -> bool:
    """Every other tick of x axes whose labels overlap, until they do not; names are turned instead."""
    changed = False
    for axes in fig.axes:
        axis = axes.xaxis
        while (boxes := _label_boxes(axis)) and any(b.x0 < a.x1 + 2 for a, b in pairwise(boxes)):
            changed = True
            # Labels that were given one by one: none of them may be left out.
            if isinstance(getattr(axis.get_major_formatter(), "func", None), partial):
                axes.tick_params(axis="x", rotation=55)
                for label in axis.get_ticklabels():
                    label.set_horizontalalignment("right")
                    label.set_rotation_mode("anchor")
                break
            low, high = sorted(axis.get_view_interval())
            shown = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
            axis.set_major_locator(FixedLocator(shown[::2]))
    return changed


def _label_boxes(axis: Axis) -> list[Bbox]:
    low, high = sorted(axis.get_view_interval())
    labels = [
        label for label, at in zip(axis.get_ticklabels(), axis.get_majorticklocs(), strict=False)
        if label.get_visible() and label.get_text() and low <= at <= high and not label.get_rotation()
    ]  # fmt: skip
    return sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)


def _wrap_titles(fig: Figure) -> bool:
    """Titles that run into the next panel, or out of the figure, in several lines."""
    changed = False
    renderer_width = fig.bbox.width
    for axes in fig.axes:
        title = axes._left_title  # type: ignore[attr-defined]
        text = title.get_text()
        if not text:
            continue
        box = title.get_window_extent()
        right = min([renderer_width - 2, *_beside(axes, fig.axes)])
        if box.x1 > right and box.width > 0:
            room = max(12, int(len(text) * (right - box.x0) / box.width) - 1)
            title.set_text(_balanced(text, room))
            changed = True
    return changed


def _beside(axes: Axes, others: Sequence[Axes]) -> list[float]:
    """The left edges of the titles that stand to the right of this one's, at its height."""
    mine = axes.get_window_extent()
    return [
        box.x0 - 4 for other in others
        if other is not axes and (box := other.get_window_extent()).x0 > mine.x0 + 1
        and min(box.y1, mine.y1) > max(box.y0, mine.y0) and other.get_title(loc="left")
    ]  # fmt: skip


def _balanced(text: str, room: int) -> str:
    """Lines of about the same length, no more of them than needed."""
    lines = textwrap.wrap(text, room)
    for narrower in range(room - 1, 8, -1):
        tried = textwrap.wrap(text, narrower)
        if len(tried) > len(lines):
            break
        lines = tried
    return "\n".join(lines)
