"""File systems and programs on a served drive, by nbdfuse and a loop device: many machines have no NBD device."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ..conftest import PATIENCE_S, started, wait_until
from ..tools import need
from .serving import run

#: How a file system is made on a device, and how it is checked without being mended.
MAKE = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q", "-f")}
CHECK = {"ext4": ("fsck.ext4", "-f", "-n"), "xfs": ("xfs_repair", "-n")}


def needs(file_system: str = "ext4", *programs: str) -> None:
    need("nbdfuse", "fusermount3", "losetup", "mount", MAKE[file_system][0], CHECK[file_system][0], *programs)
    if os.geteuid() != 0:
        pytest.skip("mounting takes root")
    if not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        pytest.skip("the kernel has no FUSE or no loop devices here")


@contextmanager
def device(uri: str, folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    with started("nbdfuse", folder, uri) as fuse:
        try:
            wait_until(lambda: _is_shown(folder / "nbd", fuse))
            loop = run("losetup", "--find", "--show", "--direct-io=off", folder / "nbd").strip()
            try:
                yield Path(loop)
            finally:
                run("losetup", "--detach", loop)
        finally:
            # A server that is gone leaves a mount that nbdfuse cannot end by itself.
            run("fusermount3", "-u", "-z", folder)
            fuse.wait(PATIENCE_S)


@contextmanager
def mounted(
    uri: str, folder: Path, file_system: str = "ext4", *, make: bool = True, dies: bool = False
) -> Iterator[Path]:
    """A file system on an export, mounted; checked once it is unmounted, but for one whose server `dies` meanwhile."""
    place = folder / "mounted"
    with device(uri, folder / "fuse") as loop:
        if make:
            run(*MAKE[file_system], loop)
        place.mkdir(parents=True, exist_ok=True)
        run("mount", loop, place)
        try:
            yield place
        finally:
            wait_until(lambda: subprocess.run(["umount", place], capture_output=True, check=False).returncode == 0)
        if not dies:
            run(*CHECK[file_system], loop)


def build_project(folder: Path, files: int = 40) -> None:
    folder.mkdir()
    for number in range(files):
        body = "".join(f"int f{number}_{part}(int x) {{ return x * {part} + {number}; }}\n" for part in range(60))
        (folder / f"part{number}.c").write_text(body, encoding="utf-8")
    calls = " + ".join(f"f{number}_1(1)" for number in range(files))
    heads = "".join(f"int f{number}_1(int);\n" for number in range(files))
    (folder / "main.c").write_text(f"{heads}int main(void) {{ return ({calls}) > 0 ? 0 : 1; }}\n", encoding="utf-8")
    rules = "OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))\nprogram: $(OBJECTS)\n\tcc -g -o $@ $^\n"
    (folder / "Makefile").write_text(rules, encoding="utf-8")
    make = ("make", "-s", "-C", folder, "CFLAGS=-g -O1")
    run(*make)
    (folder / "part0.c").touch()
    run(*make)
    run(folder / "program")
    os.sync()


def fill_database(path: Path, rows: int = 2_000, transactions: int = 40) -> list[tuple[int, str]]:
    with sqlite3.connect(path, isolation_level=None) as base:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = FULL")
        base.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, text TEXT)")
        each = rows // transactions
        for turn in range(transactions):
            base.execute("BEGIN")
            values = [(turn * each + row, f"{turn}-{row}-" + "x" * 200) for row in range(each)]
            base.executemany("INSERT INTO kept VALUES (?, ?)", values)
            base.execute("UPDATE kept SET text = text || 'y' WHERE id % 7 = ?", (turn % 7,))
            base.execute("DELETE FROM kept WHERE id % 31 = ?", (turn % 31,))
            base.execute("COMMIT")
    base.close()
    return read_database(path)


def read_database(path: Path) -> list[tuple[int, str]]:
    base = sqlite3.connect(path)
    try:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return base.execute("SELECT id, text FROM kept ORDER BY id").fetchall()
    finally:
        base.close()


def postgres_programs() -> Path:
    """Where PostgreSQL's own programs are; skips the test where there are none."""
    need("pg_config", "runuser")
    return sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))[-1].parent


@contextmanager
def postgres_folder() -> Iterator[Path]:
    """A folder for a cluster: PostgreSQL runs as a user of its own, who cannot get to those of pytest."""
    postgres_programs()
    with TemporaryDirectory(prefix="flashtwin-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def make_cluster(folder: Path, scale: int, *more: tuple[str | Path, ...], socket: Path | None = None) -> None:
    """A PostgreSQL cluster with page checksums in a new folder, with pgbench's tables, and what `more` commands do."""
    programs = postgres_programs()
    folder.mkdir()
    shutil.chown(folder, "postgres", "postgres")
    as_postgres(programs / "initdb", "--data-checksums", "-D", folder / "data")
    with running_postgres(programs, folder, socket) as connect:
        as_postgres(programs / "createdb", *connect, "bench")
        as_postgres(programs / "pgbench", *connect, "-q", "-i", "-s", str(scale), "bench")
        for program, *words in more:
            as_postgres(programs / program, *connect, *words, "bench")


def postgres_sums(folder: Path) -> str:
    """The sums of balances of accounts, tellers and branches; pgbench keeps them equal."""
    programs = postgres_programs()
    sums = ", ".join(f"(SELECT sum({one[0]}balance) FROM pgbench_{one[1]})" for one in (
        ("a", "accounts"), ("t", "tellers"), ("b", "branches"),
    ))  # fmt: skip
    with running_postgres(programs, folder) as connect:
        return as_postgres(programs / "psql", *connect, "-At", "-c", f"SELECT {sums}", "bench").strip()


@contextmanager
def running_postgres(
    programs: Path, folder: Path, socket: Path | None = None, *, dies: bool = False
) -> Iterator[list[str]]:
    """A server that listens on a socket alone; yields the options that reach it. If it `dies`, it may have ended."""
    socket = socket or folder
    _forget_dead(folder / "data" / "postmaster.pid")
    start = [programs / "pg_ctl", "-w", "-s", "-D", folder / "data"]
    as_postgres(*start, "-l", socket / "log", "-o", f"-c listen_addresses='' -k {socket}", "start")
    try:
        yield ["-h", str(socket)]
    finally:
        if dies:
            with suppress(AssertionError):
                as_postgres(*start, "-m", "immediate", "stop")
        else:
            as_postgres(*start, "-m", "fast", "stop")


def _forget_dead(lock: Path) -> None:
    """Removes the lock of a server that has ended, because the first process of some containers reaps nobody."""
    with suppress(OSError, ValueError):
        process = int(lock.read_text(encoding="ascii").split()[0])
        if Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
            lock.unlink()


def as_postgres(*words: str | Path) -> str:
    return run("runuser", "-u", "postgres", "--", *words, cwd="/", stdin=subprocess.DEVNULL)


def _is_shown(file: Path, fuse: subprocess.Popen[str]) -> bool:
    assert fuse.poll() is None, f"nbdfuse ended with status {fuse.returncode}"
    return file.exists()
