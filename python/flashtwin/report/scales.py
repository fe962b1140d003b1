"""Ticks and limits of axes, by the names that charts give them; ticks are few, round and in the units of the page.

A function takes the axes, `x` or `y`, and the argument that the chart gave.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from .colours import INK, NAME_PT
from .declared import plain, plain_duration, plain_size, shorten

#: Above this many sizes, every other one is labelled.
_LABELS_MAX = 10
#: From this ratio of the largest to the smallest value on, an axis of a figure, or of a key, is logarithmic.
_WIDE, _FAR = 20.0, 8.0
#: Values of a key that each have a tick.
_KEYS_MAX = 7


def _axis(axes: Axes, which: str) -> Any:
    return axes.xaxis if which == "x" else axes.yaxis


def _labelled(axes: Axes, which: str, write: Callable[[float], str]) -> None:
    _axis(axes, which).set_major_formatter(FuncFormatter(lambda value, _: write(value)))


def logarithmic(axes: Axes, which: str, **how: Any) -> None:
    """Before limits are set, which would not be those of a logarithm."""
    (axes.set_xscale if which == "x" else axes.set_yscale)("log", **how)


def _log_ticks(axes: Axes, which: str, write: Callable[[float], str], **how: Any) -> None:
    logarithmic(axes, which)
    _axis(axes, which).set_major_locator(LogLocator(**{"numticks": 9, **how}))
    _axis(axes, which).set_minor_formatter(NullFormatter())
    _labelled(axes, which, write)


def _none(axes: Axes, which: str, _: Any) -> None:
    _axis(axes, which).set_ticks([])
    axes.spines["bottom" if which == "x" else "left"].set_visible(False)


def _sizes(axes: Axes, which: str, values: Sequence[float]) -> None:
    """Bytes, with a tick at each of the sizes."""
    shown = list(values)
    if len(shown) > _LABELS_MAX:
        shown = shown[:: len(shown) // _LABELS_MAX + 1]
    logarithmic(axes, which, base=2)
    _fixed(axes, which, shown, plain_size)


def _size_range(axes: Axes, which: str, ends: tuple[float, float]) -> None:
    """Bytes from the first to the second, with a tick at every fourfold size."""
    first = int(np.floor(np.log2(max(ends[0], 1.0)) / 2)) * 2
    _sizes(axes, which, [2.0**power for power in range(first, int(np.ceil(np.log2(max(ends[1], 2.0)))) + 1, 2)])


def _fixed(axes: Axes, which: str, ticks: Sequence[float], write: Callable[[float], str]) -> None:
    _axis(axes, which).set_major_locator(FixedLocator(ticks))
    _axis(axes, which).set_minor_locator(NullLocator())
    _labelled(axes, which, write)


def _factors(axes: Axes, which: str, ticks: Sequence[float]) -> None:
    """Ratios with the given ticks; where the axis spans little, 1.2, 1.5 and 3 as well."""
    logarithmic(axes, which)
    low, high = _axis(axes, which).get_view_interval()
    _fixed(axes, which, sorted({*ticks, *((1.2, 1.5, 3.0) if high < low * 12 else ())}), plain)


def _doublings(axes: Axes, which: str, _: Any) -> None:
    logarithmic(axes, which, base=2)
    _labelled(axes, which, plain)


def _whole(axes: Axes, which: str, most: int | None) -> None:
    _axis(axes, which).set_major_locator(MaxNLocator(nbins=most or 10, integer=True, min_n_ticks=1))


def _whole_from_one(axes: Axes, which: str, most: int) -> None:
    """One is the case that matters most, and a locator would leave its label out."""
    _axis(axes, which).set_ticks([1, *MaxNLocator(nbins=16, integer=True).tick_values(2, most)])


def _percents(axes: Axes, which: str, _: Any) -> None:
    _labelled(axes, which, lambda value: f"{plain(value)} %")


def _shares(axes: Axes, which: str, _: Any) -> None:
    _percents(axes, which, _)
    (axes.set_xlim if which == "x" else axes.set_ylim)(0, 100 if which == "x" else 101)


def _rare_percents(axes: Axes, which: str, _: Any) -> None:
    _axis(axes, which).set_minor_locator(NullLocator())
    _labelled(axes, which, lambda value: f"{value:.6f}".rstrip("0").rstrip(".") + " %")


def _counts(axes: Axes, which: str, _: Any) -> None:
    """Such as 20 K, 1.5 M."""
    _labelled(axes, which, lambda value: _short_count(value, thousands_from=1e4))


def _counts_with_zero(axes: Axes, which: str, _: Any) -> None:
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    _counts(axes, which, _)


def _decades(axes: Axes, which: str, _: Any) -> None:
    """Counts on a logarithmic axis, labelled at powers of ten alone."""
    _counts(axes, which, _)
    _axis(axes, which).set_minor_formatter(NullFormatter())


def _short_count(value: float, thousands_from: float = 1e3) -> str:
    for limit, divisor, unit in ((1e9, 1e9, " G"), (1e6, 1e6, " M"), (thousands_from, 1e3, " K")):
        if abs(value) >= limit:
            return f"{plain(value / divisor)}{unit}"
    return plain(value)


def _queue_lengths(axes: Axes, which: str, longest: float) -> None:
    """0, 1 and thousands differ visibly."""
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.6)
    axes.set_ylim(0, max(longest, 1.0) * 1.15)
    ticks = [0.0, 1.0]
    while ticks[-1] * 10 <= max(longest, 1.0) * 1.15:
        ticks.append(ticks[-1] * 10)
    # Labels of many decades do not fit above one another: of three, 0 and the larger two; of more, every other one.
    if len(ticks) > 3:
        ticks = [0.0, *ticks[2 :: 1 if len(ticks) == 4 else 2]]
    _fixed(axes, which, ticks, lambda value: f"{value:,.0f}")


def _time(axes: Axes, which: str, of: tuple[float | None, int]) -> None:
    """Nanoseconds as round numbers in one unit; no ticks beyond a top, if one is given."""
    axis = _axis(axes, which)
    low, high = axis.get_view_interval()
    top = high if of[0] is None else of[0]
    unit, divisor = next(
        (unit, divisor)
        for unit, divisor, limit in (
            ("ns", 1.0, 1.2e3),
            ("µs", 1e3, 1.2e6),
            ("ms", 1e6, 1.2e9),
            ("s", 1e9, 600e9),
            ("min", 60e9, 7200e9),
            ("h", 3600e9, 96 * 3600e9),
            ("days", 86_400e9, float("inf")),
        )
        if top < limit
    )
    # The locator works on the values shown, so that ticks fall on round ones of the unit.
    locator = MaxNLocator(nbins=of[1], steps=[1, 2, 2.5, 5, 10])
    shown = [tick * divisor for tick in locator.tick_values(low / divisor, top / divisor)]
    axis.set_ticks([tick for tick in shown if low <= tick <= top])
    _labelled(axes, which, lambda value: f"{plain(value / divisor)} {unit}")


def _durations(axes: Axes, which: str, most: int | None) -> None:
    """Nanoseconds on an axis that is logarithmic already; at most so many ticks, if given."""
    if most:
        _axis(axes, which).set_major_locator(LogLocator(numticks=most))
    _axis(axes, which).set_minor_formatter(NullFormatter())
    _labelled(axes, which, plain_duration)


def _names(axes: Axes, which: str, names: Sequence[str]) -> None:
    _axis(axes, which).set_ticks(range(len(names)), names)


def _bars(axes: Axes, _: str, names: Sequence[str]) -> None:
    """Names down the y axis, the first on top, in ink: they are names, not ticks."""
    axes.set_yticks(range(len(names)), [shorten(name) for name in names])
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=NAME_PT)
    axes.spines["left"].set_visible(False)


def _figure(axes: Axes, which: str, of: tuple[Any, Sequence[float]]) -> None:
    """A figure of a sweep in its own unit, logarithmic where values lie far apart."""
    figure, values = of
    axis = _axis(axes, which)
    if min(values) > 0 and max(values) / min(values) >= _WIDE:
        logarithmic(axes, which)
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(nbins=5))
    if figure.unit == "ns":
        _labelled(axes, which, lambda value: _time_of_spread(value, values))
    elif figure.unit == "bytes":
        _labelled(axes, which, plain_size)
    else:
        _counts(axes, which, None)


def _time_of_spread(value: float, values: Sequence[float]) -> str:
    """A time with as many digits as tell the ticks apart."""
    spread = max(values) - min(values)
    if spread <= 0 or spread / max(values) > 0.02:
        return plain_duration(value)
    for limit, divisor, unit in ((1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e3, 1e3, "µs")):
        if max(values) >= limit:
            return f"{value / divisor:,.{min(6, max(0, math.ceil(-math.log10(spread / divisor)) + 1))}f} {unit}"
    return f"{value:,.0f} ns"


def _key(axes: Axes, which: str, values: Sequence[float]) -> None:
    """Values of a key of a sweep, logarithmic where they lie far apart; a tick each where they are few."""
    swept = sorted(set(values))
    far = swept[0] > 0 and swept[-1] / swept[0] >= _FAR
    if far:
        logarithmic(axes, which)
        _axis(axes, which).set_minor_locator(NullLocator())
    many = LogLocator(numticks=7) if far else MaxNLocator(nbins=6)
    _axis(axes, which).set_major_locator(FixedLocator(swept) if len(swept) <= _KEYS_MAX else many)
    _labelled(axes, which, plain)


SCALES: dict[str, Callable[[Axes, str, Any], None]] = {
    "bars": _bars,
    "counts": _counts,
    "counts with zero": _counts_with_zero,
    "decades": _decades,
    "doublings": _doublings,
    "durations": _durations,
    "factors": _factors,
    "figure": _figure,
    "fine log time": lambda axes, which, _: _log_ticks(axes, which, plain_duration, subs=(1.0, 2.0, 5.0)),
    "key": _key,
    "log counts": lambda axes, which, _: _log_ticks(axes, which, _short_count),
    "log shares": lambda axes, which, _: _log_ticks(axes, which, lambda value: f"{plain(value * 100)} %"),
    "log time": lambda axes, which, _: _log_ticks(axes, which, plain_duration),
    "names": _names,
    "none": _none,
    "percents": _percents,
    "queue lengths": _queue_lengths,
    "rare percents": _rare_percents,
    "shares": _shares,
    "size range": _size_range,
    "sizes": _sizes,
    "time": _time,
    "whole": _whole,
    "whole from one": _whole_from_one,
}
