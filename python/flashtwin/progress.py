"""One way to hear how far work is, and what was decided on the way, whichever function does it.

`progress` counts, `notify` says: runs that are there already, systems left out, a period that was chosen. Functions
that write folders take both; of those that only return a result, the result says what was decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Progress(Protocol):
    """Is called about 20 times a second with what is being done and how far it is.

    An exception that it raises stops the work and goes on to the caller.
    """

    def __call__(self, what: str, done: int, total: int, /) -> None:
        """`what`: the system that replays, or words such as `"reading"`; steps done; steps in all, 0 if not known."""


#: Is called with one sentence, without a full stop or a line's end, when there is something to say. It is for people:
#: whatever a program may want to know is in what the function returns. An exception that it raises stops the work.
Notify = Callable[[str], None]


def named(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    """How the core reports one job, whose name it does not know."""
    return None if progress is None else lambda done, total: progress(what, done, total)


def numbered(progress: Progress | None, names: Sequence[str]) -> Callable[[int, int, int], None] | None:
    """How the core reports one of several jobs, which it knows by their numbers."""
    return None if progress is None else lambda index, done, total: progress(names[index], done, total)
