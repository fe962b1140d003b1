"""One trace of many as a job, and its execution, in this process or in a worker's."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from flashtwin.characterization.measuring import Characterization, Options, measure
from flashtwin.progress import Progress
from flashtwin.results import folder, names
from flashtwin.sweeps.crew import Task
from flashtwin.traces import sources
from flashtwin.traces.reading import Reading


@dataclass(frozen=True)
class JobOptions:
    options: Options
    reading: Reading
    stream: bool = False
    #: Whether each volume is characterized by itself as well.
    by_volume: bool = False
    #: Whether a page is drawn, which takes longer than measuring a small trace.
    report: bool = True


@dataclass(frozen=True)
class Job(Task):
    name: str
    path: str
    out: str
    how: JobOptions
    #: Names all that the result depends on; noted when it is complete.
    key: str

    @classmethod
    def of(cls, name: str, path: str, out: Path, how: JobOptions) -> Job:
        """A job whose key holds the file's size and time, so that it need not be read to be known."""
        parts = how.options.key, asdict(how.reading), how.stream, how.by_volume
        return cls(name, path, str(out), how, folder.characterization_key(name, *sources.stamp(path), *parts))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Job:
        how = value.pop("how")
        options, reading = Options(**how.pop("options")), Reading(**how.pop("reading"))
        return cls(**value, how=JobOptions(options, reading, **how))

    @property
    def place(self) -> str:
        return self.path

    @property
    def too_large(self) -> str:
        return f"{self.path}: does not fit into memory; try --stream, or --sample"

    def do(self) -> None:
        do(self)

    def lost(self, why: str) -> str:
        return f"{self.path}: the process that read it ended ({why}), out of memory perhaps; try --stream"

    def absolute(self) -> Job:
        """The same wherever a process works."""
        return replace(self, path=sources.absolute(self.path), out=str(Path(self.out).resolve()))

    @property
    def is_done(self) -> bool:
        """Whether the folder holds the complete result of this very job."""
        out = Path(self.out)
        return folder.characterized_from(out) == self.key and (not self.how.report or (out / names.REPORT).is_file())


def do(job: Job, progress: Progress | None = None) -> Characterization:
    """Characterizes the trace, writes its folder and its report; complete or not at all."""
    from flashtwin import report

    how = job.how
    with sources.read_once(job.path), folder.prepared(job.out, holding=names.CHARACTERIZATION) as path:
        found = measure(
            job.path, how.options, how.reading, stream=how.stream, by_volume=how.by_volume, progress=progress
        )
        folder.record_characterization(path, "")
        found.write(path)
        report.build(path) if how.report else folder.without_report(path)
        folder.record_characterization(path, job.key)
    return found
