"""DS-FTL: its workloads, response times by load, where pages lie, redirections. Table 3, Fig. 2 to 4, 10 to 14."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin.papers import panels
from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, nearest, number
from flashtwin.papers.facts import SCALE, Fact, Run, all_keep_up, derived, mean, of_runs, saved, total, trace_fact
from flashtwin.papers.model import Choice, Item, Overall, PaperWorkload, Quantity, Setup
from flashtwin.papers.panels import BarPanel, ByWorkload, Curves, Display, WorkloadTable, column, digits, percent
from flashtwin.settings import Value

#: Table 3: requests, write ratio, mean size of a request in KB; and FIU SRCMap's name. Which home is which is our
#: reading, by the alphabet.
TABLE_3 = {
    "home1": (8_973_201, 0.990, 16.06, "casa-110108-112108"),
    "home2": (5_390_703, 0.909, 23.47, "ikki-110108-112108"),
    "home3": (918_010, 0.990, 34.16, "madmax-110108-112108"),
    "home4": (2_491_157, 0.945, 7.99, "topgun-110108-112108"),
    "online": (5_700_499, 0.739, 7.99, "online.cs.fiu.edu-110108-113008"),
    "webmail": (7_795_815, 0.819, 7.99, "webmail.cs.fiu.edu-110108-113008"),
    "webresearch": (2_414_031, 0.999, 24.57, "webresearch-030409-033109"),
    "webusers": (5_697_272, 0.900, 12.31, "webusers-030409-033109"),
}
NAMES = tuple(TABLE_3)
REQUESTS, READ, WRITTEN = (trace_fact(f"info.{key}") for key in ("requests", "read_bytes", "write_bytes"))
STATISTICS = (
    Quantity("requests", REQUESTS / SCALE, {name: row[0] for name, row in TABLE_3.items()}, "requests"),
    Quantity("write ratio", trace_fact("info.writes") / REQUESTS, {name: row[1] for name, row in TABLE_3.items()}, ""),
    Quantity("mean size", (READ + WRITTEN) / REQUESTS / 1024.0, {name: row[2] for name, row in TABLE_3.items()}, "KB"),
)
WORKLOADS = tuple(
    PaperWorkload(name, f"ds-ftl/{name}", (row[3],), STATISTICS, "Table 3") for name, row in TABLE_3.items()
)

#: One set-up for all eight workloads. What the text says is in the presets: transactions are executed by dies (2.1),
#: comparisons wait for idle time (4.2.2). Pages wait in DRAM while they are hashed (4.2.1). SSDsim, in which the paper
#: implements its scheme, gives a page to flash when another needs its place, and the write that needs it waits: once
#: DRAM is full, a write takes a program as without it. So `engine.write_completes` stays `programmed`; a write cache is
#: among the sensitivities and the set-ups.
SETUP = Setup((
    Choice(
        "ftl.allocation.order", "PDWC", "2.2, 5.1.4",
        "\"in a specific order of priority for these four levels\", which is not named. Neighbours on one chip are "
        "what makes chips differ by a third (Fig. 2), and what DS-FTL takes apart.",
    ),
))  # fmt: skip
SCHEMES = ("static", "dynamic", "hipa", "ds-ftl")
#: What DS-FTL alone has: the allocation that proposes a place, which the other schemes are themselves. "This scheme
#: builds upon state-of-art page allocation schemes" (4.1); that of the paper's comparison is HIPA.
BELOW: Mapping[str, Value] = {"ftl.allocation.policy": "hipa"}
#: Blocks of a plane of the paper's device (Table 2), and the fewest that a small drive has.
BLOCKS, BLOCKS_MIN = 2048, 32
KINDS = ("read", "write")
ALL_EIGHT = "the mean is over all eight workloads"
OPEN_ORDER = (
    "The paper names neither the order of its allocations nor the one below DS-FTL's own, and both decide the sign: "
    "`set-ups` has every choice. Where channels take turns page by page (`CWDP`) no queue forms in a train, and a page "
    "that moves for its content only meets others. With neighbours on one chip (`PDWC`) and HIPA below, DS-FTL's reads "
    "and writes gain on all three."
)


def device(stand: Stand) -> dict[str, Value]:
    """The paper's device, as much smaller as the workload."""
    return {
        "device": "ds-ftl",
        "blocks_per_plane": max(BLOCKS_MIN, round(BLOCKS * stand.source.scale)),
        # Duplicates of planes are counted as they are written (Fig. 11, 12).
        "ftl.spread.count_written": True,
    }


