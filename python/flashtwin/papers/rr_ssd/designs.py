"""RR-SSD: Table IV under each choice made otherwise, and every choice that the paper leaves open."""

import itertools
from collections.abc import Mapping

from flashtwin.experiments import Factor, levels
from flashtwin.papers import designs
from flashtwin.papers.designs import Experiment, Headline, choice
from flashtwin.papers.facts import all_keep_up, total
from flashtwin.papers.model import Quantity, gain
from flashtwin.papers.panels import ByWorkload, Display, percent, table
from flashtwin.papers.rr_ssd import common
from flashtwin.papers.rr_ssd.common import CLOCKED, NAMES, READ, TABLE, at_clock, saves
from flashtwin.papers.rr_ssd.results import REPLICA_WRITES, REPLICAS
from flashtwin.papers.rr_ssd.workloads import FIG_3, IDEAL
from flashtwin.papers.sensitivity import Sensitivity
from flashtwin.settings import Value


def for_system(system: str, sets: Mapping[str, Value]) -> Mapping[str, Value]:
    """Keys of copies need not be varied where there are none: the replay is the same."""
    return {key: value for key, value in sets.items() if system == "rr-ssd" or not key.startswith("ftl.replication.")}


def details(facts: ByWorkload) -> list[Display]:
    return [
        table(title, ["choice", *facts], [
            [label, *(", ".join(percent(found[label][CLOCKED[key]]) for key in of) for found in facts.values())]
            for label in next(iter(facts.values()))
        ])
        for title, of in (
            ("Reads, RR-SSD and Oracle: time saved over ca-ssd", ("RR-SSD read", "Oracle read")),
            ("Reads and writes, RR-SSD: time saved over ca-ssd", ("RR-SSD all",)),
        )
    ]  # fmt: skip


OF_ORACLE, OVER_CA_SSD = "share of Oracle's reads", "time saved over ca-ssd, mean"
SHARE_MEAN = sum(common.SHARE.values()) / len(NAMES)
PLAN = TABLE.item(
    "sensitivity", kind=Sensitivity,
    headlines=(
        *(Headline(f"{OF_ORACLE}, {name}", CLOCKED["share"], value, of=(name,), panel=OF_ORACLE, group=name)
          for name, value in common.SHARE.items()),
        *(
            Headline(f"{title}, mean", CLOCKED[key], value, of=NAMES, panel=panel, group=group, needs="figures")
            for title, key, value, panel, group in (
                (OF_ORACLE, "share", SHARE_MEAN, OF_ORACLE, "mean"),
                ("reads", "RR-SSD read", TABLE.published["RR-SSD read, mean"], OVER_CA_SSD, "reads"),
                ("reads and writes", "RR-SSD all", TABLE.published["RR-SSD all, mean"], OVER_CA_SSD, "all"),
            )
        ),
    ),
    tables=[details], facts=[CLOCKED["Oracle read"]], for_system=for_system,
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
TABLE_IV = ("RR-SSD read", "RR-SSD all", "Oracle read", "Oracle all")
OF_HOST = "replica writes, of the host's writes"
TAIL = saves("rr-ssd", "response.all.p99_ns")
EXPERIMENT = TABLE.item(
    "set-ups", kind=Experiment,
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
        *(gain(key, CLOCKED[key], TABLE.values(key)) for key in TABLE_IV),
        gain("tail", TAIL, TABLE.published["tail"]),
        gain("ca-ssd", saves("ca-ssd", READ, baseline="conventional"), TABLE.values("ca-ssd read")),
        Quantity(OF_HOST, REPLICAS["one for each read"][OF_HOST], REPLICA_WRITES),
        *FIG_3.claims,
        gain("waits", (QUEUEING + CHANNEL + TRANSFER) / total(CONVENTIONAL, READ) * 100.0,
             TABLE.published["waits read"]),
    ],
    headlines=[
        *(
            Headline(f"{who}, {kind}s" if kind == "read" else f"{who}, all", CLOCKED[f"{who} {kind}"],
                     TABLE.published[f"{who} {kind}, mean"], of=NAMES)
            for who in ("Oracle", "RR-SSD") for kind in ("read", "all")
        ),
        Headline("Ideal, reads", IDEAL["read"], TABLE.published["ideal read, mean"], of=NAMES),
        Headline("Ideal, all", IDEAL["all"], TABLE.published["ideal all, mean"], of=NAMES),
        Headline("p99 of all", TAIL, TABLE.published["tail"], of=NAMES),
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
