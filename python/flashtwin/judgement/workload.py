"""Verdicts from a trace's figures alone: partitions, page size, waiting.

A number that is missing is never guessed: the claim then says so, and why.

SWC is G. Yadgar et al., "SSD-based Workload Characteristics and Their Performance Implications", ACM TOS 17(1), 2021.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flashtwin import units
from flashtwin.judgement import actions, catalogue
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import UNKNOWN, Action, Verdict, joined, lower, upper
from flashtwin.results.rows import PAGE_SIZES

#: SWC 3.3: write amplifications below this count as converged; there is nothing left to save.
WA_CONVERGED = 1.05
#: SWC Fig. 4 and 9: a change of the write amplification below 5 % is small.
WA_CHANGE_PERCENT = 5.0
#: SWC 4.2, Fig. 9: with a higher partitioning overhead the spare blocks do not hold the active ones.
OVERHEAD_MAX = 1.0
#: SWC 3.2: fewer page writes, or fewer writes of each sector, do not reach a steady state.
PAGE_WRITES_MIN, WRITES_PER_SECTOR_MIN = 100_000, 4.0
#: SWC 4.3: fewer reads allow no claim about reading.
READS_MIN = 5_000
#: Ours: a page size within this of the cheapest one is as good.
PAGE_COST_TOLERANCE_PERCENT = 10.0
#: SWC 4.4: the page size that chips have come to (16 KB).
LARGE_PAGE = 16_384
#: Ours: a command of its own is worth a tenth of the reading time.
PARTIAL_PAYS_PERCENT = 10.0
#: Ours: a gain in P(D, T) below this is not worth a delay.
GAIN_MIN = 0.1
#: The share of a drive that pages take up at OP 7 %, as where the write amplification is reckoned; aged.
FULL = "--set replay.preload=footprint --fill 93%"
#: Partitions of a drive at least, if there are any, and at most.
PARTITIONS = (2, 32)


def partitions(of: Evidence) -> Verdict:
    """How many partitions: the knee at f_r <= 3, and its gain (SWC, Finding 6)."""
    keys = ("partitions_fr3", "partitions_fr2", "wa_partitions_1", "wa_fr3", "overhead_fr3")
    needed, finer, one, knee, overhead = map(of.number, keys)
    if needed is None:
        why = _no_writes(of, "the temperature of its pages was not measured")
        return untold("partitions", "the number of partitions", why, _try_partitions(of, UNKNOWN))
    figures = of.figures(*keys)
    count = f"{units.plural(needed, 'partition')} keep{'s' if needed == 1 else ''} update frequencies within a factor "
    count += f"of 3{f' ({finer:.0f} within 2)' if finer is not None else ''}"
    taken = f"their active blocks take {overhead * 100:.1f} % of the spare blocks" if overhead is not None else ""
    if overhead is not None and overhead > OVERHEAD_MAX:
        answer = "too small a device"
        claim = f"{count}, but {taken} at OP 7 %: this footprint is too small to be partitioned"
    elif not one or knee is None:
        why = lower(str((of.row or {}).get("wa_why_missing") or "the write amplification was not simulated"))
        answer, claim = UNKNOWN, f"{count}; the saving is unknown, because {why.rstrip('.')}"
    else:
        figures["saved_percent"] = saved = (one - knee) / one * 100.0
        told = f"at OP 7 % the write amplification is {one:.2f} with one partition, {knee:.2f} with {needed:.0f}"
        if one < WA_CONVERGED:
            answer, claim = "not needed", f"One partition is enough: {told}, so nothing is left to save"
        elif saved < WA_CHANGE_PERCENT:
            answer, claim = "not worth it", f"{count}, but they do not pay: {told}, a change of {-saved:+.1f} %"
        else:
            answer = units.plural(needed, "partition")
            claim = f"{count}, and pay: {told}, {saved:.0f} % less{f'; {taken}' if taken else ''}"
        claim += _caution(of)
    return Verdict("partitions", f"{claim}.", answer, figures=figures, action=_try_partitions(of, answer))


def _try_partitions(of: Evidence, answer: str) -> Action:
    count = min(max(int(of.number("partitions_fr3") or 0), PARTITIONS[0]), PARTITIONS[1])
    # Filters tell two temperatures apart, no more.
    policies = "none,bloom-filters,offline" if count == PARTITIONS[0] else "none,offline"
    pays = answer.endswith("partitions")
    if of.decision is not None:
        words = "Separate hot from cold pages (`ftl.partition.policy`)"
        return _try(of, "partitions", words, {"ftl.partition.policy": "bloom-filters"}, helps=pays)
    words = (
        "Separate hot from cold pages (`ftl.partition.policy`) and compare the write amplification on equal flash: "
        "`offline` is the bound, `bloom-filters` with two partitions the practical policy"
    )
    if answer == UNKNOWN:
        words = "Replay a full drive with partitions (`ftl.partition.policy`)"
    elif not pays:
        words = "Leave `ftl.partition.policy = none`; this command shows the alternatives"
    keys = f"--set ftl.partition.policy={policies} --set ftl.partition.partitions={count} {FULL} --trade wa,programs"
    return actions.sweep(of, words, keys, "partitions")


def _try(of: Evidence, name: str, words: str, sets: Mapping[str, Any], *, helps: bool) -> Action:
    """A change of the catalogue; where the trace speaks against it, only what replays say of it is told."""
    found = actions.change(of, name, words, sets)
    if helps or found.replayed or not found:
        return found
    return replace(found, words=f"Leave {units.names(list(sets))} as it is; this command shows what it does")


def page_size(of: Evidence) -> Verdict:
    """The cost of each page size in writing and reading (SWC, Findings 5, 7, 8)."""
    judges_reading = _enough_reads(of)
    costs = {size: value for size in PAGE_SIZES if judges_reading and (value := of.number(f"read_full_ns_{size}"))}
    amplified = {size: value for size in PAGE_SIZES if (value := of.number(f"wa_fr3_{size}"))}
    without = "reading was not measured" if judges_reading else f"there are fewer than {READS_MIN:,} reads"
    if not costs and not amplified:
        why = f"{without} and the trace writes too little to simulate writing"
        return untold("page size", "the best page size", why, _try_page_size(of, 16))
    cheap = [size // 1024 for size in PAGE_SIZES if _near(costs, size) and _near(amplified, size)]
    if cheap:
        answer = f"{cheap[-1]} KB"
        opening = f"Pages of {answer} are the largest within 10 % of the least cost of each kind"
    else:
        least, fewest = (min(of_size, key=lambda size: of_size[size]) // 1024 for of_size in (costs, amplified))
        answer = f"{fewest} or {least} KB"
        opening = f"{fewest} KB pages write least, {least} KB pages read fastest"
    opening += "" if costs else f" ({without}, so that reading is not judged)"
    told = [f"{size // 1024} KB: {', '.join(parts)}" for size in PAGE_SIZES if (parts := _costs(of, size, costs))]
    figures = of.figures(*(f"{name}_{size}" for size in PAGE_SIZES for name in ("wa_fr3", "ra", "read_full_ns")))
    action = _try_page_size(of, cheap[-1] if cheap else 16)
    partial, saved = _partial_reads(of)
    figures |= {} if saved is None else {"partial_reads_saved_percent": saved}
    claim = joined(f"{opening}. {'; '.join(told)}.", partial)
    return Verdict("page size", claim, answer, figures=figures, action=action)


def _try_page_size(of: Evidence, kilobytes: int) -> Action:
    words = f"Replay with pages of {kilobytes} KB (`nand.page_bytes`)"
    return _try(of, "page size", words, catalogue.page_size(kilobytes), helps=True)


def _costs(of: Evidence, size: int, costs: Mapping[int, float]) -> list[str]:
    written, read = of.number(f"wa_fr3_{size}"), of.number(f"ra_{size}")
    parts = [f"WA {written:.2f}"] if written else []
    parts += [f"RA {read:.2f}"] if read is not None else []
    return [*parts, f"{costs[size] / 1e9:,.1f} s of flash reads"] if size in costs else parts


def _near(costs: Mapping[int, float], size: int) -> bool:
    """Whether a size's cost is within the tolerance of the least; also when this cost is not known at all."""
    most = min(costs.values(), default=0.0) * (1 + PAGE_COST_TOLERANCE_PERCENT / 100)
    return not costs or (size in costs and costs[size] <= most)


