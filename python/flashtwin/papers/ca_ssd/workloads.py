"""CA-SSD: its workloads and their value locality. Tables 2 and 3, Fig. 2 to 4, Sections 3 and 5.3."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.facts import SCALE, Fact, derived, of_trace, trace_fact
from flashtwin.papers.panels import BarPanel, ByWorkload, Curves, Display, Facts, table
from flashtwin.papers.tables import PaperTable

TABLE = PaperTable("ca-ssd")
TABLE_2, OTHERS = TABLE.rows("Table 2"), tuple(TABLE.rows("Table 3"))
NAMES = tuple(TABLE_2)
PAGE_BYTES = 4096.0


def _whole(fact: Fact, unit: float) -> Fact:
    """A count as the whole workload would have it, in a unit."""
    return fact / SCALE / unit


READ_PAGES, WRITTEN_PAGES = (trace_fact(f"info.{kind}_bytes") / PAGE_BYTES for kind in ("read", "write"))
#: Table 2 counts requests of 4 KB, Table 3 those of any size.
ALL_PAGES, REQUESTS = READ_PAGES + WRITTEN_PAGES, trace_fact("info.requests")
FOOTPRINT = _whole(trace_fact("info.footprint_pages"), 2**30 / PAGE_BYTES)
STATISTICS = {
    "Table 2": TABLE.columns("Table 2", {
        "requests": _whole(ALL_PAGES, 1e6), "footprint": FOOTPRINT, "writes": WRITTEN_PAGES * 100.0 / ALL_PAGES,
        "unique among writes": trace_fact("info.unique_values_write_percent"),
        "unique among reads": trace_fact("info.unique_values_read_percent"),
        "sequential": trace_fact("info.sequential_percent"),
    }),
    "Table 3": TABLE.columns("Table 3", {
        "requests": _whole(REQUESTS, 1e6), "footprint": FOOTPRINT,
        "writes": trace_fact("info.writes") * 100.0 / REQUESTS,
    }),
}  # fmt: skip


def popularity(stand: Stand) -> Facts:
    """Shares of the accesses by shares of the values."""
    rows = stand.table("popularity")
    axes = ("value_fraction", "access_fraction")
    return {
        f"{kind}s": [[row[axis] for row in rows if row["kind"] == kind] for axis in axes] for kind in ("write", "read")
    }


def _positions(kind: str) -> Fact:
    """LRU positions at which values, or addresses, are written again."""
    return trace_fact(f"value_locality.write.{kind}.entries_for_90_percent_of_reaccesses") / SCALE


#: Entries at which the paper reads its curves of misses (Fig. 4), at scale 1.
ENTRIES = 65_536


def misses(stand: Stand) -> Facts:
    """Misses of popular values by the size of the store, at the workload's scale.

    First writes, which miss in a store of any size, are left out, as they must have been: the popular values of
    `web` are 30 % of its values (Fig. 2), so that a quarter of the writes that go to them are first ones.
    """
    rows = [row for row in stand.table("popular_miss_ratio") if row.get("kind", "write") == "write"]
    return _curve(stand, rows, [100.0 * float(row["miss_fraction"] - rows[-1]["miss_fraction"]) for row in rows])


def _curve(stand: Stand, rows: Sequence[Mapping[str, float]], y: list[float]) -> Facts:
    """A curve by the entries of the store, and its value where the paper reads it."""
    x = [float(row["entries"]) / stand.source.scale for row in rows]
    return {"curve": (x, y), "read": float(np.interp(ENTRIES, x, y)) if x else None}


MISSES = of_trace(misses)


def hits(of: str) -> Fact:
    def measure(stand: Stand) -> Facts:
        rows = [row for row in stand.table("miss_ratio") if (row["kind"], row["of"]) == ("read", of)]
        return _curve(stand, rows, [100.0 * (1.0 - float(row["miss_fraction"])) for row in rows])

    return of_trace(measure)


BY_VALUE, BY_ADDRESS = hits("content"), hits("address")

SEED = 0


def values_for_half(exponent: float, values: int, writes: int) -> int:
    """The number of values that draw half of the writes, by Zipf's law."""
    weights = np.arange(1, values + 1, dtype=float) ** -exponent
    drawn = np.random.default_rng(SEED).poisson(writes * weights / weights.sum())
    most = np.sort(drawn)[::-1].cumsum()
    return int(np.searchsorted(most, most[-1] / 2.0)) + 1


def by_law(exponent: float, values: float) -> float:
    """Values with half of the probability: `k^(1-a) = values^(1-a) / 2`."""
    return float(values * 0.5 ** (1.0 / (1.0 - exponent)))


