"""The native module: its stub, its tables, its errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flashtwin as ft

from .conftest import ROOT


def test_stub_and_binary_agree() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "flashtwin._core", "--mypy-config-file", ROOT / "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_tables_speak_the_arrow_interface(small_trace: Path) -> None:
    result = ft.replay(ft.open(small_trace), "rr-ssd")
    for name in result.table_names:
        table = result.table(name)
        arrow = pa.table(table)
        assert arrow.column_names == table.column_names
        assert arrow.num_rows == len(table)
        assert polars.DataFrame(table).shape == (len(table), len(table.column_names))


def test_a_table_dropped_unread_or_read_twice_is_fine(small_trace: Path) -> None:
    table = ft.replay(ft.open(small_trace), "conventional").table("chips")
    unread = table.__arrow_c_stream__()
    del unread
    assert pa.table(table).equals(pa.table(table))


def test_an_unknown_table_names_the_known_ones(small_trace: Path) -> None:
    result = ft.replay(ft.open(small_trace), "conventional")
    with pytest.raises(ft.FlashtwinError, match=r"no table is called 'chip'; there are: .*chips"):
        result.table("chip")


def test_the_trace_as_a_table(small_trace: Path, tmp_path: Path) -> None:
    trace = ft.open(small_trace)
    arrow = pa.table(trace)
    assert arrow.num_rows == len(trace)
    assert arrow.column_names[:5] == ["time_ns", "volume", "op", "offset_bytes", "length_bytes"]
    trace.write_parquet(tmp_path / "small.parquet")
    assert (
        pq.read_table(tmp_path / "small.parquet")
        .select(arrow.column_names[:5])
        .equals(arrow.select(arrow.column_names[:5]))
    )
    assert ft.open(tmp_path / "small.parquet").digest == trace.digest


def test_exceptions_are_one_family() -> None:
    for error in (ft.TraceError, ft.ConfigError, ft.SimError):
        assert issubclass(error, ft.FlashtwinError)
    assert issubclass(ft.FlashtwinError, ValueError)
    with pytest.raises(ft.ConfigError, match="rr-ssd"):
        ft.system("rr-sdd")


def test_saved_results_are_what_the_objects_hold(small_trace: Path, tmp_path: Path) -> None:
    result = ft.replay(ft.open(small_trace), "ca-ssd")
    folder = result.save(tmp_path / "run")
    assert json.loads((folder / "summary.json").read_text()) == result.summary
    for name in result.table_names:
        assert pq.read_table(folder / f"{name}.parquet").equals(pa.table(result.table(name)))


def test_settings_reach_the_result(small_trace: Path) -> None:
    result = ft.replay(ft.open(small_trace), "rr-ssd", **{"replication.alpha": 0.25})
    assert 0.25 in [value for _, value in leaves(result.summary["config"])]
    with pytest.raises(ft.ConfigError, match=r"replication\.alpha"):
        ft.replay(ft.open(small_trace), "rr-ssd", **{"replication.alpah": 0.25})


def test_a_system_bears_the_name_that_its_caller_gives(small_trace: Path) -> None:
    trace = ft.open(small_trace)
    for call in (
        lambda: ft.replay(trace, "rr-ssd", name="mine"),
        lambda: ft.compare(trace, ["rr-ssd"], name="mine"),
        lambda: ft.system("rr-ssd", name="mine"),
    ):
        with pytest.raises(ft.ConfigError, match=r"'name' is no key that can be set: .*ft\.compare\(trace, \{'mine'"):
            call()
    assert list(ft.compare(trace, {"mine": "rr-ssd"})) == ["mine"]


def test_one_system_needs_no_list(small_trace: Path) -> None:
    trace = ft.open(small_trace)
    for system in ("rr-ssd", ft.system("rr-ssd")):
        assert list(ft.compare(trace, system)) == ["rr-ssd"]
    with pytest.raises(ft.ConfigError, match="did you mean 'rr-ssd'"):
        ft.compare(trace, "rr-sdd")


def leaves(tree: dict[str, object]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in tree.items():
        found += leaves(value) if isinstance(value, dict) else [(key, value)]
    return found
