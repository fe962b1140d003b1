"""What a trace's figures alone decide: partitions, page size, partial reads, waiting.

A number that is missing is never guessed: the claim then says that this cannot be told, and why.

SWC is G. Yadgar et al., "SSD-based Workload Characteristics and Their Performance Implications", ACM TOS 17(1), 2021.
"""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin import units
from flashtwin.judgement import actions
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Verdict, lower, upper
from flashtwin.results.rows import PAGE_SIZES

#: SWC 3.3: write amplifications below this count as converged; there is nothing left to save.
WA_CONVERGED = 1.05
#: SWC Fig. 4 and 9: a change of the write amplification below 5 % is small.
WA_CHANGE_PERCENT = 5.0
#: SWC 4.2, Fig. 9: with a higher partitioning overhead the spare blocks do not hold the active ones.
OVERHEAD_MAX = 1.0
#: SWC 3.2: fewer page writes, or fewer writes of each sector, do not reach a steady state.
PAGE_WRITES_MIN, WRITES_PER_SECTOR_MIN = 100_000, 4.0
#: SWC 4.3: with fewer reads nothing is said of reading.
READS_MIN = 5_000
#: Ours: a page size within this of the cheapest one is as good.
PAGE_COST_TOLERANCE_PERCENT = 10.0
#: SWC 4.4: the page size that chips have come to (16 KB), and the saving that three quarters of its traces reach.
LARGE_PAGE, PARTIAL_HALVES_PERCENT = 16_384, 50.0
#: Ours: a command of its own is worth a tenth of the reading time.
PARTIAL_PAYS_PERCENT = 10.0
#: Ours: a gain in P(D, T) below this is not worth a delay.
GAIN_MIN = 0.1

UNKNOWN = "unknown"


def partitions(of: Evidence) -> Verdict:
    """How many partitions: the knee at f_r <= 3, and what it brings (SWC, Finding 6)."""
    keys = ("partitions_fr3", "partitions_fr2", "wa_partitions_1", "wa_fr3", "wa_fr2", "overhead_fr3")
    needed, finer, one, knee, fine, overhead = (of.number(key) for key in keys)
    if needed is None:
        why = _no_writes(of, "the temperature of its pages was not measured")
        return _judged(of, "partitions", *untold("the number of partitions", why))
    figures = of.figures(*keys)
    count = f"{_partitions(needed)} keep{'s' if needed == 1 else ''} update frequencies within a factor of 3"
    count += f" ({finer:.0f} within 2)" if finer is not None else ""
    if overhead is not None and overhead > OVERHEAD_MAX:
        claim = (
            f"{count}, but their active blocks take {overhead * 100:.0f} % of the spare blocks at OP 7 %: this "
            "footprint is too small to be partitioned."
        )
        return _judged(of, "partitions", "too small a device", claim, figures)
    if not one or knee is None:
        why = lower(str((of.row or {}).get("wa_why_missing") or "the write amplification was not simulated"))
        claim = f"{count}; what that saves cannot be told, because {why.rstrip('.')}."
        return _judged(of, "partitions", UNKNOWN, claim, figures)
    finest = fine is not None and finer is not None and finer != needed
    told = f"at OP 7 % the write amplification is {one:.2f} with one partition, {knee:.2f} with {needed:.0f}"
    told += f", {fine:.2f} with {finer:.0f} (f_r ≤ 2)" if finest else ""
    saved = (one - knee) / one * 100.0
    figures["saved_percent"] = saved
    answer = _partitions(needed)
    if one < WA_CONVERGED:
        answer, claim = "not needed", f"One partition is enough: {told}, so nothing is left to save"
    elif saved < WA_CHANGE_PERCENT:
        answer, claim = "not worth it", f"{count}, but they do not pay: {told}, a change of {-saved:+.1f} %"
    else:
        share = f"; their active blocks take {overhead * 100:.1f} % of the spare blocks" if overhead is not None else ""
        claim = f"{count}, and pay: {told}, {saved:.0f} % less{share}"
    return _judged(of, "partitions", answer, f"{claim}{_caution(of)}.", figures)


