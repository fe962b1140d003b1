"""N. Elyasi et al., "Content Popularity-Based Selective Replication for Read Redirection in SSDs" (RR-SSD)."""

from __future__ import annotations

from flashtwin.papers.bench import Stand
from flashtwin.papers.model import Paper, PaperWorkload, Statistic
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.bound_item import ITEM as BOUND
from flashtwin.papers.rr_ssd.recorded_item import ITEM as RECORDED
from flashtwin.papers.rr_ssd.result_items import ITEMS as RESULTS
from flashtwin.papers.rr_ssd.sensitivity_item import ITEM as SENSITIVITY
from flashtwin.papers.rr_ssd.sensitivity_item import PLAN
from flashtwin.papers.rr_ssd.workload_items import ITEMS as WORKLOADS


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
    "The device of Table II (64 chips). For each workload one parameter is chosen, the rate of arrival "
    "(`replay.speed`), so that Oracle's read improvement over `ca-ssd` is the published one; everything else on this "
    "page is measured at that rate with the systems as they come, but for `recorded-rate`, where nothing is chosen.",
    tuple(_workload(name) for name in published.WORKLOADS),
    (*RESULTS, BOUND, RECORDED, SENSITIVITY, *WORKLOADS),
    default_scale=0.2,
    quick_scale=0.02,
    sensitivity=PLAN,
)
