"""The effects of mechanisms that look at contents: deduplication, and copies with the choice of a chip for a read.

Runs go before the trace: if a run with the mechanism stands beside one without it, these two decide, and the estimate
from the trace comes second. Both are one verdict, with one answer.

CA-SSD is A. Gupta et al., FAST '11; RR-SSD is the paper on read redirection.
"""

from dataclasses import replace

from flashtwin import units
from flashtwin.judgement import actions, facts, reasons
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import UNKNOWN, Action, Verdict, joined
from flashtwin.judgement.workload import untold
from flashtwin.results.reading import SavedRun, StudyFolder
from flashtwin.results.rows import ENTRIES, SPACE

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
#: The limit of any characterization.
HASHING = "Replay it on `ca-ssd` to see whether hashing keeps up with bursts of writes."
#: The choice of a read's chip, and the copies to choose from.
CHOICE_KEYS = ("ftl.redirection.", "ftl.replication.")
#: Periods that a trace is cut into where its own are too long. Ours.
PERIODS = 12


def deduplication(of: Evidence) -> Verdict | None:
    """The effect of content lookups on writes and on responses, and the fingerprint store it takes."""
    expected = _expected_deduplication(of) if of.row is not None else None
    run = _plainest([one for one in of.runs if "deduplicates" in one.traits])
    found = _replayed_deduplication(of.study, run, expected) if of.study is not None and run is not None else None
    return _together(found, expected, _try_deduplication(of))


def replication(of: Evidence) -> Verdict | None:
    """Whether copies of popular contents, and a choice of chips for reads, are used."""
    expected = _expected_replication(of) if of.row is not None else None
    found = _replayed_replication(of.study, expected) if of.study is not None else None
    return _together(found, expected, _try_replication(of, found or expected))


def _together(found: Verdict | None, expected: Verdict | None, action: Action) -> Verdict | None:
    """One verdict: the claim from the runs, with the estimate from the trace beside it."""
    if found is not None and expected is not None:
        estimate = expected.claim.removesuffix(HASHING).rstrip()
        found = replace(found, estimate=estimate, figures={**expected.figures, **found.figures})
    one = found or expected
    return None if one is None else replace(one, action=action)


def _answered(answer: str, expected: Verdict | None, *runs: SavedRun) -> str:
    """The answer of the runs, no better than the trace promised; the trace's own where contents were made up."""
    if facts.made_up_contents(*runs):
        return expected.answer if expected else UNKNOWN
    if answer != "yes" or expected is None:
        return answer
    return expected.answer if expected.answer in ("yes", "with many copies") else "some"


def _plainest(runs: list[SavedRun]) -> SavedRun | None:
    """The run whose effect is deduplication's alone; else the fastest design, else any."""
    timed = [run for _, run in facts.by_mean(runs, "all")] or runs
    designs = [run for run in timed if not run.is_ideal] or timed
    plain = next((run for run in runs if run in designs and "redirects" not in run.traits), None)
    return plain or next(iter(designs), None)


def _expected_deduplication(of: Evidence) -> Verdict:
    """The saving that deduplication promises and the fingerprint store it takes (CA-SSD 3, 4.1)."""
    share, entries, space = of.number("info.duplicate_write_percent"), of.number(ENTRIES), of.number(SPACE)
    if share is None:
        why = "the trace carries no content" if of.has_no_contents else "no page write has a known content"
        return untold("deduplication", "the saving by deduplication", why, Action())
    figures = of.figures("info.duplicate_write_percent", ENTRIES, SPACE)
    saved = f"it would save {share:.1f} % of the page writes"
    saved += f" and would leave {space:.0f} % of the space in use" if space is not None else ""
    if share < DUPLICATES_PAY_PERCENT:
        claim = f"Deduplication saves next to nothing: {saved}, less than hashing may cost."
        return Verdict("deduplication", claim, "no", figures=figures)
    if entries is not None:
        figures["fingerprint_bytes"] = entries * FINGERPRINT_BYTES
        size = units.size(figures["fingerprint_bytes"])
        saved += f"; an LRU store of {entries:,.0f} fingerprints ({size}) finds 90 % of the repeats"
    answer, much = ("some", "a little") if share < DUPLICATES_MANY_PERCENT else ("yes", "much")
    return Verdict("deduplication", f"Deduplication saves {much}: {saved}. {HASHING}", answer, figures=figures)


