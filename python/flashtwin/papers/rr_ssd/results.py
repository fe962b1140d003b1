"""RR-SSD: the gain of replication and redirection. Tables I, IV, V, Fig. 9, 10, 12 and 13."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin.papers import panels
from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, Published
from flashtwin.papers.designs import CHOICES, measure_under
from flashtwin.papers.facts import Fact, Run, as_list, derived, every, mean, of_runs, of_trace, share, smaller, total
from flashtwin.papers.model import Quantity, claims_of, gain
from flashtwin.papers.panels import BarPanel, ByWorkload, Curves, Display, Facts, WorkloadTable, column, percent
from flashtwin.papers.rr_ssd import common
from flashtwin.papers.rr_ssd.common import CLOCKED, KINDS, MEANS, NAMES, RATED, SHARE, TABLE, at_clock, at_rate, saves
from flashtwin.papers.rr_ssd.workloads import by_number
from flashtwin.settings import Value

SYSTEMS = ("ca-ssd", "rr-ssd", "oracle")
#: The means of Table IV, as most items call them, and their kind.
MEANS_IV = {
    f"{who}, {word}": f"{who} {kind}"
    for who in ("Oracle", "RR-SSD")
    for kind, word in (("read", "reads"), ("all", "all"))
}


def _gain_bars(facts: Mapping[str, Fact], kind: str) -> dict[str, tuple[Fact, Mapping[str, float]]]:
    return {who: (facts[f"{who} {kind}"], TABLE.values(f"{who} {kind}")) for who in ("RR-SSD", "Oracle")}


# Table IV, the fair test: the rate is set by Oracle's reads alone, all else is predicted.
MET = of_trace(lambda stand: common.matched(stand).met)
#: Reads of values read before, in percent: the most that copies of read values can serve.
AGAIN = derived(lambda unique: 100.0 - unique, of_trace(lambda stand: stand.fact("info.unique_values_read_percent")))
MISSED = gain("Oracle, reads (target not met)", RATED["Oracle read"], common.ORACLE_READ)
PREDICTED = (
    gain("RR-SSD's share of Oracle's read improvement", RATED["RR-SSD read"] / RATED["Oracle read"] * 100.0, SHARE),
    *(
        gain(f"{who}, {KINDS[kind]}", RATED[f"{who} {kind}"], TABLE.values(f"{who} {kind}"))
        for who, kind in (("RR-SSD", "read"), ("RR-SSD", "all"), ("Oracle", "all"))
    ),
)


def _claims_table_4(facts: ByWorkload) -> list[Claim]:
    """Oracle's reads are set, so they are no claim where they were met; the rest is predicted."""
    missed = {name for name, of in facts.items() if not of[MET]}
    claims = claims_of([(MISSED, *PREDICTED)], facts, NAMES)
    return [one for one in claims if one.quantity != MISSED.title or one.subject in missed]


def _notes_table_4(facts: ByWorkload) -> list[str]:
    missed = [name for name, found in facts.items() if not found[MET]]
    return [
        f"No rate that `ca-ssd` keeps up with brings Oracle's published read improvement on {', '.join(missed)}; "
        "the nearest is taken there."
    ] if missed else []  # fmt: skip


