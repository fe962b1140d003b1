"""S. Nie et al., "Exploiting Data Similarity to Improve SSD Read Performance" (DS-FTL)."""

from flashtwin.papers.ds_ftl import designs, items

PAPER = items.TABLE.paper((*items.ITEMS, *designs.ITEMS), items.STATISTICS)
