"""Results of `explain` in words and as plain data: each sentence ends in an action, and names the run behind it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin import units
from flashtwin.causes import attribution
from flashtwin.causes.attribution import NOTHING
from flashtwin.causes.candidates import BY_NAME
from flashtwin.causes.case import Consequence, collected
from flashtwin.causes.figures import usual_goal
from flashtwin.causes.inquiry import Inquiry
from flashtwin.judgement.verdict import BOTTLENECK, UNKNOWN, Action, Verdict, upper, with_made_up_contents
from flashtwin.results.trees import literal

#: Keys that have an option of their own.
_OPTIONS = {"replay.speed": "--speed", "replay.queue_depth": "--queue-depth", "replay.content": "--content"}
#: Share of the gain of two changes together that each must bring alone for either to do.
_EITHER_SHARE = 0.8
#: Steps that the words name; all stand in the data.
_NAMED_STEPS = 5


@dataclass(frozen=True)
class Command:
    """How a run is made again by hand: the trace and how it is read, the system, and the keys set otherwise."""

    trace: str
    #: The name of the run.
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
            text = repr(value) if isinstance(value, float) and not value.is_integer() else literal(value)
            if key == "replay.period_s":
                words.append(f"--period {text}s")
            elif key in _OPTIONS:
                words.append(f"{_OPTIONS[key]} {shlex.quote(text)}")
            else:
                words.append(f"--set {shlex.quote(f'{key}={text}')}")
        return " ".join(words)


def document(inquiry: Inquiry, command: Command, *, interrupted: bool = False) -> dict[str, Any]:
    """All results of one system, with sentences; the content of its file."""
    causes, of, content = inquiry.causes(), inquiry.answer(), inquiry.case["replay.content"]
    made_up = "looks-at-contents" in inquiry.case.traits and content != "recorded"
    blamed = next((cause for cause in causes if cause.name == of), None)
    judged = Verdict(
        BOTTLENECK,
        with_made_up_contents(_claim(inquiry, blamed, of, command.name), str(content) if made_up else None),
        of,
        figures={"before_ns": inquiry.before_ns, **({"after_ns": blamed.after_ns} if blamed is not None else {})},
        evidence=(command.name,),
        action=_action(inquiry, of, command),
    )
    pairs, knee = inquiry.pairs(), _knee(inquiry)
    return {
        **judged.as_json(),
        "system": command.name,
        "goal": inquiry.goal.name,
        "goal_words": inquiry.goal.words,
        "before_ns": inquiry.before_ns,
        "causes": [{**_row(one, command), "label": BY_NAME[one.name].label} for one in causes],
        "pairs": [
            {**_row(one, command), "interaction_percent": attribution.interaction(one, causes)} for one in pairs
        ],
        "steps": [_row(one, command) for one in attribution.ranked(inquiry.steps())],
        "knee": [{"speed": speed, "lanes": lanes, "mean_ns": mean} for speed, lanes, mean in sorted(inquiry.knee())],
        "knee_words": knee,
        "more": [
            *_interactions(pairs, causes), *([knee] if knee else []),
            *_caveats(inquiry, causes, command, interrupted=interrupted),
        ],
        "replays": len(inquiry.known),
        "interrupted": interrupted,
        "command": command.replay({}),
    }  # fmt: skip


def _row(one: Consequence, command: Command) -> dict[str, Any]:
    """The result of one replay: cause, change, gain, cost and command."""
    what_if = one.what_if
    return {
        "name": one.name, "words": what_if.words, "sets": dict(what_if.sets), "after_ns": one.after_ns,
        "percent": one.percent, "programs": one.more("programs"), "erases": one.more("erases"),
        "ram_bytes": one.more("ram_bytes"), "takes": _takes(one), "command": command.replay(what_if.sets),
    }  # fmt: skip


def _takes(step: Consequence) -> str:
    """The cost of a step, in words; empty where it costs nothing."""
    parts = [step.what_if.takes] if step.what_if.takes else []
    for count, noun in (("programs", "program"), ("erases", "erase")):
        if more := step.more(count):
            parts.append(units.plural(abs(more), f"{'more' if more > 0 else 'fewer'} {noun}"))
    if more := step.more("ram_bytes"):
        parts.append(f"{units.size(abs(more))} {'more' if more > 0 else 'less'} RAM")
    return ", ".join(parts)


def _brings(after_ns: float, percent: float, takes: str) -> str:
    return f"{units.duration(after_ns)} ({units.percent(percent)} less){f', for {takes}' if takes else ''}"


def _claim(inquiry: Inquiry, blamed: Consequence | None, of: str, name: str) -> str:
    goal, before = inquiry.goal.words, units.duration(inquiry.before_ns)
    if inquiry.before_ns == 0:
        return f"`{name}`: the trace has no {inquiry.goal.kind}s, which {goal} needs."
    if blamed is not None:
        less = f"{units.duration(blamed.after_ns)} instead of {before} ({units.percent(blamed.percent)} less)"
        return f"The bottleneck of `{name}` is {BY_NAME[of].words}: with {blamed.what_if.words} {goal} is {less}."
    if of == NOTHING:
        share = units.percent(inquiry.base.waited_share(inquiry.goal) * 100.0)
        rest = "the rest is what the flash, the channels and the controller take"
        return f"`{name}` has no bottleneck: {goal} is {before}, {share} of it waiting; {rest}."
    tried = f"yet, in {units.plural(len(inquiry.known), 'replay')}" if inquiry.known else "within the effort"
    return f"`{name}`: no bottleneck found {tried}."


def _action(inquiry: Inquiry, of: str, command: Command) -> Action:
    """The first thing to do."""
    if inquiry.before_ns == 0:
        return Action("Ask about another figure", command.explain("--goal all.mean"))
    steps = inquiry.steps()
    best = attribution.first_step(steps, of)
    if of == UNKNOWN or (best is None and inquiry.left_out()["steps"]):
        return Action("Try every candidate", _with_all(inquiry, command))
    if best is None:
        words = f"No change shortens {inquiry.goal.words} ({len(steps)} tried)"
        return Action(f"{words}; ask about another figure", command.explain("--goal read.p99 --effort all"))
    words = f"{upper(best.what_if.words)}: "
    if of == NOTHING and best.percent < attribution.NAMED_PERCENT:
        words = f"No change is needed. Largest gain: {best.what_if.words}: "
    words += _brings(best.after_ns, best.percent, _takes(best))
    return Action(words, command.replay(best.what_if.sets), dict(best.what_if.sets))


def _interactions(pairs: list[Consequence], causes: list[Consequence]) -> list[str]:
    sentences = []
    for pair in pairs:
        one, other = (cause for cause in causes if cause.name in pair.what_if.of)
        hides = attribution.interaction(pair, causes)
        if abs(hides) < attribution.NAMED_PERCENT:
            continue
        words = f"{upper(BY_NAME[one.name].words)} and {BY_NAME[other.name].words}"
        bring = f"removing both brings {units.percent(pair.percent)}, "
        bring += f"alone {units.percent(one.percent)} and {units.percent(other.percent)}"
        if hides > 0:
            sentences.append(f"{words} hide each other: {bring}; change both.")
            continue
        first = max((one, other), key=lambda cause: cause.cost_ns)
        either = min(one.cost_ns, other.cost_ns) >= _EITHER_SHARE * pair.cost_ns
        advice = "either will do" if either else f"begin with {BY_NAME[first.name].words}"
        sentences.append(f"{words} share the blame: {bring}; {advice}.")
    return sentences


def _knee(inquiry: Inquiry) -> str:
    """How many lanes are enough at the speed asked for, and up to which speed one is; empty of too few points."""
    speed, points = float(inquiry.case["replay.speed"]), inquiry.knee()
    here = {lanes: mean for at, lanes, mean in points if at == speed}
    if len(here) < 3:
        return ""
    longest = min(here.values()) * (1 + attribution.ENOUGH_PERCENT / 100.0)
    fewest, enough = min(here), min(lanes for lanes, mean in here.items() if mean <= longest)
    if enough == fewest:
        return f"The hash unit: with {units.plural(fewest, 'lane')} the mean response is near its best."
    means = [f"{units.duration(here[lanes])} with {lanes}" for lanes in dict.fromkeys((fewest, enough, max(here)))]
    text = (
        f"The hash unit at {speed:g} times the recorded speed: the mean response is {units.names_plain(means)} lanes; "
        f"from {enough} on it is near its best (`engine.hash_lanes`)"
    )
    slow = max((at for at, lanes, mean in points if lanes == fewest and mean <= longest), default=speed)
    lanes = units.plural(fewest, "lane")
    return f"{text}. Up to {slow:g} times the recorded speed, {lanes} would do." if slow < speed else f"{text}."


def _caveats(inquiry: Inquiry, causes: list[Consequence], command: Command, *, interrupted: bool) -> list[str]:
    sentences = []
    if causes and causes[0].name == "gc" and collected(causes[0].after):
        sentences.append("The new drive still collected garbage at times, so this cost is a lower bound.")
    by_reason: dict[str, list[str]] = {}
    for one, reason in inquiry.skipped():
        by_reason.setdefault(reason.rstrip("."), []).append(one.words)
    sentences += [f"Skipped: {units.names_plain(words)}: {reason}." for reason, words in by_reason.items()]
    left = inquiry.left_out()
    names = units.names_plain([BY_NAME[one.of[0]].words for one in inquiry.untried()])
    parts = [f"switching off {names}"] if names else []
    for what, noun, rest in (("steps", "step", ""), ("pairs", "pair", " of causes"), ("knee", "point", " of the knee")):
        parts += [f"{units.plural(left[what], noun)}{rest}"] if left[what] else []
    if parts and (inquiry.known or interrupted):
        why = "Interrupted before" if interrupted else "Beyond the effort:"
        sentences.append(f"{why} {units.names_plain(parts)}; `{_with_all(inquiry, command)}` does that.")
    return sentences


def _with_all(inquiry: Inquiry, command: Command) -> str:
    """The same question with as many replays as it takes."""
    goal = "" if inquiry.goal == usual_goal(inquiry.system.config) else f"--goal {inquiry.goal.name} "
    return command.explain(f"{goal}--effort all")


def lines(found: Mapping[str, Any]) -> list[str]:
    """As a terminal shows it: bottleneck, remedy, gain, command."""
    text = [found["claim"], f"  do: {found['action']['words']}.", f"      {found['action']['command']}"]
    if found["interrupted"]:
        text.insert(0, f"Interrupted after {units.plural(found['replays'], 'replay')}; the answer so far:")
    text += [f"  {sentence}" for sentence in found["more"]]
    causes = found["causes"]
    if causes:
        text.append(f"  {found['goal_words']}, now {units.duration(found['before_ns'])}, would be:")
        width = max(len(one["words"]) for one in causes)
        for one in causes:
            less = f"{units.duration(one['after_ns']):>9}  {units.percent(one['percent'])} less"
            text.append(f"    with {one['words'].ljust(width)}  {less}")
    helping = [one for one in found["steps"] if one["percent"] >= attribution.TOLD_PERCENT]
    helping = [one for one in helping if one["command"] != found["action"]["command"]][: _NAMED_STEPS - 1]
    text += ["  other changes, largest gain first:"] if helping else []
    for one in helping:
        text.append(f"    {one['words']}: {_brings(one['after_ns'], one['percent'], one['takes'])}")
        text.append(f"      {one['command']}")
    return [line.replace("`", "") for line in text]
