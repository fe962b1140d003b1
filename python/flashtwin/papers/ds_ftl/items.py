"""DS-FTL: its workloads, response times by load, where pages lie, redirections. Table 3, Fig. 2 to 4, 10 to 14."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin.papers import panels
from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, nearest, number
from flashtwin.papers.facts import SCALE, Fact, Run, all_keep_up, derived, mean, of_runs, saved, total, trace_fact
from flashtwin.papers.model import Item
from flashtwin.papers.panels import BarPanel, ByWorkload, Curves, Display, WorkloadTable, column, digits, percent
from flashtwin.papers.tables import PaperTable
from flashtwin.settings import Value

TABLE = PaperTable("ds-ftl")
NAMES = TABLE.names
REQUESTS, READ, WRITTEN = (trace_fact(f"info.{key}") for key in ("requests", "read_bytes", "write_bytes"))
STATISTICS = {"Table 3": TABLE.columns("Table 3", {
    "requests": REQUESTS / SCALE, "write ratio": trace_fact("info.writes") / REQUESTS,
    "mean size": (READ + WRITTEN) / REQUESTS / 1024.0,
})}  # fmt: skip

SCHEMES = ("static", "dynamic", "hipa", "ds-ftl")
#: What DS-FTL alone has: the allocation that proposes a place, which the other schemes are themselves. "This scheme
#: builds upon state-of-art page allocation schemes" (4.1); that of the paper's comparison is HIPA.
BELOW: Mapping[str, Value] = {"ftl.allocation.policy": "hipa"}
#: Blocks of a plane of the paper's device (Table 2), and the fewest that a small drive has.
BLOCKS, BLOCKS_MIN = 2048, 32
KINDS = ("read", "write")
ALL_EIGHT = "the mean is over all eight workloads"


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


def deviation(run: PaperRun) -> float | None:
    """Deviation of the channels' shares of all that they transfer, in points; None where nothing was."""
    busy = np.array([row["busy_ns"] for row in run.rows("channels")], dtype=float)
    return float(np.std(100.0 * busy / busy.sum())) if busy.sum() else None


def utilisation(run: PaperRun, table: str) -> list[float]:
    """Busy times of chips or channels, in percent of the busiest."""
    busy = [float(row["busy_ns"]) for row in run.rows(table)]
    return [100.0 * one / max(1.0, *busy) for one in busy]


BUSY = {name: of_runs(lambda run, name=name: utilisation(run, name), STATIC) for name in ("channels", "chips")}
CHIPS_DIFFER = derived(lambda chips: 100.0 - min(chips), BUSY["chips"])


def _panels_fig_2(facts: ByWorkload) -> list[Display]:
    most = max(facts, key=lambda name: facts[name][CHIPS_DIFFER])
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


#: Fig. 10: mean cut of latencies against each scheme.
MEAN_CUT = {kind: TABLE.values(kind) for kind in KINDS}
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


