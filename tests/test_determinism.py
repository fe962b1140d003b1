"""Same inputs, same seed: byte-identical results, twice and on any number of threads."""

from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.replays import aged

from .conftest import Cli, contents

SYSTEMS = "conventional,rr-ssd"


def test_two_studies_and_two_thread_counts_agree(cli: Cli, tmp_path: Path, small_trace: Path) -> None:
    for name, threads in (("first", "1"), ("threads", "2")):
        options = ("--systems", SYSTEMS, "--period", "0.05s", "--threads", threads)
        cli("study", small_trace, *options, "--out", name, status=0)
    first = contents(tmp_path / "first")
    assert {"study.json", "report.html", "runs/rr-ssd/summary.json", "runs/rr-ssd/periods.parquet"} <= first.keys()
    found = contents(tmp_path / "threads")
    assert found.keys() == first.keys()
    assert [name for name in first if found[name] != first[name]] == []


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_trace_figures_are_equal_with_and_without_runs(small_trace: Path, threads: int) -> None:
    trace = ft.open(small_trace)
    systems = [ft.system(name) for name in ("conventional", "rr-ssd")]
    aged.run(trace, systems, threads, informed=True)
    assert trace.info == ft.open(small_trace).info
