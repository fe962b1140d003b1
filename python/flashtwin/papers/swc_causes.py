"""SWC: the findings judged again, each time without one thing that may make them disagree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashtwin.papers.bench import VARIANTS, Stand, table_of
from flashtwin.papers.markdown import MARKS
from flashtwin.papers.model import Outcome
from flashtwin.papers.panels import Facts, table
from flashtwin.results import rows
from flashtwin.sweeps import across
from flashtwin.traces.trace import Trace

Pages = NDArray[np.int64]
TABLES = (*rows.TABLES, "f_min")
#: Where facts hold measurements without a cause, by its id.
WITHOUT = "without"
#: Seed of the time at which a page is first written, where writes are spaced evenly.
SEED = 0


@dataclass(frozen=True)
class CauseRemoval:
    """Something that may make a finding disagree, and how it is switched off."""

    id: str
    title: str
    make: Callable[[Trace], Trace]
    #: Options of the characterization that differ.
    sets: Mapping[str, Any]
    #: The characterization that it is part of.
    variant: str
    block_pages: int = across.BLOCK_PAGES


def measured(found: Any) -> Facts:
    return {"row": found.row, "tables": {name: table_of(found, name) for name in TABLES}}


def measure(stand: Stand) -> dict[str, Facts]:
    variants: dict[str, Facts] = {}
    for cause in CAUSES:
        if cause.variant not in variants:
            variants[cause.variant] = measured(
                stand.variant(stand.path / VARIANTS / cause.variant, cause.make, cause.sets)
            )
    return {cause.id: in_blocks_of(variants[cause.variant], cause.block_pages) for cause in CAUSES}


def in_blocks_of(found: Facts, pages: int) -> Facts:
    """The same with blocks of this many pages instead of the usual ones."""
    grid = [
        {**row, "block_pages": across.BLOCK_PAGES}
        for row in found["tables"]["write_amplification"]
        if row["block_pages"] == pages
    ]
    return {**found, "tables": {**found["tables"], "write_amplification": grid}}


def beside(
    facts: Mapping[str, Facts], judge: Callable[[Mapping[str, Facts]], Outcome], *causes: CauseRemoval
) -> Outcome:
    """An outcome with a table that has its claims without each cause."""
    outcome = judge(facts)
    if not causes or not facts or not all(WITHOUT in found for found in facts.values()):
        return outcome
    off = [judge({name: found[WITHOUT][cause.id] for name, found in facts.items()}).claims for cause in causes]
    cells = []
    for claim, *others in zip(outcome.claims, *off, strict=True):
        published = claim.low if claim.high is None else claim.high
        cells.append([claim.subject, claim.quantity, f"{published:g}", *(_cell(one) for one in (claim, *others))])
    header = ["of", "what", "published", "as it is", *(cause.title for cause in causes)]
    return replace(outcome, tables=[*outcome.tables, table("The cause switched off", header, cells)])


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


def evenly(trace: Trace) -> Trace:
    """The writes of each page evenly spaced over the trace: how often it is written is then no accident."""
    pages = pages_written(trace)
    _, page, counts = np.unique(pages, return_inverse=True, return_counts=True)
    order = np.argsort(page, kind="stable")
    turn = np.empty(len(pages))
    turn[order] = np.arange(len(pages)) - np.repeat(np.cumsum(counts) - counts, counts)
    phase = np.random.default_rng(SEED).random(len(counts))
    return _of_pages(pages[np.argsort((turn + phase[page]) / counts[page], kind="stable")], trace.name)


def without_hot_pages(trace: Trace) -> Trace:
    """Each page written once, and all other writes to any of them alike."""
    pages = pages_written(trace)
    once = np.unique(pages)
    more = np.random.default_rng(SEED).choice(once, len(pages) - len(once)) if len(once) else once
    return _of_pages(np.concatenate([once, more]), trace.name)


def pages_written(trace: Trace) -> Pages:
    """The page of each page write, in order; pages of several volumes have numbers far apart."""
    table = trace.to_arrow().select(["op", "volume", "offset_bytes", "length_bytes"])
    writes = table["op"].to_numpy() == 1
    volume, first, length = (table[name].to_numpy()[writes].astype(np.int64) for name in table.column_names[1:])
    span = (first + length - 1) // rows.PAGE_BYTES - first // rows.PAGE_BYTES + 1
    nth = np.arange(span.sum()) - np.repeat(np.cumsum(span) - span, span)
    apart = (first.max(initial=0) + length.max(initial=0)) // rows.PAGE_BYTES + 1
    found: Pages = np.repeat(first // rows.PAGE_BYTES + volume * apart, span) + nth
    return found


def _of_pages(pages: Pages, name: str) -> Trace:
    import pyarrow

    columns = {
        "time_ns": np.arange(len(pages), dtype=np.int64),
        "volume": np.zeros(len(pages), np.uint32),
        "op": np.ones(len(pages), np.uint8),
        "offset_bytes": (pages * rows.PAGE_BYTES).astype(np.uint64),
        "length_bytes": np.full(len(pages), rows.PAGE_BYTES, np.uint32),
    }
    return Trace.from_frame(pyarrow.table(columns), name=name)


#: Hardly a drive is simulated where write amplification is not asked for.
NO_DRIVES = {"partitions": [1], "over_provisioning_percent": [7], "other_page_bytes": [], "block_pages": [128]}
#: Parts of a block. What a block of a quarter gives is what whole blocks would where four pages are always written
#: together, for a quarter of the simulation.
PARTS = (4, 16, 32)
SMALL_BLOCKS = {
    "partitions": [4], "over_provisioning_percent": [50], "other_page_bytes": [],
    "block_pages": [across.BLOCK_PAGES // part for part in PARTS],
}  # fmt: skip
SHORT = CauseRemoval("short", "the first 10,000 requests of each", head, NO_DRIVES, "short")
LARGER = CauseRemoval("larger", "requests twice as large", twice_as_large, NO_DRIVES, "larger")
TOGETHER = {
    part: CauseRemoval(
        f"together-{part}",
        f"{part} neighbours overwritten together",
        lambda trace: trace,
        SMALL_BLOCKS,
        "small-blocks",
        across.BLOCK_PAGES // part,
    )
    for part in PARTS
}
EVENLY = CauseRemoval("evenly", "the writes of each page evenly spaced", evenly, NO_DRIVES, "evenly")
ALIKE = CauseRemoval("alike", "all pages overwritten alike", without_hot_pages, NO_DRIVES, "alike")
CAUSES = (SHORT, LARGER, EVENLY, ALIKE, *TOGETHER.values())
