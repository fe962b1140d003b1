"""Replays: one trace on one system, or on several side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from flashtwin import _core
from flashtwin.errors import ConfigError
from flashtwin.replays.presets import System, Value, as_system
from flashtwin.results import folder, ground, names
from flashtwin.traces.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Called with the index of the run, steps done and steps in all, about 20 times a second.
RunProgress = Callable[[int, int, int], None]


class Result:
    """What one system did with one trace."""

    def __init__(self, name: str, native: _core.RunResult) -> None:
        """Wraps the core's result; use `flashtwin.replay`."""
        self.name = name
        self._native = native

    def __repr__(self) -> str:
        return f"<flashtwin.Result {self.name!r} of {self.summary['trace']['name']!r}>"

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All totals, with the whole configuration; units are in the names, undefined ratios are None."""
        summary: dict[str, Any] = json.loads(self._native.summary_json)
        return summary

    @property
    def table_names(self) -> list[str]:
        """Names that `table` knows."""
        return self._native.table_names

    def table(self, name: str) -> _core.Table:
        """A table such as `"periods"` or `"chips"`, for anything that speaks the Arrow PyCapsule interface.

        `polars.DataFrame(result.table("chips"))`, `pyarrow.table(result.table("chips"))`, ...
        """
        return self._native.table(name)

    def chart(self, name: str = "response") -> Figure:
        """One of the report's charts, of this run alone, as a Matplotlib figure."""
        return _chart({self.name: self}, name)

    def save(self, path: str | Path) -> Path:
        """Writes the summary and the tables into a folder, made if need be; returns the folder."""
        with folder.prepared(path, holding=names.SUMMARY) as ready:
            self._native.write(ready)
        return ready

    @property
    def native(self) -> _core.RunResult:
        """The core's own object; for the modules of this package."""
        return self._native


class Comparison(Mapping[str, Result]):
    """What several systems did with one trace, by name; the first is the baseline."""

    def __init__(self, trace: Trace, results: Mapping[str, Result], *, equal_ground: bool = False) -> None:
        """Use `flashtwin.compare`."""
        self.trace = trace
        #: Whether all systems were given the baseline's ground.
        self.equal_ground = equal_ground
        self._results = dict(results)

    def __getitem__(self, name: str) -> Result:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return f"<flashtwin.Comparison of {self.trace.name!r}: {', '.join(self)}>"

    @property
    def baseline(self) -> Result:
        """The first system's result, which the others are measured against."""
        return next(iter(self._results.values()))

    @property
    def ground(self) -> list[ground.Difference]:
        """What differs between the systems beyond what defines them; see `flashtwin.results.ground`."""
        return ground.ground({name: result.summary["config"] for name, result in self._results.items()})

    def chart(self, name: str = "response") -> Figure:
        """One of the report's charts, of all systems, as a Matplotlib figure."""
        return _chart(self._results, name)

    def save(self, path: str | Path) -> Path:
        """Writes the result folder that `flashtwin report` reads; returns it."""
        with folder.prepared(path) as ready:
            _write(ready, self._results, self.trace.info, equal_ground=self.equal_ground)
        return ready


def replay(
    trace: Trace,
    system: str | Path | System,
    *,
    progress: RunProgress | None = None,
    **sets: Value,
) -> Result:
    """Replays a trace on one system.

    Args:
        trace: what `open` returned.
        system: a name of `systems()`, a path of a TOML file, or what `system` returned.
        progress: called with 0, steps done and steps in all about 20 times a second.
        **sets: keys of the configuration to set otherwise; `content="unique"` gives a trace without
            contents one of its own for every page write, `content="zipf(0.8,100000)"` values drawn by
            popularity.

    Raises:
        ConfigError: the system or one of the keys is wrong.
        TraceError: the trace lacks the contents that the system needs.
        SimError: the system cannot replay the trace (it does not fit on the device, say).

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> result = ft.replay(trace, "rr-ssd", **{"replication.alpha": 0.2})
    >>> result.summary["requests"]["completed"] == len(trace)
    True
    >>> len(result.table("chips"))
    64
    """
    chosen = as_system(system, sets)
    native = _core.run(trace.native, [chosen._resolved], 1, progress)
    return Result(chosen.name, native[0])


