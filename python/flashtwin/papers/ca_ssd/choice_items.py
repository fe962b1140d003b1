"""CA-SSD: Fig. 7 under each choice made otherwise, and every choice that the paper leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flashtwin.experiments import Factor, levels
from flashtwin.papers import experiment, sensitivity
from flashtwin.papers.bench import Stand
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.result_items import (
    AFTER,
    ALL,
    BEFORE,
    CA_SSD,
    EMPTY,
    ERASES_16K,
    FIG_7,
    FULL,
    NAMES,
    SMALLEST,
    SYSTEMS,
    VICTIMS,
    blocks_for,
)
from flashtwin.papers.experiment import Experiment
from flashtwin.papers.facts import all_keep_up, derived, minus, total
from flashtwin.papers.model import Quantity, gain
from flashtwin.papers.sensitivity import Headline, Sensitivity
from flashtwin.settings import Value

TITLES = {"response": "mean response", "writes": "pages written", "gc": "collection", "erases": "erases"}


ONE_PLANE = "the drive has one plane, so nothing works beside it and there is no place to choose."
PLAN = Sensitivity(
    [
        Headline(f"{TITLES[key]} cut, {name}", published.CUTS[key][name], FIG_7[key], name, f"{TITLES[key]}, cut", name)
        for key in ("response", "writes", "erases")
        for name in NAMES
    ],
    {
        **dict.fromkeys(("concurrency", "load", "allocation", "order"), ONE_PLANE),
        "idle rule": sensitivity.NO_IDLE_WORK,
        "copies": sensitivity.NO_COPIES,
    },
    ("merging = none", "write completes = programmed", "hashing = 1 lane"),
)

#: A level that only CA-SSD has, as a key of ours: what lies on its drive at the beginning.
BEGINS = "ca-ssd begins"
#: Everything that the paper leaves open; the first level is the presets'. One plane has no order, no units, no load.
FACTORS = (
    experiment.rates(1.0, 0.25, 0.5, 2.0),
    Factor("drive", {"has room": {}, "begins full": {}, "begins full, CA-SSD's empty": {}}),
    experiment.write_completes(
        "programmed", "transferred", "hashed", caches={f"in DRAM of {pages} pages": pages for pages in (64, 8192)}
    ),
    experiment.HASH_UNIT,
    experiment.FROM_RAM,
    experiment.MERGED,
    experiment.SUSPENSION,
    Factor("victim", levels("ftl.gc.victim", "greedy", "fifo", "cost-benefit")),
    Factor("collection", {"8 pages a write": {"ftl.gc.step_pages": 8}, "a block at once": {"ftl.gc.step_pages": 64}}),
    Factor("wear rule", levels("ftl.wear.policy", "dynamic", "static")),
)


def _begins_full(ca_ssd: str) -> Callable[[Stand], Mapping[str, Value]]:
    return lambda stand: {"blocks_per_plane": blocks_for(stand), "replay.preload": FULL, BEGINS: ca_ssd}


def for_system(system: str, sets: Mapping[str, Value]) -> Mapping[str, Value]:
    """What lies on CA-SSD's drive is its own."""
    begins = {"replay.preload": sets[BEGINS]} if system == CA_SSD and BEGINS in sets else {}
    return {key: value for key, value in sets.items() if key != BEGINS} | begins


SHORTER = derived(lambda ns: None if ns is None else ns / 1e6, minus(total(BEFORE, ALL), total(SMALLEST, ALL)))
EXPERIMENT = Experiment(
    FACTORS,
    32,
    [
        *(gain(key, FIG_7[key], values) for key, values in published.CUTS.items()),
        Quantity("shorter by", SHORTER, {"homes": published.SHORTER_MS}, "ms", effect=True),
        gain("erases, 16 K", ERASES_16K, {"homes": published.ERASES_HOMES_16K}),
        *(Quantity(name, VICTIMS[name], {"web": value}, "pages")
          for name, value in zip(SYSTEMS, published.VICTIMS_WEB, strict=True)),
    ],
    [
        *(Headline(f"{title} cut, mean", sum(published.CUTS[key].values()) / len(NAMES), FIG_7[key], NAMES, "means",
                   f"{title} cut") for key, title in TITLES.items()),
        Headline("homes, 16 K entries: ms shorter", published.SHORTER_MS, SHORTER, "homes", "means", "ms shorter"),
    ],
    {
        "rate": ("1 times", "0.25 times", "0.5 times", "2 times"),
        "drive": ("has room", "begins full", "begins full, CA-SSD's empty"),
        "victim": ("greedy", "fifo"),
    },
    {},
    all_keep_up(AFTER),
    worked={
        ("drive", "begins full"): _begins_full(FULL),
        ("drive", "begins full, CA-SSD's empty"): _begins_full(EMPTY),
    },
    for_system=for_system,
)  # fmt: skip
ITEMS = (sensitivity.item(PLAN, "Fig. 7", NAMES), experiment.item(EXPERIMENT, "Fig. 6, 7, 5.2", NAMES))
