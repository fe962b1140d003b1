"""From the measurements of a drive to its twin: closed forms by stages, then the twin is measured and mended.

The second step is indirect inference (Gourieroux, Monfort, Renault, J. Applied Econometrics 8, 1993): the law of reads
is fitted to the percentiles of the twin as it was to those of the drive, and a key moves by the difference of the two.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flashtwin.drives import (
    front_end,
    history,
    knee,
    laws,
    measuring,
    parallelism,
    reads,
    resuming,
    spare,
    twin,
    victims,
)
from flashtwin.drives.drive import (
    BUS_MT_S,
    COMMAND_NS,
    MAPPING_BYTES,
    METADATA_BYTES,
    FittedDrive,
    conventional,
    flash_array,
    sensing_share,
)
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.laws import ReadLaw
from flashtwin.drives.tables import FITTED, Measurements, OpenLoop, pairs
from flashtwin.errors import DriveError
from flashtwin.progress import Notify

#: Rounds of measuring the twin; before each but the first, the keys of reads move.
ROUNDS = 4
#: Keys that move beside the time of a flash read; slopes below this share of the greatest are noise; the longest step.
_SUSPENSION = ("engine.suspend_us", "engine.suspend_slice_us")
_LEAST_SLOPE, _LONGEST_STEP_US = 0.1, 40.0
#: Mean logarithm by which percentiles are off that more rounds do not better: it is that of another seed.
_NEAR = 0.015
#: Steps by which the rate is brought near, and how near: a rate moves by less than tPROG does, as dies read as well.
_RATE_STEPS, _RATE_GOOD, _RATE_POWER = 6, 0.01, 1.1
#: Most that one step may lengthen tPROG by, as a factor.
_RATE_STEP = 1.5
#: Pages of power-protected RAM behind which a write is complete: no table of these tells how many there are.
BUFFER_PAGES = 4096
#: Types of flash page that decide the share of fast ones, or spread the times of an idle die by more than this share.
_PAGE_TYPES, _EVEN = 12, 0.05


def fit_drive(measured: Measurements, note: Notify = lambda _: None, *, seed: int = 0) -> FittedDrive:
    """The twin of a drive.

    Args:
        measured: measurements of the drive; the open loop at two rates below its saturation at least.
        note: called with each step.
        seed: of the loads on the twin.

    Raises:
        DriveError: the measurements do not tell enough; the message names the experiment that would.
    """
    if not measured.open_loop:
        raise DriveError(
            f"{measured.drive}: no response times at offered rates (`latency.csv`), which tell how "
            "reads and programs meet; a fit needs them at two rates at least"
        )
    note("space and overhead")
    estimates = Estimates([*spare.spare(measured), *parallelism.estimates(measured)])
    saturated = knee.saturated(measured)
    note("reads")
    used = max(row.fill_gib for row in measured.open_loop)
    idle = _idle(measured)
    idle_us = idle.base_us if idle is not None else min(row.read_us["50p"] for row in measured.open_loop)
    # Reads for collection follow from the amplification; where it was not measured, no percentile of reads is theirs.
    is_known = estimates[spare.SPACE].is_measured
    sensing = sensing_share(estimates, saturated.number, used, idle_us) if is_known else 0.0
    law, figures = reads.read_law(measured.open_loop, saturated.number, None, idle, sensing)
    estimates = estimates.with_all(
        [saturated, *figures, *controller(measured), *front_end.front_end(front_end.telling(measured.open_loop))]
    )
    estimates = estimates.with_all(_read_times(law, estimates))
    estimates = estimates.with_all(flash_array(estimates, saturated, used))
    note("write amplification")
    estimates = estimates.with_all(_victim(measured, estimates, used, seed))
    estimates = estimates.with_all(_mended_space(measured, estimates, seed))
    estimates = estimates.with_all(flash_array(estimates, saturated, used))
    estimates = estimates.with_all(_writes_alone(measured, estimates, used, seed))
    estimates = _refined(estimates, measured, law, idle, note, seed)
    rates = ", ".join(f"{row.offered_per_s / 1e3:g}" for row in measured.open_loop)
    return FittedDrive(measured.drive, estimates, f"open loop at {rates} thousand requests/s")


def predicted(drive: FittedDrive, asked: Measurements, note: Notify = lambda _: None, *, seed: int = 1) -> Measurements:
    """The rows that are asked for, as the twin of a fitted drive has them; another seed than that of the fit."""
    return measuring.measure(drive.system, asked, note, seed=seed)


def every_other(measured: Measurements) -> Measurements:
    """Half of the rows: every other rate and pattern, and of uniform writes the least and the greatest fill."""
    fills = sorted({row.fill_gib for row in measured.overwritten if row.pattern.kind == "uniform"})
    kept = {fills[0], fills[-1]} if fills else set()
    skewed = [row for row in measured.overwritten if row.pattern.is_skewed and row.pattern.is_known][::2]
    series = {row.series for row in skewed}
    return replace(
        measured,
        open_loop=measured.open_loop[::2],
        overwritten=tuple(
            row for row in measured.overwritten
            if (row in skewed if row.pattern.is_skewed else row.fill_gib in kept or row.series in series)
        ),
        steady=measured.steady[::2],
    )  # fmt: skip


def controller(measured: Measurements) -> list[Estimate]:
    """Keys of the controller in any design: RAM behind which writes are complete, and suspension."""
    below = [row.write_us["50p"] for row in measured.open_loop if row.is_reached and "50p" in row.write_us]
    known = bool(below)
    time_us = min(below) if below else 10.0
    source = "median of writes at light load" if known else "usual: no response times of writes"
    usual = "usual for drives with power-loss protection"
    return [
        Estimate("engine.controller_us", time_us, "us", min(below, default=None), max(below, default=None), source,
                 known),
        Estimate("engine.write_completes", "buffered", source=usual, is_measured=False),
        Estimate("engine.write_buffer_pages", BUFFER_PAGES, source=usual, is_measured=False),
        Estimate("engine.write_cache_us", 0.0, "us", source="part of controller_us", is_measured=known),
        Estimate("engine.write_cache_protected", value=True, source=usual, is_measured=False),
        Estimate("engine.buffer_reads", value=True, source=usual, is_measured=False),
        # That RAM is all the cache there is, and the planes of a die are one plane.
        Estimate("engine.write_cache_pages", 0, source=usual, is_measured=False),
        Estimate("engine.multi_plane", "none", source=usual, is_measured=False),
        Estimate("engine.reads_before_urgent", value=True, source=usual, is_measured=False),
        Estimate("engine.collection_in_turn", value=True, source=usual, is_measured=False),
        Estimate("engine.suspend", "program-erase", source="tails of reads beside writes"),
        Estimate("engine.suspend_times", 0, source=usual, is_measured=False),
        Estimate("engine.suspend_reads", 1_000_000, source=usual, is_measured=False),
    ]  # fmt: skip


def _idle(measured: Measurements) -> reads.IdleReads | None:
    """What reads one at a time tell of flash pages; None where there are none, or pages of more than two types."""
    alone = measured.alone_of("read")
    modes = alone.times.modes() if alone is not None else ()
    if len(modes) == 1:
        return reads.IdleReads(modes[0].time_us)
    if len(modes) == 2:
        return reads.IdleReads(modes[0].time_us, modes[0].share, modes[1].time_us - modes[0].time_us)
    return None


def _read_times(law: ReadLaw, estimates: Estimates) -> list[Estimate]:
    """The time of a flash read, from the time of a read on an idle die."""
    transfer_us = (MAPPING_BYTES + METADATA_BYTES) / BUS_MT_S
    known = estimates["idle_read_us"]
    rest = estimates.number("engine.controller_us") + transfer_us + COMMAND_NS / 1e3
    fast = max(law.base_us - rest, 1.0)
    mean = fast + (1.0 - law.fast_share) * law.slower_us
    # The interval is that of an idle die's time, which a fast page gives.
    low, high = (None if end is None else max(end - law.base_us + mean, 0.0) for end in (known.low, known.high))
    found = [Estimate("nand.read_us", round(mean, 2), "us", low, high, known.source)]
    types: list[float] = []
    if law.slower_us > 0:
        few = round(law.fast_share * _PAGE_TYPES)
        types = [fast] * few + [fast + law.slower_us] * (_PAGE_TYPES - few)
    elif law.jitter > _EVEN:
        types = [max(fast + time - law.base_us, 1.0) for time in law.idle_quantiles(_PAGE_TYPES).tolist()]
    if types:
        rounded = [round(time, 2) for time in types]
        found.append(Estimate("nand.read_types_us", rounded, "us", source="rise of the median of reads"))
    return found


def _victim(measured: Measurements, estimates: Estimates, used_gib: float, seed: int) -> list[Estimate]:
    drive, cost = conventional(estimates), _cost(estimates, used_gib)
    try:
        victim, errors = victims.chosen_victim(drive, measured, cost, used_gib, seed=seed)
    except DriveError:
        unknown = "no skewed pattern: usual"
        return [Estimate("ftl.gc.victim", "greedy", source=unknown, is_measured=False)]
    told = ", ".join(f"{name} {error:.0f} %" for name, error in sorted(errors.items(), key=lambda one: one[1]))
    return [Estimate("ftl.gc.victim", victim, source=f"skewed patterns; mean error of each: {told}")]


def _cost(estimates: Estimates, used_gib: float) -> measuring.Cost:
    """The time that writes take of the dies, from the saturated rate of uniform ones."""
    amplified = float(laws.amplification(estimates.number(spare.SPACE), used_gib))
    return measuring.Cost(conventional(estimates), estimates.number(knee.SATURATED), amplified)


def _mended_space(measured: Measurements, estimates: Estimates, seed: int) -> list[Estimate]:
    """Space and overhead, corrected by the difference between the twin's amplification and the law of FIFO."""
    known = spare.telling(measured)
    series = [rows for rows in history.playable(measured.overwritten) if any(row in known for row in rows)]
    rows = replace(measured, overwritten=tuple(itertools.chain.from_iterable(series)), steady=())
    drive = conventional(estimates)
    played = measuring.closed_loop(drive, rows, measuring.Cost(drive, 1.0, 1.0), 0.0, seed=seed)
    both = [
        (row, found)
        for row, found in pairs(rows.overwritten, played.overwritten)
        if row in known and row.amplification and found.amplification
    ]
    return spare.mended(estimates, *zip(*both, strict=True)) if both else []


