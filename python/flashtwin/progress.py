"""Progress and notes of any long function, in one form.

`progress` counts, `notify` says: runs that are there already, systems left out, a period that was chosen. Functions
that write folders take both; functions that only return a result put their decisions into it.
"""

from collections.abc import Callable, Sequence
from typing import Protocol


class Progress(Protocol):
    """Is called about 20 times a second with the step and its progress.

    An exception that it raises stops the work and goes on to the caller.
    """

    def __call__(self, what: str, done: int, total: int, /) -> None:
        """`what`: the system that replays, or words such as `"reading"`; steps done; steps in all, 0 if not known."""


#: Is called with one sentence, without a full stop or a line's end, when there is something to say. It is for people:
#: whatever a program may want to know is in the result. An exception that it raises stops the work.
Notify = Callable[[str], None]


def named(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    """How the core reports one job, whose name it does not know."""
    return None if progress is None else lambda done, total: progress(what, done, total)


def numbered(progress: Progress | None, names: Sequence[str]) -> Callable[[int, int, int], None] | None:
    """How the core reports one of several jobs, which it knows by their numbers."""
    return None if progress is None else lambda index, done, total: progress(names[index], done, total)
