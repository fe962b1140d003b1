"""The marks of a panel: a method of Matplotlib's `Axes` with its arguments, so that a chart needs no Matplotlib."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .colours import SMALL_PT


@dataclass(frozen=True)
class Mark:
    """A method of Matplotlib's `Axes`, or `heat`, with its arguments."""

    method: str
    args: tuple[Any, ...]
    how: Mapping[str, Any]
    #: Words that a reader sees who points at it.
    tip: str = ""


def of(method: str) -> Callable[..., Mark]:
    """A function that takes the method's arguments, and `tip`."""

    def made(*args: Any, tip: str = "", **how: Any) -> Mark:
        return Mark(method, args, how, tip)

    return made


plot, step, bar, barh, text, scatter = map(of, ("plot", "step", "bar", "barh", "text", "scatter"))
vlines, hlines, axhline, axvline = map(of, ("vlines", "hlines", "axhline", "axvline"))
fill_between, annotate, legend, tick_params = map(of, ("fill_between", "annotate", "legend", "tick_params"))
#: Cells by their edges along x and y, from pale at 0 to dark at `most`; `log` for values far apart.
heat = of("heat")


def small_dots(curve: tuple[Any, Any], colour: str, label: str) -> Mark:
    """A thin line with a small dot at each point, for panels of many lines."""
    return plot(*curve, color=colour, marker="o", markersize=2.5, linewidth=1.3, label=label)


def value_label(x: float, y: float, words: str) -> Mark:
    return annotate(words, (x, y), (3, 0), textcoords="offset points", va="center", size=SMALL_PT)
