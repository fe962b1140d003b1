"""What the items of the RR-SSD paper share: its set-up, Table IV, and runs at the recorded clock or a matched rate."""

from collections.abc import Callable, Mapping
from typing import cast

from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import EFFECT_POINTS
from flashtwin.papers.facts import Fact, Run, derived, saved, share, total
from flashtwin.papers.model import Choice, FirstRule, Overall, Quantity, Setup
from flashtwin.papers.search import RateResult
from flashtwin.settings import Value

NAMES = ("webvm", "homes", "mail", "hadoop", "trans", "desktop")
#: FIU IODedup publishes the first three; the OSU traces were never published.
FIU = NAMES[:3]
MEANS = {"read": "response.read.mean_ns", "all": "response.all.mean_ns"}
READ, ALL = MEANS.values()
KINDS = {"read": "reads", "all": "reads and writes"}
COMPLETES = "engine.write_completes"
SAVED, READS_SAVED = "time saved over ca-ssd, %", "reads: time saved over ca-ssd, %"
#: A system at some clock with keys set otherwise.
At = Callable[..., Run]

#: One set-up for all six workloads, at any rate.
SETUP = Setup((
    Choice(
        COMPLETES, "hashed", "III.A, Table IV",
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


def by_workload(*values: float) -> dict[str, float]:
    return dict(zip(NAMES, values, strict=True))


#: Table IV: improvement over CA-SSD of RR-SSD and of Oracle: reads, reads and writes.
TABLE_IV = {
    "RR-SSD read": by_workload(23.43, 35.11, 45.37, 11.70, 19.97, 7.83),
    "RR-SSD all": by_workload(15.71, 16.89, 40.26, 9.55, 11.01, 5.11),
    "Oracle read": by_workload(26.60, 45.21, 57.61, 22.73, 37.23, 17.05),
    "Oracle all": by_workload(19.07, 17.71, 48.05, 19.38, 21.59, 11.95),
}
ORACLE_READ = TABLE_IV["Oracle read"]
#: Means over the workloads: of RR-SSD by the abstract, of Oracle those of Table IV's columns.
TABLE_IV_MEANS = {
    "RR-SSD read": 23.9, "RR-SSD all": 16.0,
    **{f"Oracle {kind}": sum(TABLE_IV[f"Oracle {kind}"].values()) / len(NAMES) for kind in KINDS},
}  # fmt: skip
#: RR-SSD's share of Oracle's gain for reads.
SHARE = {name: 100.0 * TABLE_IV["RR-SSD read"][name] / ORACLE_READ[name] for name in NAMES}
#: Table III: "Imp. by CA-SSD".
CA_SSD = {
    "write": by_workload(75.0, 89.0, 61.0, 150.0, 100.0, 200.0),
    "read": by_workload(49.0, 71.0, 53.0, 100.0, 82.0, 300.0),
}
#: I, Fig. 1: shares of queueing and transfer in a response time, lowest and highest over the workloads.
QUEUEING = {"read": (25.0, 77.0), "write": (80.0, 90.0)}
#: IV.B.5, Fig. 13: tail latency (p99 of all requests) becomes about half.
TAIL = 50.0

DAY_BEFORE = (
    "RR-SSD copies what was read the day before. What is new has no copies, but its reads wait for less where their "
    "neighbours in the queue are redirected. So the share of Oracle's gain depends on how contents renew, in whole "
    "extents or page by page. No paper says which, and `renewal` varies it."
)
COPIES = (
    "Measured is one copy more for every read, until the space that deduplication left is used: the simplest "
    "reading of II.D, which gives no number. The last table of `table-5` makes fewer: with one copy for two reads, or "
    "copies of what is read twice alone, replica writes fall to less than half, and most of the gain goes with them."
)

#: Planes of the paper's drive (Table II): 8 channels, 8 chips, 4 dies, 2 planes.
PLANES = 512
#: Of a drive as large as the workload: spare pages, as a share of the footprint.
SPARE = 0.28
#: Pages of a block as published, and the fewest that make one; fewest blocks of a plane that collects in steps.
PAGES, PAGES_MIN, BLOCKS_MIN = 256, 16, 12
#: Blocks of a plane that the controller keeps back.
RESERVE = 4


def at_clock(system: str, **sets: Value) -> Run:
    """A system as requests were recorded: nothing is chosen."""
    return Run(system, tuple(sets.items()))


def at_rate(system: str, **sets: Value) -> Run:
    return Run(system, tuple(sets.items()), (_at_matched,))


def matched(stand: Stand) -> RateResult:
    """The one free parameter: the speed at which Oracle's read improvement is the published one."""
    if matched not in stand.memo:
        stand.memo[matched] = stand.rate(ORACLE_READ[stand.name], "ca-ssd", "oracle")
    return cast("RateResult", stand.memo[matched])


def _at_matched(stand: Stand) -> Mapping[str, Value]:
    return {"replay.speed": matched(stand).rate}


def saves(
    system: str, path: str = READ, at: At = at_clock, baseline: str = "ca-ssd", sets: Mapping[str, Value] | None = None
) -> Fact:
    """By how many percent a figure of a system is below the baseline's; `sets` are the system's alone."""
    return saved(at(baseline), at(system, **(sets or {})), path)


def table_iv(at: At) -> dict[str, Fact]:
    """Both columns of Table IV, and how long a read of CA-SSD queues."""
    columns = {
        f"{key} {kind}": saves(system, path, at)
        for key, system in (("RR-SSD", "rr-ssd"), ("Oracle", "oracle"))
        for kind, path in MEANS.items()
    }
    queueing = total(at("ca-ssd"), "response.read.split.queueing_ns") / total(at("ca-ssd"), READ) * 100.0
    return {**columns, "queueing": queueing}


#: Table IV where the rate is set by Oracle's reads alone, and when requests arrive as they were recorded.
RATED, CLOCKED = table_iv(at_rate), table_iv(at_clock)


def first_by_clock(*claims: Quantity | tuple[Quantity, ...]) -> FirstRule:
    """The first rule of Fig. 9 to 13."""
    return FirstRule("2026-11-25", "requests arrived as they were recorded, not at the rate of `table-4`", claims)


def share_of_oracle(gained: float | None, oracle: float | None) -> float | None:
    """RR-SSD's share of Oracle's gain, in percent; a share of next to nothing is none."""
    return share(gained, oracle) if oracle is not None and oracle >= EFFECT_POINTS else None


def oracles_share(of: Mapping[str, Fact]) -> Fact:
    return derived(share_of_oracle, of["RR-SSD read"], of["Oracle read"])


def over_all(title: str, fact: Fact, value: float, subject: str = "mean") -> Overall:
    """A mean over all six workloads; not measured when one of them is missing."""
    return Overall(title, fact, value, effect=True, why="the mean is over all six workloads", subject=subject)


def sized(stand: Stand) -> Mapping[str, Value] | None:
    """Keys of a drive that the workload fills; None where it is too small for as many planes.

    Blocks are smaller than published, where a plane would have too few of them.
    """
    footprint = stand.fact("info.footprint_pages")
    if not footprint:
        return None
    plane = footprint * (1.0 + SPARE) / PLANES
    pages = PAGES
    while pages > PAGES_MIN and plane / pages < BLOCKS_MIN:
        pages //= 2
    blocks = round(plane / pages)
    if blocks < BLOCKS_MIN:
        return None
    return {
        "nand.pages_per_block": pages, "nand.blocks_per_plane": blocks + RESERVE, "replay.preload": "footprint",
    }  # fmt: skip
