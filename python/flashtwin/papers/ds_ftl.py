"""S. Nie et al., "Exploiting Data Similarity to Improve SSD Read Performance" (DS-FTL)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flashtwin.papers import sensitivity
from flashtwin.papers.bench import Run, Stand, keeps_up, reduction
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, Paper, Series, Statistic, Workload, bars, chart, lines, mean
from flashtwin.papers.sensitivity import Headline, Sensitivity
from flashtwin.papers.text import column, percent
from flashtwin.presets import Value

#: Table 3: requests, writes, write ratio, mean size of a request in KB.
TABLE_3 = {
    "home1": (8_973_201, 8_882_831, 0.990, 16.06),
    "home2": (5_390_703, 4_901_091, 0.909, 23.47),
    "home3": (918_010, 908_863, 0.990, 34.16),
    "home4": (2_491_157, 2_354_060, 0.945, 7.99),
    "online": (5_700_499, 4_211_806, 0.739, 7.99),
    "webmail": (7_795_815, 6_381_985, 0.819, 7.99),
    "webresearch": (2_414_031, 2_414_008, 0.999, 24.57),
    "webusers": (5_697_272, 5_127_101, 0.900, 12.31),
}
NAMES = tuple(TABLE_3)
#: FIU SRCMap's names; which home is which is our reading, by the alphabet.
FILES = {
    "home1": ("casa-110108-112108",),
    "home2": ("ikki-110108-112108",),
    "home3": ("madmax-110108-112108",),
    "home4": ("topgun-110108-112108",),
    "online": ("online.cs.fiu.edu-110108-113008",),
    "webmail": ("webmail.cs.fiu.edu-110108-113008",),
    "webresearch": ("webresearch-030409-033109",),
    "webusers": ("webusers-030409-033109",),
}
#: 2.3.1, Fig. 2: chips differ by so much in utilisation.
CHIPS_DIFFER = 34.0
#: 2.3.2, Fig. 3: the highest share of duplicates; Fig. 4: lowest and highest over the planes.
DUPLICATES, ON_PLANES = 70.4, (5.1, 44.5)
#: 5.2.1, Fig. 10: mean cut of latencies against each scheme, and the largest where it is given.
WRITE_CUT = {"static": (24.7, 54.0), "dynamic": (36.7, None), "hipa": (19.0, 30.3)}
READ_CUT = {"static": (35.3, 56.3), "dynamic": (34.2, None), "hipa": (9.8, 23.0)}
#: Kind of request, other scheme, mean cut.
CUTS = tuple(
    (kind, other, cut[0]) for kind, of in (("read", READ_CUT), ("write", WRITE_CUT)) for other, cut in of.items()
)
LOAD_KEYS = tuple(f"{how} {kind} {other}" for how in ("compared", "known") for kind, other, _ in CUTS)
#: What reads gain over static allocation by the two halves of DS-FTL: its placement, and merging of waiting reads.
MERGING = ("without merging", "static, merging")
#: 5.2.2, Fig. 11: redundancy of planes: lowest, highest, mean over the workloads.
REDUNDANCY = {"static": (2.3, 46.5, 18.5), "dynamic": (1.9, 29.3, 13.5), "ds-ftl": (1.2, 28.3, 12.2)}
#: 5.2.3, Fig. 13: redirected reads and writes.
REDIRECTED = {"webmail": (15.6, 29.2), "home3": (1.46, 1.48), "mean": (8.21, 10.5)}
#: 5.2.4, Fig. 14: deviation of channel utilisation: lowest, highest, mean.
DEVIATION = {"static": (0.30, 3.00, 1.12), "hipa": (0.23, 3.52, 1.11), "ds-ftl": (0.22, 1.31, 0.61)}

SCHEMES = ("static", "dynamic", "hipa", "ds-ftl")
#: Clocks at which the latencies are measured again, beside that of the trace.
SPEEDS = (10.0, 100.0, 1000.0)
#: Clocks of the item of ours, up to those that most drives do not keep up with.
LOADS = (1.0, *SPEEDS, 2000.0, 4000.0, 8000.0)
#: Blocks of a plane of the paper's device (Table 2), and the fewest that a small drive has.
BLOCKS, BLOCKS_MIN = 2048, 32
#: Where the engine's choices are made otherwise: whose reads gain most, whose pages are redirected most and least;
#: at the trace's own clock, and at one at which reads queue and gain.
CHOICES_ON = ("online", "webmail", "home3")
CHOICES_SPEEDS = (1.0, 4000.0)


def runs_at(stand: Stand, *names: str, speed: float = 1.0, **more: Value) -> dict[str, Run]:
    """Schemes on the paper's device, as much smaller as the workload."""
    sets: dict[str, Value] = {
        "device": "ds-ftl",
        "blocks_per_plane": max(BLOCKS_MIN, round(BLOCKS * stand.source.scale)),
        "replay.speed": speed,
        **more,
    }
    return stand.runs({name: stand.system(name, **sets) for name in names})


