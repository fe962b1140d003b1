"""Speed: the output of the benches of `make bench`, of sweeps and of served drives.

These figures are one machine's at one time. Measure them on a machine that does nothing else. Their pages name it.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.whole import engine

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
BENCHES = {
    "engine": "flashtwin-sim", "basics": "flashtwin-analysis", "locality": "flashtwin-analysis",
    "wa": "flashtwin-analysis", "ingest": "flashtwin-trace", "synthesize": "flashtwin-trace",
}  # fmt: skip
#: Scripts that run a peer, with the variable that names its folder.
PEERS = {"peer_ftlsim": "FTLSIM_DIR", "peer_mqsim": "MQSIM_DIR"}


def measure(lab: Lab) -> Data:
    """One bench after another. Nothing is kept, because another time is another measurement."""
    found: dict[str, Any] = {"machine": machine()}
    # Peers come first: if one is not built, no measurement is lost.
    for script, variable in PEERS.items():
        lab.say(f"benches/{script}.py")
        found[script] = _script(script) if os.environ.get(variable) else []
    for bench, package in BENCHES.items():
        lab.say(f"cargo bench -p {package} --bench {bench}")
        found[bench] = _output(["cargo", "bench", "--locked", "--quiet", "-p", package, "--bench", bench])
    found["whole"] = _script("whole")
    return found


def measure_sweeps(lab: Lab) -> Data:
    lab.say("benches/sweeps.py")
    return {"machine": machine(), "output": _script("sweeps")}


def measure_live(lab: Lab) -> Data:
    lab.say("benches/nbd_speed.py, benches/recovery.py")
    return {
        "machine": machine(),
        "requests": _script("nbd_speed", "--rounds", "1", "--seconds", "2"),
        "recovery": _script("recovery"),
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


def _script(name: str, *options: str) -> list[str]:
    return _output([sys.executable, "-m", f"benches.{name}", *options])


def _output(command: Sequence[str]) -> list[str]:
    """The lines that a program prints. Its errors go to the terminal."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def pages(data: Data) -> Data:
    """The output as it is, and the replays as a table: by the clock, and as a share of the bare loop."""
    systems = engine("\n".join(data["engine"]))
    table = grid(
        ["system", "share of its bare loop", "M page operations/s", "its bare loop", "M flash operations/s",
         "tables, bytes a page / a content"],
        ([f"`{name}`", ratio(one["share"]), ratio(one["host"]), ratio(one["bare"]), ratio(one["flash"]),
          f"{ratio(one['page'], 1)} / {ratio(one['content'], 1)}"] for name, one in systems.items()),
    )  # fmt: skip
    shown = ("machine", "basics", "wa", "ingest", "synthesize", "whole", *PEERS)
    return {
        **{name: data[name] for name in shown}, "engine": table, "operations": data["engine"][0],
        "rr_ssd": systems["rr-ssd"],
    }  # fmt: skip


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
