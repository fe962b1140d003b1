"""The test bench: one workload, any number of replays of it, each kept on disk as soon as it is done."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from flashtwin.characterization.measuring import Characterization, measure, options
from flashtwin.papers.facts import smaller
from flashtwin.papers.model import PaperWorkload
from flashtwin.papers.origins import WorkloadSource
from flashtwin.papers.search import RateResult, rate_for
from flashtwin.replays.presets import System, as_system
from flashtwin.replays.running import compare
from flashtwin.results import folder, names, schema
from flashtwin.results.frames import StoredRun
from flashtwin.results.trees import dig
from flashtwin.settings import Value
from flashtwin.traces.reading import Reading
from flashtwin.traces.trace import Trace

#: How much later than the last request a drive that keeps up may end, as a factor and in nanoseconds beside it.
LATE, SLACK_NS = 1.1, 20e6


#: Of keys set otherwise, those of one system: a key that it does not look at would only repeat its replay.
ForSystem = Callable[[str, Mapping[str, Value]], Mapping[str, Value]]
VARIANTS = "variants"


class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The run was interrupted."""


class PaperRun:
    """A finished replay, read from disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.path / names.SUMMARY).read_text(encoding="utf-8"))
        return found

    def get(self, dotted: str) -> float | None:
        """A number of the summary by its dotted path; None where it is undefined."""
        value = dig(self.summary, schema.summary_field(dotted))
        return float(value) if isinstance(value, int | float) else None

    @property
    def keeps_up(self) -> bool:
        """Whether the drive is done soon after the last request has arrived."""
        speed = float(self.summary["config"]["replay"]["speed"])
        lasted, arrived = self.get("completed_ns") or 0.0, (self.get("duration_ns") or 0.0) / speed
        return lasted <= LATE * arrived + SLACK_NS

    def rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = folder.read_table(names.table(self.path, schema.run_table(table))).to_pylist()
        return found


def _is_there(run: Path, tables: bool) -> bool:
    return (run / names.SUMMARY).is_file() and (not tables or bool(names.tables(run)))


class Stand:
    """One workload of a paper: its trace, read when it is needed, and its replays."""

    def __init__(
        self, workload: PaperWorkload, source: WorkloadSource, path: Path, *, period_s: float,
        threads: Callable[[], int] = lambda: 1, stop: threading.Event | None = None,
        options: Mapping[str, Any] | None = None, setup: Mapping[str, Value] | None = None,
    ) -> None:  # fmt: skip
        """Keeps its replays in `path`, as many at once as `threads` tells.

        `options` are the characterization's, `setup` has keys of all experiments.
        """
        self.workload, self.path = workload, path
        self.source: WorkloadSource = source
        self.period_s, self.threads = period_s, threads
        self.setup = dict(setup or {})
        self.replayed = 0
        self.memo: dict[Any, Any] = {}
        self._options = dict(options or {})
        self._otherwise: Mapping[str, Value] = {}
        self._for_system: ForSystem = lambda _, sets: sets
        self._stop = stop or threading.Event()
        self._trace: Trace | None = None

    @property
    def name(self) -> str:
        return self.workload.name

    @property
    def trace(self) -> Trace:
        if self._trace is None:
            self._check()
            self._trace = self.source.open(lambda *_: self._check())
        return self._trace

    def close(self) -> None:
        """Gives the trace's memory back, and counts the replays of its variants."""
        self._trace = None
        for other in [one for one in self.memo.values() if isinstance(one, Stand)]:
            other.close()
            self.replayed, other.replayed = self.replayed + other.replayed, 0

    def again(self, **how: int) -> Stand | None:
        """The same workload made otherwise, as its source can; made once."""
        key = tuple(how.items())
        if key not in self.memo:
            source = self.source.again(**how)
            self.memo[key] = source and Stand(
                self.workload, source, self.path, period_s=self.period_s, threads=self.threads, stop=self._stop,
                options=self._options, setup=self.setup,
            )  # fmt: skip
        return cast("Stand | None", self.memo[key])

    @cached_property
    def characterization(self) -> Characterization:
        return self.variant(self.path)

    def variant(
        self, path: Path, make: Callable[[Trace], Trace] = lambda trace: trace, sets: Mapping[str, Any] | None = None
    ) -> Characterization:
        """The characterization of a trace made from the workload's, with options changed; kept in that folder."""
        chosen = options({"period_s": self.period_s, **self._options, **(sets or {})}, self.threads())
        key = folder.characterization_key(self.source.key, chosen.key)
        if folder.characterized_from(path) != key:
            found = measure(make(self.trace), chosen, Reading(), progress=lambda *_: self._check())
            path.mkdir(parents=True, exist_ok=True)
            folder.record_characterization(path, "")
            found.write_into(path)
            folder.record_characterization(path, key)
        return Characterization.read(path)

    def fact(self, key: str) -> float | None:
        value = self.characterization.row.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def table(self, name: str) -> list[dict[str, Any]]:
        return table_of(self.characterization, name)

    @contextmanager
    def otherwise(self, sets: Mapping[str, Value], for_system: ForSystem) -> Iterator[None]:
        """Within the block all systems have these keys set so, whatever else sets them."""
        self._otherwise, self._for_system = sets, for_system
        try:
            yield
        finally:
            self._otherwise = {}

    def system(self, name: str, **sets: Value) -> System:
        """A system under the paper's set-up, with this workload's period."""
        return self.preset(name, **{**self.setup, **sets, **self._for_system(name, self._otherwise)})

    def preset(self, name: str, **sets: Value) -> System:
        """The same without the paper's set-up."""
        return as_system(name, {"replay.period_s": self.period_s, **sets})

    def run(self, name: str, **sets: Value) -> PaperRun:
        return self.runs({name: self.system(name, **sets)})[name]

    def runs(self, chosen: Mapping[str, System], tables: Collection[str] | None = None) -> dict[str, PaperRun]:
        """Replays on several systems, those that are not on disk yet side by side.

        `tables` names the replays whose tables are read, all where it is left out. Set-ups of `otherwise` keep no
        others: they are many, and to write its tables takes as long as half a small replay.
        """
        # Named by all that a result depends on, so that two names may be of one replay.
        keys = {name: folder.run_key(self.source.key, one.config)[:20] for name, one in chosen.items()}
        paths = {name: self.path / names.RUNS / f"{one.name}-{keys[name]}" for name, one in chosen.items()}
        tabled = {path.name for name, path in paths.items() if tables is None or name in tables}
        absent = {name: path for name, path in paths.items() if not _is_there(path, path.name in tabled)}
        waiting = list({path.name: chosen[name] for name, path in absent.items()}.items())
        while waiting:
            together = self.threads()
            batch, waiting = dict(waiting[:together]), waiting[together:]
            done = compare(self.trace, batch, threads=together, progress=lambda *_: self._check())
            for name, result in done.items():
                self.path.mkdir(parents=True, exist_ok=True)
                native = result._native
                bare = self._otherwise and name not in tabled
                folder.write_run(self.path, name, StoredRun(native.summary_json, {}) if bare else native)
                self.replayed += 1
            self._check()
        return {name: PaperRun(path) for name, path in paths.items()}

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def rate(self, target: float, baseline: str, bound: str, **sets: Value) -> RateResult:
        """The speed at which the bound's mean read takes `target` percent less time than the baseline's.

        Only speeds that the baseline keeps up with: it ends at most `LATE` times as long after the first
        request as the last one does.
        """

        def improvement(speed: float) -> float | None:
            chosen = {name: self.system(name, **{"replay.speed": speed, **sets}) for name in (baseline, bound)}
            pair = self.runs(chosen)
            if not pair[baseline].keeps_up:
                return None
            return smaller(*(pair[name].get("response.read.mean_ns") for name in (baseline, bound))) or 0.0

        return rate_for(target, improvement)


def table_of(found: Characterization, name: str) -> list[dict[str, Any]]:
    """A table of a characterization as rows; none where the trace has nothing for it."""
    if schema.workload_table(name) not in found.table_names:
        return []
    rows: list[dict[str, Any]] = found.table(name).to_arrow().to_pylist()
    return rows
