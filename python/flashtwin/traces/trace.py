"""Traces: the requests of a host."""

from __future__ import annotations

import hashlib
import html
import secrets
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError
from flashtwin.progress import Progress, named
from flashtwin.results import names
from flashtwin.results.documents import arrow_table, json_object
from flashtwin.results.frames import Rows, Table, shown

if TYPE_CHECKING:
    import pyarrow

OnBadLine = Literal["fail", "skip"]

#: Which event of blkparse text is the request: queued, issued to the driver, completed.
BlkparseAction = Literal["Q", "D", "C"]
TimeUnit = Literal["s", "ms", "us", "ns"]
SampleBy = Literal["address", "content"]
END_NS = 2**63 - 1


def excerpt_ns(from_s: float | None, to_s: float | None) -> tuple[int, int] | None:
    """A span of time as the core wants it; None where everything is meant."""
    if from_s is None and to_s is None:
        return None
    begin_ns = 0 if from_s is None else round(from_s * 1e9)
    end_ns = END_NS if to_s is None else round(to_s * 1e9)
    if not 0 <= begin_ns < end_ns <= END_NS:
        what = f"from {from_s or 0:g} s to {'the end' if to_s is None else f'{to_s:g} s'}"
        raise ArgumentError(f"no time lies {what}; give seconds after the first request, the end behind the beginning")
    return begin_ns, end_ns


