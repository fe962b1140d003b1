"""Reads files of results; by itself, because the rest of reading loads PyArrow, which takes its time."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashtwin.errors import ReportError


def json_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in a text that flashtwin itself has written."""
    value: dict[str, Any] = json.loads(text)
    return value


def json_or_none(path: Path) -> Any:
    """The JSON in a file; None where there is none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def read_json(path: Path) -> Mapping[str, Any]:
    """A JSON object from a file, or `ReportError` naming file, line and column."""

    # All that is written is finite, so that no reader of a number asks.
    def finite(text: str) -> float:
        if not math.isfinite(value := float(text)):
            raise ReportError(f"{path}: cannot be read ({text:.20} is no finite number)")
        return value

    def whole(text: str) -> int:
        # Beyond three hundred digits there is no float of it.
        return int(text) if len(text) < 300 else int(finite(text))

    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text, parse_float=finite, parse_int=whole, parse_constant=finite)
    except FileNotFoundError:
        raise ReportError(f"{path}: not found") from None
    except ReportError:
        raise
    except json.JSONDecodeError as error:
        raise ReportError(f"{path}:{error.lineno}:{error.colno}: not JSON ({error.msg})") from None
    # No UTF-8, a number of thousands of digits, or a thousand brackets.
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"{path}: cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise ReportError(f"{path}: expected a JSON object")
    return value


def read_stored(path: Path) -> dict[str, Any] | None:
    """The JSON object of an entry of a store, after the digest in its first line; None where it is absent or torn."""
    try:
        digest, _, text = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    text = text.removesuffix(b"\n")
    return json_object(text) if hashlib.sha256(text).hexdigest().encode() == digest else None


def read_parquet(path: Path) -> Any:
    """The PyArrow table of one Parquet file; errors are PyArrow's.

    `pyarrow.parquet.read_table` takes folders, too, for which it loads much, pandas among it. To begin threads and to
    read ahead takes a third of the time of these small tables.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False) as file:
        return file.read(use_threads=False)


def table_writer(path: Path, schema: Any) -> Any:
    """A Parquet file that grows table by table; errors are PyArrow's."""
    from pyarrow import parquet

    return parquet.ParquetWriter(path, schema, compression="zstd")


def arrow_table(source: Any) -> Any:
    """The PyArrow table of what speaks the Arrow PyCapsule interface.

    `pyarrow.table` looks first whether it is a data frame, and loads pandas for that: half a second.
    """
    import pyarrow

    return pyarrow.RecordBatchReader.from_stream(source).read_all()
