"""G. Yadgar et al., "SSD-based Workload Characteristics and Their Performance Implications" (SWC), TOS 2021."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flashtwin.errors import FlashtwinError
from flashtwin.papers import ca_ssd, ds_ftl, rr_ssd, swc_causes
from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.facts import smaller
from flashtwin.papers.model import (
    ByWorkload,
    ComputedItem,
    Facts,
    Item,
    Outcome,
    Paper,
    PaperWorkload,
    bars,
    chart,
    lines,
    table,
)
from flashtwin.results import rows
from flashtwin.sweeps import across
from flashtwin.sweeps.batch import find
from flashtwin.traces.trace import requests_by_volume

#: Figure 1(a): partitions for f_r <= 2, lowest and highest; 75 % of database traces need at most this many, 75 %
#: of the mail servers' at least this many.
PARTITIONS, DATABASE_P75, MAIL_P25 = (2.0, 16.0), 9.0, 14.0
#: Fig. 1(b): the same for other ratios.
BY_RATIO = {1.5: (3.0, 26.0), 3.0: (2.0, 11.0)}
#: Fig. 1(c): f_min(N): highest, median where it is given; share of traces with f_min(8) of 2 or less.
F_MIN: dict[int, tuple[float, float | None]] = {2: (1_000.0, 77.7), 4: (33.8, 6.6), 8: (5.0, None)}
F_MIN_8_LOW = 28.0
#: Fig. 3: almost this percentage of the traces have a WA below 1.05 with 4 partitions at OP 50 %.
LOW_WA = 80.0
#: 3.3: "the figure for block size 256 is very similar": within a tenth, our reading.
LARGE_BLOCK, SIMILAR = 256, 10.0
#: Fig. 4: f_r <= 3 needs 30 % fewer partitions than f_r <= 2; WA falls in 23 % and in Fig. 9 in a third.
FEWER, FALLS, FALLS_LARGE = 30.0, 23.0, 100.0 / 3.0
#: "Almost all": 90 % at least, our reading.
ALMOST_ALL = 90.0
#: 4.2: WA with 8 KB pages beside 4 KB at OP 7 %, at most, by partitions.
LARGER_PAGE = {2: 2.17, 8: 2.51, 16: 2.46}
#: 4.1: beyond 4 KB the partitions of a trace differ by 1 or 2.
PAGE_DIFFERENCE = 2.0
#: 4.3: read amplification never above half the page size. 4.4: partial reads halve the cost for 75 %.
HALF_PAGE, HALVED = 50.0, 75.0
#: 5.2, Fig. 18: as pages and caches grow, the regression nears estimate - RA = discount.
SLOPE = 1.0
#: "A linear correlation": it explains half of the variance at least, our reading.
LINEAR = 0.5

MAIL_WORDS = ("mail", "cheetah")
DATABASE_WORDS = ("trans", "financial", "oltp", "tpc", "db", "ycsb", "postgres", "mysql")
WHY = "no trace enters this statistic"


class TraceStatistics:
    """The traces that were measured, and the statistics over them."""

    def __init__(self, facts: Mapping[str, Facts]) -> None:
        """Sorts out which trace enters which statistic."""
        self.facts = facts
        traces = [across.CharacterizedTrace(name, "", found["row"], found["tables"]) for name, found in facts.items()]
        self.who = across.entrants(traces)
        self._rows = across.distributions(self.who)

    def get(self, figure: str, series: str, x: float | None, statistic: str) -> float | None:
        """One statistic; None where no trace enters it."""
        return next((row[4] for row in self._rows if row[:4] == (figure, series, x, statistic)), None)

    def points(self, figure: str, series: str, statistic: str) -> tuple[list[float], list[float | None]]:
        """A statistic along x."""
        kept = [
            (row[2], row[4])
            for row in self._rows
            if row[:2] == (figure, series) and row[2] is not None and row[3] == statistic
        ]
        return [float(x) for x, _ in kept if x is not None], [y for _, y in kept]

    def series(self, figure: str) -> list[str]:
        """Names of a figure's series."""
        return list(dict.fromkeys(row[1] for row in self._rows if row[0] == figure))


def measure(stand: Stand) -> Facts:
    """The row and the tables of a trace, and those without what may make it disagree; replays are not needed."""
    return {**swc_causes.measured(stand.characterization), swc_causes.WITHOUT: swc_causes.measure(stand)}


