"""The papers from Python: the work of `flashtwin reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.characterization.measuring import PERIOD_S
from flashtwin.errors import ArgumentError
from flashtwin.progress import Progress

if TYPE_CHECKING:
    from flashtwin.papers.model import Scale
    from flashtwin.papers.running import Reproduction


def reproduce(
    paper: str | None = None,
    items: Sequence[str] = (),
    *,
    out: str | Path = "reproduction",
    traces: str | Path | None = None,
    scale: Scale = "default",
    seed: int = 0,
    period_s: float = PERIOD_S,
    workloads: Sequence[str] = (),
    workers: int = 0,
    on: Any = None,
    shard: str | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Re-runs the tables and figures of a paper and compares them with the published numbers (docs/reproduction.md).

    Args:
        paper: `"rr-ssd"`, `"ca-ssd"`, `"ds-ftl"` or `"swc"`; all four where none is named.
        items: the paper's tables and figures, as `flashtwin reproduce --list` names them; all where none is.
        out: folder of the results and the report. Every replay is kept there as it finishes and not done again.
        traces: folder of recorded traces; recipes stand in for those that are not there.
        scale: size of the synthetic workloads, as a share of the published one (above 0, at most 1); `"default"`
            and `"quick"` take less than half an hour and three minutes, for all papers together.
        seed: seed of the synthetic workloads.
        period_s: length of a day of the traces in seconds.
        workloads: only these.
        workers: replays at once; 0: one for each core.
        on: a Dask cluster, a Dask client or an address to measure on, as in `sweep`.
        shard: `"2/8"`: only the second of eight parts of the workloads, beside other processes in the same folder;
            papers and report are left to a call without it.
        progress: told `"items"`, how many are measured (one a workload) and how many there are (`flashtwin.progress`).

    Returns:
        The report's path (`report`; None of a part), the results (`papers`), and how many
        replays it took (`replayed`).

    Raises:
        ArgumentError: the scale is neither such a share nor one of the two names.
        FlashtwinError: a name is not known, or the folder holds something else.

    >>> import flashtwin as ft
    >>> found = ft.reproduce("ca-ssd", ["fig-8"], out="out/ca-ssd", scale=0.001)
    >>> [item["id"] for paper in found.papers for item in paper["items"]]
    ['fig-8']
    """
    # The report draws charts: a program that only opens a trace need not load them.
    from flashtwin.papers import choose
    from flashtwin.papers.running import ReproductionOptions, run
    from flashtwin.sweeps import plan

    if scale not in ("default", "quick") and not (isinstance(scale, int | float) and 0 < scale <= 1):
        raise ArgumentError(f"scale is {scale!r}: expected 'default', 'quick' or a share above 0, up to 1")
    shared = plan.shard(shard) if shard else None
    how = ReproductionOptions(
        Path(traces) if traces is not None else None, scale, seed, period_s, tuple(workloads), workers, on, shared
    )
    return run(choose(paper, items), Path(out), how, progress=progress)
