"""Timelines of runs: the part of a run to draw, and its file."""

from dataclasses import dataclass
from pathlib import Path

from flashtwin.errors import ArgumentError, OutputError

#: The core counts nanoseconds in 64 bits; a run lasts 36 years at most.
MOST_S = 2.0**60 / 1e9


@dataclass(frozen=True)
class Timeline:
    """The file of a timeline, and the seconds of the drive's time that are in it; None: to the end of the run."""

    path: Path
    from_s: float | None = None
    to_s: float | None = None

    def __post_init__(self) -> None:
        """Refuses a part that no run has, and a file that cannot be made, before any long work."""
        begin_s, end_s = self.from_s or 0.0, self.to_s
        if not 0 <= begin_s <= MOST_S or (end_s is not None and not begin_s < end_s <= MOST_S):
            end = "at the end of the run" if end_s is None else f"at {end_s:g} s"
            raise ArgumentError(
                f"{self.path}: the timeline is to begin at {begin_s:g} s and to end {end}; "
                "give seconds of the drive's time, from 0 on, the end after the beginning"
            )
        if self.path.is_dir():
            raise OutputError(
                f"{self.path}: is a folder; name a file for the timeline, such as {self.path}/run.pftrace"
            )
        if not self.path.parent.is_dir():
            raise OutputError(f"{self.path}: there is no folder {self.path.parent}; make it, or choose another place")

    @property
    def native(self) -> tuple[Path, int, int | None]:
        return self.path, round((self.from_s or 0.0) * 1e9), None if self.to_s is None else round(self.to_s * 1e9)


def wanted(path: str | Path | None, from_s: float | None, to_s: float | None) -> Timeline | None:
    if path is not None:
        return Timeline(Path(path), from_s, to_s)
    if from_s is not None or to_s is not None:
        which = "timeline_from_s" if from_s is not None else "timeline_to_s"
        raise ArgumentError(f'{which} says which part of a timeline is wanted; name its file: timeline="run.pftrace"')
    return None
