"""What the items of the RR-SSD paper share: its table, Table IV, and runs at the recorded clock or a matched rate."""

from collections.abc import Callable, Mapping

from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import EFFECT_POINTS
from flashtwin.papers.facts import Fact, Run, derived, once, saved, share, total
from flashtwin.papers.model import Overall
from flashtwin.papers.search import RateResult
from flashtwin.papers.tables import PaperTable
from flashtwin.settings import Value

TABLE = PaperTable("rr-ssd")
NAMES, SETUP = TABLE.names, TABLE.setup
#: FIU IODedup publishes the first three; the OSU traces were never published.
FIU = NAMES[:3]
MEANS = {"read": "response.read.mean_ns", "all": "response.all.mean_ns"}
READ = MEANS["read"]
KINDS = {"read": "reads", "all": "reads and writes"}
COMPLETES = "engine.write_completes"
SAVED, READS_SAVED = "time saved over ca-ssd, %", "reads: time saved over ca-ssd, %"
#: A system at some clock with keys set otherwise.
At = Callable[..., Run]

ORACLE_READ = TABLE.values("Oracle read")
#: RR-SSD's share of Oracle's gain for reads.
SHARE = {name: 100.0 * value / ORACLE_READ[name] for name, value in TABLE.values("RR-SSD read").items()}
#: What follows from the published numbers; of Oracle, the means of Table IV's columns.
TABLE.published |= {
    "share": SHARE, "at least the share": {name: (value, None) for name, value in SHARE.items()},
    **{f"Oracle {kind}, mean": sum(TABLE.values(f"Oracle {kind}").values()) / len(NAMES) for kind in KINDS},
}  # fmt: skip

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


@once
def matched(stand: Stand) -> RateResult:
    """The one free parameter: the speed at which Oracle's read improvement is the published one."""
    return stand.rate(ORACLE_READ[stand.name], "ca-ssd", "oracle")


def _at_matched(stand: Stand) -> Mapping[str, Value]:
    return {"replay.speed": matched(stand).rate}


def saves(
    system: str, path: str = READ, at: At = at_clock, baseline: str = "ca-ssd", sets: Mapping[str, Value] | None = None
) -> Fact:
    """By how many percent a figure of a system is below the baseline's; `sets` are the system's alone."""
    return saved(at(baseline), at(system, **(sets or {})), path)


def table_iv(at: At) -> dict[str, Fact]:
    """Both columns of Table IV, RR-SSD's share of Oracle's reads, and how long a read of CA-SSD queues."""
    columns = {
        f"{key} {kind}": saves(system, path, at)
        for key, system in (("RR-SSD", "rr-ssd"), ("Oracle", "oracle"))
        for kind, path in MEANS.items()
    }
    queueing = total(at("ca-ssd"), "response.read.split.queueing_ns") / total(at("ca-ssd"), READ) * 100.0
    of_oracle = derived(share_of_oracle, columns["RR-SSD read"], columns["Oracle read"])
    return {**columns, "queueing": queueing, "share": of_oracle}


def share_of_oracle(gained: float | None, oracle: float | None) -> float | None:
    """RR-SSD's share of Oracle's gain, in percent; a share of next to nothing is none."""
    return share(gained, oracle) if oracle is not None and oracle >= EFFECT_POINTS else None


#: Table IV where the rate is set by Oracle's reads alone, and when requests arrive as they were recorded.
RATED, CLOCKED = table_iv(at_rate), table_iv(at_clock)


def over_all(title: str, fact: Fact, published: str, subject: str = "mean") -> Overall:
    """A published mean over all six workloads; not measured when one of them is missing."""
    why = "the mean is over all six workloads"
    return Overall(title, fact, TABLE.published[published], effect=True, why=why, subject=subject)


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
