"""Saved results side by side, and what becomes of a run whose name another one takes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.results import identity, names, together

from .conftest import Cli, fiu_trace

OPTIONS = ("--systems", "conventional,rr-ssd", "--period", "0.05s")


def edit(run: Path, change: Callable[[dict], None]) -> None:
    file = run / names.SUMMARY
    summary = json.loads(file.read_text())
    change(summary)
    file.write_text(json.dumps(summary))


@pytest.fixture
def days(cli: Cli, small_trace: Path, tmp_path: Path) -> Path:
    cli("compare", small_trace, *OPTIONS, "--out", "monday", status=0)
    cli("compare", small_trace, *OPTIONS, "--speed", "3", "--out", "tuesday", status=0)
    return tmp_path


def test_a_run_of_other_settings_is_kept_and_comes_back(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    cli("compare", small_trace, *OPTIONS, "--out", "out", status=0)
    first = (tmp_path / "out" / "runs" / "rr-ssd" / names.SUMMARY).read_bytes()
    other = cli("compare", small_trace, *OPTIONS, "--set", "replication.alpha=0.7", "--out", "out")
    kept = tmp_path / "out" / "earlier" / "rr-ssd (replication.alpha=0)"
    assert "kept as out/earlier/rr-ssd (replication.alpha=0)" in other.err
    assert (kept / names.SUMMARY).read_bytes() == first
    # A key that the conventional SSD ignores makes no other run of it.
    assert [one.name for one in kept.parent.iterdir() if one.is_dir()] == [kept.name]
    again = cli("compare", small_trace, *OPTIONS, "--out", "out")
    assert "out/earlier/rr-ssd (replication.alpha=0): asked for again, is out/runs/rr-ssd now" in again.err
    assert (tmp_path / "out" / "runs" / "rr-ssd" / names.SUMMARY).read_bytes() == first
    assert [one.name for one in kept.parent.iterdir() if one.is_dir()] == ["rr-ssd (replication.alpha=0.7)"]


def test_a_run_of_another_trace_is_kept(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    cli("compare", small_trace, *OPTIONS, "--out", "out", status=0)
    small_trace.write_text(fiu_trace(1999))
    cli("compare", small_trace, *OPTIONS, "--out", "out", status=0)
    kept = sorted(one.name for one in (tmp_path / "out" / "earlier").iterdir() if one.is_dir())
    assert [name.partition(" (")[0] for name in kept] == ["conventional", "rr-ssd"]
    done = cli("compare", "out", "out/earlier")
    assert "These runs are of different traces" in done.err
    assert "%)" not in done.out, "no percentages between different traces"
    assert "%)" in cli("compare", "out", "out/earlier", "--across-traces").out
    refused = cli("report", "out", "out/earlier")
    assert (refused.status, "a report is of one trace" in refused.err) == (2, True)


def test_saved_results_show_differences_then_figures(cli: Cli, days: Path) -> None:
    done = cli("compare", "monday/runs/rr-ssd", "tuesday/runs/rr-ssd", status=0)
    lines = done.out.splitlines()
    assert lines[0].split("  ")[0] == "what differs"
    assert [word for word in lines[0].split("  ") if word][1:] == [
        " rr-ssd (replay.speed=1)".strip(), "rr-ssd (replay.speed=3)",
    ]  # fmt: skip
    assert lines[1].split() == ["replay.speed", "1", "3"]
    assert lines[3].startswith("figures")
    mean = ft.Comparison.read(days / "monday")["rr-ssd"].summary["response"]["all"]["mean_ns"]
    fast = ft.Comparison.read(days / "tuesday")["rr-ssd"].summary["response"]["all"]["mean_ns"]
    assert f"({(fast / mean - 1) * 100:+.1f} %)" in lines[4]
    machine = json.loads(cli("compare", "monday", "tuesday", "--json").out)
    assert [run["label"] for run in machine["runs"]] == [
        f"{name} (replay.speed={speed})" for speed in (1, 3) for name in ("conventional", "rr-ssd")
    ]
    assert machine["differences"][0]["key"] == "replay.speed"


def test_a_run_that_cannot_be_read_is_named(cli: Cli, days: Path) -> None:
    edit(days / "monday" / "runs" / "rr-ssd", lambda summary: summary.update(pages_programmed="many"))
    done = cli("compare", "monday", "tuesday", status=0)
    assert done.err.count("run `rr-ssd` is left out") == 1
    assert "warning: monday: run `rr-ssd` is left out: monday/runs/rr-ssd/summary.json: pages_programmed" in done.err


def test_one_report_of_two_days(cli: Cli, days: Path) -> None:
    cli("report", "monday", "tuesday", status=0)
    out = days / "monday-vs-tuesday"
    text = (out / "report.html").read_text(encoding="utf-8")
    assert text.index("What differs</h2>") < text.index("Findings</h2>")
    assert len(list((out / "runs").iterdir())) == 4
    assert list(ft.Comparison.read(out)) == list(ft.Comparison.of(days / "monday", days / "tuesday"))


def test_labels_stay_distinct(days: Path) -> None:
    shutil.copytree(days / "monday", days / "copy")
    same = [run.label for run in together.gather([days / "monday", days / "copy"])]
    assert same == [f"{name} in {place}" for place in ("monday", "copy") for name in ("conventional", "rr-ssd")]
    assert len({run.label for run in together.gather([days / "monday" / "runs", days / "copy"])}) == 4
    several = ft.Comparison.of(days / "monday", days / "tuesday", days / "copy")
    assert len(several) == 6
    assert several.warnings == []


@pytest.mark.usefixtures("no_pages")
def test_a_sweep_and_an_entry_of_its_store_are_results(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    cli("sweep", small_trace, "--systems", "rr-ssd", "--set", "replication.alpha=0,0.5", "--out", "swept", status=0)
    points = together.gather([tmp_path / "swept"])
    assert [run.label for run in points] == ["rr-ssd (replication.alpha=0)", "rr-ssd (replication.alpha=0.5)"]
    [entry, *_] = (tmp_path / "swept" / "store" / "runs").glob("*/*.json")
    assert identity.same(together.gather([entry])[0].summary, ft.Comparison.of(entry).baseline.summary)
    cli("compare", "swept", entry, status=0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("monday", "small.fiu"), "holds no results"),
        (("monday", "tuesday", "--systems", "ca-ssd"), "--systems is for replaying a trace"),
        (("small.fiu", "--across-traces"), "--across-traces is for saved results"),
    ],
)
def test_what_does_not_fit_together_is_refused(arguments: tuple[str, ...], said: str, cli: Cli, days: Path) -> None:
    (days / "small.fiu").write_text(fiu_trace(50))
    done = cli("compare", *arguments, status=2)
    assert said in done.err