def _needed(who: across.Entrants, words: Sequence[str]) -> list[float]:
    named = [trace for trace in who.any if any(word in trace.name.lower() for word in words)]
    return [needed for trace in named for needed in _of_trace(trace)]


def _of_trace(trace: across.CharacterizedTrace) -> list[float]:
    return [float(row["partitions"]) for row in trace.at_sector("partitions") if row["frequency_ratio"] == 2.0]


def _fig_1a(traces: TraceStatistics) -> Outcome:
    low, high = (traces.get("1a", "all", 2.0, name) for name in ("minimum", "maximum"))
    databases, mail = _needed(traces.who, DATABASE_WORDS), _needed(traces.who, MAIL_WORDS)
    at_75 = float(np.percentile(databases, 75)) if databases else None
    at_25 = float(np.percentile(mail, 25)) if mail else None
    what = "partitions for f_r <= 2"
    claims = [
        number("lowest", what, PARTITIONS[0], low, ""),
        number("highest", what, PARTITIONS[1], high, ""),
        Claim("databases, 75th percentile", what, None, DATABASE_P75, at_75, "", why="no database among the traces"),
        Claim("mail servers, 25th percentile", what, MAIL_P25, None, at_25, "", why="no mail server among the traces"),
    ]
    names = [trace.name for trace in traces.who.any]
    values = [value for trace in traces.who.any for value in _of_trace(trace) or [0.0]]
    panel = bars(names, [("f_r <= 2", values, [])], "partitions")
    return Outcome(claims, chart(panel) if names else None, _entered(traces))


def _entered(traces: TraceStatistics) -> list[str]:
    counts = traces.who.counts
    return [
        f"{counts['traces']} traces; {counts['large_enough']} have 10,000 requests and 5,000 writes; "
        f"{counts['write_amplification']} have the 100,000 page writes and 4 writes of each sector that statistics of "
        f"write amplification ask for, {counts['read_amplification']} the 5,000 reads that those of reading do."
    ]


def _fig_1b(traces: TraceStatistics) -> Outcome:
    claims = [
        number(name, f"partitions for f_r <= {ratio:g}", value, traces.get("1b", "all", ratio, statistic), "")
        for ratio, ends in BY_RATIO.items()
        for name, statistic, value in zip(("lowest", "highest"), ("minimum", "maximum"), ends, strict=True)
    ]
    return Outcome(claims, _lines(traces, "1b", "all", "f_r", "partitions"))


def _lines(
    traces: TraceStatistics, figure: str, series: str, x_label: str, y_label: str, *, y_log: bool = False
) -> Any:
    drawn = [(name, *traces.points(figure, series, name)) for name in ("minimum", "p25", "median", "p75", "maximum")]
    return chart(lines(drawn, x_label, y_label, y_log=y_log)) if drawn[0][1] else None


def _fig_1c(traces: TraceStatistics) -> Outcome:
    claims = []
    for count, (highest, median) in F_MIN.items():
        measured = traces.get("1c", "all", float(count), "maximum")
        claims.append(Claim("highest", f"f_min({count})", None, highest, measured, ""))
        if median is not None:
            measured = traces.get("1c", "all", float(count), "median")
            claims.append(number("median", f"f_min({count})", median, measured, ""))
    eight = [
        float(row["f_min"])
        for trace in traces.who.any
        for row in trace.at_sector("f_min")
        if row["partitions"] == 8 and row["f_min"] is not None
    ]
    share = 100.0 * sum(value <= 2.0 for value in eight) / len(eight) if eight else None
    claims.append(number("traces", "f_min(8) is 2 or less", F_MIN_8_LOW, share))
    return Outcome(claims, _lines(traces, "1c", "all", "partitions", "f_min", y_log=True))


