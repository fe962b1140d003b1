"""The knee: how many requests a second saturate a drive that is written to at random."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from flashtwin.drives.estimates import Estimate
from flashtwin.drives.tables import Measurements, OpenLoop
from flashtwin.errors import DriveError

#: The name of that rate among the estimates.
SATURATED = "saturated_writes_per_s"
#: Rows up to this share of the saturated rate; nearer to it one per cent of the rate is a factor of the time.
BELOW = 0.97
#: Fills that differ by less are the same.
_SAME_FILL = 0.02


def below(rows: Sequence[OpenLoop], saturated_per_s: float) -> list[OpenLoop]:
    """The rows that the drive keeps up with by a margin."""
    return [row for row in rows if row.is_reached and row.offered_per_s <= BELOW * saturated_per_s]


def saturated(measured: Measurements) -> Estimate:
    """Writes a second beyond which more cannot be done.

    Raises:
        DriveError: nothing tells.
    """
    found = [row.writes_per_s for row in measured.saturated]
    source = f"open loop at {len(found)} rates that the drive does not reach"
    if not found:
        used = max(row.fill_gib for row in measured.open_loop)
        found = [row.writes_per_s for row in measured.overwritten
                 if row.pattern.kind == "uniform" and abs(row.fill_gib / used - 1) < _SAME_FILL]  # fmt: skip
        source = "uniform writes, closed loop"
    if not found:
        found = [row.writes_per_s for row in measured.steady if row.pattern.kind == "uniform"]
    if found:
        return Estimate(SATURATED, statistics.median(found), "1/s", min(found), max(found), source)
    sheet = measured.datasheet
    if sheet is None or not sheet.random_writes_per_s:
        raise DriveError(
            f"{measured.drive}: nothing tells how many writes a second saturate it; measure the open loop beyond what "
            "the drive reaches, or uniform writes in a closed loop"
        )
    return Estimate(SATURATED, sheet.random_writes_per_s, "1/s", source="the datasheet", is_measured=False)
