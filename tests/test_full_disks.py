"""A disk that is full at any step costs what was not written, and the same command goes on when there is room."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import Cli

SYSTEMS = ("--systems", "conventional,ca-ssd")
VERBS = {
    "replay": ("--system", "conventional"),
    "compare": SYSTEMS,
    "characterize": ("--no-report",),
    "sweep": (*SYSTEMS, "--speed", "1,2", "--workers", "0"),
    "study": (*SYSTEMS, "--effort", "0"),
}


class _Disk:
    """Refuses the n-th file, folder or name that is made below a folder, and all after it."""

    def __init__(self) -> None:
        self.root: str | None = None
        self.left = 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.root is None or event not in ("open", "os.mkdir", "os.rename"):
            return
        path = str(arguments[1 if event == "os.rename" else 0])
        reads = event == "open" and not int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR)
        if reads or not path.startswith(self.root):
            return
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


_DISK = _Disk()
# An audit hook stays as long as the process.
sys.addaudithook(_DISK)


@contextmanager
def full_after(steps: int, root: Path) -> Iterator[_Disk]:
    _DISK.root, _DISK.left = str(root), steps
    try:
        yield _DISK
    finally:
        _DISK.root = None


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_full_disk_left_is_continued(verb: str, cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    for steps in (0, 1, 2, 3, 4, 5, 6, 8, 13, 21, 34, 55, 89, 144, 233):
        out = tmp_path / f"out{steps}"
        words = (verb, small_trace, *VERBS[verb], "--out", out)
        with full_after(steps, out) as disk:
            done = cli(*words)
        if disk.left >= 0:
            assert done.status == 0, done.err
            return
        assert done.status != 0
        assert "no space left on device" in done.err.lower(), steps
        assert "Traceback" not in done.err
        cli(*words, status=0)
        left = [path.name for path in out.rglob("*")]
        assert not [name for name in left if name.endswith((".partial", ".tmp", ".unfinished"))], steps
    pytest.fail("there are more steps than were tried")
