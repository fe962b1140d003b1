"""What runs beside one another say of the systems: which to choose, wear, slow ends, and how loaded the drive is.

Every claim is computed from the results, and names a system that loses. A cause is claimed only where a run beside it
differs in that cause alone.
"""

from __future__ import annotations

from flashtwin import units
from flashtwin.judgement import actions, facts, reasons
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Verdict, joined, lower
from flashtwin.results.reading import SavedRun, StudyFolder, as_number

#: A run that ends this much later than its trace could not keep up.
LATE_FACTOR = 1.1
#: Shares of waiting in a request's time, in percent, from which on a drive is overloaded and below which it is idle.
OVERLOADED_PERCENT, IDLE_PERCENT = 95.0, 5.0
#: How the choice, which comes first, and the load weigh among the findings.
CHOICE, OVERLOADED, IDLE = 9.0, 1.5, 0.3
#: A change of the slow end against that of the mean is news, one with it is less, and erases still less. Ours.
WITH_THE_MEAN, ERASES = 0.6, 0.4


def choice(of: Evidence, study: StudyFolder) -> Verdict | None:
    """The buildable system with the shortest mean response time; of one run, the parts of its time."""
    base = study.baseline
    if len(study.runs) == 1:
        return _single(of, base)
    timed = facts.by_mean(facts.designs(study), "all")
    if len(timed) < 2:
        return None
    change = facts.mean_change(timed[0][1], base, "all")
    # A system that is practically as fast as the baseline does not beat it.
    equal = [one for one in timed if one[1] is base and not facts.gains(change)]
    shortest, best = (equal or timed)[0]
    second, next_best = next(one for one in timed if one[1] is not best)
    behind = facts.change(second, shortest) or 0.0
    claim = f"`{best.label}` has the shortest mean response time: {units.duration(shortest)}"
    if best is base:
        claim = f"No system beats `{base.label}`, with a mean response time of {units.duration(shortest)}"
    elif change is not None:
        claim += f", {units.longer_or_shorter(change, f'`{base.label}`')}{_by_kind(best, base)}"
    if best is base or next_best is not base:
        place = "practically as fast" if units.unchanged(behind) else "next"
        claim += f"; `{next_best.label}` is {place} with {units.duration(second)} ({units.change(behind)})"
    # With candidates, the verdict is about systems at their best.
    claim = f"With the settings as given, {lower(claim)}" if study.candidates else claim
    runs = [run for _, run in timed]
    return Verdict(
        "choice", f"{claim}.", best.name, reasons.of_choice(next_best if best is base else best, base),
        {f"{run.name}:response.all.mean_ns": mean for mean, run in timed}, tuple(run.name for run in runs),
        actions.removing(of, runs), CHOICE,
    )  # fmt: skip


def _single(of: Evidence, run: SavedRun) -> Verdict:
    """With one run there is nothing to choose."""
    mean, parts = facts.mean(run, "all"), facts.split(run, "all") or {}
    if mean is None:
        claim = f"No request completed under `{run.label}`."
        return Verdict("choice", claim, "none", evidence=(run.name,), weight=CHOICE)
    figures, reason = {"response.all.mean_ns": mean}, ""
    if sum(parts.values()) > 0:
        part = max(parts, key=lambda key: parts[key])
        share = units.percent(facts.share(parts[part], sum(parts.values())))
        reason = f"The largest part of it is {dict(facts.PARTS)[part]}: {units.duration(parts[part])}, {share}."
        figures[f"response.all.split.{part}_ns"] = parts[part]
    claim = f"`{run.label}` answers a request in {units.duration(mean)} on average."
    return Verdict("choice", claim, run.name, reason, figures, (run.name,), actions.removing(of, [run]), CHOICE)


def _by_kind(run: SavedRun, base: SavedRun) -> str:
    changes = [(kind, facts.mean_change(run, base, kind)) for kind in ("read", "write")]
    parts = [f"{kind}s {units.longer_or_shorter(change)}" for kind, change in changes if change is not None]
    return f" ({', '.join(parts)})" if len(parts) == 2 else ""


