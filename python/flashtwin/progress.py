"""One way to hear how far work is, whichever function does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Progress(Protocol):
    """Is called about 20 times a second with what is being done and how far it is.

    An exception that it raises stops the work and goes on to the caller.
    """

    def __call__(self, what: str, done: int, total: int, /) -> None:
        """`what`: the system that replays, or words such as `"reading"`; steps done; steps in all, 0 if not known."""


def named(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    """How the core reports one job, whose name it does not know."""
    return None if progress is None else lambda done, total: progress(what, done, total)


def numbered(progress: Progress | None, names: Sequence[str]) -> Callable[[int, int, int], None] | None:
    """How the core reports one of several jobs, which it knows by their numbers."""
    return None if progress is None else lambda index, done, total: progress(names[index], done, total)
