"""RR-SSD: Table IV under each choice made otherwise, and every choice that the paper leaves open."""

import itertools
from collections.abc import Mapping

from flashtwin.experiments import Factor, levels
from flashtwin.papers import designs, sensitivity
from flashtwin.papers.designs import Experiment, Headline, choice
from flashtwin.papers.facts import all_keep_up, total
from flashtwin.papers.model import all_quantities, gain
from flashtwin.papers.panels import ByWorkload, Display, percent, table
from flashtwin.papers.rr_ssd import common
from flashtwin.papers.rr_ssd.common import CLOCKED, NAMES, READ, TABLE_IV, TABLE_IV_MEANS, at_clock, saves
from flashtwin.papers.rr_ssd.results import TABLE_5
from flashtwin.papers.rr_ssd.workloads import FIG_3, IDEAL, IDEAL_MEAN
from flashtwin.papers.sensitivity import Sensitivity
from flashtwin.settings import Value


def for_system(system: str, sets: Mapping[str, Value]) -> Mapping[str, Value]:
    """Keys of copies need not be varied where there are none: the replay is the same."""
    return {key: value for key, value in sets.items() if system == "rr-ssd" or not key.startswith("ftl.replication.")}


READS, EVERY, ORACLE = CLOCKED["RR-SSD read"], CLOCKED["RR-SSD all"], CLOCKED["Oracle read"]
SHARE = common.oracles_share(CLOCKED)


def details(facts: ByWorkload) -> list[Display]:
    return [
        table(title, ["choice", *facts], [
            [label, *(", ".join(percent(found[label][fact]) for fact in of) for found in facts.values())]
            for label in next(iter(facts.values()))
        ])
        for title, of in (
            ("Reads, RR-SSD and Oracle: time saved over ca-ssd", (READS, ORACLE)),
            ("Reads and writes, RR-SSD: time saved over ca-ssd", (EVERY,)),
        )
    ]  # fmt: skip


OF_ORACLE, OVER_CA_SSD = "share of Oracle's reads", "time saved over ca-ssd, mean"
PLAN = Sensitivity(
    "Table IV", NAMES,
    headlines=(
        *(Headline(f"{OF_ORACLE}, {name}", value, SHARE, name, OF_ORACLE, name)
          for name, value in common.SHARE.items()),
        *(
            Headline(f"{title}, mean", value, fact, NAMES, panel, group, whole=True)
            for title, value, fact, panel, group in (
                (OF_ORACLE, sum(common.SHARE.values()) / len(NAMES), SHARE, OF_ORACLE, "mean"),
                ("reads", TABLE_IV_MEANS["RR-SSD read"], READS, OVER_CA_SSD, "reads"),
                ("reads and writes", TABLE_IV_MEANS["RR-SSD all"], EVERY, OVER_CA_SSD, "all"),
            )
        ),
    ),
    left_out={
        "preload = footprint": "a terabyte would be overwritten until it collects, before each replay; the paper's "
        "drive is empty.",
        "idle rule": sensitivity.NO_IDLE_WORK,
    },
    decided=(
        "merging = none", "concurrency = chip", "write completes = hashed", "hashing = a pipeline", "order = PDWC",
    ),
    note="At the recorded clock, under the paper's set-up. Recipes name no page of zeroes, so that `zero page` moves "
    "something on recorded traces only.",
    tables=[details],
    facts=[ORACLE],
    for_system=for_system,
)  # fmt: skip

#: All 24 orders of the levels, from the one that changes fastest to the slowest.
ORDERS = tuple("".join(levels) for levels in itertools.permutations("CWDP"))
#: The age of the drive, and its wear levelling. Nothing wears on a new drive; an aged one takes too long to make for a
#: row of the design.
DRIVE = "the set-up, drive"
AGED = {
    f"sized to the workload and aged, wear rule {rule}": {"ftl.wear.policy": rule} for rule in ("dynamic", "static")
}
CONVENTIONAL = at_clock("conventional")
QUEUEING, CHANNEL, TRANSFER = (
    total(CONVENTIONAL, f"response.read.split.{of}_ns", missing=0.0) for of in ("queueing", "channel_wait", "transfer")
)
TAIL = saves("rr-ssd", "response.all.p99_ns")
EXPERIMENT = Experiment(
    "Tables III to V, Fig. 1, 3, 13", NAMES,
    factors=(
        choice("rate", "1 times", "4 times"),
        # All 24 are tried by themselves; what changes fastest decides which pages are neighbours on a chip.
        choice("order", "CWDP", "WDPC", "DPWC", "PDWC"),
        choice("stripe"),
        choice("allocation", "static", "dynamic", "least-loaded"),
        choice("concurrency", "die", "chip"),
        designs.write_completes("programmed", "transferred", "hashed", caches=["8,192 pages"]),
        choice("hashing", "1 lane", "a pipeline"),
        choice("merging"),
        choice("suspension"),
        choice("load"),
        choice("buffer reads"),
        choice("ties", "home", "lowest", "next-in-turn", "random"),
        choice("renewal", "extents", "extents, in place", "8 pages", "pages"),
        Factor("controller", levels("engine.controller_us", 0.0, 4.0)),
        choice("copies", "one a read", "0.25 a read", "at most 2", "read twice"),
        Factor("Pop", levels("ftl.replication.score_popularity", "mean", "sum")),
    ),
    rows=32,
    quantities=[
        *(gain(key, CLOCKED[key], of) for key, of in TABLE_IV.items()),
        gain("tail", TAIL, common.TAIL),
        gain("ca-ssd", saves("ca-ssd", READ, baseline="conventional"), common.CA_SSD["read"]),
        TABLE_5[1],
        *all_quantities(list(FIG_3.values())),
        gain("waits", (QUEUEING + CHANNEL + TRANSFER) / total(CONVENTIONAL, READ) * 100.0, common.QUEUEING["read"]),
    ],
    headlines=[
        *(
            Headline(f"{who}, {kind}s" if kind == "read" else f"{who}, all", TABLE_IV_MEANS[f"{who} {kind}"],
                     CLOCKED[f"{who} {kind}"], NAMES)
            for who in ("Oracle", "RR-SSD") for kind in ("read", "all")
        ),
        Headline("Ideal, reads", IDEAL_MEAN["read"], IDEAL["read"], NAMES),
        Headline("Ideal, all", IDEAL_MEAN["all"], IDEAL["all"], NAMES),
        Headline("p99 of all", common.TAIL, TAIL, NAMES),
    ],
    few={
        "order": ("CWDP", "PDWC"), "stripe": ("1", "2", "4"), "concurrency": ("die", "chip"),
        "write completes": ("programmed", "hashed"),
    },
    fixed={"hashing": "a pipeline"},
    keep_up=all_keep_up(*map(at_clock, ("conventional", "ca-ssd", "rr-ssd", "oracle", "oracle-conventional"))),
    alone=(Factor("the set-up, order", levels("ftl.allocation.order", *ORDERS)), Factor(DRIVE, {"new": {}, **AGED})),
    worked={(DRIVE, level): common.sized for level in AGED},
    for_system=for_system,
)  # fmt: skip
ITEMS = (PLAN, EXPERIMENT)
