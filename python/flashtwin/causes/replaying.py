"""Replays for searches, within a budget that alone decides which are made; nothing done is lost."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from flashtwin import _core
from flashtwin.causes.case import Search, key_of
from flashtwin.errors import ConfigError, SimError
from flashtwin.judgement.catalogue import Sets
from flashtwin.judgement.goals import VOLUMES, Figures, usual_goal
from flashtwin.progress import Progress
from flashtwin.replays import aged
from flashtwin.replays.presets import System
from flashtwin.replays.running import Result
from flashtwin.results import folder, names
from flashtwin.traces.scan import Replayable, prepare


@dataclass
class Budget:
    """Page operations for replays of one trace: a busy machine replays the same as an idle one."""

    #: Page operations that may be replayed; None is as many as it takes.
    effort: int | None
    replay_ops: int
    begun: int = 0

    def at_least(self, replays: int) -> None:
        """Raises the effort, unless it is none, so that this number of further replays fits."""
        if self.effort:
            self.effort = max(self.effort, (self.begun + replays) * self.replay_ops)

    def fits(self, wanted: int) -> int:
        """How many of the replays wanted there is effort for."""
        left = wanted if self.effort is None else self.effort // max(self.replay_ops, 1) - self.begun
        return max(min(wanted, left), 0)

    def begin(self, wanted: int) -> int:
        """Takes the effort for as many of the replays wanted as there is some for; returns how many."""
        number = self.fits(wanted)
        self.begun += number
        return number


@dataclass
class KeptFigures:
    """Figures of replays, by all that they depend on; in a file where there is a folder."""

    path: Path | None
    figures: dict[str, Figures] = field(default_factory=dict)
    #: Figures as the file has them: to write all of them anew for each replay would take longer than the replays.
    _texts: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, path: Path | None) -> KeptFigures:
        if path is None:
            return cls(None)
        try:
            found = json.loads((path / names.CAUSES / names.REPLAYS).read_text(encoding="utf-8"))
            # Another version kept other figures.
            known = Figures.__dataclass_fields__.keys()
            return cls(path, {key: Figures(**one) for key, one in found.items() if one.keys() == known})
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            return cls(path)

    def keep(self, key: str, figures: Figures) -> None:
        self.figures[key] = figures
        if self.path is not None:
            (self.path / names.CAUSES).mkdir(exist_ok=True)
            for other in (self.figures.keys() - self._texts.keys()) | {key}:
                self._texts[other] = json.dumps({other: vars(self.figures[other])}, separators=(",", ":"))[1:-1]
            text = ",".join(self._texts[key] for key in sorted(self.figures))
            folder.write_text(self.path / names.CAUSES / names.REPLAYS, f"{{{text}}}")


class _Request(NamedTuple):
    search: Search
    sets: Sets
    system: System
    key: str


def base_figures(result: Result) -> Figures:
    # NumPy takes a tenth of a second to load.
    from flashtwin.results.intervals import Blocks

    ledger = result.table("wait_ledger").to_arrow().to_pylist()
    table = "volumes"
    several = table in result.table_names
    volumes = len(set(result.table(table).to_arrow()["volume"].to_pylist())) if several else 0
    return Figures.of({**result.summary, VOLUMES: volumes}, ledger, Blocks.of(result.table).halves[0])


def base_replays(
    trace: Replayable, systems: Mapping[str, System], kept: KeptFigures, **how: Any
) -> dict[str, Figures]:  # fmt: skip
    """The figures of systems as they are, by name; finished replays are kept even if the rest is interrupted."""
    searches = {name: Search(one, usual_goal(0)) for name, one in systems.items()}
    replay_all(trace, list(searches.values()), kept, Budget(None, 1), **how)
    for reason in (reason for one in searches.values() for reason in one.failed.values()):
        raise SimError(reason)
    return {name: one.known[()] for name, one in searches.items()}


def replay_all(
    trace: Replayable, searches: Sequence[Search], kept: KeptFigures, budget: Budget, *, threads: int = 0,
    progress: Progress | None = None, what: str = "causes",
) -> None:  # fmt: skip
    """Grants the wishes of all searches in turn, until none is left or the budget is used up.

    Figures that are `kept` take nothing from it; new ones are added. `progress` is told of the replays that are known
    to be wanted, under the name `what`.
    """
    for search in searches:
        _granted(_requests(trace, search, search.missing(search.welcome())), kept)
    done = 0
    while wishes := _next_wishes(trace, searches, kept):
        total = done + budget.fits(len(wishes))
        batch = wishes[: budget.begin(len(wishes))]
        if not batch:
            return
        _run(trace, batch, kept, threads, _watched(progress, what, done, total))
        done += len(batch)


def _requests(trace: Replayable, search: Search, wanted: Sequence[Sets]) -> list[_Request]:
    made = [(sets, system) for sets in wanted if (system := search.made(sets)) is not None]
    return [_Request(search, sets, system, folder.run_key(trace.digest, system.config)) for sets, system in made]


def _granted(wishes: Sequence[_Request], kept: KeptFigures) -> bool:
    known = [wish for wish in wishes if wish.key in kept.figures]
    for wish in known:
        wish.search.known[key_of(wish.sets)] = kept.figures[wish.key]
    return bool(known)


def _next_wishes(trace: Replayable, searches: Sequence[Search], kept: KeptFigures) -> list[_Request]:
    """Missing replays, one of each search in turn, each replay once; known results are passed on first."""
    while True:
        asked = [_requests(trace, search, search.wanted()) for search in searches]
        if not _granted(list(itertools.chain(*asked)), kept):
            turns = [wish for turn in itertools.zip_longest(*asked) for wish in turn if wish is not None]
            return list({wish.key: wish for wish in reversed(turns)}.values())[::-1]


def _run(
    trace: Replayable, wishes: Sequence[_Request], kept: KeptFigures, threads: int,
    watch: Callable[[int, int, int], None] | None,
) -> None:  # fmt: skip
    """Replays; where one of several cannot be replayed, each by itself."""

    def write(index: int, native: _core.RunResult) -> None:
        figures = base_figures(Result("replay", native))
        wishes[index].search.known[key_of(wishes[index].sets)] = figures
        kept.keep(wishes[index].key, figures)

    try:
        prepare(trace, [wish.system._resolved for wish in wishes])
        aged.run(trace, [wish.system for wish in wishes], threads, watch, write)
    except (ConfigError, SimError) as error:
        if len(wishes) == 1:
            wishes[0].search.failed[key_of(wishes[0].sets)] = str(error)
            return
        for wish in wishes:
            if wish.key not in kept.figures:
                _run(trace, [wish], kept, 1, watch)


def _watched(progress: Progress | None, what: str, done: int, total: int) -> Callable[[int, int, int], None] | None:
    return None if progress is None else lambda index, _steps, _of: progress(what, done + index, total)
