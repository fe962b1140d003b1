"""CA-SSD: the gain of deduplication. Fig. 6 to 8, the size of the store, and drives that begin full."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flashtwin.papers import panels
from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.ca_ssd.workloads import NAMES, PAGE_BYTES, TABLE, TABLE_2
from flashtwin.papers.claims import Claim, nearest, number
from flashtwin.papers.facts import SCALE, Fact, Run, Worked, as_list, derived, of_runs, of_trace, once, saved, total
from flashtwin.papers.panels import BarPanel, ByWorkload, Curves, Display, Facts, WorkloadTable, column, digits, percent
from flashtwin.settings import Value

#: Section 5, Table 2: the SSD's size in GB where it is not 4. Blocks of a GB: 64 pages of 4 KB (Table 1, SLC2).
SSD_GB = {"mail": 6}
BLOCKS_A_GB = 4096
PAGES_A_BLOCK = 64
ALL = "response.all.mean_ns"
TRADITIONAL, CA_SSD = "conventional", "ca-ssd-inverted"
#: Fig. 7: where results have what is cut, and how it is called; published is by how many percent.
CUTS = {
    "response": (ALL, "response"), "writes": ("pages_programmed", "writes"),
    "gc": ("flash_writes.gc", "collection"), "erases": ("erases.total", "erases"),
}  # fmt: skip
PUBLISHED = {key: TABLE.values(key) for key in CUTS}
SHORTER_MS: float = TABLE.published["shorter by"]
#: Entries of the store in 5.2.
ENTRIES = (16_384, 131_072, 262_144)

#: Of a drive that begins full: spare pages as a share of the footprint, between which it is sought, and how often.
SPARE_MIN, SPARE_MAX, STEPS = 0.03, 6.0, 9
#: What CA-SSD holds at the beginning: as many pages as the traditional SSD, or those that the trace reads first.
FULL, EMPTY = "footprint", "first-reads"


def device(stand: Stand) -> dict[str, Value]:
    """The paper's single plane, as large as the paper's drive at the workload's scale."""
    blocks = SSD_GB.get(stand.name, 4) * BLOCKS_A_GB * stand.source.scale
    return {**TABLE.setup.sets, "blocks_per_plane": max(64, round(blocks))}


def on_device(system: str, *worked: Worked, **sets: Value) -> Run:
    return Run(system, tuple(sets.items()), (device, *worked))


def entries(full: int) -> Worked:
    """A size of the fingerprint store, at the workload's scale."""
    return lambda stand: {"fingerprint_entries": max(1, round(full * stand.source.scale))}


def cuts(before: Run, after: Run) -> dict[str, Fact]:
    return {key: saved(before, after, path) for key, (path, _) in CUTS.items()}


def cut_bars(facts: Mapping[str, Fact], **names: str) -> list[BarPanel]:
    return [BarPanel("cut, %", {name: (facts[key], PUBLISHED[key]) for key, name in names.items()})]


def victims(run: PaperRun) -> float | None:
    """Mean valid pages of the blocks collected; None where none was."""
    rows = run.rows("gc_victims")
    collected = sum(row["victims"] for row in rows)
    return sum(row["victims"] * row["valid_pages"] for row in rows) / collected if collected else None


def _curves(before: PaperRun, after: PaperRun) -> Facts:
    curves = {}
    for name, run in ((TRADITIONAL, before), (CA_SSD, after)):
        rows = run.rows("gc_victims")
        shares = np.cumsum([row["victims"] for row in rows]) / max(1, sum(row["victims"] for row in rows))
        curves[name] = ([float(row["valid_pages"]) for row in rows], shares.tolist())
    return curves


