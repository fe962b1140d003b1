"""Shared by the items of the CA-SSD paper: its drive, its two systems, and their comparison."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import PaperRun, Stand, reduction
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.setup import SETUP
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Series
from flashtwin.papers.text import column
from flashtwin.settings import Value

NAMES, TEN = published.NAMES, published.TEN

#: Blocks of a GB: 64 pages of 4 KB (Table 1, SLC2).
BLOCKS_A_GB = 4096
PAGE_BYTES, PAGES_A_BLOCK = 4096.0, 64
ALL = "response.all.mean_ns"
TRADITIONAL, CA_SSD = "conventional", "ca-ssd-inverted"


def device(stand: Stand) -> dict[str, Value]:
    """The paper's single plane, as large as the paper's drive at the workload's scale."""
    blocks = published.SSD_GB.get(stand.name, 4) * BLOCKS_A_GB * stand.source.scale
    return {**SETUP.sets, "blocks_per_plane": max(64, round(blocks))}


def pair(stand: Stand, drive: dict[str, Value] | None = None, **sets: Value) -> dict[str, PaperRun]:
    """The traditional SSD and CA-SSD, on the paper's drive or another."""
    drive = drive or device(stand)
    return stand.runs({TRADITIONAL: stand.system(TRADITIONAL, **drive), CA_SSD: stand.system(CA_SSD, **drive, **sets)})


def compared(runs: Mapping[str, PaperRun]) -> Facts:
    """Everything of Fig. 7: cuts of response time, writes, writes by collection and erases; with their totals."""
    before, after = runs[TRADITIONAL], runs[CA_SSD]
    found: Facts = {
        "response": reduction(before, after, ALL),
        "writes": reduction(before, after, "pages_programmed"),
        "gc": reduction(before, after, "flash_writes.gc"),
        "erases": reduction(before, after, "erases.total"),
    }
    for name, run in runs.items():
        found[name] = {
            "mean": run.get(ALL), "deviation": run.get("response.all.stddev_ns"), "gc": run.get("flash_writes.gc"),
            "programmed": run.get("pages_programmed"), "erases": run.get("erases.total"),
        }  # fmt: skip
    return found


def victims(run: PaperRun) -> float | None:
    """Mean valid pages of the blocks collected; None where none was."""
    rows = run.rows("gc_victims")
    collected = sum(row["victims"] for row in rows)
    return sum(row["victims"] * row["valid_pages"] for row in rows) / collected if collected else None


def cuts(
    facts: Mapping[str, Facts], key: str, what: str, as_published: Mapping[str, float], none: str = ""
) -> tuple[list[Claim], Series]:
    """Claims that CA-SSD cuts a figure, and their bars."""
    claims = [
        number(name, f"{what}, cut", as_published[name], facts.get(name, {}).get(key), effect=True,
               why=none if name in facts and facts[name][key] is None else "")
        for name in NAMES
    ]  # fmt: skip
    return claims, (what.removeprefix("pages "), column(facts, NAMES, key), [as_published[name] for name in NAMES])
