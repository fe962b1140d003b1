"""Whole processes beside the engine alone: a trace in Parquet in, results and tables out.

    make bench

The trace is that of the bench of the engine, which writes it and says how fast its bare loop and its replays are.
What a process takes to start (Python, the program, an empty device) is what the same command takes with a trace of
one request, and is taken off. Times are wall times; reading has threads of its own. The shortest of several counts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.output import engine

SYSTEMS = ("conventional", "rr-ssd")
ROUNDS = 5


def bench(*arguments: str) -> str:
    command = ["cargo", "bench", "--locked", "--quiet", "-p", "flashtwin-sim", "--bench", "engine", "--", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def elapsed(trace: Path, system: str, period_s: str, folder: Path) -> float:
    program = str(Path(sys.executable).parent / "flashtwin")
    command = [program, "replay", str(trace), "--system", system, "--set", f"replay.period_s={period_s}", "--json"]
    with tempfile.TemporaryDirectory(dir=folder) as out:
        begin = time.perf_counter()
        subprocess.run([*command, "--out", f"{out}/run"], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace, one = folder / "trace.parquet", folder / "one.csv"
        period_s = bench("--write", str(trace)).split()[-1]
        one.write_text("128166372000000000,made,0,Write,0,4096,0\n")
        for system in SYSTEMS:
            output = bench("--only", system)
            rates = engine(output)[system]
            operations = int(output.split(maxsplit=1)[0])
            start = min(elapsed(one, "conventional", period_s, folder) for _ in range(ROUNDS))
            seconds = min(elapsed(trace, system, period_s, folder) for _ in range(ROUNDS)) - start
            rate = operations / seconds / 1e6
            print(
                f"whole: {system:14} {seconds:6.2f} s beyond {start:.2f} s to start, {rate:.2f} M page ops/s, "
                f"{rate / rates['host']:.2f} of its replay, {rate / rates['bare']:.2f} of its bare loop"
            )


if __name__ == "__main__":
    main()
