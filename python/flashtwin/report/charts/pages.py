"""Charts of pages and sectors: temperature ranges, write and read amplification, cost of reading, logical locality."""

import numpy as np

from flashtwin import units
from flashtwin.results.reading import Floats, SavedTable, TraceResults

from .. import colours, mark
from ..declared import Axis, ColourBar, Data, Drawing, Frame, Panel, chart, nothing, plain, plain_size
from .timelines import Curve, column_or_gaps, curve, curves

#: Sizes to draw when there are several: the paper's block size and the standard page.
PAGE_BYTES, BLOCK_PAGES = 4096.0, 128.0
_BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}


@chart("Temperature ranges", "How many partitions keep pages of like update frequency together?", "writing")
def temperature(workload: TraceResults) -> Drawing:
    """Partitions for a frequency ratio, and the lowest ratio for some partitions, by page size (SWC, Fig. 1, 6)."""
    partitions, f_min = workload.workload("partitions"), workload.workload("f_min")
    data = Data(("panel", "page_bytes", "x", "y"))
    panels, notes = [], []
    size_legend = ("upper right", "page size", 2)
    lowest_known = f_min is not None and f_min.get("f_min") is not None
    if partitions is not None and partitions.get("partitions") is not None:
        x_axis = Axis(
            "highest frequency ratio allowed within one (f_r)", "factors", (1.5, 2, 2.5, 3, 4, 5, 8, 10, 16, 32)
        )
        marks = _by_page(partitions, "frequency_ratio", "partitions", data)
        only = () if lowest_known else size_legend
        panels.append(Panel(marks, "Partitions needed", x_axis, Axis(ticks="whole", low=0), "both", only))
    if f_min is not None and lowest_known:
        y_axis = Axis(ticks="factors", of=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000))
        marks = _by_page(f_min, "partitions", "f_min", data)
        marks.append(mark.axhline(2, color=colours.MUTED, linewidth=0.8, linestyle=(0, (2, 2))))
        title = "Lowest frequency ratio reached (f_min)"
        panels.append(Panel(marks, title, Axis("partitions"), y_axis, "both", size_legend))
    if not panels:
        return nothing(
            "No table `partitions` or `f_min` was written: no page is written, or nothing was characterized."
        )
    if f_min is not None and np.isnan(f_min.columns.get("f_min", np.zeros(1))).any():
        notes.append("Values of f_min beyond 1,000 are not searched for and not drawn.")
    return Drawing(Frame(2.9, [panels]), _sees_temperature(partitions), notes, data)


def _by_page(table: SavedTable, x: str, y: str, data: Data) -> list[mark.Mark]:
    sizes = table.values("page_bytes")
    marks = []
    for page, colour in zip(sizes, colours.ordered(len(sizes)), strict=True):
        found = curve(table.where("page_bytes", page), x, y)
        if found is not None:
            marks.append(mark.small_dots(found, colour, plain_size(page)))
            data.add((y, page), *found)
    return marks


def _sees_temperature(partitions: SavedTable | None) -> list[str]:
    if partitions is None or not (sizes := partitions.values("page_bytes")):
        return []
    page = sizes[0]
    rows = partitions.where("page_bytes", page)
    parts = [
        f"{needed[0]:.0f} for f_r ≤ {plain(ratio)}"
        for ratio in (1.5, 2.0, 3.0)
        if (needed := rows.where("frequency_ratio", ratio).get("partitions")) is not None
    ]
    if not parts:
        return []
    words = f"Partitions needed with pages of {plain_size(page)}: {', '.join(parts)}."
    return [words, "SWC finds 3-26, 2-16 and 2-11 over its traces."]


