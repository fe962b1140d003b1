"""DS-FTL: its workloads, response times by load, where pages lie, redirections. Table 3, Fig. 2 to 4, 10 to 14."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.facts import (
    Fact,
    Run,
    all_keep_up,
    derived,
    mean,
    minus,
    of_runs,
    of_trace,
    saved,
    total,
    trace_fact,
)
from flashtwin.papers.model import (
    BarPanel,
    ByWorkload,
    Item,
    Overall,
    Quantity,
    WorkloadTable,
    bars,
    claims_of,
    column,
    lines,
    percent,
    table,
)
from flashtwin.settings import Value

NAMES = published.NAMES
SCHEMES = ("static", "dynamic", "hipa", "ds-ftl")
#: What DS-FTL alone has: the allocation that proposes a place, which the other schemes are themselves. "This scheme
#: builds upon state-of-art page allocation schemes" (4.1); that of the paper's comparison is HIPA.
BELOW: Mapping[str, Value] = {"ftl.allocation.policy": "hipa"}
#: Blocks of a plane of the paper's device (Table 2), and the fewest that a small drive has.
BLOCKS, BLOCKS_MIN = 2048, 32
KINDS = ("read", "write")
ALL_EIGHT = "the mean is over all eight workloads"
#: The field of equal pages written: pages whose content another page written to the plane has.
EQUAL = "redundancy.written_equal_mean"


def device(stand: Stand) -> dict[str, Value]:
    """The paper's device, as much smaller as the workload."""
    return {
        "device": "ds-ftl",
        "blocks_per_plane": max(BLOCKS_MIN, round(BLOCKS * stand.source.scale)),
        # Duplicates of planes are counted as they are written (Fig. 11, 12).
        "ftl.spread.count_written": True,
    }


def scheme(name: str, speed: float = 1.0, **sets: Value) -> Run:
    """A scheme on the paper's device under its set-up."""
    below = BELOW if name == "ds-ftl" else {}
    return Run(name, tuple({**below, "replay.speed": speed, **sets}.items()), (device,))


def in_percent(fact: Fact) -> Fact:
    """A share of the summary in percent."""
    return derived(lambda share: None if share is None else 100.0 * share, fact)


def redirected(kind: str, speed: float = 1.0) -> Fact:
    """Shares of redirected pages."""
    return in_percent(total(scheme("ds-ftl", speed), f"spread.redirected_{kind}_share"))


def deviation(run: PaperRun) -> float | None:
    """Deviation of the channels' shares of all that they transfer, in points; None where nothing was."""
    busy = np.array([row["busy_ns"] for row in run.rows("channels")], dtype=float)
    return float(np.std(100.0 * busy / busy.sum())) if busy.sum() else None


def utilisation(run: PaperRun, table: str) -> list[float]:
    """Busy times of chips or channels, in percent of the busiest."""
    busy = [float(row["busy_ns"]) for row in run.rows(table)]
    return [100.0 * one / max(1.0, *busy) for one in busy]


#: Statistics over the workloads, as the paper gives them.
STATISTICS: dict[str, Callable[[Any], float | None]] = {"lowest": min, "highest": max, "mean": mean}


def spread(
    facts: Mapping[str, Fact], as_published: Mapping[str, tuple[float, float, float]], what: str, unit: str
) -> list[Overall]:
    """Lowest, highest and mean over the workloads, scheme by scheme."""
    return [
        Overall(f"{what}, {word}", facts[name], value, unit, False, "over all eight workloads", name, statistic)
        for name, values in as_published.items()
        for (word, statistic), value in zip(STATISTICS.items(), values, strict=True)
    ]


def _requests(stand: Stand) -> float | None:
    found = stand.fact("info.requests")
    return None if found is None else found / stand.source.scale


def _write_ratio(stand: Stand) -> float | None:
    requests, writes = stand.fact("info.requests"), stand.fact("info.writes")
    return None if not requests or writes is None else writes / requests


def _mean_kb(stand: Stand) -> float | None:
    requests, read, written = (stand.fact(f"info.{key}") for key in ("requests", "read_bytes", "write_bytes"))
    return None if not requests or read is None or written is None else (read + written) / requests / 1024.0


