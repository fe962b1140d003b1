"""The one list of verdicts on a workload and its runs, and the first of them: what to choose, and what it gives up."""

import re
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from flashtwin import units
from flashtwin.judgement import facts, workload
from flashtwin.judgement.choosing import Candidate, Decision
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.goals import goal_of
from flashtwin.judgement.verdict import CHOICE, UNKNOWN, Action, Verdict, joined, lower, with_made_up_contents
from flashtwin.results.keys import K, undetermined, value_words

#: The topics of findings and of advice, in order.
FINDINGS = ("replication", "deduplication", "load")
ADVICE = ("partitions", "page size", "deduplication", "replication", "waiting")


def choice(of: Evidence) -> Verdict | None:
    decision = of.decision
    if decision is None:
        goal = goal_of(of.candidates["goal"]).words if of.candidates else ""
        return Verdict(CHOICE, f"No candidate can be chosen, because no run has {goal}.", UNKNOWN) if goal else None
    figures = {f"{one.run.name}:{decision.goal.name}": decision.value(one) for one in decision.candidates}
    runs = tuple(one.run.name for one in decision.candidates)
    first = decision.choice
    if first is None:
        claim = f"Too few requests to choose a system by: {decision.too_few}."
        return Verdict(CHOICE, claim, UNKNOWN, "", figures, runs)
    reason = joined(*_open(decision), _second(of, decision, first), _margin(of, decision, first), *_acknowledged(of))
    action = Action("Run it", first.command, dict(first.sets), replayed=True) if first.command else Action()
    return Verdict(CHOICE, _claim(decision, first), first.system, reason, figures, runs, action)


def _claim(decision: Decision, first: Candidate) -> str:
    goal, fastest, base = decision.goal, decision.fastest, decision.baseline
    if first.late is not None:
        times = f"{units.significant(first.late)} times as long as the trace"
        return f"No candidate keeps up with the trace at this speed. {first.words} comes nearest: it takes {times}."
    value, before = goal.written(decision.value(first)), goal.written(first.as_configured)
    changed = first.settings and first.as_configured is not None and before != value
    gain = f" instead of {before}" if changed and first is base else ""
    if len(decision.candidates) == 1:
        return f"{first.words}: {goal.words} is {value}{gain}."
    claim = f"{first.words} is the choice: {goal.words} is {value}{gain}"
    if first is not fastest:
        best = "the fastest" if decision.loss(first).share >= 0.0 else "the fastest of the other half of the trace"
        claim += f", {decision.beside(first, fastest).replace(' than ', f' than {best}, ', 1)}"
    if base.late is not None:
        claim += f". {base.words} falls behind the trace"
    elif base not in (first, fastest):
        loss = decision.loss(first, base)
        apart = "not told apart: " if loss.share and loss.is_open(-1.0) else ""
        claim += f". Against the baseline it is {apart}{decision.beside(first, base)}"
    return f"{claim}."


def _open(decision: Decision) -> list[str]:
    """Cheaper candidates that are not told apart, and how much more trace would tell."""
    sentences = []
    for one in decision.alike:
        times = decision.loss(one).more_trace(decision.worth)
        length = units.significant(ceil(min(times, 1e4) * 10) / 10, 2)
        more = f"; {length} times as much trace would tell" if times < 1e4 else ""
        told = decision.beside(one, decision.fastest)
        sentences.append(f"{one.words} is cheaper and is not told apart from the fastest: {told}{more}.")
    return sentences


def _second(of: Evidence, decision: Decision, first: Candidate) -> str:
    name = of.candidates.get("second_goal")
    if not name:
        return ""
    second = decision.by(goal_of(str(name)))
    other, goal, value = second.choice, second.goal, second.goal.written(second.value(first))
    if other is None or other.run is first.run:
        return f"By {goal.words} ({value}) it is the choice as well."
    best = goal.written(second.value(other))
    return f"By {goal.words} it has {value}, and {other.words} would be the choice: {best}."


