"""DS-FTL: Fig. 10 and 13 under each choice made otherwise, and every choice that the paper leaves open."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from flashtwin.experiments import Factor, levels
from flashtwin.papers import designs
from flashtwin.papers.designs import CHOICES, Experiment, Headline, choice
from flashtwin.papers.ds_ftl import items
from flashtwin.papers.ds_ftl.items import CUTS, FIG_10, FIG_10_ITEMS, KINDS, NAMES, REDIRECTED, TABLE, redirected
from flashtwin.papers.model import Item, Needs, Overall, Quantity, all_quantities
from flashtwin.papers.sensitivity import Sensitivity
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
    for kind, other, value in CUTS:
        yield Headline(
            f"{kind}s below {other}{faster}", FIG_10[kind, other, speed], value, of=WORKLOADS, needs="figures",
            panel=f"DS-FTL below{faster}", group=f"{kind}s {other}",
        )  # fmt: skip
    for name in ("webmail", "home3"):
        for kind in KINDS:
            yield Headline(
                f"redirected {kind}s, {name}{faster}", redirected(kind, speed),
                TABLE.values(f"redirected {kind}")[name], effect=False, of=(name,),
                panel=f"redirected pages{faster}", group=f"{kind}s {name}",
            )  # fmt: skip


PLAN = TABLE.item(
    "sensitivity", kind=Sensitivity, headlines=[one for speed in (1.0, 4000.0) for one in _headlines(speed)],
    for_system=for_system,
)  # fmt: skip


def _needing(needs: Needs, *of: Item) -> list[Quantity]:
    """The quantities of items, those over the workloads from as many as this run has."""
    return [
        replace(one, needs=needs) if isinstance(one, Overall) else one for item in of
        for one in all_quantities(item.claims)
    ]  # fmt: skip


EXPERIMENT = TABLE.item(
    "set-ups", kind=Experiment,
    factors=(
        choice("rate", "1 times", "10 times"),
        choice("order", "CWDP", "WDPC", "DPWC", "PDWC"),
        choice("stripe"),
        # That below DS-FTL's own.
        choice("allocation"),
        choice("concurrency"),
        designs.write_completes("programmed", "transferred", caches=["64 pages", "8,192 pages"]),
        Factor("merging", {"as 4.3.2 says": {}, "none": CHOICES["merging"]["none"]}),
        choice("suspension"),
        choice("load"),
        choice("idle rule", "1 ms", "0 ms", "10 ms"),
        Factor("place of duplicates", levels("ftl.spread.place", "round-robin", "least-loaded", "same-place")),
        Factor("own copy", {"counts": {}, "does not": {"ftl.spread.own_copy_counts": False}}),
        choice("preload", "first-reads", "footprint"),
    ),
    rows=28,
    quantities=[
        *_needing("any", FIG_10_ITEMS["read"], FIG_10_ITEMS["write"], items.FIG_13),
        *_needing("run", items.FIG_11, items.FIG_14), *items.FIG_2.claims,
    ],
    headlines=[
        *(Headline(f"{kind}s below {other}", FIG_10[kind, other, 1.0], value, of=NAMES) for kind, other, value in CUTS),
        *(Headline(f"redirected {kind}s", fact, TABLE.published[f"redirected {kind}, mean"], effect=False, of=NAMES)
          for kind, fact in REDIRECTED.items()),
    ],
    few={"stripe": ("1", "2"), "concurrency": ("die", "chip"), "allocation": tuple(CHOICES["allocation"])},
    fixed={"order": "PDWC"},
    keep_up=items.KEEP_UP[1.0],
    for_system=for_system,
)  # fmt: skip
ITEMS = (PLAN, EXPERIMENT)
