"""Duplicates that a limited fingerprint store misses on the trace that ships with the project, by its size."""

from collections import Counter
from heapq import heappop, heappush
from itertools import pairwise

import pyarrow as pa
import pytest

import flashtwin as ft

from .conftest import ROOT

PAGE = 4096
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


def test_store_by_count_stands_beside_recency_and_the_best(trace: ft.Trace, by_count: list[int]) -> None:
    recency = [missed(trace, size, "lru-writes") for size in SIZES]
    assert all(count <= 1.02 * lru for count, lru in zip(by_count, recency, strict=True)), (by_count, recency)
    assert sum(by_count) < sum(recency)
    writes = page_writes(trace)
    least = [unavoidable(writes, size) for size in SIZES]
    assert all(best <= count for best, count in zip(least, by_count, strict=True)), (least, by_count)


def page_writes(trace: ft.Trace) -> list[tuple[int, int, bool]]:
    """Page, content and whether it counts: what lies there before (pages read before they are written), then writes."""
    before, writes, seen = [], [], set()
    table = pa.table(trace).select(["op", "offset_bytes", "length_bytes", "content_digest"])
    for op, offset, length, contents in zip(*(column.to_pylist() for column in table.columns), strict=True):
        for page, content in zip(range(offset // PAGE, (offset + length) // PAGE), contents, strict=True):
            if op == 1:
                writes.append((page, content, True))
            elif page not in seen:
                before.append((page, content, False))
            seen.add(page)
    return before + writes


def unavoidable(writes: list[tuple[int, int, bool]], size: int) -> int:
    """Duplicates that a store of this size misses although it knows what comes: it forgets what comes again last."""
    on_drive: Counter[int] = Counter()
    lies: dict[int, int] = {}
    held = []
    for page, content, _ in writes:
        held.append(on_drive[content] > 0)
        on_drive[content] += 1
        if page in lies:
            on_drive[lies[page]] -= 1
        lies[page] = content
    later: dict[int, int] = {}
    again = [0] * len(writes)
    for at in range(len(writes) - 1, -1, -1):
        content = writes[at][1]
        # A content that dies before it is written again is no duplicate then.
        again[at] = later[content] if content in later and held[later[content]] else len(writes)
        later[content] = at
    # By when each is written again; the latest of all goes, by a queue that may hold evicted ones.
    known: set[int] = set()
    queue: list[int] = []
    misses = 0
    for at, (_, _, counts) in enumerate(writes):
        misses += counts and held[at] and at not in known
        known.discard(at)
        if again[at] < len(writes):
            known.add(again[at])
            heappush(queue, -again[at])
        while len(known) > size:
            known.discard(-heappop(queue))
    return misses
