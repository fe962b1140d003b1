"""Pure computations on results. A ratio whose parts are missing or whose denominator is zero is None, never NaN."""

from collections.abc import Mapping
from typing import Any

from flashtwin import units
from flashtwin.results.reading import SavedRun, StudyFolder
from flashtwin.results.trees import as_number, dig

#: The parts of a response time that are waiting, by the resource waited for, in the order in which they are stacked.
WAITS = (
    ("queueing", "queueing at the chips"), ("channel_wait", "waiting for the channels"),
    ("hash_wait", "waiting for the hash unit"), ("other_wait", "other waiting"),
)  # fmt: skip
PARTS = (
    *WAITS, ("hash", "hashing"), ("transfer", "transfer"), ("flash", "flash operations"),
    ("controller", "controller time"),
)  # fmt: skip
#: Causes of flash writes in the order of the summary, with the words for them.
CAUSES = (
    ("host", "host"), ("unique", "unique content"), ("missed_duplicate", "missed duplicate"),
    ("reborn", "reborn content"), ("gc", "garbage collection"), ("replica", "replica"), ("metadata", "metadata"),
    ("wear_levelling", "wear levelling"), ("padding", "padding"), ("parity", "parity"),
)  # fmt: skip
KINDS = (("read", "Reads"), ("write", "Writes"), ("all", "All requests"))

#: A replay that ends this much later than its trace, in time and in ns, could not keep up. Ours.
LATE_FACTOR, LATE_NS = 1.1, 50_000_000


def late_by(numbers: Mapping[str, Any]) -> float | None:
    """How many times as long as its trace a run took; None where it kept up, or its loop is closed."""
    lasted, ended = numbers.get("duration_ns"), numbers.get("completed_ns")
    planned_ns = (lasted or 0.0) / (numbers.get("config.replay.speed") or 1.0)
    late = planned_ns and ended and ended > LATE_FACTOR * planned_ns + LATE_NS
    return ended / planned_ns if late and ended and not numbers.get("config.replay.queue_depth") else None


#: What happened, of all that a summary says: sizes of tables follow from keys without anything happening.
_HAPPENED = ("response.", "pages_programmed", "completed_ns", "erases.total")


def happened(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in sorted(numbers.items()) if key.startswith(_HAPPENED) and value}


def change(new: float | None, old: float | None) -> float | None:
    """(new / old - 1) in percent; None when either is missing or old is zero."""
    return None if new is None or old is None or old == 0 else (new / old - 1.0) * 100.0


def share(part: float | None, whole: float | None) -> float | None:
    """Share of a whole: part / whole in percent; None when either is missing or whole is zero."""
    return None if part is None or whole is None or whole == 0 else part / whole * 100.0


def gains(change: float | None) -> bool:
    """Whether a change in percent makes a time shorter by enough to be called so."""
    return change is not None and change < 0 and not units.unchanged(change)


def loses(change: float | None) -> bool:
    return gains(None if change is None else -change)


def known(figures: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if value is not None}


def change_of(run: SavedRun, other: SavedRun, path: str) -> float | None:
    return change(run.number(path), other.number(path))


def share_of(run: SavedRun, part: str, whole: str) -> float | None:
    return share(run.number(part), run.number(whole))


def mean(run: SavedRun, kind: str) -> float | None:
    """Mean response time in ns of `read`, `write`, `flush` or `all`; None when no such request completed."""
    return None if run.number(f"response.{kind}.count") == 0 else run.number(f"response.{kind}.mean_ns")


def split(run: SavedRun, kind: str) -> dict[str, float] | None:
    """The parts of the mean response time in ns; None when not all of them were recorded."""
    parts = known({key: run.number(f"response.{kind}.split.{key}_ns") for key, _ in PARTS})
    return parts if mean(run, kind) is not None and len(parts) == len(PARTS) else None


def waiting_share(run: SavedRun, kind: str) -> float | None:
    parts = split(run, kind)
    return share(sum(parts[key] for key, _ in WAITS), sum(parts.values())) if parts else None


def made_up_contents(*runs: SavedRun) -> str | None:
    """Where the contents came from that a system looked at, unless the trace recorded them."""
    looking = [run for run in runs if "looks-at-contents" in run.traits]
    sources = [source for run in looking if isinstance(source := dig(run.summary, "trace.content_source"), str)]
    return next((source for source in sources if source not in ("recorded", "none")), None)


def no_pass_could_run(run: SavedRun) -> bool:
    """Whether the trace ended before the first period did, at whose end copies would have been made."""
    period_s, duration_ns = as_number(run.setting("replay.period_s")) or 0.0, run.number("duration_ns")
    return "copies-at-period-ends" in run.traits and duration_ns is not None and duration_ns < period_s * 1e9


def reference(study: StudyFolder) -> SavedRun:
    """The reference of copies and of a choice of chips: the first run that only deduplicates, else the baseline."""
    plain = [run for run in study.runs if "deduplicates" in run.traits and not {"redirects", "replicates"} & run.traits]
    return next(iter(plain), study.baseline)


def subjects(study: StudyFolder) -> tuple[SavedRun, ...]:
    """The runs that are compared with `reference`: those that redirect reads, else all the others."""
    others = study.others(reference(study))
    return tuple(run for run in others if "redirects" in run.traits) or others
