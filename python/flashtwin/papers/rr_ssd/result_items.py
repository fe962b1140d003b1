"""RR-SSD: the gain of replication and redirection. Tables I, IV, V, Fig. 9-13, the fair test by decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin.papers.bench import PaperRun, Stand, reduction, share
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart, lines, mean
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import (
    PUBLISHED_SHARE,
    READ,
    RECORDED,
    at_clock,
    at_rate,
    by_workload,
    gains,
    matched,
    means,
    share_of_oracle,
)
from flashtwin.papers.rr_ssd.setup import SETUP
from flashtwin.papers.text import clock, percent
from flashtwin.settings import Value

NAMES, COPIED = published.WORKLOADS, tuple(published.COPIES)
SHARE = "RR-SSD's share of Oracle's read improvement"

#: Weeks of a recipe for weekly passes (the abstract: "workload traces running over weeks").
WEEKS = 3
#: "The more popular, the more copies" (II.D): how many for a read is not said.
ONE_A_READ = "one for each read"
FEWER_COPIES: dict[str, Mapping[str, Value]] = {
    ONE_A_READ: {},
    "one for two reads": {"ftl.replication.copies_per_read": 0.5},
    "two at most": {"ftl.replication.most_copies": 2},
    "of what is read twice": {"ftl.replication.least_popularity": 2},
}
#: Means of Table IV's columns.
MEANS = {
    "Oracle, reads": published.ORACLE_MEAN[0],
    "Oracle, all": published.ORACLE_MEAN[1],
    "RR-SSD, reads": published.RR_SSD_MEAN[0],
    "RR-SSD, all": published.RR_SSD_MEAN[1],
}


def measure_table_4(stand: Stand) -> Facts:
    """The fair test: the rate set by Oracle's reads alone, all else predicted."""
    found = matched(stand)
    runs = at_rate(stand, "ca-ssd", "rr-ssd", "oracle")
    rr_read, rr_all = gains(runs, "rr-ssd")
    oracle_read, oracle_all = gains(runs, "oracle")
    return {
        "speed": found.rate,
        "met": found.met,
        "tried": [list(point) for point in found.tried],
        "rr_read": rr_read,
        "rr_all": rr_all,
        "oracle_read": oracle_read,
        "oracle_all": oracle_all,
        "share": share(rr_read, oracle_read),
        "queueing": share(
            runs["ca-ssd"].get("response.read.split.queueing_ns"), runs["ca-ssd"].get("response.read.mean_ns")
        ),
        "busy": (runs["ca-ssd"].get("utilisation.chip_mean") or 0.0) * 100.0,
        "again": _read_again(stand),
    }


def _read_again(stand: Stand) -> float | None:
    """Reads of values read before, in percent: the most that copies of read values can serve."""
    unique = stand.fact("info.unique_values_read_percent")
    return None if unique is None else 100.0 - unique


def judge_table_4(facts: Mapping[str, Facts]) -> Outcome:
    """Oracle's reads are set, so they are no claim where they were met; the rest is predicted."""
    claims: list[Claim] = []
    for name in NAMES:
        found = facts.get(name, {})
        rr, oracle = published.RR_SSD[name], published.ORACLE[name]
        if found and not found["met"]:
            claims.append(number(name, "Oracle, reads (target not met)", oracle[0], found["oracle_read"], effect=True))
        claims += [
            number(name, SHARE, PUBLISHED_SHARE[name], found.get("share"), effect=True),
            number(name, "RR-SSD, reads", rr[0], found.get("rr_read"), effect=True),
            number(name, "RR-SSD, reads and writes", rr[1], found.get("rr_all"), effect=True),
            number(name, "Oracle, reads and writes", oracle[1], found.get("oracle_all"), effect=True),
        ]  # fmt: skip
    for place, (key, title) in enumerate((("rr_read", "RR-SSD, reads"), ("rr_all", "RR-SSD, reads and writes"))):
        claims.append(means("mean", title, published.RR_SSD_MEAN[place], facts, key))
    return Outcome(claims, _chart_table_4(facts), _notes_table_4(facts), [_rates(facts)] if facts else [])


def _chart_table_4(facts: Mapping[str, Facts]) -> dict[str, Any]:
    panels = []
    for place, (key, title) in enumerate((("read", "reads"), ("all", "reads and writes"))):
        series: list[Series] = [
            ("RR-SSD", by_workload(facts, f"rr_{key}"), [published.RR_SSD[name][place] for name in NAMES]),
            ("Oracle", by_workload(facts, f"oracle_{key}"), [published.ORACLE[name][place] for name in NAMES]),
        ]  # fmt: skip
        panels.append(bars(NAMES, series, "time saved over ca-ssd, %", title=title))
    return chart(*panels)


