"""Traces made of traces: merged, repeated, on another clock, on one drive. Frames carry them, which lose nothing."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow

from flashtwin.errors import ArgumentError
from flashtwin.traces.frames import CONTENT_BYTES, FLUSH, Columns, from_frame
from flashtwin.traces.trace import Trace

#: The digest of zeroes in frames.
ZEROES = hashlib.md5(bytes(CONTENT_BYTES), usedforsecurity=False).digest()
#: Folded volumes begin at multiples of this, so that no page of any size has bytes of two of them.
FOLDED_ALIGNMENT_BYTES = 1 << 20
#: Requests of a repeated trace, which take some 100 GB.
REQUESTS_MAX = 500_000_000
#: Times and addresses that a trace may have.
TIME_NS_MAX, ADDRESS_MAX = 1 << 62, (1 << 63) - 1


def merge(traces: Sequence[Trace], shifts_ns: Sequence[int], name: str) -> Trace:
    several = Counter(volume for trace in traces for volume in trace.volumes)
    parts, labels, first = [], Counter[str](), 0
    for trace, shift_ns in zip(traces, shifts_ns, strict=True):
        labels[trace.name] += 1
        label = trace.name if labels[trace.name] == 1 else f"{trace.name}-{labels[trace.name]}"
        names = [f"{label}:{volume}" if several[volume] > 1 else volume for volume in trace.volumes]
        table = _shifted(trace, shift_ns)
        volume = table["volume"].to_numpy().astype(np.int64)
        parts.append(_with(table, volume=volume + first, volume_name=np.array(names, object)[volume]))
        first += len(names)
    return _joined(parts, name)


def repeat(trace: Trace, times: int, *, fresh_contents: bool) -> Trace:
    """A repetition begins one mean gap after the last request before it."""
    if times * len(trace) > REQUESTS_MAX:
        raise ArgumentError(f"{times * len(trace):,} requests do not fit in memory; {REQUESTS_MAX:,} are possible")
    length_ns = trace.duration_ns + max(1, trace.duration_ns // max(1, len(trace) - 1))
    laps = [trace.to_arrow()]
    for lap in range(1, times):
        laps.append(_with(_shifted(trace, lap * length_ns), holes=[None] * len(trace)))
        if fresh_contents:
            laps[-1] = _with(laps[-1], content_digest=_fresh(laps[0]["content_digest"].combine_chunks(), lap))
    return trace if times == 1 else _joined(laps, trace.name)


def _fresh(column: Any, lap: int) -> Any:
    """The same contents with other digests, except for zeroes."""
    values, salt = column.flatten().dictionary_encode(), lap.to_bytes(8, "big")
    known = values.dictionary.to_pylist()
    fresh = [one if one == ZEROES else hashlib.blake2b(one, digest_size=16, salt=salt).digest() for one in known]
    flat = pyarrow.array(fresh, pyarrow.binary()).take(values.indices)
    return pyarrow.ListArray.from_arrays(column.offsets, flat, mask=column.is_null())


def scale(trace: Trace, speed: float) -> Trace:
    """The times are those of a replay at this speed."""
    if not (speed > 0 and trace.duration_ns / speed < TIME_NS_MAX):
        raise ArgumentError(f"speed is {speed}; give a number above 0 with which the trace lasts less than 146 years")
    table = trace.to_arrow()
    times = (table["time_ns"].to_numpy() / speed).astype(np.int64)
    return trace if speed == 1 else _joined([_with(table, time_ns=times)], trace.name)


def fold(trace: Trace) -> Trace:
    table = trace.to_arrow()
    volume, op = (table[column].to_numpy() for column in ("volume", "op"))
    offset, length = (table[column].to_numpy().astype(np.int64) for column in ("offset_bytes", "length_bytes"))
    holes = [json.loads(text) if text else [] for text in table["holes"].to_pylist()]
    ends = np.zeros(len(trace.volumes), np.int64)
    np.maximum.at(ends, volume, offset + length)
    np.maximum.at(ends, volume, [max((at + size for at, size in ranges), default=0) for ranges in holes])
    bytes_ = -(-ends // FOLDED_ALIGNMENT_BYTES) * FOLDED_ALIGNMENT_BYTES
    if sum(bytes_.tolist()) > ADDRESS_MAX:
        raise ArgumentError(f"{trace.name}: its volumes reach beyond 2^63 bytes together; fold some of them")
    starts = (np.cumsum(bytes_) - bytes_)[volume]
    moved = [[(at + start, size) for at, size in ranges] for ranges, start in zip(holes, starts.tolist(), strict=True)]
    offset = np.where(op == FLUSH, 0, offset + starts)
    table = _with(table, offset_bytes=offset, volume=np.zeros(len(op), np.int64), volume_name=[trace.name] * len(op),
                  holes=[json.dumps(one) if one else None for one in moved])  # fmt: skip
    return _joined([table], trace.name)


def _shifted(trace: Trace, shift_ns: int) -> Any:
    if not 0 <= shift_ns <= TIME_NS_MAX - trace.duration_ns:
        raise ArgumentError(f"{trace.name}: a request would arrive before the start, or more than 146 years after it")
    table = trace.to_arrow()
    return _with(table, time_ns=table["time_ns"].to_numpy() + shift_ns)


def _with(table: Any, **columns: Any) -> Any:
    for name, values in columns.items():
        kind = pyarrow.string() if name in ("volume_name", "holes") else None
        array = values if isinstance(values, pyarrow.Array) else pyarrow.array(values, kind)
        table = table.set_column(table.column_names.index(name), name, array)
    return table


def _joined(parts: Sequence[Any], name: str) -> Trace:
    # Dictionaries of names differ from trace to trace.
    plain = [_with(part, volume_name=part["volume_name"].cast(pyarrow.string()).combine_chunks()) for part in parts]
    return from_frame(pyarrow.concat_tables(plain, promote_options="permissive"), name, Columns())
