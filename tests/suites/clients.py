"""Clients of NBD from other projects: libnbd's and nbd's own tests, QEMU's tools, fio, and databases under kills."""

import itertools
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import flashtwin as ft

from ..conftest import PATIENCE_S, ROOT, clean_environment, finished
from ..live import mounting
from ..live.serving import flashtwin, run
from ..tools import need
from .case import SYSTEMS, Case, git_version, source

#: Bytes of a drive, more than the integrity tests of nbd address.
SIZE = 64 << 20


def program_version(*programs: str) -> str:
    need(*programs)
    return re.search(r"\d+(\.\d+)+", run(programs[0], "--version"))[0]


@contextmanager
def drive(system: str, folder: Path, size: int = SIZE) -> Iterator[ft.Server]:
    """A new drive, whose image is whole afterwards."""
    folder.mkdir()
    with ft.serve(folder / "d.img", system=system, size_bytes=size, socket=folder / "s") as server:
        yield server
    assert ft.check_drive(folder / "d.img", all_pages=True)["problems"] == []


def on_each(
    folder: Path, checks: dict[str, Callable[[ft.Server, Path], object]], sizes: dict[str, int] | None = None
) -> Iterator[Case]:
    """A case for each system and check, on a drive of its own."""

    def check(system: str, name: str) -> None:
        own = folder / f"{system}-{name}"
        with drive(system, own, (sizes or {}).get(name, SIZE)) as server:
            checks[name](server, own)

    for system in SYSTEMS:
        for name in checks:
            yield Case(f"{system} {name}", partial(check, system, name))


def built(folder: Path, name: str, code: str, *words: object) -> Path:
    """A program of a suite, compiled from its text with an empty config.h."""
    need("cc")
    (folder / "config.h").touch()
    program = folder / name
    run("cc", "-O1", "-w", "-D_GNU_SOURCE", "-I", folder, "-x", "c", "-o", program, "-", *words, input=code)
    return program


# libnbd: the programs of its tests and examples that take a socket.

#: Programs of a folder, and the bytes of an export on which two of them expect nbdkit's pattern.
LIBNBD = {
    "tests": ("aio-parallel", "synch-parallel", "aio-parallel-load"),
    "examples": (
        "batched-read-write", "reads-and-writes", "threaded-reads-and-writes", "fetch-first-sector", "get-size",
        "server-flags", "aio-connect-read",
    ),
}  # fmt: skip
PATTERN = {"aio-parallel": 64 << 20, "synch-parallel": 8 << 20}


def libnbd_version() -> str:
    need("nbdkit", "nbdcopy")
    folder = source("LIBNBD", "libguestfs/libnbd", "tests/aio-parallel.c")
    if not Path("/usr/include/libnbd.h").exists():
        pytest.skip("not installed: libnbd.h (apt install libnbd-dev)")
    return git_version(folder)


def libnbd(folder: Path) -> Iterator[Case]:
    sources = source("LIBNBD", "libguestfs/libnbd", "tests/aio-parallel.c")
    includes = [word for part in ("tests", "common/include") for word in ("-I", sources / part)]

    def check(part: str, name: str, server: ft.Server, own: Path) -> None:
        code = (sources / part / f"{name}.c").read_text(encoding="utf-8")
        program = built(own, name, code, "-DHAVE_STDATOMIC_H", *includes, "-lnbd", "-lpthread")
        if name in PATTERN:
            run("nbdkit", "-U", "-", "pattern", PATTERN[name], "--run", f'nbdcopy --flush "$uri" "{server.uri}"')
        run(program, own / "s", timeout=1800)

    checks = {name: partial(check, part, name) for part, names in LIBNBD.items() for name in names}
    yield from on_each(folder, checks, PATTERN)


# nbd: the tester client of the reference project.

TESTER = {
    "read": (), "write": ("-w",), "flush": ("-w", "-f"), "oversize": ("-o",), "handshake": ("-h",),
    # Its integrityhuge-test.tr has requests of 47 MiB, and a server may refuse more than 32 MiB.
    "integrity": ("-i", "-t", "integrity-test.tr"),
    "loose": ("-l", "-i", "-t", "integrity-test.tr"),
}  # fmt: skip


