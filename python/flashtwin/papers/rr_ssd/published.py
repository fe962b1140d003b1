"""Published numbers of the RR-SSD paper, by table and figure. Percentages unless the name says otherwise."""

from __future__ import annotations

WORKLOADS = ("webvm", "homes", "mail", "hadoop", "trans", "desktop")

#: Names of recorded files: FIU IODedup publishes the first three; the OSU traces were never published.
FILES = {
    "webvm": ("web-vm", "webmail+online.cs.fiu.edu-110108-113008"),
    "homes": ("homes-110108-112108",),
    "mail": ("mail-01", "cheetah.cs.fiu.edu-110108-113008"),
}

#: Table III: share of writes; unique values among writes and among reads.
WRITES = {"webvm": 77.0, "homes": 96.0, "mail": 77.0, "hadoop": 30.0, "trans": 55.0, "desktop": 42.0}
UNIQUE_WRITES = {"webvm": 42.0, "homes": 66.0, "mail": 8.0, "hadoop": 63.9, "trans": 77.4, "desktop": 74.7}
UNIQUE_READS = {"webvm": 32.0, "homes": 80.0, "mail": 80.0, "hadoop": 17.5, "trans": 13.8, "desktop": 49.7}
#: Table III: "Imp. by CA-SSD", writes and reads.
CA_SSD = {
    "webvm": (75.0, 49.0),
    "homes": (89.0, 71.0),
    "mail": (61.0, 53.0),
    "hadoop": (150.0, 100.0),
    "trans": (100.0, 82.0),
    "desktop": (200.0, 300.0),
}

#: Table IV: improvement over CA-SSD of RR-SSD and of Oracle: reads, reads and writes.
RR_SSD = {
    "webvm": (23.43, 15.71),
    "homes": (35.11, 16.89),
    "mail": (45.37, 40.26),
    "hadoop": (11.70, 9.55),
    "trans": (19.97, 11.01),
    "desktop": (7.83, 5.11),
}
ORACLE = {
    "webvm": (26.60, 19.07),
    "homes": (45.21, 17.71),
    "mail": (57.61, 48.05),
    "hadoop": (22.73, 19.38),
    "trans": (37.23, 21.59),
    "desktop": (17.05, 11.95),
}
#: Abstract: means over the workloads.
RR_SSD_MEAN = (23.9, 16.0)
#: The same of Oracle: the means of Table IV's columns.
ORACLE_MEAN = (
    sum(read for read, _ in ORACLE.values()) / len(ORACLE),
    sum(every for _, every in ORACLE.values()) / len(ORACLE),
)

#: Table V: replication writes among all writes.
REPLICA_WRITES = {"webvm": 9.27, "mail": 12.39, "homes": 11.41, "hadoop": 12.16, "trans": 9.87, "desktop": 6.19}

#: Table I: thousands of copies and minutes, daily and weekly.
COPIES = {"mail": (160.9, 1253.2), "homes": (5.6, 39.4), "webvm": (2.2, 17.2)}
MINUTES = {"mail": (7.96, 62.01), "homes": (0.28, 1.95), "webvm": (0.11, 0.85)}

#: II.C: a weekly pass takes almost this many times as long as a daily one.
WEEKLY_TO_DAILY = 7.0
#: IV.B.6: writes more than CA-SSD's, on average, about.
MORE_WRITES = 10.0
#: II.B: space of the data set in a CA-SSD, of its original size: lowest and highest of the workloads.
SPACE = (15.0, 70.0)

#: I, Fig. 1: shares of queueing and transfer in a response time, lowest and highest over the workloads.
QUEUEING_READS, QUEUEING_WRITES = (25.0, 77.0), (80.0, 90.0)
#: I, Fig. 2: at times the longest queue is this many times the shortest.
QUEUE_RATIO = 32.0
#: I, Fig. 3: Ideal-All-Chip Replication over a conventional SSD: lowest, highest, mean; reads, all.
IDEAL_READS, IDEAL_ALL = (17.0, 57.0, 38.37), (12.0, 48.0, 25.32)
#: II.A, Fig. 4: values that 80 % of the reads fall on; in webvm, the share of writes that these receive at most.
POPULAR_VALUES = {"homes": 14.0, "webvm": 7.0, "mail": 30.0}
POPULAR_WRITES_WEBVM = 8.0
#: II.C, Fig. 6: new values on some days, about.
NEW_VALUES = 1e6

#: IV.B.1, Fig. 9: read improvement of the worst and of the best day; None where the text gives only the best.
DAYS: dict[str, tuple[float | None, float]] = {
    "webvm": (17.0, 32.0),
    "homes": (5.0, 80.0),
    "mail": (24.0, 65.0),
    "hadoop": (None, 25.0),
    "trans": (None, 35.0),
    "desktop": (None, 14.0),
}
#: IV.B.1: RR-SSD's share of Oracle's improvement on most days of these.
NEAR_ORACLE, NEAR_ORACLE_OF = 90.0, ("webvm", "homes", "mail")

#: IV.B.2, Fig. 10: read improvement where it saturates, at about alpha = 20 %.
SATURATED = {"hadoop": 25.0, "trans": 33.0}
ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
#: IV.B.3, Fig. 11: RR-SSD's read improvement is "generally twice" that of random and of static placement.
PLACEMENT_MORE = 100.0
#: IV.B.4, Fig. 12: on-line replication, means: reads, all.
ONLINE_MEAN = (20.4, 8.9)
#: IV.B.5, Fig. 13: tail latency (p99 of all requests) becomes about half.
TAIL = 50.0