def _column(place: int) -> dict[str, float]:
    return {name: row[place] for name, row in published.TABLE_3.items()}


TABLE_3 = (
    Quantity("requests", of_trace(_requests), _column(0), "requests"),
    Quantity("write ratio", of_trace(_write_ratio), _column(2), ""),
    Quantity("mean size", of_trace(_mean_kb), _column(3), "KB"),
)

STATIC = scheme("static")
BUSY = {name: of_runs(lambda run, name=name: utilisation(run, name), STATIC) for name in ("channels", "chips")}
CHIPS_DIFFER = derived(lambda chips: 100.0 - min(chips), BUSY["chips"])


def _panels_fig_2(facts: ByWorkload) -> list[dict[str, Any]]:
    most = max(facts, key=lambda name: facts[name][CHIPS_DIFFER])
    panels = []
    for name, fact in BUSY.items():
        values = facts[most][fact]
        title = f"{most}, by {name.removesuffix('s')}"
        panels.append(bars([str(place) for place in range(len(values))], [("static", values, [])], "% of the busiest",
                           title=title))  # fmt: skip
    return panels


DUPLICATES = trace_fact("duplication.duplicate_percent")


def _equal_on_planes(run: PaperRun) -> list[float]:
    """Pages written to each plane whose content another page written to it has, in percent."""
    return [100.0 * row["equal_written"] for row in run.rows("planes") if row["equal_written"] is not None]


PLANES = {name: of_runs(_equal_on_planes, scheme(name)) for name in ("static", "ds-ftl")}
ON_PLANES = PLANES["static"]


#: Lowest and highest over planes and workloads, because the paper does not say which workload its figure is of.
EXTREME_PLANES = [
    Overall("duplicates on a plane", derived(lambda planes, end=end: end(planes, default=None), ON_PLANES), value,
            subject=f"{word} plane", statistic=end, needs="any")
    for word, value, end in zip(("lowest", "highest"), published.ON_PLANES, (min, max), strict=True)
]  # fmt: skip


def _by_plane(named: Mapping[str, list[float]], label: str) -> list[dict[str, Any]]:
    series = [(name, [float(place) for place in range(len(values))], values) for name, values in named.items()]
    return [lines(series, "plane", label)] if series else []


def _notes_fig_4(facts: ByWorkload) -> list[str]:
    return [
        f"{name}: planes have {percent(min(planes))} to {percent(max(planes))}."
        for name, found in facts.items()
        if (planes := found[ON_PLANES])
    ]


#: Clocks at which response times are measured again, beside that of the trace.
SPEEDS = (10.0, 100.0, 1000.0)
#: Clocks of the item of ours, up to those that most drives do not keep up with.
LOADS = (1.0, *SPEEDS, 2000.0, 4000.0, 8000.0)


def cut(kind: str, other: str, speed: float = 1.0, **sets: Any) -> Fact:
    """By how many percent DS-FTL's responses are shorter than another scheme's; `sets` are DS-FTL's."""
    return saved(scheme(other, speed), scheme("ds-ftl", speed, **sets), f"response.{kind}.mean_ns")


FIG_10 = {(kind, other, speed): cut(kind, other, speed) for kind, other, _ in published.CUTS for speed in LOADS}


def _of_static(kind: str, name: str) -> Fact:
    own, base = (total(run, f"response.{kind}.mean_ns") for run in (scheme(name), STATIC))
    return derived(lambda own, base: (own or 0.0) / base if base else None, own, base)


