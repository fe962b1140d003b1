"""The verdict on candidates as a buyer reads it: what to choose, what it gains, and what it gives up."""

import math

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.judgement.choosing import Candidate, Decision, given_up
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.goals import goal_of
from flashtwin.judgement.verdict import UNKNOWN, Action, Verdict, joined, lower
from flashtwin.results.keys import K, undetermined, value_words

TOPIC = "verdict"
#: The verdict comes before all findings.
_WEIGHT = 10.0


def choice(of: Evidence) -> Verdict | None:
    """The candidate to choose; None where no run has the goal's figure."""
    decision = of.decision
    if decision is None:
        if not of.candidates:
            return None
        goal = goal_of(of.candidates["goal"])
        return Verdict(TOPIC, f"No candidate can be chosen, because no run has {goal.words}.", UNKNOWN, weight=_WEIGHT)
    name = decision.goal.name
    figures = {f"{candidate.run.name}:{name}": decision.value(candidate) for candidate in decision.candidates}
    runs = tuple(candidate.run.name for candidate in decision.candidates)
    first = decision.choice
    if first is None:
        claim = f"Too few requests to choose a system by: {decision.too_few}."
        return Verdict(TOPIC, claim, UNKNOWN, "", figures, runs, weight=_WEIGHT)
    reason = joined(_open(decision), _second(of, decision, first), _margin(of, decision), _acknowledged(of))
    action = Action("Run it", first.command, dict(first.sets), replayed=True) if first.command else Action()
    return Verdict(TOPIC, _claim(decision, first), first.system, reason, figures, runs, action, _WEIGHT)


def _claim(decision: Decision, first: Candidate) -> str:
    if first.late is not None:
        times = f"{units.significant(first.late)} times as long as the trace"
        return f"No candidate keeps up with the trace at this speed. {first.words} comes nearest: it takes {times}."
    value = decision.goal.written(decision.value(first))
    if len(decision.candidates) == 1:
        return f"{first.words}: {decision.goal.words} is {value}{_own_gain(decision, first)}."
    claim = f"{first.words} is the choice: {decision.goal.words} is {value}"
    if first is not decision.fastest:
        loss = decision.loss(first).words(*_more_or_less(decision))
        claim += f", {loss} than the fastest, {decision.fastest.words}, for {given_up(first, decision.fastest)}"
    return f"{claim}{_against_baseline(decision, first)}."


def _own_gain(decision: Decision, candidate: Candidate) -> str:
    before = decision.goal.written(candidate.as_configured)
    changed = candidate.as_configured is not None and before != decision.goal.written(decision.value(candidate))
    return f" instead of {before}" if candidate.settings and changed else ""


def _against_baseline(decision: Decision, first: Candidate) -> str:
    base = decision.baseline
    if base is first:
        return _own_gain(decision, first)
    if base is decision.fastest:
        return ""
    if base.late is not None:
        return f". {base.words} falls behind the trace"
    loss = decision.loss(first, base)
    programs = facts.change_of(first.run, base.run, "pages_programmed")
    flash = f", and writes {units.percent(-programs)} less flash" if facts.gains(programs) and programs else ""
    if loss.share == 0 or loss.is_open(-1.0):
        alike = "as good as" if loss.share == 0 else "not told apart from"
        return f". It is {alike} {base.words} ({decision.goal.written(decision.value(base))}){flash}"
    change = loss.words(*_more_or_less(decision))
    return f". That is {change} than {base.words} ({decision.goal.written(decision.value(base))}){flash}"


def _more_or_less(decision: Decision) -> tuple[str, str]:
    if decision.goal.figure.more_is_better:
        return "less", "more"
    return ("longer", "shorter") if decision.goal.figure.unit == "ns" else ("more", "less")


def _open(decision: Decision) -> str:
    """Cheaper candidates that are not told apart, and how much more trace would tell."""
    sentences = []
    for candidate in decision.alike:
        loss = decision.loss(candidate)
        times = loss.more_trace(decision.worth)
        length = units.significant(math.ceil(min(times, 1e4) * 10) / 10, 2)
        more = f"; {length} times as much trace would tell" if times < 1e4 else ""
        change = loss.words(*_more_or_less(decision))
        fastest = decision.fastest.words
        sentences.append(f"{candidate.words} is cheaper and is not told apart from {fastest}: {change}{more}.")
    return " ".join(sentences)


def _second(of: Evidence, decision: Decision, first: Candidate) -> str:
    """The choice by the second goal, where one was asked for."""
    name = (of.candidates or {}).get("second_goal")
    if not name:
        return ""
    second = decision.in_place_of(goal_of(str(name)))
    other, value = second.choice, second.goal.written(second.value(first))
    if other is None or other.run is first.run:
        return f"By {second.goal.words} ({value}) it is the choice as well."
    best = second.goal.written(second.value(other))
    return f"By {second.goal.words} it has {value}, and {other.words} would be the choice: {best}."


def _margin(of: Evidence, decision: Decision) -> str:
    on_time = [candidate for candidate in decision.candidates if candidate.late is None]
    if len(on_time) < 2 or decision.choice is None or decision.choice.late is not None:
        return ""
    caution = ""
    if decision.choice is not decision.fastest and (loss := decision.loss(decision.choice)).why:
        caution = f" {'Take its loss with care' if loss.interval else 'Its loss has no interval'}: {loss.why}."
    whose = "prices are your own" if of.candidates.get("own_prices") else "prices are assumed"
    return f"A loss of at most {units.percent(decision.worth * 100)} is taken for a lower price; {whose}.{caution}"


def _acknowledged(of: Evidence) -> str:
    """Whether the choice hangs on when the drive answers a write."""
    varied = (of.candidates or {}).get("acknowledged") or {}
    sentences = []
    for other in varied.get("others", ()):
        where = f"If a write is answered otherwise (`{K.engine.write_completes} = {other['value']}`)"
        if other["choice"] != varied["choice"]:
            sentences.append(f"{where}, `{other['choice']}` would be the choice: {other['words']}.")
        else:
            sentences.append(f"{where}, it is the choice as well.")
    return " ".join(sentences)


def ground(of: Evidence) -> str:
    """The ground on which all candidates stand, in a sentence: drive, raw flash, and when a write is answered."""
    decision = of.decision
    if decision is None or not decision.is_searched:
        return ""
    run = decision.baseline.run
    completes = str(run.setting(K.engine.write_completes))
    words = lower(value_words(K.engine.write_completes, completes))
    unsure = ", which its file calls undetermined" if K.engine.write_completes in undetermined(run.config) else ""
    return (
        f"All candidates stand on one ground: `{run.setting(K.device)}` with {run.raw_pages:,} raw pages "
        f"({units.size(run.raw_bytes)}). It answers a write {words or completes} "
        f"(`{K.engine.write_completes} = {completes}`){unsure}."
    )