def compare(
    trace: Trace,
    systems: Sequence[str | Path | System] | Mapping[str, str | Path | System],
    *,
    threads: int = 0,
    progress: RunProgress | None = None,
    equal_ground: bool = False,
    **sets: Value,
) -> Comparison:
    """Replays one trace on several systems, on all cores, over one copy of the trace.

    Args:
        trace: what `open` returned.
        systems: the systems, first the baseline, or a single one; a mapping gives them names of its own, so that one
            system can stand beside itself with other keys.
        threads: how many run at once; 0 is one for each core. Results do not depend on it.
        progress: called with the run's index, steps done and steps in all about 20 times a second.
        equal_ground: whether every system gets the baseline's device, engine, allocation, collection and
            replay keys, so that nothing differs but what the systems are about. Without it, see
            `Comparison.ground` for what else differs.
        **sets: keys to set otherwise in every system given by name.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> both = ft.compare(trace, ["conventional", "ca-ssd"])
    >>> both["ca-ssd"].summary["pages_programmed"] < both.baseline.summary["pages_programmed"]
    True
    """
    chosen = name_systems(systems, sets, equal_ground=equal_ground)
    resolved = [system._resolved for system in chosen.values()]
    native = _core.run(trace.native, resolved, threads, progress)
    results = {name: Result(name, result) for name, result in zip(chosen, native, strict=True)}
    return Comparison(trace, results, equal_ground=equal_ground)


def name_systems(
    systems: Sequence[str | Path | System] | Mapping[str, str | Path | System],
    sets: Mapping[str, Value],
    *,
    equal_ground: bool = False,
) -> dict[str, System]:
    """The systems by the names under which their results will be kept; on the first one's ground if asked for."""
    if isinstance(systems, str | Path | System):
        # One may be given without a list around it; a string is a sequence of letters, too.
        systems = [systems]
    if isinstance(systems, Mapping):
        named = {name: as_system(system, sets) for name, system in systems.items()}
    else:
        chosen = [as_system(system, sets if not isinstance(system, System) else {}) for system in systems]
        named = {system.name: system for system in chosen}
        if len(named) < len(chosen):
            names = [system.name for system in chosen]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(
                f"system '{twice}' is named twice; name each once, or give them names of their own: "
                "ft.compare(trace, {'a': ft.system(...), 'b': ft.system(...)})"
            )
    if not named:
        raise ConfigError("no system is named; name at least one, such as 'conventional'")
    for name in named:
        folder.check_run_name(name)
    if not equal_ground:
        return named
    more = ground.equal({name: system.config for name, system in named.items()})
    return {name: system.with_sets(more[name]) for name, system in named.items()}


def _chart(results: Mapping[str, Result], name: str) -> Figure:
    """Draws through a result folder, as the report does, so that both show the same."""
    from flashtwin import report

    with TemporaryDirectory(prefix="flashtwin-") as scratch:
        path = Path(scratch)
        _write(path, results, next(iter(results.values())).summary["trace"])
        return report.chart(name, path)


def _write(path: Path, results: Mapping[str, Result], trace: Mapping[str, Any], *, equal_ground: bool = False) -> None:
    for name, result in results.items():
        folder.write_run(path, name, result.native)
    configs = {name: result.summary["config"] for name, result in results.items()}
    folder.write_study(path, trace, list(results), what_else_differs(configs, equal_ground=equal_ground))


def what_else_differs(configs: Mapping[str, Mapping[str, Any]], *, equal_ground: bool) -> dict[str, Any]:
    """What a result folder says of the ground that the systems stand on."""
    return {"equal_ground": equal_ground, "ground": [one.as_json() for one in ground.ground(configs)]}
