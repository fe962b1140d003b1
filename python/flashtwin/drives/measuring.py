"""The experiments of a drive on a twin: the same rows, measured by replay."""

from __future__ import annotations

from dataclasses import replace

from flashtwin.drives import history, laws, twin
from flashtwin.drives.drive import fitted_rows
from flashtwin.drives.histogram import Histogram
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Depth, Measurements, OpenLoop, OverwriteRun, SingleRequests
from flashtwin.errors import DriveError
from flashtwin.progress import Notify
from flashtwin.replays.presets import System

#: Shares of the saturated rate that an open loop offers, and of the physical space that hosts use.
RATES, FILLS = (0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.2), (0.5, 0.7, 0.8, 0.9)
#: Patterns beside uniform writes, each after the drive was filled in order.
PATTERNS = (
    Pattern("zipf", is_shuffled=True, exponent=0.8),
    Pattern("zones", is_shuffled=True, zones=((0.95, 0.05), (0.05, 0.95))),
)
SEQUENTIAL, UNIFORM = Pattern("sequential"), Pattern("uniform")
#: Overwrites by which uniform writes are in their steady state.
UNIFORM_OVERWRITES = 4.0
#: Reads under way, each number an experiment. With more of them, some read the same flash page: the twin has few.
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
#: The value of an experiment that was not measured yet.
_UNKNOWN = float("nan")


def space_gib(drive: System) -> float:
    """Physical space."""
    return drive.raw_pages * int(drive.config["nand"]["page_bytes"]) / 2**30


def overhead(drive: System) -> float:
    """Bytes of the medium by bytes of data: one unit of a stripe is parity."""
    stripe = int(drive.config["nand"]["parity_stripe"])
    return stripe / (stripe - 1) if stripe else 1.0


def usual(drive: System, per_s: float, fill: float = FILLS[-1]) -> Measurements:
    """The experiments that a fit asks for, none of them done yet.

    Args:
        drive: a system with all its blocks.
        per_s: its saturated rate of uniform writes, by which open loops are offered.
        fill: share of the physical space in use.
    """
    space = space_gib(drive)
    used = fill * space
    runs = [(share * space, f"uniform at {share:.0%}", UNIFORM, UNIFORM_OVERWRITES) for share in FILLS]
    runs += [(used, str(pattern), pattern, history.OVERWRITES) for pattern in PATTERNS]
    overwritten = [
        OverwriteRun(gib, pattern, series, times, _UNKNOWN, _UNKNOWN)
        for gib, series, then, overwrites in runs
        for pattern, times in ((SEQUENTIAL, 1.0), (then, overwrites))
    ]
    # Below saturation, the served rate is the offered one.
    rates = [
        OpenLoop(used, offered, 0.0, offered if share < 1.0 else _UNKNOWN, {}, {}, asked_per_s=offered)
        for share in RATES
        for offered in (round(share * per_s),)
    ]
    return Measurements(
        drive.name, tuple(rates), tuple(overwritten), alone=(SingleRequests("read", Histogram.of({})),),
        depths=tuple(Depth(depth, _UNKNOWN, {}) for depth in DEPTHS),
    )  # fmt: skip


def measured_as_usual(
    drive: System, fill: float = FILLS[-1], note: Notify = lambda _: None, *, seed: int = 0
) -> Measurements:
    """The experiments that a fit asks for, as the twin has them; arguments and errors are those of `measure`."""
    used = fill * space_gib(drive)
    per_s = _saturated_per_s(drive, used, note, seed)
    return _measured(drive, usual(drive, per_s, fill), used, per_s, note, seed)


def measure(
    drive: System, asked: Measurements, note: Notify = lambda _: None, *, fill: float | None = None, seed: int = 0
) -> Measurements:
    """The rows that are asked for, as the twin has them; those that it cannot play are left out.

    Args:
        drive: a system with all its blocks; it is made smaller here.
        asked: rows of a drive, or of `usual`: fills, rates, patterns and depths count.
        note: called with each step.
        fill: share of the physical space in use, of patterns whose rows do not say it. Without it, that of the rows
            that the drive was fitted on.
        seed: of the loads.

    Raises:
        DriveError: the drive is too small, or the fill is not known.
        SimError: the system cannot serve them.
    """
    fitted = fitted_rows(drive)
    used = asked.used_gib or (fill or 0.0) * space_gib(drive) or (fitted.fill_gib if fitted is not None else 0.0)
    if not used and asked.steady:
        raise DriveError(
            f"{asked.drive}: patterns alone do not say how much of the drive was in use, and neither does the file of "
            "the twin; give --fill as its share of the physical space"
        )
    used = used or FILLS[-1] * space_gib(drive)
    return _measured(drive, asked, used, _saturated_per_s(drive, used, note, seed), note, seed)


def _saturated_per_s(drive: System, used_gib: float, note: Notify, seed: int) -> float:
    space = space_gib(drive)
    if used_gib >= space:
        raise DriveError(
            f"{used_gib:,.0f} GiB in use do not fit on {drive.name}, whose flash holds {space:,.0f} GiB; "
            "is it the twin of another drive?"
        )
    note("writes as fast as it can")
    return twin.saturated_per_s(twin.small(drive), used_gib, space, seed=seed)


def _measured(drive: System, asked: Measurements, used: float, per_s: float, note: Notify, seed: int) -> Measurements:
    """The rows of a drive that does `per_s` uniform writes with `used` GiB in use."""
    space, little = space_gib(drive), twin.small(drive)
    rows = []
    for row in asked.open_loop:
        note(f"open loop, {row.offered_per_s:,.0f} requests/s")
        rows.append(twin.open_loop(little, row, space, seed=seed))
    note("reads on an idle drive")
    alone = tuple(SingleRequests(one.kind, twin.reads_alone(little, used, space, seed=seed))
                  for one in asked.alone if one.kind == "read")  # fmt: skip
    depths = tuple(twin.reads_at_depth(little, one.depth, used, space, seed=seed) for one in asked.depths)
    note("write amplification")
    budget_us = per_s * _write_us(drive, float(laws.amplification(space, used)))
    overwritten, steady = [], []
    for run, amplified in history.amplified(drive, asked, used, space, seed=seed):
        writes_per_s = budget_us / _write_us(drive, amplified)
        if isinstance(run, OverwriteRun):
            overwritten.append(replace(run, amplification=amplified * overhead(drive), writes_per_s=writes_per_s))
        else:
            steady.append(replace(run, writes_per_s=writes_per_s, write_us={}))
    return Measurements(drive.name, tuple(rows), tuple(overwritten), tuple(steady), alone, depths)


def _write_us(drive: System, amplified: float) -> float:
    """Time of the dies for a write at this amplification, from one rate to others."""
    nand = drive.config["nand"]
    program_us = float(nand["program_us"]) / int(nand["program_pages"])
    share = laws.BATCH_SHARE if drive.config["engine"]["collection_batch_us"] else 1.0
    return laws.write_us(amplified, program_us, float(nand["read_us"]), int(nand["sense_pages"]), share)
