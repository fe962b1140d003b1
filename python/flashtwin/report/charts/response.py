"""Charts of response times: the candidates, bottlenecks, what a mean is made of, waits, distributions."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flashtwin import units
from flashtwin.judgement import choosing, facts
from flashtwin.judgement.choosing import Candidate, Decision
from flashtwin.results import ledger
from flashtwin.results.ledger import Ledger
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import colours, mark
from ..declared import Axis, Data, Drawing, Frame, Panel, chart, is_column, line_key, nothing, patch_key, with_change
from . import timelines

SYSTEMS_MAX, CAUSES_MAX = 6, 8


def bars_of(study: StudyFolder) -> Axis:
    return Axis(ticks="bars", of=[run.label for run in study.runs])


def note(sentence: str, systems: list[str]) -> list[str]:
    """The sentence with the systems in place of `{}`; none without systems."""
    return [sentence.format(units.names(systems))] if systems else []


def stacked(
    place: int, label: str, parts: Iterable[tuple[str, float, str, dict[str, Any]]], height: float = 0.62
) -> tuple[list[mark.Mark], float]:
    """A bar of parts (name, length, length in words, look), and its whole length."""
    marks, left = [], 0.0
    for name, length, words, look in parts:
        marks.append(mark.barh(place, length, height, left, tip=f"{label}, {name}: {words}", **look))
        left += length
    return marks, left


def shown_candidates(made: Decision, most: int = SYSTEMS_MAX) -> list[Candidate]:
    """The choice, the fastest, those not told apart, the baseline, and the best beside them."""
    named = [one for one in (made.choice, made.fastest, *made.alike, made.baseline) if one is not None]
    first = list(dict.fromkeys(named))
    return [*first, *(one for one in made.candidates if one not in first)][: max(most, len(first))]


@chart("The candidates", "How far do settings carry each system?", "verdict")
def candidates(study: StudyFolder) -> Drawing:
    """Each system as configured, and with its settings, on one axis of the goal's figure."""
    made = choosing.decide(study)
    if made is None or not made.is_searched:
        return nothing("No settings were tried; a study with `--effort` does that.")
    rows, goal = shown_candidates(made), made.goal
    configured = {"marker": "o", "color": colours.SERIES[3][0], "markersize": 4.6, "linestyle": "none"}
    settled = {**configured, "marker": "s", "color": colours.SERIES[0][0]}
    marks = []
    for place, row in enumerate(rows):
        value, before = made.value(row), row.as_configured
        ends = [value, value if before is None else before]
        marks.append(mark.plot(ends, [place, place], color=colours.GRID, linewidth=2.2, zorder=1))
        if before is not None:
            tip = f"{row.system}, as configured: {goal.written(before)}"
            marks.append(mark.plot([before], [place], zorder=2, tip=tip, **configured))
        marks.append(
            mark.plot([value], [place], zorder=3, tip=f"{row.system} {row.how}: {goal.written(value)}", **settled)
        )
        place_of = {"textcoords": "offset points", "ha": "right", "va": "center", "size": colours.SMALL_PT}
        marks.append(mark.annotate(goal.written(value), (min(ends), place), (-5, 0), **place_of))
    values = [value for row in rows for value in (made.value(row), row.as_configured) if value is not None]
    y_axis = Axis(ticks="bars", of=[row.run.name for row in rows])
    x_axis = _candidate_axis(values, goal.words.removeprefix("the "), is_time=goal.figure.unit == "ns")
    data = Data(("system", "settings", "goal", "as_configured", "value", "programs", "price", "command"))
    for one in made.candidates:
        about = (goal.name, one.as_configured, made.value(one), one.run.number("pages_programmed"), one.price)
        data.rows.append((one.system, ", ".join(one.settings), *about, one.command))
    keys = [line_key("as configured", **configured), line_key("with its settings", **settled)]
    height_in = (1.05 if is_column() else 0.72) + 0.21 * len(rows)
    frame = Frame(height_in, [[Panel(marks, x=x_axis, y=y_axis, grid="x")]], keys)
    return Drawing(frame, _sees_candidates(study, made), data=data)


