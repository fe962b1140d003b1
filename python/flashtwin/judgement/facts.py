"""What can be computed from the results of several systems: changes, shares, who is compared with whom.

Pure functions on `SavedRun` and `StudyFolder`. A ratio whose parts are missing or whose
denominator is zero is None, never NaN. No wording here.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from flashtwin import units
from flashtwin.results.reading import SavedRun, StudyFolder, as_number
from flashtwin.results.trees import dig

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
    ("padding", "padding"),
    ("parity", "parity"),
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
    """Whether the system looks contents up to save writes."""
    return "deduplicates" in run.traits


def replicates(run: SavedRun) -> bool:
    """Whether the system may make replicas (even when it made none)."""
    return "replicates" in run.traits


def redirects(run: SavedRun) -> bool:
    """Whether reads may be served by another chip than the content's home."""
    return "redirects" in run.traits


def made_up_contents(*runs: SavedRun) -> str | None:
    """Where the contents came from that a system looked at, unless the trace recorded them."""
    looking = [run for run in runs if "looks-at-contents" in run.traits]
    sources = [source for run in looking if isinstance(source := dig(run.summary, "trace.content_source"), str)]
    return next((source for source in sources if source not in ("recorded", "none")), None)


def no_pass_could_run(run: SavedRun) -> bool:
    """Whether the trace ended before the first period did, at whose end copies would have been made."""
    period, duration = as_number(run.setting("replay.period_s")), run.number("duration_ns")
    return (
        "copies-at-period-ends" in run.traits
        and period is not None
        and duration is not None
        and duration < period * 1e9
    )


def closed_loop(run: SavedRun) -> bool:
    """Whether requests were issued as fast as they were answered, not at the trace's times."""
    return bool(as_number(run.setting("replay.queue_depth")))


def arrivals_ns(run: SavedRun) -> float | None:
    """How long the arrivals last on the device's clock: the trace's duration over the replay's speed."""
    duration, speed = run.number("duration_ns"), as_number(run.setting("replay.speed")) or 1.0
    return None if duration is None else duration / speed


def designs(study: StudyFolder) -> tuple[SavedRun, ...]:
    """The runs that could be built; the others are bounds."""
    return tuple(run for run in study.runs if not run.is_ideal)


def without(study: StudyFolder, trait: str) -> SavedRun | None:
    """What a trait is judged against: the baseline if it has it not, else the first design that has not."""
    plain = [run for run in (study.baseline, *designs(study)) if trait not in run.traits and not run.is_ideal]
    return next(iter(plain), None)


def gains(change: float | None) -> bool:
    """Whether a change of a time, in percent, makes it shorter by enough to be called so."""
    return change is not None and change < 0 and not units.unchanged(change)


def loses(change: float | None) -> bool:
    """Whether a change of a time, in percent, makes it longer by enough to be called so."""
    return change is not None and change > 0 and not units.unchanged(change)


def reference(study: StudyFolder) -> SavedRun:
    """What copies and a choice of chips are compared with: the first run that only deduplicates, else the baseline."""
    plain = (run for run in study.runs if deduplicates(run) and not (redirects(run) or replicates(run)))
    return next(plain, study.baseline)


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


def mean_queue(run: SavedRun) -> float | None:
    """Mean queue length per chip over the whole run; None when it was not recorded."""
    table = run.table("chips")
    column = table.get("queue_mean") if table is not None else None
    return None if column is None else float(np.nanmean(column))
