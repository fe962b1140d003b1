"""Statistics over many characterized traces: the distributions that SWC plots, figure by figure.

SWC is G. Yadgar et al., "SSD-based Workload Characteristics and Their Performance Implications", ACM
TOS 17(1), 2021; figures bear its numbers. Pure: rows and tables in, rows out; nothing is read or
written here. A trace that is too short for a statistic does not enter it (SWC 2.2, 3.2, 4.3).

Groups are lists in a dict. All figures of 500 traces take 0.35 s so, of which characterizing takes hours; the same by
PyArrow is no faster (0.26 s for one of the 15 figures) and has no exact percentiles of groups, and Polars would be one
more dependency of everybody.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = Sequence[Mapping[str, Any]]
Floats = NDArray[np.float64]

#: SWC 2.2: the least content of a trace that enters any statistic.
REQUESTS_MIN, WRITES_MIN = 10_000, 5_000
#: SWC 4.3: ... those of reading.
READS_MIN = 5_000

#: SWC did not search f_min further; what lies beyond counts as this.
F_MIN_MAX = 1_000.0
#: SWC 3.3 and 4.2: the block size, and the over-provisioning of Fig. 4 and 9.
BLOCK_PAGES, LOW_PROVISION = 128, 7.0
#: SWC Fig. 9 and 17: 16 KB pages (32 sectors).
LARGE_PAGE = 16_384
#: SWC Fig. 15-16: where the gains of locality are looked at.
DISTANCES, TIMES = (1.0, 16.0, 64.0), (1.0, 25.0, 250.0)
#: SWC Fig. 18: page sizes and cache sizes of the regression.
REGRESSED = tuple((page, cache) for page in (4_096, LARGE_PAGE) for cache in (1, 8))
#: Bins of Fig. 4 and 9, changes in percent; the outermost hold all that lies beyond.
CHANGE_BINS = tuple(np.arange(-20.0, 20.1, 2.5))

COLUMNS = ("figure", "series", "x", "statistic", "value", "trace")


@dataclass(frozen=True)
class CharacterizedTrace:
    """One characterized trace: its name and category, its row, and the tables as rows."""

    name: str
    category: str
    row: Mapping[str, Any]
    tables: Mapping[str, Rows]

    def number(self, key: str) -> float:
        """A number of the row; 0 when it is missing."""
        value = self.row.get(key)
        return float(value) if isinstance(value, int | float) else 0.0

    def at_grid(self, table: str) -> Rows:
        """The rows of a table at the page size of the grid of write amplifications: that with the most runs."""
        rows = [row for row in self.tables.get(table, ()) if row["purpose"] == "grid"]
        sizes = [row["page_bytes"] for row in rows]
        page = max(dict.fromkeys(sizes), key=sizes.count, default=0)
        return [row for row in rows if row["page_bytes"] == page]

    def at_sector(self, table: str) -> Rows:
        """The rows of a table at the smallest page size, the granularity of the trace (SWC 3.1)."""
        rows = self.tables.get(table, ())
        smallest = min((row["page_bytes"] for row in rows), default=0)
        return [row for row in rows if row["page_bytes"] == smallest]


@dataclass(frozen=True)
class Entrants:
    """Which traces enter which statistics."""

    all: Sequence[CharacterizedTrace]
    any: Sequence[CharacterizedTrace]
    writing: Sequence[CharacterizedTrace]
    reading: Sequence[CharacterizedTrace]

    @property
    def counts(self) -> dict[str, int]:
        return {
            "traces": len(self.all),
            "large_enough": len(self.any),
            "write_amplification": len(self.writing),
            "read_amplification": len(self.reading),
        }


def entrants(traces: Sequence[CharacterizedTrace]) -> Entrants:
    """Sorts out which traces are large enough for what; of writing the core knows (SWC 3.2)."""
    enough = [
        trace
        for trace in traces
        if trace.number("info.requests") >= REQUESTS_MIN and trace.number("info.writes") >= WRITES_MIN
    ]
    writing = [trace for trace in enough if trace.row.get("write_amplification.enters_statistics") is True]
    reading = [trace for trace in enough if trace.number("info.reads") >= READS_MIN]
    return Entrants(traces, enough, writing, reading)


Row = tuple[str, str, float | None, str, float, str | None]


def distributions(who: Entrants) -> list[Row]:
    """The rows of `distributions`, in the order of the figures."""
    rows: list[Row] = []
    for make in (
        _partitions, _f_min, _write_amplification, _fewer_partitions, _read_amplification, _read_cost, _gains,
        _estimates, _discounts,
    ):  # fmt: skip
        rows += make(who)
    return sorted(rows, key=lambda row: _FIGURES.index(row[0]))


_FIGURES = ("1a", "1b", "1c", "2", "3", "4", "6", "7", "9", "10", "12", "15", "16", "17", "18")

Key = tuple[str, float]


def _gather(
    traces: Iterable[CharacterizedTrace], points: Callable[[CharacterizedTrace], Iterable[tuple[str, Any, Any]]]
) -> dict[Key, list[float]]:
    """The values of all traces under (series, x), from points of each trace: series, x, value."""
    found: dict[Key, list[float]] = {}
    for trace in traces:
        for series, x, value in points(trace):
            found.setdefault((series, float(x)), []).append(float(value))
    return dict(sorted(found.items(), key=lambda item: (_natural(item[0][0]), item[0][1])))


def _natural(text: str) -> list[tuple[int, float, str]]:
    """Orders names by the numbers in them: `OP 28 %` before `OP 100 %`; words before numbers."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(1, float(part), "") if place % 2 else (0, 0.0, part) for place, part in enumerate(parts)]


