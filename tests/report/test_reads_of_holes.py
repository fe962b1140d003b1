"""A trace whose reads all find pages that hold nothing: they take no time, which no logarithm shows."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl

import flashtwin as ft


def test_reads_that_take_no_time_are_drawn_without_a_warning(tmp_path: Path) -> None:
    requests = 400
    frame = pl.DataFrame({
        "time_ns": [0, *(1_000_000 * at for at in range(requests))],
        "op": ["trim", *("read" if at % 2 else "write" for at in range(requests))],
        "offset_bytes": [4096 * 1000, *(4096 * (1000 + at if at % 2 else at) for at in range(requests))],
        "length_bytes": [4096 * requests, *([4096] * requests)],
        "content": [None, *(None if at % 2 else [at % 7] for at in range(requests))],
    })  # fmt: skip
    trace = ft.Trace.from_frame(frame, name="holes")
    assert ft.replay(trace, "conventional").response.read.max_ns == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = ft.study(trace, tmp_path / "out", ["conventional", "ca-ssd"], effort=0)
    assert "response_over_time" in done.report.read_text(encoding="utf-8")
