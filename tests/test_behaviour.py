"""Results of every system are those of before; the changelog names changes that `--update-golden` takes over."""

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flashtwin as ft
from flashtwin.experiments import PARTIAL, Factor, defining_kept

from .conftest import ROOT

PAGE = 4096
#: A few pages more than the traces need, so that blocks are collected.
SMALL = {"device": "ds-ftl", "nand.channels": 4, "nand.blocks_per_plane": 18, "nand.pages_per_block": 8}
AGED = {**SMALL, "replay.preload": "footprint", "replay.preload_contents": "trace"}
#: Conditions for every system, and those for the systems that they concern.
ROOMY = {**SMALL, "nand.blocks_per_plane": 26}
GROUNDS: dict[str, dict[str, Any]] = {
    "new": {"speed": 1},
    "crowded": {"speed": 40},
    "aged": {"speed": 2, **AGED},
    "closed loop": {"queue_depth": 8, "concurrency": "chip"},
}
SPECIAL: dict[str, tuple[str, dict[str, Any]]] = {
    "small mapping cache": ("conventional", {**ROOMY, "ftl.mapping_cache.bytes": 12_288}),
    "small mapping cache, contents": ("rr-ssd", {**ROOMY, "ftl.mapping_cache.bytes": 20_480}),
    "fingerprints on flash": (
        "ca-ssd", {**ROOMY, "ftl.mapping_cache.bytes": 20_480, "ftl.mapping_cache.fingerprints": True},
    ),
    "write cache": ("ca-ssd", {**AGED, "write_cache_pages": 64, "speed": 20}),
    "suspension": ("conventional", {**AGED, "engine.suspend": "program-erase", "speed": 5}),
    "two planes at once": ("static", {**SMALL, "engine.multi_plane": "same-page", "speed": 20}),
    "reads merged": ("ca-ssd", {"merge_reads": "same-page", "speed": 60}),
    "reads wait for programs": ("rr-ssd", {"buffer_reads": False, "speed": 20}),
    "few fingerprints": ("ca-ssd", {**AGED, "fingerprint_entries": 100}),
    "few fingerprints by references": ("caftl", {**AGED, "fingerprint_entries": 100}),
    "expected wait": ("rr-ssd", {"engine.load": "expected-wait", "speed": 20}),
    "static wear levelling": ("conventional", {**AGED, "ftl.wear.policy": "static"}),
    "cost-benefit": ("ca-ssd", {**AGED, "victim": "cost-benefit"}),
    "random placement": ("rr-ssd", {"placement": "random", "speed": 20}),
}  # fmt: skip
CASES = {
    **{
        f"{system}, {ground}": (system, keys)
        for system in ft.systems()
        if system != "modern"  # made for pages of 16 KB: below
        for ground, keys in GROUNDS.items()
    },
    **{f"{system}, {name}": (system, keys) for name, (system, keys) in SPECIAL.items()},
    "modern, new": ("modern", {"speed": 1}),
    "modern, crowded": ("modern", {"speed": 40}),
}


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> ft.Trace:
    """4,000 requests of one to six pages, parts of pages and trims among them, in trains; contents are skewed."""
    rng = random.Random(5)
    time_ns, rows = 0, []
    for _ in range(4_000):
        time_ns += rng.choice((1_000, 1_000, 1_000, 4_000_000))
        op = rng.choices((0, 1, 2), (40, 56, 4))[0]
        pages = rng.choice((1, 1, 1, 2, 6))
        part = rng.choice((0, 0, 0, 512)) if op < 2 else 0
        first = int(rng.random() ** 3 * 1_000)
        first = first // 10 * 1_000 + first % 10  # over a hundred pages of the mapping table
        contents = [int(rng.random() ** 2 * 700) for _ in range(pages)]
        rows.append((time_ns, 0, op, first * PAGE + part, pages * PAGE - 2 * part, contents if op < 2 else None))
    path = tmp_path_factory.mktemp("behaviour") / "made.parquet"
    types = [pa.int64(), pa.uint32(), pa.uint8(), pa.uint64(), pa.uint32(), pa.list_(pa.uint32())]
    names = ["time_ns", "volume", "op", "offset_bytes", "length_bytes", "content"]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
    pq.write_table(pa.table(columns, names=names), path)
    return ft.open(path)