def _writes_alone(measured: Measurements, estimates: Estimates, used_gib: float, seed: int) -> list[Estimate]:
    # Without a rate among reads there is nothing to compare, and patterns take a quarter of a minute.
    if not measured.saturated:
        return []
    drive, cost = conventional(estimates), _cost(estimates, used_gib)
    played = measuring.closed_loop(drive, measured, cost, used_gib, seed=seed)
    return resuming.writes_alone(measured, played, estimates[knee.SATURATED])


def _answers(estimates: Estimates, measured: Measurements, seed: int) -> tuple[OpenLoop, ...]:
    """The twin under the loads below the knee, and under one that saturates it."""
    rows = knee.below(measured.open_loop, estimates.number(knee.SATURATED))
    saturated = front_end.telling(measured.open_loop)
    little, space = twin.small(conventional(estimates)), estimates.number(spare.SPACE)
    return tuple(
        twin.open_loop(little, row, space, seed=seed)
        for row in [*rows, *([saturated] if saturated is not None else [])]
    )


def _distance(rows: Sequence[OpenLoop], answers: Sequence[OpenLoop]) -> float:
    """Mean of the logarithms by which percentiles of reads are off."""
    misses = [
        abs(math.log(found.read_us[name] / row.read_us[name]))
        for row, found in pairs(rows, answers)
        for name in (FITTED if row.is_reached else FITTED[:1])
        if name in found.read_us and name in row.read_us
    ]
    return statistics.fmean(misses)


