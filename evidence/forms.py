"""How figures are written on a page."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

NOTHING = "–"


def us(time_ns: float | None, digits: int = 1) -> str:
    """A time in microseconds: 1,763.5."""
    return NOTHING if time_ns is None else f"{time_ns / 1000:,.{digits}f}"


def count(value: float | None) -> str:
    """A whole number: 48,820."""
    return NOTHING if value is None else f"{value:,.0f}"


def ratio(value: float | None, digits: int = 2) -> str:
    """A quotient: 2.46."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def percent(share: float | None, digits: int = 0) -> str:
    """A share as a percentage: 62 %."""
    return points(None if share is None else 100 * share, digits)


def signed(share: float | None, digits: int = 1) -> str:
    """A change as a percentage with its sign: -3.2 %."""
    return NOTHING if share is None else f"{_rounded(100 * share, digits, sign='+')} %"


def points(value: float | None, digits: int = 1) -> str:
    """A number that is a percentage already: 26.6 %."""
    return NOTHING if value is None else f"{_rounded(value, digits)} %"


def _rounded(value: float, digits: int, sign: str = "") -> str:
    """A number without the minus of a rounded zero."""
    text = f"{value:{sign},.{digits}f}"
    return text.replace("-", "+" if sign else "") if float(text.replace(",", "")) == 0.0 else text


def change(before: float | None, after: float | None) -> float | None:
    """The change as a share of the old value. None if it is undefined."""
    return None if before is None or after is None or before == 0 else after / before - 1.0


def cut(before: float | None, after: float | None, digits: int = 0) -> str:
    """The fall as a percentage: 62 %."""
    found = change(before, after)
    return NOTHING if found is None else percent(-found, digits)


def moved(before: float | None, after: float | None, digits: int = 1) -> str:
    """The change as a percentage with its sign."""
    return signed(change(before, after), digits)


def span(values: Iterable[float | None], form: Callable[[float | None], str] = percent) -> str:
    """The lowest and the highest: `62 to 82 %`."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return NOTHING
    low, high = form(known[0]), form(known[-1])
    if low == high:
        return low
    return f"{low.removesuffix(' %') if high.endswith(' %') else low} to {high}"


def grid(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


FORMS = {form.__name__: form for form in (us, count, ratio, percent, signed, points, change, cut, moved, span, grid)}
