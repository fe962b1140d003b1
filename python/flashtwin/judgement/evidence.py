"""The input of verdicts: finished runs of a trace with their bottlenecks, and the trace's figures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin.judgement.choosing import Decision, decide
from flashtwin.results import names, rows
from flashtwin.results.reading import SavedRun, StudyFolder, TraceResults, read_json, read_rows

Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Runs, figures of the trace, or both."""

    study: StudyFolder | None = None
    #: The flat figures of the trace's characterization (`rows.flat`); None where it was not characterized.
    row: Row | None = None
    #: How a command line names the trace and how it is read.
    trace: str = "TRACE"

    def __post_init__(self) -> None:
        if self.study is not None:
            # Nobody judges a system in a state that no one recommends.
            object.__setattr__(self, "study", self.study.at_their_best)

    @classmethod
    def of(cls, results: TraceResults) -> Evidence:
        """The evidence of a folder.

        Raises:
            ReportError: a table cannot be read.
        """
        study = results if isinstance(results, StudyFolder) else None
        advice = results.folder / names.ADVICE
        trace = str(read_json(advice).get("trace") or "TRACE") if advice.is_file() else "TRACE"
        if not results.characterization:
            return cls(study, None, trace)
        files = {name: names.table(results.folder / names.WORKLOAD, name) for name in rows.TABLES}
        tables = {name: read_rows(file) for name, file in files.items() if file.is_file()}
        return cls(study, rows.flat(results.characterization, tables), trace)

    @functools.cached_property
    def explained(self) -> Mapping[str, Mapping[str, Any]]:
        """The bottlenecks of the runs, by run, as `Explanation.data`."""
        return self.study.explained if self.study is not None else {}

    @property
    def candidates(self) -> Mapping[str, Any]:
        """How candidates were found; empty where nobody looked."""
        return self.study.candidates if self.study is not None else {}

    @functools.cached_property
    def decision(self) -> Decision | None:
        """The candidates, and which of them to choose; None without runs."""
        return decide(self.study) if self.study is not None else None

    @property
    def capacity_bytes(self) -> float:
        """Bytes of flash of the drive that is to be bought: that of the runs, unless they are on a smaller one."""
        return float(self.candidates.get("capacity_bytes") or (self.runs[0].raw_bytes if self.runs else 0))

    @property
    def runs(self) -> tuple[SavedRun, ...]:
        """The finished runs: the candidates, where there are some."""
        return self.study.runs if self.study is not None else ()

    @property
    def has_no_contents(self) -> bool:
        """Whether the trace is known to carry no contents."""
        return self.row is not None and self.row.get("info.has_content") is False

    def number(self, key: str) -> float | None:
        """A figure of the trace; None where there is none."""
        value = (self.row or {}).get(key)
        return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)

    def figures(self, *keys: str) -> dict[str, float]:
        """Those figures of the trace that there are."""
        return {key: value for key in keys if (value := self.number(key)) is not None}
