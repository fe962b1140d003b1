"""RR-SSD: the gain of replication and redirection. Tables I, IV, V, Fig. 9, 10, 12 and 13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim
from flashtwin.papers.facts import Fact, Run, derived, entry, mean, of_runs, of_trace, part, share, smaller, total
from flashtwin.papers.model import (
    BarPanel,
    ByWorkload,
    Facts,
    Item,
    Quantity,
    WorkloadTable,
    above,
    bars,
    claims_of,
    column,
    gain,
    lines,
    percent,
    table,
)
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import (
    COMPLETES,
    KINDS,
    MEANS,
    NAMES,
    at_clock,
    at_rate,
    matched,
    oracles_share,
    over_all,
    saves,
    table_iv,
)
from flashtwin.settings import Value

SYSTEMS = ("ca-ssd", "rr-ssd", "oracle")
SAVED, READS_SAVED = "time saved over ca-ssd, %", "reads: time saved over ca-ssd, %"
PUBLISHED = {"RR-SSD": published.RR_SSD, "Oracle": published.ORACLE}
PUBLISHED_MEANS = {"RR-SSD": published.RR_SSD_MEAN, "Oracle": published.ORACLE_MEAN}


def _columns(facts: Mapping[str, Fact], *keys: str) -> list[Quantity]:
    split = [key.split() for key in keys]
    return [gain(f"{who}, {KINDS[kind]}", facts[f"{who} {kind}"], PUBLISHED[who][kind]) for who, kind in split]


def _means(facts: Mapping[str, Fact], who: str) -> list[Quantity]:
    return [over_all(f"{who}, {KINDS[kind]}", facts[f"{who} {kind}"], PUBLISHED_MEANS[who][kind]) for kind in KINDS]


def _gain_bars(facts: Mapping[str, Fact], kind: str) -> dict[str, tuple[Fact, Mapping[str, float]]]:
    return {who: (facts[f"{who} {kind}"], PUBLISHED[who][kind]) for who in PUBLISHED}


def _clock(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


# Table IV, the fair test: the rate is set by Oracle's reads alone, all else is predicted.
RATED = table_iv(at_rate)
SPEED, TRIED = of_trace(lambda stand: matched(stand).rate), of_trace(lambda stand: len(matched(stand).tried))
MET = of_trace(lambda stand: matched(stand).met)
BUSY = derived(lambda busy: (busy or 0.0) * 100.0, total(at_rate("ca-ssd"), "utilisation.chip_mean"))
#: Reads of values read before, in percent: the most that copies of read values can serve.
AGAIN = derived(
    lambda unique: None if unique is None else 100.0 - unique,
    of_trace(lambda stand: stand.fact("info.unique_values_read_percent")),
)
RATED_SHARE = part(RATED["RR-SSD read"], RATED["Oracle read"])
RATED_CLAIMS = (
    gain("RR-SSD's share of Oracle's read improvement", RATED_SHARE, published.SHARE),
    *_columns(RATED, "RR-SSD read", "RR-SSD all", "Oracle all"),
)


def _claims_table_4(facts: ByWorkload) -> list[Claim]:
    """Oracle's reads are set, so they are no claim where they were met; the rest is predicted."""
    claims: list[Claim] = []
    missed = gain("Oracle, reads (target not met)", RATED["Oracle read"], published.ORACLE["read"])
    for name in NAMES:
        if name in facts and not facts[name][MET]:
            claims.append(missed.claim(name, facts[name][missed.fact], ""))
        claims += claims_of([RATED_CLAIMS], facts, [name])
    return claims + claims_of(_means(RATED, "RR-SSD"), facts, NAMES)


def _notes_table_4(facts: ByWorkload) -> list[str]:
    notes = ["Oracle's reads are not among the claims: the rate of arrival was chosen so that they are as published."]
    notes += [
        f"{name}: only {percent(found[AGAIN])} of the reads are of values read before, and copies of what "
        f"was read cannot serve others; the published share of Oracle's improvement is {percent(share)}."
        for name, share in published.SHARE.items()
        if (found := facts.get(name)) and found[AGAIN] is not None and found[AGAIN] < share
    ]
    if missed := [name for name, found in facts.items() if not found[MET]]:
        notes.append(
            f"No rate that `ca-ssd` keeps up with brings Oracle's published read improvement on {', '.join(missed)}; "
            "the nearest is taken there."
        )
    return notes


