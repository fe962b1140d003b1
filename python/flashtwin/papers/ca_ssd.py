"""A. Gupta et al., "Leveraging Value Locality in Optimizing NAND Flash-based SSDs" (CA-SSD), FAST 2011."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flashtwin.papers.bench import Run, Stand, reduction
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, Paper, Series, Statistic, Workload, bars, chart, lines, mean
from flashtwin.papers.text import column, count, micro
from flashtwin.presets import Value

NAMES = ("web", "mail", "homes")
#: Table 2: requests in millions, footprint in GB, writes, unique among writes and reads, sequential (percent).
TABLE_2 = {
    "web": (3.8, 1.95, 77.01, 42.35, 32.05, 83.8),
    "mail": (3.6, 4.22, 77.32, 7.83, 80.85, 94.7),
    "homes": (4.4, 3.02, 96.76, 66.37, 80.75, 70.8),
}
#: Table 3: requests in millions, footprint in GB, writes in percent.
TABLE_3 = {
    "financial": (6.50, 0.50, 79.60),
    "cello99": (0.44, 0.46, 70.79),
    "proxy": (2.44, 0.33, 95.64),
    "hm": (11.11, 2.43, 54.74),
    "ts": (4.17, 0.91, 74.06),
    "mids": (2.89, 3.09, 70.46),
    "src1": (5.00, 1.47, 93.73),
}
TEN = (*TABLE_3, *NAMES)
#: Names of the recorded files: FIU IODedup, UMass, MSR Cambridge.
FILES = {
    "web": ("web-vm", "webvm", "webmail+online.cs.fiu.edu-110108-113008"),
    "mail": ("mail-01", "cheetah.cs.fiu.edu-110108-113008"),
    "homes": ("homes-110108-112108",),
    "financial": ("Financial1", "Financial"),
    "proxy": ("prxy_0", "prxy"),
    "hm": ("hm_0",),
    "ts": ("ts_0",),
    "mids": ("mds_0",),
    "src1": ("src1_2", "src1_0"),
}
#: Section 5, Table 2: the SSD's size in GB.
SSD_GB = {"mail": 6}
#: Blocks of a GB: 64 pages of 4 KB (Table 1, SLC2).
BLOCKS_A_GB = 4096
PAGE_BYTES, PAGES_A_BLOCK = 4096.0, 64
#: Spare pages of a drive that the workload fills, as a share of its footprint.
SPARE = 0.15

#: Fig. 2: values with half of the writes. Fig. 3: LRU positions with 90 % of the writes; memory saved.
HALF_OF_WRITES = {"homes": 14.44, "mail": 8.84, "web": 29.99}
POSITIONS_HOMES, SAVED = 11_046.0, {"homes": 96.0, "mail": 65.0}
#: Fig. 4 and 4.1: misses of popular values with 64 K entries; for mail an upper end.
MISSES = {"mail": (None, 7.0), "web": (0.4, 0.4), "homes": (4.0, 4.0)}
#: Fig. 6: valid pages of a victim in web, traditional and CA-SSD.
VICTIMS_WEB = (33.20, 8.21)
#: Fig. 7: cuts of the mean response time, of all writes, of writes by collection, of erases.
RESPONSE = {"web": 65.0, "mail": 84.0, "homes": 59.0}
WRITES = {"web": 77.0, "mail": 93.0, "homes": 70.0}
GC_WRITES = {"web": 94.0, "mail": 100.0, "homes": 87.0}
ERASES = {"web": 77.0, "mail": 100.0 * (1 - 2_876 / 47_819), "homes": 70.0}
#: 5.2: erases of homes with 16 K entries; RAM of HPT and iHPT in MB by entries.
ERASES_HOMES_16K = 65.0
RAM_MB = {16_384: 0.45, 131_072: 3.5, 262_144: 7.0}
#: 5.3, Fig. 8: at most 10 % slower without value locality; 74 % faster with a = 1; financial about 25 times.
ZIPF_NONE, ZIPF_FULL, ZIPF_FINANCIAL = 10.0, 74.0, 25.0
EXPONENTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
#: 5.1: time of a hash.
HASH_US = 32.0

ALL = "response.all.mean_ns"
TRADITIONAL, CA_SSD = "conventional", "ca-ssd-inverted"


def device(stand: Stand) -> dict[str, Value]:
    """The paper's single plane, as large as the paper's drive at the workload's scale."""
    blocks = SSD_GB.get(stand.name, 4) * BLOCKS_A_GB * stand.source.scale
    return {"device": "ca-ssd-slc2", "blocks_per_plane": max(64, round(blocks)), "hash_us": HASH_US}


