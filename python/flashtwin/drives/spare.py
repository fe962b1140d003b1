"""Physical space and overhead of a drive from the write amplification of uniform writes at several fills."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq, least_squares

from flashtwin.drives import laws
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.tables import Measurements, OverwriteRun

#: Figures of the estimates.
SPACE, OVERHEAD = "space_gib", "overhead"
#: Overwrites after which uniform writes are in their steady state.
_STEADY_OVERWRITES = 3.0
#: Physical space by the space that the host has, where nothing tells: flash of 1,024 GiB and its spare for the 960 GB
#: that drives of one write a day offer.
_USUAL_SPACE = 1.2
#: GiB of a datasheet's gigabyte.
_GIB = 1e9 / 2**30


def spare(measured: Measurements) -> list[Estimate]:
    """Physical space T in GiB and the overhead b of every program.

    With two fills or more, both by least squares on the logarithm of `b a / (a + W0(-a e^-a))`; with one, the overhead
    is that of sequential writes. Runs that ended before the steady state are left out.
    """
    rows = telling(measured)
    if len({row.fill_gib for row in rows}) >= 2:
        return _of_fills(rows)
    overhead = _sequential_overhead(measured)
    if rows:
        return [_space_of_one(rows, overhead), overhead]
    return [_usual_space(measured), overhead]


def telling(measured: Measurements) -> list[OverwriteRun]:
    """Uniform runs whose amplification was counted in the steady state."""
    rows = [row for row in measured.overwritten if row.pattern.kind == "uniform" and row.amplification is not None]
    return [row for row in rows if row.overwrites >= _STEADY_OVERWRITES]


def mended(estimates: Estimates, rows: Sequence[OverwriteRun], twin: Sequence[OverwriteRun]) -> list[Estimate]:
    """Space and overhead, moved by the difference of the law's fits to twin and drive; intervals go along.

    With one fill, the overhead stays.

    Args:
        estimates: of the twin.
        rows: of the drive.
        twin: the same rows as the twin has them.
    """
    if len({row.fill_gib for row in rows}) < 2:
        times = statistics.median(float(row.amplification or 1) / float(one.amplification or 1)
                                  for row, one in zip(rows, twin, strict=True))  # fmt: skip
        return [_space_of_times(estimates[SPACE], max(row.fill_gib for row in rows), times)]
    found = ((one.number, other.number) for one, other in zip(_of_fills(rows), _of_fills(twin), strict=True))
    return [_moved(estimates[key], one / other) for key, (one, other) in zip((SPACE, OVERHEAD), found, strict=True)]


def _space_of_times(space: Estimate, used_gib: float, times: float) -> Estimate:
    """The space with which a drive amplifies this many times as much as with the present one."""
    target = max(float(laws.amplification(space.number, used_gib)) * times, 1.0 + 1e-6)
    value = float(brentq(lambda t: float(laws.amplification(t, used_gib)) - target, used_gib * 1.0005, used_gib * 50))
    return _moved(space, value / space.number)


def _moved(one: Estimate, times: float) -> Estimate:
    low, high = (None if end is None else end * times for end in (one.low, one.high))
    return replace(one, value=one.number * times, low=low, high=high)


def _of_fills(rows: Sequence[OverwriteRun]) -> list[Estimate]:
    used = np.array([row.fill_gib for row in rows])
    found = np.array([row.amplification for row in rows], dtype=float)

    def misses(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(laws.amplification(x[0], used, x[1]) / found))

    best = least_squares(misses, [1.2 * used.max(), 1.0], bounds=([used.max() * 1.001, 0.9], [10 * used.max(), 2.0]))
    freedom = max(len(rows) - 2, 1)
    variance = np.linalg.inv(best.jac.T @ best.jac) * (best.fun @ best.fun) / freedom
    margins = 1.96 * np.sqrt(np.diag(variance))
    source = f"write amplification of uniform writes at {len(set(used))} fills"
    return [
        Estimate(key, float(value), unit, float(value - margin), float(value + margin), source)
        for key, unit, value, margin in zip((SPACE, OVERHEAD), ("GiB", ""), best.x, margins, strict=True)
    ]


def _space_of_one(rows: list[OverwriteRun], overhead: Estimate) -> Estimate:
    used = rows[0].fill_gib
    values = [float(row.amplification or 0.0) for row in rows]

    def space(amplification: float, of: float) -> float:
        target = max(amplification, of * 1.0001)
        return float(brentq(lambda t: float(laws.amplification(t, used, of)) - target, used * 1.0005, used * 50))

    value = space(statistics.median(values), float(overhead.value))  # type: ignore[arg-type]
    ends = [
        space(amplification, of)
        for amplification in (min(values), max(values))
        for of in (overhead.low or 1.0, overhead.high or 1.0)
    ]
    return Estimate(SPACE, value, "GiB", min(ends), max(ends), "write amplification of uniform writes at one fill")


def _sequential_overhead(measured: Measurements) -> Estimate:
    """The least amplification there is: that of sequential writes after sequential ones."""
    found = [
        float(row.amplification)
        for row in measured.overwritten
        if row.amplification is not None and row.pattern.kind == "sequential" and not row.pattern.is_shuffled
    ]
    if not found:
        return Estimate(OVERHEAD, 1.0, "", None, None, "no run of sequential writes: none assumed", is_measured=False)
    middle = statistics.median(found)
    return Estimate(OVERHEAD, middle, "", min(found), max(found), "write amplification of sequential writes")


def _usual_space(measured: Measurements) -> Estimate:
    fills = [row.fill_gib for row in measured.overwritten] + [row.fill_gib for row in measured.open_loop]
    sheet = measured.datasheet
    used = max(fills, default=(sheet.capacity_gb or 0.0) * _GIB if sheet else 0.0)
    source = "no write amplification of uniform writes: usual for the capacity"
    return Estimate(SPACE, _USUAL_SPACE * used, "GiB", None, None, source, is_measured=False)
