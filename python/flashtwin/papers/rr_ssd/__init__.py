"""N. Elyasi et al., "Content Popularity-Based Selective Replication for Read Redirection in SSDs" (RR-SSD)."""

from __future__ import annotations

from flashtwin.papers.bench import Stand
from flashtwin.papers.facts import of_trace, trace_fact
from flashtwin.papers.model import Paper, PaperWorkload, Quantity
from flashtwin.papers.rr_ssd import choice_items, placement_items, published, result_items, workload_items


def _writes(stand: Stand) -> float | None:
    """Of pages: the paper's requests are of 4 KB."""
    read, written = stand.fact("info.read_bytes"), stand.fact("info.write_bytes")
    return None if read is None or written is None or not read + written else 100.0 * written / (read + written)


#: Table III.
STATISTICS = (
    Quantity("writes", of_trace(_writes), published.WRITES),
    Quantity(
        "unique values among writes", trace_fact("info.unique_values_write_percent"), published.UNIQUE_WRITES
    ),
    Quantity("unique values among reads", trace_fact("info.unique_values_read_percent"), published.UNIQUE_READS),
)  # fmt: skip

PAPER = Paper(
    "rr-ssd",
    "Content Popularity-Based Selective Replication for Read Redirection in SSDs",
    "N. Elyasi, M. Arjomand, A. Sivasubramaniam, M. T. Kandemir, C. R. Das, MASCOTS 2018",
    "The device of Table II (64 chips). All systems run under one set-up for all six workloads: the presets and "
    f"`{published.SETUP.command}`. Requests arrive as they were recorded. `table-4`, `fair-bound` and Fig. 9 to 13, "
    "which the paper has from the same runs, choose one number for each workload, the rate of arrival "
    "(`replay.speed`), so that Oracle's read improvement over `ca-ssd` is the published one.",
    tuple(
        PaperWorkload(name, f"rr-ssd/{name}", published.FILES.get(name, ()), STATISTICS, "Table III")
        for name in published.WORKLOADS
    ),
    (*result_items.ITEMS, *placement_items.ITEMS, *choice_items.ITEMS, *workload_items.ITEMS),
    default_scale=0.2,
    quick_scale=0.02,
    sensitivity=choice_items.PLAN,
    setup=published.SETUP,
)
