"""A worker process: takes jobs as lines of JSON from standard input, answers with one line each.

Started by `flashtwin.sweeps.batch`. A process of its own keeps what one trace
does (memory, a crash) away from the others. It ends when its input does, or when it is told to
(SIGTERM), and leaves complete files only.
"""

from __future__ import annotations

import json
import signal
import sys
from types import FrameType

from flashtwin.errors import FlashtwinError
from flashtwin.sweeps import jobs


def main() -> None:
    """Works until there is nothing left to do."""
    # Ctrl-C is for the parent to see, which then tells its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(jobs.Job.from_json(json.loads(line)))) + "\n")
        sys.stdout.flush()


def answer(job: jobs.Job) -> dict[str, str]:
    """Does a job; empty when it is done, otherwise the message under `error`."""
    try:
        jobs.do(job)
    except MemoryError:
        return {"error": f"{job.path}: does not fit into memory; try --stream, or --sample"}
    except Exception as error:  # noqa: BLE001 - one trace must not stop the others
        return {"error": _message(job, error)}
    return {}


def _message(job: jobs.Job, error: Exception) -> str:

    if isinstance(error, FlashtwinError):
        return str(error)
    return f"{job.path}: internal error: {type(error).__name__}: {' '.join(str(error).split())}; please report it"


def _stop(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