def measure_fig_2(stand: Stand) -> Facts:
    """Busy times of chips and channels under static allocation."""
    run = runs_at(stand, "static")["static"]
    chips = [float(row["busy_ns"]) for row in run.rows("chips")]
    channels = [float(row["busy_ns"]) for row in run.rows("channels")]
    return {
        "chips": [100.0 * busy / max(1.0, *chips) for busy in chips],
        "channels": [100.0 * busy / max(1.0, *channels) for busy in channels],
    }


def judge_fig_2(facts: Mapping[str, Facts]) -> Outcome:
    """How far the least busy chip is below the busiest; the workload that differs most is the example."""
    differ = {name: 100.0 - min(found["chips"]) for name, found in facts.items()}
    most = max(differ, key=lambda name: differ[name]) if differ else None
    claims = [
        number("some workload", "chips differ in utilisation by", CHIPS_DIFFER, differ[most] if most else None)
    ]  # fmt: skip
    panels = []
    if most:
        for key, label in (("channels", "channel"), ("chips", "chip")):
            values = facts[most][key]
            groups = [str(place) for place in range(len(values))]
            panels.append(bars(groups, [("static", values, [])], "% of the busiest", title=f"{most}, by {label}"))
    notes = [f"{name}: chips differ by {percent(value)}." for name, value in differ.items()]
    return Outcome(claims, chart(*panels) if panels else None, notes)


def measure_fig_3(stand: Stand) -> Facts:
    """Pages written whose content was written before."""
    return {"duplicates": stand.fact("duplication.duplicate_percent")}


def judge_fig_3(facts: Mapping[str, Facts]) -> Outcome:
    """The highest of the eight."""
    values = column(facts, NAMES, "duplicates")
    highest = max((value for value in values if value is not None), default=None)
    claims = [number("highest of the workloads", "duplicates among pages written", DUPLICATES, highest)]
    return Outcome(claims, chart(bars(NAMES, [("duplicates", values, [])], "of pages written, %")))


def measure_fig_4(stand: Stand) -> Facts:
    """Duplicates on the same plane, written by address to as many planes as the device has."""
    rows = [row for row in stand.table("duplicates_by_plane") if row["allocation"] == "static"]
    return {"planes": [float(row["duplicate_percent"]) for row in rows if row["duplicate_percent"] is not None]}


def judge_fig_4(facts: Mapping[str, Facts]) -> Outcome:
    """Lowest and highest over planes and workloads."""
    every = [value for found in facts.values() for value in found["planes"]]
    claims = [
        number("lowest plane", "duplicates on a plane", ON_PLANES[0], min(every, default=None)),
        number("highest plane", "duplicates on a plane", ON_PLANES[1], max(every, default=None)),
    ]
    series = [
        (name, [float(place) for place in range(len(facts[name]["planes"]))], facts[name]["planes"])
        for name in NAMES
        if name in facts
    ]
    return Outcome(claims, chart(lines(series, "plane", "duplicates on the plane, %")) if series else None)


def measure_fig_10(stand: Stand) -> Facts:
    """Latencies of all schemes, at the trace's clock and faster ones."""
    found: Facts = {}
    for speed in (1.0, *SPEEDS):
        runs = runs_at(stand, *SCHEMES, speed=speed)
        for kind in ("read", "write"):
            what = f"response.{kind}.mean_ns"
            found[f"{kind}_{speed:g}"] = {
                name: reduction(runs[name], runs["ds-ftl"], what) for name in SCHEMES if name != "ds-ftl"
            }
            if speed == 1.0:
                base = runs["static"].get(what)
                found[f"{kind}_of_static"] = {
                    name: (runs[name].get(what) or 0.0) / base if base else None for name in SCHEMES
                }
    return found


