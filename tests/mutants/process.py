"""Runs programs of tests that may do anything: loop without end, take all memory, crash."""

from __future__ import annotations

import contextlib
import math
import os
import re
import resource
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

#: On a busy machine, and for what sleeps, a process may take this many times its time.
WAITING = 10
#: What is asked of a program of Rust's tests, names following.
LIBTEST = ("--test-threads", "1", "--exact")
LINE = re.compile(r"^test (?P<name>\S+)( - should panic)? \.\.\. (?P<result>\w+)?")


#: Process groups under way.
RUNNING: set[int] = set()

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Binary:
    """A program of tests."""

    #: `flashtwin-sim lib`, `flashtwin-sim it`.
    name: str
    #: Where its tests are run.
    folder: Path
    #: What is called, up to the names of tests.
    command: tuple[str, ...]
    #: A line that it prints when a test begins or has ended.
    line: re.Pattern[str] = LINE
    #: A change may make a table grow without end: it meets this, not the machine's limit.
    most_bytes: int = 4 << 30
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Of a processor, before the first test begins.
    start_seconds: float = 0.0


@dataclass(frozen=True)
class Ended:
    """How a run of some tests ended."""

    #: `passed`, `failed` or `timed out`.
    how: str
    #: The test that failed, or was running last.
    by: str
    #: Of a processor: what else the machine does is not to count.
    seconds: float


def run(binary: Binary, names: Sequence[str], environment: Mapping[str, str], seconds: float) -> Ended:
    """Runs tests one after another in one process, until one fails or has taken so much of a processor's time."""
    process = subprocess.Popen(
        [*binary.command, *names],
        cwd=binary.folder,
        env={**os.environ, "RUST_BACKTRACE": "0", **binary.environment, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    bounded(process.pid, binary.most_bytes, seconds)
    over = threading.Event()

    def end() -> None:
        over.set()
        kill(process.pid)

    clock = threading.Timer(WAITING * seconds + WAITING, end)
    clock.daemon = True
    clock.start()
    RUNNING.add(process.pid)
    failed, last = watched(process, binary.line)
    clock.cancel()
    if failed:
        kill(process.pid)
    RUNNING.discard(process.pid)
    status, used = waited(process)
    late = over.is_set() or status == -signal.SIGXCPU
    how = "failed" if failed else "timed out" if late else "failed" if status else "passed"
    return Ended(how, last or names[0], used)


def together(work: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """What `work`, which runs programs, says of each item, as it is done; nothing runs on when this is stopped."""
    pool = ThreadPoolExecutor(workers)
    try:
        for done in as_completed([pool.submit(work, item) for item in items]):
            yield done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for group in list(RUNNING):
            kill(group)


def waited(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """The status of a process that has ended or is about to, and how much of a processor's time it took."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def watched(process: subprocess.Popen[bytes], form: re.Pattern[str]) -> tuple[bool, str]:
    """Whether a test failed, and the name of that or of the last one that began."""
    assert process.stdout is not None
    last = ""
    with process.stdout as lines:
        for line in lines:
            match = form.match(line.decode(errors="replace"))
            if match:
                last = match["name"]
                if match["result"] == "FAILED":
                    return True, last
    return False, last


def bounded(pid: int, most_bytes: int, seconds: float) -> None:
    """Bounds a process's memory and time, where the system can, and keeps it from leaving a core behind."""
    with contextlib.suppress(AttributeError, ProcessLookupError, PermissionError):
        resource.prlimit(pid, resource.RLIMIT_AS, (most_bytes, most_bytes))
        most_seconds = math.ceil(seconds)
        resource.prlimit(pid, resource.RLIMIT_CPU, (most_seconds, most_seconds + 1))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


def kill(group: int) -> None:
    """Ends a process and all that it began."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
