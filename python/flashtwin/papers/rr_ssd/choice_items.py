"""RR-SSD: Table IV under each choice made otherwise, and every choice that the paper leaves open."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from flashtwin.experiments import Factor, levels
from flashtwin.papers import experiment, sensitivity
from flashtwin.papers.experiment import Experiment
from flashtwin.papers.facts import Fact, all_keep_up, derived, part, total
from flashtwin.papers.model import ByWorkload, gain, percent, table
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import KINDS, NAMES, READ, at_clock, oracles_share, over_all, saves, sized
from flashtwin.papers.rr_ssd.result_items import CLOCKED, ONE_A_READ
from flashtwin.papers.rr_ssd.workload_items import IDEAL
from flashtwin.papers.sensitivity import Headline, Sensitivity
from flashtwin.settings import Value


def for_system(system: str, sets: Mapping[str, Value]) -> Mapping[str, Value]:
    """Keys of copies need not be varied where there are none: the replay is the same."""
    return {key: value for key, value in sets.items() if system == "rr-ssd" or not key.startswith("ftl.replication.")}


READS, EVERY, ORACLE = CLOCKED["RR-SSD read"], CLOCKED["RR-SSD all"], CLOCKED["Oracle read"]
SHARE = oracles_share(READS, ORACLE)


def details(facts: ByWorkload) -> list[dict[str, Any]]:
    """The totals of the shares, and the gain for all requests."""
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


OF_ORACLE = "share of Oracle's reads"


def _over_all(title: str, value: float, fact: Fact, panel: str, group: str) -> Headline:
    return Headline(f"{title}, mean", value, fact, NAMES, panel, group, whole=True)


PLAN = Sensitivity(
    (
        *(
            Headline(f"{OF_ORACLE}, {name}", value, SHARE, name, OF_ORACLE, name)
            for name, value in published.SHARE.items()
        ),
        _over_all(OF_ORACLE, sum(published.SHARE.values()) / len(NAMES), SHARE, OF_ORACLE, "mean"),
        _over_all("reads", published.RR_SSD_MEAN["read"], READS, "time saved over ca-ssd, mean", "reads"),
        _over_all("reads and writes", published.RR_SSD_MEAN["all"], EVERY, "time saved over ca-ssd, mean", "all"),
    ),
    {
        "preload = footprint": "a terabyte would be overwritten until it collects, before each replay; the paper's "
        "drive is empty.",
        "idle rule": sensitivity.NO_IDLE_WORK,
    },
    ("merging = none", "concurrency = chip", "write completes = hashed", "hashing = a pipeline", "order = PDWC"),
    "At the recorded clock, under the paper's set-up.",
    details,
    [ORACLE],
    for_system,
)

#: All 24 orders of the levels, from the one that changes fastest to the slowest.
ORDERS = tuple("".join(levels) for levels in itertools.permutations("CWDP"))
#: The age of the drive, and its wear levelling. Nothing wears on a new drive; an aged one takes too long to make for a
#: row of the design.
DRIVE = "the set-up, drive"
AGED = {
    f"sized to the workload and aged, wear rule {rule}": {"ftl.wear.policy": rule} for rule in ("dynamic", "static")
}
FACTORS = (
    Factor("rate", {"as recorded": {"replay.speed": 1.0}, "4 times": {"replay.speed": 4.0}}),
    # All 24 are tried by themselves; what changes fastest decides which pages are neighbours on a chip.
    experiment.ORDER,
    experiment.STRIPE,
    Factor("placement of writes", levels("ftl.allocation.policy", "static", "dynamic", "least-loaded")),
    Factor("units", levels("engine.concurrency", "die", "chip")),
    experiment.write_completes("programmed", "transferred", "hashed", caches={"in a write cache": 8192}),
    experiment.HASH_UNIT,
    experiment.MERGED,
    experiment.SUSPENSION,
    experiment.LOAD,
    experiment.FROM_RAM,
    Factor("controller", levels("engine.controller_us", 0.0, 4.0)),
    Factor("copies", {
        "one a read": {},
        "one in four reads": {"ftl.replication.copies_per_read": 0.25},
        "at most 2": {"ftl.replication.most_copies": 2},
        "of what is read twice": {"ftl.replication.least_popularity": 2},
    }),
    Factor("Pop", levels("ftl.replication.score_popularity", "mean", "sum")),
)  # fmt: skip


CONVENTIONAL = at_clock("conventional")
TAIL = saves("rr-ssd", "response.all.p99_ns")
WAITS = part(
    derived(
        lambda *parts: sum(one or 0.0 for one in parts),
        *(total(CONVENTIONAL, f"response.read.split.{of}_ns") for of in ("queueing", "channel_wait", "transfer")),
    ),
    total(CONVENTIONAL, READ),
)
EXPERIMENT = Experiment(
    FACTORS,
    32,
    [
        (
            gain("RR-SSD, reads", READS, published.RR_SSD["read"]), gain("RR-SSD, all", EVERY, published.RR_SSD["all"]),
            gain("Oracle, reads", ORACLE, published.ORACLE["read"]),
            gain("Oracle, all", CLOCKED["Oracle all"], published.ORACLE["all"]), gain("tail", TAIL, published.TAIL),
            gain("ca-ssd", saves("ca-ssd", READ, baseline="conventional"), published.CA_SSD["read"]),
            gain("replicas", list(ONE_A_READ.values())[1], published.REPLICA_WRITES),
            *(gain(f"ideal, {kind}", IDEAL[kind], published.IDEAL[kind]) for kind in KINDS),
            gain("waits", WAITS, published.QUEUEING["read"]),
        ),
        *(over_all(f"ideal, {kind}", IDEAL[kind], published.IDEAL_MEAN[kind]) for kind in KINDS),
    ],
    [
        Headline(title, value, fact, NAMES, "means", title)
        for title, value, fact in (
            ("Oracle, reads", published.ORACLE_MEAN["read"], ORACLE),
            ("Oracle, all", published.ORACLE_MEAN["all"], CLOCKED["Oracle all"]),
            ("RR-SSD, reads", published.RR_SSD_MEAN["read"], READS),
            ("RR-SSD, all", published.RR_SSD_MEAN["all"], EVERY),
            ("Ideal, reads", published.IDEAL_MEAN["read"], IDEAL["read"]),
            ("Ideal, all", published.IDEAL_MEAN["all"], IDEAL["all"]),
            ("p99 of all", published.TAIL, TAIL),
        )
    ],
    {
        "order": ("CWDP", "PDWC"),
        "pages before the next": ("1", "2", "4"),
        "units": ("die", "chip"),
        "write completes": ("programmed", "hashed"),
    },
    {"hash unit": "pipeline"},
    all_keep_up(*map(at_clock, ("conventional", "ca-ssd", "rr-ssd", "oracle", "oracle-conventional"))),
    (Factor("the set-up, order", levels("ftl.allocation.order", *ORDERS)), Factor(DRIVE, {"new": {}, **AGED})),
    {(DRIVE, level): sized for level in AGED},
    for_system,
)  # fmt: skip
ITEMS = (
    sensitivity.item(PLAN, "Table IV", NAMES),
    experiment.item(EXPERIMENT, "Tables III to V, Fig. 1, 3, 13", NAMES),
)
