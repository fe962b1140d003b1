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
from flashtwin.papers.facts import Fact, smaller
from flashtwin.papers.model import Item, Outcome, Overall, PaperWorkload, Quantity, all_quantities
from flashtwin.papers.panels import ByWorkload, Display, Facts, bars, chart, lines, table
from flashtwin.papers.tables import PaperTable, Row
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


#: Findings are no facts of one trace.
OF_ALL = Fact((), lambda *_: None)


@dataclass(frozen=True, kw_only=True)
class Finding(Overall):
    """A published number beside its figure over all traces."""

    why: str = "no trace enters this statistic"
    figure: Figure


class FindingTable(PaperTable):
    """Its rows name a statistic over all traces (`flashtwin.sweeps.across`): figure, series, x if any, statistic."""

    def quantity(self, row: Row, figures: Mapping[str, Figure], _: str = "") -> Quantity:
        of = dict(row)
        title, published = of.pop("what"), self.value(of.pop("published"))
        if statistic := of.pop("statistic", None):
            figure, series, *x, name = statistic
            return Finding(title, OF_ALL, published, figure=at(figure, series, x[0] if x else None, name), **of)
        return Finding(title, OF_ALL, published, figure=figures[of.pop("fact", title)], **of)


TABLE = FindingTable("swc")


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
        findings = [one for one in all_quantities(self.claims) if isinstance(one, Finding)]
        claims = [one.claim(one.subject, one.figure(traces), one.why) for one in findings]
        notes = _entered(traces) if self.counts_traces else []
        return Outcome(claims, chart(*self.charts(traces)), notes, self.extra_tables(traces))


def _item(
    id_: str, charts: Panels, *causes: swc_causes.CauseRemoval, figures: Mapping[str, Figure] | None = None, **more: Any
) -> Item:
    return TABLE.item(id_, figures, FindingItem, charts=charts, causes=causes, **more)


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


ITEMS = (
    _item("fig-1a", _bars_1a, swc_causes.SHORT, swc_causes.ALIKE, counts_traces=True, figures={
        "databases": partial(_percentile, 75, DATABASES), "mail servers": partial(_percentile, 25, MAIL_SERVERS),
    }),
    _item("fig-1b", by_statistic("1b", "all", "f_r", "partitions"), swc_causes.SHORT, swc_causes.ALIKE),
    _item("fig-1c", by_statistic("1c", "all", "partitions", "f_min", y_log=True),
          figures={"f_min(8) is 2 or less": _low_f_min}),
    _item("fig-2", _panel_2, counts_traces=True, figures={
        "mean WA falls from 1 to 4 partitions": partial(_falls, 7, 1, 4),
        "and by less from 4 to 16": partial(_less, 7, 4, 16),
        "falls by less than at OP 7 %": partial(_less, 28, 1, 16),
        "blocks of 256 pages: mean WA differs by": _large_blocks,
    }),
    _item("fig-3", by_series("3", "median", "partitions", "median write amplification"), *swc_causes.TOGETHER.values(),
          extra_tables=_table_3),
    _item("fig-4", partial(_histogram, "4"), swc_causes.EVENLY, figures={
        "fewer partitions for f_r <= 3":
            lambda traces: smaller(*(traces.get("1b", "all", ratio, "median") for ratio in (2.0, 3.0))),
    }),
    _item("fig-6", by_series("6", "median", "partitions", "median f_min", y_log=True),
          figures={"partitions differ from 4 to 64 KB by": _page_difference}),
    _item("fig-7", by_series("7", "mean", "bytes of a page", "mean write amplification", only="OP 7 %", x_log=True),
          figures={f"WA of 8 KB / 4 KB pages, {count} partitions": partial(_larger_page, count)
                   for count in (2, 8, 16)}),
    _item("fig-9", partial(_histogram, "9")),
    _item("fig-10", by_statistic("10", "buffer of one page", "bytes of a page", "read amplification", y_log=True),
          figures={"read amplification, of a page's sectors": _read_amplification}),
    _item("fig-12", by_series("12", "median", "bytes of a page", "median cost, of one-sector pages", x_log=True),
          swc_causes.LARGER, figures={
        "cheapest with 4 KB pages (typical)": lambda traces: share([
            one.number("read_cost.cheapest_full_page_bytes") == rows.PAGE_BYTES for one in traces.who.reading
        ]),
        "32 KB pages dearer than 4 KB (typical)": lambda traces: share([
            one.number("read_full_ns_32768") > one.number("read_full_ns_4096") for one in traces.who.reading
        ]),
    }),
    _item("fig-15", _panels_15, figures={f"{kind}s": partial(_distance_ahead, kind) for kind in ("write", "read")}),
    _item("fig-18", _panel_18, figures={"slope nearer to 1 than with 4 KB pages, cache of 1, by": _nearer}),
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


PAPER = TABLE.paper(
    ITEMS, options={"over_provisioning_percent": (7, 28, 50, 75, 100), "block_pages": (128, 256)}, population=population
)
