"""Which system to choose: each with its best cheap settings, on equal flash, with and without a write cache.

A candidate is a system with the settings of `flashtwin.causes.cheap` that serve the goal best; `Search` finds them.
The result is data (`names.CANDIDATES`); `flashtwin.judgement.choosing` interprets it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashtwin.causes import cheap
from flashtwin.causes.budget import Budget
from flashtwin.causes.case import Key, Sets, key_of
from flashtwin.causes.explaining import command_of
from flashtwin.causes.figures import Figures, Goal
from flashtwin.causes.replaying import KeptFigures, replay_all
from flashtwin.causes.searching import Point, Search, lateness, shape
from flashtwin.errors import ConfigError
from flashtwin.progress import Notify, Progress
from flashtwin.replays.filling import filled
from flashtwin.replays.presets import System, system, systems
from flashtwin.results import folder, ground, names
from flashtwin.results.keys import traits
from flashtwin.traces.scan import Replayable

#: Searches whose beginning is this much longer than the best of all do not go on. Ours.
_BEHIND = 1.5
#: Seeds, beside its own, under which the best candidates are replayed: a lead within the spread is none.
_MORE_SEEDS = 2
#: Candidates this near to the best are replayed under other seeds, too, up to a maximum number. Ours.
_NEAR, _MOST_NEAR = 1.05, 3
#: The other drive on which candidates are shown unless one is named.
TODAY = "tlc-unit-2021"
#: Replays that are made whatever the effort: those that a search begins with, and some that find the best settings of
#: the best system.
_LEAST_REPLAYS, _LEAST_MORE = 3, 12


@dataclass
class _KnownReplays:
    """Replays of one system that are known beforehand: under other seeds, on another drive."""

    system: System
    asked: list[Sets]
    known: dict[Key, Figures] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)

    def wanted(self) -> list[Sets]:
        """Those that were not made yet."""
        return [one for one in self.asked if key_of(one) not in self.known and key_of(one) not in self.failed]

    @property
    def is_late(self) -> bool:
        """Whether no replay kept up with the trace."""
        return all(lateness(self.system, one) is not None for one in self.known.values())

    def values(self, goal: Goal) -> list[float]:
        """The goal's figures in ns, in the order asked for; of those that have one."""
        found = (self.known.get(key_of(one)) for one in self.asked)
        return [value for one in found if one is not None and (value := one.value(goal)) is not None]


def contenders(chosen: Mapping[str, System], *, more: bool) -> dict[str, System]:
    """The systems that compete, all on the ground of the first: those chosen that could be built.

    With `more`, all others that come with flashtwin as well, but for those that are one of these with other settings.
    """
    first = next(iter(chosen))
    buildable = {name: one for name, one in chosen.items() if "bound" not in traits(one.config)} or dict(chosen)
    baseline = buildable.get(first) or next(iter(buildable.values()))
    found = {name: _on_ground_of({"": baseline}, one) or one for name, one in buildable.items()}
    shapes = [shape(one) for one in found.values()]
    for name in systems() if more else ():
        # What concerns none but systems that hash, say, is as in the first of these.
        other = _on_ground_of({"": baseline, **found}, system(name))
        if name in chosen or other is None or "bound" in traits(other.config) or shape(other) in shapes:
            continue
        found[name] = other
        shapes.append(shape(other))
    return found


def _on_ground_of(first: Mapping[str, System], other: System) -> System | None:
    """A system on the ground of others: their drive, engine and way of replaying; None where it cannot stand there.

    For example, a drive that has room for the blocks of one system may have none for the partitions of another.
    """
    try:
        configs = {name: one.config for name, one in first.items()}
        return other.with_sets(ground.equal({**configs, " ": other.config})[" "])
    except ConfigError:
        return None