def _replayed_deduplication(study: StudyFolder, run: SavedRun, expected: Verdict | None) -> Verdict | None:
    """The effect in the plainest run that deduplicates, and in the fastest, against a run that does not."""
    base = facts.without(study, "deduplicates")
    timed = facts.by_mean((one for one in facts.designs(study) if "deduplicates" in one.traits), "all")
    share = facts.share_of(run, "page_ops.duplicate_writes", "page_ops.write")
    if base is None or (share is None and not timed):
        return None
    best = timed[0][1] if timed else run
    programs = facts.change_of(run, base, "pages_programmed")
    changes = {kind: facts.mean_change(run, base, kind) for kind in ("write", "read", "all")}
    of_best = facts.mean_change(best, base, "all")
    answer = "no"
    if facts.gains(of_best):
        answer = "yes"
    elif facts.gains(programs):
        responses = f", {'longer' if facts.loses(of_best) else 'equal'} responses"
        answer = f"fewer writes{responses if of_best is not None else ''}"
    words = {kind: units.longer_or_shorter(one) for kind, one in changes.items() if one is not None}
    claim = [f"`{run.label}` is compared with `{base.label}`"]
    if share is not None:
        claim = [f"{units.percent(share)} of the page writes are duplicates under `{run.label}`"]
    if programs is not None:
        claim.append(f"it programs {units.more_or_fewer(programs, 'pages', f'`{base.label}`')}")
    if kinds := [f"{kind}s are {words[kind]}" for kind in ("write", "read") if kind in words]:
        claim.append(" and ".join(kinds))
    if "all" in words:
        claim.append(f"the mean response is {words['all']}")
        if best is not run and of_best is not None:
            claim[-1] += f", under `{best.label}` {units.longer_or_shorter(of_best)}"
    figures = {
        f"{run.name}:duplicate_write_percent": share, f"{run.name}:pages_programmed_change_percent": programs,
        **{f"{run.name}:response.{kind}.mean_change_percent": value for kind, value in changes.items()},
        f"{best.name}:response.all.mean_change_percent": of_best,
    }  # fmt: skip
    return Verdict(
        "deduplication", f"{'; '.join(claim)}.", _answered(answer, expected, run, best),
        _why_deduplication(run, base, changes["write"]),
        facts.known(figures),
        tuple(dict.fromkeys(one.name for one in (run, best, base))),
        weight=facts.weight(programs, changes["write"], changes["read"]),
    )  # fmt: skip


def _why_deduplication(run: SavedRun, base: SavedRun, write: float | None) -> str:
    missed = facts.share_of(run, "flash_writes.missed_duplicate", "pages_programmed") or 0.0
    return joined(
        reasons.parts(run, base, "write"),
        reasons.hashing(run) if facts.loses(write) else "",
        f"{units.percent(missed)} of its programs are duplicates that the fingerprint store missed."
        if missed >= facts.WORTH_A_WORD_PERCENT
        else "",
        reasons.unlike_ground(run, base),
    )


def _try_deduplication(of: Evidence) -> Action:
    """Lookups with made-up contents, a comparison, or what lanes do beside the choice."""
    if of.has_no_contents:
        words = "Give every page its own content (`replay.content`) to see the least cost of lookups"
        return actions.compare(of, words, "conventional,ca-ssd", "--content unique")
    first = of.decision.choice if of.decision is not None and of.decision.is_searched else None
    if first is None:
        return actions.compare(of, "Replay it with and without deduplication (`ftl.mapping`)", "conventional,ca-ssd")
    if "deduplicates" in first.run.traits:
        return Action(f"The choice has it: {first.words}", first.command, dict(first.sets), replayed=True)
    return Action()


