"""Makes plausible characterizations out of a seed, with the core's tables and columns: no trace is read.

What must hold in real ones holds here: curves are cumulative, more cache misses less, more spare space
amplifies less. Not a model of any workload.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flashtwin.characterization.measuring import Characterization

from . import schema

PERIODS = 7
SIZES = tuple(512 * 2**power for power in range(8))
RATIOS = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0)
PARTITIONS = (1, 2, 4, 8, 12, 16, 24)
PROVISIONS = (7.0, 28.0, 50.0, 75.0, 100.0)
PERIOD_NS = 86_400_000_000_000


class Native:
    """Made-up output of the core."""

    def __init__(self, name: str = "made-up", seed: int = 7, *, content: bool = True, **facts: Any) -> None:
        self.summary = summary(name, seed, content=content, **facts)
        self.tables = tables(seed, content=content)

    @property
    def summary_json(self) -> str:
        return json.dumps(self.summary)

    @property
    def table_names(self) -> list[str]:
        return list(self.tables)

    def table(self, name: str) -> pa.Table:
        return self.tables[name]


def characterization(name: str = "made-up", seed: int = 7, **options: Any) -> Characterization:
    """A whole one."""
    native = Native(name, seed, **options)
    return Characterization(native.summary, {key: lambda key=key: native.table(key) for key in native.table_names})


def summary(name: str, seed: int = 7, *, content: bool = True, **facts: Any) -> dict[str, Any]:
    """The summary: scalars, one object a metric."""
    requests = 400_000
    info = {
        "name": name,
        "format": "fiu",
        "digest": f"{seed:016x}",
        "requests": requests,
        "reads": 180_000,
        "writes": 220_000,
        "trims": 0,
        "flushes": 0,
        "read_bytes": 180_000 * 9_000,
        "write_bytes": 220_000 * 7_000,
        "duration_ns": PERIODS * PERIOD_NS,
        "volumes": 1,
        "footprint_pages": 60_000,
        "has_content": content,
        "contents": 41_000 if content else 0,
        "unique_values_read_percent": 32.0 if content else None,
        "unique_values_write_percent": 42.4 if content else None,
        "duplicate_write_percent": 57.6 if content else None,
        "sequential_percent": 46.9,
        "requests_per_second": {"mean": 0.66, "peak": 812},
        "quality": {"bad_lines_skipped": 0},
    }
    return {
        "info": {**info, **facts},
        "drift": {
            "periods": PERIODS,
            "popular_before_percent": 57.5,
            "read_before_percent": 72.5,
            "seen_before_percent": 82.5,
            "first_read_percent": 6.8,
        }
        if content
        else None,
        "space": {"contents_of_pages_held_percent": 48.2 if content else None},
        "value_locality": {
            "write": {"content": {"entries_for_90_percent_of_reaccesses": 11_046} if content else None},
        },
        "temperature": {"sector_writes": 900_000, "sectors_written": 110_000, "writes_per_sector_mean": 8.2},
        "write_amplification": {
            "page_writes": 900_000,
            "writes_per_page_mean": 8.2,
            "writes_per_sector_mean": 8.2,
            "enters_statistics": True,
        },
        "options": {"period_s": 86_400.0, "sample_rate": 1.0, "sample_seed": 0},
    }


def tables(seed: int = 7, *, content: bool = True) -> dict[str, pa.Table]:
    """Every table by name; those about contents only with content."""
    random = np.random.default_rng(seed)
    found = {
        "periods": _periods(random),
        "request_sizes": _request_sizes(),
        "interarrival": _interarrival(),
        "miss_ratio": _miss_ratio(random, content),
        "temperature": _temperature(random),
        "partitions": _partitions(seed),
        "f_min": _f_min(),
        "write_amplification": _write_amplification(random),
        "read_amplification": _read_amplification(random),
        "read_cost": _read_cost(),
        "logical_locality": _logical_locality(),
        "locality_gain": _locality_gain(random),
    }
    if content:
        found |= {
            "popularity": _popularity(),
            "popularity_by_period": _popularity_by_period(),
            "popularity_stability": _popularity_stability(random),
            "popular_miss_ratio": _popular_miss_ratio(),
            "space": _space(),
            "duplicates_by_plane": _duplicates_by_plane(random),
        }
    return {name: _table(name, rows) for name, rows in found.items()}


Rows = list[dict[str, Any]]


def _table(name: str, rows: Rows) -> pa.Table:
    """A table with the types that the core would give it."""
    columns = {column: [row[column] for row in rows] for column in rows[0]}
    return schema.made(name, columns, schema.SCHEMA["characterization"]["tables"])


def _periods(random: np.random.Generator) -> Rows:
    return [
        {
            "period": period,
            "start_ns": period * PERIOD_NS,
            "end_ns": (period + 1) * PERIOD_NS,
            "reads": int(25_000 * random.uniform(0.6, 1.4)),
            "writes": int(31_000 * random.uniform(0.6, 1.4)),
            "trims": 0,
            "flushes": 0,
        }
        for period in range(PERIODS)
    ]


def _request_sizes() -> Rows:
    return [
        {"kind": kind, "bytes": 512 * 2**power, "fraction": min(1.0, ((power + 1) / 9) ** bend)}
        for kind, bend in (("read", 2.0), ("write", 1.0))
        for power in range(10)
    ]


def _interarrival() -> Rows:
    return [{"interval_ns": int(ns), "fraction": float(f)} for ns, f in zip([0, *10 ** np.linspace(3, 12, 40)], np.linspace(0.08, 1, 41), strict=True)]  # noqa: E501  # fmt: skip


def _popularity() -> Rows:
    x = np.linspace(0.002, 1.0, 200)
    curves = {"read": 0.16, "write": 0.35, "read_by_read_order": 0.2, "write_by_read_order": 0.8}
    return [
        {"kind": kind, "value_fraction": float(at), "access_fraction": float(at**bend)}
        for kind, bend in curves.items()
        for at in x
    ]


def _popularity_by_period() -> Rows:
    return [
        {"period": period, "value_fraction": float(at), "access_fraction": float(at ** (0.2 + 0.08 * period))}
        for period in range(PERIODS)
        for at in np.linspace(0.005, 1.0, 100)
    ]


def _popularity_stability(random: np.random.Generator) -> Rows:
    rows = []
    for period in range(PERIODS):
        first = period == 0
        popular = None if first else float(random.uniform(50, 65))
        rows.append(
            {
                "period": period,
                "page_reads": 40_000,
                "popular_before_percent": popular,
                "read_before_percent": None if popular is None else popular + 15,
                "seen_before_percent": None if popular is None else popular + 25,
                "first_read_percent": 60.0 if first else float(random.uniform(5, 12)),
                "new_contents": 20_000 if first else int(random.uniform(1_000, 5_000)),
            }
        )
    return rows


def _space() -> Rows:
    return [
        {
            "period": period,
            "end_ns": (period + 1) * PERIOD_NS,
            "pages_held": 20_000 + 6_000 * period,
            "contents_held": 12_000 + 2_500 * period,
            "share_percent": (12_000 + 2_500 * period) / (20_000 + 6_000 * period) * 100,
        }
        for period in range(PERIODS)
    ]


def _duplicates_by_plane(random: np.random.Generator) -> Rows:
    rows = []
    for allocation, mean in (("static", 18.5), ("round-robin", 13.5)):
        for planes in (16, 64):
            for plane in range(planes):
                percent = float(np.clip(random.normal(mean, 5), 1, 60))
                pages = 900
                contents = round(pages * (1 - percent / 100))
                share = (1 - contents / pages) * 100
                rows.append(
                    {
                        "allocation": allocation,
                        "planes": planes,
                        "plane": plane,
                        "pages": pages,
                        "contents": contents,
                        "duplicate_percent": share,
                    }
                )
    return rows


def _miss_ratio(random: np.random.Generator, content: bool) -> Rows:
    entries = sorted({int(value) for value in 10 ** np.linspace(0, 5, 60)})
    rows = []
    for kind, of, least in (
        ("write", "content", 0.42),
        ("write", "address", 0.55),
        ("read", "content", 0.32),
        ("read", "address", 0.5),
    ):
        if of == "content" and not content:
            continue
        bend = random.uniform(0.8, 1.2)
        for count in entries:
            miss = least + (1 - least) * float(np.exp(-bend * np.log10(count)))
            rows.append({"kind": kind, "of": of, "entries": count, "miss_fraction": miss, "miss_fraction_error": None})
    return rows


def _popular_miss_ratio() -> Rows:
    return [
        {"kind": kind, "entries": 2**power, "miss_fraction": float(np.exp(-power / tail))}
        for kind, tail in (("write", 4.0), ("read", 6.0))
        for power in range(18)
    ]


def _temperature(random: np.random.Generator) -> Rows:
    counts = {writes: max(1, int(60_000 / writes**1.4)) for writes in (1, 2, 3, 5, 8, 13, 40, 200, 1_500)}
    return [
        {"page_bytes": page, "writes_per_page": writes, "pages": max(1, pages * 512 // page)}
        for page in SIZES
        for writes, pages in counts.items()
    ] + [{"page_bytes": page, "writes_per_page": 6_000, "pages": 40} for page in SIZES]


def _partitions(seed: int) -> Rows:
    most = 8 + seed % 6
    return [
        {"page_bytes": page, "frequency_ratio": ratio, "partitions": max(2, round(most / np.log2(ratio + 0.4)))}
        for page in SIZES
        for ratio in RATIOS
    ]


def _f_min() -> Rows:
    return [
        {
            "page_bytes": page,
            "partitions": count,
            "f_min": None if page == 512 and count == 2 else float(900 ** (1.6 / count) * (1 + place / 10)),
        }
        for place, page in enumerate(SIZES)
        for count in range(2, 33)
    ]


def _write_amplification(random: np.random.Generator) -> Rows:
    rows = []
    base = random.uniform(1.8, 2.6)
    for page in SIZES:
        blocks = max(2, int(900_000 * 512 / page / 128))
        for provision in PROVISIONS:
            spare = max(1, int(blocks * provision / 100))
            asked = [(count, "grid", None) for count in PARTITIONS]
            for count, purpose, ratio in [*asked, (9, "f_r<=2", 2.0), (6, "f_r<=3", 3.0)]:
                overhead = (count + 1) / spare
                fits = overhead <= 1.5
                amplification = 1 + base / (1 + provision / 12) * (0.35 + 0.65 / count + overhead / 3)
                rows.append(
                    {
                        "page_bytes": page,
                        "block_pages": 128,
                        "over_provisioning_percent": provision,
                        "partitions_asked": count,
                        "purpose": purpose,
                        "frequency_ratio": ratio,
                        "partitions": count,
                        "physical_blocks": blocks + spare,
                        "over_provisioned_blocks": spare,
                        "partitioning_overhead": overhead,
                        "page_writes": 900_000,
                        "pages_programmed": int(900_000 * amplification),
                        "erases": int(900_000 * amplification / 128),
                        "write_amplification": amplification if fits else None,
                        "why_missing": None if fits else "The active blocks do not fit into the spare ones.",
                    }
                )
    return rows


def _read_amplification(random: np.random.Generator) -> Rows:
    rows = []
    likelihood = random.uniform(0.2, 0.6)
    for place, page in enumerate(SIZES):
        estimated = 1 + 0.22 * 2**place * 0.4
        for cache in (0, 1, 2, 4, 8, 16):
            probability = likelihood * (cache / (cache + 3)) * place / 7
            measured = max(0.4, estimated * (1 - probability) + random.normal(0, 0.02))
            rows.append(
                {
                    "page_bytes": page,
                    "cache_pages": cache,
                    "sectors_asked": 3_000_000,
                    "sectors_missed": int(3_000_000 * measured),
                    "read_amplification": measured,
                    "normalised": measured,
                    "estimated": estimated,
                    "locality_discount": estimated * probability,
                }
            )
    return rows


def _read_cost() -> Rows:
    rows = []
    for place, page in enumerate(SIZES):
        full = 40e9 - 5e9 * min(place, 3) + 12e9 * max(0, place - 3) ** 1.5
        rows.append(
            {
                "chip": "slc-mlc",
                "page_bytes": page,
                "full_reads": 400_000 >> min(place, 3),
                "full_ns": int(full),
                "partial_ns": int(full if place < 4 else 27e9 - 0.5e9 * place),
                "partial_reads": 0 if place < 4 else 120_000,
            }
        )
    return [*rows, {**rows[5], "chip": "tlc", "full_ns": 70_000_000_000, "partial_ns": 52_000_000_000}]


def _logical_locality() -> Rows:
    distances, times = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), (1, 2, 5, 10, 25, 50, 100, 250, 1000, 5000)
    return [
        {
            "kind": kind,
            "distance_pages": distance,
            "time_requests": time,
            "probability": float(
                lift * (0.1 + 0.6 * np.log1p(distance) / np.log(1025)) * (0.5 + 0.5 * np.log(time + 1) / np.log(5001))
            ),
        }
        for kind, lift in (("write", 1.3), ("read", 1.0))
        for distance in distances
        for time in times
    ]


def _locality_gain(random: np.random.Generator) -> Rows:
    rows = []
    for kind in ("write", "read"):
        for along, ats, top in (("time", (0, 1, 16, 64, 256), 0.3), ("distance", (1, 25, 250, 1000), 0.6)):
            for place, at in enumerate(ats):
                gain = float(np.clip(top * (0.6 + 0.1 * place) * random.uniform(0.8, 1.1), 0, 1))
                rows.append({"kind": kind, "along": along, "at": at, "gain": gain})
    return rows


def write(folder: Path, name: str = "made-up", seed: int = 7, **options: Any) -> Path:
    """Writes a folder as `flashtwin characterize` does, without its report."""
    return characterization(name, seed, **options).write(folder)
