"""What to do about a piece of advice: a sentence with the key, and the command that tries it.

Pure. Where runs of a study were explained, their commands are built on: these carry the trace, how it is read and all
keys of the runs; otherwise the command has the trace and a preset.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin.characterization.replayed import Replay

Row = Mapping[str, Any]

#: The share of a drive that pages take up at OP 7 %, as where the write amplification is reckoned; aged.
FULL = "--set replay.preload=footprint --fill 93%"
#: Pages of a write-back cache for trying whether waiting helps: 16 MB of 4 KB. Ours.
CACHE_PAGES = 4_096
#: Partitions of a drive at least, if there are any, and at most.
PARTITIONS = (2, 32)
#: Periods that a trace is cut into where its own are too long. Ours.
PERIODS = 12


@dataclass(frozen=True)
class Try:
    """What to do: words, which name the key, and the command."""

    words: str
    command: str

    @property
    def text(self) -> str:
        """As one sentence."""
        return f"{self.words}: `{self.command}`."


@dataclass(frozen=True)
class _Case:
    verdict: str
    row: Row
    replays: Sequence[Replay]
    trace: str

    def replay(self, keys: str) -> str:
        """A replay that does not look at contents, with more keys: the baseline's as it was made, if that is known."""
        base = next((one for one in self.replays if one.is_baseline and not one.deduplicates), None)
        known = base.explained.get("command") if base is not None else None
        return f"{known or f'flashtwin replay {self.trace} --system conventional'} {keys}"

    def sweep(self, keys: str) -> str:
        """Such replays with keys set to one value after another, all on equal flash."""
        period = re.compile(r"--period (\S+)s\b")
        command = self.replay(keys).replace("flashtwin replay", "flashtwin sweep", 1).replace("--system ", "--systems ")
        return period.sub(r"--set replay.period_s=\1", command)

    def compare(self, systems: str, more: str = "") -> str:
        """A comparison of systems as they are; another period stands for the one that the trace was looked at with."""
        trace = re.sub(r" --period \S+", "", self.trace) if "--period" in more else self.trace
        return f"flashtwin compare {trace} --systems {systems} {more}".rstrip()


def trial(topic: str, verdict: str, row: Row, replays: Sequence[Replay], trace: str) -> Try:
    """What to do about a topic, whatever the verdict: what pays is tried, what does not can be seen not to."""
    return _TRIALS[topic](_Case(verdict, row, replays, trace))


def _partitions(case: _Case) -> Try:
    needed = case.row.get("partitions_fr3")
    count = min(max(int(needed), PARTITIONS[0]), PARTITIONS[1]) if isinstance(needed, int | float) else PARTITIONS[0]
    # Filters tell two temperatures apart, no more.
    policies = "none,bloom-filters,offline" if count == PARTITIONS[0] else "none,offline"
    keys = f"--set ftl.partition.policy={policies} --set ftl.partition.partitions={count} {FULL} --trade wa,programs"
    if case.verdict.endswith("partitions"):
        words = (
            "Set hot pages apart (`ftl.partition.policy`) and compare the write amplification on equal flash: "
            "`offline` is the bound, `bloom-filters` with two partitions what a drive can do"
        )
    elif case.verdict == "unknown":
        words = "What partitions do on a full drive (`ftl.partition.policy`), a replay tells"
    else:
        words = "Leave `ftl.partition.policy = none`; this shows the others"
    return Try(words, case.sweep(keys))


def _page_size(case: _Case) -> Try:
    size = case.verdict.partition(" ")[0]
    pages = int(size) * 1024 if size.isdigit() else 16_384
    words = f"Replay with pages of {pages // 1024} KB (`nand.page_bytes`), on a system that does not look at contents"
    return Try(words, case.replay(f"--set nand.page_bytes={pages}"))


def _partial_reads(case: _Case) -> Try:
    words = "A replay reads whole pages; how much smaller ones read (`nand.page_bytes`) is the next best thing to see"
    return Try(words, case.replay("--set nand.page_bytes=4096"))


def _deduplication(case: _Case) -> Try:
    if case.row.get("info.has_content") is False:
        words = "Contents of one's own for every page (`replay.content`) show what looking them up costs at least"
        return Try(words, case.compare("conventional,ca-ssd", "--content unique"))
    known = [one for one in case.replays if one.deduplicates and one.explained and not one.is_ideal]
    run = next((one for one in known if not one.redirects), None) or next(iter(known), None)
    if run is not None and run.explained["action"]["sets"]:
        action = run.explained["action"]
        return Try(f"For `{run.name}`: {str(action['words']).rstrip('.')} ({_keys(action['sets'])})", action["command"])
    if any(one.deduplicates for one in case.replays):
        words = "What holds deduplication (`ftl.mapping = content`) back, and what removes that, is found by"
        return Try(words, f"flashtwin explain {case.trace} --system ca-ssd")
    words = "Replay it with and without deduplication (`ftl.mapping`)"
    return Try(words, case.compare("conventional,ca-ssd"))


def _replication(case: _Case) -> Try:
    if case.row.get("info.has_content") is False:
        words = "Made-up contents (`replay.content`), drawn by popularity, show what copies of popular ones could do"
        return Try(words, case.compare("ca-ssd,rr-ssd,oracle", "--content 'zipf(0.8,100000)'"))
    lasts = case.row.get("info.duration_ns")
    few = case.row.get("drift.periods") in (None, 0, 1) or case.verdict == "no copy made"
    if few and isinstance(lasts, int | float) and lasts > 0:
        period = f"--period {_round_s(lasts / 1e9 / PERIODS):g}s"
        words = f"Shorter periods (`replay.period_s`), some {PERIODS} in this trace"
        return Try(words, case.compare("ca-ssd,rr-ssd,oracle", period))
    known = next((one for one in case.replays if one.replicates and one.explained and not one.is_ideal), None)
    if known is not None:
        words = "See what one copy more of a content at most does instead (`ftl.replication.most_copies`)"
        if case.verdict in ("no gain", "longer reads", "no"):
            words = f"Leave `ftl.replication.policy = none`, or {words[:1].lower()}{words[1:]}"
        return Try(words, f"{known.explained['command']} --set ftl.replication.most_copies=2")
    words = "Replay it with copies, without, and with the bound (`ftl.replication.policy`)"
    return Try(words, case.compare("ca-ssd,rr-ssd,oracle"))


def _waiting(case: _Case) -> Try:
    if case.verdict in ("yes", "some"):
        words = f"Let writes wait in a write-back cache of {CACHE_PAGES:,} pages (`engine.write_cache_pages`)"
    else:
        words = "Leave `engine.write_cache_pages = 0`, as far as this goes; what such a cache does besides, this shows"
    return Try(words, case.replay(f"--set engine.write_cache_pages={CACHE_PAGES}"))


_TRIALS = {
    "partitions": _partitions,
    "page size": _page_size,
    "partial reads": _partial_reads,
    "deduplication": _deduplication,
    "replication": _replication,
    "waiting": _waiting,
}


def _keys(sets: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key}`" for key in sets)


def _round_s(seconds: float) -> float:
    """A length of time with one digit, no shorter than a millisecond, which is the shortest that is taken."""
    return max(float(f"{seconds:.0e}"), 0.001)
