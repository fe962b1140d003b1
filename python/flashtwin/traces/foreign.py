"""Traces in tables of other tools: Parquet with any columns, Arrow and ORC files, folders of Spark.

The core reads its own columns only. Anything else becomes a canonical Parquet file first, batch by batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin import _core
from flashtwin.errors import ArgumentError, TraceError
from flashtwin.results import names
from flashtwin.traces import sources

if TYPE_CHECKING:
    from flashtwin.traces.frames import Columns

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "ipc", b"ORC": "orc"}
_CANONICAL = {"time_ns", "volume", "op", "offset_bytes", "length_bytes"}
_BATCH_ROWS = 1 << 17
#: Options of reading that a table takes here, not in the core.
_OWN: dict[str, Any] = {"columns": None, "time_unit": None, "offset_unit": None, "length_unit": None, "op_words": []}


@contextmanager
def readable(path: str | Path, reading: Mapping[str, Any]) -> Iterator[tuple[str | Path, Mapping[str, Any]]]:
    """A file for the core, and how it reads it: the source's own, or the canonical Parquet made of its table."""
    local = file = sources.local(path)
    try:
        file, how = _for_core(local, reading)
        yield file, how
    except TraceError as error:
        raise TraceError(str(error).replace(str(file), str(path)).replace(str(local), str(path))) from None


def _for_core(path: str | Path, reading: Mapping[str, Any]) -> tuple[str | Path, Mapping[str, Any]]:
    kind, how = _table_kind(Path(path)), {name: reading[name] for name in _OWN}
    if kind is None or (kind == "parquet" and how == _OWN and _is_canonical(Path(path))):
        return path, reading
    files = sorted(Path(path).rglob("*.parquet")) if Path(path).is_dir() else [Path(path)]
    stamps = tuple((str(file.resolve()), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    made, said = _converted(str(path), kind, stamps, json.dumps(how))
    return made, {**reading, **_OWN, **said}


def _table_kind(path: Path) -> str | None:
    if path.is_dir():
        # As Spark writes it: the parts of a table, and a file that says that it is complete.
        return "parquet" if any(path.glob("part-*.parquet")) else None
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            begin = file.read(8)
    except OSError:
        # The core says what is wrong with the file.
        return None
    return next((kind for magic, kind in _MAGIC.items() if begin.startswith(magic)), None)


def _is_canonical(path: Path) -> bool:
    """Whether the core reads a Parquet file as it is: all of its columns are there, and none that only frames have."""
    import pyarrow
    from pyarrow import parquet, types

    if path.is_dir():
        return False
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 8))
        length = int.from_bytes(file.read(4), "little") + 8
        file.seek(max(0, path.stat().st_size - length))
        # The core's own files have this in their footer.
        if b"flashtwin.schema" in file.read():
            return True
    try:
        schema = parquet.read_schema(path)
    except (OSError, UnicodeDecodeError, pyarrow.ArrowException):
        # The core says what is wrong with the file, and reads recordings that were interrupted.
        return True
    integers = {name for name in schema.names if types.is_integer(schema.field(name).type)}
    return integers >= _CANONICAL and "volume_name" not in schema.names


@cache
def _converted(path: str, kind: str, stamps: tuple[Any, ...], how_json: str) -> tuple[Path, Mapping[str, Any]]:
    """The canonical file, and how it is read."""
    import pyarrow
    from pyarrow import dataset, parquet

    from flashtwin.traces.frames import BESIDE, VOLUME_NAME, Volumes, canonical

    made = names.table(sources.scratch_folder(), names.file_name(Path(path).name.split(".")[0]))
    try:
        table = dataset.dataset([file for file, *_ in stamps], format=kind)
        there: list[str] = table.schema.names
        how = _columns(json.loads(how_json), there)
        if not how.columns and not set(there) >= _CANONICAL - {"volume"}:
            types = ", ".join(f"{field.name} ({field.type})" for field in table.schema)
            proposed = f"say which holds what with {_core.columns_option(there)} (in Python, columns=)"
            raise TraceError(f"{path}: the columns of this table are not the canonical ones: {types}; {proposed}")
        places = how.places(there, path)
        reading = how.read_as(places, table.head(1))
        keys = [name for name in (places.get("volume"), VOLUME_NAME) if name in there]
        volumes = Volumes.of(_batches(table, keys) if keys else [], places, path)
        kept = [name for name in there if name in {*places.values(), *BESIDE}]
        with sources.scratch_space():
            first_row, writer = 0, None
            for batch in _batches(table, kept):
                requests = canonical(batch, path, how, volumes, first_row)
                first_row += batch.num_rows
                writer = writer or parquet.ParquetWriter(made, requests.schema, compression="zstd")
                writer.write_table(requests)
            if writer is None:
                raise TraceError(f"{path}: there is no request in it")
            writer.add_key_value_metadata(volumes.metadata)
            writer.close()
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, pyarrow.ArrowException) as error:
        raise TraceError(f"{path}: cannot be read as a table ({error})") from None
    return made, reading


def _batches(table: Any, columns: list[str]) -> Iterator[Any]:
    import pyarrow

    # Few batches ahead, so that memory is bounded.
    for batch in table.to_batches(columns=columns, batch_size=_BATCH_ROWS, batch_readahead=2, fragment_readahead=1):
        if batch.num_rows:
            yield pyarrow.Table.from_batches([batch])


def _columns(how: Mapping[str, Any], there: list[str]) -> Columns:
    """Columns by name or by number from 1, and the units that are said, also behind a colon, such as `lba:512`."""
    from flashtwin.traces.frames import Columns

    units: dict[str, Any] = {part: how[f"{part}_unit"] for part in ("time", "offset", "length")}
    chosen = {}
    for part, given in how["columns"] or ():
        name, unit = given, ""
        if given not in there and part in units and ":" in given:
            name, _, unit = given.rpartition(":")
        if unit and part != "time" and not unit.isdecimal():
            raise ArgumentError(f"columns: the unit of {part} is '{unit}'; give bytes, for example {part}={name}:512")
        units |= {part: unit if part == "time" else int(unit)} if unit else {}
        is_number = name not in there and name.isdecimal() and 1 <= int(name) <= len(there)
        chosen[part] = there[int(name) - 1] if is_number else name
    return Columns(chosen, units["time"], units["offset"], units["length"], dict(how["op_words"]))
