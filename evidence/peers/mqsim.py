"""MQSim (Tavakkol et al., FAST 2018): its configuration, its log and its results.

Response times come from its own log (`Enable_ResponseTime_Logging` with a period of 0: a line for every
completion, in whole microseconds). The log does not say which request a line is of; its arrival does, as
requests are `workloads.GAP_NS` apart.
"""

import bisect
import re
from pathlib import Path

from .measure import Options, Outcome, Peer, PeerError, latency
from .workloads import GAP_NS, Device, Requests, text

PEER = Peer("MQSim", "MQSIM_DIR", "github.com/CMU-SAFARI/MQSim", "MQSim")

FLOW = """<?xml version="1.0" encoding="us-ascii"?>
<MQSim_IO_Scenarios><IO_Scenario><IO_Flow_Parameter_Set_Trace_Based>
<Priority_Class>HIGH</Priority_Class><Device_Level_Data_Caching_Mode>TURNED_OFF</Device_Level_Data_Caching_Mode>
<Channel_IDs>{channels}</Channel_IDs><Chip_IDs>{chips}</Chip_IDs><Die_IDs>{dies}</Die_IDs><Plane_IDs>{planes}</Plane_IDs>
<Initial_Occupancy_Percentage>0</Initial_Occupancy_Percentage><File_Path>requests.trace</File_Path>
<Percentage_To_Be_Executed>100</Percentage_To_Be_Executed><Relay_Count>1</Relay_Count><Time_Unit>NANOSECOND</Time_Unit>
</IO_Flow_Parameter_Set_Trace_Based></IO_Scenario></MQSim_IO_Scenarios>
"""


def values(device: Device, options: Options) -> Options:
    """Changes to MQSim's own `ssdconfig.xml`."""
    return {
        "PCIe_Lane_Bandwidth": 10.0,
        "Enable_ResponseTime_Logging": "true",
        "ResponseTime_Logging_Period_Length": 0,
        "Queue_Fetch_Size": 65535,
        "Data_Cache_Capacity": 4 << 20,
        "Ideal_Mapping_Table": "true",
        "Plane_Allocation_Scheme": "CWDP",
        "Transaction_Scheduling_Policy": "OUT_OF_ORDER",
        "Overprovisioning_Ratio": 0.05,
        "GC_Exec_Threshold": device.free_blocks / device.blocks_per_plane,
        "GC_Block_Selection_Policy": "GREEDY",
        "Static_Wearleveling_Enabled": "false",
        "Flash_Channel_Count": device.channels,
        "Channel_Transfer_Rate": device.bus_mt_s,
        "Chip_No_Per_Channel": device.chips_per_channel,
        "Flash_Technology": "SLC",
        "CMD_Suspension_Support": "NONE",
        **{f"Page_Read_Latency_{page}": device.read_us * 1000 for page in ("LSB", "CSB", "MSB")},
        **{f"Page_Program_Latency_{page}": device.program_us * 1000 for page in ("LSB", "CSB", "MSB")},
        "Block_Erase_Latency": device.erase_us * 1000,
        "Die_No_Per_Chip": device.dies_per_chip,
        "Plane_No_Per_Die": device.planes_per_die,
        "Block_No_Per_Plane": device.blocks_per_plane,
        "Page_No_Per_Block": device.pages_per_block,
        "Page_Capacity": device.page_bytes,
        "Page_Metadat_Capacity": 0,
        **options,
    }


def configuration(template: str, device: Device, options: Options) -> str:
    for key, value in values(device, options).items():
        template, found = re.subn(rf"<{key}>[^<]*</{key}>", f"<{key}>{value}</{key}>", template)
        if found != 1:
            raise PeerError(f"expected one <{key}> in ssdconfig.xml, found {found}; is it MQSim's own?")
    return template


def flow(device: Device) -> str:
    counts = (device.channels, device.chips_per_channel, device.dies_per_chip, device.planes_per_die)
    channels, chips, dies, planes = (",".join(map(str, range(count))) for count in counts)
    return FLOW.format(channels=channels, chips=chips, dies=dies, planes=planes)


def response_times(log: str, requests: Requests, first: int = 0) -> dict[bool, list[float]]:
    """Response times in microseconds, of reads (`False`) and of writes, from the `first` request on."""
    arrivals = [request.time_ns for request in requests]
    times: dict[bool, list[float]] = {False: [], True: []}
    for row in log.splitlines()[1:]:
        end_us, _, delay_us = map(int, row.split())
        # Both are cut to whole microseconds, so the arrival lies within one of their difference.
        index = bisect.bisect_right(arrivals, (end_us - delay_us - 1) * 1000)
        if index == len(arrivals) or arrivals[index] >= (end_us - delay_us + 1) * 1000:
            raise PeerError(f"no request arrived when MQSim's log says: '{row}' (gap {GAP_NS} ns)")
        if index >= first:
            times[requests[index].write].append(delay_us + 0.5)
    return times


def flash_counts(results: str, device: Device) -> tuple[int, int]:
    """Pages programmed and blocks erased, from the commands that were issued."""

    def pages(kind: str) -> int:
        names = (f"Issued_Flash_{kind}_CMD", f"Issued_Flash_Multiplane_{kind}_CMD")
        single, several = (int(re.findall(rf'{name}="(\d+)"', results)[0]) for name in names)
        if several and device.planes_per_die != 2:
            raise PeerError("MQSim counts commands; how many pages those on several planes took is known for 2 only")
        return single + 2 * several

    return pages("Program"), pages("Erase")


def configure(device: Device, requests: Requests, options: Options, folder: Path) -> None:
    """Writes all that MQSim reads into a folder of its own."""
    program = PEER.program()
    assert program is not None, f"set {PEER.variable} first"
    template = (program.parent / "ssdconfig.xml").read_text()
    (folder / "device.xml").write_text(configuration(template, device, options))
    (folder / "flow.xml").write_text(flow(device))
    (folder / "requests.trace").write_text(text(requests))


def run(folder: Path) -> None:
    output = PEER.run("-i device.xml -w flow.xml", folder, answer="\n")
    # It ends with status 0 after an error in its configuration, too.
    if "ERROR" in output:
        raise PeerError(f"MQSim: {output[-500:]}")


def simulate(device: Device, requests: Requests, options: Options, folder: Path, first: int = 0) -> Outcome:
    """Times are those of the requests from the `first` on."""
    configure(device, requests, options, folder)
    run(folder)
    times = response_times((folder / "flow.IO_Flow.No_0.log").read_text(), requests, first)
    counts = flash_counts((folder / "flow_scenario_1.xml").read_text(), device)
    return Outcome(latency(times[False]), latency(times[True]), *counts)
