"""Speed: the output of the benches of `make bench`, and the time of whole processes.

All else on the page is the same on any machine; these figures are not. They are to be measured on one that does
nothing else, and they name it.
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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evidence import benches, sources
from evidence.places import ROOT
from evidence.stage import Lab, Stage
from flashtwin.sweeps import crew

CODE = (
    *sources.REPLAY, *sources.ANALYSIS, "workloads", "evidence/benches.py", "benches", "crates/trace/benches",
    "crates/analysis/benches", "crates/sim/benches",
)  # fmt: skip
#: Package, bench, parser.
BENCHES: Sequence[tuple[str, str, Callable[[str], dict[str, Any]]]] = (
    ("flashtwin-trace", "ingest", benches.ingest),
    ("flashtwin-trace", "synthesize", benches.synthesize),
    ("flashtwin-analysis", "basics", benches.basics),
    ("flashtwin-analysis", "locality", benches.locality),
    ("flashtwin-analysis", "wa", benches.wa),
    ("flashtwin-sim", "engine", benches.engine),
)
#: Script, the variable that names its peer's folder, parser.
PEERS: Sequence[tuple[str, str, Callable[[str], dict[str, Any]]]] = (
    ("peer_ftlsim", "FTLSIM_DIR", benches.peer_ftlsim),
    ("peer_mqsim", "MQSIM_DIR", benches.peer_mqsim),
)
#: Recipes that are made by whole processes, at their own scale.
MADE = ("rr-ssd/webvm", "ca-ssd/mail", "rr-ssd/trans", "ca-ssd/hm", "ds-ftl/home1")
#: Requests of the trace that is characterized, and how many times as many the other one has; pages of 4 KB.
REQUESTS, MORE, PAGES = 1_000_000, 8, 198_000


def measure(lab: Lab) -> Mapping[str, Any]:
    """One bench after the other; nothing is kept, since another time is another measurement."""
    machine = {"processor": processor(), "cores": crew.cores(), "load_before": round(os.getloadavg()[0], 2)}
    found: dict[str, Any] = {"machine": machine}
    for package, bench, parse in BENCHES:
        lab.say(f"cargo bench -p {package} --bench {bench}")
        command = ["cargo", "bench", "--locked", "--quiet", "-p", package, "--bench", bench]
        found[bench] = parse(output(command))
    for script, variable, parse in PEERS:
        if not os.environ.get(variable):
            lab.say(f"{script} is left out: {variable} names no folder")
        found[script] = parse(output([sys.executable, f"benches/{script}.py"])) if os.environ.get(variable) else None
    lab.say("whole processes")
    found["whole"] = benches.whole(output([sys.executable, "-m", "benches.whole"]))
    found["making"] = making(lab.scratch("made"))
    found["characterizing"] = characterizing(lab.scratch("made"))
    return found


def processor() -> str:
    """Its name, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def output(command: Sequence[str]) -> str:
    """The output of a program; its errors go to the terminal."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def process(arguments: Sequence[str]) -> dict[str, float]:
    """Seconds and peak memory of `flashtwin`, the start of Python included."""
    command = [str(Path(sys.executable).parent / "flashtwin"), *arguments]
    begun = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return {"seconds": time.monotonic() - begun, "peak_bytes": peak_bytes(used)}


def peak_bytes(used: resource.struct_rusage) -> int:
    """Resident bytes at most; Linux tells them in KiB, macOS in bytes."""
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def making(scratch: Path) -> dict[str, Any]:
    """Recipes into files, by whole processes."""
    import flashtwin as ft

    found = {}
    for name in MADE:
        out = scratch / "made.parquet"
        out.unlink(missing_ok=True)
        taken = process(["trace", "synthesize", name, "--out", str(out)])
        found[name] = {"requests": ft.workload(name).recipe["requests"]["count"], **taken}
        out.unlink(missing_ok=True)
    return found


def characterizing(scratch: Path) -> dict[str, Any]:
    """A trace and one with more requests to the same pages, in memory and streamed."""
    found = {}
    for label, requests in (("few", REQUESTS), ("many", REQUESTS * MORE)):
        trace = scratch / f"{label}.csv"
        write_msr(trace, requests)
        for way, flags in (("memory", []), ("streamed", ["--stream"])):
            out = scratch / f"characterized-{label}-{way}"
            # Existing results would be reused.
            shutil.rmtree(out, ignore_errors=True)
            command = ["characterize", str(trace), "--format", "msr", "--no-reports", "--out", str(out)]
            found[f"{label}/{way}"] = {"requests": requests, **process([*command, *flags])}
        trace.unlink()
    return found


def write_msr(path: Path, requests: int) -> None:
    """Requests of 4 KB all over the pages, three in ten of them reads."""
    draw = random.Random(1)
    with path.open("w", encoding="ascii") as out:
        for number in range(requests):
            kind = "Read" if draw.random() < 0.3 else "Write"
            page = int(draw.random() * PAGES)
            out.write(f"{128166372000000000 + number * 250},made,0,{kind},{page * 4096},4096,0\n")


STAGE = Stage("speed", "how fast things are, on one machine at one time", measure, CODE)
