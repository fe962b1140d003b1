"""How a drive serves reads while it writes: the time of an idle die, suspension and page types."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import OptimizeResult, least_squares

from flashtwin.drives import knee, tables
from flashtwin.drives.estimates import Estimate
from flashtwin.drives.laws import ReadLaw
from flashtwin.drives.tables import PERCENTILES, OpenLoop
from flashtwin.errors import DriveError

#: Share of the time that dies write when the drive is saturated; the rest goes to reads and to waiting for data. Ours,
#: and so is its deviation.
_BUSY, _BUSY_DEVIATION = 0.92, 0.06
#: Two page types must explain the rest to this share at most.
_TWO_TYPES_GAIN = 0.7
#: Logarithm of a percentile's error beyond which more of it counts in proportion, and no longer in its square.
_SOFT = 0.2
#: Width of what reads one at a time tell, as a share.
_KNOWN = 1e-3
#: Weight of the prior of the busy share beside one percentile's logarithm.
_PRIOR_WEIGHT = 0.1
#: Standard deviation of reads of an idle die with one type of page, as a share of their mean: at first, and its range.
#: Pages of TLC take 40 to 80 us, which is 0.3.
_SPREAD, _SPREAD_LOW, _SPREAD_HIGH = 0.08, 0.01, 0.3


@dataclass(frozen=True)
class IdleReads:
    """Reads of an idle drive: of fast pages, their share, and how much longer those of slow ones take."""

    base_us: float
    fast_share: float = 1.0
    slower_us: float = 0.0


@dataclass(frozen=True)
class _Rows:
    load: np.ndarray
    read_us: np.ndarray


def read_law(
    rows: tuple[OpenLoop, ...],
    saturated_per_s: float,
    like: ReadLaw | None = None,
    idle: IdleReads | None = None,
    sensing: float = 0.0,
) -> tuple[ReadLaw, list[Estimate]]:
    """The law of reads, and its figures with intervals.

    Args:
        rows: the open loop.
        saturated_per_s: writes a second.
        like: another law, which has as many types of flash page.
        idle: what reads one at a time tell. Without them, the percentiles tell of fast pages only if they are half of
            all or more.
        sensing: share of the time of busy dies in which they read for collection.

    Raises:
        DriveError: fewer than two rows lie below the saturated rate.
    """
    telling = [row for row in knee.below(rows, saturated_per_s) if all(name in row.read_us for name in tables.FITTED)]
    if len(telling) < 2:
        raise DriveError(
            f"open loop: {len(telling)} of {len(rows)} rates lie below {knee.BELOW:.0%} of the saturated rate of "
            f"{saturated_per_s:,.0f} writes/s and have all percentiles; suspension needs two at least. Measure "
            "more rates between 10 % and 90 % of that"
        )
    data = _Rows(
        np.array([row.writes_per_s / saturated_per_s for row in telling]),
        np.array([[row.read_us[name] for name in tables.FITTED] for row in telling]),
    )
    if idle is None and like is None:
        one, two = _fitted(data, 1, None, sensing), _fitted(data, 2, None, sensing)
        gain = _misfit(_law(two.x, 2, sensing), data) / _misfit(_law(one.x, 1, sensing), data)
        best, types = (two, 2) if gain < _TWO_TYPES_GAIN else (one, 1)
    else:
        types = 2 if (idle or like).slower_us > 0 else 1  # type: ignore[union-attr]
        best = _fitted(data, types, idle, sensing)
    return _law(best.x, types, sensing), _figures(best, types, len(telling))


def _law(x: np.ndarray, types: int, sensing: float) -> ReadLaw:
    base, suspend, piece, busy, *rest = (float(value) for value in x)
    share, slower = rest if types == 2 else (1.0, 0.0)
    law = ReadLaw(base, suspend, piece, share, slower, busy, sensing=sensing)
    return replace(law, jitter=rest[0]) if types == 1 and rest else law


def _misfit(law: ReadLaw, data: _Rows) -> float:
    """Sum of the losses of all percentiles, at loads as uncertain as the busy share is.

    A median that lies in the middle of a step agrees with any measured one, and only at that very load.
    """
    shares = np.array([PERCENTILES[name] for name in tables.FITTED])
    loads = (data.load * times for times in (1.0 - _BUSY_DEVIATION, 1.0, 1.0 + _BUSY_DEVIATION))
    misses = np.array([np.log(law.percentiles(shares, load) / data.read_us) for load in loads])
    return float(np.sum(np.sqrt(1.0 + (misses / _SOFT) ** 2) - 1.0))


def _fitted(data: _Rows, types: int, idle: IdleReads | None, sensing: float) -> OptimizeResult:
    shares = np.array([PERCENTILES[name] for name in tables.FITTED])

    def misses(x: np.ndarray) -> np.ndarray:
        logs = np.log(_law(x, types, sensing).percentiles(shares, data.load) / data.read_us)
        return np.append(logs.ravel(), _PRIOR_WEIGHT * (x[3] - _BUSY) / _BUSY_DEVIATION)

    base = float(data.read_us[:, 0].min())
    low, high = [1.0, 0.0, 5.0, 0.7], [4 * base, 500.0, 1500.0, 1.05]
    starts = [[base, suspend, 90.0, _BUSY] for suspend in (5.0, 30.0, 80.0)]
    if types == 2:
        low, high = [*low, 0.0, 0.0], [*high, 1.0, 3 * base]
        pairs = itertools.product(starts, (0.2, 0.5, 0.6, 0.9))
        starts = [[*start, share, 0.4 * base] for start, share in pairs]
    elif idle is None:
        low, high = [*low, _SPREAD_LOW], [*high, _SPREAD_HIGH]
        starts = [[*start, _SPREAD] for start in starts]
    if idle is not None:
        known = {0: idle.base_us, 4: idle.fast_share, 5: idle.slower_us}
        for at, value in known.items() if types == 2 else [(0, idle.base_us)]:
            low[at], high[at] = value * (1.0 - _KNOWN), value * (1.0 + _KNOWN)
            starts = [[*start[:at], value, *start[at + 1 :]] for start in starts]
        starts = [list(start) for start in dict.fromkeys(map(tuple, starts))]
    # Percentiles step where the share of busy dies crosses them: a loss that one such row cannot decide.
    found = [
        least_squares(
            misses,
            start,
            bounds=(low, high),
            loss="soft_l1",
            f_scale=_SOFT,
            x_scale=np.abs(start),
            diff_step=1e-3,
            max_nfev=80,
        )
        for start in starts
    ]
    return min(found, key=lambda one: one.cost)


def _figures(best: OptimizeResult, types: int, rows: int) -> list[Estimate]:
    freedom = max(best.fun.size - best.x.size, 1)
    variance = np.linalg.pinv(best.jac.T @ best.jac) * 2.0 * best.cost / freedom
    margins = 1.96 * np.sqrt(np.maximum(np.diag(variance), 0.0))
    source = f"read percentiles of open loop at {rows} rates"
    names = ["idle_read_us", "engine.suspend_us", "engine.suspend_slice_us", "busy_share"]
    names += ["fast_page_share", "slow_page_more_us"] if types == 2 else ["idle_read_spread"]
    names = names[: best.x.size]
    return [
        Estimate(
            name,
            float(value),
            "us" if name.endswith("us") else "",
            max(float(value - margin), 0.0),
            float(value + margin),
            source,
        )
        for name, value, margin in zip(names, best.x, margins, strict=True)
    ]