def _judge_latency(facts: Mapping[str, Facts], kind: str, cuts: Mapping[str, tuple[float, float | None]]) -> Outcome:
    claims: list[Claim] = []
    for other, (average, largest) in cuts.items():
        values = [facts.get(name, {}).get(f"{kind}_1", {}).get(other) for name in NAMES]
        # A workload without such requests (webresearch reads 23 times in three weeks) has no part in it.
        whole = len(facts) == len(NAMES)
        why = "the mean is over all eight workloads"
        claims.append(
            number(
                "mean", f"{kind}s: DS-FTL below {other}", average, mean(values) if whole else None, effect=True, why=why
            )
        )
        if largest is not None:
            most = max((value for value in values if value is not None), default=None)
            claims.append(number("largest", f"{kind}s: DS-FTL below {other}", largest, most, effect=True))
    series: list[Series] = [
        (name, [facts.get(one, {}).get(f"{kind}_of_static", {}).get(name) for one in NAMES], []) for name in SCHEMES
    ]
    return Outcome(claims, chart(bars(NAMES, series, f"mean {kind} / static")), tables=[_by_speed(facts, kind, cuts)])


def _by_speed(facts: Mapping[str, Facts], kind: str, cuts: Mapping[str, object]) -> dict[str, object]:
    """The same cuts when requests come faster."""
    rows = []
    for name in facts:
        for speed in (1.0, *SPEEDS):
            cells = [facts[name][f"{kind}_{speed:g}"][other] for other in cuts]
            rows.append([name, f"{speed:g}", *(percent(cell) for cell in cells)])
    header = ["workload", "replay.speed", *(f"DS-FTL below {other}" for other in cuts)]
    return {"title": f"Mean {kind}s when requests come faster", "header": header, "rows": rows}


def judge_fig_10a(facts: Mapping[str, Facts]) -> Outcome:
    """Writes."""
    return _judge_latency(facts, "write", WRITE_CUT)


def judge_fig_10b(facts: Mapping[str, Facts]) -> Outcome:
    """Reads."""
    return _judge_latency(facts, "read", READ_CUT)


def measure_load(stand: Stand) -> Facts:
    """Latencies by clock, with comparisons as the paper has them and without any; and who keeps up."""
    found: Facts = {}
    for speed in LOADS:
        runs = runs_at(stand, *SCHEMES, speed=speed)
        free = runs_at(stand, "ds-ftl", speed=speed, **{"ftl.spread.verify": False})["ds-ftl"]
        alone = runs_at(stand, "ds-ftl", speed=speed, **{"engine.merge_reads": False})["ds-ftl"]
        merging = runs_at(stand, "static", speed=speed, **{"engine.merge_reads": True})["static"]
        found[f"{speed:g}"] = {
            "keeps_up": all(keeps_up(run, speed) for run in runs.values()),
            "without merging": reduction(runs["static"], alone, "response.read.mean_ns"),
            "static, merging": reduction(runs["static"], merging, "response.read.mean_ns"),
            **{
                f"{how} {kind} {other}": reduction(runs[other], run, f"response.{kind}.mean_ns")
                for how, run in (("compared", runs["ds-ftl"]), ("known", free))
                for kind, cuts in (("write", WRITE_CUT), ("read", READ_CUT))
                for other in cuts
            },
        }
    return found


def judge_load(facts: Mapping[str, Facts]) -> Outcome:
    """One rate for all workloads, at which reads gain over static allocation what was published; the rest follows."""
    means = _means_by_load(facts)
    kept = {speed: sum(found[f"{speed:g}"]["keeps_up"] for found in facts.values()) for speed in LOADS}
    whole = len(facts) == len(NAMES)
    chosen = _nearest(means, kept, len(facts), READ_CUT["static"][0]) if whole else None
    claims = [
        number(
            "mean", f"{kind}s: DS-FTL below {other}", value,
            means[chosen][f"compared {kind} {other}"] if chosen else None, effect=True,
            why="the mean is over all eight workloads",
        )
        for kind, other, value in CUTS
        if (kind, other) != ("read", "static")
    ]  # fmt: skip
    notes = []
    if chosen:
        notes.append(
            f"The claims are of {chosen:g} times the traces' clock, one rate for all workloads: of those at which all "
            "drives keep up, reads gain there over static allocation most nearly what was published."
        )
    panels = [
        lines(
            [(other, LOADS, [means[speed][f"compared {kind} {other}"] for speed in LOADS]) for other in cuts],
            "times the trace's clock", "DS-FTL below, %", title=f"{kind}s", x_log=True,
        )
        for kind, cuts in (("read", READ_CUT), ("write", WRITE_CUT))
    ]  # fmt: skip
    tables = [
        _load_table(how, title, means, kept, len(facts))
        for how, title in (("compared", "pages compared in idle time"), ("known", "equal pages known at no cost"))
    ]
    return Outcome(claims, chart(*panels) if facts else None, notes, [*tables, _merging_table(means)])