def _candidate_axis(values: list[float], label: str, *, is_time: bool) -> Axis:
    """Logarithmic where values lie far apart; with room for the least one to the left of its mark."""
    low, high = min(values), max(values)
    if high > 8.0 * max(low, 1e-9) > 0:
        room = (high / low) ** (0.6 if is_column() else 0.25)
        ticks = "fine log time" if is_time else ""
        return Axis(label, ticks, low=low / room, high=high * (high / low) ** 0.05, log=not is_time)
    room = (0.5 if is_column() else 0.2) * (high - low or high or 1.0)
    ticks, of = ("time", (high * 1.04, 6)) if is_time else ("", None)
    return Axis(label, ticks, of, low=low - room, high=high + 0.1 * room)


def _sees_candidates(study: StudyFolder, made: Decision) -> list[str]:
    found = study.candidates
    sentences = [
        "Settings change the controller and take no other drive. Those of each system are from "
        f"{units.plural(found['replays'], 'replay')}, all on the drive of `{made.baseline.system}`."
    ]
    if found["unfinished"]:
        sentences.append("Some settings were not tried; `--effort all` tries them.")
    for name, reason in found["left_out"].items():
        sentences.append(f"`{name}` is left out: {str(reason).rstrip('.')}.")
    return sentences


@chart("What each thing costs", "What would be gone if one thing cost nothing?", "limits")
def causes(study: StudyFolder) -> Drawing:
    """How much the goal's figure falls with one resource at a time ideal: bars by cause, one a system."""
    found = study.explained
    costs = {name: {one["name"]: float(one["percent"]) for one in data["causes"]} for name, data in found.items()}
    weight = {cause: max(of.get(cause, 0.0) for of in costs.values()) for of in costs.values() for cause in of}
    shown = sorted(weight, key=lambda cause: (-weight[cause], cause))[:CAUSES_MAX]
    if not shown:
        return nothing("Nothing was switched off to see what it costs; `flashtwin explain DIR` does that.")
    runs = [run for run in study.runs if run.name in costs]
    hues = colours.of_runs(study)
    height = 0.8 / len(runs)
    marks = []
    for row, cause in enumerate(shown):
        for place, run in enumerate(runs):
            percent = costs[run.name].get(cause)
            if percent is not None:
                y, tip = row - 0.4 + (place + 0.5) * height, f"{run.label}: {units.percent(percent)}"
                marks.append(mark.barh(y, percent, height * 0.9, color=hues[run.name], linewidth=0, tip=tip))
                marks.append(mark.value_label(percent, y, units.percent(percent)))
    marks.append(mark.of("invert_yaxis")())
    labels = {one["name"]: str(one["label"]) for data in found.values() for one in data["causes"]}
    x_axis = Axis("less with this at no cost", "percents", low=0, high=max(weight.values()) * 1.15)
    panel = Panel(marks, x=x_axis, y=Axis(ticks="names", of=[labels[cause] for cause in shown]), grid="x")
    frame = Frame(
        0.9 + 0.2 * len(shown) * (len(runs) + 1), [[panel]], [patch_key(run.label, hues[run.name]) for run in runs]
    )
    goals = sorted({str(data["goal_words"]) for data in found.values()})
    sees = [
        *(str(data["claim"]) for data in found.values()),
        f"Each bar is one replay of the same trace with one thing ideal, and by how much {units.names_plain(goals)} "
        "falls. Bars of one system may sum to more than 100 %: a nanosecond may have two causes.",
    ]
    data = Data(("system", "goal", "cause", "before", "after", "percent", "command"))
    for name, one in found.items():
        for cause in one["causes"]:
            after = (cause[key] for key in ("value", "percent", "command"))
            data.rows.append((name, one["goal"], cause["name"], one["before"], *after))
    return Drawing(frame, sees, data=data)


