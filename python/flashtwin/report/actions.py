"""What to do about a finding: one sentence with the key and the command, where the runs were explained.

A finding without an action leaves the reader where he was; but a command needs the trace and all other keys, which
only a run that was explained carries with it (`flashtwin explain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flashtwin.results.reading import StudyFolder

#: By topic of a finding: what to look at next, and the keys that show it.
NEXT: Mapping[str, tuple[str, str]] = {
    "deduplication": ("What it takes with a store of 16,384 fingerprints", "ftl.dedup.fingerprint_entries=16384"),
    "redirection": ("What serving waiting reads of a page together brings beside it", "engine.merge_reads=same-page"),
    "wear": ("Whether levelling wear changes that", "ftl.wear.policy=static"),
    "cost": ("With one copy more of a content at most", "ftl.replication.most_copies=2"),
}


def action(study: StudyFolder, topic: str, runs: Iterable[str]) -> str:
    """The action of a finding about these runs; empty where none of them was explained."""
    known = [study.explained[name] for name in _baseline_last(study, runs) if name in study.explained]
    if not known:
        return ""
    # Of `choice`, the fastest system; of other findings, the design they are about.
    found = min(known, key=lambda one: float(one["before_ns"])) if topic == "choice" else known[0]
    if topic in ("choice", "load", "tail") or (topic == "deduplication" and found["verdict"] == "hash"):
        return _of_explained(found)
    words, key = NEXT.get(topic, ("", ""))
    return f"{words}: `{found['command']} --set {key}`." if words else ""


def _baseline_last(study: StudyFolder, runs: Iterable[str]) -> list[str]:
    """The runs that a finding is about, designs before the baseline that they are held against."""
    return sorted(runs, key=lambda name: name == study.baseline.name)


def _of_explained(found: Mapping[str, Any]) -> str:
    words = in_sentence(str(found["action"]["words"]).rstrip("."))
    return f"For `{found['system']}`: {words}: `{found['action']['command']}`."


def in_sentence(words: str) -> str:
    """Words that began a sentence of their own, within another: `nothing needs ...`, but `RAM ...` and `DRAM ...`."""
    return f"{words[:1].lower()}{words[1:]}" if words[1:2].islower() or words[1:2] == " " else words
