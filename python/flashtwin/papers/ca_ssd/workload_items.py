"""CA-SSD: its workloads. Tables 2 and 3, Fig. 2-4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flashtwin.papers.bench import Stand
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.common import NAMES, PAGE_BYTES
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart, lines
from flashtwin.papers.text import column

COLUMNS = (
    ("requests", "requests", "million"), ("size", "footprint", "GB"), ("writes", "writes", "%"),
    ("unique_writes", "unique among writes", "%"), ("unique_reads", "unique among reads", "%"),
    ("sequential", "sequential", "%"),
)  # fmt: skip


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


def judge_table_2(facts: Mapping[str, Facts]) -> Outcome:
    """Column by column."""
    return _judge_columns(facts, published.TABLE_2, COLUMNS)


def measure_table_3(stand: Stand) -> Facts:
    """Requests of any size."""
    return _table(stand, stand.fact("info.requests"), stand.fact("info.writes"))


def judge_table_3(facts: Mapping[str, Facts]) -> Outcome:
    """The seven traces whose contents are synthetic in the paper, too."""
    return _judge_columns(facts, published.TABLE_3, COLUMNS[:3])


def _table(stand: Stand, requests: float | None, writes: float | None) -> Facts:
    scale, pages = stand.source.scale, stand.fact("info.footprint_pages")
    return {
        "requests": None if requests is None else requests / scale / 1e6,
        "size": None if pages is None else pages * PAGE_BYTES / scale / 2**30,
        "writes": None if not requests or writes is None else 100.0 * writes / requests,
    }


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
        for name, value in published.HALF_OF_WRITES.items()
    ]
    panels = [
        lines(
            [(f"{kind}s", *facts[name][kind]) for kind in ("write", "read")], "share of the values",
            "share of the accesses", title=name, published=[("writes", published.HALF_OF_WRITES[name] / 100.0, 0.5)],
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
    """Positions with 90 % of the repeated writes, and the saving of a queue of that length."""
    title = "LRU positions with 90 % of the repeated writes"
    claims = [number("homes", title, published.POSITIONS_HOMES, facts.get("homes", {}).get("content"), "positions")]
    claims += [
        number(name, "memory saved by a queue so long", value, facts.get(name, {}).get("content_saved"))
        for name, value in published.SAVED.items()
    ]
    series: list[Series] = [
        ("values", column(facts, NAMES, "content"), [None, None, published.POSITIONS_HOMES]),
        ("addresses", column(facts, NAMES, "address"), []),
    ]
    return Outcome(claims, chart(bars(NAMES, series, "entries for 90 % of the repeats")))


def measure_fig_4(stand: Stand) -> Facts:
    """Misses of popular values by the size of the store, at the workload's scale.

    First writes, which miss in a store of any size, are left out, as they must have been: the popular values of
    `web` are 30 % of its values (Fig. 2), so that a quarter of the writes that go to them are first ones.
    """
    rows = [row for row in stand.table("popular_miss_ratio") if row.get("kind", "write") == "write"]
    x = [float(row["entries"]) / stand.source.scale for row in rows]
    y = [100.0 * float(row["miss_fraction"] - rows[-1]["miss_fraction"]) for row in rows]
    at = float(np.interp(65_536.0, x, y)) if x else None
    return {"x": x, "y": y, "at_64k": at}


def judge_fig_4(facts: Mapping[str, Facts]) -> Outcome:
    """At 64 K entries."""
    claims = [
        Claim(name, "misses of popular values, 64 K entries", low, high, facts.get(name, {}).get("at_64k"))
        for name, (low, high) in published.MISSES.items()
    ]
    series = [(name, facts[name]["x"], facts[name]["y"]) for name in NAMES if facts.get(name, {}).get("x")]
    points = [(name, 65_536.0, high) for name, (_, high) in published.MISSES.items() if high is not None]
    panel = lines(series, "entries", "misses of popular values, %", x_log=True, published=points)
    return Outcome(claims, chart(panel) if series else None)


ITEMS = (
    Item("table-2", "The workloads", "Table 2", NAMES, measure_table_2, judge_table_2),
    Item("fig-2", "Popularity of values", "Fig. 2", NAMES, measure_fig_2, judge_fig_2),
    Item("fig-3", "Temporal locality of values", "Fig. 3", NAMES, measure_fig_3, judge_fig_3),
    Item("fig-4", "Misses of popular values", "Fig. 4", NAMES, measure_fig_4, judge_fig_4),
    Item("table-3", "The other workloads", "Table 3", tuple(published.TABLE_3), measure_table_3, judge_table_3),
)
