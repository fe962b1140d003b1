"""Aged drives that are kept between runs: where, how many bytes of them, and replays that use them.

A drive that is filled and written over before a replay (`replay.preload = "footprint"`) takes minutes to age where it
is large. The aged drive is kept in a folder, so that the next run with the same controller, flash, seed and pages
before the trace reads it back (crates/sim/src/aged.rs). Results do not depend on it, byte by byte.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashtwin import _core
from flashtwin.errors import ArgumentError
from flashtwin.replays.presets import System
from flashtwin.replays.timelines import Timeline
from flashtwin.results.folder import core_digest
from flashtwin.traces.scan import Replayable

#: The environment variable that names the folder; OFF: nothing is kept or read back.
VARIABLE = "FLASHTWIN_CACHE"
OFF = "off"
#: How many bytes drives may take together; those used longest ago go first.
BYTES_VARIABLE = "FLASHTWIN_CACHE_BYTES"
MOST_BYTES = 20 * 10**9
#: Drives that took less are not worth a file.
LEAST_S = 0.3

_PREFIX = "aged-"


@dataclass(frozen=True)
class KeptDrive:
    name: str
    bytes: int
    #: When it was last made or used, in seconds since 1970.
    used_s: float


def folder() -> Path | None:
    """Where aged drives are kept: `FLASHTWIN_CACHE`, or `flashtwin` in the user's folder for caches.

    None where that is `off`, or where there is no such folder.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        return None if named == OFF else Path(named)
    try:
        return _caches() / "flashtwin"
    except RuntimeError:  # There is no home.
        return None


def _caches() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    # By the XDG specification, paths that are not absolute are not heard.
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"


def most_bytes() -> int:
    text = os.environ.get(BYTES_VARIABLE, "")
    if not text:
        return MOST_BYTES
    if not (text.isascii() and text.isdecimal() and int(text) < 2**63):
        raise ArgumentError(f"{BYTES_VARIABLE} is '{text}': expected a whole number of bytes, such as {MOST_BYTES}")
    return int(text)


def drives() -> list[KeptDrive]:
    """The aged drives in the folder, those used last first."""
    return sorted((one for _, one in _files()), key=lambda one: (-one.used_s, one.name))


def clear() -> list[KeptDrive]:
    """Deletes all aged drives, and files of them left half-written; returns the deleted ones."""
    gone = []
    for file, one in _files(half_written=True):
        file.unlink(missing_ok=True)
        gone.append(one)
    return gone


def _files(*, half_written: bool = False) -> list[tuple[Path, KeptDrive]]:
    where = folder()
    if where is None or not where.is_dir():
        return []
    files = [*where.glob(f"{_PREFIX}*"), *(where.glob(f".{_PREFIX}*.part") if half_written else ())]
    found = []
    for file in files:
        try:
            about = file.stat()
        except FileNotFoundError:  # Another process has made room.
            continue
        found.append((file, KeptDrive(file.name, about.st_size, about.st_mtime)))
    return found


def run(
    trace: Replayable,
    systems: Sequence[System],
    threads: int = 0,
    progress: Callable[[int, int, int], None] | None = None,
    finished: Callable[[int, _core.RunResult], None] | None = None,
    requests: Sequence[str | os.PathLike[str] | None] | None = None,
    *,
    informed: bool = False,
    timeline: Timeline | None = None,
) -> list[_core.RunResult]:
    """Replays a trace on systems (`_core.run`), with drives that were aged before where there are any.

    Faults of a kept drive go to the log `flashtwin`, a line each. With `informed`, the trace's numbers
    are wanted afterwards: they are worked out beside the runs, where there are processors for it. The timeline is that
    of the first system.
    """
    where = folder()
    drives = None if where is None else (where, core_digest(), LEAST_S, most_bytes())
    resolved = [system._resolved for system in systems]
    log = logging.getLogger("flashtwin")
    timelines = None if timeline is None else [timeline.native]
    return _core.run(
        trace._native, resolved, threads, progress, finished, requests, drives, log.warning, informed, timelines
    )