def pair(stand: Stand, drive: dict[str, Value] | None = None, **sets: Value) -> dict[str, Run]:
    """The traditional SSD and CA-SSD, on the paper's drive or another."""
    drive = drive or device(stand)
    return stand.runs({TRADITIONAL: stand.system(TRADITIONAL, **drive), CA_SSD: stand.system(CA_SSD, **drive, **sets)})


def entries(stand: Stand, full: int) -> int:
    """A size of the fingerprint store at the workload's scale."""
    return max(1, round(full * stand.source.scale))


def measure_fig_2(stand: Stand) -> Facts:
    """Popularity of values."""
    rows = stand.table("popularity")
    found: Facts = {"half": stand.fact("popularity.write.contents_for_50_percent")}
    for kind in ("read", "write"):
        kept = [row for row in rows if row["kind"] == kind]
        found[kind] = ([row["value_fraction"] for row in kept], [row["access_fraction"] for row in kept])
    return found


def judge_fig_2(facts: Mapping[str, Facts]) -> Outcome:
    """Values with half of the writes."""
    claims = [
        number(name, "values with 50 % of the writes", value, facts.get(name, {}).get("half"))
        for name, value in HALF_OF_WRITES.items()
    ]
    panels = [
        lines(
            [(f"{kind}s", *facts[name][kind]) for kind in ("write", "read")], "share of the values",
            "share of the accesses", title=name, published=[("writes", HALF_OF_WRITES[name] / 100.0, 0.5)],
        )
        for name in NAMES
        if name in facts
    ]  # fmt: skip
    return Outcome(claims, chart(*panels) if panels else None)


def measure_fig_3(stand: Stand) -> Facts:
    """LRU positions at which values, and addresses, are written again."""
    part = "value_locality.write"
    found: Facts = {}
    for kind in ("content", "address"):
        positions = stand.fact(f"{part}.{kind}.entries_for_90_percent_of_reaccesses")
        found[kind] = None if positions is None else positions / stand.source.scale
        found[f"{kind}_saved"] = stand.fact(f"{part}.{kind}.memory_saved_percent")
    return found


def judge_fig_3(facts: Mapping[str, Facts]) -> Outcome:
    """Positions with 90 % of the repeated writes, and what a queue so short saves."""
    title = "LRU positions with 90 % of the repeated writes"
    claims = [number("homes", title, POSITIONS_HOMES, facts.get("homes", {}).get("content"), "positions")]
    claims += [
        number(name, "memory saved by a queue so long", value, facts.get(name, {}).get("content_saved"))
        for name, value in SAVED.items()
    ]
    series: list[Series] = [
        ("values", column(facts, NAMES, "content"), [None, None, POSITIONS_HOMES]),
        ("addresses", column(facts, NAMES, "address"), []),
    ]
    return Outcome(claims, chart(bars(NAMES, series, "entries for 90 % of the repeats")))


def measure_fig_4(stand: Stand) -> Facts:
    """Misses of popular values by the size of the store, at the workload's scale."""
    rows = [row for row in stand.table("popular_miss_ratio") if row.get("kind", "write") == "write"]
    x = [float(row["entries"]) / stand.source.scale for row in rows]
    y = [100.0 * float(row["miss_fraction"]) for row in rows]
    at = float(np.interp(65_536.0, x, y)) if x else None
    return {"x": x, "y": y, "at_64k": at}


def judge_fig_4(facts: Mapping[str, Facts]) -> Outcome:
    """At 64 K entries."""
    claims = [
        Claim(name, "misses of popular values, 64 K entries", low, high, facts.get(name, {}).get("at_64k"))
        for name, (low, high) in MISSES.items()
    ]
    series = [(name, facts[name]["x"], facts[name]["y"]) for name in NAMES if facts.get(name, {}).get("x")]
    points = [(name, 65_536.0, high) for name, (_, high) in MISSES.items() if high is not None]
    panel = lines(series, "entries", "misses of popular values, %", x_log=True, published=points)
    return Outcome(claims, chart(panel) if series else None)