def traditional_wa(name: str) -> float:
    """Write amplification of the paper's traditional SSD, by Table 2 and Fig. 7b.

    What was published gives it away. Of a page that the host writes, the traditional SSD programs `1 + g`, `g` by
    collection. CA-SSD programs the unique ones, `u` (Table 2; the others are duplicates, and values that come again
    after their last page was overwritten are "extremely low", Fig. 7b), and of `g` what the cut of collection leaves,
    so that the cut of all writes gives `g`. For `web` that is 1.14; its victims with 33.20 of 64 valid pages (Fig. 6)
    say 1.08. For `mail` it is 0.12; its 47,819 erases (Fig. 7c) of a drive without a free block say 0.10.
    """
    unique, left = TABLE_2[name][3] / 100.0, 1.0 - PUBLISHED["writes"][name] / 100.0
    left_of_collection = 1.0 - PUBLISHED["gc"][name] / 100.0
    return 1.0 + (unique - left) / (left - left_of_collection)


@once
def blocks_for(stand: Stand) -> int:
    """Blocks of the drive on which the traditional SSD, full at the beginning, has this write amplification."""
    pages, wa = stand.fact("info.footprint_pages") or 0.0, traditional_wa(stand.name)
    low, high = SPARE_MIN, SPARE_MAX
    for _ in range(STEPS):
        spare = math.sqrt(low * high)
        blocks = max(64, round(pages * (1.0 + spare) / PAGES_A_BLOCK))
        drive = {**device(stand), "blocks_per_plane": blocks, "replay.preload": FULL}
        found = stand.run(TRADITIONAL, **drive).get("write_amplification") or 0.0
        low, high = (spare, high) if found > wa else (low, spare)
    return blocks


def _collecting(stand: Stand) -> Mapping[str, Value]:
    return {"blocks_per_plane": blocks_for(stand)}


def begins(system: str, holds: str, *worked: Worked, **sets: Value) -> Run:
    """A system on the drive that collects as the paper's did, with these pages on it at the beginning."""
    return on_device(system, _collecting, *worked, **{"replay.preload": holds, **sets})


BEFORE, AFTER = on_device(TRADITIONAL), on_device(CA_SSD)
RUNS = {TRADITIONAL: BEFORE, CA_SSD: AFTER}
FIG_7 = cuts(BEFORE, AFTER)
VICTIMS = {name: of_runs(victims, run) for name, run in RUNS.items()}
#: Deviation of response times; no number of their variance is given.
DEVIATION = {name: total(run, "response.all.stddev_ns") for name, run in RUNS.items()}
MICROSECONDS = digits(",.1f", " µs")


STORES = {f"{full // 1024} K": on_device(CA_SSD, entries(full)) for full in ENTRIES}
BY_SIZE = {**{size: saved(BEFORE, run, ALL) for size, run in STORES.items()}, "unlimited": FIG_7["response"]}
#: With 16 K entries: by how many milliseconds the mean response is shorter, and the cut of erases.
SHORTER = (total(BEFORE, ALL) - total(STORES["16 K"], ALL)) / 1e6
FEWER_ERASES = saved(BEFORE, STORES["16 K"], "erases.total")
STORE_RAM = {
    size: total(run, "ram.fingerprint_store_bytes", missing=0.0) / SCALE / 2**20 for size, run in STORES.items()
}


def _as_unlimited(facts: ByWorkload) -> list[Claim]:
    claims = []
    for name, unlimited in zip(NAMES, column(facts, NAMES, BY_SIZE["unlimited"]), strict=True):
        measured = None if unlimited is None else facts[name][BY_SIZE["128 K"]]
        title = "128 K entries: response cut (as unlimited)"
        claims.append(Claim(name, title, unlimited, unlimited, measured, effect=unlimited is not None))
    return claims


EXPONENTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def measure_fig_8(stand: Stand) -> list[float | None]:
    """The trace's requests with contents drawn by Zipf's law, from as many values as pages are written."""
    written = max(round((stand.fact("info.write_bytes") or 0.0) / PAGE_BYTES), 1)
    runs = {"base": BEFORE.on(stand)} | {
        f"{exponent}": on_device(CA_SSD, **{"replay.content": f"zipf({exponent},{written})"}).on(stand)
        for exponent in EXPONENTS
    }
    base, *others = (run.get(ALL) for run in stand.runs(runs).values())
    return [after / base if base and after is not None else None for after in others]


