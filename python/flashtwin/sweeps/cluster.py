"""Tasks on a Dask cluster instead of this machine's processes.

A worker writes into the store, which must be a folder that it sees under the same name; what comes back is whether it
could. Threads of one worker share one copy of a trace. A worker that dies is Dask's affair: it gives the task to
another. A scheduler that dies is detected and reported; finished runs are in the store.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from flashtwin.errors import ArgumentError, FlashtwinError, not_installed
from flashtwin.sweeps import worker

if TYPE_CHECKING:
    from flashtwin.sweeps.crew import Answer, AnyTask

#: How long a scheduler may be silent before it counts as gone.
PATIENCE_S = 20.0
#: How long parting from it may take.
CLOSE_S = 3.0
#: How long to try to reach it at first.
REACH_S = 10.0


def at_work(tasks: Sequence[AnyTask], on: Any) -> Iterator[tuple[AnyTask, Answer]]:
    """Does tasks on a cluster and yields each with its answer as it ends."""
    if not tasks:
        return
    with _client(on) as client:
        ended: SimpleQueue[Any] = SimpleQueue()
        # A name of their own, so that the cluster does not answer from an earlier sweep.
        session = uuid.uuid4().hex
        futures = {}
        for number, task in enumerate(tasks):
            future = client.submit(
                worker.answer, task.as_json(), key=f"flashtwin-{session}-{number}", pure=False,
                retries=task.ATTEMPTS - 1,
            )  # fmt: skip
            futures[future.key] = (task, future)
            future.add_done_callback(ended.put)
        try:
            while futures:
                future = _next(ended, client)
                task, _ = futures.pop(future.key)
                yield task, _answer(task, future, client)
        finally:
            if futures and client.status == "running":
                client.cancel([future for _, future in futures.values()])


def _next(ended: SimpleQueue[Any], client: Any) -> Any:
    """The next task that has ended, as long as there is a scheduler."""
    lost_at = None
    while True:
        with suppress(Empty):
            future = ended.get(timeout=0.2)
            # One that was let go because its scheduler is gone has not ended.
            if future.status in ("lost", "cancelled") and client.status != "running":
                raise _gone()
            return future
        if client.status == "running":
            lost_at = None
            continue
        lost_at = lost_at or time.monotonic()
        if client.status == "closed" or time.monotonic() - lost_at > PATIENCE_S:
            raise _gone()


def _gone() -> FlashtwinError:
    return FlashtwinError("the Dask scheduler is gone; what was finished is kept: run the same again when there is one")


def _answer(task: AnyTask, future: Any, client: Any) -> Answer:
    while future.status == "finished":
        try:
            found: Answer = future.result(timeout=PATIENCE_S)
        except OSError as missed:
            # The answer was still with the scheduler, or on its way, when that went. A slow one is waited for.
            if not isinstance(missed, TimeoutError) or client.status != "running":
                raise _gone() from None
        else:
            return found
    error = future.exception() if future.status == "error" else None
    return {"error": task.lost(f"{type(error).__name__}: {error}" if error is not None else future.status)}


@contextmanager
def _client(on: Any) -> Iterator[Any]:
    try:
        import distributed
    except ImportError:
        raise not_installed("a cluster", "Dask", "distributed") from None
    if isinstance(on, distributed.Client):
        yield on
        return
    try:
        reached = {**_reached(on), "timeout": REACH_S, "set_as_default": False}
        client = distributed.Client(**reached)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise FlashtwinError(f"{on}: no Dask scheduler answers ({error}); check its address") from None
    try:
        yield client
    finally:
        # Where nobody answers any more, there is nothing to part from.
        with suppress(TimeoutError, OSError):
            client.close(timeout=CLOSE_S)  # type: ignore[no-untyped-call]


def _reached(on: Any) -> dict[str, Any]:
    if not isinstance(on, str):
        return {"address": on}
    scheme, colon, rest = on.partition(":")
    if scheme != "dask" or not colon or not rest.strip("/"):
        raise ArgumentError(f"'{on}' is no cluster; write it like dask://HOST:8786, or dask:FILE of the scheduler")
    return {"address": f"tcp:{rest}"} if rest.startswith("//") else {"scheduler_file": rest}