# The same when requests arrive as they were recorded, with no number chosen at all.
CLOCKED = table_iv(at_clock)


def _notes_recorded(facts: ByWorkload) -> list[str]:
    """Redirection shortens nothing but waiting: what reads do not wait, no system of this kind can save."""
    waits = {name: found[CLOCKED["queueing"]] for name, found in facts.items()}
    gains = published.ORACLE["read"]
    listed = [
        f"{name} ({percent(wait)} of {percent(gains[name])})"
        for name, wait in waits.items()
        if wait is not None and wait < gains[name]
    ]
    if not listed:
        return []
    return [
        "Redirection shortens nothing but waiting. Under this set-up reads of `ca-ssd` queue at chips for less of "
        f"their time than Oracle's published gain on {', '.join(listed)}."
    ]


def fair_variants() -> dict[str, Mapping[str, Value]]:
    """Keys by the choice of the set-up that is taken back to the presets', and with all taken back."""
    setup = published.SETUP
    single = {f"without {one.text}": setup.without(one.key) for one in setup.choices}
    return {"the set-up": setup.sets, **single, "the presets": {}}


def _fair(sets: Mapping[str, Value]) -> dict[str, Fact]:
    """Table IV at the recorded clock under one of these set-ups."""
    facts = table_iv(lambda name: Run(name, tuple(sets.items()), setup=False))
    return {
        "Oracle, reads": facts["Oracle read"],
        "share of Oracle's": oracles_share(facts["RR-SSD read"], facts["Oracle read"]),
        "RR-SSD, reads": facts["RR-SSD read"], "RR-SSD, all": facts["RR-SSD all"], "Oracle, all": facts["Oracle all"],
    }  # fmt: skip


FAIR = {label: _fair(sets) for label, sets in fair_variants().items()}
FAIR_MEANS = {
    f"{who}, {word}": PUBLISHED_MEANS[who][kind]
    for who in ("Oracle", "RR-SSD")
    for kind, word in (("read", "reads"), ("all", "all"))
}
FAIR_CLAIMS = [
    over_all(title, facts[title], value, label) for label, facts in FAIR.items() for title, value in FAIR_MEANS.items()
]


def _panels_fair_variants(facts: ByWorkload) -> list[dict[str, Any]]:
    claims = claims_of(FAIR_CLAIMS, facts, NAMES)
    series = [
        (title, [claim.measured for claim in claims if claim.quantity == title], [value] * len(FAIR))
        for title, value in FAIR_MEANS.items()
    ]
    return [bars(list(FAIR), series, "time saved over ca-ssd, means, %")]


def _tables_fair_variants(facts: ByWorkload) -> list[dict[str, Any]]:
    rows = []
    for label, of in FAIR.items():
        whole = len(facts) == len(NAMES)
        averages = [mean(column(facts, NAMES, fact)) if whole else None for fact in of.values()]
        rows.append([label, "mean", *map(percent, averages)])
        there = [name for name in NAMES if name in facts]
        rows += [[label, name, *(percent(facts[name][fact]) for fact in of.values())] for name in there]
    header = ["set-up", "workload", *FAIR["the set-up"]]
    return [table("Table IV at the recorded clock, one choice of the set-up taken back", header, rows)]


#: Everything that was read the day before has a copy on every chip: no budget, no choice, no cost.
EVERYTHING = at_rate("rr-ssd", **{"ftl.replication.alpha": 64.0, "ftl.replication.copies_per_read": 256.0})


def _saved_by_day(base: PaperRun, rr: PaperRun, oracle: PaperRun, everything: PaperRun) -> Facts:
    """Shares of the time that Oracle saves, of the whole trace and without its first day, which has no copies."""

    def read_time(run: PaperRun) -> list[float]:
        return [(row["reads"] or 0) * (row["read_mean_ns"] or 0.0) for row in run.rows("periods")]

    def gained(run: PaperRun) -> list[float]:
        return [before - after for before, after in zip(read_time(base), read_time(run), strict=True)]

    of_rr, of_oracle, of_all = gained(rr), gained(oracle), gained(everything)
    whole, later = sum(of_oracle), sum(of_oracle[1:])
    return {
        "first": share(of_oracle[0], whole),
        "share": share(sum(of_rr), whole),
        "bound": share(sum(of_all), whole),
        "share_later": share(sum(of_rr[1:]), later),
        "bound_later": share(sum(of_all[1:]), later),
    }


