"""Charts of what is on flash and in RAM: programs, victims, copies, how busy the device is, mapping tables."""

from __future__ import annotations

import numpy as np

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import colours, mark
from ..declared import Axis, Data, Drawing, Frame, Panel, chart, is_column, line_key, nothing, patch_key, with_change
from .response import bars_of, note, stacked
from .timelines import columns


@chart("Pages programmed, by cause", "What was written to flash, why, and what does it cost in life?", "flash")
def writes(study: StudyFolder) -> Drawing:
    """One stacked bar a system; write amplification, erases and life used beside it (CA-SSD paper: W_total)."""
    causes = {
        run: {key: pages for key, _ in facts.CAUSES if (pages := run.count(f"flash_writes.{key}")) > 0}
        for run in study.runs
    }
    if not any(causes.values()):
        return nothing("No run recorded a flash write: the trace has no writes, or `flash_writes` is missing.")
    totals = {run: sum(of.values()) for run, of in causes.items()}
    labels = dict(facts.CAUSES)
    marks = []
    for place, run in enumerate(study.runs):
        parts = [
            (labels[key], pages, f"{units.count(pages)} pages",
             {"color": colours.CAUSE_COLOURS[key][0], "edgecolor": colours.SURFACE, "linewidth": 0.6})
            for key, pages in causes[run].items()
        ]  # fmt: skip
        bars, end = stacked(place, run.label, parts)
        change = None if run is study.baseline else facts.change(end, totals[study.baseline])
        marks += [*bars, mark.value_label(end, place, with_change(units.count(end), change))]
    x_axis = Axis("pages programmed", "counts", low=0, high=max(totals.values()) * 1.3 or 1.0)
    keys = [
        patch_key(label, colours.CAUSE_COLOURS[key][0])
        for key, label in facts.CAUSES
        if any(of.get(key) for of in causes.values())
    ]
    panels = [Panel(marks, x=x_axis, y=bars_of(study), grid="x"), _figures(study)]
    frame = Frame(max(1.9, 1.05 + 0.42 * len(study.runs)), [panels], keys, grid={"width_ratios": [3.1, 1.0]})
    data = Data(("system", *labels, "pages_programmed", "write_amplification", "erases", "life_used_percent"))
    fields = ("pages_programmed", "write_amplification", "erases.total", "erases.life_used_percent")
    for run in study.runs:
        paths = (*(f"flash_writes.{key}" for key in labels), *fields)
        data.rows.append((run.name, *(run.number(path) for path in paths)))
    notes = note("No flash write was recorded for {}.", [run.label for run in study.runs if not causes[run]])
    return Drawing(frame, _sees_writes(study), notes, data)


def _figures(study: StudyFolder) -> Panel:
    marks = [mark.of("set_frame_on")(False)]
    if not is_column():
        marks.append(mark.of("tick_params")(axis="y", labelleft=False))
    for at, title, cells in (
        (0.20, "WA", [units.ratio(run.number("write_amplification")) for run in study.runs]),
        (0.57, "erases", [units.count(run.number("erases.total")) for run in study.runs]),
        (1.00, "life used", [units.percent(run.number("erases.life_used_percent")) for run in study.runs]),
    ):
        marks.append(mark.text(at, -0.6, title, ha="right", va="bottom", size=colours.SMALL_PT, color=colours.MUTED))
        look = {"ha": "right", "va": "center", "size": colours.LABEL_PT}
        marks += [mark.text(at, place, cell, **look) for place, cell in enumerate(cells)]
    return Panel(marks, x=Axis(ticks="none", low=0, high=1), y=bars_of(study), grid="none")


def _sees_writes(study: StudyFolder) -> list[str]:
    sentences = []
    base = study.baseline
    changes = [(facts.change_of(run, base, "pages_programmed"), run) for run in study.others(base)]
    known = [(value, run) for value, run in changes if value is not None]
    if known:
        value, run = min(known, key=lambda pair: pair[0])
        sentences.append(f"`{run.label}` programs {units.more_or_fewer(value, 'pages', f'`{base.label}`')}.")
    copies = [(facts.share_of(run, "flash_writes.replica", "pages_programmed") or 0.0, run) for run in study.runs]
    most, run = max(copies, key=lambda pair: pair[0])
    if most > 0:
        sentences.append(f"Replicas are {units.percent(most)} of what `{run.label}` programs.")
    if not any(run.count("erases.total") for run in study.runs):
        sentences.append("No block had to be erased: the trace does not fill the device, so wear is not tested here.")
    return sentences


