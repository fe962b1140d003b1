"""SSDsim 2.1 of HUST (Hu et al., ICS 2011): its parameters, its list of requests and its counters.

Three properties of it shape its input:

* It stops where its trace stops, with requests under way, and then turns without end. A last line without
  a line feed lets time run on to that line's, and is itself never asked for.
* It divides by the number of reads and of writes at the end. One of each comes long before the trace.
* Every page that the trace reads at any time is there before it begins; these count as written.
"""

import re
from pathlib import Path

from .measure import Options, Outcome, Peer, PeerError, latency
from .workloads import PAGE_SECTORS, SECTOR_BYTES, Device, Request, Requests, pages_read, text

PEER = Peer("SSDsim", "SSDSIM_DIR", "github.com/huaicheng/ssdsim", "ssd")
LEAD_NS = 2_000_000_000
TAIL_NS = 10_000_000_000


def values(device: Device, options: Options) -> Options:
    """All of `page.parameters` that matters: static allocation channel first, no buffer, no advanced commands."""
    cycle_ns = 1000 // device.bus_mt_s
    share = device.free_blocks / device.blocks_per_plane
    return {
        "dram capacity": 0,
        "channel number": device.channels,
        "chip number": device.chips,
        **{f"chip number[{channel}]": device.chips_per_channel for channel in range(device.channels)},
        "die number": device.dies_per_chip,
        "plane number": device.planes_per_die,
        "block number": device.blocks_per_plane,
        "page number": device.pages_per_block,
        "subpage page": device.page_bytes // SECTOR_BYTES,
        "page capacity": device.page_bytes,
        "subpage capacity": SECTOR_BYTES,
        "t_PROG": device.program_us * 1000,
        "t_BERS": device.erase_us * 1000,
        "t_R": device.read_us * 1000,
        "t_WC": cycle_ns,
        "t_RC": cycle_ns,
        "erase limit": 100_000,
        "address mapping": 1,
        "wear leveling": 1,
        "gc": 1,
        "overprovide": 0.05,
        "gc threshold": share,
        "gc hard threshold": share,
        "scheduling algorithm": 1,
        "allocation": 1,
        "static_allocation": 1,
        "dynamic_allocation": 0,
        "advanced command": 0,
        "aged": 0,
        "queue_length": 1_000_000,
        **options,
    }


def configuration(device: Device, options: Options) -> str:
    if device.pages_per_block > 64:
        raise PeerError("SSDsim loops without end beyond page 64 of a block")
    return "".join(f"{key} = {value};\n" for key, value in values(device, options).items())


def lead(device: Device) -> list[Request]:
    """A read and a write, far from the trace in time and place."""
    sector = device.pages * 9 // 10 * PAGE_SECTORS
    return [Request(0, sector, PAGE_SECTORS, write) for write in (False, True)]


def trace(device: Device, requests: Requests) -> str:
    shifted = [request._replace(time_ns=request.time_ns + LEAD_NS) for request in requests]
    last = Request(shifted[-1].time_ns + TAIL_NS, 0, PAGE_SECTORS, write=True)
    return text([*lead(device), *shifted, last]).removesuffix("\n")


def outcome(output: str, device: Device, requests: Requests, first: int = 0) -> Outcome:
    def counter(name: str) -> int:
        found = re.findall(rf"^{name}: +(\d+)$", output, re.MULTILINE)
        if not found:
            raise PeerError(f"SSDsim did not say its '{name}'; did it end?")
        return int(found[0])

    times: dict[str, list[float]] = {"0": [], "1": []}
    for arrival, kind, response in re.findall(r"^ *(\d+) +\d+ +\d+ +([01]) +\d+ +\d+ +(\d+)$", output, re.MULTILINE):
        if int(arrival) >= LEAD_NS + requests[first].time_ns:
            times[kind].append(int(response) / 1000)
    before = len(pages_read([*lead(device), *requests])) + 1
    programmed = counter("write flash count") - before
    return Outcome(latency(times["1"]), latency(times["0"]), programmed, counter("erase count"))


def simulate(device: Device, requests: Requests, options: Options, folder: Path, first: int = 0) -> Outcome:
    """Runs SSDsim in a folder of its own. Times are those of the requests from the `first` on."""
    (folder / "page.parameters").write_text(configuration(device, options))
    (folder / "requests.ascii").write_text(trace(device, requests))
    # Its status is 1 when all went well.
    PEER.run("", folder, answer="requests.ascii\n", status=1)
    return outcome((folder / "ex.out").read_text(errors="replace"), device, requests, first)
