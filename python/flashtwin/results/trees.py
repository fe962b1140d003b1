"""Configurations and results as nested mappings: values by dotted path, and how a value is written."""

import math
from collections.abc import Mapping
from typing import Any


def leaves(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Every value of a nested configuration with its dotted key."""
    found: list[tuple[str, Any]] = []
    for key, value in tree.items():
        found += leaves(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return found


def dig(tree: Any, path: str) -> Any:
    """Follows a dotted path through nested mappings; None where it ends early."""
    for key in path.split("."):
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(key)
    return tree


def as_number(value: Any) -> float | None:
    """A finite number, or None; booleans are not numbers here."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # An integer of hundreds of digits.
        return None


def literal(value: Any) -> str:
    """A value as `--set` takes it: 1000 for 1000.0, words without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
