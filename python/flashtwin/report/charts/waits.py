"""Waits of requests, on average and at the slow end: the wait ledger of each system."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from flashtwin import units
from flashtwin.judgement import ledger, reasons
from flashtwin.judgement.ledger import Ledger
from flashtwin.results.reading import StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing

KINDS = (("read", "Reads"), ("write", "Writes"))
#: Parts below this share of the longest bar of their panel in every panel are drawn as one piece, in percent.
SMALL_PERCENT = 1.0
OTHER = "other"

#: The ledgers of one panel by run.
Panel = dict[str, Ledger | None]


def draw(study: StudyFolder) -> Drawing:
    """One stacked bar a system; reads above writes, all requests beside the slowest."""
    panels = {
        (kind, requests): {run.name: ledger.ledger(run, kind, requests) for run in study.runs}
        for kind, _ in KINDS
        for requests, _ in ledger.REQUESTS
    }
    kinds = [(kind, title) for kind, title in KINDS if any(panels[kind, ledger.ALL].values())]
    if not kinds:
        return nothing("No run has the table `wait_ledger`, so what requests wait for cannot be shown.")
    small = _small(panels.values())
    fig = style.figure(0.75 + len(kinds) * (0.72 + 0.36 * len(study.runs)))
    rows = fig.subplots(len(kinds), len(ledger.REQUESTS), squeeze=False)
    for axes_of_kind, (kind, title) in zip(rows, kinds, strict=True):
        for axes, (requests, words) in zip(axes_of_kind, ledger.REQUESTS, strict=True):
            _bars(axes, study, panels[kind, requests], small)
            axes.set_title(f"{title}, {words}", pad=12)
        for axes in axes_of_kind[1:] if not style.is_column() else ():
            axes.tick_params(axis="y", labelleft=False)
    shown = _shown(panels.values(), small)
    patches = [Patch(facecolor=style.WAIT_COLOURS[key][0], linewidth=0) for key in shown]
    style.legend_above(fig, patches, [_label(key) for key in shown])
    return Drawing(fig, _sees(study, kinds), _absent(study), _data(study))


def _small(panels: Collection[Panel]) -> set[str]:
    """Waits that no panel would show."""
    seen: set[str] = set()
    large: set[str] = set()
    for panel in panels:
        known = [one for one in panel.values() if one is not None]
        longest = max((one.total_ns for one in known), default=0.0)
        for one in known:
            seen |= {charge for charge, ns in one.waits.items() if ns > 0}
            large |= {charge for charge, ns in one.waits.items() if ns * 100.0 >= longest * SMALL_PERCENT and ns > 0}
    # A charge without a colour of its own is among the others, even if it is large.
    return (seen - large) | (seen - style.WAIT_COLOURS.keys())


def _pieces(one: Ledger, small: set[str]) -> dict[str, float]:
    """The parts of a bar, from left to right."""
    pieces = {charge: ns for charge, ns in one.waits.items() if charge not in small and ns > 0}
    other = sum(ns for charge, ns in one.waits.items() if charge in small)
    if other > 0:
        pieces[OTHER] = other
    return {**pieces, ledger.SERVICE: one.service_ns}


def _bars(axes: Axes, study: StudyFolder, panel: Panel, small: set[str]) -> None:
    longest = max((one.total_ns for one in panel.values() if one is not None), default=0.0) or 1.0
    for place, run in enumerate(study.runs):
        one = panel[run.name]
        if one is None:
            style.value_label(axes, 0, place, "not recorded")
            continue
        left = 0.0
        for key, ns in _pieces(one, small).items():
            colour = style.WAIT_COLOURS[key][0]
            bar = axes.barh(place, ns, 0.64, left, color=colour, edgecolor=style.SURFACE, linewidth=0.3)
            style.tip(bar, f"{run.label}, {ledger.label(key)}: {units.duration(ns)}")
            left += ns
        style.value_label(axes, left, place, units.duration(one.total_ns))
    style.name_bars(style.quiet(axes, "x"), study.runs)
    axes.set_xlim(0, longest * 1.42)
    style.time_axis(axes, longest, 2)


def _shown(panels: Collection[Panel], small: set[str]) -> list[str]:
    """The pieces that occur, in stacking order."""
    found = {key for panel in panels for one in panel.values() if one is not None for key in _pieces(one, small)}
    return [key for key in style.WAIT_COLOURS if key in found]


def _label(key: str) -> str:
    return {OTHER: "other waiting", ledger.SERVICE: "service"}.get(key) or ledger.label(key)


def _sees(study: StudyFolder, kinds: Sequence[tuple[str, str]]) -> list[str]:
    """Longest waits of the slowest reads and writes, where they are slowest and where they are not."""
    sentences = []
    for kind, title in kinds:
        known = [(one, run) for run in study.runs if (one := ledger.ledger(run, kind, ledger.SLOWEST_PERCENT))]
        ends = [choose(known, key=lambda pair: pair[0].total_ns) for choose in (max, min) if known]
        told = dict.fromkeys(reasons.waited(run, one) for one, run in ends)
        sentences += [f"The slowest 1 % of the {title.lower()} take {'; '.join(told)}."] if told else []
    return sentences


def _absent(study: StudyFolder) -> list[str]:
    missing = [run.label for run in study.runs if run.table("wait_ledger") is None]
    return [f"The wait ledger was not recorded for {units.names(missing)}."] if missing else []


def _data(study: StudyFolder) -> Data:
    data = Data(("system", "kind", "requests", "count", "from_ns", "part", "charge", "mean_ns", "percent"))
    for run in study.runs:
        for kind in ("read", "write", "all"):
            for requests, _ in ledger.REQUESTS:
                one = ledger.ledger(run, kind, requests)
                if one is None:
                    continue
                rows = [("waiting", charge, ns) for charge, ns in one.waits.items()]
                for part, charge, ns in [*rows, ("service", "service", one.service_ns)]:
                    share = ns / one.total_ns * 100.0 if one.total_ns > 0 else None
                    data.rows.append((run.name, kind, requests, one.count, one.from_ns, part, charge, ns, share))
    return data


CHART = Chart(
    "waits",
    "What requests wait for",
    "What holds the chip, the channel or the hash unit while a request waits, and is it the same for the slowest?",
    "response",
    draw,
)
