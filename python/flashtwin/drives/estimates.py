"""Estimates of a fit: a value with its interval for each figure, and the experiment that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """One figure of a drive."""

    #: The key of the configuration, e.g. `nand.read_us`; of a figure that no key has, a name without a dot.
    key: str
    value: float | int | str | list[float]
    unit: str = ""
    #: Where the value lies with a probability of 95 %; None where nothing tells.
    low: float | None = None
    high: float | None = None
    #: The rows that tell; for a value that the data do not determine, where it comes from.
    source: str = ""
    #: Whether the measurements determine it. Otherwise it is the datasheet's, or a usual one.
    is_measured: bool = True

    @property
    def number(self) -> float:
        """The value, of an estimate that is a number."""
        return float(self.value)  # type: ignore[arg-type]

    @property
    def interval(self) -> str:
        """As a reader sees it: `71.2 to 74.0`; empty where nothing tells."""
        return "" if self.low is None or self.high is None else f"{self.low:.4g} to {self.high:.4g}"


class Estimates:
    """Everything that is known of one drive, by key."""

    def __init__(self, found: Iterable[Estimate] = ()) -> None:
        """A later estimate of a key replaces an earlier one."""
        self._by_key = {one.key: one for one in found}

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self._by_key.values())

    def __getitem__(self, key: str) -> Estimate:
        return self._by_key[key]

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def number(self, key: str) -> float:
        """The value of a key that is a number."""
        return self._by_key[key].number

    def with_all(self, others: Iterable[Estimate]) -> Estimates:
        """These and others."""
        return Estimates([*self, *others])

    @property
    def keys(self) -> Mapping[str, object]:
        """Values of the keys of the configuration."""
        return {one.key: one.value for one in self if "." in one.key}