def measure_fig_6(stand: Stand) -> Facts:
    """Valid pages of the blocks collected."""
    found: Facts = {}
    for name, run in pair(stand).items():
        rows = run.rows("gc_victims")
        victims = sum(row["victims"] for row in rows)
        pages = sum(row["victims"] * row["valid_pages"] for row in rows)
        found[name] = pages / victims if victims else None
        shares = np.cumsum([row["victims"] for row in rows]) / max(victims, 1)
        found[f"{name}_curve"] = ([float(row["valid_pages"]) for row in rows], shares.tolist())
    return found


def judge_fig_6(facts: Mapping[str, Facts]) -> Outcome:
    """Means, and the cumulative distribution."""
    found = facts.get("web", {})
    claims = [
        number(name, "valid pages of a victim", value, found.get(name), "pages", why="no block was collected")
        for name, value in zip((TRADITIONAL, CA_SSD), VICTIMS_WEB, strict=True)
    ]
    series = [(name, *found[f"{name}_curve"]) for name in (TRADITIONAL, CA_SSD) if found and found[f"{name}_curve"][0]]
    return Outcome(claims, chart(lines(series, "valid pages", "share of the victims")) if series else None)


def measure_fig_7(stand: Stand) -> Facts:
    """Everything of Fig. 7: response, writes by cause, erases."""
    return _compared(pair(stand))


def measure_full(stand: Stand) -> Facts:
    """The same on a drive that the workload fills."""
    pages = stand.fact("info.footprint_pages") or 0.0
    blocks = round(pages * (1.0 + SPARE) / PAGES_A_BLOCK)
    return _compared(pair(stand, {**device(stand), "blocks_per_plane": max(64, blocks)}))


def _compared(runs: Mapping[str, Run]) -> Facts:
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


def _cuts(
    facts: Mapping[str, Facts], key: str, what: str, published: Mapping[str, float], none: str = ""
) -> tuple[list[Claim], Series]:
    """Claims that CA-SSD cuts a figure, and their bars."""
    claims = [
        number(name, f"{what}, cut", published[name], facts.get(name, {}).get(key), effect=True,
               why=none if name in facts and facts[name][key] is None else "")
        for name in NAMES
    ]  # fmt: skip
    return claims, (what, column(facts, NAMES, key), [published[name] for name in NAMES])


def judge_fig_7a(facts: Mapping[str, Facts]) -> Outcome:
    """Mean response time."""
    claims, series = _cuts(facts, "response", "mean response time", RESPONSE)
    rows = [
        [name, system, micro(facts[name][system]["mean"]), micro(facts[name][system]["deviation"])]
        for name in facts
        for system in (TRADITIONAL, CA_SSD)
    ]
    table = {"title": "Measured", "header": ["workload", "system", "mean", "standard deviation"], "rows": rows}
    return Outcome(claims, chart(bars(NAMES, [series], "cut, %")), tables=[table])


def judge_fig_7b(facts: Mapping[str, Facts]) -> Outcome:
    """Writes, in all and by collection."""
    none = "the traditional SSD collected nothing"
    claims, series = _cuts(facts, "writes", "pages written", WRITES)
    more, gc = _cuts(facts, "gc", "pages written by collection", GC_WRITES, none)
    return Outcome([*claims, *more], chart(bars(NAMES, [series, gc], "cut, %")))


def judge_fig_7c(facts: Mapping[str, Facts]) -> Outcome:
    """Erases."""
    claims, series = _cuts(facts, "erases", "erases", ERASES, "the traditional SSD erased nothing")
    rows = [[name, *(count(facts[name][system]["erases"]) for system in (TRADITIONAL, CA_SSD))] for name in facts]
    table = {"title": "Measured", "header": ["workload", TRADITIONAL, CA_SSD], "rows": rows}
    return Outcome(claims, chart(bars(NAMES, [series], "cut, %")), tables=[table])


def judge_full(facts: Mapping[str, Facts]) -> Outcome:
    """Response, writes, writes by collection, erases."""
    claims: list[Claim] = []
    series: list[Series] = []
    for key, what, published in (
        ("response", "mean response time", RESPONSE), ("writes", "pages written", WRITES),
        ("gc", "pages written by collection", GC_WRITES), ("erases", "erases", ERASES),
    ):  # fmt: skip
        more, bar = _cuts(facts, key, what, published, "the traditional SSD collected nothing")
        claims += more
        series.append(bar)
    return Outcome(claims, chart(bars(NAMES, series, "cut, %")))


