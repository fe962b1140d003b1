"""Tables as arrays that charts draw: curves, queues by chip and time, the hash unit's queue, figures by period.

A ratio whose parts are missing or whose denominator is zero is NaN in an array and None alone. No wording here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flashtwin.results.reading import Floats, SavedRun, SavedTable

Curve = tuple[Floats, Floats]


def columns(table: SavedTable | None, *names: str) -> list[Floats] | None:
    """Columns of a table; None without a table, or where it lacks one of them."""
    found = [values for name in names if table is not None and (values := table.get(name)) is not None]
    return found if len(found) == len(names) else None


def curve(table: SavedTable | None, x: str, y: str) -> Curve | None:
    """Two columns as a curve in ascending order of x, without the points where either is missing."""
    known = columns(table, x, y)
    if known is None:
        return None
    a, b = known
    keep = np.isfinite(a) & np.isfinite(b)
    if not keep.any():
        return None
    order = np.argsort(a[keep], kind="stable")
    return a[keep][order], b[keep][order]


def curves(table: SavedTable | None, by: str, names: Iterable[str], x: str, y: str) -> dict[str, Curve]:
    """The curve of the rows of each name in the column `by`, of those that have one."""
    found = {name: curve(table.where(by, name), x, y) for name in names} if table is not None else {}
    return {name: one for name, one in found.items() if one is not None}


def first_at(x: Floats, y: Floats, level: float) -> float | None:
    """The first x at which an ascending curve is at `level` or above; None when it stays below."""
    reached = np.flatnonzero(y >= level)
    return float(x[reached[0]]) if reached.size else None


def column_or_gaps(table: SavedTable, name: str) -> Floats:
    """A column; NaN in every row where the table has none of that name."""
    return table.columns.get(name, np.full(table.rows, np.nan))


@dataclass(frozen=True)
class Queues:
    """Queue length per chip over time: `mean[chip, bin]`; one row a chip, one column a time bin."""

    start_ns: Floats
    width_ns: Floats
    chips: Floats
    mean: Floats

    @property
    def spread(self) -> tuple[Floats, Floats, Floats]:
        """Minimum, mean and maximum over the chips, per time bin."""
        return self.mean.min(axis=0), self.mean.mean(axis=0), self.mean.max(axis=0)

    @property
    def imbalance(self) -> float | None:
        """How many times the average chip's queue the longest one is, averaged over time by load.

        None when all queues were empty. 1 means perfectly even.
        """
        _, average, longest = self.spread
        return float(longest.sum() / average.sum()) if average.sum() > 0 else None


def hash_queue(run: SavedRun) -> Curve | None:
    """Edges of time bins, and the pages waiting for the hash unit or in it; None for a system that does not hash."""
    known = columns(run.table("hash_queue_over_time"), "start_ns", "width_ns", "queue_mean")
    return None if known is None else (np.append(known[0], known[0][-1] + known[1][-1]), np.nan_to_num(known[2]))


def queues(run: SavedRun) -> Queues | None:
    """The table `queue_over_time` as a matrix; bins or chips without a row had an empty queue."""
    table = run.table("queue_over_time")
    known = columns(table, "start_ns", "chip", "queue_mean")
    if table is None or known is None:
        return None
    start, chip, level = known
    bins, column = np.unique(start, return_inverse=True)
    chips, row = np.unique(chip, return_inverse=True)
    matrix = np.zeros((chips.size, bins.size))
    matrix[row, column] = np.nan_to_num(level)
    width = table.get("width_ns")
    step = np.zeros(bins.size)
    if width is not None:
        step[column] = np.nan_to_num(width)
    elif bins.size > 1:
        step[:] = np.median(np.diff(bins))
    step[step <= 0] = 1.0
    return Queues(bins, step, chips, matrix)


def by_period(run: SavedRun, other: SavedRun, column: str) -> Curve | None:
    """Periods that both runs have, and how much shorter the first one's figure is than the other's (percent or NaN)."""
    mine, theirs = run.table("periods"), other.table("periods")
    if mine is None or theirs is None:
        return None
    values = [table.columns.get(name) for table in (mine, theirs) for name in ("period", column)]
    if any(value is None for value in values):
        return None
    period, new, other_period, old = (np.asarray(value) for value in values)
    shared, left, right = np.intersect1d(period, other_period, return_indices=True)
    starts, others = mine.get("start_ns"), theirs.get("start_ns")
    # Runs with another `period_s` have other periods of the same numbers.
    if starts is not None and others is not None and not np.array_equal(starts[left], others[right]):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        shorter = (1.0 - new[left] / old[right]) * 100.0
    return (shared, np.where(np.isfinite(shorter), shorter, np.nan)) if shared.size else None
