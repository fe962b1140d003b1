"""RR-SSD: the workloads, and their waits on SSDs that do not replicate. Table III, Fig. 1-6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flashtwin.papers.bench import PaperRun, Stand, has, share
from flashtwin.papers.claims import Claim, number, orders
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart, lines
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import at_clock, gains, means
from flashtwin.papers.text import percent

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
COMPLETES = "engine.write_completes"
PROGRAMMED = "writes complete when programmed"
#: When writes are complete: on the conventional SSD, and on CA-SSD.
RULES = {
    PROGRAMMED: ("programmed", "programmed"),
    "writes complete when hashed": ("hashed", "hashed"),
    "ca-ssd alone has battery-backed RAM": ("programmed", "hashed"),
}
#: The paper's "queueing and transfer": its transfer includes the wait for the channel.
QUEUEING_AND_TRANSFER = ("queueing at the chip", "waiting for the channel", "transfer")
#: Days that Fig. 5 shows, and the width of Fig. 2 in seconds.
DAYS, WINDOW_S = 7, 100.0
FIU = ("webvm", "homes", "mail")


def measure_table_3(stand: Stand) -> Facts:
    """Mean reads and writes of a conventional SSD and of CA-SSD, by the rules of when their writes are complete."""
    found: Facts = {}
    for label, rules in RULES.items():
        times = {}
        for name, rule in zip(("conventional", "ca-ssd"), rules, strict=True):
            run = at_clock(stand, name, **{COMPLETES: rule})[name]
            times[name] = {kind: run.get(f"response.{kind}.mean_ns") for kind in ("write", "read")}
        found[label] = times
    return found


def judge_table_3(facts: Mapping[str, Facts]) -> Outcome:
    """Reductions of time, as the caption says and as Table IV has them; beside them the other two readings."""
    claims = []
    for name in published.WORKLOADS:
        times = facts.get(name, {}).get(PROGRAMMED, {})
        for kind, value in zip(("write", "read"), published.CA_SSD[name], strict=True):
            title = f"{kind}s: time saved by ca-ssd, {PROGRAMMED}"
            claims.append(number(name, title, value, _readings(times, kind)[0], effect=True))
    rows = [
        [
            label,
            name,
            kind + "s",
            percent(published.CA_SSD[name][place]),
            *(percent(one) for one in _readings(times, kind)),
        ]
        for label in RULES
        for name, found in facts.items()
        for place, (kind, times) in enumerate((kind, found[label]) for kind in ("write", "read"))
    ]
    header = [
        "writes are complete",
        "workload",
        "of",
        "published",
        "time saved",
        "conventional / ca-ssd - 1",
        "ca-ssd / conventional",
    ]
    series: list[Series] = [
        (f"{kind}s", [_readings(facts.get(name, {}).get(PROGRAMMED, {}), kind)[0] for name in published.WORKLOADS],
         [published.CA_SSD[name][place] for name in published.WORKLOADS])
        for place, kind in enumerate(("write", "read"))
    ]  # fmt: skip
    return Outcome(
        claims,
        chart(bars(published.WORKLOADS, series, "time saved by ca-ssd, %")),
        _notes_table_3(facts),
        [{"title": "Three readings of the column, by when writes are complete", "header": header, "rows": rows}],
    )


def _readings(times: Mapping[str, Any], kind: str) -> list[float | None]:
    """The column as a reduction, as a speed-up, and as the remaining share of the time; in percent."""
    before, after = (times.get(name, {}).get(kind) for name in ("conventional", "ca-ssd"))
    if not before or not after:
        return [None, None, None]
    return [(1.0 - after / before) * 100.0, (before / after - 1.0) * 100.0, after / before * 100.0]


def _notes_table_3(facts: Mapping[str, Facts]) -> list[str]:
    """Which reading has the published order of the workloads."""
    if not facts:
        return []
    titles = ("time saved", "conventional / ca-ssd - 1", "ca-ssd / conventional")
    told = []
    for place, title in enumerate(titles):
        of = [
            number(name, kind, published.CA_SSD[name][at], _readings(found[PROGRAMMED], kind)[place])
            for name, found in facts.items()
            for at, kind in enumerate(("write", "read"))
        ]
        held, pairs = orders(of)
        told.append(f"as {title} {held} of {pairs}")
    return [
        '"Imp. [%]" is read in this table as in Table IV: the share of the time that is saved, as the caption and IV.A '
        "say. Five of its twelve numbers are 100 % or more, which no saving can be. Published orders of the workloads "
        f"that hold: {'; '.join(told)}.",
        "Claims are of drives whose writes are complete when programmed, both of them: where writes are answered from "
        "RAM, a conventional SSD has no time of writing that CA-SSD could save.",
    ]


def measure_fig_1(stand: Stand) -> Facts:
    """The parts of a mean service time on a conventional SSD: that of a write ends with its program."""
    run = at_clock(stand, "conventional", **{COMPLETES: "programmed"})["conventional"]
    found: Facts = {}
    for kind in ("read", "write"):
        whole = run.get(f"response.{kind}.mean_ns")
        parts = {name: run.get(f"response.{kind}.split.{part}_ns") for name, part in PARTS.items()}
        found[kind] = {name: share(part or 0.0, whole) for name, part in parts.items()}
    return found


def judge_fig_1(facts: Mapping[str, Facts]) -> Outcome:
    """Queueing and transfer together, workload by workload, against the range given."""
    claims = []
    for kind, (low, high) in (("read", published.QUEUEING_READS), ("write", published.QUEUEING_WRITES)):
        for name in published.WORKLOADS:
            parts = facts.get(name, {}).get(kind, {})
            known = [parts.get(part) for part in QUEUEING_AND_TRANSFER]
            together = None if None in known else sum(part for part in known if part is not None)
            claims.append(Claim(name, f"{kind}s: queueing + transfer", low, high, together))
            claims.append(_dominates(name, kind, parts))
    panels = []
    for kind in ("read", "write"):
        names = [name for name in published.WORKLOADS if name in facts]
        series: list[Series] = [
            (part, values, [])
            for part in PARTS
            if any(values := [facts[name][kind][part] for name in names]) or part in QUEUEING_AND_TRANSFER
        ]
        panels.append(bars(names, series, "share of the mean response, %", title=f"{kind}s", stacked=True))
    return Outcome(claims, chart(*panels) if facts else None)


def _dominates(name: str, kind: str, parts: Mapping[str, float | None]) -> Claim:
    """Section I: "the queueing time is much more dominant than the channel transfer time"."""
    queueing, transfer = parts.get("queueing at the chip"), parts.get("transfer")
    more = None if queueing is None or transfer is None else queueing - transfer
    return Claim(name, f"{kind}s: queueing above transfer", 0.0, None, more, "points", True)


def measure_fig_2(stand: Stand) -> Facts:
    """Queue lengths over the busiest 100 s of the trace's clock, without any redirection of what comes in."""
    static = {"device": "rr-ssd"} if has("static") else {}
    system = "static" if static else "conventional"
    run = at_clock(stand, system, **static)[system]
    longer = at_clock(stand, system, **static, **{"ftl.allocation.stripe_pages": 4})[system]
    window_ns = WINDOW_S / float(run.summary["config"]["replay"]["speed"]) * 1e9
    return _queues(run, window_ns) | {"longer": _queues(longer, window_ns)["ratio"]}