def scheme(name: str, speed: float = 1.0, **sets: Value) -> Run:
    below = BELOW if name == "ds-ftl" else {}
    return Run(name, tuple({**below, "replay.speed": speed, **sets}.items()), (device,))


STATIC = scheme("static")


def redirected(kind: str, speed: float = 1.0) -> Fact:
    return total(scheme("ds-ftl", speed), f"spread.redirected_{kind}_share") * 100.0


#: Statistics over the workloads, as the paper gives them.
STATISTIC: dict[str, Callable[[Any], float | None]] = {"lowest": min, "highest": max, "mean": mean}


def spread(what: str, unit: str, of: Mapping[str, tuple[Fact, tuple[float, float, float]]]) -> list[Overall]:
    """Lowest, highest and mean over the workloads, scheme by scheme."""
    return [
        Overall(f"{what}, {word}", fact, value, unit, False, "over all eight workloads", name, statistic)
        for name, (fact, values) in of.items()
        for (word, statistic), value in zip(STATISTIC.items(), values, strict=True)
    ]


def deviation(run: PaperRun) -> float | None:
    """Deviation of the channels' shares of all that they transfer, in points; None where nothing was."""
    busy = np.array([row["busy_ns"] for row in run.rows("channels")], dtype=float)
    return float(np.std(100.0 * busy / busy.sum())) if busy.sum() else None


def utilisation(run: PaperRun, table: str) -> list[float]:
    """Busy times of chips or channels, in percent of the busiest."""
    busy = [float(row["busy_ns"]) for row in run.rows(table)]
    return [100.0 * one / max(1.0, *busy) for one in busy]


BUSY = {name: of_runs(lambda run, name=name: utilisation(run, name), STATIC) for name in ("channels", "chips")}
CHIPS_DIFFER = Overall(
    "chips differ in utilisation by", derived(lambda chips: 100.0 - min(chips), BUSY["chips"]), 34.0,
    subject="some workload", statistic=max, needs="any",
)  # fmt: skip


def _panels_fig_2(facts: ByWorkload) -> list[Display]:
    most = max(facts, key=lambda name: facts[name][CHIPS_DIFFER.fact])
    return [
        panels.bars([str(place) for place in range(len(values))], [("static", values, [])], "% of the busiest",
             title=f"{most}, by {name.removesuffix('s')}")
        for name, fact in BUSY.items()
        if (values := facts[most][fact]) is not None
    ]  # fmt: skip


DUPLICATES = trace_fact("duplication.duplicate_percent")


def _equal_on_planes(run: PaperRun) -> list[float]:
    """Pages written to each plane whose content another page written to it has, in percent."""
    return [100.0 * row["equal_written"] for row in run.rows("planes") if row["equal_written"] is not None]


PLANES = {name: of_runs(_equal_on_planes, scheme(name)) for name in ("static", "ds-ftl")}
ON_PLANES = PLANES["static"]
DENSEST = {name: derived(lambda planes: max(planes, default=None), fact) for name, fact in PLANES.items()}


def _by_plane(planes: Sequence[float]) -> tuple[list[float], Sequence[float]]:
    return [float(place) for place in range(len(planes))], planes


def _notes_fig_4(facts: ByWorkload) -> list[str]:
    return [
        f"{name}: planes have {percent(min(planes))} to {percent(max(planes))}."
        for name, found in facts.items()
        if (planes := found[ON_PLANES])
    ]


#: Fig. 10: mean cut of latencies against each scheme, and the largest where it is given.
MEAN_CUT = {
    "read": {"static": 35.3, "dynamic": 34.2, "hipa": 9.8},
    "write": {"static": 24.7, "dynamic": 36.7, "hipa": 19.0},
}
LARGEST_CUT = {"read": {"static": 56.3, "hipa": 23.0}, "write": {"static": 54.0, "hipa": 30.3}}
#: Kind of request, other scheme, mean cut.
CUTS = tuple((kind, other, cut) for kind, of in MEAN_CUT.items() for other, cut in of.items())
#: Clocks at which response times are measured again, beside that of the trace.
SPEEDS = (10.0, 100.0, 1000.0)
#: Clocks of the item of ours, up to those that most drives do not keep up with.
LOADS = (1.0, *SPEEDS, 2000.0, 4000.0, 8000.0)