def _notes_table_4(facts: Mapping[str, Facts]) -> list[str]:
    missed = [name for name, found in facts.items() if not found["met"]]
    notes = ["Oracle's reads are not among the claims: the rate of arrival was chosen so that they are as published."]
    for name, found in facts.items():
        part = PUBLISHED_SHARE[name]
        if found["again"] is not None and found["again"] < part:
            notes.append(
                f"{name}: only {percent(found['again'])} of the reads are of values read before, and copies of what "
                f"was read cannot serve others; the published share of Oracle's improvement is {percent(part)}."
            )
    if missed:
        notes.append(
            f"No rate that `ca-ssd` keeps up with brings Oracle's published read improvement on {', '.join(missed)}; "
            "the nearest is taken there."
        )
    return notes


def _rates(facts: Mapping[str, Facts]) -> dict[str, Any]:
    rows = [
        [
            name,
            clock(found["speed"]),
            percent(found["oracle_read"]),
            percent(published.ORACLE[name][0]),
            percent(found["queueing"]),
            percent(found["busy"]),
            percent(found["again"]),
            str(len(found["tried"])),
        ]
        for name, found in facts.items()
    ]
    return {
        "title": "The one free parameter, found by search",
        "header": [
            "workload", "replay.speed", "Oracle, reads", "published", "ca-ssd: a read queues", "chips busy",
            "reads of values read before", "rates tried",
        ],
        "rows": rows,
    }  # fmt: skip


def measure_fair_variants(stand: Stand) -> Facts:
    """Table IV at the recorded clock with one choice of the set-up taken back to the presets', and with all."""
    found: Facts = {}
    for label, sets in fair_variants().items():
        chosen = {
            name: stand.preset(name, **{"replay.speed": RECORDED, **sets}) for name in ("ca-ssd", "rr-ssd", "oracle")
        }
        runs = stand.runs(chosen)
        rr, oracle = gains(runs, "rr-ssd"), gains(runs, "oracle")
        found[label] = [oracle[0], share_of_oracle(rr[0], oracle[0]), rr[0], rr[1], oracle[1]]
    return found


def fair_variants() -> dict[str, Mapping[str, Value]]:
    """Keys by the choice that is reverted."""
    single = {f"without {one.text}": SETUP.without(one.key) for one in SETUP.choices}
    return {"the set-up": SETUP.sets, **single, "the presets": {}}


def judge_fair_variants(facts: Mapping[str, Facts]) -> Outcome:
    """The means over all workloads, choice by choice: the effect of each choice of the set-up."""
    claims, rows = [], []
    titles = ("Oracle, reads", "share of Oracle's", "RR-SSD, reads", "RR-SSD, all", "Oracle, all")
    for label in fair_variants():
        of = {name: dict(zip(titles, facts[name][label], strict=True)) for name in NAMES if name in facts}
        claims += [means(label, title, value, of, title) for title, value in MEANS.items()]
        averages = [mean(by_workload(of, title)) if len(of) == len(NAMES) else None for title in titles]
        rows += [[label, "mean", *(percent(value) for value in averages)]]
        rows += [[label, name, *(percent(value) for value in of[name].values())] for name in of]
    series: list[Series] = [
        (title, [claim.measured for claim in claims if claim.quantity == title], [value] * len(fair_variants()))
        for title, value in MEANS.items()
    ]
    panel = bars(list(fair_variants()), series, "time saved over ca-ssd, means, %")
    table = {
        "title": "Table IV at the recorded clock, one choice of the set-up taken back",
        "header": ["set-up", "workload", *titles],
        "rows": rows,
    }
    return Outcome(claims, chart(panel) if facts else None, [], [table] if facts else [])


def measure_table_1(stand: Stand) -> Facts:
    """Copies and duration of a typical pass, by day and by week, as the whole workload would have them."""
    found: Facts = {}
    longer = stand.lasting(WEEKS * 7) or stand
    for key, days, of in (("daily", 1, stand), ("weekly", 7, longer)):
        run = at_clock(of, "rr-ssd", **{"replay.period_s": stand.period_s * days})["rr-ssd"]
        # No pass follows the last period.
        passes = run.rows("periods")[:-1]
        if passes:
            found[key] = _passes(passes, stand.source.scale)
    if longer is not stand:
        stand.replayed += longer.replayed
        longer.close()
    return found