def nbd_version() -> str:
    if subprocess.run(["pkg-config", "--exists", "glib-2.0"], check=False).returncode:
        pytest.skip("not installed: glib.h (apt install libglib2.0-dev)")
    return git_version(source("NBD", "NetworkBlockDevice/nbd", "tests/run/nbd-tester-client.c"))


def nbd(folder: Path) -> Iterator[Case]:
    sources = source("NBD", "NetworkBlockDevice/nbd", "tests/run/nbd-tester-client.c")
    code = (sources / "tests/run/nbd-tester-client.c").read_text(encoding="utf-8")
    # The client takes the writing of an empty name, which is that of our only export, for an error.
    code = code.replace("(write_all(f, buf, len))<=0", "(write_all(f, buf, len))<0")
    glib = run("pkg-config", "--cflags", "--libs", "glib-2.0").split()
    names = ['-DPROG_NAME="x"', '-DVERSION="x"']
    program = built(folder, "tester", code, "-I", sources, sources / "cliserv.c", *names, *glib)

    def check(options: tuple[str, ...], _: ft.Server, own: Path) -> None:
        words = [sources / "tests/run" / word if word.endswith(".tr") else word for word in options]
        run(program, *words, "-N", "", "-u", own / "s")

    yield from on_each(folder, {name: partial(check, options) for name, options in TESTER.items()})


# QEMU: random requests with patterns, images in formats of its own, benchmarks and comparisons.


def qemu(folder: Path) -> Iterator[Case]:
    def io(server: ft.Server, _: Path) -> None:
        """2,000 writes, zeroes and discards that overlap, and what each sector must hold afterwards."""
        draw, held, words = random.Random(1), [0] * (SIZE >> 9), []
        for number in range(2_000):
            at = draw.randrange(SIZE >> 9)
            length = min(draw.choice((1, 3, 8, 16, 128, 500)), (SIZE >> 9) - at)
            kind = draw.choice(("write -P", "write -P", "aio_write -P", "write -z", "write -z -u", "write -f -P"))
            value = number % 255 + 1 if kind.endswith("-P") else 0
            words += [f"{kind} {value} " * bool(value) + f"{kind} " * (not value) + f"{at << 9} {length << 9}"]
            # Requests under way at the same time may not overlap.
            words += ["aio_flush"] * kind.startswith("aio")
            held[at : at + length] = [value] * length
        begins = [0, *(at for at in range(1, len(held)) if held[at] != held[at - 1]), len(held)]
        for begin, end in itertools.pairwise(begins):
            words += [f"read -P {held[begin]} {begin << 9} {(end - begin) << 9}"]
        said = run("qemu-io", "-f", "raw", "-d", "unmap", server.uri, input="\n".join([*words, "quit"]))
        assert not re.search("verification failed|error", said, re.IGNORECASE), said

    def image(kind: str, server: ft.Server, own: Path) -> None:
        """A file system as an image of a format on the drive: checked, compared, and read back."""
        disk = own / "disk.raw"
        disk.write_bytes(os.urandom(1 << 20) * 3 + bytes(5 << 20) + os.urandom(3 << 20))
        run("qemu-img", "create", "-f", kind, server.uri, str(disk.stat().st_size))
        run("qemu-img", "convert", "-n", "-W", "-m", "8", "-f", "raw", "-O", kind, disk, server.uri)
        run("qemu-img", "check", "-f", kind, server.uri)
        run("qemu-img", "compare", "-f", "raw", "-F", kind, disk, server.uri)

    def bench(words: tuple[str, ...], server: ft.Server, _: Path) -> None:
        run("qemu-img", "bench", "-f", "raw", "-c", 20_000, "-d", 64, *words, server.uri)

    checks: dict[str, Callable[[ft.Server, Path], object]] = {"io": io}
    checks |= {"qcow2": partial(image, "qcow2")}
    checks |= {"bench-read": partial(bench, ()), "bench-write": partial(bench, ("-w", "--flush-interval=64"))}
    yield from on_each(folder, checks)