def _fig_2(traces: TraceStatistics) -> Outcome:
    """More partitions write less at OP 7 %, ever less so, and hardly anything at 28 %."""
    curves = {op: dict(zip(*traces.points("2", f"OP {op} %", "mean"), strict=True)) for op in (7, 28)}
    gains: list[float | None] = []
    for op, first, last in ((7, 1, 4), (7, 4, 16), (28, 1, 16)):
        before, after = (curves[op].get(float(count)) for count in (first, last))
        gains.append(None if before is None or after is None else (before - after) / before * 100.0)
    early, *others = gains
    fades, less = (None if early is None or other is None else early - other for other in others)
    claims = [
        Claim("OP 7 %", "mean WA falls from 1 to 4 partitions", 0.0, None, early, "%", True),
        Claim("OP 7 %", "and by less from 4 to 16", 0.0, None, fades, "points", True),
        Claim("OP 28 %", "falls by less than at OP 7 %", 0.0, None, less, "points", True),
    ]
    large = TraceStatistics({name: swc_causes.in_blocks_of(of, LARGE_BLOCK) for name, of in traces.facts.items()})
    title = "blocks of 256 pages: mean WA differs by"
    claims.append(Claim("OP 7 %", title, None, SIMILAR, _apart(large, curves), "%"))
    series = [(f"OP {op} %", *traces.points("2", f"OP {op} %", "mean")) for op in (7, 28)]
    panel = chart(lines(series, "partitions", "mean write amplification")) if series[0][1] else None
    return Outcome(claims, panel, _entered(traces))


def _apart(large: TraceStatistics, curves: Mapping[int, Mapping[float, float | None]]) -> float | None:
    """By how many percent the mean write amplification with larger blocks differs at most, at OP 7 %."""
    of_large = dict(zip(*large.points("2", "OP 7 %", "mean"), strict=True))
    ratios = [
        abs(after / before - 1.0) * 100.0
        for count, before in curves[7].items()
        if before and (after := of_large.get(count)) is not None
    ]
    return max(ratios, default=None)


def _fig_3(traces: TraceStatistics) -> Outcome:
    measured = traces.get("3", "OP 50 %", 4.0, "below_1.05_percent")
    claims = [number("traces", "WA < 1.05, OP 50 %, 4 partitions", LOW_WA, measured)]
    series = [(name, *traces.points("3", name, "median")) for name in traces.series("3")]
    shares = [(name, traces.get("3", name, 4.0, "below_1.05_percent")) for name, _, _ in series]
    rows = [[name, f"{share:.0f} %"] for name, share in shares if share is not None]
    below = table("Traces with WA < 1.05 with 4 partitions", ["over-provisioning", "traces"], rows)
    panel = chart(lines(series, "partitions", "median write amplification")) if series else None
    return Outcome(claims, panel, tables=[below] if rows else [])


def _fig_4(traces: TraceStatistics) -> Outcome:
    two, three = (traces.get("1b", "all", ratio, "median") for ratio in (2.0, 3.0))
    claims = [number("median", "fewer partitions for f_r <= 3", FEWER, smaller(two, three), effect=True)]
    return Outcome([*claims, *_changed(traces, "4", FALLS)], _histogram(traces, "4"))


def _fig_9(traces: TraceStatistics) -> Outcome:
    """The same with 16 KB pages."""
    return Outcome(_changed(traces, "9", FALLS_LARGE), _histogram(traces, "9"))


def _changed(traces: TraceStatistics, figure: str, falls: float) -> list[Claim]:
    below, down = (traces.get(figure, CHANGE, None, name) for name in ("below_5_percent", "down_percent"))
    return [
        Claim("traces", "WA rises by less than 5 %", ALMOST_ALL, None, below),
        number("traces", "WA falls", falls, down),
    ]


CHANGE = "f_r <= 3 instead of 2"


def _histogram(traces: TraceStatistics, figure: str) -> Any:
    x, y = traces.points(figure, CHANGE, "traces")
    return chart(bars([f"{edge:g}" for edge in x], [(CHANGE, y, [])], "traces, by change of WA in %")) if x else None


def _fig_6(traces: TraceStatistics) -> Outcome:
    """Beyond 4 KB the page size hardly changes the number of partitions."""
    differences = []
    for trace in traces.who.any:
        needed = [
            float(row["partitions"])
            for row in trace.tables.get("partitions", ())
            if row["frequency_ratio"] == 2.0 and row["page_bytes"] >= rows.PAGE_BYTES
        ]
        differences += [max(needed) - min(needed)] if needed else []
    most = float(np.median(differences)) if differences else None
    claims = [Claim("median trace", "partitions differ from 4 to 64 KB by", None, PAGE_DIFFERENCE, most, "")]
    series = []
    for page in traces.series("6"):
        x, y = traces.points("6", page, "median")
        series.append((f"{int(page) / 1024:g} KB", x, y))
    return Outcome(claims, chart(lines(series, "partitions", "median f_min", y_log=True)) if series else None)


