"""Studies: one trace on several systems, with the best choice and the bottlenecks; results and report in a folder."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.arguments import checked
from flashtwin.causes import choosing, explaining, holding
from flashtwin.causes.holding import OtherGrounds
from flashtwin.causes.replaying import Budget, KeptFigures, base_figures
from flashtwin.characterization.measuring import Characterization, measure, options
from flashtwin.errors import ArgumentError
from flashtwin.judgement.choosing import WORTH, too_few
from flashtwin.judgement.costs import Prices
from flashtwin.judgement.goals import Figures, Goal, goal_of, usual_goal
from flashtwin.progress import Notify, Progress
from flashtwin.replays.folders import SYSTEMS, replay_into, without_contents
from flashtwin.replays.grounds import check_raw_pages
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
    #: The bottleneck of the choice, as `Explanation.data`; empty where nothing was explained.
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
    worth: float = WORTH,
    prices: str | Path | None = None,
    devices: Sequence[str | Path] = (),
    speeds: Sequence[float] = (),
    vary_acknowledgement: bool = False,
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
        effort: page operations of replays that find the settings of each system (`Study.choice`) and tell what holds
            the choice back; where systems are not named, those that come with flashtwin compete as well. 0: none,
            None: as many as it takes. At least five replays of each system are made. Each ground has as much.
        goal: the figure to shorten, as in `explain`; a second one after a comma stands beside it.
        worth: the share of the figure that is given up for a cheaper candidate.
        prices: a TOML file of relative prices, over those that come with flashtwin.
        devices: drives, by name or TOML file, on each of which the choice is searched for; the first is the study's.
        speeds: the same for speeds.
        vary_acknowledgement: whether the verdict is also replayed with writes answered at another moment
            (`engine.write_completes`); it is in any case where the drive's file calls that undetermined.
        report: whether to draw the page, which takes seconds; `flashtwin.report.build` draws it later.
        **sets: the same as keywords.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=60)
    >>> done = ft.study(trace, "out/study", ["conventional", "rr-ssd"], effort=1_000_000)
    >>> done.report.name
    'report.html'
    """
    question, grounds = asked_for(goal, worth, prices), OtherGrounds(tuple(map(str, devices)), tuple(speeds))
    chosen = name_systems(systems, {**grounds.first, **merged(settings, sets)}, equal_ground=equal_ground, by_all=True)
    with folder.prepared(out) as path:
        opened = as_replayable(trace, progress)
        asked = StudyQuestions(
            effort=effort, question=question, grounds=grounds, vary_acknowledgement=vary_acknowledgement, fill=fill,
            any_systems=systems is SYSTEMS, equal_ground=equal_ground, per_request=per_request, threads=threads,
            report=report,
        )  # fmt: skip
        return run(path, opened, chosen, asked, progress, notify)[0]


@dataclass(frozen=True)
class WantedChoice:
    """What is wanted of a choice, checked; the goals are those of a study, or the usual one."""

    goals: tuple[Goal, ...]
    worth: float
    prices: Prices

    def of(self, system: System, capacity_bytes: float) -> choosing.Question:
        """The question about a system's drive."""
        goals = self.goals or (usual_goal(system.config["replay"]["queue_depth"]),)
        second = goals[1] if len(goals) > 1 else None
        return choosing.Question(goals[0], second, self.worth, self.prices, capacity_bytes)


def asked_for(goal: str | None, worth: float, prices: str | Path | None) -> WantedChoice:
    """The options of a choice, checked before anything is read."""
    goals = tuple(goal_of(name.strip()) for name in goal.split(",")) if goal is not None else ()
    if len(goals) > 2:
        raise ArgumentError(f"'{goal}' names {len(goals)} goals; a second one stands beside the first, no third")
    if not 0.0 <= worth < 1.0:
        raise ArgumentError(f"worth is a share of the goal's figure, from 0 to below 1, not {worth:g}")
    return WantedChoice(goals, worth, Prices.read(prices))


@dataclass(frozen=True, kw_only=True)
class StudyQuestions:
    """The options of a study beside its trace and its systems, as in `study`."""

    effort: int | None
    question: WantedChoice
    grounds: OtherGrounds
    #: Whether the verdict is replayed with writes answered otherwise, also where the drive's file knows when.
    vary_acknowledgement: bool
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
    # The drive that is to be bought is the one before it was made smaller to be full.
    first = next(iter(systems.values()))
    question = asked.question.of(first, first.raw_pages * first.config["nand"]["page_bytes"])
    systems = fitted(trace, systems, asked.fill, notify, progress)
    if asked.equal_ground:
        check_raw_pages(systems)
    replay_into(
        path, trace, systems, asked.threads, progress, notify,
        equal_ground=asked.equal_ground, per_request=asked.per_request,
    )  # fmt: skip
    limits = _decide(path, trace, systems, question, asked, progress)
    _characterize(path, trace, next(iter(systems.values())).period_s, progress)
    if progress and asked.report:
        progress("report", 0, 0)
    page = report.build(path) if asked.report else None
    if page is None:
        folder.without_report(path)
    return Study(path, page, [finding.text for finding in report.findings(path)], limits), systems


def _decide(
    path: Path,
    trace: Replayable,
    systems: Mapping[str, System],
    question: choosing.Question,
    asked: StudyQuestions,
    progress: Progress | None,
) -> list[Mapping[str, Any]]:
    """The candidates, and what holds the choice back; those of an earlier study are deleted first."""
    for file in (*names.explained(path), path / names.CANDIDATES, path / names.CHOICES):
        file.unlink(missing_ok=True)
    if asked.effort == 0:
        return []
    kept, runs = KeptFigures.of(path), dict[str, Figures]()
    for name, system in systems.items():
        figures = base_figures(Result.read(names.run(path, name)))
        kept.keep(folder.run_key(trace.digest, system.config), figures)
        runs[name] = figures
    replay_ops = explaining.replay_ops(runs.values())
    how: dict[str, Any] = {"threads": asked.threads, "progress": progress}
    effort = None if asked.effort is None else round(asked.effort * _FOR_THE_CHOICE)
    few = bool(too_few(question.goal, next(iter(runs.values())).summary))
    # Of too few requests no search can tell.
    budget = Budget(0 if few else effort, replay_ops)
    competing = choosing.contenders(systems, question.goal, more=asked.any_systems and not few)
    competing = replace(competing, systems=dict(without_contents(trace, competing.systems)))
    decision = choosing.choose(path, trace, competing, question, budget, **how)
    if asked.grounds and not few:
        holding.search_all(
            path, trace, systems, asked.grounds, question, decision, competing.systems, Budget(effort, replay_ops),
            fill=asked.fill, more=asked.any_systems, **how,
        )  # fmt: skip
    first = decision.choice if decision is not None else None
    if decision is None or first is None:
        return []
    always = asked.vary_acknowledgement
    holding.acknowledge_otherwise(path, trace, competing.systems, decision, always=always, **how)
    rest = None if asked.effort is None else max(asked.effort - budget.begun * replay_ops, 1)
    chosen = {first.run.name: competing.systems[first.system].with_sets(first.sets)}
    goal, worth = question.goal, question.worth
    found = explaining.explain_runs(path, trace, chosen, goal=goal, worth=worth, effort=rest, **how)
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
