"""CA-SSD: the gain of deduplication. Fig. 6 to 8, the size of the store, and drives that begin full."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.published import SETUP
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.facts import Fact, Run, Worked, derived, minus, of_runs, of_trace, saved, total
from flashtwin.papers.model import (
    BarPanel,
    ByWorkload,
    Item,
    Overall,
    Quantity,
    WorkloadTable,
    claims_of,
    column,
    gain,
    lines,
    percent,
    table,
)
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


BEFORE, AFTER = (on_device(name) for name in SYSTEMS)
RUNS = {TRADITIONAL: BEFORE, CA_SSD: AFTER}
FIG_7 = cuts(BEFORE, AFTER)


def _curve(run: PaperRun) -> tuple[list[float], list[float]]:
    rows = run.rows("gc_victims")
    shares = np.cumsum([row["victims"] for row in rows]) / max(1, sum(row["victims"] for row in rows))
    return [float(row["valid_pages"]) for row in rows], shares.tolist()


VICTIMS = {name: victims_of(run) for name, run in RUNS.items()}
CURVES = {name: of_runs(_curve, run) for name, run in RUNS.items()}


def _panels_fig_6(facts: ByWorkload) -> list[dict[str, Any]]:
    series = [(name, *facts["web"][curve]) for name, curve in CURVES.items() if facts["web"][curve][0]]
    return [lines(series, "valid pages", "share of the victims")] if series else []


#: Mean and deviation of response times; no number of the variance is given.
MEAN, DEVIATION = ({name: total(run, path) for name, run in RUNS.items()} for path in (ALL, "response.all.stddev_ns"))
VARIANCE = derived(
    lambda before, after: None if not before or after is None else 100.0 * (1.0 - (after / before) ** 2),
    *DEVIATION.values(),
)  # fmt: skip


def _micro(ns: float | None) -> str:
    return "–" if ns is None else f"{ns / 1e3:,.1f} µs"


def _tables_fig_7a(facts: ByWorkload) -> list[dict[str, Any]]:
    rows = [
        [name, system, _micro(found[MEAN[system]]), _micro(found[DEVIATION[system]])]
        for name, found in facts.items()
        for system in SYSTEMS
    ]
    return [table("Measured", ["workload", "system", "mean", "standard deviation"], rows)]


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


ERASES = {name: (total(run, "erases.total"), _count) for name, run in RUNS.items()}

STORES = {full: on_device(CA_SSD, entries(full)) for full in published.RAM_MB}
BY_SIZE = {f"{full // 1024} K": saved(BEFORE, run, ALL) for full, run in STORES.items()}
BY_SIZE |= {"unlimited": FIG_7["response"]}
SMALLEST = STORES[min(published.RAM_MB)]
ERASES_16K = saved(BEFORE, SMALLEST, "erases.total")
RAM = {
    full: derived(
        lambda size, scale: 0.0 if size is None else size / scale / 2**20,
        total(run, "ram.fingerprint_store_bytes"), of_trace(lambda stand: stand.source.scale),
    )
    for full, run in STORES.items()
}  # fmt: skip


def _claims_cache(facts: ByWorkload) -> list[Claim]:
    claims = []
    for name, unlimited in zip(NAMES, column(facts, NAMES, BY_SIZE["unlimited"]), strict=True):
        measured = None if unlimited is None else facts[name][BY_SIZE["128 K"]]
        title = "128 K entries: response cut (as unlimited)"
        claims.append(Claim(name, title, unlimited, unlimited, measured, effect=unlimited is not None))
    small = {"homes": published.ERASES_HOMES_16K}
    sizes = [
        Overall("RAM of the store", RAM[full], size, "MB", False, "", f"{full // 1024} K entries", max, "any")
        for full, size in published.RAM_MB.items()
    ]
    return claims + claims_of([gain("16 K entries: erases, cut", ERASES_16K, small), *sizes], facts, NAMES)


def measure_fig_8(stand: Stand) -> list[float | None]:
    """The trace's requests with contents drawn by Zipf's law, from as many values as pages are written."""
    written = max(round((stand.fact("info.write_bytes") or 0.0) / PAGE_BYTES), 1)
    runs = {"base": BEFORE.on(stand)} | {
        f"{exponent}": on_device(CA_SSD, **{"replay.content": f"zipf({exponent},{written})"}).on(stand)
        for exponent in published.EXPONENTS
    }
    base, *others = (run.get(ALL) for run in stand.runs(runs).values())
    return [after / base if base and after is not None else None for after in others]


RATIOS = of_trace(measure_fig_8)
SLOWER = derived(lambda ratios: None if ratios[0] is None else (ratios[0] - 1.0) * 100.0, RATIOS)
FASTER = derived(lambda ratios: None if ratios[-1] is None else (1.0 - ratios[-1]) * 100.0, RATIOS)
TIMES_AS_FAST = derived(lambda ratios: 1.0 / ratios[-1] if ratios[-1] else None, RATIOS)


def _panels_fig_8(facts: ByWorkload) -> list[dict[str, Any]]:
    series = [(name, list(published.EXPONENTS), facts[name][RATIOS]) for name in TEN if name in facts]
    return [lines(series, "Zipf exponent a", "CA-SSD / traditional, mean response")]


# Fig. 7 on drives that begin full. An item of ours, for how full the paper's drives were is not said.
FULL_BEFORE = begins(TRADITIONAL, FULL)
ON_FULL = {holds: cuts(FULL_BEFORE, begins(CA_SSD, holds)) for holds in (FULL, EMPTY)}
FULL_VICTIMS, WA = victims_of(FULL_BEFORE), wa(FULL_BEFORE)
HOLDS_VICTIMS = {holds: victims_of(begins(CA_SSD, holds)) for holds in (FULL, EMPTY)}
GIGABYTES = of_trace(lambda stand: blocks_for(stand) * PAGES_A_BLOCK * PAGE_BYTES / 2**30 / stand.source.scale)
BY_SPEED = {
    f"{speed:g} x": saved(
        begins(TRADITIONAL, FULL, **{"replay.speed": speed}), begins(CA_SSD, EMPTY, **{"replay.speed": speed}), ALL
    )
    for speed in (0.1, 1.0, 2.0, 4.0)
}


def _claims_begins_full(facts: ByWorkload) -> list[Claim]:
    claims = claims_of([cut_claims(ON_FULL[EMPTY], key, NOTHING) for key in CUTS], facts, NAMES)
    for system, value, fact in zip(SYSTEMS, published.VICTIMS_WEB, (FULL_VICTIMS, HOLDS_VICTIMS[EMPTY]), strict=True):
        measured = facts.get("web", {}).get(fact)
        claims.append(number(f"web, {system}", "valid pages of a victim", value, measured, "pages"))
    return claims


def _tables_begins_full(facts: ByWorkload) -> list[dict[str, Any]]:
    rows = [
        [
            name, f"{found[GIGABYTES]:.2f}", f"{found[WA]:.2f}", said,
            *(percent(found[fact]) for fact in ON_FULL[holds].values()),
            *("-" if value is None else f"{value:.1f}" for value in (found[FULL_VICTIMS], found[HOLDS_VICTIMS[holds]])),
        ]
        for name, found in facts.items()
        for holds, said in ((FULL, "full"), (EMPTY, "empty"))
    ]  # fmt: skip
    header = ["workload", "drive, GB", "traditional WA", "CA-SSD begins", "response cut", "writes cut",
              "collection cut", "erases cut", "victims hold, traditional", "CA-SSD"]  # fmt: skip
    by_speed = WorkloadTable(
        "Mean response time, cut, when requests come slower or faster",
        {"published": published.CUTS["response"], **BY_SPEED},
    )
    return [table("Drives that collect as the paper's traditional SSD did", header, rows), by_speed.table(facts)]


def _notes_begins_full(facts: ByWorkload) -> list[str]:
    return [
        f"{name}: by Table 2 and Fig. 7b the paper's traditional SSD had a write amplification of "
        f"{traditional_wa(name):.2f}; a drive of {found[GIGABYTES]:.2f} GB that begins full has {found[WA]:.2f}."
        for name, found in facts.items()
    ]


# The one absolute time that the paper names, as the anchor of its rate. An item of ours. Section 5.2: with 16 K hashes
# the mean response of `homes` is "about 7 ms" shorter. A cut in percent hangs on the rate like this one in
# milliseconds; so the rate at which the one is met foretells the other for all three workloads.
#: Clocks between which the anchor is sought, beside the recorded one; the same for all workloads.
SPEEDS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0)


def _anchor(roomy: bool, speed: float) -> tuple[Fact, Fact]:
    """The cut at a clock in percent, and with 16 K hashes in milliseconds."""
    sets = {"replay.speed": speed}
    small = entries(min(published.RAM_MB))
    before = on_device(TRADITIONAL, **sets) if roomy else begins(TRADITIONAL, FULL, **sets)
    after, limited = (
        on_device(CA_SSD, *worked, **sets) if roomy else begins(CA_SSD, EMPTY, *worked, **sets)
        for worked in ((), (small,))
    )
    shorter = minus(total(before, ALL), total(limited, ALL))
    return saved(before, after, ALL), derived(lambda ns: None if ns is None else ns / 1e6, shorter)


#: Where the drive has room, and where the traditional SSD begins full, as `begins-full` finds it: both by clock.
ANCHORS = {
    drive: {speed: _anchor(drive == "drive with room", speed) for speed in SPEEDS}
    for drive in ("drive with room", "drive that begins full")
}


def nearest(drive: str, facts: ByWorkload) -> float | None:
    """The clock at which the cut of homes is nearest to the published one."""
    homes = facts.get("homes", {})
    off = {
        speed: abs(saved - published.SHORTER_MS)
        for speed, (_, shorter) in ANCHORS[drive].items()
        if (saved := homes.get(shorter)) is not None
    }
    return min(off, key=lambda speed: (off[speed], speed), default=None)


def _claims_anchor(facts: ByWorkload) -> list[Claim]:
    claims: list[Claim] = []
    for drive, by_speed in ANCHORS.items():
        recorded = facts.get("homes", {}).get(by_speed[1.0][1])
        title = f"{drive}, 16 K entries: shorter by, recorded clock"
        claims.append(number("homes", title, published.SHORTER_MS, recorded, "ms", effect=True))
        speed = nearest(drive, facts)
        why = "" if speed else "homes, whose rate is the anchor, is not part of this run"
        for name in NAMES:
            cut = facts.get(name, {}).get(by_speed[speed][0]) if speed else None
            title = f"{drive}: response time, cut, at the anchored clock"
            claims.append(number(name, title, published.CUTS["response"][name], cut, effect=True, why=why))
    return claims


def _notes_anchor(facts: ByWorkload) -> list[str]:
    return [
        f"{drive}: homes with 16 K entries is shorter by {facts['homes'][by_speed[speed][1]]:.2f} ms at {speed:g} "
        f"times the recorded clock, of the {len(SPEEDS)} clocks most nearly the published {published.SHORTER_MS:g} ms."
        for drive, by_speed in ANCHORS.items()
        if (speed := nearest(drive, facts))
    ]


def _tables_anchor(facts: ByWorkload) -> list[dict[str, Any]]:
    response = published.CUTS["response"]
    rows = [["published", "", f"{published.SHORTER_MS:g} ms", *(percent(response[name]) for name in NAMES)]]
    for drive, by_speed in ANCHORS.items():
        for speed, (cut, shorter) in by_speed.items():
            saved = facts.get("homes", {}).get(shorter)
            cells = map(percent, column(facts, NAMES, cut))
            rows.append([drive, f"{speed:g}", "–" if saved is None else f"{saved:.2f} ms", *cells])
    header = ["drive", "replay.speed", "homes, 16 K entries: shorter by", *(f"{name}: cut" for name in NAMES)]
    return [table("The mean response by clock", header, rows)]


def _panels_anchor(facts: ByWorkload) -> list[dict[str, Any]]:
    if "homes" not in facts:
        return []
    series = [
        (drive, SPEEDS, [facts["homes"][shorter] for _, shorter in by_speed.values()])
        for drive, by_speed in ANCHORS.items()
    ]
    return [lines(series, "times the trace's clock", "homes, 16 K entries: shorter by, ms", x_log=True)]


ITEMS = (
    Item(
        "fig-6", "Valid pages of collected blocks", "Fig. 6", ("web",),
        [Overall("valid pages of a victim", VICTIMS[name], value, "pages", False, "no block was collected", name)
         for name, value in zip(SYSTEMS, published.VICTIMS_WEB, strict=True)],
        _panels_fig_6, facts=[*CURVES.values()],
    ),
    Item(
        "fig-7a", "Response time", "Fig. 7a", NAMES,
        [
            cut_claims(FIG_7, "response"),
            Quantity("variance of response times, cut", VARIANCE, (0.0, None), effect=True),
        ],
        [BarPanel("cut, %", cut_bars(FIG_7, "response"))], _tables_fig_7a, facts=[*MEAN.values(), *DEVIATION.values()],
    ),
    Item("fig-7b", "Writes", "Fig. 7b", NAMES, [cut_claims(FIG_7, "writes"), cut_claims(FIG_7, "gc", NOTHING)],
         [BarPanel("cut, %", cut_bars(FIG_7, "writes", "gc"))]),
    Item("fig-7c", "Erases", "Fig. 7c", NAMES, [cut_claims(FIG_7, "erases", "the traditional SSD erased nothing")],
         [BarPanel("cut, %", cut_bars(FIG_7, "erases"))], [WorkloadTable("Measured", ERASES)]),
    Item("cache-size", "Size of the fingerprint store", "5.2, Fig. 7", NAMES, _claims_cache,
         [BarPanel("response time cut, %", BY_SIZE)], facts=[ERASES_16K, *RAM.values()]),
    Item(
        "fig-8", "Contents by Zipf's law", "Fig. 8", TEN,
        [
            Quantity("a = 0: slower by, at most", SLOWER, (None, published.ZIPF_NONE)),
            Overall("a = 1: response time, cut", FASTER, published.ZIPF_FULL, effect=True,
                    why="the mean is over all ten workloads"),
            Quantity("a = 1: times as fast", TIMES_AS_FAST, {"financial": published.ZIPF_FINANCIAL}, "x"),
        ],
        _panels_fig_8, facts=[RATIOS],
    ),
    Item(
        "begins-full", "Fig. 7 on drives that begin full", "Fig. 6, 7", NAMES, _claims_begins_full,
        [BarPanel("cut, %", cut_bars(ON_FULL[EMPTY], *CUTS))], _tables_begins_full, _notes_begins_full,
        [GIGABYTES, WA, FULL_VICTIMS, *HOLDS_VICTIMS.values(), *BY_SPEED.values(),
         *(fact for of in ON_FULL.values() for fact in of.values())],
    ),
    Item(
        "anchor", "About 7 ms: the rate that the paper gives away", "5.2, Fig. 7", NAMES, _claims_anchor,
        _panels_anchor, _tables_anchor, _notes_anchor,
        [fact for by_speed in ANCHORS.values() for facts in by_speed.values() for fact in facts],
    ),
)  # fmt: skip