def digest(value: object) -> str:
    """Of names and values: the order in which fields are written is none of a system's behaviour."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:6]


def digests(result: ft.Result) -> dict[str, str]:
    """Every part of a result, without what may change with the program: its version, its own memory, its settings."""
    parts = {f"summary.{name}": part for name, part in result.summary.items()}
    for apart in ("flashtwin", "simulator", "config"):
        del parts[f"summary.{apart}"]
    parts |= {name: pa.table(result.table(name)).to_pydict() for name in result.table_names}
    return {name: digest(part) for name, part in parts.items()}


@pytest.mark.parametrize("case", CASES)
def test_every_number_is_what_it_was(case: str, trace: ft.Trace, golden_digests: Callable[..., None]) -> None:
    system, keys = CASES[case]
    golden_digests(case, digests(ft.replay(trace, system, period_s=0.5, **keys)))


#: Seconds of the captured trace that ships with the project: 21,020 requests, in four periods.
CAPTURED_S = 90.0
CAPTURED = ("conventional", "ca-ssd", "rr-ssd", "ds-ftl")


@pytest.fixture(scope="session")
def captured() -> ft.Trace:
    return ft.open(ROOT / "traces" / "webvm-small.fiu.zst", to_s=CAPTURED_S)


@pytest.mark.parametrize("system", CAPTURED)
def test_every_number_of_a_captured_trace_is_what_it_was(
    system: str, captured: ft.Trace, golden_digests: Callable[..., None]
) -> None:
    assert len(captured) == 21_020
    golden_digests(f"{system}, captured", digests(ft.replay(captured, system, period_s=CAPTURED_S / 4, speed=10)))


def test_the_cases_reach_what_they_are_for(trace: ft.Trace) -> None:
    """Collection, copies, redirection, comparison, misses of the mapping cache: each happens in some case."""
    runs = {case: ft.replay(trace, CASES[case][0], period_s=0.5, **CASES[case][1]).summary for case in (
        "rr-ssd, aged", "rr-ssd, crowded", "ds-ftl, crowded", "conventional, small mapping cache",
    )}  # fmt: skip
    assert runs["rr-ssd, aged"]["erases"]["total"] > 50
    assert runs["rr-ssd, crowded"]["replication"]["copies"] > 50
    assert runs["rr-ssd, crowded"]["page_ops"]["redirected_reads"] > 50
    assert runs["ds-ftl, crowded"]["page_ops"]["redirected_reads"] > 20
    assert runs["ds-ftl, crowded"]["spread"]["comparisons"] > 500
    assert runs["conventional, small mapping cache"]["mapping_cache"]["misses"] > 500


#: The same choices, of a size that the small trace notices.
NOTICED = {"background jobs": {"ftl.background.jobs": 1}, "fingerprints": {"ftl.dedup.fingerprint_entries": 100}}
#: Under one placement `static`, `dynamic` and `hipa` are `conventional`; `modern` is another array.
DESIGNS = ("conventional", "ds-ftl", "ca-ssd", "caftl", "rr-ssd", "rr-ssd-online", "pblru", "oracle")


@pytest.mark.parametrize(("choice", "users"), PARTIAL, ids=[choice.name for choice, _ in PARTIAL])
def test_unused_choice_changes_nothing(choice: Factor, users: set[str], trace: ft.Trace) -> None:
    levels = [*choice.levels.values(), NOTICED.get(choice.name, {})]
    moved = set()
    for system in DESIGNS:
        found = [
            digests(ft.replay(trace, system, period_s=0.5, **{"speed": 20, **AGED, **defining_kept(system, sets)}))
            for sets in levels
        ]
        if any(one != found[0] for one in found):
            moved.add(system)
    assert moved
    assert moved <= users
