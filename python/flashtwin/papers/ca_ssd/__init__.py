"""A. Gupta et al., "Leveraging Value Locality in Optimizing NAND Flash-based SSDs" (CA-SSD), FAST 2011."""

from __future__ import annotations

from flashtwin.papers.ca_ssd import choice_items, published, result_items, workload_items
from flashtwin.papers.ca_ssd.workload_items import TABLE_2, TABLE_3
from flashtwin.papers.model import Paper, PaperWorkload


def _workload(name: str) -> PaperWorkload:
    place, columns = ("Table 2", TABLE_2) if name in published.TABLE_2 else ("Table 3", TABLE_3)
    return PaperWorkload(name, f"ca-ssd/{name}", published.FILES.get(name, ()), columns, place)


PAPER = Paper(
    "ca-ssd",
    "Leveraging Value Locality in Optimizing NAND Flash-based SSDs",
    "A. Gupta, R. Pisolkar, B. Urgaonkar, A. Sivasubramaniam, FAST 2011",
    f"The device SLC2 of Table 1, one plane, 4 GB (6 GB for mail), hashing 32 µs (`{published.SETUP.command}`); "
    "`ca-ssd-inverted` "
    "has the tables of the paper. Requests arrive as recorded, or as the recipe says. At a scale below 1 the drive "
    "and the fingerprint store are as much smaller as the workload.",
    tuple(_workload(name) for name in published.TEN),
    (*workload_items.ITEMS, *result_items.ITEMS, *choice_items.ITEMS),
    default_scale=0.2,
    quick_scale=0.02,
    sensitivity=choice_items.PLAN,
    setup=published.SETUP,
)
