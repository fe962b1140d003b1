"""CA-SSD: Fig. 7 on drives that begin full. An item of ours, for how full the paper's drives were is not said.

What was published gives it away. Of a page that the host writes, the traditional SSD programs `1 + g`, `g` by
collection. CA-SSD programs the unique ones, `u` (Table 2; the others are duplicates, and values that come again
after their last page was overwritten are "extremely low", Fig. 7b), and of `g` what the cut of collection leaves, so
that the cut of all writes gives `g`. For `web` that is 1.14; its victims with 33.20 of 64 valid pages (Fig. 6) say
1.08. For `mail` it is 0.12; its 47,819 erases (Fig. 7c) of a drive without a free block say 0.10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from flashtwin.papers.bench import PaperRun, Stand, reduction
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.common import (
    ALL,
    CA_SSD,
    NAMES,
    PAGE_BYTES,
    PAGES_A_BLOCK,
    TRADITIONAL,
    compared,
    cuts,
    device,
    victims,
)
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart
from flashtwin.papers.text import percent
from flashtwin.settings import Value

#: Spare pages as a share of the footprint, between which the drive is sought, and how often.
SPARE_MIN, SPARE_MAX, STEPS = 0.03, 6.0, 9
#: What CA-SSD holds at the beginning: as many pages as the traditional SSD, or those that the trace reads first.
FULL, EMPTY = "footprint", "first-reads"
#: Clocks beside the trace's own.
SPEEDS = (0.1, 1.0, 2.0, 4.0)


def traditional_wa(name: str) -> float:
    """Write amplification of the paper's traditional SSD, by Table 2 and Fig. 7b."""
    unique, left = published.TABLE_2[name][3] / 100.0, 1.0 - published.WRITES[name] / 100.0
    left_of_collection = 1.0 - published.GC_WRITES[name] / 100.0
    return 1.0 + (unique - left) / (left - left_of_collection)


def blocks_for(stand: Stand, wa: float) -> int:
    """Blocks of the drive on which the traditional SSD, full at the beginning, has this write amplification."""
    pages = stand.fact("info.footprint_pages") or 0.0
    low, high = SPARE_MIN, SPARE_MAX
    for _ in range(STEPS):
        spare = math.sqrt(low * high)
        blocks = max(64, round(pages * (1.0 + spare) / PAGES_A_BLOCK))
        found = run_on(stand, TRADITIONAL, blocks, FULL).get("write_amplification") or 0.0
        low, high = (spare, high) if found > wa else (low, spare)
    return blocks


def run_on(stand: Stand, name: str, blocks: int, holds: str, **sets: Value) -> PaperRun:
    """A system on the paper's device with this many blocks, and these full at the beginning."""
    drive = {**device(stand), "blocks_per_plane": blocks}
    return stand.run(name, **drive, **{"replay.preload": holds, **sets})


def measure_begins_full(stand: Stand) -> Facts:
    """Fig. 7 on the drive that collects as the paper's did, CA-SSD beginning full or empty."""
    blocks = blocks_for(stand, traditional_wa(stand.name))
    before = run_on(stand, TRADITIONAL, blocks, FULL)
    found: Facts = {
        "gigabytes": blocks * PAGES_A_BLOCK * PAGE_BYTES / 2**30 / stand.source.scale,
        "wa": before.get("write_amplification"),
        "victims": victims(before),
        "by_speed": {
            f"{speed:g}": reduction(
                run_on(stand, TRADITIONAL, blocks, FULL, **{"replay.speed": speed}),
                run_on(stand, CA_SSD, blocks, EMPTY, **{"replay.speed": speed}),
                ALL,
            )
            for speed in SPEEDS
        },
    }
    for holds in (FULL, EMPTY):
        after = run_on(stand, CA_SSD, blocks, holds)
        found[holds] = {**compared({TRADITIONAL: before, CA_SSD: after}), "victims": victims(after)}
    return found


def _all_cuts(facts: Mapping[str, Facts]) -> tuple[list[Claim], list[Series]]:
    """Claims and bars of everything that Fig. 7 shows."""
    claims: list[Claim] = []
    series: list[Series] = []
    for key, what, as_published in (
        ("response", "mean response time", published.RESPONSE), ("writes", "pages written", published.WRITES),
        ("gc", "pages written by collection", published.GC_WRITES), ("erases", "erases", published.ERASES),
    ):  # fmt: skip
        more, bar = cuts(facts, key, what, as_published, "the traditional SSD collected nothing")
        claims += more
        series.append(bar)
    return claims, series


def judge_begins_full(facts: Mapping[str, Facts]) -> Outcome:
    """Response, writes, writes by collection, erases, and victims of `web`; CA-SSD begins empty."""
    claims, series = _all_cuts({name: found[EMPTY] for name, found in facts.items()})
    web = facts.get("web")
    for name, value, measured in (
        (TRADITIONAL, published.VICTIMS_WEB[0], web["victims"] if web else None),
        (CA_SSD, published.VICTIMS_WEB[1], web[EMPTY]["victims"] if web else None),
    ):
        claims.append(number(f"web, {name}", "valid pages of a victim", value, measured, "pages"))
    rows = [
        [
            name, f"{found['gigabytes']:.2f}", f"{found['wa']:.2f}", begins,
            *(percent(found[holds][key]) for key in ("response", "writes", "gc", "erases")),
            *("-" if value is None else f"{value:.1f}" for value in (found["victims"], found[holds]["victims"])),
        ]
        for name, found in facts.items()
        for holds, begins in ((FULL, "full"), (EMPTY, "empty"))
    ]  # fmt: skip
    header = ["workload", "drive, GB", "traditional WA", "CA-SSD begins", "response cut", "writes cut",
              "collection cut", "erases cut", "victims hold, traditional", "CA-SSD"]  # fmt: skip
    tables = [
        {"title": "Drives that collect as the paper's traditional SSD did", "header": header, "rows": rows},
        {
            "title": "Mean response time, cut, when requests come slower or faster",
            "header": ["workload", "published", *(f"{speed:g} x" for speed in SPEEDS)],
            "rows": [
                [name, percent(published.RESPONSE[name])]
                + [percent(found["by_speed"][f"{speed:g}"]) for speed in SPEEDS]
                for name, found in facts.items()
            ],
        },
    ]
    notes = [
        f"{name}: by Table 2 and Fig. 7b the paper's traditional SSD had a write amplification of "
        f"{traditional_wa(name):.2f}; a drive of {found['gigabytes']:.2f} GB that begins full has {found['wa']:.2f}."
        for name, found in facts.items()
    ]
    return Outcome(claims, chart(bars(NAMES, series, "cut, %")), notes, tables)


ITEMS = (
    Item("begins-full", "Fig. 7 on drives that begin full", "Fig. 6, 7", NAMES, measure_begins_full, judge_begins_full),
)
