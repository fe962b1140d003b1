"""Reads a result folder: the study, its runs, the characterization, the tables of the workload.

It never writes. Everything in a result folder may be missing except the list of runs: a reader gets `None`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from flashtwin.errors import ReportError
from flashtwin.results import documents, formats, keys, names, schema, shapes
from flashtwin.results.folder import VERSION
from flashtwin.results.trees import as_number, dig, leaves

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: NumPy takes a tenth of a second to load, and a replay does without it.
Floats: TypeAlias = "NDArray[np.float64]"

read_json = documents.read_json


Values = TypeVar("Values")


class SavedColumns(dict[str, Values]):
    """Columns by name. One that a file lacks has no value in any row, because everything in a folder may be missing."""

    def __init__(self, found: Mapping[str, Values], lacking: Callable[[], Values]) -> None:
        super().__init__(found)
        self.lacking = lacking

    def __missing__(self, name: str) -> Values:
        return self.lacking()


@dataclass(frozen=True)
class SavedTable:
    """The columns of one Parquet file, as arrays; a null number is NaN."""

    columns: SavedColumns[Floats]
    texts: SavedColumns[tuple[str, ...]]
    rows: int
    #: The columns that such a table may have; what else is asked for is a mistake. None where that is open.
    known: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, columns: Mapping[str, Floats], texts: Mapping[str, tuple[str, ...]], rows: int,
        known: tuple[str, ...] | None,
    ) -> SavedTable:  # fmt: skip
        import numpy as np

        numbers = SavedColumns(columns, lambda: np.full(rows, np.nan))
        return cls(numbers, SavedColumns(texts, lambda: ("",) * rows), rows, known)

    def get(self, name: str) -> Floats | None:
        """The column, or None when the file has none of that name or only nulls."""
        import numpy as np

        values = self.columns.get(self._checked(name))
        if values is None or not np.isfinite(values).any():
            return None
        return values

    def where(self, name: str, value: str | float) -> SavedTable:
        """The rows whose column `name` is `value` (no rows when there is no such column)."""
        import numpy as np

        keep = np.zeros(self.rows, dtype=bool)
        self._checked(name)
        if isinstance(value, str) and name in self.texts:
            keep = np.array([text == value for text in self.texts[name]], dtype=bool)
        elif not isinstance(value, str) and name in self.columns:
            keep = self.columns[name] == value
        columns = {key: column[keep] for key, column in self.columns.items()}
        texts = {key: tuple(itertools.compress(column, keep)) for key, column in self.texts.items()}
        return SavedTable.of(columns, texts, int(keep.sum()), self.known)

    def values(self, name: str) -> list[float]:
        """The different numbers of a column, ascending; none when there is no such column."""
        import numpy as np

        column = self.columns.get(self._checked(name), np.zeros(0))
        return [float(value) for value in np.unique(column[np.isfinite(column)])]

    def _checked(self, name: str) -> str:
        return name if self.known is None else schema.column(name, self.known)


@dataclass(frozen=True, eq=False)
class SavedRun:
    """One trace on one system. `name` is unique in its study."""

    name: str
    folder: Path
    summary: Mapping[str, Any]
    _tables: dict[str, SavedTable | None] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def system(self) -> str:
        """The preset the run was made from; the run's name when it is not recorded."""
        return str(self.summary.get("system") or self.name)

    @property
    def label(self) -> str:
        """The name as it is shown (a backtick would end the quoting that prose uses)."""
        return self.name.replace("`", "'")

    @property
    def is_ideal(self) -> bool:
        """Whether the run is none of a design: any chip serves reads at no cost."""
        return "bound" in self.traits

    @property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration, nested; empty where the summary has none."""
        found: Mapping[str, Any] = self.summary.get(schema.CONFIG) or {}
        return found

    @cached_property
    def traits(self) -> frozenset[str]:
        """The traits of the system by its policies, as the core wrote it: `deduplicates`, `redirects`, `bound`, ..."""
        return frozenset(self.summary.get("traits") or ())

    @cached_property
    def numbers(self) -> Mapping[str, Any]:
        """Every defined value of the summary by its dotted path, those of the configuration among them."""
        return {path: value for path, value in leaves(self.summary) if value is not None}

    @property
    def raw_pages(self) -> int:
        """Pages of the whole flash array; 0 of results without a configuration."""
        levels = (
            "channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block",
        )  # fmt: skip
        return math.prod(int(self.setting(f"nand.{level}") or 0) for level in levels)

    @property
    def raw_bytes(self) -> int:
        return self.raw_pages * int(self.setting("nand.page_bytes") or 0)

    def number(self, path: str) -> float | None:
        """A number of the summary by its dotted path; None when missing, null or not finite."""
        return as_number(dig(self.summary, schema.summary_field(path)))

    def count(self, path: str) -> float:
        """Like `number`, with 0 for a missing one: for counters that a system may not have."""
        return self.number(path) or 0.0

    def setting(self, key: str) -> Any:
        """A value of the resolved configuration by its whole key, such as `engine.load`; None where there is none."""
        return dig(self.summary, f"{schema.CONFIG}.{key}")

    def table(self, name: str) -> SavedTable | None:
        """One of the run's tables; None when it was not written or has no rows."""
        if name not in self._tables:
            known = schema.TABLES[schema.run_table(name)]
            self._tables[name] = read_table(names.table(self.folder, name), known)
        return self._tables[name]


