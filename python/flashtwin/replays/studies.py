"""Studies: one trace on several systems, results and report written into a folder."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from flashtwin import _core
from flashtwin.characterization.measuring import Characterization, measure, options
from flashtwin.errors import ReportError
from flashtwin.progress import Notify, Progress, numbered
from flashtwin.replays import aged
from flashtwin.replays.presets import System
from flashtwin.replays.running import Comparison, Result, fitted, name_systems, what_else_differs
from flashtwin.replays.timelines import Timeline
from flashtwin.results import earlier, folder, names
from flashtwin.results.keys import traits
from flashtwin.settings import Value, merged
from flashtwin.traces.reading import Reading
from flashtwin.traces.scan import Replayable, Scan, as_replayable, prepare

if TYPE_CHECKING:
    from flashtwin.judgement.verdict import Verdict

#: The systems of a study unless others are asked for; the first is the baseline.
SYSTEMS = ("conventional", "ca-ssd", "rr-ssd", "oracle")

#: Page operations of replays that find the best choice and the bottlenecks, by default.
EFFORT = 50_000_000
#: Of these, the share for the choice; the rest is for the bottlenecks. Ours.
_FOR_THE_CHOICE = 0.7


@dataclass(frozen=True)
class Study:
    """A finished study: its folder and its results.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=60)
    >>> ft.study(trace, "out/short", ["conventional", "rr-ssd"], effort=0).comparison.baseline.name
    'conventional'
    """

    path: Path
    report: Path
    findings: list[str]
    #: The bottleneck of each system, as `Explanation.data`; of those that cannot be explained, none.
    limits: list[Mapping[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Reads the folder of a finished study.

        Raises:
            ReportError: there is no study in the folder, or one without its report.
        """
        from flashtwin import report
        from flashtwin.results.reading import load

        found = load(path)
        page = found.folder / names.REPORT
        if not page.is_file():
            raise ReportError(f"{found.folder}: its report is not there; `flashtwin report {found.folder}` makes it")
        told = [finding.text for finding in report.findings(found.folder)]
        return cls(found.folder, page, told, list(found.explained.values()))

    @cached_property
    def comparison(self) -> Comparison:
        """Its runs, read from the folder."""
        return Comparison.read(self.path)

    @cached_property
    def choice(self) -> Verdict | None:
        """Which system and settings to choose, read from the folder; None where nobody looked."""
        from flashtwin import report

        return report.choice(self.path)

    def _repr_html_(self) -> str:
        chosen = f"<p>{html.escape(self.choice.text)}</p>" if self.choice is not None else ""
        told = "".join(f"<li>{html.escape(text)}</li>" for text in self.findings)
        page = html.escape(str(self.report))
        return f'{chosen}<p><a href="{page}">{page}</a></p><ul>{told}</ul>{self.comparison._repr_html_()}'


def study(
    trace: Replayable | str | Path,
    out: str | Path,
    systems: Sequence[str | Path | System] | Mapping[str, str | Path | System] = SYSTEMS,
    *,
    settings: Mapping[str, Value] | None = None,
    fill: float | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    notify: Notify | None = None,
    equal_ground: bool = False,
    per_request: bool = False,
    effort: int | None = EFFORT,
    goal: str | None = None,
    device: str | None = None,
    **sets: Value,
) -> Study:
    """Characterizes a trace, replays it on every system, finds the best choice and the bottlenecks.

    Runs are written as they finish; done again with the same folder, those that were made from the
    same trace and configuration are not made again.

    Args:
        trace: what `open` or `scan` returned, or a path for it.
        out: the folder for results; new, empty, or holding a study.
        systems: as in `compare`. Of those that nobody named, a trace without contents leaves out what
            looks at contents.
        settings: keys to set otherwise in every system given by name, dotted ones as they are.
        fill: as in `compare`.
        threads: how many systems run at once; 0 is one for each core.
        progress: told how far reading, each system, the workload and the report are (`flashtwin.progress`).
        notify: called with a sentence when runs are reused or systems left out.
        equal_ground: as in `compare`.
        per_request: also write every request by itself, `requests.parquet` in the folder of each run. What is held in
            memory meanwhile does not grow with the trace.
        effort: page operations of replays that find the best settings of each system (`Study.choice`) and tell what
            holds it back; where systems are not named, those that come with flashtwin compete as well. 0: none, None:
            as many as it takes. At least six replays of each system are made.
        goal: the figure to shorten, as in `explain`.
        device: another drive, by name or TOML file, on which candidates are shown, too; a drive of today where none is
            named.
        **sets: the same as keywords.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=60)
    >>> done = ft.study(trace, "out/study", ["conventional", "rr-ssd"], effort=1_000_000)
    >>> done.report.name
    'report.html'
    """
    chosen = name_systems(systems, merged(settings, sets), equal_ground=equal_ground)
    with folder.prepared(out) as path:
        opened = as_replayable(trace, progress)
        nobody_named = systems is SYSTEMS
        if nobody_named:
            chosen = dict(without_contents(opened, chosen, notify))
        chosen = fitted(opened, chosen, fill, notify, progress)
        replay_into(path, opened, chosen, threads, progress, notify, equal_ground=equal_ground, per_request=per_request)
        asked = StudyQuestions(effort, goal, device, fill, more_systems=nobody_named)
        return finish(path, opened, chosen, asked, threads, progress, notify)


