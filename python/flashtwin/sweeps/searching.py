"""Searches: which of many settings makes a figure smallest and keeps the bounds, without replaying them all.

The sampler (Optuna's TPE) is asked for some points at a time and told their results, in an order that does not depend
on which of them ended first; so with the same seed it asks the same again. An interrupted search is therefore simply
begun anew: points asked for again lie in the store. No state of its own is kept that could be torn.

Of several traces, each setting is replayed on all of them, and judged by its ratios to the first system as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.errors import ArgumentError, not_installed
from flashtwin.judgement.catalogue import CHANGES, CONTROLLER, Sets, Subject
from flashtwin.judgement.goals import Figures, usual_goal
from flashtwin.progress import Notify, Progress
from flashtwin.results import figures, over
from flashtwin.results.keys import traits
from flashtwin.results.trees import dig
from flashtwin.settings import literal
from flashtwin.sweeps import plan
from flashtwin.sweeps.swept import Planned, Sweep, finish

if TYPE_CHECKING:
    from flashtwin.sweeps.sweeping import SweepBench, SweepOptions

#: Points asked for at a time; a number of its own, for the search must not depend on the machine.
AT_ONCE = 8
#: A sampler asks for some points again when there are few; how many of its asks a trial may take before it is enough.
ASKS = 10

#: By system and change, the keys of each level.
Changes = Mapping[str, Mapping[str, Sequence[Sets]]]


@dataclass(frozen=True)
class SearchGoal:
    """The figures to minimize or, where more is better, maximize; and the limits."""

    best: list[figures.Figure]
    bounds: list[figures.Bound]
    text: str
    #: How settings are judged over several traces; None with one.
    over: over.Over | None = None

    @property
    def trade(self) -> list[str]:
        """The two figures of the trade-off; fewer where the goal has no second."""
        names = [one.name for one in self.best] + [one.figure.name for one in self.bounds]
        return list(dict.fromkeys(names))[:2]


def search(
    bench: SweepBench,
    out: Path,
    axes: Mapping[str, plan.Axis],
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Sweep:
    """Replays the points that the sampler asks for until the trials are used up, or nothing new is left."""
    how = bench.how
    wanted, several = _wanted(how.minimize, how.maximize), len(bench.traces) > 1
    goal = SearchGoal(wanted, figures.bounds(how.subject_to), how.subject_to, how.over if several else None)
    _refuse(how)
    changes = _changes(bench, axes)
    points = None if changes else _all_points(bench, axes)
    searched = _Search(bench, out, axes, changes, goal, progress, notify)
    if several:
        searched.replay_reference()
    if points is not None and len(points) <= how.trials:
        # So few that looking at all of them is the best search.
        searched.evaluate(points, len(points))
    else:
        searched.ask_sampler()
    searched.write(ended=True)
    return finish(out, alone=True, page=how.report, notify=notify)


def _wanted(minimize: str, maximize: str) -> list[figures.Figure]:
    """The figures to make small, then those to make large; the other way round nobody means."""
    small, large = (figures.figures(text) if text else [] for text in (minimize, maximize))
    for one in (one for one in small if one.more_is_better):
        raise ArgumentError(f"of '{one.name}' more is better; search with --maximize {one.name}")
    for one in (one for one in large if not one.more_is_better):
        raise ArgumentError(f"of '{one.name}' less is better; search with --minimize {one.name}")
    return small + large


def _refuse(how: SweepOptions) -> None:
    for what, wrong in (("--sample", how.sample), ("--shard", how.shard), ("--zip", how.mode == "zip")):
        if wrong:
            goal = "--minimize" if how.minimize else "--maximize"
            raise ArgumentError(f"{what} and {goal} do not go together: the search chooses its points itself")


def _changes(bench: SweepBench, axes: Mapping[str, plan.Axis]) -> Changes:
    """Where no key has several values, a search is over the changes of the controller that apply to each system."""
    if any(isinstance(found, plan.Range) or len(found) > 1 for found in axes.values()):
        return {}
    proposed: dict[str, dict[str, list[Sets]]] = {}
    for name, system in bench.systems.items():
        config, pages = system.config, (system.raw_pages, system.capacity_pages)
        subject = Subject(config, traits(config), *pages, Figures({}, {}), usual_goal(0))
        levels = {change.name: change.of(subject) for change in CHANGES if change.kind == CONTROLLER}
        proposed[name] = {change: [dict(one.sets) for one in of] for change, of in levels.items() if of}
    return proposed


def _all_points(bench: SweepBench, axes: Mapping[str, plan.Axis]) -> list[plan.Point] | None:
    """Every point there is; None where a range has no end of them."""
    if any(isinstance(found, plan.Range) and found.steps is None for found in axes.values()):
        return None
    number = math.prod(len(found.steps or ()) if isinstance(found, plan.Range) else len(found)
                       for found in axes.values()) * len(bench.systems)  # fmt: skip
    return plan.points(1, list(bench.systems), axes) if number <= bench.how.trials else None


@dataclass
class _Search:
    bench: SweepBench
    out: Path
    axes: Mapping[str, plan.Axis]
    changes: Changes
    goal: SearchGoal
    progress: Progress | None
    notify: Notify | None
    #: Settings that were asked for (points of the first trace), each with its run on every trace.
    seen: dict[plan.Point, list[Planned]] = field(default_factory=dict)

    def replay_reference(self) -> None:
        """Replays the first system as it is, but for keys with one value, on every trace, to compare all else to."""
        axes = self.axes.items()
        fixed = tuple((key, found[0]) for key, found in axes if not isinstance(found, plan.Range) and len(found) == 1)
        name = next(iter(self.bench.systems))
        point = plan.Point(0, name, fixed)
        self.evaluate([point], 1)
        for planned in self.seen[point]:
            summary = self._summary(planned)
            for one in self.goal.best:
                if summary is None or not dig(summary, one.path):
                    why = planned.error or f"has no {one.label}, or 0"
                    raise ArgumentError(
                        f"{planned.trace}: '{name}' as it is, the reference of a search over several traces, {why}; "
                        "name first a system that has some, or search this trace by itself"
                    )

    def ask_sampler(self) -> None:
        # The reference is none of the trials.
        how, reference = self.bench.how, next(iter(self.seen.values()), [])
        study, trials = _study(how.search_seed, len(self.goal.best)), how.trials + len(self.seen)
        asked = 0
        while len(self.seen) < trials and asked < trials * ASKS:
            asks = [study.ask() for _ in range(min(AT_ONCE, trials - len(self.seen)))]
            asked += len(asks)
            points = [self._suggested(trial) for trial in asks]
            self.evaluate(points, trials)
            self.write(ended=False)
            for trial, point in zip(asks, points, strict=True):
                _tell(study, trial, self._judged(self.seen[point], reference), self.goal)

    def _suggested(self, trial: Any) -> plan.Point:
        systems = list(self.bench.systems)
        system = trial.suggest_categorical("system", systems) if len(systems) > 1 else systems[0]
        sets = {key: _value(trial, key, found) for key, found in self.axes.items()}
        for change, levels in self.changes.get(system, {}).items():
            # 0 leaves it as it is.
            place = trial.suggest_categorical(f"{system}: {change}", range(len(levels) + 1))
            sets |= {key: literal(value) for key, value in (levels[place - 1] if place else {}).items()}
        return plan.Point(0, system, tuple(sets.items()))

    def evaluate(self, points: Sequence[plan.Point], of: int) -> None:
        """Replays the settings that were not asked for before; `of` is how many of them there may be in the end."""
        bench, seen, traces = self.bench, self.seen, len(self.bench.traces)
        before, new = len(seen) * traces, [point for point in dict.fromkeys(points) if point not in seen]
        count = before + len(new) * traces

        def heard(what: str, done: int, total: int) -> None:
            # Runs that are reused are done from the beginning.
            if self.progress:
                self.progress(what, count - total + done, max(count, of * traces))

        for point in new:
            trial, first = len(seen) if traces > 1 else None, len(seen) * traces + 1
            seen[point] = [bench.planned(first + place, replace(point, trace=place), trial) for place in range(traces)]
        bench.make([planned for point in new for planned in seen[point]], heard, self.notify)

    def _judged(self, runs: Sequence[Planned], reference: Sequence[Planned]) -> tuple[list[float], list[float]] | None:
        """A setting's figures, over the traces where there are several, and by how much it exceeds each bound at most.

        None where a run was refused, was lost or lacks a figure.
        """
        summaries = [self._summary(planned) for planned in runs]
        values = []
        for one in self.goal.best:
            each = [None if summary is None else dig(summary, one.path) for summary in summaries]
            known = [float(value) for value in each if value is not None]
            if len(known) < len(each):
                return None
            if self.goal.over is not None:
                base = [dig(self._summary(planned), one.path) for planned in reference]
                known = [over.across([a / b for a, b in zip(known, base, strict=True)], one, self.goal.over)]
            values.append(known[0])
        excesses = []
        for bound in self.goal.bounds:
            found = [dig(summary, bound.figure.path) for summary in summaries]
            # A point without the figure breaks the limit, by an unknown amount.
            excesses.append(max(1.0 if value is None else bound.excess(value) for value in found))
        return values, excesses

    def _summary(self, planned: Planned) -> Mapping[str, Any] | None:
        kept = self.bench.store.get(planned.key) if planned.key else None
        return None if kept is None else kept.summary

    def write(self, *, ended: bool) -> None:
        """Notes the points so far: a search that is interrupted is a sweep that says so."""
        goal, how = self.goal, self.bench.how
        said = {
            "minimize": [one.name for one in goal.best if not one.more_is_better],
            "maximize": [one.name for one in goal.best if one.more_is_better], "subject_to": goal.text,
            "trials": how.trials, "search_seed": how.search_seed, "ended": ended,
        }  # fmt: skip
        if goal.over is not None:
            said |= {"over": goal.over, "reference": next(iter(self.bench.systems))}
        found = self.bench.plan((), {**self._values_of_changes, **self.axes})
        trade = goal.trade if len(goal.trade) == 2 else found.trade
        points = [planned for runs in self.seen.values() for planned in runs]
        replace(found, mode="search", points=points, trade=trade, search=said).write(self.out)

    @property
    def _values_of_changes(self) -> dict[str, tuple[str, ...]]:
        values: dict[str, dict[str, None]] = {}
        for levels in (levels for of in self.changes.values() for levels in of.values()):
            for key, value in (one for sets in levels for one in sets.items()):
                values.setdefault(key, {})[literal(value)] = None
        return {key: tuple(of) for key, of in values.items()}


def _study(seed: int, objectives: int) -> Any:
    try:
        import optuna
    except ImportError:
        raise not_installed("a search", "Optuna", "optuna") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed)
    return optuna.create_study(sampler=sampler, directions=["minimize"] * objectives)


def _value(trial: Any, key: str, found: plan.Axis) -> str:
    if not isinstance(found, plan.Range):
        return str(trial.suggest_categorical(key, list(found)))
    if found.steps is not None:
        # By its place, so that the last step is where the user put it.
        return found.steps[int(trial.suggest_int(key, 0, len(found.steps) - 1))]
    if found.whole:
        return found.text(float(trial.suggest_int(key, round(found.low), round(found.high), log=found.log)))
    return found.text(float(trial.suggest_float(key, found.low, found.high, log=found.log)))


def _tell(study: Any, trial: Any, judged: tuple[list[float], list[float]] | None, goal: SearchGoal) -> None:
    from optuna.trial import TrialState

    if judged is None:
        study.tell(trial, state=TrialState.FAIL)
        return
    values, excesses = judged
    for bound, excess in zip(goal.bounds, excesses, strict=True):
        trial.set_constraint(bound.text, excess)
    study.tell(trial, [one.cost(value) for one, value in zip(goal.best, values, strict=True)])