BY_DAY = of_runs(_saved_by_day, *map(at_rate, SYSTEMS), EVERYTHING)
BOUND, BOUND_LATER = entry(BY_DAY, "bound"), entry(BY_DAY, "bound_later")
OF_RR = entry(BY_DAY, "share")
AT_LEAST_THE_SHARE = {name: (value, None) for name, value in published.SHARE.items()}


def _notes_bound(facts: ByWorkload) -> list[str]:
    notes = [
        "Everything copied: at the end of each day every content that was read during it has a copy on every chip, at "
        "no cost. RR-SSD copies some of these, so that no choice, number or place of copies brings it above that. On "
        "the first day there are no copies (footnote 5 of the paper), while Table IV is of the entire duration.",
        "The claim is that the bound is the published share at least. (Until results were seen this item asked "
        "for a bound equal to the share, and for its order among the workloads; a bound need have neither.)",
    ]
    for fact, what in ((BOUND, "of the entire duration"), (BOUND_LATER, "even from the second day on")):
        above = [name for name, of in facts.items() if of[fact] is not None and of[fact] < published.SHARE[name]]
        if above:
            notes.append(f"The published share cannot be had on these traces at this rate, {what}: {', '.join(above)}.")
    return notes


#: Weeks of a recipe for weekly passes (the abstract: "workload traces running over weeks").
WEEKS = 3


def measure_passes(stand: Stand) -> Facts:
    """Copies and duration of a typical pass, by day and by week, as the whole workload would have them."""
    found: Facts = {}
    longer = stand.lasting(WEEKS * 7) or stand
    for key, days, of in (("daily", 1, stand), ("weekly", 7, longer)):
        [run] = of.runs({"rr-ssd": at_clock("rr-ssd", **{"replay.period_s": stand.period_s * days}).on(of)}).values()
        # No pass follows the last period.
        if passes := run.rows("periods")[:-1]:
            scale = stand.source.scale
            copies = [float(row["copies"]) / scale for row in passes]
            found |= {f"{key} copies": float(np.median(copies)) / 1e3, f"{key} by pass": copies}
            for way in ("serial", "parallel"):
                minutes = [float(row[f"replication_{way}_ns"]) / 60e9 / scale for row in passes]
                found[f"{key} {way} minutes"] = float(np.median(minutes))
    if longer is not stand:
        stand.replayed += longer.replayed
        longer.close()
    return found


PASSES = of_trace(measure_passes)
SHORT = "the trace has no second week, so no weekly pass"
PASS_CLAIMS = [
    Quantity(f"{key}: {what}", entry(PASSES, f"{key} {figure}"), values[key], unit, why=SHORT)
    for key in ("daily", "weekly")
    for what, figure, values, unit in (
        ("copies", "copies", published.COPIES, "thousand"),
        ("minutes", "serial minutes", published.MINUTES, "min"),
    )
]
#: II.C: a weekly pass takes "(almost) seven times longer" than a daily one.
WEEKLY = derived(
    lambda weekly, daily: weekly / daily if weekly is not None and daily else None,
    entry(PASSES, "weekly serial minutes"), entry(PASSES, "daily serial minutes"),
)  # fmt: skip


def _panels_table_1(facts: ByWorkload) -> list[dict[str, Any]]:
    series = [
        (name, [float(day + 1) for day in range(len(by_pass))], by_pass)
        for name in published.COPIES["daily"]
        if (by_pass := facts.get(name, {}).get(PASSES, {}).get("daily by pass"))
    ]
    return [lines(series, "end of day", "copies made", y_log=True)] if series else []


