"""Splitting a trace into files, and the manifest that makes their folder a list of traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError
from flashtwin.progress import Progress
from flashtwin.results import folder, names
from flashtwin.traces.reading import Reading
from flashtwin.traces.trace import OnBadLine


@checked
def split(
    trace: str | Path,
    out: str | Path,
    *,
    by: str = "volume",
    format: str | None = None,  # noqa: A002 - as in `open`
    on_bad_line: OnBadLine = "fail",
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Splits a trace's file into canonical Parquet files and `manifest.json`, in one pass and bounded memory.

    `characterize_many` and `sweep` take the folder as a list of traces, all others as the whole trace again.

    Args:
        trace: the path of the trace; `-` is standard input.
        out: the folder for the files; it must not exist.
        by: `"volume"`, or `"hash:8"` for eight parts of whole volumes.
        format: its format, where its looks leave doubt.
        on_bad_line: `"fail"` at a line that cannot be read, or `"skip"` and count it.
        progress: told `"splitting"`, bytes read and bytes in all (`flashtwin.progress`).

    Returns:
        The parts as docs/trace-formats.md describes them.

    Raises:
        TraceError: the trace cannot be read, or the folder not be written to.

    >>> import flashtwin as ft
    >>> [part["requests"] for part in ft.split("traces/webvm-small.fiu.zst", "out/parts")]
    [229508]
    """
    return run(trace, Path(out), by, Reading(format, on_bad_line), progress)


def run(
    trace: str | Path, out: Path, by: str, reading: Reading, progress: Progress | None = None
) -> list[dict[str, Any]]:
    hashed = by.removeprefix("hash:")
    if by != "volume" and not (by.startswith("hash:") and hashed.isdecimal() and 0 < int(hashed) < 2**32):
        raise ArgumentError(f"a trace cannot be split by '{by}'; use volume, or hash:8 for 8 parts of whole volumes")
    with folder.new(out) as parts:
        manifest = reading.split(trace, None if by == "volume" else int(hashed), parts, progress)
        folder.write_json(parts / names.MANIFEST, {"flashtwin": folder.VERSION, "by": by, **manifest})
    return list(manifest["parts"])