def measure_cache(stand: Stand) -> Facts:
    """Stores of fixed size beside one without a limit."""
    runs = pair(stand)
    found: Facts = {"unlimited": reduction(runs[TRADITIONAL], runs[CA_SSD], ALL)}
    for full in RAM_MB:
        limited = pair(stand, fingerprint_entries=entries(stand, full))
        found[str(full)] = reduction(runs[TRADITIONAL], limited[CA_SSD], ALL)
        found[f"{full}_erases"] = reduction(runs[TRADITIONAL], limited[CA_SSD], "erases.total")
        store = limited[CA_SSD].get("ram.fingerprint_store_bytes")
        found[f"{full}_ram"] = None if store is None else store / stand.source.scale / 2**20
    return found


def judge_cache(facts: Mapping[str, Facts]) -> Outcome:
    """128 K entries are as good as no limit; the RAM that the sizes need."""
    claims = []
    for name in NAMES:
        found = facts.get(name, {})
        unlimited = found.get("unlimited")
        measured = found.get("131072")
        if unlimited is None:
            claims.append(Claim(name, "128 K entries: response cut (as unlimited)", None, None, None))
        else:
            claims.append(number(name, "128 K entries: response cut (as unlimited)", unlimited, measured, effect=True))
    homes = facts.get("homes", {}).get("16384_erases")
    claims.append(number("homes", "16 K entries: erases, cut", ERASES_HOMES_16K, homes, effect=True))
    for full, size in RAM_MB.items():
        needed = max((found[f"{full}_ram"] or 0.0 for found in facts.values()), default=None)
        claims.append(number(f"{full // 1024} K entries", "RAM of the store", size, needed, "MB"))
    sizes = [*(str(full) for full in RAM_MB), "unlimited"]
    labels = [*(f"{full // 1024} K" for full in RAM_MB), "unlimited"]
    series: list[Series] = [
        (label, column(facts, NAMES, size), []) for label, size in zip(labels, sizes, strict=True)
    ]  # fmt: skip
    return Outcome(claims, chart(bars(NAMES, series, "response time cut, %")))


def measure_fig_8(stand: Stand) -> Facts:
    """The trace's requests with contents drawn by Zipf's law, from as many values as pages are written."""
    written = round((stand.fact("info.write_bytes") or 0.0) / PAGE_BYTES)
    base = stand.run(TRADITIONAL, **device(stand))
    ratios = []
    for exponent in EXPONENTS:
        content = f"zipf({exponent},{max(written, 1)})"
        run = stand.run(CA_SSD, **device(stand), **{"replay.content": content})
        before, after = base.get(ALL), run.get(ALL)
        ratios.append(after / before if before and after is not None else None)
    return {"ratios": ratios}


def judge_fig_8(facts: Mapping[str, Facts]) -> Outcome:
    """Without value locality hardly slower, with much of it far faster."""
    claims = []
    for name in TEN:
        first = facts.get(name, {}).get("ratios", [None])[0]
        slower = None if first is None else (first - 1.0) * 100.0
        claims.append(Claim(name, "a = 0: slower by, at most", None, ZIPF_NONE, slower))
    ends = [facts.get(name, {}).get("ratios", [None])[-1] for name in TEN]
    whole = None not in ends
    average = mean([None if end is None else (1.0 - end) * 100.0 for end in ends])
    why = "" if whole else "the mean is over all ten workloads"
    claims.append(
        number("mean", "a = 1: response time, cut", ZIPF_FULL, average if whole else None, effect=True, why=why)
    )
    financial = facts.get("financial", {}).get("ratios", [None])[-1]
    claims.append(
        number("financial", "a = 1: times as fast", ZIPF_FINANCIAL, 1.0 / financial if financial else None, "x")
    )
    series = [(name, list(EXPONENTS), facts[name]["ratios"]) for name in TEN if name in facts]
    panel = lines(series, "Zipf exponent a", "CA-SSD / traditional, mean response")
    return Outcome(claims, chart(panel) if series else None)


def measure_table_2(stand: Stand) -> Facts:
    """Requests of 4 KB, footprint, mix and duplicates, as the whole workload would have them."""
    read, written = (stand.fact(f"info.{kind}_bytes") for kind in ("read", "write"))
    pages = None if read is None or written is None else (read + written) / PAGE_BYTES
    return {
        **_table(stand, pages, None if written is None else written / PAGE_BYTES),
        "unique_writes": stand.fact("info.unique_values_write_percent"),
        "unique_reads": stand.fact("info.unique_values_read_percent"),
        "sequential": stand.fact("info.sequential_percent"),
    }