def _fig_7(traces: TraceStatistics) -> Outcome:
    claims = []
    for count, published in LARGER_PAGE.items():
        ratios = []
        for trace in traces.who.writing:
            at = {
                row["page_bytes"]: row["write_amplification"]
                for row in trace.tables.get("write_amplification", ())
                if row["purpose"] == "grid" and row["block_pages"] == across.BLOCK_PAGES
                and row["over_provisioning_percent"] == across.LOW_PROVISION and row["partitions_asked"] == count
            }  # fmt: skip
            if at.get(4_096) and at.get(8_192):
                ratios.append(at[8_192] / at[4_096])
        title = f"WA of 8 KB / 4 KB pages, {count} partitions"
        claims.append(number("highest", title, published, max(ratios, default=None), "x"))
    series = [(name, *traces.points("7", name, "mean")) for name in traces.series("7") if name.startswith("OP 7 %")]
    panel = lines(series, "bytes of a page", "mean write amplification", x_log=True)
    return Outcome(claims, chart(panel) if series else None)


def _fig_10(traces: TraceStatistics) -> Outcome:
    shares = [trace.number("read_amplification.highest_percent_of_page") for trace in traces.who.reading]
    highest = max(shares, default=None)
    claims = [Claim("highest trace", "read amplification, of a page's sectors", None, HALF_PAGE, highest)]
    panel = _lines(traces, "10", "buffer of one page", "bytes of a page", "read amplification", y_log=True)
    return Outcome(claims, panel)


def _fig_12(traces: TraceStatistics) -> Outcome:
    cheapest = [trace.number("read_cost.cheapest_full_page_bytes") for trace in traces.who.reading]
    at_4k = 100.0 * sum(size == rows.PAGE_BYTES for size in cheapest) / len(cheapest) if cheapest else None
    rises = [trace.number("read_full_ns_32768") > trace.number("read_full_ns_4096") for trace in traces.who.reading]
    dearer = 100.0 * sum(rises) / len(rises) if rises else None
    halved = traces.get("12", "slc-mlc, partial", float(across.LARGE_PAGE), "halved_percent")
    claims = [
        Claim("traces", "cheapest with 4 KB pages (typical)", 50.0, None, at_4k),
        Claim("traces", "32 KB pages dearer than 4 KB (typical)", 50.0, None, dearer),
        Claim("traces", "partial reads of 16 KB pages halve the cost of 1-sector pages", HALVED, None, halved),
    ]
    series = [(name, *traces.points("12", name, "median")) for name in traces.series("12")]
    panel = lines(series, "bytes of a page", "median cost, of one-sector pages", x_log=True)
    return Outcome(claims, chart(panel) if series else None)


def _fig_15(traces: TraceStatistics) -> Outcome:
    claims = []
    for kind in ("write", "read"):
        waiting = [traces.get("15", f"{kind}, D = {at:g}", None, "median") for at in across.DISTANCES]
        distance = [traces.get("16", f"{kind}, T = {at:g}", None, "median") for at in across.TIMES]
        known = [value for value in (*waiting, *distance) if value is not None]
        ahead = None
        if len(known) == len(waiting) + len(distance):
            ahead = 100.0 * (sum(known[len(waiting) :]) / len(distance) - sum(known[: len(waiting)]) / len(waiting))
        claims.append(
            Claim(f"{kind}s", "median gain of distance above that of waiting", 0.0, None, ahead, "points", True)
        )
    panels = []
    for figure, title in (("15", "waiting"), ("16", "distance")):
        series = [(name, *traces.points(figure, name, "traces")) for name in traces.series(figure)]
        if series:
            panels.append(lines(series, "gain", "traces", title=f"gain of {title}"))
    return Outcome(claims, chart(*panels) if panels else None)


def _fig_18(traces: TraceStatistics) -> Outcome:
    """What locality explains of the reads that a cache saves: a line, the nearer to the model the larger the pages."""
    small, large = (f"pages of {page}, cache of {cache}" for page, cache in (across.REGRESSED[0], across.REGRESSED[-1]))
    slope, fit = (traces.get("18", large, None, name) for name in ("slope", "r_squared"))
    of_small = traces.get("18", small, None, "slope")
    nearer = None if slope is None or of_small is None else abs(of_small - SLOPE) - abs(slope - SLOPE)
    where = "16 KB pages, cache of 8"
    claims = [
        number(where, "slope of saved against discount", SLOPE, slope, "x"),
        Claim(where, "R² of the regression", LINEAR, None, fit, ""),
        Claim(where, "slope nearer to 1 than with 4 KB pages, cache of 1, by", 0.0, None, nearer, "", True),
    ]
    x, y = traces.points("18", large, "trace")
    panel = lines([("traces", x, y)], "locality discount", "estimate - read amplification", points=True)
    return Outcome(claims, chart(panel) if x else None)


