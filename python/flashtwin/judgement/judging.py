"""The one list of verdicts on a workload and its runs, and which of them each reader is shown."""

from collections.abc import Sequence
from dataclasses import replace

from flashtwin.judgement import facts, headlines, workload
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import CHOICE, Verdict, lower, with_made_up_contents

#: The topics of findings: what systems that look at contents are compared for, then the load.
FINDINGS = ("replication", "deduplication", "load")
#: The topics of advice, in order.
ADVICE = ("partitions", "page size", "deduplication", "replication", "waiting")
#: Each gives the verdict on its topic, or none where nothing is known of it.
_TOPICS = (
    headlines.choice, workload.replication, workload.deduplication, workload.load, workload.partitions,
    workload.page_size, workload.waiting,
)  # fmt: skip


def judge(of: Evidence) -> list[Verdict]:
    """All verdicts: the bottleneck of each candidate that was explained, and every other topic once."""
    judged = [_qualified(of, one) for topic in _TOPICS if (one := topic(of)) is not None]
    return [*map(Verdict.read, of.study.explained.values() if of.study is not None else ()), *judged]


def _qualified(of: Evidence, one: Verdict) -> Verdict:
    """Says so where a verdict is about systems as configured, or about contents that nobody recorded."""
    source = facts.made_up_contents(*(run for run in of.runs if run.name in one.evidence))
    claim = with_made_up_contents(one.claim, source)
    if one.evidence and not of.candidates.get("shown") and one.topic != CHOICE:
        claim = f"As configured: {lower(claim)}"
    return replace(one, claim=claim)


def findings(verdicts: Sequence[Verdict], count: int | None = None) -> list[Verdict]:
    """What runs show, at most `count`."""
    return [one for topic in FINDINGS for one in verdicts if one.topic == topic and one.evidence][:count]


def advice(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [one for topic in ADVICE for one in verdicts if one.topic == topic]


def on(topic: str, verdicts: Sequence[Verdict]) -> Verdict | None:
    return next((one for one in verdicts if one.topic == topic), None)
