"""The charts of a reproduction, drawn on all cores: in processes, because threads of Python share one lock."""

from dataclasses import dataclass
from pathlib import Path

from flashtwin.errors import FlashtwinError
from flashtwin.sweeps import crew

#: Charts that pay for one more process, which takes a second to begin.
EACH = 6


@dataclass(frozen=True)
class ChartsTask(crew.Task):
    """Every n-th chart of a folder, to be drawn into it."""

    folder: str
    part: int
    parts: int

    @property
    def place(self) -> str:
        return f"charts of {self.folder}"

    @property
    def too_large(self) -> str:
        return f"{self.place}: no memory to draw them; use --no-report, and `flashtwin report` later"

    def lost(self, why: str) -> str:
        return f"{self.place}: the process that drew them ended ({why})"

    def do(self) -> None:
        from flashtwin import report

        report.draw(self.folder, self.part, self.parts)


def page(folder: Path, cores: int) -> Path:
    """Draws the charts and writes the page; returns its path."""
    from flashtwin import report

    workers = min(cores, report.count(folder) // EACH)
    if workers < 2:
        return report.build(folder)
    # More parts than workers, because charts take different times.
    parts = 3 * workers
    for _, answer in crew.in_processes([ChartsTask(str(folder), part, parts) for part in range(parts)], workers):
        if "error" in answer:
            raise FlashtwinError(answer["error"])
    return report.build(folder, drawn=True)
