"""An imitation beside its original: both replayed on the same drives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flashtwin.progress import Progress
from flashtwin.replays.running import compare
from flashtwin.traces.trace import Trace

#: Both traces are replayed on these: one that takes no notice of contents, one that deduplicates, one that replicates.
SYSTEMS = ("conventional", "ca-ssd", "rr-ssd")


@dataclass(frozen=True)
class Replayed:
    """A figure of the original beside that of its imitation, on one system."""

    system: str
    #: For example `"mean read, us"`.
    figure: str
    #: None where the trace has no such request.
    original: float | None
    #: The same of the imitation.
    imitation: float | None

    @property
    def error(self) -> float | None:
        """How far the imitation is from the original, as a share of it; None where that is undefined."""
        if self.original is None or self.imitation is None or self.original == 0:
            return None
        return self.imitation / self.original - 1


def replayed(
    original: Trace, imitation: Trace, periods_s: tuple[float, float], progress: Progress | None = None
) -> list[Replayed]:
    """Replays both on `SYSTEMS`; `periods_s` are the lengths of their days."""
    figures = []
    for trace, day_s in zip((original, imitation), periods_s, strict=True):
        results = compare(trace, SYSTEMS, settings={"replay.period_s": day_s}, progress=progress)
        figures.append([_figures(result.summary) for result in results.values()])
    return [
        Replayed(system, figure, first[figure], second[figure])
        for system, first, second in zip(SYSTEMS, *figures, strict=True)
        for figure in first
    ]


def _figures(summary: dict[str, Any]) -> dict[str, float | None]:
    """The figures that are shown, by their names."""
    read, write = summary["response"]["read"], summary["response"]["write"]
    programs = summary["write_amplification"]
    return {
        "mean read, us": _us(read["mean_ns"]),
        "p99 of reads, us": _us(read["p99_ns"]),
        "mean write, us": _us(write["mean_ns"]),
        "flash programs, % of the pages written": None if programs is None else 100 * programs,
    }


def _us(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / 1e3
