"""Candidates: systems on one ground, each with the settings that make it fastest, and the cheapest nearly as fast."""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from flashtwin.causes.replaying import Budget, KeptFigures, replay_all
from flashtwin.causes.searching import Point, SettingsSearch, shape
from flashtwin.causes.stored import command_of
from flashtwin.errors import ConfigError
from flashtwin.judgement import facts
from flashtwin.judgement.choosing import WORTH, Decision, decide
from flashtwin.judgement.costs import Prices
from flashtwin.judgement.goals import Figures, Goal
from flashtwin.progress import Progress
from flashtwin.replays.folders import replay_into
from flashtwin.replays.grounds import check_raw_pages, on_ground_of
from flashtwin.replays.presets import System, system, systems
from flashtwin.results import folder, names
from flashtwin.results.formats import FORMAT
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
    goal: Goal
    second_goal: Goal | None = None
    worth: float = WORTH
    prices: Prices = field(default_factory=Prices.read)
    #: Bytes of flash of the drive that is to be bought; None: of the drive that is replayed.
    capacity_bytes: float | None = None


@dataclass(frozen=True)
class Contenders:
    """Systems that compete on one ground, the baseline first, and those that cannot stand there, with the reason."""

    systems: dict[str, System]
    left_out: dict[str, str]
    #: Systems that no one can build: they are shown beside, with the settings of the choice.
    bounds: dict[str, System]
    #: The names of the systems that somebody asked for.
    asked: tuple[str, ...] = ()


def contenders(chosen: Mapping[str, System], goal: Goal, *, more: bool) -> Contenders:
    """The systems that compete, all on the ground of the first: those chosen that could be built.

    With `more`, all others that come with flashtwin as well, but for those that are one of these with other settings.
    """
    every = {**{name: system(name) for name in (systems() if more else ())}, **chosen}
    bounds = {name: one for name, one in every.items() if "bound" in traits(one.config)}
    buildable = {name: one for name, one in chosen.items() if name not in bounds} or dict(chosen)
    others = {name: one for name, one in every.items() if name not in chosen and name not in bounds}
    found, left_out, shapes = dict[str, System](), dict[str, str](), list[object]()
    for name, one in {**buildable, **others}.items():
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
    bounds = {name: one for name, one in bounds.items() if name in chosen and name not in buildable}
    return Contenders(found, left_out, bounds, tuple(chosen))


