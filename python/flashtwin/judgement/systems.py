"""What runs beside one another say of the systems: which to choose, wear, slow ends, and how loaded the drive is.

Nothing is said that was not computed from the results, and a system that loses is said to lose. That one thing makes
another so is said only where a run beside it differs in that thing alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from flashtwin import units
from flashtwin.judgement import actions, facts, reasons
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Verdict
from flashtwin.results.reading import SavedRun, StudyFolder

#: A run that ends this much later than its trace could not keep up.
LATE_FACTOR = 1.1


def run_names(runs: Iterable[SavedRun]) -> tuple[str, ...]:
    """As evidence."""
    return tuple(run.name for run in runs)


def log_ratio(change_percent: float | None) -> float:
    """|ln(new / old)|: halving weighs as much as doubling. At most 3 (20 times): zero is not infinitely important."""
    if change_percent is None:
        return 0.0
    return min(abs(math.log(max(1.0 + change_percent / 100.0, 1e-6))), 3.0)


def than(change: float) -> str:
    """What stands between `38.0 % shorter`, or `unchanged`, and the run that it is compared with."""
    return "against" if units.unchanged(change) else "than"


def choice(of: Evidence, study: StudyFolder) -> Verdict | None:
    """Which system that could be built has the shortest mean response time; of one run, what its time is made of."""
    base = study.baseline
    if len(study.runs) == 1:
        return _single(of, base)
    timed = [(mean, run) for run in facts.designs(study) if (mean := facts.mean(run, "all")) is not None]
    if len(timed) < 2:
        return None
    timed.sort(key=lambda pair: pair[0])
    (shortest, best), (second, next_best) = timed[0], timed[1]
    runs = [run for _, run in timed]
    figures = {f"{run.name}:response.all.mean_ns": mean for mean, run in timed}
    action = actions.removing(of, actions.fastest_explained(of, runs))
    behind = facts.change(second, shortest) or 0.0
    if best is base:
        claim = (
            f"No system beats `{base.label}`: its mean response time is {units.duration(shortest)}, "
            f"that of the next best, `{next_best.label}`, {units.duration(second)} ({units.change(behind)})."
        )
        reason = reasons.of_choice(next_best, base)
        return Verdict("choice", claim, base.name, reason, figures, run_names(runs), action, 9.0)
    claim = f"`{best.label}` has the shortest mean response time: {units.duration(shortest)}"
    change = facts.change_of(best, base, "response.all.mean_ns")
    if change is not None:
        claim += f", {units.longer_or_shorter(change)} {than(change)} `{base.label}`{_by_kind(best, base)}"
    if units.unchanged(behind) and next_best is not base:
        claim += f"; `{next_best.label}` is practically its equal ({units.change(behind)})"
    elif next_best is not base:
        claim += f"; next is `{next_best.label}` with {units.duration(second)}"
    reason = reasons.of_choice(best, base)
    return Verdict("choice", f"{claim}.", best.name, reason, figures, run_names(runs), action, 9.0)


def _single(of: Evidence, run: SavedRun) -> Verdict:
    """With one run there is nothing to choose."""
    mean, parts = facts.mean(run, "all"), facts.split(run, "all")
    if mean is None:
        claim = f"No request completed under `{run.label}`."
        return Verdict("choice", claim, "none", "There is nothing to conclude.", {}, (run.name,), weight=9.0)
    claim = f"`{run.label}` answers a request in {units.duration(mean)} on average."
    figures = {"response.all.mean_ns": mean}
    reason = "What the time is made of was not recorded."
    if parts and sum(parts.values()) > 0:
        part = max(parts, key=lambda key: parts[key])
        share = units.percent(facts.share(parts[part], sum(parts.values())))
        reason = f"The largest part of it is {reasons.PART_WORDS[part]}: {units.duration(parts[part])}, {share}."
        figures[f"response.all.split.{part}_ns"] = parts[part]
    return Verdict("choice", claim, run.name, reason, figures, (run.name,), actions.removing(of, [run]), 9.0)


def _by_kind(run: SavedRun, base: SavedRun) -> str:
    changes = [(kind, facts.change(facts.mean(run, kind), facts.mean(base, kind))) for kind in ("read", "write")]
    parts = [f"{kind}s {units.longer_or_shorter(change)}" for kind, change in changes if change is not None]
    return f" ({', '.join(parts)})" if len(parts) == 2 else ""


def wear(of: Evidence, study: StudyFolder) -> Verdict | None:
    """Erases and write amplification, when garbage collection ran at all."""
    base = study.baseline
    erased = [(value, run) for run in facts.designs(study) if (value := run.number("erases.total")) is not None]
    others = [(value, run) for value, run in erased if run is not base]
    before = base.number("erases.total")
    if not others or before is None or not any(value for value, _ in erased):
        return None
    value, run = max(others, key=lambda pair: log_ratio(facts.change(pair[0], before)))
    change = facts.change(value, before)
    claim = f"`{run.label}` erases {units.count(value)} blocks, `{base.label}` {units.count(before)}"
    claim += f" ({units.change(change)})" if change is not None else ""
    amplification = [(one.number("write_amplification"), one) for one in (base, run)]
    told = ", ".join(f"{units.ratio(wa)} under `{one.label}`" for wa, one in amplification if wa is not None)
    used = [(facts.life_used(one) or 0.0, one) for one in (base, run)]
    life = " and ".join(f"{units.percent(share)} under `{one.label}`" for share, one in used if share >= 0.01)
    reason = [f"Write amplification is {told}."] if told else []
    reason += [f"Of the blocks' erase cycles, this trace uses {life}."] if life else []
    figures = {f"{run.name}:erases.total": value, f"{base.name}:erases.total": before}
    return Verdict(
        "wear", f"{claim}.", _more(change, "erases"), " ".join(reason), figures, run_names((run, base)),
        actions.next_look(of, "wear", (run, base)), log_ratio(change) * 0.4,
    )  # fmt: skip


def _more(change: float | None, what: str) -> str:
    """A change of a count as an answer."""
    if change is None or units.unchanged(change):
        return f"as many {what}"
    return f"{'more' if change > 0 else 'fewer'} {what}"


def tail(of: Evidence, study: StudyFolder) -> Verdict | None:
    """The 99th percentile, where it moves more than, or against, the mean."""
    base, found = study.baseline, []
    for run in facts.designs(study):
        for kind in ("read", "write"):
            change = facts.change_of(run, base, f"response.{kind}.p99_ns")
            mean = facts.change(facts.mean(run, kind), facts.mean(base, kind))
            if run is base or change is None or mean is None:
                continue
            opposed = change * mean < 0 and not units.unchanged(change) and not units.unchanged(mean)
            found.append((log_ratio(change) * (1.0 if opposed else 0.6), change, mean, kind, run))
    if not found:
        return None
    weight, change, mean, kind, run = max(found, key=lambda row: row[0])
    new, old = run.number(f"response.{kind}.p99_ns"), base.number(f"response.{kind}.p99_ns")
    if new is None or old is None:
        return None
    reason = f"{reasons.slowest(run, base, kind)} The mean {kind} changes by {units.change(mean)}.".strip()
    figures = {f"{run.name}:response.{kind}.p99_ns": new, f"{base.name}:response.{kind}.p99_ns": old}
    answer = "longer" if facts.loses(change) else "shorter" if facts.gains(change) else "unchanged"
    return Verdict(
        "tail", _slowest(kind, (new, run), (old, base), change), answer, reason, figures, run_names((run, base)),
        actions.removing(of, (run, base)), weight,
    )  # fmt: skip


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


def load(of: Evidence, study: StudyFolder) -> Verdict | None:
    """Whether the device is overloaded or idle at this speed: then other verdicts mean little."""
    base = study.baseline
    share = facts.waiting_share(base, "all")
    planned, ended = facts.arrivals_ns(base), base.number("completed_ns")
    action = actions.removing(of, [base])
    if planned and ended and ended > planned * LATE_FACTOR and not facts.closed_loop(base):
        claim = (
            f"`{base.label}` cannot keep up: it needs {units.duration(ended)} for requests that "
            f"arrive within {units.duration(planned)}."
        )
        reason = "Response times then grow with the length of the trace; replay it more slowly to compare systems."
        figures = {"completed_ns": ended, "duration_ns": planned}
        return Verdict("load", claim, "overloaded", reason, figures, (base.name,), action, 1.5)
    if share is not None and share < 5.0:
        claim = f"The device is nearly idle: waiting is {units.percent(share)} of a request's time."
        reason = "No policy can save waiting that does not occur; replay the trace faster to see where queues build up."
        return Verdict("load", claim, "idle", reason, {"waiting_percent": share}, (base.name,), action, 0.3)
    return None
