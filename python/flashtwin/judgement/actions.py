"""What to do about a verdict: words with the key, and the command.

Commands are built on those of runs that were explained (`flashtwin explain`): these carry the trace, how it is read
and all keys of the run. Otherwise a command has the trace and a preset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Action, lower
from flashtwin.results.reading import SavedRun


def explained(of: Evidence, runs: Iterable[SavedRun]) -> Mapping[str, Any]:
    """The bottleneck of the first run that was explained; nothing where none was."""
    return next((of.explained[run.name] for run in runs if run.name in of.explained), {})


def removing(of: Evidence, runs: Iterable[SavedRun]) -> Action:
    """The remedy for the bottleneck of the first run that was explained; nothing where none was."""
    found = explained(of, runs)
    if not found:
        return Action()
    done = Action(**found["action"])
    return Action(f"For `{found['system']}`: {lower(done.words)}", done.command, done.sets)


def further(of: Evidence, runs: Iterable[SavedRun], words: str, sets: Mapping[str, Any]) -> Action:
    """The first run that was explained, with more keys; nothing where none was."""
    found = explained(of, runs)
    more = " ".join(f"--set {key}={value}" for key, value in sets.items())
    return Action(words, f"{found['command']} {more}", sets) if found else Action()


def compare(of: Evidence, words: str, systems: str, more: str = "") -> Action:
    """A comparison of systems as they are; another period stands for the one that the trace was looked at with."""
    trace = re.sub(r" --period \S+", "", of.trace) if "--period" in more else of.trace
    return Action(words, f"flashtwin compare {trace} --systems {systems} {more}".rstrip())


def replay(of: Evidence, words: str, more: str) -> Action:
    """A replay that looks no contents up, with more keys: the baseline's as it was made, if that is known."""
    plain = [of.study.baseline] if of.study is not None and "deduplicates" not in of.study.baseline.traits else []
    command = explained(of, plain).get("command") or f"flashtwin replay {of.trace} --system conventional"
    return Action(words, f"{command} {more}")


def sweep(of: Evidence, words: str, more: str) -> Action:
    """The same as a sweep, where a key has several values."""
    command = replay(of, words, more).command.replace("flashtwin replay", "flashtwin sweep", 1)
    command = command.replace("--system ", "--systems ", 1)
    return Action(words, re.sub(r"--period (\S+)s\b", r"--set replay.period_s=\1", command))