def _passes(rows: Sequence[Mapping[str, Any]], scale: float) -> Facts:
    """The median pass."""
    copies = [float(row["copies"]) / scale for row in rows]
    minutes, parallel = (
        float(np.median([float(row[f"replication_{key}_ns"]) / 60e9 / scale for row in rows]))
        for key in ("serial", "parallel")
    )
    return {
        "copies": float(np.median(copies)), "minutes": minutes, "parallel_minutes": parallel, "by_pass": copies,
    }  # fmt: skip


def judge_table_1(facts: Mapping[str, Facts]) -> Outcome:
    """Medians of the passes; a trace of one week has no weekly pass."""
    claims = []
    short = "the trace has no second week, so no weekly pass"
    for name, (daily, weekly) in published.COPIES.items():
        for key, value, minutes in (
            ("daily", daily, published.MINUTES[name][0]), ("weekly", weekly, published.MINUTES[name][1]),
        ):  # fmt: skip
            found = facts.get(name, {}).get(key)
            why = "" if found or name not in facts else short
            copies = found["copies"] / 1e3 if found else None
            claims.append(number(name, f"{key}: copies", value, copies, "thousand", why=why))
            claims.append(number(name, f"{key}: minutes", minutes, found["minutes"] if found else None, "min", why=why))
        claims.append(_weekly_to_daily(name, facts.get(name, {}), short if name in facts else ""))
    series = [
        (name, [float(day + 1) for day in range(len(facts[name]["daily"]["by_pass"]))], facts[name]["daily"]["by_pass"])
        for name in published.COPIES
        if "daily" in facts.get(name, {})
    ]
    notes = [
        "The published minutes are 2.97 ms a copy in every cell; one copy after another at the paper's own latencies "
        "(read 75 µs, program 400 µs, two transfers of 10 µs) takes 0.495 ms."
    ]
    every = [found["daily"] for found in facts.values() if "daily" in found]
    if every:
        ratio = sum(found["minutes"] for found in every) / max(sum(found["parallel_minutes"] for found in every), 1e-12)
        notes.append(f"With all chips at work the passes would be {ratio:.0f} times as short.")
    return Outcome(claims, chart(lines(series, "end of day", "copies made", y_log=True)) if series else None, notes)


def _weekly_to_daily(name: str, found: Mapping[str, Any], why: str) -> Claim:
    """II.C: a weekly pass takes "(almost) seven times longer" than a daily one."""
    both = "weekly" in found and "daily" in found and found["daily"]["minutes"]
    ratio = found["weekly"]["minutes"] / found["daily"]["minutes"] if both else None
    return number(name, "minutes, weekly / daily", published.WEEKLY_TO_DAILY, ratio, "x", why="" if both else why)


def measure_table_5(stand: Stand) -> Facts:
    """Replica writes among all pages programmed, among those that the host wrote, and on top of CA-SSD's."""
    base = at_clock(stand, "ca-ssd")["ca-ssd"]
    found: Facts = {}
    for label, sets in FEWER_COPIES.items():
        run = at_clock(stand, "rr-ssd", **sets)["rr-ssd"]
        before, after = base.get("pages_programmed"), run.get("pages_programmed")
        found[label] = {
            "share": share(run.get("flash_writes.replica"), after),
            "of_host": share(run.get("flash_writes.replica"), run.get("host_pages_written")),
            "more": None if not before or after is None else (after / before - 1.0) * 100.0,
            "gain": reduction(base, run, READ),
        }
    return found


def judge_table_5(facts: Mapping[str, Facts]) -> Outcome:
    """Both denominators that "total writes" can mean, by workload; and IV.B.6's mean over CA-SSD's writes."""
    readings = {"share": "replica writes among all programs", "of_host": "replica writes, of the host's writes"}
    as_written = {name: found[ONE_A_READ] for name, found in facts.items()}
    claims = [
        number(name, title, value, as_written.get(name, {}).get(key))
        for key, title in readings.items()
        for name, value in published.REPLICA_WRITES.items()
    ]
    more = means("mean", "more programs than ca-ssd", published.MORE_WRITES, as_written, "more")
    series: list[Series] = [
        (title, by_workload(as_written, key), [published.REPLICA_WRITES[name] for name in NAMES])
        for key, title in readings.items()
    ]
    rows = [
        [name, label, *(percent(of[key]) for key in ("share", "of_host", "gain"))]
        for name, found in facts.items()
        for label, of in found.items()
    ]
    header = ["workload", "copies", *readings.values(), "reads: time saved"]
    table = {"title": "With fewer copies than one for each read", "header": header, "rows": rows}
    return Outcome([*claims, more], chart(bars(NAMES, series, "replica writes, %")), [], [table] if facts else [])