class Contest:
    def __init__(self, trace: Replayable, competing: Contenders, question: Question) -> None:
        self.trace, self.competing, self.question = trace, competing, question
        self.searches = {
            name: SettingsSearch(one, question.goal, price=self._price) for name, one in competing.systems.items()
        }
        #: Systems whose runs equal another's: these are not searched twice.
        self._twins: dict[str, str] = {}

    def search(self, kept: KeptFigures, budget: Budget, **how: Any) -> None:
        """Finds the best settings of each system that comes near to the best: the most promising first."""
        every = list(self.searches.values())
        budget.at_least(_LEAST_REPLAYS * len(every) + _LEAST_MORE)
        replay_all(self.trace, every, kept, budget, **how)
        self._find_twins()
        going = [one for name, one in self.searches.items() if name not in self._twins]
        # Systems far behind are dropped, unless the effort has no limit.
        for behind in (1.0, _BEHIND, *([math.inf] if budget.effort is None else [])):
            going.sort(key=attrgetter("best_cost"))
            for one in going:
                one.goes_on = one.goes_on or one.best_cost <= going[0].best_cost * behind
            replay_all(self.trace, going, kept, budget, **how)
        # What rarely matters is tried on the best alone; then settings are taken away.
        going.sort(key=attrgetter("best_cost"))
        going[0].tunes = True
        replay_all(self.trace, going, kept, budget, **how)
        for one in going:
            one.limit = min(map(attrgetter("best_cost"), going)) * (1 + self.question.worth)
        replay_all(self.trace, [one for one in going if one.goes_on], kept, budget, **how)

    def write(self, path: Path, *, threads: int = 0, progress: Progress | None = None) -> Decision | None:
        made: dict[str, System] = {}
        data = self._data()
        for name, search in self.searches.items():
            for run, point in self._points(name, search).items():
                made[run] = search.system.with_sets(search.sets(point))
                data["candidates"].append(self._row(run, name, search, point))
        decision: Decision | None = None
        if made:
            (path / names.AT_BEST).mkdir(exist_ok=True)
            how: dict[str, Any] = {"threads": threads, "progress": progress, "equal_ground": True}
            replay_into(path / names.AT_BEST, self.trace, made, **how)
            decision = decide(load(path / names.AT_BEST), data)
        if decision is not None and decision.choice is not None:
            # Beside the choice, its bound with the same settings, where it can have them.
            bounds: dict[str, System] = {}
            for name, one in self.competing.bounds.items():
                with contextlib.suppress(ConfigError):
                    bounds[name] = on_ground_of(self.competing.systems, one).with_sets(decision.choice.sets)
            if bounds:
                replay_into(path / names.AT_BEST, self.trace, {**made, **bounds}, **how)
            # Charts are drawn of the candidates that the verdict names, the systems asked for, and bounds.
            named = [decision.baseline, decision.fastest, decision.choice, *decision.alike]
            named += [one for one in decision.candidates if one.run.name in self.competing.asked]
            data["shown"] = list(dict.fromkeys([*(one.run.name for one in named), *bounds]))
        folder.write_json(path / names.CANDIDATES, data)
        return decision

    def _price(self, made: System, figures: Figures) -> float:
        question, config = self.question, {f"config.{key}": value for key, value in leaves(made.config)}
        capacity = question.capacity_bytes or made.raw_pages * made.config["nand"]["page_bytes"]
        programs = (one.base["programs"] for one in self.searches.values() if one.base is not None)
        return question.prices.of({**figures.summary, **config}, capacity, max(programs, default=0))

    def _find_twins(self) -> None:
        """Of systems whose first runs are all equal, the cheapest stands for all."""
        groups: dict[str, list[str]] = {}
        for name, search in self.searches.items():
            if search.base is not None:
                runs = {str(key): facts.happened(of.summary) for key, of in sorted(search.known.items(), key=str)}
                groups.setdefault(repr(runs), []).append(name)
        for equal in groups.values():
            first, *others = sorted(equal, key=lambda name: (self.searches[name].base_price, name))
            self._twins |= dict.fromkeys(others, first)

    def _points(self, name: str, search: SettingsSearch) -> dict[str, Point]:
        fastest, cheapest = search.fastest(), search.cheapest()
        if fastest is None or name in self._twins:
            return {}
        if cheapest is None or cheapest == fastest:
            return {name: fastest}
        # Where its upper end speaks against the cheapest of all, the fastest of its system is the next choice.
        best = search.best_cost == min(map(attrgetter("best_cost"), self.searches.values()))
        dear = [one.dearness(point) for one in self.searches.values() if (point := one.cheapest()) is not None]
        both = best or search.dearness(cheapest)[:2] == min(dear)[:2]
        return {name: cheapest, **({f"{name}{_FASTEST}": fastest} if both else {})}

    def _row(self, run: str, name: str, search: SettingsSearch, point: Point) -> dict[str, Any]:
        levels, base = search.levels(point), search.base
        return {
            "name": run, "system": name, "also": sorted(twin for twin, of in self._twins.items() if of == name),
            "settings": [level.words for level in levels], "changes": [level.change for level in levels],
            "sets": search.sets(point),
            "as_configured": self.question.goal.value(base.summary) if base is not None else None,
            "command": command_of(self.trace, search.system.name, search.system).replay(search.sets(point)),
        }  # fmt: skip

    def _data(self) -> dict[str, Any]:
        question, searches = self.question, self.searches
        failed = {
            name: next(iter(one.failed.values()), "no request has such a figure")
            for name, one in searches.items() if one.fastest() is None
        }  # fmt: skip
        return {
            "format": FORMAT, "goal": question.goal.name,
            "second_goal": question.second_goal and question.second_goal.name, "worth": question.worth,
            "prices": asdict(question.prices), "own_prices": question.prices != Prices.read(),
            "capacity_bytes": question.capacity_bytes, "baseline": next(iter(searches)),
            "replays": sum(len(one.known) for one in searches.values()),
            "unfinished": [name for name, one in searches.items() if name not in self._twins and one.wanted()],
            "candidates": [], "left_out": {**self.competing.left_out, **failed}, "shown": [], "acknowledged": {},
        }  # fmt: skip


def choose(
    path: Path, trace: Replayable, competing: Contenders, question: Question, budget: Budget, **how: Any
) -> Decision | None:
    """Finds the candidates of a trace, writes them with their runs, and decides among them; `how` is for replays."""
    contest = Contest(trace, competing, question)
    contest.search(KeptFigures.of(path), budget, what="candidates", **how)
    return contest.write(path, **how)
