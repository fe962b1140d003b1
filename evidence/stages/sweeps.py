"""The cost of a sweep beyond its replays, and Dask's workers beside the local pool, as `benches/sweeps.py` prints it.

Like speed, these figures are one machine's at one time.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from evidence import sources
from evidence.stage import Lab, Stage
from evidence.stages.speed import output, processor
from flashtwin.sweeps import crew

CODE = (*sources.REPLAY, "benches/sweeps.py", "python/flashtwin/sweeps", "python/flashtwin/replays/running.py")


def measure(lab: Lab) -> Mapping[str, Any]:
    """The bench as it is."""
    lab.say("benches/sweeps.py")
    machine = {"processor": processor(), "cores": crew.cores(), "load_before": round(os.getloadavg()[0], 2)}
    return {"machine": machine, **parsed(output([sys.executable, "benches/sweeps.py"]))}


def parsed(text: str) -> dict[str, Any]:
    """Seconds of each way, the overhead of a run in ms, how many times as long Dask takes.

    Raises:
        ValueError: the text is not the bench's output.
    """
    ways = re.findall(r"^sweep: (.+?) +([\d.]+) s \[([\d.]+)-([\d.]+)\], (\d+) runs$", text, re.MULTILINE)
    beyond = re.search(r"overhead (-?[\d.]+) ms a run", text)
    times = re.search(r"dask takes ([\d.]+) times", text)
    if len(ways) != 4 or beyond is None or times is None:
        raise ValueError(f"not what benches/sweeps.py prints:\n{text}")
    seconds = {name: {"median_s": float(middle), "least_s": float(low)} for name, middle, low, _, _ in ways}
    return {
        "runs": int(ways[0][4]),
        "seconds": seconds,
        "overhead_ms": float(beyond[1]),
        "dask_times_the_pool": float(times[1]),
    }


STAGE = Stage("sweeps", "what a sweep costs beyond its replays", measure, CODE)