def measure_fig_9(stand: Stand) -> Facts:
    """Read improvement, new and replicated values by day, from the second day on; by both clocks."""
    names = ("ca-ssd", "rr-ssd", "oracle")
    return {"days": _days(at_rate(stand, *names)), "recorded": _days(at_clock(stand, *names))}


def _days(runs: Mapping[str, PaperRun]) -> list[dict[str, Any]]:
    rows = {name: run.rows("periods") for name, run in runs.items()}
    days = []
    for day in range(1, min(7, len(rows["ca-ssd"]))):
        base, rr, oracle = (rows[name][day] for name in ("ca-ssd", "rr-ssd", "oracle"))
        if not base["read_mean_ns"]:
            continue
        days.append(
            {
                "day": day + 1,
                "rr": (1.0 - rr["read_mean_ns"] / base["read_mean_ns"]) * 100.0,
                "oracle": (1.0 - oracle["read_mean_ns"] / base["read_mean_ns"]) * 100.0,
                "new": share(rr["new_value_reads"], rr["page_reads"]),
                "rep": share(rr["replicated_value_reads"], rr["page_reads"]),
            }
        )
    return days


def judge_fig_9(facts: Mapping[str, Facts]) -> Outcome:
    """The worst and the best day, and how near Oracle the typical one is."""
    claims = []
    panels = []
    for name in NAMES:
        days = facts.get(name, {}).get("days", [])
        gained = [day["rr"] for day in days]
        low, high = published.DAYS[name]
        why = "" if days or name not in facts else "the trace has one day only"
        if low is not None:
            claims.append(
                number(name, "RR-SSD, reads, worst day", low, min(gained, default=None), effect=True, why=why)
            )
        claims.append(number(name, "RR-SSD, reads, best day", high, max(gained, default=None), effect=True, why=why))
        if name in published.NEAR_ORACLE_OF:
            shares = [100.0 * day["rr"] / day["oracle"] for day in days if day["oracle"] > 0]
            typical = float(np.median(shares)) if shares else None
            claims.append(
                number(
                    name, "RR-SSD's share of Oracle's, median day", published.NEAR_ORACLE, typical, effect=True, why=why
                )
            )
        if days:
            x = [float(day["day"]) for day in days]
            series = [
                (title, x, [day[key] for day in days])
                for key, title in (("rr", "RR-SSD"), ("oracle", "Oracle"), ("new", "New"), ("rep", "Rep"))
            ]
            panels.append(lines(series, "day", "%", title=name))
    return Outcome(claims, chart(*panels) if panels else None, [], [_by_clock(facts)] if facts else [])


