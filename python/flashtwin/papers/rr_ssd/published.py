"""Published numbers of the RR-SSD paper, by table and figure. Percentages unless the name says otherwise."""

from __future__ import annotations

from flashtwin.papers.model import Choice, Setup

WORKLOADS = ("webvm", "homes", "mail", "hadoop", "trans", "desktop")
#: Names of recorded files: FIU IODedup publishes the first three; the OSU traces were never published.
FIU = ("webvm", "homes", "mail")
FILES = {
    "webvm": ("web-vm", "webmail+online.cs.fiu.edu-110108-113008"),
    "homes": ("homes-110108-112108",),
    "mail": ("mail-01", "cheetah.cs.fiu.edu-110108-113008"),
}


def _by_workload(*values: float) -> dict[str, float]:
    return dict(zip(WORKLOADS, values, strict=True))


#: Table III: share of writes; unique values among writes and among reads.
WRITES = _by_workload(77.0, 96.0, 77.0, 30.0, 55.0, 42.0)
UNIQUE_WRITES = _by_workload(42.0, 66.0, 8.0, 63.9, 77.4, 74.7)
UNIQUE_READS = _by_workload(32.0, 80.0, 80.0, 17.5, 13.8, 49.7)
#: Table III: "Imp. by CA-SSD".
CA_SSD = {
    "write": _by_workload(75.0, 89.0, 61.0, 150.0, 100.0, 200.0),
    "read": _by_workload(49.0, 71.0, 53.0, 100.0, 82.0, 300.0),
}

#: Table IV: improvement over CA-SSD of RR-SSD and of Oracle: reads, reads and writes.
RR_SSD = {
    "read": _by_workload(23.43, 35.11, 45.37, 11.70, 19.97, 7.83),
    "all": _by_workload(15.71, 16.89, 40.26, 9.55, 11.01, 5.11),
}
ORACLE = {
    "read": _by_workload(26.60, 45.21, 57.61, 22.73, 37.23, 17.05),
    "all": _by_workload(19.07, 17.71, 48.05, 19.38, 21.59, 11.95),
}
#: RR-SSD's share of Oracle's gain for reads.
SHARE = {name: 100.0 * RR_SSD["read"][name] / ORACLE["read"][name] for name in WORKLOADS}
#: Abstract: means over the workloads.
RR_SSD_MEAN = {"read": 23.9, "all": 16.0}
#: The same of Oracle: the means of Table IV's columns.
ORACLE_MEAN = {kind: sum(values.values()) / len(values) for kind, values in ORACLE.items()}

#: Table V: replication writes among all writes.
REPLICA_WRITES = {"webvm": 9.27, "mail": 12.39, "homes": 11.41, "hadoop": 12.16, "trans": 9.87, "desktop": 6.19}

#: Table I: thousands of copies and minutes, by the length of a period.
COPIES = {
    "daily": {"mail": 160.9, "homes": 5.6, "webvm": 2.2}, "weekly": {"mail": 1253.2, "homes": 39.4, "webvm": 17.2},
}  # fmt: skip
MINUTES = {
    "daily": {"mail": 7.96, "homes": 0.28, "webvm": 0.11}, "weekly": {"mail": 62.01, "homes": 1.95, "webvm": 0.85},
}  # fmt: skip

#: II.C: a weekly pass takes almost this many times as long as a daily one.
WEEKLY_TO_DAILY = 7.0
#: IV.B.6: writes more than CA-SSD's, on average, about.
MORE_WRITES = 10.0
#: II.B: space of the data set in a CA-SSD, of its original size: lowest and highest of the workloads.
SPACE = (15.0, 70.0)

#: I, Fig. 1: shares of queueing and transfer in a response time, lowest and highest over the workloads.
QUEUEING = {"read": (25.0, 77.0), "write": (80.0, 90.0)}
#: I, Fig. 2: at times the longest queue is this many times the shortest.
QUEUE_RATIO = 32.0
#: I, Fig. 3: Ideal-All-Chip Replication over a conventional SSD: lowest and highest, and mean.
IDEAL = {"read": (17.0, 57.0), "all": (12.0, 48.0)}
IDEAL_MEAN = {"read": 38.37, "all": 25.32}
#: II.A, Fig. 4: values that 80 % of the reads fall on; in webvm, the share of writes that these receive at most.
POPULAR_VALUES = {"webvm": 7.0, "homes": 14.0, "mail": 30.0}
POPULAR_WRITES_WEBVM = 8.0
#: II.C, Fig. 6: new values on some days, about.
NEW_VALUES = 1e6

#: IV.B.1, Fig. 9: read improvement of the worst and of the best day; the text gives the worst of three only.
WORST_DAY = {"webvm": 17.0, "homes": 5.0, "mail": 24.0}
BEST_DAY = _by_workload(32.0, 80.0, 65.0, 25.0, 35.0, 14.0)
#: IV.B.1: RR-SSD's share of Oracle's improvement on most days of these.
NEAR_ORACLE = {"webvm": 90.0, "homes": 90.0, "mail": 90.0}

#: IV.B.2, Fig. 10: read improvement where it saturates, at about alpha = 20 %.
SATURATED = {"hadoop": 25.0, "trans": 33.0}
ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
#: IV.B.3, Fig. 11: RR-SSD's read improvement is "generally twice" that of random and of static placement.
PLACEMENT_MORE = 100.0
#: IV.B.4, Fig. 12: on-line replication, means.
ONLINE_MEAN = {"read": 20.4, "all": 8.9}
#: IV.B.5, Fig. 13: tail latency (p99 of all requests) becomes about half.
TAIL = 50.0

#: One set-up for all six workloads, at any rate.
SETUP = Setup((
    Choice(
        "engine.write_completes", "hashed", "III.A, Table IV",
        "\"CA-FTL employs a Battery-Backed RAM\". Table IV's two columns fix how long a write takes, since redirection "
        "touches reads alone: about 12 µs on the FIU traces, the time of a hash and a thirtieth of a program.",
    ),
    Choice("engine.write_buffer_pages", 0, "III.A", "The size of that RAM is said nowhere."),
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
