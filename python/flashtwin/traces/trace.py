"""Traces: the requests of a host."""

from __future__ import annotations

import csv
import hashlib
import html
import secrets
from collections.abc import Mapping, Sequence
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
#: Units of time; `100ns` is also called `ticks`.
TimeUnit = Literal["s", "ms", "us", "ns", "100ns", "ticks"]
ColumnsOf = Mapping[str, str | int] | str
SampleBy = Literal["address", "content"]
#: Layouts that traces are exported in.
Layout = Literal["mqsim", "fio", "oraclegeneral", "csv"]
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


def pairs_of(given: ColumnsOf, example: str) -> list[tuple[str, str]]:
    """A mapping, or its text such as `time=1,op=3`, as pairs; names with commas stand in double quotes."""
    if isinstance(given, Mapping):
        return [(str(key), str(value)) for key, value in given.items()]
    pairs = [field.partition("=") for field in next(csv.reader([given]), [])]
    wrong = next((key for key, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise ArgumentError(f"'{wrong}' is not NAME=VALUE; write it like {example}")
    return [(key.strip(), value) for key, _, value in pairs]


#: The options of reading, which `open` and `scan` have in common.
DEFAULTS: Mapping[str, Any] = {
    "format": None, "on_bad_line": "fail", "sort_window_ns": 10**9, "blkparse_action": "D", "volume": None,
    "from_s": None, "to_s": None, "columns": None, "delimiter": None, "header": True, "time_unit": None,
    "offset_unit": None, "length_unit": None, "op_words": None,
}  # fmt: skip


def options_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: arguments[name] for name in DEFAULTS}


def native_reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `open` as the core takes them."""
    how = dict(options)
    columns, op_words, span = how["columns"], how["op_words"], excerpt_ns(how.pop("from_s"), how.pop("to_s"))
    if columns is None and (how["delimiter"] is not None or not how["header"]):
        raise ArgumentError("delimiter and header are of a text with columns of your own: give columns as well")
    for name in ("offset_unit", "length_unit"):
        if how[name] is not None and how[name] < 1:
            raise ArgumentError(f"{name} is {how[name]}; give bytes, 1 or more (512 for sectors)")
    return {
        **how,
        "excerpt_ns": span,
        "columns": None if columns is None else pairs_of(columns, "time=1,op=3,offset=4:512,length=5"),
        "op_words": pairs_of(op_words or {}, "true=write,false=read"),
    }


class TraceFacts:
    """Facts of a trace in memory or in its file, which is read for them where it says so."""

    _native: _core.Trace | _core.Scan

    def __len__(self) -> int:
        """Number of requests; reads the file unless something has."""
        return len(self._native)

    @property
    def name(self) -> str:
        """The name of the trace: the file's name without endings."""
        return self._native.name

    @property
    def format(self) -> str:
        """The format it was read as."""
        return self._native.format

    @property
    def read_as(self) -> str:
        """Format, units, volumes and assumptions, in words; without the volumes until something has read the file."""
        return self._native.read_as

    @property
    def digest(self) -> str:
        """A digest of all columns, the same for any format and compression; reads the file unless something has."""
        return self._native.digest

    @property
    def has_content(self) -> bool:
        """Whether pages carry contents, which content-addressed systems need; reads the file unless something has."""
        return self._native.has_content

    @property
    def duration_ns(self) -> int:
        """From the first request to the last one, by the trace's clock; reads the file unless something has."""
        return self._native.duration_ns


@checked
class Trace(TraceFacts, Rows):
    """A trace in memory: requests sorted by time, contents where the trace carries them. Made by `open`.

    It never changes, and any number of replays may share it.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> len(trace), trace.has_content
    (229508, True)
    """

    _native: _core.Trace
    EXPECTED = "what `ft.open` or `Scan.open` returned"

    def __init__(self, native: _core.Trace, source: Mapping[str, Any] | None = None) -> None:
        """Wraps the core's trace; use `flashtwin.open`."""
        self._native = native
        #: The file it was read from and how, as `open` takes it; None for a trace from no file.
        self.source = source

    def __repr__(self) -> str:
        return f"<flashtwin.Trace {self.name!r}: {len(self):,} requests, {self.format}>"

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

    def scale(self, speed: float) -> Trace:
        """The trace on a clock that runs `speed` times as fast, as in a replay at that speed."""
        from flashtwin.traces import merging

        return merging.scale(self, speed)

    def repeat(self, times: int, *, fresh_contents: bool = False) -> Trace:
        """The trace so many times in a row, at the same addresses, with the same contents or with fresh ones each time.

        >>> import flashtwin as ft
        >>> trace = ft.open("traces/webvm-small.fiu.zst", to_s=60)
        >>> len(trace.repeat(3)) == 3 * len(trace)
        True
        """
        from flashtwin.traces import merging

        if times < 1:
            raise ArgumentError(f"times is {times}; give 1 or more")
        return merging.repeat(self, times, fresh_contents=fresh_contents)

    def fold(self) -> Trace:
        """All volumes on one drive, one behind the other, each at a multiple of a mebibyte."""
        from flashtwin.traces import merging

        return merging.fold(self)

    def export(self, path: str | Path, *, to: Layout) -> dict[str, int]:
        """Writes the trace in the layout of another tool (docs/trace-formats.md), complete or not at all.

        Returns:
            What the layout cannot hold, each with its count.

        Raises:
            TraceError: no request fits the layout.
        """
        from flashtwin.traces import exporting

        return exporting.export(self, Path(path), to)

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
        """Its columns for PyArrow, Polars, pandas or DuckDB, e.g. `polars.DataFrame(trace)`.

        `from_frame` makes the same trace of them again. Rows of several traces may be put into one frame: contents are
        digests, and volumes have their names beside their numbers (docs/trace-formats.md).
        """
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """The same columns, a row a request, as a table of PyArrow."""
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
        time_unit: TimeUnit | None = None,
        offset_unit: int | None = None,
        length_unit: int | None = None,
        op_words: Mapping[str, str] | None = None,
    ) -> Trace:
        """A trace from a frame of Polars or pandas, a table of PyArrow, or anything else that speaks PyCapsule.

        Args:
            frame: a row a request, in any order of time.
            name: the name of the trace.
            columns: names of columns, as in `open`. By default they are the canonical ones of docs/trace-formats.md.
            time_unit: what times are in; dates and times bring their own. By default ns.
            offset_unit: bytes of one unit of the offsets, by default 1. Of columns with names of your own whose units
                you leave out, flashtwin checks whether the requests could be a disk's.
            length_unit: the same of the lengths.
            op_words: more words for operations, as in `open`.

        Raises:
            TraceError: a column is missing, or holds what cannot be a request; the message names both.

        >>> import flashtwin as ft
        >>> asked = {"t": [0.0, 0.5], "op": ["R", "W"], "sector": [0, 8], "sectors": [8, 8]}
        >>> columns = {"time": "t", "offset": "sector", "length": "sectors"}
        >>> len(ft.Trace.from_frame(asked, columns=columns, time_unit="s", offset_unit=512, length_unit=512))
        2
        """
        from flashtwin.traces import frames

        return frames.from_frame(
            frame, name, frames.Columns(columns, time_unit, offset_unit, length_unit, op_words or {})
        )

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        columns: Mapping[str, str | int] | None = None,
        *,
        time_unit: TimeUnit | None = None,
        offset_unit: int | None = None,
        length_unit: int | None = None,
        delimiter: str | None = None,
        header: bool = True,
        op_words: Mapping[str, str] | None = None,
        on_bad_line: OnBadLine = "fail",
    ) -> Trace:
        """`open` of a text with columns of your own; without `columns`, its header has the canonical names.

        Raises:
            TraceError: the file cannot be read, a column is missing, or a line cannot be a request.
        """
        return open(
            path, columns=columns or {}, time_unit=time_unit, offset_unit=offset_unit, length_unit=length_unit,
            delimiter=delimiter, header=header, op_words=op_words, on_bad_line=on_bad_line,
        )  # fmt: skip


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
    columns: Mapping[str, str | int] | str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    time_unit: TimeUnit | None = None,
    offset_unit: int | None = None,
    length_unit: int | None = None,
    op_words: Mapping[str, str] | str | None = None,
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
        columns: the columns of a text, or of a Parquet, Arrow or ORC file, of any layout: `time`, `op`, `offset`,
            `length`, and where there are any `volume`, `content` (equal for equal contents), `queue` (0 to 31) and
            `stream`, each with a name of the header or a number from 1, and behind a colon its unit:
            `{"time": "When:us", "op": 3, "offset": "4:512", "length": "5:512"}`, or the same as text,
            `"time=When:us,op=3"`. Those not named are looked for under the canonical names of docs/trace-formats.md.
        delimiter: what parts the fields of such a text: a sign, `"tab"` or `"blanks"`; by default its looks decide.
        header: whether its first line may be one of names.
        time_unit: the unit of the times of a text, for formats as well; by default that of the format, or ns. Dates
            bring their own.
        offset_unit: bytes of one unit of the offsets, 512 for sectors; by default that of the format, or 1.
        length_unit: the same of the lengths.
        op_words: operations by words that flashtwin does not know: `{"true": "write", "false": "read"}`; `none` passes
            such lines over.
        progress: told `"reading"`, bytes read and bytes in all (`flashtwin.progress`).

    Raises:
        TraceError: the message names file, line and field, and the expected value.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> trace.format
    'fiu'
    """
    how = options_of(locals())
    from flashtwin.traces import foreign

    with foreign.readable(path, native_reading(how)) as (file, reading):
        return Trace(_core.Trace.open(file, reading, named(progress, "reading")), {"path": str(path), **how})


@checked
def merge(traces: Sequence[Trace | str | Path], *, shift_s: Sequence[float] = (), name: str = "merged") -> Trace:
    """Several traces as one, in order of time, as if one host ran them on one drive.

    Contents are compared by their digests. Volumes stay apart, and equal names get their trace's name in front. Each
    trace begins `shift_s` seconds after the first one, or all begin together.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst", to_s=5)
    >>> ft.merge([trace, trace], shift_s=[0, 30]).volumes
    ['webvm-small:0s-5s:7:0', 'webvm-small:0s-5s-2:7:0']
    """
    from flashtwin.traces import merging

    if not traces or len(shift_s) not in (0, len(traces)):
        raise ArgumentError(f"{len(shift_s)} shifts of {len(traces)} traces; give traces, and no shift or one for each")
    shifts_ns = [round(shift * 1e9) for shift in shift_s] or [0] * len(traces)
    return merging.merge([as_trace(trace) for trace in traces], shifts_ns, name)


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
    from flashtwin.traces import sources

    return dict(sorted(_core.requests_by_volume(sources.local(path))))