def _notes_table_1(facts: ByWorkload) -> list[str]:
    notes = [
        "The published minutes are 2.97 ms a copy in every cell; one copy after another at the paper's own latencies "
        "(read 75 µs, program 400 µs, two transfers of 10 µs) takes 0.495 ms."
    ]
    every = [found[PASSES] for found in facts.values() if "daily copies" in found[PASSES]]
    if every:
        serial, parallel = (sum(one[f"daily {way} minutes"] for one in every) for way in ("serial", "parallel"))
        notes.append(f"With all chips at work the passes would be {serial / max(parallel, 1e-12):.0f} times as short.")
    return notes


#: "The more popular, the more copies" (II.D): how many for a read is not said.
FEWER_COPIES: dict[str, Mapping[str, Value]] = {
    "one for each read": {},
    "one for two reads": {"ftl.replication.copies_per_read": 0.5},
    "two at most": {"ftl.replication.most_copies": 2},
    "of what is read twice": {"ftl.replication.least_popularity": 2},
}


def _replicas(sets: Mapping[str, Value]) -> dict[str, Fact]:
    """Replica writes by both denominators that "total writes" can mean, and the gain of reads."""
    run = at_clock("rr-ssd", **sets)
    return {
        "replica writes among all programs": part(total(run, "flash_writes.replica"), total(run, "pages_programmed")),
        "replica writes, of the host's writes": part(
            total(run, "flash_writes.replica"), total(run, "host_pages_written")
        ),
        "reads: time saved": saves("rr-ssd", sets=sets),
    }  # fmt: skip


REPLICAS = {label: _replicas(sets) for label, sets in FEWER_COPIES.items()}
ONE_A_READ = dict(list(REPLICAS["one for each read"].items())[:2])
MORE_PROGRAMS = derived(lambda fewer: None if fewer is None else 0.0 - fewer, saves("rr-ssd", "pages_programmed"))


def _tables_table_5(facts: ByWorkload) -> list[dict[str, Any]]:
    rows = [
        [name, label, *(percent(found[fact]) for fact in of.values())]
        for name, found in facts.items()
        for label, of in REPLICAS.items()
    ]
    header = ["workload", "copies", *REPLICAS["one for each read"]]
    return [table("With fewer copies than one for each read", header, rows)]


def _days(*runs: PaperRun) -> list[dict[str, Any]]:
    days = []
    for day, (base, rr, oracle) in enumerate(zip(*(run.rows("periods")[:7] for run in runs), strict=True), start=1):
        if day > 1 and base["read_mean_ns"]:
            days.append({
                "day": day,
                "rr": smaller(base["read_mean_ns"], rr["read_mean_ns"]),
                "oracle": smaller(base["read_mean_ns"], oracle["read_mean_ns"]),
                "new": share(rr["new_value_reads"], rr["page_reads"]),
                "rep": share(rr["replicated_value_reads"], rr["page_reads"]),
            })  # fmt: skip
    return days


DAYS = {
    "rate of table-4": of_runs(_days, *map(at_rate, SYSTEMS)),
    "recorded clock": of_runs(_days, *map(at_clock, SYSTEMS)),
}
RATED_DAYS = DAYS["rate of table-4"]


def _typical_share(days: Sequence[Mapping[str, float]]) -> float | None:
    shares = [100.0 * day["rr"] / day["oracle"] for day in days if day["oracle"] > 0]
    return float(np.median(shares)) if shares else None


def _end(end: Any, days: Sequence[Mapping[str, float]]) -> Any:
    return end((day["rr"] for day in days), default=None)


ONE_DAY = "the trace has one day only"
FIG_9 = (
    gain("RR-SSD, reads, worst day", derived(lambda days: _end(min, days), RATED_DAYS), published.WORST_DAY, ONE_DAY),
    gain("RR-SSD, reads, best day", derived(lambda days: _end(max, days), RATED_DAYS), published.BEST_DAY, ONE_DAY),
    gain("RR-SSD's share of Oracle's, median day", derived(_typical_share, RATED_DAYS), published.NEAR_ORACLE, ONE_DAY),
)


def _panels_fig_9(facts: ByWorkload) -> list[dict[str, Any]]:
    panels = []
    for name in NAMES:
        if days := facts.get(name, {}).get(RATED_DAYS):
            x = [float(day["day"]) for day in days]
            keys = {"RR-SSD": "rr", "Oracle": "oracle", "New": "new", "Rep": "rep"}
            series = [(title, x, [day[key] for day in days]) for title, key in keys.items()]
            panels.append(lines(series, "day", "%", title=name))
    return panels


