"""Advice from a characterization: what would pay on this workload, in plain words with the numbers behind them.

Pure: the flat numbers of `rows.flat` in, a list of `Advice` out. A number that is missing is never
guessed: the sentence then says that this cannot be told, and why. What replays of the same folder say goes before what
is reckoned (`replayed`), and every piece ends in what to do, with the key and the command (`trying`).

SWC is G. Yadgar et al., "SSD-based Workload Characteristics and Their Performance Implications",
ACM TOS 17(1), 2021; CA-SSD is A. Gupta et al., FAST '11; RR-SSD is the paper on read redirection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flashtwin.characterization import replayed, trying
from flashtwin.characterization.replayed import Replay

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
#: CA-SSD 5.3: without duplicates, hashing lengthens the mean response by up to a tenth; less does not pay.
DUPLICATES_PAY_PERCENT = 10.0
#: CA-SSD Table 2: the write reduction of the least redundant of its three traces (homes).
DUPLICATES_MANY_PERCENT = 33.63
#: CA-SSD 4.1: RAM for one fingerprint in the store with its two tables.
FINGERPRINT_BYTES = 28
#: RR-SSD II-B, Fig. 4: 80 % of the reads go to 7 to 30 % of the contents; a tenth that keeps half of the
#: next period's reads is of that kind.
STABLE_PERCENT = 50.0
#: A tenth of the contents gets a tenth of the reads when popularity tells nothing; twice that tells something.
UNSTABLE_PERCENT = 20.0
#: Ours: a gain in P(D, T) below this is not worth a delay.
GAIN_MIN = 0.1

PAGE_SIZES = (4_096, 8_192, 16_384, 32_768)

#: Where the row holds these.
ENTRIES = "value_locality.write.content.entries_for_90_percent_of_reaccesses"
SPACE = "space.contents_of_pages_held_percent"

#: What no characterization can tell.
HASHING = "Whether hashing keeps up with bursts of writes, only a replay on `ca-ssd` tells."

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Advice:
    """One answer: the topic, the verdict in a word or two, the sentence, and the numbers it was made from."""

    topic: str
    verdict: str
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    #: What to do, with the key.
    action: str = ""
    #: What does it.
    command: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} {self.action}: `{self.command}`." if self.command else self.sentence


def advise(row: Row, replays: Sequence[Replay] = (), trace: str = "TRACE") -> list[Advice]:
    """All advice on one workload, one entry a topic, always in the same order.

    `replays` are finished runs of it, which answer what no trace can; `trace` is how a command line names it.
    """
    topics = (partitions, page_size, partial_reads, deduplication, replication, waiting)
    return [_ended(_replayed(topic(row), replays), row, replays, trace) for topic in topics]


def _replayed(reckoned: Advice, replays: Sequence[Replay]) -> Advice:
    """The advice with what replays say of it; a verdict that they contradict is theirs."""
    ask = {"deduplication": replayed.deduplication, "replication": replayed.replication}.get(reckoned.topic)
    found = ask(reckoned.verdict, replays) if ask else None
    if found is None:
        return reckoned
    verdict, said = found
    sentence = reckoned.sentence.removesuffix(HASHING).rstrip()
    # A sentence that no longer is the verdict comes second, and says where it is from.
    told = f"{sentence} {said}" if verdict == reckoned.verdict else f"{said} From the trace alone: {sentence}"
    return replace(reckoned, verdict=verdict, sentence=told)


def _ended(found: Advice, row: Row, replays: Sequence[Replay], trace: str) -> Advice:
    tried = trying.trial(found.topic, found.verdict, row, replays, trace)
    return replace(found, action=tried.words, command=tried.command)


def partitions(row: Row) -> Advice:
    """How many partitions: the knee at f_r <= 3, and what it brings (SWC, Finding 6)."""
    topic = "partitions"
    needed, finer = _number(row, "partitions_fr3"), _number(row, "partitions_fr2")
    if needed is None:
        return _untold(
            topic, "the number of partitions", _no_writes(row, "the temperature of its pages was not measured")
        )
    one, knee, fine, overhead = (_number(row, key) for key in ("wa_partitions_1", "wa_fr3", "wa_fr2", "overhead_fr3"))
    numbers = _held(row, "partitions_fr3", "partitions_fr2", "wa_partitions_1", "wa_fr3", "wa_fr2", "overhead_fr3")
    count = f"{_partitions(needed)} keep{'s' if needed == 1 else ''} update frequencies within a factor of 3"
    if finer is not None:
        count += f" ({finer:.0f} within 2)"
    if overhead is not None and overhead > OVERHEAD_MAX:
        return Advice(
            topic, "too small a device",
            f"{count}, but their active blocks take {overhead * 100:.0f} % of the spare blocks at OP 7 %: this "
            "footprint is too small to be partitioned.", numbers,
        )  # fmt: skip
    if not one or knee is None:
        why = row.get("wa_why_missing") or "the write amplification was not simulated"
        return Advice(topic, "unknown", f"{count}; what that saves cannot be told, because {_plain(why)}.", numbers)
    against_fine = ""
    if fine is not None and finer is not None and finer != needed:
        against_fine = f", {fine:.2f} with {finer:.0f} (f_r ≤ 2)"
    figures = (
        f"at OP 7 % the write amplification is {one:.2f} with one partition, {knee:.2f} with {needed:.0f}{against_fine}"
    )
    saved = (one - knee) / one * 100.0
    numbers = {**numbers, "saved_percent": saved}
    caution = _caution(row)
    if one < WA_CONVERGED:
        return Advice(
            topic, "not needed", f"One partition is enough: {figures}, so nothing is left to save{caution}.", numbers
        )
    if saved < WA_CHANGE_PERCENT:
        sentence = f"{count}, but they do not pay: {figures}, a change of {-saved:+.1f} %{caution}."
        return Advice(topic, "not worth it", sentence, numbers)
    share = f"; their active blocks take {overhead * 100:.1f} % of the spare blocks" if overhead is not None else ""
    return Advice(
        topic, _partitions(needed), f"{count}, and pay: {figures}, {saved:.0f} % less{share}{caution}.", numbers
    )


def page_size(row: Row) -> Advice:
    """Which page size costs what in writing and reading (SWC, Findings 5, 7, 8)."""
    topic = "page size"
    reading = {size: _number(row, f"read_full_ns_{size}") for size in PAGE_SIZES}
    writing = {size: _number(row, f"wa_fr3_{size}") for size in PAGE_SIZES}
    reading_too = _number(row, "info.reads") is None or (_number(row, "info.reads") or 0) >= READS_MIN
    costs = {size: value for size, value in reading.items() if value} if reading_too else {}
    amplified = {size: value for size, value in writing.items() if value}
    if not costs and not amplified:
        why = "reading was not measured" if reading_too else f"there are fewer than {READS_MIN:,} reads"
        return _untold(topic, "the best page size", f"{why} and the trace writes too little to simulate writing")
    cheap = [size for size in PAGE_SIZES if _near(costs, size) and _near(amplified, size)]
    told = []
    for size in PAGE_SIZES:
        parts = []
        if size in amplified:
            parts.append(f"WA {amplified[size]:.2f}")
        amplification = _number(row, f"ra_{size}")
        if amplification is not None:
            parts.append(f"RA {amplification:.2f}")
        if size in costs:
            parts.append(f"{costs[size] / 1e9:,.1f} s of flash reads")
        if parts:
            told.append(f"{size // 1024} KB: {', '.join(parts)}")
    keys = [f"{name}_{size}" for size in PAGE_SIZES for name in ("wa_fr3", "ra", "read_full_ns")]
    numbers = _held(row, *keys)
    if cheap:
        verdict = f"{max(cheap) // 1024} KB"
        opening = f"Pages of {verdict} are the largest within 10 % of the least cost of each kind"
    else:
        least, fewest = min(costs, key=lambda size: costs[size]), min(amplified, key=lambda size: amplified[size])
        verdict = f"{fewest // 1024} or {least // 1024} KB"
        opening = f"{fewest // 1024} KB pages write least, {least // 1024} KB pages read fastest"
    rest = "" if costs or not reading_too else " (reading was not measured)"
    if not reading_too:
        rest = f" (too few reads, under {READS_MIN:,}, to judge reading)"
    return Advice(topic, verdict, f"{opening}{rest}. {'; '.join(told)}.", numbers)


def partial_reads(row: Row) -> Advice:
    """Whether reading parts of large pages pays (SWC, Finding 9)."""
    topic = "partial reads"
    full, partial = _number(row, f"read_full_ns_{LARGE_PAGE}"), _number(row, f"read_partial_ns_{LARGE_PAGE}")
    if not full or partial is None:
        return _untold(topic, "whether partial reads pay", "no page is read, or the cost of reading was not measured")
    reads = _number(row, "info.reads")
    if reads is not None and reads < READS_MIN:
        return _untold(topic, "whether partial reads pay", f"there are {reads:,.0f} reads and it takes {READS_MIN:,}")
    saved = (full - partial) / full * 100.0
    numbers = {**_held(row, f"read_full_ns_{LARGE_PAGE}", f"read_partial_ns_{LARGE_PAGE}"), "saved_percent": saved}
    figures = f"with 16 KB pages they take {partial / 1e9:,.1f} s of flash time against {full / 1e9:,.1f} s"
    if saved >= PARTIAL_HALVES_PERCENT:
        return Advice(topic, "yes", f"Partial reads pay much: {figures}, {saved:.0f} % less.", numbers)
    if saved >= PARTIAL_PAYS_PERCENT:
        return Advice(topic, "yes", f"Partial reads pay: {figures}, {saved:.0f} % less.", numbers)
    if saved >= 0:
        return Advice(topic, "no", f"Partial reads bring little: {figures}, {saved:.1f} % less.", numbers)
    sentence = f"Partial reads cost more than they save: {figures}. Whole pages serve short sequences from the buffer."
    return Advice(topic, "no", sentence, numbers)


def deduplication(row: Row) -> Advice:
    """What deduplication saves and the fingerprint store it takes (CA-SSD 3, 4.1)."""
    topic = "deduplication"
    share = _number(row, "info.duplicate_write_percent")
    if share is None:
        why = (
            "the trace carries no content"
            if row.get("info.has_content") is False
            else "no page write has a known content"
        )
        return _untold(topic, "what deduplication saves", why)
    entries = _number(row, ENTRIES)
    space = _number(row, SPACE)
    numbers = _held(row, "info.duplicate_write_percent", ENTRIES, SPACE)
    room = f" and would leave {space:.0f} % of the space in use" if space is not None else ""
    saved = f"it would save {share:.1f} % of the page writes{room}"
    store = ""
    if entries is not None:
        numbers["fingerprint_bytes"] = entries * FINGERPRINT_BYTES
        size = _bytes(entries * FINGERPRINT_BYTES)
        store = f"; an LRU store of {entries:,.0f} fingerprints ({size}) finds 90 % of the repeats"
    if share < DUPLICATES_PAY_PERCENT:
        return Advice(
            topic, "no", f"Deduplication saves next to nothing: {saved}, less than hashing may cost.", numbers
        )
    if share < DUPLICATES_MANY_PERCENT:
        return Advice(topic, "some", f"Deduplication saves a little: {saved}{store}. {HASHING}", numbers)
    return Advice(topic, "yes", f"Deduplication saves much: {saved}{store}. {HASHING}", numbers)


def replication(row: Row) -> Advice:
    """Whether read popularity is stable enough for copies to be used (RR-SSD II-C, Fig. 5, 6)."""
    topic = "replication"
    popular = _number(row, "drift.popular_before_percent")
    if popular is None:
        if row.get("info.has_content") is False:
            why = "the trace carries no content"
        elif _number(row, "drift.periods") == 1:
            why = "there are no two periods with reads to compare; try a shorter --period"
        else:
            why = "the popularity of contents by period was not measured"
        return _untold(topic, "whether replication pays", why)
    names = ("popular_before_percent", "read_before_percent", "seen_before_percent", "first_read_percent")
    numbers = _held(row, *(f"drift.{name}" for name in names))
    known, first = _number(row, "drift.read_before_percent"), _number(row, "drift.first_read_percent")
    figures = f"{popular:.0f} % of a period's page reads go to the tenth of contents read most in the period before"
    if known is not None:
        figures += f", {known:.0f} % to contents read in it at all"
    if first is not None:
        figures += f"; {first:.0f} % are first reads, which no copy can serve"
    if popular >= STABLE_PERCENT:
        return Advice(topic, "yes", f"Read popularity is stable enough for replication to pay: {figures}.", numbers)
    if known is not None and known >= STABLE_PERCENT:
        sentence = f"Replication can pay with copies of many contents, not of a few: {figures}."
        return Advice(topic, "with many copies", sentence, numbers)
    if popular >= UNSTABLE_PERCENT:
        sentence = f"Read popularity is half stable, so replication reaches part of the reads: {figures}."
        return Advice(topic, "some", sentence, numbers)
    return Advice(topic, "no", f"Read popularity is not stable enough for replication to pay: {figures}.", numbers)


def waiting(row: Row) -> Advice:
    """Whether delaying work helps, or looking at a larger neighbourhood (SWC, Finding 10)."""
    topic = "waiting"
    wait, distance = _number(row, "write_gain_of_waiting"), _number(row, "write_gain_of_distance")
    if wait is None or distance is None:
        return _untold(topic, "whether waiting helps", _no_writes(row, "logical locality was not measured"))
    numbers = _held(row, "write_gain_of_waiting", "write_gain_of_distance")
    figures = (
        f"within 64 pages waiting raises the chance that a write meets another by {wait * 100:.0f} points, "
        f"within 250 requests a larger distance does by {distance * 100:.0f}"
    )
    if max(wait, distance) < GAIN_MIN:
        return Advice(topic, "no", f"Neither waiting nor a wider view finds company for writes: {figures}.", numbers)
    if wait < GAIN_MIN:
        return Advice(topic, "no", f"Look further instead of waiting longer: {figures}.", numbers)
    if distance > wait:
        return Advice(topic, "some", f"Waiting helps, a wider view helps more: {figures}.", numbers)
    return Advice(topic, "yes", f"Waiting helps more than a wider view: {figures}.", numbers)


def _number(row: Row, key: str) -> float | None:
    value = row.get(key)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _held(row: Row, *keys: str) -> dict[str, float]:
    """Those numbers that there are."""
    return {key: value for key in keys if (value := _number(row, key)) is not None}


def _untold(topic: str, what: str, why: str) -> Advice:
    return Advice(topic, "unknown", f"{what[:1].upper()}{what[1:]} cannot be told, because {why}.")


def _no_writes(row: Row, otherwise: str) -> str:
    return "the trace has no writes" if _number(row, "info.writes") == 0 else otherwise


def _caution(row: Row) -> str:
    """A reservation when the trace does not write enough for a steady state."""
    writes = _number(row, "write_amplification.page_writes")
    each = _number(row, "write_amplification.writes_per_sector_mean")
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
    return "1 partition" if count == 1 else f"{count:.0f} partitions"


def _plain(reason: object) -> str:
    text = str(reason).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}"


def _bytes(count: float) -> str:
    for limit, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if count >= limit:
            return f"{count / limit:,.1f} {unit}"
    return f"{count:,.0f} B"