def _means_by_load(facts: Mapping[str, Facts]) -> dict[float, dict[str, float | None]]:
    """Mean cuts over the workloads, by clock."""
    return {
        speed: {key: mean([found[f"{speed:g}"][key] for found in facts.values()]) for key in (*LOAD_KEYS, *MERGING)}
        for speed in LOADS
    }


def _load_table(
    how: str, title: str, means: Mapping[float, Mapping[str, float | None]], kept: Mapping[float, int], workloads: int
) -> dict[str, object]:
    rows = [["published", "", *(percent(value) for _, _, value in CUTS)]]
    for speed in LOADS:
        cells = [percent(means[speed][f"{how} {kind} {other}"]) for kind, other, _ in CUTS]
        rows.append([f"{speed:g}", f"{kept[speed]} of {workloads}", *cells])
    header = ["replay.speed", "keep up", *(f"{kind}s, {other}" for kind, other, _ in CUTS)]
    return {"title": f"DS-FTL below the other schemes, mean of {workloads} workloads, {title}", "header": header,
            "rows": rows}  # fmt: skip


def _merging_table(means: Mapping[float, Mapping[str, float | None]]) -> dict[str, object]:
    keys = ("compared read static", *MERGING)
    rows = [[f"{speed:g}", *(percent(means[speed][key]) for key in keys)] for speed in LOADS]
    header = ["replay.speed", "DS-FTL", "DS-FTL without merging", "static that merges"]
    return {"title": "Reads below static allocation: placement and merging apart", "header": header, "rows": rows}


def _nearest(
    means: Mapping[float, Mapping[str, float | None]], kept: Mapping[float, int], workloads: int, target: float
) -> float | None:
    """The clock at which all drives keep up and reads gain over static allocation most nearly what they should."""
    off = {
        speed: abs(gained - target)
        for speed, of in means.items()
        if kept[speed] == workloads and (gained := of["compared read static"]) is not None
    }
    return min(off, key=lambda speed: (off[speed], speed), default=None)


def _percent_of(run: Run, path: str) -> float | None:
    """A share of the summary in percent."""
    share = run.get(path)
    return None if share is None else 100.0 * share


def measure_fig_11(stand: Stand) -> Facts:
    """Redundancy of planes at the end."""
    runs = runs_at(stand, "static", "dynamic", "ds-ftl")
    return {name: _percent_of(run, "redundancy.plane_mean") for name, run in runs.items()}


def _spread(
    facts: Mapping[str, Facts], published: Mapping[str, tuple[float, float, float]], what: str, unit: str
) -> list[Claim]:
    """Lowest, highest and mean over the workloads, scheme by scheme."""
    claims = []
    for scheme, (low, high, average) in published.items():
        values = [value for value in column(facts, NAMES, scheme) if value is not None]
        whole = len(values) == len(NAMES)
        why = "" if whole else "over all eight workloads"
        claims += [
            number(scheme, f"{what}, lowest", low, min(values) if whole else None, unit, why=why),
            number(scheme, f"{what}, highest", high, max(values) if whole else None, unit, why=why),
            number(scheme, f"{what}, mean", average, mean(values) if whole else None, unit, why=why),
        ]
    return claims


def judge_fig_11(facts: Mapping[str, Facts]) -> Outcome:
    """Lowest, highest, mean."""
    series: list[Series] = [(scheme, column(facts, NAMES, scheme), []) for scheme in REDUNDANCY]
    return Outcome(_spread(facts, REDUNDANCY, "redundancy of planes", "%"), chart(bars(NAMES, series, "redundancy, %")))


def measure_fig_12(stand: Stand) -> Facts:
    """Redundancy plane by plane."""
    runs = runs_at(stand, "static", "ds-ftl")
    return {
        name: [100.0 * row["redundancy"] for row in run.rows("planes") if row["redundancy"] is not None]
        for name, run in runs.items()
    }


