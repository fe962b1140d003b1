"""Worker processes that live on and take one task after another: traces to characterize, runs of a sweep.

Not `concurrent.futures`: when a process of its pool is killed (out of memory, mostly) the pool is broken, and every
task that waits fails with the one that was under way. Here it takes its own task with it and a new process takes its
place; the task is tried again as often as it allows, then its message names the place and the cure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from flashtwin.errors import FlashtwinError
from flashtwin.progress import Progress

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: The answer of a task: nothing when it is done, otherwise the message under `error`.
Answer = dict[str, str]


class Task(ABC):
    """Something that a worker process can do."""

    #: How often it is tried when the process that does it ends. Another process would mostly die of the same: it
    #: does not fit into memory.
    ATTEMPTS: ClassVar[int] = 1

    def as_json(self) -> dict[str, Any]:
        """For a worker, wherever it works: the fields, and the name of their class."""
        kind = f"{type(self).__module__}:{type(self).__qualname__}"
        return {"kind": kind, **asdict(cast("DataclassInstance", self))}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Task:
        return cls(**value)

    @property
    @abstractmethod
    def place(self) -> str:
        """The fields of a message."""

    @property
    @abstractmethod
    def too_large(self) -> str:
        """The message when it does not fit into memory."""

    @abstractmethod
    def lost(self, why: str) -> str:
        """The message when the process that did it ended; `why` says how."""

    @abstractmethod
    def do(self) -> object:
        """Does it, in this process; the return value goes nowhere.

        Raises:
            FlashtwinError: it cannot be done; the message says why.
        """

    def answer(self) -> Answer:
        """Does it; empty when it is done, otherwise the message under `error`: one task must not stop the others."""
        try:
            self.do()
        except MemoryError:
            return {"error": self.too_large}
        except FlashtwinError as error:
            return {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - as above
            kind, text = type(error).__name__, " ".join(str(error).split())
            return {"error": f"{self.place}: internal error: {kind}: {text}; please report it"}
        return {}


AnyTask = TypeVar("AnyTask", bound=Task)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def size(wanted: int, work: int) -> int:
    """How many processes: as many as wanted, 0 for one each core, and no more than there is work."""
    return max(1, min(wanted or cores(), work))


def do_all(
    tasks: Sequence[AnyTask], workers: int, on: Any, what: str, progress: Progress | None
) -> list[tuple[AnyTask, str]]:
    """Does all tasks, and says how many are done of `what`; returns those that failed, each with its message."""
    failed = []
    if progress:
        progress(what, 0, len(tasks))
    for done, (task, answer) in enumerate(at_work(tasks, size(workers, len(tasks)), on), start=1):
        if "error" in answer:
            failed.append((task, answer["error"]))
        if progress:
            progress(what, done, len(tasks))
    return failed


def at_work(work: Sequence[AnyTask], workers: int, on: Any = None) -> Iterator[tuple[AnyTask, Answer]]:
    """Does tasks and yields each with its answer as it ends; one worker is this process itself.

    `on` is a cluster to do them on instead, as `cluster.at_work` takes it.
    """
    if on is not None:
        from flashtwin.sweeps import cluster

        return cluster.at_work(work, on)
    return ((task, task.answer()) for task in work) if workers == 1 else in_processes(work, workers)


def in_processes(work: Sequence[AnyTask], workers: int) -> Iterator[tuple[AnyTask, Answer]]:
    """The same in worker processes, however few."""
    waiting: SimpleQueue[AnyTask] = SimpleQueue()
    answered: SimpleQueue[tuple[AnyTask, Answer] | BaseException] = SimpleQueue()
    for task in work:
        waiting.put(task)
    crew = [_Worker(waiting, answered) for _ in range(workers)]
    try:
        for _ in work:
            answer = _take(answered)
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        for member in crew:
            member.tell()
        for member in crew:
            member.stop()


def _take(queue: SimpleQueue[Any]) -> Any:
    """The next entry; wakes now and then, so that Ctrl-C is seen."""
    while True:
        try:
            return queue.get(timeout=0.2)
        except Empty:
            continue


class _Worker(Generic[AnyTask]):
    """A worker process and the thread that talks to it. A process that dies takes one task with it."""

    #: How long a worker may take to leave complete files behind.
    PATIENCE_S = 20.0

    def __init__(self, waiting: SimpleQueue[AnyTask], answered: SimpleQueue[Any]) -> None:
        self._waiting, self._answered = waiting, answered
        self._stopped = False
        #: Held from checking for the end until the process is started: `tell` must not come between.
        self._starting = threading.Lock()
        self._process = _start()
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._thread.start()

    def tell(self) -> None:
        """Tells the process to end, which first deletes incomplete files."""
        with self._starting:
            self._stopped = True
            self._process.terminate()
            # A signal between Python's last look for one and its wait for the next task is seen when the wait ends.
            _close(self._process.stdin)

    def stop(self) -> None:
        try:
            self._process.wait(self.PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join(self.PATIENCE_S)
        _close(self._process.stdout)

    def _talk(self) -> None:
        try:
            while not self._stopped:
                task = self._waiting.get(block=False)
                self._answered.put((task, self._ask(task)))
        except Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits
            self._answered.put(error)

    def _ask(self, task: AnyTask) -> Answer:
        why = ""
        for _ in range(task.ATTEMPTS):
            line = self._exchange(json.dumps(task.as_json()))
            if line:
                answer: Answer = json.loads(line)
                return answer
            status = self._process.wait()
            why = f"signal {-status}" if status < 0 else f"status {status}"
            with self._starting:
                if self._stopped:
                    break
                _close(self._process.stdin)
                _close(self._process.stdout)
                self._process = _start()
        return {"error": task.lost(why)}

    def _exchange(self, line: str) -> str:
        """One line to the process, one back; empty when it has ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101, PT018 - both are pipes
        try:
            stdin.write(line + "\n")
            stdin.flush()
            answer = stdout.readline()
        except BrokenPipeError:
            return ""
        except ValueError:
            # It was told to end, and its input is closed.
            if self._stopped:
                return ""
            raise
        # A process that was killed while it answered leaves half a line.
        return answer if answer.endswith("\n") else ""


def _close(stream: IO[str] | None) -> None:
    if stream is not None:
        # What was not yet written or read goes with the process.
        with suppress(BrokenPipeError):
            stream.close()


WORKER = (sys.executable, "-c", "from flashtwin.sweeps.worker import main; main()")


def _start() -> subprocess.Popen[str]:
    # A session of its own: Ctrl-C on the terminal goes to the parent alone.
    return subprocess.Popen(  # noqa: S603 - our own program
        WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
