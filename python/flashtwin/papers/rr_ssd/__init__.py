"""N. Elyasi et al., "Content Popularity-Based Selective Replication for Read Redirection in SSDs" (RR-SSD)."""

from flashtwin.papers.rr_ssd import common, designs, placement, results, workloads

ITEMS = (*results.ITEMS, *placement.ITEMS, *designs.ITEMS, *workloads.ITEMS)
PAPER = common.TABLE.paper(ITEMS, workloads.STATISTICS)
