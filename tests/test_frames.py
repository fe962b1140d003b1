"""The native module's stub; results and traces as frames, in pickles, and read back; traces from tables."""

import ast
import inspect
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flashtwin as ft
from flashtwin import _core

from .conftest import ROOT, finished


@pytest.fixture(scope="module")
def trace(brief_trace: Path) -> ft.Trace:
    return ft.open(brief_trace)


@pytest.fixture(scope="module")
def both(trace: ft.Trace) -> ft.Comparison:
    return ft.compare(trace, ["conventional", "rr-ssd"], period_s=0.005)


@pytest.fixture(scope="module")
def saved(both: ft.Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return both.save(tmp_path_factory.mktemp("saved") / "out")


@pytest.mark.slow
def test_stub_and_binary_agree(tmp_path: Path) -> None:
    # Its names are compared one by one: a list of them in the stub would say nothing more.
    (tmp_path / "allowed").write_text("flashtwin._core.__all__\n")
    settings = ("--mypy-config-file", ROOT / "pyproject.toml", "--allowlist", tmp_path / "allowed")
    done = finished(sys.executable, "-m", "mypy.stubtest", "flashtwin._core", *settings, cwd=ROOT)
    assert done.status == 0, done.out + done.err


def test_stub_has_the_names_and_parameters_of_the_binary() -> None:
    """As much of `stubtest` as takes no time; that takes a quarter of a minute."""
    stub = ast.parse((ROOT / "python" / "flashtwin" / "_core.pyi").read_text(encoding="utf-8"))
    compare_with_stub(_core, stub.body)


def compare_with_stub(owner: Any, nodes: list[ast.stmt]) -> None:
    named = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    public = {name for name in vars(owner) if not name.startswith("_")}
    assert {node.name for node in named if not node.name.startswith("_")} == public, owner
    for node in named:
        real = getattr(owner, node.name)
        if isinstance(node, ast.ClassDef):
            compare_with_stub(real, node.body)
        elif callable(real) and node.name != "__new__":
            parameters = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            assert list(inspect.signature(real).parameters) == parameters, f"{owner}: {node.name}"


class TestFrames:
    def test_a_table_is_the_same_in_every_library(self, both: ft.Comparison, saved: Path) -> None:
        stored = pq.read_table(saved / "runs" / "rr-ssd" / "chips.parquet")
        table = both["rr-ssd"].table("chips")
        assert pa.table(table).equals(stored)
        assert (len(table), table.column_names) == (len(stored), stored.column_names)
        assert table.to_arrow().equals(stored)
        assert polars.DataFrame(table).equals(polars.from_arrow(stored))
        assert table.to_polars().equals(polars.DataFrame(table))
        assert table.to_pandas().equals(stored.to_pandas())
        assert pandas.DataFrame(table).to_dict("list") == stored.to_pydict()

    def test_a_table_dropped_unread_or_read_twice_is_fine(self, both: ft.Comparison) -> None:
        table = both.baseline.table("chips")
        unread = table.__arrow_c_stream__()
        del unread
        assert pa.table(table).equals(pa.table(table))

    def test_rows_know_their_columns(self, both: ft.Comparison) -> None:
        first = next(iter(both["rr-ssd"].table("chips")))
        assert first.chip == first[0] == 0
        with pytest.raises(AttributeError, match="no column 'chips'; there are: chip, channel"):
            _ = first.chips

    def test_one_frame_holds_all_runs(self, both: ft.Comparison, saved: Path) -> None:
        frame = polars.DataFrame(both)
        assert frame.equals(both.to_polars())
        assert frame["run"].to_list() == ["conventional", "rr-ssd"] == both.to_pandas()["run"].tolist()
        for run in both:
            summary = json.loads((saved / "runs" / run / "summary.json").read_text(encoding="utf-8"))
            (row,) = frame.filter(polars.col("run") == run).to_dicts()
            assert row["response.read.mean_ns"] == summary["response"]["read"]["mean_ns"]
            assert row["config.replay.period_s"] == 0.005
            assert row["requests.completed"] == summary["requests"]["completed"] == 400

    def test_one_table_of_all_runs(self, both: ft.Comparison, saved: Path) -> None:
        whole = both.table("periods").to_arrow()
        for run in both:
            part = whole.filter(pa.compute.equal(whole["run"], run)).drop_columns("run")
            assert part.equals(pq.read_table(saved / "runs" / run / "periods.parquet"))

    def test_a_result_and_a_characterization_are_a_row(self, trace: ft.Trace, both: ft.Comparison) -> None:
        (row,) = both["rr-ssd"].to_arrow().to_pylist()
        assert row == both["rr-ssd"].row
        found = ft.characterize(trace, period_s=0.005)
        (row,) = found.to_polars().to_dicts()
        assert {key: value for key, value in row.items() if value is not None} == {
            key: value for key, value in found.row.items() if value is not None
        }

    def test_many_traces_are_a_frame(self, trace: ft.Trace, tmp_path: Path) -> None:
        trace.write_parquet(tmp_path / "one.parquet")
        done = ft.characterize_many(tmp_path / "one.parquet", tmp_path / "out", workers=1, report=False)
        assert done.to_arrow().equals(pq.read_table(tmp_path / "out" / "traces.parquet"))

    def test_notebooks_show_tables(self, trace: ft.Trace, both: ft.Comparison) -> None:
        found = ft.characterize(trace, period_s=0.005)
        for shown in (trace, both, both.baseline, both.baseline.table("chips"), found):
            text = shown._repr_html_()
            assert text.count("<tr>") == text.count("</tr>") > 1
        assert "<td>rr-ssd</td>" in both._repr_html_()

    def test_what_is_shown_cannot_be_markup(self, trace: ft.Trace) -> None:
        named = ft.compare(trace, {"<b>": ft.system("conventional")})
        assert "<b>" not in named._repr_html_()


class TestReadingBack:
    def test_a_comparison_is_read_as_it_was(self, both: ft.Comparison, saved: Path) -> None:
        again = ft.Comparison.read(saved)
        assert list(again) == list(both)
        assert again.to_arrow().equals(both.to_arrow())
        assert again.info == both.info
        assert again.trace is None
        for name, result in both.items():
            assert again[name].summary == result.summary
            assert sorted(again[name].table_names) == sorted(result.table_names)
            for table in result.table_names:
                assert again[name].table(table).to_arrow().equals(result.table(table).to_arrow())

    def test_what_was_read_can_be_saved(self, saved: Path, tmp_path: Path) -> None:
        ft.Comparison.read(saved).save(tmp_path / "again")
        assert ft.Comparison.read(tmp_path / "again").to_arrow().equals(ft.Comparison.read(saved).to_arrow())

    def test_a_result_is_read_as_it_was(self, both: ft.Comparison, tmp_path: Path) -> None:
        again = ft.Result.read(both["rr-ssd"].save(tmp_path / "mine"))
        assert (again.name, again.summary) == ("mine", both["rr-ssd"].summary)

    def test_what_is_no_result_is_said_to_be_none(self, saved: Path, tmp_path: Path) -> None:
        with pytest.raises(ft.ReportError, match=r"`Comparison\.read` reads all"):
            ft.Result.read(saved)
        with pytest.raises(ft.ReportError, match="no such folder"):
            ft.Comparison.read(tmp_path / "none")
        (tmp_path / "summary.json").write_text("{")
        with pytest.raises(ft.FlashtwinError, match=r"summary\.json:1:2: not JSON"):
            ft.Result.read(tmp_path)

    def test_a_table_that_is_not_there_is_named(self, trace: ft.Trace, both: ft.Comparison, saved: Path) -> None:
        characterized = ft.characterize(trace, period_s=0.005)
        for result in (both["rr-ssd"], ft.Comparison.read(saved)["rr-ssd"], characterized):
            with pytest.raises(ft.FlashtwinError, match=r"no table is called 'chip'; there are: .*"):
                result.table("chip")
        assert characterized.chart("temperature").axes


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


class TestPickles:
    def test_results_come_back_whole(self, both: ft.Comparison) -> None:
        result = again(both["rr-ssd"])
        assert result.summary == both["rr-ssd"].summary
        for table in result.table_names:
            assert result.table(table).to_arrow().equals(both["rr-ssd"].table(table).to_arrow())
        assert again(both).to_arrow().equals(both.to_arrow())
        assert again(again(both).baseline).row == both.baseline.row

    def test_traces_characterizations_and_systems_come_back_whole(self, trace: ft.Trace) -> None:
        copy, found = again(trace), ft.characterize(trace, period_s=0.005)
        assert (copy.digest, copy.name, copy.volumes) == (trace.digest, trace.name, trace.volumes)
        copy, system = again(found), ft.system("rr-ssd", settings={"replication.alpha": 0.25})
        assert (copy.row, copy.advice, copy.table_names) == (found.row, found.advice, found.table_names)
        assert again(system).config == system.config

    @pytest.mark.parametrize("error", [ft.TraceError("a"), ft.ArgumentError("b"), ft.InternalError("c")])
    def test_errors_come_back_as_what_they_were(self, error: Exception) -> None:
        assert (type(again(error)), str(again(error))) == (type(error), str(error))


class TestTracesFromTables:
    def test_named_columns_of_a_csv(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.csv"
        path.write_text("When;What;LBA;Sectors;MD5\n1.5;Write;8;8;00aa\n0.5;READ;0;16;\n2.0;discard;8;8;\n")
        columns = {"time": "When", "op": "What", "offset": "LBA", "length": "Sectors", "content": "MD5"}
        made = ft.Trace.from_csv(path, columns, time_unit="ms", offset_unit=512, length_unit=512, delimiter=";")
        rows = made.to_arrow().to_pylist()
        assert made.name == "mine"
        assert made.has_content
        assert [(row["time_ns"], row["op"], row["offset_bytes"], row["length_bytes"]) for row in rows] == [
            (0, 0, 0, 8192),
            (1_000_000, 1, 4096, 4096),
            (1_500_000, 2, 4096, 4096),
        ]

    def test_queues_of_requests(self) -> None:
        rows = {"time_ns": [0, 1], "op": [0, 1], "offset_bytes": [0, 0], "length_bytes": [512, 512]}
        plain, zeroes, queued, other = (
            ft.Trace.from_frame(rows if queue is None else {**rows, "queue": [0, queue]}) for queue in (None, 0, 31, 30)
        )
        assert plain.digest == zeroes.digest
        assert len({plain.digest, queued.digest, other.digest}) == 3
        for wrong in (32, -1, "x"):
            with pytest.raises(ft.TraceError, match="queue"):
                ft.Trace.from_frame({**rows, "queue": [wrong, wrong]})
        named = ft.Trace.from_frame({**rows, "sq": [0, 31]}, columns={"queue": "sq"})
        assert named.digest == queued.digest

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"op": ["x", "w"]}, "'x' is no operation: expected read, write"),
            ({"time_ns": [0, None]}, "the time of a request is missing in row 2"),
            ({"length_bytes": [512, -1]}, "the length in row 2 is -1 bytes; expected 0 to"),
            ({"offset_bytes": ["here", "there"]}, "the offset of a request is no number of bytes"),
            ({"op": [True, False]}, "'true', 'false' is no operation: .*--op-words"),
            ({"op": pa.array([{"a": 1}, {"a": 2}])}, "a column has values that no request has .*struct"),
            ({"holes": ["x", None]}, "a column has values that no request has"),
            ({"stream": [0, 65_535]}, "the stream in row 2 is 65535; expected 0 to 65,534"),
            ({"volume": ["a", None]}, "the volume of a request is missing in row 2"),
            ({"content": ["a", "b"], "content_digest": [["a"], ["b"]]}, "content_digest and content both hold the"),
            (
                {"content": pa.array([[0], [0]], pa.list_(pa.uint32())), "digest": [[b"1"], [b"1"]]},
                "numbers of contents",
            ),
            ({"content": [["a"], ["a", "b"]]}, "row 2 is a list of another length; a request of its length has 1"),
        ],
    )
    def test_what_cannot_be_a_request_is_named(self, change: dict[str, Any], message: str) -> None:
        rows = {"time_ns": [0, 1], "op": ["r", "w"], "offset_bytes": [0, 512], "length_bytes": [512, 512], **change}
        with pytest.raises(ft.TraceError, match=f"^mine: .*{message}"):
            ft.Trace.from_frame(rows, name="mine")

    def test_a_missing_column_is_named_with_those_there_are(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n1,2\n")
        with pytest.raises(ft.TraceError, match=r"t\.csv: no column is called 'Time', .* the time .*; there are: a, b"):
            ft.Trace.from_csv(tmp_path / "t.csv", {"time": "Time"})
        with pytest.raises(ft.TraceError, match="a request has no 'size'; it has time, op"):
            ft.Trace.from_csv(tmp_path / "t.csv", {"size": "b"})
        with pytest.raises(ft.TraceError, match="no such file"):
            ft.Trace.from_csv(tmp_path / "none.csv")
