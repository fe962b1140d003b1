"""CA-SSD: the gain of deduplication. Fig. 6-8, and the size of the store."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flashtwin.papers.bench import Stand, reduction
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.common import (
    ALL,
    CA_SSD,
    NAMES,
    PAGE_BYTES,
    TEN,
    TRADITIONAL,
    compared,
    cuts,
    device,
    pair,
    victims,
)
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart, lines, mean
from flashtwin.papers.text import column, count, micro


def entries(stand: Stand, full: int) -> int:
    """A size of the fingerprint store at the workload's scale."""
    return max(1, round(full * stand.source.scale))


def measure_fig_6(stand: Stand) -> Facts:
    """Valid pages of the blocks collected."""
    found: Facts = {}
    for name, run in pair(stand).items():
        rows = run.rows("gc_victims")
        found[name] = victims(run)
        shares = np.cumsum([row["victims"] for row in rows]) / max(1, sum(row["victims"] for row in rows))
        found[f"{name}_curve"] = ([float(row["valid_pages"]) for row in rows], shares.tolist())
    return found


def judge_fig_6(facts: Mapping[str, Facts]) -> Outcome:
    """Means, and the cumulative distribution."""
    found = facts.get("web", {})
    claims = [
        number(name, "valid pages of a victim", value, found.get(name), "pages", why="no block was collected")
        for name, value in zip((TRADITIONAL, CA_SSD), published.VICTIMS_WEB, strict=True)
    ]
    series = [(name, *found[f"{name}_curve"]) for name in (TRADITIONAL, CA_SSD) if found and found[f"{name}_curve"][0]]
    return Outcome(claims, chart(lines(series, "valid pages", "share of the victims")) if series else None)


def measure_fig_7(stand: Stand) -> Facts:
    """Everything of Fig. 7: response, writes by cause, erases."""
    return compared(pair(stand))


def _variance_cut(found: Facts | None) -> float | None:
    """By how many percent the variance is smaller."""
    before, after = (found[system]["deviation"] if found else None for system in (TRADITIONAL, CA_SSD))
    return None if not before or after is None else 100.0 * (1.0 - (after / before) ** 2)


def judge_fig_7a(facts: Mapping[str, Facts]) -> Outcome:
    """Mean response time, and its variance, of which no number is given."""
    claims, series = cuts(facts, "response", "mean response time", published.RESPONSE)
    claims += [
        Claim(name, "variance of response times, cut", 0.0, None, _variance_cut(facts.get(name)), effect=True)
        for name in NAMES
    ]
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
    claims, series = cuts(facts, "writes", "pages written", published.WRITES)
    more, gc = cuts(facts, "gc", "pages written by collection", published.GC_WRITES, none)
    return Outcome([*claims, *more], chart(bars(NAMES, [series, gc], "cut, %")))


def judge_fig_7c(facts: Mapping[str, Facts]) -> Outcome:
    """Erases."""
    claims, series = cuts(facts, "erases", "erases", published.ERASES, "the traditional SSD erased nothing")
    rows = [[name, *(count(facts[name][system]["erases"]) for system in (TRADITIONAL, CA_SSD))] for name in facts]
    table = {"title": "Measured", "header": ["workload", TRADITIONAL, CA_SSD], "rows": rows}
    return Outcome(claims, chart(bars(NAMES, [series], "cut, %")), tables=[table])


def measure_cache(stand: Stand) -> Facts:
    """Stores of fixed size beside one without a limit."""
    runs = pair(stand)
    found: Facts = {"unlimited": reduction(runs[TRADITIONAL], runs[CA_SSD], ALL)}
    for full in published.RAM_MB:
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
    claims.append(number("homes", "16 K entries: erases, cut", published.ERASES_HOMES_16K, homes, effect=True))
    for full, size in published.RAM_MB.items():
        needed = max((found[f"{full}_ram"] or 0.0 for found in facts.values()), default=None)
        claims.append(number(f"{full // 1024} K entries", "RAM of the store", size, needed, "MB"))
    sizes = [*(str(full) for full in published.RAM_MB), "unlimited"]
    labels = [*(f"{full // 1024} K" for full in published.RAM_MB), "unlimited"]
    series: list[Series] = [
        (label, column(facts, NAMES, size), []) for label, size in zip(labels, sizes, strict=True)
    ]  # fmt: skip
    return Outcome(claims, chart(bars(NAMES, series, "response time cut, %")))


def measure_fig_8(stand: Stand) -> Facts:
    """The trace's requests with contents drawn by Zipf's law, from as many values as pages are written."""
    written = round((stand.fact("info.write_bytes") or 0.0) / PAGE_BYTES)
    base = stand.run(TRADITIONAL, **device(stand))
    ratios = []
    for exponent in published.EXPONENTS:
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
        claims.append(Claim(name, "a = 0: slower by, at most", None, published.ZIPF_NONE, slower))
    ends = [facts.get(name, {}).get("ratios", [None])[-1] for name in TEN]
    whole = None not in ends
    average = mean([None if end is None else (1.0 - end) * 100.0 for end in ends])
    why = "" if whole else "the mean is over all ten workloads"
    claims.append(
        number(
            "mean", "a = 1: response time, cut", published.ZIPF_FULL, average if whole else None, effect=True, why=why
        )
    )
    financial = facts.get("financial", {}).get("ratios", [None])[-1]
    claims.append(
        number(
            "financial", "a = 1: times as fast", published.ZIPF_FINANCIAL, 1.0 / financial if financial else None, "x"
        )
    )
    series = [(name, list(published.EXPONENTS), facts[name]["ratios"]) for name in TEN if name in facts]
    panel = lines(series, "Zipf exponent a", "CA-SSD / traditional, mean response")
    return Outcome(claims, chart(panel) if series else None)


ITEMS = (
    Item("fig-6", "Valid pages of collected blocks", "Fig. 6", ("web",), measure_fig_6, judge_fig_6),
    Item("fig-7a", "Response time", "Fig. 7a", NAMES, measure_fig_7, judge_fig_7a),
    Item("fig-7b", "Writes", "Fig. 7b", NAMES, measure_fig_7, judge_fig_7b),
    Item("fig-7c", "Erases", "Fig. 7c", NAMES, measure_fig_7, judge_fig_7c),
    Item("cache-size", "Size of the fingerprint store", "5.2, Fig. 7", NAMES, measure_cache, judge_cache),
    Item("fig-8", "Contents by Zipf's law", "Fig. 8", TEN, measure_fig_8, judge_fig_8),
)
