"""CA-SSD: Fig. 7 under other choices."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers import sensitivity
from flashtwin.papers.bench import Stand
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.common import NAMES, compared, device, pair
from flashtwin.papers.model import Facts
from flashtwin.papers.sensitivity import Headline, Sensitivity
from flashtwin.settings import Value

#: By the names of the quantities: the cut, and its published size.
CUTS = {
    "response": ("mean response", published.RESPONSE),
    "writes": ("pages written", published.WRITES),
    "erases": ("erases", published.ERASES),
}


def measure(stand: Stand, sets: Mapping[str, Value]) -> Facts:
    """The cuts of CA-SSD, both systems on the paper's drive."""
    found = compared(pair(stand, {**device(stand), **sets}))
    return {key: found[key] for key in CUTS}


def _cut(name: str, key: str) -> Headline:
    title, as_published = CUTS[key]
    return Headline(
        f"{title} cut, {name}", as_published[name], lambda facts: facts.get(name, {}).get(key),
        panel=f"{title}, cut", group=name,
    )  # fmt: skip


ONE_PLANE = "the drive has one plane, so nothing works beside it and there is no place to choose."
PLAN = Sensitivity(
    measure,
    [_cut(name, key) for key in CUTS for name in NAMES],
    {
        "concurrency": ONE_PLANE,
        "load": ONE_PLANE,
        "allocation": ONE_PLANE,
        "order": ONE_PLANE,
        "idle rule": sensitivity.NO_IDLE_WORK,
        "copies": sensitivity.NO_COPIES,
    },
    decided=("merging = none", "write completes = programmed", "hashing = 1 lane"),
)
ITEM = sensitivity.item(PLAN, "Fig. 7", NAMES)