def population(traces: Path | None) -> tuple[PaperWorkload, ...]:
    """The volumes of every trace of the folder (SWC 2.2); without one, the recipes of all other papers."""
    if traces is not None:
        return tuple(one for name, (path, _) in find([traces]).items() for one in _volumes(name, path))
    others = (rr_ssd.PAPER, ca_ssd.PAPER, ds_ftl.PAPER)
    return tuple(PaperWorkload(one.recipe, one.recipe) for paper in others for one in paper.workloads)


def _volumes(name: str, path: Path) -> list[PaperWorkload]:
    """A file as its volumes, those that are long enough for a statistic or else the longest.

    As itself where it has one, or cannot be read, which its items will say.
    """
    try:
        requests = requests_by_volume(path)
    except FlashtwinError:
        requests = {}
    if len(requests) < 2:
        return [PaperWorkload(name, "", path=path)]
    enough = [volume for volume, count in requests.items() if count >= across.REQUESTS_MIN]
    chosen = enough or [max(requests, key=lambda volume: requests[volume])]
    return [PaperWorkload(f"{name}:{volume}", "", path=path, volume=volume) for volume in chosen]


def _item(
    id_: str, title: str, place: str, judge: Callable[[TraceStatistics], Outcome], *causes: swc_causes.CauseRemoval
) -> Item:
    """An item that is judged again without each of the causes."""

    def outcome(facts: ByWorkload) -> Outcome:
        judged = judge(TraceStatistics(facts))
        return replace(judged, claims=[replace(one, why=one.why or WHY) for one in judged.claims])

    beside = lambda facts: swc_causes.beside(facts, outcome, *causes)  # noqa: E731
    return ComputedItem(id_, title, place, (), measures=measure, outcome=beside)


PAPER = Paper(
    "swc",
    "SSD-based Workload Characteristics and Their Performance Implications",
    "G. Yadgar, M. Gabel, S. Jaffer, B. Schroeder, ACM Transactions on Storage 17(1), 2021",
    "No drive is simulated: traces are characterized (docs/characterization.md). Published are 123 traces, measured "
    "those of the folder given, or the recipes of the other papers. A trace that is too short for a statistic does "
    "not enter it, as in the paper.",
    (),
    (
        _item("fig-1a", "Finding 1: partitions for f_r <= 2", "Fig. 1a", _fig_1a, swc_causes.SHORT, swc_causes.ALIKE),
        _item(
            "fig-1b", "Finding 1: partitions for other ratios", "Fig. 1b", _fig_1b, swc_causes.SHORT, swc_causes.ALIKE
        ),
        _item("fig-1c", "Finding 1: the ratio that few partitions leave", "Fig. 1c", _fig_1c),
        _item("fig-2", "Finding 2: write amplification by partitions", "Fig. 2", _fig_2),
        _item("fig-3", "Finding 3: write amplification converges", "Fig. 3", _fig_3, *swc_causes.TOGETHER.values()),
        _item("fig-4", "Finding 3: f_r <= 3 instead of 2", "Fig. 4", _fig_4, swc_causes.EVENLY),
        _item("fig-6", "Finding 4: page size and skew", "Fig. 6", _fig_6),
        _item("fig-7", "Finding 5: page size and write amplification", "Fig. 7", _fig_7),
        _item("fig-9", "Finding 6: f_r <= 3 instead of 2, 16 KB pages", "Fig. 9", _fig_9),
        _item("fig-10", "Finding 7: read amplification", "Fig. 10", _fig_10),
        _item("fig-12", "Findings 8 and 9: cost of reading", "Fig. 11, 12", _fig_12, swc_causes.LARGER),
        _item("fig-15", "Finding 10: distance and waiting", "Fig. 15, 16", _fig_15),
        _item("fig-18", "Finding 11: locality and read amplification", "Fig. 17, 18", _fig_18),
    ),
    default_scale=0.2,
    quick_scale=0.02,
    options={"over_provisioning_percent": (7, 28, 50, 75, 100), "block_pages": (128, 256)},
    population=population,
)
