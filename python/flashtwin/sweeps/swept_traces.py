"""The traces of a sweep: the facts of each file, known without reading it where it was read before."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashtwin.errors import ArgumentError
from flashtwin.progress import Progress
from flashtwin.results import names
from flashtwin.sweeps import batch
from flashtwin.sweeps.store import Store
from flashtwin.traces import sources
from flashtwin.traces.reading import Reading, Source
from flashtwin.traces.scan import Scan
from flashtwin.traces.trace import Trace

#: Facts noted of a file; a file with fewer, noted by an earlier version, is read again.
_FACTS = {"digest", "has_content", "duration_ns"}


@dataclass(frozen=True)
class SweepTrace:
    """A trace of a sweep: its name, how to read it, its requests."""

    name: str
    #: As given, for the command of a point.
    source: Source
    digest: str
    has_content: bool
    duration_ns: int

    @property
    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "path": self.source.path, "digest": self.digest}


def known(
    traces: Sequence[str | Path | Trace | Scan],
    how: Reading,
    store: Store,
    progress: Progress | None = None,
    *,
    stream: bool = False,
) -> list[SweepTrace]:
    """The traces by name; files and folders of files, scans, or traces in memory, which are written into the store."""
    held = [trace for trace in traces if isinstance(trace, Trace)]
    scans = [trace for trace in traces if isinstance(trace, Scan)]
    paths = [trace for trace in traces if not isinstance(trace, Trace | Scan)]
    if any(str(path) == "-" for path in paths):
        raise ArgumentError("standard input can be read once only, and a sweep reads its traces again; save it first")
    found = [_of_memory(trace, store) for trace in held]
    for trace in scans:
        read = dict(trace.source)
        found.append(_of_file(trace.name, Source(str(read.pop("path")), Reading(**read), stream=True), store))
    files = batch.find(paths) if paths else {}
    for number, (name, (path, _)) in enumerate(files.items()):
        if progress:
            progress("reading", number, len(files))
        found.append(_of_file(how.label(name), Source(path, how, stream), store))
    called = [one.name for one in found]
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f"two traces are called '{twice}'; give each a name of its own")
    return found


def _of_file(name: str, source: Source, store: Store) -> SweepTrace:
    """A file is recognised by its place, size and time; each replay checks that it is the expected one."""
    parts = [asdict(source.absolute()), *sources.stamp(source.path)]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    facts = store.trace(key)
    if facts is None or not facts.keys() >= _FACTS:
        trace = source.replayable()
        facts = {"digest": trace.digest, "has_content": trace.has_content, "duration_ns": trace.duration_ns}
        store.put_trace(key, facts)
    return SweepTrace(name, source, str(facts["digest"]), bool(facts["has_content"]), int(facts["duration_ns"]))


def _of_memory(trace: Trace, store: Store) -> SweepTrace:
    path = names.stored_requests(store.path, trace.digest, trace.name)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        trace.write_parquet(path)
    return SweepTrace(trace.name, Source(str(path)), trace.digest, trace.has_content, trace.duration_ns)