@chart(
    "Write amplification and partitions",
    "What does separating hot from cold pages save, and how much space must be spare?",
    "writing",
)
def wa_partitions(workload: TraceResults) -> Drawing:
    """The grid's runs at one page and block size, one line an over-provisioning (SWC, Fig. 2 and 3)."""
    every = workload.workload("write_amplification")
    table = every.where("purpose", "grid") if every is not None else None
    if table is None or table.get("write_amplification") is None:
        return _no_amplification(every)
    page = _usual(table, "page_bytes", PAGE_BYTES)
    table = table.where("page_bytes", page)
    block = _usual(table, "block_pages", BLOCK_PAGES)
    table = table.where("block_pages", block)
    data = Data(("over_provisioning_percent", "partitions", "write_amplification"))
    provisions = table.values("over_provisioning_percent")
    marks, lines = [], {}
    for provision, colour in zip(provisions, reversed(colours.ordered(len(provisions))), strict=True):
        found = curve(table.where("over_provisioning_percent", provision), "partitions_asked", "write_amplification")
        if found is not None:
            lines[provision] = found
            marks.append(mark.plot(*found, color=colour, marker="o", markersize=3.5, label=f"{plain(provision)} %"))
            data.add((provision,), *found)
    if not lines:
        return nothing("No run of the grid has a write amplification: the partitions do not fit into the spare blocks.")
    marks.append(mark.legend(**_BESIDE, title="OP", handlelength=1.4, alignment="left"))
    ends = [float(end(y)) for _, y in lines.values() for end in (np.min, np.max)]
    top = max(ends) + 0.05 * (max(ends) - min(ends))
    x_axis = Axis(f"partitions (pages of {plain_size(page)}, blocks of {block:.0f} pages)", "whole")
    panel = Panel(marks, "Write amplification", x_axis, Axis(low=1.0 - 0.03 * (top - 1.0)), "both")
    return Drawing(Frame(2.9, [[panel]]), _sees_partitions(lines), _without_result(table), data)


def _usual(table: SavedTable, column: str, wanted: float) -> float:
    """The wanted size, or the smallest there is."""
    sizes = table.values(column)
    return wanted if wanted in sizes or not sizes else sizes[0]


def _no_amplification(table: SavedTable | None) -> Drawing:
    reasons = [reason for reason in table.texts.get("why_missing", ()) if reason] if table else []
    if reasons:
        return nothing(f"The write amplification could not be simulated: {reasons[0].rstrip('.')}.")
    return nothing(
        "No table `write_amplification` was written: no page is written, or the trace was not characterized."
    )


def _without_result(table: SavedTable) -> list[str]:
    reasons = [reason for reason in table.texts.get("why_missing", ()) if reason]
    return [f"{len(reasons)} of {table.rows} runs have no result: {reasons[0].rstrip('.')}."] if reasons else []


def _sees_partitions(lines: dict[float, Curve]) -> list[str]:
    if all(float(y.max()) <= 1.0 for _, y in lines.values()):
        return ["The trace does not overwrite enough to fill the device, so no valid page is ever moved."]
    provision = min(lines)
    values = dict(zip(*(map(float, column) for column in lines[provision]), strict=True))
    first, best = min(values), min(values, key=lambda count: (values[count], count))
    start = f"{units.ratio(values[first])} with {units.plural(first, 'partition')}"
    words = f"At OP {plain(provision)} % the write amplification is {start}"
    if best != first:
        words += f" and lowest, {units.ratio(values[best])}, with {units.plural(best, 'partition')}"
    return [f"{words}."]


@chart("Write amplification and page size", "Where does another partition cost more than it saves?", "writing")
def wa_page_size(workload: TraceResults) -> Drawing:
    """Write amplification against partitioning overhead, a line a page size, f_r = 2 and 3 marked (SWC, Fig. 8)."""
    every = workload.workload("write_amplification")
    if every is None or every.get("write_amplification") is None:
        return _no_amplification(every)
    provision = next(iter(every.values("over_provisioning_percent")), np.nan)
    table = every.where("over_provisioning_percent", provision)
    table = table.where("block_pages", _usual(table, "block_pages", BLOCK_PAGES))
    if table.get("write_amplification") is None:
        return _no_amplification(every)
    overhead, amplification = "partitioning_overhead", "write_amplification"
    data = Data(("page_bytes", "purpose", "partitions", overhead, amplification))
    ratios = (("f_r<=2", "f_r ≤ 2", "v"), ("f_r<=3", "f_r ≤ 3", "s"))
    pages = table.values("page_bytes")
    marks, parts = [], []
    for page, colour in zip(pages, colours.ordered(len(pages)), strict=True):
        rows = table.where("page_bytes", page)
        found = curve(rows.where("purpose", "grid"), overhead, amplification)
        if found is not None:
            marks.append(mark.small_dots(found, colour, plain_size(page)))
        for purpose, _, shape in ratios:
            marked = rows.where("purpose", purpose)
            x, y = marked.get(overhead), marked.get(amplification)
            if x is not None and y is not None:
                marks.append(mark.plot(x, y, shape, color=colour, markersize=7, markeredgecolor=colours.SURFACE))
            if y is not None and purpose == "f_r<=3":
                parts.append(f"{units.ratio(float(y[0]))} at {plain_size(page)}")
        columns = zip(*(column_or_gaps(rows, name) for name in data.header[2:]), strict=True)
        purposes = rows.texts.get("purpose", ("",) * rows.rows)
        data.rows += [(page, name, *map(float, row)) for name, row in zip(purposes, columns, strict=True)]
    marks += [mark.plot([], [], shape, color=colours.MUTED, markersize=6, label=label) for _, label, shape in ratios]
    marks.append(mark.legend(**_BESIDE, handlelength=1.4))
    x_axis = Axis("partitioning overhead: (partitions + 1) / over-provisioned blocks", "log shares")
    panel = Panel(marks, f"Write amplification at OP {plain(provision)} %", x_axis, grid="both")
    sees = f"With as many partitions as f_r ≤ 3 needs, the write amplification is {', '.join(parts)}."
    return Drawing(
        Frame(3.1, [[panel]]), [sees if parts else f"{len(pages)} page sizes were looked at."],
        _without_result(table), data,
    )  # fmt: skip


