"""Searches over several traces: settings compared by their gain on each of them, as ratios to a reference.

A figure of one trace says nothing beside that of another, so each is divided by what the reference, the first system
as it is, has on the same trace. Over the traces, the ratio of a setting is its geometric mean (as SPEC does it: which
system is the reference does not change the order), or its worst. Pure.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flashtwin.results.figures import Bound, Figure, keeps

Over = Literal["mean", "worst"]
#: The number of the trial that all others are compared with.
REFERENCE = 0

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """One setting, with its run on every trace."""

    number: int
    rows: Sequence[Row]
    #: For each figure asked for, its ratio to the reference over the traces.
    ratios: tuple[float, ...]
    kept: bool


def across(ratios: Iterable[float], figure: Figure, over: Over) -> float:
    """Ratios of one setting on several traces as one: their geometric mean, or the worst of them.

    >>> from flashtwin.results.figures import figure
    >>> across([0.5, 2.0], figure("read.p99"), "mean"), across([0.5, 2.0], figure("read.p99"), "worst")
    (1.0, 2.0)
    """
    several = list(ratios)
    if over == "worst":
        return min(several) if figure.more_is_better else max(several)
    return math.exp(sum(math.log(one) for one in several) / len(several)) if min(several) > 0 else 0.0


def ratio(row: Row, reference: Row, figure: Figure) -> float | None:
    """A row's figure by the reference's on the same trace; None where one of them has none, or the reference 0."""
    mine, its = row.get(figure.path), reference.get(figure.path)
    return None if mine is None or not its else float(mine) / float(its)


def trials(rows: Sequence[Row], wanted: Sequence[Figure], bounds: Sequence[Bound], over: Over) -> list[Trial]:
    """The trials that have every figure on every trace, in their order."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["trial"], []).append(row)
    first = groups.get(REFERENCE, [])
    found = []
    for number, mine in sorted(groups.items()):
        if len(mine) != len(first):
            continue
        pairs = list(zip(mine, first, strict=True))
        each = [[ratio(row, its, one) for row, its in pairs] for one in wanted]
        if all(value is not None for values in each for value in values):
            known = [[value for value in values if value is not None] for values in each]
            ratios = tuple(across(values, one, over) for values, one in zip(known, wanted, strict=True))
            found.append(Trial(number, mine, ratios, all(keeps(row, bounds) for row in mine)))
    return found


def best(found: Sequence[Trial], figure: Figure) -> Trial | None:
    """Of trials by one figure, the one with the best ratio that keeps the bounds; None without one."""
    return min((one for one in found if one.kept), key=lambda one: figure.cost(one.ratios[0]), default=None)


def with_ratios(rows: Sequence[Row], wanted: Sequence[Figure], over: Over) -> list[dict[str, Any]]:
    """The rows with two columns more for each figure: `ratio.FIELD` on the row's trace, `over.FIELD` over all."""
    of_trial = {
        one.path: {trial.number: trial.ratios[0] for trial in trials(rows, [one], (), over)} for one in wanted
    }  # fmt: skip
    references = {row["trace"]: row for row in rows if row["trial"] == REFERENCE}
    return [
        {
            **row,
            **{f"ratio.{one.path}": ratio(row, references[row["trace"]], one) for one in wanted},
            **{f"over.{one.path}": of_trial[one.path].get(row["trial"]) for one in wanted},
        }
        for row in rows
    ]
