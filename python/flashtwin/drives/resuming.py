"""What reads cost a drive that is written to as fast as it can: the time in which a suspended program resumes.

A drive writes faster where nobody reads. The difference is what reads take of the dies: their own time, and what each
suspension costs a program. The median of reads does not tell that part, as a program resumes behind the read.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.tables import Measurements, OpenLoop, pairs

#: Uniform writes a second, as fast as they can, that no read meets.
ALONE = "writes_alone_per_s"
RESUME = "engine.resume_us"
#: Shares of the rate that differ by less are the noise of loads that last seconds.
_NOISE = 0.02
#: No suspension is known to cost a program more, in us.
_LONGEST_US = 2000.0


def writes_alone(measured: Measurements, twin: Measurements, saturated: Estimate) -> list[Estimate]:
    """The rate of writes that no read meets, by that among reads; nothing where one of both was not measured.

    Args:
        measured: the rows of the drive.
        twin: the same rows of a closed loop, with rates that follow from the saturated one.
        saturated: writes a second of the open loop, among reads.
    """
    rows = [
        (row.pattern, row.writes_per_s, one.writes_per_s) for row, one in pairs(measured.overwritten, twin.overwritten)
    ]
    rows += [(row.pattern, row.writes_per_s, one.writes_per_s) for row, one in pairs(measured.steady, twin.steady)]
    times = [known / found for pattern, known, found in rows if known and found and pattern.kind != "sequential"]
    if not times or not measured.saturated:
        return []
    rates = [saturated.number * one for one in times]
    source = f"{len(times)} runs of writes alone"
    return [Estimate(ALONE, statistics.median(rates), "1/s", min(rates), max(rates), source)]


def mended(estimates: Estimates, row: OpenLoop, among_reads_per_s: float, alone_per_s: float) -> list[Estimate]:
    """The time to resume, moved by what a read costs the drive beyond what it costs the twin; nothing if that is noise.

    Args:
        estimates: of the twin.
        row: of the drive, saturated.
        among_reads_per_s: writes of the twin under that load.
        alone_per_s: writes of the twin that no read meets.
    """
    if ALONE not in estimates or not row.reads_per_s:
        return []
    more = among_reads_per_s / alone_per_s - row.writes_per_s / estimates.number(ALONE)
    known = estimates[RESUME]
    dies = estimates.number("nand.channels") * estimates.number("nand.chips_per_channel")
    value = min(max(known.number + more * dies * 1e6 / row.reads_per_s, 0.0), _LONGEST_US)
    if abs(more) < _NOISE or value == known.number:
        return []
    margin = _NOISE * dies * 1e6 / row.reads_per_s
    source = "writes alone beside writes among reads"
    return [replace(known, value=round(value, 1), low=max(value - margin, 0.0), high=value + margin, source=source,
                    is_measured=True)]  # fmt: skip
