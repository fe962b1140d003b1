"""Replays for inquiries: on all cores, over one copy of the trace, within a budget of time; nothing done is lost.

How far a budget goes depends on the machine; what a replay says does not, nor does what is replayed first.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flashtwin import _core
from flashtwin.causes.budget import Budget
from flashtwin.causes.case import Sets, key_of
from flashtwin.causes.figures import Figures, figures_of
from flashtwin.causes.inquiry import Inquiry
from flashtwin.errors import ConfigError, SimError
from flashtwin.progress import Progress, numbered
from flashtwin.replays import aged
from flashtwin.replays.presets import System
from flashtwin.replays.running import Result
from flashtwin.results import folder, names
from flashtwin.sweeps import crew
from flashtwin.traces.scan import Replayable, prepare

#: Requests a second that one core replays at least, until a replay has shown how many it is. Ours.
_REQUESTS_PER_S = 500_000.0


class _OutOfTimeError(Exception):
    """The budget is used up: whatever is under way stops."""


@dataclass
class KeptFigures:
    """Figures of replays, by all that they depend on; in a file where there is a folder."""

    path: Path | None
    figures: dict[str, Figures] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path | None) -> KeptFigures:
        """What the folder holds; nothing where that cannot be read."""
        if path is None:
            return cls(None)
        try:
            found = json.loads((path / names.CAUSES / names.REPLAYS).read_text(encoding="utf-8"))
            return cls(path, {key: Figures(**one) for key, one in found.items()})
        except (OSError, ValueError, TypeError, AttributeError):
            return cls(path)

    def keep(self, key: str, figures: Figures) -> None:
        """Adds a replay's figures, and writes them at once."""
        self.figures[key] = figures
        if self.path is not None:
            (self.path / names.CAUSES).mkdir(exist_ok=True)
            found = {key: one.as_json() for key, one in sorted(self.figures.items())}
            folder.write_text(self.path / names.CAUSES / names.REPLAYS, json.dumps(found, separators=(",", ":")))


@dataclass(frozen=True)
class _Wish:
    """A replay that an inquiry asks for: it wishes for nothing that cannot be built."""

    inquiry: Inquiry
    sets: Sets
    system: System
    key: str

    @classmethod
    def of(cls, trace: Replayable, inquiry: Inquiry, sets: Sets) -> _Wish:
        made = inquiry.system.with_sets(sets)
        return cls(inquiry, sets, made, folder.run_key(trace.digest, made.config))

    def grant(self, figures: Figures) -> None:
        self.inquiry.known[key_of(self.sets)] = figures


def base_figures(result: Result) -> Figures:
    """The figures of a finished run."""
    return figures_of(result.summary, result.table("wait_ledger").to_arrow().to_pylist())


def base_replays(
    trace: Replayable,
    systems: Mapping[str, System],
    kept: KeptFigures,
    threads: int = 0,
    progress: Progress | None = None,
) -> tuple[dict[str, Figures], float | None]:
    """The figures of a trace on systems as they are, by name; and seconds that a replay takes, if one was made.

    What is finished is kept even where the rest is interrupted.
    """
    keys = {name: folder.run_key(trace.digest, system.config) for name, system in systems.items()}
    missing = [name for name, key in keys.items() if key not in kept.figures]
    began = time.monotonic()

    def write(index: int, native: _core.RunResult) -> None:
        kept.keep(keys[missing[index]], base_figures(Result(missing[index], native)))

    took_s = None
    if missing:
        aged.run(trace, [systems[name] for name in missing], threads, numbered(progress, missing), write)
        took_s = (time.monotonic() - began) / -(-len(missing) // (threads or crew.cores()))
    return {name: kept.figures[key] for name, key in keys.items()}, took_s


def replay_all(
    trace: Replayable,
    inquiries: Sequence[Inquiry],
    kept: KeptFigures,
    *,
    effort_s: float | None,
    replay_s: float | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Grants the wishes of all inquiries in turn, until none is left or the time is used up.

    Figures that are `kept` take no time; new ones are added. What is under way after `effort_s` is given up. `replay_s`
    is what a replay takes, where that was measured; `progress` is told of the replays that are known to be wanted.
    """
    budget = Budget(effort_s, threads or crew.cores(), replay_s or len(trace) / _REQUESTS_PER_S, clock)
    done = 0
    while wishes := _next_wishes(trace, inquiries, kept):
        batch = wishes[: budget.next(len(wishes))]
        if not batch:
            return
        began = clock()
        try:
            total = done + budget.fits(len(wishes))
            _run(trace, batch, kept, budget.at_once, _watched(progress, done, total, budget))
        except _OutOfTimeError:
            return
        done += len(batch)
        budget.ended(len(batch), clock() - began)


def _next_wishes(trace: Replayable, inquiries: Sequence[Inquiry], kept: KeptFigures) -> list[_Wish]:
    """What is not known yet, one of each inquiry in turn; inquiries are told what is known already."""
    while True:
        asked = [[_Wish.of(trace, inquiry, sets) for sets in inquiry.wanted()] for inquiry in inquiries]
        known = [wish for wishes in asked for wish in wishes if wish.key in kept.figures]
        if not known:
            return [wish for turn in itertools.zip_longest(*asked) for wish in turn if wish is not None]
        for wish in known:
            wish.grant(kept.figures[wish.key])


def _run(
    trace: Replayable, wishes: Sequence[_Wish], kept: KeptFigures, threads: int, watch: Callable[[int, int, int], None]
) -> None:
    """Replays; where one of several cannot be replayed, each by itself."""
    finished: set[int] = set()

    def write(index: int, native: _core.RunResult) -> None:
        figures = base_figures(Result("replay", native))
        wishes[index].grant(figures)
        finished.add(index)
        kept.keep(wishes[index].key, figures)

    try:
        prepare(trace, [wish.system._resolved for wish in wishes])
        aged.run(trace, [wish.system for wish in wishes], threads, watch, write)
    except (ConfigError, SimError) as error:
        if len(wishes) == 1:
            wishes[0].inquiry.failed[key_of(wishes[0].sets)] = str(error)
            return
        for index, wish in enumerate(wishes):
            if index not in finished:
                _run(trace, [wish], kept, 1, watch)


def _watched(progress: Progress | None, done: int, total: int, budget: Budget) -> Callable[[int, int, int], None]:
    """Passes on how many replays are done, and stops them when the time is up."""

    def heard(index: int, _steps: int, _of: int) -> None:
        if budget.left_s < 0:
            raise _OutOfTimeError
        if progress:
            progress("causes", done + index, total)

    return heard
