"""DS-FTL: Fig. 10 and 13 under each choice made otherwise, and every choice that the paper leaves open."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from flashtwin.experiments import Factor, levels
from flashtwin.papers import designs, sensitivity
from flashtwin.papers.designs import CHOICES, Experiment, Headline, choice
from flashtwin.papers.ds_ftl import items
from flashtwin.papers.ds_ftl.items import CUTS, FIG_10, KINDS, NAMES, OPEN_ORDER, REDIRECTED, redirected
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
            f"{kind}s below {other}{faster}", value, FIG_10[kind, other, speed], WORKLOADS, f"DS-FTL below{faster}",
            f"{kind}s {other}", whole=True,
        )  # fmt: skip
    for name in ("webmail", "home3"):
        for kind in KINDS:
            yield Headline(
                f"redirected {kind}s, {name}{faster}", REDIRECTED[kind][name], redirected(kind, speed), name,
                f"redirected pages{faster}", f"{kind}s {name}", effect=False,
            )  # fmt: skip


PLAN = Sensitivity(
    "Fig. 10, 13", WORKLOADS, why=OPEN_ORDER,
    headlines=[one for speed in (1.0, 4000.0) for one in _headlines(speed)],
    left_out={
        "hashing": "contents are hashed while pages wait in DRAM, which costs a write nothing.",
        "copies": sensitivity.NO_COPIES,
        "renewal": sensitivity.NO_DAYS,
    },
    decided=("concurrency = die", "write completes = programmed", "order = PDWC"),
    note="Three of the eight workloads stand for all, to spare time: `online`, whose reads gain most, and `webmail` "
    "and `home3`, whose pages are redirected most and least. Cuts are means of the three; the published ones are "
    "of eight. The allocation is that below DS-FTL's own (4.2.1); the schemes that it is compared with stay what "
    "they are. Merging of `same-page` takes that of twins from DS-FTL and leaves the others as they are.",
    for_system=for_system,
)  # fmt: skip
EXPERIMENT = Experiment(
    "Fig. 2, 10, 11, 13, 14", NAMES, why=OPEN_ORDER,
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
        *(replace(one, needs="any") for one in (*items.cuts("read"), *items.cuts("write"), *items.FIG_13_MEANS)),
        *items.FIG_13,
        *(replace(one, needs="run") for one in (*items.FIG_11, *items.FIG_14)),
        items.CHIPS_DIFFER,
    ],
    headlines=[
        *(Headline(f"{kind}s below {other}", value, FIG_10[kind, other, 1.0], NAMES) for kind, other, value in CUTS),
        *(Headline(f"redirected {kind}s", value, items.REDIRECTED_SHARES[kind], NAMES, effect=False)
          for kind, value in items.REDIRECTED_MEAN.items()),
    ],
    few={"stripe": ("1", "2"), "concurrency": ("die", "chip"), "allocation": tuple(CHOICES["allocation"])},
    fixed={"order": "PDWC"},
    keep_up=items.KEEP_UP[1.0],
    for_system=for_system,
)  # fmt: skip
ITEMS = (PLAN, EXPERIMENT)
