"""What was found, in words and as plain data: each sentence ends in what to do, and names the run that shows it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin import units
from flashtwin.causes import attribution
from flashtwin.causes.attribution import Cause, Pair, Taken
from flashtwin.causes.figures import usual_goal
from flashtwin.causes.inquiry import Inquiry
from flashtwin.judgement.verdict import BOTTLENECK, Action, Verdict, upper, with_made_up_contents
from flashtwin.results.keys import traits
from flashtwin.results.trees import literal

#: Keys that have an option of their own.
_OPTIONS = {"replay.speed": "--speed", "replay.queue_depth": "--queue-depth", "replay.content": "--content"}
#: Share of what two changes bring together that each must bring alone for either to do.
_EITHER_SHARE = 0.8
#: Steps that the words name; all stand in the data.
_NAMED_STEPS = 5


@dataclass(frozen=True)
class Command:
    """How a run is made again by hand: the trace and how it is read, the system, and the keys set otherwise."""

    trace: str
    #: What the run is called.
    name: str
    #: The preset or TOML file.
    system: str
    sets: Mapping[str, Any]

    def replay(self, more: Mapping[str, Any]) -> str:
        """`flashtwin replay` with more keys."""
        return self._line("flashtwin replay", {**self.sets, **more})

    def explain(self, rest: str) -> str:
        """`flashtwin explain` with other options."""
        return f"{self._line('flashtwin explain', self.sets)} {rest}"

    def _line(self, verb: str, sets: Mapping[str, Any]) -> str:
        words = [verb, self.trace, "--system", shlex.quote(self.system)]
        for key, value in sets.items():
            if key == "replay.period_s":
                words.append(f"--period {_short(value)}s")
            elif key in _OPTIONS:
                words.append(f"{_OPTIONS[key]} {shlex.quote(_short(value))}")
            else:
                words.append(f"--set {shlex.quote(f'{key}={_short(value)}')}")
        return " ".join(words)


def told(inquiry: Inquiry, command: Command, *, interrupted: bool = False) -> dict[str, Any]:
    """Everything that is known of one system, with its sentences; what is written as a file."""
    causes, steps, pairs = inquiry.causes(), inquiry.steps(), inquiry.pairs()
    of = inquiry.answer()
    content = inquiry.config["replay"]["content"]
    made_up = None if content == "recorded" else str(content)
    claim = _claim(inquiry, causes, of, command)
    if "looks-at-contents" in traits(inquiry.config):
        claim = with_made_up_contents(claim, made_up)
    judged = Verdict(
        BOTTLENECK, claim, of, figures=_figures(inquiry, causes, of),
        evidence=(command.name,), action=_action(inquiry, steps, of, command),
    )  # fmt: skip
    found: dict[str, Any] = {
        **judged.as_json(),
        "system": command.name,
        "goal": inquiry.goal.name,
        "goal_words": inquiry.goal.words,
        "before_ns": inquiry.before_ns,
        "waiting_percent": inquiry.base.waited_share(inquiry.goal) * 100.0,
        "made_up_contents": made_up,
        "causes": [_cause(cause, command) for cause in causes],
        "interactions": [_pair(pair, command) for pair in pairs],
        "steps": [_step(taken, command) for taken in steps],
        "knee": [
            {"speed": speed, "lanes": lanes, "mean_ns": mean} for speed, lanes, mean in sorted(inquiry.knee())
        ],
        "replays": len(inquiry.known),
        "untried": [knob.name for knob in inquiry.untried()],
        "left_out": inquiry.left_out(),
        "interrupted": interrupted,
        "skipped": [{"words": one.words, "sets": dict(one.sets), "reason": one.reason} for one in inquiry.skipped()],
        "command": command.replay({}),
    }  # fmt: skip
    caveats = _caveats(inquiry, causes, command, interrupted=interrupted)
    found["more"] = [*_interactions(pairs), *_knee(inquiry), *caveats]
    return found


def _figures(inquiry: Inquiry, causes: list[Cause], of: str) -> dict[str, float]:
    """The goal's figure in ns as it is, and without the cause that is named."""
    named = [cause.after_ns for cause in causes if cause.knob.name == of]
    return dict(zip(("before_ns", "after_ns"), (inquiry.before_ns, *named), strict=False))


