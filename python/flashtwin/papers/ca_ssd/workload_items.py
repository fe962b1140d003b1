"""CA-SSD: its workloads and their value locality. Tables 2 and 3, Fig. 2 to 4, Sections 3 and 5.3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flashtwin.papers.bench import Stand
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.result_items import NAMES, PAGE_BYTES
from flashtwin.papers.claims import EFFECT_POINTS, Claim, number
from flashtwin.papers.facts import Fact, derived, entry, of_trace, trace_fact
from flashtwin.papers.model import BarPanel, ByWorkload, Facts, Item, Quantity, above, lines, table


def _whole(fact: Fact, unit: float) -> Fact:
    """A count as the whole workload would have it, in a unit."""
    scale = of_trace(lambda stand: stand.source.scale)
    return derived(lambda value, scale: None if value is None else value / scale / unit, fact, scale)


def _share(part: float | None, whole: float | None) -> float | None:
    return None if not whole or part is None else 100.0 * part / whole


READ_PAGES, WRITTEN_PAGES = (
    derived(lambda size: None if size is None else size / PAGE_BYTES, trace_fact(f"info.{kind}_bytes"))
    for kind in ("read", "write")
)
#: Table 2 counts requests of 4 KB, Table 3 those of any size.
ALL_PAGES = derived(lambda a, b: None if a is None or b is None else a + b, READ_PAGES, WRITTEN_PAGES)
SIZE = ("footprint", _whole(trace_fact("info.footprint_pages"), 2**30 / PAGE_BYTES), "GB")
COLUMNS_2: tuple[tuple[str, Fact, str], ...] = (
    ("requests", _whole(ALL_PAGES, 1e6), "million"), SIZE, ("writes", derived(_share, WRITTEN_PAGES, ALL_PAGES), "%"),
    ("unique among writes", trace_fact("info.unique_values_write_percent"), "%"),
    ("unique among reads", trace_fact("info.unique_values_read_percent"), "%"),
    ("sequential", trace_fact("info.sequential_percent"), "%"),
)  # fmt: skip
COLUMNS_3: tuple[tuple[str, Fact, str], ...] = (
    ("requests", _whole(trace_fact("info.requests"), 1e6), "million"), SIZE,
    ("writes", derived(_share, trace_fact("info.writes"), trace_fact("info.requests")), "%"),
)  # fmt: skip


def _columns(columns: Sequence[tuple[str, Fact, str]], values: dict[str, Any]) -> tuple[Quantity, ...]:
    return tuple(
        Quantity(title, fact, {name: row[place] for name, row in values.items()}, unit)
        for place, (title, fact, unit) in enumerate(columns)
    )


def popularity(stand: Stand) -> Facts:
    """Shares of the accesses by shares of the values."""
    rows = stand.table("popularity")
    axes = ("value_fraction", "access_fraction")
    return {kind: [[row[axis] for row in rows if row["kind"] == kind] for axis in axes] for kind in ("write", "read")}


TABLE_2, TABLE_3 = _columns(COLUMNS_2, published.TABLE_2), _columns(COLUMNS_3, published.TABLE_3)
POPULARITY = of_trace(popularity)


def _panels_fig_2(facts: ByWorkload) -> list[dict[str, Any]]:
    return [
        lines(
            [(f"{kind}s", *curve) for kind, curve in facts[name][POPULARITY].items()], "share of the values",
            "share of the accesses", title=name, published=[("writes", published.HALF_OF_WRITES[name] / 100.0, 0.5)],
        )
        for name in NAMES
        if name in facts
    ]  # fmt: skip


def _positions(kind: str) -> Fact:
    """LRU positions at which values, or addresses, are written again."""
    return _whole(trace_fact(f"value_locality.write.{kind}.entries_for_90_percent_of_reaccesses"), 1.0)


def misses(stand: Stand) -> Facts:
    """Misses of popular values by the size of the store, at the workload's scale.

    First writes, which miss in a store of any size, are left out, as they must have been: the popular values of
    `web` are 30 % of its values (Fig. 2), so that a quarter of the writes that go to them are first ones.
    """
    rows = [row for row in stand.table("popular_miss_ratio") if row.get("kind", "write") == "write"]
    x = [float(row["entries"]) / stand.source.scale for row in rows]
    y = [100.0 * float(row["miss_fraction"] - rows[-1]["miss_fraction"]) for row in rows]
    return {"x": x, "y": y, "at_64k": float(np.interp(ENTRIES, x, y)) if x else None}


#: Entries at which the paper reads its curves of misses (Fig. 4), at scale 1.
ENTRIES = 65_536
MISSES = of_trace(misses)


def _panels_fig_4(facts: ByWorkload) -> list[dict[str, Any]]:
    found = {name: facts[name][MISSES] for name in NAMES if name in facts}
    series = [(name, of["x"], of["y"]) for name, of in found.items() if of["x"]]
    points = [(name, float(ENTRIES), high) for name, (_, high) in published.MISSES.items() if high is not None]
    return [lines(series, "entries", "misses of popular values, %", x_log=True, published=points)] if series else []


def hits(of: str) -> Fact:
    """Hits of reads by value or by address, in caches of any size."""

    def measure(stand: Stand) -> Facts:
        rows = [row for row in stand.table("miss_ratio") if (row["kind"], row["of"]) == ("read", of)]
        x = [float(row["entries"]) / stand.source.scale for row in rows]
        y = [100.0 * (1.0 - float(row["miss_fraction"])) for row in rows]
        return {"x": x, "y": y, "hits": float(np.interp(ENTRIES, x, y)) if x else None}

    return of_trace(measure)


HITS = {"value": hits("content"), "address": hits("address")}


def _panels_locality(facts: ByWorkload) -> list[dict[str, Any]]:
    panels = []
    for name in NAMES:
        if name in facts and facts[name][HITS["value"]]["x"]:
            series = [(label, facts[name][fact]["x"], facts[name][fact]["y"]) for label, fact in HITS.items()]
            panels.append(lines(series, "entries of an LRU cache", "page reads that hit, %", title=name, x_log=True))
    return panels


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


def measure_hm(stand: Stand) -> Facts:
    """As many values as pages are written, as in Fig. 8; counts as the whole workload would have them."""
    writes = round((stand.fact("info.write_bytes") or 0.0) / PAGE_BYTES)
    millions = 1.0 / stand.source.scale / 1e6
    return {
        "writes": writes * millions,
        **{f"{a:g}": values_for_half(a, max(writes, 1), writes) * millions for a in published.HM_HALF},
        **{f"law {a:g}": by_law(a, writes) * millions for a in published.HM_HALF},
    }


HM = of_trace(measure_hm)
(EVEN, AT_EVEN), (SKEWED, AT_SKEWED) = published.HM_HALF.items()


def _claims_hm(facts: ByWorkload) -> list[Claim]:
    found = facts.get("hm", {}).get(HM, {})
    claims = [
        number("hm", f"values with half of the writes, a = {a:g}", value, found.get(f"{a:g}"), "million")
        for a, value in published.HM_HALF.items()
    ]
    of_ours = 100.0 * (1.0 - found[f"{SKEWED:g}"] / found[f"{EVEN:g}"]) if found else None
    fewer = 100.0 * (1.0 - AT_SKEWED / AT_EVEN)
    return [*claims, number("hm", f"fewer for a = {SKEWED:g}", fewer, of_ours, effect=True)]


def _notes_hm(facts: ByWorkload) -> list[str]:
    if "hm" not in facts:
        return []
    writes = facts["hm"][HM]["writes"]
    fitting = 1.0 - 1.0 / (1.0 + math.log2(AT_EVEN / AT_SKEWED))
    return [
        f"By Table 3 hm writes {writes:.2f} M pages. Half of them are {writes / 2:.2f} M writes, "
        f"which cannot go to {AT_EVEN:g} M values: the published number is not one of writes counted.",
        f"As a share of the law it is half of {2 * AT_EVEN:g} M equal values; "
        f"{AT_SKEWED:g} M of them have half of the probability at a = {fitting:.2f}, not at {SKEWED:g}.",
    ]


def _tables_hm(facts: ByWorkload) -> list[dict[str, Any]]:
    found = facts["hm"][HM]
    rows = [
        [f"{a:g}", f"{value:g} M", f"{found[f'{a:g}']:.2f} M", f"{found[f'law {a:g}']:.2f} M"]
        for a, value in published.HM_HALF.items()
    ]
    title = "Values with half of the writes of hm, as many values as writes"
    return [table(title, ["a", "published", "of writes drawn", "of the law"], rows)]


ITEMS = (
    Item("table-2", "The workloads", "Table 2", NAMES, [TABLE_2]),
    Item(
        "fig-2", "Popularity of values", "Fig. 2", NAMES,
        [Quantity("values with 50 % of the writes", trace_fact("popularity.write.contents_for_50_percent"),
                  published.HALF_OF_WRITES)],
        _panels_fig_2, facts=[POPULARITY],
    ),
    Item(
        "fig-3", "Temporal locality of values", "Fig. 3", NAMES,
        [
            Quantity("LRU positions with 90 % of the repeated writes", _positions("content"), published.POSITIONS,
                     "positions"),
            Quantity("memory saved by a queue so long", trace_fact("value_locality.write.content.memory_saved_percent"),
                     published.SAVED),
        ],
        [BarPanel("entries for 90 % of the repeats",
              {"values": (_positions("content"), published.POSITIONS), "addresses": _positions("address")})],
    ),
    Item(
        "fig-4", "Misses of popular values", "Fig. 4", NAMES,
        [Quantity("misses of popular values, 64 K entries", entry(MISSES, "at_64k"), published.MISSES)],
        _panels_fig_4, facts=[MISSES],
    ),
    Item("table-3", "The other workloads", "Table 3", tuple(published.TABLE_3), [TABLE_3]),
    # About 8 % of mail's and homes' writes change nothing; reads come again by value sooner than by address.
    Item(
        "value-locality", "Value locality beside locality of addresses", "Section 3", NAMES,
        [
            Quantity("writes of what the address holds", trace_fact("space.rewrite_percent"), published.SAME_CONTENT),
            above("reads: hits by value above hits by address, 64 K entries",
                  entry(HITS["value"], "hits"), entry(HITS["address"], "hits"), least=EFFECT_POINTS),
        ],
        _panels_locality, facts=[*HITS.values()],
    ),
    Item(
        "hm-values", "Values with half of the writes of hm", "5.3", ("hm",), _claims_hm, tables=_tables_hm,
        notes=_notes_hm, facts=[HM],
    ),
)  # fmt: skip
