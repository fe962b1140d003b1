"""The system to choose, and its settings, from the candidates of a study (`flashtwin.causes.choosing`).

A lead is one only where it is larger than what chance moves, and where there are enough requests to tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import UNKNOWN, Action, Verdict, joined

TOPIC = "verdict"
#: Least requests of the goal's kind for a choice; of a percentile, least requests beyond it. Ours.
LEAST, BEYOND = 100, 10
#: Figures that differ by less than this share are equal, for any seed. Ours.
EQUAL = 0.01
#: Beyond every response time.
_NEVER_NS = 1e18
#: The least change for the claim that a system as good programs fewer pages. Ours.
_WORTH_A_WORD_PERCENT = 5.0
#: The verdict comes before all findings.
_WEIGHT = 10.0

Candidate = Mapping[str, Any]


@dataclass(frozen=True)
class RankedSystem:
    """A system by its best candidate, and where that stands."""

    best: Candidate
    #: The same system with the write cache and without it; None where there is no such candidate.
    cached: Candidate | None
    plain: Candidate | None
    #: Against the baseline's best, in percent; None of the baseline itself.
    change: float | None
    #: Whether it is as good as the best of all.
    ties: bool

    @property
    def name(self) -> str:
        """The system."""
        return str(self.best["system"])

    @property
    def as_is_ns(self) -> float | None:
        """The figure of the system as it is; None where it was not replayed so."""
        ns = (self.plain if self.plain is not None else self.best)["as_is_ns"]
        return None if ns is None else float(ns)

    @property
    def ns(self) -> float:
        """The goal's figure at its best."""
        return float(self.best["after_ns"])


def ranking(found: Mapping[str, Any]) -> list[RankedSystem]:
    """The systems by their best candidates, the best first."""
    of: dict[str, list[Candidate]] = {}
    for one in found["candidates"]:
        of.setdefault(one["system"], []).append(one)
    best = {name: min(some, key=_cost) for name, some in of.items()}
    if not best:
        return []
    least = min(map(_cost, best.values()))
    most = least + max(EQUAL * least, _spread(found))
    base = best.get(found["baseline"])
    ranked = [
        RankedSystem(
            one,
            next((other for other in of[name] if other["cached"]), None),
            next((other for other in of[name] if not other["cached"]), None),
            None if base is None or one is base else _change(one, base),
            _cost(one) <= most,
        )
        for name, one in best.items()
    ]
    return sorted(ranked, key=lambda one: (_cost(one.best), one.name != found["baseline"]))


def _cost(one: Candidate) -> float:
    """The rank of a candidate: the goal's figure; of one that falls behind the trace, by how much it does."""
    return float(one["after_ns"]) if one["late"] is None else _NEVER_NS * float(one["late"])


def _change(one: Candidate, base: Candidate) -> float | None:
    """The change of the figure; None where one of the two falls behind, since its figure grows with the trace."""
    either = one["late"] is not None or base["late"] is not None
    return None if either else facts.change(float(one["after_ns"]), float(base["after_ns"]))


def _spread(found: Mapping[str, Any]) -> float:
    """By how much chance moves a figure, in ns: the widest range over seeds of one candidate."""
    ranges = []
    for name, values in found["seeds"].items():
        own = [float(one["after_ns"]) for one in found["candidates"] if one["system"] == name and one["late"] is None]
        ranges.append(max([min(own), *values]) - min([min(own), *values]) if own and values else 0.0)
    return max(ranges, default=0.0)


def chosen(found: Mapping[str, Any]) -> RankedSystem | None:
    """The candidate to choose: of equals the baseline, else the fewest programs; None where too little is known."""
    ranked = ranking(found)
    if not ranked or too_few(found):
        return None
    equals = [one for one in ranked if one.ties]
    cheapest = min(equals, key=lambda one: (int(one.best["programs"]), int(one.best["ram_bytes"]), one.ns))
    return next((one for one in equals if one.name == found["baseline"]), cheapest)


def too_few(found: Mapping[str, Any]) -> str:
    """Why there are too few requests to choose by; empty where there are enough."""
    kind, _, statistic = str(found["goal"]).partition(".")
    count = int(found["requests"])
    least = LEAST
    if statistic.startswith("p"):
        beyond = 100.0 - float(statistic[1:].replace("_", "."))
        least = max(LEAST, math.ceil(round(BEYOND * 100.0 / beyond, 6)))
    if count >= least:
        return ""
    noun = {"read": "read", "write": "write"}.get(kind, "request")
    return f"{units.plural(count, noun)}, fewer than the {least:,} needed for {found['goal_words']}"


def choice(of: Evidence) -> Verdict | None:
    """The candidate to choose; None where nobody looked."""
    found = of.study.candidates if of.study is not None else {}
    if not found:
        return None
    ranked = ranking(found)
    figures = {
        f"{one['system']}{'+cache' if one['cached'] else ''}:{found['goal']}": float(one["after_ns"])
        for one in found["candidates"]
    }
    evidence = tuple(run.name for run in of.runs if any(one.name == run.name for one in ranked))
    few, first = too_few(found), chosen(found)
    if first is None:
        claim = f"Too few requests to choose a system by: {few}." if few else "No candidate could be replayed."
        return Verdict(TOPIC, claim, UNKNOWN, "", figures, evidence, weight=_WEIGHT)
    claim = _claim(found, first, ranked)
    action = Action("Run it", str(first.best["command"]), dict(first.best["sets"]))
    reason = joined(_equals(first, ranked), _costs(first, ranked, found), _elsewhere(found, first))
    return Verdict(TOPIC, claim, first.name, reason, figures, evidence, action, _WEIGHT)


