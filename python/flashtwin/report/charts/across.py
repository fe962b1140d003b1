"""Charts over many traces: boxes, lines with intervals, histograms and scatters out of `distributions` (SWC)."""

import re
from collections.abc import Iterable

import numpy as np

from flashtwin import units
from flashtwin.results.reading import Collection, Floats, SavedTable

from .. import colours, mark
from ..declared import Axis, Data, Drawing, Frame, Panel, chart, is_column, nothing, plain, plain_size, shorten

HUE = colours.HUES[0][0]
NEEDED = {
    "large_enough": "10,000 requests and 5,000 writes",
    "write_amplification": "10,000 requests, 100,000 page writes and 4 writes of each sector",
    "read_amplification": "10,000 requests, 5,000 writes and 5,000 reads",
}


def _series(table: SavedTable | None) -> dict[str, SavedTable]:
    names = dict.fromkeys(table.texts.get("series", ())) if table is not None else {}
    return {name: table.where("series", name) for name in names} if table is not None else {}


def _statistic(table: SavedTable, name: str) -> tuple[Floats, Floats]:
    """One statistic of one series: x and value in ascending order of x."""
    rows = table.where("statistic", name)
    if not rows.rows or "x" not in rows.columns:
        return np.zeros(0), np.zeros(0)
    order = np.argsort(rows.columns["x"], kind="stable")
    return rows.columns["x"][order], rows.columns["value"][order]


def _single(table: SavedTable, name: str) -> float | None:
    rows = table.where("statistic", name)
    return float(rows.columns["value"][0]) if rows.rows else None


def _boxes(table: SavedTable, places: Floats, colour: str = HUE, width: float = 0.55) -> list[mark.Mark]:
    """Boxes from the 25th to the 75th percentile with the median, whiskers from minimum to maximum."""
    of = {name: _statistic(table, name)[1] for name in ("minimum", "p25", "median", "p75", "maximum")}
    if any(values.size != places.size for values in of.values()):
        return []
    look = {"bottom": of["p25"], "color": colours.SURFACE, "edgecolor": colour, "linewidth": 1.2}
    return [
        mark.vlines(places, of["minimum"], of["maximum"], color=colour, linewidth=1.0),
        mark.bar(places, of["p75"] - of["p25"], width, **look),
        mark.hlines(of["median"], places - width / 2, places + width / 2, color=colour, linewidth=2.0),
    ]


def _boxed(table: SavedTable) -> tuple[Floats, list[mark.Mark]]:
    x = _statistic(table, "median")[0]
    return x, _boxes(table, np.arange(x.size, dtype=float))


def _interval(table: SavedTable, colour: str, label: str) -> list[mark.Mark]:
    """The mean as a line with its 95 % confidence interval."""
    at, low = _statistic(table, "ci95_low")
    _, high = _statistic(table, "ci95_high")
    marks = [mark.plot(*_statistic(table, "mean"), color=colour, marker="o", markersize=3.5, label=label)]
    if at.size == low.size == high.size > 0:
        marks.append(mark.vlines(at, low, high, color=colour, linewidth=1.0))
    return marks


def _histogram(series: Iterable[tuple[str, SavedTable, str]], width: float, scale: float = 1.0) -> list[mark.Mark]:
    known = [(label, _statistic(table, "traces"), colour) for label, table, colour in series]
    part = width * 0.9 / max(len(known), 1)
    return [
        mark.bar(
            edges * scale + width * 0.05 + part * (place + 0.5),
            counts,
            part * 0.95,
            color=colour,
            linewidth=0,
            label=label,
        )
        for place, (label, (edges, counts), colour) in enumerate(known)
    ]


