"""The figures of a drive by closed forms, and the least squares over keys with bounds that a fit is.

A twin differs from the laws by a shift of each figure's logarithm. So the twin is measured, the shifts are taken over
into the laws, and the keys are solved for again (output space mapping; Bandler and others, IEEE Trans. Microwave Theory
and Techniques 52, 2004). The laws only have to have the right slopes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import OptimizeResult, least_squares

from flashtwin.drives import laws
from flashtwin.drives.drive import PROGRAM_PAGES, SENSE_PAGES, before_flash_us, read_us
from flashtwin.drives.estimates import BOUNDS, FIFO, ROUND_ROBIN, STALL
from flashtwin.drives.histogram import PERCENTILES
from flashtwin.drives.laws import Array, ReadLaw
from flashtwin.drives.tables import FITTED, OpenLoop, OverwriteRun

Keys = Mapping[str, float]
#: Deviations of the logarithms of figures: of counters, of rates, of percentiles, and of waits at saturation.
_COUNTED, _RATE, _ALONE, _PERCENTILE, _WAIT = 0.01, 0.01, 0.02, 0.05, 0.1
#: Deviations beyond which a figure counts in proportion to its miss, and no longer to its square: percentiles step
#: where the share of busy dies crosses them, and one such row must not decide.
_SOFT = 4.0
#: Wait of a read for the turn of its queue, by the time in which a program frees its slots.
TURN = 1.4
#: Share of the time that dies write when the drive is saturated; the rest goes to reads and to waiting for data. Ours,
#: and so is its deviation.
BUSY, _BUSY_DEVIATION = 0.92, 0.06
#: Weight of the keys of before, for a step of one logarithm: figures that two keys move alike keep both where they are.
_DAMPING = 0.5
#: Keys that may move farther in a step than others, as nothing else depends on them.
_FREE_REACH = {"engine.resume_us": 10.0, "nand.program_us": 3.0}
_SHARES = np.array([PERCENTILES[name] for name in FITTED])
#: A bound is met if the logarithm is as near as this.
_AT_BOUND = 0.01


@dataclass(frozen=True)
class Telling:
    """The rows that the laws look at, and the drive's figures that go with them."""

    #: Uniform writes in steady state, with amplification.
    runs: Sequence[OverwriteRun]
    #: Amplification of sequential writes, where one fill alone tells no overhead.
    sequential: float | None
    below: Sequence[OpenLoop]
    #: The middle row of those that the drive does not reach, with the medians of all of them.
    saturated: OpenLoop | None
    #: Writes a second of the whole drive, among reads and alone.
    knee_per_s: float
    alone_per_s: float | None
    #: Space in use under the open loop, and at most in any run.
    used_gib: float
    most_gib: float
    dies: int
    #: How requests wait for slots: `fifo`, `round-robin`, or not.
    arbitration: str = ""
    #: Whether amplification was counted, so that reads for collection can be told apart.
    is_counted: bool = False
    #: Rows below whose slow reads no law has.
    queued: Sequence[OpenLoop] = ()


@dataclass(frozen=True)
class Solution:
    """Keys by least squares."""

    keys: dict[str, float]
    cost: float
    #: The slopes of all misses by the logarithms of the free keys.
    slopes: Array = field(repr=False)
    free: Sequence[str] = ()


