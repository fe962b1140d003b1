"""What looking at contents does: deduplication, copies, and the choice of a chip for a read.

Runs go before the trace: where a run with the thing stands beside one without, they decide, and what the trace's
figures alone make one expect comes second. Both are one verdict, with one answer.

CA-SSD is A. Gupta et al., FAST '11; RR-SSD is the paper on read redirection.
"""

from __future__ import annotations

from dataclasses import replace

from flashtwin import units
from flashtwin.judgement import actions, facts, reasons
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.systems import log_ratio, run_names, than
from flashtwin.judgement.verdict import Verdict, lower
from flashtwin.judgement.workload import UNKNOWN, untold
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
#: What no characterization can tell.
HASHING = "Whether hashing keeps up with bursts of writes, only a replay on `ca-ssd` tells."
#: A choice of chips brings less than this, in percent, even at its bound: there is little to gain.
LITTLE_PERCENT = 3.0
#: A design that reaches less than this share of its bound has a reason for it.
REACHED_SHARE = 0.7
#: The choice of a read's chip, and the copies to choose from.
CHOICE_KEYS = ("ftl.redirection.", "ftl.replication.")


def deduplication(of: Evidence) -> Verdict | None:
    """What looking contents up does to writes and to responses, and the fingerprint store it takes."""
    expected = _expected_deduplication(of) if of.row is not None else None
    run = _plainest([one for one in of.runs if facts.deduplicates(one)])
    found = _replayed_deduplication(of.study, run, expected) if of.study is not None and run is not None else None
    told = _together(found, expected)
    return replace(told, action=actions.on_deduplication(of, run)) if told is not None else None


def replication(of: Evidence) -> Verdict | None:
    """Whether copies of popular contents are used."""
    expected = _expected_replication(of) if of.row is not None else None
    found = _replayed_replication(of.study, expected) if of.study is not None else None
    told = _together(found, expected)
    return replace(told, action=actions.on_replication(of, told.answer)) if told is not None else None


def _together(found: Verdict | None, expected: Verdict | None) -> Verdict | None:
    """One verdict: what runs say, with what the trace alone does beside it."""
    if found is None or expected is None:
        return found or expected
    estimate = expected.claim.removesuffix(HASHING).rstrip()
    return replace(found, estimate=estimate, figures={**expected.figures, **found.figures})


def _pays(expected: Verdict | None) -> str:
    """The answer where replays gain: as much as the trace promised, where it promised something."""
    return "yes" if expected is None else expected.answer if expected.answer in ("yes", "with many copies") else "some"


def _promised(expected: Verdict | None) -> str:
    """The answer where runs decide nothing: the trace's own."""
    return UNKNOWN if expected is None else expected.answer


def _plainest(runs: list[SavedRun]) -> SavedRun | None:
    """The run whose effect is deduplication's alone; else the fastest design, else any."""
    timed = [run for run in runs if facts.mean(run, "all") is not None] or runs
    designs = [run for run in timed if not run.is_ideal] or timed
    plain = next((run for run in designs if not facts.redirects(run)), None)
    return plain or min(designs, key=lambda run: facts.mean(run, "all") or 0.0, default=None)


def _expected_deduplication(of: Evidence) -> Verdict:
    """What deduplication would save and the fingerprint store it takes (CA-SSD 3, 4.1)."""
    share, entries, space = of.number("info.duplicate_write_percent"), of.number(ENTRIES), of.number(SPACE)
    if share is None:
        why = "the trace carries no content" if of.has_no_contents else "no page write has a known content"
        answer, claim = untold("what deduplication saves", why)
        return Verdict("deduplication", claim, answer)
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
    claim = f"Deduplication saves {much}: {saved}. {HASHING}"
    return Verdict("deduplication", claim, answer, figures=figures)


def _replayed_deduplication(study: StudyFolder, run: SavedRun, expected: Verdict | None) -> Verdict | None:
    """What it does in the plainest run that deduplicates, and in the fastest, against a run that does not."""
    base = facts.without(study, "deduplicates")
    timed = [one for one in facts.designs(study) if facts.deduplicates(one) and facts.mean(one, "all") is not None]
    share = facts.duplicate_share(run)
    if base is None or (share is None and not timed):
        return None
    best = min(timed, key=lambda one: facts.mean(one, "all") or 0.0, default=run)
    change = facts.change(facts.mean(best, "all"), facts.mean(base, "all"))
    programs = facts.change_of(run, base, "pages_programmed")
    changes = {kind: _mean_change(run, base, kind) for kind in ("write", "read", "all")}
    figures = {
        f"{run.name}:duplicate_write_percent": share,
        f"{run.name}:pages_programmed_change_percent": programs,
        **{f"{run.name}:response.{kind}.mean_change_percent": value for kind, value in changes.items()},
        f"{best.name}:response.all.mean_change_percent": change,
    }
    decides = not facts.made_up_contents(run, best)
    answer = _answer(change, expected, fewer=facts.gains(programs)) if decides else _promised(expected)
    return Verdict(
        "deduplication", _deduplicating(run, best, base), answer,
        _why_deduplication(run, base, changes["write"]),
        {name: value for name, value in figures.items() if value is not None},
        run_names(dict.fromkeys((run, best, base))),
        weight=max(log_ratio(programs), log_ratio(changes["write"]), log_ratio(changes["read"])),
    )  # fmt: skip