@chart("Valid pages per garbage-collection victim", "How much must be moved to free a block?", "flash")
def gc_victims(study: StudyFolder) -> Drawing:
    """The CDF over victims (CA-SSD paper); the further left, the cheaper is a collection."""
    victims = {run: found for run in study.runs if (found := _victims(run)) is not None}
    if not victims:
        if any(run.count("erases.total") for run in study.runs):
            return nothing("Blocks were erased, but the table `gc_victims` is missing, so what they held is not known.")
        return nothing(
            "No garbage collection took place in any run: the writes of this trace fit into the free blocks."
        )
    looks = colours.lines_of_runs(study)
    data = Data(("system", "valid_pages", "victims", "share_at_most"))
    marks, means = [], []
    for (run, (pages, number)), width in zip(victims.items(), colours.widths(len(victims)), strict=True):
        cdf = np.cumsum(number) / number.sum()
        x, y = np.append(pages[0], pages), np.append(0.0, cdf) * 100.0
        marks.append(mark.step(x, y, where="post", linewidth=width, **looks[run.name]))
        data.add((run.name,), pages, number, cdf)
        means.append((float(np.average(pages, weights=number)), float(number.sum()), run))
    x_axis = Axis("valid pages in the block when it is collected", low=0)
    panel = Panel(marks, x=x_axis, y=Axis("of the victims", "shares"), grid="both")
    frame = Frame(2.6, [[panel]], [line_key(run.label, **looks[run.name]) for run in victims])
    worst, best = max(means, key=lambda row: row[0]), min(means, key=lambda row: row[0])
    words = f"A victim under `{worst[2].label}` holds {units.significant(worst[0])} valid pages on average"
    if best is worst:
        words += f"; {units.count(worst[1])} blocks were collected."
    else:
        words += f", under `{best[2].label}` {units.significant(best[0])}; each must be written again."
    without = [run for run in study.runs if run not in victims]
    idle = [run.label for run in without if not run.count("erases.total")]
    lost = [run.label for run in without if run.count("erases.total")]
    notes = note("No garbage collection took place under {}.", idle)
    notes += note("The table `gc_victims` is missing for {}.", lost)
    return Drawing(frame, [words], notes, data)


def _victims(run: SavedRun) -> tuple[Floats, Floats] | None:
    known = columns(run.table("gc_victims"), "valid_pages", "victims")
    if known is None or np.nansum(known[1]) <= 0:
        return None
    pages, victims = known
    order = np.argsort(pages, kind="stable")
    return pages[order], np.nan_to_num(victims[order])


@chart("Contents by number of copies", "How many contents were replicated, and how often?", "flash")
def copies(study: StudyFolder) -> Drawing:
    """Contents on flash at the end by number of copies, on a log axis, for the runs that have more than one of any."""
    known = {run: found for run in study.runs if (found := _copies(run)) is not None}
    shown = {run: found for run, found in known.items() if found[0].max() > 1}
    if not shown:
        return nothing(_no_copies(study, looked=bool(known)))
    hues = colours.of_runs(study)
    data = Data(("system", "copies", "contents"))
    marks: list[mark.Mark] = []
    sees = []
    for place, (run, (degree, contents)) in enumerate(shown.items()):
        at = degree + (place - (len(shown) - 1) / 2) * 0.16
        marks.append(mark.vlines(at, 0.5, contents, color=hues[run.name], linewidth=1.6, alpha=0.55))
        marks.append(mark.plot(at, contents, "o", color=hues[run.name], markersize=4))
        data.add((run.name,), degree, contents)
        sees.append(_sees_copies(run, degree, contents))
    most = max(int(degree.max()) for degree, _ in shown.values())
    x_axis = Axis("copies on flash (1 = no replica)", "whole from one", most, low=0.4, high=most + 0.6)
    panel = Panel(marks, x=x_axis, y=Axis("contents", "counts", log=True, low=0.5))
    keys = [line_key(run.label, color=hues[run.name], marker="o", markersize=4) for run in shown]
    single = [run.label for run in known if run not in shown]
    notes = note("One copy of every content and therefore not drawn: {}.", single)
    return Drawing(Frame(2.6, [[panel]], keys), sees, notes, data)