class Candidates:
    """The candidates of a trace, and the replays that tell which of them is the best."""

    def __init__(self, trace: Replayable, competing: Mapping[str, System], goal: Goal) -> None:
        """Asks for nothing yet."""
        self.trace, self.goal = trace, goal
        self.systems = dict(competing)
        self.searches: dict[str, list[Search]] = {}
        for name, one in self.systems.items():
            cache = cheap.write_cache(one.config)
            self.searches[name] = [Search(one, goal), *([Search(one, goal, cache)] if cache is not None else [])]
        self.device: str | None = None
        self._seeds: dict[str, _KnownReplays] = {}
        self._elsewhere: dict[str, _KnownReplays] = {}

    def search(self, kept: KeptFigures, budget: Budget, notify: Notify | None, **how: Any) -> None:
        """Finds the best settings of each system that comes near to the best: the most promising first."""
        every = [one for of in self.searches.values() for one in of]
        replay_all(self.trace, every, kept, budget, notify=notify, **how)
        # Systems far behind are dropped, unless the effort has no limit.
        for behind in (1.0, _BEHIND, *([math.inf] if budget.effort is None else [])):
            every.sort(key=_cost)
            for one in every:
                one.goes_on = one.goes_on or _cost(one) <= _cost(every[0]) * behind
            replay_all(self.trace, every, kept, budget, **how)

    def under_seeds(self, kept: KeptFigures, **how: Any) -> None:
        """Replays the best candidates under other seeds, where others come near to the first."""
        found = [(cost, name) for name in self.systems if (cost := _cost(self._best(name))) < math.inf]
        near = [name for cost, name in sorted(found) if cost <= _NEAR * min(found)[0]]
        for name in near[:_MOST_NEAR] if len(near) > 1 else []:
            search = self._best(name)
            seed, sets = int(search.system.config["seed"]), search.sets(_point(search))
            asked: list[Sets] = [{**sets, "seed": seed + more} for more in range(1, _MORE_SEEDS + 1)]
            self._seeds[name] = _KnownReplays(search.system, asked)
        self._all(self._seeds.values(), kept, **how)

    def elsewhere(self, kept: KeptFigures, device: str, fill: float | None, **how: Any) -> None:
        """Replays each system as it is, and with its best settings, on another drive."""
        for name, of in self.searches.items():
            try:
                made = of[0].system.with_sets({"device": device})
                made = made if fill is None else filled(self.trace, {name: made}, fill)[name]
            except ConfigError:
                continue
            asked = {key_of(sets): sets for one in of for sets in ({}, one.sets(_point(one)))}
            self._elsewhere[name] = _KnownReplays(made, [sets for sets in asked.values() if _can_be_built(made, sets)])
        self.device = device
        self._all(self._elsewhere.values(), kept, **how)

    def _all(self, asked: Iterable[_KnownReplays], kept: KeptFigures, **how: Any) -> None:
        replay_all(self.trace, list(asked), kept, Budget(None, 1), **how)

    def _best(self, name: str) -> Search:
        """Of a system's searches, with a cache and without, the one that found the better settings."""
        return min(self.searches[name], key=_cost)

    @property
    def data(self) -> dict[str, Any]:
        """Everything that was found, as it is written; times in ns."""
        return {
            "goal": self.goal.name,
            "goal_words": self.goal.words,
            "baseline": next(iter(self.systems)),
            "requests": next((self._requests(one) for of in self.searches.values() for one in of if one.known), 0),
            "replays": sum(len(one.known) for of in self.searches.values() for one in of),
            "unfinished": [name for name, of in self.searches.items() if any(one.wanted() for one in of)],
            "candidates": [
                self._candidate(name, one, cached=bool(place))
                for name, of in self.searches.items()
                for place, one in enumerate(of)
                if one.best() is not None
            ],
            "left_out": {name: reason for name, of in self.searches.items() if (reason := _failure(of))},
            "seeds": {name: one.values(self.goal) for name, one in self._seeds.items()},
            "device": self.device,
            "elsewhere": {
                name: {"as_is_ns": found[0], "after_ns": min(found), "is_late": one.is_late}
                for name, one in self._elsewhere.items()
                if (found := one.values(self.goal))
            },
        }

    def _requests(self, search: Search) -> int:
        """How many requests the goal is about."""
        figures = next(iter(search.known.values()))
        return figures[{"read": "reads", "write": "writes"}.get(self.goal.kind, "requests")]

    def _candidate(self, name: str, search: Search, *, cached: bool) -> dict[str, Any]:
        """A system with its best settings: the keys, their gain and cost, and the command."""
        point = _point(search)
        sets = search.sets(point)
        # It was replayed: otherwise there is no candidate.
        made, figures = search.system.with_sets(sets), search.known[key_of(sets)]
        levels, command = search.levels(point), command_of(self.trace, name, search.system)
        config = made.config
        return {
            "system": name,
            "cached": cached,
            "settings": [one.words for one in levels],
            "takes": [one.takes for one in levels if one.takes],
            "sets": sets,
            "as_is_ns": search.value(search.none),
            "after_ns": figures.value(self.goal),
            "late": lateness(made, figures),
            "completed_ns": figures["completed_ns"],
            "response": {kind: dict(of) for kind, of in figures.response.items()},
            "programs": figures["programs"],
            "erases": figures["erases"],
            "ram_bytes": figures["ram_bytes"],
            "hash_lanes": int(config["engine"]["hash_lanes"]) if "looks-at-contents" in traits(config) else 0,
            "life_years": _life_years(made, figures),
            "command": command.replay(sets),
        }


def _cost(search: Search) -> float:
    """The figure that best settings are compared by; infinite before the first replay."""
    point = search.best()
    cost = None if point is None else search.cost(point)
    return math.inf if cost is None else cost


def _point(search: Search) -> Point:
    return search.best() or search.none


def _failure(searches: Sequence[Search]) -> str:
    """Why a system has no candidate; empty where it has one."""
    if any(one.best() is not None for one in searches):
        return ""
    return next((reason for one in searches for reason in one.failed.values()), "no request has such a figure")


def _can_be_built(system: System, sets: Sets) -> bool:
    try:
        system.with_sets(sets)
    except ConfigError:
        return False
    return True


def _life_years(system: System, figures: Figures) -> float | None:
    """How long until every block has had its erases, at the rate of programs of this replay; None without programs.

    Programs, not erases: most replays end before collection has begun.
    """
    cycles, took_s = int(system.config["nand"]["pe_cycles"]), figures["completed_ns"] / 1e9
    if not figures["programs"] or not took_s:
        return None
    return cycles * system.raw_pages / (figures["programs"] / took_s) / (365.25 * 86_400)


def choose(
    path: Path,
    trace: Replayable,
    competing: Mapping[str, System],
    goal: Goal,
    budget: Budget,
    *,
    device: str | None = TODAY,
    fill: float | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> None:
    """Finds the candidates of a trace, and writes them into the folder; replays made before take no effort.

    Where their drive is not `device` already, they are shown on that, too.
    """
    kept = KeptFigures.of(path)
    found = Candidates(trace, competing, goal)
    how = {"threads": threads, "progress": progress, "what": "candidates"}
    budget.at_least(_LEAST_REPLAYS * sum(map(len, found.searches.values())) + _LEAST_MORE)
    found.search(kept, budget, notify, **how)
    found.under_seeds(kept, **how)
    if device is not None and device != next(iter(competing.values())).config["device"]:
        found.elsewhere(kept, device, fill, **how)
    folder.write_json(path / names.CANDIDATES, found.data)
