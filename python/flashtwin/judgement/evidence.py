"""The input of verdicts: finished runs of a trace with their bottlenecks, and the trace's figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flashtwin.judgement.catalogue import BY_NAME, CONTROLLER, Subject
from flashtwin.judgement.choosing import Candidate, Decision, decide
from flashtwin.judgement.goals import Figures
from flashtwin.judgement.verdict import CHOSEN, Action, upper
from flashtwin.results import names, rows
from flashtwin.results.reading import SavedRun, StudyFolder, TraceResults, read_arrow, read_json
from flashtwin.results.trees import as_number, literal


@dataclass(frozen=True, eq=False)
class Evidence:
    """Runs, figures of the trace, or both; and what can be done about a verdict on them."""

    study: StudyFolder | None = None
    #: The flat figures of the trace's characterization (`rows.flat`); None where it was not characterized.
    row: Mapping[str, Any] | None = None
    #: How a command line names the trace and how it is read.
    trace: str = "TRACE"

    def __post_init__(self) -> None:
        if self.study is not None:
            # Nobody judges a system in a state that no one recommends.
            object.__setattr__(self, "study", self.study.at_their_best)

    @classmethod
    def of(cls, results: TraceResults) -> Evidence:
        study = results if isinstance(results, StudyFolder) else None
        advice = results.folder / names.ADVICE
        trace = str(read_json(advice).get("trace") or "TRACE") if advice.is_file() else "TRACE"
        if not results.characterization:
            return cls(study, None, trace)
        files = {name: names.table(results.folder / names.WORKLOAD, name) for name in rows.TABLES}
        tables = {name: read_arrow(file).to_pylist() for name, file in files.items() if file.is_file()}
        return cls(study, rows.flat(results.characterization, tables), trace)

    @property
    def runs(self) -> tuple[SavedRun, ...]:
        return self.study.runs if self.study is not None else ()

    @property
    def candidates(self) -> Mapping[str, Any]:
        return self.study.candidates if self.study is not None else {}

    @cached_property
    def decision(self) -> Decision | None:
        return decide(self.study) if self.study is not None else None

    @property
    def first(self) -> Candidate | None:
        """The choice, where settings were searched."""
        return self.decision.choice if self.decision is not None and self.decision.is_searched else None

    def number(self, key: str) -> float | None:
        return as_number((self.row or {}).get(key))

    def figures(self, *keys: str) -> dict[str, float]:
        return {key: value for key in keys if (value := self.number(key)) is not None}

    def compare(self, words: str, systems: str, more: str = "") -> Action:
        return Action(words, f"flashtwin compare {self.trace} --systems {systems} {more}".rstrip())

    @property
    def chosen(self) -> Action:
        """What the choice has already."""
        return Action(CHOSEN, self.first.command, self.first.sets, "", True) if self.first else Action()

    def change(self, name: str, words: str, sets: Mapping[str, Any], *, helps: bool = True) -> Action:
        """What becomes of a change: set already, replayed beside the choice, or (`words`, `sets`) not replayed."""
        if not helps:
            words = f"Leave {', '.join(f'`{key}`' for key in sets)} as it is; this command shows what it does"
        if self.decision is None or self.first is None or self.study is None:
            return Action(words, f"flashtwin replay {self.trace} --system conventional {_options(sets)}", sets, name)
        first, goal, run = self.first, self.decision.goal, self.first.run
        if name in first.changes:
            return self.chosen
        tried = [one for one in self.study.explained.get(run.name, {}).get("steps", ()) if one["change"] == name]
        if tried:
            best = max(tried, key=lambda one: float(one["percent"]))
            now = goal.written(self.decision.value(first))
            told = f"{upper(best['words'])} beside the choice: {goal.words} is {goal.written(best['value'])} not {now}"
            told = told if best["percent"] > self.decision.worth * 100.0 else f"Leave it as it is. {told}"
            return Action(told, str(best["command"]), best["sets"], name, replayed=True)
        # A controller change that was not replayed was refused, or is beyond the effort.
        subject = Subject(run.config, run.traits, run.raw_pages, run.raw_pages, Figures(run.numbers, {}), goal)
        levels = [] if BY_NAME[name].kind == CONTROLLER else BY_NAME[name].of(subject)
        level = next((one for one in levels if sets.items() <= one.sets.items()), None)
        return Action() if level is None else Action(words, f"{first.command} {_options(level.sets)}", level.sets, name)


def _options(sets: Mapping[str, Any]) -> str:
    return " ".join(f"--set {key}={literal(value)}" for key, value in sets.items())
