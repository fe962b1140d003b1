"""flashtwin with the same device, and with the rules of each peer."""

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
        "nand.channels": device.channels,
        "nand.chips_per_channel": device.chips_per_channel,
        "nand.dies_per_chip": device.dies_per_chip,
        "nand.planes_per_die": device.planes_per_die,
        "nand.blocks_per_plane": device.blocks_per_plane,
        "nand.pages_per_block": device.pages_per_block,
        "nand.page_bytes": device.page_bytes,
        "nand.metadata_bytes": 0,
        "nand.read_us": device.read_us,
        "nand.program_us": device.program_us,
        "nand.erase_us": device.erase_us,
        "nand.bus_mt_s": device.bus_mt_s,
        "nand.command_ns": device.command_ns,
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
