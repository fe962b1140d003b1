"""The drive, the two systems and the figures that the items of the CA-SSD paper share."""

from __future__ import annotations

import math
from collections.abc import Mapping

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.published import SETUP
from flashtwin.papers.facts import Fact, Run, Worked, of_runs, saved, total
from flashtwin.papers.model import Quantity, gain
from flashtwin.settings import Value

NAMES, TEN = published.NAMES, published.TEN
#: Blocks of a GB: 64 pages of 4 KB (Table 1, SLC2).
BLOCKS_A_GB = 4096
PAGE_BYTES, PAGES_A_BLOCK = 4096.0, 64
ALL = "response.all.mean_ns"
TRADITIONAL, CA_SSD = "conventional", "ca-ssd-inverted"
SYSTEMS = (TRADITIONAL, CA_SSD)
CUTS = {
    "response": ("mean response time", ALL),
    "writes": ("pages written", "pages_programmed"),
    "gc": ("pages written by collection", "flash_writes.gc"),
    "erases": ("erases", "erases.total"),
}
NOTHING = "the traditional SSD collected nothing"

#: Of a drive that begins full: spare pages as a share of the footprint, between which it is sought, and how often.
SPARE_MIN, SPARE_MAX, STEPS = 0.03, 6.0, 9
#: What CA-SSD holds at the beginning: as many pages as the traditional SSD, or those that the trace reads first.
FULL, EMPTY = "footprint", "first-reads"


def device(stand: Stand) -> dict[str, Value]:
    """The paper's single plane, as large as the paper's drive at the workload's scale."""
    blocks = published.SSD_GB.get(stand.name, 4) * BLOCKS_A_GB * stand.source.scale
    return {**SETUP.sets, "blocks_per_plane": max(64, round(blocks))}


def on_device(system: str, *worked: Worked, **sets: Value) -> Run:
    """A system on the paper's drive."""
    return Run(system, tuple(sets.items()), (device, *worked))


def entries(full: int) -> Worked:
    """A size of the fingerprint store, at the workload's scale."""
    return lambda stand: {"fingerprint_entries": max(1, round(full * stand.source.scale))}


def cuts(before: Run, after: Run) -> dict[str, Fact]:
    """By how many percent CA-SSD cuts each figure of Fig. 7."""
    return {key: saved(before, after, path) for key, (_, path) in CUTS.items()}


def cut_claims(facts: Mapping[str, Fact], key: str, why: str = "") -> Quantity:
    """A published cut."""
    return gain(f"{CUTS[key][0]}, cut", facts[key], published.CUTS[key], why)


def cut_bars(facts: Mapping[str, Fact], *keys: str) -> dict[str, tuple[Fact, Mapping[str, float]]]:
    """Cuts beside the published ones."""
    return {CUTS[key][0].removeprefix("pages "): (facts[key], published.CUTS[key]) for key in keys}


def victims(run: PaperRun) -> float | None:
    """Mean valid pages of the blocks collected; None where none was."""
    rows = run.rows("gc_victims")
    collected = sum(row["victims"] for row in rows)
    return sum(row["victims"] * row["valid_pages"] for row in rows) / collected if collected else None


def victims_of(run: Run) -> Fact:
    """The same of a run."""
    return of_runs(victims, run)


def traditional_wa(name: str) -> float:
    """Write amplification of the paper's traditional SSD, by Table 2 and Fig. 7b.

    What was published gives it away. Of a page that the host writes, the traditional SSD programs `1 + g`, `g` by
    collection. CA-SSD programs the unique ones, `u` (Table 2; the others are duplicates, and values that come again
    after their last page was overwritten are "extremely low", Fig. 7b), and of `g` what the cut of collection leaves,
    so that the cut of all writes gives `g`. For `web` that is 1.14; its victims with 33.20 of 64 valid pages (Fig. 6)
    say 1.08. For `mail` it is 0.12; its 47,819 erases (Fig. 7c) of a drive without a free block say 0.10.
    """
    unique, left = published.TABLE_2[name][3] / 100.0, 1.0 - published.CUTS["writes"][name] / 100.0
    left_of_collection = 1.0 - published.CUTS["gc"][name] / 100.0
    return 1.0 + (unique - left) / (left - left_of_collection)


def blocks_for(stand: Stand) -> int:
    """Blocks of the drive on which the traditional SSD, full at the beginning, has this write amplification."""
    if blocks_for not in stand.memo:
        stand.memo[blocks_for] = _blocks_for(stand, traditional_wa(stand.name))
    return int(stand.memo[blocks_for])


def _blocks_for(stand: Stand, wa: float) -> int:
    pages = stand.fact("info.footprint_pages") or 0.0
    low, high = SPARE_MIN, SPARE_MAX
    for _ in range(STEPS):
        spare = math.sqrt(low * high)
        blocks = max(64, round(pages * (1.0 + spare) / PAGES_A_BLOCK))
        drive = {**device(stand), "blocks_per_plane": blocks, "replay.preload": FULL}
        found = stand.run(TRADITIONAL, **drive).get("write_amplification") or 0.0
        low, high = (spare, high) if found > wa else (low, spare)
    return blocks


def begins(system: str, holds: str, *worked: Worked, **sets: Value) -> Run:
    """A system on the drive that collects as the paper's did, with these pages on it at the beginning."""
    found: Worked = lambda stand: {"blocks_per_plane": blocks_for(stand)}  # noqa: E731
    return on_device(system, found, *worked, **{"replay.preload": holds, **sets})


def wa(run: Run) -> Fact:
    """Write amplification."""
    return total(run, "write_amplification")
