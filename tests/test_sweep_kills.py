"""Any process killed at any time: the same table in the end, no run that is half there, none made twice."""

import itertools
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.results import names
from flashtwin.sweeps import crew
from flashtwin.sweeps.store import Store

from .conftest import PATIENCE_S, PROGRAM, finished, started, wait_until

psutil = pytest.importorskip("psutil", reason="finds the worker processes")


def command(trace: Path, points: int, out: str) -> list[str]:
    # Two systems, and figures that need no page: `--json` is printed last.
    speeds = f"1:{points // 2}:1"
    return [str(PROGRAM), "sweep", str(trace), "--systems", "conventional,rr-ssd", "--speed", speeds,
            "--workers", "2", "--out", out]  # fmt: skip


def start(folder: Path, words: list[str], stderr: int = subprocess.DEVNULL) -> AbstractContextManager[subprocess.Popen]:
    return started(*words, cwd=folder, stdout=subprocess.DEVNULL, stderr=stderr)


def runs(out: Path) -> dict[str, int]:
    place = out / names.STORE / names.RUNS
    return {file.stem: file.stat().st_mtime_ns for file in place.glob("*/*.json") if not file.name.startswith(".")}


def table(out: Path) -> bytes:
    return names.table(out, names.SWEEP_ROWS).read_bytes()


def disturbed(folder: Path, words: list[str], points: int, kills: int, seed: int) -> int:
    """Sweeps into `out` and kills a worker or the client, by turns, at random moments; how many kills struck."""
    draw = random.Random(seed)
    out, struck, before = folder / "out", 0, {}
    while True:
        with start(folder, words) as program:
            struck += _strike(program, out, draw, struck % 2 == 0) if struck < kills else 0
            program.wait(timeout=PATIENCE_S)
        _nothing_is_torn(out)
        after = runs(out)
        assert {key: after.get(key) for key in before} == before, "what was finished is not made again"
        before = after
        if len(after) == points and names.table(out, names.SWEEP_ROWS).exists() and program.returncode == 0:
            return struck


def _strike(program: subprocess.Popen[str], out: Path, draw: random.Random, client: bool) -> int:
    there = len(runs(out))
    goal = there + draw.randrange(1, 12)
    while program.poll() is None and len(runs(out)) < goal:
        time.sleep(0.002)
    time.sleep(draw.random() * 0.01)
    if program.poll() is not None:
        return 0
    workers = psutil.Process(program.pid).children()
    if client or not workers:
        program.kill()
        program.wait()
        # Its workers end with it, each after the run that it is at.
        psutil.wait_procs(workers, timeout=30)
        return 1
    victim = draw.choice(workers)
    victim.send_signal(signal.SIGKILL)
    return 1


def _nothing_is_torn(out: Path) -> None:
    store = Store(out / names.STORE)
    for key in runs(out):
        assert store.get(key) is not None, f"{key} is half there"


@pytest.mark.parametrize(("points", "kills", "least"), [(40, 4, 2), pytest.param(200, 25, 100, marks=pytest.mark.slow)])
def test_killed_at_random(points: int, kills: int, least: int, tmp_path: Path, small_trace: Path) -> None:
    assert finished(*command(small_trace, points, "whole"), cwd=tmp_path).status == 0
    struck = 0
    for turn in itertools.count():
        place = tmp_path / f"turn-{turn}"
        place.mkdir()
        struck += disturbed(place, command(small_trace, points, "out"), points, kills, turn + 1)
        assert table(place / "out") == table(tmp_path / "whole")
        names_left = [path.name for path in (place / "out").rglob("*")]
        assert not [name for name in names_left if name.endswith((".partial", ".tmp"))]
        assert ft.Sweep.read(place / "out").complete
        if struck >= least:
            break


@contextmanager
def dask_at_work(place: Path, *more: str) -> Iterator[tuple[Path, list[subprocess.Popen[str]]]]:
    """A scheduler and two workers with more options: the file that leads to them, and all three."""
    file = place / "scheduler.json"
    worker = ["worker", "--nthreads", "1", "--no-dashboard", *more]
    with ExitStack() as stack:
        programs: list[subprocess.Popen[str]] = []
        for part in (["scheduler", "--port", "0", "--no-dashboard"], worker, worker):
            module = f"distributed.cli.dask_{part[0]}"
            words = [sys.executable, "-m", module, "--scheduler-file", str(file), *part[1:]]
            programs.append(stack.enter_context(start(place, words)))
            wait_until(file.exists, 0.05, programs[0])
        yield file, programs


@pytest.mark.usefixtures("no_pages")
def test_a_run_whose_processes_always_die_is_missing(
    tmp_path: Path, small_trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    die = (
        "import os\nfrom flashtwin.sweeps import runs, worker\ndo = runs.RunTask.do\n"
        "runs.RunTask.do = lambda run: os.kill(os.getpid(), 9) if run.name == 'rr-ssd' else do(run)\n"
        "worker.main()"
    )
    worker = crew.WORKER
    monkeypatch.setattr(crew, "WORKER", (sys.executable, "-c", die))
    said: list[str] = []
    systems = ["conventional", "rr-ssd"]
    done = ft.sweep(small_trace, tmp_path / "out", systems, speed=[1, 2], workers=2, notify=said.append)
    assert done.counts == {"done": 2, "failed": 0, "missing": 2}
    assert not done.complete
    assert "signal 9" in said[0]
    monkeypatch.setattr(crew, "WORKER", worker)
    assert ft.sweep(small_trace, tmp_path / "out", systems, speed=[1, 2], workers=2).complete