def _refined(
    estimates: Estimates, measured: Measurements, law: ReadLaw, idle: reads.IdleReads | None, note: Notify, seed: int
) -> Estimates:
    """The estimates whose twin, measured as the drive was, comes nearest."""
    used, saturated = max(row.fill_gib for row in measured.open_loop), estimates.number(knee.SATURATED)
    tried: list[_TwinTrial] = []
    for round_ in range(ROUNDS):
        note(f"the twin, round {round_ + 1} of {ROUNDS}")
        estimates = _saturated(_next(tried, law, measured) if tried else estimates, measured, used, seed)
        answers = _answers(estimates, measured, seed)
        found, _ = reads.read_law(answers, saturated, law, idle, law.sensing)
        tried.append(_TwinTrial(estimates, found, _distance(measured.open_loop, answers), answers))
        if tried[-1].distance < _NEAR:
            break
    # What two keys do alike no step tells apart: a later round is not always nearer.
    return min(tried, key=lambda one: one.distance).estimates


@dataclass(frozen=True)
class _TwinTrial:
    """A twin, the law's fit to its reads, and the distance of these from the drive's."""

    estimates: Estimates
    law: ReadLaw
    distance: float
    answers: tuple[OpenLoop, ...]

    @property
    def keys(self) -> np.ndarray:
        """Suspend delay and slice."""
        return np.array([self.estimates.number(key) for key in _SUSPENSION])