def _margin(of: Evidence, decision: Decision, first: Candidate) -> str:
    if first.late is not None or len([one for one in decision.candidates if one.late is None]) < 2:
        return ""
    loss = decision.loss(first)
    caution = f" {'Take its loss with care' if loss.interval else 'Its loss has no interval'}: {loss.why}."
    whose = "prices are your own" if of.candidates.get("own_prices") else "prices are assumed"
    worth = units.percent(decision.worth * 100)
    halves = (
        " Candidates are ranked by every other hundredth of the trace. Gains and losses are those of the rest, and "
        "times those of the whole trace."
    )
    text = f"A loss of at most {worth} is taken for a lower price; {whose}.{halves if decision.is_halved else ''}"
    return f"{text}{caution if loss.why else ''}"


def _acknowledged(of: Evidence) -> list[str]:
    varied = of.candidates.get("acknowledged") or {"others": ()}
    sentences = []
    for other in varied["others"]:
        changed = f"`{other['choice']}` would be the choice: {other['words']}"
        then = "it is the choice as well" if other["choice"] == varied["choice"] else changed
        where = f"If a write is answered otherwise (`{K.engine.write_completes} = {other['value']}`)"
        sentences.append(f"{where}, {then}.")
    return sentences


def ground(of: Evidence) -> str:
    """The ground on which all candidates stand, in a sentence: drive, raw flash, and when a write is answered."""
    if of.decision is None or not of.decision.is_searched:
        return ""
    run, key = of.decision.baseline.run, K.engine.write_completes
    completes = str(run.setting(key))
    unsure = ", which its file calls undetermined" if key in undetermined(run.config) else ""
    return (
        f"All candidates stand on one ground: `{run.setting(K.device)}` with {run.raw_pages:,} raw pages "
        f"({units.size(run.raw_bytes)}). It answers a write {lower(value_words(key, completes)) or completes} "
        f"(`{key} = {completes}`){unsure}."
    )


_TOPICS = (
    choice, workload.replication, workload.deduplication, workload.load, workload.partitions,
    workload.page_size, workload.waiting,
)  # fmt: skip


def judge(of: Evidence) -> list[Verdict]:
    """All verdicts: the bottleneck of each candidate that was explained, and every other topic once."""
    explained = of.study.explained.values() if of.study is not None else ()
    made = [_qualified(of, one) for topic in _TOPICS if (one := topic(of)) is not None]
    return [*map(Verdict.read, explained), *_shortened(of, made)]


def _shortened(of: Evidence, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts in the order of reading that name a candidate in full once, and then as its table does."""
    if of.decision is None or not of.decision.is_searched:
        return list(verdicts)
    names = {one.words: f"`{one.run.name}`" for one in of.decision.candidates}
    # Candidates on other grounds may have other settings as well.
    names |= {one["words"]: one["words"] for one in (of.candidates.get("acknowledged") or {"others": ()})["others"]}
    pattern, known = "|".join(map(re.escape, sorted(names, key=len, reverse=True))), set[str]()

    def name(mention: re.Match[str]) -> str:
        words = names[mention[0]] if mention[0] in known else mention[0]
        known.add(mention[0])
        return words

    return [
        replace(one, claim=re.sub(pattern, name, one.claim), reason=re.sub(pattern, name, one.reason))
        for one in verdicts
    ]


def _qualified(of: Evidence, one: Verdict) -> Verdict:
    """Says so where a verdict is about systems as configured, or about contents that nobody recorded."""
    source = facts.made_up_contents(*(run for run in of.runs if run.name in one.evidence))
    claim = with_made_up_contents(one.claim, source)
    is_said = "as configured" in claim or one.topic == CHOICE
    if one.evidence and not of.candidates.get("shown") and not is_said:
        claim = f"As configured: {lower(claim)}"
    return replace(one, claim=claim)


def findings(verdicts: Sequence[Verdict], count: int | None = None) -> list[Verdict]:
    """What runs show, at most `count`."""
    return [one for topic in FINDINGS for one in verdicts if one.topic == topic and one.evidence][:count]


def advice(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [one for topic in ADVICE for one in verdicts if one.topic == topic]


def on(topic: str, verdicts: Sequence[Verdict]) -> Verdict | None:
    return next((one for one in verdicts if one.topic == topic), None)