def _data(results: Collection, *figures: str) -> Data:
    """The rows of `distributions` behind a chart, scatters with the trace in place of the statistic."""
    data = Data(("figure", "series", "x", "statistic", "value"))
    for figure in figures:
        table = results.figure(figure)
        if table is None:
            continue
        x = table.columns.get("x", np.full(table.rows, np.nan))
        traces = table.texts.get("trace", ("",) * table.rows)
        columns = (table.texts["series"], x, table.texts["statistic"], traces, table.columns["value"])
        for name, at, statistic, trace, value in zip(*columns, strict=True):
            told = trace if statistic == "trace" else statistic
            data.rows.append((figure, name, float(at), told, float(value)))
    return data


def _nobody(results: Collection, entering: str) -> Drawing:
    counts = results.info.get("counts")
    if isinstance(counts, dict) and counts.get(entering) == 0:
        return nothing(f"No trace enters this statistic: it takes {NEEDED[entering]}.")
    return nothing("The distributions of this figure were not written.")


@chart(
    "Partitions over all traces",
    "How many partitions do traces need, and how narrow can a few of them be?",
    "across_writing",
)
def across_partitions(results: Collection) -> Drawing:
    """Boxes by category, by f_r and by N; the median f_min by page size (Fig. 1 and 6)."""
    makers = {"1a": _by_category, "1b": _by_ratio, "1c": _lowest, "6": _lowest_by_page}
    panels: list[Panel | None] = [
        make(table) for name, make in makers.items() if (table := results.figure(name)) is not None
    ]
    if not panels:
        return _nobody(results, "large_enough")
    if len(panels) % 2:
        panels.append(Panel([mark.of("set_axis_off")()]))
    frame = Frame(2.75 * len(panels) / 2, [panels[at : at + 2] for at in range(0, len(panels), 2)])
    parts = []
    table = results.figure("1b")
    for ratio, paper in ((1.5, "3 to 26"), (2.0, "2 to 16"), (3.0, "2 to 11")):
        rows = table.where("x", ratio) if table is not None else None
        low, high = (None if rows is None else _single(rows, end) for end in ("minimum", "maximum"))
        if low is not None and high is not None:
            parts.append(f"{units.count(low)} to {units.count(high)} for f_r ≤ {plain(ratio)} (SWC: {paper})")
    sees = [f"The traces need {', '.join(parts)} partitions."] if parts else []
    return Drawing(frame, sees, data=_data(results, *makers))


def _by_category(table: SavedTable) -> Panel:
    series = _series(table)
    marks = []
    for place, (name, rows) in enumerate(series.items()):
        marks += _boxes(rows, np.array([float(place)]), colours.INK if name == "all" else HUE)
    x_axis = Axis(ticks="names", of=[shorten(name, 12) for name in series])
    return Panel(marks, "Partitions for f_r ≤ 2, by folder", x_axis, Axis(low=0), sticky=False)


def _by_ratio(table: SavedTable) -> Panel:
    x, marks = _boxed(table)
    x_axis = Axis("f_r", "names", [f"≤ {plain(float(value))}" for value in x])
    return Panel(marks, "Partitions by frequency ratio", x_axis, Axis(low=0), sticky=False)


_RATIOS = Axis(ticks="factors", of=(1, 2, 5, 10, 30, 100, 300, 1000))


def _lowest(table: SavedTable) -> Panel:
    marks = _boxes(table, _statistic(table, "median")[0])
    return Panel(marks, "Lowest frequency ratio, f_min(N)", Axis("partitions N"), _RATIOS, sticky=False)


def _lowest_by_page(table: SavedTable) -> Panel:
    series = sorted((int(name), rows) for name, rows in _series(table).items() if name.isdecimal())
    marks = [
        mark.small_dots(_statistic(rows, "median"), colour, plain_size(size))
        for (size, rows), colour in zip(series, colours.ordered(len(series)), strict=True)
    ]
    x_axis = Axis("partitions N")
    return Panel(marks, "Median f_min(N) by page size", x_axis, _RATIOS, "both", ("upper right", None, 2))