#: How strongly each part is painted in its system's colour: waiting, which policies act on, more than service.
STRENGTH = {
    "queueing": 1.0,
    "channel_wait": 0.8,
    "hash_wait": 0.64,
    "other_wait": 0.52,
    "hash": 0.4,
    "transfer": 0.31,
    "flash": 0.21,
    "controller": 0.12,
}


@chart(
    "Mean response time and what it is made of",
    "How long does a request take, how much of that is waiting, and for what?",
    "response",
)
def response(study: StudyFolder) -> Drawing:
    """Stacked bars for reads, writes and all requests, with the change against the baseline (RR-SSD paper, Fig. 1)."""
    kinds = [(kind, title) for kind, title in facts.KINDS if any(facts.mean(run, kind) for run in study.runs)]
    if not kinds:
        return nothing("No request completed in any run, so there is no response time to show.")
    # All requests are the same as the only kind there is.
    if len(kinds) == 2:
        kinds = [pair for pair in kinds if pair[0] != "all"]
    splits = [facts.split(run, kind) or {} for run in study.runs for kind, _ in kinds]
    keys = [
        patch_key(label, colours.MUTED, alpha=STRENGTH[key])
        for key, label in facts.PARTS
        if any(parts.get(key) for parts in splits)
    ]
    panels = [_means(study, kind, title) for kind, title in kinds]
    frame = Frame(max(2.0, 0.95 + 0.42 * len(study.runs)), [panels], keys, 4, {"sharey": True})
    words = {"read": "A read", "write": "A write", "all": "A request"}
    sees = [_waiting(study, kind, words[kind]) for kind, _ in kinds if kind != "all" or len(kinds) == 1]
    return Drawing(frame, [sentence for sentence in sees if sentence], _absent_means(study), _mean_data(study))


def _means(study: StudyFolder, kind: str, title: str) -> Panel:
    hues = colours.of_runs(study)
    longest = max(facts.mean(run, kind) or 0.0 for run in study.runs) or 1.0
    marks = []
    for place, run in enumerate(study.runs):
        mean = facts.mean(run, kind)
        if mean is None:
            marks.append(mark.value_label(0, place, "no such request"))
            continue
        # Without its parts, a mean is a bar of the strength that none of them has.
        parts = [
            (dict(facts.PARTS).get(key, "mean"), width, units.duration(width),
             {"color": hues[run.name], "alpha": STRENGTH.get(key, 0.9), "linewidth": 0})
            for key, width in (facts.split(run, kind) or {"": mean}).items()
        ]  # fmt: skip
        bars, end = stacked(place, run.label, parts)
        change = None if run is study.baseline else facts.change(mean, facts.mean(study.baseline, kind))
        marks += [*bars, mark.value_label(max(end, mean), place, with_change(units.duration(mean), change))]
    x_axis = Axis(ticks="time", of=(longest, 3), low=0, high=longest * 1.62)
    return Panel(marks, f"{title}, mean", x_axis, bars_of(study), "x")


def _waiting(study: StudyFolder, kind: str, subject: str) -> str:
    shares = [(value, run) for run in study.runs if (value := facts.waiting_share(run, kind)) is not None]
    if not shares:
        return ""
    (low, least), (high, most) = min(shares, key=lambda pair: pair[0]), max(shares, key=lambda pair: pair[0])
    if units.percent(high) == units.percent(low):
        return f"{subject} spends {units.percent(high)} of its time waiting."
    return (
        f"{subject} spends {units.percent(high)} of its time waiting under `{most.label}` "
        f"and {units.percent(low)} under `{least.label}`."
    )


def _absent_means(study: StudyFolder) -> list[str]:
    notes = [
        f"The trace has no completed {kind} request, so there is no panel for {kind}s."
        for kind in ("read", "write")
        if not any(facts.mean(run, kind) for run in study.runs)
    ]
    unsplit = [run.label for run in study.runs if facts.mean(run, "all") and facts.split(run, "all") is None]
    return notes + note("The split of the response time was not recorded for {}.", unsplit)


