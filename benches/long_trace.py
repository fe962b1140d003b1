"""A long trace on disk, made in pieces."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

#: Rows that are made, and written, together.
_ROWS = 1 << 18


def write(path: Path, requests: int, *, pages: int, contents: int, gap_ns: int = 40_000, volumes: int = 1) -> None:
    """Requests of a page each, three of five of them writes; some pages and some contents are much more popular.

    The n-th volume has 1 / sqrt(n) of the requests of the first.
    """
    random, shares = np.random.Generator(np.random.PCG64(1)), 1 / np.sqrt(np.arange(1, volumes + 1))
    with ExitStack() as stack:
        out = None
        for first in range(0, requests, _ROWS):
            rows = min(_ROWS, requests - first)
            is_write = random.random(rows) < 0.6
            drawn = (contents * random.random(rows) ** 2).astype(np.uint32)
            ends = np.append(0, np.cumsum(is_write)).astype(np.int32)
            table = pa.table({
                "time_ns": gap_ns * np.arange(first, first + rows), "op": is_write.astype(np.uint8),
                "volume": random.choice(volumes, rows, p=shares / shares.sum()).astype(np.uint32),
                "offset_bytes": (pages * random.random(rows) ** 3).astype(np.uint64) * 4096,
                "length_bytes": np.full(rows, 4096, np.uint32),
                "content": pa.ListArray.from_arrays(ends, drawn[is_write]),
            })  # fmt: skip
            out = out or stack.enter_context(parquet.ParquetWriter(path, table.schema))
            out.write_table(table)