def judge_fig_12(facts: Mapping[str, Facts]) -> Outcome:
    """The densest plane of home2 is less dense under DS-FTL; no number is given."""
    found = facts.get("home2", {})
    dense = [max(found[name], default=None) if found else None for name in ("static", "ds-ftl")]
    known = dense[0] is not None and dense[1] is not None
    less = dense[0] - dense[1] if known and dense[0] is not None and dense[1] is not None else None
    claims = [Claim("home2", "densest plane: static above DS-FTL", 0.0, None, less, "points", True)]
    series = [(name, [float(place) for place in range(len(values))], values) for name, values in found.items()]
    return Outcome(claims, chart(lines(series, "plane", "redundancy, %")) if series else None)


def measure_fig_13(stand: Stand) -> Facts:
    """Shares of redirected pages."""
    run = runs_at(stand, "ds-ftl")["ds-ftl"]
    return {kind: _percent_of(run, f"spread.redirected_{kind}_share") for kind in ("read", "write")}


def judge_fig_13(facts: Mapping[str, Facts]) -> Outcome:
    """The two workloads that the text names, and the mean."""
    claims = []
    for name, values in REDIRECTED.items():
        for kind, value in zip(("read", "write"), values, strict=True):
            every = column(facts, NAMES, kind)
            why = ""
            measured = facts.get(name, {}).get(kind)
            if name == "mean":
                measured = mean(every) if len(facts) == len(NAMES) else None
                why = "the mean is over all eight workloads"
            claims.append(number(name, f"redirected {kind}s", value, measured, why=why))
    series: list[Series] = []
    for place, kind in enumerate(("read", "write")):
        published = [REDIRECTED[name][place] if name in REDIRECTED else None for name in NAMES]
        series.append((f"{kind}s", column(facts, NAMES, kind), published))
    return Outcome(claims, chart(bars(NAMES, series, "redirected pages, %")))


def measure_fig_14(stand: Stand) -> Facts:
    """Deviation of the channels' utilisation, in points of percent."""
    runs = runs_at(stand, "static", "hipa", "ds-ftl")
    return {name: _percent_of(run, "utilisation.channel_stddev") for name, run in runs.items()}


def judge_fig_14(facts: Mapping[str, Facts]) -> Outcome:
    """Lowest, highest, mean."""
    series: list[Series] = [(scheme, column(facts, NAMES, scheme), []) for scheme in DEVIATION]
    panel = bars(NAMES, series, "deviation, points")
    return Outcome(_spread(facts, DEVIATION, "deviation of channel utilisation", "points"), chart(panel))


def _requests(stand: Stand) -> float | None:
    found = stand.fact("info.requests")
    return None if found is None else found / stand.source.scale


def _write_ratio(stand: Stand) -> float | None:
    requests, writes = stand.fact("info.requests"), stand.fact("info.writes")
    return None if not requests or writes is None else writes / requests


def _mean_kb(stand: Stand) -> float | None:
    requests, read, written = (stand.fact(f"info.{key}") for key in ("requests", "read_bytes", "write_bytes"))
    return None if not requests or read is None or written is None else (read + written) / requests / 1024.0


def measure_choices(stand: Stand, sets: Mapping[str, Value]) -> Facts:
    """Cuts of latencies and redirected pages with the engine's keys set otherwise."""
    found: Facts = {}
    for speed in CHOICES_SPEEDS:
        runs = runs_at(stand, *SCHEMES, speed=speed, **sets)
        for kind, other, _ in CUTS:
            found[f"{kind} {other} {speed:g}"] = reduction(runs[other], runs["ds-ftl"], f"response.{kind}.mean_ns")
        for kind in ("read", "write"):
            found[f"{kind} redirected {speed:g}"] = _percent_of(runs["ds-ftl"], f"spread.redirected_{kind}_share")
    return found


