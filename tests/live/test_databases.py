"""Databases on a drive whose server is killed again and again: rows whose commit was noted elsewhere are there."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import flashtwin as ft

from ..conftest import PATIENCE_S, Counted, started
from . import mounting
from .serving import flashtwin

SIZE = 256 << 20


@contextmanager
def server(image: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with flashtwin("serve", image, "--socket", image.with_name("s"), "--period", "2s") as (process, uri):
        yield process, uri
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE_S)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def again_and_again(
    folder: Path,
    system: str,
    kills: int,
    work: Callable[[Path, Callable[[], None]], None],
    check: Callable[[Path], None],
) -> None:
    """Has `work` use the mounted drive and kill its server, and `check` look at it, this many times on one drive."""
    image = folder / "d.img"
    ft.serve(image, system=system, size_bytes=SIZE).stop()
    with server(image) as (_, uri), mounting.mounted(uri, folder):
        pass
    for _ in range(kills):
        with server(image) as (process, uri), mounting.mounted(uri, folder, make=False, dies=True) as place:
            work(place, lambda process=process: kill(process))  # type: ignore[misc]
        with server(image) as (process, uri), mounting.mounted(uri, folder, make=False) as place:
            check(place)
    assert ft.check_drive(image, all_pages=True)["problems"] == []


#: Commits one transaction after the other and says so.
WRITER = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
# FULL does not sync the folder from which a rollback journal is removed, which is what commits.
base.execute("PRAGMA synchronous = EXTRA")
base.execute("CREATE TABLE IF NOT EXISTS kept (id INTEGER PRIMARY KEY, text TEXT)")
number = base.execute("SELECT coalesce(max(id), 0) FROM kept").fetchone()[0]
while True:
    number += 1
    base.execute("BEGIN")
    base.execute("INSERT INTO kept VALUES (?, ?)", (number, f"{number}-" + "x" * (number * 37 % 3000)))
    base.execute("UPDATE kept SET text = text || 'y' WHERE id = ?", (max(1, number - 50),))
    base.execute("COMMIT")
    print(number, flush=True)
"""


def text_of(number: int, last: int) -> str:
    changes = sum(max(1, later - 50) == number for later in range(max(1, number), min(last, number + 50) + 1))
    return f"{number}-" + "x" * (number * 37 % 3000) + "y" * changes