def _copies(run: SavedRun) -> tuple[Floats, Floats] | None:
    known = columns(run.table("copies"), "copies", "contents")
    if known is None:
        return None
    degree, contents = known
    keep = (degree >= 1) & (contents > 0)
    return (degree[keep], contents[keep]) if keep.any() else None


def _sees_copies(run: SavedRun, degree: Floats, contents: Floats) -> str:
    total = float(contents.sum())
    share = units.percent(facts.share(float(contents[degree > 1].sum()), total))
    mean = float((degree * contents).sum() / total)
    return (
        f"Under `{run.label}` {share} of {units.count(total)} contents have replicas, the most "
        f"{units.count(float(degree.max()))} copies; {units.significant(mean)} copies on average."
    )


def _no_copies(study: StudyFolder, *, looked: bool) -> str:
    if not looked:
        return "No run has the table `copies`: no system here identifies contents, or it was not written."
    makers = [run for run in study.runs if "replicates" in run.traits]
    if not makers:
        return "No system here makes replicas: every content is on flash once."
    names = units.names([run.label for run in makers])
    if all(facts.no_pass_could_run(run) for run in makers):
        return (
            f"{names} made no replica: the trace ended before its first period did, at whose end they are made; "
            "`--period` sets a shorter one."
        )
    return f"{names} holds no replica at the end, so every content is there once."


@chart(
    "How evenly the device is used",
    "Is the work spread over all chips and channels, and is the hash unit at its limit?",
    "flash",
)
def utilisation(study: StudyFolder) -> Drawing:
    """One dot a chip, channel or hash unit, with the mean as a bar, for each system (DS-FTL paper)."""
    levels = (("chips", "Chips"), ("channels", "Channels"), ("hash_unit", "Hash unit"))
    data = Data(("level", "system", "index", "utilisation_percent"))
    panels, notes, sees = [], [], list[str]()
    for level, title in levels:
        shares = {run: share for run in study.runs if (share := _busy(run, level)) is not None}
        if shares:
            panels.append(_dots(study, level, title, shares))
            for run, share in shares.items():
                data.add((level, run.name), np.arange(share.size), share)
        elif level != "hash_unit":
            notes.append(f"The table `{level}` is missing, so {level} are not shown.")
        if shares and level != "hash_unit" and not sees:
            sees.append(_sees_spread(shares, level.removesuffix("s")))
    if not panels:
        return nothing("No run has the tables `chips` or `channels` with a column `utilisation`.")
    frame = Frame(max(1.9, 0.8 + 0.46 * len(study.runs)), [panels], grid={"sharey": True})
    return Drawing(frame, [*sees, *_sees_hash_unit(study)], notes, data)


def _busy(run: SavedRun, level: str) -> Floats | None:
    """The share of time in percent that each chip or channel, or the hash unit, is busy."""
    if level == "hash_unit":
        share = run.number("hash_unit.utilisation")
        return None if share is None else np.array([share * 100.0])
    table = run.table(level)
    column = table.get("utilisation") if table is not None else None
    return None if column is None else column[np.isfinite(column)] * 100.0


def _dots(study: StudyFolder, level: str, title: str, shares: dict[SavedRun, Floats]) -> Panel:
    hues = colours.of_runs(study)
    marks = []
    for place, run in enumerate(study.runs):
        values = shares.get(run)
        if values is None:
            why = "none" if level == "hash_unit" else "not recorded"
            marks.append(mark.text(0, place, f" {why}", va="center", size=colours.SMALL_PT, color=colours.MUTED))
            continue
        # Spread by the golden ratio: even, without chance, and neighbours apart.
        shift = (np.arange(values.size) * 0.618034 % 1.0 - 0.5) * 0.5
        low, mean, high = (units.percent(float(value)) for value in (values.min(), values.mean(), values.max()))
        tip = f"{run.label}: {low} to {high}, mean {mean}"
        marks.append(mark.scatter(values, place + shift, s=11, color=hues[run.name], alpha=0.65, linewidth=0, tip=tip))
        marks.append(mark.vlines(values.mean(), place - 0.34, place + 0.34, color=colours.INK, linewidth=1.4))
    highest = max(float(values.max()) for values in shares.values())
    x_axis = Axis("of the time busy", "percents", low=0, high=highest * 1.06 or 1.0)
    return Panel(marks, title, x_axis, bars_of(study), "x")


