"""Whole processes beside the engine alone: a trace in Parquet in, results and tables out.

    make bench

The bench of the engine writes the trace, and says how fast its bare loop and its replays are. The same command with a
trace of one request gives the time to start, which is taken off. Times are wall times, and the shortest of several
counts. Reading has threads of its own.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SYSTEMS = ("conventional", "rr-ssd")
ROUNDS = 5
_NUMBER = r"[\d.,]+"
_SYSTEM = re.compile(
    rf"^(?P<name>\S+) +{_NUMBER} s +(?P<host>{_NUMBER}) M page ops/s, +(?P<share>{_NUMBER}) of the bare loop "
    rf"\( *(?P<bare>{_NUMBER}) M\), +(?P<flash>{_NUMBER}) M flash ops/s; "
    rf"tables (?P<page>{_NUMBER}|-) B/page, (?P<content>{_NUMBER}|-) B/content",
    re.MULTILINE,
)


def engine(text: str) -> dict[str, dict[str, float | None]]:
    """Each system beside its bare loop: M operations a second, their share of the loop's, bytes of tables.

    Raises:
        ValueError: the text is not the bench's output.
    """
    found = {}
    for match in _SYSTEM.finditer(text):
        cells = match.groupdict()
        name = cells.pop("name")
        found[name] = {key: None if cell == "-" else float(cell.replace(",", "")) for key, cell in cells.items()}
    if not found:
        raise ValueError(f"not what the bench of the engine prints: {text[:300]}")
    return found


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
            replay, bare = rates["host"] or 0.0, rates["bare"] or 0.0
            operations = int(output.split(maxsplit=1)[0])
            start = min(elapsed(one, "conventional", period_s, folder) for _ in range(ROUNDS))
            seconds = min(elapsed(trace, system, period_s, folder) for _ in range(ROUNDS)) - start
            rate = operations / seconds / 1e6
            print(
                f"whole: {system:14} {seconds:6.2f} s beyond {start:.2f} s to start, {rate:.2f} M page ops/s, "
                f"{rate / replay:.2f} of its replay, {rate / bare:.2f} of its bare loop"
            )


if __name__ == "__main__":
    main()
