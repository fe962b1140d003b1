"""CA-SSD: every choice that the paper leaves open, against the numbers of Fig. 6 and 7 and Section 5.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flashtwin.experiments import Factor
from flashtwin.papers import experiment
from flashtwin.papers.bench import Stand, keeps_up, reduction
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.common import ALL, CA_SSD, NAMES, TRADITIONAL, compared, device, victims
from flashtwin.papers.ca_ssd.drive_items import EMPTY, FULL, blocks_for, traditional_wa
from flashtwin.papers.ca_ssd.result_items import entries
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.experiment import Experiment
from flashtwin.papers.model import Facts, mean
from flashtwin.papers.sensitivity import Headline
from flashtwin.papers.text import column
from flashtwin.settings import Value

#: The quantities compared, with the published values by workload.
CUTS = {"response": published.RESPONSE, "writes": published.WRITES, "gc": published.GC_WRITES,
        "erases": published.ERASES}  # fmt: skip
#: A level that only CA-SSD has, as a key of ours: what lies on its drive at the beginning.
BEGINS = "ca-ssd begins"


def _levels(key: str, *values: Value) -> dict[str, Mapping[str, Value]]:
    return {str(value): {key: value} for value in values}


#: Everything that the paper leaves open; the first level is the presets'. One plane has no order, no units, no load.
FACTORS = (
    Factor("rate", {f"{speed:g} times": {"replay.speed": speed} for speed in (1.0, 0.25, 0.5, 2.0)}),
    Factor("drive", {"has room": {}, "begins full": {}, "begins full, CA-SSD's empty": {}}),
    Factor("write completes", {
        **{rule: {"engine.write_completes": rule} for rule in ("programmed", "transferred", "hashed")},
        **{f"in DRAM of {pages} pages": {"engine.write_completes": "programmed", "engine.write_cache_pages": pages}
           for pages in (64, 8192)},
    }),
    Factor("hash unit", {"1 lane": {"engine.hash_lanes": 1}, "pipeline": {"engine.hash_lanes": 0}}),
    Factor("reads from RAM", _levels("engine.buffer_reads", True, False)),
    Factor("merged reads", _levels("engine.merge_reads", "none", "same-page")),
    Factor("suspension", _levels("engine.suspend", "none", "program-erase")),
    Factor("victim", _levels("ftl.gc.victim", "greedy", "fifo", "cost-benefit")),
    Factor("collection", {"8 pages a write": {"ftl.gc.step_pages": 8}, "a block at once": {"ftl.gc.step_pages": 64}}),
    Factor("wear rule", _levels("ftl.wear.policy", "dynamic", "static")),
)  # fmt: skip
#: The factors that the screening found to matter, all combinations.
FEW = {
    "rate": ("1 times", "0.25 times", "0.5 times", "2 times"),
    "drive": ("has room", "begins full", "begins full, CA-SSD's empty"),
    "victim": ("greedy", "fifo"),
}
FIXED = {factor.name: factor.default for factor in FACTORS}
ROWS = 32


def _begins_full(ca_ssd: str) -> Callable[[Stand], Mapping[str, Value]]:
    """Drives as `begins-full` finds them, with this much data on CA-SSD's."""
    return lambda stand: {
        "blocks_per_plane": blocks_for(stand, traditional_wa(stand.name)), "replay.preload": FULL, BEGINS: ca_ssd,
    }  # fmt: skip


def measure(stand: Stand, sets: Mapping[str, Value]) -> Facts | None:
    """The numbers of one workload; None on a drive that does not keep up."""
    keys = {**device(stand), "replay.speed": 1.0, **sets}
    begins = keys.pop(BEGINS, None)
    on_ca_ssd = keys if begins is None else {**keys, "replay.preload": begins}
    runs = stand.runs({TRADITIONAL: stand.preset(TRADITIONAL, **keys), CA_SSD: stand.preset(CA_SSD, **on_ca_ssd)})
    if not keeps_up(runs[CA_SSD], float(str(keys["replay.speed"]))):
        return None
    found: Facts = compared(runs)
    found |= {f"victims {name}": victims(run) for name, run in runs.items()}
    if stand.name == "homes":
        small = entries(stand, min(published.RAM_MB))
        limited = stand.runs({CA_SSD: stand.preset(CA_SSD, **on_ca_ssd, fingerprint_entries=small)})[CA_SSD]
        before, after = runs[TRADITIONAL].get(ALL), limited.get(ALL)
        found["shorter"] = None if before is None or after is None else (before - after) / 1e6
        found["erases_16k"] = reduction(runs[TRADITIONAL], limited, "erases.total")
    return found


def claims(facts: Mapping[str, Facts]) -> list[Claim]:
    """All published numbers that one set-up gives."""
    found = [
        number(name, key, value, facts.get(name, {}).get(key), effect=True)
        for key, of in CUTS.items()
        for name, value in of.items()
    ]
    homes, web = facts.get("homes", {}), facts.get("web", {})
    found.append(number("homes", "16 K entries: shorter by", published.SHORTER_MS, homes.get("shorter"), "ms",
                        effect=True))  # fmt: skip
    found.append(number("homes", "16 K entries: erases", published.ERASES_HOMES_16K, homes.get("erases_16k"),
                        effect=True))  # fmt: skip
    for name, value in zip((TRADITIONAL, CA_SSD), published.VICTIMS_WEB, strict=True):
        found.append(number("web", f"{name}: valid pages of a victim", value, web.get(f"victims {name}"), "pages"))
    return found


def _mean(key: str) -> Callable[[Mapping[str, Facts]], float | None]:
    return lambda facts: mean(column(facts, NAMES, key)) if facts else None


def _alone(name: str, key: str) -> Callable[[Mapping[str, Facts]], float | None]:
    return lambda facts: facts.get(name, {}).get(key)


TITLES = {
    "response": "mean response cut",
    "writes": "pages written cut",
    "gc": "collection cut",
    "erases": "erases cut",
}
PLAN = Experiment(
    FACTORS,
    ROWS,
    measure,
    claims,
    [
        *(
            Headline(f"{TITLES[key]}, mean", sum(of.values()) / len(of), _mean(key), panel="means", group=TITLES[key])
            for key, of in CUTS.items()
        ),
        Headline("homes, 16 K entries: ms shorter", published.SHORTER_MS, _alone("homes", "shorter"), panel="means",
                 group="ms shorter"),
    ],
    FEW,
    FIXED,
    worked={
        ("drive", "begins full"): _begins_full(FULL),
        ("drive", "begins full, CA-SSD's empty"): _begins_full(EMPTY),
    },
)  # fmt: skip
ITEM = experiment.item(PLAN, "Fig. 6, 7, 5.2", NAMES)
