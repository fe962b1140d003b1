"""Designed experiments: many factors varied at once, in few runs, and the effect of each of them.

One choice at a time would need a run for each level of each choice, and would say nothing of any other ground than
one. In a balanced design every level of a choice stands in equally many rows, beside all levels of the others. So each
row is another ground, and a least-squares fit tells the choices apart (Box, Hunter and Hunter, "Statistics for
Experimenters", chapters 5 to 7).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flashtwin.errors import ArgumentError
from flashtwin.settings import Value

#: A row of a design: the level of each factor.
Row = Mapping[str, str]


@dataclass(frozen=True)
class Factor:
    """A choice, and what may be chosen."""

    name: str
    #: Keys to set by level; the first level is the default.
    levels: Mapping[str, Mapping[str, Value]]

    @property
    def default(self) -> str:
        return next(iter(self.levels))

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(key for sets in self.levels.values() for key in sets)


def levels(key: str, *values: Value) -> dict[str, Mapping[str, Value]]:
    """Levels that are the values of one key, named by them.

    Example:
        >>> levels("engine.concurrency", "die", "chip")["chip"]
        {'engine.concurrency': 'chip'}
    """
    return {str(value): {key: value} for value in values}


_COPY = {"rr-ssd", "rr-ssd-online", "pblru"}
_DEDUPLICATE = {"ca-ssd", "caftl", "oracle", *_COPY}
#: Choices that only some designs look at, each with these designs: on all others its levels give equal results.
PARTIAL: tuple[tuple[Factor, set[str]], ...] = (
    (Factor("background jobs", levels("ftl.background.jobs", 4096, 64)), {"caftl", "ds-ftl", "rr-ssd-online", "pblru"}),
    (Factor("hash unit", {
        "1 lane": {"engine.hash_lanes": 1}, "16 lanes": {"engine.hash_lanes": 16}, "pipeline": {"engine.hash_lanes": 0},
    }), {*_DEDUPLICATE, "ds-ftl"}),
    # CAFTL is defined by its small store.
    (Factor("fingerprints", levels("ftl.dedup.fingerprint_entries", "unlimited", 65_536)), _DEDUPLICATE - {"caftl"}),
    (Factor("copies", {
        "one a read": {},
        "at most 2": {"ftl.replication.most_copies": 2},
        "for pages read twice": {"ftl.replication.least_popularity": 2},
        "one in four reads": {"ftl.replication.copies_per_read": 0.25},
        "popularity a sum": {"ftl.replication.score_popularity": "sum"},
        "dropped each period": {"ftl.replication.adjust_every": 1, "ftl.replication.class_pages": 256},
    }), _COPY),
    (Factor("spreading", {
        "in turn": {},
        "by load": {"ftl.spread.place": "least-loaded"},
        "own copy stays": {"ftl.spread.own_copy_counts": False},
        "small filters, one candidate": {
            "ftl.spread.bloom_bits_per_page": 6, "ftl.spread.bloom_hashes": 4, "ftl.spread.bloom_rebuild": 0.25,
            "ftl.spread.candidates": 1,
        },
    }), {"ds-ftl"}),
)  # fmt: skip


def defining_kept(system: str, keys: Mapping[str, Value]) -> dict[str, Value]:
    """The keys without those that define the system: the small fingerprint store of CAFTL."""
    own = {"ftl.dedup.fingerprint_entries"} if system == "caftl" else set()
    return {key: value for key, value in keys.items() if key not in own}


def balanced(factors: Sequence[Factor], rows: int, seed: int = 1, tries: int = 400) -> list[dict[str, str]]:
    """A design in which each level of a factor stands in equally many rows (one more or less).

    Of `tries` designs drawn at random it is the one with the largest determinant of its information matrix
    (D-optimality): the one whose factors are easiest to tell apart.

    Args:
        factors: the choices.
        rows: number of rows, more than there are levels in all.
        seed: of the draws; same factors, rows and seed, same design.
        tries: designs to draw.

    Raises:
        ArgumentError: there are too few rows to tell the factors apart.
    """
    least = 1 + sum(len(factor.levels) - 1 for factor in factors)
    if rows <= least:
        raise ArgumentError(f"{rows} rows are too few for {len(factors)} factors: {least + 1} are needed at least")
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = (
        np.stack([random.permutation(np.arange(rows) % len(factor.levels)) for factor in factors], axis=1)
        for _ in range(tries)
    )
    best = max(drawn, key=lambda places: _information(_coded(factors, places)))
    names = [list(factor.levels) for factor in factors]
    return [
        {factor.name: names[at][place] for at, (factor, place) in enumerate(zip(factors, row, strict=True))}
        for row in best
    ]


def sets_of(factors: Sequence[Factor], row: Row) -> dict[str, Value]:
    """The keys that a row sets; factors that it does not name keep their default."""
    sets: dict[str, Value] = {}
    for factor in factors:
        sets |= factor.levels[row.get(factor.name, factor.default)]
    return sets


@dataclass(frozen=True)
class Effects:
    """The effect of each level of each factor on a figure, from the mean over all rows.

    Example: `Effects({"wear": {"none": -0.1, "dynamic": 0.1}}, 0.02)`: the two differ by 0.2.
    """

    of: Mapping[str, Mapping[str, float]]
    #: Standard deviation that the factors by themselves leave unexplained; None where no row is left for it.
    residual: float | None

    def range_of(self, factor: str) -> float:
        """The difference between the highest and the lowest level."""
        levels = self.of[factor].values()
        return max(levels) - min(levels)

    def strongest(self) -> list[str]:
        """The factors, those that move the figure most first."""
        return sorted(self.of, key=lambda name: (-self.range_of(name), name))


def effects(factors: Sequence[Factor], rows: Sequence[Row], figures: Sequence[float | None]) -> Effects | None:
    """Main effects by least squares, over the rows that have a figure; None where they are too few to tell."""
    known = [(row, figure) for row, figure in zip(rows, figures, strict=True) if figure is not None]
    columns = 1 + sum(len(factor.levels) - 1 for factor in factors)
    if len(known) < columns:
        return None
    names = [list(factor.levels) for factor in factors]
    places = np.array([[names[at].index(row[factor.name]) for at, factor in enumerate(factors)] for row, _ in known])
    coded = _coded(factors, places)
    wanted = np.array([figure for _, figure in known])
    fit, _, rank, _ = np.linalg.lstsq(coded, wanted, rcond=None)
    if rank < columns:
        return None
    left = len(known) - columns
    error = float(np.sum((wanted - coded @ fit) ** 2))
    found, column = {}, 1
    for factor in factors:
        width = len(factor.levels) - 1
        others = [float(value) for value in fit[column : column + width]]
        found[factor.name] = dict(zip(factor.levels, [*others, -sum(others)], strict=True))
        column += width
    return Effects(found, math.sqrt(error / left) if left else None)


def _coded(factors: Sequence[Factor], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The model matrix in effect coding: a column of ones, and for each factor one column less than it has levels."""
    columns = [np.ones(len(places))]
    for at, factor in enumerate(factors):
        last = len(factor.levels) - 1
        columns += [
            (places[:, at] == level).astype(float) - (places[:, at] == last).astype(float) for level in range(last)
        ]
    return np.stack(columns, axis=1)


def _information(coded: NDArray[np.float64]) -> float:
    """Logarithm of the determinant of the information matrix; -inf where factors cannot be told apart."""
    sign, logarithm = np.linalg.slogdet(coded.T @ coded)
    return float(logarithm) if sign > 0 else -math.inf