def _by_clock(facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Days at the rate of Table IV beside those at the recorded clock: the rate is ours, not the paper's."""
    rows = []
    for name, found in facts.items():
        gained = [[day["rr"] for day in found[key]] for key in ("days", "recorded")]
        ends = [percent(end(of, default=None)) for of in gained for end in (min, max)]
        low, high = published.DAYS[name]
        rows.append([name, percent(low), percent(high), *ends])
    header = ["workload", "published: worst", "best"]
    header += [f"{clock}: {end}" for clock in ("rate of table-4", "recorded clock") for end in ("worst", "best")]
    return {
        "title": "Reads of RR-SSD: time saved on the worst and the best day, by the clock",
        "header": header,
        "rows": rows,
    }


def measure_fig_10(stand: Stand) -> Facts:
    """RR-SSD with more and more space for copies."""
    speed = matched(stand).rate
    chosen = {
        f"{alpha:g}": stand.system("rr-ssd", **{"replay.speed": speed, "replication.alpha": alpha})
        for alpha in published.ALPHAS
    }
    base = at_rate(stand, "ca-ssd", "oracle")
    runs = stand.runs(chosen)
    read = "response.read.mean_ns"
    return {
        "gains": [reduction(base["ca-ssd"], runs[f"{alpha:g}"], read) for alpha in published.ALPHAS],
        "oracle": reduction(base["ca-ssd"], base["oracle"], read),
    }


def judge_fig_10(facts: Mapping[str, Facts]) -> Outcome:
    """The level at which it saturates, and how much of it is there at alpha = 20 %."""
    claims = []
    panels = []
    for name, value in published.SATURATED.items():
        found = facts.get(name, {}).get("gains") or [None] * len(published.ALPHAS)
        at_20, end = found[published.ALPHAS.index(0.2)], found[-1]
        claims.append(number(name, "RR-SSD, reads, alpha = 100 %", value, end, effect=True))
        claims.append(Claim(name, "alpha = 20 % brings, of alpha = 100 %", 90.0, None, share(at_20, end)))
        if name in facts:
            x = [100.0 * alpha for alpha in published.ALPHAS]
            oracle = [facts[name]["oracle"]] * len(x)
            panels.append(
                lines([("RR-SSD", x, found), ("Oracle", x, oracle)], "alpha, %", "reads: time saved over ca-ssd, %",
                      title=name, published=[("RR-SSD", 20.0, value)])
            )  # fmt: skip
    return Outcome(claims, chart(*panels) if panels else None)


def measure_fig_12(stand: Stand) -> Facts:
    """Copies at once, instead of at the end of the day; and the same where writes wait for their programs."""
    names = ("ca-ssd", "rr-ssd", "rr-ssd-online")
    runs, waiting = at_rate(stand, *names), at_rate(stand, *names, **{"engine.write_completes": "programmed"})
    read, total = gains(runs, "rr-ssd-online")
    rr_read, rr_all = gains(runs, "rr-ssd")
    return {
        "read": read, "all": total, "rr_read": rr_read, "rr_all": rr_all,
        "waiting": gains(waiting, "rr-ssd-online")[1], "rr_waiting": gains(waiting, "rr-ssd")[1],
    }  # fmt: skip


def judge_fig_12(facts: Mapping[str, Facts]) -> Outcome:
    """Means over the workloads, and that the end of the day is better for all requests."""
    claims = [
        means("mean", "on-line, reads", published.ONLINE_MEAN[0], facts, "read"),
        means("mean", "on-line, reads and writes", published.ONLINE_MEAN[1], facts, "all"),
    ]
    for name in NAMES:
        found = facts.get(name, {})
        both = found.get("rr_all") is not None and found.get("all") is not None
        ahead = found["rr_all"] - found["all"] if both else None
        claims.append(Claim(name, "end of the day above on-line, all", 0.0, None, ahead, "points", True))
    panels = []
    for key, title in (("read", "reads"), ("all", "reads and writes")):
        series: list[Series] = [
            ("end of the day", by_workload(facts, f"rr_{key}"), []),
            ("on-line", by_workload(facts, key), []),
        ]
        panels.append(bars(NAMES, series, "time saved over ca-ssd, %", title=title))
    keys = ("all", "rr_all", "waiting", "rr_waiting")
    table = {
        "title": "Reads and writes: time saved over ca-ssd, by when a write is complete",
        "header": ["workload", "hashed: on-line", "end of the day", "programmed: on-line", "at the end of the day"],
        "rows": [[name, *(percent(found[key]) for key in keys)] for name, found in facts.items()],
    }
    return Outcome(claims, chart(*panels), [], [table] if facts else [])


def measure_fig_13(stand: Stand) -> Facts:
    """The 99th percentile of all requests, and of reads."""
    runs = at_rate(stand, "ca-ssd", "rr-ssd", "oracle")
    return {
        f"{name}_{kind}": reduction(runs["ca-ssd"], runs[name], f"response.{kind}.p99_ns")
        for name in ("rr-ssd", "oracle")
        for kind in ("all", "read")
    }


def judge_fig_13(facts: Mapping[str, Facts]) -> Outcome:
    """About half, for each workload."""
    claims = [
        number(
            name, "p99 of all requests, reduction", published.TAIL, facts.get(name, {}).get("rr-ssd_all"), effect=True
        )
        for name in NAMES
    ]
    panels = []
    for kind, title in (("all", "all requests"), ("read", "reads")):
        series: list[Series] = [(name, by_workload(facts, f"{name}_{kind}"), []) for name in ("rr-ssd", "oracle")]
        panels.append(bars(NAMES, series, "p99 saved over ca-ssd, %", title=title))
    return Outcome(claims, chart(*panels))


ITEMS = (
    Item("table-4", "RR-SSD and Oracle over CA-SSD: the fair test", "Table IV", NAMES, measure_table_4, judge_table_4),
    Item("fair-variants", "What each choice of the set-up does to Table IV", "Table IV", NAMES,
         measure_fair_variants, judge_fair_variants),
    Item("table-1", "Copies and minutes of a pass", "Table I", COPIED, measure_table_1, judge_table_1),
    Item("fig-9", "Read improvement by day", "Fig. 9", NAMES, measure_fig_9, judge_fig_9),
    Item("fig-10", "More space for copies", "Fig. 10", tuple(published.SATURATED), measure_fig_10, judge_fig_10),
    Item("fig-12", "On-line replication", "Fig. 12", NAMES, measure_fig_12, judge_fig_12),
    Item("fig-13", "Tail latency", "Fig. 13", NAMES, measure_fig_13, judge_fig_13),
    Item("table-5", "Replica writes", "Table V", NAMES, measure_table_5, judge_table_5),
)  # fmt: skip