@dataclass(frozen=True, eq=False)
class TraceResults:
    """The facts of one trace: its info, its characterization where there is one, and tables."""

    folder: Path
    info: Mapping[str, Any]
    problems: tuple[str, ...] = ()
    _workload: dict[str, SavedTable | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def trace(self) -> Mapping[str, Any]:
        """The facts of the trace: its TraceInfo, empty where there is none."""
        found = self.info.get("trace")
        return found if isinstance(found, Mapping) else {}

    def fact(self, path: str) -> float | None:
        """A number of the trace's facts; None when it is missing or null."""
        return as_number(dig(self.trace, schema.trace_field(path)))

    @cached_property
    def characterization(self) -> Mapping[str, Any]:
        """The characterization; empty when the trace was not characterized."""
        path = self.folder / names.CHARACTERIZATION
        return read_json(path) if path.is_file() else {}

    def measured(self, path: str) -> float | None:
        """A number of the characterization; None when it is missing or null."""
        return as_number(dig(self.characterization, schema.characterization_field(path)))

    def workload(self, name: str) -> SavedTable | None:
        """One of the workload's tables; None when it was not written or has no rows."""
        if name not in self._workload:
            known = schema.WORKLOAD_TABLES[schema.workload_table(name)]
            self._workload[name] = read_table(names.table(self.folder / names.WORKLOAD, name), known)
        return self._workload[name]


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyFolder(TraceResults):
    """A result folder: one trace, one or more runs on it, the first (or named) one being the baseline."""

    runs: tuple[SavedRun, ...]
    baseline: SavedRun

    @property
    def trace(self) -> Mapping[str, Any]:
        """The facts of the trace: the study's TraceInfo, else the baseline's."""
        for candidate in (self.info.get("trace"), self.baseline.summary.get("trace")):
            if isinstance(candidate, Mapping) and candidate:
                return candidate
        return {}

    @cached_property
    def every_candidate(self) -> StudyFolder:
        """The same study, its runs being all candidates and their bounds; itself where nobody looked for any."""
        path = self.folder / names.AT_BEST
        if not self.candidates or not (path / names.STUDY).is_file():
            return self
        best = _study(path)
        return replace(best, folder=self.folder, info={**self.info, **best.info, "trace": self.info.get("trace")})

    @cached_property
    def at_their_best(self) -> StudyFolder:
        """The same, with those alone that are shown: the choice, the fastest, and the systems that were asked for."""
        every = self.every_candidate
        shown = [run for run in every.runs if run.name in self.candidates.get("shown", ())]
        if not shown:
            return self
        baseline = next((run for run in shown if run.name == self.candidates["baseline"]), shown[0])
        return replace(every, runs=tuple(shown), baseline=baseline)

    @cached_property
    def explained(self) -> Mapping[str, Mapping[str, Any]]:
        """The bottlenecks of the runs, by run, in their order; empty where nobody looked."""
        files = {run.name: names.explained_file(self.folder, run.name) for run in self.runs}
        found = {name: self._beside(file, shapes.EXPLAINED) for name, file in files.items()}
        return {name: data for name, data in found.items() if data}

    @cached_property
    def candidates(self) -> Mapping[str, Any]:
        """The systems with their best settings, and how they were found; empty where nobody looked."""
        return self._beside(self.folder / names.CANDIDATES, shapes.CANDIDATES)

    @cached_property
    def grounds(self) -> Mapping[str, Any]:
        """The table of choices on several drives and loads; empty where nobody asked for it."""
        return self._beside(self.folder / names.CHOICES, shapes.GROUNDS)

    def _beside(self, path: Path, shape: Mapping[str, Any]) -> Mapping[str, Any]:
        """The content of a file; empty without one, and in a folder of an earlier format, as `problems` says."""
        found = read_json(path) if path.is_file() else {}
        old = formats.lacking(path, found, command := f"flashtwin study TRACE --out {self.folder}") if found else ""
        if old and not formats.lacking(self.folder / names.STUDY, self.info, command):
            raise ReportError(f"{path}: {old[:1].lower() + old[1:]}")
        if not found or old:
            return {}
        shapes.check(path, found, shape, command)
        return found

    def others(self, run: SavedRun) -> tuple[SavedRun, ...]:
        return tuple(other for other in self.runs if other is not run)


@dataclass(frozen=True, eq=False)
class Collection:
    """Many characterized traces: a row a trace, the distributions over them, and failures."""

    folder: Path
    info: Mapping[str, Any]
    traces: SavedTable | None
    distributions: SavedTable | None

    @property
    def failures(self) -> list[tuple[str, str]]:
        """(trace, message) for every trace that could not be characterized."""
        found = self.info.get("failures")
        rows = found if isinstance(found, list) else []
        return [(str(row.get("trace")), str(row.get("message"))) for row in rows if isinstance(row, Mapping)]

    def figure(self, name: str) -> SavedTable | None:
        """The rows of `distributions` of one figure; None without any."""
        if self.distributions is None:
            return None
        rows = self.distributions.where("figure", name)
        return rows if rows.rows else None


def load_any(folder: Path | str) -> TraceResults | Collection:
    """Reads what `study`, `compare` or `characterize` wrote; also the folder of a single run.

    Raises `ReportError` when there is nothing to report on. A run that is
    listed but cannot be read is left out and named in `StudyFolder.problems`.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ReportError(f"{folder}: no such folder; give the folder that `flashtwin study --out` wrote")
    if (folder / names.STUDY).is_file():
        return _study(folder)
    if (folder / names.CHARACTERIZATION).is_file():
        summary = read_json(folder / names.CHARACTERIZATION)
        return TraceResults(folder, {"flashtwin": summary.get("flashtwin"), "trace": summary.get("info")})
    if (folder / names.COLLECTION).is_file():
        tables = (read_table(names.table(folder, name)) for name in (names.TRACE_ROWS, names.DISTRIBUTIONS))
        failures = read_json(folder / names.FAILURES) if (folder / names.FAILURES).is_file() else {}
        return Collection(folder, {**read_json(folder / names.COLLECTION), **failures}, *tables)
    if (folder / names.SUMMARY).is_file():
        summary = _summary(folder)
        run = SavedRun(str(summary.get("system") or folder.name), folder, summary)
        return StudyFolder(folder, {"flashtwin": summary.get("flashtwin")}, runs=(run,), baseline=run)
    raise ReportError(
        f"{folder}: no {names.STUDY} in it; expected a folder that `flashtwin study`, `compare` or `characterize` wrote"
    )


def load(folder: Path | str) -> StudyFolder:
    """Like `load_any`, for readers that need runs; `ReportError` when the folder holds none."""
    found = load_any(folder)
    if not isinstance(found, StudyFolder):
        raise ReportError(f"{folder}: holds no runs; expected a folder that `flashtwin study` or `compare` wrote")
    return found


def _study(folder: Path) -> StudyFolder:
    info = read_json(folder / names.STUDY)
    runs, problems = _read_runs(folder, info)
    if not runs:
        raise ReportError(
            f"{folder}: {names.STUDY} lists no run that can be read ({'; '.join(problems) or 'empty list'})"
        )
    if old := formats.lacking(folder / names.STUDY, info, f"flashtwin study TRACE --out {folder}"):
        problems.append(old)
    wanted = info.get("baseline")
    baseline = next((run for run in runs if run.name == wanted), runs[0])
    if wanted is not None and baseline.name != wanted:
        problems.append(f"the baseline `{wanted}` has no result; `{baseline.label}` is taken instead")
    return StudyFolder(folder, info, tuple(problems), runs=tuple(runs), baseline=baseline)


def _read_runs(folder: Path, info: Mapping[str, Any]) -> tuple[list[SavedRun], list[str]]:
    listed = info.get("runs")
    if not isinstance(listed, list):
        raise ReportError(f"{folder / names.STUDY}: `runs` must be a list of names")
    runs: list[SavedRun] = []
    problems: list[str] = []
    for name in dict.fromkeys(str(name) for name in listed):
        if name in ("", ".", "..") or "/" in name or "\\" in name:
            raise ReportError(f"{folder / names.STUDY}: run name {name!r} is not the name of a folder in runs/")
        place = names.run(folder, name)
        try:
            runs.append(SavedRun(name, place, _summary(place)))
        except ReportError as error:
            problems.append(f"run `{name}` is left out: {error}")
    return runs, problems


def _summary(folder: Path) -> Mapping[str, Any]:
    summary = read_json(folder / names.SUMMARY)
    wrong = schema.misfit(summary)
    # Keys of other versions may have had other values.
    if wrong is None and summary.get("flashtwin") == VERSION:
        of_key = keys.misfit(summary.get(schema.CONFIG) or {})
        wrong = of_key and f"{schema.CONFIG}.{of_key}"
    if wrong:
        raise ReportError(f"{folder / names.SUMMARY}: {wrong}; make these results again")
    return summary


def read_table(path: Path, known: tuple[str, ...] | None = None) -> SavedTable | None:
    """A Parquet file as arrays; None when there is no file or no row in it. `known` are the columns it may have."""
    if not path.is_file():
        return None
    import pyarrow as pa

    table = read_arrow(path)
    if table.num_rows == 0:
        return None
    columns: dict[str, Floats] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        kind = column_kind(values)
        if kind is str:
            texts[name] = tuple(value or "" for value in values.to_pylist())
        elif kind is float:
            columns[name] = values.cast(pa.float64(), safe=False).to_numpy()
        elif kind is None:
            columns[name] = pa.nulls(len(values), pa.float64()).to_numpy(zero_copy_only=False)
    return SavedTable.of(columns, texts, table.num_rows, known)


def column_kind(column: Any) -> type | None:
    """What the values of a PyArrow column are: `float` for all numbers, `str`, or `object`; None where it has none."""
    import pyarrow as pa

    kind = column.type
    if column.null_count == len(column):
        return None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return float if is_number else object


def read_arrow(path: Path) -> Any:
    """The PyArrow table of one Parquet file, or `ReportError`."""
    import pyarrow as pa

    try:
        table = documents.read_parquet(path)
        table.validate(full=True)
    # PyArrow's errors, and Python's where names are no UTF-8.
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: not a readable Parquet file ({error}); make these results again") from None
    return table
