"""Two on one folder: the second is told who the first is; what killed processes left holds nobody up."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.results import folder, locking

from .conftest import PROGRAM, Cli, fiu_trace, started, wait_until
from .test_bad_input import complains


@pytest.fixture(scope="module")
def text() -> str:
    return fiu_trace(150_000, footprint=100_000)


@pytest.fixture
def long_trace(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "long.fiu"
    path.write_text(text)
    return path


@contextmanager
def at_work(tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    lock = tmp_path / "out" / locking.LOCK
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with started(PROGRAM, *arguments, "--out", "out", cwd=tmp_path, **quiet) as program:
        wait_until(lambda: lock.exists() and lock.read_bytes() != b"", process=program)
        yield program


SYSTEMS = ("--systems", "conventional,ca-ssd", "--period", "2s")


@pytest.mark.parametrize(
    "second",
    [
        ("study", "long.fiu", *SYSTEMS),
        ("compare", "long.fiu", *SYSTEMS),
        ("replay", "long.fiu", "--system", "rr-ssd"),
        ("characterize", "long.fiu"),
        ("reproduce", "swc"),
    ],
)
def test_the_second_is_told_who_the_first_is(
    second: tuple[str, ...], cli: Cli, long_trace: Path, tmp_path: Path
) -> None:
    with at_work(tmp_path, "compare", "long.fiu", *SYSTEMS) as first:
        # Stopped, it holds the folder as long as it takes to look.
        first.send_signal(signal.SIGSTOP)
        done = cli(*second, "--out", "out")
        first.send_signal(signal.SIGCONT)
        _, err = first.communicate(timeout=120)
    complains(done, "out:", f"process {first.pid}", "flashtwin compare", "another folder")
    assert first.returncode == 0, err
    assert not (tmp_path / "out" / locking.LOCK).exists()
    runs = {path.name for path in (tmp_path / "out" / "runs").iterdir()}
    assert runs == {"conventional", "ca-ssd"}


def test_a_killed_process_holds_nobody_up(cli: Cli, long_trace: Path, tmp_path: Path) -> None:
    with at_work(tmp_path, "compare", "long.fiu", *SYSTEMS) as first:
        first.kill()
        first.communicate(timeout=20)
    out = tmp_path / "out"
    assert (out / locking.LOCK).exists(), "nobody was there to remove it"
    for left in (out / "runs" / ".hipa.partial", out / ".study.json.partial"):
        left.mkdir(parents=True)
        (left / "summary.json").write_text("half")
    (out / ".report.html.abc.tmp").write_text("half")
    cli("compare", "long.fiu", *SYSTEMS, "--out", "out", status=0)
    names = [path.name for path in out.rglob("*")]
    assert not [name for name in names if name.endswith((".partial", ".tmp", locking.LOCK))]
    assert {"conventional", "ca-ssd", "study.json"} <= set(names)


@pytest.mark.parametrize("left", ["runs/.ca-ssd.partial/summary.json", ".report.html.abc.tmp", "traces/.x.partial"])
def test_a_folder_of_nothing_but_left_overs_may_be_used(left: str, tmp_path: Path) -> None:
    (tmp_path / "out" / left).parent.mkdir(parents=True)
    (tmp_path / "out" / left).write_text("half")
    with folder.prepared(tmp_path / "out") as path:
        assert not [name for name in path.rglob("*") if name.suffix in (".partial", ".tmp")]
    (tmp_path / "out" / "runs").mkdir(exist_ok=True)
    (tmp_path / "out" / "runs" / "mine.txt").write_text("years of work")
    with pytest.raises(ft.FlashtwinError, match="holds 'runs'"), folder.prepared(tmp_path / "out"):
        pass


def test_an_interrupt_on_the_way_to_a_lock_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the worst moment: the file is written, and nobody knows of it yet."""
    write = locking._write

    def interrupted(handle: int) -> None:
        write(handle)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(locking, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt), locking.lock(tmp_path):
        pytest.fail("nothing is begun after an interrupt")
    assert not (tmp_path / locking.LOCK).exists()
    monkeypatch.undo()
    with locking.lock(tmp_path) as fresh:
        assert fresh


def test_one_thread_may_have_a_folder_twice_and_two_may_not(tmp_path: Path) -> None:
    with folder.prepared(tmp_path / "out") as path:
        with folder.prepared(path) as again:
            assert again == path
        assert (path / locking.LOCK).exists()
        found: list[str] = []

        def other() -> None:
            try:
                with folder.prepared(path):
                    found.append("got in")
            except ft.FlashtwinError as error:
                found.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert "another thread of this process is at work in it" in found[0]
        (path / "study.json").write_text("{}")
    assert [entry.name for entry in path.iterdir()] == ["study.json"]
    with folder.prepared(path):
        pass


def test_an_error_frees_the_folder(tmp_path: Path) -> None:
    with pytest.raises(LookupError), folder.prepared(tmp_path / "out"):
        raise LookupError
    assert not (tmp_path / "out").exists()


def test_a_lock_that_says_nothing_is_a_lock(tmp_path: Path) -> None:
    code = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(1, flush=True); time.sleep(600)"
    )
    with started("python3", "-c", code, tmp_path / locking.LOCK, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(ft.FlashtwinError, match="another process is at work in it"), folder.prepared(tmp_path):
            pass
        other.kill()
    with folder.prepared(tmp_path):
        assert json.loads((tmp_path / locking.LOCK).read_text())["process"] == os.getpid()