def fig_10(kind: str, place: str) -> Item:
    """Response times as requests arrive, and when they come faster."""
    others = list(published.MEAN_CUT[kind])

    def tables(facts: ByWorkload) -> list[dict[str, Any]]:
        rows = [
            [name, f"{speed:g}", *(percent(found[FIG_10[kind, other, speed]]) for other in others)]
            for name, found in facts.items()
            for speed in (1.0, *SPEEDS)
        ]
        header = ["workload", "replay.speed", *(f"DS-FTL below {other}" for other in others)]
        return [table(f"Mean {kind}s when requests come faster", header, rows)]

    claims: list[Quantity] = []
    for other, average in published.MEAN_CUT[kind].items():
        title, fact = f"{kind}s: DS-FTL below {other}", FIG_10[kind, other, 1.0]
        # A workload without such requests (webresearch reads 23 times in three weeks) has no part in it.
        claims.append(Overall(title, fact, average, effect=True, why=ALL_EIGHT, needs="workloads"))
        if (largest := published.LARGEST_CUT[kind].get(other)) is not None:
            claims.append(Overall(title, fact, largest, effect=True, subject="largest", statistic=max, needs="any"))
    return Item(
        f"fig-{place}", f"{kind.capitalize()} latency", f"Fig. {place}", NAMES, claims,
        [BarPanel(f"mean {kind} / static", {name: _of_static(kind, name) for name in SCHEMES})], tables,
        facts=[fact for (of, _, speed), fact in FIG_10.items() if of == kind and speed in (1.0, *SPEEDS)],
    )  # fmt: skip


#: The same without the cost of comparisons, and who keeps up.
FREE = {(kind, other, speed): cut(kind, other, speed, **{"ftl.spread.verify": False}) for kind, other, speed in FIG_10}
KEEP_UP = {speed: all_keep_up(*(scheme(name, speed) for name in SCHEMES)) for speed in LOADS}


def merging(speed: float) -> dict[str, Fact]:
    """What reads gain by each half of DS-FTL: where pages lie and which is read, and merging of reads that wait.

    All schemes merge reads of one page, as the paper's simulator does; DS-FTL those of twins as well.
    """
    static, ds_ftl = scheme("static", speed), scheme("ds-ftl", speed)
    of_pages = scheme("ds-ftl", speed, **{"engine.merge_reads": "same-page"})
    none, none_ds_ftl = (scheme(name, speed, **{"engine.merge_reads": "none"}) for name in ("static", "ds-ftl"))
    pairs = {
        "DS-FTL below static": (static, ds_ftl),
        "both merge reads of one page": (static, of_pages),
        "merging of twins adds": (of_pages, ds_ftl),
        "neither merges": (none, none_ds_ftl),
        "merging of pages, in static alone": (none, static),
    }
    return {title: saved(before, after, "response.read.mean_ns") for title, (before, after) in pairs.items()}


MERGING = {speed: merging(speed) for speed in LOADS}


def average(facts: ByWorkload, fact: Fact) -> float | None:
    """The mean over the workloads of a run."""
    return mean(column(facts, list(facts), fact))


def _kept(facts: ByWorkload, speed: float) -> int:
    return sum(found[KEEP_UP[speed]] for found in facts.values())


def chosen_load(facts: ByWorkload) -> float | None:
    """The clock at which all drives keep up and reads gain over static allocation most nearly what was published."""
    if len(facts) < len(NAMES):
        return None
    off = {
        speed: abs(gained - published.MEAN_CUT["read"]["static"])
        for speed in LOADS
        if _kept(facts, speed) == len(facts) and (gained := average(facts, FIG_10["read", "static", speed])) is not None
    }
    return min(off, key=lambda speed: (off[speed], speed), default=None)


def _claims_load(facts: ByWorkload) -> list[Claim]:
    """One rate for all workloads, at which the gain of reads over static allocation is the published one."""
    speed = chosen_load(facts)
    return [
        number("mean", f"{kind}s: DS-FTL below {other}", value,
               average(facts, FIG_10[kind, other, speed]) if speed else None, effect=True, why=ALL_EIGHT)
        for kind, other, value in published.CUTS
        if (kind, other) != ("read", "static")
    ]  # fmt: skip


def _notes_load(facts: ByWorkload) -> list[str]:
    speed = chosen_load(facts)
    if speed is None:
        return []
    gained = percent(average(facts, FIG_10["read", "static", speed]))
    return [
        f"The claims are of {speed:g} times the traces' clock, one rate for all workloads: of those at which all "
        f"drives keep up, reads gain there over static allocation most nearly what was published ({gained}, where "
        f"{published.MEAN_CUT['read']['static']} % were)."
    ]


