"""Speed: the output of the benches of `make bench`, of sweeps and of served drives, and the cost of whole processes.

These figures are one machine's at one time. Measure them on a machine that does nothing else. Their pages name it.
"""

from __future__ import annotations

import os
import platform
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.output import engine

import flashtwin as ft
from evidence import code
from evidence.code import ROOT
from evidence.forms import grid, ratio
from evidence.study import Data, Lab, Study
from flashtwin.sweeps import crew

CODE = (
    *code.REPLAY, *code.ANALYSIS, "workloads", "benches", "crates/trace/benches", "crates/analysis/benches",
    "crates/sim/benches",
)  # fmt: skip
LIVE_CODE = (
    "crates/bits/src", "crates/nand/src", "crates/ftl/src", "crates/live/src", "crates/live/examples",
    "crates/python/src/drive.rs", "systems", "devices", "benches/nbd_speed.py", "benches/recovery.py",
)  # fmt: skip
#: Benches by package.
BENCHES = {
    "engine": "flashtwin-sim", "basics": "flashtwin-analysis", "locality": "flashtwin-analysis",
    "wa": "flashtwin-analysis", "ingest": "flashtwin-trace", "synthesize": "flashtwin-trace",
}  # fmt: skip
#: Scripts that run a peer, with the variable that names its folder.
PEERS = {"peer_ftlsim": "FTLSIM_DIR", "peer_mqsim": "MQSIM_DIR"}
#: Recipes that are made by whole processes, at their own scale.
MADE = ("rr-ssd/webvm", "ca-ssd/mail", "rr-ssd/trans", "ca-ssd/hm", "ds-ftl/home1")
#: Requests of the two traces that are characterized; pages of 4 KB.
REQUESTS, PAGES = (1_000_000, 8_000_000), 198_000


def measure(lab: Lab) -> Data:
    """One bench after another. Nothing is kept, because another time is another measurement."""
    found: dict[str, Any] = {"machine": machine()}
    for bench, package in BENCHES.items():
        lab.say(f"cargo bench -p {package} --bench {bench}")
        found[bench] = _output(["cargo", "bench", "--locked", "--quiet", "-p", package, "--bench", bench])
    for script, variable in PEERS.items():
        found[script] = _output([sys.executable, f"benches/{script}.py"]) if os.environ.get(variable) else []
    found["whole"] = _output([sys.executable, "-m", "benches.whole"])
    found["processes"] = [*_making(lab.scratch("made")), *_characterizing(lab.scratch("made"))]
    return found


def measure_sweeps(lab: Lab) -> Data:
    """The output of `benches/sweeps.py`."""
    lab.say("benches/sweeps.py")
    return {"machine": machine(), "output": _output([sys.executable, "benches/sweeps.py"])}


def measure_live(lab: Lab) -> Data:
    """The output of `benches/nbd_speed.py` and `benches/recovery.py`."""
    lab.say("benches/nbd_speed.py, benches/recovery.py")
    return {
        "machine": machine(),
        "requests": _output([sys.executable, "benches/nbd_speed.py", "--rounds", "1", "--seconds", "2"]),
        "recovery": _output([sys.executable, "benches/recovery.py"]),
    }


def machine() -> dict[str, Any]:
    """The machine, and the load on it before a measurement."""
    return {"processor": _processor(), "cores": crew.cores(), "load_before": round(os.getloadavg()[0], 2)}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _output(command: Sequence[str]) -> list[str]:
    """The lines that a program prints. Its errors go to the terminal."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def _making(scratch: Path) -> list[str]:
    """Recipes into files, by whole processes."""
    out, lines = scratch / "made.parquet", []
    for name in MADE:
        requests = ft.workload(name).recipe["requests"]["count"]
        lines.append(f"synthesize {name}, {requests / 1e6:.1f} M requests: ")
        lines[-1] += process(["trace", "synthesize", name, "--out", str(out)])
        out.unlink(missing_ok=True)
    return lines


def _characterizing(scratch: Path) -> list[str]:
    """A trace and one with more requests to the same pages, in memory and streamed."""
    trace, out, lines = scratch / "made.csv", scratch / "characterized", []
    for requests in REQUESTS:
        _write_msr(trace, requests)
        for way, flags in (("in memory", []), ("streamed", ["--stream"])):
            # Existing results would be used again.
            shutil.rmtree(out, ignore_errors=True)
            command = ["characterize", str(trace), "--format", "msr", "--no-reports", "--out", str(out), *flags]
            lines.append(f"characterize {requests / 1e6:.0f} M requests, {way}: {process(command)}")
        trace.unlink()
    return lines


def process(arguments: Sequence[str]) -> str:
    """Seconds and peak memory of `flashtwin`, the start of Python included."""
    command = [str(Path(sys.executable).parent / "flashtwin"), *arguments]
    begun = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return f"{time.monotonic() - begun:.1f} s, {_peak_bytes(used) / 1e6:.0f} MB"


def _peak_bytes(used: resource.struct_rusage) -> int:
    """Resident bytes at most. Linux counts them in KiB, macOS in bytes."""
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _write_msr(path: Path, requests: int) -> None:
    """Requests of 4 KB all over the pages, three in ten of them reads."""
    draw = random.Random(1)
    with path.open("w", encoding="ascii") as out:
        for number in range(requests):
            kind = "Read" if draw.random() < 0.3 else "Write"
            page = int(draw.random() * PAGES)
            out.write(f"{128166372000000000 + number * 250},made,0,{kind},{page * 4096},4096,0\n")


def pages(data: Data) -> Data:
    """The output as it is, and the replays as a table: by the clock, and as a share of the bare loop."""
    systems = engine("\n".join(data["engine"]))
    table = grid(
        ["system", "share of its bare loop", "M page operations/s", "its bare loop", "M flash operations/s",
         "tables, bytes a page / a content"],
        ([f"`{name}`", ratio(one["share"]), ratio(one["host"]), ratio(one["bare"]), ratio(one["flash"]),
          f"{ratio(one['page'], 1)} / {ratio(one['content'], 1)}"] for name, one in systems.items()),
    )  # fmt: skip
    return {**data, "engine": table, "operations": data["engine"][0], "rr_ssd": systems["rr-ssd"]}


IDLE = "an idle machine"
STUDY = Study("speed", "speed of the fast paths", measure, pages, CODE, needs=IDLE)
SWEEPS = Study(
    "sweeps", "the cost of a sweep beyond its replays", measure_sweeps,
    code=(*code.REPLAY, "benches/sweeps.py", "python/flashtwin/sweeps"), needs=IDLE,
)  # fmt: skip
LIVE = Study(
    "live", "the served drive beside nbdkit, and opening it after a kill", measure_live, code=LIVE_CODE,
    needs=f"{IDLE} with nbdkit and fio",
)  # fmt: skip