def _tables_fig_9(facts: ByWorkload) -> list[dict[str, Any]]:
    rows = [
        [
            name, percent(published.WORST_DAY.get(name)), percent(published.BEST_DAY[name]),
            *(percent(_end(end, found[days])) for days in DAYS.values() for end in (min, max)),
        ]
        for name, found in facts.items()
    ]  # fmt: skip
    header = ["workload", "published: worst", "best", *(f"{at}: {end}" for at in DAYS for end in ("worst", "best"))]
    return [table("Reads of RR-SSD: time saved on the worst and the best day, by the clock", header, rows)]


SPACE_GAINS = [saves("rr-ssd", at=at_rate, sets={"replication.alpha": alpha}) for alpha in published.ALPHAS]


def _panels_fig_10(facts: ByWorkload) -> list[dict[str, Any]]:
    x = [100.0 * alpha for alpha in published.ALPHAS]
    panels = []
    for name, value in published.SATURATED.items():
        if name in facts:
            oracle = [facts[name][RATED["Oracle read"]]] * len(x)
            series = [("RR-SSD", x, [facts[name][one] for one in SPACE_GAINS]), ("Oracle", x, oracle)]
            panels.append(lines(series, "alpha, %", READS_SAVED, title=name, published=[("RR-SSD", 20.0, value)]))
    return panels


def _online(system: str, kind: str, **sets: Value) -> Fact:
    return saves(system, MEANS[kind], lambda name, **_: at_rate(name, **sets))


#: Copies made at once, and at the end of the day.
ONLINE, DAILY = ({kind: _online(system, kind) for kind in KINDS} for system in ("rr-ssd-online", "rr-ssd"))
#: The same of all requests where writes wait for their programs.
ONLINE_WAITING, DAILY_WAITING = (
    _online(system, "all", **{COMPLETES: "programmed"}) for system in ("rr-ssd-online", "rr-ssd")
)


def _tail(system: str, kind: str) -> Fact:
    return saves(system, f"response.{kind}.p99_ns", at_rate)