def _panels_load(facts: ByWorkload) -> list[dict[str, Any]]:
    return [
        lines(
            [(other, LOADS, [average(facts, FIG_10[kind, other, speed]) for speed in LOADS])
             for other in published.MEAN_CUT[kind]],
            "times the trace's clock", "DS-FTL below, %", title=f"{kind}s", x_log=True,
        )
        for kind in KINDS
    ]  # fmt: skip


def _tables_load(facts: ByWorkload) -> list[dict[str, Any]]:
    tables = []
    for how, of in (("pages compared in idle time", FIG_10), ("equal pages known at no cost", FREE)):
        rows = [["published", "", *(percent(value) for _, _, value in published.CUTS)]]
        rows += [
            [f"{speed:g}", f"{_kept(facts, speed)} of {len(facts)}",
             *(percent(average(facts, of[kind, other, speed])) for kind, other, _ in published.CUTS)]
            for speed in LOADS
        ]  # fmt: skip
        header = ["replay.speed", "keep up", *(f"{kind}s, {other}" for kind, other, _ in published.CUTS)]
        title = f"DS-FTL below the other schemes, mean of {len(facts)} workloads, {how}"
        tables.append(table(title, header, rows))
    rows = [[f"{speed:g}", *(percent(average(facts, fact)) for fact in MERGING[speed].values())] for speed in LOADS]
    header = ["replay.speed", *MERGING[1.0]]
    return [*tables, table("What reads gain: placement and merging apart", header, rows)]


#: Redundancy of planes by how duplicates are counted: pages whose content another page written to the plane has, pages
#: beyond the first of each content, and pages beyond the first that are valid at the end. The paper does not say.
COUNTED = {
    "equal pages written": EQUAL,
    "beyond the first": "redundancy.written_mean",
    "beyond the first, valid at the end": "redundancy.plane_mean",
}
REDUNDANCY = {
    (name, how): in_percent(total(scheme(name), path)) for how, path in COUNTED.items() for name in published.REDUNDANCY
}
#: Versions of one logical page count, as 5.2.2 says of webmail.
EQUAL_WRITTEN = {name: REDUNDANCY[name, "equal pages written"] for name in published.REDUNDANCY}


def _tables_fig_11(facts: ByWorkload) -> list[dict[str, Any]]:
    as_published = [percent(published.REDUNDANCY[name][2]) for name, _ in REDUNDANCY]
    rows = [
        ["published, mean", *as_published],
        *([name, *(percent(found[fact]) for fact in REDUNDANCY.values())] for name, found in facts.items()),
        ["mean", *(percent(average(facts, fact)) for fact in REDUNDANCY.values())],
    ]
    header = ["workload", *(f"{name}, {how}" for name, how in REDUNDANCY)]
    return [table("Redundancy by how duplicates are counted", header, rows)]


DENSEST = {name: derived(lambda planes: max(planes, default=None), fact) for name, fact in PLANES.items()}
REDIRECTED = {kind: redirected(kind) for kind in KINDS}


def _claims_fig_13(facts: ByWorkload) -> list[Claim]:
    both = tuple(
        Quantity(f"redirected {kind}s", REDIRECTED[kind], published.REDIRECTED[kind], why="") for kind in KINDS
    )
    means = [
        Overall(f"redirected {kind}s", REDIRECTED[kind], published.REDIRECTED_MEAN[kind], why=ALL_EIGHT,
                needs="workloads")
        for kind in KINDS
    ]  # fmt: skip
    return claims_of([both], facts, list(published.REDIRECTED["read"])) + claims_of(means, facts, NAMES)


#: Deviation of the channels' shares of all transfers, and of their busy time as a share of the run's.
DEVIATION = {name: of_runs(deviation, scheme(name)) for name in published.DEVIATION}
OF_TIME = {name: in_percent(total(scheme(name), "utilisation.channel_stddev")) for name in published.DEVIATION}
STATIC_BUSY = in_percent(total(STATIC, "utilisation.channel_mean"))


