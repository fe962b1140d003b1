"""Traces of any length as canonical Parquet, written without being held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Rows that are made, and written, together.
_ROWS = 1 << 18
#: Mean time between two requests.
_GAP_NS = 40_000
_WRITES = 0.6
_PAGE_BYTES = 4096


def write_long_trace(path: Path, requests: int, *, pages: int, contents: int) -> None:
    """Requests of a page each to some of `pages` pages, three of five of them writes, of `contents` contents or fewer.

    Some pages and some contents are much more popular than others.
    """
    random = np.random.Generator(np.random.PCG64(1))
    schema = pa.schema(
        [("time_ns", pa.int64()), ("volume", pa.uint32()), ("op", pa.uint8()), ("offset_bytes", pa.uint64()),
         ("length_bytes", pa.uint32()), ("content", pa.list_(pa.uint32()))]
    )  # fmt: skip
    new = min(contents / (requests * _WRITES), 1.0)
    now_ns = known = 0
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False) as out:
        for first in range(0, requests, _ROWS):
            rows = min(_ROWS, requests - first)
            times = now_ns + np.cumsum(random.integers(0, 2 * _GAP_NS, rows))
            now_ns = int(times[-1])
            writes = random.random(rows) < _WRITES
            page = (pages * random.random(rows) ** 3).astype(np.uint64)
            written = int(writes.sum())
            fresh = (random.random(written) < new) | (known == 0)
            numbers = known + np.cumsum(fresh) - 1
            old = (known * random.random(written) ** 2).astype(np.int64)
            content = np.where(fresh, numbers, old).astype(np.uint32)
            known = int(numbers[-1]) + 1
            offsets = np.concatenate([[0], np.cumsum(writes)]).astype(np.int32)
            columns = [
                pa.array(times), pa.array(np.zeros(rows, np.uint32)), pa.array(writes.astype(np.uint8)),
                pa.array(page * _PAGE_BYTES), pa.array(np.full(rows, _PAGE_BYTES, np.uint32)),
                pa.ListArray.from_arrays(pa.array(offsets), pa.array(content)),
            ]  # fmt: skip
            out.write_batch(pa.record_batch(columns, schema=schema))
