"""A paper's workloads measured elsewhere: by one of several parts, or on a cluster.

Each part keeps its replays in the folder; the last call, which puts the paper together, finds them there.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from flashtwin.papers.model import Scale
from flashtwin.sweeps.crew import Task


@dataclass(frozen=True)
class PaperTask(Task):
    """One workload of one paper, to be measured into the folder."""

    paper: str
    workload: str
    items: tuple[str, ...]
    out: str
    traces: str | None
    scale: Scale
    seed: int
    period_s: float

    KIND: ClassVar[str] = "paper"

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PaperTask:
        """From its parent."""
        return cls(**{**value, "items": tuple(value["items"])})

    @property
    def place(self) -> str:
        """The workload."""
        return self.workload

    @property
    def too_large(self) -> str:
        """The message when the workload does not fit into memory."""
        return f"{self.paper} {self.workload}: does not fit into memory; try a smaller --scale"

    def do(self) -> None:
        """Measures the workload: its replays are in the folder then."""
        from flashtwin.papers import choose
        from flashtwin.papers.running import ReproductionOptions, benches, measure

        traces = Path(self.traces) if self.traces else None
        how = ReproductionOptions(traces, self.scale, self.seed, self.period_s, (self.workload,))
        for bench in benches(choose(self.paper, self.items), how):
            measure(bench, Path(self.out), how, 1, threading.Event(), lambda: None)

    def lost(self, why: str) -> str:
        """The message when the process that measured it ended."""
        return f"{self.paper} {self.workload}: the process that measured it ended ({why}), out of memory perhaps"


def tasks(found: Sequence[Any], out: Path, how: Any) -> list[PaperTask]:
    """A task for each workload on the bench."""
    traces = None if how.traces is None else str(how.traces.resolve())
    return [
        PaperTask(
            one.paper.id, one.workload.name, tuple(item.id for item in one.items), str(out.resolve()), traces,
            how.scale, how.seed, how.period_s,
        )
        for one in found
    ]  # fmt: skip
