"""`flashtwin.explain`: the bottleneck of a workload on a system, the change that removes it, and the command."""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.arguments import checked
from flashtwin.causes import wording
from flashtwin.causes.budget import Budget
from flashtwin.causes.figures import Figures, usual_goal
from flashtwin.causes.figures import goal as named_goal
from flashtwin.causes.inquiry import Inquiry
from flashtwin.causes.replaying import KeptFigures, base_figures, base_replays, replay_all
from flashtwin.causes.stored import runs_of, set_otherwise, system_of, trace_of
from flashtwin.errors import ArgumentError, ConfigError, ReportError
from flashtwin.judgement.choosing import WORTH
from flashtwin.judgement.goals import Goal
from flashtwin.judgement.verdict import Verdict
from flashtwin.progress import Progress
from flashtwin.replays.presets import System
from flashtwin.replays.presets import systems as presets
from flashtwin.replays.running import fitted, name_systems
from flashtwin.results import folder, names
from flashtwin.results.frames import Tabular, shown, table_of
from flashtwin.results.keys import traits
from flashtwin.results.reading import read_json
from flashtwin.results.trees import leaves
from flashtwin.settings import Value, merged
from flashtwin.traces.reading import Reading
from flashtwin.traces.scan import Replayable, as_replayable

if TYPE_CHECKING:
    import pyarrow

#: Page operations of replaying unless otherwise asked for, and replays of each system that are made at least. Ours.
EFFORT = 100_000_000
LEAST_REPLAYS = 4

#: Runs by name: on which system, and the figures.
Runs = Mapping[str, tuple[System, Figures]]
#: The parts of an answer: key in the data, and name as a row.
_ROWS = {"causes": "cause", "steps": "step"}