def fig_10(kind: str, place: str) -> Item:
    times = {name: total(scheme(name), f"response.{kind}.mean_ns") for name in SCHEMES}
    return TABLE.item(
        f"fig-{place}", {other: FIG_10[kind, other, 1.0] for other in MEAN_CUT[kind]},
        panels=[BarPanel(f"mean {kind} / static", {name: fact / times["static"] for name, fact in times.items()})],
        tables=[WorkloadTable(f"Mean {kind}s when requests come faster", *(
            {"replay.speed": f"{speed:g}",
             **{f"DS-FTL below {other}": FIG_10[kind, other, speed] for other in MEAN_CUT[kind]}}
            for speed in (1.0, *SPEEDS)
        ))],
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
    speed = chosen_load(facts)
    return [
        number("mean", f"{kind}s: DS-FTL below {other}", value,
               average(facts, FIG_10[kind, other, speed]) if speed else None, effect=True,
               why="the mean is over all eight workloads")
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
PUBLISHED_REDUNDANCY = TABLE.published["redundancy"]
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


def _tables_fig_11(facts: ByWorkload) -> list[Display]:
    rows = [
        ["published, mean", *(percent(PUBLISHED_REDUNDANCY[name][2]) for name, _ in REDUNDANCY)],
        *([name, *(percent(found[fact]) for fact in REDUNDANCY.values())] for name, found in facts.items()),
        ["mean", *(percent(average(facts, fact)) for fact in REDUNDANCY.values())],
    ]
    header = ["workload", *(f"{name}, {how}" for name, how in REDUNDANCY)]
    return [panels.table("Redundancy by how duplicates are counted", header, rows)]


REDIRECTED = {kind: redirected(kind) for kind in KINDS}
#: Fig. 14: deviation of the channels' shares of all transfers, as the paper's utilisation is read.
DEVIATION = {name: of_runs(deviation, scheme(name)) for name in ("static", "hipa", "ds-ftl")}
STATIC_BUSY = total(STATIC, "utilisation.channel_mean") * 100.0


def _notes_fig_14(facts: ByWorkload) -> list[str]:
    busy = [found[STATIC_BUSY] for found in facts.values() if found[STATIC_BUSY] is not None]
    if not busy:
        return []
    low, high, _ = TABLE.published["deviation"]["static"]
    return [
        f"Under static allocation a channel is busy for {min(busy):.4f} to {max(busy):.4f} % of the traces' time, "
        f"so deviations of {low:.2f} to {high:.2f} points "
        "cannot be of time; read as shares of all transfers, of which each of 8 channels has 12.5 % on average, "
        "they can."
    ]


FIG_2 = TABLE.item(
    "fig-2", {"chips differ in utilisation by": CHIPS_DIFFER}, panels=[_panels_fig_2],
    notes=lambda facts: [f"{name}: chips differ by {percent(of[CHIPS_DIFFER])}." for name, of in facts.items()],
    facts=[*BUSY.values()],
)  # fmt: skip
FIG_10_ITEMS = {kind: fig_10(kind, place) for kind, place in (("write", "10a"), ("read", "10b"))}
FIG_11 = TABLE.item("fig-11", EQUAL_WRITTEN, panels=[BarPanel("redundancy, %", EQUAL_WRITTEN)],
                    tables=[_tables_fig_11], facts=[*REDUNDANCY.values()])  # fmt: skip
FIG_13 = TABLE.item("fig-13", REDIRECTED, panels=[BarPanel("redirected pages, %", {
    f"{kind}s": (fact, TABLE.values(f"redirected {kind}")) for kind, fact in REDIRECTED.items()
})])  # fmt: skip
FIG_14 = TABLE.item(
    "fig-14", DEVIATION, panels=[BarPanel("deviation, points", DEVIATION)],
    tables=[WorkloadTable("Deviation in points: of shares of transfers, and of time", {
        title: (fact, digits(".3f"))
        for name, of_transfers in DEVIATION.items()
        for title, fact in (
            (name, of_transfers),
            (f"{name}, of time", total(scheme(name), "utilisation.channel_stddev") * 100.0),
        )
    })],
    notes=_notes_fig_14, facts=[STATIC_BUSY],
)  # fmt: skip
ITEMS = (
    TABLE.item("table-3", claims=[STATISTICS["Table 3"]]),
    FIG_2, *FIG_10_ITEMS.values(), FIG_11, FIG_13, FIG_14,
    TABLE.item("fig-3", {"duplicates among pages written": DUPLICATES},
               panels=[BarPanel("of pages written, %", {"duplicates": DUPLICATES})]),
    TABLE.item(
        "fig-4",
        {"lowest": derived(lambda planes: min(planes, default=None), ON_PLANES), "highest": DENSEST["static"]},
        panels=[Curves("plane", "duplicates on the plane, %", derived(_by_plane, ON_PLANES), together=True)],
        notes=_notes_fig_4, facts=[ON_PLANES],
    ),
    TABLE.item(
        "load", claims=[_claims_load], panels=[_panels_load], tables=[_tables_load], notes=_notes_load,
        facts=[*FIG_10.values(), *FREE.values(), *KEEP_UP.values(),
               *(one for of in MERGING.values() for one in of.values())],
    ),
    TABLE.item(
        "fig-12", {"densest plane: static above DS-FTL": DENSEST["static"] - DENSEST["ds-ftl"]},
        panels=[Curves("plane", "redundancy, %",
                       derived(lambda *of: dict(zip(PLANES, map(_by_plane, of), strict=True)), *PLANES.values()))],
    ),
)  # fmt: skip
