"""The input of verdicts: finished runs of a trace with their bottlenecks, and the trace's figures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    def runs(self) -> tuple[SavedRun, ...]:
        """The finished runs."""
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
