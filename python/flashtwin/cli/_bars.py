"""The bars of Rich: loaded on a terminal alone, because it takes as long as all else that a help page needs."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


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


def bars() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f} %"),
        _Rate(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
