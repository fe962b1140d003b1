"""flashtwin with the same device, and with the rules of each peer."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars

import flashtwin as ft

from .measure import Options, Outcome, latency
from .workloads import Device, Requests, text

NAME = "flashtwin"
SYSTEM = "conventional"
AS_MQSIM: Options = {"engine.concurrency": "chip", "engine.multi_plane": "same-page", "ftl.gc.step_pages": 64}
AS_SSDSIM: Options = {
    "engine.concurrency": "chip", "engine.write_completes": "transferred", "engine.merge_reads": "same-page",
}  # fmt: skip


def settings(device: Device, rules: Options) -> dict[str, Any]:
    return {
        "device": "ds-ftl",
        **{f"nand.{key}": value for key, value in asdict(device).items() if key != "free_blocks"},
        "nand.metadata_bytes": 0,
        "ftl.allocation.policy": "static",
        "ftl.allocation.order": "CWDP",
        "ftl.gc.victim": "greedy",
        "ftl.gc.start": device.free_blocks / device.blocks_per_plane,
        "ftl.gc.stop": (device.free_blocks + 1) / device.blocks_per_plane,
        **rules,
    }


def command(rules: Options) -> str:
    """The command line of a replay, but for the device."""
    sets = " ".join(f"--set {key}={str(value).lower()}" for key, value in rules.items())
    return f"flashtwin replay requests.trace --system {SYSTEM} {sets}".rstrip()


def simulate(device: Device, requests: Requests, rules: Options, folder: Path, first: int = 0) -> Outcome:
    """Runs flashtwin in this process. Times are those of the requests from the `first` on."""
    path = folder / "requests.trace"
    path.write_text(text(requests))
    result = ft.replay(ft.open(path, format="mqsim"), SYSTEM, per_request=True, **settings(device, rules))
    rows = polars.DataFrame(result.table("requests")).filter(polars.col("request") >= first)
    read, write = (latency(rows.filter(op=op)["response_ns"] / 1000) for op in ("read", "write"))
    return Outcome(read, write, result.summary["pages_programmed"], result.summary["erases"]["total"])
