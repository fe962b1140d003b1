"""CA-SSD: statements of its text on value locality, in words and single numbers. Sections 3 and 5.3."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from flashtwin.papers.bench import Stand
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.common import NAMES, PAGE_BYTES
from flashtwin.papers.claims import EFFECT_POINTS, Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, chart, lines

#: Entries at which the paper reads its curves of misses (Fig. 4), at scale 1.
ENTRIES = 65_536
#: Seed of the contents that are drawn for hm.
SEED = 0


def measure_locality(stand: Stand) -> Facts:
    """Writes of the value already at the address, and hits of reads by value and by address in caches of any size."""
    found: Facts = {"same_content": stand.fact("space.rewrite_percent")}
    for of in ("content", "address"):
        rows = [row for row in stand.table("miss_ratio") if (row["kind"], row["of"]) == ("read", of)]
        x = [float(row["entries"]) / stand.source.scale for row in rows]
        y = [100.0 * (1.0 - float(row["miss_fraction"])) for row in rows]
        found[of] = {"x": x, "y": y, "hits": float(np.interp(ENTRIES, x, y)) if x else None}
    return found


def judge_locality(facts: Mapping[str, Facts]) -> Outcome:
    """About 8 % of mail's and homes' writes change nothing; reads come again by value sooner than by address."""
    claims = [
        number(name, "writes of what the address holds", value, facts.get(name, {}).get("same_content"))
        for name, value in published.SAME_CONTENT.items()
    ]
    panels = []
    for name in NAMES:
        found = facts.get(name)
        hits = (found["content"]["hits"], found["address"]["hits"]) if found else (None, None)
        ahead = None if hits[0] is None or hits[1] is None else hits[0] - hits[1]
        what = "reads: hits by value above hits by address, 64 K entries"
        claims.append(Claim(name, what, EFFECT_POINTS, None, ahead, "points", True))
        if found and found["content"]["x"]:
            series = [
                (label, found[of]["x"], found[of]["y"]) for of, label in (("content", "value"), ("address", "address"))
            ]
            panels.append(lines(series, "entries of an LRU cache", "page reads that hit, %", title=name, x_log=True))
    return Outcome(claims, chart(*panels) if panels else None)


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


def judge_hm(facts: Mapping[str, Facts]) -> Outcome:
    """Values with half of the writes, and how many fewer they become; with what Table 3 leaves possible."""
    found = facts.get("hm", {})
    even, skewed = published.HM_HALF
    claims = [
        number("hm", f"values with half of the writes, a = {a:g}", value, found.get(f"{a:g}"), "million")
        for a, value in published.HM_HALF.items()
    ]
    fewer = 100.0 * (1.0 - published.HM_HALF[skewed] / published.HM_HALF[even])
    of_ours = 100.0 * (1.0 - found[f"{skewed:g}"] / found[f"{even:g}"]) if found else None
    claims.append(number("hm", f"fewer for a = {skewed:g}", fewer, of_ours, effect=True))
    if not found:
        return Outcome(claims)
    fitting = 1.0 - 1.0 / (1.0 + math.log2(published.HM_HALF[even] / published.HM_HALF[skewed]))
    notes = [
        f"By Table 3 hm writes {found['writes']:.2f} M pages. Half of them are {found['writes'] / 2:.2f} M writes, "
        f"which cannot go to {published.HM_HALF[even]:g} M values: the published number is not one of writes counted.",
        f"As a share of the law it is half of {2 * published.HM_HALF[even]:g} M equal values; "
        f"{published.HM_HALF[skewed]:g} M of them have half of the probability at a = {fitting:.2f}, not at "
        f"{skewed:g}.",
    ]
    rows = [
        [f"{a:g}", f"{value:g} M", f"{found[f'{a:g}']:.2f} M", f"{found[f'law {a:g}']:.2f} M"]
        for a, value in published.HM_HALF.items()
    ]
    header = ["a", "published", "of writes drawn", "of the law"]
    title = "Values with half of the writes of hm, as many values as writes"
    return Outcome(claims, notes=notes, tables=[{"title": title, "header": header, "rows": rows}])


ITEMS = (
    Item("value-locality", "Value locality beside locality of addresses", "Section 3", NAMES, measure_locality,
         judge_locality),
    Item("hm-values", "Values with half of the writes of hm", "5.3", ("hm",), measure_hm, judge_hm),
)  # fmt: skip