@chart(
    "Write amplification over all traces", "What do partitions, spare space and page size do on the whole?",
    "across_writing",
)  # fmt: skip
def across_write_amplification(results: Collection) -> Drawing:
    """Means by partitions; percentiles at the lowest over-provisioning; means by page size (Fig. 2, 3, 7)."""
    means, spread, sizes = (results.figure(name) for name in ("2", "3", "7"))
    series = _series(means)
    if means is None or not series:
        return _nobody(results, "write_amplification")
    marks = []
    for (name, rows), colour in zip(series.items(), reversed(colours.ordered(len(series))), strict=True):
        marks += _interval(rows, colour, name)
    first = next(iter(series))
    left = Panel(marks, "Mean write amplification", Axis("partitions"), grid="both", legend=("upper right",))
    x, boxes = _boxed(spread.where("series", first)) if spread is not None else (np.zeros(0), [])
    x_axis = Axis("partitions", "names" if spread is not None else "", [f"{value:.0f}" for value in x])
    middle = Panel(boxes, f"All traces at {first}", x_axis, sticky=False)
    sees = _sees_spread(spread) if spread is not None else []
    return Drawing(Frame(2.9, [[left, middle, _by_size(sizes)]]), sees, data=_data(results, "2", "3", "7"))


def _by_size(table: SavedTable | None) -> Panel:
    series = _series(table)
    lowest = [name for name in series if name.split(",")[0] == next(iter(series)).split(",")[0]]
    # The numbers of partitions that the paper's figure shows, where there are such.
    lowest = [name for name in lowest if re.search(r" (2|8|16) partitions$", name)] or lowest[:3]
    marks = []
    for name, colour in zip(lowest, colours.ordered(len(lowest)), strict=True):
        marks += _interval(series[name], colour, name.partition(", ")[2])
    marks.append(mark.tick_params(axis="x", labelsize=colours.SMALL_PT))
    x_axis = Axis("page size", "sizes", table.values("x")) if table is not None else Axis("page size")
    title = f"Mean at {lowest[0].split(',')[0]}" if lowest else "By page size"
    return Panel(marks, title, x_axis, grid="both", legend=("upper left",))


def _sees_spread(table: SavedTable) -> list[str]:
    sentences = []
    low = _single(table.where("series", "OP 50 %").where("x", 4.0), "below_1.05_percent")
    if low is not None:
        sentences.append(
            f"At OP 50 % with 4 partitions {units.percent(low)} of the traces stay below a write amplification of 1.05 "
            "(SWC: almost 80 %)."
        )
    first, rows = next(iter(_series(table).items()), ("", table))
    x, median = _statistic(rows, "median")
    if first and x.size > 1:
        sentences.append(
            f"At {first} the median falls from {units.ratio(float(median[0]))} with {x[0]:.0f} to "
            f"{units.ratio(float(median.min()))} with {x[int(median.argmin())]:.0f} partitions."
        )
    return sentences


@chart("Fewer partitions", "What does it cost to allow a frequency ratio of 3 instead of 2?", "across_writing")
def across_knee(results: Collection) -> Drawing:
    """Histograms of the change of the write amplification with f_r <= 3 instead of 2 (Fig. 4 and 9)."""
    panels, sees = [], []
    for name, words, paper in (
        ("4", "at the traces' own granularity", "23 %"),
        ("9", "with pages of 16 KiB", "a third"),
    ):
        table = results.figure(name)
        if table is None:
            continue
        edges = _statistic(table, "traces")[0]
        bars = _histogram([("", table, HUE)], float(edges[1] - edges[0]) if edges.size > 1 else 1.0)
        marks = [*bars, mark.axvline(0, color=colours.INK, linewidth=0.8)]
        x_axis = Axis("change of write amplification", "percents")
        panels.append(Panel(marks, f"Traces, {words}", x_axis, Axis(ticks="whole")))
        below, down = _single(table, "below_5_percent"), _single(table, "down_percent")
        if below is not None and down is not None:
            sees.append(
                f"Needing f_r ≤ 3 only, {words}, the write amplification grows by less than 5 % in "
                f"{units.percent(below)} of the traces and falls in {units.percent(down)} (SWC: almost all, {paper})."
            )
    if not panels:
        return _nobody(results, "write_amplification")
    return Drawing(Frame(2.4, [panels]), sees, data=_data(results, "4", "9"))