RATIOS = of_trace(measure_fig_8)
NO_LOCALITY, FULL_LOCALITY = (derived(lambda ratios, at=at: ratios[at], RATIOS) for at in (0, -1))


# Fig. 7 on drives that begin full. An item of ours, for how full the paper's drives were is not said.
FULL_BEFORE = begins(TRADITIONAL, FULL)
ON_FULL = {holds: cuts(FULL_BEFORE, begins(CA_SSD, holds)) for holds in (FULL, EMPTY)}
FULL_VICTIMS = {
    TRADITIONAL: of_runs(victims, FULL_BEFORE),
    **{holds: of_runs(victims, begins(CA_SSD, holds)) for holds in (FULL, EMPTY)},
}
WA = total(FULL_BEFORE, "write_amplification")
GIGABYTES = of_trace(lambda stand: blocks_for(stand) * PAGES_A_BLOCK * PAGE_BYTES / 2**30 / stand.source.scale)
BY_SPEED = {
    f"{speed:g} x": saved(
        begins(TRADITIONAL, FULL, **{"replay.speed": speed}), begins(CA_SSD, EMPTY, **{"replay.speed": speed}), ALL
    )
    for speed in (0.1, 1.0, 2.0, 4.0)
}


def _begins_row(holds: str, said: str) -> dict[str, Any]:
    return {
        "drive, GB": (GIGABYTES, digits(".2f")), "traditional WA": (WA, digits(".2f")), "CA-SSD begins": said,
        **{f"{name} cut": ON_FULL[holds][key] for key, (_, name) in CUTS.items()},
        "victims hold, traditional": (FULL_VICTIMS[TRADITIONAL], digits(".1f")),
        "CA-SSD": (FULL_VICTIMS[holds], digits(".1f")),
    }  # fmt: skip


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
    before = on_device(TRADITIONAL, **sets) if roomy else begins(TRADITIONAL, FULL, **sets)
    after, limited = (
        on_device(CA_SSD, *worked, **sets) if roomy else begins(CA_SSD, EMPTY, *worked, **sets)
        for worked in ((), (entries(16_384),))
    )
    return saved(before, after, ALL), (total(before, ALL) - total(limited, ALL)) / 1e6


#: Where the drive has room, and where the traditional SSD begins full, as `begins-full` finds it: both by clock.
ANCHORS = {
    drive: {speed: _anchor(drive == "drive with room", speed) for speed in SPEEDS}
    for drive in ("drive with room", "drive that begins full")
}


def anchor(drive: str, facts: ByWorkload) -> float | None:
    """The clock at which the cut of homes is nearest to the published one."""
    homes = facts.get("homes", {})
    return nearest(SHORTER_MS, {speed: homes.get(shorter) for speed, (_, shorter) in ANCHORS[drive].items()})


def _claims_anchor(facts: ByWorkload) -> list[Claim]:
    claims: list[Claim] = []
    for drive, by_speed in ANCHORS.items():
        recorded = facts.get("homes", {}).get(by_speed[1.0][1])
        title = f"{drive}, 16 K entries: shorter by, recorded clock"
        claims.append(number("homes", title, SHORTER_MS, recorded, "ms", effect=True))
        speed = anchor(drive, facts)
        why = "" if speed else "homes, whose rate is the anchor, is not part of this run"
        for name in NAMES:
            cut = facts.get(name, {}).get(by_speed[speed][0]) if speed else None
            title = f"{drive}: response time, cut, at the anchored clock"
            claims.append(number(name, title, PUBLISHED["response"][name], cut, effect=True, why=why))
    return claims


def _notes_anchor(facts: ByWorkload) -> list[str]:
    return [
        f"{drive}: homes with 16 K entries is shorter by {facts['homes'][by_speed[speed][1]]:.2f} ms at {speed:g} "
        f"times the recorded clock, of the {len(SPEEDS)} clocks most nearly the published {SHORTER_MS:g} ms."
        for drive, by_speed in ANCHORS.items()
        if (speed := anchor(drive, facts))
    ]


