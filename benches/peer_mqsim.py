"""The same trace file through flashtwin and through MQSim, in turn, as whole processes.

    MQSIM_DIR=/path/to/a/built/MQSim make bench

The trace: 1,000,000 requests of 4 KB, 70 % writes, Poisson arrivals of mean 30 us, 80 % of accesses on 20 % of a 4 GB
footprint. The device is the one of `evidence/peers`. MQSim keeps its map in RAM and no collection runs, so both do one
flash operation a request. Times are those of whole processes, with reading of the trace; runs take turns.
"""

import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.sweeps import timed
from evidence.peers import mqsim, ours
from evidence.peers.measure import PeerError
from evidence.peers.workloads import Device, HotShare, made

REQUESTS = 1_000_000
ROUNDS = 3
DEVICE = Device()


def main() -> None:
    try:
        program = mqsim.PEER.program()
    except PeerError as error:
        sys.exit(str(error))
    if program is None:
        print("peer: set MQSIM_DIR to a folder with a built MQSim to run it on the same trace beside flashtwin")
        return
    requests = made(
        count=REQUESTS, mean_gap_us=30, write_share=0.7, footprint_pages=1 << 20, hot=HotShare(pages=0.2, requests=0.8)
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mqsim.configure(DEVICE, requests, {"Enable_ResponseTime_Logging": "false"}, folder)
        command = shlex.split(ours.command(ours.settings(DEVICE, {})))
        command[0] = str(Path(sys.executable).parent / command[0])

        def flashtwin() -> None:
            subprocess.run([*command, "--json"], cwd=folder, check=True, stdout=subprocess.DEVNULL)

        pairs = [(timed(flashtwin), timed(lambda: mqsim.run(folder))) for _ in range(ROUNDS)]
    for label, times in (("flashtwin", [a for a, _ in pairs]), ("MQSim", [b for _, b in pairs])):
        middle = statistics.median(times)
        print(
            f"peer: {label:10} {middle:6.2f} s [{min(times):.2f}-{max(times):.2f}], {REQUESTS / middle:,.0f} requests/s"
        )
    print(f"peer: MQSim takes {statistics.median(b / a for a, b in pairs):.1f} times as long, pair by pair")


if __name__ == "__main__":
    main()
