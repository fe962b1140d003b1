"""DS-FTL: Fig. 10 and 13 under each choice made otherwise, and every choice that the paper leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flashtwin.experiments import Factor, levels
from flashtwin.papers import experiment, sensitivity
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.ds_ftl.items import (
    CHIPS_DIFFER,
    DEVIATION,
    EQUAL_WRITTEN,
    FIG_10,
    KEEP_UP,
    KINDS,
    NAMES,
    REDIRECTED,
    STATISTICS,
    redirected,
)
from flashtwin.papers.experiment import Experiment
from flashtwin.papers.facts import Fact, mean
from flashtwin.papers.model import Overall, Quantity
from flashtwin.papers.sensitivity import Headline, Sensitivity
from flashtwin.settings import Value

#: Keys that only DS-FTL is measured with: the allocation below its own, which the others stand for, and those of pages
#: that are compared, which the others never do.
OF_DS_FTL = ("ftl.allocation.policy", "ftl.spread.", "engine.idle_us")
#: Where the engine's choices are made otherwise: whose reads gain most, whose pages are redirected most and least;
#: at the trace's own clock, and at one at which reads queue and gain.
WORKLOADS = ("online", "webmail", "home3")


def for_system(name: str, sets: Mapping[str, Value]) -> Mapping[str, Value]:
    """The keys that a scheme looks at: what only DS-FTL has changes nothing in the others."""
    return {key: value for key, value in sets.items() if name == "ds-ftl" or not key.startswith(OF_DS_FTL)}


def _headlines(speed: float) -> Iterator[Headline]:
    faster = "" if speed == 1.0 else f", clock x {speed:g}"
    for kind, other, value in published.CUTS:
        yield Headline(
            f"{kind}s below {other}{faster}", value, FIG_10[kind, other, speed], WORKLOADS, f"DS-FTL below{faster}",
            f"{kind}s {other}", whole=True,
        )  # fmt: skip
    for name in ("webmail", "home3"):
        for kind in KINDS:
            yield Headline(
                f"redirected {kind}s, {name}{faster}", published.REDIRECTED[kind][name], redirected(kind, speed), name,
                f"redirected pages{faster}", f"{kind}s {name}", effect=False,
            )  # fmt: skip


PLAN = Sensitivity(
    [one for speed in (1.0, 4000.0) for one in _headlines(speed)],
    {
        "hashing": "contents are hashed while pages wait in DRAM, which costs a write nothing.",
        "copies": sensitivity.NO_COPIES,
    },
    ("concurrency = die", "write completes = programmed", "order = PDWC"),
    "Three of the eight workloads stand for all, to spare time: `online`, whose reads gain most, and `webmail` and "
    "`home3`, whose pages are redirected most and least. Cuts are means of the three; the published ones are of eight. "
    "The allocation is that below DS-FTL's own (4.2.1); the schemes that it is compared with stay what they are. "
    "Merging of `same-page` takes that of twins from DS-FTL and leaves the others as they are.",
    for_system=for_system,
)

FACTORS = (
    experiment.rates(1.0, 10.0),
    experiment.ORDER,
    experiment.STRIPE,
    Factor("allocation below DS-FTL", levels("ftl.allocation.policy", "static", "dynamic", "least-loaded", "hipa")),
    Factor("units", levels("engine.concurrency", "die", "chip", "plane")),
    experiment.write_completes(
        "programmed", "transferred", caches={f"in DRAM of {pages} pages": pages for pages in (64, 8192)}
    ),
    Factor("merged reads", {"as 4.3.2 says": {}, "none": {"engine.merge_reads": "none"}}),
    experiment.SUSPENSION,
    experiment.LOAD,
    Factor("idle after", {f"{us / 1000:g} ms": {"engine.idle_us": us} for us in (1_000, 0, 10_000)}),
    Factor("place of duplicates", levels("ftl.spread.place", "round-robin", "least-loaded", "same-place")),
    Factor("own copy", {"counts": {}, "does not": {"ftl.spread.own_copy_counts": False}}),
    Factor("drive", levels("replay.preload", "first-reads", "footprint")),
)


CUTS = {(kind, other): FIG_10[kind, other, 1.0] for kind, other, _ in published.CUTS}


def _overall(subject: str, fact: Fact, value: float, statistic: Callable[[Any], Any], unit: str = "%") -> Overall:
    return Overall(subject, fact, value, unit, statistic=statistic, needs="any")


def _spread(facts: Mapping[str, Fact], of: Mapping[str, tuple[float, float, float]], unit: str) -> list[Overall]:
    return [
        Overall(name, facts[name], value, unit, statistic=statistic, needs="run")
        for name, values in of.items()
        for value, statistic in zip(values, STATISTICS.values(), strict=True)
    ]


EXPERIMENT = Experiment(
    FACTORS,
    28,
    [
        *(_overall("mean", CUTS[kind, other], value, mean) for kind, other, value in published.CUTS),
        *(_overall("largest", CUTS[kind, other], value, max)
          for kind, of in published.LARGEST_CUT.items() for other, value in of.items()),
        *(Quantity(kind, REDIRECTED[kind], published.REDIRECTED[kind]) for kind in KINDS),
        *(_overall("mean", REDIRECTED[kind], published.REDIRECTED_MEAN[kind], mean) for kind in KINDS),
        *_spread(EQUAL_WRITTEN, published.REDUNDANCY, "%"), *_spread(DEVIATION, published.DEVIATION, "points"),
        _overall("some workload", CHIPS_DIFFER, published.CHIPS_DIFFER, max),
    ],
    [
        *(Headline(f"{kind}s below {other}", value, CUTS[kind, other], NAMES, "means", f"{kind}s, {other}")
          for kind, other, value in published.CUTS),
        *(Headline(f"redirected {kind}s", value, REDIRECTED[kind], NAMES, "means", f"redirected {kind}s", effect=False)
          for kind, value in published.REDIRECTED_MEAN.items()),
    ],
    {
        "pages before the next": ("1", "2"),
        "units": ("die", "chip"),
        "allocation below DS-FTL": ("static", "dynamic", "least-loaded", "hipa"),
    },
    {"order": "PDWC"},
    KEEP_UP[1.0],
    for_system=for_system,
)  # fmt: skip
ITEMS = (
    sensitivity.item(PLAN, "Fig. 10, 13", WORKLOADS),
    experiment.item(EXPERIMENT, "Fig. 2, 10, 11, 13, 14", NAMES),
)
