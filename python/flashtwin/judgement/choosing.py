"""The choice among candidates: the cheapest whose loss against the fastest is at most the margin.

Candidates are ranked by every other block of the trace. Losses are those of the rest, because the best of many replays
looks better than it is. The upper end of the loss's interval counts. A cheaper candidate whose interval contains 0 and
reaches beyond the margin is not told apart. Nobody is preferred for being the baseline, nor for being named first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, get_args

from flashtwin import units
from flashtwin.errors import ArgumentError, ReportError
from flashtwin.judgement import facts
from flashtwin.judgement.costs import Prices, rounded
from flashtwin.judgement.goals import Goal, goal_of, usual_goal
from flashtwin.results import names
from flashtwin.results.reading import SavedRun, StudyFolder, read_arrow

if TYPE_CHECKING:
    from flashtwin.results.intervals import Blocks

#: Ours: the share of the figure that is given up for a cheaper candidate, unless the user says otherwise; the least
#: requests of the goal's kind for a choice; of a percentile, the least beyond it.
WORTH, LEAST, BEYOND = 0.05, 100, 10


@dataclass(frozen=True)
class Loss:
    """A share of the figure: 0.016 for 1.6 % more; below 0 where it is better."""

    share: float
    #: The interval of 95 %; None where there is none.
    interval: tuple[float, float] | None = None
    #: Why there is no interval, or what speaks against it.
    why: str = ""

    @property
    def at_most(self) -> float:
        return self.share if self.interval is None else self.interval[1]

    def is_open(self, margin: float) -> bool:
        """Whether the two are not told apart: they may be equal, and may differ by more than the margin."""
        return self.interval is not None and self.interval[0] <= 0.0 <= self.interval[1] > margin

    def more_trace(self, margin: float) -> float:
        """How many times as much trace would tell, as the interval narrows with the root of its length."""
        if self.interval is None:
            return math.inf
        half = (self.interval[1] - self.interval[0]) / 2.0
        needed = max(abs(self.share), margin - self.share)
        return (half / needed) ** 2 if needed > 0 else math.inf

    def words(self, goal: Goal) -> str:
        """`1.6 % (0.4 to 2.4) longer`; the interval is in the same direction."""
        more, less = ("longer", "shorter") if goal.figure.unit == "ns" else ("more", "less")
        word = less if (self.share < 0) != goal.figure.more_is_better else more
        ends = sorted((-end if self.share < 0 else end) * 100.0 for end in self.interval or ())
        text = f" ({' to '.join(units.significant(end, 2) for end in ends)})" if ends else ""
        return word if math.isinf(self.share) else f"{units.percent(abs(self.share) * 100.0)}{text} {word}"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A system with a set of controller changes, on the ground of all others."""

    run: SavedRun
    system: str
    price: float = 0.0
    #: Other candidates whose runs are equal to this one's.
    also: Sequence[str] = ()
    #: The changes in words, and by their names in the catalogue.
    settings: Sequence[str] = ()
    changes: Sequence[str] = ()
    sets: Mapping[str, Any] = field(default_factory=dict)
    #: The goal's figure of the system as configured, if it was replayed so.
    as_configured: float | None = None
    command: str = ""

    @cached_property
    def late(self) -> float | None:
        """How many times as long as its trace it took; None where it kept up."""
        return facts.late_by(self.run.numbers)

    @property
    def lanes(self) -> int:
        return int(self.run.setting("engine.hash_lanes") or 0) if self.run.count("page_ops.pages_hashed") else 0

    @property
    def how(self) -> str:
        """Its settings, to follow its name: `with 16 hash lanes and static placement`, `as configured`."""
        return f"with {units.names_plain(list(self.settings))}" if self.settings else "as configured"

    @property
    def words(self) -> str:
        also = f" (also {units.names(list(self.also))})" if self.also else ""
        return f"`{self.system}`{also} {self.how}"


#: What a file says of a candidate, whichever version wrote it.
_FIELDS = Candidate.__dataclass_fields__.keys() - {"run"}


