"""Traces from tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from flashtwin.errors import ArgumentError, TraceError
from flashtwin.results import names
from flashtwin.traces.trace import TimeUnit, Trace
from flashtwin.traces.trace import open as open_trace

if TYPE_CHECKING:
    import pyarrow

#: The fields of a request, with the canonical column of each (docs/trace-formats.md).
CANONICAL = {
    "time": "time_ns",
    "op": "op",
    "offset": "offset_bytes",
    "length": "length_bytes",
    "volume": "volume",
    "content": "content",
    "queue": "queue",
}
OPTIONAL = ("volume", "content", "queue")

NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1, "100ns": 100, "ticks": 100}
#: Kinds of requests by the first letter of their name.
KINDS = {"r": 0, "w": 1, "t": 2, "d": 2, "u": 2, "f": 3, "s": 3}
FLUSH = 3
#: Bytes of the pages that have contents of their own, and most that the canonical form takes of a request.
CONTENT_BYTES, LENGTH_MAX = 4_096, 2**32 - 1
UNKNOWN = 2**32 - 1
#: Submission queues of requests, and the unit of a queue's first bit in the column `flags`.
QUEUES, QUEUE_FLAG = 32, 8


@dataclass(frozen=True)
class Columns:
    """The columns of the fields, and their units."""

    columns: Mapping[str, str] | None = None
    time_unit: TimeUnit = "ns"
    offset_unit: int = 1
    length_unit: int = 1

    def __post_init__(self) -> None:
        if self.columns is not None and not isinstance(self.columns, Mapping):
            raise ArgumentError("columns is a mapping of what a request consists of to names: {'time': 'Timestamp'}")
        unknown = sorted(set(self.columns or ()) - set(CANONICAL))
        if unknown:
            raise ArgumentError(f"columns: a request has no '{unknown[0]}'; it has {', '.join(CANONICAL)}")
        if self.time_unit not in NS:
            raise ArgumentError(f"time_unit is {self.time_unit!r}; expected one of {', '.join(map(repr, NS))}")
        if self.offset_unit < 1 or self.length_unit < 1:
            raise ArgumentError("offset_unit and length_unit are bytes, 1 or more (512 for sectors)")


def from_frame(frame: Any, name: str, how: Columns) -> Trace:
    import pyarrow

    try:
        table = pyarrow.table(frame)
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        raise ArgumentError(
            f"a frame is expected (Polars, pandas, PyArrow, a mapping of columns), not {type(frame).__name__}: {error}"
        ) from None
    return _trace(table, name, name, how)


def _trace(table: pyarrow.Table, name: str, place: str, how: Columns) -> Trace:
    """Goes by way of the canonical Parquet file, which the core checks as it does any other."""
    from pyarrow import parquet

    requests = _canonical(table, place, how)
    with TemporaryDirectory(prefix="flashtwin-") as scratch:
        path = names.table(Path(scratch), names.file_name(name))
        parquet.write_table(requests, path)
        try:
            # Its file is gone in a moment: nobody can read it again.
            return Trace(open_trace(path)._native)
        except TraceError as error:
            raise TraceError(str(error).replace(str(path), place)) from None


def _canonical(table: pyarrow.Table, place: str, how: Columns) -> pyarrow.Table:
    """The canonical columns, in order of time."""
    import pyarrow
    from pyarrow import compute

    found = {}
    for part, canonical in CANONICAL.items():
        name = (how.columns or {}).get(part, canonical)
        if name in table.column_names:
            found[part] = table[name].combine_chunks()
        elif part not in OPTIONAL or part in (how.columns or {}):
            raise TraceError(
                f"{place}: no column is called '{name}', which is to hold the {part} of requests; "
                f"there are: {', '.join(table.column_names)}"
            )
    for part in ("time", "op", *(part for part in OPTIONAL if part != "content")):
        if part in found:
            _refuse_missing(compute.is_null(found[part]), part, place)
    op = _kinds(found["op"], place)
    flushes = compute.equal(op, FLUSH)
    columns = {"time_ns": _times(found["time"], NS[how.time_unit], place), "op": op}
    for part, unit, most in (("offset", how.offset_unit, 2**63 - 1), ("length", how.length_unit, LENGTH_MAX)):
        _refuse_missing(compute.and_not(compute.is_null(found[part]), flushes), part, place)
        asked = _bytes(found[part], unit, part, most, place)
        # A flush has no address; the field is ignored.
        columns[CANONICAL[part]] = compute.if_else(flushes, pyarrow.scalar(0, asked.type), asked)
    if "volume" in found:
        columns["volume"] = compute.dictionary_encode(found["volume"]).indices.cast(pyarrow.uint32())
    else:
        columns["volume"] = pyarrow.array([0] * table.num_rows, pyarrow.uint32())
    if "content" in found:
        columns["content"] = _contents(found["content"], columns["length_bytes"], place)
    if "queue" in found:
        columns["flags"] = _queues(found["queue"], place)
    made = pyarrow.table({name: columns[name] for name in (*CANONICAL.values(), "flags") if name in columns})
    # Stable: requests of one time stay in the order of their rows.
    return made.take(compute.sort_indices(made["time_ns"].combine_chunks()))


def _first(wrong: Any) -> int:
    """The first row that is wrong; -1 where none is."""
    from pyarrow import compute

    row: int = compute.index(wrong, True).as_py()
    return row


def _refuse_missing(missing: Any, part: str, place: str) -> None:
    if (row := _first(missing)) >= 0:
        raise TraceError(f"{place}: the {part} of a request is missing in row {row + 1:,}")


def _times(column: Any, unit_ns: int, place: str) -> Any:
    """Times in nanoseconds; dates and times bring their own unit."""
    import pyarrow

    try:
        if pyarrow.types.is_timestamp(column.type):
            return column.cast(pyarrow.timestamp("ns", column.type.tz)).cast(pyarrow.int64())
        if pyarrow.types.is_duration(column.type):
            return column.cast(pyarrow.duration("ns")).cast(pyarrow.int64())
        return _scaled(column, unit_ns)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise TraceError(f"{place}: the time of a request is no number of the unit ({error})") from None


def _bytes(column: Any, unit: int, part: str, most: int, place: str) -> Any:
    """Offsets and lengths in bytes."""
    import pyarrow
    from pyarrow import compute

    try:
        found = _scaled(column, unit)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise TraceError(f"{place}: the {part} of a request is no number of bytes ({error})") from None
    wrong = compute.or_(compute.less(found, 0), compute.greater(found, most))
    if (row := _first(wrong)) >= 0:
        raise TraceError(f"{place}: the {part} in row {row + 1:,} is {found[row]} bytes; expected 0 to {most:,}")
    return found.cast(pyarrow.uint64() if part == "offset" else pyarrow.uint32())


def _scaled(column: Any, unit: int) -> Any:
    """Numbers times a whole unit, as whole numbers; whole ones without going through floats."""
    import pyarrow
    from pyarrow import compute

    if pyarrow.types.is_integer(column.type):
        return compute.multiply_checked(column.cast(pyarrow.int64()), pyarrow.scalar(unit, pyarrow.int64()))
    scaled = compute.multiply(column.cast(pyarrow.float64()), pyarrow.scalar(float(unit)))
    return compute.round(scaled).cast(pyarrow.int64())


def _queues(column: Any, place: str) -> Any:
    """Submission queues as bits of the column `flags`."""
    import pyarrow
    from pyarrow import compute

    try:
        found = column.cast(pyarrow.int64())
    except pyarrow.ArrowException as error:
        raise TraceError(f"{place}: the queue of a request is no whole number ({error})") from None
    wrong = compute.or_(compute.less(found, 0), compute.greater_equal(found, QUEUES))
    if (row := _first(wrong)) >= 0:
        raise TraceError(f"{place}: the queue in row {row + 1:,} is {found[row]}; expected 0 to {QUEUES - 1}")
    return compute.multiply(found, QUEUE_FLAG).cast(pyarrow.uint8())


def _kinds(column: Any, place: str) -> Any:
    """Reads, writes, trims and flushes as 0, 1, 2 and 3."""
    import pyarrow
    from pyarrow import compute

    encoded = compute.dictionary_encode(column.cast(pyarrow.string()))
    codes = []
    for word in encoded.dictionary.to_pylist():
        text = word.strip().lower()
        code = int(text) if text in ("0", "1", "2", "3") else KINDS.get(text[:1])
        if code is None:
            raise TraceError(
                f"{place}: the op of a request is '{word}'; expected read, write, trim, flush, R, W, T, F, 0, 1, 2 or 3"
            )
        codes.append(code)
    return compute.take(pyarrow.array(codes, pyarrow.uint8()), encoded.indices)


def _contents(column: Any, length_bytes: Any, place: str) -> Any:
    """Contents as lists of numbers, equal for equal values, one for every 4,096 bytes that a request begins."""
    import pyarrow
    from pyarrow import compute

    listed = pyarrow.types.is_list(column.type) or pyarrow.types.is_large_list(column.type)
    per_page = compute.divide(compute.add(length_bytes.cast(pyarrow.int64()), CONTENT_BYTES - 1), CONTENT_BYTES)
    one = pyarrow.scalar(1, pyarrow.int64())
    has = compute.fill_null(compute.list_value_length(column).cast(pyarrow.int64()), 0) if listed else one
    wrong = compute.and_(compute.is_valid(column), compute.not_equal(per_page, has))
    if (row := _first(wrong)) >= 0:
        raise TraceError(
            f"{place}: the content in row {row + 1:,} is {'a list of another length' if listed else 'one value'}; "
            f"a request of {length_bytes[row]} bytes has {per_page[row]}, one for every 4,096 bytes"
        )
    values = compute.list_flatten(column) if listed else compute.drop_null(column)
    numbers = compute.fill_null(compute.dictionary_encode(values).indices.cast(pyarrow.uint32()), UNKNOWN)
    lengths = compute.if_else(compute.is_valid(column), has, 0)
    ends = compute.cumulative_sum(lengths).cast(pyarrow.int32())
    offsets = pyarrow.concat_arrays([pyarrow.array([0], pyarrow.int32()), ends])
    return pyarrow.ListArray.from_arrays(offsets, numbers, mask=compute.is_null(column))
