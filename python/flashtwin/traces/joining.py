"""The parts of a split trace as one trace again, row group by row group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import compute, parquet

from flashtwin.errors import TraceError
from flashtwin.results import names
from flashtwin.traces.arrays import lists
from flashtwin.traces.sources import scratch_folder, scratch_space

#: Rows that are put in order together, unless more of them overlap.
_ROWS = 1 << 18
#: The number of an unknown content.
_UNKNOWN = 2**32 - 1
_KEPT = ("time_ns", "volume", "op", "offset_bytes", "length_bytes", "flags", "stream")


class _Part:
    def __init__(self, number: int, file: Path, start_ns: int, volume: int) -> None:
        self.number, self.file, self.start_ns, self.volume = number, file, start_ns, volume
        self.about = parquet.read_metadata(file)
        self.digests = pyarrow.array([], pyarrow.binary(16))

    @property
    def begins(self) -> list[tuple[int, int, int]]:
        """Each row group: the time of its first request, the part, its number."""
        groups = [self.about.row_group(group) for group in range(self.about.num_row_groups)]
        at = self.about.schema.names.index("time_ns")
        times = [group.column(at).statistics.min + self.start_ns for group in groups]
        return [(time, self.number, group) for group, time in enumerate(times)]

    def known(self, key: str) -> Any:
        text = (self.about.metadata or {}).get(f"flashtwin.{key}".encode())
        return None if text is None else json.loads(text)

    def rows(self, group: int) -> Any:
        """Row groups come in order, because a digest is written beside its first content."""
        with parquet.ParquetFile(self.file) as file:
            table = file.read_row_group(group)
        columns = {name: table[name] for name in _KEPT if name in table.column_names}
        columns["time_ns"] = compute.add(table["time_ns"], self.start_ns)
        columns["volume"] = compute.add(table["volume"], pyarrow.scalar(self.volume, pyarrow.uint32()))
        columns["part"] = pyarrow.repeat(self.number, table.num_rows)
        columns.setdefault("flags", pyarrow.repeat(pyarrow.scalar(0, pyarrow.uint8()), table.num_rows))
        if "digest" in table.column_names:
            fresh = table["digest"].combine_chunks().flatten()
            self.digests = pyarrow.concat_arrays([self.digests, fresh])
        columns["content_digest"] = self._contents(table["content"].combine_chunks())
        return pyarrow.table(columns)

    def _contents(self, numbers: Any) -> Any:
        flat = numbers.flatten()
        known = compute.if_else(compute.equal(flat, _UNKNOWN), None, flat)
        highest = compute.max(known).as_py()
        if highest is not None and highest >= len(self.digests):
            raise TraceError(f"{self.file}: its contents have no digests, by which parts are compared; split it again")
        lengths = compute.fill_null(compute.list_value_length(numbers), 0)
        return lists(self.digests.take(known), lengths, compute.is_null(numbers))


def joined(path: str, document: Mapping[str, Any], files: Sequence[Path]) -> Path:
    """A canonical Parquet file of all parts."""
    made = names.table(scratch_folder(), names.file_name(document["name"]))
    try:
        parts: list[_Part] = []
        volumes: list[str] = []
        for number, (part, file) in enumerate(zip(document["parts"], files, strict=True)):
            if not file.is_file():
                raise TraceError(f"{path}: its part {file.name} is missing; split the trace again")
            parts.append(_Part(number, file, part["start_ns"], len(volumes)))
            volumes += part["volumes"]
        requests = sum(part.about.num_rows for part in parts)
        if requests != document["requests"]:
            said = f"the manifest says {document['requests']:,}; split the trace again"
            raise TraceError(f"{path}: the parts have {requests:,} requests, {said}")
        batches = _in_order(parts)
        first = next(batches)
        with scratch_space(), parquet.ParquetWriter(made, first.schema, compression="zstd") as writer:
            for rows in chain([first], batches):
                writer.write_table(rows)
            writer.add_key_value_metadata(_about(parts, volumes))
    except (OSError, UnicodeDecodeError, pyarrow.ArrowException, LookupError, TypeError, AttributeError) as error:
        raise TraceError(f"{path}: a part cannot be read ({error}); split the trace again") from None
    return made


def _in_order(parts: Sequence[_Part]) -> Iterator[Any]:
    """Rows of all parts by time, then by part. What overlaps in time is in memory."""
    groups = sorted(begin for part in parts for begin in part.begins)
    waiting: list[Any] = []
    most = _ROWS
    for place, (_, number, group) in enumerate(groups):
        waiting.append(parts[number].rows(group))
        end_ns = groups[place + 1][0] if place + 1 < len(groups) else None
        if end_ns is not None and sum(map(len, waiting)) < most:
            continue
        rows = pyarrow.concat_tables(waiting).sort_by([("time_ns", "ascending"), ("part", "ascending")])
        ready = len(rows) if end_ns is None else int(np.searchsorted(rows["time_ns"].to_numpy(), end_ns))
        rows, waiting = rows.slice(0, ready).drop_columns(["part"]), [rows.slice(ready)]
        # What waits is sorted again, so that twice as much must come first.
        most = max(_ROWS, 2 * len(waiting[0]))
        yield rows


def _about(parts: Sequence[_Part], volumes: Sequence[str]) -> Mapping[str, str]:
    holes = [[at + part.volume, *hole] for part in parts for at, *hole in part.known("holes") or ()]
    zeroes = [part.digests[zero].as_py() for part in parts if (zero := part.known("zero_content")) is not None]
    about = {"schema": 1, "volume_names": list(volumes), "holes": holes, "quality": parts[0].known("quality")}
    texts = {key: json.dumps(value) for key, value in about.items() if value is not None}
    if zeroes:
        texts["zero_digest"] = zeroes[0].hex()
    return {f"flashtwin.{key}": text for key, text in texts.items()}
