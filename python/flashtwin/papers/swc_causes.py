"""SWC: runs in which what makes a finding disagree is switched off, and nothing else.

A trace is made anew from the workload's, or drives are made otherwise; the finding is then judged again by the same
rule. Recorded traces and recipes are treated alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flashtwin.characterization import rows
from flashtwin.papers.bench import Stand, table_of
from flashtwin.papers.markdown import MARKS
from flashtwin.papers.model import Facts, Outcome
from flashtwin.sweeps import across
from flashtwin.traces.trace import Trace

#: Tables that the statistics are made from.
TABLES = (*rows.TABLES, "f_min")
#: Where facts hold what was measured without a cause, by its id.
WITHOUT = "without"


@dataclass(frozen=True)
class Cause:
    """Something that may make a finding disagree, and how it is switched off."""

    id: str
    #: The column of its table: what was done.
    title: str
    make: Callable[[Trace], Trace]
    #: Options of the characterization that differ.
    sets: Mapping[str, Any]


def measured(found: Any) -> Facts:
    """The row and the tables of a characterization."""
    return {"row": found.row, "tables": {name: table_of(found, name) for name in TABLES}}


def measure(stand: Stand) -> dict[str, Facts]:
    """The trace without each cause."""
    return {cause.id: measured(stand.variant(cause.id, cause.make, cause.sets)) for cause in CAUSES}


def beside(outcome: Outcome, facts: Mapping[str, Facts], cause: Cause, judge: Callable[..., Outcome]) -> Outcome:
    """An outcome with a table that has its claims without a cause."""
    known = {name: found[WITHOUT][cause.id] for name, found in facts.items() if cause.id in found.get(WITHOUT, {})}
    if not known:
        return outcome
    off = {(claim.subject, claim.quantity): claim for claim in judge(known).claims}
    table = []
    for claim in outcome.claims:
        other = off[claim.subject, claim.quantity]
        published = claim.low if claim.high is None else claim.high
        table.append([claim.subject, claim.quantity, f"{published:g}", *(_cell(one) for one in (claim, other))])
    header = ["of", "what", "published", "as it is", cause.title]
    title = f"The cause switched off: {cause.title}"
    return Outcome(
        outcome.claims, outcome.chart, outcome.notes,
        [*outcome.tables, {"title": title, "header": header, "rows": table}],
    )  # fmt: skip


def _cell(claim: Any) -> str:
    return "–" if claim.measured is None else f"{claim.measured:.4g} {MARKS[claim.verdict]}"


def head(trace: Trace) -> Trace:
    """The fewest first requests that enter statistics (SWC 2.2)."""
    import pyarrow.compute as pc

    table = trace.to_arrow().select(["time_ns", "op"])
    writes = np.cumsum(pc.equal(table["op"], 1).to_numpy())
    enough = max(across.REQUESTS_MIN, int(np.searchsorted(writes, across.WRITES_MIN)) + 1)
    return trace if enough >= len(trace) else Trace.from_frame(trace.to_arrow().slice(0, enough), name=trace.name)


def twice_as_large(trace: Trace) -> Trace:
    """Every address and length twice as large: the same accesses with requests of twice the size."""
    import pyarrow.compute as pc

    table = trace.to_arrow().select(["time_ns", "volume", "op", "offset_bytes", "length_bytes"])
    for name in ("offset_bytes", "length_bytes"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pc.multiply(table[name], 2))
    return Trace.from_frame(table, name=trace.name)


#: No drive is simulated where write amplification is not asked for.
NO_DRIVES = {"partitions": [1], "over_provisioning_percent": [7], "other_page_bytes": [], "block_pages": [128]}
SHORT = Cause("short", "the first 10,000 requests of each", head, NO_DRIVES)
LARGER = Cause("larger", "requests twice as large", twice_as_large, NO_DRIVES)
CAUSES = (SHORT, LARGER)