@chart(
    "Read amplification over all traces", "How much do larger pages cost, and does locality explain what is saved?",
    "across_reading",
)  # fmt: skip
def across_read_amplification(results: Collection) -> Drawing:
    """Boxes by page size, the scatter against the estimate; below, regressions on the discount (Fig. 10, 17, 18)."""
    sizes, estimates, discounts = (results.figure(name) for name in ("10", "17", "18"))
    if sizes is None:
        return _nobody(results, "read_amplification")
    x, marks = _boxed(sizes)
    marks.append(mark.tick_params(axis="x", labelsize=colours.SMALL_PT))
    x_axis = Axis(ticks="names", of=[plain_size(float(value)) for value in x])
    left = Panel(marks, "Read amplification by page size", x_axis, Axis(ticks="doublings"), sticky=False)
    below = [
        _discount(rows, name, labelled=place == 0 or is_column())
        for place, (name, rows) in enumerate(_discounts(discounts).items())
    ]
    rows = [[left, _estimates(estimates)]]
    if below or not is_column():
        rows.append(below or [Panel([mark.of("set_axis_off")()])])
    frame = Frame(5.2, rows, grid={"width_ratios": [1.5, 1.0]})
    return Drawing(frame, _sees_reading(sizes, discounts), data=_data(results, "10", "17", "18"))


def _estimates(table: SavedTable | None) -> Panel:
    series = _series(table)
    marks, top = [], 1.0
    for (name, rows), colour in zip(series.items(), colours.ordered(len(series)), strict=True):
        x, y = _statistic(rows, "trace")
        marks.append(mark.plot(x, y, "o", color=colour, markersize=3.5, label=name.replace("cache of ", "")))
        top = max([top, *x, *y])
    marks.append(_line(np.array([0.0, top]), 1.0, 0.0))
    title = "RA with 16 KiB pages / RA with one-sector pages"
    return Panel(marks, title, Axis("estimate from request sizes"), grid="both", legend=("upper left", "cache, pages"))


def _discounts(table: SavedTable | None) -> dict[tuple[str, str], SavedTable]:
    """The points of each page size and cache, both in words."""
    found = ((re.fullmatch(r"pages of (\d+), cache of (\d+)", name), of) for name, of in _series(table).items())
    return {(plain_size(int(name[1])), name[2]): of for name, of in found if name}


def _discount(table: SavedTable, name: tuple[str, str], *, labelled: bool) -> Panel:
    x, y = _statistic(table, "trace")
    ends = np.array([0.0, float(x.max()) if x.size else 1.0])
    marks = [mark.plot(x, y, "o", color=HUE, markersize=3.5), _line(ends, 1.0, 0.0)]
    slope, intercept = _single(table, "slope"), _single(table, "intercept")
    if slope is not None and intercept is not None:
        marks.append(mark.plot(ends, slope * ends + intercept, color=colours.HUES[2][0], linewidth=1.5))
    y_axis = Axis("estimate less RA") if labelled else Axis()
    return Panel(marks, ", cache of ".join(name), Axis("locality discount"), y_axis, "both")


def _line(x: Floats, slope: float, intercept: float) -> mark.Mark:
    return mark.plot(x, slope * x + intercept, color=colours.MUTED, linewidth=0.9, linestyle=(0, (3, 2)))


