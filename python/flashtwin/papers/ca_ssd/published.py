"""Published numbers of the CA-SSD paper."""

from __future__ import annotations

from flashtwin.papers.model import Choice, Setup

NAMES = ("web", "mail", "homes")
#: Table 2: requests in millions, footprint in GB, writes, unique among writes and reads, sequential (percent).
TABLE_2 = {
    "web": (3.8, 1.95, 77.01, 42.35, 32.05, 83.8),
    "mail": (3.6, 4.22, 77.32, 7.83, 80.85, 94.7),
    "homes": (4.4, 3.02, 96.76, 66.37, 80.75, 70.8),
}
#: Table 3: requests in millions, footprint in GB, writes in percent.
TABLE_3 = {
    "financial": (6.50, 0.50, 79.60),
    "cello99": (0.44, 0.46, 70.79),
    "proxy": (2.44, 0.33, 95.64),
    "hm": (11.11, 2.43, 54.74),
    "ts": (4.17, 0.91, 74.06),
    "mids": (2.89, 3.09, 70.46),
    "src1": (5.00, 1.47, 93.73),
}
TEN = (*TABLE_3, *NAMES)
#: Names of the recorded files: FIU IODedup, UMass, MSR Cambridge.
FILES = {
    "web": ("web-vm", "webvm", "webmail+online.cs.fiu.edu-110108-113008"),
    "mail": ("mail-01", "cheetah.cs.fiu.edu-110108-113008"),
    "homes": ("homes-110108-112108",),
    "financial": ("Financial1", "Financial"),
    "proxy": ("prxy_0", "prxy"),
    "hm": ("hm_0",),
    "ts": ("ts_0",),
    "mids": ("mds_0",),
    "src1": ("src1_2", "src1_0"),
}
#: Section 5, Table 2: the SSD's size in GB.
SSD_GB = {"mail": 6}
#: Fig. 2: values with half of the writes. Fig. 3: LRU positions with 90 % of the writes; memory saved.
HALF_OF_WRITES = {"homes": 14.44, "mail": 8.84, "web": 29.99}
POSITIONS, SAVED = {"homes": 11_046.0}, {"homes": 96.0, "mail": 65.0}
#: Fig. 4 and 4.1: misses of popular values with 64 K entries; for mail an upper end.
MISSES = {"mail": (None, 7.0), "web": (0.4, 0.4), "homes": (4.0, 4.0)}
#: Fig. 6: valid pages of a victim in web, traditional and CA-SSD.
VICTIMS_WEB = (33.20, 8.21)
#: Fig. 7: cuts of the mean response time, of all writes, of writes by collection, of erases.
CUTS = {
    "response": {"web": 65.0, "mail": 84.0, "homes": 59.0},
    "writes": {"web": 77.0, "mail": 93.0, "homes": 70.0},
    "gc": {"web": 94.0, "mail": 100.0, "homes": 87.0},
    "erases": {"web": 77.0, "mail": 100.0 * (1 - 2_876 / 47_819), "homes": 70.0},
}
#: Section 3: writes of the content already at their address, of all writes.
SAME_CONTENT = {"mail": 8.0, "homes": 8.0}
#: 5.2: by how much the mean response of homes with 16 K entries is shorter, in milliseconds.
SHORTER_MS = 7.0
#: 5.2: erases of homes with 16 K entries; RAM of HPT and iHPT in MB by entries.
ERASES_HOMES_16K = 65.0
RAM_MB = {16_384: 0.45, 131_072: 3.5, 262_144: 7.0}
#: 5.3, Fig. 8: at most 10 % slower without value locality; 74 % faster with a = 1; financial about 25 times.
ZIPF_NONE, ZIPF_FULL, ZIPF_FINANCIAL = 10.0, 74.0, 25.0
EXPONENTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
#: 5.3: values with half of the writes of hm, in millions, by Zipf exponent.
HM_HALF = {0.0: 4.5, 0.4: 1.3}

#: How large the drive is, the text says by workload (Table 2), and how full it was not at all: items take the sizes of
#: the text, `begins-full` the fullness that the published numbers give away, which `set-ups` finds nearest to them.
SETUP = Setup((
    Choice("device", "ca-ssd-slc2", "5.1, Table 1",
           "\"we use SLC SSDs with extra large pages (SLC2) and single plane\"."),
    Choice("engine.hash_us", 32.0, "5.1",
           "\"modeling the overheads (32 µs) of performing hash calculation along with their impact on the queueing "
           "delays\": one unit, for which writes queue."),
))  # fmt: skip
