"""Traces from frames: columns of any library and type become those of the canonical Parquet, which the core reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow
from pyarrow import compute, parquet, types

from flashtwin import _core
from flashtwin.errors import ArgumentError, TraceError
from flashtwin.results import names
from flashtwin.traces.arrays import bytes_of, integers, is_clock, lists, nanoseconds, one_array, text
from flashtwin.traces.sources import scratch_space
from flashtwin.traces.trace import DEFAULTS, TimeUnit, Trace, native_reading

#: The fields of a request, with the canonical columns of each (docs/trace-formats.md).
CANONICAL: Mapping[str, tuple[str, ...]] = {
    "time": ("time_ns",), "op": ("op",), "offset": ("offset_bytes",), "length": ("length_bytes",),
    "volume": ("volume",), "content": ("content_digest", "content"), "queue": ("queue",),
    "stream": ("stream",),
}  # fmt: skip
REQUIRED = ("time", "op", "offset", "length")
#: Columns that a frame or file of a trace has beside the fields of requests.
BESIDE = VOLUME_NAME, FLAGS, HOLES, NEW_DIGESTS = "volume_name", "flags", "holes", "digest"

FLUSH = 3
#: Bytes of the pages that have contents of their own, and most that the canonical form takes of a request.
CONTENT_BYTES, LENGTH_MAX = 4_096, 2**32 - 1
#: Submission queues and streams of requests, and bits of the column `flags`.
QUEUES, STREAMS, DURABLE_FLAG, QUEUE_FLAG = 32, 65_535, 1, 8


@dataclass(frozen=True)
class Columns:
    """The columns of the fields, their units, and words of operations."""

    columns: Mapping[str, str] | None = None
    time_unit: TimeUnit | None = None
    offset_unit: int | None = None
    length_unit: int | None = None
    op_words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.columns is not None and not isinstance(self.columns, Mapping):
            raise ArgumentError("columns is a mapping of what a request consists of to names: {'time': 'Timestamp'}")
        unknown = sorted(set(self.columns or ()) - set(CANONICAL))
        if unknown:
            raise ArgumentError(f"columns: a request has no '{unknown[0]}'; it has {', '.join(CANONICAL)}")
        _core.time_unit_ns(self.time_unit or "ns")
        if any(unit is not None and unit < 1 for unit in (self.offset_unit, self.length_unit)):
            raise ArgumentError("offset_unit and length_unit are bytes, 1 or more (512 for sectors)")

    def places(self, there: Iterable[str], place: str) -> dict[str, str]:
        """The column of each field that is there; refuses a missing one, and two for the same field."""
        there = list(there)
        places = {}
        for part, canonical in CANONICAL.items():
            wanted = (self.columns[part],) if self.columns and part in self.columns else canonical
            present = [name for name in wanted if name in there]
            if len(present) > 1:
                raise TraceError(f"{place}: the columns {' and '.join(present)} both hold the {part}; leave one out")
            if present:
                places[part] = present[0]
            elif part in REQUIRED or part in (self.columns or {}):
                raise TraceError(
                    f"{place}: no column is called '{wanted[0]}', which is to hold the {part} of requests; "
                    f"there are: {', '.join(there)}"
                )
        return places

    def read_as(self, places: Mapping[str, str], table: Any) -> dict[str, Any]:
        """How the core reads the canonical file: it checks whether requests could be a disk's, unless units are said.

        The user says them, the name of a column, or its type.
        """
        units: dict[str, Any] = {}
        for part, unit in (("time", "ns"), ("offset", 1), ("length", 1)):
            said = getattr(self, f"{part}_unit") or (unit if places[part] in CANONICAL[part] else None)
            units[f"{part}_unit"] = "dates" if part == "time" and is_clock(table[places[part]]) else said
        return {**units, "columns": [], "format": None}


def from_frame(frame: Any, name: str, how: Columns) -> Trace:
    try:
        table = pyarrow.table(frame)
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        raise ArgumentError(
            f"a frame is expected (Polars, pandas, PyArrow, a mapping of columns), not {type(frame).__name__}: {error}"
        ) from None
    try:
        places = how.places(table.column_names, name)
        reading, volumes = how.read_as(places, table), Volumes.of([table], places, name)
        requests = canonical(table, name, how, volumes)
    except (json.JSONDecodeError, pyarrow.ArrowException) as error:
        raise TraceError(f"{name}: a column has values that no request has ({error})") from None
    # Stable: requests of one time stay in the order of their rows.
    requests = requests.take(compute.sort_indices(requests["time_ns"].combine_chunks()))
    with TemporaryDirectory(prefix="flashtwin-") as scratch:
        path = names.table(Path(scratch), names.file_name(name))
        with scratch_space():
            parquet.write_table(requests.replace_schema_metadata(volumes.metadata), path)
        try:
            # Its file is gone in a moment: nobody can read it again.
            return Trace(_core.Trace.open(path, {**native_reading(DEFAULTS), **reading}))
        except TraceError as error:
            if f"column {NEW_DIGESTS}:" in str(error):
                cure = "put frames of `ft.open(...).to_arrow()` together, whose contents are digests"
                raise TraceError(f"{name}: numbers of contents mean nothing outside their file; {cure}") from None
            raise TraceError(str(error).replace(str(path), name)) from None


@dataclass
class Volumes:
    """The volumes of a table, with their names and holes.

    Within one trace, number and name agree. In rows of several traces, names tell volumes apart, or numbers if somebody
    gave each trace its own.
    """

    by: str | None = None
    keys: list[str | None] = field(default_factory=lambda: [None])
    names: list[str] = field(default_factory=lambda: ["0"])
    holes: list[tuple[int, int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, tables: Iterable[Any], places: Mapping[str, str], place: str) -> Volumes:
        number = places.get("volume")
        # A column that the caller names has the names, too.
        name = VOLUME_NAME if number in (None, "volume") else None
        pairs: set[tuple[str | None, str | None]] = set()
        for table in tables:
            columns = [column for column in (number, name) if column in table.column_names]
            keys = pyarrow.table({column: text(one_array(table[column])) for column in columns})
            rows = keys.group_by(columns).aggregate([]).to_pylist() if columns else []
            pairs |= {(row.get(number), row.get(name)) for row in rows}
        if not pairs:
            return cls()
        found = sorted(pairs, key=_in_order)
        numbers, labels = ([pair[side] for pair in found] for side in (0, 1))
        if set(labels) == {None}:
            return cls(number, numbers, [str(one) for one in numbers])
        if len(set(numbers)) == len(found):
            several = [f"{label}:{one}" if labels.count(label) > 1 else str(label) for one, label in found]
            return cls(number, numbers, several)
        if len(set(labels)) == len(found):
            return cls(name, labels, [str(label) for label in labels])
        raise TraceError(
            f"{place}: the columns volume and {VOLUME_NAME} contradict each other, as in rows of several traces; drop "
            f"volume to tell volumes apart by name, or {VOLUME_NAME} to do so by number"
        )

    def numbered(self, table: Any, at: Place) -> Any:
        if self.by is None:
            return pyarrow.array([0] * table.num_rows, pyarrow.uint32())
        column = one_array(table[self.by])
        at.refuse_missing(compute.is_null(column), "volume")
        return compute.index_in(text(column), pyarrow.array(self.keys, pyarrow.string())).cast(pyarrow.uint32())

    @property
    def metadata(self) -> dict[str, str]:
        names, holes = json.dumps(self.names), json.dumps(self.holes)
        return {"flashtwin.schema": "1", "flashtwin.volume_names": names, "flashtwin.holes": holes}


def _in_order(pair: tuple[str | None, str | None]) -> tuple[Any, ...]:
    """By number where there is one, then by name."""
    number, name = pair
    return (0, int(number), name or "") if number and number.isdecimal() else (1, number or "", name or "")


def canonical(table: Any, place: str, how: Columns, volumes: Volumes, first_row: int = 0) -> pyarrow.Table:
    """Rows of a table as canonical columns; `volumes` collects their holes. `first_row` rows came before."""
    at = Place(place, first_row)
    places = how.places(table.column_names, place)
    columns = {part: one_array(table[column]) for part, column in places.items()}
    for part in {"time", "op", "queue"} & set(columns):
        at.refuse_missing(compute.is_null(columns[part]), part)
    # Numbers are those of the canonical column; in another one they mean something else in every tool.
    op, flush_first, durable = _operations(columns["op"], how, place, numbers=places["op"] == "op")
    made = {
        "time_ns": at.read(nanoseconds, columns["time"], _core.time_unit_ns(how.time_unit or "ns"), "time", "the unit")
    }
    made |= {"volume": volumes.numbered(table, at), "op": op}
    addressed = compute.and_not(compute.is_valid(op), compute.fill_null(compute.equal(op, FLUSH), False))
    for part, unit, most in (("offset", how.offset_unit or 1, 2**63 - 1), ("length", how.length_unit or 1, LENGTH_MAX)):
        at.refuse_missing(compute.and_(compute.is_null(columns[part]), addressed), part)
        values = at.read(integers, columns[part], unit, part, "bytes")
        # A flush has no address; the field is ignored.
        values = compute.if_else(addressed, values, 0)
        at.refuse_outside(values, most, part, " bytes")
        made[f"{part}_bytes"] = values.cast(pyarrow.uint64() if part == "offset" else pyarrow.uint32())
    if "content" in columns:
        made |= _contents(columns["content"], table, made["length_bytes"], at)
    made["flags"] = _flags(table, columns, durable, at)
    if "stream" in columns:
        stream = at.read(integers, columns["stream"], 1, "stream", "a stream")
        at.refuse_outside(stream, STREAMS - 1, "stream")
        made["stream"] = stream.cast(pyarrow.uint16())
    if HOLES in table.column_names:
        has = (column := one_array(table[HOLES])).is_valid()
        for number, holes in zip(made["volume"].filter(has).to_pylist(), column.filter(has).to_pylist(), strict=True):
            volumes.holes += [(number, *hole) for hole in json.loads(holes)]
    return _rows(pyarrow.table(made), flush_first)


@dataclass(frozen=True)
class Place:
    """The place of values in messages."""

    name: str
    first_row: int

    def refuse(self, wrong: Any, message: str, values: Any = None) -> None:
        row: int = compute.index(wrong, True).as_py()
        if row >= 0:
            value = "" if values is None else str(values[row])
            raise TraceError(f"{self.name}: {message.format(row=f'{self.first_row + row + 1:,}', value=value)}")

    def refuse_missing(self, missing: Any, part: str) -> None:
        self.refuse(missing, f"the {part} of a request is missing in row {{row}}")

    def refuse_outside(self, values: Any, most: int, part: str, unit: str = "") -> None:
        wrong = compute.or_(compute.less(values, 0), compute.greater(values, most))
        self.refuse(wrong, f"the {part} in row {{row}} is {{value}}{unit}; expected 0 to {most:,}", values)

    def read(self, convert: Callable[[Any, int], Any], column: Any, unit: int, part: str, expected: str) -> Any:
        try:
            return convert(column, unit)
        except (pyarrow.ArrowException, OverflowError, ValueError) as error:
            raise TraceError(f"{self.name}: the {part} of a request is no number of {expected} ({error})") from None


def _operations(column: Any, how: Columns, place: str, *, numbers: bool) -> list[Any]:
    """Operations by number, null where a row is no request; whether a flush comes first; whether it is durable."""
    encoded = compute.dictionary_encode(text(column))
    try:
        meanings = _core.operations(encoded.dictionary.to_pylist(), dict(how.op_words), numbers)
    except TraceError as error:
        raise TraceError(f"{place}: {error}") from None
    kinds = (pyarrow.uint8(), pyarrow.bool_(), pyarrow.bool_())
    sides = [pyarrow.array([meaning[side] for meaning in meanings], kind) for side, kind in enumerate(kinds)]
    return [compute.take(side, encoded.indices) for side in sides]


def _flags(table: Any, columns: Mapping[str, Any], durable: Any, at: Place) -> Any:
    flags = compute.if_else(durable, DURABLE_FLAG, 0).cast(pyarrow.int64())
    if FLAGS in table.column_names:
        recorded = at.read(integers, one_array(table[FLAGS]), 1, FLAGS, "bits")
        at.refuse_outside(recorded, 255, FLAGS)
        flags = compute.bit_wise_or(flags, compute.fill_null(recorded, 0))
    if "queue" in columns:
        queue = at.read(integers, columns["queue"], 1, "queue", "a submission queue")
        at.refuse_outside(queue, QUEUES - 1, "queue")
        flags = compute.add(compute.bit_wise_and(flags, QUEUE_FLAG - 1), compute.multiply(queue, QUEUE_FLAG))
    return flags.cast(pyarrow.uint8())


def _contents(column: Any, table: Any, length_bytes: Any, at: Place) -> dict[str, Any]:
    """Contents as lists, one value for every 4,096 bytes that a request begins.

    Numbers of 32 bits are those of the canonical column, which mean something in their own trace. Anything else is
    a digest, equal in any trace for equal values.
    """
    listed = types.is_list(column.type)
    values = compute.list_flatten(column) if listed else column
    if types.is_null(values.type):
        return {}
    contents = values if values.type == pyarrow.uint32() else bytes_of(values)
    # A single text may be empty, as in CSV files.
    single = contents.is_valid().cast(pyarrow.int32())
    has = compute.fill_null(compute.list_value_length(column), 0) if listed else single
    wanted = compute.divide(compute.add(length_bytes.cast(pyarrow.int64()), CONTENT_BYTES - 1), CONTENT_BYTES)
    wrong = compute.and_(compute.greater(has, 0), compute.not_equal(wanted, has))
    held = "a list of another length" if listed else "one value"
    expected = "a request of its length has {value}, one for every 4,096 bytes"
    at.refuse(wrong, f"the content in row {{row}} is {held}; {expected}", wanted)
    made = lists(contents if listed else contents.drop_null(), has, compute.equal(has, 0))
    if contents is not values or types.is_binary(values.type):
        return {"content_digest": made}
    more = {NEW_DIGESTS: one_array(table[NEW_DIGESTS])} if NEW_DIGESTS in table.column_names else {}
    return {"content": made, **more}


def _rows(made: Any, flush_first: Any) -> Any:
    """Rows of requests alone, with a row of its own for each flush that comes first."""
    is_request = made["op"].is_valid().combine_chunks()
    flushes = compute.and_(flush_first, is_request)
    if is_request.true_count == made.num_rows and not flushes.true_count:
        return made
    copies = compute.add(is_request.cast(pyarrow.int8()), flushes.cast(pyarrow.int8())).to_numpy()
    row = np.repeat(np.arange(made.num_rows), copies)
    is_flush = pyarrow.array((np.diff(row, prepend=-1) > 0) & flushes.to_numpy(zero_copy_only=False)[row])
    made = made.take(row)
    for name, value in {"op": FLUSH, "offset_bytes": 0, "length_bytes": 0, "flags": 0, "stream": None, "content": None,
                        "content_digest": None, NEW_DIGESTS: None}.items():  # fmt: skip
        if name in made.column_names:
            kept = made[name].combine_chunks()
            values = compute.if_else(is_flush, pyarrow.scalar(value, kept.type), kept)
            made = made.set_column(made.column_names.index(name), name, values)
    return made
