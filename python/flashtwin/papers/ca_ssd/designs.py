"""CA-SSD: Fig. 7 under each choice made otherwise, and every choice that the paper leaves open."""

from collections.abc import Callable, Mapping

from flashtwin.experiments import Factor, levels
from flashtwin.papers import designs, sensitivity
from flashtwin.papers.bench import Stand
from flashtwin.papers.ca_ssd import results
from flashtwin.papers.ca_ssd.results import CA_SSD, CUTS, EMPTY, EMPTY_DRIVE, FIG_7, FULL, SHORTER, SHORTER_MS
from flashtwin.papers.ca_ssd.workloads import NAMES
from flashtwin.papers.designs import Experiment, Headline, choice
from flashtwin.papers.facts import all_keep_up
from flashtwin.papers.model import Quantity
from flashtwin.papers.sensitivity import Sensitivity
from flashtwin.settings import Value

TITLES = {"response": "mean response", "writes": "pages written", "gc": "collection", "erases": "erases"}
ONE_PLANE = "the drive has one plane, so nothing works beside it and there is no place to choose."
PLAN = Sensitivity(
    "Fig. 7", NAMES, why=EMPTY_DRIVE,
    headlines=[
        Headline(f"{TITLES[key]} cut, {name}", CUTS[key][2][name], FIG_7[key], name, f"{TITLES[key]}, cut", name)
        for key in ("response", "writes", "erases")
        for name in NAMES
    ],
    left_out={
        **dict.fromkeys(("concurrency", "load", "allocation", "order"), ONE_PLANE),
        "idle rule": sensitivity.NO_IDLE_WORK,
        "copies": sensitivity.NO_COPIES,
        "ties": sensitivity.NO_REDIRECTION,
        "renewal": sensitivity.NO_DAYS,
    },
    decided=("merging = none", "write completes = programmed", "hashing = 1 lane"),
)  # fmt: skip

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
EXPERIMENT = Experiment(
    "Fig. 6, 7, 5.2", NAMES, why=EMPTY_DRIVE,
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
        *(results.cut_claims(FIG_7, key) for key in CUTS),
        Quantity("shorter by", SHORTER, {"homes": SHORTER_MS}, "ms", effect=True),
        results.FEWER_ERASES,
        *(Quantity(name, results.VICTIMS[name], {"web": value}, "pages")
          for name, value in results.VICTIMS_WEB.items()),
    ],
    headlines=[
        *(Headline(f"{title} cut, mean", sum(CUTS[key][2].values()) / len(NAMES), FIG_7[key], NAMES)
          for key, title in TITLES.items()),
        Headline("homes, 16 K entries: ms shorter", SHORTER_MS, SHORTER, "homes"),
    ],
    few={
        "rate": ("1 times", "0.25 times", "0.5 times", "2 times"), "drive": tuple(DRIVES), "victim": ("greedy", "fifo"),
    },
    keep_up=all_keep_up(results.AFTER),
    worked={("drive", name): _begins_full(holds) for name, holds in DRIVES.items() if holds},
    for_system=for_system,
)  # fmt: skip
ITEMS = (PLAN, EXPERIMENT)
