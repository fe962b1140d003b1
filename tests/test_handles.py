"""Writes go to the partition of their stream, whatever the system does with them until then."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import flashtwin as ft

from .test_virtual_drive import PAGE, PAGES, SMALL, requests

STREAMS = {"ftl.partition.policy": "streams", "ftl.partition.partitions": 3}


def drawn(name: str, **columns: Any) -> ft.Trace:
    asked = requests(np.random.default_rng([7, *name.encode()]))
    return ft.Trace.from_frame({**{key: asked[key] for key in asked if key != "stream"}, **columns}, name="drawn")


def volumes_of(name: str) -> Any:
    return requests(np.random.default_rng([7, *name.encode()]))["offset_bytes"] // (PAGES // 3 * PAGE)


def run(trace: ft.Trace, name: str, settings: dict[str, Any]) -> ft.Result:
    return ft.replay(trace, ft.system(name, settings={**SMALL, "replay.preload": "none", **settings}), per_request=True)


def figures(result: ft.Result) -> list[Any]:
    summary = {key: figure for key, figure in result.summary.items() if key not in {"trace", "config", "simulator"}}
    return [summary, *(pa.table(result.table(name)) for name in sorted(result.table_names))]


@pytest.mark.parametrize("name", ft.systems())
def test_streams_that_are_volumes_give_the_figures_of_volumes(name: str) -> None:
    volume = volumes_of(name)
    trace, plain = drawn(name, volume=volume, stream=volume), drawn(name, volume=volume)
    more = {"engine.write_cache_pages": 24} if name == "conventional" else {}
    volumes = {**STREAMS, **more, "ftl.partition.policy": "volumes"}
    assert figures(run(trace, name, {**STREAMS, **more})) == figures(run(plain, name, volumes))
    # Nobody looks at the column unless he is told to.
    assert figures(run(trace, name, volumes)) == figures(run(plain, name, volumes))
    assert figures(run(trace, name, more)) == figures(run(plain, name, more))
    assert trace.digest != plain.digest


@pytest.mark.parametrize("settings", [{}, {"ftl.mapping": "content"}, {"ftl.mapping_cache.bytes": 8_192}])
def test_pages_are_counted_by_the_stream_of_their_write(settings: dict[str, Any]) -> None:
    """Two writes of a page under way together keep their own streams."""
    random = np.random.default_rng(5)
    count = 3_000
    stream = random.choice(np.array([0, 1, 2, 3, 300, None]), count).astype(object)
    length = random.integers(1, 4, count) * PAGE
    rows = {"time_ns": np.arange(count) * 2_000, "op": ["write"] * count, "length_bytes": length,
            "offset_bytes": random.integers(0, 20, count) * PAGE, "stream": stream,
            "content": [[int(one) for one in random.integers(0, 900, pages)] for pages in length // PAGE]}  # fmt: skip
    trace = ft.Trace.from_frame(rows)
    pages = length // PAGE
    summary = run(trace, "conventional", {**STREAMS, **settings}).summary
    expected = [int(pages[[one == part for one in stream]].sum()) for part in (0, 1)]
    without = int(pages[[one not in (0, 1, 2) for one in stream]].sum())
    expected.append(int(pages.sum()) - sum(expected))
    assert [part["pages_written"] for part in summary["partitions"]] == expected
    assert summary["page_ops"]["writes_without_handle"] == without
    sizes = {"ftl.partition.policy": "sizes", "ftl.partition.sizes": "8K, 12K"}
    summary = run(trace, "conventional", {**STREAMS, **settings, **sizes}).summary
    assert [part["pages_written"] for part in summary["partitions"]] == [
        int(pages[pages == one].sum()) for one in (1, 2, 3)
    ]
    assert summary["page_ops"]["writes_without_handle"] == 0


@pytest.mark.parametrize("sizes", ["1M, 16K", "16K", "16X, 1M", "", "16K,, 1M"])
def test_wrong_sizes_are_refused(sizes: str) -> None:
    with pytest.raises(ft.ConfigError, match=r"partition\.sizes.*one start in bytes, K, M, G or T for each partition"):
        ft.system("conventional", settings={**STREAMS, "ftl.partition.policy": "sizes", "ftl.partition.sizes": sizes})
