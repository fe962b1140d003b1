"""What can be computed from the results of several systems: changes, shares, who is compared with whom.

Pure functions on `SavedRun` and `StudyFolder`. A ratio whose parts are missing or whose
denominator is zero is None, never NaN. No wording here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashtwin.results.reading import Floats, SavedRun, StudyFolder, as_number
from flashtwin.results.trees import dig

Indices = NDArray[np.signedinteger[Any]]

#: The parts of a response time that are waiting, by what is waited for, in the order in which they are stacked.
WAITS = (
    ("queueing", "queueing at the chip"),
    ("channel_wait", "waiting for the channel"),
    ("hash_wait", "waiting for the hash unit"),
    ("other_wait", "other waiting"),
)
#: The parts that are service.
SERVICE = (
    ("hash", "hashing"),
    ("transfer", "transfer"),
    ("flash", "flash operation"),
    ("controller", "controller"),
)
PARTS = (*WAITS, *SERVICE)
#: Waits that the choice of a chip can shorten.
CHIP_WAITS = ("queueing", "channel_wait")

#: Causes of flash writes in the order of the summary, with the words for them.
CAUSES = (
    ("host", "host"),
    ("unique", "unique content"),
    ("missed_duplicate", "missed duplicate"),
    ("reborn", "reborn content"),
    ("gc", "garbage collection"),
    ("replica", "replica"),
    ("metadata", "metadata"),
    ("wear_levelling", "wear levelling"),
)

KINDS = (("read", "Reads"), ("write", "Writes"), ("all", "All requests"))


def change(new: float | None, old: float | None) -> float | None:
    """(new / old - 1) in percent; None when either is missing or old is zero."""
    if new is None or old is None or old == 0:
        return None
    return (new / old - 1.0) * 100.0


def share(part: float | None, whole: float | None) -> float | None:
    """Share of a whole: part / whole in percent; None when either is missing or whole is zero."""
    if part is None or whole is None or whole == 0:
        return None
    return part / whole * 100.0


def change_of(run: SavedRun, other: SavedRun, path: str) -> float | None:
    """The change in percent of a number of the summary, from `other` to `run`."""
    return change(run.number(path), other.number(path))


def mean(run: SavedRun, kind: str) -> float | None:
    """Mean response time in ns of `read`, `write`, `flush` or `all`; None when no such request completed."""
    if run.number(f"response.{kind}.count") == 0:
        return None
    return run.number(f"response.{kind}.mean_ns")


def split(run: SavedRun, kind: str) -> dict[str, float] | None:
    """The parts of the mean response time in ns; None when they were not recorded.

    Nor when only some of them were: waiting that is missing would be counted as service.
    """
    parts = {key: run.number(f"response.{kind}.split.{key}_ns") for key, _ in PARTS}
    known = {key: value for key, value in parts.items() if value is not None}
    return known if mean(run, kind) is not None and len(known) == len(PARTS) else None


def waiting_share(run: SavedRun, kind: str, waits: Collection[str] = ()) -> float | None:
    """The share of the mean response time that is waiting, or that the given waits are, in percent."""
    parts = split(run, kind)
    asked = waits or [key for key, _ in WAITS]
    return share(sum(parts[key] for key in asked), sum(parts.values())) if parts else None


def deduplicates(run: SavedRun) -> bool:
    """Whether the system looks at contents to save writes: by its configuration, else by what it did."""
    mapping = run.setting("ftl.mapping")
    if mapping is not None:
        return bool(mapping == "content")
    return run.count("ram.fingerprint_store_bytes") > 0 or run.count("page_ops.duplicate_writes") > 0


def looks_at_contents(run: SavedRun) -> bool:
    """Whether what the system does depends on contents: it removes duplicates, or spreads them."""
    return deduplicates(run) or run.setting("spread.policy") not in (None, "none")


def made_up_contents(run: SavedRun) -> str | None:
    """Where the contents came from that the system looked at, unless the trace recorded them."""
    source = dig(run.summary, "trace.content_source")
    made_up = isinstance(source, str) and source not in ("recorded", "none") and looks_at_contents(run)
    return source if made_up else None


def replicates(run: SavedRun) -> bool:
    """Whether the system may make replicas (even when it made none)."""
    policy = run.setting("replication.policy")
    if policy is not None:
        return bool(policy != "none")
    return run.count("replication.passes") > 0 or run.count("replication.copies") > 0


def no_pass_could_run(run: SavedRun) -> bool:
    """Whether the trace ended before the first period did, at whose end copies would have been made."""
    period, duration = as_number(run.setting("period_s")), run.number("duration_ns")
    by_period = run.setting("replication.policy") == "end-of-period"
    return by_period and period is not None and duration is not None and duration < period * 1e9


def redirects(run: SavedRun) -> bool:
    """Whether reads may be served by another chip than the content's home."""
    policy = run.setting("redirection.policy")
    if policy is not None:
        return bool(policy != "home")
    return run.is_ideal or replicates(run) or run.count("page_ops.redirected_reads") > 0


def closed_loop(run: SavedRun) -> bool:
    """Whether requests were issued as fast as they were answered, not at the trace's times."""
    return bool(as_number(run.setting("queue_depth")))


