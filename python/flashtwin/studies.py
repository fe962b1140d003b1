"""Studies: one trace on several systems, with the best choice and the bottlenecks; results and report in a folder."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.arguments import checked
from flashtwin.causes import choosing, explaining
from flashtwin.causes.budget import Budget
from flashtwin.causes.figures import goal as named_goal
from flashtwin.causes.figures import usual_goal
from flashtwin.causes.replaying import KeptFigures, base_figures
from flashtwin.characterization.measuring import Characterization, measure, options
from flashtwin.progress import Notify, Progress
from flashtwin.replays.folders import SYSTEMS, replay_into, without_contents
from flashtwin.replays.presets import System, Systems
from flashtwin.replays.running import Comparison, Result, fitted, name_systems
from flashtwin.results import folder, names
from flashtwin.results.reading import load
from flashtwin.settings import Value, merged
from flashtwin.traces.reading import Reading
from flashtwin.traces.scan import Replayable, as_replayable

if TYPE_CHECKING:
    from flashtwin.judgement.verdict import Verdict

#: Page operations of replays that find the best choice and the bottlenecks, by default.
EFFORT = 50_000_000
#: Of these, the share for the choice; the rest is for the bottlenecks. Ours.
_FOR_THE_CHOICE = 0.7


@checked
@dataclass(frozen=True)
class Study:
    """A finished study: its folder and its results.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=60)
    >>> ft.study(trace, "out/short", ["conventional", "rr-ssd"], effort=0).comparison.baseline.name
    'conventional'
    """

    path: Path
    #: The page; None if it was left out.
    report: Path | None
    findings: list[str]
    #: The bottleneck of each system, as `Explanation.data`; of those that cannot be explained, none.
    limits: list[Mapping[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Reads the folder of a finished study.

        Raises:
            ReportError: there is no study in the folder.
        """
        from flashtwin import report

        found = load(path)
        page = found.folder / names.REPORT
        told = [finding.text for finding in report.findings(found.folder)]
        return cls(found.folder, page if page.is_file() else None, told, list(found.explained.values()))

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
        link = f'<p><a href="{page}">{page}</a></p>' if self.report is not None else ""
        return f"{chosen}{link}<ul>{told}</ul>{self.comparison._repr_html_()}"


@checked
def study(
    trace: Replayable | str | Path,
    out: str | Path,
    systems: Systems = SYSTEMS,
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
    report: bool = True,
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
        report: whether to draw the page, which takes seconds; `flashtwin.report.build` draws it later.
        **sets: the same as keywords.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=60)
    >>> done = ft.study(trace, "out/study", ["conventional", "rr-ssd"], effort=1_000_000)
    >>> done.report.name
    'report.html'
    """
    if goal is not None:
        named_goal(goal)
    chosen = name_systems(systems, merged(settings, sets), equal_ground=equal_ground)
    with folder.prepared(out) as path:
        opened = as_replayable(trace, progress)
        asked = StudyQuestions(
            effort, goal, device, fill, systems is SYSTEMS, equal_ground, per_request, threads, report
        )
        return run(path, opened, chosen, asked, progress, notify)[0]


@dataclass(frozen=True)
class StudyQuestions:
    """The options of a study beside its trace and its systems, as in `study`."""

    effort: int | None
    goal: str | None
    device: str | None
    fill: float | None
    #: Whether nobody named the systems: others compete, too, and a trace without contents leaves some out.
    any_systems: bool
    equal_ground: bool
    per_request: bool
    threads: int
    report: bool


def run(
    path: Path,
    trace: Replayable,
    systems: Mapping[str, System],
    asked: StudyQuestions,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> tuple[Study, Mapping[str, System]]:
    """`study` with its options gathered, into a folder that is ready; also the systems as they were replayed."""
    from flashtwin import report

    if asked.any_systems:
        systems = without_contents(trace, systems, notify)
    systems = fitted(trace, systems, asked.fill, notify, progress)
    replay_into(
        path, trace, systems, asked.threads, progress, notify,
        equal_ground=asked.equal_ground, per_request=asked.per_request,
    )  # fmt: skip
    limits = _explain(path, trace, systems, asked, progress, notify)
    _characterize(path, trace, next(iter(systems.values())).period_s, progress)
    if progress and asked.report:
        progress("report", 0, 0)
    page = report.build(path) if asked.report else None
    if page is None:
        folder.without_report(path)
    return Study(path, page, [finding.text for finding in report.findings(path)], limits), systems


def _explain(
    path: Path,
    trace: Replayable,
    systems: Mapping[str, System],
    asked: StudyQuestions,
    progress: Progress | None,
    notify: Notify | None,
) -> list[Mapping[str, Any]]:
    """The system to choose, and the bottlenecks; those of an earlier study are deleted first."""
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
    competing = without_contents(trace, choosing.contenders(systems, more=asked.any_systems))
    choosing.choose(
        path, trace, competing, goal, for_choice,
        device=asked.device or choosing.TODAY, fill=asked.fill, threads=asked.threads, progress=progress, notify=notify,
    )  # fmt: skip
    rest = None if asked.effort is None else max(asked.effort - for_choice.begun * replay_ops, 1)
    found = explaining.explain_runs(
        path, trace, explaining.buildable(runs), goal=None if asked.goal is None else goal,
        budget=Budget(rest, replay_ops), threads=asked.threads, progress=progress,
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
