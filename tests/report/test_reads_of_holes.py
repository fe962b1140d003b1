"""A trace whose reads all find pages that hold nothing: they take no time, which no logarithm shows."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl
import pytest

import flashtwin as ft
from flashtwin import report
from flashtwin.report import saving


def test_reads_that_take_no_time_are_drawn_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setenv("FLASHTWIN_CHARTS", "none")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = ft.study(trace, tmp_path / "out", ["conventional", "ca-ssd"], effort=0)
        for name in ("response_over_time", "response", "latency"):
            assert "</svg>" in saving.svg(report.chart(name, done.path))