def _clock(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def _notes_recorded(facts: ByWorkload) -> list[str]:
    """Redirection shortens nothing but waiting: what reads do not wait, no system of this kind can save."""
    waits = {name: found[CLOCKED["queueing"]] for name, found in facts.items()}
    listed = [
        f"{name} ({percent(wait)} of {percent(common.ORACLE_READ[name])})"
        for name, wait in waits.items()
        if wait is not None and wait < common.ORACLE_READ[name]
    ]
    return [
        "Redirection shortens nothing but waiting. Under this set-up reads of `ca-ssd` queue at chips for less of "
        f"their time than Oracle's published gain on {', '.join(listed)}."
    ] if listed else []  # fmt: skip


#: Keys by the choice of the set-up that is taken back to the presets', and with all taken back.
FAIR_SETS: dict[str, Mapping[str, Value]] = {
    "the set-up": common.SETUP.sets,
    **{f"without {choice.text}": {key: value for key, value in common.SETUP.sets.items() if key != choice.key}
       for choice in common.SETUP.choices},
    "the presets": {},
}  # fmt: skip


def _by_column(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    return {
        "Oracle, reads": facts["Oracle read"], "share of Oracle's": facts["share"],
        "RR-SSD, reads": facts["RR-SSD read"], "RR-SSD, all": facts["RR-SSD all"], "Oracle, all": facts["Oracle all"],
    }  # fmt: skip


FAIR = {
    label: _by_column(common.table_iv(lambda name, sets=sets: Run(name, tuple(sets.items()), setup=False)))
    for label, sets in FAIR_SETS.items()
}
FAIR_CLAIMS = [
    common.over_all(title, facts[title], f"{key}, mean", label)
    for label, facts in FAIR.items()
    for title, key in MEANS_IV.items()
]


def _panels_fair_variants(facts: ByWorkload) -> list[Display]:
    claims = claims_of(FAIR_CLAIMS, facts, NAMES)
    series = [
        (title, [claim.measured for claim in claims if claim.quantity == title],
         [TABLE.published[f"{key}, mean"]] * len(FAIR))
        for title, key in MEANS_IV.items()
    ]  # fmt: skip
    return [panels.bars(list(FAIR), series, "time saved over ca-ssd, means, %")]


def _tables_fair_variants(facts: ByWorkload) -> list[Display]:
    rows = []
    for label, of in FAIR.items():
        whole = len(facts) == len(NAMES)
        averages = [mean(column(facts, NAMES, fact)) if whole else None for fact in of.values()]
        rows.append([label, "mean", *map(percent, averages)])
        there = [name for name in NAMES if name in facts]
        rows += [[label, name, *(percent(facts[name][fact]) for fact in of.values())] for name in there]
    header = ["set-up", "workload", *FAIR["the set-up"]]
    return [panels.table("Table IV at the recorded clock, one choice of the set-up taken back", header, rows)]


#: Everything that was read the day before has a copy on every chip: no budget, no choice, no cost.
EVERYTHING = at_rate("rr-ssd", **{"ftl.replication.alpha": 64.0, "ftl.replication.copies_per_read": 256.0})


def _saved_by_day(base: PaperRun, *others: PaperRun) -> Facts:
    """Shares of the time that Oracle saves, of the whole trace and without its first day, which has no copies."""

    def read_time(run: PaperRun) -> list[float]:
        return [(row["reads"] or 0) * (row["read_mean_ns"] or 0.0) for row in run.rows("periods")]

    gained = [[before - after for before, after in zip(read_time(base), read_time(run), strict=True)] for run in others]
    rr, oracle, everything = gained
    return {
        "first": share(oracle[0], sum(oracle)),
        "share": share(sum(rr), sum(oracle)),
        "bound": share(sum(everything), sum(oracle)),
        "share_later": share(sum(rr[1:]), sum(oracle[1:])),
        "bound_later": share(sum(everything[1:]), sum(oracle[1:])),
    }


BY_DAY = of_runs(_saved_by_day, *map(at_rate, SYSTEMS), EVERYTHING)
BOUND, BOUND_LATER, OF_RR = (BY_DAY[key] for key in ("bound", "bound_later", "share"))


def _bound(published: Mapping[str, Published]) -> list[tuple[Quantity, ...]]:
    return [(
        gain("share of Oracle's, everything copied", BOUND, published),
        gain("the same from the second day on", BOUND_LATER, published),
    )]  # fmt: skip


def _notes_bound(facts: ByWorkload) -> list[str]:
    below = {
        what: [name for name, of in facts.items() if of[fact] is not None and of[fact] < SHARE[name]]
        for fact, what in ((BOUND, "of the entire duration"), (BOUND_LATER, "even from the second day on"))
    }
    return [
        f"The published share is not reached on these traces at this rate, {what}: {', '.join(names)}."
        for what, names in below.items()
        if names
    ]


#: Weeks of a recipe for weekly passes (the abstract: "workload traces running over weeks").
WEEKS = 3


def measure_passes(stand: Stand) -> Facts:
    """Copies and duration of a typical pass, by day and by week, as the whole workload would have them."""
    found: Facts = {}
    longer = stand.again(days=WEEKS * 7) or stand
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
        # It is three times as large as all else that is in memory.
        longer.close()
    return found


PASSES = of_trace(measure_passes)


def _notes_table_1(facts: ByWorkload) -> list[str]:
    every = [found[PASSES] for found in facts.values() if "daily copies" in found[PASSES]]
    serial, parallel = (sum(one[f"daily {way} minutes"] for one in every) for way in ("serial", "parallel"))
    times = f"{serial / max(parallel, 1e-12):.0f}"
    return [f"With all chips at work the passes would be {times} times as short."] if every else []


def _replicas(sets: Mapping[str, Value]) -> dict[str, Fact]:
    """Replica writes by both denominators that "total writes" can mean, and the gain of reads."""
    run = at_clock("rr-ssd", **sets)
    replicas = total(run, "flash_writes.replica")
    return {
        "replica writes among all programs": replicas / total(run, "pages_programmed") * 100.0,
        "replica writes, of the host's writes": replicas / total(run, "host_pages_written") * 100.0,
        "reads: time saved": saves("rr-ssd", sets=sets),
    }


#: "The more popular, the more copies" (II.D): how many for a read is not said.
FEWER: dict[str, Mapping[str, Value]] = {
    "one for each read": {},
    "one for two reads": {"ftl.replication.copies_per_read": 0.5},
    "two at most": {"ftl.replication.most_copies": 2},
    "of what is read twice": {"ftl.replication.least_popularity": 2},
}
REPLICAS = {label: _replicas(sets) for label, sets in FEWER.items()}
REPLICA_WRITES = TABLE.values("replica writes")


def _days(*runs: PaperRun) -> list[dict[str, Any]]:
    days = []
    for day, (base, rr, oracle) in enumerate(zip(*(run.rows("periods")[:7] for run in runs), strict=True), start=1):
        if day > 1 and base["read_mean_ns"]:
            days.append({
                "day": day,
                "RR-SSD": smaller(base["read_mean_ns"], rr["read_mean_ns"]),
                "Oracle": smaller(base["read_mean_ns"], oracle["read_mean_ns"]),
                "New": share(rr["new_value_reads"], rr["page_reads"]),
                "Rep": share(rr["replicated_value_reads"], rr["page_reads"]),
            })  # fmt: skip
    return days


def _typical_share(days: Sequence[Mapping[str, float]]) -> float | None:
    shares = [100.0 * day["RR-SSD"] / day["Oracle"] for day in days if day["Oracle"] > 0]
    return float(np.median(shares)) if shares else None


def _by_day(days: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    x = [float(day["day"]) for day in days]
    return {title: (x, [day[title] for day in days]) for title in ("RR-SSD", "Oracle", "New", "Rep")}


def _fig_9(days: Fact) -> dict[str, Fact]:
    """The worst and the best day of RR-SSD's reads, and its share of Oracle's on a typical one."""
    ends = {
        word: derived(lambda days, end=end: end((day["RR-SSD"] for day in days), default=None), days)
        for word, end in (("worst", min), ("best", max))
    }
    return {**ends, "share": derived(_typical_share, days)}


DAYS = {at: of_runs(_days, *map(clock, SYSTEMS))
        for at, clock in (("rate of table-4", at_rate), ("recorded clock", at_clock))}  # fmt: skip
FIG_9 = {at: _fig_9(days) for at, days in DAYS.items()}

ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def _by_alpha(at: common.At) -> dict[float, Fact]:
    return {alpha: saves("rr-ssd", at=at, sets={"replication.alpha": alpha}) for alpha in ALPHAS}


def _fig_10(by_alpha: Mapping[float, Fact]) -> dict[str, Fact]:
    return {"all": by_alpha[1.0], "fifth": by_alpha[0.2] / by_alpha[1.0] * 100.0}


BY_ALPHA = _by_alpha(at_rate)


def _alpha_curves(gains: Sequence[float]) -> dict[str, Any]:
    x = [100.0 * alpha for alpha in ALPHAS]
    return {"RR-SSD": (x, gains[:-1]), "Oracle": (x, [gains[-1]] * len(x))}


def _saves(system: str, kind: str, at: common.At, **sets: Value) -> Fact:
    """What a system saves where all systems have these keys."""
    return saves(system, MEANS[kind], lambda name, **_: at(name, **sets))


def _fig_12(at: common.At, **sets: Value) -> dict[str, Fact]:
    """Copies made at once, and at the end of the day."""
    online, daily = (
        {kind: _saves(system, kind, at, **sets) for kind in KINDS} for system in ("rr-ssd-online", "rr-ssd")
    )
    return {
        **{f"on-line, {KINDS[kind]}": fact for kind, fact in online.items()},
        **{f"end of the day, {KINDS[kind]}": fact for kind, fact in daily.items()},
        "end of the day above on-line, all": daily["all"] - online["all"],
    }


FIG_12, FIG_12_PROGRAMMED = _fig_12(at_rate), _fig_12(at_rate, **{common.COMPLETES: "programmed"})


def _tail(system: str, kind: str, at: common.At = at_rate) -> Fact:
    return saves(system, f"response.{kind}.p99_ns", at)


#: A copy is chosen by when it will be read, with the bus, instead of by the length of its chip's queue.
BY_FINISH = {"engine.load": "expected-wait"}
#: Figures of the item `renewal`, by their column.
RENEWED = {
    "share of Oracle's": CLOCKED["share"], "Oracle, reads": CLOCKED["Oracle read"],
    "RR-SSD, reads": CLOCKED["RR-SSD read"], "Oracle, all": CLOCKED["Oracle all"], "RR-SSD, all": CLOCKED["RR-SSD all"],
    "RR-SSD, p99 of all": _tail("rr-ssd", "all", at_clock),
}  # fmt: skip


def measure_renewal(stand: Stand) -> Facts:
    found: Facts = {}
    for level, sets in CHOICES["renewal"].items():
        facts = measure_under(stand, sets, lambda _, keys: keys, RENEWED.values())
        found |= {f"{level}: {title}": facts[fact] for title, fact in RENEWED.items()}
    return found


RENEWAL = of_trace(measure_renewal)
#: The recipes' choice, which no paper fixes, over its range.
BY_RENEWAL = {level: {title: RENEWAL[f"{level}: {title}"] for title in RENEWED} for level in CHOICES["renewal"]}
RENEWAL_CLAIMS = [
    *(
        gain(f"share of Oracle's, {level}", of["share of Oracle's"], SHARE,
             "Oracle gains next to nothing, or the trace is recorded")
        for level, of in BY_RENEWAL.items()
    ),
    *(
        common.over_all(f"{who}, {KINDS[kind]}, {level}", of[f"{who}, {word}"], f"{who} {kind}, mean")
        for level, of in BY_RENEWAL.items()
        for who in ("RR-SSD", "Oracle")
        for kind, word in (("read", "reads"), ("all", "all"))
    ),
]  # fmt: skip

ITEMS = (
    TABLE.item(
        "table-4", RATED, claims=[_claims_table_4],
        panels=[BarPanel(common.SAVED, _gain_bars(RATED, kind), title) for kind, title in KINDS.items()],
        tables=[WorkloadTable("The one free parameter, found by search", {
            "replay.speed": (of_trace(lambda stand: common.matched(stand).rate), _clock),
            "Oracle, reads": RATED["Oracle read"], "published": common.ORACLE_READ,
            "ca-ssd: a read queues": RATED["queueing"],
            "chips busy": total(at_rate("ca-ssd"), "utilisation.chip_mean", missing=0.0) * 100.0,
            "reads of values read before": AGAIN,
            "rates tried": (of_trace(lambda stand: len(common.matched(stand).tried)), str),
        })],
        notes=_notes_table_4, facts=[MET, *(one.fact for one in PREDICTED)],
    ),
    TABLE.item("fair-variants", claims=FAIR_CLAIMS, panels=[_panels_fair_variants], tables=[_tables_fair_variants],
               facts=every(FAIR)),
    TABLE.item(
        "table-1",
        {
            **{f"{key}: copies": PASSES[f"{key} copies"] for key in ("daily", "weekly")},
            **{f"{key}: minutes": PASSES[f"{key} serial minutes"] for key in ("daily", "weekly")},
            "minutes, weekly / daily": PASSES["weekly serial minutes"] / PASSES["daily serial minutes"],
        },
        panels=[Curves(
            "end of day", "copies made", derived(by_number, PASSES["daily by pass"]), y_log=True, together=True,
        )],
        notes=_notes_table_1, facts=[PASSES],
    ),
    TABLE.item(
        "fig-9", FIG_9["rate of table-4"], first=FIG_9["recorded clock"],
        panels=[Curves("day", "%", derived(_by_day, DAYS["rate of table-4"]))],
        tables=[WorkloadTable("Reads of RR-SSD: time saved on the worst and the best day, by the clock", {
            "published: worst": TABLE.values("worst day"), "best": TABLE.values("best day"),
            **{f"{at}: {word}": of[word] for at, of in FIG_9.items() for word in ("worst", "best")},
        })],
    ),
    TABLE.item(
        "fig-10", _fig_10(BY_ALPHA), first=_fig_10(_by_alpha(at_clock)),
        panels=[Curves("alpha, %", common.READS_SAVED,
                       derived(_alpha_curves, as_list(*BY_ALPHA.values(), RATED["Oracle read"])),
                       {name: ("RR-SSD", 20.0, value) for name, value in TABLE.values("saturated").items()})],
    ),
    TABLE.item(
        "fig-12", FIG_12, first=_fig_12(at_clock),
        panels=[
            BarPanel(common.SAVED, {"end of the day": FIG_12[f"end of the day, {title}"],
                                    "on-line": FIG_12[f"on-line, {title}"]}, title)
            for title in KINDS.values()
        ],
        tables=[WorkloadTable("Reads and writes: time saved over ca-ssd, by when a write is complete", {
            "hashed: on-line": FIG_12["on-line, reads and writes"],
            "end of the day": FIG_12["end of the day, reads and writes"],
            "programmed: on-line": FIG_12_PROGRAMMED["on-line, reads and writes"],
            "at the end of the day": FIG_12_PROGRAMMED["end of the day, reads and writes"],
        })],
    ),
    TABLE.item(
        "fig-13", {"tail": _tail("rr-ssd", "all")}, first={"tail": _tail("rr-ssd", "all", at_clock)},
        panels=[BarPanel("p99 saved over ca-ssd, %", {name: _tail(name, kind) for name in ("rr-ssd", "oracle")}, title)
                for kind, title in (("all", "all requests"), ("read", "reads"))],
    ),
    TABLE.item(
        "table-5",
        {**REPLICAS["one for each read"],
         "more programs than ca-ssd": derived(lambda fewer: 0.0 - fewer, saves("rr-ssd", "pages_programmed"))},
        panels=[BarPanel("replica writes, %", {
            title: (fact, REPLICA_WRITES) for title, fact in list(REPLICAS["one for each read"].items())[:2]
        })],
        tables=[WorkloadTable("With fewer copies than one for each read",
                              *({"copies": label, **of} for label, of in REPLICAS.items()))],
    ),
    TABLE.item(
        "fair-bound", claims=_bound(TABLE.published["at least the share"]), first=_bound(SHARE),
        panels=[BarPanel("share of Oracle's read improvement, %", {
            "RR-SSD": (OF_RR, SHARE), "everything copied": (BOUND, {}),
            "everything copied, from the second day on": (BOUND_LATER, {}),
        })],
        tables=[WorkloadTable("Of the read time that Oracle saves", {
            "published share": SHARE,
            "reads of values read the day before": total(EVERYTHING, "page_ops.replicated_value_reads")
            / total(EVERYTHING, "page_ops.read") * 100.0,
            "saved on the first day": BY_DAY["first"], "RR-SSD": OF_RR, "everything copied": BOUND,
            "RR-SSD from the second day on": BY_DAY["share_later"],
            "everything copied from the second day on": BOUND_LATER,
        })],
        notes=_notes_bound,
    ),
    # The same when requests arrive as they were recorded, with no number chosen at all.
    TABLE.item(
        "recorded-rate", CLOCKED,
        panels=[BarPanel(common.READS_SAVED, _gain_bars(CLOCKED, "read"))],
        tables=[WorkloadTable("At the recorded rate: time saved over ca-ssd", {
            "ca-ssd: a read queues": CLOCKED["queueing"],
            **{title: CLOCKED[MEANS_IV[title]] for title in ("Oracle, reads", "RR-SSD, reads", "Oracle, all",
                                                             "RR-SSD, all")},
            "Oracle, p99 of reads": _tail("oracle", "read", at_clock),
            "RR-SSD, p99 of reads": _tail("rr-ssd", "read", at_clock),
            "Oracle by finish time, reads": saves("oracle", sets=BY_FINISH),
            "RR-SSD by finish time, reads": saves("rr-ssd", sets=BY_FINISH),
        })],
        notes=_notes_recorded,
    ),
    TABLE.item(
        "renewal", claims=RENEWAL_CLAIMS,
        panels=[BarPanel("share of Oracle's read improvement, %", {
            level: (of["share of Oracle's"], SHARE) for level, of in BY_RENEWAL.items()
        })],
        tables=[WorkloadTable("At the recorded clock: time saved over ca-ssd",
                              *({"new contents come": level, **of} for level, of in BY_RENEWAL.items()))],
    ),
)  # fmt: skip
