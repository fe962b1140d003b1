"""xfstests on served drives: nbdfuse and loop devices for its two devices, one test at a time.

What fails on plain files behind loop devices as well is not the drive's fault, and counts as skipped.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import flashtwin as ft

from ..conftest import finished
from ..live import mounting
from ..live.serving import blank, run
from .case import Case, git_version, source

#: Systems and file systems; each takes the next test of the list.
SYSTEMS = ("ca-ssd", "rr-ssd", "ds-ftl")
GROUPS = [(system, kind) for kind in mounting.MAKE for system in SYSTEMS]
SIZE = 2 << 30
MOST_S = 150
LIST = Path(__file__).with_suffix(".txt")


def version() -> str:
    for kind in mounting.MAKE:
        mounting.needs(kind, "unshare")
    folder = source("XFSTESTS", "kdave/xfstests", "ltp/fsstress")
    return git_version(folder)


def cases(folder: Path) -> Iterator[Case]:
    tests = LIST.read_text(encoding="ascii").split()
    for number, (system, kind) in enumerate(GROUPS):
        own = folder / f"{system}-{kind}"
        with drives(system, own, kind) as devices, plain(own / "plain", kind) as beside:
            for test in tests[number :: len(GROUPS)]:
                yield Case(f"{system} {kind} {test}", partial(checked, devices, beside, kind, test))


Devices = tuple[Path, Path]


@contextlib.contextmanager
def drives(system: str, folder: Path, kind: str) -> Iterator[Devices]:
    """Loop devices on two served drives, the first with a file system."""
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        found = []
        for name in ("test", "scratch"):
            image = folder / f"{name}.img"
            server = stack.enter_context(ft.serve(image, system=system, size_bytes=SIZE, socket=folder / name))
            found.append(stack.enter_context(mounting.device(server.uri, folder / f"{name}-fuse")))
        run(*mounting.MAKE[kind], found[0])
        yield found[0], found[1]
    for name in ("test", "scratch"):
        assert ft.check_drive(folder / f"{name}.img")["problems"] == []
        (folder / f"{name}.img").unlink()


@contextlib.contextmanager
def plain(folder: Path, kind: str) -> Iterator[Devices]:
    """The same on plain files."""
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        loops = [run("losetup", "--find", "--show", blank(folder / name, SIZE)).strip() for name in ("test", "scratch")]
        for loop in loops:
            stack.callback(run, "losetup", "--detach", loop)
        run(*mounting.MAKE[kind], loops[0])
        yield Path(loops[0]), Path(loops[1])


def checked(devices: Devices, beside: Devices, kind: str, test: str) -> None:
    if (said := failure(devices, kind, test)) and (there := failure(beside, kind, test)):
        pytest.skip(f"fails on a plain file as well: {there}")
    assert not said, said


def failure(devices: Devices, kind: str, test: str) -> str:
    """How a test fails; empty if it passes."""
    suite = source("XFSTESTS", "kdave/xfstests", "check")
    places = [Path("/tmp/flashtwin-xfstests") / f"{devices[0].name}-{part}" for part in ("test", "scratch")]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
    how = dict(zip(("TEST_DEV", "SCRATCH_DEV", "TEST_DIR", "SCRATCH_MNT"), map(str, (*devices, *places)), strict=True))
    how |= {"FSTYP": kind, "RESULT_BASE": f"{places[0]}-results", "HOST_OPTIONS": "/dev/null"}
    # In mounts of its own: a container that starts meanwhile would keep those of the machine, and its devices busy.
    words = ["unshare", "--mount", "timeout", "-k", "5", MOST_S, "./check", test]
    done = finished(*words, cwd=suite, env={**os.environ, **how})
    if why := re.search(r"\[not run\]\s*(.*)", done.out):
        pytest.skip(f"not run: {why[1]}")
    if done.status == 0 and "Passed all 1 tests" in done.out:
        return ""
    return f"more than {MOST_S} s" if done.status in (124, 137) else " ".join((done.out + done.err).split())[-400:]