def _tables_anchor(facts: ByWorkload) -> list[Display]:
    rows = [["published", "", f"{SHORTER_MS:g} ms", *(percent(PUBLISHED["response"][name]) for name in NAMES)]]
    for drive, by_speed in ANCHORS.items():
        for speed, (cut, shorter) in by_speed.items():
            milliseconds = digits(".2f", " ms")(facts.get("homes", {}).get(shorter))
            rows.append([drive, f"{speed:g}", milliseconds, *map(percent, column(facts, NAMES, cut))])
    header = ["drive", "replay.speed", "homes, 16 K entries: shorter by", *(f"{name}: cut" for name in NAMES)]
    return [panels.table("The mean response by clock", header, rows)]


ITEMS = (
    TABLE.item("fig-6", VICTIMS,
               panels=[Curves("valid pages", "share of the victims", of_runs(_curves, BEFORE, AFTER))]),
    TABLE.item(
        "fig-7a",
        {**FIG_7, "variance of response times, cut": derived(
            lambda before, after: 100.0 * (1.0 - (after / before) ** 2) if after else None, *DEVIATION.values()
        )},
        panels=cut_bars(FIG_7, response="mean response time"),
        tables=[WorkloadTable("Measured", *(
            {"system": name, "mean": (total(run, ALL) / 1e3, MICROSECONDS),
             "standard deviation": (DEVIATION[name] / 1e3, MICROSECONDS)}
            for name, run in RUNS.items()
        ))],
    ),
    TABLE.item("fig-7b", FIG_7, panels=cut_bars(FIG_7, writes="written", gc="written by collection")),
    TABLE.item("fig-7c", FIG_7, panels=cut_bars(FIG_7, erases="erases"), tables=[WorkloadTable("Measured", {
        name: (total(run, CUTS["erases"][0]), digits(",.0f")) for name, run in RUNS.items()
    })]),
    TABLE.item("cache-size", {"16 K entries: erases, cut": FEWER_ERASES, **STORE_RAM}, claims=[_as_unlimited],
               panels=[BarPanel("response time cut, %", BY_SIZE)]),
    TABLE.item(
        "fig-8",
        {"a = 0: slower by, at most": derived(lambda ratio: (ratio - 1.0) * 100.0, NO_LOCALITY),
         "a = 1: response time, cut": derived(lambda ratio: (1.0 - ratio) * 100.0, FULL_LOCALITY),
         "a = 1: times as fast": derived(lambda ratio: 1.0 / ratio, FULL_LOCALITY)},
        panels=[Curves("Zipf exponent a", "CA-SSD / traditional, mean response",
                       derived(lambda ratios: (EXPONENTS, ratios), RATIOS), together=True)],
    ),
    TABLE.item(
        "begins-full", {**ON_FULL[EMPTY], TRADITIONAL: FULL_VICTIMS[TRADITIONAL], CA_SSD: FULL_VICTIMS[EMPTY]},
        panels=cut_bars(ON_FULL[EMPTY], response="mean response time", writes="written", gc="written by collection",
                        erases="erases"),
        tables=[
            WorkloadTable("Drives that collect as the paper's traditional SSD did", _begins_row(FULL, "full"),
                          _begins_row(EMPTY, "empty")),
            WorkloadTable("Mean response time, cut, when requests come slower or faster",
                          {"published": PUBLISHED["response"], **BY_SPEED}),
        ],
        notes=_notes_begins_full,
    ),
    TABLE.item(
        "anchor", claims=[_claims_anchor],
        panels=[Curves(
            "times the trace's clock", "homes, 16 K entries: shorter by, ms",
            derived(lambda *of: {drive: (SPEEDS, ms) for drive, ms in zip(ANCHORS, of, strict=True)},
                    *(as_list(*(shorter for _, shorter in by_speed.values())) for by_speed in ANCHORS.values())),
            x_log=True, of=("homes",),
        )],
        tables=[_tables_anchor], notes=_notes_anchor,
        facts=[fact for by_speed in ANCHORS.values() for facts in by_speed.values() for fact in facts],
    ),
)  # fmt: skip
