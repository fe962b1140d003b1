"""The set-up of a paper's experiments: keys that its text fixes or that were found, as differences to the presets.

A preset is the same drive for all papers. What one paper alone says or leaves open is declared here once, with the
paper's words, and all items of that paper run under it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin.results.trees import literal
from flashtwin.settings import Value


@dataclass(frozen=True)
class Choice:
    """A key that is set otherwise than in the presets, and why.

    Example:
        >>> Choice("engine.hash_lanes", 0, "Table II", "Hashing Latency = 12us").text
        'engine.hash_lanes=0'
    """

    key: str
    value: Value
    #: Where the paper speaks of it.
    place: str
    #: The paper's words; the finding, where it has none.
    words: str

    @property
    def text(self) -> str:
        """As `--set` takes it."""
        return f"{self.key}={literal(self.value)}"


@dataclass(frozen=True)
class Setup:
    """All keys that a paper's items set, for every system that they compare."""

    choices: tuple[Choice, ...]

    @property
    def sets(self) -> Mapping[str, Value]:
        """Keys and values."""
        return {one.key: one.value for one in self.choices}

    @property
    def command(self) -> str:
        """The options that turn a preset into the set-up: `--set engine.hash_lanes=0`."""
        return " ".join(f"--set {one.text}" for one in self.choices)

    def without(self, key: str) -> Mapping[str, Value]:
        """The set-up with one choice taken back."""
        return {one.key: one.value for one in self.choices if one.key != key}

    def table(self) -> dict[str, Any]:
        """The choices with the paper's words, as a table."""
        rows = [[f"`{one.text}`", one.place, one.words] for one in self.choices]
        return {"title": "The set-up: what differs from the presets", "header": ["key", "place", "words"], "rows": rows}
