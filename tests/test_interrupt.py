"""Ctrl-C: one line, exit 130, only complete files, and finished work is used again."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft

from . import tiny
from .conftest import PATIENCE_S, PROGRAM, clean_environment, contents, finished, fiu_trace, started, wait_until


def start(folder: Path, *arguments: str, **how: Any) -> AbstractContextManager[subprocess.Popen[str]]:
    return started(PROGRAM, *arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


def stop(program: subprocess.Popen[str]) -> tuple[int, str]:
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=PATIENCE_S)
    return program.returncode, "".join(line for line in err.splitlines(True) if not line.startswith("read as: "))


def test_waiting_for_standard_input(tmp_path: Path) -> None:
    with start(tmp_path, "trace", "convert", "-", "out.parquet", "--format", "fiu", stdin=subprocess.PIPE) as program:
        program.stdin.write(fiu_trace(100))
        program.stdin.flush()
        time.sleep(1.5)
        program.send_signal(signal.SIGINT)
        # The pipe stays open: nothing but the signal can end the program.
        assert program.wait(timeout=PATIENCE_S) == 130
        assert program.stderr.read().splitlines() == ["interrupted; no incomplete file was left"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("written", [b"", fiu_trace(100).encode()], ids=["nothing", "a-part"])
@pytest.mark.parametrize(
    "words",
    ["trace info pipe", "trace convert pipe a.parquet", "replay pipe --system rr-ssd --out a", "study pipe --out a"],
)
def test_waiting_for_a_named_pipe(words: str, written: bytes, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with start(tmp_path, *words.split()) as program:
        writer = os.open(pipe, os.O_RDWR if written else os.O_RDONLY | os.O_NONBLOCK)
        if written:
            os.write(writer, written)
        time.sleep(1.5)
        assert stop(program) == (130, "interrupted; no incomplete file was left\n")
        os.close(writer)
    assert list(tmp_path.iterdir()) == [pipe]


def test_while_the_program_is_loaded(tmp_path: Path) -> None:
    # A library that takes its time to load.
    (tmp_path / "click.py").write_text("import pathlib, time; pathlib.Path('loading').touch(); time.sleep(30)")
    with start(tmp_path, "systems", env={**clean_environment(), "PYTHONPATH": str(tmp_path)}) as program:
        wait_until((tmp_path / "loading").exists)
        assert stop(program) == (130, "interrupted; no incomplete file was left\n")


def test_finished_runs_are_kept_and_used_again(tmp_path: Path) -> None:
    (tmp_path / "long.fiu").write_text(fiu_trace(50_000, footprint=30_000))
    systems = "conventional,ca-ssd,rr-ssd,oracle"
    options = ("study", "long.fiu", "--systems", systems, "--period", "2s", "--threads", "1", "--effort", "0",
               "--out", "out")  # fmt: skip
    with start(tmp_path, *options) as program:
        wait_until((tmp_path / "out" / ".made-from.json").exists, process=program)
        assert stop(program) == (130, "interrupted; no incomplete file was left\n")
    left = [path.name for path in (tmp_path / "out").rglob("*")]
    assert "conventional" in left
    assert not [name for name in left if name.endswith((".partial", ".tmp")) or name == "study.json"]
    again = finished(PROGRAM, *options, cwd=tmp_path)
    assert again.status == 0
    assert "\nreusing conventional" in again.err
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("begun", "words"),
    [
        *((f"traces/*/characterization.json:{workers}", ("characterize", "many", "--no-report", "--period", "0.05s",
           "--workers", f"{workers}")) for workers in (1, 2)),
        ("store/runs/*/*.json:0", ("sweep", "many/a.fiu", "--systems", "conventional,rr-ssd", "--speed", "1:200:1",
         "--workers", "2")),
    ],
    ids=["characterize-1", "characterize-2", "sweep"],
)  # fmt: skip
def test_jobs_of_many_parts_keep_whole_ones(begun: str, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for name in "abcde":
        (tmp_path / "many" / f"{name}.fiu").write_text(fiu_trace(8_000 + ord(name), footprint=5_000))
    out, (parts, workers) = tmp_path / "out", begun.split(":")
    with start(tmp_path, *words, "--out", "out") as program:
        # Each worker may be at one that is written but not noted as complete.
        wait_until(lambda: len(list(out.glob(parts))) > int(workers), process=program)
        assert stop(program) == (130, "interrupted; no incomplete file was left\n")
    left = [path.name for path in out.rglob("*")]
    assert not [name for name in left if name.endswith((".partial", ".tmp")) or name == "traces.json"]
    if words[0] == "sweep":
        assert not ft.Sweep.read(out).complete
    else:
        assert finished(PROGRAM, *words, "--out", "out", cwd=tmp_path).err.count("reusing ") == 1


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "long.fiu").write_text(fiu_trace(400_000, footprint=100_000))
    old = fiu_trace(100)
    (tmp_path / "short.fiu").write_text(old)
    assert finished(PROGRAM, "trace", "convert", "short.fiu", "out.parquet", cwd=tmp_path).status == 0
    before = ft.open(tmp_path / "out.parquet").digest
    convert = ("trace", "convert", "long.fiu", "out.parquet", "--force")
    for _ in range(20):
        with start(tmp_path, *convert) as program:
            while program.poll() is None and not list(tmp_path.glob(".out.parquet.*.part")):
                time.sleep(0.001)
        if list(tmp_path.glob(".out.parquet.*.part")):
            break
    else:
        pytest.skip("this machine writes faster than processes can be killed")
    assert ft.open(tmp_path / "out.parquet").digest == before, "the old trace is whole as long as the new one is not"
    assert finished(PROGRAM, *convert, cwd=tmp_path).status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.fiu", "out.parquet", "short.fiu"]
    assert ft.open(tmp_path / "out.parquet").digest == ft.open(tmp_path / "long.fiu").digest


def test_in_python_it_is_a_keyboard_interrupt(tmp_path: Path) -> None:
    # The core is told of an interrupt at its next look; a short trace may have come to its end before.
    (tmp_path / "long.fiu").write_text(fiu_trace(300_000, footprint=100_000))
    trace = ft.open(tmp_path / "long.fiu")

    def interrupt(what: str, done: int, total: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    for work in (partial(ft.replay, trace, "rr-ssd"), partial(ft.characterize, trace)):
        with pytest.raises(KeyboardInterrupt):
            work(progress=interrupt)
    assert ft.replay(trace, "rr-ssd").summary["requests"]["completed"] == len(trace)


def test_an_error_of_the_callback_stops_the_run(small_trace: Path) -> None:
    trace = ft.open(small_trace)

    def fail(what: str, done: int, total: int) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        ft.replay(trace, "conventional", progress=fail)


def test_a_worker_stops_although_python_ignores_what_a_destructor_raises() -> None:
    program = """
