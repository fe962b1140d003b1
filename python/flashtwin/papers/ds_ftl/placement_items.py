"""DS-FTL: where pages lie and which are redirected. Fig. 11-14."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.ds_ftl.common import percent_of, runs_at
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart, lines, mean
from flashtwin.papers.text import column

NAMES = published.NAMES


def measure_fig_11(stand: Stand) -> Facts:
    """Redundancy of planes at the end."""
    runs = runs_at(stand, "static", "dynamic", "ds-ftl")
    return {name: percent_of(run, "redundancy.plane_mean") for name, run in runs.items()}


def _spread(
    facts: Mapping[str, Facts], as_published: Mapping[str, tuple[float, float, float]], what: str, unit: str
) -> list[Claim]:
    """Lowest, highest and mean over the workloads, scheme by scheme."""
    claims = []
    for scheme, (low, high, average) in as_published.items():
        values = [value for value in column(facts, NAMES, scheme) if value is not None]
        whole = len(values) == len(NAMES)
        why = "" if whole else "over all eight workloads"
        claims += [
            number(scheme, f"{what}, lowest", low, min(values) if whole else None, unit, why=why),
            number(scheme, f"{what}, highest", high, max(values) if whole else None, unit, why=why),
            number(scheme, f"{what}, mean", average, mean(values) if whole else None, unit, why=why),
        ]
    return claims


def judge_fig_11(facts: Mapping[str, Facts]) -> Outcome:
    """Lowest, highest, mean."""
    series: list[Series] = [(scheme, column(facts, NAMES, scheme), []) for scheme in published.REDUNDANCY]
    return Outcome(
        _spread(facts, published.REDUNDANCY, "redundancy of planes", "%"), chart(bars(NAMES, series, "redundancy, %"))
    )


def measure_fig_12(stand: Stand) -> Facts:
    """Redundancy plane by plane."""
    runs = runs_at(stand, "static", "ds-ftl")
    return {
        name: [100.0 * row["redundancy"] for row in run.rows("planes") if row["redundancy"] is not None]
        for name, run in runs.items()
    }


def judge_fig_12(facts: Mapping[str, Facts]) -> Outcome:
    """The densest plane of home2 is less dense under DS-FTL; no number is given."""
    found = facts.get("home2", {})
    dense = [max(found[name], default=None) if found else None for name in ("static", "ds-ftl")]
    known = dense[0] is not None and dense[1] is not None
    less = dense[0] - dense[1] if known and dense[0] is not None and dense[1] is not None else None
    claims = [Claim("home2", "densest plane: static above DS-FTL", 0.0, None, less, "points", True)]
    series = [(name, [float(place) for place in range(len(values))], values) for name, values in found.items()]
    return Outcome(claims, chart(lines(series, "plane", "redundancy, %")) if series else None)


def measure_fig_13(stand: Stand) -> Facts:
    """Shares of redirected pages."""
    run = runs_at(stand, "ds-ftl")["ds-ftl"]
    return {kind: percent_of(run, f"spread.redirected_{kind}_share") for kind in ("read", "write")}


def judge_fig_13(facts: Mapping[str, Facts]) -> Outcome:
    """The two workloads that the text names, and the mean."""
    claims = []
    for name, values in published.REDIRECTED.items():
        for kind, value in zip(("read", "write"), values, strict=True):
            every = column(facts, NAMES, kind)
            why = ""
            measured = facts.get(name, {}).get(kind)
            if name == "mean":
                measured = mean(every) if len(facts) == len(NAMES) else None
                why = "the mean is over all eight workloads"
            claims.append(number(name, f"redirected {kind}s", value, measured, why=why))
    series: list[Series] = []
    for place, kind in enumerate(("read", "write")):
        as_published = [published.REDIRECTED[name][place] if name in published.REDIRECTED else None for name in NAMES]
        series.append((f"{kind}s", column(facts, NAMES, kind), as_published))
    return Outcome(claims, chart(bars(NAMES, series, "redirected pages, %")))


def measure_fig_14(stand: Stand) -> Facts:
    """Deviation of the channels' utilisation, in points of percent."""
    runs = runs_at(stand, "static", "hipa", "ds-ftl")
    return {name: percent_of(run, "utilisation.channel_stddev") for name, run in runs.items()}


def judge_fig_14(facts: Mapping[str, Facts]) -> Outcome:
    """Lowest, highest, mean."""
    series: list[Series] = [(scheme, column(facts, NAMES, scheme), []) for scheme in published.DEVIATION]
    panel = bars(NAMES, series, "deviation, points")
    return Outcome(_spread(facts, published.DEVIATION, "deviation of channel utilisation", "points"), chart(panel))


ITEMS = (
    Item("fig-11", "Redundancy of the planes", "Fig. 11", NAMES, measure_fig_11, judge_fig_11),
    Item("fig-12", "Redundancy plane by plane in home2", "Fig. 12", ("home2",), measure_fig_12, judge_fig_12),
    Item("fig-13", "Redirected requests", "Fig. 13", NAMES, measure_fig_13, judge_fig_13),
    Item("fig-14", "Deviation of channel utilisation", "Fig. 14", NAMES, measure_fig_14, judge_fig_14),
)
