"""A. Gupta et al., "Leveraging Value Locality in Optimizing NAND Flash-based SSDs" (CA-SSD), FAST 2011."""

from __future__ import annotations

from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.anchor_item import ITEM as ANCHOR
from flashtwin.papers.ca_ssd.drive_items import ITEMS as DRIVES
from flashtwin.papers.ca_ssd.experiment_item import ITEM as EXPERIMENT
from flashtwin.papers.ca_ssd.locality_items import ITEMS as LOCALITY
from flashtwin.papers.ca_ssd.result_items import ITEMS as RESULTS
from flashtwin.papers.ca_ssd.sensitivity_item import ITEM as SENSITIVITY
from flashtwin.papers.ca_ssd.sensitivity_item import PLAN
from flashtwin.papers.ca_ssd.setup import SETUP
from flashtwin.papers.ca_ssd.workload_items import COLUMNS, measure_table_2, measure_table_3
from flashtwin.papers.ca_ssd.workload_items import ITEMS as WORKLOADS
from flashtwin.papers.model import Paper, PaperWorkload, Statistic


def _workload(name: str) -> PaperWorkload:
    """Sizes and mixes stand in the items of Tables 2 and 3."""
    values = published.TABLE_2.get(name) or published.TABLE_3[name]
    measure = measure_table_2 if name in published.TABLE_2 else measure_table_3
    place = "Table 2" if name in published.TABLE_2 else "Table 3"
    statistics = tuple(
        Statistic(title, value, unit, place, lambda stand, key=key: measure(stand)[key])  # type: ignore[misc]
        for (key, title, unit), value in zip(COLUMNS, values, strict=False)
    )
    return PaperWorkload(name, f"ca-ssd/{name}", published.FILES.get(name, ()), statistics)


PAPER = Paper(
    "ca-ssd",
    "Leveraging Value Locality in Optimizing NAND Flash-based SSDs",
    "A. Gupta, R. Pisolkar, B. Urgaonkar, A. Sivasubramaniam, FAST 2011",
    f"The device SLC2 of Table 1, one plane, 4 GB (6 GB for mail), hashing 32 µs (`{SETUP.command}`); "
    "`ca-ssd-inverted` "
    "has the tables of the paper. Requests arrive as recorded, or as the recipe says. At a scale below 1 the drive "
    "and the fingerprint store are as much smaller as the workload.",
    tuple(_workload(name) for name in published.TEN),
    (*WORKLOADS, *LOCALITY, *RESULTS, *DRIVES, ANCHOR, SENSITIVITY, EXPERIMENT),
    default_scale=0.2,
    quick_scale=0.02,
    sensitivity=PLAN,
    setup=SETUP,
)