def settings(candidate: Candidate) -> str:
    """A candidate's settings as words that follow its name: `with 4 hash lanes and static placement`, `as it is`."""
    words = candidate["settings"]
    return f"with {units.names_plain(list(words))}" if words else "as it is"


def _claim(found: Mapping[str, Any], first: RankedSystem, ranked: Sequence[RankedSystem]) -> str:
    if first.best["late"] is not None:
        how = f"`{first.name}` {settings(first.best)}"
        times = f"{units.significant(float(first.best['late']))} times as long as the trace"
        return f"No candidate keeps up with the trace at this speed. {how} comes nearest: it takes {times}."
    goal, value = found["goal_words"], units.duration(first.ns)
    own = facts.change(first.ns, first.as_is_ns)
    gain = ""
    if first.best["settings"] and own is not None and facts.gains(own):
        gain = f" instead of {units.duration(first.as_is_ns)}"
    if len(ranked) == 1:
        return f"`{first.name}` is at its best {settings(first.best)}: {goal} is {value}{gain}."
    base = next((one for one in ranked if one.name == found["baseline"]), None)
    if first.name == found["baseline"]:
        how = f"{settings(first.best)}, " if first.best["settings"] else ""
        return f"No system beats `{first.name}`: {how}{goal} is {value}{gain}."
    claim = f"`{first.name}` is the best choice, {settings(first.best)}: {goal} is {value}"
    if base is not None and base.best["late"] is not None:
        claim += f"; `{base.name}` falls behind the trace even {settings(base.best)}"
    if base is not None and first.change is not None:
        same = base.best["settings"] == first.best["settings"] != []
        than = f"`{base.name}` {'with the same settings' if same else settings(base.best)} ({units.duration(base.ns)})"
        claim += f", {units.longer_or_shorter(first.change)} than {than}"
    return f"{claim}."


def _equals(first: RankedSystem, ranked: Sequence[RankedSystem]) -> str:
    """Who is as good, or comes next."""
    others = [one for one in ranked if one.name != first.name]
    equal = [f"`{one.name}`" for one in others if one.ties]
    if equal:
        return f"{units.names_plain(equal)} {'is as fast' if len(equal) == 1 else 'are as fast, each'} at its best."
    if not others:
        return ""
    if others[0].best["late"] is not None:
        return "" if first.best["late"] is not None else "All others fall behind the trace."
    behind = facts.change(others[0].ns, first.ns) or 0.0
    after = f"{units.duration(others[0].ns)} ({units.change(behind)})"
    return f"Next is `{others[0].name}` {settings(others[0].best)}: {after}."


def _costs(first: RankedSystem, ranked: Sequence[RankedSystem], found: Mapping[str, Any]) -> str:
    """Writes and RAM of the choice against the baseline; if that is chosen, the equal that writes least."""
    base = next((one for one in ranked if one.name == found["baseline"]), None)
    if base is None or len(ranked) == 1:
        return ""
    if base.name == first.name:
        equal = [one for one in ranked if one.ties and one.name != first.name]
        if not equal:
            return ""
        least = min(equal, key=lambda one: int(one.best["programs"]))
        change = facts.change(float(least.best["programs"]), float(base.best["programs"]))
        if change is None or change > -_WORTH_A_WORD_PERCENT:
            return ""
        return f"`{least.name}` programs {units.percent(-change)} fewer pages than `{base.name}`."
    parts = []
    change = facts.change(float(first.best["programs"]), float(base.best["programs"]))
    if change is not None and not units.unchanged(change):
        parts.append(f"programs {units.percent(abs(change))} {'more' if change > 0 else 'fewer'} pages")
    ram = int(first.best["ram_bytes"]) - int(base.best["ram_bytes"])
    if ram:
        parts.append(f"holds {units.size(abs(ram))} {'more' if ram > 0 else 'less'} of tables in RAM")
    return f"`{first.name}` {' and '.join(parts)} than `{base.name}`." if parts else ""


def _elsewhere(found: Mapping[str, Any], first: RankedSystem) -> str:
    """Whether the choice is the best on the other drive as well."""
    there = {name: float(one["after_ns"]) for name, one in found["elsewhere"].items() if not one["is_late"]}
    if len(there) < 2 or first.name not in there:
        return ""
    least = min(there.values()) * (1 + EQUAL)
    best = min(there, key=lambda name: (there[name] > least, name != found["baseline"], there[name]))
    behind = facts.change(there[first.name], there[best])
    drive = f"On `{found['device']}`"
    if behind is None or behind <= EQUAL * 100.0:
        return (
            f"{drive} none is ahead of it either."
            if first.name == found["baseline"]
            else f"{drive} it is ahead as well."
        )
    instead = f"{units.duration(there[best])} instead of {units.duration(there[first.name])}"
    return f"{drive} `{best}` is ahead of it: {instead}."
