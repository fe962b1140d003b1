"""flashtwin with the same device, and with the rules of each peer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars

import flashtwin as ft

from .device import Device
from .measure import Outcome, latency, latency_of
from .workloads import Requests, text

NAME = "flashtwin"
SYSTEM = "conventional"
KINDS = ("read", "write")

Rules = Mapping[str, str | int | float | bool]

#: The rules that a peer has and that keys of ours express.
AS_MQSIM: Rules = {"engine.concurrency": "chip", "engine.multi_plane": "same-page", "ftl.gc.step_pages": 64}
AS_SSDSIM: Rules = {
    "engine.concurrency": "chip",
    "engine.write_completes": "transferred",
    "engine.merge_reads": "same-page",
}


def settings(device: Device, rules: Rules) -> dict[str, Any]:
    """Keys of the configuration."""
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


def command(rules: Rules) -> str:
    """How a shell would say it, but for the device."""
    said = " ".join(f"--set {key}={str(value).lower()}" for key, value in rules.items())
    return f"flashtwin replay requests.trace --system {SYSTEM} {said}".rstrip()


def simulate(device: Device, requests: Requests, rules: Rules, folder: Path, first: int = 0) -> Outcome:
    """Runs flashtwin in this process. Times are those of the requests from the `first` on."""
    result = replay(device, requests, rules, folder, per_request=first > 0)
    programmed, erased = result.summary["pages_programmed"], result.summary["erases"]["total"]
    if first:
        read, write = (latency(times_us(result, kind, first)) for kind in KINDS)
        return Outcome(read, write, programmed, erased)
    responses = (result.summary["response"][kind] for kind in KINDS)
    read, write = (latency_of(each["count"], each["mean_ns"], each["p99_ns"]) for each in responses)
    return Outcome(read, write, programmed, erased)


def times_us(result: ft.Result, kind: str, first: int) -> list[float]:
    """Response times of a kind of requests, from the `first` request on."""
    rows = polars.DataFrame(result.table("requests")).filter(polars.col("request") >= first, op=kind)
    return [time_ns / 1000 for time_ns in rows["response_ns"].to_list()]


def replay(device: Device, requests: Requests, rules: Rules, folder: Path, *, per_request: bool) -> ft.Result:
    """Replays requests."""
    path = folder / "requests.trace"
    path.write_text(text(requests))
    trace = ft.open(path, format="mqsim")
    return ft.replay(trace, SYSTEM, per_request=per_request, **settings(device, rules))
