"""Many traces: each characterized into a folder of its own, then the statistics over all of them.

Work is handed to worker processes; what is finished is not done again; a trace that cannot be read is
noted and the others go on. Results do not depend on the number of workers.

Not `concurrent.futures`: when a process of its pool is killed (out of memory, mostly) the pool is broken, and every
trace that waits fails with the one that was read. Here it takes its own trace with it, a new process takes its
place, and the message names the trace and the cure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from flashtwin.characterization import rows
from flashtwin.characterization.measuring import Characterization, Options, Reading
from flashtwin.characterization.measuring import options as resolved
from flashtwin.errors import OutputError
from flashtwin.progress import Progress
from flashtwin.results import folder, names
from flashtwin.results.frames import Framed, table_of
from flashtwin.settings import Setting, merged
from flashtwin.sweeps import jobs, worker
from flashtwin.traces.trace import OnBadLine

if TYPE_CHECKING:
    import pyarrow

    from flashtwin.sweeps.across import Traced

#: What lies beside traces and is none.
_NOT_TRACES = (".md", ".digests.parquet", ".json", ".html", ".toml")

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Failure:
    """A trace that could not be characterized, and why."""

    trace: str
    message: str


@dataclass(frozen=True)
class Batch(Framed):
    """Many characterized traces: where they are, which failed, how many enter which statistic.

    As a frame: one row a trace.
    """

    path: Path
    report: Path
    traces: list[str]
    failures: list[Failure]
    #: Traces in all, large enough, and in the statistics of write and of read amplification.
    counts: dict[str, int]
    rows: list[dict[str, Any]] = field(repr=False)

    def to_arrow(self) -> pyarrow.Table:
        """`rows` as a table of PyArrow; what a trace does not have is missing."""
        return table_of(self.rows)


def characterize_many(
    paths: Sequence[str | Path] | str | Path,
    out: str | Path,
    *,
    settings: Mapping[str, Setting] | None = None,
    workers: int = 0,
    reports: bool = True,
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
        reports: whether each trace gets a page of its own as well; drawing it takes seconds.
        sample: share of pages and contents looked at.
        stream: bounded memory, several passes.
        by_volume: each volume of a file is a workload of its own in the statistics, as in SWC.
        format: the format of all files, where their looks leave doubt.
        on_bad_line: `"fail"` or `"skip"`.
        progress: told `"traces"`, how many are done and how many there are (`flashtwin.progress`).
        notify: called with a sentence when results are reused.
        **sets: the same as keywords.
    """
    options = resolved({"sample_rate": sample, **merged(settings, sets)})
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    reading = Reading(format, on_bad_line)
    return run(
        given,
        Path(out),
        options,
        reading,
        stream=stream,
        by_volume=by_volume,
        reports=reports,
        workers=workers,
        progress=progress,
        notify=notify,
    )


def run(
    paths: Sequence[str | Path],
    out: Path,
    options: Options,
    reading: Reading,
    *,
    stream: bool = False,
    by_volume: bool = False,
    reports: bool = True,
    workers: int = 0,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Batch:
    """`characterize_many` with its options gathered; for the modules of this package."""
    with folder.prepared(out, holding=names.COLLECTION) as ready:
        found = find(paths)
        planned = [
            _job(name, path, ready, options, reading, stream=stream, by_volume=by_volume, report=reports)
            for name, (path, _) in found.items()
        ]
        missing = [job for job in planned if not job.is_done]
        if notify and len(missing) < len(planned):
            notify(
                f"reusing {len(planned) - len(missing)} of {len(planned)} traces from {ready}: same file, same options"
            )
        folder.record_characterization(ready, "")
        failures = _do_all(missing, _workers(workers, len(missing)), progress)
        good = [job for job in planned if job.name not in failures]
        return _finish(ready, good, {name: category for name, (_, category) in found.items()}, failures)


def find(paths: Sequence[str | Path]) -> dict[str, tuple[Path, str]]:
    """The traces by name, each with its file and its category: the folder it is in, below the one given.

    Raises:
        FlashtwinError: a path does not exist, or there is no trace at all.
    """
    files: list[tuple[Path, str, Path]] = []
    for path in map(Path, paths):
        if path.is_dir():
            files += [(file, _category(file, path), file.relative_to(path)) for file in _files(path)]
        elif path.is_file():
            files.append((path, "", path))
        else:
            raise OutputError(f"{path}: no such file or folder; check the path")
    if not files:
        raise OutputError(f"{', '.join(map(str, paths))}: no trace in it; give files, or a folder of files")
    # A file that is given twice is one trace.
    files = list({file.resolve(): entry for entry in reversed(files) for file in entry[:1]}.values())[::-1]
    stems = [_stem(file) for file, _, _ in files]
    named: dict[str, tuple[Path, str]] = {}
    for (file, category, below), stem in zip(files, stems, strict=True):
        parts = [part for part in below.parts if part not in (below.anchor, "..")]
        name = stem if stems.count(stem) == 1 else "-".join(parts)
        while name in named:
            name += "+"
        named[name] = (file, category)
    return dict(sorted(named.items()))


def _files(path: Path) -> list[Path]:
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and not file.name.lower().endswith(_NOT_TRACES)
    )


def _category(file: Path, root: Path) -> str:
    parts = file.relative_to(root).parts
    return parts[0] if len(parts) > 1 else ""


def _stem(file: Path) -> str:
    return file.name.split(".")[0] or file.name


