"""A store of runs: every run under a key that names all it was made from, complete or absent.

Sweeps, shards and machines may share one, at the same time and on a network folder: nobody holds it, nothing in it is
ever changed. A run is written under a name of its own beside its place, synced to the disk and renamed; who comes
second with the same key replaces a file by an equal one. The file carries a digest of its content, so that one that
a failing disk or network has torn counts as absent and is made again.
"""

import hashlib
import itertools
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashtwin.errors import FlashtwinError, OutputError, cannot_be_written
from flashtwin.results import names
from flashtwin.results.documents import read_stored
from flashtwin.results.folder import WritableRun, outward

#: Ending of incomplete files; the name before it tells the writer.
_PARTIAL = ".partial"
_LEFT_OVER = f".*~*~*~*{_PARTIAL}"
_numbers = itertools.count()


@dataclass(frozen=True)
class StoreEntry:
    """A run of a store: its summary, or why the core refused it."""

    key: str
    summary: Mapping[str, Any] | None
    error: str | None
    #: The files of its tables by name; none where they were not asked for.
    tables: Mapping[str, Path]


class Store:
    def __init__(self, path: str | Path) -> None:
        """Wraps the folder, which need not exist yet."""
        self.path = Path(path)

    def has(self, key: str, *, tables: bool = False) -> bool:
        """Whether a run is there, with its tables where they are wanted."""
        kept = self.get(key)
        return kept is not None and (not tables or kept.error is not None or bool(kept.tables))

    def get(self, key: str) -> StoreEntry | None:
        """A run; None where there is none that is complete."""
        body = read_stored(names.stored_run(self.path, key))
        if body is None or body.get("key") != key:
            return None
        folder = names.stored_tables(self.path, key)
        return StoreEntry(key, body.get("summary"), body.get("error"), names.tables(folder) if folder.is_dir() else {})

    def put(self, key: str, summary: Mapping[str, Any], tables: WritableRun | None = None) -> None:
        """Keeps a run; its tables first, so that a run that is there has them."""
        if tables is not None:
            self._put_tables(key, tables)
        _write(names.stored_run(self.path, key), {"key": key, "summary": summary})

    def put_refusal(self, key: str, error: str) -> None:
        """Keeps that the core refuses a run: it would do so again."""
        _write(names.stored_run(self.path, key), {"key": key, "error": error})

    def trace(self, key: str) -> dict[str, Any] | None:
        """The facts of a trace's file; None where there are none."""
        return read_stored(names.stored_trace(self.path, key))

    def put_trace(self, key: str, facts: Mapping[str, Any]) -> None:
        _write(names.stored_trace(self.path, key), facts)

    def clear_left_over(self) -> None:
        """Deletes files that killed processes of this machine left half-written in the store."""
        _clear(self.path.rglob(_LEFT_OVER))

    def _put_tables(self, key: str, run: WritableRun) -> None:
        final = names.stored_tables(self.path, key)
        partial = _beside(final)
        try:
            partial.mkdir(parents=True)
            run.write(partial)
            for file in partial.iterdir():
                _sync(file)
            _sync(partial)
            # A folder is not replaced by another: who was first has written the same.
            with suppress(OSError):
                partial.rename(final)
        except FlashtwinError as error:
            raise outward(error, self.path) from None
        except OSError as error:
            raise OutputError(_cannot(self.path, error)) from None
        finally:
            _remove(partial)


def clear_left_over(out: Path) -> None:
    """Deletes files that killed processes of this machine left half-written beside the files of a sweep."""
    _clear(out.glob(_LEFT_OVER))


def _clear(found: Iterable[Path]) -> None:
    me = socket.gethostname()
    for left in list(found):
        _, host, process, _ = left.name.removesuffix(_PARTIAL).rsplit("~", 3)
        if host == me and process.isdecimal() and not _lives(int(process)):
            _remove(left)


def write_synced(path: Path, data: bytes) -> None:
    """Writes a file complete or not at all, also when the power fails; any number of processes may at once."""
    partial = _beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise OutputError(_cannot(path, error)) from None
    finally:
        partial.unlink(missing_ok=True)


def _write(path: Path, body: Mapping[str, Any]) -> None:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    write_synced(path, hashlib.sha256(text).hexdigest().encode() + b"\n" + text + b"\n")


def _beside(path: Path) -> Path:
    """A name that nobody else writes under, on this machine or another."""
    return path.with_name(f".{path.name}~{socket.gethostname()}~{os.getpid()}~{next(_numbers)}{_PARTIAL}")


def _sync(path: Path) -> None:
    # Windows cannot sync data written through another handle, nor folders.
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        # Some network folders cannot sync a folder; the file in it is synced all the same.
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def _lives(process: int) -> bool:
    # Asking so would send a Ctrl-C there; what killed processes left stays.
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _cannot(path: Path, error: OSError) -> str:
    return cannot_be_written(path, (error.strerror or str(error)).lower())
