"""`sweep --minimize`: the best of what is allowed, no point twice, again from where it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin import report
from flashtwin.results import figures, names
from flashtwin.sweeps import runs

from .conftest import Cli
from .test_sweep import stored

pytest.importorskip("optuna", reason="flashtwin[search] is not installed")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "build", lambda path: path)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the runs that were replayed, in order."""
    seen: list[str] = []
    do = runs.Run.do

    def counted(run: runs.Run) -> None:
        if not runs.Store(run.store).has(run.key, tables=run.keep_tables):
            seen.append(run.key)
        do(run)

    monkeypatch.setattr(runs.Run, "do", counted)
    return seen


#: 40 points, whose mean read depends on both keys.
GRID = {"queue_depth": [1, 2, 4, 8, 16, 32, 48, 64], "read_us": [20, 40, 60, 80, 100]}


def test_the_best_of_a_grid(tmp_path: Path, small_trace: Path, undrawn: None, replayed: list[str]) -> None:
    bound = "write.mean<=900us"
    whole = ft.sweep(small_trace, tmp_path / "whole", ["conventional"], settings=GRID, workers=1)
    assert whole.counts["done"] == 40
    wanted = whole.best("read.mean", bound)
    assert wanted is not None
    replayed.clear()
    found = ft.sweep(
        small_trace, tmp_path / "out", ["conventional"], settings=GRID, minimize="read.mean", subject_to=bound,
        trials=30, workers=1,
    )  # fmt: skip
    best = found.best("read.mean", bound)
    assert best is not None
    assert best["response.read.mean_ns"] == wanted["response.read.mean_ns"]
    assert len(replayed) == len(set(replayed)) == len(found) <= 30, "no point twice"


def test_few_points_are_all_looked_at(tmp_path: Path, small_trace: Path, undrawn: None, replayed: list[str]) -> None:
    found = ft.sweep(small_trace, tmp_path / "out", ["conventional"], speed="1:5:1", minimize="read.p99", workers=1)
    assert len(found) == len(replayed) == 5
    assert found.complete


def test_done_again_nothing_is_replayed(tmp_path: Path, small_trace: Path, undrawn: None, replayed: list[str]) -> None:
    def search(trials: int, workers: int = 1) -> ft.Sweep:
        return ft.sweep(
            small_trace, tmp_path / "out", ["conventional", "rr-ssd"], speed="1:500:log", minimize="read.mean,programs",
            trials=trials, workers=workers, seed=3,
        )  # fmt: skip

    first = search(12)
    assert len(replayed) == 12
    before = stored(tmp_path / "out" / names.STORE)
    again = search(12, workers=2)
    assert stored(tmp_path / "out" / names.STORE) == before
    assert [point.key for point in again.plan.points] == [point.key for point in first.plan.points]
    assert again.plan.trade == ["read.mean", "programs"]
    more = search(20)
    assert len(replayed) == 20, "more trials go on where the others ended"
    assert len(more) == 20


def test_interrupted_it_goes_on(
    tmp_path: Path, small_trace: Path, undrawn: None, replayed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = {"speed": "1:500", "minimize": "read.mean", "trials": 16, "workers": 1}
    whole = ft.sweep(small_trace, tmp_path / "whole", ["conventional"], **arguments)
    replayed.clear()

    def stop(what: str, done: int, total: int) -> None:
        assert total == (16 if what == "runs" else 1)
        if len(replayed) == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ft.sweep(small_trace, tmp_path / "out", ["conventional"], progress=stop, **arguments)
    half = ft.Sweep.read(tmp_path / "out")
    assert not half.complete
    assert "partial: the search has not ended; 8 points so far" in repr(half)
    done = ft.sweep(small_trace, tmp_path / "out", ["conventional"], **arguments)
    assert done.complete
    assert len(replayed) == len(set(replayed)) == 16
    assert done.to_arrow().equals(whole.to_arrow())


def test_on_the_command_line(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    done = cli(
        "sweep", small_trace, "--systems", "conventional,rr-ssd", "--speed", "1:100", "--minimize", "read.p99",
        "--subject-to", "wa<=1.2,ram<=64MB", "--trials", "9", "--out", "out",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "best: point" in done.out
    page = (tmp_path / "out" / names.REPORT).read_text(encoding="utf-8")
    assert "Search report" in page
    assert "wa&lt;=1.2,ram&lt;=64MB" in page


def test_bounds() -> None:
    low, size, time = figures.bounds("wa<=1.2, ram<=64MiB,read.p99>=2ms")
    assert (low.limit, size.limit, time.limit, time.sign) == (1.2, 64 * 2**20, 2e6, ">=")
    assert low.excess(1.2) <= 0 < low.excess(1.3)
    assert time.excess(3e6) < 0 < time.excess(1e6)
    assert not figures.keeps({"write_amplification": None}, [low])


def test_the_front() -> None:
    assert figures.front([(1, 3), (2, 2), (3, 1), (3, 3), (2, 2), (1, 4)]) == [0, 1, 2, 4]
