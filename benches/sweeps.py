"""The cost of a sweep beyond its replays, and two Dask workers of one machine beside the local pool of two.

Replays in this process and the same as a sweep of one worker, of the local pool and of Dask take turns. Every sweep
begins with an empty folder and draws no page. The pool starts its processes within its time, Dask's stand ready.
"""

import functools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flashtwin as ft
from flashtwin import report

REQUESTS = 200_000
SPEEDS = list(range(1, 41))
ROUNDS = 5
WORKERS = 2


def trace(folder: Path) -> Path:
    """Reads and writes by turns over 64 MB, one every 100 us; contents repeat."""
    number = range(REQUESTS)
    columns = {
        "time_ns": [one * 100_000 for one in number],
        "op": ["W" if one % 2 else "R" for one in number],
        "offset_bytes": [one * 7919 % 16_384 * 4096 for one in number],
        "length_bytes": [4096] * REQUESTS,
        "content": [[one * 31 % 5000] for one in number],
    }
    path = folder / "bench.parquet"
    ft.Trace.from_frame(columns, name="bench").write_parquet(path)
    return path


def timed(work: Callable[[], Any]) -> float:
    """Wall seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def sweep(path: Path, **how: Any) -> float:
    """Seconds of one whole sweep into an empty folder."""
    with tempfile.TemporaryDirectory() as out:
        return timed(lambda: ft.sweep(path, Path(out) / "out", ["conventional"], speed=SPEEDS, **how))


def bare(path: Path) -> float:
    """Seconds of the same replays and nothing else."""
    opened = ft.open(path)
    return sum(timed(functools.partial(ft.replay, opened, "conventional", speed=speed)) for speed in SPEEDS)


def main() -> None:
    try:
        import distributed
    except ImportError:
        print("sweep: run `make extras` for Dask beside the local pool")
        return
    report.build = lambda folder, **_: Path(folder)
    print(f"sweep: load average {os.getloadavg()[0]:.1f} before, {os.cpu_count()} cores")
    found: dict[str, list[float]] = {"replays": [], "one worker": [], "pool": [], "dask": []}
    with (
        tempfile.TemporaryDirectory() as name,
        distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None
        ) as cluster,
    ):
        path = trace(Path(name))
        sweep(path, on=cluster)
        for _ in range(ROUNDS):
            found["replays"].append(bare(path))
            found["one worker"].append(sweep(path, workers=1))
            found["pool"].append(sweep(path, workers=WORKERS))
            found["dask"].append(sweep(path, on=cluster))
    for kind, seconds in found.items():
        spread = f"[{min(seconds):.2f}-{max(seconds):.2f}]"
        print(f"sweep: {kind:10} {statistics.median(seconds):6.2f} s {spread}, {len(SPEEDS)} runs")
    beyond = [
        (one - alone) / len(SPEEDS) * 1e3 for one, alone in zip(found["one worker"], found["replays"], strict=True)
    ]
    times = [dask / pool for dask, pool in zip(found["dask"], found["pool"], strict=True)]
    print(f"sweep: overhead {statistics.median(beyond):.1f} ms a run beyond the replay")
    print(f"sweep: dask takes {statistics.median(times):.2f} times as long as the pool, round by round")
    print(f"sweep: load average {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
