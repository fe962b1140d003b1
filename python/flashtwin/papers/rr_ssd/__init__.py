"""N. Elyasi et al., "Content Popularity-Based Selective Replication for Read Redirection in SSDs" (RR-SSD)."""

from __future__ import annotations

from flashtwin.papers.bench import Stand
from flashtwin.papers.model import Paper, PaperWorkload, Statistic
from flashtwin.papers.rr_ssd import choice_items, placement_items, published, result_items, workload_items


def _writes(stand: Stand) -> float | None:
    """Of pages: the paper's requests are of 4 KB."""
    read, written = stand.fact("info.read_bytes"), stand.fact("info.write_bytes")
    return None if read is None or written is None or not read + written else 100.0 * written / (read + written)


def _workload(name: str) -> PaperWorkload:
    statistics = (
        Statistic("writes", published.WRITES[name], "%", "Table III", _writes),
        Statistic(
            "unique values among writes", published.UNIQUE_WRITES[name], "%", "Table III",
            lambda stand: stand.fact("info.unique_values_write_percent"),
        ),
        Statistic(
            "unique values among reads", published.UNIQUE_READS[name], "%", "Table III",
            lambda stand: stand.fact("info.unique_values_read_percent"),
        ),
    )  # fmt: skip
    return PaperWorkload(name, f"rr-ssd/{name}", published.FILES.get(name, ()), statistics)


PAPER = Paper(
    "rr-ssd",
    "Content Popularity-Based Selective Replication for Read Redirection in SSDs",
    "N. Elyasi, M. Arjomand, A. Sivasubramaniam, M. T. Kandemir, C. R. Das, MASCOTS 2018",
    "The device of Table II (64 chips). All systems run under one set-up for all six workloads: the presets and "
    f"`{published.SETUP.command}`. Requests arrive as they were recorded. `table-4`, `fair-bound` and Fig. 9 to 13, "
    "which the paper has from the same runs, choose one number for each workload, the rate of arrival "
    "(`replay.speed`), so that Oracle's read improvement over `ca-ssd` is the published one.",
    tuple(_workload(name) for name in published.WORKLOADS),
    (*result_items.ITEMS, *placement_items.ITEMS, *choice_items.ITEMS, *workload_items.ITEMS),
    default_scale=0.2,
    quick_scale=0.02,
    sensitivity=choice_items.PLAN,
    setup=published.SETUP,
)