@dataclass(frozen=True)
class StudyQuestions:
    """The questions of a study beside its runs."""

    #: As in `study`.
    effort: int | None = 0
    goal: str | None = None
    device: str | None = None
    fill: float | None = None
    #: Whether systems compete that nobody named.
    more_systems: bool = False


class Contents(Protocol):
    """The options of reading a trace that a replay depends on."""

    @property
    def name(self) -> str:
        """The name of the trace."""

    @property
    def has_content(self) -> bool:
        """Whether pages carry contents."""


def without_contents(
    trace: Contents, systems: Mapping[str, System], notify: Notify | None = None
) -> Mapping[str, System]:
    """Of the systems, those that can replay a trace: where it has no contents, those that do not look at them.

    All of them where none would be left: the core's message then says what to do.
    """
    needs = [
        name for name, system in systems.items()
        if system.config["replay"]["content"] == "recorded" and "looks-at-contents" in traits(system.config)
    ]  # fmt: skip
    if trace.has_content or not needs or len(needs) == len(systems):
        return systems
    if notify:
        notify(
            f"{trace.name} has no contents, which {', '.join(needs)} look at: only what does not is replayed "
            "(--content unique, or zipf(A,N), makes contents up)"
        )
    return {name: system for name, system in systems.items() if name not in needs}


def replay_into(
    path: Path,
    trace: Replayable,
    systems: Mapping[str, System],
    threads: int = 0,
    progress: Progress | None = None,
    notify: Notify | None = None,
    *,
    equal_ground: bool = False,
    per_request: bool = False,
    timeline: Timeline | None = None,
) -> None:
    """Makes the runs that the folder does not hold yet, writing each as it finishes, then what makes them a study.

    A timeline is that of the first system, whose run is made again for it.
    """
    prepare(trace, [system._resolved for system in systems.values()], progress)

    @cache
    def key(name: str) -> str:
        # Asked for once there is something to compare it with: until the trace has been cut, its digest takes a while.
        return folder.run_key(trace.digest, systems[name].config)

    if earlier.holds_any(path):
        _bring_back(path, trace, systems, key, notify)
    finished = folder.finished_runs(path)
    missing = [
        name for name in systems
        if timeline is not None
        or name not in finished or finished[name] != key(name) or (per_request and not folder.has_requests(path, name))
    ]  # fmt: skip
    kept = [name for name in systems if name not in missing]
    if kept and notify:
        notify(f"reusing {', '.join(kept)} from {path}: same trace, same configuration")

    def write(name: str, result: _core.RunResult) -> None:
        _keep_earlier(path, name, _summary_of(systems[name], trace), notify)
        folder.forget_run(path, name)
        folder.write_run(path, name, result)
        folder.record_run(path, name, key(name))

    requests = [folder.requests_part(path, name) for name in missing] if per_request else None
    _replay(trace, {name: systems[name] for name in missing}, threads, progress, write, requests, timeline)
    configs = {name: system.config for name, system in systems.items()}
    more = {**what_else_differs(configs, equal_ground=equal_ground), "source": trace.source}
    info = trace.informed(progress) if isinstance(trace, Scan) else trace.info
    folder.write_study(path, info, list(systems), more)


Finished = Callable[[str, _core.RunResult], None]


def _replay(
    trace: Replayable,
    runs: Mapping[str, System],
    threads: int,
    progress: Progress | None,
    finished: Finished,
    requests: Sequence[Path | None] | None = None,
    timeline: Timeline | None = None,
) -> None:
    if runs:
        called = list(runs)

        def ended(index: int, result: _core.RunResult) -> None:
            finished(called[index], result)

        chosen = list(runs.values())
        told = numbered(progress, called)
        aged.run(trace, chosen, threads, told, ended, requests, informed=True, timeline=timeline)


