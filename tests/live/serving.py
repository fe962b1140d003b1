"""Processes that tests start: servers, clients, tools. None of them outlives its test, whatever happens in it."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..conftest import PROGRAM, clean_environment

#: Guards against hanging only, so it is long: a machine may be busy.
PATIENCE_S = float(os.environ.get("FLASHTWIN_PATIENCE_S", "300"))
#: nbdsh is a script of the system's Python, not of this one's.
SYSTEM = {**os.environ, "PATH": f"/usr/bin:{os.environ['PATH']}"}

#: A device so small that writes soon come to its last blocks, and to erased ones.
SMALL = {
    "nand.channels": "2",
    "nand.chips_per_channel": "2",
    "nand.dies_per_chip": "1",
    "nand.planes_per_die": "1",
    "nand.pages_per_block": "16",
    "nand.page_bytes": "4096",
}


@contextmanager
def started(*words: object, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """A process, killed on the way out if it still runs: `Popen` alone would wait for it for ever."""
    with subprocess.Popen(list(map(str, words)), text=True, **how) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def flashtwin(*words: object, before: tuple[str, ...] = (), **how: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`flashtwin serve` or `record` as a process, and its URI. `before` is what starts it, such as prlimit."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "env": clean_environment(), **how}
    with started(*before, PROGRAM, *words, **how) as process:
        yield process, process.stdout.readline().strip()


def run(*words: object, ok: bool = True, **how: Any) -> str:
    how = {"env": SYSTEM, "capture_output": True, "text": True, "timeout": PATIENCE_S, **how}
    done = subprocess.run(list(map(str, words)), check=False, **how)
    assert (done.returncode == 0) is ok, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout if ok else done.stdout + done.stderr


def nbdsh(uri: str, script: str) -> str:
    return run("nbdsh", "-u", uri, "-c", script)


def blank(path: Path, size: int = 8 << 20) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def wait_until(holds: Callable[[], bool], every_s: float = 0.02) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(every_s)


def scraped(address: str) -> dict[str, str]:
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = answer.read().decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
