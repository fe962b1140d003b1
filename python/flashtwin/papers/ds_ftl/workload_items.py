"""DS-FTL: its workloads, their duplicates, and how static allocation spreads them. Table 3, Fig. 2-4."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import number
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.ds_ftl.common import runs_at
from flashtwin.papers.model import Facts, Item, Outcome, bars, chart, lines
from flashtwin.papers.text import column, percent

NAMES = published.NAMES


def _requests(stand: Stand) -> float | None:
    found = stand.fact("info.requests")
    return None if found is None else found / stand.source.scale


def _write_ratio(stand: Stand) -> float | None:
    requests, writes = stand.fact("info.requests"), stand.fact("info.writes")
    return None if not requests or writes is None else writes / requests


def _mean_kb(stand: Stand) -> float | None:
    requests, read, written = (stand.fact(f"info.{key}") for key in ("requests", "read_bytes", "write_bytes"))
    return None if not requests or read is None or written is None else (read + written) / requests / 1024.0


COLUMNS = (("requests", "requests", _requests), ("write ratio", "", _write_ratio), ("mean size", "KB", _mean_kb))


def measure_table_3(stand: Stand) -> Facts:
    """Requests as the whole workload would have them, mix and size."""
    return {title: measure(stand) for title, _, measure in COLUMNS}


def judge_table_3(facts: Mapping[str, Facts]) -> Outcome:
    """Column by column."""
    claims = []
    for name, (requests, _, ratio, size) in published.TABLE_3.items():
        for (title, unit, _), value in zip(COLUMNS, (requests, ratio, size), strict=True):
            claims.append(number(name, title, value, facts.get(name, {}).get(title), unit))
    return Outcome(claims)


def measure_fig_2(stand: Stand) -> Facts:
    """Busy times of chips and channels under static allocation."""
    run = runs_at(stand, "static")["static"]
    chips = [float(row["busy_ns"]) for row in run.rows("chips")]
    channels = [float(row["busy_ns"]) for row in run.rows("channels")]
    return {
        "chips": [100.0 * busy / max(1.0, *chips) for busy in chips],
        "channels": [100.0 * busy / max(1.0, *channels) for busy in channels],
    }


def judge_fig_2(facts: Mapping[str, Facts]) -> Outcome:
    """How far the least busy chip is below the busiest; the workload that differs most is the example."""
    differ = {name: 100.0 - min(found["chips"]) for name, found in facts.items()}
    most = max(differ, key=lambda name: differ[name]) if differ else None
    most_differ = differ[most] if most else None
    claims = [number("some workload", "chips differ in utilisation by", published.CHIPS_DIFFER, most_differ)]
    panels = []
    if most:
        for key, label in (("channels", "channel"), ("chips", "chip")):
            values = facts[most][key]
            groups = [str(place) for place in range(len(values))]
            panels.append(bars(groups, [("static", values, [])], "% of the busiest", title=f"{most}, by {label}"))
    notes = [f"{name}: chips differ by {percent(value)}." for name, value in differ.items()]
    return Outcome(claims, chart(*panels) if panels else None, notes)


def measure_fig_3(stand: Stand) -> Facts:
    """Pages written whose content was written before."""
    return {"duplicates": stand.fact("duplication.duplicate_percent")}


def judge_fig_3(facts: Mapping[str, Facts]) -> Outcome:
    """The highest of the eight."""
    values = column(facts, NAMES, "duplicates")
    highest = max((value for value in values if value is not None), default=None)
    claims = [number("highest of the workloads", "duplicates among pages written", published.DUPLICATES, highest)]
    return Outcome(claims, chart(bars(NAMES, [("duplicates", values, [])], "of pages written, %")))


def measure_fig_4(stand: Stand) -> Facts:
    """Pages written to each plane under static allocation whose content another page written to it has."""
    shares = [row["equal_written"] for row in runs_at(stand, "static")["static"].rows("planes")]
    return {"planes": [100.0 * share for share in shares if share is not None]}


def judge_fig_4(facts: Mapping[str, Facts]) -> Outcome:
    """Lowest and highest over planes and workloads; which workload the figure is of is not said."""
    every = [value for found in facts.values() for value in found["planes"]]
    claims = [
        number("lowest plane", "duplicates on a plane", published.ON_PLANES[0], min(every, default=None)),
        number("highest plane", "duplicates on a plane", published.ON_PLANES[1], max(every, default=None)),
    ]
    notes = [
        f"{name}: planes have {percent(min(found['planes']))} to {percent(max(found['planes']))}."
        for name, found in facts.items()
        if found["planes"]
    ]
    series = [
        (name, [float(place) for place in range(len(facts[name]["planes"]))], facts[name]["planes"])
        for name in NAMES
        if name in facts
    ]
    panel = lines(series, "plane", "duplicates on the plane, %")
    return Outcome(claims, chart(panel) if series else None, notes)


ITEMS = (
    Item("table-3", "The workloads", "Table 3", NAMES, measure_table_3, judge_table_3),
    Item("fig-2", "Utilisation of channels and chips", "Fig. 2", NAMES, measure_fig_2, judge_fig_2),
    Item("fig-3", "Duplicates in the traces", "Fig. 3", NAMES, measure_fig_3, judge_fig_3),
    Item("fig-4", "Duplicates on each plane", "Fig. 4", NAMES, measure_fig_4, judge_fig_4),
)
