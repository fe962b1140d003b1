"""Every request by itself: as many rows as requests, sums as in the summary, nothing of it unless asked for."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import flashtwin as ft
from flashtwin import _core
from flashtwin.results import folder, names, schema

from .conftest import Cli, fiu_trace

CHARGES = [name for name in schema.TABLES[names.REQUESTS] if name.endswith("_ns")][3:]
#: Copies and redirection, collection, reads that join, a write cache, mapping tables on flash.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "open loop": ("conventional", {}),
    "closed loop": ("rr-ssd", {"queue_depth": 16, "period_s": 0.05}),
    "merged": ("ca-ssd", {"merge_reads": "same-page", "speed": 60}),
    "cached": ("ca-ssd", {"write_cache_pages": 64, "speed": 20}),
    "buffered": ("ca-ssd", {"write_completes": "buffered", "speed": 20}),
    "awaited": ("rr-ssd", {"buffer_reads": False, "speed": 20}),
}


@pytest.fixture(scope="module")
def trace() -> ft.Trace:
    """2,000 requests, every fifth of them of two pages, and some trims."""
    rows = [line.split() for line in fiu_trace(2_000).splitlines()]
    pages = [2 if number % 5 == 0 else 1 for number in range(len(rows))]
    ops = ["trim" if number % 97 == 5 else row[5] for number, row in enumerate(rows)]
    contents = zip(rows, ops, pages, strict=True)
    return ft.Trace.from_frame({
        "time_ns": [int(row[0]) for row in rows], "op": ops, "offset_bytes": [int(row[3]) * 512 for row in rows],
        "length_bytes": [4096 * one for one in pages],
        "content": [None if op == "trim" else [int(row[8], 16) % 2**31] * one for row, op, one in contents],
    }, name="made")  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_rows_are_the_requests_and_sum_to_the_totals(case: str, trace: ft.Trace) -> None:
    system, keys = CASES[case]
    result = ft.replay(trace, system, per_request=True, **keys)
    table = pa.table(result.table(names.REQUESTS))
    assert table.column_names == list(schema.TABLES[names.REQUESTS])
    assert sorted(table["request"].to_pylist()) == list(range(len(trace)))
    assert set(table["system"].to_pylist()) == {system}
    for kind in ("read", "write"):
        mine = table.filter(pc.equal(table["op"], kind))
        response = result.summary["response"][kind]
        assert mine.num_rows == response["count"] == result.summary["requests"][kind]
        assert pc.sum(mine["response_ns"]).as_py() == round(response["mean_ns"] * response["count"])
        assert pc.max(mine["response_ns"]).as_py() == response["max_ns"]
        ledger = pa.table(result.table("wait_ledger")).to_pylist()
        means = {row["charge"]: row["mean_ns"] for row in ledger if (row["kind"], row["requests"]) == (kind, "all")}
        found = {name.removesuffix("_ns"): pc.mean(mine[name]).as_py() for name in CHARGES}
        # The ledger has the charges of a front end only where there is one.
        assert found == pytest.approx({"slot": 0.0, "link": 0.0, **means})
    trims = table.filter(pc.equal(table["op"], "trim"))
    assert trims.num_rows == result.summary["requests"]["trim"] > 0
    assert trims["response_ns"].null_count == trims.num_rows
    for row in table.to_pylist():
        assert sum(row[name] for name in CHARGES) == (row["response_ns"] or 0)


def test_arrivals_are_on_both_clocks(trace: ft.Trace) -> None:
    result = ft.replay(trace, "conventional", per_request=True, speed=4)
    table = pa.table(result.table(names.REQUESTS)).sort_by("request")
    asked = pa.table(trace)
    assert table["time_ns"].to_pylist() == asked["time_ns"].to_pylist()
    assert table["arrival_ns"].to_pylist() == [time // 4 for time in asked["time_ns"].to_pylist()]
    assert table["pages"].to_pylist() == [length // 4096 for length in asked["length_bytes"].to_pylist()]
    ends = [
        arrival + response
        for arrival, response in zip(table["arrival_ns"].to_pylist(), table["response_ns"].to_pylist(), strict=True)
        if response is not None
    ]
    assert max(ends) == result.summary["throughput"]["last_response_ns"]


def test_nothing_unless_asked_for_and_nothing_else_differs(trace: ft.Trace) -> None:
    plain, followed = ft.replay(trace, "rr-ssd"), ft.replay(trace, "rr-ssd", per_request=True)
    assert names.REQUESTS not in plain.table_names
    assert plain.summary == followed.summary
    for name in plain.table_names:
        assert pa.table(plain.table(name)).equals(pa.table(followed.table(name))), name


@pytest.mark.usefixtures("no_pages")
def test_study_repeats_runs_without_request_tables(trace: ft.Trace, tmp_path: Path) -> None:
    systems, said = ["conventional", "ca-ssd"], []
    ft.study(trace, tmp_path / "out", systems, effort=0)
    assert not folder.has_requests(tmp_path / "out", "ca-ssd")
    ft.study(trace, tmp_path / "out", systems, effort=0, per_request=True, notify=said.append)
    assert said == []
    ft.study(trace, tmp_path / "out", systems, effort=0, notify=said.append)
    assert "reusing conventional, ca-ssd" in said[0]
    both = ft.Comparison.read(tmp_path / "out")
    assert len(both.table(names.REQUESTS)) == 2 * len(trace)
    in_memory = pa.table(ft.replay(trace, "ca-ssd", per_request=True).table(names.REQUESTS))
    assert in_memory.equals(pa.table(both["ca-ssd"].table(names.REQUESTS)))
    assert not list((tmp_path / "out").rglob(".*partial"))


def test_on_the_command_line(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    refused = cli("replay", small_trace, "--system", "ca-ssd", "--per-request", status=2)
    assert "--per-request writes a table; say with --out where to" in refused.err
    cli("compare", small_trace, "--systems", "conventional,ca-ssd", "--per-request", "--out", "out", status=0)
    file = names.table(names.run(tmp_path / "out", "ca-ssd"), names.REQUESTS)
    assert pq.read_metadata(file).num_rows == 2_000


def test_a_table_that_nobody_moved_goes_with_its_result(tmp_path: Path, trace: ft.Trace) -> None:
    place = tmp_path / "requests"
    runs = _core.run(trace._native, [ft.system("conventional")._resolved], requests=[place])
    assert len(runs[0].table(names.REQUESTS)) == len(trace)
    assert place.is_file()
    del runs
    assert not place.exists()