def measure_table_3(stand: Stand) -> Facts:
    """Requests of any size."""
    return _table(stand, stand.fact("info.requests"), stand.fact("info.writes"))


def _table(stand: Stand, requests: float | None, writes: float | None) -> Facts:
    scale, pages = stand.source.scale, stand.fact("info.footprint_pages")
    return {
        "requests": None if requests is None else requests / scale / 1e6,
        "size": None if pages is None else pages * PAGE_BYTES / scale / 2**30,
        "writes": None if not requests or writes is None else 100.0 * writes / requests,
    }


COLUMNS = (
    ("requests", "requests", "million"), ("size", "footprint", "GB"), ("writes", "writes", "%"),
    ("unique_writes", "unique among writes", "%"), ("unique_reads", "unique among reads", "%"),
    ("sequential", "sequential", "%"),
)  # fmt: skip


def _judge_columns(
    facts: Mapping[str, Facts], table: Mapping[str, tuple[float, ...]], columns: Sequence[tuple[str, str, str]]
) -> Outcome:
    """Each number of a table of workloads."""
    claims = [
        number(name, title, value, facts.get(name, {}).get(key), unit)
        for name, values in table.items()
        for (key, title, unit), value in zip(columns, values, strict=True)
    ]
    return Outcome(claims)


def judge_table_2(facts: Mapping[str, Facts]) -> Outcome:
    """Column by column."""
    return _judge_columns(facts, TABLE_2, COLUMNS)


def judge_table_3(facts: Mapping[str, Facts]) -> Outcome:
    """The seven traces whose contents are synthetic in the paper, too."""
    return _judge_columns(facts, TABLE_3, COLUMNS[:3])


def _workload(name: str) -> Workload:
    """Sizes and mixes stand in the items of Tables 2 and 3."""
    values = TABLE_2.get(name) or TABLE_3[name]
    measure = measure_table_2 if name in TABLE_2 else measure_table_3
    place = "Table 2" if name in TABLE_2 else "Table 3"
    statistics = tuple(
        Statistic(title, value, unit, place, lambda stand, key=key: measure(stand)[key])  # type: ignore[misc]
        for (key, title, unit), value in zip(COLUMNS, values, strict=False)
    )
    return Workload(name, f"ca-ssd/{name}", FILES.get(name, ()), statistics)


PAPER = Paper(
    "ca-ssd",
    "Leveraging Value Locality in Optimizing NAND Flash-based SSDs",
    "A. Gupta, R. Pisolkar, B. Urgaonkar, A. Sivasubramaniam, FAST 2011",
    "The device SLC2 of Table 1, one plane, 4 GB (6 GB for mail), hashing 32 µs; `ca-ssd-inverted` has the tables of "
    "the paper. Requests arrive as recorded, or as the recipe says. At a scale below 1 the drive and the fingerprint "
    "store are as much smaller as the workload.",
    tuple(_workload(name) for name in TEN),
    (
        Item("table-2", "The workloads", "Table 2", NAMES, measure_table_2, judge_table_2),
        Item("fig-2", "Popularity of values", "Fig. 2", NAMES, measure_fig_2, judge_fig_2),
        Item("fig-3", "Temporal locality of values", "Fig. 3", NAMES, measure_fig_3, judge_fig_3),
        Item("fig-4", "Misses of popular values", "Fig. 4", NAMES, measure_fig_4, judge_fig_4),
        Item("fig-6", "Valid pages of collected blocks", "Fig. 6", ("web",), measure_fig_6, judge_fig_6),
        Item("fig-7a", "Response time", "Fig. 7a", NAMES, measure_fig_7, judge_fig_7a),
        Item("fig-7b", "Writes", "Fig. 7b", NAMES, measure_fig_7, judge_fig_7b),
        Item("fig-7c", "Erases", "Fig. 7c", NAMES, measure_fig_7, judge_fig_7c),
        Item("full-drive", "Fig. 7 on a drive with 15 % spare", "Fig. 7", NAMES, measure_full, judge_full),
        Item("cache-size", "Size of the fingerprint store", "5.2, Fig. 7", NAMES, measure_cache, judge_cache),
        Item("fig-8", "Contents by Zipf's law", "Fig. 8", TEN, measure_fig_8, judge_fig_8),
        Item("table-3", "The other workloads", "Table 3", tuple(TABLE_3), measure_table_3, judge_table_3),
    ),
    default_scale=0.2,
    quick_scale=0.02,
)
