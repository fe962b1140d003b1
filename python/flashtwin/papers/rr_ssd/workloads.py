"""RR-SSD: the workloads, and their waits on SSDs that do not replicate. Table III, Fig. 1 to 6."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin.papers import panels
from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, orders
from flashtwin.papers.facts import SCALE, Fact, derived, of_runs, of_trace, total, trace_fact
from flashtwin.papers.model import FirstRule, Item, Overall, PaperWorkload, Quantity, claims_of, gain
from flashtwin.papers.panels import BarPanel, ByWorkload, Curves, Display, Facts, Series, column, percent
from flashtwin.papers.rr_ssd import common
from flashtwin.papers.rr_ssd.common import CA_SSD, FIU, KINDS, NAMES, QUEUEING, at_clock, by_workload, over_all

READ_BYTES, WRITE_BYTES = trace_fact("info.read_bytes"), trace_fact("info.write_bytes")
#: Table III; shares of pages, because the paper's requests are of 4 KB.
STATISTICS = (
    Quantity("writes", WRITE_BYTES * 100.0 / (READ_BYTES + WRITE_BYTES),
             by_workload(77.0, 96.0, 77.0, 30.0, 55.0, 42.0)),
    Quantity("unique values among writes", trace_fact("info.unique_values_write_percent"),
             by_workload(42.0, 66.0, 8.0, 63.9, 77.4, 74.7)),
    Quantity("unique values among reads", trace_fact("info.unique_values_read_percent"),
             by_workload(32.0, 80.0, 80.0, 17.5, 13.8, 49.7)),
)  # fmt: skip
#: Names of recorded files.
FILES = {
    "webvm": ("web-vm", "webmail+online.cs.fiu.edu-110108-113008"),
    "homes": ("homes-110108-112108",),
    "mail": ("mail-01", "cheetah.cs.fiu.edu-110108-113008"),
}
WORKLOADS = tuple(PaperWorkload(name, f"rr-ssd/{name}", FILES.get(name, ()), STATISTICS, "Table III") for name in NAMES)

#: When writes are complete: on the conventional SSD, and on CA-SSD.
PROGRAMMED = "writes complete when programmed"
RULES = {
    PROGRAMMED: ("programmed", "programmed"),
    "writes complete when hashed": ("hashed", "hashed"),
    "ca-ssd alone has battery-backed RAM": ("programmed", "hashed"),
}
#: Readings of the column "Imp. [%]": a reduction, a speed-up, and the remaining share of the time; in percent.
READINGS: dict[str, Callable[[float, float], float]] = {
    "time saved": lambda before, after: (1.0 - after / before) * 100.0,
    "conventional / ca-ssd - 1": lambda before, after: (before / after - 1.0) * 100.0,
    "ca-ssd / conventional": lambda before, after: after / before * 100.0,
}


def _readings(rules: Sequence[str], kind: str) -> dict[str, Fact]:
    times = [
        total(at_clock(name, **{common.COMPLETES: rule}), f"response.{kind}.mean_ns")
        for name, rule in zip(("conventional", "ca-ssd"), rules, strict=True)
    ]
    # Of a time that is 0, as that of writes which are complete at once, there is nothing to save.
    return {
        title: derived(lambda before, after, read=read: read(before, after) if before and after else None, *times)
        for title, read in READINGS.items()
    }


IMPROVED = {(label, kind): _readings(rules, kind) for label, rules in RULES.items() for kind in CA_SSD}
BY_CA_SSD = {kind: IMPROVED[PROGRAMMED, kind]["time saved"] for kind in CA_SSD}


def _tables_table_3(facts: ByWorkload) -> list[Display]:
    rows = [
        [label, name, f"{kind}s", percent(of[name]), *(percent(found[fact]) for fact in IMPROVED[label, kind].values())]
        for label in RULES
        for name, found in facts.items()
        for kind, of in CA_SSD.items()
    ]
    header = ["writes are complete", "workload", "of", "published", *READINGS]
    return [panels.table("Three readings of the column, by when writes are complete", header, rows)]


def _notes_table_3(facts: ByWorkload) -> list[str]:
    if not facts:
        return []
    held = []
    for title in READINGS:
        columns = [Quantity(kind, IMPROVED[PROGRAMMED, kind][title], of) for kind, of in CA_SSD.items()]
        found = [one for one in claims_of([tuple(columns)], facts, NAMES) if one.subject in facts]
        kept, pairs = orders(found)
        held.append(f"as {title} {kept} of {pairs}")
    return [
        '"Imp. [%]" is read in this table as in Table IV: the share of the time that is saved, as the caption and IV.A '
        "say. Five of its twelve numbers are 100 % or more, which no saving can be. Published orders of the workloads "
        f"that hold: {'; '.join(held)}.",
        "Claims are of drives whose writes are complete when programmed, both of them: where writes are answered from "
        "RAM, a conventional SSD has no time of writing that CA-SSD could save.",
    ]


#: Parts of a mean response time, as Fig. 1 names them and as results do. Its transfer includes the channel's wait.
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
QUEUEING_AND_TRANSFER = list(PARTS)[:3]
#: The parts on a conventional SSD, where a write ends with its program.
CONVENTIONAL = at_clock("conventional", **{common.COMPLETES: "programmed"})
SPLIT = {
    kind: {
        name: total(CONVENTIONAL, f"response.{kind}.split.{key}_ns", missing=0.0)
        / total(CONVENTIONAL, f"response.{kind}.mean_ns") * 100.0
        for name, key in PARTS.items()
    }
    for kind in QUEUEING
}  # fmt: skip


def _fig_1(kind: str) -> tuple[Quantity, Quantity]:
    """Queueing and transfer against the range given; "the queueing time is much more dominant" (Section I)."""
    queueing, channel, transfer = (SPLIT[kind][name] for name in QUEUEING_AND_TRANSFER)
    return (
        Quantity(f"{kind}s: queueing + transfer", queueing + channel + transfer, QUEUEING[kind]),
        Quantity(f"{kind}s: queueing above transfer", queueing - transfer, (0.0, None), "points", effect=True),
    )


def _panels_fig_1(facts: ByWorkload) -> list[Display]:
    names = [name for name in NAMES if name in facts]
    shown = []
    for kind, of in SPLIT.items():
        columns = {name: column(facts, names, fact) for name, fact in of.items()}
        drawn = {name: of for name, of in columns.items() if any(of) or name in QUEUEING_AND_TRANSFER}
        series: list[Series] = [(name, of, []) for name, of in drawn.items()]
        shown.append(panels.bars(names, series, "share of the mean response, %", title=f"{kind}s", stacked=True))
    return shown


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
    seconds = [(starts[first + index] - starts[first]) / 1e9 for index in range(count)]
    # Most chips are empty at most moments: as a queue is no multiple of none, an empty one counts as one operation.
    ratio = float((peaks.max(axis=1) / np.maximum(part.min(axis=1), 1.0)).max()) if count else None
    busy = part.min(axis=1) > 0
    of_busy = float((part.max(axis=1)[busy] / part.min(axis=1)[busy]).max()) if busy.any() else None
    return {
        "curves": {
            "maximum": (seconds, part.max(axis=1).tolist()),
            "mean": (seconds, part.mean(axis=1).tolist()),
            "minimum": (seconds, part.min(axis=1).tolist()),
        },
        "longest": float(peaks.max()) if count else None,
        "ratio": ratio,
        "ratio of busy bins": of_busy,
        "bin_ms": width / 1e6,
    }


QUEUES, LONGER = (
    of_runs(queues, at_clock("static", device="rr-ssd", **sets)) for sets in ({}, {"ftl.allocation.stripe_pages": 4})
)


def _ratio(of: str) -> Quantity:
    return Quantity("longest / shortest queue of a chip, at most", QUEUES[of], (32.0, None), "x")


def _notes_fig_2(facts: ByWorkload) -> list[str]:
    if not facts:
        return []
    found, longer = facts["webvm"][QUEUES], facts["webvm"][LONGER]["ratio"]
    bins = len(found["curves"]["mean"][0])
    notes = [
        f"Queues are means over bins of {found['bin_ms']:.3g} ms of simulated time, chip by chip, in the busiest "
        f"{f'{bins} bins' if bins > 1 else 'bin'}; at one moment a chip held up to {found['longest']:.0f} operations. "
        "The ratio is of that to the emptiest chip of the same bin, which counts as holding one operation at least."
    ]
    if longer is not None:
        notes.append(f"Where a chip has four times as many neighbouring pages, the ratio is {longer:.0f}.")
    return notes


IDEAL = {
    kind: common.saves("oracle-conventional", path, baseline="conventional") for kind, path in common.MEANS.items()
}
#: Ideal-All-Chip Replication over a conventional SSD: lowest and highest of the workloads, and their mean.
IDEAL_ENDS, IDEAL_MEAN = {"read": (17.0, 57.0), "all": (12.0, 48.0)}, {"read": 38.37, "all": 25.32}
FIG_3 = {
    kind: (gain(title, IDEAL[kind], IDEAL_ENDS[kind]), over_all(title, IDEAL[kind], IDEAL_MEAN[kind]))
    for kind, title in KINDS.items()
}


def _panels_fig_3(facts: ByWorkload) -> list[Display]:
    series = []
    for each, over in FIG_3.values():
        values = column(facts, NAMES, each.fact)
        mean = over.overall(facts, NAMES)
        series.append((each.title, [*values, mean.measured], [*([None] * len(values)), mean.published]))
    return [panels.bars([*NAMES, "mean"], series, "time saved over conventional, %")]


def popularity(stand: Stand) -> Facts:
    rows = stand.table("popularity")
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for kind in ("reads", "writes"):
        kept = [row for row in rows if row["kind"] == f"{kind.removesuffix('s')}_by_read_order"]
        curves[kind] = ([row["value_fraction"] for row in kept], [row["access_fraction"] for row in kept])
    reads, writes = curves.values()
    found: Facts = {"of_read": stand.fact("popularity.read.contents_for_80_percent")}
    if reads[0]:
        at = float(np.interp(0.8, reads[1], reads[0]))
        found |= {"curves": curves, "values": 100.0 * at}
        found["their_writes"] = 100.0 * float(np.interp(at, *writes)) if writes[0] else None
    return found


POPULARITY = of_trace(popularity)
#: Values that 80 % of the reads fall on.
POPULAR_VALUES = {"webvm": 7.0, "homes": 14.0, "mail": 30.0}


def _notes_fig_4(facts: ByWorkload) -> list[str]:
    return [
        f"{name}: of the values that are read at all, {percent(of_read)} receive 80 % of the reads."
        for name in FIU
        if (of_read := facts.get(name, {}).get(POPULARITY, {}).get("of_read")) is not None
    ]


def by_day(stand: Stand) -> dict[str, Any]:
    """Reads of each day of a week on the values most read on the first."""
    days: dict[int, list[Mapping[str, Any]]] = {}
    for row in stand.table("popularity_by_period"):
        days.setdefault(int(row["period"]), []).append(row)
    return {
        f"day {day + 1}": ([row["value_fraction"] for row in rows], [row["access_fraction"] for row in rows])
        for day, rows in sorted(days.items())[:7]
    }


def by_number(days: Sequence[float]) -> tuple[list[float], Sequence[float]]:
    """A curve over days that are counted from 1."""
    return [float(day + 1) for day in range(len(days))], days


#: Values never seen before, day by day, as the whole workload would have them.
NEW_VALUES = derived(
    lambda rows, scale: [row["new_contents"] / scale for row in rows], of_trace(lambda stand: stand.table("periods")),
    SCALE,
)  # fmt: skip

ITEMS = (
    Item(
        "table-3", "Workloads, and what CA-SSD gains over a conventional SSD", "Table III", NAMES,
        [tuple(gain(f"{kind}s: time saved by ca-ssd, {PROGRAMMED}", BY_CA_SSD[kind], of)
               for kind, of in CA_SSD.items())],
        [BarPanel("time saved by ca-ssd, %", {f"{kind}s": (BY_CA_SSD[kind], of) for kind, of in CA_SSD.items()})],
        [_tables_table_3], _notes_table_3, [fact for of in IMPROVED.values() for fact in of.values()],
        "CA-SSD spares the writes that are not unique, so the fewer are unique the more it saves. The published "
        "column has another order: most for `desktop`, least for `mail`. The first note counts the orders that hold "
        "under each of three readings of it. Where CA-SSD alone answers writes from RAM (last rows of the table), all "
        "save the same.",
    ),
    Item(
        "fig-1", "What a response time is made of on a conventional SSD", "Fig. 1", NAMES,
        [_fig_1("read"), _fig_1("write")], [_panels_fig_1],
        facts=[fact for of in SPLIT.values() for fact in of.values()],
    ),
    # "At times" the longest queue is 32 times the shortest.
    Item(
        "fig-2", "Queues of the chips over 100 s of webvm", "Fig. 2", ("webvm",),
        [_ratio("ratio")],
        [Curves("simulated time, s", "operations at a chip", QUEUES["curves"])],
        notes=_notes_fig_2, facts=[QUEUES, LONGER],
        why="A queue is as long as the pages of a train that lie on one chip: eight in a row here, four times as many "
        "in the last note. Which 100 s the figure shows is not said; measured are the busiest.",
        first=FirstRule(
            "2026-11-25", "the ratio was of means, and only of bins without an empty chip",
            [_ratio("ratio of busy bins")],
        ),
    ),
    Item(
        "fig-3", "Ideal-All-Chip Replication over a conventional SSD", "Fig. 3", NAMES,
        [one for of in FIG_3.values() for one in of], [_panels_fig_3],
    ),
    Item(
        "fig-4", "Popularity of values in reads and writes", "Fig. 4", FIU,
        [
            Quantity("values with 80 % of the reads", POPULARITY["values"], POPULAR_VALUES),
            Quantity("writes of these values, at most", POPULARITY["their_writes"], {"webvm": (None, 8.0)}),
        ],
        [Curves("share of the values, by reads", "share of the accesses", POPULARITY["curves"],
                {name: ("reads", share / 100.0, 0.8) for name, share in POPULAR_VALUES.items()})],
        notes=_notes_fig_4, facts=[POPULARITY],
        why="Where 80 % of the values read are unique, 80 % of the reads need at least 75 % of the values that are "
        "read: Table III and Fig. 4 hold together for `mail` where Table III is of a day, and not for `homes`.",
    ),
    Item(
        "fig-5", "Popularity from day to day", "Fig. 5", FIU,
        [lambda _: [Claim("all", "curves", None, None, None, "", False, "published as a picture only")]],
        [Curves("share of the values, by reads on day 1", "share of the day's reads", of_trace(by_day))],
    ),
    # II.C: on some days, about a million.
    Item(
        "fig-6", "New values by day", "Fig. 6", FIU,
        [Overall("new values", derived(lambda days: max(days, default=None), NEW_VALUES), 1e6, "values", why="no trace",
                 subject="highest day", statistic=max, needs="any")],
        [Curves("day", "new values", derived(by_number, NEW_VALUES), together=True)],
    ),
)  # fmt: skip
