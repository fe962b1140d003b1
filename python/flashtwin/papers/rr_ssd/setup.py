"""The set-up of the RR-SSD paper's experiments: one for all six workloads, at any rate."""

from __future__ import annotations

from flashtwin.papers.setup import Choice, Setup

SETUP = Setup((
    Choice(
        "engine.write_completes", "hashed", "III.A, Table IV",
        "\"CA-FTL employs a Battery-Backed RAM\". Table IV's two columns fix how long a write takes, since redirection "
        "touches reads alone: about 12 µs on the FIU traces, the time of a hash and a thirtieth of a program.",
    ),
    Choice(
        "engine.hash_lanes", 0, "Table II, IV.A",
        "\"Hashing Latency = 12us\": a latency. How many pages a second the unit hashes is said nowhere.",
    ),
    Choice(
        "engine.concurrency", "chip", "I",
        "\"separate read and write queues for each chip\"; \"the waiting time at chip-level queue\".",
    ),
    Choice(
        "ftl.allocation.order", "PDWC", "I, Fig. 2",
        "No order is named. Queues 32 times as long as others, and reads that wait for 25 to 77 % of their time, need "
        "neighbouring pages on one chip: channels that take turns page by page give neither.",
    ),
))  # fmt: skip
