"""IOPS and MB/s against closed forms, and response times over time against every request by itself."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import flashtwin as ft
from flashtwin.errors import ArgumentError
from flashtwin.report import drawing
from flashtwin.report.charts import sweeps
from flashtwin.results import figures, names
from flashtwin.results import sweeps as reading

from .conftest import Cli, fiu

#: A device whose single channel is what limits reads.
ONE_CHANNEL: dict[str, Any] = {"nand.channels": 1, "nand.chips_per_channel": 64}
PAGE = 4096


def one_page_requests(path: Path, kind: str, requests: int, step_ns: int = 0) -> ft.Trace:
    file = path / f"{kind}.fiu"
    file.write_text(fiu((n * step_ns, n % 1024, kind, n % 977) for n in range(requests)))
    return ft.open(file)


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> ft.Trace:
    return one_page_requests(tmp_path_factory.mktemp("reads"), "R", 8_000, 1)


def test_one_at_a_time_is_the_inverse_of_the_response(reads: ft.Trace) -> None:
    summary = ft.replay(reads, "conventional", queue_depth=1).summary
    found, response = summary["throughput"], summary["response"]["read"]
    assert response["stddev_ns"] == 0
    assert found["read"]["iops"] == found["all"]["iops"] == found["requests_per_s"]
    assert found["read"]["iops"] == pytest.approx(1e9 / response["mean_ns"])
    assert found["read"]["mb_per_s"] == pytest.approx(PAGE / 1e6 * 1e9 / response["mean_ns"])
    assert found["write"] == {"bytes": 0, "iops": 0, "mb_per_s": 0}
    assert found["read"]["bytes"] == reads.info["read_bytes"]


def test_rates_of_no_time_are_missing(tmp_path: Path) -> None:
    trace = one_page_requests(tmp_path, "R", 1)
    # A page that was never written needs no flash.
    summary = ft.replay(trace, "conventional", preload="none").summary["throughput"]
    assert summary["span_ns"] == 0
    assert summary["requests_per_s"] is summary["all"]["iops"] is summary["read"]["mb_per_s"] is None
    assert summary["read"]["bytes"] == PAGE


def test_in_an_open_loop_it_is_what_was_asked_for(small_trace: Path) -> None:
    slow, fast = (ft.replay(small_trace, "ca-ssd", speed=speed).summary for speed in (1, 4))
    for summary in (slow, fast):
        found = summary["throughput"]
        assert found["span_ns"] == found["last_response_ns"] - found["first_arrival_ns"]
        assert found["last_response_ns"] <= summary["completed_ns"]
        assert found["requests_per_s"] == pytest.approx(summary["requests"]["completed"] / found["span_ns"] * 1e9)
    assert fast["throughput"]["all"]["iops"] == pytest.approx(4 * slow["throughput"]["all"]["iops"], rel=0.01)


@pytest.fixture(scope="module")
def depths(tmp_path_factory: pytest.TempPathFactory) -> ft.Sweep:
    trace = one_page_requests(tmp_path_factory.mktemp("traces"), "R", 8_000, 1)
    out = tmp_path_factory.mktemp("depths") / "out"
    return ft.sweep(trace, out, ["conventional", "rr-ssd"], settings=ONE_CHANNEL, queue_depth=[1, 4, 16, 64], workers=1)


def test_depth_sweep_draws_throughput_against_response_time(depths: ft.Sweep) -> None:
    page = depths.report.read_text(encoding="utf-8")
    assert page.index("Throughput against response time") < page.index("By replay.queue_depth")
    found = reading.load(depths.path)
    told = sweeps.throughput(found)
    mean, p99 = drawing.figure(told.frame).axes
    for axes, column in ((mean, "response.all.mean_ns"), (p99, "response.all.p99_ns")):
        assert len(axes.lines) == 2
        for line, system in zip(axes.lines, ("conventional", "rr-ssd"), strict=True):
            mine = [row for row in found.done if row["system"] == system]
            points = list(zip(*line.get_data(), strict=True))
            assert points == [(row["throughput.all.iops"], row[column]) for row in mine]
    assert [text.get_text() for text in mean.texts] == ["1", "4", "16", "64"]
    assert all("under way" in sentence for sentence in told.sees)
    assert len(told.data.rows) == 8


def test_other_sweeps_have_no_such_chart(small_trace: Path, tmp_path: Path) -> None:
    done = ft.sweep(small_trace, tmp_path / "out", ["conventional"], speed=[1, 2], workers=1)
    assert "Throughput against response time" not in done.report.read_text(encoding="utf-8")


def test_of_throughput_more_is_better(depths: ft.Sweep) -> None:
    iops = figures.figure("iops")
    assert (iops.path, iops.label, iops.unit, figures.short(iops.path)) == ("throughput.all.iops", "IOPS", "", "iops")
    assert figures.figure("read.mb_per_s").path == "throughput.read.mb_per_s"
    best = max(depths.bests("iops"), key=lambda row: row["throughput.all.iops"])
    assert best["throughput.all.iops"] == max(depths.to_arrow()["throughput.all.iops"].to_pylist())
    front = depths.pareto("iops,all.mean").to_pylist()
    assert len(front) > 2, "the fewest under way wait least, the most serve most"
    assert best["point"] in [row["point"] for row in front]
    for row in front:
        assert not any(
            other["throughput.all.iops"] > row["throughput.all.iops"]
            and other["response.all.mean_ns"] < row["response.all.mean_ns"]
            for other in depths.to_arrow().to_pylist()
        )


def test_a_search_may_be_for_the_most(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    done = cli(
        "sweep", small_trace, "--systems", "conventional", "--queue-depth", "1,2,4,8,16", "--maximize", "iops",
        "--subject-to", "read.p99<=1ms", "--out", "out",
        status=0,
    )  # fmt: skip
    assert "best: point 5" in done.out
    assert "Maximized" in (tmp_path / "out" / names.REPORT).read_text(encoding="utf-8")
    for arguments, cure in ({"minimize": "iops"}, "--maximize iops"), ({"maximize": "wa"}, "--minimize wa"):
        with pytest.raises(ArgumentError, match=cure):
            ft.sweep(small_trace, tmp_path / "no", ["conventional"], queue_depth=[1, 2], **arguments)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> ft.Result:
    random, rows = 12_345, []
    for number in range(20_000):
        random = (random * 1_103_515_245 + 12_345) % 2**31
        kind = "RW"[random >> 16 & 1]
        time = number * 4_000 + (number // 2_000) * 3_000_000
        rows.append((time, (random >> 8) % 2_000, kind, random % 5_000))
    path = tmp_path_factory.mktemp("crowded") / "made.fiu"
    path.write_text(fiu(rows))
    return ft.replay(path, "ca-ssd", per_request=True)


def test_buckets_hold_the_requests_that_arrived_in_them(crowded: ft.Result) -> None:
    requests = pa.table(crowded.table(names.REQUESTS))
    over_time = pa.table(crowded.table("response_over_time")).to_pylist()
    assert len({row["width_ns"] for row in over_time}) == 1
    assert 200 <= len(over_time) / 2 <= 400
    for row in over_time:
        end = row["start_ns"] + row["width_ns"]
        mine = requests.filter(
            pc.and_(
                pc.equal(requests["op"], row["kind"]),
                pc.and_(
                    pc.greater_equal(requests["arrival_ns"], row["start_ns"]), pc.less(requests["arrival_ns"], end)
                ),
            )
        )["response_ns"]
        assert row["count"] == len(mine)
        assert row["max_ns"] == pc.max(mine).as_py()
        assert row["mean_ns"] == pytest.approx(pc.mean(mine).as_py())


def test_the_slowest_add_up_to_those_of_the_ledger(crowded: ft.Result) -> None:
    ledger = pa.table(crowded.table("wait_ledger")).to_pylist()
    over_time = pa.table(crowded.table("response_over_time")).to_pylist()
    slow = pa.table(crowded.table("slowest_over_time")).to_pylist()
    for kind in ("read", "write"):
        for part in ("slowest_1_percent", "slowest_0_1_percent"):
            mine = [row for row in ledger if (row["kind"], row["requests"]) == (kind, part)]
            assert sum(row[part] for row in over_time if row["kind"] == kind) == pytest.approx(mine[0]["count"])
            for row in mine:
                key = (kind, part, row["charge"])
                sums = [one["sum_ns"] for one in slow if (one["kind"], one["requests"], one["charge"]) == key]
                assert sum(sums) == pytest.approx(row["mean_ns"] * row["count"], rel=1e-6, abs=len(mine))
