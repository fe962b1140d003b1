"""The same trace file through flashtwin and through MQSim, in turn, as whole processes.

    MQSIM_DIR=/path/to/a/built/MQSim make bench

The workload is the common one: 1,000,000 requests of 4 KB, 70 % writes, Poisson arrivals of
mean 30 us, 80 % of accesses on 20 % of a 4 GB footprint; the device 8 channels x 2 chips x
2 dies x 2 planes x 2048 blocks x 64 pages of 4 KB, 75/400 us, 3.8 ms, no write cache. MQSim
keeps its map in RAM and no collection runs, so both do one flash operation a request.
Elapsed time of the whole process, trace parsing included; medians of interleaved runs.
"""

from __future__ import annotations

import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REQUESTS = 1_000_000
FOOTPRINT_PAGES = 1 << 20
ROUNDS = 3

DEVICE = {
    "Flash_Channel_Count": 8,
    "Chip_No_Per_Channel": 2,
    "Die_No_Per_Chip": 2,
    "Plane_No_Per_Die": 2,
    "Block_No_Per_Plane": 2048,
    "Page_No_Per_Block": 64,
    "Page_Capacity": 4096,
    **{f"Page_Read_Latency_{page}": 75_000 for page in ("LSB", "CSB", "MSB")},
    **{f"Page_Program_Latency_{page}": 400_000 for page in ("LSB", "CSB", "MSB")},
    "Block_Erase_Latency": 3_800_000,
    "Ideal_Mapping_Table": "true",
}
FLOW = """<?xml version="1.0" encoding="us-ascii"?>
<MQSim_IO_Scenarios><IO_Scenario><IO_Flow_Parameter_Set_Trace_Based>
<Priority_Class>HIGH</Priority_Class><Device_Level_Data_Caching_Mode>TURNED_OFF</Device_Level_Data_Caching_Mode>
<Channel_IDs>0,1,2,3,4,5,6,7</Channel_IDs><Chip_IDs>0,1</Chip_IDs><Die_IDs>0,1</Die_IDs><Plane_IDs>0,1</Plane_IDs>
<Initial_Occupancy_Percentage>0</Initial_Occupancy_Percentage><File_Path>{trace}</File_Path>
<Percentage_To_Be_Executed>100</Percentage_To_Be_Executed><Relay_Count>1</Relay_Count><Time_Unit>NANOSECOND</Time_Unit>
</IO_Flow_Parameter_Set_Trace_Based></IO_Scenario></MQSim_IO_Scenarios>
"""


def write_trace(path: Path) -> None:
    rng = random.Random(1)
    hot = FOOTPRINT_PAGES // 5
    now = 0.0
    with path.open("w") as out:
        for _ in range(REQUESTS):
            now -= 30_000 * math.log(1.0 - rng.random())
            page = rng.randrange(hot) if rng.random() < 0.8 else rng.randrange(hot, FOOTPRINT_PAGES)
            out.write(f"{int(now)} 0 {page * 8} 8 {0 if rng.random() < 0.7 else 1}\n")


def write_config(template: Path, path: Path) -> None:
    text = template.read_text()
    for key, value in DEVICE.items():
        text, found = re.subn(rf"<{key}>[^<]*</{key}>", f"<{key}>{value}</{key}>", text)
        if found != 1:
            sys.exit(f"{template}: expected one <{key}>, found {found}; is this MQSim's own ssdconfig.xml?")
    path.write_text(text)


def elapsed(command: list[str], folder: Path) -> float:
    begin = time.perf_counter()
    done = subprocess.run(command, check=False, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    # MQSim exits 0 after a configuration error, so its words count too.
    if done.returncode != 0 or "ERROR" in done.stdout + done.stderr:
        sys.exit(f"{command[0]} failed with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    return seconds


def main() -> None:
    home = os.environ.get("MQSIM_DIR")
    if not home:
        print("peer: set MQSIM_DIR to a folder with a built MQSim to run it on the same trace beside flashtwin")
        return
    program = Path(home).resolve() / "MQSim"
    if not program.is_file():
        sys.exit(f"{program}: no such program; build MQSim with `make` in {home} first")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_trace(folder / "common.trace")
        write_config(program.parent / "ssdconfig.xml", folder / "ssd.xml")
        (folder / "flow.xml").write_text(FLOW.format(trace="common.trace"))
        peer = [str(program), "-i", "ssd.xml", "-w", "flow.xml"]
        ours = [str(Path(sys.executable).parent / "flashtwin"), "replay", "common.trace", "--system", "conventional"]
        ours += ["--set", "device=ds-ftl", "--set", "nand.read_us=75", "--set", "nand.program_us=400"]
        ours += ["--set", "nand.erase_us=3800", "--set", "allocation.policy=static", "--json"]
        pairs = [(elapsed(ours, folder), elapsed(peer, folder)) for _ in range(ROUNDS)]
    for label, times in (("flashtwin", [a for a, _ in pairs]), ("MQSim", [b for _, b in pairs])):
        middle = statistics.median(times)
        print(
            f"peer: {label:10} {middle:6.2f} s [{min(times):.2f}-{max(times):.2f}], {REQUESTS / middle:,.0f} requests/s"
        )
    print(f"peer: MQSim takes {statistics.median(b / a for a, b in pairs):.1f} times as long, pair by pair")


if __name__ == "__main__":
    main()