def _job(
    name: str, path: Path, out: Path, options: Options, reading: Reading, *,
    stream: bool, by_volume: bool, report: bool,
) -> jobs.Job:  # fmt: skip
    """What to do with a trace; its key holds the file's size and time, so that it need not be read to be known."""
    status = path.stat()
    key = folder.characterization_key(
        name, status.st_size, status.st_mtime_ns, options.key, asdict(reading), stream, by_volume,
    )  # fmt: skip
    return jobs.Job(name, str(path), str(out / names.TRACES / name), options, reading, stream, by_volume, report, key)


def _workers(wanted: int, work: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(wanted or cores, work))


def _do_all(work: Sequence[jobs.Job], workers: int, progress: Progress | None) -> dict[str, str]:
    """Does all jobs; returns the messages of those that failed, by name."""
    failures: dict[str, str] = {}
    each = ((job, worker.answer(job)) for job in work) if workers == 1 else _in_processes(work, workers)
    if progress:
        progress("traces", 0, len(work))
    for done, (job, answer) in enumerate(each, start=1):
        if "error" in answer:
            failures[job.name] = answer["error"]
        if progress:
            progress("traces", done, len(work))
    return failures


def _in_processes(work: Sequence[jobs.Job], workers: int) -> Iterator[tuple[jobs.Job, dict[str, str]]]:
    """Does jobs in worker processes; yields each with its answer as it ends."""
    waiting: SimpleQueue[jobs.Job] = SimpleQueue()
    answered: SimpleQueue[tuple[jobs.Job, dict[str, str]] | BaseException] = SimpleQueue()
    for job in work:
        waiting.put(job)
    crew = [_Worker(waiting, answered) for _ in range(workers)]
    try:
        for _ in work:
            answer = _take(answered)
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        for member in crew:
            member.stop()


def _take(queue: SimpleQueue[Any]) -> Any:
    """The next entry; wakes now and then, so that Ctrl-C is seen."""
    while True:
        try:
            return queue.get(timeout=0.2)
        except Empty:
            continue


class _Worker:
    """A worker process and the thread that talks to it. A process that dies takes one trace with it."""

    #: How long a worker may take to leave complete files behind.
    PATIENCE_S = 20.0

    def __init__(self, waiting: SimpleQueue[jobs.Job], answered: SimpleQueue[Any]) -> None:
        self._waiting, self._answered = waiting, answered
        self._stopped = False
        self._process = _start()
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the process, which first takes away what is incomplete."""
        self._stopped = True
        self._process.terminate()
        try:
            self._process.wait(self.PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._thread.join(self.PATIENCE_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _talk(self) -> None:
        try:
            while not self._stopped:
                job = self._waiting.get(block=False)
                self._answered.put((job, self._ask(job)))
        except Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits
            self._answered.put(error)

    def _ask(self, job: jobs.Job) -> dict[str, str]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101, PT018 - both are pipes
        line = ""
        try:
            stdin.write(json.dumps(job.as_json()) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            pass
        if line:
            answer: dict[str, str] = json.loads(line)
            return answer
        status = self._process.wait()
        if not self._stopped:
            for stream in (stdin, stdout):
                stream.close()
            self._process = _start()
        why = f"signal {-status}" if status < 0 else f"status {status}"
        return {"error": f"{job.path}: the process that read it ended ({why}), out of memory perhaps; try --stream"}


#: What a worker runs.
WORKER = (sys.executable, "-c", "from flashtwin.sweeps.worker import main; main()")


def _start() -> subprocess.Popen[str]:
    # A session of its own: Ctrl-C on the terminal goes to the parent alone.
    return subprocess.Popen(  # noqa: S603 - our own program
        WORKER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _finish(path: Path, good: Sequence[jobs.Job], categories: dict[str, str], failures: dict[str, str]) -> Batch:
    """Writes the statistics over all traces and the report."""
    import pyarrow

    from flashtwin import report
    from flashtwin.sweeps import across

    traces = [trace for job in good for trace in _traced(job, categories[job.name])]
    who = across.entrants(traces)
    flat = [{"trace": trace.name, "category": trace.category, **trace.row} for trace in traces]
    folder.write_table(names.table(path, names.TRACE_ROWS), table_of(flat))
    columns = list(zip(*across.distributions(who), strict=True)) or [()] * len(across.COLUMNS)
    types = [
        pyarrow.string(),
        pyarrow.string(),
        pyarrow.float64(),
        pyarrow.string(),
        pyarrow.float64(),
        pyarrow.string(),
    ]
    arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    distributions = pyarrow.table(dict(zip(across.COLUMNS, arrays, strict=True)))
    folder.write_table(names.table(path, names.DISTRIBUTIONS), distributions)
    failed = [Failure(name, message) for name, message in sorted(failures.items())]
    folder.write_json(path / names.FAILURES, {"failures": [asdict(one) for one in failed]})

    folder.write_json(
        path / names.COLLECTION,
        {"flashtwin": folder.VERSION, "traces": [trace.name for trace in traces], "counts": who.counts},
    )
    page = report.build(path)
    return Batch(path, page, [trace.name for trace in traces], failed, who.counts, flat)


def _traced(job: jobs.Job, category: str) -> list[Traced]:
    """A finished trace as the statistics see it, from its folder alone: its volumes where they were taken apart."""
    found = Characterization.read(job.out)
    parts = {f"{job.name}:{name}": volume for name, volume in found.volumes.items()} or {job.name: found}
    return [_as_traced(name, category, part) for name, part in parts.items()]


def _as_traced(name: str, category: str, found: Characterization) -> Traced:
    import pyarrow

    from flashtwin.sweeps.across import Traced

    wanted = {*rows.TABLES, "f_min"} & set(found.table_names)
    tables = {table: pyarrow.table(found.table(table)).to_pylist() for table in sorted(wanted)}
    return Traced(name, category, found.row, tables)