def sqlite_under_kills(folder: Path, journal: str, kills: int, seed: int) -> int:
    draw, committed = random.Random(seed), 0

    def work(place: Path, killed: Callable[[], None]) -> None:
        nonlocal committed
        words = (sys.executable, "-c", WRITER, place / "base.sqlite", journal)
        with started(*words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
            for _ in range(draw.randrange(5, 60)):
                committed = int(writer.stdout.readline())
            time.sleep(draw.random() * 0.01)
            killed()
            # Rows reported as committed were committed at that time.
            for line in writer.stdout:
                committed = int(line)

    def check(place: Path) -> None:
        nonlocal committed
        with closing(sqlite3.connect(place / "base.sqlite")) as base:
            assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            rows = base.execute("SELECT id, text FROM kept ORDER BY id").fetchall()
        last = len(rows)
        assert last in (committed, committed + 1), f"{committed} were committed, {last} are there"
        assert rows == [(number, text_of(number, last)) for number in range(1, last + 1)]
        committed = last

    again_and_again(folder, "ca-ssd" if journal == "WAL" else "rr-ssd", kills, work, check)
    return committed


#: Kills, a seed, and how many rows must at least be committed.
SOME, FIFTY = (2, 1, 10), pytest.param(50, 2, 500, marks=pytest.mark.slow)


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
@pytest.mark.parametrize(("kills", "seed", "least"), [SOME, FIFTY])
def test_sqlite_keeps_what_it_committed(
    journal: str, kills: int, seed: int, least: int, tmp_path: Path, counted: Counted
) -> None:
    mounting.needs("ext4")
    assert sqlite_under_kills(tmp_path, journal, kills, seed) > least
    counted(kills, "kills")


#: pgbench's own transaction, and a line that says which of whose it was.
TRANSACTION = """
\\set n :n + 1
\\set aid random(1, 100000)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = 1 + :aid % 10;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = 1;
INSERT INTO committed VALUES (:run, :client_id, :n);
END;
"""


class Postgres:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.programs = mounting.postgres_programs()
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.script = self.outside / "script.sql"
        self.script.write_text(TRANSACTION, encoding="ascii")
        shutil.chown(self.outside, "postgres", "postgres")
        self.runs = 0
        self.committed: set[tuple[int, int, int]] = set()

    def work(self, place: Path, killed: Callable[[], None]) -> None:
        place = place / "base"
        if not place.exists():
            table = "CREATE TABLE committed (run int, client int, n int, PRIMARY KEY (run, client, n))"
            mounting.make_cluster(place, 1, ("psql", "-q", "-c", table), socket=self.outside)
        self.runs += 1
        log = self.outside / f"run{self.runs}"
        with mounting.running_postgres(self.programs, place, self.outside, dies=True) as connect:
            words = [self.programs / "pgbench", *connect, "-n", "-c", "4", "-j", "2", "-T", "60", "-f", self.script]
            words += ["-D", "n=-1", "-D", f"run={self.runs}", "-l", "--log-prefix", log, "bench"]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
            with started("runuser", "-u", "postgres", "--", *words, **quiet) as bench:
                time.sleep(0.5 + self.draw.random())
                killed()
                bench.wait(timeout=PATIENCE_S)
        for file in self.outside.glob(f"run{self.runs}.*"):
            # A line for each transaction that was committed, its client first.
            clients = [int(line.split()[0]) for line in file.read_text(encoding="ascii").splitlines()]
            for client in set(clients):
                self.committed |= {(self.runs, client, n) for n in range(clients.count(client))}
            file.unlink()

    def check(self, place: Path) -> None:
        place = place / "base"
        with mounting.running_postgres(self.programs, place, self.outside) as connect:
            ask = [self.programs / "psql", *connect, "-At", "-F", " ", "bench", "-c"]
            lines = mounting.as_postgres(*ask, "SELECT run, client, n FROM committed").splitlines()
            found = {tuple(map(int, line.split())) for line in lines}
            assert self.committed <= found, f"lost: {sorted(self.committed - found)[:5]}"
            # Of each client one more may be there that was committed and not told.
            assert len(found) <= len(self.committed) + 4 * self.runs
            mounting.as_postgres(
                self.programs / "pg_amcheck", *connect, "--install-missing", "--heapallindexed", "bench"
            )
        assert len(set(mounting.postgres_sums(place).split("|"))) == 1
        mounting.as_postgres(self.programs / "pg_checksums", "--check", "-D", place / "data")


@pytest.mark.parametrize(("kills", "seed", "least"), [SOME, FIFTY])
def test_postgresql_keeps_what_it_committed(kills: int, seed: int, least: int, counted: Counted) -> None:
    mounting.needs("ext4")
    with mounting.postgres_folder() as folder:
        base = Postgres(folder, seed)
        again_and_again(folder, "ca-ssd", kills, base.work, base.check)
    assert len(base.committed) > 2 * least
    counted(kills, "kills")


def test_rows_are_what_the_writer_makes_of_them(tmp_path: Path) -> None:
    """The test itself: its expectation of each row is the writer's."""
    with started(sys.executable, "-c", WRITER, tmp_path / "base.sqlite", "DELETE", stdout=subprocess.PIPE) as writer:
        while int(writer.stdout.readline()) < 120:
            pass
    with closing(sqlite3.connect(tmp_path / "base.sqlite")) as base:
        rows = base.execute("SELECT id, text FROM kept ORDER BY id").fetchall()
    assert rows == [(number, text_of(number, len(rows))) for number in range(1, len(rows) + 1)]
