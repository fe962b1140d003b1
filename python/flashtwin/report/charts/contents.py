"""Charts of a trace's contents: how popular they are, how long they stay so, and what they take in caches and space."""

from __future__ import annotations

import numpy as np

from flashtwin import units
from flashtwin.results.reading import Floats, SavedTable, TraceResults

from .. import colours, mark
from ..declared import Axis, Data, Drawing, Frame, Panel, chart, line_key, nothing
from .timelines import Curve, column_or_gaps, columns, curve, curves, first_at

READ, WRITE = colours.READ[0], colours.WRITE[0]
MAIN, SECOND, THIRD, REST = (light for light, _ in colours.SERIES)
_SHARES = Axis(ticks="shares")


def no_content(workload: TraceResults, table: str) -> Drawing:
    if workload.trace.get("has_content") is False:
        return nothing("The trace carries no content.")
    return nothing(
        f"No table `{table}` was written: the trace was not characterized, or has no page with known content."
    )


@chart(
    "Contents by how often they are read",
    "Are the contents that are read most also those that are written most?",
    "contents",
)
def popularity_reads(workload: TraceResults) -> Drawing:
    """Reads and writes over contents sorted by reads: the reach of replicating popular ones (RR-SSD, Fig. 4)."""
    looks = {"read_by_read_order": ("reads", READ), "write_by_read_order": ("writes", WRITE)}
    found = curves(workload.workload("popularity"), "kind", looks, "value_fraction", "access_fraction")
    if not found:
        return no_content(workload, "popularity")
    data = Data(("kind", "value_fraction", "access_fraction"))
    marks = []
    for kind, (x, y) in found.items():
        label, colour = looks[kind]
        marks.append(mark.plot(np.append(0, x) * 100, np.append(0, y) * 100, color=colour, label=label))
        data.add((kind,), x, y)
    # The contents that receive 80 % of the reads are marked, as in the paper.
    at = first_at(*found["read_by_read_order"], 0.8) if "read_by_read_order" in found else None
    if at is not None:
        marks += [
            mark.plot(x, y, color=colours.MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
            for x, y in (([at * 100] * 2, [0, 80]), ([0, at * 100], [80] * 2))
        ]
    x_axis = Axis("of all contents, the most read first", "shares")
    panel = Panel(marks, "Share of page accesses that they receive", x_axis, _SHARES, "both", ("lower right",))
    if at is None:
        return Drawing(Frame(2.8, [[panel]]), ["No page with known content is read."], data=data)
    words = f"80 % of the page reads go to {units.percent(at * 100)} of the contents"
    if "write_by_read_order" in found:
        share = float(np.interp(at, *found["write_by_read_order"])) * 100
        words += f", which receive {units.percent(share)} of the page writes"
    return Drawing(Frame(2.8, [[panel]]), [f"{words}."], data=data)


@chart(
    "Popularity from period to period",
    "Are the contents that are popular in one period popular in the next ones?",
    "contents",
)
def popularity_drift(workload: TraceResults) -> Drawing:
    """One line a period, all on the first period's order of contents (RR-SSD, Fig. 5)."""
    table = workload.workload("popularity_by_period")
    if table is None:
        return no_content(workload, "popularity_by_period")
    periods = table.values("period")
    # More than eight lines are not told apart: the first, the last and evenly between.
    few = range(len(periods)) if len(periods) <= 8 else np.unique(np.linspace(0, len(periods) - 1, 8).astype(int))
    of_few = {
        int(periods[at]): curve(table.where("period", periods[at]), "value_fraction", "access_fraction") for at in few
    }
    lines = {period: found for period, found in of_few.items() if found is not None}
    if not lines:
        return nothing("No period has page reads of known content.")
    data = Data(("period", "value_fraction", "access_fraction"))
    looks = dict(zip(lines, colours.ordered(len(lines)), strict=True))
    marks = []
    for period, (x, y) in lines.items():
        marks.append(mark.plot(np.append(0, x) * 100, np.append(0, y) * 100, color=looks[period]))
        data.add((period,), x, y)
    panel = Panel(
        marks, "Share of a period's page reads that they receive",
        Axis("of the contents, those most read in the first period first", "shares"), _SHARES, "both",
    )  # fmt: skip
    keys = [line_key(f"period {period + 1}", color=looks[period]) for period in lines]
    left_out = f"{len(periods) - len(lines)} of {len(periods)} periods are left out."
    notes = [left_out] if len(lines) < len(periods) else []
    return Drawing(Frame(2.8, [[panel]], keys, 8), _sees_drift(lines), notes, data)


def _sees_drift(lines: dict[int, Curve]) -> list[str]:
    first = min(lines)
    later = [float(np.interp(0.1, x, y)) * 100 for period, (x, y) in lines.items() if period != first]
    own = float(np.interp(0.1, *lines[first])) * 100
    words = f"The tenth of contents most read in period {first + 1} receives {units.percent(own)} of its page reads"
    if not later:
        return [f"{words}; there is no later period to compare with."]
    low, high = units.percent(min(later)), units.percent(max(later))
    return [f"{words}, and {low if low == high else f'{low} to {high}'} of those of later periods."]


@chart(
    "What one period tells about the next",
    "How many reads would copies made at the end of the period before have served?",
    "contents",
)
def stability(workload: TraceResults) -> Drawing:
    """Where a period's reads go: contents popular before, read before, seen before, new (RR-SSD, Fig. 5 and 6)."""
    table = workload.workload("popularity_stability")
    if table is None:
        return no_content(workload, "popularity_stability")
    looks = {
        "popular_before_percent": ("popular one period ago", SECOND),
        "read_before_percent": ("read one period ago", MAIN),
        "seen_before_percent": ("seen one period ago", THIRD),
        "first_read_percent": ("never read before", REST),
    }
    period, new = table.columns["period"] + 1, table.get("new_contents")
    shares = {name: values for name in looks if (values := table.get(name)) is not None}
    if not shares and new is None:
        return nothing("There is one period only, so nothing can be said of stability.")
    data = Data(("period", "series", "value"))
    for name, values in (*shares.items(), *([("new_contents", new)] if new is not None else [])):
        data.rows += [
            (int(at), name, float(value)) for at, value in zip(period, values, strict=True) if np.isfinite(at)
        ]
    dots = {"marker": "o" if period.size <= 40 else "", "markersize": 4}
    lines = {name: {"color": looks[name][1], **dots} for name in shares}
    above = Panel(
        [mark.plot(period, values, **lines[name]) for name, values in shares.items()],
        "Page reads of a period, by what is known of their contents", y=_SHARES,
    )  # fmt: skip
    bars = [] if new is None else [mark.bar(period, new, 0.7, color=READ, linewidth=0)]
    below = Panel(bars, "Contents seen for the first time", Axis("period", "whole", 14), Axis(ticks="counts"))
    keys = [line_key(looks[name][0], **how) for name, how in lines.items()]
    frame = Frame(4.0, [[above], [below]], keys, grid={"sharex": True, "height_ratios": [2.2, 1.0]})
    return Drawing(frame, _sees_stability(shares, new), data=data)


def _sees_stability(shares: dict[str, Floats], new: Floats | None) -> list[str]:
    sentences = []
    popular, first = shares.get("popular_before_percent"), shares.get("first_read_percent")
    if popular is not None and np.isfinite(popular).any():
        sentences.append(
            f"On average {units.percent(float(np.nanmean(popular)))} of a period's page reads go to the tenth of "
            "contents that was read most in the period before."
        )
    if first is not None and np.isfinite(first[1:]).any():
        sentences.append(f"{units.percent(float(np.nanmean(first[1:])))} go to contents never read before.")
    if new is not None and new.size > 1:
        most = units.count(float(np.nanmax(new[1:])))
        sentences.append(f"After the first, up to {most} new contents appear in a period.")
    return sentences or ["There is one period only."]


@chart("How large a cache must be", "How soon do contents come again, and how soon addresses?", "contents")
def miss_ratio(workload: TraceResults) -> Drawing:
    """Miss ratio of an LRU cache by its entries: writes beside reads, contents beside addresses (CA-SSD, Fig. 3)."""
    table = workload.workload("miss_ratio")
    if table is None:
        return nothing("No table `miss_ratio` was written: the trace was not characterized.")
    data = Data(("kind", "of", "entries", "miss_fraction", "miss_fraction_error"))
    panels, sees = [], []
    for kind in ("write", "read"):
        rows = table.where("kind", kind)
        if not rows.rows:
            continue
        found = curves(rows, "of", ("content", "address"), "entries", "miss_fraction")
        marks: list[mark.Mark] = []
        for of, line in found.items():
            part = rows.where("of", of)
            marks += _misses(line, part.get("miss_fraction_error"), of)
            data.add((kind, of), *(column_or_gaps(part, name) for name in data.header[2:]))
        x_axis = Axis("entries (one content or one address each)", "log counts")
        title = f"{kind.capitalize()}s that miss an LRU cache"
        panels.append(Panel(marks, title, x_axis, _SHARES, "both", ("lower left",)))
        sees += _sees_misses(kind, found)
    if not data.rows:
        return nothing("The table `miss_ratio` holds no curve: no page is read or written twice.")
    frame = Frame(2.8, [panels], grid={"sharey": True})
    return Drawing(frame, sees or ["Nothing is accessed twice."], data=data)


def _misses(line: Curve, error: Floats | None, of: str) -> list[mark.Mark]:
    label, colour = {"content": ("contents", SECOND), "address": ("addresses", REST)}[of]
    x, y = np.maximum(line[0], 1.0), line[1]
    marks = [mark.step(x, y * 100, where="post", color=colour, label=label)]
    if error is not None and error.size == y.size:
        low, high = np.clip(y - error, 0, 1) * 100, np.clip(y + error, 0, 1) * 100
        marks.append(mark.fill_between(x, low, high, step="post", color=colour, alpha=0.2, linewidth=0))
    return marks


def _sees_misses(kind: str, found: dict[str, Curve]) -> list[str]:
    if "content" not in found:
        return []
    entries, misses = found["content"]
    hits = 1.0 - misses
    if hits.max() <= 0:
        return [f"No content is {'read' if kind == 'read' else 'written'} twice."]
    # The fewest entries with 90 % of the hits that an unlimited cache has.
    needed = first_at(entries, hits, 0.9 * hits.max())
    words = f"{units.percent((1 - float(misses.min())) * 100)} of the page {kind}s repeat a content"
    return [f"{words}; 90 % of these hits need {units.count(needed)} entries."]


@chart(
    "Misses of popular contents",
    "Does a small cache keep the contents that make up half of the accesses?",
    "contents",
)
def popular_misses(workload: TraceResults) -> Drawing:
    """One line a kind: lookups of popular contents that an LRU cache of all contents misses (CA-SSD, Fig. 4)."""
    looks = {"write": ("writes", WRITE), "read": ("reads", READ)}
    found = curves(workload.workload("popular_miss_ratio"), "kind", looks, "entries", "miss_fraction")
    if not found:
        return nothing("No table `popular_miss_ratio` was written, or no content is popular.")
    data = Data(("kind", "entries", "miss_fraction"))
    marks, sees = [], []
    for kind, (x, y) in found.items():
        label, colour = looks[kind]
        marks.append(mark.step(np.maximum(x, 1), y * 100, where="post", color=colour, label=label))
        data.add((kind,), x, y)
        # The cache that the paper quotes.
        if x[0] <= 65_536:
            share = units.percent(float(y[np.searchsorted(x, 65_536, "right") - 1]) * 100)
            words = f"Of the {label} of popular contents {share} miss a cache of 64 K entries (1.75 MiB at 28 B each)."
            sees.append(words)
    x_axis = Axis("entries of the LRU cache", "log counts")
    panel = Panel(marks, "Lookups of popular contents that miss", x_axis, _SHARES, "both", ("upper right",))
    sees = sees or ["The smallest cache looked at has more than 64 K entries."]
    return Drawing(Frame(2.6, [[panel]]), sees, data=data)


@chart(
    "Space with and without duplicates",
    "How much of the footprint would a store need that keeps each content once?",
    "contents",
)
def space(workload: TraceResults) -> Drawing:
    """Pages that hold data and distinct contents among them, at the end of each period."""
    table = workload.workload("space")
    if table is None:
        return no_content(workload, "space")
    known = columns(table, "end_ns", "pages_held", "contents_held")
    if known is None:
        return nothing("The table `space` holds no pages with data.")
    end, pages, contents = known
    at, held = np.append(0.0, end), np.append(contents[:1], contents)
    marks = [
        mark.step(at, np.append(pages[:1], pages), where="pre", color=REST),
        mark.step(at, held, where="pre", color=MAIN),
        mark.fill_between(at, held, step="pre", color=MAIN, alpha=0.15, linewidth=0),
    ]
    last_ns = float(end[-1])
    x_axis = Axis("time of the trace", "time", (last_ns, 6), low=0, high=last_ns)
    panel = Panel(marks, x=x_axis, y=Axis(ticks="counts", low=0, high=float(np.nanmax(pages)) * 1.05))
    keys = [
        line_key("pages that hold data", color=REST),
        line_key("distinct contents among them", color=MAIN),
    ]
    data = Data(("period", "end_ns", "pages_held", "contents_held", "share_percent"))
    data.add((), *(column_or_gaps(table, name) for name in data.header))
    words = (
        f"At the end {units.count(float(pages[-1]))} pages hold {units.count(float(contents[-1]))} distinct contents"
    )
    share = float(column_or_gaps(table, "share_percent")[-1])
    words += f": {units.percent(share)} of the space." if np.isfinite(share) else "."
    return Drawing(Frame(2.5, [[panel]], keys), [words], data=data)


@chart("Duplicates within planes", "How many of a plane's pages does the same plane hold already?", "contents")
def planes(workload: TraceResults) -> Drawing:
    """One panel an allocation: a plane's pages whose content the plane holds already (DS-FTL, Fig. 3 and 4)."""
    table = workload.workload("duplicates_by_plane")
    if table is None:
        return no_content(workload, "duplicates_by_plane")
    names = {"static": "static allocation (by address)", "round-robin": "round robin (in order of writing)"}
    number = max(table.values("planes"), default=None)
    data = Data(("allocation", "planes", "plane", "pages", "contents", "duplicate_percent"))
    panels, sees = [], []
    for allocation in dict.fromkeys(table.texts.get("allocation", ())):
        rows = table.where("allocation", allocation)
        data.add((allocation,), *(column_or_gaps(rows, name) for name in data.header[1:]))
        panel, sentence = _planes(rows, names.get(allocation, allocation), number)
        panels.append(panel)
        sees += sentence
    if not sees:
        return nothing("The table `duplicates_by_plane` holds no plane with pages.")
    share = workload.fact("duplicate_write_percent")
    sees += [f"On the whole device {units.percent(share)} of the page writes are."] if share is not None else []
    return Drawing(Frame(2.5, [panels], grid={"sharey": True}), sees, data=data)


def _planes(rows: SavedTable, name: str, number: float | None) -> tuple[Panel, list[str]]:
    shown = rows if number is None else rows.where("planes", number)
    percent = shown.get("duplicate_percent")
    if percent is None:
        return Panel(grid="none"), []
    mean, low, high = (float(of(percent)) for of in (np.nanmean, np.nanmin, np.nanmax))
    marks = [
        mark.bar(shown.columns["plane"], percent, 0.75, color=MAIN, linewidth=0),
        mark.axhline(mean, color=colours.INK, linewidth=1.0, linestyle=(0, (4, 2))),
    ]
    x_axis = Axis("plane" if number is None else f"plane, of {int(number)}")
    between = f"{units.percent(low)} to {units.percent(high)} ({units.percent(mean)} on average)"
    return Panel(marks, name.capitalize(), x_axis, Axis(ticks="percents")), [f"Under {name} {between} are duplicates."]