def cut(kind: str, other: str, speed: float = 1.0, **sets: Any) -> Fact:
    """By how many percent DS-FTL's responses are shorter than another scheme's; `sets` are DS-FTL's."""
    return saved(scheme(other, speed), scheme("ds-ftl", speed, **sets), f"response.{kind}.mean_ns")


FIG_10 = {(kind, other, speed): cut(kind, other, speed) for kind, other, _ in CUTS for speed in LOADS}


def cuts(kind: str) -> list[Overall]:
    claims = []
    for other, average in MEAN_CUT[kind].items():
        title, fact = f"{kind}s: DS-FTL below {other}", FIG_10[kind, other, 1.0]
        # A workload without such requests (webresearch reads 23 times in three weeks) has no part in it.
        claims.append(Overall(title, fact, average, effect=True, why=ALL_EIGHT, needs="workloads"))
        if (largest := LARGEST_CUT[kind].get(other)) is not None:
            claims.append(Overall(title, fact, largest, effect=True, subject="largest", statistic=max, needs="any"))
    return claims


def fig_10(kind: str, place: str) -> Item:
    times = {name: total(scheme(name), f"response.{kind}.mean_ns") for name in SCHEMES}
    return Item(
        f"fig-{place}", f"{kind.capitalize()} latency", f"Fig. {place}", NAMES, cuts(kind),
        [BarPanel(f"mean {kind} / static", {name: fact / times["static"] for name, fact in times.items()})],
        [WorkloadTable(f"Mean {kind}s when requests come faster", *(
            {"replay.speed": f"{speed:g}",
             **{f"DS-FTL below {other}": FIG_10[kind, other, speed] for other in MEAN_CUT[kind]}}
            for speed in (1.0, *SPEEDS)
        ))],
        why=OPEN_ORDER,
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
    return mean(column(facts, list(facts), fact))


def _kept(facts: ByWorkload, speed: float) -> int:
    return sum(found[KEEP_UP[speed]] for found in facts.values())


def chosen_load(facts: ByWorkload) -> float | None:
    """The clock at which all drives keep up and reads gain over static allocation most nearly what was published."""
    if len(facts) < len(NAMES):
        return None
    kept = [speed for speed in LOADS if _kept(facts, speed) == len(facts)]
    gained = {speed: average(facts, FIG_10["read", "static", speed]) for speed in kept}
    return nearest(MEAN_CUT["read"]["static"], gained)


def _claims_load(facts: ByWorkload) -> list[Claim]:
    """One rate for all workloads, at which the gain of reads over static allocation is the published one."""
    speed = chosen_load(facts)
    return [
        number("mean", f"{kind}s: DS-FTL below {other}", value,
               average(facts, FIG_10[kind, other, speed]) if speed else None, effect=True, why=ALL_EIGHT)
        for kind, other, value in CUTS
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
        f"{MEAN_CUT['read']['static']} % were)."
    ]


def _panels_load(facts: ByWorkload) -> list[Display]:
    return [
        panels.lines(
            [(other, LOADS, [average(facts, FIG_10[kind, other, speed]) for speed in LOADS]) for other in of],
            "times the trace's clock", "DS-FTL below, %", title=f"{kind}s", x_log=True,
        )
        for kind, of in MEAN_CUT.items()
    ]  # fmt: skip


def _tables_load(facts: ByWorkload) -> list[Display]:
    tables = []
    for how, of in (("pages compared in idle time", FIG_10), ("equal pages known at no cost", FREE)):
        rows = [["published", "", *(percent(value) for _, _, value in CUTS)]]
        rows += [
            [f"{speed:g}", f"{_kept(facts, speed)} of {len(facts)}",
             *(percent(average(facts, of[kind, other, speed])) for kind, other, _ in CUTS)]
            for speed in LOADS
        ]  # fmt: skip
        header = ["replay.speed", "keep up", *(f"{kind}s, {other}" for kind, other, _ in CUTS)]
        title = f"DS-FTL below the other schemes, mean of {len(facts)} workloads, {how}"
        tables.append(panels.table(title, header, rows))
    rows = [[f"{speed:g}", *(percent(average(facts, fact)) for fact in MERGING[speed].values())] for speed in LOADS]
    return [
        *tables,
        panels.table("What reads gain: placement and merging apart", ["replay.speed", *MERGING[1.0]], rows),
    ]


#: 5.2.2, Fig. 11: redundancy of planes: lowest, highest, mean over the workloads.
PUBLISHED_REDUNDANCY = {"static": (2.3, 46.5, 18.5), "dynamic": (1.9, 29.3, 13.5), "ds-ftl": (1.2, 28.3, 12.2)}
#: By how duplicates are counted: pages whose content another page written to the plane has, versions of one logical
#: page included, as 5.2.2 says of webmail; pages beyond the first of each content; and those valid at the end.
REDUNDANCY = {
    (name, how): total(scheme(name), f"redundancy.{field}") * 100.0
    for how, field in (
        ("equal pages written", "written_equal_mean"), ("beyond the first", "written_mean"),
        ("beyond the first, valid at the end", "plane_mean"),
    )
    for name in PUBLISHED_REDUNDANCY
}  # fmt: skip
EQUAL_WRITTEN = {name: REDUNDANCY[name, "equal pages written"] for name in PUBLISHED_REDUNDANCY}
FIG_11 = spread(
    "redundancy of planes", "%", {name: (EQUAL_WRITTEN[name], of) for name, of in PUBLISHED_REDUNDANCY.items()}
)


def _tables_fig_11(facts: ByWorkload) -> list[Display]:
    rows = [
        ["published, mean", *(percent(PUBLISHED_REDUNDANCY[name][2]) for name, _ in REDUNDANCY)],
        *([name, *(percent(found[fact]) for fact in REDUNDANCY.values())] for name, found in facts.items()),
        ["mean", *(percent(average(facts, fact)) for fact in REDUNDANCY.values())],
    ]
    header = ["workload", *(f"{name}, {how}" for name, how in REDUNDANCY)]
    return [panels.table("Redundancy by how duplicates are counted", header, rows)]


#: Fig. 13: redirected pages of two workloads, and means.
REDIRECTED = {"read": {"webmail": 15.6, "home3": 1.46}, "write": {"webmail": 29.2, "home3": 1.48}}
REDIRECTED_MEAN = {"read": 8.21, "write": 10.5}
REDIRECTED_SHARES = {kind: redirected(kind) for kind in KINDS}
FIG_13 = tuple(Quantity(f"redirected {kind}s", REDIRECTED_SHARES[kind], of) for kind, of in REDIRECTED.items())
FIG_13_MEANS = [
    Overall(f"redirected {kind}s", REDIRECTED_SHARES[kind], value, why=ALL_EIGHT, needs="workloads")
    for kind, value in REDIRECTED_MEAN.items()
]
#: Fig. 14: deviation of the channels' shares of all transfers, as the paper's utilisation is read: lowest, highest,
#: mean.
DEVIATION = {
    name: (of_runs(deviation, scheme(name)), values)
    for name, values in (("static", (0.30, 3.00, 1.12)), ("hipa", (0.23, 3.52, 1.11)), ("ds-ftl", (0.22, 1.31, 0.61)))
}
FIG_14 = spread("deviation of channel utilisation", "points", DEVIATION)
STATIC_BUSY = total(STATIC, "utilisation.channel_mean") * 100.0


def _notes_fig_14(facts: ByWorkload) -> list[str]:
    busy = [found[STATIC_BUSY] for found in facts.values() if found[STATIC_BUSY] is not None]
    if not busy:
        return []
    low, high, _ = DEVIATION["static"][1]
    return [
        f"Under static allocation a channel is busy for {min(busy):.4f} to {max(busy):.4f} % of the traces' time, "
        f"so deviations of {low:.2f} to {high:.2f} points "
        "cannot be of time; read as shares of all transfers, of which each of 8 channels has 12.5 % on average, "
        "they can."
    ]


ITEMS = (
    Item("table-3", "The workloads", "Table 3", NAMES, [STATISTICS]),
    Item(
        "fig-2", "Utilisation of channels and chips", "Fig. 2", NAMES, [CHIPS_DIFFER], [_panels_fig_2],
        notes=lambda facts: [
            f"{name}: chips differ by {percent(of[CHIPS_DIFFER.fact])}." for name, of in facts.items()
        ],
        facts=[*BUSY.values()],
        why="The workload of the published picture is not named; measured is the one that differs most.",
    ),
    Item(
        "fig-3", "Duplicates in the traces", "Fig. 3", NAMES,
        [Overall("duplicates among pages written", DUPLICATES, 70.4, subject="highest of the workloads", statistic=max,
                 needs="any")],
        [BarPanel("of pages written, %", {"duplicates": DUPLICATES})],
    ),
    # Over planes and workloads, because the paper does not say which workload its figure is of.
    Item(
        "fig-4", "Duplicates on each plane", "Fig. 4", NAMES,
        [
            Overall("duplicates on a plane", fact, value, subject=f"{word} plane", statistic=end, needs="any")
            for word, fact, value, end in (
                ("lowest", derived(lambda planes: min(planes, default=None), ON_PLANES), 5.1, min),
                ("highest", DENSEST["static"], 44.5, max),
            )
        ],
        [Curves("plane", "duplicates on the plane, %", derived(_by_plane, ON_PLANES), together=True)],
        notes=_notes_fig_4, facts=[ON_PLANES],
        why="Published are the planes of one drive, measured are those of eight workloads.",
    ),
    fig_10("write", "10a"),
    fig_10("read", "10b"),
    Item(
        "load", "Fig. 10 by load, at one rate for all", "Fig. 10", NAMES, [_claims_load], [_panels_load],
        [_tables_load], _notes_load,
        [*FIG_10.values(), *FREE.values(), *KEEP_UP.values(), *(one for of in MERGING.values() for one in of.values())],
        ours=True,
        why=f"{OPEN_ORDER} What waiting reads gain is merging of those of one page, which all schemes do here, as the "
        "paper's simulator does; the last table tells it from where pages lie and from the merging of twins.",
    ),
    Item(
        "fig-11", "Redundancy of the planes", "Fig. 11", NAMES, FIG_11, [BarPanel("redundancy, %", EQUAL_WRITTEN)],
        [_tables_fig_11], facts=[*REDUNDANCY.values()],
        why="Static allocation has the published redundancy where all equal pages written to a plane count, versions "
        "of one logical page included; the table has other ways to count. Where pages take turns over 64 planes, as "
        "under dynamic allocation, fewer of them meet than published: contents come again later here, or the paper's "
        "groups are larger than a plane.",
    ),
    # No number is given.
    Item(
        "fig-12", "Redundancy plane by plane in home2", "Fig. 12", ("home2",),
        [Quantity("densest plane: static above DS-FTL", DENSEST["static"] - DENSEST["ds-ftl"], (0.0, None), "points",
                  effect=True)],
        [Curves("plane", "redundancy, %",
                derived(lambda *of: dict(zip(PLANES, map(_by_plane, of), strict=True)), *PLANES.values()))],
    ),
    Item(
        "fig-13", "Redirected requests", "Fig. 13", NAMES, [FIG_13, *FIG_13_MEANS],
        [BarPanel("redirected pages, %",
                  {f"{kind}s": (REDIRECTED_SHARES[kind], of) for kind, of in REDIRECTED.items()})],
        why="A read goes to another page than its own only when that has a twin, compared in idle time, and its own "
        "die is more loaded. `set-ups` shows what moves the share.",
    ),
    Item(
        "fig-14", "Deviation of channel utilisation", "Fig. 14", NAMES, FIG_14,
        [BarPanel("deviation, points", {name: fact for name, (fact, _) in DEVIATION.items()})],
        [WorkloadTable("Deviation in points: of shares of transfers, and of time", {
            title: (fact, digits(".3f"))
            for name, (of_transfers, _) in DEVIATION.items()
            for title, fact in (
                (name, of_transfers),
                (f"{name}, of time", total(scheme(name), "utilisation.channel_stddev") * 100.0),
            )
        })],
        _notes_fig_14, [STATIC_BUSY],
        "The recipes overwrite pages all over the drive, so that channels differ by chance alone: the deviation falls "
        "with the square root of the number of requests (`--scale quick` has about three times that of the default).",
    ),
)  # fmt: skip