class Explanation(Tabular):
    """The bottleneck of a trace on one system. As a frame: a row for each cause and step, with its command.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=120)
    >>> found = ft.explain(trace, "ca-ssd", speed=100)["ca-ssd"]
    >>> found.answer, "hash_lanes" in found.command
    ('hash', True)
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Wraps a result; use `flashtwin.explain` or `Explanations.read`."""
        #: Everything that was found, as it is written; times in ns, shares in percent.
        self.data = data
        #: The system's name.
        self.system = str(data["system"])
        #: The bottleneck, the replay that shows it, and the remedy.
        self.verdict = Verdict.read(data)
        #: The first cause: `hash`, `bus`, `gc`, ...; `nothing`; `unknown` where the time allowed no replay.
        self.answer = self.verdict.answer
        #: The command of the step that brings most.
        self.command = self.verdict.action.command

    @property
    def text(self) -> str:
        """As a terminal shows it."""
        return "\n".join(wording.lines(self.data))

    def to_arrow(self) -> pyarrow.Table:
        """A row for each cause and step."""
        return table_of(self.rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the frame."""
        of = {"system": self.system, "goal": self.data["goal"], "before": self.data["before"]}
        columns = ("name", "change", "words", "value", "percent", "programs", "erases", "ram_bytes", "command")
        return [
            {**of, "what": what, **{key: one[key] for key in columns}}
            for key, what in _ROWS.items()
            for one in self.data[key]
        ]

    def __repr__(self) -> str:
        return f"<flashtwin.Explanation of {self.system!r}: {self.answer}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>{shown(self.to_arrow())}"


@checked
class Explanations(Tabular, Mapping[str, Explanation]):
    """The bottlenecks of a trace, by system. As a frame: the rows of all.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=60)
    >>> found = ft.explain(trace, ["conventional", "ca-ssd"], speed=100)
    >>> {system: one.answer for system, one in found.items()}
    {'conventional': 'placement', 'ca-ssd': 'hash'}
    """

    def __init__(self, found: Iterable[Mapping[str, Any]]) -> None:
        """Wraps the results of the systems; use `flashtwin.explain` or `Explanations.read`."""
        self._found = {str(one["system"]): Explanation(one) for one in found}

    def __getitem__(self, system: str) -> Explanation:
        return self._found[system]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @classmethod
    def read(cls, path: str | Path) -> Explanations:
        """Reads what `flashtwin study` or `flashtwin explain` left in a folder.

        Raises:
            ReportError: there is none in it, or what stands there cannot be read.
        """
        files = names.explained(Path(path))
        if not files:
            raise ReportError(f"{path}: nothing in it was explained; `flashtwin explain {path}` does that")
        return cls(map(read_json, files))

    @property
    def text(self) -> str:
        """As a terminal shows it."""
        return "\n\n".join(one.text for one in self.values())

    def to_arrow(self) -> pyarrow.Table:
        """A row for each system, cause and step."""
        return table_of([row for one in self.values() for row in one.rows])

    def __repr__(self) -> str:
        return f"<flashtwin.Explanations: {', '.join(f'{name}: {one.answer}' for name, one in self.items())}>"

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self.values())


class InterruptedExplanation(KeyboardInterrupt):
    """Ctrl-C while replays were under way, with the answer from those that had ended."""

    def __init__(self, found: Explanations) -> None:
        """Keeps the results so far; each part is labelled as interrupted."""
        super().__init__("interrupted")
        #: The answer so far.
        self.found = found


@checked
def explain(
    what: Replayable | str | Path,
    systems: Sequence[str | Path | System] | str | Path | System | None = None,
    *,
    goal: str | None = None,
    effort: int | None = EFFORT,
    out: str | Path | None = None,
    trace: str | Path | None = None,
    settings: Mapping[str, Value] | None = None,
    fill: float | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    **sets: Value,
) -> Explanations:
    """Finds the bottleneck of a workload, the change that removes it, and the gain.

    One thing at a time is made ideal (hashing, channels, collection, erases, ...), and the trace replayed again; then
    steps that can really be taken. Every sentence names the run that shows it.

    Args:
        what: a trace, a path of one, or a folder of results, which then keeps the answer (`Explanations.read`).
        systems: the systems; of a folder those of its runs, all of them where none is named.
        goal: the figure to shorten: `"read.p99"`, `"all.mean"`, `"write.max"`, `"time"` for the whole trace; the
            mean response where none is named, in a closed loop the time.
        effort: page operations of replaying, at least as many as four replays of each system take; None is as many as
            it takes, 0 is none. Replays kept from before are free.
        out: a folder to keep replays of a trace in: an interrupted inquiry goes on where it was.
        trace: of a folder of results, the file of its trace where that is no more where it was.
        settings: keys to set otherwise, dotted ones as they are; not for a folder.
        fill: as in `compare`; not for a folder.
        threads: replays at once; 0 is one for each core. The result does not depend on it.
        progress: told how many replays are done.
        **sets: the same as keywords.

    Raises:
        ConfigError: there is no such system, key or goal.
        ReportError: there are no such results.
        TraceError: the trace cannot be read, or is another one than the results are of.
        KeyboardInterrupt: Ctrl-C; once a replay has ended it has the answer so far (`found`).

    >>> import flashtwin as ft
    >>> found = ft.explain("traces/webvm-small.fiu.zst", "ca-ssd", period_s=120, speed=100)
    >>> found["ca-ssd"].answer
    'hash'
    """
    keys = merged(settings, sets)
    how: dict[str, Any] = {
        "goal": None if goal is None else named_goal(goal), "effort": effort, "threads": threads,
        "progress": progress,
    }  # fmt: skip
    if isinstance(what, str | Path) and Path(what).is_dir():
        if keys or fill is not None:
            raise ConfigError(f"{what}: runs are explained as they were made; keys are for traces")
        return _explain_folder(Path(what), _names(systems), trace, how)
    if trace is not None:
        raise ArgumentError("`trace` names the file of a folder of results; here the trace itself is given")
    if systems is None:
        raise ArgumentError("name a system to explain a trace on: ft.explain(trace, 'ca-ssd')")
    chosen = name_systems(systems, keys)
    opened = as_replayable(what, progress)
    chosen = fitted(opened, chosen, fill, progress=progress)
    if out is None:
        return _explain_trace(None, opened, chosen, how)
    with folder.prepared(out, holding=names.EXPLAINED_FROM) as path:
        folder.write_json(path / names.EXPLAINED_FROM, opened.digest)
        return _explain_trace(path, opened, chosen, how)


def explain_runs(
    path: Path | None,
    trace: Replayable,
    runs: Runs,
    *,
    goal: Goal | None,
    budget: Budget,
    worth: float = WORTH,
    **how: Any,
) -> Explanations:
    """Explains runs that exist, with their systems; writes the result into the folder, if there is one.

    `replay_all` takes the options of the replays: threads, progress.

    Raises:
        InterruptedExplanation: Ctrl-C; replays that had ended are in the folder, an earlier answer there is left.
    """
    asked = {
        name: Inquiry(system, figures, goal or usual_goal(system.config), worth)
        for name, (system, figures) in runs.items()
    }
    budget.at_least(LEAST_REPLAYS * len(asked))
    try:
        replay_all(trace, list(asked.values()), KeptFigures.of(path), budget, **how)
    except KeyboardInterrupt:
        raise InterruptedExplanation(_told(trace, asked, interrupted=True)) from None
    found = _told(trace, asked)
    if path is not None:
        (path / names.CAUSES).mkdir(exist_ok=True)
        for name, one in found.items():
            folder.write_json(names.explained_file(path, name), dict(one.data))
    return found


def buildable(runs: Runs) -> Runs:
    """The runs on systems that could be built; all of them where none could."""
    return {name: one for name, one in runs.items() if "bound" not in traits(one[0].config)} or runs


def _told(trace: Replayable, asked: Mapping[str, Inquiry], *, interrupted: bool = False) -> Explanations:
    """The answer from the replays so far."""
    return Explanations(
        wording.document(inquiry, command_of(trace, name, inquiry.system), interrupted=interrupted)
        for name, inquiry in asked.items()
    )


def _explain_folder(
    path: Path, wanted: list[str] | None, trace: str | Path | None, how: Mapping[str, Any]
) -> Explanations:
    found = runs_of(path, wanted)
    runs: Runs = {name: (system_of(name, one.summary["config"]), base_figures(one)) for name, one in found.items()}
    if wanted is None:
        runs = buildable(runs)
    digest = str(next(iter(found.values())).summary["trace"]["digest"])
    opened = trace_of(path, digest, trace, how["progress"])
    with folder.locked(path):
        return _explain(path, opened, runs, **how)


def _explain_trace(
    path: Path | None, trace: Replayable, chosen: Mapping[str, System], how: Mapping[str, Any]
) -> Explanations:
    figures = base_replays(trace, chosen, KeptFigures.of(path), how["threads"], how["progress"])
    return _explain(path, trace, {name: (system, figures[name]) for name, system in chosen.items()}, **how)


def _explain(path: Path | None, trace: Replayable, runs: Runs, *, effort: int | None, **how: Any) -> Explanations:
    return explain_runs(path, trace, runs, budget=Budget(effort, replay_ops(runs)), **how)


def replay_ops(runs: Runs) -> int:
    """Page operations that a replay of the trace of runs takes; trims take next to none."""
    pages = (figures["page_ops.read"] + figures["page_ops.write"] for _, figures in runs.values())
    return int(max(pages, default=1))


def command_of(trace: Replayable, name: str, system: System) -> wording.Command:
    """How runs of the system on the trace are made by hand."""
    how = dict(trace.source or {})
    path = str(how.pop("path", "TRACE"))
    preset = system.recipe[0]
    base = preset if preset in presets() or Path(preset).is_file() else str(dict(leaves(system.config))["name"])
    return wording.Command(shlex.join([path, *Reading(**how).words]), name, base, set_otherwise(system.config, base))


def _names(wanted: object) -> list[str] | None:
    if wanted is None:
        return None
    return [str(wanted)] if isinstance(wanted, str | Path) else [str(name) for name in wanted]  # type: ignore[attr-defined]
