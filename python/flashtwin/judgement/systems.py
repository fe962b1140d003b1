"""What runs beside one another say of the systems: wear, slow ends, and how loaded the drive is."""

from flashtwin import units
from flashtwin.judgement import facts, reasons
from flashtwin.judgement.verdict import Verdict, joined
from flashtwin.results.reading import StudyFolder

#: Shares of waiting in a request's time, in percent, from which on a drive is overloaded and below which it is idle.
OVERLOADED_PERCENT, IDLE_PERCENT = 95.0, 5.0
#: How the load weighs among the findings.
OVERLOADED, IDLE = 1.5, 0.3
#: A change of the slow end against that of the mean is news, one with it is less, and erases still less. Ours.
WITH_THE_MEAN, ERASES = 0.6, 0.4


def wear(study: StudyFolder) -> Verdict | None:
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
        weight=facts.weight(change) * ERASES,
    )  # fmt: skip


def tail(study: StudyFolder) -> Verdict | None:
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
    return Verdict("tail", f"{claim}.", answer, reason, figures, (run.name, base.name), weight=weight)


def load(study: StudyFolder) -> Verdict | None:
    """Whether the device is overloaded or idle at this speed: then other verdicts mean little."""
    base = study.baseline
    share, late = facts.waiting_share(base, "all"), facts.late_by(base.numbers)
    overloaded = late is not None or (share is not None and share > OVERLOADED_PERCENT)
    if not overloaded and (share is None or share >= IDLE_PERCENT):
        return None
    what = "overloaded" if overloaded else "nearly idle"
    claim = f"The device is {what}: waiting is {units.percent(share)} of a request's time under `{base.label}`."
    ended = base.number("completed_ns")
    if late is not None and ended is not None:
        claim = f"`{base.label}` cannot keep up: it needs {units.duration(ended)} for requests that "
        claim += f"arrive within {units.duration(ended / late)}."
    figures = {"waiting_percent": share, "times_as_long": late}
    reason = "No policy can save waiting that does not occur; replay the trace faster to see where queues build up."
    if overloaded:
        reason = "Response times then grow with the length of the trace; replay it more slowly to compare systems."
    return Verdict(
        "load", claim, "overloaded" if overloaded else "idle", reason,
        facts.known(figures), (base.name,), weight=OVERLOADED if overloaded else IDLE,
    )  # fmt: skip
