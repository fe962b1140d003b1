"""DS-FTL: where pages lie and which are redirected. Fig. 11-14."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.ds_ftl.common import percent_of, runs_at
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart, lines, mean
from flashtwin.papers.text import column, percent

NAMES = published.NAMES


#: Redundancy of planes by how duplicates are counted: pages whose content another page written to the plane has, pages
#: beyond the first of each content, and pages beyond the first that are valid at the end. The paper does not say.
EQUAL, BEYOND, AT_END = "redundancy.written_equal_mean", "redundancy.written_mean", "redundancy.plane_mean"
COUNTED = {"equal pages written": EQUAL, "beyond the first": BEYOND, "beyond the first, valid at the end": AT_END}
#: The column of the table `planes` that has the first.
EQUAL_OF_PLANE = "equal_written"


def measure_fig_11(stand: Stand) -> Facts:
    """Redundancy of planes, however duplicates are counted."""
    runs = runs_at(stand, *published.REDUNDANCY)
    found: Facts = {name: percent_of(run, EQUAL) for name, run in runs.items()}
    return found | {
        f"{name}, {how}": percent_of(run, path) for name, run in runs.items() for how, path in COUNTED.items()
    }


def spread_claims(
    facts: Mapping[str, Facts], as_published: Mapping[str, tuple[float, float, float]], what: str, unit: str,
    workloads: int = len(NAMES),
) -> list[Claim]:  # fmt: skip
    """Lowest, highest and mean over the workloads, scheme by scheme."""
    claims = []
    for scheme, (low, high, average) in as_published.items():
        values = [value for value in column(facts, NAMES, scheme) if value is not None]
        whole = len(values) == workloads > 0
        why = "" if whole else "over all eight workloads"
        claims += [
            number(scheme, f"{what}, lowest", low, min(values) if whole else None, unit, why=why),
            number(scheme, f"{what}, highest", high, max(values) if whole else None, unit, why=why),
            number(scheme, f"{what}, mean", average, mean(values) if whole else None, unit, why=why),
        ]
    return claims


def judge_fig_11(facts: Mapping[str, Facts]) -> Outcome:
    """Lowest, highest, mean of equal pages written: versions of one logical page count, as 5.2.2 says of webmail."""
    series: list[Series] = [(scheme, column(facts, NAMES, scheme), []) for scheme in published.REDUNDANCY]
    columns = [f"{scheme}, {how}" for how in COUNTED for scheme in published.REDUNDANCY]
    means = [percent(average) for _ in COUNTED for _, _, average in published.REDUNDANCY.values()]
    rows = [
        ["published, mean", *means],
        *([name, *(percent(found[key]) for key in columns)] for name, found in facts.items()),
        ["mean", *(percent(mean([found[key] for found in facts.values()])) for key in columns)],
    ]  # fmt: skip
    table = {"title": "Redundancy by how duplicates are counted", "header": ["workload", *columns], "rows": rows}
    return Outcome(
        spread_claims(facts, published.REDUNDANCY, "redundancy of planes", "%"),
        chart(bars(NAMES, series, "redundancy, %")),
        tables=[table] if facts else [],
    )


def measure_fig_12(stand: Stand) -> Facts:
    """Redundancy plane by plane, of pages written."""
    runs = runs_at(stand, "static", "ds-ftl")
    return {
        name: [100.0 * row[EQUAL_OF_PLANE] for row in run.rows("planes") if row[EQUAL_OF_PLANE] is not None]
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


def deviation(run: PaperRun) -> float | None:
    """Deviation of the channels' shares of all that they transfer, in points; None where nothing was."""
    busy = np.array([row["busy_ns"] for row in run.rows("channels")], dtype=float)
    return float(np.std(100.0 * busy / busy.sum())) if busy.sum() else None


def measure_fig_14(stand: Stand) -> Facts:
    """Deviation of the channels' shares of all transfers, and of their busy time as a share of the run's."""
    found: Facts = {}
    for name, run in runs_at(stand, *published.DEVIATION).items():
        found[name] = deviation(run)
        found[f"{name}, of time"] = percent_of(run, "utilisation.channel_stddev")
        found[f"{name}, busy"] = percent_of(run, "utilisation.channel_mean")
    return found


def judge_fig_14(facts: Mapping[str, Facts]) -> Outcome:
    """Lowest, highest, mean. A channel's utilisation is read as its share of what all of them transfer."""
    series: list[Series] = [(scheme, column(facts, NAMES, scheme), []) for scheme in published.DEVIATION]
    claims = spread_claims(facts, published.DEVIATION, "deviation of channel utilisation", "points")
    busy = [found["static, busy"] for found in facts.values() if found["static, busy"] is not None]
    notes = []
    if busy:
        notes.append(
            f"Under static allocation a channel is busy for {min(busy):.4f} to {max(busy):.4f} % of the traces' time, "
            f"so deviations of {published.DEVIATION['static'][0]:.2f} to {published.DEVIATION['static'][1]:.2f} points "
            "cannot be of time; read as shares of all transfers, of which each of 8 channels has 12.5 % on average, "
            "they can."
        )
    rows = [
        [name, *(f"{found[key]:.3f}" if found[key] is not None else "–" for scheme in published.DEVIATION
                 for key in (scheme, f"{scheme}, of time"))]
        for name, found in facts.items()
    ]  # fmt: skip
    header = ["workload", *(key for scheme in published.DEVIATION for key in (scheme, f"{scheme}, of time"))]
    table = {"title": "Deviation in points: of shares of transfers, and of time", "header": header, "rows": rows}
    panel = bars(NAMES, series, "deviation, points")
    return Outcome(claims, chart(panel), notes, [table] if facts else [])


ITEMS = (
    Item("fig-11", "Redundancy of the planes", "Fig. 11", NAMES, measure_fig_11, judge_fig_11),
    Item("fig-12", "Redundancy plane by plane in home2", "Fig. 12", ("home2",), measure_fig_12, judge_fig_12),
    Item("fig-13", "Redirected requests", "Fig. 13", NAMES, measure_fig_13, judge_fig_13),
    Item("fig-14", "Deviation of channel utilisation", "Fig. 14", NAMES, measure_fig_14, judge_fig_14),
)
