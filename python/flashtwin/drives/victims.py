"""How a drive chooses the blocks that it collects, from what skewed patterns amplify or how fast they are written."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import replace

from flashtwin.drives import history, measuring
from flashtwin.drives.tables import Measurements, pairs
from flashtwin.errors import DriveError
from flashtwin.replays.presets import System

#: Victim rules among which a fit chooses.
VICTIMS = ("greedy", "cost-benefit", "d-choices", "fifo")


def chosen_victim(
    drive: System, measured: Measurements, cost: measuring.Cost, used_gib: float, *, seed: int = 0
) -> tuple[str, Mapping[str, float]]:
    """The victim rule that comes nearest, and the mean error of each in percent.

    A skewed run tells by its amplification; where none was counted, by its rate beside that of uniform writes.

    Raises:
        DriveError: there is no skewed run.
    """
    overwritten = tuple(row for series in history.playable(measured.overwritten)
                        if any(one.pattern.is_skewed for one in series) for row in series)  # fmt: skip
    telling = replace(measured, overwritten=overwritten,
                      steady=tuple(row for row in measured.steady if row.pattern.is_skewed))  # fmt: skip
    errors = {}
    for victim in VICTIMS:
        rule = drive.with_sets({"ftl.gc.victim": victim})
        misses = list(_misses(telling, measuring.closed_loop(rule, telling, cost, used_gib, seed=seed)))
        if not misses:
            raise DriveError(
                "no run of a skewed pattern tells how victims are chosen; write one and read the drive's media counter "
                "(`nvme ocp smart-add-log`) before and after it"
            )
        errors[victim] = statistics.fmean(misses)
    return min(errors, key=errors.__getitem__), errors


def _misses(measured: Measurements, twin: Measurements) -> Iterator[float]:
    for row, found in pairs(measured.overwritten, twin.overwritten):
        if row.pattern.is_skewed:
            known, has = row.amplification, found.amplification
            yield _miss(row.writes_per_s, found.writes_per_s) if known is None or has is None else _miss(known, has)
    for steady, again in pairs(measured.steady, twin.steady):
        yield _miss(steady.writes_per_s, again.writes_per_s)


def _miss(known: float, found: float) -> float:
    return abs(found / known - 1.0) * 100.0
