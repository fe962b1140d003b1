"""Traces in the layouts of other tools (docs/trace-formats.md)."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow

from flashtwin.errors import TraceError
from flashtwin.results.folder import writing
from flashtwin.traces.frames import CONTENT_BYTES, DURABLE_FLAG, FLUSH, QUEUE_FLAG
from flashtwin.traces.trace import Layout, Trace

SECTOR_BYTES, READ, TRIM = 512, 0, 2
COLUMNS = ("time_ns", "volume", "op", "offset_bytes", "length_bytes", "flags", "stream", "content_digest")
TRIMS, PROPERTIES, CONTENTS = "trims and flushes", "requests with FUA, of a queue or of a stream", "contents"


def export(trace: Trace, path: Path, layout: Layout) -> dict[str, int]:
    """Returns what the layout cannot hold, each with its count."""
    lost: Counter[str] = Counter()
    with writing(path) as partial:
        with partial.open("w+", encoding="utf-8", newline="") as file:
            written = WRITERS[layout](trace, file, lost)
        if not written:
            raise TraceError(f"{trace.name}: no request fits the layout {layout}; csv holds trims and flushes")
        partial.replace(path)
    return {what: count for what, count in lost.items() if count}


def _rows(trace: Trace, lost: Counter[str]) -> Iterator[tuple[Any, ...]]:
    """The columns, with the hex digits of the contents if all of them are known."""
    for batch in pyarrow.RecordBatchReader.from_stream(trace):
        lost["volumes with known holes"] += len(batch) - batch["holes"].null_count
        for *row, contents in zip(*(batch[name].to_pylist() for name in COLUMNS), strict=True):
            known = contents if contents and None not in contents else []
            lost["contents beside unknown ones"] += sum(one is not None for one in contents or ()) - len(known)
            yield *row, "".join(one.hex() for one in known)


def _mqsim(trace: Trace, file: IO[str], lost: Counter[str]) -> int:
    written = 0
    for time, volume, op, offset, length, flags, stream, digests in _rows(trace, lost):
        lost[TRIMS] += op >= TRIM
        if op < TRIM:
            sector = offset // SECTOR_BYTES
            sectors = -(-(offset + length) // SECTOR_BYTES) - sector
            fits = -(-sectors * SECTOR_BYTES // CONTENT_BYTES) == -(-length // CONTENT_BYTES)
            lost["requests that grew to whole sectors"] += sectors * SECTOR_BYTES != length
            lost["contents of requests that grew by a page"] += 0 if fits else len(digests) // 32
            lost[PROPERTIES] += flags != 0 or stream is not None
            line = f"{time} {volume} {sector} {sectors} {int(op == READ)} {digests if fits else ''}"
            written += bool(file.write(line.rstrip() + "\n"))
    return written


def _fio(trace: Trace, file: IO[str], lost: Counter[str]) -> int:
    # A blank would end the name.
    files = ["_".join(name.split()) or "volume" for name in trace.volumes]
    files = [name if files.count(name) == 1 else f"{name}-{number}" for number, name in enumerate(files)]
    file.write("fio version 3 iolog\n")
    file.writelines(f"0 {name} {action}\n" for action in ("add", "open") for name in files)
    for time, volume, op, offset, length, flags, stream, digests in _rows(trace, lost):
        file.write(f"{time // 1000} {files[volume]} {('read', 'write', 'trim', 'sync')[op]} {offset} {length}\n")
        lost["times cut to microseconds"] += time % 1000 != 0
        lost[CONTENTS] += len(digests) // 32
        lost[PROPERTIES] += flags != 0 or stream is not None
    file.writelines(f"{trace.duration_ns // 1000} {name} close\n" for name in files)
    return len(trace)


def _csv(trace: Trace, file: IO[str], lost: Counter[str]) -> int:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("time_ns", "volume", "op", "offset_bytes", "length_bytes", "queue", "stream", "content"))
    for time, volume, op, offset, length, flags, stream, digests in _rows(trace, lost):
        word = "RWDF"[op] + ("F" if flags & DURABLE_FLAG and op != FLUSH else "")
        writer.writerow((time, trace.volumes[volume], word, offset, length, flags // QUEUE_FLAG, stream, digests))
    return len(trace)


def _oraclegeneral(trace: Trace, file: IO[str], lost: Counter[str]) -> int:
    """Time in s, object, size, and the number of its next access (-1: none); an object is a page of 4,096 bytes."""
    table = trace.fold().to_arrow()
    data = table["op"].to_numpy() < TRIM
    numbers = (table[name].to_numpy()[data].astype(np.int64) for name in ("time_ns", "offset_bytes", "length_bytes"))
    time, offset, length = numbers
    first = offset // CONTENT_BYTES
    pages = -(-(offset + length) // CONTENT_BYTES) - first
    nth = np.arange(pages.sum()) - np.repeat(np.cumsum(pages) - pages, pages)
    records = np.empty(len(nth), np.dtype([("s", "<u4"), ("page", "<u8"), ("bytes", "<u4"), ("next", "<i8")]))
    records["s"], records["page"] = np.repeat(time // 10**9, pages), np.repeat(first, pages) + nth
    records["bytes"], records["next"] = CONTENT_BYTES, -1
    order = np.argsort(records["page"], kind="stable")
    again = records["page"][order[1:]] == records["page"][order[:-1]]
    records["next"][order[:-1][again]] = order[1:][again]
    lost |= Counter({TRIMS: len(data) - len(time), "operations, and times below 1 s": len(time)})
    lost[CONTENTS] += len(table["content_digest"].combine_chunks().flatten().drop_null())
    file.buffer.write(records.tobytes())  # type: ignore[attr-defined]  # of a file of the system
    return len(records)


WRITERS: dict[Layout, Callable[[Trace, IO[str], Counter[str]], int]] = {
    "mqsim": _mqsim, "fio": _fio, "oraclegeneral": _oraclegeneral, "csv": _csv,
}  # fmt: skip