def page_size(of: Evidence) -> Verdict:
    """Which page size costs what in writing and reading (SWC, Findings 5, 7, 8)."""
    reads = of.number("info.reads")
    judges_reading = reads is None or reads >= READS_MIN
    read = {size: value for size in PAGE_SIZES if (value := of.number(f"read_full_ns_{size}"))}
    costs = read if judges_reading else {}
    amplified = {size: value for size in PAGE_SIZES if (value := of.number(f"wa_fr3_{size}"))}
    if not costs and not amplified:
        why = "reading was not measured" if judges_reading else f"there are fewer than {READS_MIN:,} reads"
        return _judged(
            of, "page size", *untold("the best page size", f"{why} and the trace writes too little to simulate writing")
        )
    told = [f"{size // 1024} KB: {', '.join(parts)}" for size in PAGE_SIZES if (parts := _costs(of, size, costs))]
    cheap = [size for size in PAGE_SIZES if _near(costs, size) and _near(amplified, size)]
    if cheap:
        answer = f"{max(cheap) // 1024} KB"
        opening = f"Pages of {answer} are the largest within 10 % of the least cost of each kind"
    else:
        least, fewest = (min(of_size, key=lambda size: of_size[size]) // 1024 for of_size in (costs, amplified))
        answer = f"{fewest} or {least} KB"
        opening = f"{fewest} KB pages write least, {least} KB pages read fastest"
    if not judges_reading:
        opening += f" (too few reads, under {READS_MIN:,}, to judge reading)"
    elif not costs:
        opening += " (reading was not measured)"
    figures = of.figures(*(f"{name}_{size}" for size in PAGE_SIZES for name in ("wa_fr3", "ra", "read_full_ns")))
    return _judged(of, "page size", answer, f"{opening}. {'; '.join(told)}.", figures)


def _costs(of: Evidence, size: int, costs: Mapping[int, float]) -> list[str]:
    parts = []
    for key, name in ((f"wa_fr3_{size}", "WA"), (f"ra_{size}", "RA")):
        value = of.number(key)
        if value or (value is not None and name == "RA"):
            parts.append(f"{name} {value:.2f}")
    return [*parts, f"{costs[size] / 1e9:,.1f} s of flash reads"] if size in costs else parts


def partial_reads(of: Evidence) -> Verdict:
    """Whether reading parts of large pages pays (SWC, Finding 9)."""
    keys = (f"read_full_ns_{LARGE_PAGE}", f"read_partial_ns_{LARGE_PAGE}")
    (full, partial), reads = map(of.number, keys), of.number("info.reads")
    why = ""
    if not full or partial is None:
        why = "no page is read, or the cost of reading was not measured"
    elif reads is not None and reads < READS_MIN:
        why = f"there are {reads:,.0f} reads and it takes {READS_MIN:,}"
    if not full or partial is None or why:
        return _judged(of, "partial reads", *untold("whether partial reads pay", why))
    saved = (full - partial) / full * 100.0
    told = f"with 16 KB pages they take {partial / 1e9:,.1f} s of flash time against {full / 1e9:,.1f} s"
    if saved >= PARTIAL_PAYS_PERCENT:
        much = " much" if saved >= PARTIAL_HALVES_PERCENT else ""
        answer, claim = "yes", f"Partial reads pay{much}: {told}, {saved:.0f} % less."
    elif saved >= 0:
        answer, claim = "no", f"Partial reads bring little: {told}, {saved:.1f} % less."
    else:
        claim = f"Partial reads cost more than they save: {told}. Whole pages serve short sequences from the buffer."
        answer = "no"
    return _judged(of, "partial reads", answer, claim, {**of.figures(*keys), "saved_percent": saved})


def waiting(of: Evidence) -> Verdict:
    """Whether delaying work helps, or looking at a larger neighbourhood (SWC, Finding 10)."""
    keys = ("write_gain_of_waiting", "write_gain_of_distance")
    wait, distance = map(of.number, keys)
    if wait is None or distance is None:
        why = _no_writes(of, "logical locality was not measured")
        return _judged(of, "waiting", *untold("whether waiting helps", why))
    if max(wait, distance) < GAIN_MIN:
        answer, claim = "no", "Neither waiting nor a wider view finds company for writes"
    elif wait < GAIN_MIN:
        answer, claim = "no", "Look further instead of waiting longer"
    elif distance > wait:
        answer, claim = "some", "Waiting helps, a wider view helps more"
    else:
        answer, claim = "yes", "Waiting helps more than a wider view"
    told = (
        f"within 64 pages waiting raises the chance that a write meets another by {wait * 100:.0f} points, "
        f"within 250 requests a larger distance does by {distance * 100:.0f}"
    )
    return _judged(of, "waiting", answer, f"{claim}: {told}.", of.figures(*keys))


def untold(what: str, why: str) -> tuple[str, str]:
    """The answer and the claim where a number is missing."""
    return UNKNOWN, f"{upper(what)} cannot be told, because {why}."


def _judged(of: Evidence, topic: str, answer: str, claim: str, figures: Mapping[str, float] | None = None) -> Verdict:
    return Verdict(topic, claim, answer, figures=figures or {}, action=actions.on_trace(of, topic, answer))


def _no_writes(of: Evidence, otherwise: str) -> str:
    return "the trace has no writes" if of.number("info.writes") == 0 else otherwise


def _caution(of: Evidence) -> str:
    """A reservation when the trace does not write enough for a steady state."""
    writes = of.number("write_amplification.page_writes")
    each = of.number("write_amplification.writes_per_sector_mean")
    if writes is not None and writes < PAGE_WRITES_MIN:
        return f" (a weak statement: {writes:,.0f} page writes, where {PAGE_WRITES_MIN:,} are asked for)"
    if each is not None and each < WRITES_PER_SECTOR_MIN:
        asked = f"where {WRITES_PER_SECTOR_MIN:.0f} are asked for"
        return f" (a weak statement: {each:.1f} writes of each sector on average, {asked})"
    return ""


def _near(costs: Mapping[int, float], size: int) -> bool:
    """Whether a size's cost is within the tolerance of the least; also when this cost is not known at all."""
    if not costs:
        return True
    return size in costs and costs[size] <= min(costs.values()) * (1 + PAGE_COST_TOLERANCE_PERCENT / 100)


def _partitions(count: float) -> str:
    return units.plural(count, "partition")
