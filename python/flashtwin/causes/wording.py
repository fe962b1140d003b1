"""Results of `explain` in words and as plain data: each sentence ends in an action, and names the run behind it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin import units
from flashtwin.causes import attribution
from flashtwin.causes.attribution import NOTHING
from flashtwin.causes.bottlenecks import BY_NAME
from flashtwin.causes.case import Consequence
from flashtwin.causes.figures import usual_goal
from flashtwin.causes.inquiry import Inquiry
from flashtwin.judgement import catalogue
from flashtwin.judgement.goals import goal_of
from flashtwin.judgement.verdict import BOTTLENECK, UNKNOWN, Action, Verdict, upper, with_made_up_contents
from flashtwin.results.trees import literal

#: Keys that have an option of their own.
_OPTIONS = {"replay.speed": "--speed", "replay.queue_depth": "--queue-depth", "replay.content": "--content"}
#: Steps that the words name; all stand in the data.
_NAMED_STEPS = 5
#: What a change of each kind makes of a drive.
_KINDS = {catalogue.CONTROLLER: "", catalogue.DRIVE: "another drive: ", catalogue.HOST: "another load: "}


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
    figures = {"before": inquiry.before, **({"after": blamed.value} if blamed is not None else {})}
    judged = Verdict(
        BOTTLENECK,
        with_made_up_contents(_claim(inquiry, blamed, of, command.name), str(content) if made_up else None),
        of,
        figures={name: value for name, value in figures.items() if value is not None},
        evidence=(command.name,),
        action=_action(inquiry, of, command),
    )
    return {
        **judged.as_json(),
        "system": command.name,
        "goal": inquiry.goal.name,
        "goal_words": inquiry.goal.words,
        "before": inquiry.before,
        "causes": [{**_row(one, command), "label": BY_NAME[one.name].label} for one in causes],
        "steps": [_row(one, command) for one in attribution.ranked(inquiry.steps())],
        "more": _caveats(inquiry, causes, command, interrupted=interrupted),
        "replays": len(inquiry.known),
        "interrupted": interrupted,
        "command": command.replay({}),
    }


def _row(one: Consequence, command: Command) -> dict[str, Any]:
    """The result of one replay: cause, change, gain, cost and command."""
    what_if = one.what_if
    return {
        "name": one.name, "words": what_if.words, "change": what_if.change,
        "kind": catalogue.BY_NAME[what_if.change].kind if what_if.change else "", "sets": dict(what_if.sets),
        "value": one.value, "percent": one.percent, "programs": one.more("programs"), "erases": one.more("erases"),
        "ram_bytes": one.more("ram"), "takes": _takes(one), "command": command.replay(what_if.sets),
    }  # fmt: skip


def _takes(step: Consequence) -> str:
    """The cost of a step, in words; empty where it costs nothing."""
    parts = [step.what_if.takes] if step.what_if.takes else []
    for count, noun in (("programs", "program"), ("erases", "erase")):
        if more := step.more(count):
            parts.append(units.plural(abs(more), f"{'more' if more > 0 else 'fewer'} {noun}"))
    if more := step.more("ram"):
        parts.append(f"{units.size(abs(more))} {'more' if more > 0 else 'less'} RAM")
    return ", ".join(parts)


def _brings(value: str, percent: float, takes: str) -> str:
    return f"{value} ({units.percent(percent)} less){f', for {takes}' if takes else ''}"


def _claim(inquiry: Inquiry, blamed: Consequence | None, of: str, name: str) -> str:
    goal, before = inquiry.goal.words, inquiry.goal.written(inquiry.before)
    if not inquiry.before:
        missing = f"the trace has no {inquiry.goal.kind}s, which {goal} needs"
        return f"`{name}`: {missing if inquiry.goal.statistic else f'{goal} is 0 already'}."
    if blamed is not None:
        less = f"{inquiry.goal.written(blamed.value)} instead of {before} ({units.percent(blamed.percent)} less)"
        return f"The bottleneck of `{name}` is {BY_NAME[of].words}: with {blamed.what_if.words} {goal} is {less}."
    if of == NOTHING:
        share = units.percent(inquiry.base.waited_share(inquiry.goal) * 100.0)
        rest = "the rest is what the flash, the channels and the controller take"
        return f"`{name}` has no bottleneck: {goal} is {before}, {share} of it waiting; {rest}."
    tried = f"yet, in {units.plural(len(inquiry.known), 'replay')}" if inquiry.known else "within the effort"
    return f"`{name}`: no bottleneck found {tried}."


def _action(inquiry: Inquiry, of: str, command: Command) -> Action:
    """The first change to make, with its replayed figure."""
    if not inquiry.before:
        return Action("Ask about another figure", command.explain("--goal all.mean"))
    best = inquiry.first_step()
    if of == UNKNOWN or (best is None and inquiry.steps_left()):
        return Action("Try everything", _with_all(inquiry, command))
    if best is None:
        steps, worth = inquiry.steps(), units.percent(inquiry.worth * 100)
        words = f"No change brings more than {worth} ({units.plural(len(steps), 'step')} tried)"
        return Action(f"{words}; ask about another figure", command.explain("--goal read.p99 --effort all"))
    change = catalogue.BY_NAME[best.what_if.change]
    words = f"{upper(f'{_KINDS[change.kind]}{best.what_if.words}')}: "
    words += _brings(inquiry.goal.written(best.value), best.percent, _takes(best))
    sets = dict(best.what_if.sets)
    return Action(words, command.replay(sets), sets, change.name, replayed=True)


def _caveats(inquiry: Inquiry, causes: Sequence[Consequence], command: Command, *, interrupted: bool) -> list[str]:
    sentences = []
    if causes and causes[0].name == "gc" and causes[0].after["erases"]:
        sentences.append("The new drive still collected garbage at times, so this cost is a lower bound.")
    by_reason: dict[str, list[str]] = {}
    for one, reason in inquiry.skipped():
        by_reason.setdefault(reason.rstrip("."), []).append(one.words)
    sentences += [f"Skipped: {units.names_plain(words)}: {reason}." for reason, words in by_reason.items()]
    names = units.names_plain([BY_NAME[one.of[0]].words for one in inquiry.untried()])
    parts = [f"switching off {names}"] if names else []
    parts += [units.plural(left, "step")] if (left := inquiry.steps_left()) else []
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
    goal = goal_of(found["goal"])
    text = [found["claim"], f"  do: {found['action']['words']}.", f"      {found['action']['command']}"]
    if found["interrupted"]:
        text.insert(0, f"Interrupted after {units.plural(found['replays'], 'replay')}; the answer so far:")
    text += [f"  {sentence}" for sentence in found["more"]]
    causes = found["causes"]
    if causes:
        text.append(f"  {found['goal_words']}, now {goal.written(found['before'])}, would be:")
        width = max(len(one["words"]) for one in causes)
        for one in causes:
            less = f"{goal.written(one['value']):>9}  {units.percent(one['percent'])} less"
            text.append(f"    with {one['words'].ljust(width)}  {less}")
    helping = [one for one in found["steps"] if one["percent"] >= attribution.TOLD_PERCENT]
    for kind, title in ((catalogue.CONTROLLER, "other changes"), (catalogue.DRIVE, "other drives")):
        of_kind = [one for one in helping if one["kind"] == kind and one["command"] != found["action"]["command"]]
        text += [f"  {title}, largest gain first:"] if of_kind else []
        for one in of_kind[: _NAMED_STEPS - 1]:
            text.append(f"    {one['words']}: {_brings(goal.written(one['value']), one['percent'], one['takes'])}")
            text.append(f"      {one['command']}")
    return [line.replace("`", "") for line in text]