def _mean_change(run: SavedRun, base: SavedRun, kind: str) -> float | None:
    return facts.change(facts.mean(run, kind), facts.mean(base, kind))


def _deduplicating(run: SavedRun, best: SavedRun, base: SavedRun) -> str:
    """What a run does that looks contents up, and what the best such run does to the mean response."""
    share, programs = facts.duplicate_share(run), facts.change_of(run, base, "pages_programmed")
    parts = [f"`{run.label}` is held against `{base.label}`"]
    if share is not None:
        parts = [f"{units.percent(share)} of the page writes bring a content that `{run.label}` already holds"]
    if programs is not None and units.unchanged(programs):
        parts.append(f"it programs as many pages as `{base.label}` ({units.change(programs)})")
    elif programs is not None:
        parts.append(f"it programs {units.more_or_fewer(programs)} pages than `{base.label}`")
    changes = [(kind, _mean_change(run, base, kind)) for kind in ("write", "read")]
    parts.append(
        " and ".join(f"{kind}s are {units.longer_or_shorter(one)}" for kind, one in changes if one is not None)
    )
    mean, of_best = _mean_change(run, base, "all"), _mean_change(best, base, "all")
    means = [] if mean is None else [f"the mean response is {units.longer_or_shorter(mean)}"]
    if best is not run and of_best is not None:
        means.append(f"under `{best.label}` {units.longer_or_shorter(of_best)}")
    return f"{'; '.join(part for part in (*parts, ', '.join(means)) if part)}."


def _answer(change: float | None, expected: Verdict | None, *, fewer: bool) -> str:
    """Whether deduplication pays, from what it does to the mean response and whether it programs fewer pages."""
    if facts.gains(change):
        return _pays(expected)
    if not fewer:
        return "no"
    return f"fewer writes, {'longer' if facts.loses(change) else 'equal'} responses"


def _why_deduplication(run: SavedRun, base: SavedRun, write: float | None) -> str:
    sentences = [reasons.parts(run, base, "write")]
    if facts.loses(write):
        sentences.append(reasons.hashing(run))
    missed = facts.share(run.number("flash_writes.missed_duplicate"), run.number("pages_programmed"))
    if missed is not None and missed >= 1.0:
        sentences.append(f"{units.percent(missed)} of its programs are of contents that were on flash already.")
    sentences.append(reasons.unlike_ground(run, base))
    return " ".join(sentence for sentence in sentences if sentence)


def _expected_replication(of: Evidence) -> Verdict:
    """Whether read popularity is stable enough for copies to be used (RR-SSD II-C, Fig. 5, 6)."""
    names = ("popular_before_percent", "read_before_percent", "seen_before_percent", "first_read_percent")
    popular, known, _, first = (of.number(f"drift.{name}") for name in names)
    if popular is None:
        why = "the popularity of contents by period was not measured"
        if of.has_no_contents:
            why = "the trace carries no content"
        elif of.number("drift.periods") == 1:
            why = "there are no two periods with reads to compare; try a shorter --period"
        answer, claim = untold("whether replication pays", why)
        return Verdict("replication", claim, answer)
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
    """What the best run with copies does to reads, against the one without."""
    copying = [one for one in facts.designs(study) if facts.replicates(one) and facts.mean(one, "read") is not None]
    ref = facts.reference(study)
    ref = ref if not (facts.replicates(ref) or ref.is_ideal) else facts.without(study, "replicates") or ref
    old = facts.mean(ref, "read")
    if not copying or not old or facts.replicates(ref):
        return None
    best = min(copying, key=lambda one: facts.mean(one, "read") or 0.0)
    change = facts.change(facts.mean(best, "read"), old) or 0.0
    claim = f"{_choosing(best, ref, change)}."
    answer = _pays(expected) if facts.gains(change) else "longer reads" if facts.loses(change) else "no gain"
    if not any(one.number("replication.copies") for one in copying):
        answer, claim = "no copy made", f"{claim} No copy was made, so that this says nothing of copies."
    answer = _promised(expected) if facts.made_up_contents(best, ref) else answer
    runs = [best, *(one for one in copying if one is not best), ref]
    figures = {f"{one.name}:response.read.mean_ns": facts.mean(one, "read") or 0.0 for one in runs}
    return Verdict("replication", claim, answer, figures=figures, evidence=run_names(runs))