def _expected_replication(of: Evidence) -> Verdict:
    """Whether read popularity is stable enough for copies to be used (RR-SSD II-C, Fig. 5, 6)."""
    names = ("popular_before_percent", "read_before_percent", "first_read_percent")
    popular, known, first = (of.number(f"drift.{name}") for name in names)
    if popular is None:
        why = "the popularity of contents by period was not measured"
        if of.has_no_contents:
            why = "the trace carries no content"
        elif of.number("drift.periods") == 1:
            why = "there are no two periods with reads to compare; try a shorter `--period`"
        return untold("replication", "whether replication pays", why, Action())
    if popular >= STABLE_PERCENT:
        answer, claim = "yes", "Read popularity is stable enough for replication to pay"
    elif known is not None and known >= STABLE_PERCENT:
        answer, claim = "with many copies", "Replication can pay with copies of many contents, not of a few"
    elif popular >= UNSTABLE_PERCENT:
        answer, claim = "some", "Read popularity is half stable, so replication reaches part of the reads"
    else:
        answer, claim = "no", "Read popularity is not stable enough for replication to pay"
    claim += f": {popular:.0f} % of a period's page reads go to the tenth of contents read most in the period before"
    claim += f", {known:.0f} % to contents read in it at all" if known is not None else ""
    claim += f"; {first:.0f} % are first reads, which no copy can serve" if first is not None else ""
    return Verdict("replication", f"{claim}.", answer, figures=of.figures(*(f"drift.{name}" for name in names)))


def _replayed_replication(study: StudyFolder, expected: Verdict | None) -> Verdict | None:
    """The effect of copies and a choice of chips on reads, its bound, and what copies take."""
    ref = facts.reference(study)
    runs = [run for _, run in facts.by_mean(study.others(ref), "read") if {"redirects", "replicates"} & run.traits]
    designs = [run for run in runs if not run.is_ideal]
    bound = next((run for run in runs if run.is_ideal), None)
    best = next(iter([*designs, *runs]), None)
    change = facts.mean_change(best, ref, "read") if best is not None else None
    if best is None or change is None or "replicates" in ref.traits:
        return None
    limit = facts.mean_change(bound, ref, "read") if bound is not None else None
    answer = "yes" if facts.gains(change) else "longer reads" if facts.loses(change) else "no gain"
    if best is bound:
        answer = "bound only"
    elif not any(run.number("replication.copies") for run in designs) and "replicates" in best.traits:
        answer = "no copy made"
    figures = {f"{run.name}:response.read.mean_ns": facts.mean(run, "read") or 0.0 for run in (*runs, ref)}
    return Verdict(
        "replication", f"{_reads_of(best, ref, change)}{_at_the_bound(best, bound, ref)}.",
        _answered(answer, expected, best, ref), _why_replication(best, ref, change), figures, tuple(
            run.name for run in (*runs, ref)),
        # Redirection is the purpose of these systems: reported even when the effect is small.
        weight=0.5 + facts.weight(change, limit),
    )  # fmt: skip


def _reads_of(run: SavedRun, ref: SavedRun, change: float) -> str:
    """The effect as one, where the reference differs in nothing else; else as two runs side by side."""
    reads = f"Reads under `{run.label}`, which chooses their chips,"
    if "redirects" not in run.traits:
        reads = f"Reads under `{run.label}`, which makes copies,"
    elif run.is_ideal:
        reads = f"Reads under `{run.label}`, where any chip serves any read,"
    elif not reasons.besides(run, ref, CHOICE_KEYS):
        reads = f"By the choice of chips alone, reads under `{run.label}`"
    return f"{reads} are {units.longer_or_shorter(change, f'under `{ref.label}`')}"


