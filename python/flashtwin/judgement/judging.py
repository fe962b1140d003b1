"""The one list of verdicts on a workload and its runs, and which of them each reader is shown."""

from collections.abc import Sequence
from dataclasses import replace

from flashtwin.judgement import contents, facts, headlines, systems, workload
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Verdict, lower, with_made_up_contents

#: Verdicts from runs alone.
_ON_RUNS = (systems.wear, systems.tail, systems.load)
#: Verdicts from runs and the trace.
_ON_CONTENTS = (contents.deduplication, contents.replication)
#: Verdicts from the trace alone.
_ON_TRACE = (workload.partitions, workload.page_size, workload.waiting)

#: The topics of advice, in order.
ADVICE = ("partitions", "page size", "deduplication", "replication", "waiting")
#: The topics of findings: what these systems are compared for comes first, however small the effect (that redirection
#: gains nothing is an answer too), then the others. Within each, the largest effect first.
FINDINGS = (("replication", "deduplication"), ("wear", "tail", "load"))


def judge(of: Evidence) -> list[Verdict]:
    """All verdicts: the bottleneck of each candidate that was explained, and every other topic once."""
    found = [topic(of) for topic in _ON_CONTENTS]
    if of.study is not None:
        found += [*(topic(of.study) for topic in _ON_RUNS), headlines.choice(of)]
    if of.row is not None:
        found += [topic(of) for topic in _ON_TRACE]
    judged = [_qualified(of, one) for one in found if one is not None]
    return [*map(Verdict.read, of.explained.values()), *judged]


def _qualified(of: Evidence, one: Verdict) -> Verdict:
    """Says so where a verdict is about systems as configured, or about contents that nobody recorded."""
    source = facts.made_up_contents(*(run for run in of.runs if run.name in one.evidence))
    claim = with_made_up_contents(one.claim, source)
    if one.evidence and not of.candidates.get("shown") and one.topic != headlines.TOPIC:
        claim = f"As configured: {lower(claim)}"
    return replace(one, claim=claim)


def findings(verdicts: Sequence[Verdict], count: int | None = None) -> list[Verdict]:
    """What runs show, the most important first; at most `count`."""
    shown: list[Verdict] = []
    for topics in FINDINGS:
        of_topics = [one for one in verdicts if one.topic in topics and one.evidence]
        shown += sorted(of_topics, key=lambda one: (-one.weight, topics.index(one.topic)))
    return shown[:count]


def advice(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Advice for the workload, in the order of the topics."""
    return sorted((one for one in verdicts if one.topic in ADVICE), key=lambda one: ADVICE.index(one.topic))


def on(topic: str, verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict on a topic of which there is one at most."""
    return next((one for one in verdicts if one.topic == topic), None)
