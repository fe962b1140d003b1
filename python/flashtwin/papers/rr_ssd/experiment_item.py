"""RR-SSD: every choice that the paper leaves open, against the numbers of Tables III to V, Fig. 1, 3 and 13."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from flashtwin.experiments import Factor
from flashtwin.papers import experiment
from flashtwin.papers.bench import Stand, keeps_up, reduction, share
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.experiment import Experiment
from flashtwin.papers.model import Facts, mean
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import ALL, READ, by_workload, means
from flashtwin.papers.rr_ssd.drives import sized
from flashtwin.papers.sensitivity import Headline
from flashtwin.settings import Value

NAMES = published.WORKLOADS
SYSTEMS = ("conventional", "ca-ssd", "rr-ssd", "oracle", "oracle-conventional")
#: All 24 orders of the levels, from the one that changes fastest to the slowest.
ORDERS = tuple("".join(levels) for levels in itertools.permutations("CWDP"))


#: The age of the drive, and its wear levelling.
DRIVE, AGED = "the set-up, drive", "sized to the workload and aged, wear rule {}"


def _levels(key: str, *values: Value) -> dict[str, Mapping[str, Value]]:
    return {str(value): {key: value} for value in values}


#: Everything that the paper leaves open; the first level is the presets'.
FACTORS = (
    Factor("rate", {"as recorded": {"replay.speed": 1.0}, "4 times": {"replay.speed": 4.0}}),
    # All 24 are tried by themselves; what changes fastest decides which pages are neighbours on a chip.
    Factor("order", _levels("ftl.allocation.order", "CWDP", "WDPC", "DPWC", "PDWC")),
    Factor("pages before the next", _levels("ftl.allocation.stripe_pages", 1, 2, 4)),
    Factor("placement of writes", _levels("ftl.allocation.policy", "static", "dynamic", "least-loaded")),
    Factor("units", _levels("engine.concurrency", "die", "chip")),
    Factor("write completes", {
        **{rule: {"engine.write_completes": rule} for rule in ("programmed", "transferred", "hashed")},
        "in a write cache": {"engine.write_completes": "programmed", "engine.write_cache_pages": 8192},
    }),
    Factor("hash unit", {"1 lane": {"engine.hash_lanes": 1}, "pipeline": {"engine.hash_lanes": 0}}),
    Factor("merged reads", _levels("engine.merge_reads", "none", "same-page")),
    Factor("suspension", _levels("engine.suspend", "none", "program-erase")),
    Factor("load", _levels("engine.load", "queue-length", "reads-waiting", "expected-wait")),
    Factor("reads from RAM", _levels("engine.buffer_reads", True, False)),
    Factor("controller", _levels("engine.controller_us", 0.0, 4.0)),
    Factor("copies", {
        "one a read": {},
        "one in four reads": {"ftl.replication.copies_per_read": 0.25},
        "at most 2": {"ftl.replication.most_copies": 2},
        "of what is read twice": {"ftl.replication.least_popularity": 2},
    }),
    Factor("Pop", _levels("ftl.replication.score_popularity", "mean", "sum")),
)  # fmt: skip
#: The factors that the screening found to matter, all combinations; the rest is as in the set-up and the presets.
FEW = {
    "order": ("CWDP", "PDWC"),
    "pages before the next": ("1", "2", "4"),
    "units": ("die", "chip"),
    "write completes": ("programmed", "hashed"),
}
FIXED = {factor.name: factor.default for factor in FACTORS} | {"hash unit": "pipeline"}


def measure(stand: Stand, sets: Mapping[str, Value]) -> Facts | None:
    """The numbers of one workload; None on a drive that does not keep up."""
    keys = {"replay.speed": 1.0, **sets}
    chosen = {
        name: stand.preset(name, **{key: value for key, value in keys.items() if _matters(name, key)})
        for name in SYSTEMS
    }
    runs = stand.runs(chosen)
    if not all(keeps_up(run, float(str(keys["replay.speed"]))) for run in runs.values()):
        return None
    base, plain = runs["ca-ssd"], runs["conventional"]
    waits = [plain.get(f"response.read.split.{part}_ns") for part in ("queueing", "channel_wait", "transfer")]
    return {
        "rr_read": reduction(base, runs["rr-ssd"], READ),
        "rr_all": reduction(base, runs["rr-ssd"], ALL),
        "oracle_read": reduction(base, runs["oracle"], READ),
        "oracle_all": reduction(base, runs["oracle"], ALL),
        "ideal_read": reduction(plain, runs["oracle-conventional"], READ),
        "ideal_all": reduction(plain, runs["oracle-conventional"], ALL),
        "tail": reduction(base, runs["rr-ssd"], "response.all.p99_ns"),
        "ca_read": reduction(plain, base, READ),
        "waits": share(sum(part or 0.0 for part in waits), plain.get(READ)),
        "replicas": share(runs["rr-ssd"].get("flash_writes.replica"), runs["rr-ssd"].get("host_pages_written")),
    }


def _matters(system: str, key: str) -> bool:
    """Keys of copies need not be varied where there are none: the replay is the same."""
    return system == "rr-ssd" or not key.startswith("ftl.replication.")


def claims(facts: Mapping[str, Facts]) -> list[Claim]:
    """All published numbers that one set-up gives."""
    found = []
    for name in NAMES:
        of = facts.get(name, {})
        (rr_read, rr_all), (oracle_read, oracle_all) = published.RR_SSD[name], published.ORACLE[name]
        singles = {
            "rr_read": rr_read, "rr_all": rr_all, "oracle_read": oracle_read, "oracle_all": oracle_all,
            "tail": published.TAIL, "ca_read": published.CA_SSD[name][1], "replicas": published.REPLICA_WRITES[name],
        }  # fmt: skip
        ranges = {
            "ideal_read": published.IDEAL_READS[:2], "ideal_all": published.IDEAL_ALL[:2],
            "waits": published.QUEUEING_READS,
        }  # fmt: skip
        found += [number(name, key, value, of.get(key), effect=True) for key, value in singles.items()]
        found += [Claim(name, key, low, high, of.get(key), "%", True) for key, (low, high) in ranges.items()]
    for key, value in (("ideal_read", published.IDEAL_READS[2]), ("ideal_all", published.IDEAL_ALL[2])):
        found.append(means("mean", key, value, facts, key))
    return found


def _mean(key: str) -> Callable[[Mapping[str, Facts]], float | None]:
    """The mean over the workloads of a run; over all six, where it has them."""
    return lambda facts: mean([value for value in by_workload(facts, key) if value is not None]) if facts else None


PLAN = Experiment(
    FACTORS,
    32,
    measure,
    claims,
    [
        Headline(title, value, _mean(key), panel="means", group=title)
        for title, value, key in (
            ("Oracle, reads", published.ORACLE_MEAN[0], "oracle_read"),
            ("Oracle, all", published.ORACLE_MEAN[1], "oracle_all"),
            ("RR-SSD, reads", published.RR_SSD_MEAN[0], "rr_read"),
            ("RR-SSD, all", published.RR_SSD_MEAN[1], "rr_all"),
            ("Ideal, reads", published.IDEAL_READS[2], "ideal_read"),
            ("Ideal, all", published.IDEAL_ALL[2], "ideal_all"),
            ("p99 of all", published.TAIL, "tail"),
        )
    ],
    FEW,
    FIXED,
    (
        Factor("the set-up, order", _levels("ftl.allocation.order", *ORDERS)),
        # Nothing wears on a new drive; an aged one takes too long to make for a row of the design.
        Factor(DRIVE, {"new": {}, **{AGED.format(rule): {"ftl.wear.policy": rule} for rule in ("dynamic", "static")}}),
    ),
    {(DRIVE, AGED.format(rule)): sized for rule in ("dynamic", "static")},
)
ITEM = experiment.item(PLAN, "Tables III to V, Fig. 1, 3, 13", NAMES)
