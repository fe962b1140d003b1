"""Estimates of a fit: a value with its interval for each figure, the experiment behind it, and what NAND allows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple


class KeyBounds(NamedTuple):
    """The least and the greatest value of a key."""

    low: float
    high: float
    unit: str = ""
    #: Whether a drive beyond them has no NAND. Other bounds only keep a search in its range.
    is_physical: bool = True


#: Of `engine.arbitration`.
FIFO, ROUND_ROBIN = "fifo", "round-robin"
#: Of batches of collection: how long a write waits at most if RAM has no place.
STALL = "stall_us"
#: Of the answers of RAM.
SPREAD = "engine.write_cache_spread_us"
#: What each key of a fit may be. `spare` is the physical space beyond the space in use, as a share of that.
BOUNDS: Mapping[str, KeyBounds] = {
    "nand.read_us": KeyBounds(20.0, 200.0, "us"),
    "nand.program_us": KeyBounds(200.0, 10_000.0, "us"),
    "overhead": KeyBounds(1.0, 1.4),
    "spare": KeyBounds(0.02, 1.0),
    "engine.controller_us": KeyBounds(0.5, 1000.0, "us"),
    "engine.suspend_us": KeyBounds(1.0, 500.0, "us", is_physical=False),
    "engine.suspend_slice_us": KeyBounds(5.0, 1500.0, "us", is_physical=False),
    "engine.resume_us": KeyBounds(1.0, 2000.0, "us", is_physical=False),
    "engine.slots": KeyBounds(1.0, 4096.0, is_physical=False),
    "busy_share": KeyBounds(0.7, 1.05, is_physical=False),
    "idle_read_spread": KeyBounds(0.01, 0.3, is_physical=False),
    "fast_page_share": KeyBounds(0.05, 0.95, is_physical=False),
    "slow_page_more_us": KeyBounds(2.0, 100.0, "us"),
    "pages_of_a_turn": KeyBounds(4.0, 3072.0, is_physical=False),
}
#: An interval that covers this share of the decades between its bounds tells nothing.
_NOTHING = 0.5


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
    #: The experiment; for a value that the data do not determine, where it comes from.
    source: str = ""
    #: Whether the measurements determine it. Otherwise it is a usual one.
    is_measured: bool = True

    @property
    def number(self) -> float:
        """The value, of an estimate that is a number."""
        return float(self.value)  # type: ignore[arg-type]

    @property
    def deviation(self) -> float:
        """Standard deviation of a value with an interval."""
        return (self.high - self.low) / 3.92 if self.low is not None and self.high is not None else 0.0

    @property
    def interval(self) -> str:
        """As a reader sees it: `71.2 to 74.0`; empty where nothing tells."""
        return "" if self.low is None or self.high is None else f"{self.low:.4g} to {self.high:.4g}"

    def with_interval(self, low: float, high: float) -> Estimate:
        """With an interval that contains the value; without one, and undetermined, if that tells nothing."""
        low, high, bounds = min(low, self.number), max(high, self.number), BOUNDS.get(self.key)
        if bounds is not None and low > 0 and math.log(high / low) > _NOTHING * math.log(bounds.high / bounds.low):
            source = f"{self.source}; {low:.3g} to {high:.3g} is too wide to tell anything"
            return replace(self, source=source, is_measured=False)
        return replace(self, low=low, high=high)


class Estimates:
    """Everything that is known of one drive, by key."""

    def __init__(self, estimates: Iterable[Estimate] = ()) -> None:
        """A later estimate of a key replaces an earlier one."""
        self._by_key = {estimate.key: estimate for estimate in estimates}

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
        return {estimate.key: estimate.value for estimate in self if "." in estimate.key}