def _sees_reading(sizes: SavedTable, discounts: SavedTable | None) -> list[str]:
    x, most = _statistic(sizes, "maximum")
    sentences = []
    if x.size:
        share = units.percent(float(most[-1] * x[0] / x[-1] * 100))
        sentences.append(
            f"At {plain_size(float(x[-1]))} the highest read amplification is {units.ratio(float(most[-1]))}, "
            f"{share} of the page in sectors (SWC: never above 50 %)."
        )
    for (page, cache), rows in reversed(_discounts(discounts).items()):
        slope, fit = _single(rows, "slope"), _single(rows, "r_squared")
        if slope is not None and fit is not None:
            sentences.append(
                f"With pages of {page} and a cache of {cache} the difference to the estimate is "
                f"{units.significant(slope)} times the locality discount (R² {units.significant(fit, 2)}; the model "
                "says 1)."
            )
            break
    return sentences


@chart("Flash time of reading over all traces", "Do partial reads pay in general?", "across_reading")
def across_read_cost(results: Collection) -> Drawing:
    """Boxes by page size, whole beside partial reads, relative to whole reads of the smallest pages (Fig. 12)."""
    table = results.figure("12")
    if table is None:
        return _nobody(results, "read_amplification")
    marks: list[mark.Mark] = []
    x = np.zeros(0)
    for place, way, label, colour in (
        (-0.5, "full", "whole pages", colours.GREY[0]),
        (0.5, "partial", "partial reads", HUE),
    ):
        rows = table.where("series", f"slc-mlc, {way}")
        x = _statistic(rows, "median")[0]
        marks += _boxes(rows, np.arange(x.size, dtype=float) + place * 0.36, colour, 0.3)
        marks.append(mark.plot([], [], color=colour, linewidth=5, label=label))
    marks.append(mark.axhline(1, color=colours.MUTED, linewidth=0.8))
    x_axis = Axis("page size (SLC/MLC)", "names", [plain_size(float(value)) for value in x])
    title = "Flash time of all reads, relative to whole reads of the smallest pages"
    panel = Panel(marks, title, x_axis, Axis(low=0), legend=("upper left",), sticky=False)
    x, halved = _statistic(table.where("series", "slc-mlc, partial"), "halved_percent")
    sees = []
    if x.size:
        best = int(halved.argmax())
        sees.append(
            f"Partial reads at least halve the cost in up to {units.percent(float(halved[best]))} of the traces "
            f"(at {plain_size(float(x[best]))}; SWC: 75 %)."
        )
    return Drawing(Frame(2.7, [[panel]]), sees, data=_data(results, "12"))


@chart("Logical locality over all traces", "Is it better to look further or to wait longer?", "across_reading")
def across_locality(results: Collection) -> Drawing:
    """Histograms of the gains of waiting and distance over tenths, three distances and three times (Fig. 15, 16)."""
    panels, sees = [], []
    for figure, title, words in (
        ("15", "δP_D of writes: gain of waiting", "waiting adds"),
        ("16", "δP_T of writes: gain of distance", "a larger distance adds"),
    ):
        table = results.figure(figure)
        if table is None:
            continue
        rows = {name.partition(", ")[2]: of for name, of in _series(table).items() if name.startswith("write")}
        hues = colours.ordered(len(rows))
        bars = _histogram(((name, of, hue) for (name, of), hue in zip(rows.items(), hues, strict=True)), 10.0, 100.0)
        x_axis = Axis(ticks="shares")
        marks = [*bars, mark.legend(loc="upper right", handlelength=0.9)]
        panels.append(Panel(marks, f"Traces by {title}", x_axis, Axis(ticks="whole")))
        medians = {name: median for name, of in rows.items() if (median := _single(of, "median")) is not None}
        parts = [f"{units.percent(median * 100)} at {name}" for name, median in medians.items()]
        sees += [f"In the median trace {words} {', '.join(parts)}."] if parts else []
    if not panels:
        return _nobody(results, "large_enough")
    return Drawing(Frame(2.5, [panels], grid={"sharey": True}), sees, data=_data(results, "15", "16"))
