"""Published numbers of the DS-FTL paper, by section, table and figure. Percentages unless the name says otherwise."""

from __future__ import annotations

from flashtwin.papers.model import Choice, Setup

#: Table 3: requests, writes, write ratio, mean size of a request in KB.
TABLE_3 = {
    "home1": (8_973_201, 8_882_831, 0.990, 16.06),
    "home2": (5_390_703, 4_901_091, 0.909, 23.47),
    "home3": (918_010, 908_863, 0.990, 34.16),
    "home4": (2_491_157, 2_354_060, 0.945, 7.99),
    "online": (5_700_499, 4_211_806, 0.739, 7.99),
    "webmail": (7_795_815, 6_381_985, 0.819, 7.99),
    "webresearch": (2_414_031, 2_414_008, 0.999, 24.57),
    "webusers": (5_697_272, 5_127_101, 0.900, 12.31),
}
NAMES = tuple(TABLE_3)
#: FIU SRCMap's names; which home is which is our reading, by the alphabet.
FILES = {
    "home1": ("casa-110108-112108",),
    "home2": ("ikki-110108-112108",),
    "home3": ("madmax-110108-112108",),
    "home4": ("topgun-110108-112108",),
    "online": ("online.cs.fiu.edu-110108-113008",),
    "webmail": ("webmail.cs.fiu.edu-110108-113008",),
    "webresearch": ("webresearch-030409-033109",),
    "webusers": ("webusers-030409-033109",),
}
#: 2.3.1, Fig. 2: spread of the utilisation of chips.
CHIPS_DIFFER = 34.0
#: 2.3.2, Fig. 3: the highest share of duplicates; Fig. 4: lowest and highest over the planes.
DUPLICATES, ON_PLANES = 70.4, (5.1, 44.5)
#: 5.2.1, Fig. 10: mean cut of latencies against each scheme, and the largest where it is given.
MEAN_CUT = {
    "read": {"static": 35.3, "dynamic": 34.2, "hipa": 9.8},
    "write": {"static": 24.7, "dynamic": 36.7, "hipa": 19.0},
}
LARGEST_CUT = {"read": {"static": 56.3, "hipa": 23.0}, "write": {"static": 54.0, "hipa": 30.3}}
#: Kind of request, other scheme, mean cut.
CUTS = tuple((kind, other, cut) for kind, of in MEAN_CUT.items() for other, cut in of.items())
#: 5.2.2, Fig. 11: redundancy of planes: lowest, highest, mean over the workloads.
REDUNDANCY = {"static": (2.3, 46.5, 18.5), "dynamic": (1.9, 29.3, 13.5), "ds-ftl": (1.2, 28.3, 12.2)}
#: 5.2.3, Fig. 13: redirected pages of two workloads, and means.
REDIRECTED = {"read": {"webmail": 15.6, "home3": 1.46}, "write": {"webmail": 29.2, "home3": 1.48}}
REDIRECTED_MEAN = {"read": 8.21, "write": 10.5}
#: 5.2.4, Fig. 14: deviation of channel utilisation: lowest, highest, mean.
DEVIATION = {"static": (0.30, 3.00, 1.12), "hipa": (0.23, 3.52, 1.11), "ds-ftl": (0.22, 1.31, 0.61)}

#: One set-up for all eight workloads. What the text says is in the presets: transactions are executed by dies (2.1),
#: comparisons wait for idle time (4.2.2). Pages wait in DRAM while they are hashed (4.2.1). SSDsim, in which the paper
#: implements its scheme, gives a page to flash when another needs its place, and the write that needs it waits: once
#: DRAM is full, a write takes a program as without it. So `engine.write_completes` stays `programmed`; a write cache is
#: among the sensitivities and the set-ups.
SETUP = Setup((
    Choice(
        "ftl.allocation.order", "PDWC", "2.2, 5.1.4",
        "\"in a specific order of priority for these four levels\", which is not named. Neighbours on one chip are "
        "what makes chips differ by a third (Fig. 2), and what DS-FTL takes apart.",
    ),
))  # fmt: skip
