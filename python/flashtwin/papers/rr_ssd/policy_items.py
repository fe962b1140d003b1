"""RR-SSD: claims of its text beside tables and figures. II.B, II.C, II.D."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import Stand, share
from flashtwin.papers.claims import Claim
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import at_clock, by_workload, gains
from flashtwin.settings import Value

NAMES = published.WORKLOADS
#: Lengths of a period in days.
PERIODS = {"hourly": 1.0 / 24.0, "daily": 1.0, "weekly": 7.0}
#: How many copies a content earns, by the names of II.D.
DEGREES: dict[str, Mapping[str, Value]] = {
    "the more popular, the more copies": {},
    "many copies of a few": {"ftl.replication.degree": "many-of-few"},
    "a few copies of many": {"ftl.replication.degree": "few-of-many"},
}
POINTS = "points"


def measure_space(stand: Stand) -> Facts:
    """Pages that the data take at the end, of those that they take without deduplication."""
    runs = at_clock(stand, "conventional", "ca-ssd")
    return {"space": share(*(runs[name].get("space.pages_in_use") for name in ("ca-ssd", "conventional")))}


def judge_space(facts: Mapping[str, Facts]) -> Outcome:
    """II.B: between 15 and 70 %."""
    low, high = published.SPACE
    claims = [Claim(name, "space in ca-ssd", low, high, facts.get(name, {}).get("space")) for name in NAMES]
    panel = bars(NAMES, [("ca-ssd", by_workload(facts, "space"), [])], "space of the data, % of conventional")
    return Outcome(claims, chart(panel))


def measure_periods(stand: Stand) -> Facts:
    """The gain of reads and the number of copies, by how often copies are made."""
    found: Facts = {}
    for label, days in PERIODS.items():
        sets: dict[str, Value] = {"replay.period_s": stand.period_s * days}
        runs = at_clock(stand, "ca-ssd", "rr-ssd", **sets)
        found[label] = gains(runs, "rr-ssd")[0]
        found[f"{label} copies"] = runs["rr-ssd"].get("replication.copies")
    return found


def judge_periods(facts: Mapping[str, Facts]) -> Outcome:
    """II.C, II.D: shorter periods bring no more and cost no less; a week loses "a great amount of benefits"."""
    claims = []
    for name in NAMES:
        found = facts.get(name, {})
        hourly, daily, weekly = (found.get(label) for label in PERIODS)
        claims += [
            Claim(name, "hourly gains more than daily, at most", None, 0.0, _less(hourly, daily), POINTS, True),
            Claim(name, "daily gains more than weekly", 0.0, None, _less(daily, weekly), POINTS, True),
            Claim(name, "pages copied hourly, of those daily", 100.0, None,
                  share(found.get("hourly copies"), found.get("daily copies"))),
        ]  # fmt: skip
    series: list[Series] = [(label, by_workload(facts, label), []) for label in PERIODS]
    return Outcome(claims, chart(bars(NAMES, series, "reads: time saved over ca-ssd, %")))


def measure_degrees(stand: Stand) -> Facts:
    """The gain of reads by how many copies a content earns, in the same space."""
    base = at_clock(stand, "ca-ssd")
    return {
        label: gains(base | at_clock(stand, "rr-ssd", **sets), "rr-ssd")[0] for label, sets in DEGREES.items()
    }  # fmt: skip


def judge_degrees(facts: Mapping[str, Facts]) -> Outcome:
    """II.D: "The two former decisions are static and may not be effective"."""
    chosen, *others = DEGREES
    claims = [
        Claim(name, f"gains more than {other}", 0.0, None,
              _less(facts.get(name, {}).get(chosen), facts.get(name, {}).get(other)), POINTS, True)
        for name in NAMES
        for other in others
    ]  # fmt: skip
    series: list[Series] = [(label, by_workload(facts, label), []) for label in DEGREES]
    return Outcome(claims, chart(bars(NAMES, series, "reads: time saved over ca-ssd, %")))


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


ITEMS = (
    Item("space", "Space that deduplication leaves for copies", "II.B", NAMES, measure_space, judge_space),
    Item("periods", "How often copies are made", "II.C, II.D", NAMES, measure_periods, judge_periods),
    Item("degrees", "How many copies a content earns", "II.D", NAMES, measure_degrees, judge_degrees),
)  # fmt: skip