@checked
class Trace(Rows):
    """A trace in memory: requests sorted by time, contents where the trace carries them. Made by `open`.

    It never changes, and any number of replays may share it.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> len(trace), trace.has_content
    (229508, True)
    """

    EXPECTED = "what `ft.open` or `Scan.open` returned"

    def __init__(self, native: _core.Trace, source: Mapping[str, Any] | None = None) -> None:
        """Wraps the core's trace; use `flashtwin.open`."""
        self._native = native
        #: The file it was read from and how, as `open` takes it; None for a trace from no file.
        self.source = source

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<flashtwin.Trace {self.name!r}: {len(self):,} requests, {self.format}>"

    @property
    def name(self) -> str:
        """The name of the trace: the file's name without endings."""
        return self._native.name

    @property
    def format(self) -> str:
        """The format it was read as."""
        return self._native.format

    @cached_property
    def digest(self) -> str:
        """A digest of all columns; the same for any format or compression the trace was read from."""
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

    def excerpt(self, *, from_s: float | None = None, to_s: float | None = None) -> Trace:
        """The requests of a span of time as a trace of its own, which begins with its first request.

        Earlier writes are not in it: pages that are first read hold the content read.

        Args:
            from_s: seconds after the trace's first request; from the beginning by default.
            to_s: the same; requests of that moment and later ones are left out. To the end by default.

        Raises:
            TraceError: no request lies there.
            ArgumentError: the end is not behind the beginning.

        >>> import flashtwin as ft
        >>> trace = ft.open("traces/webvm-small.fiu.zst")
        >>> first, rest = trace.excerpt(to_s=120), trace.excerpt(from_s=120)
        >>> len(first) + len(rest) == len(trace)
        True
        """
        return Trace(self._native.excerpt(*(excerpt_ns(from_s, to_s) or (0, END_NS))))

    @cached_property
    def info(self) -> dict[str, Any]:
        """The workload in numbers: counts, bytes, footprint, duplicates, quality of the trace.

        Percentages are of 100; undefined values are None, for example the mean of no requests.
        """
        return json_object(self._native.info_json())

    @property
    def duration_ns(self) -> int:
        """From the first request to the last one, by the trace's clock."""
        return self._native.duration_ns

    def tables(self, period_s: float) -> dict[str, Table]:
        """The workload's tables (`periods`, `popularity`, ...), with periods of the given length in seconds."""
        return {name: Table(table) for name, table in self._native.workload(period_s).items()}

    def sample(self, rate: float, *, seed: int = 0, by: SampleBy = "address") -> Trace:
        """A thinner trace: the given share of 4 KB pages, or of contents, with all that happens to them.

        Items are chosen by hash, so histories stay whole, and the same seed chooses the same items in any
        trace. Requests are cut where pages between are left out.

        Args:
            rate: share kept, above 0 up to 1.
            seed: another one keeps other items.
            by: the unit, `"address"` (pages) or `"content"`.
        """
        return Trace(self._native.sample(rate, seed, by))

    def anonymize(self, secret: bytes | None = None) -> Trace:
        """The trace without what it is about, to be handed on; its characterization stays, but for `span_bytes`.

        Args:
            secret: traces with one secret have equal digests for equal contents; by default random and forgotten.

        >>> import flashtwin as ft
        >>> public = ft.open("traces/webvm-small.fiu.zst").anonymize()
        >>> public.name, public.volumes, len(public)
        ('anonymous', ['0'], 229508)
        """
        return Trace(self._native.anonymize(hashlib.sha256(secret or secrets.token_bytes(32)).digest()))

    def write_parquet(self, path: str | Path) -> None:
        """Writes the canonical Parquet file (docs/trace-formats.md); complete or not at all."""
        self._native.write_parquet(path)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The canonical columns for PyArrow, Polars, pandas or DuckDB, e.g. `polars.DataFrame(trace)`."""
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """The canonical columns, a row a request, as a table of PyArrow."""
        table: pyarrow.Table = arrow_table(self._native)
        return table

    def _repr_html_(self) -> str:
        import pyarrow

        # The trace may be large: only its first batch becomes columns.
        first = next(iter(pyarrow.RecordBatchReader.from_stream(self._native)), None)
        head = shown(pyarrow.Table.from_batches([first])) if first is not None else ""
        return f"<p>{html.escape(repr(self))}</p>{head.rpartition('<p>')[0]}"

    def __reduce__(self) -> tuple[Any, ...]:
        with TemporaryDirectory(prefix="flashtwin-") as scratch:
            path = names.table(Path(scratch), names.file_name(self.name))
            self.write_parquet(path)
            return _unpickled, (path.name, path.read_bytes())

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        name: str = "frame",
        columns: Mapping[str, str] | None = None,
        time_unit: TimeUnit = "ns",
        offset_unit: int = 1,
        length_unit: int = 1,
    ) -> Trace:
        """A trace from a frame of Polars or pandas, a table of PyArrow, or anything else that speaks PyCapsule.

        Args:
            frame: a row a request, in any order of time.
            name: the name of the trace.
            columns: as in `from_csv`. By default they are the canonical ones of docs/trace-formats.md.
            time_unit: as in `from_csv`, as are the other units.
            offset_unit: bytes of one unit of the offsets.
            length_unit: the same of the lengths.

        Raises:
            TraceError: a column is missing, or holds what cannot be a request; the message names both.

        >>> import flashtwin as ft
        >>> asked = {"t": [0.0, 0.5], "op": ["R", "W"], "sector": [0, 8], "sectors": [8, 8]}
        >>> columns = {"time": "t", "offset": "sector", "length": "sectors"}
        >>> len(ft.Trace.from_frame(asked, columns=columns, time_unit="s", offset_unit=512, length_unit=512))
        2
        """
        from flashtwin.traces import frames

        return frames.from_frame(frame, name, frames.Columns(columns, time_unit, offset_unit, length_unit))

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        columns: Mapping[str, str] | None = None,
        *,
        time_unit: TimeUnit = "ns",
        offset_unit: int = 1,
        length_unit: int = 1,
        delimiter: str = ",",
    ) -> Trace:
        """A trace from a CSV file with a line of names at its head, whichever they are.

        Args:
            path: the file, plain or compressed (`.gz`, `.bz2`, `.zst`).
            columns: which column holds what: `time`, `op`, `offset`, `length`, and where there are any `volume`,
                `content` and `queue`. Those not named are looked for under the canonical names: `time_ns`, `op`,
                `offset_bytes`, `length_bytes`, `volume`, `content`, `queue`. `queue` is the submission queue that a
                request was sent to, 0 to 31; without it, all are of queue 0. `op` is `R`, `W`, `T`, `F` or words that
                begin so (`D` for discard, `U` for unmap are trims, `S` for sync is a flush), or 0, 1, 2, 3; of a flush
                offset and length are not looked at; `content` is one value a request, equal for equal contents, or
                in frames a list of one for every 4,096 bytes.
            time_unit: what times are in: `"s"`, `"ms"`, `"us"` or `"ns"`; dates and times bring their own.
            offset_unit: bytes of one unit of the offsets; 512 for sectors.
            length_unit: the same of the lengths.
            delimiter: what parts the fields.

        Raises:
            TraceError: the file cannot be read, a column is missing, or holds what cannot be a request.
        """
        from flashtwin.traces import frames

        how = frames.Columns(columns, time_unit, offset_unit, length_unit)
        return frames.from_csv(Path(path), how, delimiter)


@checked
def open(  # noqa: A001 - `ft.open` is the name people expect
    path: str | Path,
    format: str | None = None,  # noqa: A002 - so is `format=`
    *,
    on_bad_line: OnBadLine = "fail",
    sort_window_ns: int = 1_000_000_000,
    blkparse_action: BlkparseAction = "D",
    volume: str | None = None,
    from_s: float | None = None,
    to_s: float | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Reads a trace: any of the formats of docs/trace-formats.md, plain or compressed; `-` is standard input.

    Args:
        path: the file.
        format: its format, for example `fiu`; by default the content decides.
        on_bad_line: `"fail"` at a line that cannot be read, or `"skip"` and count it.
        sort_window_ns: requests up to this much earlier than one before them are sorted into place and
            counted; anything earlier is an error.
        blkparse_action: in blkparse text, the event that counts as the request: `"Q"` queued, `"D"` issued
            to the driver, `"C"` completed.
        volume: only the requests of the volume of this name, as a trace of its own.
        from_s: only the requests from this many seconds after the first one on, as a trace of its own
            (`Trace.excerpt`).
        to_s: only the requests before that many; the file is not read further.
        progress: told `"reading"`, bytes read and bytes in all (`flashtwin.progress`).

    Raises:
        TraceError: the message names file, line and field, and the expected value.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> trace.format
    'fiu'
    """
    heard = named(progress, "reading")
    span = excerpt_ns(from_s, to_s)
    native = _core.Trace.open(path, (format, on_bad_line, sort_window_ns, blkparse_action, volume, span), heard)
    how = {"format": format, "on_bad_line": on_bad_line, "sort_window_ns": sort_window_ns,
           "blkparse_action": blkparse_action, "volume": volume, "from_s": from_s, "to_s": to_s}  # fmt: skip
    return Trace(native, {"path": str(path), **how})


def as_trace(given: Trace | str | Path, progress: Progress | None = None) -> Trace:
    """A trace from what callers may pass for one: itself, or the path of its file."""
    return given if isinstance(given, Trace) else open(given, progress=progress)


def _unpickled(name: str, parquet: bytes) -> Trace:
    with TemporaryDirectory(prefix="flashtwin-") as scratch:
        path = Path(scratch) / name
        path.write_bytes(parquet)
        return Trace(open(path)._native)


def requests_by_volume(path: str | Path) -> dict[str, int]:
    """Requests to each volume of the trace in a file, by name; the file is read once, and not held."""
    return dict(sorted(_core.requests_by_volume(path)))
