"""CA-SSD: Fig. 7 under each choice made otherwise, and every choice that the paper leaves open."""

from collections.abc import Callable, Mapping

from flashtwin.experiments import Factor, levels
from flashtwin.papers import designs
from flashtwin.papers.bench import Stand
from flashtwin.papers.ca_ssd import results
from flashtwin.papers.ca_ssd.results import CA_SSD, EMPTY, FIG_7, FULL, PUBLISHED, SHORTER, SHORTER_MS, VICTIMS
from flashtwin.papers.ca_ssd.workloads import NAMES, TABLE
from flashtwin.papers.designs import Experiment, Headline, choice
from flashtwin.papers.facts import all_keep_up
from flashtwin.papers.model import Quantity, gain
from flashtwin.papers.sensitivity import Sensitivity
from flashtwin.settings import Value

TITLES = {"response": "mean response", "writes": "pages written", "gc": "collection", "erases": "erases"}
PLAN = TABLE.item("sensitivity", kind=Sensitivity, headlines=[
    Headline(f"{TITLES[key]} cut, {name}", FIG_7[key], PUBLISHED[key][name], of=(name,), panel=f"{TITLES[key]}, cut",
             group=name)
    for key in ("response", "writes", "erases")
    for name in NAMES
])  # fmt: skip

#: A level that only CA-SSD has, as a key of ours: what lies on its drive at the beginning.
BEGINS = "ca-ssd begins"


def _begins_full(ca_ssd: str) -> Callable[[Stand], Mapping[str, Value]]:
    return lambda stand: {"blocks_per_plane": results.blocks_for(stand), "replay.preload": FULL, BEGINS: ca_ssd}


def for_system(system: str, sets: Mapping[str, Value]) -> Mapping[str, Value]:
    """What lies on CA-SSD's drive is its own."""
    begins = {"replay.preload": sets[BEGINS]} if system == CA_SSD and BEGINS in sets else {}
    return {key: value for key, value in sets.items() if key != BEGINS} | begins


#: The drive at the beginning. One plane has no order, no units, no load.
DRIVES = {"has room": None, "begins full": FULL, "begins full, CA-SSD's empty": EMPTY}
EXPERIMENT = TABLE.item(
    "set-ups", kind=Experiment,
    factors=(
        choice("rate", "1 times", "0.25 times", "0.5 times", "2 times"),
        Factor("drive", {name: {} for name in DRIVES}),
        designs.write_completes("programmed", "transferred", "hashed", caches=["64 pages", "8,192 pages"]),
        choice("hashing", "1 lane", "a pipeline"),
        choice("buffer reads"),
        choice("merging"),
        choice("suspension"),
        Factor("victim", levels("ftl.gc.victim", "greedy", "fifo", "cost-benefit")),
        Factor("collection", {"8 pages a write": {"ftl.gc.step_pages": 8},
                              "a block at once": {"ftl.gc.step_pages": 64}}),
        Factor("wear rule", levels("ftl.wear.policy", "dynamic", "static")),
    ),
    rows=32,
    quantities=[
        *(gain(title, FIG_7[key], PUBLISHED[key]) for key, title in TITLES.items()),
        Quantity("shorter by", SHORTER, {"homes": SHORTER_MS}, "ms", effect=True),
        gain("16 K entries: erases", results.FEWER_ERASES, TABLE.values("erases, 16 K")),
        *(Quantity(name, fact, {"web": TABLE.published[f"victims {name}"]}, "pages") for name, fact in VICTIMS.items()),
    ],
    headlines=[
        *(Headline(f"{title} cut, mean", FIG_7[key], sum(PUBLISHED[key].values()) / len(NAMES), of=NAMES)
          for key, title in TITLES.items()),
        Headline("homes, 16 K entries: ms shorter", SHORTER, SHORTER_MS, of=("homes",)),
    ],
    few={
        "rate": ("1 times", "0.25 times", "0.5 times", "2 times"), "drive": tuple(DRIVES), "victim": ("greedy", "fifo"),
    },
    keep_up=all_keep_up(results.AFTER),
    worked={("drive", name): _begins_full(holds) for name, holds in DRIVES.items() if holds},
    for_system=for_system,
)  # fmt: skip
ITEMS = (PLAN, EXPERIMENT)