def _mean_data(study: StudyFolder) -> Data:
    keys = [key for key, _ in facts.PARTS]
    data = Data(("system", "kind", "mean_ns", *(f"{key}_ns" for key in keys), "change_percent"))
    for run in study.runs:
        for kind, _ in facts.KINDS:
            parts, mean = facts.split(run, kind) or {}, facts.mean(run, kind)
            change = facts.change(mean, facts.mean(study.baseline, kind))
            data.rows.append((run.name, kind, mean, *(parts.get(key) for key in keys), change))
    return data


OTHER = "other"
LedgerOfRun = dict[str, Ledger | None]


@chart(
    "What requests wait for",
    "What holds the chip, the channel or the hash unit while a request waits, and is it the same for the slowest?",
    "response",
)
def waits(study: StudyFolder) -> Drawing:
    """The wait ledger: one stacked bar a system, reads above writes, all requests beside the slowest."""
    ledgers = {
        (kind, requests): {run.name: ledger.ledger(run, kind, requests) for run in study.runs}
        for kind, _ in facts.KINDS[:2]
        for requests, _ in ledger.REQUESTS
    }
    kinds = [(kind, title) for kind, title in facts.KINDS[:2] if any(ledgers[kind, ledger.ALL].values())]
    if not kinds:
        return nothing("No run has the table `wait_ledger`, so what requests wait for cannot be shown.")
    small = _small(ledgers.values())
    rows = []
    for kind, title in kinds:
        panels: list[Panel] = []
        for requests, words in ledger.REQUESTS:
            marks = _wait_bars(study, ledgers[kind, requests], small)
            if panels and not is_column():
                marks.append(mark.tick_params(axis="y", labelleft=False))
            longest = max((one.total_ns for one in ledgers[kind, requests].values() if one is not None), default=0.0)
            x_axis = Axis(ticks="time", of=(longest or 1.0, 2), low=0, high=(longest or 1.0) * 1.42)
            panels.append(Panel(marks, f"{title}, {words}", x_axis, bars_of(study), "x", title_look={"pad": 12}))
        rows.append(panels)
    pieces = {key for of in ledgers.values() for one in of.values() if one is not None for key in _pieces(one, small)}
    labels = {OTHER: "other waiting", ledger.SERVICE: "service"}
    keys = [
        patch_key(labels.get(key) or ledger.label(key), light)
        for key, (light, _) in colours.WAIT_COLOURS.items()
        if key in pieces
    ]
    frame = Frame(0.75 + len(kinds) * (0.72 + 0.36 * len(study.runs)), rows, keys)
    missing = [run.label for run in study.runs if run.table("wait_ledger") is None]
    notes = note("The wait ledger was not recorded for {}.", missing)
    return Drawing(frame, _sees_waits(study, kinds), notes, _wait_data(study))


def _small(panels: Collection[LedgerOfRun]) -> set[str]:
    """Waits below 1 % of the longest bar in every panel, which are drawn as one piece."""
    seen: set[str] = set()
    large: set[str] = set()
    for panel in panels:
        known = [one for one in panel.values() if one is not None]
        longest = max((one.total_ns for one in known), default=0.0)
        for one in known:
            seen |= {charge for charge, ns in one.waits.items() if ns > 0}
            large |= {charge for charge, ns in one.waits.items() if ns * 100.0 >= longest and ns > 0}
    # A charge without a colour of its own is among the others, even if it is large.
    return (seen - large) | (seen - colours.WAIT_COLOURS.keys())


def _pieces(one: Ledger, small: set[str]) -> dict[str, float]:
    pieces = {charge: ns for charge, ns in one.waits.items() if charge not in small and ns > 0}
    other = sum(ns for charge, ns in one.waits.items() if charge in small)
    if other > 0:
        pieces[OTHER] = other
    return {**pieces, ledger.SERVICE: one.service_ns}


