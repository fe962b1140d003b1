"""The most important findings of a study, in plain words, with numbers and the reason.

Each topic is one function that looks at the data and returns a finding or
None; nothing is said that was not computed from the results, and a system
that loses is said to lose. That one thing makes another so is said only where
a run beside it differs in that thing alone. `findings` orders them: what to choose comes first,
then what deduplication and redirection do, then the others by how large the effect is.

`Finding.numbers` holds the values behind the words, under the path of the
summary they come from, so that a test (or a reader) can check them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flashtwin.results.reading import SavedRun, StudyFolder, load_any

from . import actions, facts, reasons, units

#: A run that ends this much later than its trace could not keep up.
LATE_FACTOR = 1.1


@dataclass(frozen=True)
class Finding:
    """One finding: what is so, why, and the numbers that both are made from."""

    topic: str
    headline: str
    reason: str
    #: How large the effect is: the logarithm of a ratio, or a share. Orders the findings.
    weight: float
    numbers: Mapping[str, float] = field(default_factory=dict)
    #: Names of the runs that it is about.
    runs: tuple[str, ...] = ()
    #: What to do, with the key and the command; empty where no run that it is about was explained.
    action: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """Headline, reason and action as one paragraph."""
        return " ".join(part for part in (self.headline, self.reason, self.action) if part)


def findings(folder: Path | str | StudyFolder, count: int = 3) -> list[Finding]:
    """The `count` most important findings of a result folder, the most important first.

    Fewer when the data hold no more; none where nothing was replayed. Raises
    `ReportError` when the folder cannot be read.
    """
    study = folder if isinstance(folder, StudyFolder) else load_any(folder)
    if not isinstance(study, StudyFolder):
        return []
    first = _choice(study) if len(study.runs) > 1 else _single(study)
    # What these systems are compared for comes next, however small the effect: that
    # redirection gains nothing on a workload is an answer too.
    asked = [topic(study) for topic in (_redirection, _deduplication)]
    others = [topic(study) for topic in (_wear, _tail, _load, _cost)]
    ranked = [first, *_by_weight(asked), *_by_weight(others)]
    told = [_of_made_up_contents(study, finding) for finding in ranked if finding is not None][:count]
    return [replace(finding, action=actions.action(study, finding.topic, finding.runs)) for finding in told]


def _of_made_up_contents(study: StudyFolder, finding: Finding) -> Finding:
    """Says so where a finding is about systems that looked at contents nobody recorded."""
    about = [run for run in study.runs if run.name in finding.runs]
    source = next((source for run in about if (source := facts.made_up_contents(run))), None)
    if source is None:
        return finding
    headline = f"With made-up contents (`{source}`), {_lower(finding.headline)}"
    return replace(finding, headline=headline)


def _names(runs: Iterable[SavedRun]) -> tuple[str, ...]:
    return tuple(run.name for run in runs)


def _by_weight(topics: list[Finding | None]) -> list[Finding]:
    return sorted((finding for finding in topics if finding is not None), key=lambda one: -one.weight)


def _log_ratio(change_percent: float | None) -> float:
    """|ln(new / old)|: halving weighs as much as doubling. At most 3 (20 times): zero is not infinitely important."""
    if change_percent is None:
        return 0.0
    return min(abs(math.log(max(1.0 + change_percent / 100.0, 1e-6))), 3.0)


def _single(study: StudyFolder) -> Finding | None:
    """With one run there is nothing to choose: say what its time is made of."""
    run = study.baseline
    mean, parts = facts.mean(run, "all"), facts.split(run, "all")
    if mean is None:
        return Finding("choice", f"No request completed under `{run.label}`.", "There is nothing to conclude.", 9.0)
    headline = f"`{run.label}` answers a request in {units.duration(mean)} on average."
    values = {"response.all.mean_ns": mean}
    if not parts or sum(parts.values()) <= 0:
        return Finding("choice", headline, "What the time is made of was not recorded.", 9.0, values, (run.name,))
    part = max(parts, key=lambda key: parts[key])
    share = facts.share(parts[part], sum(parts.values()))
    words = reasons.PART_WORDS[part]
    reason = f"The largest part of it is {words}: {units.duration(parts[part])}, {units.percent(share)}."
    values[f"response.all.split.{part}_ns"] = parts[part]
    return Finding("choice", headline, reason, 9.0, values, (run.name,))


def _choice(study: StudyFolder) -> Finding | None:
    """Which system that could be built has the shortest mean response time."""
    base = study.baseline
    timed = [(mean, run) for run in study.runs if not run.is_ideal and (mean := facts.mean(run, "all")) is not None]
    if len(timed) < 2:
        return None
    timed.sort(key=lambda pair: pair[0])
    (shortest, best), (second, next_best) = timed[0], timed[1]
    values = {f"{run.name}:response.all.mean_ns": mean for mean, run in timed}
    if best is base:
        slower = facts.change(second, shortest) or 0.0
        headline = (
            f"No system beats `{base.label}`: its mean response time is {units.duration(shortest)}, "
            f"that of the next best, `{next_best.label}`, {units.duration(second)} ({units.change(slower)})."
        )
        return Finding(
            "choice", headline, _reason_of_choice(next_best, base), 9.0, values, _names(run for _, run in timed)
        )
    change = facts.change_of(best, base, "response.all.mean_ns")
    headline = f"`{best.label}` has the shortest mean response time: {units.duration(shortest)}"
    if change is not None:
        headline += f", {units.longer_or_shorter(change)} {_than(change)} `{base.label}`{_by_kind(best, base)}"
    gap = facts.change(second, shortest) or 0.0
    if units.unchanged(gap) and next_best is not base:
        headline += f"; `{next_best.label}` is practically its equal ({units.change(gap)})"
    elif next_best is not base:
        headline += f"; next is `{next_best.label}` with {units.duration(second)}"
    return Finding(
        "choice", headline + ".", _reason_of_choice(best, base), 9.0, values, _names(run for _, run in timed)
    )


def _reason_of_choice(run: SavedRun, base: SavedRun) -> str:
    """In which parts of the time they differ, and what else does."""
    return f"{reasons.parts(run, base, 'all')} {reasons.unlike_ground(run, base)}".strip()


def _than(change: float) -> str:
    return "against" if units.unchanged(change) else "than"


def _by_kind(run: SavedRun, base: SavedRun) -> str:
    parts = []
    for kind in ("read", "write"):
        change = facts.change(facts.mean(run, kind), facts.mean(base, kind))
        if change is not None:
            parts.append(f"{kind}s {units.longer_or_shorter(change)}")
    return f" ({', '.join(parts)})" if len(parts) == 2 else ""


def _deduplication(study: StudyFolder) -> Finding | None:
    """What looking at contents does to writes, against a baseline that does not look."""
    base = study.baseline
    if facts.deduplicates(base):
        return None
    looking = [run for run in study.runs if facts.deduplicates(run)]
    # The plainest of them: without redirection, so that the effect is deduplication's alone.
    run = next((run for run in looking if not facts.redirects(run)), looking[0] if looking else None)
    share = facts.duplicate_share(run) if run is not None else None
    if run is None or share is None:
        return None
    values = {f"{run.name}:duplicate_write_percent": share}
    programs = facts.change_of(run, base, "pages_programmed")
    headline = f"{units.percent(share)} of the page writes bring a content that `{run.label}` already holds"
    if programs is not None:
        values[f"{run.name}:pages_programmed_change_percent"] = programs
        if units.unchanged(programs):
            headline += f"; it programs as many pages as `{base.label}` ({units.change(programs)})"
        else:
            headline += f"; it programs {units.more_or_fewer(programs)} pages than `{base.label}`"
    write = facts.change(facts.mean(run, "write"), facts.mean(base, "write"))
    read = facts.change(facts.mean(run, "read"), facts.mean(base, "read"))
    worded = [
        f"{kind}s are {units.longer_or_shorter(value)}"
        for kind, value in (("write", write), ("read", read))
        if value is not None
    ]
    if worded:
        headline += f"; {' and '.join(worded)}"
    for kind, value in (("write", write), ("read", read)):
        if value is not None:
            values[f"{run.name}:response.{kind}.mean_change_percent"] = value
    weight = max(_log_ratio(programs), _log_ratio(write), _log_ratio(read))
    reason = _dedup_reason(run, base, write)
    return Finding("deduplication", headline + ".", reason, weight, values, _names((run, base)))


def _dedup_reason(run: SavedRun, base: SavedRun, write: float | None) -> str:
    sentences = [reasons.parts(run, base, "write")]
    if write is not None and write > units.UNCHANGED_PERCENT:
        sentences.append(reasons.hashing(run))
    missed = facts.share(run.number("flash_writes.missed_duplicate"), run.number("pages_programmed"))
    if missed is not None and missed >= 1.0:
        sentences.append(f"{units.percent(missed)} of its programs are of contents that were on flash already.")
    sentences.append(reasons.unlike_ground(run, base))
    return " ".join(sentence for sentence in sentences if sentence)


def _redirection(study: StudyFolder) -> Finding | None:
    """What a choice of chips does to reads, what it could do at best, and what stands in the way."""
    ref = facts.reference(study)
    old = facts.mean(ref, "read")
    choosing = [run for run in study.others(ref) if facts.redirects(run) and facts.mean(run, "read") is not None]
    if old is None or not choosing:
        return None
    designs = sorted((run for run in choosing if not run.is_ideal), key=lambda run: facts.mean(run, "read") or 0.0)
    bound = next((run for run in choosing if run.is_ideal), None)
    limit = facts.change(facts.mean(bound, "read"), old) if bound is not None else None
    values = {f"{run.name}:response.read.mean_ns": facts.mean(run, "read") or 0.0 for run in [ref, *choosing]}
    about = _names([ref, *choosing])
    if bound is not None and limit is not None and not designs:
        reason = f"{_room(ref)} {_not_alone(bound, ref)}".strip()
        return Finding("redirection", _bound(bound, ref, limit), reason, 0.5 + _log_ratio(limit), values, about)
    best = (designs or choosing)[0]
    change = facts.change(facts.mean(best, "read"), old) or 0.0
    headline = _choosing(best, ref, change)
    if bound is not None and limit is not None:
        headline += f"; the bound, `{bound.label}`, {_makes(limit)} them {units.longer_or_shorter(limit)}"
        # A share of the bound is one of the same cause only where all else is equal.
        alone = _chooses_alone(best, ref) and _chooses_alone(bound, ref)
        if alone and limit < -units.UNCHANGED_PERCENT and change < 0:
            headline += f", so {units.percent(change / limit * 100.0)} of what is possible is reached"
    longer = [run for run in designs[1:] if (facts.change(facts.mean(run, "read"), old) or 0.0) > 0.5]
    # On another device reads are longer whatever is chosen.
    worse = [run for run in longer if not reasons.unlike_ground(run, ref)]
    if worse:
        headline += f"; under {units.names([run.label for run in worse])} reads are longer"
    reason = f"{_redirection_reason(best, ref, change, limit)} {_not_alone(best, ref)}".strip()
    # Redirection is what these systems are compared for: said even when the effect is small.
    weight = 0.5 + max(_log_ratio(change), _log_ratio(limit))
    return Finding("redirection", headline + ".", reason, weight, values, about)


def _chooses_alone(run: SavedRun, ref: SavedRun) -> bool:
    """Whether the reference is the run without copies and without a choice of chips."""
    return reasons.differs_only_in(run, ref, reasons.CHOICE_KEYS)


def _choosing(run: SavedRun, ref: SavedRun, change: float) -> str:
    """The effect as one, where the reference differs in nothing else; else as two runs side by side."""
    if _chooses_alone(run, ref):
        does = _makes(change)
        return f"Choosing the chip for a read {does} reads under `{run.label}` {_would(change)} `{ref.label}`"
    return f"Reads under `{run.label}`, which chooses their chips, are {_would(change)} `{ref.label}`"


def _bound(bound: SavedRun, ref: SavedRun, limit: float) -> str:
    if _chooses_alone(bound, ref):
        return f"If any chip could serve any read (`{bound.label}`), reads would be {_would(limit)} `{ref.label}`."
    return f"Reads under `{bound.label}`, where any chip serves any read, are {_would(limit)} `{ref.label}`."


def _not_alone(run: SavedRun, ref: SavedRun) -> str:
    """That another cause may be at work, and which run would tell."""
    others = reasons.besides(run, ref, reasons.CHOICE_KEYS)
    if not others:
        return ""
    return (
        f"`{run.label}` and `{ref.label}` differ in {others} as well: what the choice alone does, a run of "
        f"`{run.label}` with `redirection.policy = home` beside it would tell."
    )


def _makes(change: float) -> str:
    return "leaves" if units.unchanged(change) else "makes"


def _would(change: float) -> str:
    return f"{units.longer_or_shorter(change)} {_than(change)} under".replace("against under", "against")


def _room(ref: SavedRun) -> str:
    """How much waiting there is that a choice of chips could avoid."""
    share = facts.waiting_share(ref, "read", facts.CHIP_WAITS)
    if share is None:
        return ""
    text = f"Waiting for chips and channels is {units.percent(share)} of a read's time under `{ref.label}`"
    level = facts.mean_queue(ref)
    if level is not None:
        text += f", where a chip has {units.significant(level, 2)} operations on average"
    return text + "."


def _redirection_reason(run: SavedRun, ref: SavedRun, change: float, limit: float | None) -> str:
    sentences = []
    if change > units.UNCHANGED_PERCENT:
        sentences.append(reasons.parts(run, ref, "read"))
        gc = facts.change_of(run, ref, "flash_writes.gc")
        if gc is not None and gc > 1.0:
            sentences.append(f"Its garbage collection moves {units.percent(gc)} more pages.")
    else:
        redirected = facts.redirected_share(run)
        if redirected is not None:
            sentences.append(f"`{run.label}` serves {units.percent(redirected)} of the page reads from another chip.")
    if limit is not None and limit > -3.0:
        sentences.append(f"There is little to gain here: {_lower(_room(ref))}" if _room(ref) else "")
    elif limit is not None and change > limit * 0.7:
        sentences.append(_gap(run))
    elif limit is None or change > limit:
        sentences.append(_room(ref))
    return " ".join(sentence for sentence in sentences if sentence)


def _lower(text: str) -> str:
    """A sentence to follow other words: its first letter small, unless it begins a name."""
    return text[:1].lower() + text[1:]


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
    if new is not None:
        text += f", {units.percent(new)} to contents never read before"
    return text + "."


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


def _wear(study: StudyFolder) -> Finding | None:
    """Erases and write amplification, when garbage collection ran at all."""
    base = study.baseline
    erased = [(run.number("erases.total"), run) for run in study.runs if not run.is_ideal]
    known = [(value, run) for value, run in erased if value is not None]
    others = [(value, run) for value, run in known if run is not base]
    before = base.number("erases.total")
    if not others or before is None or not any(value for value, _ in known):
        return None
    value, run = max(others, key=lambda pair: _log_ratio(facts.change(pair[0], before)))
    change = facts.change(value, before)
    headline = f"`{run.label}` erases {units.count(value)} blocks, `{base.label}` {units.count(before)}"
    if change is not None:
        headline += f" ({units.change(change)})"
    values = {f"{run.name}:erases.total": value, f"{base.name}:erases.total": before}
    amplification = [(one.number("write_amplification"), one) for one in (base, run)]
    reason = ", ".join(f"{units.ratio(wa)} under `{one.label}`" for wa, one in amplification if wa is not None)
    text = f"Write amplification is {reason}." if reason else ""
    used = [(facts.life_used(one), one) for one in (base, run)]
    worth = [
        f"{units.percent(share)} under `{one.label}`" for share, one in used if share is not None and share >= 0.01
    ]
    if worth:
        text += f" Of the blocks' erase cycles, this trace uses {' and '.join(worth)}."
    return Finding("wear", headline + ".", text.strip(), _log_ratio(change) * 0.4, values, _names((base, run)))


def _tail(study: StudyFolder) -> Finding | None:
    """The 99th percentile, where it moves more than, or against, the mean."""
    base, found = study.baseline, []
    for run in study.others(base):
        for kind in ("read", "write"):
            tail = facts.change_of(run, base, f"response.{kind}.p99_ns")
            mean = facts.change(facts.mean(run, kind), facts.mean(base, kind))
            if tail is None or mean is None or run.is_ideal:
                continue
            opposed = tail * mean < 0 and not units.unchanged(tail) and not units.unchanged(mean)
            found.append((_log_ratio(tail) * (1.0 if opposed else 0.6), tail, mean, kind, run))
    if not found:
        return None
    weight, tail, mean, kind, run = max(found, key=lambda row: row[0])
    new, old = run.number(f"response.{kind}.p99_ns"), base.number(f"response.{kind}.p99_ns")
    if new is None or old is None:
        return None
    reason = f"{reasons.slowest(run, base, kind)} The mean {kind} changes by {units.change(mean)}.".strip()
    values = {f"{run.name}:response.{kind}.p99_ns": new, f"{base.name}:response.{kind}.p99_ns": old}
    headline = _slowest(kind, (new, run), (old, base), tail)
    return Finding("tail", headline, reason, weight, values, _names((run, base)))


def _slowest(kind: str, new: tuple[float, SavedRun], old: tuple[float, SavedRun], change: float) -> str:
    """The 99th percentiles of two runs; with a write cache or RAM in front, most requests may take no time at all."""
    none = [run for p99, run in (new, old) if p99 == 0]
    some = [(p99, run) for p99, run in (new, old) if p99 > 0]
    if not some:
        return f"99 % of the {kind}s take no time under {units.names([run.label for run in none])}."
    (p99, run), rest = some[0], some[1:]
    text = f"The slowest 1 % of {kind}s take more than {units.duration(p99)} under `{run.label}`"
    if none:
        return f"{text}; under `{none[0].label}`, 99 % of them take no time."
    return f"{text}, {units.duration(rest[0][0])} under `{rest[0][1].label}` ({units.change(change)})."


def _load(study: StudyFolder) -> Finding | None:
    """Whether the device is overloaded or idle at this speed: then other findings mean little."""
    base = study.baseline
    share = facts.waiting_share(base, "all")
    planned, ended = facts.arrivals_ns(base), base.number("completed_ns")
    if planned and ended and ended > planned * LATE_FACTOR and not facts.closed_loop(base):
        headline = (
            f"`{base.label}` cannot keep up: it needs {units.duration(ended)} for requests that "
            f"arrive within {units.duration(planned)}."
        )
        reason = "Response times then grow with the length of the trace; replay it more slowly to compare systems."
        values = {"completed_ns": ended, "duration_ns": planned}
        return Finding("load", headline, reason, 1.5, values, (base.name,))
    if share is not None and share < 5.0:
        headline = f"The device is nearly idle: waiting is {units.percent(share)} of a request's time."
        reason = "No policy can save waiting that does not occur; replay the trace faster to see where queues build up."
        return Finding("load", headline, reason, 0.3, {"waiting_percent": share}, (base.name,))
    return None


def _cost(study: StudyFolder) -> Finding | None:
    """What replicas cost in programs, pages and RAM."""
    made = [(facts.replica_share(run) or 0.0, run) for run in study.runs if facts.replicates(run)]
    if not made or max(made, key=lambda pair: pair[0])[0] == 0:
        return None
    share, run = max(made, key=lambda pair: pair[0])
    headline = f"Replicas are {units.percent(share)} of all pages that `{run.label}` programs"
    base = study.baseline
    programs = facts.change_of(run, base, "pages_programmed")
    if programs is not None and run is not base:
        headline += f" ({units.change(programs)} pages in all against `{base.label}`)"
    values = {f"{run.name}:replica_percent": share}
    return Finding("cost", headline + ".", _copying(run), share / 100.0, values, (run.name,))


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
        sentences.append(text + ".")
    used = facts.share(run.number("space.pages_in_use_peak"), run.number("replication.budget_pages"))
    if used is not None:
        sentences.append(f"At most {units.percent(min(used, 100.0))} of its room was in use (`replication.alpha`).")
    return " ".join(sentences)