import os, signal, sys, time
from flashtwin.sweeps import worker

class Destroyed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)

class Tasks:
    def __iter__(self):
        Destroyed()
        time.sleep(600)

sys.stdin = Tasks()
worker.main()
"""
    done = finished(sys.executable, "-c", program)
    assert (done.status, done.err) == (128 + signal.SIGALRM, "")


def tiny_study(place: Path) -> None:
    ft.study(tiny.trace(200), place, ["ca-ssd"], settings=tiny.DRIVE, effort=None, report=False)


@pytest.fixture(scope="module")
def whole_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole") / "study"
    tiny_study(place)
    return place


@pytest.mark.filterwarnings("ignore::flashtwin.IgnoredKeyWarning")
@pytest.mark.parametrize("damaged", [
    "study.json", "candidates.json", "characterization.json", "causes/*.json", "workload/*.parquet",
    "**/.made-from.json", "runs/ca-ssd/summary.json", "runs/ca-ssd/chips.parquet", "candidates/**/*.parquet", "**/*.*",
])  # fmt: skip
def test_what_is_damaged_is_made_again_by_the_same_command(damaged: str, whole_study: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(whole_study, tmp_path / "study"))
    files = [file for file in place.glob(damaged) if file.is_file()]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    tiny_study(place)
    assert contents(place) == contents(whole_study)