def _wait_bars(study: StudyFolder, of_run: LedgerOfRun, small: set[str]) -> list[mark.Mark]:
    marks = []
    for place, run in enumerate(study.runs):
        one = of_run[run.name]
        if one is None:
            marks.append(mark.value_label(0, place, "not recorded"))
            continue
        edge = {"edgecolor": colours.SURFACE, "linewidth": 0.3}
        parts = [
            (ledger.label(key), ns, units.duration(ns), {"color": colours.WAIT_COLOURS[key][0], **edge})
            for key, ns in _pieces(one, small).items()
        ]
        bars, end = stacked(place, run.label, parts, 0.64)
        marks += [*bars, mark.value_label(end, place, units.duration(one.total_ns))]
    return marks


def _sees_waits(study: StudyFolder, kinds: Sequence[tuple[str, str]]) -> list[str]:
    sentences = []
    for kind, title in kinds:
        known = [(one, run) for run in study.runs if (one := ledger.ledger(run, kind, ledger.SLOWEST_PERCENT))]
        ends = [choose(known, key=lambda pair: pair[0].total_ns) for choose in (max, min) if known]
        words = dict.fromkeys(ledger.waited(run, one) for one, run in ends)
        sentences += [f"The slowest 1 % of the {title.lower()} take {'; '.join(words)}."] if words else []
    return sentences


def _wait_data(study: StudyFolder) -> Data:
    data = Data(("system", "kind", "requests", "count", "from_ns", "part", "charge", "mean_ns", "percent"))
    for run in study.runs:
        for kind, _ in facts.KINDS:
            for requests, _ in ledger.REQUESTS:
                one = ledger.ledger(run, kind, requests)
                if one is None:
                    continue
                rows = [("waiting", charge, ns) for charge, ns in one.waits.items()]
                for part, charge, ns in [*rows, ("service", "service", one.service_ns)]:
                    share = ns / one.total_ns * 100.0 if one.total_ns > 0 else None
                    data.rows.append((run.name, kind, requests, one.count, one.from_ns, part, charge, ns, share))
    return data


#: Points that are enough for a smooth line at the width of the page.
POINTS_MAX = 400
#: The share of requests that may be faster than where the axis begins: a read that comes as its page
#: leaves the chip takes 1 ns, and six empty decades would follow.
FASTEST = 1e-3


@chart("Distribution of response times", "What do most requests see, and what the slowest ones?", "response")
def latency(study: StudyFolder) -> Drawing:
    """Reads beside writes, the CDF above and, for the tail, 1 - CDF on a log axis below (RR-SSD paper, Fig. 13)."""
    curves = {(run.name, kind): _latencies(run, kind) for run in study.runs for kind, _ in facts.KINDS[:2]}
    kinds = [(kind, title) for kind, title in facts.KINDS[:2] if any(curves[run.name, kind] for run in study.runs)]
    if not kinds:
        return nothing("No run has the table `latency_histogram` with counts, so no distribution can be drawn.")
    data = Data(("system", "kind", "upper_ns", "share_at_most"))
    looks = colours.lines_of_runs(study)
    columns: list[tuple[Panel, Panel]] = []
    for kind, title in kinds:
        of_kind = {run: curve for run in study.runs if (curve := curves[run.name, kind]) is not None}
        widths = dict(zip(study.runs, colours.widths(len(study.runs)), strict=True))
        lines = {
            run: {**looks[run.name], "linewidth": widths[run], "where": "post", "tip": run.label} for run in of_kind
        }
        columns.append(_distributions(kind, title, of_kind, lines, data, labelled=is_column() or not columns))
    shown = [run for run in study.runs if any(curves[run.name, kind] for kind, _ in kinds)]
    keys = [line_key(run.label, **looks[run.name]) for run in shown]
    frame = Frame(5.6, list(zip(*columns, strict=True)), keys, grid={"sharex": "col"})
    hidden = [run.label for run in study.runs if run not in shown]
    notes = note("No `latency_histogram` was written for {}.", hidden)
    if len(kinds) == 1:
        other = "writes" if kinds[0][0] == "read" else "reads"
        notes.append(f"There are no {other} in the histograms, so there is no panel for them.")
    return Drawing(frame, _sees_tails(study, [kind for kind, _ in kinds]), notes, data)


