"""G. Yadgar et al., "SSD-based Workload Characteristics and Their Performance Implications" (SWC), TOS 2021."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from flashtwin.errors import FlashtwinError
from flashtwin.papers import ca_ssd, ds_ftl, rr_ssd, swc_causes
from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import Claim
from flashtwin.papers.facts import smaller
from flashtwin.papers.model import Item, Outcome, Paper, PaperWorkload, Published
from flashtwin.papers.panels import ByWorkload, Display, Facts, bars, chart, lines, table
from flashtwin.results import rows
from flashtwin.sweeps import across
from flashtwin.sweeps.batch import find
from flashtwin.traces.trace import requests_by_volume


class TraceStatistics:
    """The traces that were measured, and the statistics over them."""

    def __init__(self, facts: Mapping[str, Facts]) -> None:
        self.facts = facts
        traces = [across.CharacterizedTrace(name, "", found["row"], found["tables"]) for name, found in facts.items()]
        self.who = across.entrants(traces)
        self._rows = across.distributions(self.who)

    def get(self, figure: str, series: str, x: float | None, statistic: str) -> float | None:
        """One statistic; None where no trace enters it."""
        return next((row[4] for row in self._rows if row[:4] == (figure, series, x, statistic)), None)

    def points(self, figure: str, series: str, statistic: str) -> tuple[list[float], list[float | None]]:
        kept = [row for row in self._rows if row[:2] == (figure, series) and row[3] == statistic]
        known = [(float(row[2]), row[4]) for row in kept if row[2] is not None]
        return [x for x, _ in known], [y for _, y in known]

    def series(self, figure: str) -> list[str]:
        return list(dict.fromkeys(row[1] for row in self._rows if row[0] == figure))


#: A figure over all traces; None where no trace enters it.
Figure = Callable[[TraceStatistics], float | None]
Panels = Callable[[TraceStatistics], list[Display]]


@dataclass(frozen=True)
class Finding:
    """A published number beside its figure over all traces."""

    subject: str
    quantity: str
    published: Published
    figure: Figure
    unit: str = "%"
    effect: bool = False
    why: str = "no trace enters this statistic"

    def claim(self, traces: TraceStatistics) -> Claim:
        low, high = self.published if isinstance(self.published, tuple) else (self.published, self.published)
        return Claim(self.subject, self.quantity, low, high, self.figure(traces), self.unit, self.effect, self.why)


def at(figure: str, series: str, x: float | None, statistic: str) -> Figure:
    return lambda traces: traces.get(figure, series, x, statistic)


def share(holds: list[bool]) -> float | None:
    return 100.0 * sum(holds) / len(holds) if holds else None


def by_series(figure: str, statistic: str, *labels: str, only: str = "", **drawn: Any) -> Panels:
    """A panel with a line for each series of a figure whose name begins so."""

    def panels(traces: TraceStatistics) -> list[Display]:
        names = [series for series in traces.series(figure) if series.startswith(only)]
        # Pages are called by their bytes.
        titles = [f"{int(one) / 1024:g} KB" if one.isdigit() else one for one in names]
        series = [(title, *traces.points(figure, one, statistic)) for title, one in zip(titles, names, strict=True)]
        return [lines(series, *labels, **drawn)] if series else []

    return panels


def by_statistic(figure: str, series: str, *labels: str, y_log: bool = False) -> Panels:
    def panels(traces: TraceStatistics) -> list[Display]:
        names = ("minimum", "p25", "median", "p75", "maximum")
        drawn = [(name, *traces.points(figure, series, name)) for name in names]
        return [lines(drawn, *labels, y_log=y_log)] if drawn[0][1] else []

    return panels


@dataclass(frozen=True, kw_only=True)
class FindingItem(Item):
    """An item that is judged of all traces, and again without each of the causes."""

    findings: Sequence[Finding]
    causes: Sequence[swc_causes.CauseRemoval] = ()
    charts: Panels
    extra_tables: Panels = lambda _: []
    #: Whether a note says how many traces enter statistics.
    counts_traces: bool = False

    def measure(self, stand: Stand) -> Facts:
        """The row and the tables of a trace, and those without each cause; replays are not needed."""
        return {**swc_causes.measured(stand.characterization), swc_causes.WITHOUT: swc_causes.measure(stand)}

    def judge(self, facts: ByWorkload) -> Outcome:
        return swc_causes.beside(facts, self._outcome, *self.causes)

    def _outcome(self, facts: ByWorkload) -> Outcome:
        traces = TraceStatistics(facts)
        claims = [one.claim(traces) for one in self.findings]
        notes = _entered(traces) if self.counts_traces else []
        return Outcome(claims, chart(*self.charts(traces)), notes, self.extra_tables(traces))


def _item(
    id_: str, title: str, place: str, findings: Sequence[Finding], charts: Panels, *causes: swc_causes.CauseRemoval,
    why: str = "", **more: Any,
) -> Item:  # fmt: skip
    return FindingItem(id_, title, place, (), findings=findings, charts=charts, causes=causes, why=why, **more)


def _needed(trace: across.CharacterizedTrace) -> list[float]:
    """Partitions for f_r <= 2."""
    return [float(row["partitions"]) for row in trace.at_sector("partitions") if row["frequency_ratio"] == 2.0]


def _percentile(percent: int, words: Sequence[str], traces: TraceStatistics) -> float | None:
    """That of the partitions of traces with one of these words in their name."""
    named = [trace for trace in traces.who.any if any(word in trace.name.lower() for word in words)]
    needed = [needed for trace in named for needed in _needed(trace)]
    return float(np.percentile(needed, percent)) if needed else None


MAIL_SERVERS = ("mail", "cheetah")
DATABASES = ("trans", "financial", "oltp", "tpc", "db", "ycsb", "postgres", "mysql")


def _bars_1a(traces: TraceStatistics) -> list[Display]:
    names = [trace.name for trace in traces.who.any]
    values = [value for trace in traces.who.any for value in _needed(trace) or [0.0]]
    return [bars(names, [("f_r <= 2", values, [])], "partitions")] if names else []


def _entered(traces: TraceStatistics) -> list[str]:
    counts = traces.who.counts
    return [
        f"{counts['traces']} traces; {counts['large_enough']} have 10,000 requests and 5,000 writes; "
        f"{counts['write_amplification']} have the 100,000 page writes and 4 writes of each sector that statistics of "
        f"write amplification ask for, {counts['read_amplification']} the 5,000 reads that those of reading do."
    ]


def _low_f_min(traces: TraceStatistics) -> float | None:
    """The share of traces whose f_min(8) is 2 or less."""
    every = [row for trace in traces.who.any for row in trace.at_sector("f_min") if row["partitions"] == 8]
    return share([row["f_min"] <= 2.0 for row in every if row["f_min"] is not None])


def _falls(op: int, first: int, last: int, traces: TraceStatistics) -> float | None:
    """By how many percent the mean write amplification falls with more partitions."""
    of_op = dict(zip(*traces.points("2", f"OP {op} %", "mean"), strict=True))
    before, after = (of_op.get(float(count)) for count in (first, last))
    return None if before is None or after is None else (before - after) / before * 100.0


def _less(op: int, first: int, last: int, traces: TraceStatistics) -> float | None:
    """By how many points it falls less than at OP 7 % from 1 to 4 partitions."""
    early, other = _falls(7, 1, 4, traces), _falls(op, first, last, traces)
    return None if early is None or other is None else early - other


def _panel_2(traces: TraceStatistics) -> list[Display]:
    series = [(op, *traces.points("2", op, "mean")) for op in ("OP 7 %", "OP 28 %")]
    return [lines(series, "partitions", "mean write amplification")] if series[0][1] else []


def _large_blocks(traces: TraceStatistics) -> float | None:
    """By how many percent the mean write amplification with larger blocks differs at most, at OP 7 %."""
    in_large = TraceStatistics({name: swc_causes.in_blocks_of(of, 256) for name, of in traces.facts.items()})
    of_small, of_large = (dict(zip(*one.points("2", "OP 7 %", "mean"), strict=True)) for one in (traces, in_large))
    ratios = [
        abs(after / before - 1.0) * 100.0
        for count, before in of_small.items()
        if before and (after := of_large.get(count)) is not None
    ]
    return max(ratios, default=None)


def _table_3(traces: TraceStatistics) -> list[Display]:
    shares = [(name, traces.get("3", name, 4.0, "below_1.05_percent")) for name in traces.series("3")]
    cells = [[name, f"{share:.0f} %"] for name, share in shares if share is not None]
    return [table("Traces with WA < 1.05 with 4 partitions", ["over-provisioning", "traces"], cells)] if cells else []


CHANGE = "f_r <= 3 instead of 2"


def _changed(figure: str, falls: float) -> list[Finding]:
    """Almost all rise by less than 5 %: 90 % at least, our reading."""
    return [
        Finding("traces", "WA rises by less than 5 %", (90.0, None), at(figure, CHANGE, None, "below_5_percent")),
        Finding("traces", "WA falls", falls, at(figure, CHANGE, None, "down_percent")),
    ]


def _histogram(figure: str, traces: TraceStatistics) -> list[Display]:
    x, y = traces.points(figure, CHANGE, "traces")
    return [bars([f"{edge:g}" for edge in x], [(CHANGE, y, [])], "traces, by change of WA in %")] if x else []


def _page_difference(traces: TraceStatistics) -> float | None:
    """By how many partitions a trace differs from 4 to 64 KB pages, in the median."""
    differences = []
    for trace in traces.who.any:
        needed = [
            float(row["partitions"])
            for row in trace.tables.get("partitions", ())
            if row["frequency_ratio"] == 2.0 and row["page_bytes"] >= rows.PAGE_BYTES
        ]
        differences += [max(needed) - min(needed)] if needed else []
    return float(np.median(differences)) if differences else None


def _larger_page(count: int, traces: TraceStatistics) -> float | None:
    """The highest write amplification with 8 KB pages beside that with 4 KB."""
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
    return max(ratios, default=None)


def _read_amplification(traces: TraceStatistics) -> float | None:
    shares = [trace.number("read_amplification.highest_percent_of_page") for trace in traces.who.reading]
    return max(shares, default=None)


def _distance_ahead(kind: str, traces: TraceStatistics) -> float | None:
    """The median gain of distance above that of waiting, in points."""
    waiting = [traces.get("15", f"{kind}, D = {at:g}", None, "median") for at in across.DISTANCES]
    distance = [traces.get("16", f"{kind}, T = {at:g}", None, "median") for at in across.TIMES]
    known = [value for value in (*waiting, *distance) if value is not None]
    if len(known) < len(waiting) + len(distance):
        return None
    return 100.0 * (sum(known[len(waiting) :]) / len(distance) - sum(known[: len(waiting)]) / len(waiting))


def _panels_15(traces: TraceStatistics) -> list[Display]:
    kinds = (("15", "waiting"), ("16", "distance"))
    panels = [by_series(figure, "traces", "gain", "traces", title=f"gain of {title}") for figure, title in kinds]
    return [drawn for one in panels for drawn in one(traces)]


SMALL, LARGE = (f"pages of {page}, cache of {cache}" for page, cache in (across.REGRESSED[0], across.REGRESSED[-1]))


def _nearer(traces: TraceStatistics) -> float | None:
    """By how much the slope of large pages is nearer to 1 than that of small ones."""
    slope, of_small = (traces.get("18", series, None, "slope") for series in (LARGE, SMALL))
    return None if slope is None or of_small is None else abs(of_small - 1.0) - abs(slope - 1.0)


def _panel_18(traces: TraceStatistics) -> list[Display]:
    x, y = traces.points("18", LARGE, "trace")
    return [lines([("traces", x, y)], "locality discount", "estimate - read amplification", points=True)] if x else []


HOT_PAGES = (
    "Recipes overwrite by one law each, whose first pages are far hotter than the rest. Among the 123 traces of SWC "
    "are some that overwrite all pages alike, and short ones. The table has the first 10,000 requests of each trace, "
    "and each trace with all pages overwritten alike."
)
TWO, WHERE = "partitions for f_r <= 2", "16 KB pages, cache of 8"
ITEMS = (
    _item(
        "fig-1a", "Finding 1: partitions for f_r <= 2", "Fig. 1a",
        [
            Finding("lowest", TWO, 2.0, at("1a", "all", 2.0, "minimum"), ""),
            Finding("highest", TWO, 16.0, at("1a", "all", 2.0, "maximum"), ""),
            Finding("databases, 75th percentile", TWO, (None, 9.0), partial(_percentile, 75, DATABASES), "",
                    why="no database among the traces"),
            Finding("mail servers, 25th percentile", TWO, (14.0, None), partial(_percentile, 25, MAIL_SERVERS), "",
                    why="no mail server among the traces"),
        ],
        _bars_1a, swc_causes.SHORT, swc_causes.ALIKE, counts_traces=True, why=HOT_PAGES,
    ),
    _item(
        "fig-1b", "Finding 1: partitions for other ratios", "Fig. 1b",
        [
            Finding(name, f"partitions for f_r <= {ratio:g}", value, at("1b", "all", ratio, statistic), "")
            for ratio, ends in ((1.5, (3.0, 26.0)), (3.0, (2.0, 11.0)))
            for name, statistic, value in zip(("lowest", "highest"), ("minimum", "maximum"), ends, strict=True)
        ],
        by_statistic("1b", "all", "f_r", "partitions"), swc_causes.SHORT, swc_causes.ALIKE, why=HOT_PAGES,
    ),
    _item(
        "fig-1c", "Finding 1: the ratio that few partitions leave", "Fig. 1c",
        [
            Finding("highest", "f_min(2)", (None, 1_000.0), at("1c", "all", 2.0, "maximum"), ""),
            Finding("median", "f_min(2)", 77.7, at("1c", "all", 2.0, "median"), ""),
            Finding("highest", "f_min(4)", (None, 33.8), at("1c", "all", 4.0, "maximum"), ""),
            Finding("median", "f_min(4)", 6.6, at("1c", "all", 4.0, "median"), ""),
            Finding("highest", "f_min(8)", (None, 5.0), at("1c", "all", 8.0, "maximum"), ""),
            Finding("traces", "f_min(8) is 2 or less", 28.0, _low_f_min),
        ],
        by_statistic("1c", "all", "partitions", "f_min", y_log=True),
        why="Recipes overwrite by one law each, so that they differ less than recorded traces do; recorded traces "
        "that are short have fewer temperatures.",
    ),
    # More partitions write less at OP 7 %, ever less so, and hardly anything at 28 %. "The figure for block size 256 is
    # very similar" (3.3): within a tenth, our reading.
    _item(
        "fig-2", "Finding 2: write amplification by partitions", "Fig. 2",
        [
            Finding("OP 7 %", "mean WA falls from 1 to 4 partitions", (0.0, None), partial(_falls, 7, 1, 4), "%", True),
            Finding("OP 7 %", "and by less from 4 to 16", (0.0, None), partial(_less, 7, 4, 16), "points", True),
            Finding("OP 28 %", "falls by less than at OP 7 %", (0.0, None), partial(_less, 28, 1, 16), "points", True),
            Finding("OP 7 %", "blocks of 256 pages: mean WA differs by", (None, 10.0), _large_blocks),
        ],
        _panel_2,
        counts_traces=True,
    ),
    # "Almost" 80 % of the traces.
    _item(
        "fig-3", "Finding 3: write amplification converges", "Fig. 3",
        [Finding("traces", "WA < 1.05, OP 50 %, 4 partitions", 80.0, at("3", "OP 50 %", 4.0, "below_1.05_percent"))],
        by_series("3", "median", "partitions", "median write amplification"), *swc_causes.TOGETHER.values(),
        extra_tables=_table_3,
        why="Recipes overwrite pages one by one in random order. The table has the same traces with 4, 16 and 32 "
        "neighbours always overwritten together, up to a request of 128 KB: blocks become wholly invalid, and write "
        "amplification converges.",
    ),
    _item(
        "fig-4", "Finding 3: f_r <= 3 instead of 2", "Fig. 4",
        [
            Finding("median", "fewer partitions for f_r <= 3", 30.0,
                    lambda traces: smaller(*(traces.get("1b", "all", ratio, "median") for ratio in (2.0, 3.0))),
                    effect=True),
            *_changed("4", 23.0),
        ],
        partial(_histogram, "4"), swc_causes.EVENLY,
        why="In a recipe two pages of one temperature are written a different number of times by chance, and "
        "partitions are cut by these numbers: finer ones then separate nothing, and whether write amplification falls "
        "is a matter of a hundredth. The table has the same writes with those of each page evenly spaced, so that the "
        "numbers are no accident.",
    ),
    # 4.1: beyond 4 KB the partitions of a trace differ by 1 or 2.
    _item(
        "fig-6", "Finding 4: page size and skew", "Fig. 6",
        [Finding("median trace", "partitions differ from 4 to 64 KB by", (None, 2.0), _page_difference, "")],
        by_series("6", "median", "partitions", "median f_min", y_log=True),
    ),
    # 4.2: at OP 7 %, at most.
    _item(
        "fig-7", "Finding 5: page size and write amplification", "Fig. 7",
        [
            Finding("highest", f"WA of 8 KB / 4 KB pages, {count} partitions", value, partial(_larger_page, count), "x")
            for count, value in ((2, 2.17), (8, 2.51), (16, 2.46))
        ],
        by_series("7", "mean", "bytes of a page", "mean write amplification", only="OP 7 %", x_log=True),
        why="The published highest is over 66 traces; where overwrites are random, neighbours seldom share their fate.",
    ),
    # The same as Fig. 4 with 16 KB pages: WA falls in a third.
    _item(
        "fig-9", "Finding 6: f_r <= 3 instead of 2, 16 KB pages", "Fig. 9", _changed("9", 100.0 / 3.0),
        partial(_histogram, "9"),
        why="As for Fig. 4: partitions are cut by numbers of writes that differ by chance.",
    ),
    # 4.3: never above half the page size.
    _item(
        "fig-10", "Finding 7: read amplification", "Fig. 10",
        [Finding("highest trace", "read amplification, of a page's sectors", (None, 50.0), _read_amplification)],
        by_statistic("10", "buffer of one page", "bytes of a page", "read amplification", y_log=True),
    ),
    # 4.4: partial reads halve the cost for 75 %.
    _item(
        "fig-12", "Findings 8 and 9: cost of reading", "Fig. 11, 12",
        [
            Finding("traces", "cheapest with 4 KB pages (typical)", (50.0, None), lambda traces: share([
                one.number("read_cost.cheapest_full_page_bytes") == rows.PAGE_BYTES for one in traces.who.reading
            ])),
            Finding("traces", "32 KB pages dearer than 4 KB (typical)", (50.0, None), lambda traces: share([
                one.number("read_full_ns_32768") > one.number("read_full_ns_4096") for one in traces.who.reading
            ])),
            Finding("traces", "partial reads of 16 KB pages halve the cost of 1-sector pages", (75.0, None),
                    at("12", "slc-mlc, partial", float(across.LARGE_PAGE), "halved_percent")),
        ],
        by_series("12", "median", "bytes of a page", "median cost, of one-sector pages", x_log=True), swc_causes.LARGER,
        why="By SWC's Table 2 a request of 4 KB costs 305.6 µs on one-sector pages and 160.2 µs as a partial read of a "
        "16 KB page: 0.52 of it, whatever the workload. A request of 8 KB costs 0.45. Most recipes read 4 KB at a "
        "time, as the nine FIU traces among SWC's 123 do. The table has every request twice as large.",
    ),
    _item(
        "fig-15", "Finding 10: distance and waiting", "Fig. 15, 16",
        [
            Finding(f"{kind}s", "median gain of distance above that of waiting", (0.0, None),
                    partial(_distance_ahead, kind), "points", True)
            for kind in ("write", "read")
        ],
        _panels_15,
    ),
    # 5.2: what locality explains of the reads that a cache saves. As pages and caches grow, the regression nears
    # estimate - RA = discount. "A linear correlation": it explains half of the variance at least, our reading.
    _item(
        "fig-18", "Finding 11: locality and read amplification", "Fig. 17, 18",
        [
            Finding(WHERE, "slope of saved against discount", 1.0, at("18", LARGE, None, "slope"), "x"),
            Finding(WHERE, "R² of the regression", (0.5, None), at("18", LARGE, None, "r_squared"), ""),
            Finding(WHERE, "slope nearer to 1 than with 4 KB pages, cache of 1, by", (0.0, None), _nearer, "", True),
        ],
        _panel_18,
        why="The discount takes every request as a small one whose neighbour may be cached. Where most bytes are read"
        " in requests larger than a page, the estimate is close to 1 and nothing is left to save.",
    ),
)  # fmt: skip


def population(traces: Path | None) -> tuple[PaperWorkload, ...]:
    """The volumes of every trace of the folder (SWC 2.2); without one, the recipes of all other papers."""
    if traces is not None:
        return tuple(one for name, (path, _) in find([traces]).items() for one in _volumes(name, Path(path)))
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


PAPER = Paper(
    "swc",
    "SSD-based Workload Characteristics and Their Performance Implications",
    "G. Yadgar, M. Gabel, S. Jaffer, B. Schroeder, ACM Transactions on Storage 17(1), 2021",
    "No drive is simulated: traces are characterized (docs/characterization.md). Published are 123 traces, measured "
    "those of the folder given, or the recipes of the other papers. A trace that is too short for a statistic does "
    "not enter it, as in the paper.",
    (),
    ITEMS,
    default_scale=0.2,
    quick_scale=0.02,
    options={"over_provisioning_percent": (7, 28, 50, 75, 100), "block_pages": (128, 256)},
    population=population,
)
