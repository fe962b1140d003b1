"""How the values of options are written: one function for each type, from text to value."""

import re
from collections.abc import Callable
from typing import Any

import click

from flashtwin.errors import ArgumentError

_THOUSANDS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_TIMES_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Text(click.ParamType[Any]):
    """The type of an option that a function reads from text; its `ArgumentError` is the message."""

    def __init__(self, read: Callable[[str], Any], written: Callable[[Any], str] | None = None) -> None:
        """`written` makes text of a default."""
        self.name = read.__name__
        self.read = read
        self.written = written

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except ArgumentError as error:
            self.fail(str(error), param, ctx)


def time(text: str) -> float:
    """A length of time in seconds: `120`, `120s`, `30min`, `1h`, `1d`, `1w`."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", text.strip())
    if parts is None or parts[2] not in _TIMES_S or float(parts[1]) == 0:
        raise ArgumentError(f"'{text}' is not a length of time; write it like 120s, 30min, 1h, 1d or 1w")
    return float(parts[1]) * _TIMES_S[parts[2]]


def time_text(time_s: float) -> str:
    """A time in the longest unit that it is a whole number of."""
    unit = next(unit for unit, length_s in reversed(_TIMES_S.items()) if time_s % length_s == 0)
    return f"{time_s / _TIMES_S[unit]:g}{unit}"


def times(text: str) -> str:
    return ",".join(f"{time(one):g}" for one in text.split(","))


def shifts(text: str) -> tuple[float, ...]:
    """Times in seconds, with a comma between; here 0 is a time."""
    return tuple(0.0 if one.strip() == "0" else time(one) for one in text.split(","))


def effort(text: str) -> int | None:
    """Page operations: `50M`, `200k`, `2G`, a plain number; 0 is none, `all` (None) as many as it takes."""
    if text.strip() == "all":
        return None
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)", text.strip())
    if parts is None:
        is_time = re.fullmatch(r"[\d.]+(s|m|min|h)", text.strip())
        more = ", not in time, so that a busy machine gives the same answer" if is_time else ""
        raise ArgumentError(f"'{text}' is no effort: it counts page operations{more}; write it like 50M, 2G or all")
    return round(float(parts[1]) * _THOUSANDS[parts[2]])


def share(text: str) -> float:
    """A share: `90%` or `0.9`."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    value = float(parts[1]) / (100 if parts[2] else 1) if parts else 0.0
    if not 0 < value <= 1:
        raise ArgumentError(f"'{text}' is not a share above 0 and up to 100 %; write it like 90% or 0.9")
    return value


def share_or_none(text: str) -> float:
    """A share below all of it: `5%`, `0.02`, or 0."""
    value = 0.0 if re.fullmatch(r"0+(\.0*)?\s*%?", text.strip()) else share(text)
    if value >= 1:
        raise ArgumentError(f"'{text}' is not a share below 100 %; write it like 5% or 0.05")
    return value


def numbers(text: str) -> list[float]:
    """Numbers above 0 between commas."""
    try:
        found = [float(one) for one in text.split(",")]
    except ValueError:
        found = [0.0]
    if min(found) <= 0:
        raise ArgumentError(f"'{text}' is not a number above 0, or several between commas; write it like 1,10,100")
    return found


def byte_count(text: str) -> int | None:
    """Bytes: `8G`, `512M`, `1T`, in powers of 1,024; None if that is none."""
    parts = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    # Thirty digits are more than any drive has.
    return int(parts[1][:30]) * _BYTES[parts[2].upper()] if parts else None


def key_value(text: str) -> tuple[str, str]:
    """`key=value`, cut at the first equals sign."""
    key, equals, literal = text.partition("=")
    if not equals or not key.strip() or not literal.strip():
        raise ArgumentError(f"'{text}' is not of the form key=value, such as replication.alpha=0.2")
    return key.strip(), literal.strip()


def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def systems(text: str) -> tuple[str, ...]:
    """Names of systems between commas, each once."""
    names = words(text)
    if not names:
        raise ArgumentError("name at least one system")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f"system '{twice}' is named twice")
    return names


def goal(text: str) -> str:
    """Figures to shorten, by names that there are."""
    from flashtwin.judgement.goals import goal_of as named

    for name in text.split(","):
        named(name.strip())
    return text


def queue_depths(text: str) -> str:
    """Depths of a queue between commas; none of them 0, which the key has for the recorded times."""
    if any(re.fullmatch(r"\s*0+\s*", depth) for depth in text.split(",")):
        raise ArgumentError(
            "0 requests under way are none; name 1 or more, or leave the option out to keep the recorded times"
        )
    return text