def _notes_fig_14(facts: ByWorkload) -> list[str]:
    busy = [found[STATIC_BUSY] for found in facts.values() if found[STATIC_BUSY] is not None]
    if not busy:
        return []
    low, high, _ = published.DEVIATION["static"]
    return [
        f"Under static allocation a channel is busy for {min(busy):.4f} to {max(busy):.4f} % of the traces' time, "
        f"so deviations of {low:.2f} to {high:.2f} points "
        "cannot be of time; read as shares of all transfers, of which each of 8 channels has 12.5 % on average, "
        "they can."
    ]


def _points(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


BOTH_DEVIATIONS = {
    title: (fact, _points)
    for name in DEVIATION
    for title, fact in ((name, DEVIATION[name]), (f"{name}, of time", OF_TIME[name]))
}


ITEMS = (
    Item("table-3", "The workloads", "Table 3", NAMES, [TABLE_3]),
    Item(
        "fig-2", "Utilisation of channels and chips", "Fig. 2", NAMES,
        [Overall("chips differ in utilisation by", CHIPS_DIFFER, published.CHIPS_DIFFER, subject="some workload",
                 statistic=max, needs="any")],
        _panels_fig_2,
        notes=lambda facts: [f"{name}: chips differ by {percent(of[CHIPS_DIFFER])}." for name, of in facts.items()],
        facts=[*BUSY.values()],
    ),
    Item(
        "fig-3", "Duplicates in the traces", "Fig. 3", NAMES,
        [Overall("duplicates among pages written", DUPLICATES, published.DUPLICATES, subject="highest of the workloads",
                 statistic=max, needs="any")],
        [BarPanel("of pages written, %", {"duplicates": DUPLICATES})],
    ),
    Item(
        "fig-4", "Duplicates on each plane", "Fig. 4", NAMES, EXTREME_PLANES,
        lambda facts: _by_plane({name: facts[name][ON_PLANES] for name in NAMES if name in facts},
                                "duplicates on the plane, %"),
        notes=_notes_fig_4, facts=[ON_PLANES],
    ),
    fig_10("write", "10a"),
    fig_10("read", "10b"),
    Item(
        "load", "Fig. 10 by load, at one rate for all", "Fig. 10", NAMES, _claims_load, _panels_load, _tables_load,
        _notes_load,
        [*FIG_10.values(), *FREE.values(), *KEEP_UP.values(), *(one for of in MERGING.values() for one in of.values())],
    ),
    Item(
        "fig-11", "Redundancy of the planes", "Fig. 11", NAMES,
        spread(EQUAL_WRITTEN, published.REDUNDANCY, "redundancy of planes", "%"),
        [BarPanel("redundancy, %", EQUAL_WRITTEN)], _tables_fig_11, facts=[*REDUNDANCY.values()],
    ),
    # No number is given.
    Item(
        "fig-12", "Redundancy plane by plane in home2", "Fig. 12", ("home2",),
        [Quantity("densest plane: static above DS-FTL", minus(*DENSEST.values()), (0.0, None), "points", effect=True)],
        lambda facts: _by_plane({name: facts["home2"][fact] for name, fact in PLANES.items()}, "redundancy, %"),
        facts=[*PLANES.values()],
    ),
    Item(
        "fig-13", "Redirected requests", "Fig. 13", NAMES, _claims_fig_13,
        [BarPanel("redirected pages, %",
                  {f"{kind}s": (REDIRECTED[kind], published.REDIRECTED[kind]) for kind in KINDS})],
    ),
    Item(
        "fig-14", "Deviation of channel utilisation", "Fig. 14", NAMES,
        # A channel's utilisation is read as its share of what all of them transfer.
        spread(DEVIATION, published.DEVIATION, "deviation of channel utilisation", "points"),
        [BarPanel("deviation, points", DEVIATION)],
        [WorkloadTable("Deviation in points: of shares of transfers, and of time", BOTH_DEVIATIONS)],
        _notes_fig_14, [STATIC_BUSY],
    ),
)  # fmt: skip
