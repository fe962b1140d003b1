"""Duplicates that a limited fingerprint store misses on the trace that ships with the project, by its size."""

from itertools import pairwise

import pytest

import flashtwin as ft

from .conftest import ROOT

SIZES = (64, 256, 1_024, 4_096, 8_192, 16_384)


@pytest.fixture(scope="module")
def trace() -> ft.Trace:
    return ft.open(ROOT / "traces" / "webvm-small.fiu.zst", to_s=240)


def missed(trace: ft.Trace, size: int, eviction: str, system: str = "ca-ssd") -> int:
    keys = {"dedup.fingerprint_entries": size, "dedup.eviction": eviction}
    found: int = ft.replay(trace, system, period_s=120, **keys).summary["flash_writes"]["missed_duplicate"]
    return found


@pytest.fixture(scope="module")
def by_count(trace: ft.Trace) -> list[int]:
    return [missed(trace, size, "reference-count") for size in SIZES]


@pytest.mark.parametrize("system", ["ca-ssd", "caftl"])
def test_larger_store_misses_no_more(trace: ft.Trace, by_count: list[int], system: str) -> None:
    found = by_count if system == "ca-ssd" else [missed(trace, size, "reference-count", system) for size in SIZES]
    assert all(larger <= 1.02 * smaller for smaller, larger in pairwise(found)), found


def test_store_by_count_misses_no_more_than_by_recency(trace: ft.Trace, by_count: list[int]) -> None:
    recency = [missed(trace, size, "lru-writes") for size in SIZES]
    assert all(count <= 1.02 * lru for count, lru in zip(by_count, recency, strict=True)), (by_count, recency)
    assert sum(by_count) < sum(recency)