def _partitions(who: Entrants) -> list[Row]:
    """Fig. 1(a): partitions for f_r <= 2 by category. Fig. 1(b): for every f_r."""
    by_category = _gather(who.any, lambda trace: (
        (series, 2.0, row["partitions"]) for row in trace.at_sector("partitions") if row["frequency_ratio"] == 2.0
        for series in ("all", trace.category) if series
    ))  # fmt: skip
    by_ratio = _gather(who.any, lambda trace: (
        ("all", row["frequency_ratio"], row["partitions"]) for row in trace.at_sector("partitions")
    ))  # fmt: skip
    return [*_spread("1a", by_category), *_spread("1b", by_ratio)]


def _f_min(who: Entrants) -> list[Row]:
    """Fig. 1(c): f_min(N) at the traces' own granularity. Fig. 6: by page size."""

    def point(series: Any, row: Mapping[str, Any]) -> tuple[str, Any, Any]:
        return str(series), row["partitions"], F_MIN_MAX if row["f_min"] is None else row["f_min"]

    own = _gather(who.any, lambda trace: (point("all", row) for row in trace.at_sector("f_min")))
    by_page = _gather(who.any, lambda trace: (point(row["page_bytes"], row) for row in trace.tables.get("f_min", ())))
    return [*_spread("1c", own), *_spread("6", by_page)]


def _write_amplification(who: Entrants) -> list[Row]:
    """Fig. 2, 3: by partitions and over-provisioning (at 4 KB, where the grid is whole). Fig. 7: by page size."""

    def grid(rows: Rows) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
        for row in rows:
            wa = row["write_amplification"]
            if row["purpose"] == "grid" and row["block_pages"] == BLOCK_PAGES and wa is not None:
                yield f"OP {row['over_provisioning_percent']:g} %", row, wa

    found = _gather(who.writing, lambda trace: (
        (series, row["partitions_asked"], wa) for series, row, wa in grid(trace.at_grid("write_amplification"))
    ))  # fmt: skip
    by_page = _gather(who.writing, lambda trace: (
        (f"{series}, {row['partitions_asked']} partitions", row["page_bytes"], wa)
        for series, row, wa in grid(trace.tables.get("write_amplification", ()))
    ))  # fmt: skip
    low = _share("3", found, "below_1.05_percent", lambda values: values < 1.05)
    return [*_means("2", found), *_spread("3", found), *low, *_means("7", by_page)]


