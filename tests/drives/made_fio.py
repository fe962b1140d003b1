"""Results as fio writes them, made up: for experiments that take hours on a drive."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

GIB = 2**30


def side(per_s: float, us: Mapping[float, int], *, seconds: float = 100.0, size: int = 4096) -> dict[str, Any]:
    """One direction of a job: a rate, and counts by response time in us."""
    requests = round(per_s * seconds)
    return {
        "io_bytes": requests * size, "bw_bytes": int(per_s * size), "iops": per_s, "runtime": round(seconds * 1000),
        "total_ios": requests,
        "clat_ns": {"N": requests}, "lat_ns": {"bins": {str(round(time * 1e3)): count for time, count in us.items()}},
    }  # fmt: skip


def job(name: str, tag: str, *, deep: float = 0.0, error: int = 0, **sides: Mapping[str, Any]) -> dict[str, Any]:
    nothing = {"total_ios": 0}
    return {
        "jobname": name, "error": error, "desc": f"flashtwin {tag}", "job options": {},
        "read": sides.get("read", nothing), "write": sides.get("write", nothing), "iodepth_level": {">=64": deep},
    }  # fmt: skip


def result(file: Path, *jobs: Mapping[str, Any], version: str = "fio-3.33") -> Path:
    file.write_text(json.dumps({"fio version": version, "global options": {}, "jobs": list(jobs)}), encoding="utf-8")
    return file


def counters(folder: Path, stem: str, before: tuple[int, int], after: tuple[int, int]) -> None:
    for moment, (host, medium) in (("before", before), ("after", after)):
        (folder / f"{stem}.{moment}.smart.json").write_text(json.dumps({"data_units_written": host // 512_000}))
        units = {"hi": medium >> 64, "lo": medium & (1 << 64) - 1}
        (folder / f"{stem}.{moment}.ocp.json").write_text(json.dumps({"Physical media units written": units}))


def overwriting(
    folder: Path, number: int, fill_gib: float, amplification: float, *, tag: str = "uniform", series: str = "uniform",
    rates: tuple[float, ...] = (80e3,) * 8, overwrites: float = 4.0, drive: str = "mine",
) -> None:  # fmt: skip
    host = int(fill_gib * GIB * overwrites / len(rates))
    total = (10**12, 3 * 10**12)
    for part, rate in enumerate(rates, start=1):
        stem = f"{number:03}-{tag.split(maxsplit=1)[0]}-{part}"
        told = f"experiment={tag} series={series} fill={int(fill_gib * GIB)} part={part} of={len(rates)} drive={drive}"
        write = side(rate, {3000.0: 900, 5000.0: 100}, seconds=host / 4096 / rate)
        result(folder / f"{stem}.json", job(tag.split(maxsplit=1)[0], told, write=write))
        after = (total[0] + host, total[1] + round(host * amplification))
        counters(folder, stem, total, after)
        total = after


def open_loop(folder: Path, number: int, offered: float, knee: float, *, fill_gib: float, drive: str = "mine") -> None:
    """A rate of the open loop on a made drive: reads of 70 us that meet programs as the load grows."""
    load = min(offered / knee, 1.0)
    draws = np.random.default_rng(number)
    busy = draws.random(20_000) < 0.92 * load
    late = np.where(busy, 40 + 90 * np.minimum(draws.exponential(size=busy.size), 5.0), 0.0)
    times, counts = np.unique(np.round(70 + late + draws.normal(0, 1.5, busy.size)), return_counts=True)
    reads = {float(time): int(count) for time, count in zip(times, counts, strict=True)}
    is_full = offered > knee
    write = {10.0: 980, 12.0: 20} if not is_full else {4000.0: 900, 5000.0: 100}
    told = f"experiment=open-loop offered={offered:.0f} fill={int(fill_gib * GIB)} drive={drive}"
    bulk = min(offered, knee) - 10_000
    result(
        folder / f"{number:03}-open-loop.json",
        job("fixed", told, read=side(5000, reads), write=side(5000, write)),
        job("bulk", told, deep=95.0 * is_full, read=side(bulk / 100, reads), write=side(bulk * 0.99, write)),
    )
