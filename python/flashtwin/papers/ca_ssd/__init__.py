"""A. Gupta et al., "Leveraging Value Locality in Optimizing NAND Flash-based SSDs" (CA-SSD), FAST 2011."""

from flashtwin.papers.ca_ssd import designs, results, workloads
from flashtwin.papers.model import Paper

PAPER = Paper(
    "ca-ssd",
    "Leveraging Value Locality in Optimizing NAND Flash-based SSDs",
    "A. Gupta, R. Pisolkar, B. Urgaonkar, A. Sivasubramaniam, FAST 2011",
    f"The device SLC2 of Table 1, one plane, 4 GB (6 GB for mail), hashing 32 µs (`{results.SETUP.command}`); "
    "`ca-ssd-inverted` "
    "has the tables of the paper. Requests arrive as recorded, or as the recipe says. At a scale below 1 the drive "
    "and the fingerprint store are as much smaller as the workload.",
    workloads.WORKLOADS,
    (*workloads.ITEMS, *results.ITEMS, *designs.ITEMS),
    default_scale=0.2,
    quick_scale=0.02,
    setup=results.SETUP,
)
