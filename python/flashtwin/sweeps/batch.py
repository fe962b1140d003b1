"""Many traces: each characterized into a folder of its own, then the statistics over all of them.

Work goes to worker processes (`crew`); finished work is not done again; a trace that cannot be read is
noted and the others go on. Results do not depend on the number of workers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.arguments import checked
from flashtwin.characterization.measuring import Characterization
from flashtwin.characterization.measuring import options as resolved
from flashtwin.errors import OutputError
from flashtwin.progress import Notify, Progress
from flashtwin.results import folder, names, rows
from flashtwin.results.frames import Tabular, table_of
from flashtwin.settings import Setting, merged
from flashtwin.sweeps import crew, jobs, plan, store
from flashtwin.traces import sources
from flashtwin.traces.reading import Reading
from flashtwin.traces.trace import OnBadLine

if TYPE_CHECKING:
    import pyarrow

    from flashtwin.sweeps.across import CharacterizedTrace


@dataclass(frozen=True)
class Failure:
    trace: str
    message: str


@dataclass(frozen=True)
class Batch(Tabular):
    """Many characterized traces: where they are, which failed, how many enter which statistic.

    As a frame: one row a trace.

    >>> import flashtwin as ft
    >>> ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=10).write_parquet("short.parquet")
    >>> done = ft.characterize_many(["short.parquet"], "out/batch", workers=1, report=False)
    >>> done.traces
    ['short']
    """

    path: Path
    #: The page; None of one part of several.
    report: Path | None
    traces: list[str]
    failures: list[Failure]
    #: Traces in all, large enough, and in the statistics of write and of read amplification.
    counts: dict[str, int]
    rows: list[dict[str, Any]] = field(repr=False)

    def to_arrow(self) -> pyarrow.Table:
        """`rows` as a table of PyArrow; a figure that a trace has not is missing."""
        return table_of(self.rows)


@checked
def characterize_many(
    paths: Sequence[str | Path] | str | Path,
    out: str | Path,
    *,
    settings: Mapping[str, Setting] | None = None,
    workers: int = 0,
    on: Any = None,
    shard: str | None = None,
    report: bool = True,
    sample: float | None = None,
    stream: bool = False,
    by_volume: bool = False,
    format: str | None = None,  # noqa: A002 - as in `open`
    on_bad_line: OnBadLine = "fail",
    progress: Progress | None = None,
    notify: Notify | None = None,
    **sets: Setting,
) -> Batch:
    """Characterizes many traces and compares them, figure by figure as SWC does.

    Done again with the same folder, traces whose file and options are the same are not done again. A
    trace that cannot be read is noted in `failures`, in the folder as well.

    Args:
        paths: files and folders; a folder gives every file in it, its sub-folders are the categories.
        out: the folder for results; new, empty, or holding results of an earlier call.
        settings: options to set otherwise, as in `characterize`.
        workers: processes; 0 is one for each core, 1 does all in this process.
        on: a Dask cluster, a Dask client or an address to work on instead, as in `sweep`.
        shard: `"2/8"`: only the second of eight parts of the traces, beside other processes in the same folder.
            Statistics and page are left to a call without it, when all parts have ended.
        report: whether to draw pages, one for all traces and one for each; each takes seconds.
        sample: share of pages and contents looked at.
        stream: bounded memory, several passes.
        by_volume: each volume of a file is a workload of its own in the statistics, as in SWC.
        format: the format of all files, where their looks leave doubt.
        on_bad_line: `"fail"` or `"skip"`.
        progress: told `"traces"`, how many are done and how many there are (`flashtwin.progress`).
        notify: called with a sentence when results are reused.
        **sets: the same as keywords.

    >>> import flashtwin as ft
    >>> done = ft.characterize_many(["traces/webvm-small.fiu.zst"], "out/many", workers=1, report=False)
    >>> done.failures
    []
    """
    options = resolved({"sample_rate": sample, **merged(settings, sets)})
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    how = jobs.JobOptions(options, Reading(format, on_bad_line), stream, by_volume, report)
    return run(given, Path(out), how, workers, on, plan.shard(shard) if shard else None, progress, notify)


def run(
    paths: Sequence[str | Path],
    out: Path,
    how: jobs.JobOptions,
    workers: int = 0,
    on: Any = None,
    shard: tuple[int, int] | None = None,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Batch:
    with folder.prepared(out, holding=names.COLLECTION) if shard is None else shared(out) as ready:
        found = find(paths)
        traces = ready / names.TRACES
        planned = [jobs.Job.of(name, path, traces / name, how) for name, (path, _) in found.items()]
        planned = plan.shared(planned, shard)
        missing = [job for job in planned if not job.is_done]
        if notify and len(missing) < len(planned):
            notify(
                f"reusing {len(planned) - len(missing)} of {len(planned)} traces from {ready}: same file, same options"
            )
        if shard is None:
            folder.record_characterization(ready, "")
        if on is not None:
            # A worker elsewhere may work in another folder.
            missing = [job.absolute() for job in missing]
        failures = {job.name: why for job, why in crew.do_all(missing, workers, on, "traces", progress)}
        good = [job for job in planned if job.name not in failures]
        if shard is not None:
            return Batch(ready, None, [job.name for job in good], _failed(failures), {}, [])
        return _finish(ready, good, {name: category for name, (_, category) in found.items()}, failures, how)


def find(paths: Sequence[str | Path]) -> dict[str, tuple[str, str]]:
    """The traces by name, each with its file and its category: the folder it is in, below the one given.

    The folder of a split trace, or its manifest, gives the parts. A URL is a file.
    """
    files: list[tuple[Path, str, Path, str]] = []
    for path in map(Path, paths):
        if (listed := sources.manifest(path)) is not None:
            for part, file in zip(listed[0]["parts"], map(Path, listed[1]), strict=True):
                files.append((file, "", Path(file.name), names.file_name(str(part["name"]))))
        elif path.is_dir():
            for file in _files(path):
                below = file.relative_to(path)
                files.append((file, below.parts[0] if len(below.parts) > 1 else "", below, sources.name_of(file)))
        elif path.is_file() or sources.url_of(path):
            files.append((path, "", path, sources.name_of(path)))
        else:
            raise OutputError(f"{path}: no such file or folder; check the path")
    if not files:
        raise OutputError(f"{', '.join(map(str, paths))}: no trace in it; give files, or a folder of files")
    # A file that is given twice is one trace.
    files = list({file.resolve(): entry for entry in reversed(files) for file in entry[:1]}.values())[::-1]
    stems = Counter(stem for *_, stem in files)
    named: dict[str, tuple[str, str]] = {}
    for file, category, below, stem in files:
        parts = [part for part in below.parts if part not in (below.anchor, "..")]
        name = stem if stems[stem] == 1 else "-".join(parts)
        while name in named:
            name += "+"
        named[name] = (sources.url_of(file) or str(file), category)
    return dict(sorted(named.items()))


def _files(path: Path) -> list[Path]:
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and not file.name.lower().endswith(names.NOT_TRACES)
    )


@contextmanager
def shared(out: Path) -> Iterator[Path]:
    """A folder that several processes write into at once, each the folders of its own traces."""
    with folder.unlocked(out, holding=names.COLLECTION) as ready:
        # Says that the folder is ours before there is anything else in it.
        store.clear_left_over(ready)
        store.write_synced(ready / names.CHARACTERIZED_FROM, b'""\n')
        yield ready


def _finish(
    path: Path, good: Sequence[jobs.Job], categories: dict[str, str], failures: dict[str, str], how: jobs.JobOptions
) -> Batch:  # fmt: skip
    import pyarrow

    from flashtwin import report
    from flashtwin.sweeps import across

    traces = [trace for job in good for trace in _traced(job, categories[job.name])]
    who = across.entrants(traces)
    flat = [{"trace": trace.name, "category": trace.category, **trace.row} for trace in traces]
    folder.write_table(names.table(path, names.TRACE_ROWS), table_of(flat))
    columns = list(zip(*across.distributions(who), strict=True)) or [()] * len(across.COLUMNS)
    types = [pyarrow.float64() if column in ("x", "value") else pyarrow.string() for column in across.COLUMNS]
    arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    distributions = pyarrow.table(dict(zip(across.COLUMNS, arrays, strict=True)))
    folder.write_table(names.table(path, names.DISTRIBUTIONS), distributions)
    failed = _failed(failures)
    folder.write_json(path / names.FAILURES, {"failures": [asdict(one) for one in failed]})

    folder.write_json(
        path / names.COLLECTION,
        {"flashtwin": folder.VERSION, "traces": [trace.name for trace in traces], "counts": who.counts},
    )
    page = report.build(path) if how.report else None
    if page is None:
        folder.without_report(path)
    return Batch(path, page, [trace.name for trace in traces], failed, who.counts, flat)


def _failed(failures: Mapping[str, str]) -> list[Failure]:
    return [Failure(name, message) for name, message in sorted(failures.items())]


def _traced(job: jobs.Job, category: str) -> list[CharacterizedTrace]:
    """A finished trace as the statistics see it, from its folder alone: its volumes where they were taken apart."""
    from flashtwin.sweeps.across import CharacterizedTrace

    found = Characterization.read(job.out)
    parts = {f"{job.name}:{name}": volume for name, volume in found.volumes.items()} or {job.name: found}
    traces = []
    for name, part in parts.items():
        wanted = {*rows.TABLES, "f_min"} & set(part.table_names)
        tables = {table: part.table(table).to_arrow().to_pylist() for table in sorted(wanted)}
        traces.append(CharacterizedTrace(name, category, part.row, tables))
    return traces
