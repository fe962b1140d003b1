"""What to do about a verdict: a change of the catalogue, with what its replay beside the choice brought, or a command.

Commands are built on the choice's own, where there is one: it carries the trace, how it is read and all keys.
"""

import re
from collections.abc import Mapping
from typing import Any

from flashtwin.judgement.catalogue import BY_NAME, CONTROLLER, Level, Subject
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Action, upper
from flashtwin.results.reading import SavedRun
from flashtwin.results.trees import literal


def change(of: Evidence, name: str, words: str, sets: Mapping[str, Any]) -> Action:
    """What becomes of a change that a verdict is about: set already, replayed beside the choice, or not replayed.

    `words` and `sets` are those of a change that nobody replayed.
    """
    first = of.decision.choice if of.decision is not None else None
    if first is None or not first.command:
        command = f"flashtwin replay {of.trace} --system conventional {_options(sets)}"
        return Action(words, command, sets, BY_NAME[name].name)
    if name in first.changes:
        return Action(f"The choice has it: {first.words}", first.command, dict(first.sets), name, replayed=True)
    steps = of.explained.get(first.run.name, {}).get("steps", ())
    tried = [one for one in (*of.candidates["beside"], *steps) if one["change"] == name]
    if not tried:
        # A controller change that was not replayed was refused, or is beyond the effort.
        level = None if BY_NAME[name].kind == CONTROLLER else _level(first.run, name, sets)
        return Action() if level is None else Action(words, f"{first.command} {_options(level.sets)}", level.sets, name)
    best = max(tried, key=lambda one: float(one["percent"]))
    assert of.decision is not None  # noqa: S101 - there is a choice
    goal, percent = of.decision.goal, float(best["percent"])
    figure = f"{goal.words} is {goal.written(best['value'])} instead of {goal.written(of.decision.value(first))}"
    told = f"{upper(best['words'])} beside the choice: {figure}"
    if percent <= of.decision.worth * 100.0:
        told = f"Leave it as it is. {told}"
    return Action(told, str(best["command"]), best["sets"], name, replayed=True)


def _level(run: SavedRun, name: str, sets: Mapping[str, Any]) -> Level | None:
    """The level of a change with these keys on a run's system; None where it cannot have it."""
    subject = Subject(run.config, run.traits, run.raw_pages, run.raw_pages, run.numbers, is_timed=False)
    levels = BY_NAME[name].of(subject)
    return next((level for level in levels if sets.items() <= level.sets.items()), None)


def _options(sets: Mapping[str, Any]) -> str:
    return " ".join(f"--set {key}={literal(value)}" for key, value in sets.items())


def compare(of: Evidence, words: str, systems: str, more: str = "") -> Action:
    """A comparison of systems as they are; another period stands for the one that the trace was looked at with."""
    trace = re.sub(r" --period \S+", "", of.trace) if "--period" in more else of.trace
    return Action(words, f"flashtwin compare {trace} --systems {systems} {more}".rstrip())


def sweep(of: Evidence, words: str, more: str, change_name: str) -> Action:
    """A sweep of the baseline, which looks no contents up, with keys that have several values."""
    trace = re.sub(r"--period (\S+)s\b", r"--set replay.period_s=\1", of.trace)
    return Action(words, f"flashtwin sweep {trace} --systems conventional {more}", {}, change_name)
