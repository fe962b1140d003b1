"""RR-SSD: the workloads, and their waits on SSDs that do not replicate. Table III, Fig. 1 to 6."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin.papers import panels
from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, orders
from flashtwin.papers.facts import SCALE, Fact, derived, every, of_runs, of_trace, total, trace_fact
from flashtwin.papers.model import Quantity, claims_of
from flashtwin.papers.panels import BarPanel, ByWorkload, Curves, Display, Facts, Series, column, percent
from flashtwin.papers.rr_ssd import common
from flashtwin.papers.rr_ssd.common import FIU, KINDS, NAMES, TABLE, at_clock

READ_BYTES, WRITE_BYTES = trace_fact("info.read_bytes"), trace_fact("info.write_bytes")
STATISTICS = {"Table III": TABLE.columns("Table III", {
    "writes": WRITE_BYTES * 100.0 / (READ_BYTES + WRITE_BYTES),
    **{f"unique values among {kind}s": trace_fact(f"info.unique_values_{kind}_percent") for kind in ("write", "read")},
})}  # fmt: skip

#: Table III: "Imp. by CA-SSD".
CA_SSD = {kind: TABLE.values(f"ca-ssd {kind}") for kind in ("write", "read")}
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
    for kind in ("read", "write")
}  # fmt: skip


def _fig_1() -> dict[str, Fact]:
    """Queueing and transfer, and how much longer requests queue than they are transferred."""
    found = {}
    for kind, of in SPLIT.items():
        queueing, channel, transfer = (of[name] for name in QUEUEING_AND_TRANSFER)
        found[f"{kind}s: queueing + transfer"] = queueing + channel + transfer
        found[f"{kind}s: queueing above transfer"] = queueing - transfer
    return found


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
    start, chip, mean, most = (
        np.array([row[key] for row in rows]) for key in ("start_ns", "chip", "queue_mean", "queue_max")
    )
    starts, at = np.unique(start, return_inverse=True)
    means, peaks = np.zeros((2, len(starts), int(chip.max()) + 1))
    means[at, chip], peaks[at, chip] = mean, most
    count = max(1, min(len(starts), int(window_ns // rows[0]["width_ns"])))
    first = int(np.convolve(means.mean(axis=1), np.ones(count), "valid").argmax())
    window = slice(first, first + count)
    seconds, means, peaks = ((starts[window] - starts[first]) / 1e9).tolist(), means[window], peaks[window]
    lowest, busy = means.min(axis=1), means.min(axis=1) > 0
    return {
        "curves": {
            name: (seconds, of.tolist())
            for name, of in (("maximum", means.max(axis=1)), ("mean", means.mean(axis=1)), ("minimum", lowest))
        },
        "longest": float(peaks.max()),
        # Most chips are empty at most moments: as a queue is no multiple of none, an empty one counts as one operation.
        "ratio": float((peaks.max(axis=1) / np.maximum(lowest, 1.0)).max()),
        "ratio of busy bins": float((means.max(axis=1)[busy] / lowest[busy]).max()) if busy.any() else None,
        "bin_ms": rows[0]["width_ns"] / 1e6,
    }


QUEUES, LONGER = (
    of_runs(queues, at_clock("static", device="rr-ssd", **sets)) for sets in ({}, {"ftl.allocation.stripe_pages": 4})
)


def _notes_fig_2(facts: ByWorkload) -> list[str]:
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


def _panels_fig_3(facts: ByWorkload) -> list[Display]:
    series = []
    for kind, title in KINDS.items():
        over = common.over_all(title, IDEAL[kind], f"ideal {kind}, mean")
        values = [*column(facts, NAMES, IDEAL[kind]), over.value(facts, NAMES)]
        series.append((title, values, [*([None] * len(NAMES)), TABLE.published[f"ideal {kind}, mean"]]))
    return [panels.bars([*NAMES, "mean"], series, "time saved over conventional, %")]


FIG_3 = TABLE.item("fig-3", IDEAL, panels=[_panels_fig_3])


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
    TABLE.item(
        "table-3", BY_CA_SSD, tables=[_tables_table_3], notes=_notes_table_3, facts=every(IMPROVED),
        panels=[BarPanel(
            "time saved by ca-ssd, %", {f"{kind}s": (BY_CA_SSD[kind], of) for kind, of in CA_SSD.items()}
        )],
    ),
    TABLE.item("fig-1", _fig_1(), panels=[_panels_fig_1], facts=every(SPLIT)),
    TABLE.item(
        "fig-2", {"ratio": QUEUES["ratio"]}, first={"ratio": QUEUES["ratio of busy bins"]},
        panels=[Curves("simulated time, s", "operations at a chip", QUEUES["curves"])],
        notes=_notes_fig_2, facts=[QUEUES, LONGER],
    ),
    FIG_3,
    TABLE.item(
        "fig-4", {"values": POPULARITY["values"], "writes": POPULARITY["their_writes"]},
        panels=[Curves(
            "share of the values, by reads", "share of the accesses", POPULARITY["curves"],
            {name: ("reads", share / 100.0, 0.8) for name, share in TABLE.values("popular values").items()},
        )],
        notes=_notes_fig_4, facts=[POPULARITY],
    ),
    TABLE.item(
        "fig-5",
        claims=[lambda _: [Claim("all", "curves", None, None, None, "", False, "published as a picture only")]],
        panels=[Curves("share of the values, by reads on day 1", "share of the day's reads", of_trace(by_day))],
    ),
    TABLE.item(
        "fig-6", {"new values": derived(lambda days: max(days, default=None), NEW_VALUES)},
        panels=[Curves("day", "new values", derived(by_number, NEW_VALUES), together=True)],
    ),
)  # fmt: skip