def _summary_of(system: System, trace: Replayable) -> dict[str, Any]:
    """The identity of a run, as its summary will have it."""
    return {"flashtwin": folder.VERSION, "config": system.config, "trace": {"name": trace.name, "digest": trace.digest}}


def _bring_back(
    path: Path, trace: Replayable, systems: Mapping[str, System], key: Callable[[str], str], notify: Notify | None
) -> None:
    """Moves runs that the folder holds to the earlier ones, under their own names."""
    finished = folder.finished_runs(path)
    for name, system in systems.items():
        if finished.get(name) == key(name):
            continue
        label = earlier.restore(path, name, key(name), _summary_of(system, trace))
        if label is not None and notify:
            notify(f"{path / names.EARLIER / label}: asked for again, is {names.run(path, name)} now")


def _keep_earlier(path: Path, name: str, summary: Mapping[str, Any], notify: Notify | None) -> None:
    """Keeps the run of that name with other settings, and says where."""
    label = earlier.keep(path, name, summary)
    if label is not None and notify:
        notify(
            f"{name} was there with other settings; kept as {path / names.EARLIER / label} "
            f"(flashtwin compare {path} {path / names.EARLIER})"
        )


def finish(
    path: Path,
    trace: Replayable,
    systems: Mapping[str, System],
    asked: StudyQuestions,
    threads: int = 0,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Study:
    """Chooses among and explains the runs of a folder that has them all, characterizes and writes the report."""
    from flashtwin import report

    limits = _explain(path, trace, systems, asked, threads, progress, notify)
    _characterize(path, trace, next(iter(systems.values())).period_s, progress)
    if progress:
        progress("report", 0, 0)
    page = report.build(path)
    return Study(path, page, [finding.text for finding in report.findings(path)], limits)


def _explain(
    path: Path,
    trace: Replayable,
    systems: Mapping[str, System],
    asked: StudyQuestions,
    threads: int,
    progress: Progress | None,
    notify: Notify | None,
) -> list[Mapping[str, Any]]:
    """The system to choose, and the bottlenecks; those of an earlier study are deleted first."""
    from flashtwin.causes import choosing, explaining
    from flashtwin.causes.budget import Budget
    from flashtwin.causes.figures import goal as named_goal
    from flashtwin.causes.figures import usual_goal
    from flashtwin.causes.replaying import KeptFigures, base_figures

    for file in names.explained(path):
        file.unlink()
    if asked.effort == 0:
        return []
    kept = KeptFigures.of(path)
    runs = {}
    for name, system in systems.items():
        figures = base_figures(Result.read(names.run(path, name)))
        kept.keep(folder.run_key(trace.digest, system.config), figures)
        runs[name] = (system, figures)
    goal = usual_goal(next(iter(systems.values())).config) if asked.goal is None else named_goal(asked.goal)
    replay_ops = explaining.replay_ops(runs)
    for_choice = Budget(None if asked.effort is None else round(asked.effort * _FOR_THE_CHOICE), replay_ops)
    competing = without_contents(trace, choosing.contenders(systems, more=asked.more_systems))
    choosing.choose(
        path, trace, competing, goal, for_choice,
        device=asked.device or choosing.TODAY, fill=asked.fill, threads=threads, progress=progress, notify=notify,
    )  # fmt: skip
    rest = None if asked.effort is None else max(asked.effort - for_choice.begun * replay_ops, 1)
    found = explaining.explain_runs(
        path, trace, explaining.buildable(runs), goal=None if asked.goal is None else goal,
        budget=Budget(rest, replay_ops), threads=threads, progress=progress,
    )  # fmt: skip
    return [one.data for _, one in found.items()]


def _characterize(path: Path, trace: Replayable, period_s: float, progress: Progress | None) -> None:
    """Writes the characterization of the trace, unless the folder holds it already."""
    chosen = options({"period_s": period_s}, threads=0)
    key = folder.characterization_key(trace.digest, chosen.key)
    if folder.characterized_from(path) == key:
        Characterization.read(path).write_advice(path)
        return

    def heard(_: str, done: int, total: int) -> None:
        # One progress bar for all that is computed about the trace.
        if progress:
            progress("workload", done, total)

    found = measure(trace, chosen, Reading(), progress=heard)
    folder.record_characterization(path, "")
    found.write_into(path)
    folder.record_characterization(path, key)