def _claim(inquiry: Inquiry, causes: list[Cause], of: str, command: Command) -> str:
    goal, before = inquiry.goal.words, units.duration(inquiry.before_ns)
    if of == attribution.UNKNOWN:
        if inquiry.before_ns == 0:
            return f"`{command.name}`: the trace has no {inquiry.goal.kind}s, so that nothing can be said of {goal}."
        if not inquiry.known:
            return f"`{command.name}`: no bottleneck found, for the time allowed no replay."
        return f"`{command.name}`: no bottleneck found yet, in {units.plural(len(inquiry.known), 'replay')}."
    if of == attribution.NOTHING:
        share = units.percent(inquiry.base.waited_share(inquiry.goal) * 100.0)
        rest = "the rest is what the flash, the channels and the controller take"
        return f"Nothing holds `{command.name}` back: {goal} is {before}, {share} of it waiting; {rest}."
    first = next(cause for cause in causes if cause.knob.name == of)
    verb = "holds" if first.knob.name in _SINGULAR else "hold"
    return (
        f"{upper(first.knob.words)} {verb} `{command.name}` back: with {first.words} {goal} is "
        f"{units.duration(first.after_ns)} instead of {before} ({units.percent(first.percent)} less)."
    )


#: Things whose words are singular.
_SINGULAR = frozenset(("hash", "gc", "copies", "queue_depth", "program", "read"))


def _action(inquiry: Inquiry, steps: list[Taken], of: str, command: Command) -> Action:
    """The first thing to do."""
    if inquiry.before_ns == 0:
        return Action("Ask about another figure", command.explain("--goal all.mean"))
    best = attribution.first_step(steps, of)
    if of == attribution.UNKNOWN or (best is None and inquiry.left_out()["steps"]):
        none = "" if of == attribution.UNKNOWN else ". None of the steps tried so far shortens it by 1 %" * bool(steps)
        return Action(f"Give it more time{none}", _with_time(inquiry, command))
    if best is None:
        tried = f"none of {units.plural(len(steps), 'step')} tried shortens it by 1 %" if steps else "no step was tried"
        line = command.explain("--goal read.p99 --effort 5m")
        return Action(f"Nothing to do for {inquiry.goal.words}: {tried}; ask about another figure", line)
    opening = "" if of != attribution.NOTHING else "Nothing needs to be done. What brings most: "
    words = best.words if opening else upper(best.words)
    told = f"{opening}{words}: {units.duration(best.after_ns)} ({units.percent(best.percent)} less){_takes(best)}"
    return Action(told, command.replay(best.sets), dict(best.sets))


def _takes(taken: Taken) -> str:
    """What a step costs, in words; nothing where it costs nothing."""
    parts = [taken.takes] if taken.takes else []
    for number, noun in ((taken.programs, "program"), (taken.erases, "erase")):
        if number:
            parts.append(f"{units.plural(abs(number), noun)} {'more' if number > 0 else 'fewer'}")
    if taken.ram_bytes:
        parts.append(f"{units.size(abs(taken.ram_bytes))} of RAM {'more' if taken.ram_bytes > 0 else 'less'}")
    return f"; takes {', '.join(parts)}" if parts else ""


def _interactions(pairs: list[Pair]) -> list[str]:
    sentences = []
    for pair in pairs:
        if abs(pair.percent) < attribution.PAIR_PERCENT:
            continue
        one, other = pair.first.knob.words, pair.second.knob.words
        together = units.percent(pair.cost_ns / pair.first.before_ns * 100.0)
        alone = f"alone {units.percent(pair.first.percent)} and {units.percent(pair.second.percent)}"
        if pair.interaction_ns > 0:
            text = (
                f"{upper(one)} and {other} hide behind one another: both gone bring {together}, {alone}; change both."
            )
        else:
            larger = one if pair.first.cost_ns >= pair.second.cost_ns else other
            least = min(pair.first.cost_ns, pair.second.cost_ns)
            advice = "either will do" if least >= _EITHER_SHARE * pair.cost_ns else f"begin with {larger}"
            text = f"{upper(one)} and {other} share the blame: both gone bring {together}, {alone}; {advice}."
        sentences.append(text)
    return sentences


def _knee(inquiry: Inquiry) -> list[str]:
    """How many lanes are enough at the speed asked for, and up to which speed one is."""
    speed = float(inquiry.config["replay"]["speed"])
    points = inquiry.knee()
    here = {lanes: mean for at, lanes, mean in points if at == speed}
    if len(here) < 3:
        return []
    best = min(here.values())
    enough = min(lanes for lanes, mean in here.items() if mean <= best * (1 + attribution.ENOUGH_PERCENT / 100.0))
    fewest, most = min(here), max(here)
    shown = [units.duration(here[lanes]) for lanes in (fewest, enough, most)]
    text = (
        f"The hash unit at {speed:g} times the recorded speed: with {units.plural(fewest, 'lane')} the mean response "
        f"is {shown[0]}, with {enough} {shown[1]}, with {most} {shown[2]}; from {enough} on it is near its best "
        "(`engine.hash_lanes`)"
    )
    if enough == fewest:
        return [f"The hash unit: with {units.plural(fewest, 'lane')} the mean response is near its best."]
    slow = [at for at, lanes, mean in points if lanes == fewest and mean <= here[enough] * 2]
    if slow and max(slow) < speed:
        text += f"; {fewest} would do up to {max(slow):g} times"
    return [f"{text}."]