#: Values with half of the writes of hm, in millions, by Zipf exponent.
HM_HALF: dict[float, float] = {a: TABLE.published[f"hm, a = {a:g}"] for a in (0.0, 0.4)}
(EVEN, AT_EVEN), (SKEWED, AT_SKEWED) = HM_HALF.items()


def measure_hm(stand: Stand) -> Facts:
    """As many values as pages are written, as in Fig. 8; counts as the whole workload would have them."""
    writes = round((stand.fact("info.write_bytes") or 0.0) / PAGE_BYTES)
    millions = 1.0 / stand.source.scale / 1e6
    return {
        "writes": writes * millions,
        **{f"{a:g}": values_for_half(a, max(writes, 1), writes) * millions for a in HM_HALF},
        **{f"law {a:g}": by_law(a, writes) * millions for a in HM_HALF},
    }


HM = of_trace(measure_hm)


def _claims_hm(facts: ByWorkload) -> list[Claim]:
    found = facts.get("hm", {}).get(HM, {})
    claims = [
        number("hm", f"values with half of the writes, a = {a:g}", value, found.get(f"{a:g}"), "million")
        for a, value in HM_HALF.items()
    ]
    of_ours = 100.0 * (1.0 - found[f"{SKEWED:g}"] / found[f"{EVEN:g}"]) if found else None
    fewer = 100.0 * (1.0 - AT_SKEWED / AT_EVEN)
    return [*claims, number("hm", f"fewer for a = {SKEWED:g}", fewer, of_ours, effect=True)]


def _notes_hm(facts: ByWorkload) -> list[str]:
    writes = facts["hm"][HM]["writes"]
    fitting = 1.0 - 1.0 / (1.0 + math.log2(AT_EVEN / AT_SKEWED))
    return [
        f"By Table 3 hm writes {writes:.2f} M pages. Half of them are {writes / 2:.2f} M writes, "
        f"which cannot go to {AT_EVEN:g} M values: the published number is not one of writes counted.",
        f"As a share of the law it is half of {2 * AT_EVEN:g} M equal values; "
        f"{AT_SKEWED:g} M of them have half of the probability at a = {fitting:.2f}, not at {SKEWED:g}.",
    ]


def _tables_hm(facts: ByWorkload) -> list[Display]:
    found = facts["hm"][HM]
    rows = [
        [f"{a:g}", f"{value:g} M", f"{found[f'{a:g}']:.2f} M", f"{found[f'law {a:g}']:.2f} M"]
        for a, value in HM_HALF.items()
    ]
    title = "Values with half of the writes of hm, as many values as writes"
    return [table(title, ["a", "published", "of writes drawn", "of the law"], rows)]


ITEMS = (
    TABLE.item("table-2", claims=[STATISTICS["Table 2"]]),
    TABLE.item(
        "fig-2", {"values with 50 % of the writes": trace_fact("popularity.write.contents_for_50_percent")},
        panels=[Curves("share of the values", "share of the accesses", of_trace(popularity),
                       {name: ("writes", half / 100.0, 0.5) for name, half in TABLE.values("half of writes").items()})],
    ),
    TABLE.item(
        "fig-3",
        {"LRU positions with 90 % of the repeated writes": _positions("content"),
         "memory saved by a queue so long": trace_fact("value_locality.write.content.memory_saved_percent")},
        panels=[BarPanel("entries for 90 % of the repeats",
                         {"values": (_positions("content"), {"homes": 11_046.0}), "addresses": _positions("address")})],
    ),
    TABLE.item(
        "fig-4", {"misses of popular values, 64 K entries": MISSES["read"]},
        panels=[Curves(
            "entries", "misses of popular values, %", MISSES["curve"],
            {name: (name, float(ENTRIES), high) for name, (_, high) in TABLE.published["misses"].items()},
            x_log=True, together=True,
        )],
    ),
    TABLE.item("table-3", claims=[STATISTICS["Table 3"]]),
    TABLE.item(
        "value-locality",
        {"writes of what the address holds": trace_fact("space.rewrite_percent"),
         "reads: hits by value above hits by address, 64 K entries": BY_VALUE["read"] - BY_ADDRESS["read"]},
        panels=[Curves("entries of an LRU cache", "page reads that hit, %",
                       derived(lambda *of: dict(zip(("value", "address"), of, strict=True)), BY_VALUE["curve"],
                               BY_ADDRESS["curve"]), x_log=True)],
    ),
    TABLE.item("hm-values", claims=[_claims_hm], tables=[_tables_hm], notes=_notes_hm, facts=[HM]),
)  # fmt: skip
