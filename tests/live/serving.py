"""Processes that tests start: servers, clients, tools. None of them outlives its test, whatever happens in it."""

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..conftest import PATIENCE_S, PROGRAM, clean_environment, finished, started

#: nbdsh is a script of the system's Python, not of this one's.
SYSTEM = {**os.environ, "PATH": f"/usr/bin:{os.environ['PATH']}"}

#: A device so small that writes soon come to its last blocks, and to erased ones.
SMALL = {
    "nand.channels": "2", "nand.chips_per_channel": "2", "nand.dies_per_chip": "1", "nand.planes_per_die": "1",
    "nand.pages_per_block": "16", "nand.page_bytes": "4096",
}  # fmt: skip


@contextmanager
def flashtwin(*words: object, before: tuple[str, ...] = (), **how: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`flashtwin serve` or `record` as a process, and its URI. `before` is what starts it, such as prlimit."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "env": clean_environment(), **how}
    with started(*before, PROGRAM, *words, **how) as process:
        yield process, process.stdout.readline().strip()


def run(*words: object, ok: bool = True, **how: Any) -> str:
    done = finished(*words, **{"env": SYSTEM, **how})
    assert (done.status == 0) is ok, f"{words}\n{done.out}{done.err}"
    return done.out if ok else done.out + done.err


def nbdsh(uri: str, script: str) -> str:
    return run("nbdsh", "-u", uri, "-c", script)


def blank(path: Path, size: int = 8 << 20) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def scraped(address: str) -> dict[str, str]:
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = answer.read().decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
