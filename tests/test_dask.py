"""Sweeps on a Dask cluster: the same table, also when workers, the scheduler or nobody answers."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.results import names
from flashtwin.sweeps import cluster

from .conftest import fiu_trace
from .test_sweep import stored
from .test_sweep_kills import dask_at_work

distributed = pytest.importorskip("distributed", reason="flashtwin[dask] is not installed")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("no_pages")]


#: How many runs the workers of `started` make; then they wait, however busy the machine is.
RUNS = 12
#: Loaded by each worker: a run does not begin while the store holds so many. One that is stored goes on, because the
#: answer may have died with its worker, and the client waits for it.
GATE = f"""
import time
from pathlib import Path
from flashtwin.sweeps.runs import RunTask

def do(self, real=RunTask.do):
    runs = Path(self.store) / "runs"
    while len(list(runs.glob("*/*.json"))) >= {RUNS} and not list(runs.glob(f"*/{{self.key}}.json")):
        time.sleep(0.05)
    real(self)

RunTask.do = do
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[Path, list[subprocess.Popen[str]]]]:
    """A scheduler, two workers, and the file that leads to them."""
    gate = tmp_path / "gate.py"
    gate.write_text(GATE)
    with dask_at_work(tmp_path, "--preload", str(gate)) as found:
        yield found


def test_the_same_table_on_a_cluster(tmp_path: Path, small_trace: Path) -> None:
    ft.sweep(small_trace, tmp_path / "here", ["conventional", "rr-ssd"], speed=[1, 2, 0], workers=1)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as there:
        done = ft.sweep(small_trace, tmp_path / "there", ["conventional", "rr-ssd"], speed=[1, 2, 0], on=there)
        assert done.counts == {"done": 4, "failed": 2, "missing": 0}
        many = tmp_path / "many"
        many.mkdir()
        for number in (500, 600):
            (many / f"t{number}.fiu").write_text(fiu_trace(number), encoding="ascii")
        batch = ft.characterize_many(many, tmp_path / "batch", on=there, report=False, period_s=0.05)
        assert batch.traces == ["t500", "t600"]
    tables = [names.table(tmp_path / place, names.SWEEP_ROWS).read_bytes() for place in ("here", "there")]
    assert tables[0] == tables[1]


def test_a_worker_and_then_the_scheduler_are_killed(
    tmp_path: Path,
    small_trace: Path,
    started: tuple[Path, list[subprocess.Popen[str]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_S", 3.0)
    monkeypatch.setattr(cluster, "REACH_S", 100.0)
    file, programs = started
    speeds = list(range(1, 2 * RUNS + 1))
    whole = ft.sweep(small_trace, tmp_path / "whole", ["conventional"], speed=speeds, workers=1)

    def kill(_: str, done: int, total: int) -> None:
        if done >= RUNS // 3:
            programs[1].kill()
        if done >= RUNS // 2:
            programs[0].kill()

    with pytest.raises(ft.FlashtwinError, match="scheduler is gone"):
        ft.sweep(small_trace, tmp_path / "out", ["conventional"], speed=speeds, on=f"dask:{file}", progress=kill)
    half = ft.Sweep.read(tmp_path / "out")
    assert not half.complete
    assert half.counts["done"] >= RUNS // 2
    # A worker that was killed while it wrote has left a file under a temporary name, which the next sweep deletes.
    before = {name: of for name, of in stored(tmp_path / "out" / names.STORE).items() if not name.endswith(".partial")}
    done = ft.sweep(small_trace, tmp_path / "out", ["conventional"], speed=speeds, workers=1)
    after = stored(tmp_path / "out" / names.STORE)
    assert {name: after[name] for name in before} == before, "only unfinished runs are made again"
    assert done.to_arrow().equals(whole.to_arrow())


@pytest.mark.slow
def test_volumes_that_are_done_stay_when_a_worker_is_killed(
    tmp_path: Path, started: tuple[Path, list[subprocess.Popen[str]]]
) -> None:
    file, programs = started
    lines = [f"{n % 64},{'RW'[n % 3 % 2]},{n % 50 * 4096},4096,{n}" for n in range(64 * 30)]
    (tmp_path / "many.csv").write_text("\n".join(lines))
    ft.split(tmp_path / "many.csv", tmp_path / "parts", format="alibaba")

    def kill(_: str, done: int, total: int) -> None:
        if done == total // 4:
            programs[1].kill()

    def done() -> dict[str, int]:
        return {
            path.parent.name: path.stat().st_mtime_ns for path in tmp_path.glob("out/traces/*/characterization.json")
        }

    options = {"on": f"dask:{file}", "report": False, "period_s": 0.05}
    first = ft.characterize_many(tmp_path / "parts", tmp_path / "out", progress=kill, **options)
    kept = done()
    assert len(kept) >= 64 // 4
    assert len(first.traces) + len(first.failures) == 64
    again = ft.characterize_many(tmp_path / "parts", tmp_path / "out", **options)
    assert (len(again.traces), again.failures) == (64, [])
    assert done().items() >= kept.items(), "what was finished is not done again"


def test_nobody_answers(tmp_path: Path, small_trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "REACH_S", 1.0)
    with pytest.raises(ft.FlashtwinError, match="no Dask scheduler answers"):
        ft.sweep(small_trace, tmp_path / "out", ["conventional"], on="dask://127.0.0.1:9")