def _headlines(speed: float) -> Iterator[Headline]:
    """What the paper is remembered for: cuts as means, redirected pages by workload where they were published so."""
    faster = "" if speed == 1.0 else f", clock x {speed:g}"

    def average(key: str) -> Callable[[Mapping[str, Facts]], float | None]:
        return lambda facts: mean(column(facts, CHOICES_ON, key)) if len(facts) == len(CHOICES_ON) else None

    def alone(name: str, key: str) -> Callable[[Mapping[str, Facts]], float | None]:
        return lambda facts: facts.get(name, {}).get(key)

    for kind, other, cut in CUTS:
        yield Headline(
            f"{kind}s below {other}{faster}", cut, average(f"{kind} {other} {speed:g}"),
            panel=f"DS-FTL below{faster}", group=f"{kind}s {other}",
        )  # fmt: skip
    for name in ("webmail", "home3"):
        for kind, value in zip(("read", "write"), REDIRECTED[name], strict=True):
            yield Headline(
                f"redirected {kind}s, {name}{faster}", value, alone(name, f"{kind} redirected {speed:g}"), effect=False,
                panel=f"redirected pages{faster}", group=f"{kind}s {name}",
            )  # fmt: skip


SENSITIVITY = Sensitivity(
    measure_choices,
    [one for speed in CHOICES_SPEEDS for one in _headlines(speed)],
    {"hashing": "contents are hashed while pages wait in DRAM, which costs a write nothing."},
    "Three of the eight workloads stand for all, to spare time: `online`, whose reads gain most, and `webmail` and "
    "`home3`, whose pages are redirected most and least. Cuts are means of the three; the published ones are of eight.",
)

COLUMNS = (("requests", "requests", _requests), ("write ratio", "", _write_ratio), ("mean size", "KB", _mean_kb))


def measure_table_3(stand: Stand) -> Facts:
    """Requests as the whole workload would have them, mix and size."""
    return {title: measure(stand) for title, _, measure in COLUMNS}


def judge_table_3(facts: Mapping[str, Facts]) -> Outcome:
    """Column by column."""
    claims = []
    for name, (requests, _, ratio, size) in TABLE_3.items():
        for (title, unit, _), value in zip(COLUMNS, (requests, ratio, size), strict=True):
            claims.append(number(name, title, value, facts.get(name, {}).get(title), unit))
    return Outcome(claims)


def _workload(name: str) -> Workload:
    requests, _, ratio, size = TABLE_3[name]
    statistics = tuple(
        Statistic(title, value, unit, "Table 3", measure)
        for (title, unit, measure), value in zip(COLUMNS, (requests, ratio, size), strict=True)
    )
    return Workload(name, f"ds-ftl/{name}", FILES[name], statistics)


PAPER = Paper(
    "ds-ftl",
    "Exploiting Data Similarity to Improve SSD Read Performance",
    "S. Nie, J. Niu, Z. Zhang, Y. Hu, C. Shi, W. Wu (DS-FTL)",
    "The device of Table 2 (8 channels, 16 chips, 64 planes). Requests arrive as recorded, or as the recipe says; no "
    "rate is chosen. At a scale below 1 the drive is as much smaller as the workload.",
    tuple(_workload(name) for name in NAMES),
    (
        Item("table-3", "The workloads", "Table 3", NAMES, measure_table_3, judge_table_3),
        Item("fig-2", "Utilisation of channels and chips", "Fig. 2", NAMES, measure_fig_2, judge_fig_2),
        Item("fig-3", "Duplicates in the traces", "Fig. 3", NAMES, measure_fig_3, judge_fig_3),
        Item("fig-4", "Duplicates on each plane", "Fig. 4", NAMES, measure_fig_4, judge_fig_4),
        Item("fig-10a", "Write latency", "Fig. 10a", NAMES, measure_fig_10, judge_fig_10a),
        Item("fig-10b", "Read latency", "Fig. 10b", NAMES, measure_fig_10, judge_fig_10b),
        Item("load", "Fig. 10 by load, at one rate for all", "Fig. 10", NAMES, measure_load, judge_load),
        Item("fig-11", "Redundancy of the planes", "Fig. 11", NAMES, measure_fig_11, judge_fig_11),
        Item("fig-12", "Redundancy plane by plane in home2", "Fig. 12", ("home2",), measure_fig_12, judge_fig_12),
        Item("fig-13", "Redirected requests", "Fig. 13", NAMES, measure_fig_13, judge_fig_13),
        Item("fig-14", "Deviation of channel utilisation", "Fig. 14", NAMES, measure_fig_14, judge_fig_14),
        sensitivity.item(SENSITIVITY, "Fig. 10, 13", CHOICES_ON),
    ),
    default_scale=0.1,
    quick_scale=0.01,
    sensitivity=SENSITIVITY,
)
