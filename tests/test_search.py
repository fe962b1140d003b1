"""`sweep --minimize`: the best point within the limits, no point twice, continued after an interruption."""

import math
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin.causes.searching import SettingsSearch
from flashtwin.judgement.goals import goal_of
from flashtwin.results import figures, names
from flashtwin.settings import literal
from flashtwin.sweeps import runs

from .conftest import Cli, fiu_trace
from .test_sweep import stored

pytest.importorskip("optuna", reason="flashtwin[search] is not installed")


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    do = runs.RunTask.do

    def counted(run: runs.RunTask) -> None:
        if not runs.Store(run.store).has(run.key, tables=run.keep_tables):
            seen.append(run.key)
        do(run)

    monkeypatch.setattr(runs.RunTask, "do", counted)
    return seen


#: 40 points, whose mean read depends on both keys.
GRID = {"queue_depth": [1, 2, 4, 8, 16, 32, 48, 64], "read_us": [20, 40, 60, 80, 100]}


def test_the_best_of_a_grid(tmp_path: Path, small_trace: Path, no_pages: None, replayed: list[str]) -> None:
    bound = "write.mean<=900us"
    whole = ft.sweep(small_trace, tmp_path / "whole", ["conventional"], settings=GRID, workers=1)
    assert whole.counts["done"] == 40
    wanted = min(whole.bests("read.mean", bound), key=lambda row: row["response.read.mean_ns"])
    replayed.clear()
    found = ft.sweep(
        small_trace, tmp_path / "out", ["conventional"], settings=GRID, minimize="read.mean", subject_to=bound,
        trials=30, workers=1,
    )  # fmt: skip
    best = found.best("read.mean", bound)
    assert best["response.read.mean_ns"] == wanted["response.read.mean_ns"]
    assert len(replayed) == len(set(replayed)) == len(found) <= 30, "no point twice"


def test_few_points_are_all_looked_at(tmp_path: Path, small_trace: Path, no_pages: None, replayed: list[str]) -> None:
    found = ft.sweep(small_trace, tmp_path / "out", ["conventional"], speed="1:5:1", minimize="read.p99", workers=1)
    assert len(found) == len(replayed) == 5
    assert found.complete


def test_without_keys_the_catalogue_proposes(tmp_path: Path, small_trace: Path, no_pages: None) -> None:
    """Every point is as configured but for levels of controller changes that apply, and better ones come of it."""
    systems = ["conventional", "ca-ssd"]
    found = ft.sweep(small_trace, tmp_path / "out", systems, speed=20, minimize="all.mean", trials=24, workers=1)
    allowed = {"replay.speed": {"20"}}
    for name in systems:
        search = SettingsSearch(ft.system(name), goal_of("all.mean"))
        for key, value in (one for _, levels in search.axes for level in levels for one in level.sets.items()):
            allowed.setdefault(key, set()).add(literal(value))
    assert found.counts["failed"] == 0
    assert all(value in allowed[key] for point in found.plan.points for key, value in point.settings.items())
    changed = {key for point in found.plan.points for key in point.settings}
    assert {"engine.hash_lanes", "engine.write_cache_pages", "engine.suspend"} <= changed
    assert not {key for key in changed if key.startswith("nand.")}
    plain = ft.compare(ft.open(small_trace), systems, speed=20)
    assert found.best("all.mean")["response.all.mean_ns"] < min(run.response.all.mean_ns for run in plain.values())


