"""DS-FTL: Fig. 10 and 13 under other choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flashtwin.papers import sensitivity
from flashtwin.papers.bench import Stand, reduction
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.ds_ftl.common import SCHEMES, percent_of, runs_at
from flashtwin.papers.model import Facts, mean
from flashtwin.papers.sensitivity import Headline, Sensitivity
from flashtwin.papers.text import column
from flashtwin.settings import Value

#: Where the engine's choices are made otherwise: whose reads gain most, whose pages are redirected most and least;
#: at the trace's own clock, and at one at which reads queue and gain.
WORKLOADS = ("online", "webmail", "home3")
SPEEDS = (1.0, 4000.0)


#: Keys that only DS-FTL is measured with: the allocation below its own, which the others stand for, and when pages
#: are compared, which the others never do.
OF_DS_FTL = ("ftl.allocation.policy", "engine.idle_us")


def measure(stand: Stand, sets: Mapping[str, Value]) -> Facts:
    """Cuts of latencies and redirected pages with the engine's keys set otherwise."""
    found: Facts = {}
    shared = {key: value for key, value in sets.items() if key not in OF_DS_FTL}
    for speed in SPEEDS:
        runs = runs_at(stand, *SCHEMES[:-1], speed=speed, **shared) | runs_at(stand, "ds-ftl", speed=speed, **sets)
        for kind, other, _ in published.CUTS:
            found[f"{kind} {other} {speed:g}"] = reduction(runs[other], runs["ds-ftl"], f"response.{kind}.mean_ns")
        for kind in ("read", "write"):
            found[f"{kind} redirected {speed:g}"] = percent_of(runs["ds-ftl"], f"spread.redirected_{kind}_share")
    return found


def _headlines(speed: float) -> Iterator[Headline]:
    """The paper's headlines: cuts as means, redirected pages by workload where they were published so."""
    faster = "" if speed == 1.0 else f", clock x {speed:g}"

    def average(key: str) -> Callable[[Mapping[str, Facts]], float | None]:
        return lambda facts: mean(column(facts, WORKLOADS, key)) if len(facts) == len(WORKLOADS) else None

    def alone(name: str, key: str) -> Callable[[Mapping[str, Facts]], float | None]:
        return lambda facts: facts.get(name, {}).get(key)

    for kind, other, cut in published.CUTS:
        yield Headline(
            f"{kind}s below {other}{faster}", cut, average(f"{kind} {other} {speed:g}"),
            panel=f"DS-FTL below{faster}", group=f"{kind}s {other}",
        )  # fmt: skip
    for name in ("webmail", "home3"):
        for kind, value in zip(("read", "write"), published.REDIRECTED[name], strict=True):
            yield Headline(
                f"redirected {kind}s, {name}{faster}", value, alone(name, f"{kind} redirected {speed:g}"), effect=False,
                panel=f"redirected pages{faster}", group=f"{kind}s {name}",
            )  # fmt: skip


PLAN = Sensitivity(
    measure,
    [one for speed in SPEEDS for one in _headlines(speed)],
    {
        "hashing": "contents are hashed while pages wait in DRAM, which costs a write nothing.",
        "copies": sensitivity.NO_COPIES,
    },
    "Three of the eight workloads stand for all, to spare time: `online`, whose reads gain most, and `webmail` and "
    "`home3`, whose pages are redirected most and least. Cuts are means of the three; the published ones are of eight. "
    "The allocation is that below DS-FTL's own (4.2.1); the schemes that it is compared with stay what they are. "
    "Merging of `same-page` takes that of twins from DS-FTL and leaves the others as they are.",
    decided=("concurrency = die", "write completes = programmed", "order = PDWC"),
)
ITEM = sensitivity.item(PLAN, "Fig. 10, 13", WORKLOADS)
