"""The server killed in the middle of writes, again and again: data flushed, as noted outside, is there."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flashtwin as ft

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("nbdsh", "fio")), reason="needs libnbd's nbdsh, and fio"
)
ENVIRONMENT = {**os.environ, "PATH": f"/usr/bin:{os.environ['PATH']}"}
#: Pages of the drive that are written; few, so that blocks are collected all the time.
PAGES = 1_500
SIZE = 8 << 20
#: A device so small that a second of writes fills it.
SMALL = {
    "nand.channels": "2",
    "nand.chips_per_channel": "2",
    "nand.dies_per_chip": "1",
    "nand.planes_per_die": "1",
    "nand.pages_per_block": "16",
}

#: Writes pages that name themselves, many alike, and notes outside the pages that each flush made durable.
WRITER = """
import json, os, random, sys
random.seed(int(os.environ["SEED"]))
promises, since = open(os.environ["PROMISES"], "ab"), {}
number = int(os.environ["FIRST"])
def note(kind, what):
    promises.write((json.dumps([kind, what]) + "\\n").encode())
    promises.flush()
    os.fsync(promises.fileno())
while True:
    for _ in range(random.randrange(1, 24)):
        page, number = random.randrange(1500), number + 1
        # A third of what is written was written before.
        value = number if random.random() < 0.67 else max(1, number - random.randrange(1, 60))
        since[page] = [*since.get(page, []), value]
        if random.random() < 0.05:
            note("maybe", since)
            h.trim(4096, page * 4096)
            since[page].append(0)
            continue
        note("maybe", {page: [value]})
        h.pwrite(value.to_bytes(8, "little") * 512, page * 4096, nbd.CMD_FLAG_FUA if random.random() < 0.02 else 0)
    h.flush()
    note("kept", {page: values[-1] for page, values in since.items()})
    since = {}
"""


def writes_until_killed(image: Path, promises: Path, seed: int, first: int) -> None:
    """Serves the drive in a process of its own, has it written to, and kills it."""
    code = (
        "import sys, time, flashtwin as ft\n"
        f"server = ft.serve({str(image)!r}, period_s=0.05)\n"
        "print(server.uri, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        uri = server.stdout.readline().strip()
        more = {"SEED": str(seed), "PROMISES": str(promises), "FIRST": str(first)}
        words = ["nbdsh", "-u", uri, "-c", WRITER]
        with subprocess.Popen(words, env={**ENVIRONMENT, **more}, stderr=subprocess.DEVNULL) as writer:
            # By the amount written, which takes long on a busy machine: some 1,500 pages, 35 bytes of notes each.
            enough = promises.stat().st_size + random.Random(seed).randrange(35_000, 70_000)
            until = time.monotonic() + 60
            while promises.stat().st_size < enough and time.monotonic() < until:
                time.sleep(0.001)
            server.send_signal(signal.SIGKILL)
            server.wait()
            writer.wait(timeout=60)


class Promised:
    """The allowed contents of each page: the flushed one, or any written since."""

    def __init__(self) -> None:
        self.may: dict[int, set[int]] = {}
        self.flushes = 0

    def read(self, file: Path, of: int) -> int:
        """Reads the notes from a byte on; returns their end. The last line may be half a line."""
        with file.open("rb") as notes:
            notes.seek(of)
            for line in notes:
                if not line.endswith(b"\n"):
                    break
                kind, what = json.loads(line)
                for page, values in what.items():
                    if kind == "kept":
                        self.may[int(page)] = {values}
                    else:
                        # A trimmed page is zeroes, or its old content.
                        self.may.setdefault(int(page), {0}).update([0, *values])
                self.flushes += kind == "kept"
            return file.stat().st_size

    def holds(self, drive: dict[int, int]) -> None:
        """Compares with the content of the drive, which is the known state from then on."""
        for page, value in drive.items():
            assert value in self.may.get(page, {0}), f"page {page} holds {value}, which is none of {self.may[page]}"
            self.may[page] = {value}


def held(server: ft.Server) -> dict[int, int]:
    """The value of each page; a page that is not one value all over is nobody's."""
    script = (
        "import json\n"
        f"data = b''.join(bytes(h.pread(1 << 20, at << 20)) for at in range({PAGES * 4096 >> 20}))\n"
        "pages = [data[at:at + 4096] for at in range(0, len(data), 4096)]\n"
        "whole = [int.from_bytes(p[:8], 'little') if p == p[:8] * 512 else -1 for p in pages]\n"
        "print(json.dumps(whole))\n"
    )
    words = ["nbdsh", "-u", server.uri, "-c", script]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return dict(enumerate(json.loads(done.stdout)))


def killed(folder: Path, system: str, times: int) -> None:
    """Kills the server this many times and compares the drive after each; at the end, fio's own verification."""
    image, notes, promised, read = folder / "d.img", folder / "promises", Promised(), 0
    ft.serve(image, system=system, size_bytes=SIZE, sets=SMALL).stop()
    notes.touch()
    for seed in range(times):
        writes_until_killed(image, notes, seed, 1 + seed * 1_000_000)
        read = promised.read(notes, read)
        with ft.serve(image, period_s=0.05) as server:
            assert server.figures["drive"]["read_only"] is None
            promised.holds(held(server))
    assert ft.check_drive(image, all_pages=True)["problems"] == []
    assert promised.flushes > times
    # More than the device has: blocks were collected and erased on the way.
    assert ft.drive_info(image)["pages_programmed"] > 1.5 * SIZE / 4096
    with ft.serve(image) as server:
        words = ["fio", "--name=v", "--ioengine=nbd", f"--uri={server.uri}", "--rw=randwrite", "--bs=4k", "--size=4M"]
        words += ["--verify=crc32c", "--iodepth=8", "--fsync=16"]
        subprocess.run(words, env=ENVIRONMENT, cwd=folder, check=True, capture_output=True, timeout=120)


@pytest.mark.parametrize("system", ["ca-ssd", "rr-ssd"])
def test_what_a_flush_promised_outlives_the_server(system: str, tmp_path: Path) -> None:
    killed(tmp_path, system, 5)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["conventional", "ca-ssd", "rr-ssd", "ds-ftl"])
def test_two_hundred_kills(system: str, tmp_path: Path) -> None:
    killed(tmp_path, system, 50)


def test_a_lost_promise_is_seen(tmp_path: Path) -> None:
    """The test itself: a page with a content overwritten before a flush is detected."""
    notes = tmp_path / "promises"
    lines = [["maybe", {"3": [7]}], ["maybe", {"3": [8]}], ["kept", {"3": 8}], ["maybe", {"3": [9]}]]
    notes.write_text("".join(json.dumps(line) + "\n" for line in lines) + '["maybe", {"3": [1')
    promised = Promised()
    promised.read(notes, 0)
    for lost in (7, 10, -1):
        with pytest.raises(AssertionError, match="page 3 holds"):
            promised.holds({3: lost})
    promised.holds({3: 9})