def _next(tried: Sequence[_TwinTrial], law: ReadLaw, measured: Measurements) -> Estimates:
    """What the next twin is to be: the keys of reads moved, and a smaller program unit where waits ask for it."""
    estimates, saturated = _moved_reads(tried, law), front_end.telling(tried[-1].answers)
    if saturated is None:
        return estimates
    return estimates.with_all(front_end.smaller_unit(estimates, measured.open_loop, saturated))


def _moved_reads(tried: Sequence[_TwinTrial], law: ReadLaw) -> Estimates:
    """The keys of reads, moved by the difference of the law's fits to the last twin and to the drive."""
    last = tried[-1]
    later_us = law.base_us - last.law.base_us
    read, wait, piece = (last.estimates[key] for key in ("nand.read_us", *_SUSPENSION))
    wait_us, piece_us = _step(tried, law)
    moved = [
        _moved(read, read.number + later_us),
        _moved(wait, wait.number + wait_us),
        _moved(piece, max(piece.number + piece_us, 1.0)),
    ]
    if "nand.read_types_us" in last.estimates:
        types = last.estimates["nand.read_types_us"]
        times = types.value if isinstance(types.value, list) else []
        moved.append(replace(types, value=[round(max(time + later_us, 1.0), 2) for time in times]))
    return last.estimates.with_all(moved)


def _step(tried: Sequence[_TwinTrial], law: ReadLaw) -> np.ndarray:
    """By how much suspend delay and slice are to move, in us: the step of Broyden's method.

    The figures of the law follow the keys of the twin by less than the keys move, or by more. By how much, the rounds
    so far tell (Broyden, Mathematics of Computation 19, 1965).
    """
    figures = [np.array([one.law.suspend_us, one.law.slice_us]) for one in tried]
    slopes = np.eye(2)
    for (before, old), (after, new) in itertools.pairwise(zip(tried, figures, strict=True)):
        by = after.keys - before.keys
        if by @ by > 0:
            slopes += np.outer(new - old - slopes @ by, by) / (by @ by)
    wanted = np.array([law.suspend_us, law.slice_us]) - figures[-1]
    step = np.linalg.pinv(slopes, rcond=_LEAST_SLOPE) @ wanted
    return np.asarray(np.clip(step, -_LONGEST_STEP_US, _LONGEST_STEP_US))


def _saturated(estimates: Estimates, measured: Measurements, used_gib: float, seed: int) -> Estimates:
    """tPROG, slots and burst, moved until the saturated twin is as fast as the drive and its requests wait as long.

    Where it is known how fast writes alone are, the time to resume moves as well.
    """
    row, target = front_end.telling(measured.open_loop), estimates.number(knee.SATURATED)
    # Flash reads for collection are a fixed part of a page's cost.
    sensing = sensing_share(estimates, target, used_gib, estimates.number("nand.read_us"))
    for _ in range(_RATE_STEPS):
        little, space = twin.small(conventional(estimates)), estimates.number(spare.SPACE)
        moved: list[Estimate] = []
        if row is None:
            times = twin.saturated_per_s(little, used_gib, space, seed=seed) / target
        else:
            again = twin.open_loop(little, row, space, seed=seed)
            times, moved = again.writes_per_s / target, front_end.mended(estimates, measured.open_loop, again)
        if abs(times - 1.0) < _RATE_GOOD:
            if row is None or resuming.ALONE not in estimates:
                return estimates.with_all(moved)
            alone = twin.saturated_per_s(little, used_gib, space, seed=seed)
            resume = resuming.mended(estimates, row, again.writes_per_s, alone)
            if not resume:
                return estimates.with_all(moved)
            moved, times = moved + resume, alone / estimates.number(resuming.ALONE)
        program = estimates["nand.program_us"]
        times = min(max(times ** (_RATE_POWER / (1.0 - sensing)), 1.0 / _RATE_STEP), _RATE_STEP)
        estimates = estimates.with_all([*moved, _moved(program, program.number * times)])
    return estimates


def _moved(one: Estimate, value: float) -> Estimate:
    """An estimate with another value; its interval goes along."""
    value = max(round(value, 2), 0.0)
    by = value - one.number
    low, high = (None if end is None else max(end + by, 0.0) for end in (one.low, one.high))
    return replace(one, value=value, low=low, high=high)
