"""The same uniform writes on wa-simulator and on Desnoyers' ftlsim, in turn.

    FTLSIM_DIR=/path/to/a/built/ftlsim make bench

ftlsim is github.com/pjd-nu/sssl-ftlsim; `python setup.py build_ext --inplace` (needs swig) builds
it, with the Python that runs this file. Both hold 7,812 x 128 logical pages in 8,359 blocks, one
greedy partition, written once in order; then 10 M uniform writes are drawn and written while the
clock of the processor runs. ftlsim keeps one block free and fills one, as wa-simulator does.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path

BLOCK_PAGES = 128
LOGICAL_BLOCKS = 7812
PHYSICAL_BLOCKS = 8359
WRITES = 10_000_000
ROUNDS = 3

# Runs in a process of its own: ftlsim ends the process when something is wrong.
PEER = f"""
import time
import ftlsim, getaddr
ftl = ftlsim.ftl({PHYSICAL_BLOCKS}, {BLOCK_PAGES})
# Collection goes on until `maxfree` blocks are free; with the default of 0 it never begins.
ftl.minfree, ftl.maxfree = 1, 2
ftl.get_input_pool = ftlsim.cvar.write_select_first
ftl.get_pool_to_clean = ftlsim.cvar.clean_select_first
pool = ftlsim.pool(ftl, "greedy", {BLOCK_PAGES})
pool.next_pool = pool
blocks = [ftlsim.segment({BLOCK_PAGES}) for _ in range({PHYSICAL_BLOCKS})]
for block in blocks:
    block.thisown = False
pool.add_segment(blocks.pop())
for block in blocks:
    ftl.put_blk(block)
fill, uniform = getaddr.seq(), getaddr.uniform({LOGICAL_BLOCKS * BLOCK_PAGES})
ftl.run(fill.handle, {LOGICAL_BLOCKS * BLOCK_PAGES})
ftl.ext_writes = ftl.int_writes = 0
begin = time.thread_time()
ftl.run(uniform.handle, {WRITES})
print("peer", time.thread_time() - begin, ftl.int_writes, ftl.int_writes / ftl.ext_writes)
"""


def measure(command: list[str], **environment: str) -> tuple[float, float]:
    """Programmed pages a second, and write amplification."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **environment})
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("peer ")]
    if done.returncode != 0 or len(lines) != 1:
        sys.exit(f"{command[0]} failed with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    _, seconds, programmed, amplification = lines[0]
    return float(programmed) / float(seconds), float(amplification)


def main() -> None:
    home = os.environ.get("FTLSIM_DIR")
    if not home:
        print("peer: set FTLSIM_DIR to a folder with a built ftlsim to run it on the same writes beside wa-simulator")
        return
    if not list(Path(home).glob("_ftlsim*.so")):
        sys.exit(f"{home}: no built ftlsim; run `python setup.py build_ext --inplace` there first")
    ours = ["cargo", "bench", "--locked", "--quiet", "-p", "flashtwin-analysis", "--bench", "wa", "--"]
    ours += ["--only", "peer", "--writes", str(WRITES)]
    peer = [sys.executable, "-c", PEER]
    pairs = [(measure(ours), measure(peer, PYTHONPATH=str(Path(home).resolve()))) for _ in range(ROUNDS)]
    for label, runs in (("wa-simulator", [a for a, _ in pairs]), ("ftlsim", [b for _, b in pairs])):
        speeds = [speed / 1e6 for speed, _ in runs]
        print(
            f"peer: {label:12} {statistics.median(speeds):6.1f} M pages/s [{min(speeds):.1f}-{max(speeds):.1f}], "
            f"write amplification {runs[0][1]:.3f}"
        )
    times = statistics.median(a / b for (a, _), (b, _) in pairs)
    print(f"peer: wa-simulator programs {times:.1f} times as many pages a second, pair by pair")


if __name__ == "__main__":
    main()
