"""S. Nie et al., "Exploiting Data Similarity to Improve SSD Read Performance" (DS-FTL)."""

from flashtwin.papers.ds_ftl import designs, items
from flashtwin.papers.model import Paper

PAPER = Paper(
    "ds-ftl",
    "Exploiting Data Similarity to Improve SSD Read Performance",
    "S. Nie, J. Niu, Z. Zhang, Y. Hu, C. Shi, W. Wu (DS-FTL)",
    "The device of Table 2 (8 channels, 16 chips, 64 planes). Requests arrive as recorded, or as the recipe says; no "
    f"rate is chosen. All schemes run under one set-up, the presets and `{items.SETUP.command}`; the allocation "
    "below DS-FTL's own (4.1) is HIPA's. At a scale below 1 the drive is as much smaller as the workload.",
    items.WORKLOADS,
    (*items.ITEMS, *designs.ITEMS),
    default_scale=0.1,
    quick_scale=0.01,
    setup=items.SETUP,
)