def arrivals_ns(run: SavedRun) -> float | None:
    """How long the arrivals last on the device's clock: the trace's duration over the replay's speed."""
    duration, speed = run.number("duration_ns"), as_number(run.setting("replay.speed")) or 1.0
    return None if duration is None else duration / speed


def reference(study: StudyFolder) -> SavedRun:
    """What redirection is compared with: `ca-ssd` as in the RR-SSD paper, else the baseline."""
    return study.run_of("ca-ssd") or study.baseline


def subjects(study: StudyFolder) -> tuple[SavedRun, ...]:
    """The runs that are compared with `reference`: those that redirect reads, else all the others."""
    others = study.others(reference(study))
    return tuple(run for run in others if redirects(run)) or others


def redirected_share(run: SavedRun) -> float | None:
    """Page reads served from another chip, in percent of all page reads."""
    return share(run.number("page_ops.redirected_reads"), run.number("page_ops.read"))


def replica_share(run: SavedRun) -> float | None:
    """Pages programmed for replicas, in percent of all pages programmed."""
    return share(run.number("flash_writes.replica"), run.number("pages_programmed"))


def duplicate_share(run: SavedRun) -> float | None:
    """Page writes that brought a content the device held, in percent of all page writes."""
    return share(run.number("page_ops.duplicate_writes"), run.number("page_ops.write"))


def life_used(run: SavedRun) -> float | None:
    """Share of the device's erase cycles that the run used, in percent, on average over its blocks."""
    return run.number("erases.life_used_percent")


@dataclass(frozen=True)
class Queues:
    """Queue length per chip over time: `mean[chip, bin]`; one row a chip, one column a time bin."""

    start_ns: Floats
    width_ns: Floats
    chips: Floats
    mean: Floats
    longest: Floats

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


@dataclass(frozen=True)
class HashQueue:
    """Pages waiting for the hash unit and in it, by time bin."""

    start_ns: Floats
    width_ns: Floats
    mean: Floats


def hash_queue(run: SavedRun) -> HashQueue | None:
    """The table `hash_queue_over_time`; None for a system that does not hash."""
    table = run.table("hash_queue_over_time")
    if table is None:
        return None
    start, width, level = table.get("start_ns"), table.get("width_ns"), table.get("queue_mean")
    if start is None or width is None or level is None:
        return None
    return HashQueue(start, width, np.nan_to_num(level))


def queues(run: SavedRun) -> Queues | None:
    """The table `queue_over_time` as a matrix; bins or chips without a row had an empty queue."""
    table = run.table("queue_over_time")
    if table is None:
        return None
    start, chip, level = table.get("start_ns"), table.get("chip"), table.get("queue_mean")
    if start is None or chip is None or level is None:
        return None
    bins, column = np.unique(start, return_inverse=True)
    chips, row = np.unique(chip, return_inverse=True)
    matrix = np.zeros((chips.size, bins.size))
    matrix[row, column] = np.nan_to_num(level)
    longest = np.zeros_like(matrix)
    peak = table.get("queue_max")
    longest[row, column] = np.nan_to_num(level if peak is None else peak)
    width = table.get("width_ns")
    step = np.zeros(bins.size)
    if width is not None:
        step[column] = np.nan_to_num(width)
    elif bins.size > 1:
        step[:] = np.median(np.diff(bins))
    step[step <= 0] = 1.0
    return Queues(bins, step, chips, matrix, longest)


def mean_queue(run: SavedRun) -> float | None:
    """Mean queue length per chip over the whole run; None when it was not recorded."""
    table = run.table("chips")
    column = table.get("queue_mean") if table is not None else None
    if column is not None:
        return float(np.nanmean(column))
    over_time = queues(run)
    return float(over_time.mean.mean()) if over_time is not None else None


@dataclass(frozen=True)
class Periods:
    """Rows of the table `periods` that two runs share, as arrays over `period`."""

    period: Floats
    new: Floats
    old: Floats

    @property
    def improvement(self) -> Floats:
        """How much shorter the mean response is than the reference's, in percent; NaN where undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = (1.0 - self.new / self.old) * 100.0
        return np.where(np.isfinite(value), value, np.nan)


def by_period(run: SavedRun, other: SavedRun, column: str) -> Periods | None:
    """One column of both runs' periods, for the periods that both have."""
    mine, theirs = run.table("periods"), other.table("periods")
    if mine is None or theirs is None:
        return None
    values = [table.columns.get(name) for table in (mine, theirs) for name in ("period", column)]
    if any(value is None for value in values):
        return None
    period, new, other_period, old = (np.asarray(value) for value in values)
    shared, left, right = np.intersect1d(period, other_period, return_indices=True)
    if shared.size == 0 or not same_periods(mine.get("start_ns"), theirs.get("start_ns"), left, right):
        return None
    return Periods(shared, new[left], old[right])


def same_periods(mine: Floats | None, theirs: Floats | None, left: Indices, right: Indices) -> bool:
    """Whether the shared periods begin at the same times (runs with another `period_s` do not)."""
    if mine is None or theirs is None:
        return True
    return bool(np.array_equal(mine[left], theirs[right]))
