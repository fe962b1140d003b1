"""Makes plausible result folders out of a seed, for the report's tests: small, and odd where asked.

Not a simulator: response times are drawn from distributions whose means are
given. What must hold in real results holds here too (causes sum to pages
programmed, the split sums to the mean, histograms count the requests).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import synthetic_times as times
from synthetic_times import Parts, deduplicated, reads, writes
from tests import fabricated, schema

from flashtwin.results import names
from flashtwin.results.keys import traits

PERIODS = 7
PERIOD_NS = 120_000_000_000
#: The replay runs this many times faster than the trace.
SPEED = 10
CHIPS, CHANNELS, BINS = 16, 4, 96


@dataclass
class System:
    """One run to make: mean parts of reads and writes in µs, and what the FTL did."""

    system: str
    read_us: Parts
    write_us: Parts
    duplicate_share: float = 0.0
    gc_share: float = 0.0
    replica_share: float = 0.0
    replicated_reads: float = 0.0
    redirected_reads: float = 0.0
    queue: float = 1.5
    evenness: float = 0.6
    redirection: str = "home"

    @property
    def deduplicates(self) -> bool:
        return self.duplicate_share > 0


CONVENTIONAL = System("conventional", reads(212), writes(1450), gc_share=0.21, queue=4.0, evenness=0.3)
CA_SSD = System("ca-ssd", reads(131), deduplicated(520), 0.62, gc_share=0.06, queue=2.1, evenness=0.35)
RR_SSD = System("rr-ssd", reads(74), deduplicated(512), 0.62, 0.07, 0.09, 0.51, 0.34, 1.6, 0.7, redirection="replicas")
ORACLE = System("oracle", reads(41), deduplicated(508), 0.62, 0.06, 0.0, 0.0, 0.8, 1.3, 0.95, redirection="any-chip")
FOUR = {"conventional": CONVENTIONAL, "ca-ssd": CA_SSD, "rr-ssd": RR_SSD, "oracle": ORACLE}
#: The same systems on a day when everything takes other times and shares.
OTHER_FOUR = {
    name: replace(
        system,
        read_us={part: 1.7 * time for part, time in system.read_us.items()},
        write_us={part: 0.6 * time for part, time in system.write_us.items()},
        duplicate_share=0.5 * system.duplicate_share,
        gc_share=0.4 * system.gc_share,
        replica_share=2.0 * system.replica_share,
        replicated_reads=0.5 * system.replicated_reads,
        redirected_reads=0.5 * system.redirected_reads,
        queue=2.5 * system.queue,
        evenness=0.5 * system.evenness,
    )
    for name, system in FOUR.items()
}


def write_study(
    folder: Path,
    systems: dict[str, System] | None = None,
    *,
    requests: int = 240_000,
    read_share: float = 0.45,
    periods: int = PERIODS,
    gc: bool = True,
    content: bool = True,
    seed: int = 7,
) -> Path:
    """Writes a whole result folder and returns it."""
    systems = FOUR if systems is None else systems
    reads = int(requests * read_share)
    trace = _trace_info(requests, reads, periods, content)
    _json(
        folder / "study.json",
        {
            "flashtwin": "0.1.0",
            "trace": trace,
            "runs": list(systems),
            "baseline": next(iter(systems)),
        },
    )
    random = np.random.default_rng(seed)
    # One burst pattern for all systems: they replay one trace.
    bursts = np.clip(random.gamma(0.7, 1.0, BINS), 0.02, 6.0)
    hot = random.gamma(1.2, 1.0, CHIPS)
    for name, system in systems.items():
        _write_run(folder / "runs" / name, system, trace, periods, gc, bursts, hot, random)
    for place, name in enumerate(name for name, system in systems.items() if not name.startswith("oracle")):
        _write_explained(folder, name, place, seed)
    fabricated.characterization(trace["name"], seed, content=content).write_into(folder)
    _write_workload(folder / "workload", trace, periods, content, random)
    return folder


def _write_explained(folder: Path, name: str, place: int, seed: int) -> None:
    """What `explain` would have found to hold a run back: numbers are made up, fields are those of `causes.wording`."""
    before = 1e6 * (1 + place) + seed * 1e4
    command = f"flashtwin replay synthetic.parquet --system {name}"
    labels = {"hash": "hash unit", "dies": "too few dies", "program": "tPROG"}
    percents = {"hash": 40.0 + seed, "dies": 22.0 + place, "program": 60.0 + seed / 7}
    causes = [
        {"name": cause, "label": labels[cause], "words": cause, "without": f"no {cause}",
         "after_ns": before * (1 - percent / 100), "cost_ns": before * percent / 100, "percent": percent,
         "reached": True, "within": [], "is_cells": False,
         "sets": {}, "command": command}
        for cause, percent in percents.items()
    ]  # fmt: skip
    knee = [
        {"speed": speed, "lanes": lanes, "mean_ns": 1e5 * (1 + seed * speed / lanes)}
        for lanes in (1, 4, 16) for speed in (1.0, 10.0, 100.0)
    ]  # fmt: skip
    step = {"cause": "hash", "words": "2 hash lanes for 1", "sets": {"engine.hash_lanes": 2}, "after_ns": before / 2,
            "percent": 50.0, "programs": 0, "erases": 0, "ram_bytes": 0, "takes": "1 more hash lane",
            "costs": "; takes 1 more hash lane", "command": f"{command} --set engine.hash_lanes=2"}  # fmt: skip
    _json(
        folder / "causes" / f"{names.file_name(name)}.explained.json",
        {"system": name, "goal": "all.mean", "goal_words": "the mean response of requests", "before_ns": before,
         "topic": "bottleneck", "answer": "hash", "reason": "", "estimate": "", "figures": {"before_ns": before},
         "evidence": [name], "waiting_percent": 50.0, "made_up_contents": None, "causes": causes, "interactions": [],
         "steps": [step], "knee": knee, "replays": 12, "untried": [], "skipped": [], "command": command,
         "claim": f"The hash unit holds `{name}` back.",
         "action": {"words": "2 hash lanes for 1", "sets": step["sets"], "command": step["command"]},
         "more": [f"The hash unit: with 1 lane the mean response is {seed} times as long."]},
    )  # fmt: skip


def _trace_info(requests: int, reads: int, periods: int, content: bool) -> dict[str, Any]:
    writes = requests - reads
    return {
        "name": "webvm-small",
        "format": "fiu",
        "digest": "9f2c66d1a40be773",
        "requests": requests,
        "reads": reads,
        "writes": writes,
        "trims": 0,
        "flushes": 0,
        "read_bytes": reads * 21_700,
        "write_bytes": writes * 41_300,
        "duration_ns": periods * PERIOD_NS,
        "volumes": 1,
        "footprint_pages": 160_483,
        "has_content": content,
        "contents": 47_533 if content else 0,
        "unique_values_read_percent": 32.05 if content else None,
        "unique_values_write_percent": 42.35 if content else None,
        "duplicate_write_percent": 62.0 if content else None,
        "sequential_percent": 46.9,
        "requests_per_second": {"mean": requests / (periods * 120), "peak": 7625},
        "quality": {"bad_lines_skipped": 0, "reordered_requests": 12, "unaligned_content": 0},
    }


def _write_run(
    folder: Path,
    system: System,
    trace: dict[str, Any],
    periods: int,
    gc: bool,
    bursts: np.ndarray,
    hot: np.ndarray,
    random: np.random.Generator,
) -> None:
    counts = {"read": trace["reads"], "write": trace["writes"]}
    parts = {"read": system.read_us, "write": system.write_us}
    latencies = {kind: times.latencies(parts[kind], counts[kind], random) for kind in parts}
    latencies["all"] = np.concatenate([latencies["read"], latencies["write"]])
    shares = np.array([counts["read"], counts["write"]]) / max(trace["requests"], 1)
    parts["all"] = times.mixed(parts["read"], parts["write"], shares)
    summary = _summary(system, trace, latencies, parts, gc)
    _json(folder / "summary.json", summary)
    _parquet(folder / "periods.parquet", _periods(summary, latencies, periods, random))
    _parquet(folder / "latency_histogram.parquet", times.histogram(latencies))
    _parquet(folder / "wait_ledger.parquet", times.wait_ledger(latencies, parts))
    even = hot ** (1.0 - system.evenness)
    even = even / even.mean()
    busy = np.clip(0.32 * even * system.queue / 2.0, 0, 0.97)
    chips = np.arange(CHIPS)
    _parquet(
        folder / "chips.parquet",
        {
            "chip": chips,
            "channel": chips % CHANNELS,
            "utilisation": busy,
            "queue_mean": system.queue * even,
            "queue_max": np.ceil(system.queue * even * 9).astype(int),
            "valid_pages": np.full(CHIPS, 9000),
            "replica_pages": np.full(CHIPS, 120),
        },
    )
    _parquet(
        folder / "channels.parquet",
        {
            "channel": np.arange(CHANNELS),
            "busy_ns": np.full(CHANNELS, 10**9),
            "utilisation": busy.reshape(-1, CHANNELS).mean(axis=0) * 0.2,
        },
    )
    noise = random.gamma(1.5, 1 / 1.5, (BINS, CHIPS)) ** (1.0 - 0.7 * system.evenness)
    queue = system.queue * bursts[:, None] * even[None, :] * noise
    width = periods * PERIOD_NS // SPEED // BINS
    _parquet(
        folder / "queue_over_time.parquet",
        {
            "start_ns": np.repeat(np.arange(BINS) * width, CHIPS),
            "width_ns": np.full(BINS * CHIPS, width),
            "chip": np.tile(chips, BINS),
            "queue_mean": queue.ravel(),
            "queue_max": np.ceil(queue.ravel() * 3).astype(int),
        },
    )
    moments, slow = times.over_time(latencies, parts, bursts, width)
    _parquet(folder / "response_over_time.parquet", moments)
    _parquet(folder / "slowest_over_time.parquet", slow)
    starts = np.arange(BINS if system.deduplicates else 0) * width
    _parquet(
        folder / "hash_queue_over_time.parquet",
        {
            "start_ns": starts,
            "width_ns": np.full(starts.size, width),
            "queue_mean": bursts[: starts.size] * 9.0,
            "queue_max": np.ceil(bursts[: starts.size] * 40).astype(int),
        },
    )
    erases = summary["erases"]["total"]
    pages = np.arange(0, 257, 4)
    weight = np.exp(-((pages - 200 * system.gc_share / 0.21) ** 2) / 2400) if erases else np.zeros(pages.size)
    victims = np.round(weight / max(weight.sum(), 1e-9) * erases).astype(int)
    _parquet(folder / "gc_victims.parquet", {"valid_pages": pages[victims > 0], "victims": victims[victims > 0]})
    if system.deduplicates:
        degree = np.arange(1, 17) if system.replica_share else np.array([1])
        _parquet(
            folder / "copies.parquet",
            {
                "copies": degree,
                "contents": np.maximum(40_000 / degree**2.6, 3).astype(int),
            },
        )


def _throughput(trace: dict[str, Any]) -> dict[str, Any]:
    span_ns = trace["duration_ns"] // SPEED + 3_000_000
    amounts = {kind: (trace[f"{kind}s"], trace[f"{kind}_bytes"]) for kind in ("read", "write")}
    amounts["all"] = tuple(map(sum, zip(*amounts.values(), strict=True)))
    return {
        "first_arrival_ns": 0,
        "last_response_ns": span_ns,
        "span_ns": span_ns,
        "requests_per_s": trace["requests"] / (span_ns / 1e9),
    } | {
        kind: {"bytes": size, "iops": count / (span_ns / 1e9), "mb_per_s": size / 1e6 / (span_ns / 1e9)}
        for kind, (count, size) in amounts.items()
    }


def _summary(
    system: System, trace: dict[str, Any], latencies: dict[str, np.ndarray], parts: dict[str, Parts], gc: bool
) -> dict[str, Any]:
    reads, writes = trace["reads"], trace["writes"]
    page_reads, page_writes = reads * 5, writes * 9
    duplicates = int(page_writes * system.duplicate_share)
    programmed_by_host = page_writes - duplicates
    causes = (
        "host", "unique", "missed_duplicate", "reborn", "gc", "replica", "metadata", "wear_levelling", "padding",
        "parity",
    )  # fmt: skip
    flash_writes = dict.fromkeys(causes, 0)
    if system.deduplicates:
        flash_writes["reborn"] = programmed_by_host // 11
        flash_writes["unique"] = programmed_by_host - flash_writes["reborn"]
    else:
        flash_writes["host"] = programmed_by_host
    flash_writes["gc"] = int(programmed_by_host * system.gc_share) if gc else 0
    flash_writes["replica"] = int(programmed_by_host * system.replica_share)
    programmed = sum(flash_writes.values())
    erases = int(programmed * system.gc_share * 0.02) if gc else 0
    replicates = system.replica_share > 0
    footprint = trace["footprint_pages"]
    return {
        "flashtwin": "0.1.0",
        "system": system.system,
        "seed": 1,
        "trace": {
            "name": trace["name"],
            "digest": trace["digest"],
            "requests": trace["requests"],
            "page_ops": page_reads + page_writes,
            "footprint_pages": footprint,
            "contents": trace["contents"],
            "content_source": "recorded" if system.deduplicates else "none",
        },
        "config": _config(system),
        "traits": sorted(traits(_config(system))),
        "duration_ns": trace["duration_ns"],
        "completed_ns": trace["duration_ns"] // SPEED + 4_000_000,
        "requests": {"read": reads, "write": writes, "trim": 0, "flush": 0, "completed": reads + writes},
        "response": {kind: times.response(latencies[kind], parts[kind]) for kind in ("read", "write", "all")},
        "throughput": _throughput(trace),
        "page_ops": {
            "read": page_reads,
            "write": page_writes,
            "trim": 0,
            "buffer_reads": page_reads // 50,
            "unmapped_reads": 0,
            "redirected_reads": int(page_reads * system.redirected_reads),
            "duplicate_writes": duplicates,
            "partial_writes": 0,
            "new_value_reads": int(page_reads * 0.22),
            "replicated_value_reads": int(page_reads * system.replicated_reads),
        },
        "flash_reads": {
            "host": page_reads,
            "read_modify_write": 0,
            "gc": flash_writes["gc"],
            "replica": flash_writes["replica"],
            "metadata": 0,
        },
        "flash_writes": flash_writes,
        "pages_programmed": programmed,
        "host_pages_written": page_writes,
        "write_amplification": programmed / page_writes if page_writes else None,
        "erases": {
            "total": erases,
            "blocks": 65_536,
            "per_block_mean": erases / 65_536,
            "per_block_stddev": 0.4,
            "per_block_min": 0,
            "per_block_max": 5,
            "pe_cycles": 3000,
            "life_used_percent": erases / 65_536 / 3000 * 100,
            "life_used_worst_percent": 5 / 30,
        },
        "replication": {
            "passes": 6 if replicates else 0,
            "copies": flash_writes["replica"],
            "dropped": 120,
            "serial_ns": 9_000_000_000,
            "parallel_ns": 700_000_000,
            "replica_pages": flash_writes["replica"] // 2,
            "replica_pages_peak": flash_writes["replica"],
            "budget_pages": footprint if replicates else None,
        },
        "utilisation": {"channel_mean": 0.06, "channel_stddev": 0.01, "chip_mean": 0.3, "chip_stddev": 0.08},
        "hash_unit": _hash_unit(page_writes if system.deduplicates else None),
        "space": {
            "pages_in_use": 150_000 + flash_writes["replica"] // 2,
            "pages_in_use_peak": 155_000 + flash_writes["replica"],
            "footprint_pages": footprint,
            "contents_on_flash": 47_000,
        },
        "ram": _ram(system, footprint),
        "simulator": {"table_bytes": 6_000_000, "bytes_per_footprint_page": 37.4},
    }


def _hash_unit(pages: int | None) -> dict[str, Any]:
    """Nothing for a system that does not hash."""
    if pages is None:
        return dict.fromkeys(("lanes", "pages", "utilisation", "queue_mean", "queue_max"))
    return {"lanes": 1, "pages": pages, "utilisation": 0.27, "queue_mean": 8.6, "queue_max": 212}


def _config(system: System) -> dict[str, Any]:
    """The resolved configuration, nested as the engine writes it."""
    return {
        "name": system.system,
        "device": "rr-ssd-paper",
        "seed": 1,
        "verify": False,
        "ftl": {
            "mapping": "content" if system.deduplicates else "page",
            "allocation": {"policy": "static", "order": "CWDP"},
            "gc": {"victim": "greedy", "start": 0.05},
            "dedup": {"fingerprint_entries": "unlimited"},
            "redirection": {"policy": system.redirection},
            "replication": {"policy": "end-of-period" if system.replica_share else "none", "alpha": 0.0},
        },
        "engine": {
            "concurrency": "die",
            "load": "queue-length",
            "write_completes": "programmed",
            "hash_us": 12.0,
            "hash_lanes": 1,
        },
        "replay": {
            "speed": float(SPEED),
            "queue_depth": 0,
            "period_s": 120.0,
            "preload": "first-reads",
            "partial_write": "read-modify-write",
            "content": "recorded",
        },
        "nand": {"channels": CHANNELS, "chips_per_channel": 4, "page_bytes": 4096, "read_us": 75.0},
    }


def _ram(system: System, footprint: int) -> dict[str, int]:
    ram = dict.fromkeys(
        ("lpn_to_ppn_bytes", "lpn_to_vpn_bytes", "vpn_to_ppn_bytes", "fingerprint_store_bytes", "replica_lists_bytes"),
        0,
    )
    if system.deduplicates:
        ram.update(lpn_to_vpn_bytes=footprint * 4, vpn_to_ppn_bytes=47_000 * 8, fingerprint_store_bytes=47_000 * 28)
        ram["replica_lists_bytes"] = 90_000 if system.replica_share else 0
    else:
        ram["lpn_to_ppn_bytes"] = footprint * 4
    return {**ram, "total_bytes": sum(ram.values())}


def _periods(
    summary: dict[str, Any], latencies: dict[str, np.ndarray], periods: int, random: np.random.Generator
) -> dict[str, Any]:
    """Per-period rows: the first period of a replicating system has no replicas yet."""
    part = np.linspace(0.7, 1.3, periods) if periods > 1 else np.ones(1)
    reads, writes = ((summary["requests"][kind] * part / part.sum()).astype(int) for kind in ("read", "write"))
    wave = 1.0 + 0.08 * np.sin(np.arange(periods)) + random.normal(0, 0.02, periods)
    ready = np.array([min(place / 2.0, 1.0) for place in range(periods)])
    page_reads = reads * 5
    replicated = summary["page_ops"]["replicated_value_reads"] / max(summary["page_ops"]["read"], 1)
    means = {}
    for kind in ("read", "write", "all"):
        mean = float(latencies[kind].mean()) if latencies[kind].size else None
        means[f"{kind}_mean_ns"] = [None if mean is None else mean * wave[p] for p in range(periods)]
    return {
        "period": np.arange(periods),
        "start_ns": np.arange(periods) * PERIOD_NS,
        "end_ns": (np.arange(periods) + 1) * PERIOD_NS,
        "reads": reads,
        "writes": writes,
        **means,
        "page_reads": page_reads,
        "page_writes": writes * 9,
        "new_value_reads": (page_reads * (0.6 - 0.4 * ready)).astype(int),
        "replicated_value_reads": (page_reads * replicated * ready).astype(int),
    }


def _write_workload(
    folder: Path, trace: dict[str, Any], periods: int, content: bool, random: np.random.Generator
) -> None:
    part = np.linspace(0.7, 1.3, periods) if periods > 1 else np.ones(1)
    _parquet(
        folder / "periods.parquet",
        {
            "period": np.arange(periods),
            "start_ns": np.arange(periods) * PERIOD_NS,
            "reads": (trace["reads"] * part / part.sum()).astype(int),
            "writes": (trace["writes"] * part / part.sum()).astype(int),
        },
    )
    if content:
        x = np.linspace(0.001, 1.0, 300)
        _parquet(
            folder / "popularity.parquet",
            {
                "kind": [kind for kind in ("read", "write", "read_by_read_order", "write_by_read_order") for _ in x],
                "value_fraction": np.tile(x, 4),
                "access_fraction": np.concatenate([x**0.16, x**0.35, x**0.2, x**0.8]),
            },
        )


def _json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _parquet(path: Path, columns: dict[str, Any]) -> None:
    """Writes a table of a run, or of the trace; with the types that the core would give it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tables = schema.SCHEMA["trace" if path.parent.name == "workload" else "run"]["tables"]
    pq.write_table(schema.made(path.stem, {name: list(values) for name, values in columns.items()}, tables), path)


def edit_summary(folder: Path, run: str, change: Any) -> None:
    """Rewrites the summary of one run through `change(summary)`."""
    path = folder / "runs" / run / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    change(summary)
    summary["traits"] = sorted(traits(summary["config"]))
    _json(path, summary)
