"""RR-SSD: the workloads, and their waits on SSDs that do not replicate. Table III, Fig. 1 to 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, orders
from flashtwin.papers.facts import Fact, derived, entry, minus, of_runs, of_trace, part, total
from flashtwin.papers.model import (
    BarPanel,
    ByWorkload,
    Facts,
    Item,
    Overall,
    Quantity,
    Series,
    bars,
    claims_of,
    column,
    gain,
    lines,
    percent,
    table,
)
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import COMPLETES, KINDS, MEANS, NAMES, at_clock, over_all, saves

FIU = published.FIU
#: Parts of a mean response time, as Fig. 1 names them and as results do.
PARTS = {
    "queueing at the chip": "queueing",
    "waiting for the channel": "channel_wait",
    "transfer": "transfer",
    "flash operation": "flash",
    "waiting for the hash unit": "hash_wait",
    "hashing": "hash",
    "other waiting": "other_wait",
    "controller": "controller",
}
#: The paper's "queueing and transfer": its transfer includes the wait for the channel.
QUEUEING_AND_TRANSFER = ("queueing at the chip", "waiting for the channel", "transfer")

PROGRAMMED = "writes complete when programmed"
#: When writes are complete: on the conventional SSD, and on CA-SSD.
RULES = {
    PROGRAMMED: ("programmed", "programmed"),
    "writes complete when hashed": ("hashed", "hashed"),
    "ca-ssd alone has battery-backed RAM": ("programmed", "hashed"),
}
#: Readings of the column "Imp. [%]": a reduction, a speed-up, and the remaining share of the time; in percent.
READINGS = {
    "time saved": lambda before, after: (1.0 - after / before) * 100.0,
    "conventional / ca-ssd - 1": lambda before, after: (before / after - 1.0) * 100.0,
    "ca-ssd / conventional": lambda before, after: after / before * 100.0,
}


def _readings(rules: Sequence[str], kind: str) -> dict[str, Fact]:
    times = [
        total(at_clock(name, **{COMPLETES: rule}), f"response.{kind}.mean_ns")
        for name, rule in zip(("conventional", "ca-ssd"), rules, strict=True)
    ]
    return {
        title: derived(lambda before, after, read=read: read(before, after) if before and after else None, *times)
        for title, read in READINGS.items()
    }  # fmt: skip


IMPROVED = {(label, kind): _readings(rules, kind) for label, rules in RULES.items() for kind in ("write", "read")}
BY_CA_SSD = {kind: IMPROVED[PROGRAMMED, kind]["time saved"] for kind in ("write", "read")}


def _tables_table_3(facts: ByWorkload) -> list[dict[str, Any]]:
    rows = [
        [label, name, f"{kind}s", percent(published.CA_SSD[kind][name]),
         *(percent(found[fact]) for fact in IMPROVED[label, kind].values())]
        for label in RULES
        for name, found in facts.items()
        for kind in ("write", "read")
    ]  # fmt: skip
    header = ["writes are complete", "workload", "of", "published", *READINGS]
    return [table("Three readings of the column, by when writes are complete", header, rows)]


def _notes_table_3(facts: ByWorkload) -> list[str]:
    if not facts:
        return []
    held = []
    for title in READINGS:
        columns = [Quantity(kind, IMPROVED[PROGRAMMED, kind][title], of) for kind, of in published.CA_SSD.items()]
        kept, pairs = orders(claims_of([tuple(columns)], facts, list(facts)))
        held.append(f"as {title} {kept} of {pairs}")
    return [
        '"Imp. [%]" is read in this table as in Table IV: the share of the time that is saved, as the caption and IV.A '
        "say. Five of its twelve numbers are 100 % or more, which no saving can be. Published orders of the workloads "
        f"that hold: {'; '.join(held)}.",
        "Claims are of drives whose writes are complete when programmed, both of them: where writes are answered from "
        "RAM, a conventional SSD has no time of writing that CA-SSD could save.",
    ]


#: The parts of a mean service time on a conventional SSD: that of a write ends with its program.
CONVENTIONAL = at_clock("conventional", **{COMPLETES: "programmed"})
SPLIT = {
    kind: {
        name: part(
            derived(lambda ns: ns or 0.0, total(CONVENTIONAL, f"response.{kind}.split.{key}_ns")),
            total(CONVENTIONAL, f"response.{kind}.mean_ns"),
        )
        for name, key in PARTS.items()
    }
    for kind in ("read", "write")
}


def _together(*parts: float | None) -> float | None:
    return None if None in parts else sum(part for part in parts if part is not None)


def _fig_1(kind: str) -> tuple[Quantity, Quantity]:
    """Queueing and transfer against the range given; "the queueing time is much more dominant" (Section I)."""
    of = SPLIT[kind]
    together = derived(_together, *(of[name] for name in QUEUEING_AND_TRANSFER))
    ahead = minus(of["queueing at the chip"], of["transfer"])
    return (
        Quantity(f"{kind}s: queueing + transfer", together, published.QUEUEING[kind]),
        Quantity(f"{kind}s: queueing above transfer", ahead, (0.0, None), "points", effect=True),
    )


def _panels_fig_1(facts: ByWorkload) -> list[dict[str, Any]]:
    names = [name for name in NAMES if name in facts]
    panels = []
    for kind, of in SPLIT.items():
        columns = {name: column(facts, names, fact) for name, fact in of.items()}
        drawn = {name: of for name, of in columns.items() if any(of) or name in QUEUEING_AND_TRANSFER}
        series: list[Series] = [(name, of, []) for name, of in drawn.items()]
        panels.append(bars(names, series, "share of the mean response, %", title=f"{kind}s", stacked=True))
    return panels


#: The width of Fig. 2 in seconds, without any redirection of requests.
WINDOW_S = 100.0


def queues(run: PaperRun) -> Facts:
    """Lowest, mean and highest of the chips' mean queues by time, in the window with the most work."""
    window_ns = WINDOW_S / float(run.summary["config"]["replay"]["speed"]) * 1e9
    rows = run.rows("queue_over_time")
    starts = sorted({row["start_ns"] for row in rows})
    means_ = np.zeros((len(starts), len({row["chip"] for row in rows})))
    longest = np.zeros_like(means_)
    place = {start: index for index, start in enumerate(starts)}
    for row in rows:
        means_[place[row["start_ns"]], row["chip"]] = row["queue_mean"]
        longest[place[row["start_ns"]], row["chip"]] = row["queue_max"]
    width = rows[0]["width_ns"] if rows else 1
    count = max(1, min(len(starts), int(window_ns // width) or 1))
    load = np.convolve(means_.mean(axis=1), np.ones(count), "valid")
    first = int(load.argmax())
    part, peaks = means_[first : first + count], longest[first : first + count]
    # Most chips are empty at most moments: as a queue is no multiple of none, an empty one counts as one operation.
    ratio = float((peaks.max(axis=1) / np.maximum(part.min(axis=1), 1.0)).max()) if count else None
    return {
        "seconds": [(starts[first + index] - starts[first]) / 1e9 for index in range(count)],
        "minimum": part.min(axis=1).tolist(),
        "mean": part.mean(axis=1).tolist(),
        "maximum": part.max(axis=1).tolist(),
        "longest": float(peaks.max()) if count else None,
        "ratio": ratio,
        "bin_ms": width / 1e6,
    }


QUEUES, LONGER = (
    of_runs(queues, at_clock("static", device="rr-ssd", **sets)) for sets in ({}, {"ftl.allocation.stripe_pages": 4})
)


def _panels_fig_2(facts: ByWorkload) -> list[dict[str, Any]]:
    found = facts["webvm"][QUEUES]
    series = [(name, found["seconds"], found[name]) for name in ("maximum", "mean", "minimum")]
    return [lines(series, "simulated time, s", "operations at a chip")]


def _notes_fig_2(facts: ByWorkload) -> list[str]:
    if not facts:
        return []
    found, longer = facts["webvm"][QUEUES], facts["webvm"][LONGER]["ratio"]
    window = f"{len(found['seconds'])} bins" if len(found["seconds"]) > 1 else "bin"
    notes = [
        f"Queues are means over bins of {found['bin_ms']:.3g} ms of simulated time, chip by chip, in the busiest "
        f"{window}; at one moment a chip held up to {found['longest']:.0f} operations. The ratio is "
        "of that to the emptiest chip of the same bin, which counts as holding one operation at least. (Until "
        "results were seen only bins without an empty chip counted.)"
    ]
    if longer is not None:
        notes.append(f"Where a chip has four times as many neighbouring pages, the ratio is {longer:.0f}.")
    return notes


IDEAL = {kind: saves("oracle-conventional", path, baseline="conventional") for kind, path in MEANS.items()}


def _panels_fig_3(facts: ByWorkload) -> list[dict[str, Any]]:
    series = []
    for kind, title in KINDS.items():
        values = column(facts, NAMES, IDEAL[kind])
        measured = over_all(title, IDEAL[kind], published.IDEAL_MEAN[kind]).overall(facts, NAMES).measured
        series.append((title, [*values, measured], [*([None] * len(values)), published.IDEAL_MEAN[kind]]))
    return [bars([*NAMES, "mean"], series, "time saved over conventional, %")]


def popularity(stand: Stand) -> Facts:
    """How reads fall on values, and how the same values' writes do."""
    rows = stand.table("popularity")
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for kind in ("read_by_read_order", "write_by_read_order"):
        kept = [row for row in rows if row["kind"] == kind]
        curves[kind] = ([row["value_fraction"] for row in kept], [row["access_fraction"] for row in kept])
    reads, writes = curves["read_by_read_order"], curves["write_by_read_order"]
    found: Facts = {"reads": reads, "writes": writes, "of_read": stand.fact("popularity.read.contents_for_80_percent")}
    if reads[0]:
        at = float(np.interp(0.8, reads[1], reads[0]))
        found["values"] = 100.0 * at
        found["their_writes"] = 100.0 * float(np.interp(at, *writes)) if writes[0] else None
    return found


POPULARITY = of_trace(popularity)


def _panels_fig_4(facts: ByWorkload) -> list[dict[str, Any]]:
    return [
        lines(
            [("reads", *found["reads"]), ("writes", *found["writes"])], "share of the values, by reads",
            "share of the accesses", title=name, published=[("reads", published.POPULAR_VALUES[name] / 100.0, 0.8)],
        )
        for name in FIU
        if name in facts and (found := facts[name][POPULARITY])["reads"][0]
    ]  # fmt: skip


def _notes_fig_4(facts: ByWorkload) -> list[str]:
    return [
        f"{name}: of the values that are read at all, {percent(of_read)} receive 80 % of the reads."
        for name in FIU
        if (of_read := facts.get(name, {}).get(POPULARITY, {}).get("of_read")) is not None
    ]


DAYS = 7


def by_day(stand: Stand) -> dict[int, list[Mapping[str, Any]]]:
    """Reads of each day on the values most read on the first."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in stand.table("popularity_by_period"):
        found.setdefault(int(row["period"]), []).append(row)
    return dict(sorted(found.items())[:DAYS])


BY_DAY = of_trace(by_day)
#: Values never seen before, day by day, as the whole workload would have them.
NEW_VALUES = of_trace(lambda stand: [row["new_contents"] / stand.source.scale for row in stand.table("periods")])


def _panels_fig_5(facts: ByWorkload) -> list[dict[str, Any]]:
    panels = []
    for name in FIU:
        series = [
            (f"day {day + 1}", [row["value_fraction"] for row in rows], [row["access_fraction"] for row in rows])
            for day, rows in facts.get(name, {}).get(BY_DAY, {}).items()
        ]
        if series:
            x_label, y_label = "share of the values, by reads on day 1", "share of the day's reads"
            panels.append(lines(series, x_label, y_label, title=name))
    return panels


def _panels_fig_6(facts: ByWorkload) -> list[dict[str, Any]]:
    found = {name: facts[name][NEW_VALUES] for name in FIU if name in facts}
    series = [(name, [float(day + 1) for day in range(len(days))], days) for name, days in found.items()]
    return [lines(series, "day", "new values")] if series else []


ITEMS = (
    Item(
        "table-3", "Workloads, and what CA-SSD gains over a conventional SSD", "Table III", NAMES,
        [tuple(gain(f"{kind}s: time saved by ca-ssd, {PROGRAMMED}", fact, published.CA_SSD[kind])
               for kind, fact in BY_CA_SSD.items())],
        [BarPanel("time saved by ca-ssd, %",
              {f"{kind}s": (fact, published.CA_SSD[kind]) for kind, fact in BY_CA_SSD.items()})],
        _tables_table_3, _notes_table_3, [fact for of in IMPROVED.values() for fact in of.values()],
    ),
    Item(
        "fig-1", "What a response time is made of on a conventional SSD", "Fig. 1", NAMES,
        [_fig_1("read"), _fig_1("write")], _panels_fig_1, facts=[fact for of in SPLIT.values() for fact in of.values()],
    ),
    Item(
        "fig-2", "Queues of the chips over 100 s of webvm", "Fig. 2", ("webvm",),
        [Quantity("longest / shortest queue of a chip, at most", entry(QUEUES, "ratio"),
                  (published.QUEUE_RATIO, None), "x")],
        _panels_fig_2, notes=_notes_fig_2, facts=[QUEUES, LONGER],
    ),
    Item(
        "fig-3", "Ideal-All-Chip Replication over a conventional SSD", "Fig. 3", NAMES,
        [quantity for kind, title in KINDS.items() for quantity in (
            gain(title, IDEAL[kind], published.IDEAL[kind]), over_all(title, IDEAL[kind], published.IDEAL_MEAN[kind]),
        )],
        _panels_fig_3,
    ),
    Item(
        "fig-4", "Popularity of values in reads and writes", "Fig. 4", FIU,
        [
            Quantity("values with 80 % of the reads", entry(POPULARITY, "values"), published.POPULAR_VALUES),
            Quantity("writes of these values, at most", entry(POPULARITY, "their_writes"),
                     {"webvm": (None, published.POPULAR_WRITES_WEBVM)}),
        ],
        _panels_fig_4, notes=_notes_fig_4, facts=[POPULARITY],
    ),
    Item(
        "fig-5", "Popularity from day to day", "Fig. 5", FIU,
        lambda _: [Claim("all", "curves", None, None, None, "", False, "published as a picture only")],
        _panels_fig_5, facts=[BY_DAY],
    ),
    Item(
        "fig-6", "New values by day", "Fig. 6", FIU,
        [Overall("new values", derived(lambda days: max(days, default=None), NEW_VALUES), published.NEW_VALUES,
                 "values", why="no trace", subject="highest day", statistic=max, needs="any")],
        _panels_fig_6, facts=[NEW_VALUES],
    ),
)  # fmt: skip
