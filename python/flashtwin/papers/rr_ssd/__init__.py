"""N. Elyasi et al., "Content Popularity-Based Selective Replication for Read Redirection in SSDs" (RR-SSD)."""

from flashtwin.papers.model import Paper
from flashtwin.papers.rr_ssd import common, designs, placement, results, workloads

PAPER = Paper(
    "rr-ssd",
    "Content Popularity-Based Selective Replication for Read Redirection in SSDs",
    "N. Elyasi, M. Arjomand, A. Sivasubramaniam, M. T. Kandemir, C. R. Das, MASCOTS 2018",
    "The device of Table II (64 chips). All systems run under one set-up for all six workloads: the presets and "
    f"`{common.SETUP.command}`. Requests arrive as they were recorded. `table-4`, `fair-bound` and Fig. 9 to 13, "
    "which the paper has from the same runs, choose one number for each workload, the rate of arrival "
    "(`replay.speed`), so that Oracle's read improvement over `ca-ssd` is the published one.",
    workloads.WORKLOADS,
    (*results.ITEMS, *placement.ITEMS, *designs.ITEMS, *workloads.ITEMS),
    default_scale=0.2,
    quick_scale=0.02,
    setup=common.SETUP,
)