def test_done_again_nothing_is_replayed(tmp_path: Path, small_trace: Path, no_pages: None, replayed: list[str]) -> None:
    def search(trials: int, workers: int = 1) -> ft.Sweep:
        return ft.sweep(
            small_trace, tmp_path / "out", ["conventional", "rr-ssd"], speed="1:500:log", minimize="read.mean,programs",
            trials=trials, workers=workers, search_seed=3,
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
    tmp_path: Path, small_trace: Path, no_pages: None, replayed: list[str], monkeypatch: pytest.MonkeyPatch
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


SETTINGS = {"queue_depth": [1, 4, 16, 64], "read_us": [20, 60, 100]}


@pytest.fixture
def two_traces(tmp_path: Path, small_trace: Path) -> list[Path]:
    other = tmp_path / "other.fiu"
    other.write_text(fiu_trace(1500, footprint=90, step_ns=70_000), encoding="ascii")
    return [small_trace, other]


def by_hand(whole: ft.Sweep, reference: ft.Sweep, over: str, bound: str) -> list[tuple[float, str, int, float]]:
    """Every setting that keeps the bound on both traces, by its mean read over them, worked out from a plain grid."""
    path, (limit,) = "response.read.mean_ns", figures.bounds(bound)
    base = {row["trace"]: row[path] for row in reference.to_arrow().to_pylist()}
    settings: dict[tuple[str, int, float], list[dict[str, Any]]] = {}
    for row in whole.to_arrow().to_pylist():
        key = (row["system"], row["config.replay.queue_depth"], row["config.nand.read_us"])
        settings.setdefault(key, []).append(row)
    found = []
    for key, rows in settings.items():
        assert len(rows) == 2
        if all(row[limit.figure.path] <= limit.limit for row in rows):
            ratios = [row[path] / base[row["trace"]] for row in rows]
            found.append((max(ratios) if over == "worst" else math.sqrt(math.prod(ratios)), *key))
    return sorted(found)


@pytest.mark.parametrize("over", ["mean", "worst"])
def test_over_several_traces_the_best_is_that_of_the_whole_grid(
    over: Any, tmp_path: Path, two_traces: list[Path], no_pages: None
) -> None:
    bound, systems, store = "write.mean<=495us", ["conventional", "rr-ssd"], tmp_path / "store"
    whole = ft.sweep(two_traces, tmp_path / "whole", systems, settings=SETTINGS, workers=1, store=store)
    reference = ft.sweep(two_traces, tmp_path / "reference", systems[:1], workers=1, store=store)
    wanted = by_hand(whole, reference, over, bound)
    # Without the bound the best would be 64 at once, which breaks it on one trace and keeps it on the other.
    assert 0 < len(wanted) < 24
    for trials in (24, 18):
        found = ft.sweep(
            two_traces, tmp_path / f"search{trials}", systems, settings=SETTINGS, minimize="read.mean",
            subject_to=bound, trials=trials, over=over, workers=1, store=store,
        )  # fmt: skip
        assert len(found) == 2 * (trials + 1), "each setting on both traces, the reference too"
        best = found.best("read.mean", bound)
        assert best["over.response.read.mean_ns"] == pytest.approx(wanted[0][0])
        rows = [row for row in found.to_arrow().to_pylist() if row["trial"] == best["trial"]]
        assert {row["trace"] for row in rows} == {path.stem for path in two_traces}
        assert all(figures.keeps(row, figures.bounds(bound)) for row in rows)
    front = found.pareto("read.mean,programs").to_pylist()
    assert 0 < len({row["trial"] for row in front}) < 18
    assert all(sum(other["trial"] == row["trial"] for other in front) == 2 for row in front)


def test_a_reference_without_the_figure_is_refused(tmp_path: Path, two_traces: list[Path], no_pages: None) -> None:
    with pytest.raises(ft.ArgumentError, match=r"'conventional' as it is, the reference .* has no erases, or 0"):
        ft.sweep(two_traces, tmp_path / "out", ["conventional"], speed="1:9", minimize="erases", workers=1)


def test_several_traces_on_the_command_line(cli: Cli, two_traces: list[Path], tmp_path: Path) -> None:
    words = [
        "sweep", *two_traces, "--systems", "conventional,rr-ssd", "--speed", "1:100", "--minimize", "read.p99",
        "--trials", "4", "--over", "worst", "--out", "out",
    ]  # fmt: skip
    done = cli(*words, status=0)
    assert "of that of `conventional` as it is, the worst over the traces" in done.out
    page = (tmp_path / "out" / names.REPORT).read_text(encoding="utf-8")
    for text in ("Trace by trace", "the worst of the ratios", "4 of at most 4", "Trial"):
        assert text in page
    before = stored(tmp_path / "out" / names.STORE)
    assert cli(*words).out == done.out
    assert stored(tmp_path / "out" / names.STORE) == before, "done again nothing is replayed"


def test_on_the_command_line(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    done = cli(
        "sweep", small_trace, "--systems", "conventional,rr-ssd", "--speed", "1:100", "--minimize", "read.p99",
        "--subject-to", "wa<=1.2,ram<=64MB", "--trials", "4", "--out", "out",
        status=0,
    )  # fmt: skip
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
