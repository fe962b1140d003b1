"""What a write-back cache changes: response times of each system with and without it, and the order of the systems.

Which system is ahead is often a matter of how soon a write is answered. So a study makes each run once more with a
cache (`flashtwin.replays.caching`); this says in a sentence or two what follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import SavedRun, StudyFolder, as_number

#: Systems whose means differ by no more than this, in percent, are called equal.
EQUAL_PERCENT = 1.0
#: Columns: title, second line, requests, statistic.
COLUMNS = (
    ("All", "mean", "all", "mean"),
    ("Read", "mean", "read", "mean"),
    ("Write", "mean", "write", "mean"),
    ("Write", "p99", "write", "p99"),
)
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class CachedRun:
    """A system's response times in ns, without the cache and with it, by the columns; None where no request has one."""

    run: SavedRun
    times: tuple[tuple[float | None, float | None], ...]

    @property
    def means(self) -> tuple[float, float] | None:
        """The mean of all requests, without the cache and with it; None where that is not known."""
        before, after = self.times[0]
        return None if before is None or after is None else (before, after)


@dataclass(frozen=True)
class WriteCache:
    """What a study found; empty where nobody looked."""

    #: As a sentence names it: `4,096 pages (16.0 MiB)`.
    size: str = ""
    rows: tuple[CachedRun, ...] = ()
    #: What it changes for the order of the systems, what it takes off, and which systems were left as they are.
    sentences: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For machines: by run, then by requests and statistic, ns without the cache and with it."""
        keys = [f"{kind}.{statistic}" for _, _, kind, statistic in COLUMNS]
        runs = {row.run.name: dict(zip(keys, map(list, row.times), strict=True)) for row in self.rows}
        return {"sentences": self.sentences, "runs": runs}


def write_cache(study: StudyFolder) -> WriteCache:
    """What a write-back cache changes for the systems of a study."""
    found = study.write_cache
    if not found:
        return WriteCache()
    response, skipped = found["response"], found["skipped"]
    rows = tuple(CachedRun(run, _times(run, response[run.name])) for run in study.runs if run.name in response)
    size = _size(found)
    told = [_order(rows, size, with_all=not skipped), _gain(rows)]
    left = [f"`{run.label}` ({skipped[run.name].rstrip('.')})" for run in study.runs if run.name in skipped]
    told.append(f"Not made with a write cache: {', '.join(left)}." if left else "")
    return WriteCache(size, rows, [sentence for sentence in told if sentence])


def _times(run: SavedRun, cached: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[float | None, float | None], ...]:
    return tuple(
        (run.number(f"response.{kind}.{statistic}_ns"), as_number(cached.get(kind, {}).get(statistic)))
        for _, _, kind, statistic in COLUMNS
    )


def _size(found: Mapping[str, Any]) -> str:
    pages, sizes = f"{found['pages']:,} pages", sorted(set(found["bytes"].values()))
    return f"{pages} ({units.size(sizes[0])})" if len(sizes) == 1 else pages


def _order(rows: Sequence[CachedRun], size: str, *, with_all: bool) -> str:
    """Whether the same system stays ahead; that all are equal comes before who is."""
    timed = [(row, row.means) for row in rows]
    means = [(row.run, *both) for row, both in timed if both is not None]
    if not means:
        return ""
    opening = f"With a write cache of {size}"
    if len(means) == 1:
        run, before, after = means[0]
        less = units.longer_or_shorter(facts.change(after, before) or 0.0)
        return f"{opening} the mean response of `{run.label}` is {units.duration(after)}, {less}."
    if _apart(after for _, _, after in means) <= EQUAL_PERCENT:
        who = _who([run.label for run, _, _ in means], with_all=with_all)
        return f"{opening} {who} are within {EQUAL_PERCENT:g} % of one another{_without(means)}."
    # A bound is no design: it is ahead of nobody, unless there is nobody else.
    built = [one for one in means if not one[0].is_ideal]
    built = built if len(built) > 1 else means
    best, _, time = min(built, key=lambda one: one[2])
    first, _, time_of_first = min(built, key=lambda one: one[1])
    behind = facts.change(time_of_first, time) or 0.0
    if units.unchanged(behind):
        told = f"`{first.label}` is the fastest, as without it"
    else:
        longer = f"{units.percent(behind)} longer"
        told = f"`{best.label}` is the fastest; `{first.label}`, the fastest without it, takes {longer}"
    apart = units.percent(_apart(after for _, _, after in built))
    return f"{opening} {told}. The slowest takes {apart} longer than the fastest{_without(built)}."


def _who(labels: Sequence[str], *, with_all: bool) -> str:
    if not with_all:
        return units.names(list(labels))
    if len(labels) == 2:
        return "both systems"
    return f"all {_NUMBERS[len(labels)] if len(labels) < len(_NUMBERS) else len(labels)} systems"


def _apart(means: Iterable[float]) -> float:
    """By how much the longest exceeds the shortest, in percent."""
    found = list(means)
    return facts.change(max(found), min(found)) or 0.0


def _without(means: Sequence[tuple[SavedRun, float, float]]) -> str:
    """How far they are apart without the cache, as the end of a sentence."""
    apart = _apart(before for _, before, _ in means)
    if apart <= EQUAL_PERCENT:
        return ", as without it"
    return f"; without it the slowest takes {units.percent(apart)} longer than the fastest"


def _gain(rows: Sequence[CachedRun]) -> str:
    """What the cache takes off the mean of writes."""
    found = sorted(change for row in rows if (change := facts.change(*reversed(row.times[2]))) is not None)
    if len(found) < 2:
        return ""
    most, least = found[0], found[-1]
    if least > -units.UNCHANGED_PERCENT:
        return f"It changes the mean write by {_range(units.change(most), units.change(least))}."
    return f"It takes {_range(units.percent(-least), units.percent(-most))} off the mean write."


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
