"""How the addresses of an experiment are drawn, as the tables name it: `uniform`, `zipf-shuffle 0.8`, ..."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from flashtwin.errors import DriveError

_GOLDEN_RATIO = np.uint64(0x61C8864680B583EB)
#: Terms of a sum that are added one by one: what the formula for the rest leaves out is below a millionth.
_SUMMED = 1000
#: One zone: its share of the addresses and of the writes.
_ZONE = re.compile(r"s(\S+)\s+f(\S+)")


@dataclass(frozen=True)
class Pattern:
    """Which addresses are written, and how often."""

    #: `uniform`, `sequential`, `zipf`, `zones`, `fiozipf`, or `zns`: zones of a drive, each written in order.
    kind: str
    #: Whether neighbours in popularity, or in order, lie anywhere among the addresses.
    is_shuffled: bool = False
    exponent: float = 0.0
    #: Shares of the addresses and of the writes.
    zones: tuple[tuple[float, float], ...] = ()

    @classmethod
    def read(cls, pattern: str, details: str) -> Pattern:
        """As the columns `pattern` and `details` have it.

        Raises:
            DriveError: there is no such pattern, or its details are none.
        """
        kind, _, order = pattern.partition("-")
        shuffled = order == "shuffle"
        if kind in ("uniform", "sequential", "zns"):
            return cls(kind, shuffled)
        if kind in ("zipf", "fiozipf"):
            try:
                exponent = float(details)
            except ValueError:
                raise DriveError(f"details of {pattern} is '{details}': an exponent is expected") from None
            if kind == "fiozipf" and exponent == 1.0:
                raise DriveError(f"details of {pattern} is '{details}': fio has no exponent of 1")
            return cls(kind, shuffled, exponent=exponent)
        if kind == "zones":
            try:
                zones = tuple((float(share), float(writes)) for share, writes in _ZONE.findall(details))
            except ValueError:
                zones = ()
            sums = [sum(column) for column in zip(*zones, strict=True)]
            # Not-a-number is near nothing.
            if not zones or min(map(min, zones)) < 0 or not all(abs(total - 1) <= 0.01 for total in sums):
                raise DriveError(
                    f"details of {pattern} is '{details}': shares of addresses and of writes that sum to 1 are "
                    "expected, e.g. 's0.95 f0.05 s0.05 f0.95'"
                )
            return cls(kind, shuffled, zones=zones)
        raise DriveError(
            f"there is no pattern '{pattern}'; there are uniform, sequential, zipf, fiozipf, zones and zns"
        )

    def __str__(self) -> str:
        return f"{self.name} {self.details}".rstrip()

    @property
    def name(self) -> str:
        """As the column `pattern` has it."""
        return f"{self.kind}{'-shuffle' if self.is_shuffled else ''}"

    @property
    def details(self) -> str:
        """As the column `details` has it."""
        if self.kind in ("zipf", "fiozipf"):
            return f"{self.exponent:g}"
        return " ".join(f"s{share:g} f{writes:g}" for share, writes in self.zones)

    @property
    def is_known(self) -> bool:
        """Whether its addresses can be drawn again.

        Those of fio cannot if another tool shuffled them once more, and zones are reset by discards that nobody lists.
        """
        return self.kind != "zns" and not (self.kind == "fiozipf" and self.is_shuffled)

    @property
    def is_skewed(self) -> bool:
        """Whether some addresses are written more often than others."""
        return self.kind in ("zipf", "fiozipf", "zones")

    def addresses(self, pages: int, count: int, random: np.random.Generator, *, ranks: int | None = None) -> np.ndarray:
        """Pages that are written one after the other; int64, shape (count,).

        Args:
            pages: how many are in use.
            count: how many are written.
            random: what draws them.
            ranks: pages in use on the drive that these stand for, if it has more: each page here is as popular as the
                ranks of that drive that fall to it. Without that, the first page of a small drive is too cold:
                with an exponent of 1, a third of the writes to 900 million pages go to the first thousand.
        """
        ranks = max(ranks or pages, pages)
        if self.kind == "sequential":
            order = random.permutation(pages) if self.is_shuffled else np.arange(pages)
            return np.resize(order, count).astype(np.int64)
        if self.kind == "uniform":
            return random.integers(0, pages, count)
        if self.kind == "zipf":
            found = _zipf(self.exponent, pages, ranks, count, random)
            return random.permutation(pages)[found] if self.is_shuffled else found
        drawn = (
            _fio_zipf(self.exponent, pages, ranks, count, random)
            if self.kind == "fiozipf"
            else self._zone_addresses(pages, count, random)
        )
        return random.permutation(pages)[drawn] if self.is_shuffled else drawn

    def _zone_addresses(self, pages: int, count: int, random: np.random.Generator) -> np.ndarray:
        shares, writes = (np.array(column) for column in zip(*self.zones, strict=True))
        ends = np.round(np.cumsum(shares) * pages).astype(np.int64)
        begins = np.concatenate([[0], ends[:-1]])
        zone = random.choice(len(shares), size=count, p=writes / writes.sum())
        return np.asarray(begins[zone] + (random.random(count) * (ends - begins)[zone]).astype(np.int64))


def _zipf(exponent: float, pages: int, ranks: int, count: int, random: np.random.Generator) -> np.ndarray:
    """Ranks from 0 drawn with probabilities proportional to (rank + 1)^-exponent, by `pages` groups of neighbours."""
    cumulative = _harmonic(np.arange(1, pages + 1) * ranks // pages, exponent)
    return np.asarray(np.searchsorted(cumulative, random.random(count) * cumulative[-1]), dtype=np.int64)


def _fio_zipf(exponent: float, pages: int, ranks: int, count: int, random: np.random.Generator) -> np.ndarray:
    """Addresses as fio draws them (`random_distribution=zipf`).

    Ranks are those of Gray et al. (SIGMOD 1994), 3.2. fio puts them anywhere by a product with the golden ratio, in 64
    bits and modulo the number of addresses, where several fall on one: two addresses in five are never written.
    """
    two, total = _harmonic(np.array([2, ranks]), exponent)
    eta = (1.0 - (2.0 / ranks) ** (1.0 - exponent)) / (1.0 - two / total)
    drawn = random.random(count)
    found = (ranks * (eta * drawn - eta + 1.0) ** (1.0 / (1.0 - exponent))).astype(np.uint64)
    found[drawn * total < two] = 1
    found[drawn * total < 1.0] = 0
    group = found * np.uint64(pages) // np.uint64(ranks)
    return np.asarray((group * _GOLDEN_RATIO) % np.uint64(pages), dtype=np.int64)


def _harmonic(ends: np.ndarray, exponent: float) -> np.ndarray:
    """Sums of k^-exponent for k from 1 to each of `ends`; from `_SUMMED` on by Euler and Maclaurin's formula."""
    first = np.cumsum(np.arange(1, _SUMMED + 1, dtype=float) ** -exponent)
    many = np.maximum(ends, _SUMMED).astype(float)
    if exponent == 1.0:
        integral = np.log(many / _SUMMED)
    else:
        integral = (many ** (1.0 - exponent) - _SUMMED ** (1.0 - exponent)) / (1.0 - exponent)
    beyond = integral + (many**-exponent - _SUMMED**-exponent) / 2.0
    return np.asarray(first[np.minimum(ends, _SUMMED) - 1] + beyond)
