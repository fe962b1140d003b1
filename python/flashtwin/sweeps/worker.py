"""A worker process: takes tasks as lines of JSON from standard input, answers with one line each.

Started by `flashtwin.sweeps.crew`. A process of its own keeps what one task
does (memory, a crash) away from the others. It ends with its input, or on SIGTERM,
and leaves complete files only.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from types import FrameType
from typing import Any

from flashtwin.sweeps.crew import Task


def main() -> None:
    # Ctrl-C is for the parent to see, which then tells its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGALRM, _stop)
    sys.unraisablehook = _stop_later
    try:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
            sys.stdout.flush()
    except BrokenPipeError:
        # The parent was killed; finished work is kept. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def answer(task: dict[str, Any]) -> dict[str, str]:
    """Does a task that came as JSON; empty when it is done, otherwise the message under `error`.

    Its class comes by name, so that rooms above this one can have tasks of their own.
    """
    module, _, name = task.pop("kind").partition(":")
    kind: type[Task] = getattr(importlib.import_module(module), name)
    return kind.from_json(task).answer()


def _stop(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _stop_later(ignored: sys.UnraisableHookArgs) -> None:
    """Python ignores what is raised within a `__del__`, so a signal that comes then would be lost."""
    if isinstance(ignored.exc_value, SystemExit):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(ignored)
