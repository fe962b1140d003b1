"""Replays for inquiries: on all cores, over one copy of the trace, within a budget of work; nothing done is lost.

The budget alone decides the replays and their order: neither the machine nor its load does.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from flashtwin import _core, units
from flashtwin.causes.budget import Budget
from flashtwin.causes.case import Key, Sets, key_of
from flashtwin.causes.figures import Figures, figures_of
from flashtwin.errors import ConfigError, SimError
from flashtwin.progress import Notify, Progress, numbered
from flashtwin.replays import aged
from flashtwin.replays.presets import System
from flashtwin.replays.running import Result
from flashtwin.results import folder, names
from flashtwin.traces.scan import Replayable, prepare


class ReplaySource(Protocol):
    """A source of replays of one system, a few at a time, until it has nothing more to ask."""

    @property
    def system(self) -> System:
        """The system as it is."""

    @property
    def known(self) -> dict[Key, Figures]:
        """Replays made, by the keys that were changed."""

    @property
    def failed(self) -> dict[Key, str]:
        """Replays that could not be made, with the reason."""

    def wanted(self) -> list[Sets]:
        """The next replays, the most telling first; none that cannot be built."""


@dataclass
class KeptFigures:
    """Figures of replays, by all that they depend on; in a file where there is a folder."""

    path: Path | None
    figures: dict[str, Figures] = field(default_factory=dict)
    #: Figures as the file has them: to write all of them anew for each replay would take longer than the replays.
    _written: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, path: Path | None) -> KeptFigures:
        """The replays of the folder; none where it cannot be read."""
        if path is None:
            return cls(None)
        try:
            found = json.loads((path / names.CAUSES / names.REPLAYS).read_text(encoding="utf-8"))
            # Another version kept other figures.
            kept = {key: Figures(**one) for key, one in found.items() if one.keys() == {"summary", "ledger"}}
            return cls(path, kept)
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            return cls(path)

    def keep(self, key: str, figures: Figures) -> None:
        """Adds a replay's figures, and writes them at once."""
        self.figures[key] = figures
        if self.path is not None:
            (self.path / names.CAUSES).mkdir(exist_ok=True)
            self._written.pop(key, None)
            for other in self.figures.keys() - self._written.keys():
                self._written[other] = f"{json.dumps(other)}:{_compact(self.figures[other].as_json())}"
            text = ",".join(self._written[key] for key in sorted(self.figures))
            folder.write_text(self.path / names.CAUSES / names.REPLAYS, f"{{{text}}}")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@dataclass(frozen=True)
class _ReplayRequest:
    """A replay that an inquiry asks for."""

    inquiry: ReplaySource
    sets: Sets
    system: System
    key: str

    @classmethod
    def of(cls, trace: Replayable, inquiry: ReplaySource, sets: Sets) -> _ReplayRequest:
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
) -> dict[str, Figures]:
    """The figures of a trace on systems as they are, by name.

    Finished replays are kept even if the rest is interrupted.
    """
    keys = {name: folder.run_key(trace.digest, system.config) for name, system in systems.items()}
    missing = [name for name, key in keys.items() if key not in kept.figures]

    def write(index: int, native: _core.RunResult) -> None:
        kept.keep(keys[missing[index]], base_figures(Result(missing[index], native)))

    if missing:
        aged.run(trace, [systems[name] for name in missing], threads, numbered(progress, missing), write)
    return {name: kept.figures[key] for name, key in keys.items()}


#: Replays of all later rounds over those of the first, at most: for the estimate of the time left. Ours.
_MORE_TIMES = 8
#: Seconds from which on the time left is worth a line.
NOTED_S = 5.0


def replay_all(
    trace: Replayable,
    inquiries: Sequence[ReplaySource],
    kept: KeptFigures,
    budget: Budget,
    *,
    threads: int = 0,
    progress: Progress | None = None,
    notify: Notify | None = None,
    what: str = "causes",
) -> None:
    """Grants the wishes of all inquiries in turn, until none is left or the budget is used up.

    Figures that are `kept` take nothing from it; new ones are added. `progress` is told of the replays that are known
    to be wanted, under the name `what`; `notify` how long the rest of the budget lasts, as soon as that is known.
    """
    done, began = 0, time.monotonic()
    while wishes := _next_wishes(trace, inquiries, kept):
        total = done + budget.fits(len(wishes))
        batch = wishes[: budget.begin(len(wishes))]
        if not batch:
            return
        _run(trace, batch, kept, threads, _watched(progress, what, done, total))
        if notify and not done and budget.left:
            more = min(budget.fits(budget.left), _MORE_TIMES * len(wishes))
            left_s = (time.monotonic() - began) / len(batch) * more
            if left_s >= NOTED_S:
                more_time, operations = units.duration(left_s * 1e9), units.count(budget.left)
                notify(f"{what}: {more_time} more at most, for {operations} page operations")
        done += len(batch)


def _next_wishes(trace: Replayable, inquiries: Sequence[ReplaySource], kept: KeptFigures) -> list[_ReplayRequest]:
    """Missing replays, one of each inquiry in turn, each replay once; known results are passed on first."""
    while True:
        asked = [[_ReplayRequest.of(trace, inquiry, sets) for sets in inquiry.wanted()] for inquiry in inquiries]
        known = [wish for wishes in asked for wish in wishes if wish.key in kept.figures]
        if not known:
            turns = [wish for turn in itertools.zip_longest(*asked) for wish in turn if wish is not None]
            return list({wish.key: wish for wish in reversed(turns)}.values())[::-1]
        for wish in known:
            wish.grant(kept.figures[wish.key])


def _run(
    trace: Replayable,
    wishes: Sequence[_ReplayRequest],
    kept: KeptFigures,
    threads: int,
    watch: Callable[[int, int, int], None] | None,
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


def _watched(progress: Progress | None, what: str, done: int, total: int) -> Callable[[int, int, int], None] | None:
    """Passes on how many replays are done."""
    return None if progress is None else lambda index, _steps, _of: progress(what, done + index, total)