def _caveats(inquiry: Inquiry, causes: list[Cause], command: Command, *, interrupted: bool) -> list[str]:
    sentences = []
    if causes and not causes[0].reached:
        sentences.append("The drive meant never to collect did collect at times, so that this cost is a lower bound.")
    sentences += _skipped(inquiry)
    left = _left_out(inquiry)
    if left and (inquiry.known or interrupted):
        why = "Interrupted before" if interrupted else "The time did not allow for"
        sentences.append(f"{why} {left}; `{_with_time(inquiry, command)}` does that.")
    return sentences


def _skipped(inquiry: Inquiry) -> list[str]:
    """What cannot be built on this drive, one sentence a reason."""
    by_reason: dict[str, list[str]] = {}
    for one in inquiry.skipped():
        by_reason.setdefault(one.reason.rstrip("."), []).append(one.words)
    return [f"Skipped: {units.names_plain(words)}: {reason}." for reason, words in by_reason.items()]


def _left_out(inquiry: Inquiry) -> str:
    """What was not replayed, as a noun; empty where all was."""
    left = inquiry.left_out()
    parts = []
    if left["causes"]:
        parts.append(f"switching off {units.names_plain([knob.words for knob in inquiry.untried()])}")
    if left["steps"]:
        parts.append(f"{units.plural(left['steps'], 'step')} that may help")
    if left["pairs"]:
        parts.append(f"{units.plural(left['pairs'], 'pair')} of causes")
    if left["knee"]:
        parts.append(f"{units.plural(left['knee'], 'point')} of the hash unit's knee")
    return units.names_plain(parts)


def _with_time(inquiry: Inquiry, command: Command) -> str:
    """The same question with more time."""
    goal = "" if inquiry.goal == usual_goal(inquiry.config) else f"--goal {inquiry.goal.name} "
    return command.explain(f"{goal}--effort 1h")


def lines(found: Mapping[str, Any]) -> list[str]:
    """As a terminal shows it: what holds the system back, what removes it, what that brings, the command."""
    text = [_plain(found["claim"])]
    if found.get("interrupted"):
        text.insert(0, f"Interrupted after {units.plural(found['replays'], 'replay')}; the answer so far:")
    text += [f"  do: {_plain(found['action']['words'])}.", f"      {found['action']['command']}"]
    text += [f"  {_plain(sentence)}" for sentence in found["more"]]
    causes = found["causes"]
    if causes:
        text.append(f"  what {_plain(found['goal_words'])} of {units.duration(found['before_ns'])} would be:")
        width = max(len(one["without"]) for one in causes)
        for one in causes:
            less = units.percent(one["percent"])
            text.append(f"    with {one['without'].ljust(width)}  {units.duration(one['after_ns']):>9}  {less} less")
    helping = [one for one in found["steps"] if one["percent"] >= attribution.TOLD_PERCENT]
    helping = [one for one in helping if one["command"] != found["action"]["command"]][: _NAMED_STEPS - 1]
    if helping:
        text.append("  other steps, what brings most first:")
        for one in helping:
            less = units.percent(one["percent"])
            text.append(f"    {_plain(one['words'])}: {units.duration(one['after_ns'])}, {less} less{one['costs']}")
            text.append(f"      {one['command']}")
    return text


def _plain(text: str) -> str:
    return text.replace("`", "")


def _cause(cause: Cause, command: Command) -> dict[str, Any]:
    return {
        "name": cause.knob.name, "label": cause.knob.label, "words": cause.knob.words, "without": cause.words,
        "after_ns": cause.after_ns, "cost_ns": cause.cost_ns, "percent": cause.percent, "reached": cause.reached,
        "within": sorted(cause.knob.within), "is_cells": cause.knob.is_cells, "sets": dict(cause.sets),
        "command": command.replay(cause.sets),
    }  # fmt: skip


def _pair(pair: Pair, command: Command) -> dict[str, Any]:
    return {
        "first": pair.first.knob.name, "second": pair.second.knob.name, "cost_ns": pair.cost_ns,
        "interaction_ns": pair.interaction_ns, "percent": pair.percent, "sets": dict(pair.sets),
        "command": command.replay(pair.sets),
    }  # fmt: skip


def _step(taken: Taken, command: Command) -> dict[str, Any]:
    return {
        "cause": taken.knob.name, "words": taken.words, "sets": dict(taken.sets), "after_ns": taken.after_ns,
        "percent": taken.percent, "programs": taken.programs, "erases": taken.erases,
        "ram_bytes": taken.ram_bytes, "takes": taken.takes, "costs": _takes(taken),
        "command": command.replay(taken.sets),
    }  # fmt: skip


def _short(value: Any) -> str:
    return literal(value) if not isinstance(value, float) or value.is_integer() else repr(value)
