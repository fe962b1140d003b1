"""What to do about a verdict: words with the key, and the command.

Commands are built on those of runs that were explained (`flashtwin explain`): these carry the trace, how it is read
and all keys of the run. Otherwise a command has the trace and a preset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from flashtwin.judgement import facts
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Action, lower
from flashtwin.results.reading import SavedRun

#: The share of a drive that pages take up at OP 7 %, as where the write amplification is reckoned; aged.
FULL = "--set replay.preload=footprint --fill 93%"
#: Pages of a write-back cache for trying whether waiting helps: 16 MB of 4 KB. Ours.
CACHE_PAGES = 4_096
#: Partitions of a drive at least, if there are any, and at most.
PARTITIONS = (2, 32)
#: Periods that a trace is cut into where its own are too long. Ours.
PERIODS = 12
#: By topic of a verdict on runs: what to look at next, and the keys that show it.
NEXT: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "deduplication": ("What it takes with a store of 16,384 fingerprints", {"ftl.dedup.fingerprint_entries": 16384}),
    "redirection": (
        "What serving waiting reads of a page together brings beside it",
        {"engine.merge_reads": "same-page"},
    ),
    "wear": ("Whether levelling wear changes that", {"ftl.wear.policy": "static"}),
    "cost": ("With one copy more of a content at most", {"ftl.replication.most_copies": 2}),
}


def removing(of: Evidence, runs: Iterable[SavedRun]) -> Action:
    """What removes the bottleneck of the first run that was explained; nothing where none was."""
    found = _explained(of, runs)
    if not found:
        return Action()
    done = found["action"]
    words = f"For `{found['system']}`: {lower(str(done['words']))}"
    return Action(words, str(done["command"]), done.get("sets", {}))


def next_look(of: Evidence, topic: str, runs: Iterable[SavedRun]) -> Action:
    """What to look at next on the first run that was explained; nothing where none was."""
    words, sets = NEXT[topic]
    return _on(_explained(of, runs), words, sets)


def fastest_explained(of: Evidence, runs: Iterable[SavedRun]) -> list[SavedRun]:
    """The runs that were explained, the one with the shortest response first."""
    known = [run for run in runs if run.name in of.explained]
    return sorted(known, key=lambda run: float(of.explained[run.name]["before_ns"]))


def on_deduplication(of: Evidence, run: SavedRun | None) -> Action:
    """About the run that shows deduplication: what removes its bottleneck, or a smaller store of fingerprints."""
    if of.has_no_contents:
        words = "Contents of one's own for every page (`replay.content`) show what looking them up costs at least"
        return _compare(of, words, "conventional,ca-ssd", "--content unique")
    if run is None:
        words = "Replay it with and without deduplication (`ftl.mapping`)"
        return _compare(of, words, "conventional,ca-ssd")
    found = _explained(of, [run])
    if not found:
        words = "What holds deduplication (`ftl.mapping = content`) back, and what removes that, is found by"
        return Action(words, f"flashtwin explain {of.trace} --system ca-ssd")
    if found["answer"] in ("hash", "fingerprints") and found["action"]["sets"]:
        done = removing(of, [run])
        keys = ", ".join(f"`{key}`" for key in done.sets)
        return Action(f"{done.words} ({keys})", done.command, done.sets)
    words, sets = NEXT["deduplication"]
    return _on(found, f"{words} (`ftl.dedup.fingerprint_entries`)", sets)


def on_replication(of: Evidence, answer: str) -> Action:
    """Another number of copies, shorter periods, or contents to copy, as the answer asks for."""
    if of.has_no_contents:
        words = "Made-up contents (`replay.content`), drawn by popularity, show what copies of popular ones could do"
        return _compare(of, words, "ca-ssd,rr-ssd,oracle", "--content 'zipf(0.8,100000)'")
    lasts_ns = of.number("info.duration_ns") or 0.0
    few = of.number("drift.periods") in (None, 0, 1) or answer == "no copy made"
    if few and lasts_ns > 0:
        words = f"Shorter periods (`replay.period_s`), some {PERIODS} in this trace"
        return _compare(of, words, "ca-ssd,rr-ssd,oracle", f"--period {_round_s(lasts_ns / 1e9 / PERIODS):g}s")
    known = _explained(of, [run for run in of.runs if facts.replicates(run) and not run.is_ideal])
    if known:
        words = "See what one copy more of a content at most does instead (`ftl.replication.most_copies`)"
        if answer in ("no gain", "longer reads", "no"):
            words = f"Leave `ftl.replication.policy = none`, or {lower(words)}"
        return _on(known, words, NEXT["cost"][1])
    words = "Replay it with copies, without, and with the bound (`ftl.replication.policy`)"
    return _compare(of, words, "ca-ssd,rr-ssd,oracle")


def on_trace(of: Evidence, topic: str, answer: str) -> Action:
    """What to do about a topic that the trace alone decides: what pays is tried, what does not can be seen not to."""
    if topic == "partitions":
        return _partitions(of, answer)
    if topic == "page size":
        size = answer.partition(" ")[0]
        kilobytes = int(size) if size.isdigit() else 16
        words = f"Replay with pages of {kilobytes} KB (`nand.page_bytes`), on a system that does not look at contents"
        return Action(words, f"{_plain_replay(of)} --set nand.page_bytes={kilobytes * 1024}")
    if topic == "partial reads":
        words = (
            "A replay reads whole pages; how much smaller ones read (`nand.page_bytes`) is the next best thing to see"
        )
        return Action(words, f"{_plain_replay(of)} --set nand.page_bytes=4096")
    words = f"Let writes wait in a write-back cache of {CACHE_PAGES:,} pages (`engine.write_cache_pages`)"
    if answer not in ("yes", "some"):
        words = "Leave `engine.write_cache_pages = 0`, as far as this goes; what such a cache does besides, this shows"
    return Action(words, f"{_plain_replay(of)} --set engine.write_cache_pages={CACHE_PAGES}")


def _partitions(of: Evidence, answer: str) -> Action:
    needed = of.number("partitions_fr3")
    count = PARTITIONS[0] if needed is None else min(max(int(needed), PARTITIONS[0]), PARTITIONS[1])
    # Filters tell two temperatures apart, no more.
    policies = "none,bloom-filters,offline" if count == PARTITIONS[0] else "none,offline"
    keys = f"--set ftl.partition.policy={policies} --set ftl.partition.partitions={count} {FULL} --trade wa,programs"
    if answer.endswith("partitions"):
        words = (
            "Set hot pages apart (`ftl.partition.policy`) and compare the write amplification on equal flash: "
            "`offline` is the bound, `bloom-filters` with two partitions what a drive can do"
        )
    elif answer == "unknown":
        words = "What partitions do on a full drive (`ftl.partition.policy`), a replay tells"
    else:
        words = "Leave `ftl.partition.policy = none`; this shows the others"
    sweep = _plain_replay(of).replace("flashtwin replay", "flashtwin sweep", 1).replace("--system ", "--systems ")
    return Action(words, re.sub(r"--period (\S+)s\b", r"--set replay.period_s=\1", f"{sweep} {keys}"))


def _plain_replay(of: Evidence) -> str:
    """A replay that looks no contents up: the baseline's as it was made, if that is known."""
    base = of.study.baseline if of.study is not None else None
    known = _explained(of, [base]) if base is not None and not facts.deduplicates(base) else {}
    return str(known.get("command") or f"flashtwin replay {of.trace} --system conventional")


def _compare(of: Evidence, words: str, systems: str, more: str = "") -> Action:
    """A comparison of systems as they are; another period stands for the one that the trace was looked at with."""
    trace = re.sub(r" --period \S+", "", of.trace) if "--period" in more else of.trace
    return Action(words, f"flashtwin compare {trace} --systems {systems} {more}".rstrip())


def _explained(of: Evidence, runs: Iterable[SavedRun]) -> Mapping[str, Any]:
    return next((of.explained[run.name] for run in runs if run.name in of.explained), {})


def _on(found: Mapping[str, Any], words: str, sets: Mapping[str, Any]) -> Action:
    """A run that was explained, with more keys."""
    more = " ".join(f"--set {key}={value}" for key, value in sets.items())
    return Action(words, f"{found['command']} {more}", sets) if found else Action()


def _round_s(seconds: float) -> float:
    """A length of time with one digit, no shorter than a millisecond, which is the shortest that is taken."""
    return max(float(f"{seconds:.0e}"), 0.001)
