"""What a write-back cache changes for the order of the systems.

Which system is ahead is often a matter of how soon a write is answered. So a study makes each run once more with a
cache (`flashtwin.replays.caching`), and this verdict stands beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.judgement.verdict import UNKNOWN, Verdict, joined
from flashtwin.results.reading import SavedRun, StudyFolder, as_number

TOPIC = "write cache"
#: What is shown of each run, without the cache and with it: requests and statistic.
SHOWN = (("all", "mean"), ("read", "mean"), ("write", "mean"), ("write", "p99"))

Figures = Mapping[str, float]


def write_cache(study: StudyFolder) -> Verdict | None:
    """Which system is the fastest with a cache and without it, and what it takes off a write; None of no runs."""
    found = study.write_cache
    if not found:
        return None
    runs = [run for run in study.runs if run.name in found["response"]]
    left = [run for run in study.runs if run.name in found["skipped"]]
    reasons = [f"`{run.label}` ({found['skipped'][run.name].rstrip('.')})" for run in left]
    skipped = f"Not made with a write cache: {', '.join(reasons)}." if left else ""
    figures: dict[str, float] = {}
    for run in runs:
        for kind, statistic in SHOWN:
            cached = as_number(found["response"][run.name].get(kind, {}).get(statistic))
            both = (("", run.number(f"response.{kind}.{statistic}_ns")), ("+cache", cached))
            figures |= {f"{run.name}{how}:response.{kind}.{statistic}_ns": ns for how, ns in both if ns is not None}
    sizes = set(found["bytes"].values())
    size = f"{found['pages']:,} pages{f' ({units.size(min(sizes))})' if len(sizes) == 1 else ''}"
    answer, claim = _order(size, runs, figures)
    reason = joined(_writes(runs, figures), skipped if claim else "")
    return Verdict(TOPIC, claim or skipped, answer, reason, figures, tuple(run.name for run in runs))


def times(figures: Figures, name: str) -> list[tuple[float | None, float | None]]:
    """What is shown of a run in ns, without the cache and with it; None where no request has one."""
    paths = [f"response.{kind}.{statistic}_ns" for kind, statistic in SHOWN]
    return [(figures.get(f"{name}:{path}"), figures.get(f"{name}+cache:{path}")) for path in paths]


def _order(size: str, runs: list[SavedRun], figures: Figures) -> tuple[str, str]:
    """The fastest system with the cache, and the claim."""
    timed: list[tuple[float, float, SavedRun]] = []
    for run in runs:
        before, after = times(figures, run.name)[0]
        if before is not None and after is not None:
            timed.append((before, after, run))
    if not timed:
        return UNKNOWN, ""
    # A bound is no design: it is ahead of nobody, unless there is nobody else.
    built = [one for one in timed if not one[2].is_ideal]
    built = built if len(built) > 1 else timed
    opening = f"With a write cache of {size}"
    if len(built) == 1:
        before, after, run = built[0]
        less = units.longer_or_shorter(facts.change(after, before) or 0.0)
        return run.name, f"{opening}, the mean response of `{run.label}` is {units.duration(after)}, {less}."
    first, best = min(built, key=lambda one: one[0])[2], min(built, key=lambda one: one[1])[2]
    befores, afters = [one[0] for one in built], [one[1] for one in built]
    before, after = (facts.change(max(column), min(column)) or 0.0 for column in (befores, afters))
    answer, order = best.name, f"`{best.label}` is the fastest instead of `{first.label}`"
    if units.unchanged(after):
        answer, order = "equal", f"{units.names([run.label for _, _, run in built])} are equal"
    elif best is first:
        order = f"`{best.label}` is the fastest, as without it"
    than = f"the slowest takes {units.percent(after)} longer than the fastest, without it {units.percent(before)}"
    return answer, f"{opening}, {order}: {than}."


def _writes(runs: list[SavedRun], figures: Figures) -> str:
    """What the cache does to the mean write of the systems, from the most to the least."""
    both = [times(figures, run.name)[2] for run in runs]
    changes = sorted(change for before, after in both if (change := facts.change(after, before)) is not None)
    ends = [units.change(change) for change in changes[:: max(len(changes) - 1, 1)]]
    return f"The mean write changes by {' to '.join(dict.fromkeys(ends))}." if ends else ""
