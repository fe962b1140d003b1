"""DS-FTL: response times as requests arrive, and when they come faster. Fig. 10."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import Stand, reduction
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.ds_ftl.common import SCHEMES, runs_at
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart, mean
from flashtwin.papers.text import percent

NAMES = published.NAMES
#: Clocks at which response times are measured again, beside that of the trace.
SPEEDS = (10.0, 100.0, 1000.0)


def measure_fig_10(stand: Stand) -> Facts:
    """Cuts in the mean response of all schemes, at the trace's clock and faster ones."""
    found: Facts = {}
    for speed in (1.0, *SPEEDS):
        runs = runs_at(stand, *SCHEMES, speed=speed)
        for kind in ("read", "write"):
            what = f"response.{kind}.mean_ns"
            found[f"{kind}_{speed:g}"] = {
                name: reduction(runs[name], runs["ds-ftl"], what) for name in SCHEMES if name != "ds-ftl"
            }
            if speed == 1.0:
                base = runs["static"].get(what)
                found[f"{kind}_of_static"] = {
                    name: (runs[name].get(what) or 0.0) / base if base else None for name in SCHEMES
                }
    return found


def _judge_latency(facts: Mapping[str, Facts], kind: str, cuts: Mapping[str, tuple[float, float | None]]) -> Outcome:
    claims: list[Claim] = []
    for other, (average, largest) in cuts.items():
        values = [facts.get(name, {}).get(f"{kind}_1", {}).get(other) for name in NAMES]
        # A workload without such requests (webresearch reads 23 times in three weeks) has no part in it.
        whole = len(facts) == len(NAMES)
        why = "the mean is over all eight workloads"
        claims.append(
            number(
                "mean", f"{kind}s: DS-FTL below {other}", average, mean(values) if whole else None, effect=True, why=why
            )
        )
        if largest is not None:
            most = max((value for value in values if value is not None), default=None)
            claims.append(number("largest", f"{kind}s: DS-FTL below {other}", largest, most, effect=True))
    series: list[Series] = [
        (name, [facts.get(one, {}).get(f"{kind}_of_static", {}).get(name) for one in NAMES], []) for name in SCHEMES
    ]
    return Outcome(claims, chart(bars(NAMES, series, f"mean {kind} / static")), tables=[_by_speed(facts, kind, cuts)])


def _by_speed(facts: Mapping[str, Facts], kind: str, cuts: Mapping[str, object]) -> dict[str, object]:
    """The same cuts when requests come faster."""
    rows = []
    for name in facts:
        for speed in (1.0, *SPEEDS):
            cells = [facts[name][f"{kind}_{speed:g}"][other] for other in cuts]
            rows.append([name, f"{speed:g}", *(percent(cell) for cell in cells)])
    header = ["workload", "replay.speed", *(f"DS-FTL below {other}" for other in cuts)]
    return {"title": f"Mean {kind}s when requests come faster", "header": header, "rows": rows}


def judge_fig_10a(facts: Mapping[str, Facts]) -> Outcome:
    """Writes."""
    return _judge_latency(facts, "write", published.WRITE_CUT)


def judge_fig_10b(facts: Mapping[str, Facts]) -> Outcome:
    """Reads."""
    return _judge_latency(facts, "read", published.READ_CUT)


ITEMS = (
    Item("fig-10a", "Write latency", "Fig. 10a", NAMES, measure_fig_10, judge_fig_10a),
    Item("fig-10b", "Read latency", "Fig. 10b", NAMES, measure_fig_10, judge_fig_10b),
)
