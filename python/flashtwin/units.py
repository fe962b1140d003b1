"""Numbers as people read them: a value, a unit chosen by its size, three significant digits.

One place, so that a number reads the same in the findings, on a chart and in
a table. A missing number is an en dash, never "nan".
"""

import math
from collections.abc import Sequence
from typing import TypeGuard

MISSING = "–"
MINUS = "−"
#: Changes below this many percent are called "unchanged".
UNCHANGED_PERCENT = 0.5


def _is_known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def significant(value: float, digits: int = 3) -> str:
    """`digits` significant digits without an exponent; thousands separated by commas."""
    if value == 0:
        return "0"
    if not _is_known(value):
        return MISSING
    # The exponent after rounding: 9.996 is 10.0, not 10.00.
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{min(max(digits - 1 - exponent, 0), 12)}f}".replace("-", MINUS)


#: Units with the values below which they are used, and their sizes.
_TIMES = (
    (999.5, 1.0, "ns"), (999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms"), (120e9, 1e9, "s"), (7200e9, 60e9, "min"),
    (172_800e9, 3600e9, "h"), (math.inf, 86_400e9, "days"),
)  # fmt: skip
_COUNTS = ((999.5e3, 1e3, "K"), (999.5e6, 1e6, "M"), (math.inf, 1e9, "G"))
_SIZES = (
    (1024.0, 1.0, "B"), (1024.0**2, 1024.0, "KiB"), (1024.0**3, 1024.0**2, "MiB"), (1024.0**4, 1024.0**3, "GiB"),
    (math.inf, 1024.0**4, "TiB"),
)  # fmt: skip


def _with_unit(value: float | None, units: Sequence[tuple[float, float, str]]) -> str:
    if not _is_known(value):
        return MISSING
    size, unit = next((size, unit) for limit, size, unit in units if abs(value) < limit)
    return f"{significant(value / size)} {unit}"


def duration(ns: float | None) -> str:
    """Nanoseconds as ns, µs, ms, s, min, h or days."""
    return _with_unit(ns, _TIMES)


def count(value: float | None) -> str:
    """A count: exact below 100,000, then in K, M, G."""
    if _is_known(value) and abs(value) < 99_999.5:
        return f"{value:,.0f}".replace("-", MINUS)
    return _with_unit(value, _COUNTS)


def rate(value: float | None) -> str:
    """Something a second: three significant digits, from 1,000 on as a count."""
    if not _is_known(value):
        return MISSING
    return significant(value) if abs(value) < 999.5 else count(value)


def size(value: float | None) -> str:
    """Bytes in binary units."""
    return _with_unit(value, _SIZES)


def ratio(value: float | None) -> str:
    """A factor such as write amplification, with two decimals."""
    return f"{value:,.2f}".replace("-", MINUS) if _is_known(value) else MISSING


def percent(value: float | None, digits: int = 3) -> str:
    """A share in percent, unsigned: `62.1 %`. A share between 0 and 0.01 reads `< 0.01 %`."""
    if not _is_known(value):
        return MISSING
    if 0 < abs(value) < 0.01:
        return "< 0.01 %"
    # At most one decimal from 1 % on: the second is noise in a sentence.
    if abs(value) >= 1:
        text = f"{value:,.1f}" if abs(value) < 99.95 else f"{value:,.0f}"
        return f"{text.replace('-', MINUS)} %"
    return f"{significant(value, digits - 1)} %"


def change(value: float | None) -> str:
    """A change in percent with its sign: `−38.0 %`, `+3.1 %`, `±0 %`."""
    if not _is_known(value):
        return MISSING
    if abs(value) < 0.05:
        return "±0 %"
    text = f"{abs(value):,.1f}" if abs(value) < 99.95 else f"{abs(value):,.0f}"
    return f"{'+' if value > 0 else MINUS}{text} %"


def unchanged(value: float) -> bool:
    """Whether a change in percent is too small to be called one."""
    return abs(value) < UNCHANGED_PERCENT


def more_or_fewer(value: float, of: str, than: str) -> str:
    """A change of a count in words: `12.0 % more pages than a`, `as many pages as a (±0 %)`."""
    if unchanged(value):
        return f"as many {of} as {than} ({change(value)})"
    return f"{percent(abs(value))} {'more' if value > 0 else 'fewer'} {of} than {than}"


def plural(value: float, noun: str) -> str:
    """A count with its noun: `1 lane`, `64 lanes`."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def names(items: list[str]) -> str:
    """Names in a sentence: `a`, `b` and `c`."""
    return names_plain([f"`{item}`" for item in items])


def names_plain(items: list[str]) -> str:
    """Words in a sentence: a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
