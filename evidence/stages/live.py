"""The served drive: requests a second beside nbdkit, what recording costs, how long it takes to open after a kill.

Like speed, these figures are one machine's at one time.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from evidence.stage import Lab, Stage
from evidence.stages.speed import output, processor
from flashtwin.sweeps import crew

CODE = (
    "crates/bits/src", "crates/nand/src", "crates/ftl/src", "crates/live/src", "crates/live/examples",
    "crates/python/src/drive.rs", "systems", "devices", "benches/nbd_speed.py", "benches/recovery.py",
)  # fmt: skip


def measure(lab: Lab) -> Mapping[str, Any]:
    """Both benches."""
    machine = {"processor": processor(), "cores": crew.cores(), "load_before": round(os.getloadavg()[0], 2)}
    lab.say("benches/nbd_speed.py")
    speed = requests(output([sys.executable, "benches/nbd_speed.py", "--rounds", "3", "--seconds", "2"]))
    lab.say("benches/recovery.py")
    recovery = opened(output([sys.executable, "benches/recovery.py"]))
    return {"machine": machine, "requests_per_second": speed, "recovery": recovery}


def requests(text: str) -> dict[str, dict[str, float]]:
    """Requests a second by server, then by kind and depth.

    Raises:
        ValueError: the text is not the bench's output.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not lines[0].startswith("requests/s"):
        raise ValueError(f"not what benches/nbd_speed.py prints:\n{text}")
    jobs = re.findall(r"(rand\w+) (\d+)", lines[0])
    found = {}
    for line in lines[1:]:
        name, rates = line[:24].strip(), line[24:].split()
        if len(rates) != len(jobs):
            raise ValueError(f"not a line of benches/nbd_speed.py: {line}")
        found[name] = {
            f"{kind}_{depth}": float(rate.replace(",", "")) for (kind, depth), rate in zip(jobs, rates, strict=True)
        }
    return found


def opened(text: str) -> dict[str, dict[str, float]]:
    """Seconds and megabytes by system.

    Raises:
        ValueError: the text is not the bench's output.
    """
    pattern = r"^recovery: (\S+), (\d+) GB, ([\d.]+) GB written: ([\d.]+) s, (\d+) batches, (\d+) MB of memory$"
    lines = re.findall(pattern, text, re.MULTILINE)
    if not lines:
        raise ValueError(f"not what benches/recovery.py prints:\n{text}")
    names = ("size_gb", "written_gb", "seconds", "batches", "memory_mb")
    return {system: dict(zip(names, map(float, rest), strict=True)) for system, *rest in lines}


STAGE = Stage("live", "the served drive beside nbdkit, and opening it after a kill", measure, CODE)