def _at_the_bound(best: SavedRun, bound: SavedRun | None, ref: SavedRun) -> str:
    """The effect of the bound, and the share of it that a design reaches."""
    change = facts.mean_change(best, ref, "read") or 0.0
    limit = facts.mean_change(bound, ref, "read") if bound is not None else None
    if bound is None or limit is None or best is bound:
        return ""
    text = f"; at the bound, `{bound.label}`, they are {units.longer_or_shorter(limit)}"
    # A share of the bound is one of the same cause only where all else is equal.
    alone = not any(reasons.besides(run, ref, CHOICE_KEYS) for run in (best, bound))
    if alone and facts.gains(change) and limit <= change:
        text += f", so it reaches {units.percent(change / limit * 100.0)} of the possible gain"
    return text


def _why_replication(run: SavedRun, ref: SavedRun, change: float) -> str:
    redirected = facts.share_of(run, "page_ops.redirected_reads", "page_ops.read")
    replicated = facts.share_of(run, "page_ops.replicated_value_reads", "page_ops.read")
    new = facts.share_of(run, "page_ops.new_value_reads", "page_ops.read")
    share = facts.waiting_share(ref, "read", facts.CHIP_WAITS)
    copies = facts.share_of(run, "flash_writes.replica", "pages_programmed")
    sentences = [
        reasons.parts(run, ref, "read") if facts.loses(change) else "",
        f"Waiting for chips and channels is {units.percent(share)} of a read's time under `{ref.label}`."
        if share is not None else "",
    ]  # fmt: skip
    if "replicates" in run.traits and not run.number("replication.copies"):
        why = "the trace ended before its first period did (`--period` sets a shorter one)"
        sentences.append(f"No copy was made{f': {why}' if facts.no_pass_could_run(run) else ''}.")
    elif redirected is not None and replicated is not None and new is not None and not run.is_ideal:
        sentences.append(
            f"`{run.label}` serves {units.percent(redirected)} of the page reads from another chip: "
            f"{units.percent(replicated)} went to contents that had replicas, {units.percent(new)} to contents never "
            "read before."
        )
    sentences.append(f"Replicas are {units.percent(copies)} of all pages that it programs." if copies else "")
    others = reasons.besides(run, ref, CHOICE_KEYS)
    sentences.append(f"`{run.label}` and `{ref.label}` also differ in {units.names(others)}." if others else "")
    return joined(*sentences)


def _try_replication(of: Evidence, judged: Verdict | None) -> Action:
    """Made-up contents, shorter periods, or what fewer copies do beside the choice."""
    compared = "ca-ssd,rr-ssd,oracle"
    if of.has_no_contents:
        words = "Try Zipf contents (`replay.content`) to see what copies of popular contents could gain"
        return actions.compare(of, words, compared, "--content 'zipf(0.8,100000)'")
    lasts_s, answer = (of.number("info.duration_ns") or 0.0) / 1e9, judged.answer if judged is not None else ""
    if lasts_s > 0 and (of.number("drift.periods") in (None, 0, 1) or answer == "no copy made"):
        words = f"Shorter periods (`replay.period_s`), some {PERIODS} in this trace"
        # One digit, no shorter than a millisecond, which is the shortest that is taken.
        return actions.compare(of, words, compared, f"--period {max(float(f'{lasts_s / PERIODS:.0e}'), 0.001):g}s")
    first = of.decision.choice if of.decision is not None and of.decision.is_searched else None
    if first is None:
        words = "Replay it with copies, without, and with the bound (`ftl.replication.policy`)"
        return actions.compare(of, words, compared)
    if "replicates" not in first.run.traits:
        return Action()
    words = "Try at most one more copy of a content (`ftl.replication.most_copies`)"
    return actions.change(of, "copies", words, {"ftl.replication.most_copies": 2})