def redirection(of: Evidence, study: StudyFolder) -> Verdict | None:
    """What a choice of chips does to reads, what it could do at best, and what stands in the way."""
    ref = facts.reference(study)
    old = facts.mean(ref, "read")
    choosing = [run for run in study.others(ref) if facts.redirects(run) and facts.mean(run, "read") is not None]
    if old is None or not choosing:
        return None
    designs = sorted((run for run in choosing if not run.is_ideal), key=lambda run: facts.mean(run, "read") or 0.0)
    bound = next((run for run in choosing if run.is_ideal), None)
    best = (designs or choosing)[0]
    change = facts.change(facts.mean(best, "read"), old) or 0.0
    limit = facts.change(facts.mean(bound, "read"), old) if bound is not None else None
    if bound is not None and limit is not None and not designs:
        claim, reason = _bound(bound, ref, limit), _room(ref)
    else:
        claim = _beside_the_bound(_choosing(best, ref, change), best, ref, (change, bound, limit))
        claim += _worse(designs[1:], ref, old)
        claim, reason = f"{claim}.", _why_redirection(best, ref, change, limit)
    runs = [best, *(run for run in choosing if run is not best), ref]
    return Verdict(
        "redirection", claim, "gain" if facts.gains(change) else "no gain",
        f"{reason} {_not_alone(best, ref)}".strip(),
        {f"{run.name}:response.read.mean_ns": facts.mean(run, "read") or 0.0 for run in runs}, run_names(runs),
        actions.next_look(of, "redirection", runs),
        # Redirection is what these systems are compared for: said even when the effect is small.
        0.5 + max(log_ratio(change), log_ratio(limit)),
    )  # fmt: skip


def _beside_the_bound(
    claim: str, best: SavedRun, ref: SavedRun, effect: tuple[float, SavedRun | None, float | None]
) -> str:
    change, bound, limit = effect
    if bound is None or limit is None:
        return claim
    claim += f"; the bound, `{bound.label}`, {_makes(limit)} them {units.longer_or_shorter(limit)}"
    # A share of the bound is one of the same cause only where all else is equal.
    alone = _chooses_alone(best, ref) and _chooses_alone(bound, ref)
    if alone and facts.gains(limit) and change < 0:
        claim += f", so {units.percent(change / limit * 100.0)} of what is possible is reached"
    return claim


def _worse(runs: list[SavedRun], ref: SavedRun, old: float) -> str:
    """Names designs under which reads are longer; on another device they are, whatever is chosen."""
    longer = [run for run in runs if facts.loses(facts.change(facts.mean(run, "read"), old))]
    named = [run.label for run in longer if not reasons.unlike_ground(run, ref)]
    return f"; under {units.names(named)} reads are longer" if named else ""


def _chooses_alone(run: SavedRun, ref: SavedRun) -> bool:
    """Whether the reference is the run without copies and without a choice of chips."""
    return reasons.differs_only_in(run, ref, CHOICE_KEYS)


def _choosing(run: SavedRun, ref: SavedRun, change: float) -> str:
    """The effect as one, where the reference differs in nothing else; else as two runs side by side."""
    if not facts.redirects(run):
        return f"Reads under `{run.label}`, which makes copies, are {_would(change)} `{ref.label}`"
    if _chooses_alone(run, ref):
        return f"Choosing the chip for a read {_makes(change)} reads under `{run.label}` {_would(change)} `{ref.label}`"
    return f"Reads under `{run.label}`, which chooses their chips, are {_would(change)} `{ref.label}`"


def _bound(bound: SavedRun, ref: SavedRun, limit: float) -> str:
    if _chooses_alone(bound, ref):
        return f"If any chip could serve any read (`{bound.label}`), reads would be {_would(limit)} `{ref.label}`."
    return f"Reads under `{bound.label}`, where any chip serves any read, are {_would(limit)} `{ref.label}`."


def _not_alone(run: SavedRun, ref: SavedRun) -> str:
    """That another cause may be at work, and which run would tell."""
    others = reasons.besides(run, ref, CHOICE_KEYS)
    if not others:
        return ""
    return (
        f"`{run.label}` and `{ref.label}` differ in {others} as well: what the choice alone does, a run of "
        f"`{run.label}` with `redirection.policy = home` beside it would tell."
    )