def _fewer_partitions(who: Entrants) -> list[Row]:
    """Fig. 4: the effect of f_r <= 3 instead of 2 on the write amplification. Fig. 9: with 16 KB pages."""
    own = [change for trace in who.writing if (change := wa_change(trace.at_sector("write_amplification"))) is not None]
    large = []
    for trace in who.writing:
        rows = [row for row in trace.tables.get("write_amplification", ()) if row["page_bytes"] == LARGE_PAGE]
        change = wa_change(rows, overhead_max=1.0)
        if change is not None:
            large.append(change)
    return [*_changes("4", own), *_changes("9", large)]


def wa_change(rows: Rows, overhead_max: float = float("inf")) -> float | None:
    """Change of the write amplification in percent from f_r <= 2 to f_r <= 3, at OP 7 % and blocks of 128 pages.

    None when either is unknown or has a higher partitioning overhead (SWC, Fig. 9).
    """
    found: dict[str, float] = {}
    for row in rows:
        usual = row["block_pages"] == BLOCK_PAGES and row["over_provisioning_percent"] == LOW_PROVISION
        overhead = row["partitioning_overhead"]
        if usual and row["write_amplification"] is not None and (overhead is None or overhead <= overhead_max):
            found.setdefault(row["purpose"], float(row["write_amplification"]))
    two, three = found.get("f_r<=2"), found.get("f_r<=3")
    return None if not two or three is None else (three / two - 1.0) * 100.0


def _changes(figure: str, values: list[float]) -> list[Row]:
    series = "f_r <= 3 instead of 2"
    if not values:
        return []
    changes = np.array(values)
    inside = np.clip(changes, CHANGE_BINS[0], CHANGE_BINS[-1] - 1e-9)
    counts, _ = np.histogram(inside, bins=CHANGE_BINS)
    rows: list[Row] = [
        (figure, series, float(edge), "traces", float(count), None)
        for edge, count in zip(CHANGE_BINS, counts, strict=False)
    ]
    shares = {"below_5_percent": changes < 5.0, "down_percent": changes < 0.0}
    rows += [(figure, series, None, name, float(np.mean(held) * 100), None) for name, held in shares.items()]
    return [*rows, (figure, series, None, "count", float(changes.size), None)]


def _read_amplification(who: Entrants) -> list[Row]:
    """Fig. 10: with a buffer of one page."""
    return _spread("10", _gather(who.reading, lambda trace: (
        ("buffer of one page", row["page_bytes"], row["read_amplification"])
        for row in trace.tables.get("read_amplification", ())
        if row["cache_pages"] == 1 and row["read_amplification"] is not None
    )))  # fmt: skip


def _read_cost(who: Entrants) -> list[Row]:
    """Fig. 12: cost of reading relative to whole reads of the smallest pages, with and without partial reads."""

    def points(trace: CharacterizedTrace) -> Iterator[tuple[str, Any, float]]:
        smallest = [row for row in trace.at_sector("read_cost") if row["chip"] == "slc-mlc"]
        base = float(smallest[0]["full_ns"] or 0.0) if smallest else 0.0
        for row in trace.tables.get("read_cost", ()) if base else ():
            for way in ("full", "partial"):
                if row["chip"] in ("slc-mlc", "tlc") and row[f"{way}_ns"] is not None:
                    yield f"{row['chip']}, {way}", row["page_bytes"], row[f"{way}_ns"] / base

    found = _gather(who.reading, points)
    return [*_spread("12", found), *_share("12", found, "halved_percent", lambda values: values <= 0.5)]


def _gains(who: Entrants) -> list[Row]:
    """Fig. 15: gain of waiting at a distance. Fig. 16: gain of distance at a time. Histograms of tenths."""
    rows: list[Row] = []
    for figure, along, sign, wanted in (("15", "time", "D", DISTANCES), ("16", "distance", "T", TIMES)):
        for kind in ("write", "read"):
            for at in wanted:
                values = [
                    float(row["gain"])
                    for trace in (who.any if kind == "write" else who.reading)
                    for row in trace.tables.get("locality_gain", ())
                    if (row["kind"], row["along"], row["at"]) == (kind, along, at) and row["gain"] is not None
                ]
                if not values:
                    continue
                series = f"{kind}, {sign} = {at:g}"
                counts, edges = np.histogram(np.clip(values, 0.0, 1.0 - 1e-12), bins=10, range=(0.0, 1.0))
                for edge, count in zip(edges, counts, strict=False):
                    rows.append((figure, series, round(float(edge), 1), "traces", float(count), None))
                rows += _spread(figure, {(series, np.nan): values})
    return rows