def _queues(run: PaperRun, window_ns: float) -> Facts:
    """Lowest, mean and highest of the chips' mean queues by time, in the window with the most work."""
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


def judge_fig_2(facts: Mapping[str, Facts]) -> Outcome:
    """The largest ratio between chips at one time."""
    found = facts.get("webvm", {})
    claims = [
        Claim(
            "webvm", "longest / shortest queue of a chip, at most", published.QUEUE_RATIO, None, found.get("ratio"), "x"
        )
    ]
    if not found:
        return Outcome(claims)
    series = [(name, found["seconds"], found[name]) for name in ("maximum", "mean", "minimum")]
    notes = [
        f"Queues are means over bins of {found['bin_ms']:.3g} ms of simulated time, chip by chip, in the busiest "
        f"{published_window(found)}; at one moment a chip held up to {found['longest']:.0f} operations. The ratio is "
        "of that to the emptiest chip of the same bin, which counts as holding one operation at least. (Until "
        "results were seen only bins without an empty chip counted.)"
    ]
    if found["longer"] is not None:
        notes.append(f"Where a chip has four times as many neighbouring pages, the ratio is {found['longer']:.0f}.")
    return Outcome(claims, chart(lines(series, "simulated time, s", "operations at a chip")), notes)


def published_window(found: Facts) -> str:
    """The window that is shown, in words."""
    return f"{len(found['seconds'])} bins" if len(found["seconds"]) > 1 else "bin"


def measure_fig_3(stand: Stand) -> Facts:
    """Every read served by any chip, over a conventional SSD."""
    runs = at_clock(stand, "conventional", "oracle-conventional")
    read, total = gains(runs, "oracle-conventional", "conventional")
    return {"read": read, "all": total}


