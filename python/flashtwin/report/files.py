"""Writes files so that a reader never sees half of one."""

import contextlib
import os
import tempfile
from pathlib import Path

from flashtwin.errors import ReportError, cannot_be_written


def make_folder(path: Path) -> None:
    """Makes a folder and those above it; `ReportError` when that is not possible or it takes no files."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(f"{path}: cannot be made ({error.strerror}); choose another folder") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ReportError(f"{path}: cannot be written to (permission denied); choose another folder")


def write(path: Path, content: str | bytes) -> None:
    """Writes `content` (text as UTF-8) under a temporary name and renames it.

    Raises `ReportError` when the folder cannot be written; nothing is left behind then.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes files private; a report is as readable as any other file.
        os.umask(umask := os.umask(0))
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except OSError as error:
        raise ReportError(cannot_be_written(path, (error.strerror or str(error)).lower())) from None
    finally:
        # Also when interrupted; once renamed there is nothing left under this name.
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
