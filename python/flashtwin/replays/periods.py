"""The length of a period where nobody says it: from the length of the trace.

Contents are copied and figures are kept by the period; the papers' is a day, of traces of weeks. In a trace of minutes
no such period ends, and nothing is ever copied.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashtwin.progress import Notify
from flashtwin.replays.presets import System, system_toml, systems
from flashtwin.results.keys import K, traits
from flashtwin.results.trees import dig

KEY = K.replay.period_s
DAY_S = 86_400.0
#: Lengths that people think in, in seconds, descending.
_ROUND_S = tuple(
    number * unit
    for unit, numbers in ((3_600.0, (12, 6, 3, 2, 1)), (60.0, (30, 20, 10, 5, 2, 1)), (1.0, (30, 20, 10, 5, 2, 1)))
    for number in numbers
) + tuple(number / 1000 for number in (500, 200, 100, 50, 20, 10, 5, 2, 1))
#: How many whole periods a trace has at least.
_PERIODS = 8
#: From this many days on, a trace has daily periods.
_DAYS = 3


def length_s(duration_ns: int) -> float:
    """A day for a trace of days; else the longest round length that the trace has eight of.

    >>> length_s(833 * 10**9)
    60.0
    """
    duration_s = duration_ns / 1e9
    if duration_s >= _DAYS * DAY_S:
        return DAY_S
    return next((length for length in _ROUND_S if _PERIODS * length <= duration_s), DAY_S)


def with_periods(duration_ns: int, chosen: Mapping[str, System], notify: Notify | None = None) -> dict[str, System]:
    """Systems for a trace of that length: those whose period nobody has set get one, the same for all.

    Where somebody set that of one of them, it is everybody's.
    """
    named = {name: period for name, system in chosen.items() if (period := _set_by_somebody(system)) is not None}
    length = next(iter(named.values()), None) or length_s(duration_ns)
    found = {
        name: system if name in named or system.period_s == length else system.with_sets({KEY: length})
        for name, system in chosen.items()
    }
    wanted = any("counts-popularity" in traits(system.config) for system in found.values())
    if notify and wanted and not named and length != DAY_S:
        notify(
            f"periods of {_words(length)}, chosen from the trace's {_words(duration_ns / 1e9)}; --period sets another"
        )
    copying = [name for name, system in found.items() if "copies-at-period-ends" in traits(system.config)]
    late = [name for name in copying if found[name].period_s * 1e9 > duration_ns]
    if notify and late:
        longest = max(found[name].period_s for name in late)
        notify(
            f"{', '.join(late)} cannot copy anything: copies are made when a period ends, and none of "
            f"{_words(longest)} does within the trace's {_words(duration_ns / 1e9)}; set a shorter --period"
        )
    return found


def _set_by_somebody(system: System) -> float | None:
    """The period that the settings or a file name; a file's day is every file's that was printed whole."""
    base, sets = system.recipe
    if any(f".{KEY}".endswith(f".{key}") for key, _ in sets):
        return system.period_s
    text = system_toml(base) if base in systems() else Path(base).read_text(encoding="utf-8")
    given: dict[str, Any] = tomllib.loads(text)
    return system.period_s if dig(given, KEY) not in (None, DAY_S) else None


def _words(seconds: float) -> str:
    """A length of time with its largest unit of which there is one at least."""
    for unit, size in (("d", DAY_S), ("h", 3_600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e3:.3g} ms"
