"""Keys and values as people give them: as keywords, as a mapping, or both."""

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

from flashtwin.errors import ArgumentError

#: The type of a value of a configuration key.
Value = bool | int | float | str
#: The type of a value of a characterization option.
Setting = Value | Sequence[Value]

#: Characters that JSON leaves as they are in a string and TOML does not.
_ESCAPED = {0x7F: "\\u007f"}


def merged(settings: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """All keys to set otherwise, from `settings={...}` and from keywords."""
    if settings is None:
        return dict(keywords)
    if not all(isinstance(key, str) for key in settings):
        raise ArgumentError(
            "the keys of settings are texts, with dots as they are: settings={'replication.alpha': 0.2}"
        )
    twice = sorted(settings.keys() & keywords.keys())
    if twice:
        raise ArgumentError(f"'{twice[0]}' stands in `settings` and is a keyword as well; give it once")
    return {**settings, **keywords}


def texts(sets: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys and values as the core takes them."""
    found = []
    for key, value in sets.items():
        try:
            found.append((key, literal(value)))
        except ArgumentError as error:
            raise ArgumentError(f"{key}: {error}") from None
    return found


def literal(value: Any) -> str:
    """A value as TOML writes it on one line: numbers, text, policies, lists and tables of these."""
    if hasattr(value, "__flashtwin_policy__"):
        from flashtwin.policies.registry import text_of

        value = text_of(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).translate(_ESCAPED)
    if isinstance(value, int | float):
        # NumPy's floats are floats, too, and show themselves otherwise.
        return repr(int(value) if isinstance(value, int) else float(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {literal(one)}" for key, one in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return f"[{', '.join(literal(one) for one in value)}]"
    if hasattr(value, "item"):
        # One number of NumPy's, as a loop over an array gives.
        return literal(value.item())
    raise ArgumentError(f"{value!r} is {_kind(value)}; a value is a number, a text, true or false, or a list of these")


def seed_of(name: str, value: object) -> int:
    """A seed that a caller gave."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or (seed := index(value)) < 0:
        raise ArgumentError(f"{name} is {value!r}: expected a whole number, 0 or more")
    return seed


def seeds_of(value: object) -> list[int]:
    """The systems' seeds that a caller gave: one, or several."""
    several = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    return [seed_of("seed", one) for one in several]


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"
