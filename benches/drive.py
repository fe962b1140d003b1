"""Cost of a drive in virtual time: CPU of a closed loop of 4 KB requests, beside a replay of the same requests.

    python -m benches.drive [--pairs 5] [--requests 1000000] [--batch 1000] [--system conventional] [--parts]

Each pair is run one after the other, because other work of the machine comes and goes; the median of the ratios counts.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import flashtwin as ft

PAGES, PAGE, BATCH_NS = 1 << 16, 4096, 20_000_000


def requests(count: int, batch: int) -> dict[str, Any]:
    """Half of them writes; a batch comes when the one before is as good as done."""
    random = np.random.default_rng(1)
    return {
        "time_ns": np.arange(count) // batch * BATCH_NS, "op": random.choice(["read", "write"], count),
        "offset_bytes": random.integers(0, PAGES, count) * PAGE, "length_bytes": np.full(count, PAGE),
    }  # fmt: skip


def one(way: str, asked: argparse.Namespace) -> None:
    if way == "replay":
        ft.replay(asked.trace, asked.system, fill=0.9)
        return
    columns = requests(asked.requests, asked.batch)
    with ft.Drive(asked.system, size=PAGES * PAGE, fill=0.9) as drive:
        for first in range(0, asked.requests, asked.batch):
            drive.submit(*(column[first : first + asked.batch] for column in columns.values()))
            drive.advance(int(columns["time_ns"][first]) + BATCH_NS - 1)
            drive.completed(parts=asked.parts)
        drive.finish()


def cpu_s(way: str, asked: argparse.Namespace, trace: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    sizes = ["--requests", str(asked.requests), "--batch", str(asked.batch), "--system", asked.system]
    words = [
        sys.executable,
        __file__,
        "--one",
        way,
        "--trace",
        str(trace),
        *sizes,
        *(["--parts"] if asked.parts else []),
    ]
    subprocess.run(words, check=True, env={**os.environ, "FLASHTWIN_CACHE": "off"})
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--system", default="conventional")
    parser.add_argument("--one", choices=["replay", "drive"])
    parser.add_argument("--parts", action="store_true", help="tell where the time of each went, too")
    parser.add_argument("--trace")
    asked = parser.parse_args()
    if asked.one:
        one(asked.one, asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "loop.parquet"
        ft.Trace.from_frame(requests(asked.requests, asked.batch), name="loop").write_parquet(trace)
        pairs = [(cpu_s("drive", asked, trace), cpu_s("replay", asked, trace)) for _ in range(asked.pairs)]
    ratio, replay_s = statistics.median(a / b for a, b in pairs), statistics.median(b for _, b in pairs)
    print(f"{asked.system}: {ratio:.2f} times the CPU of a replay ({replay_s:.2f} s)")


if __name__ == "__main__":
    main()
