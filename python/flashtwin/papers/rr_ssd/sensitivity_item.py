"""RR-SSD: Table IV at the recorded clock, each choice of the set-up and of the engine made otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flashtwin.papers import sensitivity
from flashtwin.papers.bench import Stand
from flashtwin.papers.model import Facts, mean
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import PUBLISHED_SHARE, at_clock, by_workload, gains, share_of_oracle
from flashtwin.papers.sensitivity import Headline, Sensitivity
from flashtwin.papers.text import percent
from flashtwin.settings import Value

NAMES = published.WORKLOADS


def measure(stand: Stand, sets: Mapping[str, Value]) -> Facts:
    """The gains of RR-SSD for reads and for all requests, and its share of Oracle's gain for reads."""
    # What only copies depend on need not be measured where there are none.
    shared = {key: value for key, value in sets.items() if not key.startswith("ftl.replication.")}
    runs = at_clock(stand, "ca-ssd", "oracle", **shared) | at_clock(stand, "rr-ssd", **sets)
    (read, every), (oracle, _) = gains(runs, "rr-ssd"), gains(runs, "oracle")
    return {"share": share_of_oracle(read, oracle), "read": read, "all": every, "oracle": oracle}


#: The panel of the shares on the chart.
OF_ORACLE = "share of Oracle's reads"


def _share(name: str) -> Headline:
    value = PUBLISHED_SHARE[name]
    return Headline(
        f"{OF_ORACLE}, {name}", value, lambda facts: facts.get(name, {}).get("share"), panel=OF_ORACLE, group=name
    )


def _mean(key: str) -> Callable[[Mapping[str, Facts]], float | None]:
    """The mean over all six workloads; None when one is missing."""

    def value(facts: Mapping[str, Facts]) -> float | None:
        values = by_workload(facts, key)
        return None if None in values else mean(values)

    return value


def details(facts: Mapping[str, Facts]) -> list[dict[str, Any]]:
    """The totals of the shares, and the gain for all requests."""
    tables = []
    for title, keys in (
        ("Reads, RR-SSD and Oracle: time saved over ca-ssd", ("read", "oracle")),
        ("Reads and writes, RR-SSD: time saved over ca-ssd", ("all",)),
    ):
        labels = list(next(iter(facts.values())))
        rows = [
            [label, *(", ".join(percent(found[label][key]) for key in keys) for found in facts.values())]
            for label in labels
        ]  # fmt: skip
        tables.append({"title": title, "header": ["choice", *facts], "rows": rows})
    return tables


PLAN = Sensitivity(
    measure,
    (
        *(_share(name) for name in NAMES),
        Headline(
            f"{OF_ORACLE}, mean",
            sum(PUBLISHED_SHARE.values()) / len(PUBLISHED_SHARE),
            _mean("share"),
            panel=OF_ORACLE,
            group="mean",
        ),
        *(
            Headline(f"{title}, mean", value, _mean(key), panel="time saved over ca-ssd, mean", group=group)
            for title, group, value, key in (
                ("reads", "reads", published.RR_SSD_MEAN[0], "read"),
                ("reads and writes", "all", published.RR_SSD_MEAN[1], "all"),
            )
        ),
    ),
    {
        "preload = footprint": "a terabyte would be overwritten until it collects, before each replay; the paper's "
        "drive is empty.",
        "idle rule": sensitivity.NO_IDLE_WORK,
    },
    "At the recorded clock, under the paper's set-up.",
    details,
    decided=(
        "merging = none",
        "concurrency = chip",
        "write completes = hashed",
        "hashing = a pipeline",
        "order = PDWC",
    ),
)
ITEM = sensitivity.item(PLAN, "Table IV", NAMES)