@chart(
    "Read amplification",
    "How much more is read than asked for as pages grow, and how much of it does a small cache save?",
    "reading",
)
def read_amplification(workload: TraceResults) -> Drawing:
    """By page size, one line a cache; the estimate from request sizes against the discount (SWC, Fig. 10 and 17)."""
    table = workload.workload("read_amplification")
    if table is None or table.get("read_amplification") is None:
        return nothing("No table `read_amplification` was written: no page is read, or nothing was characterized.")
    data = Data(("page_bytes", "cache_pages", "read_amplification", "estimated", "locality_discount"))
    frame = Frame(2.9, [[_by_cache(table, data), _estimate(table)]], grid={"width_ratios": [1.5, 1.0]})
    # The read simulator always has a cache of one page.
    rows = table.where("cache_pages", 1.0)
    found = curve(rows if rows.rows else table, "page_bytes", "read_amplification")
    if found is None:
        return Drawing(frame, data=data)
    amplification = dict(zip(map(float, found[0]), map(float, found[1]), strict=True))
    shown = [size for size in (4096.0, 8192.0, 16384.0, 32768.0) if size in amplification] or [max(amplification)]
    parts = [f"{units.ratio(amplification[size])} at {plain_size(size)}" for size in shown]
    return Drawing(frame, [f"With a buffer of one page the read amplification is {', '.join(parts)}."], data=data)


def _by_cache(table: SavedTable, data: Data) -> Panel:
    caches = table.values("cache_pages")
    marks = []
    for cache, colour in zip(caches, colours.ordered(len(caches)), strict=True):
        rows = table.where("cache_pages", cache)
        found = curve(rows, "page_bytes", "read_amplification")
        if found is not None:
            label = "no cache" if cache == 0 else f"cache of {units.plural(cache, 'page')}"
            marks.append(mark.plot(*found, color=colour, marker="o", markersize=3, label=label))
        if all(name in rows.columns for name in data.header):
            data.add((), *(rows.columns[name] for name in data.header))
    estimate = curve(table.where("cache_pages", next(iter(caches), 0.0)), "page_bytes", "estimated")
    if estimate is not None:
        dashed = {"color": colours.MUTED, "linewidth": 1.2, "linestyle": (0, (3, 2))}
        marks.append(mark.plot(*estimate, **dashed, label="estimate from sizes"))
    x_axis = Axis("page size", "sizes", table.values("page_bytes"))
    return Panel(marks, "Sectors read / sectors asked for", x_axis, Axis(ticks="doublings"), "both", ("upper left",))


def _estimate(table: SavedTable) -> Panel:
    """The estimate less the value of one-sector pages as the unit, against the discount; the model is the diagonal."""
    x, y = table.get("locality_discount"), table.get("estimated")
    if x is None or y is None or table.get("normalised") is None:
        return Panel([mark.of("set_axis_off")()])
    gap = y - table.columns["normalised"]
    caches = table.values("cache_pages")
    marks = []
    for cache, colour in zip(caches, colours.ordered(len(caches)), strict=True):
        keep = table.columns["cache_pages"] == cache
        marks.append(mark.plot(x[keep], gap[keep], "o", color=colour, markersize=4))
    top = max(float(value) for value in (*x[x == x], *gap[gap == gap], 0.01))
    marks.append(mark.plot([0, top], [0, top], color=colours.MUTED, linewidth=0.9, linestyle=(0, (2, 2))))
    x_axis = Axis("locality discount: estimate × P(page, cache)")
    return Panel(marks, "Estimate less read amplification", x_axis, grid="both")


