"""S. Nie et al., "Exploiting Data Similarity to Improve SSD Read Performance" (DS-FTL)."""

from __future__ import annotations

from flashtwin.papers.ds_ftl import published, sensitivity_item
from flashtwin.papers.ds_ftl.experiment_item import ITEM as EXPERIMENT
from flashtwin.papers.ds_ftl.latency_items import ITEMS as LATENCIES
from flashtwin.papers.ds_ftl.load_item import ITEM as LOAD
from flashtwin.papers.ds_ftl.placement_items import ITEMS as PLACEMENT
from flashtwin.papers.ds_ftl.setup import SETUP
from flashtwin.papers.ds_ftl.workload_items import COLUMNS
from flashtwin.papers.ds_ftl.workload_items import ITEMS as WORKLOADS
from flashtwin.papers.model import Paper, PaperWorkload, Statistic


def _workload(name: str) -> PaperWorkload:
    requests, _, ratio, size = published.TABLE_3[name]
    statistics = tuple(
        Statistic(title, value, unit, "Table 3", measure)
        for (title, unit, measure), value in zip(COLUMNS, (requests, ratio, size), strict=True)
    )
    return PaperWorkload(name, f"ds-ftl/{name}", published.FILES[name], statistics)


PAPER = Paper(
    "ds-ftl",
    "Exploiting Data Similarity to Improve SSD Read Performance",
    "S. Nie, J. Niu, Z. Zhang, Y. Hu, C. Shi, W. Wu (DS-FTL)",
    "The device of Table 2 (8 channels, 16 chips, 64 planes). Requests arrive as recorded, or as the recipe says; no "
    f"rate is chosen. All schemes run under one set-up, the presets and `{SETUP.command}`; the allocation below "
    "DS-FTL's "
    "own (4.1) is HIPA's. At a scale below 1 the drive is as much smaller as the workload.",
    tuple(_workload(name) for name in published.NAMES),
    (*WORKLOADS, *LATENCIES, LOAD, *PLACEMENT, sensitivity_item.ITEM, EXPERIMENT),
    default_scale=0.1,
    quick_scale=0.01,
    sensitivity=sensitivity_item.PLAN,
    setup=SETUP,
)
