"""A file of many volumes, split and characterized on a local Dask cluster of two workers."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

from benches import long_trace

import flashtwin as ft
from evidence import code
from evidence.forms import ratio
from evidence.study import Data, Lab, Study

REQUESTS = int(os.environ.get("FLASHTWIN_REQUESTS", "100_000_000"))
VOLUMES, WORKERS, WORKER_BYTES = 1_000, 2, 2 * 10**9
#: The page extrapolates to 10^10 requests on as many workers.
FAR_WORKERS = 100


def measure(lab: Lab) -> Data:
    from distributed import Client, LocalCluster

    place = lab.scratch("volumes")
    shutil.rmtree(place)
    place.mkdir()
    # An hour on volumes of 400 MB.
    how = {"pages": 100_000, "contents": 10_000_000, "gap_ns": 3600 * 10**9 // REQUESTS, "volumes": VOLUMES}
    long_trace.write(place / "volumes.parquet", REQUESTS, **how)
    begun, cpu_s = time.monotonic(), _cpu_s(RUSAGE_CHILDREN)
    command = f"-m flashtwin trace split {place}/volumes.parquet --out {place}/parts"
    split_mib = 0.0
    with subprocess.Popen([sys.executable, *command.split()]) as split:
        while split.poll() is None:
            split_mib = max(split_mib, _peak_mib(str(split.pid)))
            time.sleep(0.1)
    if split.returncode:
        raise subprocess.CalledProcessError(split.returncode, command)
    split_s = time.monotonic() - begun
    cpu_s = _cpu_s(RUSAGE_CHILDREN) - cpu_s
    limits: dict[str, Any] = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": WORKER_BYTES}
    cluster = LocalCluster(dashboard_address=None, **limits)  # type: ignore[no-untyped-call]
    with cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
        begun = time.monotonic()
        done = ft.characterize_many(place / "parts", place / "out", on=client, report=False, period_s=3600.0)
        wall_s = time.monotonic() - begun
        workers_s, workers_mib = client.run(_cpu_s, RUSAGE_SELF), client.run(_peak_mib)
    parts = json.loads((place / "parts/manifest.json").read_text())["parts"]
    shutil.rmtree(place)
    return {
        "requests": REQUESTS, "traces": len(done.traces), "largest": max(part["requests"] for part in parts),
        "split_wall_s": split_s, "split_cpu_s": cpu_s, "split_mib": split_mib,
        "wall_s": wall_s, "cpu_s": sum(workers_s.values()), "worker_mib": max(workers_mib.values()),
    }  # fmt: skip


def _cpu_s(who: int) -> float:
    used = getrusage(who)
    return used.ru_utime + used.ru_stime


def _peak_mib(process: str = "self") -> float:
    """Peak memory of a running process. That of `getrusage` is at least its parent's, which has other studies."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="utf-8"))
    return int(found[1]) / 1024 if found else 0.0


def pages(data: Data) -> Data:
    """The costs a request, and those of the far run at these costs."""
    split_us, us = (1e6 * data[key] / data["requests"] for key in ("split_cpu_s", "cpu_s"))
    cpu_s, share = 1e4 * us, data["largest"] / data["requests"]
    far = {"split_s": 1e4 * split_us, "cpu_s": cpu_s, "s": cpu_s / FAR_WORKERS, "largest_s": cpu_s * share}
    return {
        **{key: round(value) for key, value in data.items()}, "split_us": ratio(split_us), "us": ratio(us),
        "percent": ratio(100 * share, 1), "far": {key: round(value) for key, value in far.items()},
        "mib_fits": data["worker_mib"] < WORKER_BYTES / 2**20,
    }  # fmt: skip


STUDY = Study(
    "volumes", "a file of a thousand volumes on Dask", measure, pages,
    (*code.ANALYSIS, "benches/long_trace.py", "python/flashtwin/sweeps"), needs="an idle machine with 20 GB of disk",
)  # fmt: skip