@chart("Flash time of reading", "What do larger pages cost or save in reading, and do partial reads pay?", "reading")
def read_cost(workload: TraceResults) -> Drawing:
    """Flash time of all reads by page size: two ways of reading, one line style a chip (SWC, Fig. 11)."""
    table = workload.workload("read_cost")
    if table is None or table.get("full_ns") is None:
        return nothing("No table `read_cost` was written: no page is read, or the trace was not characterized.")
    data = Data(("chip", "page_bytes", "way", "ns"))
    marks = []
    for chip, words, dash in (("slc-mlc", "SLC/MLC", "-"), ("tlc", "TLC", (0, (4, 2)))):
        for column, label, colour in (
            ("full_ns", "whole pages", colours.SERIES[3][0]),
            ("partial_ns", "partial reads", colours.SERIES[0][0]),
        ):
            found = curve(table.where("chip", chip), "page_bytes", column)
            if found is None:
                continue
            x, y = found
            # TLC is known for one page size only (SWC, Table 2): a point.
            dots = {"marker": "s", "markersize": 5} if x.size == 1 else {"marker": "o", "markersize": 4}
            marks.append(mark.plot(x, y / 1e9, color=colour, linestyle=dash, label=f"{label}, {words}", **dots))
            data.rows += [(chip, float(size), column, float(ns)) for size, ns in zip(x, y, strict=True)]
    marks.append(mark.legend(**_BESIDE, handlelength=1.8))
    x_axis = Axis("page size", "sizes", table.values("page_bytes"))
    panel = Panel(marks, "Flash time of all reads, in seconds", x_axis, Axis(low=0), "both")
    return Drawing(Frame(2.7, [[panel]]), _sees_cost(table.where("chip", "slc-mlc")), data=data)


def _sees_cost(rows: SavedTable) -> list[str]:
    full, partial = curve(rows, "page_bytes", "full_ns"), curve(rows, "page_bytes", "partial_ns")
    if full is None or partial is None:
        return []
    costs = dict(zip(*full, strict=True))
    cheapest = min(costs, key=lambda size: (costs[size], size))
    sentences = [f"Whole pages are read fastest at {plain_size(float(cheapest))}: {units.duration(costs[cheapest])}."]
    parts = [
        f"{units.percent((1 - part / costs[size]) * 100)} at {plain_size(float(size))}"
        for size, part in zip(*partial, strict=True)
        if size in (8192.0, 16384.0, 32768.0) and costs.get(size)
    ]
    return sentences + ([f"Partial reads save {', '.join(parts)} on SLC/MLC."] if parts else [])


@chart("Logical locality", "How likely is another request to a nearby page, and how soon?", "locality")
def locality(workload: TraceResults) -> Drawing:
    """P(D, T) as a map and in cross-sections, a row for each kind of request (SWC, Fig. 14)."""
    table = workload.workload("logical_locality")
    data = Data(("kind", "distance_pages", "time_requests", "probability"))
    rows, sees = [], []
    for kind in ("write", "read"):
        part = table.where("kind", kind) if table is not None else None
        if part is None or part.get("probability") is None:
            continue
        distance, row_of = np.unique(part.columns["distance_pages"], return_inverse=True)
        time, column_of = np.unique(part.columns["time_requests"], return_inverse=True)
        probability = np.full((distance.size, time.size), np.nan)
        probability[row_of, column_of] = part.columns["probability"]
        rows.append([
            _map(kind, distance, time, probability),
            _sections(distance, probability.T, time, (1.0, 25.0, 250.0), "distance (pages)", "request"),
            _sections(time, probability, distance, (1.0, 16.0, 64.0), "time (requests)", "page"),
        ])  # fmt: skip
        data.add((kind,), np.repeat(distance, time.size), np.tile(time, distance.size), probability.flatten())
        sees += _sees_locality(kind, distance, time, probability)
    if not rows:
        return nothing("No table `logical_locality` was written: the trace was not characterized.")
    how = {"location": "left", "shrink": 0.7, "aspect": 25, "pad": 0.02}
    bar = ColourBar([row[0] for row in rows], how, " %")
    return Drawing(
        Frame(2.75 * len(rows) + 0.2, rows, grid={"width_ratios": [1.25, 1.0, 1.0]}, colour_bar=bar), sees, data=data
    )


