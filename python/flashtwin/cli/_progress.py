"""Progress on a terminal: a bar, a rate and the time left for each job; silence when piped."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from flashtwin.progress import Progress as Heard

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Steps of a trace, as a person calls them, with their units.
_TRACES = {"reading": ("reading the trace", "B"), "making": ("making the trace", "req")}


class Bars:
    """One bar for each job, made when it first reports; gone when the work is done."""

    def __init__(self) -> None:
        """Shows nothing unless stderr is a terminal."""
        self._shown: Progress | None = None
        if sys.stderr is not None and sys.stderr.isatty():
            from flashtwin.cli._bars import bars

            self._shown = bars()
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        if self._shown:
            self._shown.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._shown.stop()

    def named(self, name: str, unit: str) -> Heard:
        """A progress callback that draws one bar of this name for all steps."""
        return lambda _, done, total: self.job(name, done, total, unit)

    def job(self, name: str, done: int, total: int, unit: str | None = None) -> None:
        """Draws how far a job is; a total of 0 means that it is not known."""
        if self._shown is None:
            return
        if unit is None:
            name, unit = _TRACES.get(name, (name, "req"))
        if name not in self._tasks:
            self._tasks[name] = self._shown.add_task(name, total=None, unit=unit)
        self._shown.update(self._tasks[name], completed=done, total=total or None)