def _makes(change: float) -> str:
    return "leaves" if units.unchanged(change) else "makes"


def _would(change: float) -> str:
    return f"{units.longer_or_shorter(change)} {than(change)} under".replace("against under", "against")


def _room(ref: SavedRun) -> str:
    """How much waiting there is that a choice of chips could avoid."""
    share = facts.waiting_share(ref, "read", facts.CHIP_WAITS)
    if share is None:
        return ""
    text = f"Waiting for chips and channels is {units.percent(share)} of a read's time under `{ref.label}`"
    level = facts.mean_queue(ref)
    if level is not None:
        text += f", where a chip has {units.significant(level, 2)} operations on average"
    return f"{text}."


def _why_redirection(run: SavedRun, ref: SavedRun, change: float, limit: float | None) -> str:
    sentences = []
    if facts.loses(change):
        sentences.append(reasons.parts(run, ref, "read"))
        gc = facts.change_of(run, ref, "flash_writes.gc")
        if gc is not None and gc > 1.0:
            sentences.append(f"Its garbage collection moves {units.percent(gc)} more pages.")
    elif (redirected := facts.redirected_share(run)) is not None:
        sentences.append(f"`{run.label}` serves {units.percent(redirected)} of the page reads from another chip.")
    if limit is not None and limit > -LITTLE_PERCENT:
        sentences.append(f"There is little to gain here: {lower(_room(ref))}" if _room(ref) else "")
    elif limit is not None and change > limit * REACHED_SHARE:
        sentences.append(_gap(run))
    elif limit is None or change > limit:
        sentences.append(_room(ref))
    return " ".join(sentence for sentence in sentences if sentence)


def _gap(run: SavedRun) -> str:
    """What there was to choose from under a replicating system that stays behind its bound."""
    if run.number("replication.copies") == 0:
        return _no_copy(run)
    reads = run.number("page_ops.read")
    replicated = facts.share(run.number("page_ops.replicated_value_reads"), reads)
    new = facts.share(run.number("page_ops.new_value_reads"), reads)
    if replicated is None:
        return ""
    only = "" if replicated >= 60.0 else "Only "
    text = f"{only}{units.percent(replicated)} of the page reads went to contents that had replicas"
    return f"{text}, {units.percent(new)} to contents never read before." if new is not None else f"{text}."


def _no_copy(run: SavedRun) -> str:
    if facts.no_pass_could_run(run):
        return (
            "No replication pass ran: the trace ended before its first period did, so there was nothing to choose "
            "(`--period` sets a shorter one)."
        )
    passes = run.number("replication.passes")
    made = f"Its {units.count(passes)} replication passes made no copy" if passes else "It made no copy"
    budget, used = run.number("replication.budget_pages"), run.number("space.pages_in_use")
    if budget is None or used is None:
        return f"{made}."
    return f"{made}; at the end, {units.count(used)} of the {units.count(budget)} pages of its room are in use."


def cost(of: Evidence, study: StudyFolder) -> Verdict | None:
    """What replicas cost in programs, pages and RAM."""
    made = [(facts.replica_share(run) or 0.0, run) for run in study.runs if facts.replicates(run)]
    share, run = max(made, key=lambda pair: pair[0], default=(0.0, study.baseline))
    if share == 0:
        return None
    claim = f"Replicas are {units.percent(share)} of all pages that `{run.label}` programs"
    base = study.baseline
    programs = facts.change_of(run, base, "pages_programmed")
    if programs is not None and run is not base:
        claim += f" ({units.change(programs)} pages in all against `{base.label}`)"
    figures = {f"{run.name}:replica_percent": share}
    action = actions.next_look(of, "cost", [run])
    return Verdict(
        "cost", f"{claim}.", units.percent(share), _copying(run), figures, (run.name,), action, share / 100.0
    )


def _copying(run: SavedRun) -> str:
    """How many copies were made, in which time, and how much of the room for them was used."""
    copies, passes = run.number("replication.copies"), run.number("replication.passes")
    parallel = run.number("replication.parallel_ns")
    sentences = []
    if copies:
        text = f"It made {units.count(copies)} copies"
        if passes:
            text += f" in {units.count(passes)} passes"
        if passes and parallel:
            text += f", {units.duration(parallel / passes)} a pass with all chips at work"
        sentences.append(f"{text}.")
    used = facts.share(run.number("space.pages_in_use_peak"), run.number("replication.budget_pages"))
    if used is not None:
        sentences.append(f"At most {units.percent(min(used, 100.0))} of its room was in use (`replication.alpha`).")
    return " ".join(sentences)
