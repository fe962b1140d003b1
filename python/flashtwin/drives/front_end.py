"""The front end of a drive: how many requests it holds, and which it takes next, from waits at saturation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.tables import OpenLoop

SLOTS, ARBITRATION, BURST = "engine.slots", "engine.arbitration", "engine.arbitration_burst"
UNIT, PROGRAM = "nand.program_pages", "nand.program_us"
#: Most requests that a queue sends in a turn.
_MOST_BURST = 64
#: Share of the way that slots move at once: on some drives waits follow them nearly twice as fast as by Little's law.
_SHARE = 0.7
#: Most that one step may change the slots by, as a factor.
_LONGEST_STEP = 1.5
#: Where reads wait less than this share of the twin's time, though each queue sends one request in its turn, so many
#: slots are not freed at once: the program unit is half as large.
_SMALLER_UNIT = 0.7
#: Where writes of a queue that sends few wait less than this share of the others' time, queues take turns.
_IN_TURN = 0.85
#: Reads take this share of the time of writes at least where both share one queue, and that at most where they pass.
_SHARED, _PASSED = 0.5, 0.12


def telling(rows: Sequence[OpenLoop]) -> OpenLoop | None:
    """The middle one of the rates that the drive does not reach, of those that tell."""
    known = [row for row in rows if not row.is_reached and "50p" in row.read_us and row.write_us.get("50p")]
    return known[len(known) // 2] if known else None


def front_end(row: OpenLoop | None) -> list[Estimate]:
    """Slots and arbitration; no limit where reads pass writes and all writes wait alike, or where nothing tells."""
    if row is None:
        unknown = "no rate that the drive does not reach: no limit"
        return [Estimate(SLOTS, 0, source=unknown, is_measured=False)]
    read, write = row.read_us["50p"], row.write_us["50p"]
    bulk, share = row.bulk_write_us.get("50p", write), read / write
    source = f"medians of reads and writes at {row.offered_per_s:,.0f}/s, saturated"
    # Only a write holds a slot for long.
    held = max(round((write - read) * row.writes_per_s / 1e6), 1)
    if write < _IN_TURN * bulk:
        waits = f"reads at {row.offered_per_s:,.0f}/s wait for the turn of their queue"
        return [
            Estimate(SLOTS, held, source=source),
            Estimate(ARBITRATION, "round-robin", source=source),
            Estimate(BURST, 1, source=waits),
        ]
    if share >= _SHARED:
        return [Estimate(SLOTS, held, source=source), Estimate(ARBITRATION, "fifo", source=source)]
    if share <= _PASSED:
        return [Estimate(SLOTS, 0, source=f"{source}: reads pass, writes wait alike")]
    doubt = "reads are neither near writes nor far below them: uncertain"
    return [Estimate(SLOTS, 0, source=f"{source}; {doubt}: no limit", is_measured=False)]


def mended(estimates: Estimates, rows: Sequence[OpenLoop], twin: OpenLoop) -> list[Estimate]:
    """Slots and burst, moved by how much longer requests of the drive wait than those of the twin.

    Slots follow the wait of writes; in a FIFO, where reads wait as well, how much longer it is than theirs. A burst
    follows the wait of reads, beyond that of the greatest rate that the drive reaches.

    Args:
        estimates: of the twin.
        rows: of the drive.
        twin: the row of `telling` as the twin has it.
    """
    slots, row = estimates[SLOTS], telling(rows)
    if not slots.number or row is None or not {"50p"} <= twin.read_us.keys() & twin.write_us.keys():
        return []
    # Only queues that take turns have a burst.
    is_shared = BURST not in estimates
    held = (one.write_us["50p"] - (one.read_us["50p"] if is_shared else 0.0) for one in (row, twin))
    more = _SHARE * (next(held) - next(held)) * row.writes_per_s / 1e6
    # Far off, waits are those of another rate as well.
    value = min(max(slots.number + more, slots.number / _LONGEST_STEP), slots.number * _LONGEST_STEP)
    found = [replace(slots, value=max(round(value), 1))]
    times = _wait_for_turn(estimates, rows, twin)
    if times is not None:
        burst = min(max(round(estimates.number(BURST) * times), 1), _MOST_BURST)
        found.append(replace(estimates[BURST], value=burst))
    return found


def _wait_for_turn(estimates: Estimates, rows: Sequence[OpenLoop], twin: OpenLoop) -> float | None:
    """Wait of the drive's reads for the turn of their queue, by that of the twin's; None where there are no turns."""
    row = telling(rows)
    served = [one.read_us["50p"] for one in rows if one.is_reached and "50p" in one.read_us]
    if BURST not in estimates or row is None or not served or twin.read_us.get("50p", 0.0) <= served[-1]:
        return None
    return (row.read_us["50p"] - served[-1]) / (twin.read_us["50p"] - served[-1])


def smaller_unit(estimates: Estimates, rows: Sequence[OpenLoop], twin: OpenLoop) -> list[Estimate]:
    """Half the pages of a program, in half the time, where reads wait for their turn much shorter than the twin's.

    A program frees the slots of all its writes at once, and a read waits for that. Nothing where a shorter burst may be
    the cause, or where flash pages would not fit. The arguments are those of `mended`; the twin must be as fast as the
    drive, since waits of a slower one are longer.
    """
    times, row = _wait_for_turn(estimates, rows, twin), telling(rows)
    if times is None or row is None or times >= _SMALLER_UNIT or estimates.number(BURST) > 1:
        return []
    unit, program = round(estimates.number(UNIT)), estimates[PROGRAM]
    if unit % 2 or unit // 2 % round(estimates.number("nand.sense_pages")):
        return []
    source = f"reads at {row.offered_per_s:,.0f}/s wait for programs that free slots"
    low, high = (None if end is None else end / 2.0 for end in (program.low, program.high))
    return [
        replace(estimates[UNIT], value=unit // 2, source=source, is_measured=True),
        replace(program, value=program.number / 2.0, low=low, high=high),
    ]