def _partial_reads(of: Evidence) -> tuple[str, float | None]:
    """Whether reading parts of large pages would pay (SWC, Finding 9), and the share of time saved in percent."""
    full, partial = (of.number(f"read_{how}_ns_{LARGE_PAGE}") for how in ("full", "partial"))
    if not full or partial is None or not _enough_reads(of):
        return "", None
    saved = (full - partial) / full * 100.0
    told = f"{partial / 1e9:,.1f} s of flash time against {full / 1e9:,.1f} s; replays read whole pages."
    if saved >= PARTIAL_PAYS_PERCENT:
        return f"Partial reads of 16 KB pages would take {saved:.0f} % less: {told}", saved
    return f"Partial reads of 16 KB pages would bring {'little' if saved >= 0 else 'nothing'}: {told}", saved


def waiting(of: Evidence) -> Verdict:
    """Whether delaying work helps, or looking at a larger neighbourhood (SWC, Finding 10)."""
    keys = ("write_gain_of_waiting", "write_gain_of_distance")
    wait, distance = map(of.number, keys)
    if wait is None or distance is None:
        why = _no_writes(of, "logical locality was not measured")
        return untold("waiting", "whether waiting helps", why, _try_waiting(of, UNKNOWN))
    if max(wait, distance) < GAIN_MIN:
        answer, claim = "no", "Neither waiting nor a wider window finds neighbours for writes"
    elif wait < GAIN_MIN:
        answer, claim = "no", "A wider window helps, waiting does not"
    elif distance > wait:
        answer, claim = "some", "Waiting helps, a wider window helps more"
    else:
        answer, claim = "yes", "Waiting helps more than a wider window"
    claim += (
        f": the chance that a write has a neighbour rises by {wait * 100:.0f} points with waiting (within 64 pages), "
        f"by {distance * 100:.0f} with distance (within 250 requests)."
    )
    return Verdict("waiting", claim, answer, figures=of.figures(*keys), action=_try_waiting(of, answer))


