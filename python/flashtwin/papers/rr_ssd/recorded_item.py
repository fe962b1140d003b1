"""RR-SSD: Table IV at the rate that was recorded, with no number chosen at all."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import Stand, reduction, share
from flashtwin.papers.claims import number
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import PUBLISHED_SHARE, at_clock, by_workload, gains, means, share_of_oracle
from flashtwin.papers.text import percent

NAMES = published.WORKLOADS


def measure(stand: Stand) -> Facts:
    """The gains of RR-SSD and Oracle when requests arrive as they were recorded."""
    runs = at_clock(stand, "ca-ssd", "rr-ssd", "oracle")
    (rr_read, rr_all), (oracle_read, oracle_all) = gains(runs, "rr-ssd"), gains(runs, "oracle")
    base = runs["ca-ssd"]
    return {
        "rr_read": rr_read,
        "rr_all": rr_all,
        "oracle_read": oracle_read,
        "oracle_all": oracle_all,
        "share": share_of_oracle(rr_read, oracle_read),
        "queueing": share(base.get("response.read.split.queueing_ns"), base.get("response.read.mean_ns")),
        "rr_tail": reduction(base, runs["rr-ssd"], "response.read.p99_ns"),
        "oracle_tail": reduction(base, runs["oracle"], "response.read.p99_ns"),
    }


def judge(facts: Mapping[str, Facts]) -> Outcome:
    """Oracle's gain is a prediction here, too."""
    claims = []
    for name in NAMES:
        found, rr, oracle = facts.get(name, {}), published.RR_SSD[name], published.ORACLE[name]
        least = "" if found.get("share") is not None or not found else "Oracle gains next to nothing"
        claims += [
            number(name, "Oracle, reads", oracle[0], found.get("oracle_read"), effect=True),
            number(name, "Oracle, reads and writes", oracle[1], found.get("oracle_all"), effect=True),
            number(name, "RR-SSD, reads", rr[0], found.get("rr_read"), effect=True),
            number(name, "share of Oracle's", PUBLISHED_SHARE[name], found.get("share"), effect=True, why=least),
            number(name, "RR-SSD, reads and writes", rr[1], found.get("rr_all"), effect=True),
        ]
    for title, key, value in (
        ("Oracle, reads", "oracle_read", published.ORACLE_MEAN[0]),
        ("Oracle, reads and writes", "oracle_all", published.ORACLE_MEAN[1]),
        ("RR-SSD, reads", "rr_read", published.RR_SSD_MEAN[0]),
        ("RR-SSD, reads and writes", "rr_all", published.RR_SSD_MEAN[1]),
    ):
        claims.append(means("mean", title, value, facts, key))
    series: list[Series] = [
        ("RR-SSD", by_workload(facts, "rr_read"), [published.RR_SSD[name][0] for name in NAMES]),
        ("Oracle", by_workload(facts, "oracle_read"), [published.ORACLE[name][0] for name in NAMES]),
    ]
    keys = ("queueing", "oracle_read", "rr_read", "oracle_all", "rr_all", "oracle_tail", "rr_tail")
    table = {
        "title": "At the recorded rate: time saved over ca-ssd",
        "header": [
            "workload", "ca-ssd: a read queues", "Oracle, reads", "RR-SSD, reads", "Oracle, all", "RR-SSD, all",
            "Oracle, p99 of reads", "RR-SSD, p99 of reads",
        ],
        "rows": [[name, *(percent(found[key]) for key in keys)] for name, found in facts.items()],
    }  # fmt: skip
    panel = bars(NAMES, series, "reads: time saved over ca-ssd, %")
    return Outcome(claims, chart(panel) if facts else None, _notes(facts), [table] if facts else [])


def _notes(facts: Mapping[str, Facts]) -> list[str]:
    """Redirection shortens nothing but waiting: what reads do not wait, no system of this kind can save."""
    waits = {name: found["queueing"] for name, found in facts.items() if found["queueing"] is not None}
    above = [name for name in waits if waits[name] < published.ORACLE[name][0]]
    if not above:
        return []
    listed = ", ".join(f"{name} ({percent(waits[name])} of {percent(published.ORACLE[name][0])})" for name in above)
    return [
        "Redirection shortens nothing but waiting. Under this set-up reads of `ca-ssd` queue at chips for less of "
        f"their time than Oracle's published gain on {listed}."
    ]


ITEM = Item(
    "recorded-rate", "RR-SSD and Oracle over CA-SSD at the recorded rate: nothing chosen", "Table IV", NAMES,
    measure, judge,
)  # fmt: skip