def wear(of: Evidence, study: StudyFolder) -> Verdict | None:
    """Erases and write amplification, when garbage collection ran at all."""
    base, before = study.baseline, study.baseline.number("erases.total")
    erased = [(value, run) for run in facts.designs(study) if (value := run.number("erases.total")) is not None]
    others = [(value, run) for value, run in erased if run is not base]
    if not others or before is None or not any(value for value, _ in erased):
        return None
    value, run = max(others, key=lambda pair: facts.weight(facts.change(pair[0], before)))
    change = facts.change(value, before)
    claim = f"`{run.label}` erases {units.count(value)} blocks, `{base.label}` {units.count(before)}"
    claim += f" ({units.change(change)})" if change is not None else ""
    same = value == before or (change is not None and units.unchanged(change))
    answer = f"{'as many' if same else 'more' if value > before else 'fewer'} erases"
    told = [
        f"{units.ratio(wa)} under `{one.label}`" for one in (base, run) if (wa := one.number("write_amplification"))
    ]
    return Verdict(
        "wear", f"{claim}.", answer, f"Write amplification is {', '.join(told)}." if told else "",
        {f"{run.name}:erases.total": value, f"{base.name}:erases.total": before}, (run.name, base.name),
        actions.further(of, (run, base), "Try static wear levelling", {"ftl.wear.policy": "static"}),
        facts.weight(change) * ERASES,
    )  # fmt: skip


def tail(of: Evidence, study: StudyFolder) -> Verdict | None:
    """The 99th percentile, where it moves more than, or against, the mean."""
    base, found = study.baseline, []
    for run in facts.designs(study):
        for kind in ("read", "write"):
            change = facts.change_of(run, base, f"response.{kind}.p99_ns")
            mean = facts.mean_change(run, base, kind)
            if run is base or change is None or mean is None:
                continue
            opposed = (facts.gains(change) and facts.loses(mean)) or (facts.loses(change) and facts.gains(mean))
            found.append((facts.weight(change) * (1.0 if opposed else WITH_THE_MEAN), change, mean, kind, run))
    if not found:
        return None
    weight, change, mean, kind, run = max(found, key=lambda row: row[0])
    figures = {f"{one.name}:response.{kind}.p99_ns": one.count(f"response.{kind}.p99_ns") for one in (run, base)}
    new, old = figures.values()
    # With a write cache or RAM in front, most requests may take no time at all; `change` says that the baseline's do.
    claim = f"The slowest 1 % of {kind}s take more than {units.duration(old)} under `{base.label}`"
    claim += f", {units.duration(new)} under `{run.label}` ({units.change(change)})" if new else ""
    claim += "" if new else f"; under `{run.label}`, 99 % of them take no time"
    answer = "longer" if facts.loses(change) else "shorter" if facts.gains(change) else "unchanged"
    reason = joined(reasons.slowest(run, base, kind), f"The mean {kind} changes by {units.change(mean)}.")
    action = actions.removing(of, (run, base))
    return Verdict("tail", f"{claim}.", answer, reason, figures, (run.name, base.name), action, weight)


def load(of: Evidence, study: StudyFolder) -> Verdict | None:
    """Whether the device is overloaded or idle at this speed: then other verdicts mean little."""
    base = study.baseline
    share, ended, lasts = facts.waiting_share(base, "all"), base.number("completed_ns"), base.number("duration_ns")
    # Arrivals on the device's clock; a closed loop has none.
    planned = (lasts or 0.0) / (as_number(base.setting("replay.speed")) or 1.0)
    closed = as_number(base.setting("replay.queue_depth"))
    late = bool(ended and planned and ended > planned * LATE_FACTOR and not closed)
    overloaded = late or (share is not None and share > OVERLOADED_PERCENT)
    if not overloaded and (share is None or share >= IDLE_PERCENT):
        return None
    what = "overloaded" if overloaded else "nearly idle"
    claim = f"The device is {what}: waiting is {units.percent(share)} of a request's time under `{base.label}`."
    if late:
        claim = f"`{base.label}` cannot keep up: it needs {units.duration(ended)} for requests that "
        claim += f"arrive within {units.duration(planned)}."
    figures = {"waiting_percent": share, "completed_ns": ended, "duration_ns": planned if late else None}
    reason = "No policy can save waiting that does not occur; replay the trace faster to see where queues build up."
    if overloaded:
        reason = "Response times then grow with the length of the trace; replay it more slowly to compare systems."
    return Verdict(
        "load", claim, "overloaded" if overloaded else "idle", reason,
        facts.known(figures), (base.name,),
        actions.removing(of, [base]), OVERLOADED if overloaded else IDLE,
    )  # fmt: skip