# fio: checksums of all it wrote, and of all it wrote durably before the server was killed.

VERIFY = ["--verify=crc32c", "--direct=1", "--size=24M"]


def fio(folder: Path) -> Iterator[Case]:
    def jobs(words: list[str], server: ft.Server, own: Path) -> None:
        own_words = ["--ioengine=nbd", f"--uri={server.uri}", "--numjobs=2", "--offset_increment=32M"]
        run("fio", "--name=v", "--iodepth=16", *own_words, *VERIFY, *words, cwd=own)

    checks = {
        "random": partial(jobs, ["--rw=randwrite", "--bsrange=512-64k", "--loops=4", "--norandommap"]),
        "sequential": partial(jobs, ["--rw=write", "--bs=256k", "--loops=3"]),
        "mixed": partial(jobs, ["--rw=randrw", "--bs=4k", "--verify_backlog=64", "--fsync=32", "--loops=3"]),
        # A trim and the write of the same block must not be under way together.
        "trims": partial(jobs, ["--rw=randtrimwrite", "--bs=4k", "--iodepth=1"]),
    }
    yield from on_each(folder, checks)
    mounting.needs()
    for system in SYSTEMS:
        yield Case(f"{system} kills", partial(fio_under_kills, system, folder / f"{system}-kills"))


def fio_under_kills(system: str, folder: Path, kills: int = 10) -> None:
    """fio keeps which writes were answered, by a device that writes through, when it has the server killed."""
    folder.mkdir()
    image = folder / "d.img"
    ft.serve(image, system=system, size_bytes=SIZE).stop()
    for seed in range(kills):
        words = [
            "fio",
            "--name=v",
            "--ioengine=libaio",
            "--sync=1",
            "--iodepth=8",
            "--rw=randwrite",
            "--bs=4k",
            *VERIFY,
        ]
        words += [f"--randseed={seed}"]
        failed: set[str] = set()
        for is_killed in (True, False):
            with flashtwin("serve", image, "--socket", folder / "s") as (process, uri):
                with mounting.device(uri, folder / "fuse") as loop:
                    trigger = ["--do_verify=0", "--verify_state_save=1", f"--trigger-timeout={1 + seed % 3}s",
                               f"--trigger=kill -9 {process.pid}"]  # fmt: skip
                    then = trigger if is_killed else ["--verify_only=1", "--verify_state_load=1"]
                    done = finished(*words, f"--filename={loop}", *then, cwd=folder)
                    # Writes under way when the server is killed are errors, which fio counts as written.
                    failed |= set(re.findall(r"write offset=(\d+)", done.err))
                    lost = re.findall(r"^verify: .*offset=(\d+)", done.out + done.err, re.MULTILINE)
                    assert is_killed or failed.issuperset(lost), f"{lost} of {failed}: {done.out}{done.err}"
                    assert is_killed or lost or not done.status, done.out + done.err
                process.send_signal(signal.SIGINT)
                process.wait(timeout=PATIENCE_S)
        (folder / "local-v-0-verify.state").unlink()
    assert ft.check_drive(image, all_pages=True)["problems"] == []


# SQLite and PostgreSQL: the slow half of tests/live/test_databases.py, fifty kills each.


def databases_version() -> str:
    mounting.needs("ext4")
    return f"{sqlite3.sqlite_version}, {run(mounting.postgres_programs() / 'postgres', '--version').split()[2]}"


def databases(folder: Path) -> Iterator[Case]:
    report = folder / "databases.xml"
    words = ["-m", "pytest", "-q", "-m", "slow", "tests/live/test_databases.py", f"--junitxml={report}"]
    patient = {**clean_environment(), "PYTEST_TIMEOUT": "3600"}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=patient, capture_output=True, check=False)
    assert report.exists(), done.stdout[-500:]

    def told(case: ET.Element) -> None:
        for child in case:
            text = f"{child.get('message', '')} {child.text or ''}"
            if child.tag == "skipped":
                pytest.skip(text[:300])
            assert child.tag not in ("failure", "error"), text[:500]

    for case in ET.parse(report).iter("testcase"):
        yield Case(str(case.get("name")), partial(told, case))
