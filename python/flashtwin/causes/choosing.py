"""Candidates: systems on one ground, each with the settings that make it fastest, and the cheapest nearly as fast.

`Search` finds the settings; `flashtwin.judgement.choosing` decides among the candidates, by their runs and prices.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from flashtwin.causes.budget import Budget
from flashtwin.causes.case import Consequence, Sets, WhatIf, key_of
from flashtwin.causes.explaining import command_of
from flashtwin.causes.figures import Figures
from flashtwin.causes.replaying import KeptFigures, replay_all
from flashtwin.causes.searching import Point, Search, shape
from flashtwin.errors import ConfigError
from flashtwin.judgement.choosing import WORTH, Decision, decide_among
from flashtwin.judgement.costs import Prices
from flashtwin.judgement.goals import Goal
from flashtwin.progress import Notify, Progress
from flashtwin.replays.folders import replay_into
from flashtwin.replays.grounds import check_raw_pages, on_ground_of
from flashtwin.replays.presets import System, system, systems
from flashtwin.results import folder, names
from flashtwin.results.keys import traits
from flashtwin.results.reading import load
from flashtwin.results.trees import leaves
from flashtwin.traces.scan import Replayable

#: Searches whose beginning is this much longer than the best of all do not go on. Ours.
_BEHIND = 1.5
#: Replays that are made whatever the effort: those that a search begins with, and some that find the best settings of
#: the best system.
_LEAST_REPLAYS, _LEAST_MORE = 5, 12
#: Of a system with two candidates, the name of the run of the faster one.
_FASTEST = " (fastest)"


@dataclass(frozen=True)
class Question:
    """What is wanted of a candidate."""

    goal: Goal
    second_goal: Goal | None = None
    #: The share of the goal's figure that is given up for a cheaper candidate.
    worth: float = WORTH
    prices: Prices = field(default_factory=Prices.read)
    #: Bytes of flash of the drive that is to be bought; None: of the drive that is replayed.
    capacity_bytes: float | None = None


@dataclass(frozen=True)
class Contenders:
    """Systems that compete on one ground, the baseline first, and those that cannot stand there, with the reason."""

    systems: dict[str, System]
    left_out: dict[str, str]
    #: Systems that no one can build: they are shown as bounds, with the settings of the choice.
    bounds: dict[str, System]
    #: The names of the systems that somebody asked for.
    asked: tuple[str, ...] = ()


def contenders(chosen: Mapping[str, System], goal: Goal, *, more: bool) -> Contenders:
    """The systems that compete, all on the ground of the first: those chosen that could be built.

    With `more`, all others that come with flashtwin as well, but for those that are one of these with other settings.
    """
    bounds = {name: one for name, one in chosen.items() if "bound" in traits(one.config)}
    buildable = {name: one for name, one in chosen.items() if name not in bounds} or dict(chosen)
    bounds = bounds if len(bounds) < len(chosen) else {}
    found: dict[str, System] = {}
    left_out: dict[str, str] = {}
    shapes: list[object] = []
    others = [name for name in (systems() if more else ()) if name not in chosen]
    for name, one in [*buildable.items(), *((name, system(name)) for name in others)]:
        if name in others and "bound" in traits(one.config):
            continue
        try:
            made = on_ground_of(found, one) if found else one
        except ConfigError as error:
            left_out[name] = str(error)
            continue
        own = shape(made, goal)
        if name not in others or own not in shapes:
            found[name] = made
            shapes.append(own)
    check_raw_pages(found)
    return Contenders(found, left_out, bounds, tuple(chosen))


class Contest:
    """The search for the candidates of a trace."""

    def __init__(self, trace: Replayable, competing: Contenders, question: Question) -> None:
        """Asks for nothing yet."""
        self.trace, self.competing, self.question = trace, competing, question
        self.searches = {name: Search(one, question.goal, self._price) for name, one in competing.systems.items()}
        #: Systems whose runs equal another's: these are not searched twice.
        self._twins: dict[str, str] = {}

    def search(self, kept: KeptFigures, budget: Budget, notify: Notify | None, **how: Any) -> None:
        """Finds the best settings of each system that comes near to the best: the most promising first."""
        every = list(self.searches.values())
        budget.at_least(_LEAST_REPLAYS * len(every) + _LEAST_MORE)
        replay_all(self.trace, every, kept, budget, notify=notify, **how)
        self._find_twins()
        going = [one for name, one in self.searches.items() if name not in self._twins]
        # Systems far behind are dropped, unless the effort has no limit.
        for behind in (1.0, _BEHIND, *([math.inf] if budget.effort is None else [])):
            going.sort(key=_cost)
            for one in going:
                one.goes_on = one.goes_on or _cost(one) <= _cost(going[0]) * behind
            replay_all(self.trace, going, kept, budget, **how)
        # What rarely matters is tried on the best alone; then settings are taken away.
        going.sort(key=_cost)
        going[0].tunes = True
        replay_all(self.trace, going, kept, budget, **how)
        for one in going:
            one.limit = min(map(_cost, going)) * (1 + self.question.worth)
        replay_all(self.trace, [one for one in going if one.goes_on], kept, budget, **how)

    def write(self, path: Path, *, threads: int = 0, progress: Progress | None = None) -> Decision | None:
        """Writes the candidates and their runs into a folder, and decides among them."""
        made: dict[str, System] = {}
        rows = []
        for name, search in self.searches.items():
            for run, point in self._points(name, search).items():
                made[run] = search.system.with_sets(search.sets(point))
                rows.append(self._row(run, name, search, point))
        data = self._data(rows)
        decision: Decision | None = None
        if made:
            (path / names.AT_BEST).mkdir(exist_ok=True)
            how: dict[str, Any] = {"threads": threads, "progress": progress, "equal_ground": True}
            replay_into(path / names.AT_BEST, self.trace, made, **how)
            decision = decide_among(load(path / names.AT_BEST), data)
        first = decision.choice if decision is not None else None
        if decision is not None and first is not None:
            # Beside the choice, its bound with the same settings.
            bounds = self._bounds(first.sets)
            if bounds:
                replay_into(path / names.AT_BEST, self.trace, {**made, **bounds}, **how)
            data["shown"] = self._shown(decision, list(bounds))
            data["beside"] = self._beside(first.system, first.sets)
        folder.write_json(path / names.CANDIDATES, data)
        return decision

    def _shown(self, decision: Decision, bounds: Sequence[str]) -> list[str]:
        """The runs that charts are drawn of: those that the verdict names, the systems asked for, and bounds."""
        named = [decision.baseline, decision.fastest, decision.choice, *decision.alike]
        asked = [one for one in decision.candidates if one.run.name in self.competing.asked]
        return list(dict.fromkeys([*(one.run.name for one in [*named, *asked] if one is not None), *bounds]))

    def _price(self, made: System, figures: Figures) -> float:
        """What a system costs that programs as much as it did."""
        question, config = self.question, {f"config.{key}": value for key, value in leaves(made.config)}
        capacity = question.capacity_bytes or made.raw_pages * made.config["nand"]["page_bytes"]
        programs = (one.base["programs"] for one in self.searches.values() if one.base is not None)
        return question.prices.of({**figures.summary, **config}, capacity, max(programs, default=0))

    def _find_twins(self) -> None:
        """Of systems whose first runs are all equal, the cheapest stands for all."""
        groups: dict[str, list[str]] = {}
        for name, search in self.searches.items():
            if search.base is not None:
                happened = {str(key): one.happened for key, one in sorted(search.known.items(), key=str)}
                groups.setdefault(repr(happened), []).append(name)
        for equal in groups.values():
            first, *others = sorted(equal, key=lambda name: (_base_price(self.searches[name]), name))
            self._twins |= dict.fromkeys(others, first)

    def _points(self, name: str, search: Search) -> dict[str, Point]:
        """The candidates of a system by the names of their runs."""
        fastest, cheapest = search.fastest(), search.cheapest()
        if fastest is None or name in self._twins:
            return {}
        if cheapest is None or cheapest == fastest:
            return {name: fastest}
        # Where its upper end speaks against the cheapest of all, the fastest of its system is the next choice.
        best = _cost(search) == min(map(_cost, self.searches.values()))
        dear = [one.dearness(point) for one in self.searches.values() if (point := one.cheapest()) is not None]
        both = best or search.dearness(cheapest)[:2] == min(dear)[:2]
        return {name: cheapest, **({f"{name}{_FASTEST}": fastest} if both else {})}

    def _row(self, run: str, name: str, search: Search, point: Point) -> dict[str, Any]:
        """A candidate: a system with its settings, and the command of its run."""
        levels = search.levels(point)
        return {
            "name": run,
            "system": name,
            "also": sorted(twin for twin, first in self._twins.items() if first == name),
            "settings": [level.words for _, level in levels],
            "changes": [change.name for change, _ in levels],
            "takes": [level.takes for _, level in levels if level.takes],
            "sets": search.sets(point),
            "as_configured": search.base.value(self.question.goal) if search.base is not None else None,
            "command": self._command(search, search.sets(point)),
        }

    def _command(self, search: Search, sets: Sets) -> str:
        return command_of(self.trace, search.system.name, search.system).replay(sets)

    def _beside(self, name: str, sets: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Replays that differ from a candidate in one setting: the change, and what it brings."""
        search, goal, rows = self.searches[name], self.question.goal, []
        here = next(point for point in search.replayed if search.sets(point) == dict(sets))
        before = search.known[key_of(sets)]
        for other in search.beside(here):
            place = next(place for place, level in enumerate(other) if level != here[place])
            change, levels = search.axes[place]
            without = f"without {levels[here[place] - 1].words}"
            step = Consequence(WhatIf("", search.sets(other)), before, search.known[key_of(search.sets(other))], goal)
            rows.append({
                "change": change.name, "words": levels[other[place] - 1].words if other[place] else without,
                "sets": search.sets(other), "value": step.value, "percent": step.percent,
                "programs": step.more("programs"), "command": self._command(search, search.sets(other)),
            })  # fmt: skip
        return sorted(rows, key=lambda row: -row["percent"])

    def _bounds(self, sets: Mapping[str, Any]) -> dict[str, System]:
        """The bounds with a candidate's settings; those that cannot have them are left out."""
        found = {}
        for name, one in self.competing.bounds.items():
            try:
                found[name] = on_ground_of(self.competing.systems, one).with_sets(sets)
            except ConfigError:
                continue
        return found

    def _data(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Everything that was found, as it is written."""
        question, searches = self.question, self.searches
        failed = {
            name: next(iter(one.failed.values()), "no request has such a figure")
            for name, one in searches.items() if one.fastest() is None
        }  # fmt: skip
        return {
            "goal": question.goal.name,
            "second_goal": None if question.second_goal is None else question.second_goal.name,
            "worth": question.worth,
            "prices": asdict(question.prices),
            "own_prices": question.prices != Prices.read(),
            "capacity_bytes": question.capacity_bytes,
            "baseline": next(iter(searches)),
            "replays": sum(len(one.known) for one in searches.values()),
            "unfinished": [name for name, one in searches.items() if name not in self._twins and one.wanted()],
            "candidates": list(rows),
            "left_out": {**self.competing.left_out, **failed},
            "shown": [],
            "beside": [],
            "acknowledged": {},
        }


def _cost(search: Search) -> float:
    """The figure that best settings are compared by; infinite before the first replay."""
    point = search.fastest()
    cost = None if point is None else search.cost(point)
    return math.inf if cost is None else cost


def _base_price(search: Search) -> float:
    return math.inf if search.base is None else search.price(search.system, search.base)


def choose(
    path: Path,
    trace: Replayable,
    competing: Contenders,
    question: Question,
    budget: Budget,
    *,
    threads: int = 0,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Decision | None:
    """Finds the candidates of a trace, writes them into the folder with their runs, and decides among them.

    Replays made before take no effort.
    """
    contest = Contest(trace, competing, question)
    contest.search(KeptFigures.of(path), budget, notify, threads=threads, progress=progress, what="candidates")
    return contest.write(path, threads=threads, progress=progress)
