"""The front end of a drive: how many requests it holds, and which it takes next, from waits at saturation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flashtwin.drives import parallelism
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.tables import OpenLoop

SLOTS, ARBITRATION = "engine.slots", "engine.arbitration"
#: Where writes of a queue that sends few wait less than this share of the others' time, queues take turns.
_IN_TURN = 0.85


def telling(rows: Sequence[OpenLoop]) -> OpenLoop | None:
    """The middle one of the rates that the drive does not reach, of those that tell."""
    known = [row for row in rows if not row.is_reached and "50p" in row.read_us and row.write_us.get("50p")]
    return known[len(known) // 2] if known else None


def front_end(row: OpenLoop | None) -> list[Estimate]:
    """Slots and arbitration; no limit where reads pass writes and all writes wait alike, or where nothing tells."""
    if row is None:
        unknown = "no rate that the drive does not reach: no limit"
        return [Estimate(SLOTS, 0, source=unknown, is_measured=False)]
    found = parallelism.slots(row)
    source = f"medians of reads and writes at {row.offered_per_s:,.0f}/s, saturated{found.doubt}"
    bulk = row.bulk_write_us.get("50p", row.write_us["50p"])
    if found.arbitration == "separate" and row.write_us["50p"] >= _IN_TURN * bulk:
        return [Estimate(SLOTS, 0, source=f"{source}: reads pass, writes wait alike", is_measured=found.is_certain)]
    by = "fifo" if found.arbitration == "shared" else "round-robin"
    return [
        Estimate(SLOTS, max(round(found.slots), 1), source=source, is_measured=found.is_certain),
        Estimate(ARBITRATION, by, source=source, is_measured=found.is_certain),
    ]


def mended(estimates: Estimates, row: OpenLoop, twin: OpenLoop) -> list[Estimate]:
    """Slots, moved by how much longer a write waits on the drive than on its twin; in a FIFO, longer than a read."""
    slots = estimates[SLOTS]
    if not slots.number or not {"50p"} <= twin.read_us.keys() & twin.write_us.keys():
        return []
    is_shared = estimates[ARBITRATION].value == "fifo"
    held = (one.write_us["50p"] - (one.read_us["50p"] if is_shared else 0.0) for one in (row, twin))
    more = (next(held) - next(held)) * row.writes_per_s / 1e6
    return [replace(slots, value=max(round(slots.number + more), 1))]