@dataclass(frozen=True, eq=False)
class Decision:
    """The candidates of a table, the best first, and which of them to choose."""

    goal: Goal
    worth: float
    #: Equal runs are one.
    candidates: tuple[Candidate, ...]
    baseline: Candidate
    #: Whether settings were searched; otherwise all are as configured.
    is_searched: bool

    @property
    def fastest(self) -> Candidate:
        return self.candidates[0]

    @property
    def is_halved(self) -> bool:
        """Whether candidates are ranked by one half of the trace, and losses are of the other."""
        blocks = _blocks(self.fastest.run)
        return blocks is not None and self.goal.figure.path in blocks.halves[0]

    @property
    def too_few(self) -> str:
        return too_few(self.goal, self.fastest.run.numbers)

    @cached_property
    def choice(self) -> Candidate | None:
        """The cheapest whose loss is within the margin; None where too little is known."""
        if self.too_few:
            return None
        within = [one for one in self.candidates if self.loss(one).at_most <= self.worth]
        return self.fastest if self.fastest.late is not None else min(within, key=_price)

    @cached_property
    def alike(self) -> list[Candidate]:
        """Cheaper candidates that are not told apart from the fastest."""
        cheaper = [one for one in self.candidates if self.choice is not None and _price(one) < _price(self.choice)]
        return [one for one in cheaper if self.loss(one).is_open(self.worth)]

    def value(self, candidate: Candidate) -> float:
        return self.goal.value(candidate.run.numbers) or 0.0

    def loss(self, candidate: Candidate, against: Candidate | None = None) -> Loss:
        """By how much a candidate's figure is worse than another's, the fastest's unless said otherwise."""
        other = self.fastest if against is None else against
        if candidate is other:
            return Loss(0.0)
        if candidate.late is not None and other.late is None:
            return Loss(math.inf)
        return loss_of(other.run, candidate.run, self.goal)

    def beside(self, one: Candidate, other: Candidate) -> str:
        """`1.6 % (0.4 to 2.4) longer than `rr-ssd` (51.9 us), with 70 % less flash written and 12 fewer hash lanes`."""
        loss, value = self.loss(one, other), self.goal.written(self.value(other))
        programs = facts.change_of(one.run, other.run, "pages_programmed") or 0.0
        less = other.run.count("ram.total_bytes") - one.run.count("ram.total_bytes")
        flash = f"{units.percent(abs(programs))} {'less' if programs < 0 else 'more'} flash written"
        saved = [] if units.unchanged(programs) else [flash]
        saved += [units.plural(other.lanes - one.lanes, "fewer hash lane")] if other.lanes > one.lanes else []
        saved += [f"{units.size(less)} less RAM"] if less > 0 else []
        simpler = [text for text in other.settings if text not in one.settings]
        told = f"{loss.words(self.goal)} than" if loss.share else "as good as"
        rest = f", with {units.names_plain(saved)}" if saved else f", without {units.names_plain(simpler)}"
        return f"{told} {other.words} ({value}){rest if saved or simpler else ''}"

    def by(self, goal: Goal) -> Decision:
        return replace(self, goal=goal, candidates=_ranked(self.candidates, goal))


def too_few(goal: Goal, numbers: Mapping[str, Any]) -> str:
    """Why a trace has too few requests to choose by; empty where it has enough."""
    count, least = int(numbers.get(f"response.{goal.kind}.count") or 0), LEAST
    if goal.statistic.startswith("p"):
        beyond = 100.0 - float(goal.statistic[1:].replace("_", "."))
        least = max(LEAST, math.ceil(round(BEYOND * 100.0 / beyond, 6)))
    if count >= least:
        return ""
    noun = {"read": "read", "write": "write", "flush": "flush command"}.get(goal.kind, "request")
    return f"{units.plural(count, noun)}, fewer than the {least:,} needed for {goal.words}"


def _price(candidate: Candidate) -> tuple[float, int, str]:
    return rounded(candidate.price), len(candidate.settings), candidate.system


def decide(study: StudyFolder, search: Mapping[str, Any] | None = None) -> Decision | None:
    """The decision among the candidates of a study, or runs of a search; None where none has the goal's figure."""
    study, search = (study.every_candidate, study.candidates) if search is None else (study, search)
    runs = {run.name: run for run in study.runs if not run.is_ideal}
    goal = goal_of(str(search["goal"])) if search else usual_goal(study.baseline.setting("replay.queue_depth"))
    rows: list[dict[str, Any]] = [{"name": run.name, "system": run.label} for run in runs.values()]
    rows = search["candidates"] if search else rows
    candidates = [Candidate(runs[row["name"]], **{key: row[key] for key in _FIELDS & row.keys()})
                  for row in rows if row["name"] in runs]  # fmt: skip
    prices = Prices(**search["prices"]) if search else Prices.read()
    ranked = _ranked(_merged(_priced(candidates, prices, search.get("capacity_bytes"))), goal)
    name = str(search["baseline"]) if search else study.baseline.label
    base = next((one for one in ranked if name in (one.system, *one.also)), next(iter(ranked), None))
    worth = float(search["worth"]) if search else WORTH
    return None if base is None else Decision(goal, worth, ranked, base, bool(search))


