"""A. Gupta et al., "Leveraging Value Locality in Optimizing NAND Flash-based SSDs" (CA-SSD), FAST 2011."""

from flashtwin.papers.ca_ssd import designs, results, workloads

PAPER = workloads.TABLE.paper((*workloads.ITEMS, *results.ITEMS, *designs.ITEMS), workloads.STATISTICS)