def _estimates(who: Entrants) -> list[Row]:
    """Fig. 17: read amplification against its estimate from request sizes, with 16 KB pages.

    As in Fig. 18 it is that of these pages / that of one-sector pages (SWC 5.2).
    """
    rows: list[Row] = []
    for trace in who.reading:
        for row in trace.tables.get("read_amplification", ()):
            known = row["normalised"] is not None and row["estimated"] is not None
            if row["page_bytes"] == LARGE_PAGE and known:
                series = f"cache of {row['cache_pages']}"
                point = float(row["estimated"]), "trace", float(row["normalised"])
                rows.append(("17", series, *point, trace.name))
    return sorted(rows, key=lambda row: int(row[1].rpartition(" ")[2]))


def _discounts(who: Entrants) -> list[Row]:
    """Fig. 18: estimate less read amplification against the locality discount, with its regression line."""
    rows: list[Row] = []
    for page, cache in REGRESSED:
        series = f"pages of {page}, cache of {cache}"
        points = []
        for trace in who.reading:
            for row in trace.tables.get("read_amplification", ()):
                if (row["page_bytes"], row["cache_pages"]) != (page, cache):
                    continue
                numbers = row["locality_discount"], row["estimated"], row["normalised"]
                if None not in numbers:
                    discount, estimated, measured = map(float, numbers)
                    points.append((discount, estimated - measured))
                    rows.append(("18", series, discount, "trace", estimated - measured, trace.name))
        rows += [("18", series, None, name, value, None) for name, value in regression(points).items()]
    return rows


def regression(points: Sequence[tuple[float, float]]) -> dict[str, float]:
    """The least-squares line through points; empty with fewer than three, or when all have one x."""
    if len(points) < 3 or len({x for x, _ in points}) < 2:
        return {}
    x, y = np.array(points).T
    slope, intercept = np.polyfit(x, y, 1)
    rest, spread = float(np.sum((y - slope * x - intercept) ** 2)), float(np.sum((y - y.mean()) ** 2))
    fit = {"slope": float(slope), "intercept": float(intercept), "count": float(len(points))}
    return {**fit, "r_squared": 1.0 - rest / spread} if spread > 0 else fit


def _spread(figure: str, found: Mapping[Key, Sequence[float]]) -> list[Row]:
    """The percentiles of each group (linear between ranks), and how many traces it holds."""
    rows: list[Row] = []
    for (series, x), values in found.items():
        at = None if np.isnan(x) else float(x)
        names = ("minimum", "p25", "median", "p75", "maximum")
        numbers = np.percentile(np.array(values, dtype=float), (0, 25, 50, 75, 100))
        rows += [(figure, series, at, name, float(value), None) for name, value in zip(names, numbers, strict=True)]
        rows.append((figure, series, at, "count", float(len(values)), None))
    return rows


def _share(figure: str, found: Mapping[Key, Sequence[float]], name: str, holds: Callable[[Floats], Any]) -> list[Row]:
    """The percentage of each group for which something holds."""
    return [
        (figure, series, x, name, float(np.mean(holds(np.array(values))) * 100), None)
        for (series, x), values in found.items()
    ]


def _means(figure: str, found: Mapping[Key, Sequence[float]]) -> list[Row]:
    """The mean of each group with its 95 % confidence interval (normal; none below two traces)."""
    rows: list[Row] = []
    for (series, x), values in found.items():
        numbers: Floats = np.array(values, dtype=float)
        mean = float(numbers.mean())
        rows.append((figure, series, float(x), "mean", mean, None))
        if numbers.size > 1:
            half = 1.96 * float(numbers.std(ddof=1)) / float(np.sqrt(numbers.size))
            rows.append((figure, series, float(x), "ci95_low", mean - half, None))
            rows.append((figure, series, float(x), "ci95_high", mean + half, None))
        rows.append((figure, series, float(x), "count", float(numbers.size), None))
    return rows