def _map(kind: str, distance: Floats, time: Floats, probability: Floats) -> Panel:
    cells = mark.heat(_edges(np.maximum(distance, 0.5)), _edges(time), probability.T * 100, most=100)
    return Panel(
        [cells], f"{kind.capitalize()}s: share that meet another", Axis("distance (pages)", "log counts"),
        Axis("time (requests)", "log counts"), "none",
    )  # fmt: skip


def _edges(centres: Floats) -> Floats:
    if centres.size == 1:
        return np.array([centres[0] / 1.5, centres[0] * 1.5])
    between = np.sqrt(centres[1:] * centres[:-1])
    return np.concatenate([[centres[0] ** 2 / between[0]], between, [centres[-1] ** 2 / between[-1]]])


def _sections(x: Floats, probability: Floats, at: Floats, wanted: tuple[float, ...], along: str, unit: str) -> Panel:
    places = list(dict.fromkeys(int(np.abs(at - value).argmin()) for value in (*wanted, at[-1])))
    marks = []
    for place, colour in zip(places, colours.ordered(len(places)), strict=True):
        label = units.plural(float(at[place]), unit)
        marks.append(mark.plot(np.maximum(x, 0.5), probability[place] * 100, color=colour, label=label))
    return Panel(marks, "", Axis(f"within this {along}", "log counts"), Axis(ticks="shares"), "both", ("best",))


def _sees_locality(kind: str, distance: Floats, time: Floats, probability: Floats) -> list[str]:
    def at(pages: float, requests: float) -> float:
        return float(probability[np.abs(distance - pages).argmin(), np.abs(time - requests).argmin()]) * 100

    near, soon, both = at(1, time[-1]), at(distance[-1], 1), at(distance[-1], time[-1])
    if not np.isfinite([near, soon, both]).all():
        return []
    return [
        f"{units.percent(at(1, 1))} of the {kind}s meet the next one at a distance of one page at most, "
        f"{units.percent(near)} one of the next {units.count(float(time[-1]))}, and {units.percent(soon)} the "
        f"next one within {units.count(float(distance[-1]))} pages."
    ]


@chart("What waiting is worth", "Is it better to look further or to wait longer?", "locality")
def locality_gain(workload: TraceResults) -> Drawing:
    """Gains of logical locality by a longer wait, and by a larger distance (SWC, Fig. 15 and 16)."""
    table = workload.workload("locality_gain")
    if table is None or table.get("gain") is None:
        return nothing("No table `locality_gain` was written: the trace was not characterized.")
    data = Data(("along", "kind", "at", "gain"))
    looks = {"write": ("writes", colours.WRITE[0]), "read": ("reads", colours.READ[0])}
    panels = []
    best: dict[str, list[str]] = {kind: [] for kind in looks}
    # Sentences are of the largest distance and the longest time that the paper shows.
    for along, title, label, most in (
        ("time", "Gain of waiting, at this distance (δP_D)", "distance (pages)", 64),
        ("distance", "Gain of looking further, at this time (δP_T)", "time (requests)", 250),
    ):
        marks = []
        for kind, (x, y) in curves(table.where("along", along), "kind", looks, "at", "gain").items():
            words, colour = looks[kind]
            marks.append(mark.plot(np.maximum(x, 0.5), y * 100, color=colour, marker="o", markersize=3, label=words))
            data.add((along, kind), x, y)
            best[kind].append(units.percent(float(y[x <= most].max(initial=0.0)) * 100))
        panels.append(Panel(marks, title, Axis(label, "log counts"), Axis(ticks="shares"), "both", ("best",)))
    sees = [
        f"For {looks[kind][0]}, waiting adds up to {found[0]} within 64 pages, a larger distance up "
        f"to {found[1]} within 250 requests."
        for kind, found in best.items()
        if len(found) == 2
    ]
    frame = Frame(2.6, [panels], grid={"sharey": True})
    return Drawing(frame, sees or ["The gains of one kind of request only are known."], data=data)
