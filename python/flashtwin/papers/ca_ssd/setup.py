"""The set-up of the CA-SSD paper's experiments: what its text says of the drive.

How large the drive is, it says by workload (Table 2), and how full it was not at all: items take the sizes of the text,
`begins-full` the fullness that the published numbers give away, which `set-ups` finds nearest to all of them.
"""

from __future__ import annotations

from flashtwin.papers.ca_ssd import published
from flashtwin.papers.setup import Choice, Setup

SETUP = Setup((
    Choice("device", "ca-ssd-slc2", "5.1, Table 1",
           "\"we use SLC SSDs with extra large pages (SLC2) and single plane\"."),
    Choice("engine.hash_us", published.HASH_US, "5.1",
           "\"modeling the overheads (32 µs) of performing hash calculation along with their impact on the queueing "
           "delays\": one unit, for which writes queue."),
))  # fmt: skip