ITEMS = (
    Item(
        "table-4", "RR-SSD and Oracle over CA-SSD: the fair test", "Table IV", NAMES, _claims_table_4,
        [BarPanel(SAVED, _gain_bars(RATED, kind), title) for kind, title in KINDS.items()],
        [WorkloadTable("The one free parameter, found by search", {
            "replay.speed": (SPEED, _clock), "Oracle, reads": RATED["Oracle read"],
            "published": published.ORACLE["read"], "ca-ssd: a read queues": RATED["queueing"], "chips busy": BUSY,
            "reads of values read before": AGAIN, "rates tried": (TRIED, str),
        })],
        _notes_table_4, [MET, *(one.fact for one in RATED_CLAIMS)],
    ),
    Item(
        "fair-variants", "What each choice of the set-up does to Table IV", "Table IV", NAMES, FAIR_CLAIMS,
        _panels_fair_variants, _tables_fair_variants, facts=[fact for of in FAIR.values() for fact in of.values()],
    ),
    Item(
        "table-1", "Copies and minutes of a pass", "Table I", tuple(published.COPIES["daily"]),
        [(*PASS_CLAIMS, Quantity("minutes, weekly / daily", WEEKLY, published.WEEKLY_TO_DAILY, "x", why=SHORT))],
        _panels_table_1, notes=_notes_table_1, facts=[PASSES],
    ),
    Item("fig-9", "Read improvement by day", "Fig. 9", NAMES, [FIG_9], _panels_fig_9, _tables_fig_9,
         facts=[*DAYS.values()]),
    Item(
        "fig-10", "More space for copies", "Fig. 10", tuple(published.SATURATED),
        [(
            gain("RR-SSD, reads, alpha = 100 %", SPACE_GAINS[-1], published.SATURATED),
            Quantity("alpha = 20 % brings, of alpha = 100 %",
                     part(SPACE_GAINS[published.ALPHAS.index(0.2)], SPACE_GAINS[-1]), (90.0, None)),
        )],
        _panels_fig_10, facts=[*SPACE_GAINS, RATED["Oracle read"]],
    ),
    Item(
        "fig-12", "On-line replication", "Fig. 12", NAMES,
        [
            *(over_all(f"on-line, {KINDS[kind]}", ONLINE[kind], published.ONLINE_MEAN[kind]) for kind in KINDS),
            above("end of the day above on-line, all", DAILY["all"], ONLINE["all"]),
        ],
        [BarPanel(SAVED, {"end of the day": DAILY[kind], "on-line": ONLINE[kind]}, KINDS[kind]) for kind in KINDS],
        [WorkloadTable("Reads and writes: time saved over ca-ssd, by when a write is complete", {
            "hashed: on-line": ONLINE["all"], "end of the day": DAILY["all"], "programmed: on-line": ONLINE_WAITING,
            "at the end of the day": DAILY_WAITING,
        })],
    ),
    Item(
        "fig-13", "Tail latency", "Fig. 13", NAMES,
        [gain("p99 of all requests, reduction", _tail("rr-ssd", "all"), published.TAIL)],
        [BarPanel("p99 saved over ca-ssd, %", {name: _tail(name, kind) for name in ("rr-ssd", "oracle")}, title)
         for kind, title in (("all", "all requests"), ("read", "reads"))],
    ),
    Item(
        "table-5", "Replica writes", "Table V", NAMES,
        [
            *(Quantity(title, fact, published.REPLICA_WRITES) for title, fact in ONE_A_READ.items()),
            over_all("more programs than ca-ssd", MORE_PROGRAMS, published.MORE_WRITES),
        ],
        [BarPanel("replica writes, %",
                  {title: (fact, published.REPLICA_WRITES) for title, fact in ONE_A_READ.items()})],
        _tables_table_5, facts=[fact for of in REPLICAS.values() for fact in of.values()],
    ),
    Item(
        "fair-bound", "The most that copies of what was read the day before can reach of Oracle's gain", "Table IV",
        NAMES,
        [(
            gain("share of Oracle's, everything copied", BOUND, AT_LEAST_THE_SHARE),
            gain("the same from the second day on", BOUND_LATER, AT_LEAST_THE_SHARE),
        )],
        [BarPanel("share of Oracle's read improvement, %", {
            "RR-SSD": (OF_RR, published.SHARE), "everything copied": (BOUND, {}),
            "everything copied, from the second day on": (BOUND_LATER, {}),
        })],
        [WorkloadTable("Of the read time that Oracle saves", {
            "published share": published.SHARE,
            "reads of values read the day before": part(
                total(EVERYTHING, "page_ops.replicated_value_reads"), total(EVERYTHING, "page_ops.read")
            ),
            "saved on the first day": entry(BY_DAY, "first"), "RR-SSD": OF_RR, "everything copied": BOUND,
            "RR-SSD from the second day on": entry(BY_DAY, "share_later"),
            "everything copied from the second day on": BOUND_LATER,
        })],
        _notes_bound,
    ),
    Item(
        "recorded-rate", "RR-SSD and Oracle over CA-SSD at the recorded rate: nothing chosen", "Table IV", NAMES,
        [
            (
                *_columns(CLOCKED, "Oracle read", "Oracle all", "RR-SSD read"),
                gain("share of Oracle's", oracles_share(CLOCKED["RR-SSD read"], CLOCKED["Oracle read"]),
                     published.SHARE, "Oracle gains next to nothing"),
                *_columns(CLOCKED, "RR-SSD all"),
            ),
            *_means(CLOCKED, "Oracle"), *_means(CLOCKED, "RR-SSD"),
        ],
        [BarPanel(READS_SAVED, _gain_bars(CLOCKED, "read"))],
        [WorkloadTable("At the recorded rate: time saved over ca-ssd", {
            "ca-ssd: a read queues": CLOCKED["queueing"], "Oracle, reads": CLOCKED["Oracle read"],
            "RR-SSD, reads": CLOCKED["RR-SSD read"], "Oracle, all": CLOCKED["Oracle all"],
            "RR-SSD, all": CLOCKED["RR-SSD all"], "Oracle, p99 of reads": saves("oracle", "response.read.p99_ns"),
            "RR-SSD, p99 of reads": saves("rr-ssd", "response.read.p99_ns"),
        })],
        _notes_recorded,
    ),
)  # fmt: skip
