"""One at a time in a result folder: a lock that dies with its process.

The lock is one of the operating system on the file `.lock`, so that one left by a killed process holds nobody up.
The content of the file is for the message to the second process.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

LOCK = ".lock"


class BusyError(Exception):
    """Somebody else is at work in the folder; the message says who, as far as is known."""


@dataclass
class _HeldLock:
    thread: int
    times: int
    handle: int | None


_guard = threading.Lock()
_held: dict[Path, _HeldLock] = {}


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Holds the lock of a folder, or raises `BusyError`; yields whether it is new: its thread may have it again."""
    key, fresh = path.resolve(), None
    try:
        with _undisturbed():
            fresh = _acquire(key)
        yield fresh
    finally:
        if fresh is not None:
            _release(key)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Delays Ctrl-C to the end of the block, so that a lock is either known to be ours or not there."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda *which: came.append(which))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came and callable(before):
            before(*came[0])


def _acquire(key: Path) -> bool:
    with _guard:
        mine = _held.get(key)
        if mine is not None and mine.thread == threading.get_ident():
            mine.times += 1
            return False
        if mine is not None:
            raise BusyError("another thread of this process is at work in it")
        _held[key] = _HeldLock(threading.get_ident(), 1, _lock(key / LOCK))
        return True


def _release(key: Path) -> None:
    with _guard:
        mine = _held[key]
        mine.times -= 1
        if mine.times > 0:
            return
        del _held[key]
        if mine.handle is not None:
            with suppress(OSError):
                (key / LOCK).unlink()
            os.close(mine.handle)


def _lock(file: Path) -> int | None:
    """The open file, locked; None where the file system, or the system, knows no such locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise BusyError(_who(file)) from None
        except OSError:
            os.close(handle)
            return None
        # The process that had the lock removes the file when it ends. If it did so between `open` and `flock`, this
        # lock is on a file that has no name any more, and another process may lock a new one of that name: try again.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), file.stat()):
                _write(handle)
                return handle
        os.close(handle)


def _write(handle: int) -> None:
    me = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    os.ftruncate(handle, 0)
    os.write(handle, json.dumps(me).encode())


def _who(file: Path) -> str:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        where = "" if found["host"] == socket.gethostname() else f" on {found['host']}"
        who = f"process {found['process']}{where} (`{found['command']}`, since {found['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        who = "another process"
    return f"{who} is at work in it"