def judge_fig_3(facts: Mapping[str, Facts]) -> Outcome:
    """Each workload against the range over the workloads, and the means."""
    claims = []
    series: list[Series] = []
    for key, title, (low, high, middle) in (
        ("read", "reads", published.IDEAL_READS), ("all", "reads and writes", published.IDEAL_ALL),
    ):  # fmt: skip
        values = [facts.get(name, {}).get(key) for name in published.WORKLOADS]
        claims += [
            Claim(name, title, low, high, value, "%", True)
            for name, value in zip(published.WORKLOADS, values, strict=True)
        ]
        claims.append(means("mean", title, middle, facts, key))
        series.append((title, [*values, claims[-1].measured], [*([None] * len(values)), middle]))
    return Outcome(claims, chart(bars([*published.WORKLOADS, "mean"], series, "time saved over conventional, %")))


def measure_fig_4(stand: Stand) -> Facts:
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


def judge_fig_4(facts: Mapping[str, Facts]) -> Outcome:
    """Shares of values and of writes at 80 % of the reads."""
    claims = [
        number(name, "values with 80 % of the reads", published.POPULAR_VALUES[name], facts.get(name, {}).get("values"))
        for name in FIU
    ]
    limit = published.POPULAR_WRITES_WEBVM
    measured = facts.get("webvm", {}).get("their_writes")
    claims.append(Claim("webvm", "writes of these values, at most", None, limit, measured))
    panels = [
        lines(
            [("reads", *facts[name]["reads"]), ("writes", *facts[name]["writes"])], "share of the values, by reads",
            "share of the accesses", title=name,
            published=[("reads", published.POPULAR_VALUES[name] / 100.0, 0.8)],
        )
        for name in FIU
        if name in facts and facts[name]["reads"][0]
    ]  # fmt: skip
    notes = [
        f"{name}: of the values that are read at all, {percent(facts[name]['of_read'])} receive 80 % of the reads."
        for name in FIU
        if facts.get(name, {}).get("of_read") is not None
    ]
    return Outcome(claims, chart(*panels) if panels else None, notes)


def measure_fig_5(stand: Stand) -> Facts:
    """Reads of each day on the values most read on the first."""
    rows = stand.table("popularity_by_period")
    by_day: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_day.setdefault(int(row["period"]), []).append(row)
    return {"days": {str(day): day_rows for day, day_rows in sorted(by_day.items())[:DAYS]}}


def judge_fig_5(facts: Mapping[str, Facts]) -> Outcome:
    """Curves alone: the paper gives no number."""
    panels = []
    for name in FIU:
        days = facts.get(name, {}).get("days", {})
        series = [
            (f"day {int(day) + 1}", [row["value_fraction"] for row in rows], [row["access_fraction"] for row in rows])
            for day, rows in days.items()
        ]
        if series:
            panels.append(
                lines(series, "share of the values, by reads on day 1", "share of the day's reads", title=name)
            )
    claims = [Claim("all", "curves", None, None, None, "", False, "published as a picture only")]
    return Outcome(claims, chart(*panels) if panels else None)


def measure_fig_6(stand: Stand) -> Facts:
    """Values never seen before, day by day, as the whole workload would have them."""
    rows = stand.table("periods")
    return {"new": [row["new_contents"] / stand.source.scale for row in rows]}


def judge_fig_6(facts: Mapping[str, Facts]) -> Outcome:
    """The highest day of the three workloads."""
    days = [value for name in FIU for value in facts.get(name, {}).get("new", [])]
    measured = max(days) if days else None
    claims = [
        number("highest day", "new values", published.NEW_VALUES, measured, "values", why="" if days else "no trace")
    ]
    series = [
        (name, [float(day + 1) for day in range(len(facts[name]["new"]))], facts[name]["new"])
        for name in FIU
        if name in facts
    ]
    return Outcome(claims, chart(lines(series, "day", "new values")) if series else None)


ITEMS = (
    Item("table-3", "Workloads, and what CA-SSD gains over a conventional SSD", "Table III", published.WORKLOADS,
         measure_table_3, judge_table_3),
    Item("fig-1", "What a response time is made of on a conventional SSD", "Fig. 1", published.WORKLOADS,
         measure_fig_1, judge_fig_1),
    Item("fig-2", "Queues of the chips over 100 s of webvm", "Fig. 2", ("webvm",), measure_fig_2, judge_fig_2),
    Item("fig-3", "Ideal-All-Chip Replication over a conventional SSD", "Fig. 3", published.WORKLOADS,
         measure_fig_3, judge_fig_3),
    Item("fig-4", "Popularity of values in reads and writes", "Fig. 4", FIU, measure_fig_4, judge_fig_4),
    Item("fig-5", "Popularity from day to day", "Fig. 5", FIU, measure_fig_5, judge_fig_5),
    Item("fig-6", "New values by day", "Fig. 6", FIU, measure_fig_6, judge_fig_6),
)  # fmt: skip
