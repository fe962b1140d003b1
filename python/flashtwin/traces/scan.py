"""Traces larger than memory: they stay in their files and are read again for each replay."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError
from flashtwin.progress import Progress, named
from flashtwin.results.documents import json_object
from flashtwin.traces.foreign import readable
from flashtwin.traces.trace import BlkparseAction, OnBadLine, TimeUnit, Trace, TraceFacts, native_reading, options_of
from flashtwin.traces.trace import open as open_trace


@checked
class Scan(TraceFacts):
    """A trace in its file, to be replayed without being held. Made by `scan`.

    `replay`, `compare`, `study`, `explain` and `characterize` take it where they take a `Trace`, and find the same, to
    the byte. What needs all requests at once is not here: `open` reads them, or a part of them, into memory.

    >>> import flashtwin as ft
    >>> trace = ft.scan("traces/webvm-small.fiu.zst")
    >>> len(trace), trace.has_content
    (229508, True)
    """

    _native: _core.Scan
    EXPECTED = "what `ft.scan` returned"

    def __init__(self, native: _core.Scan, source: Mapping[str, Any]) -> None:
        """Wraps the core's; use `flashtwin.scan`."""
        self._native = native
        #: The file and how it is read, as `open` takes it.
        self.source = source

    def __bool__(self) -> bool:
        """True: a file without requests is no trace."""
        return True

    def __repr__(self) -> str:
        return f"<flashtwin.Scan {self.name!r}: {self.format}, {self.source['path']}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(scan, **self.source), ()

    @cached_property
    def info(self) -> dict[str, Any]:
        """`Trace.info`; the first time, it reads the file three times."""
        return self.informed()

    def informed(self, progress: Progress | None = None) -> dict[str, Any]:
        """`info`, measured again, with progress reports."""
        return json_object(self._native.info_json(named(progress, "looking over the trace")))

    def open(self, progress: Progress | None = None) -> Trace:
        """The same trace in memory.

        Raises:
            TraceError: the file cannot be read.
        """
        return open_trace(**self.source, progress=progress)


Replayable = Trace | Scan


@checked
def scan(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - as in `open`
    *,
    on_bad_line: OnBadLine = "fail",
    sort_window_ns: int = 1_000_000_000,
    blkparse_action: BlkparseAction = "D",
    volume: str | None = None,
    from_s: float | None = None,
    to_s: float | None = None,
    columns: Mapping[str, str | int] | str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    time_unit: TimeUnit | None = None,
    offset_unit: int | None = None,
    length_unit: int | None = None,
    op_words: Mapping[str, str] | str | None = None,
    window_requests: int | None = None,
) -> Scan:
    """A trace that is replayed from its file, in memory that does not grow with its requests.

    The file is read once before the replays, to find out which pages and contents there are, and once for each
    system; it must not change meanwhile. Memory holds a few numbers for each page that the trace touches and for
    each distinct content, some windows of requests, and the tables of the systems, whose physical pages count, too.

    Args:
        path: the file, in any format of docs/trace-formats.md; canonical Parquet is read fastest. Standard input
            cannot be read twice.
        format: its format, for example `fiu`; by default the content decides.
        on_bad_line: as in `open`.
        sort_window_ns: as in `open`; requests within the window are held.
        blkparse_action: as in `open`.
        volume: only the requests of the volume of this name.
        from_s: only the requests from this many seconds after the first one on.
        to_s: only the requests before that many.
        columns: as in `open`, as are all up to `op_words`.
        delimiter: what parts fields.
        header: whether there may be one.
        time_unit: of times.
        offset_unit: of offsets, in bytes.
        length_unit: of lengths, in bytes.
        op_words: more words for operations.
        window_requests: how many requests are handed to a replay at a time. Results do not depend on it.

    Raises:
        TraceError: the file cannot be read, or only once.

    >>> import flashtwin as ft
    >>> trace = ft.scan("traces/webvm-small.fiu.zst")
    >>> streamed = ft.replay(trace, "rr-ssd")
    >>> streamed.summary == ft.replay(trace.open(), "rr-ssd").summary
    True
    """
    how = options_of(locals())
    if window_requests is not None and window_requests < 1:
        raise ArgumentError(f"window_requests is {window_requests}; give 1 or more")
    with readable(path, native_reading(how)) as (file, reading):
        return Scan(_core.Scan.open(file, reading, window_requests or 0), {"path": str(path), **how})


def as_replayable(given: Replayable | str | Path, progress: Progress | None = None) -> Replayable:
    """A replayable trace from an argument: the trace itself, or the path of one, which is read."""
    if isinstance(given, Scan | Trace):
        return given
    return open_trace(given, progress=progress)


def prepare(trace: Replayable, systems: Sequence[_core.Resolved], progress: Progress | None = None) -> None:
    """Has a streamed trace read as often as it must be before these systems can replay it."""
    if isinstance(trace, Scan):
        trace._native.read(systems, named(progress, "reading"))