def _sees_spread(shares: dict[SavedRun, Floats], word: str) -> str:
    spread = [
        (float(values.max() / values.mean()), float(values.mean()), run)
        for run, values in shares.items()
        if values.mean() > 0
    ]
    if not spread:
        return f"No {word} was busy in any run."
    worst, best = max(spread, key=lambda row: row[0]), min(spread, key=lambda row: row[0])
    words = f"The busiest {word} works {units.significant(worst[0])} times as much as the average one"
    words += f" under `{worst[2].label}`"
    if best is worst:
        return f"{words}, where a {word} is busy {units.percent(worst[1])} of the time."
    return f"{words}, {units.significant(best[0])} times under `{best[2].label}`."


def _sees_hash_unit(study: StudyFolder) -> list[str]:
    known = [(share, run) for run in study.runs if (share := run.number("hash_unit.utilisation")) is not None]
    if not known:
        return []
    share, run = max(known, key=lambda pair: pair[0])
    lanes = run.number("hash_unit.lanes")
    of = "" if lanes is None else f" of `{run.label}`, with {units.plural(lanes, 'lane')},"
    return [f"The hash unit{of} works {units.percent(share * 100.0)} of the time."]


@chart("RAM of the mapping tables", "What does knowing the contents cost in controller memory?", "flash")
def ram(study: StudyFolder) -> Drawing:
    """RAM that the mapping tables need, by table: one stacked bar a system."""
    tables = {
        "lpn_to_ppn_bytes": ("LPN → PPN", "host"),
        "lpn_to_vpn_bytes": ("LPN → VPN", "reborn"),
        "vpn_to_ppn_bytes": ("VPN → PPN", "unique"),
        "fingerprint_store_bytes": ("fingerprint store", "missed_duplicate"),
        "replica_lists_bytes": ("replica lists", "replica"),
        "inverse_tables_bytes": ("inverse tables", "gc"),
    }
    sizes = {run: {key: run.count(f"ram.{key}") for key in tables} for run in study.runs}
    given = {run: run.number("ram.total_bytes") for run in study.runs}
    totals = {run: sum(sizes[run].values()) if given[run] is None else given[run] or 0.0 for run in study.runs}
    if not any(totals.values()):
        return nothing("No run recorded the size of its tables (`ram` in its summary).")
    present = [key for key in tables if any(of[key] for of in sizes.values())]
    hues = {key: colours.CAUSE_COLOURS[cause][0] for key, (_, cause) in tables.items()}
    base = None if not totals[study.baseline] else totals[study.baseline]
    marks = []
    for place, run in enumerate(study.runs):
        parts = [
            (tables[key][0], sizes[run][key], units.size(sizes[run][key]),
             {"color": hues[key], "edgecolor": colours.SURFACE, "linewidth": 0.6})
            for key in present
        ]  # fmt: skip
        bars, end = stacked(place, run.label, parts)
        change = None if run is study.baseline else facts.change(totals[run] or None, base)
        words = units.size(totals[run]) if totals[run] else "not recorded"
        marks += [*bars, mark.value_label(end, place, with_change(words, change))]
    x_axis = Axis(ticks="none", low=0, high=max(totals.values()) * 1.25)
    frame = Frame(
        max(1.8, 0.95 + 0.42 * len(study.runs)), [[Panel(marks, x=x_axis, y=bars_of(study), grid="none")]],
        [patch_key(tables[key][0], hues[key]) for key in present],
    )  # fmt: skip
    run = max((run for run in study.runs if totals[run]), key=lambda run: totals[run])
    change = None if run is study.baseline else facts.change(totals[run], base)
    words = f"`{run.label}` needs the most, {units.size(totals[run])}"
    words += f" ({units.change(change)} against `{study.baseline.label}`)" if change is not None else ""
    largest, label = max((sizes[run][key], label) for key, (label, _) in tables.items())
    if largest:
        words += f", of which the {label if label[0].islower() else label + ' map'} is {units.size(largest)}"
    missing = [run.label for run in study.runs if not totals[run]]
    notes = note("The size of the tables was not recorded for {}.", missing)
    data = Data(("system", *tables, "total_bytes"))
    for run in study.runs:
        data.rows.append((run.name, *(run.number(f"ram.{key}") for key in tables), totals[run] or given[run]))
    return Drawing(frame, [f"{words}."], notes, data)
