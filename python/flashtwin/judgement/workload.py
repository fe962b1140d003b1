"""Verdicts on a workload: its load, partitions, page size, waiting, and mechanisms that look at contents.

A missing number is never guessed. Candidates with and without a mechanism decide on it, before the trace's figures.

SWC is G. Yadgar et al., "SSD-based Workload Characteristics and Their Performance Implications", ACM TOS 17(1), 2021;
CA-SSD is A. Gupta et al., FAST '11; RR-SSD is the paper on read redirection.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from flashtwin import units
from flashtwin.judgement import catalogue, facts
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import UNKNOWN, Action, Verdict, joined, lower, upper
from flashtwin.results.reading import SavedRun
from flashtwin.results.rows import ENTRIES, PAGE_SIZES, SPACE

#: SWC 3.3: write amplifications below this count as converged. SWC Fig. 4, 9: a change below 5 % is small.
WA_CONVERGED, WA_CHANGE_PERCENT = 1.05, 5.0
#: SWC 4.2, Fig. 9: with a higher partitioning overhead the spare blocks do not hold the active ones.
OVERHEAD_MAX = 1.0
#: SWC 3.2: fewer page writes, or fewer writes of each sector, do not reach a steady state.
STEADY = {"write_amplification.page_writes": 100_000, "write_amplification.writes_per_sector_mean": 4}
#: SWC 4.3: fewer reads allow no claim about reading.
READS_MIN = 5_000
#: Ours: a page size within this of the cheapest one is as good; a gain in P(D, T) below this is not worth a delay.
PAGE_COST_TOLERANCE, GAIN_MIN = 1.10, 0.1
#: CA-SSD 5.3: without duplicates, hashing lengthens the mean response by up to a tenth. CA-SSD Table 2: the write
#: reduction of the least redundant of its three traces.
DUPLICATES_PAY_PERCENT, DUPLICATES_MANY_PERCENT = 10.0, 33.63
#: CA-SSD 4.1: RAM for one fingerprint in the store with its two tables.
FINGERPRINT_BYTES = 28
#: RR-SSD II-B, Fig. 4: 80 % of the reads go to 7 to 30 % of the contents; a tenth that keeps half of the next period's
#: reads is of that kind. It gets a tenth when popularity tells nothing; twice that tells something.
STABLE_PERCENT, UNSTABLE_PERCENT = 50.0, 20.0
#: The share of a drive that pages take up at OP 7 %, as where the write amplification is reckoned; aged.
FULL = "--set replay.preload=footprint --fill 93%"
#: Ours: partitions of a drive at least and at most; periods that a trace is cut into where its own are too long.
PARTITIONS, PERIODS = (2, 32), 12
#: Shares of waiting in a request's time, in percent, from which on a drive is overloaded and below which it is idle.
OVERLOADED_PERCENT, IDLE_PERCENT = 95.0, 5.0

#: The figures of the trace that each topic is about, in words.
_FIGURES: dict[str, dict[str, str]] = {
    "partitions": {
        "partitions_fr3": "update frequencies stay within a factor of 3 with {:.0f}",
        "partitions_fr2": "of 2 with {:.0f}",
        "wa_partitions_1": "at OP 7 % the write amplification is {:.2f} with one", "wa_fr3": "{:.2f} with these",
        "saved_percent": "{:.0f} % less", "overhead_fr3": "their active blocks take {:.1%} of the spare blocks",
    },
    "page size": {
        f"{key}_{size}": f"{words} {{:.2f}} with {size // 1024} KB" for size in PAGE_SIZES
        for key, words in (("wa_fr3", "WA"), ("ra", "RA"))
    },
    "deduplication": {
        "info.duplicate_write_percent": "it would save {:.1f} % of the page writes",
        SPACE: "{:.0f} % of the space would stay in use",
        ENTRIES: "an LRU store of {:,.0f} fingerprints finds 90 % of the repeats",
        "fingerprint_bytes": "which takes {:,.0f} B",
    },
    "replication": {
        "drift.popular_before_percent": "{:.0f} % of a period's reads go to the tenth of contents read most before",
        "drift.read_before_percent": "{:.0f} % to contents read in the period before at all",
        "drift.first_read_percent": "{:.0f} % are first reads, which no copy can serve",
    },
    "waiting": {
        "write_gain_of_waiting": "the chance of a neighbour rises by {:.2f} with waiting (within 64 pages)",
        "write_gain_of_distance": "by {:.2f} with a wider window (within 250 requests)",
    },
}  # fmt: skip
#: Stands for every answer that has a number in it.
NUMBER = "with a number"
#: How the sentence on each answer begins. What is unknown has its verb later.
OPENINGS: dict[str, dict[str, str]] = {
    "partitions": {
        UNKNOWN: "The saving of partitions", "not needed": "Partitions are not needed",
        "not worth it": "Partitions save little", "too small a device": "Partitions take a larger drive",
        NUMBER: "{} pay",
    },
    "page size": {UNKNOWN: "The best page size", NUMBER: "Pages of {} cost least"},
    "deduplication": {
        UNKNOWN: "The saving of deduplication", "yes": "Deduplication saves much",
        "some": "Deduplication saves a little", "no": "Deduplication saves hardly anything",
    },
    "replication": {
        UNKNOWN: "The gain of copies", "yes": "Copies of few contents can pay",
        "some": "Copies of few contents can pay a little",
        "with many copies": "Copies of many contents can pay, those of a few cannot", "no": "Copies can hardly pay",
    },
    "waiting": {
        UNKNOWN: "The gain of waiting", "yes": "Waiting helps writes more than a wider window",
        "some": "Waiting helps writes, a wider window helps more", "no": "Waiting does not help writes",
    },
}  # fmt: skip


def load(of: Evidence) -> Verdict | None:
    if of.study is None:
        return None
    base = of.study.baseline
    share, late = facts.waiting_share(base, "all"), facts.late_by(base.numbers)
    figures = facts.known({"waiting_percent": share, "times_as_long": late})
    claim = f"waiting is {units.percent(share)} of a request's time under `{base.label}`."
    if late is not None or (share is not None and share > OVERLOADED_PERCENT):
        ended, arrived = base.count("completed_ns"), base.count("completed_ns") / (late or 1.0)
        behind = f"it needs {units.duration(ended)} for requests that arrive within {units.duration(arrived)}."
        claim = f"The drive is overloaded: {claim}" if late is None else f"`{base.label}` cannot keep up: {behind}"
        reason = "Response times then grow with the length of the trace; replay it more slowly to compare systems."
        return Verdict("load", claim, "overloaded", reason, figures, (base.name,))
    if share is None or share >= IDLE_PERCENT:
        return None
    reason = "No policy can save waiting that does not occur; replay the trace faster to see where queues build up."
    return Verdict("load", f"The drive is nearly idle: {claim}", "idle", reason, figures, (base.name,))


def partitions(of: Evidence) -> Verdict | None:
    """How many partitions: the knee at f_r <= 3, and its gain (SWC, Finding 6)."""
    needed, one, knee, overhead = map(of.number, ("partitions_fr3", "wa_partitions_1", "wa_fr3", "overhead_fr3"))
    answer, why, more = UNKNOWN, _no_writes(of, "the temperature of its pages was not measured"), {}
    if needed is not None and overhead is not None and overhead > OVERHEAD_MAX:
        answer = "too small a device"
    elif needed is not None and one and knee is not None:
        more = {"saved_percent": (one - knee) / one * 100.0}
        answer = units.plural(needed, "partition") if more["saved_percent"] >= WA_CHANGE_PERCENT else "not worth it"
        answer = answer if one >= WA_CONVERGED else "not needed"
    elif needed is not None:
        why = lower(str((of.row or {}).get("wa_why_missing") or "the write amplification was not simulated"))
    weak = [key for key, least in STEADY.items() if (number := of.number(key)) is not None and number < least]
    steady = " and ".join(f"{least:,} {key.rpartition('.')[2].replace('_', ' ')}" for key, least in STEADY.items())
    caution = f"This is weak, because a steady state takes {steady}." if weak and more else ""
    return _estimate(of, "partitions", answer, why, _try_partitions(of, answer), more, caution)


def _try_partitions(of: Evidence, answer: str) -> Action:
    """The change beside the choice; of a trace alone, a sweep on equal flash: the bound, and the practical policy."""
    words, pays = "Separate hot from cold pages (`ftl.partition.policy`)", answer.endswith("partitions")
    if of.decision is not None:
        return of.change("partitions", words, {"ftl.partition.policy": "bloom-filters"}, helps=pays)
    count = min(max(int(of.number("partitions_fr3") or 0), PARTITIONS[0]), PARTITIONS[1])
    # Filters tell two temperatures apart, no more.
    policies = "none,bloom-filters,offline" if count == PARTITIONS[0] else "none,offline"
    if answer != UNKNOWN and not pays:
        words = "Leave `ftl.partition.policy = none`; this command shows the alternatives"
    trace = re.sub(r"--period (\S+)s\b", r"--set replay.period_s=\1", of.trace)
    keys = f"--set ftl.partition.policy={policies} --set ftl.partition.partitions={count} {FULL} --trade wa,programs"
    return Action(words, f"flashtwin sweep {trace} --systems conventional {keys}", {}, "partitions")


def page_size(of: Evidence) -> Verdict | None:
    """The largest pages that cost little in writing and reading (SWC, Findings 5, 7, 8)."""
    reads = of.number("info.reads")
    judges_reading = reads is None or reads >= READS_MIN
    names = ("wa_fr3", "read_full_ns") if judges_reading else ("wa_fr3",)
    costs = [{size: cost for size in PAGE_SIZES if (cost := of.number(f"{name}_{size}"))} for name in names]
    known = [by for by in costs if by]
    best = [
        size for size in PAGE_SIZES if all(by.get(size, inf) <= PAGE_COST_TOLERANCE * min(by.values()) for by in known)
    ]
    sizes = best[-1:] or [min(by, key=lambda size: by[size]) for by in known]
    answer = f"{' or '.join(f'{size // 1024}' for size in sizes)} KB" if known else UNKNOWN
    without = "reading was not measured" if judges_reading else f"there are fewer than {READS_MIN:,} reads"
    why = f"{without} and the trace writes too little to simulate writing"
    kilobytes = sizes[0] // 1024 if known and best else 16
    words = f"Replay with pages of {kilobytes} KB (`nand.page_bytes`)"
    action = of.change("page size", words, {"nand.page_bytes": kilobytes * 1024})
    caution = "" if len(costs) == 2 and costs[1] else f"Reading is not judged, because {without}."
    return _estimate(of, "page size", answer, why, action, {}, caution if known else "")


def waiting(of: Evidence) -> Verdict | None:
    """Whether delaying work helps, or looking at a larger neighbourhood (SWC, Finding 10)."""
    wait, distance = map(of.number, ("write_gain_of_waiting", "write_gain_of_distance"))
    answer = UNKNOWN
    if wait is not None and distance is not None:
        answer = "no" if wait < GAIN_MIN else "some" if distance > wait else "yes"
    words = f"Let writes wait in a write-back cache of {catalogue.CACHE_PAGES:,} pages (`engine.write_cache_pages`)"
    action = of.change("write cache", words, catalogue.write_cache(), helps=answer in ("yes", "some"))
    return _estimate(of, "waiting", answer, _no_writes(of, "logical locality was not measured"), action)


def deduplication(of: Evidence) -> Verdict | None:
    """The effect of content lookups, and the fingerprint store they take (CA-SSD 3, 4.1)."""
    share, entries, answer = of.number("info.duplicate_write_percent"), of.number(ENTRIES), UNKNOWN
    why = "the trace carries no content" if _no_contents(of) else "no page write has a known content"
    if share is not None:
        answer = "no" if share < DUPLICATES_PAY_PERCENT else "some" if share < DUPLICATES_MANY_PERCENT else "yes"
    more = {} if entries is None or share is None else {"fingerprint_bytes": entries * FINGERPRINT_BYTES}
    expected = _estimate(of, "deduplication", answer, why, Action(), more)
    found = _mechanism(of, "deduplication", {"deduplicates"}, _duplicates)
    return _with_estimate(found, expected, _try_deduplication(of))


def replication(of: Evidence) -> Verdict | None:
    """The effect of copies of popular contents, and of a choice of chips for reads (RR-SSD II-C, Fig. 5, 6)."""
    popular, known = map(of.number, ("drift.popular_before_percent", "drift.read_before_percent"))
    answer, why = UNKNOWN, "the popularity of contents by period was not measured"
    if of.number("drift.periods") == 1:
        why = "there are no two periods with reads to compare; try a shorter `--period`"
    if popular is not None:
        answer = "yes" if popular >= STABLE_PERCENT else "some" if popular >= UNSTABLE_PERCENT else "no"
        answer = "with many copies" if answer != "yes" and known is not None and known >= STABLE_PERCENT else answer
    why = "the trace carries no content" if _no_contents(of) else why
    found = _mechanism(of, "replication", {"redirects", "replicates"}, _redirected)
    return _with_estimate(found, _estimate(of, "replication", answer, why, Action()), _try_replication(of))


def _estimate(
    of: Evidence, topic: str, answer: str, why: str, action: Action, more: Mapping[str, float] | None = None,
    caution: str = "",
) -> Verdict | None:  # fmt: skip
    """The verdict from the trace alone: the answer, with the figures behind it, or why there is none."""
    if of.row is None:
        return None
    computed = ("saved_percent", "fingerprint_bytes")
    figures = {**of.figures(*(key for key in _FIGURES[topic] if key not in computed)), **(more or {})}
    told = ", ".join(words.format(figures[key]) for key, words in _FIGURES[topic].items() if key in figures)
    openings = OPENINGS[topic]
    opening = (openings[answer] if answer in openings else openings[NUMBER]).format(answer)
    claim = f"{opening}: {told}." if told else f"{opening}."
    if answer == UNKNOWN:
        claim = joined(f"{opening} is unknown, because {why.rstrip('.')}.", f"{upper(told)}." if told else "")
    return Verdict(topic, joined(claim, caution), answer, figures=figures, action=action)


def _mechanism(of: Evidence, topic: str, traits: set[str], reason: Callable[[SavedRun], str]) -> Verdict | None:
    """A candidate with a mechanism beside one without it: the pair that differs in the fewest other mechanisms."""
    decision, names = of.decision, {run.name for run in of.runs}
    made = [one for one in (decision.candidates if decision is not None else ()) if one.run.name in names]
    pairs = [(one, other) for one in made for other in made
             if traits & one.run.traits and not traits & other.run.traits]  # fmt: skip
    if decision is None or not pairs:
        return None
    one, other = min(pairs, key=lambda pair: len(pair[0].run.traits ^ pair[1].run.traits))
    goal, loss = decision.goal, decision.loss(one, other)
    programs = facts.change_of(one.run, other.run, "pages_programmed")
    answer, percent = "no", None if loss.is_open(-1.0) else loss.share * 100.0
    if facts.gains(percent):
        answer = "yes"
    elif facts.gains(programs):
        answer = f"fewer writes, {'longer' if facts.loses(percent) else 'equal'} responses"
    if facts.made_up_contents(one.run, other.run):
        answer = UNKNOWN
    told = f"{goal.words} is {decision.beside(one, other)}" if one.late is None else "the drive falls behind the trace"
    if one.late is None and loss.share and loss.is_open(-1.0):
        told += "; the interval contains 0, so this trace does not tell them apart"
    figures = {f"{each.run.name}:{goal.name}": decision.value(each) for each in (one, other)}
    runs = (one.run.name, other.run.name)
    return Verdict(topic, f"Under {one.words}, {told}.", answer, reason(one.run), figures, runs)


def _duplicates(run: SavedRun) -> str:
    share = facts.share_of(run, "page_ops.duplicate_writes", "page_ops.write")
    return f"{units.percent(share)} of its page writes are duplicates." if share is not None else ""


def _redirected(run: SavedRun) -> str:
    if "replicates" in run.traits and not run.number("replication.copies"):
        why = "the trace ended before its first period did (`--period` sets a shorter one)"
        return f"No copy was made{f': {why}' if facts.no_pass_could_run(run) else ''}."
    redirected = facts.share_of(run, "page_ops.redirected_reads", "page_ops.read")
    copies = facts.share_of(run, "flash_writes.replica", "pages_programmed")
    told = [f"Another chip serves {units.percent(redirected)} of its page reads."] if redirected is not None else []
    return joined(*told, f"Replicas are {units.percent(copies)} of all pages that it programs." if copies else "")


def _with_estimate(found: Verdict | None, expected: Verdict | None, action: Action) -> Verdict | None:
    """One verdict: the claim from the runs, with the estimate from the trace; no better than the trace promised."""
    if found is None or expected is None:
        one = found or expected
        return None if one is None else replace(one, action=action)
    answer = found.answer
    if answer == UNKNOWN or (answer == "yes" and expected.answer in ("yes", "with many copies")):
        answer = expected.answer
    elif answer == "yes":
        answer = "some"
    figures = {**expected.figures, **found.figures}
    return replace(found, answer=answer, figures=figures, estimate=expected.claim, action=action)


def _no_writes(of: Evidence, otherwise: str) -> str:
    return "the trace has no writes" if of.number("info.writes") == 0 else otherwise


def _no_contents(of: Evidence) -> bool:
    return of.row is not None and of.row.get("info.has_content") is False


def _try_deduplication(of: Evidence) -> Action:
    if _no_contents(of):
        words = "Give every page its own content (`replay.content`) to see the least cost of lookups"
        return of.compare(words, "conventional,ca-ssd", "--content unique")
    if of.first is None:
        return of.compare("Replay it with and without deduplication (`ftl.mapping`)", "conventional,ca-ssd")
    return of.chosen if "deduplicates" in of.first.run.traits else Action()


def _try_replication(of: Evidence) -> Action:
    compared = "ca-ssd,rr-ssd,oracle"
    if _no_contents(of):
        words = "Try Zipf contents (`replay.content`) to see what copies of popular contents could gain"
        return of.compare(words, compared, "--content 'zipf(0.8,100000)'")
    lasts_s = (of.number("info.duration_ns") or 0.0) / 1e9
    if lasts_s > 0 and (of.number("drift.periods") in (None, 0, 1) or any(map(facts.no_pass_could_run, of.runs))):
        words = f"Shorter periods (`replay.period_s`), some {PERIODS} in this trace"
        # One digit, no shorter than a millisecond, which is the shortest that is taken.
        period = f"--period {max(float(f'{lasts_s / PERIODS:.0e}'), 0.001):g}s"
        return replace(of, trace=re.sub(r" --period \S+", "", of.trace)).compare(words, compared, period)
    if of.first is None:
        words = "Replay it with copies, without, and with reads from any chip (`ftl.replication.policy`)"
        return of.compare(words, compared)
    if "replicates" not in of.first.run.traits:
        return Action()
    words = "Try at most one more copy of a content (`ftl.replication.most_copies`)"
    return of.change("copies", words, {"ftl.replication.most_copies": 2})