def _priced(candidates: Sequence[Candidate], prices: Prices, capacity_bytes: float | None) -> list[Candidate]:
    """The candidates with their prices; runs of another version, which lack keys, have none."""
    most, priced = max((one.run.count("pages_programmed") for one in candidates), default=0), []
    for one in candidates:
        try:
            price = prices.of(one.run.numbers, capacity_bytes or one.run.raw_bytes, most)
        except KeyError:
            price = one.run.count("pages_programmed")
        priced.append(replace(one, price=price))
    return priced


def _merged(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Equal runs of several systems as one candidate, the cheapest of them."""
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        groups.setdefault(repr(facts.happened(one.run.numbers)), []).append(one)
    merged = []
    for equal in groups.values():
        first = min(equal, key=_price)
        also = {name for one in equal for name in (one.system, *one.also)} - {first.system}
        merged.append(replace(first, also=tuple(sorted(also))))
    return merged


def _ranked(candidates: Sequence[Candidate], goal: Goal) -> tuple[Candidate, ...]:
    """The best first; one that falls behind its trace after all that keep up, by how much it does."""
    values = {one: value for one in candidates if (value := goal.value(_half(one.run, 0))) is not None}
    return tuple(sorted(values, key=lambda one: (one.late or 0.0, goal.cost(values[one]), _price(one))))


@lru_cache(maxsize=1024)
def loss_of(best: SavedRun, other: SavedRun, goal: Goal) -> Loss:
    """The loss of a run against another, paired over the blocks that runs were not ranked by; else of the whole."""
    # Intervals need NumPy, which takes a tenth of a second to load.
    from flashtwin.results import intervals

    before, after = (goal.value(_half(run, 1)) for run in (best, other))
    if not before or after is None:
        return Loss(0.0 if before == after else math.inf)
    share = goal.cost(after) / goal.cost(before) - 1.0
    one, two, statistic = _blocks(best), _blocks(other), goal.statistic
    if not statistic or one is None or two is None:
        return Loss(share)
    if statistic not in get_args(intervals.Statistic):
        return Loss(share, why=f"none is drawn for {goal.words}")
    for run in (best, other):
        with _results_of(run):
            why = intervals.unsettled(run.setting("replay.preload"), partial(_table, run))
        if why:
            return Loss(share, why=why)
    # Whether there is an honest interval is for the whole trace to tell.
    with _results_of(other, f", beside {best.folder.name}"):
        whole = intervals.compare(one, two, goal.kind, statistic)  # type: ignore[arg-type]
    rest = intervals.compare(one.every_other(1), two.every_other(1), goal.kind, statistic)  # type: ignore[arg-type]
    if isinstance(whole, intervals.Refusal):
        return Loss(share, why=whole.sentence.removeprefix("no interval: "))
    if isinstance(rest, intervals.Refusal):
        return Loss(share, why=f"{rest.sentence.removeprefix('no interval: ')}, and half of the trace is for ranking")
    if rest.ratio_low is None or rest.ratio_high is None:
        return Loss(share, why="one of the figures is 0")
    halves = units.names_plain([units.duration(abs(half)) for half in whole.drift_ns or ()])
    why = f"the difference changes along the trace, or it is too short: {halves} in its halves" if halves else ""
    return Loss(share, (min(rest.ratio_low - 1.0, share), max(rest.ratio_high - 1.0, share)), why)


@lru_cache(maxsize=64)
def _half(run: SavedRun, number: int) -> Mapping[str, Any]:
    """The figures of a run that it is ranked by (0), or that its losses are of (1); the same ones of a short trace."""
    blocks = _blocks(run)
    return run.numbers if blocks is None else {**run.numbers, **blocks.halves[number]}


@lru_cache(maxsize=64)
def _blocks(run: SavedRun) -> Blocks | None:
    from flashtwin.results.intervals import Blocks

    if not all(names.table(run.folder, name).is_file() for name in ("request_blocks", "request_block_histogram")):
        return None
    with _results_of(run):
        return Blocks.of(partial(_table, run))


@contextmanager
def _results_of(run: SavedRun, more: str = "") -> Iterator[None]:
    """Names the place of tables that are not as a run writes them."""
    try:
        yield
    except ArgumentError as error:
        raise ReportError(f"{run.folder}{more}: {error}; make these results again") from None


def _table(run: SavedRun, name: str) -> Any:
    return read_arrow(names.table(run.folder, name))
