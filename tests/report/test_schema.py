"""One schema of results: the core writes exactly the fields of its types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.schema import SCHEMA, faults, leaves, table_faults

import flashtwin as ft
from flashtwin.judgement import facts, ledger
from flashtwin.report import colours
from flashtwin.results import names
from flashtwin.results.reading import SavedRun, read_json

RUN, CHARACTERIZATION, TRACE = SCHEMA["run"], SCHEMA["characterization"], SCHEMA["trace"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> ft.Trace:
    path = tmp_path_factory.mktemp("traces") / "small.fiu"
    lines = [f"{n * 50_000} 1 p {n % 40 * 8} 8 {'RW'[n % 3 > 0]} 8 0 {n % 7:032x}" for n in range(400)]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return ft.open(path)


@pytest.fixture(scope="module")
def written(trace: ft.Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of systems that together write every table and every field."""
    folder = tmp_path_factory.mktemp("written") / "out"
    systems = {"conventional": "conventional", "rr-ssd": "rr-ssd", "hot-cold": "hot-cold"}
    ft.compare(trace, systems, threads=1, period_s=0.005).save(folder)
    return folder


def summaries(folder: Path) -> list[dict[str, Any]]:
    return [read_json(file) for file in sorted(folder.glob("runs/*/summary.json"))]


def run_tables(folder: Path) -> dict[Path, pa.Schema]:
    return {file: pq.read_schema(file) for file in sorted(folder.glob("runs/*/*.parquet"))}


def test_runs_are_written_by_the_schema(written: Path) -> None:
    """All fields in its order, and all columns of all tables in theirs."""
    for summary in summaries(written):
        assert faults(summary, RUN["summary"]) == []
        assert list(summary) == list(RUN["summary"]["properties"])
    for file, found in run_tables(written).items():
        assert table_faults(file.stem, found, RUN["tables"]) == []
        assert found.names == list(RUN["tables"][file.stem]["properties"])
    # Requests by themselves only where they were asked for.
    assert {file.stem for file in run_tables(written)} == set(RUN["tables"]) - {names.REQUESTS}


def test_characterizations_and_traces_are_written_by_the_schema(trace: ft.Trace) -> None:
    found = ft.characterize(trace, period_s=0.005)
    assert faults(found.summary, CHARACTERIZATION["summary"]) == []
    assert set(CHARACTERIZATION["summary"]["properties"]) - set(found.summary) == {"standard_errors"}
    tables = {name: pa.table(found.table(name)).schema for name in found.table_names}
    assert set(tables) == set(CHARACTERIZATION["tables"])
    for name, table in tables.items():
        assert table_faults(name, table, CHARACTERIZATION["tables"]) == []
        assert table.names == list(CHARACTERIZATION["tables"][name]["properties"])
    assert faults(trace.info, TRACE["info"]) == []


def test_what_the_schema_does_not_know_is_a_fault(written: Path) -> None:
    """As a column that was renamed in the core is."""
    summary = summaries(written)[0]
    summary["erases"]["totals"] = summary["erases"].pop("total")
    summary["page_ops"]["read"] = "many"
    assert faults(summary, RUN["summary"]) == ["page_ops.read: 'many' is not integer", "erases.totals: unknown"]
    renamed = pa.schema({"chip": pa.int64(), "use": pa.float64(), "queue_max": pa.string()})
    assert table_faults("chips", renamed, RUN["tables"]) == [
        "chips.use: unknown",
        "chips.queue_max: string is not integer",
    ]


def test_the_parts_of_a_response_time_are_the_core_s(written: Path) -> None:
    parts = {path.rpartition(".")[2] for path in leaves(RUN["summary"]) if path.startswith("response.read.split.")}
    assert parts == {f"{key}_ns" for key, _ in facts.PARTS}
    summary = read_json(written / "runs" / "rr-ssd" / "summary.json")
    for kind in ("read", "write", "all"):
        split = summary["response"][kind]["split"]
        assert sum(split.values()) == pytest.approx(summary["response"][kind]["mean_ns"])


def test_every_charge_of_the_core_has_words_and_a_colour(written: Path) -> None:
    table = pq.read_table(written / "runs" / "rr-ssd" / "wait_ledger.parquet").to_pylist()
    waits = {row["charge"] for row in table if row["part"] != ledger.SERVICE}
    # Slots and the link are waited for by drives with a front end alone, and this one has none.
    assert waits | {"slot", "link"} == set(ledger.WAITS) == set(colours.WAIT_COLOURS) - {"other", ledger.SERVICE}
    run = SavedRun("rr-ssd", written / "runs" / "rr-ssd", read_json(written / "runs" / "rr-ssd" / "summary.json"))
    for kind in ("read", "write", "all"):
        found = ledger.ledger(run, kind)
        assert found is not None
        assert found.total_ns == pytest.approx(run.number(f"response.{kind}.mean_ns"))
        assert found.count == run.number(f"response.{kind}.count")
