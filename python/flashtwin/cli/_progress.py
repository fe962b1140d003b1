"""Progress on a terminal: a bar, a rate and the time left for each job; silence when piped."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from flashtwin.progress import Progress as Heard

#: Steps of a trace, as a person calls them, with their units.
_TRACES = {"reading": ("reading the trace", "B"), "making": ("making the trace", "req")}


class _Rate(ProgressColumn):
    """Steps a second, in the job's own unit."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed and task.elapsed:
            # A job so short that it reported once has no speed between reports, but one since its start.
            speed = task.completed / task.elapsed
        if not speed:
            return Text("")
        unit = task.fields["unit"]
        for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if speed >= size:
                return Text(f"{speed / size:.1f} {prefix}{unit}/s")
        return Text(f"{speed:.0f} {unit}/s")


class Bars:
    """One bar for each job, made when it first reports; gone when the work is done."""

    def __init__(self) -> None:
        """Shows nothing unless stderr is a terminal."""
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn("{task.percentage:>3.0f} %"),
            _Rate(),
            TimeRemainingColumn(),
        )
        self._shown = console.is_terminal
        self._progress = Progress(*columns, console=console, transient=True, disable=not self._shown)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def named(self, name: str, unit: str) -> Heard:
        """A progress callback that draws one bar of this name for all steps."""
        return lambda _, done, total: self.job(name, done, total, unit)

    def job(self, name: str, done: int, total: int, unit: str | None = None) -> None:
        """Draws how far a job is; a total of 0 means that it is not known."""
        if not self._shown:
            return
        if unit is None:
            name, unit = _TRACES.get(name, (name, "req"))
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=None, unit=unit)
        self._progress.update(self._tasks[name], completed=done, total=total or None)