def _latencies(run: SavedRun, kind: str) -> tuple[Floats, Floats, float] | None:
    """Upper ends in ns, the share of requests at most that long, and the number of requests."""
    table = run.table("latency_histogram")
    known = None if table is None else timelines.columns(table.where("kind", kind), "upper_ns", "count")
    if known is None or np.nansum(known[1]) <= 0:
        return None
    upper, count = known
    order = np.argsort(upper, kind="stable")
    total = float(np.nansum(count))
    return upper[order], np.cumsum(np.nan_to_num(count[order])) / total, total


def _thin(upper: Floats, cdf: Floats) -> tuple[Floats, Floats]:
    """Fewer points: evenly in log time, and always those of the tail's decades."""
    if upper.size <= POINTS_MAX:
        return upper, cdf
    position = np.log(np.maximum(upper, 1.0))
    even = np.searchsorted(position, np.linspace(position[0], position[-1], POINTS_MAX - 80))
    tail = np.searchsorted(cdf, 1.0 - np.logspace(-1, -7, 60))
    keep = np.unique(np.clip(np.concatenate([[0], even, tail, [upper.size - 1]]), 0, upper.size - 1))
    return upper[keep], cdf[keep]


def _distributions(
    kind: str, title: str, curves: Mapping[SavedRun, tuple[Floats, Floats, float]],
    lines: Mapping[SavedRun, dict[str, Any]], data: Data, *, labelled: bool,
) -> tuple[Panel, Panel]:  # fmt: skip
    above, below = [], []
    fewest, first, last = 1.0, math.inf, 0.0
    for run, (upper_ns, share, total) in curves.items():
        upper, cdf = _thin(np.maximum(upper_ns, 1.0), share)
        above.append(mark.step(upper, cdf * 100.0, **lines[run]))
        # The last point of 1 - CDF is zero, which a log axis cannot show.
        rest = np.where(cdf < 1.0 - 0.5 / total, 1.0 - cdf, np.nan)
        below.append(mark.step(upper, rest * 100.0, **lines[run]))
        fewest = min(fewest, 1.0 / total)
        first, last = min(first, float(upper[np.searchsorted(cdf, FASTEST)])), max(last, float(upper[-1]))
        data.add((run.name, kind), upper, cdf)
    margin = max((last / first) ** 0.01, 1.05)
    time = Axis("response time", "log time", low=first / margin, high=last * margin, log=True)
    label = ("requests answered in this time", "requests that take longer") if labelled else ("", "")
    rare = Axis(label[1], "rare percents", low=max(fewest, 1e-7) * 100.0, high=100.0, log=True)
    return (
        Panel(above, title, y=Axis(label[0], "shares"), grid="both"),
        Panel(below, x=time, y=rare, grid="both"),
    )


def _sees_tails(study: StudyFolder, kinds: list[str]) -> list[str]:
    sentences = []
    for kind in kinds:
        known = [(run.number(f"response.{kind}.p99_ns"), run) for run in study.runs]
        tails = [(value, run) for value, run in known if value is not None and facts.mean(run, kind) is not None]
        if not tails:
            continue
        (low, best), (high, worst) = min(tails, key=lambda pair: pair[0]), max(tails, key=lambda pair: pair[0])
        within = f"99 % of {kind}s are answered within {units.duration(low)}"
        more = "" if low == high else f" under `{best.label}`, {units.duration(high)} under `{worst.label}`"
        sentences.append(f"{within}{more}.")
    return sentences
