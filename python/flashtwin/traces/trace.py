"""Traces: what the host asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from flashtwin import _core

#: What to do with a line that cannot be read.
OnBadLine = Literal["fail", "skip"]

#: Which event of blkparse text is the request: queued, issued to the driver, completed.
BlkparseAction = Literal["Q", "D", "C"]

#: What a sample of a trace is drawn by.
SampleBy = Literal["address", "content"]

#: Called with steps done and steps in all (0 until known), about 20 times a second.
Progress = Callable[[int, int], None]


class Trace:
    """A trace in memory: requests sorted by time, contents where the trace carries them. Made by `open`.

    It never changes, and any number of replays may share it.
    """

    def __init__(self, native: _core.Trace) -> None:
        """Wraps the core's trace; use `flashtwin.open`."""
        self._native = native

    def __len__(self) -> int:
        """Number of requests."""
        return len(self._native)

    def __repr__(self) -> str:
        return f"<flashtwin.Trace {self.name!r}: {len(self):,} requests, {self.format}>"

    @property
    def name(self) -> str:
        """What the trace is called: the file's name without endings."""
        return self._native.name

    @property
    def format(self) -> str:
        """The format it was read as."""
        return self._native.format

    @property
    def digest(self) -> str:
        """A digest of all columns; the same whatever format or compression the trace was read from."""
        return self._native.digest

    @property
    def has_content(self) -> bool:
        """Whether pages carry contents, which content-addressed systems need."""
        return self._native.has_content

    @property
    def volumes(self) -> list[str]:
        """Names of its volumes (disks, ASUs, devices)."""
        return self._native.volumes

    def volume(self, name: str) -> Trace:
        """The requests of one volume as a trace of its own, which begins with its first request.

        Raises:
            TraceError: no volume has this name; the message lists those that there are.
        """
        return Trace(self._native.volume(name))

    @cached_property
    def info(self) -> dict[str, Any]:
        """The workload in numbers: counts, bytes, footprint, duplicates, quality of the trace.

        Percentages are of 100; what is undefined (a mean of no requests, say) is None.
        """
        info: dict[str, Any] = json.loads(self._native.info_json())
        return info

    def tables(self, period_s: float) -> dict[str, _core.Table]:
        """The workload's tables (`periods`, `popularity`, ...), with periods of the given length in seconds."""
        return self._native.workload(period_s)

    def sample(self, rate: float, *, seed: int = 0, by: SampleBy = "address") -> Trace:
        """A thinner trace: the given share of 4 KB pages, or of contents, with all that happens to them.

        Items are chosen by hash, so histories stay whole, and the same seed chooses the same items in any
        trace. Requests are cut where pages between are left out.

        Args:
            rate: share kept, above 0 up to 1.
            seed: another one keeps other items.
            by: what is chosen, `"address"` (pages) or `"content"`.
        """
        return Trace(self._native.sample(rate, seed, by))

    def write_parquet(self, path: str | Path) -> None:
        """Writes the canonical Parquet file (docs/trace-formats.md); complete or not at all."""
        self._native.write_parquet(path)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The canonical columns for PyArrow, Polars, pandas or DuckDB, e.g. `polars.DataFrame(trace)`."""
        return self._native.__arrow_c_stream__(requested_schema)

    @property
    def native(self) -> _core.Trace:
        """The core's own object; for the modules of this package."""
        return self._native


def open(  # noqa: A001 - `ft.open` is the name people expect
    path: str | Path,
    format: str | None = None,  # noqa: A002 - so is `format=`
    *,
    on_bad_line: OnBadLine = "fail",
    sort_window_ns: int = 1_000_000_000,
    blkparse_action: BlkparseAction = "D",
    volume: str | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Reads a trace: any of the formats of docs/trace-formats.md, plain or compressed; `-` is standard input.

    Args:
        path: the file.
        format: its format; by default it is told by the content.
        on_bad_line: `"fail"` at a line that cannot be read, or `"skip"` and count it.
        sort_window_ns: requests up to this much earlier than one before them are sorted into place and
            counted; anything earlier is an error.
        blkparse_action: in blkparse text, the event that counts as the request: `"Q"` queued, `"D"` issued
            to the driver, `"C"` completed.
        volume: only the requests of the volume of this name, as a trace of its own.
        progress: called with bytes read and bytes in all (0 when not known) about 20 times a second.

    Raises:
        TraceError: the message names file, line and field, and what was expected.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> trace.format
    'fiu'
    """
    return Trace(_core.Trace.open(path, format, on_bad_line, sort_window_ns, progress, blkparse_action, volume))


def requests_by_volume(path: str | Path) -> dict[str, int]:
    """Requests to each volume of the trace in a file, by name; the file is read once, and not held.

    Raises:
        TraceError: the file cannot be read as a trace.
    """
    return dict(sorted(_core.requests_by_volume(path)))