def _try_waiting(of: Evidence, answer: str) -> Action:
    pages = catalogue.CACHE_PAGES
    words = f"Let writes wait in a write-back cache of {pages:,} pages (`engine.write_cache_pages`)"
    return _try(of, "write cache", words, catalogue.write_cache(), helps=answer in ("yes", "some"))


def untold(topic: str, what: str, why: str, action: Action) -> Verdict:
    """The verdict where a number is missing."""
    return Verdict(topic, f"{upper(what)} is unknown, because {why}.", UNKNOWN, action=action)


def _no_writes(of: Evidence, otherwise: str) -> str:
    return "the trace has no writes" if of.number("info.writes") == 0 else otherwise


def _enough_reads(of: Evidence) -> bool:
    """Whether the reads allow a claim; also where the number of reads is not known."""
    reads = of.number("info.reads")
    return reads is None or reads >= READS_MIN


def _caution(of: Evidence) -> str:
    """A reservation when the trace does not write enough for a steady state."""
    writes, each = (of.number(f"write_amplification.{name}") for name in ("page_writes", "writes_per_sector_mean"))
    if writes is not None and writes < PAGE_WRITES_MIN:
        return f" (weak: {writes:,.0f} page writes; a steady state needs {PAGE_WRITES_MIN:,})"
    if each is not None and each < WRITES_PER_SECTOR_MIN:
        needed = f"a steady state needs {WRITES_PER_SECTOR_MIN:.0f}"
        return f" (weak: {each:.1f} writes per sector on average; {needed})"
    return ""