class DriveModel:
    """Figures of a drive as logarithms, in a fixed order: measured, by the laws, and of a twin."""

    def __init__(self, telling: Telling, near: Keys | None = None) -> None:
        """The figures of these rows, and keys near those that are sought, which tell the steps of percentiles."""
        self.telling = telling
        self.measured = self.of_rows(
            [math.log(row.amplification or math.nan) for row in telling.runs], telling.below, telling.saturated,
            telling.alone_per_s,
        )  # fmt: skip
        left_out = [row in telling.queued and name not in FITTED[:2] for row in telling.below for name in FITTED]
        runs = len(telling.runs) + 1
        self.measured[runs : runs + len(left_out)][left_out] = math.nan
        self.tolerances = np.array([
            *[_COUNTED] * (len(telling.runs) + 1), *[_PERCENTILE] * (len(FITTED) * len(telling.below)),
            _RATE, _ALONE, *[_WAIT] * 2,
        ])  # fmt: skip
        #: Whether a figure is a percentile of reads below the knee.
        self.reads: Array = np.isclose(self.tolerances, _PERCENTILE)
        #: The saturated rates, among reads and alone.
        self.rates = slice(-4, -2)
        if near is not None:
            # A median on a step agrees with any measured one, because nobody knows the share of busy dies so well.
            ends = [self.by_laws(near, loads) for loads in (1.0 - _BUSY_DEVIATION, 1.0 + _BUSY_DEVIATION)]
            self.tolerances = np.where(self.reads, np.hypot(self.tolerances, (ends[1] - ends[0]) / 2), self.tolerances)

    def of_rows(
        self, amplified: Sequence[float], below: Sequence[OpenLoop], saturated: OpenLoop | None, alone: float | None
    ) -> Array:
        """The figures of a drive, or of its twin; not a number where one was not measured.

        Args:
            amplified: logarithms.
            below: rows in the order of `Telling`.
            saturated: as in `Telling`.
            alone: writes a second without reads.
        """
        percentiles = [row.read_us.get(name, math.nan) for row in below for name in FITTED]
        waits = (math.nan, math.nan) if saturated is None else self._waits(saturated)
        rate = math.nan if saturated is None else saturated.writes_per_s
        others = [*percentiles, rate, alone or math.nan, *waits]
        return np.array([*amplified, math.log(self.telling.sequential or math.nan), *np.log(others)])

    def _waits(self, row: OpenLoop) -> tuple[float, float]:
        """Times by which a saturated drive tells its slots and turns; its median read where there are none."""
        read, write = row.read_us.get("50p", math.nan), row.write_us.get("50p", math.nan)
        if self.telling.arbitration == FIFO:
            # Only a write holds a slot for long, and both wait for one.
            return max(write - read, 1.0) if math.isfinite(write - read) else math.nan, math.nan
        return (write, read) if self.telling.arbitration else (math.nan, read)

    def places(self) -> list[tuple[str, str]]:
        """Row and name of each figure."""
        rows = [(str(row), f"read p{name.replace('p', '.').rstrip('.')}") for row in self.telling.below
                for name in FITTED]  # fmt: skip
        saturated = str(self.telling.saturated or "saturated writes")
        return [
            *((str(row), "write amplification") for row in self.telling.runs), ("sequential", "write amplification"),
            *rows, (saturated, "writes"), ("writes alone", "writes"), (saturated, "write p50"), (saturated, "read p50"),
        ]  # fmt: skip

    def law(self, keys: Keys) -> ReadLaw:
        """The law of reads, at a share of the saturated rate."""
        sensing, amplified = 0.0, self._amplified(keys)
        if self.telling.is_counted:
            senses = read_us(keys) * float(laws.senses(laws.valid_share(amplified), SENSE_PAGES))
            sensing = senses / (senses + keys["nand.program_us"] / PROGRAM_PAGES)
        # Dies that wait for the end of a batch are idle.
        busy = keys["busy_share"] * self.write_us(keys, amplified, 1.0) / self.write_us(keys, amplified)
        return ReadLaw(
            keys["idle_read_us"], keys["engine.suspend_us"], keys["engine.suspend_slice_us"],
            keys.get("fast_page_share", 1.0), keys.get("slow_page_more_us", 0.0), busy,
            keys.get("idle_read_spread", 0.03), sensing,
        )  # fmt: skip

    def _amplified(self, keys: Keys) -> float:
        return float(laws.amplification(keys["space_gib"], self.telling.used_gib))

    def write_us(self, keys: Keys, amplified: float, collected_share: float | None = None) -> float:
        """Time of the dies for a write of the host that costs so many pages; see `laws.write_us`."""
        page_us = keys["nand.program_us"] / PROGRAM_PAGES
        share = collected_share or (laws.BATCH_SHARE if STALL in keys else 1.0)
        return laws.write_us(amplified, page_us, read_us(keys), SENSE_PAGES, share) * keys["overhead"]

    def by_laws(self, keys: Keys, loads: float = 1.0) -> Array:
        """The figures by the closed forms, at loads that are off by a factor."""
        telling, row, law = self.telling, self.telling.saturated, self.law(keys)
        used = np.array([run.fill_gib for run in telling.runs])
        amplified = np.log(laws.amplification(keys["space_gib"], used, keys["overhead"])) if used.size else []
        load = np.array([one.writes_per_s / telling.knee_per_s for one in telling.below]) * loads
        reads = law.percentiles(_SHARES, load).ravel()
        cost_us = self.write_us(keys, self._amplified(keys))
        alone = telling.dies * 1e6 / cost_us
        # A read takes its own time of a die, and a suspended program resumes behind it.
        lost_us = 0.0 if row is None else row.reads_per_s * (read_us(keys) + keys["engine.resume_us"])
        saturated = max(telling.dies * 1e6 - lost_us, 1.0) / cost_us
        waits = self._waits_by_laws(keys, law, saturated)
        return np.array([*amplified, math.log(keys["overhead"]), *np.log([*reads, saturated, alone, *waits])])

    def _waits_by_laws(self, keys: Keys, law: ReadLaw, per_s: float) -> tuple[float, float]:
        """Slots are freed one by one in a queue, and by the program where queues take turns."""
        held_us = keys.get("engine.slots", 1.0) * 1e6 / per_s
        if self.telling.arbitration != ROUND_ROBIN:
            return held_us, float(law.percentiles(_SHARES[:1], np.array([1.0]))[0, 0])
        turn_us = keys["pages_of_a_turn"] * 1e6 / per_s
        return held_us, self.served_us + TURN * turn_us

    @property
    def served_us(self) -> float:
        """Median of reads at the greatest rate that the drive keeps up with."""
        return max((row.read_us.get("50p", 0.0) for row in self.telling.below), default=0.0)

    def solve(
        self, start: Keys, free: Sequence[str], shifts: Array, *, reach: float | None = None, rows: Array | None = None
    ) -> Solution:
        """The keys whose figures are nearest to the drive's.

        Args:
            start: values of all keys, of which those that are not free stay.
            free: keys to solve for.
            shifts: of a twin from the laws; 0 for the laws by themselves.
            reach: most that a key may move by, as a logarithm.
            rows: weights of the figures, of a draw of the bootstrap.
        """
        known = np.isfinite(self.measured) & np.isfinite(shifts)
        weights = np.where(known, 1.0 if rows is None else rows, 0.0) / self.tolerances
        measured = np.where(known, self.measured - shifts, 0.0)
        middle = np.log([start[key] for key in free])
        low, high = np.log([bounds(key, start, self.telling.most_gib) for key in free]).T
        if reach is not None:
            far = reach * np.array([_FREE_REACH.get(key, 1.0) for key in free])
            low, high = np.maximum(low, middle - far), np.minimum(high, middle + far)
        middle = np.clip(middle, low + 1e-9, high - 1e-9)

        def misses(x: Array) -> Array:
            keys = {**start, **dict(zip(free, np.exp(x).tolist(), strict=True))}
            off = np.where(known, self.by_laws(keys) - measured, 0.0) * weights
            busy = (keys["busy_share"] - BUSY) / _BUSY_DEVIATION
            # A draw must show what the figures leave open.
            return np.array([*off, busy, *(_DAMPING * (x - middle) if reach is not None and rows is None else ())])

        best: OptimizeResult = least_squares(
            misses, middle, bounds=(low, np.maximum(high, low + 1e-6)), loss="soft_l1", f_scale=_SOFT, diff_step=1e-3,
            max_nfev=30,
        )  # fmt: skip
        keys = {**start, **dict(zip(free, np.exp(best.x).tolist(), strict=True))}
        return Solution(keys, float(best.cost), best.jac, free)

    def distance(self, figures: Array, among: Array | None = None) -> float:
        """How far these figures are from the drive's: the loss of the fit, by the number of figures."""
        off = (figures - self.measured) / self.tolerances
        off = off[np.isfinite(off) & (True if among is None else among)]
        return float(np.mean(np.sqrt(1.0 + (off / _SOFT) ** 2) - 1.0))

    def misfit(self, keys: Keys) -> float:
        """How far the law of reads is from the drive, at loads as uncertain as the busy share is.

        A median that lies in the middle of a step agrees with any measured one, and only at that very load.
        """
        errors = (1.0 - _BUSY_DEVIATION, 1.0, 1.0 + _BUSY_DEVIATION)
        return sum(self.distance(self.by_laws(keys, loads), self.reads) for loads in errors)


def bounds(key: str, keys: Keys, used_gib: float) -> tuple[float, float]:
    """What a number of the model may be, where so much space is in use at most."""
    if key == "space_gib":
        low, high, *_ = BOUNDS["spare"]
        return used_gib * (1.0 + low), used_gib * (1.0 + high)
    if key == "idle_read_us":
        low, high, *_ = BOUNDS["nand.read_us"]
        rest = before_flash_us(keys["engine.controller_us"])
        return low + rest, high + rest
    return BOUNDS[key].low, BOUNDS[key].high


def at_bound(key: str, keys: Keys, used_gib: float) -> float | None:
    """The bound that a number lies at; None where it lies between them."""
    ends = bounds(key, keys, used_gib)
    return next((end for end in ends if abs(math.log(keys[key] / end)) < _AT_BOUND), None)
