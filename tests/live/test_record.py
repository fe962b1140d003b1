"""Recording what other people's programs do, and what becomes of it."""

import json
import os
import signal
import socket as connection
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import flashtwin as ft

from ..conftest import PATIENCE_S, Cli, started, wait_until
from ..tools import need
from .serving import blank, flashtwin, nbdsh, run

PAGE = 4096


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return blank(tmp_path / "disk.img")


@pytest.fixture
def server(image: Path) -> Iterator[ft.Server]:
    with ft.record(image, image.with_name("mine.parquet")) as server:
        yield server


def rows(out: Path) -> int:
    try:
        return len(ft.open(out))
    except ft.TraceError:
        return 0


def recorded(server: ft.Server, image: Path) -> ft.Trace:
    server.stop()
    return ft.open(image.with_name("mine.parquet"))


def numbered(rows: list[dict[str, Any]]) -> list[list[int] | None]:
    """The contents of each request as numbers, in the order in which they are first seen."""
    numbers: dict[bytes, int] = {}
    digests = [row["content_digest"] for row in rows]
    return [held and [numbers.setdefault(digest, len(numbers)) for digest in held] for held in digests]


def test_every_request_of_libnbd(server: ft.Server, image: Path) -> None:
    need("nbdsh")
    script = f"""
h.set_strict_mode(0)
h.add_meta_context("base:allocation")
h.connect_uri("{server.uri}")
assert h.get_structured_replies_negotiated()
h.pwrite(b"a" * 4096 + b"b" * 4096, 0, nbd.CMD_FLAG_FUA)
h.pwrite(b"a" * 4096, 65536)
assert h.pread(8192, 0) == b"a" * 4096 + b"b" * 4096
assert h.pread(2, 4095, nbd.CMD_FLAG_DF) == b"ab"
h.flush()
h.zero(4096, 4096, nbd.CMD_FLAG_NO_HOLE)
h.trim(4096, 65536)
assert h.pread(4096, 4096) == bytes(4096)
runs = []
h.block_status(8 << 20, 0, lambda context, offset, entries, error: runs.extend(entries))
assert sum(runs[::2]) == 8 << 20
for wrong in (lambda: h.pread(1, 8 << 20), lambda: h.pwrite(b"x", 8 << 20), lambda: h.cache(1, 0)):
    try:
        wrong()
    except nbd.Error:
        continue
    raise AssertionError
cookies = [h.aio_pread(nbd.Buffer(4096), at * 4096) for at in range(64)]
while h.aio_in_flight():
    h.poll(-1)
assert all(h.aio_command_completed(cookie) for cookie in cookies)
h.shutdown()
"""
    run("nbdsh", "-c", script)
    trace = recorded(server, image).to_arrow().to_pylist()
    contents = numbered(trace)
    first = [(row["op"], row["offset_bytes"], row["length_bytes"], contents[at]) for at, row in enumerate(trace[:8])]
    assert first == [
        (1, 0, 8192, [0, 1]),
        (1, 65536, 4096, [0]),
        (0, 0, 8192, [0, 1]),
        (0, 4095, 2, [2]),
        (3, 0, 0, None),
        (1, 4096, 4096, [3]),
        (2, 65536, 4096, None),
        (0, 4096, 4096, [3]),
    ]
    assert len(trace) == 8 + 64
    raw = pq.read_table(image.with_name("mine.parquet"))
    assert [row for row in raw.column("flags").to_pylist() if row] == [1, 2]
    metadata = pq.read_metadata(image.with_name("mine.parquet")).metadata
    zero = bytes.fromhex(metadata[b"flashtwin.zero_digest"].decode())
    assert raw.column("content_digest").to_pylist()[5] == [zero]


def test_a_blank_disk_is_known_to_be_blank(tmp_path: Path) -> None:
    need("nbdsh")
    image, out = blank(tmp_path / "disk.img", 64 << 20), tmp_path / "blank.parquet"
    with image.open("r+b") as file:
        file.seek(8 << 20)
        file.write(os.urandom(1 << 20))
        file.seek(12 << 20)
        file.write(bytes(1 << 20))
    read = "; ".join(f"h.pread(4096, {page << 20})" for page in range(64))
    with ft.record(image, out) as server:
        nbdsh(server.uri, f"{read}; h.pwrite(bytes(4096), 0); h.pread(4096, 0)")
    metadata = pq.read_metadata(out).metadata
    holes = json.loads(metadata[b"flashtwin.holes"])
    assert [0, 0, 8 << 20] in holes
    assert holes[-1] == [0, 13 << 20, 51 << 20]
    trace = ft.open(out)
    # Zeroes that lie in the file are data: the recorder found no hole there.
    assert trace.info["hole_bytes"] == 62 << 20
    assert trace.info["zero_read_percent"] == pytest.approx(100 * 64 / 65)
    assert trace.info["zero_write_percent"] == 100
    for system in ("conventional", "ca-ssd", "ds-ftl"):
        ops = ft.replay(trace, system).summary["page_ops"]
        assert ops["unmapped_reads"] == 62
    converted = tmp_path / "converted.parquet"
    trace.write_parquet(converted)
    assert ft.open(converted).info["hole_bytes"] == 62 << 20
    assert ft.open(converted).digest == trace.digest
    assert ft.open(converted).info["zero_read_percent"] == trace.info["zero_read_percent"]


def test_nbdcopy_gets_back_what_it_brought(server: ft.Server, tmp_path: Path) -> None:
    need("nbdcopy")
    given, got = tmp_path / "given", tmp_path / "got"
    given.write_bytes(os.urandom(3 << 20) + bytes(2 << 20) + os.urandom(3 << 20))
    run("nbdcopy", "--connections=4", "--flush", given, server.uri)
    run("nbdcopy", "--connections=4", server.uri, got)
    assert given.read_bytes() == got.read_bytes()


def test_qemu_writes_reads_and_compares(server: ft.Server, tmp_path: Path) -> None:
    need("qemu-io", "qemu-img")
    commands = ["write -P 1 0 1M", "aio_write -P 2 1M 64k", "aio_write -z 2M 64k", "aio_flush", "write -f -P 3 3M 4k"]
    commands += ["flush", "read -P 1 0 1M", "read -P 2 1M 64k", "read -P 0 2M 64k", "discard 4M 64k"]
    words = [word for command in commands for word in ("-c", command)]
    said = run("qemu-io", "-f", "raw", "-d", "unmap", *words, server.uri)
    assert "fail" not in said.lower()
    copy = tmp_path / "copy.raw"
    run("qemu-img", "convert", "-f", "raw", "-O", "raw", server.uri, copy)
    assert "identical" in run("qemu-img", "compare", "-f", "raw", "-F", "raw", server.uri, copy)


@pytest.mark.parametrize("depth", [1, 32])
def test_fio_reads_what_it_wrote(server: ft.Server, image: Path, tmp_path: Path, depth: int) -> None:
    need("fio")
    words = ["--name=v", "--ioengine=nbd", f"--uri={server.uri}", "--rw=randwrite", "--bs=4k", "--size=8m"]
    words += [f"--iodepth={depth}", "--verify=crc32c", "--do_verify=1", "--verify_fatal=1", "--fsync=64"]
    words += ["--output-format=json"]
    said = run("fio", *words, cwd=tmp_path)
    # It may have something to say before.
    found = json.loads(said[said.index("{") :])
    assert found["jobs"][0]["error"] == 0
    info = recorded(server, image).info
    assert (info["writes"], info["reads"]) == (2048, 2048)


def test_another_server_is_recorded_on_the_way(tmp_path: Path) -> None:
    need("nbdkit", "nbdsh")
    socket, out = tmp_path / "kit.sock", tmp_path / "kit.parquet"
    with started("nbdkit", "--foreground", "--unix", socket, "memory", "1M"):
        with connection.socket(connection.AF_UNIX) as tried:
            # The socket may be there before somebody listens.
            wait_until(lambda: tried.connect_ex(str(socket)) == 0)
        with ft.record(f"nbd+unix:///?socket={socket}", out) as server:
            script = 'h.pwrite(b"x" * 70000, 5); h.flush(); h.trim(4096, 0); h.zero(4096, 8192); '
            nbdsh(server.uri, script + 'assert h.pread(70000, 5)[-9:] == b"x" * 9')
    assert ft.open(out).info["requests"] == 5


def begin(tmp_path: Path, *more: object) -> AbstractContextManager[tuple[subprocess.Popen[str], str]]:
    words = ("record", "disk.img", "--out", "mine.parquet", *more)
    return flashtwin(*words, cwd=tmp_path, stderr=subprocess.PIPE)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_verb_ends_well_when_it_is_told_to(image: Path, tmp_path: Path, end: signal.Signals) -> None:
    need("nbdsh")
    with begin(tmp_path) as (process, uri):
        assert uri == f"nbd+unix:///?socket={tmp_path}/mine.sock"
        nbdsh(uri, 'h.pwrite(b"x" * 4096, 0)')
        process.send_signal(end)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "1 requests: mine.parquet\n")
    assert not (tmp_path / "mine.sock").exists()
    assert len(ft.open(tmp_path / "mine.parquet")) == 1


def test_a_killed_recorder_leaves_a_trace(image: Path, tmp_path: Path, cli: Cli) -> None:
    need("nbdsh")
    out = tmp_path / "killed.parquet"
    script = f"""
import time, flashtwin as ft
server = ft.record({str(image)!r}, {str(out)!r}, loss_s=0.1)
print(server.uri, flush=True)
time.sleep({PATIENCE_S})
"""
    with started(sys.executable, "-c", script, stdout=subprocess.PIPE) as process:
        nbdsh(process.stdout.readline().strip(), "[h.pwrite(bytes([at]) * 4096, at * 4096) for at in range(100)]")
        wait_until(lambda: rows(out) == 100)
        process.kill()
    assert len(ft.open(out)) == 100
    with out.open("ab") as torn:
        torn.write(b"\1" * 5000)
    assert len(ft.open(out)) == 100
    done = cli("record", "--recover", out, "--json")
    assert json.loads(done.out) == {"requests": 100, "cut_bytes": 5000}
    assert pq.read_table(out).num_rows == 100
    cli("trace", "convert", out, "converted.parquet", status=0)
    assert ft.open(tmp_path / "converted.parquet").digest == ft.open(out).digest


def test_a_command_is_recorded_from_its_begin_to_its_end(image: Path, cli: Cli, tmp_path: Path) -> None:
    need("qemu-io")
    words = ["record", image, "--out", "mine.fiu", "--format", "fiu", "--listen", "127.0.0.1:0", "--json"]
    words += ["--key-file", "key"]
    done = cli(*words, "--", "qemu-io", "-f", "raw", "-c", "write -P 7 0 8k", "-c", "discard 0 4k", "{uri}", status=0)
    assert ft.open(tmp_path / "mine.fiu").info["writes"] == 1
    assert "left out, for which FIU has no words: mine.fiu" in done.err
    assert len((tmp_path / "key").read_text()) == 65
    again = cli(*words, "--", "false")
    assert (again.status, "exists" in again.err) == (2, True)
    failed = cli(*words, "--force", "--", "false")
    assert (failed.status, "false: ended with exit status 1" in failed.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("record", "disk.img"), "no trace is named; give --out NAME.parquet"),
        (("record", "disk.img", "--out", "x.csv"), "x.csv: the name must end in .parquet"),
        (("record", "gone.img", "--out", "x.parquet"), "gone.img: "),
        (("record", "nbd://127.0.0.1:1/", "--out", "x.parquet"), "nbd://127.0.0.1:1/: "),
        (("record", "http://x", "--out", "x.parquet"), "this scheme is not known"),
        (("record", "disk.img", "--out", "x.parquet", "--listen", "0.0.0.0:0"), "can be reached from other machines"),
        (("record", "disk.img", "--out", "x.parquet", "--listen", "here"), "'here' is not an address"),
        (("record", "disk.img", "--out", "x.parquet", "--metrics", "here"), "'here': figures cannot be told there"),
        (("record", "disk.img", "--out", "x.parquet", "--", "no-such-program"), "no-such-program: cannot be started"),
        (("record", "--import", "disk.img", "--out", "x.parquet"), "disk.img: this is no log of dm-log-writes"),
        (("record", "--recover", "disk.img"), "disk.img: this is no recording"),
    ],
)
def test_mistakes_are_told_in_one_line(image: Path, cli: Cli, words: tuple[str, ...], message: str) -> None:
    done = cli(*words, status=2)
    assert message in done.err.splitlines()[-1]
    assert done.err.splitlines()[-1].startswith("error: ") or "no-such" in message


def test_a_log_of_qemu_is_imported(tmp_path: Path, image: Path) -> None:
    need("qemu-io")
    log, out = blank(tmp_path / "writes.log", 1 << 20), tmp_path / "writes.parquet"
    options = f"driver=blklogwrites,file.driver=file,file.filename={image},log.driver=file,log.filename={log}"
    commands = ("write -P 5 4k 8k", "flush", "read 0 4k", "write -P 5 64k 4k")
    words = ["qemu-io", "--image-opts", options, *(word for command in commands for word in ("-c", command))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if "Unknown driver" in done.stderr:
        pytest.skip("this qemu has no blklogwrites")
    assert done.returncode == 0, done.stderr
    ft.import_log(log, out)
    rows = ft.open(out).to_arrow().to_pylist()
    written = [(row["op"], row["offset_bytes"], held) for row, held in zip(rows, numbered(rows), strict=True)]
    # It flushes once more when it closes the image.
    flush = (3, 0, None)
    assert written == [(1, 4096, [0, 0]), flush, (1, 65536, [0]), flush]


def test_wrong_arguments_are_refused(image: Path) -> None:
    with pytest.raises(ft.ArgumentError, match="not both"):
        ft.record(image, "x.parquet", socket="s", listen="127.0.0.1:0")
    with pytest.raises(ft.ArgumentError, match="format is 'csv', of type str: expected one of"):
        ft.record(image, "x.parquet", format="csv")  # type: ignore[arg-type]
    with ft.record(image, image.with_name("a.parquet")), pytest.raises(ft.LiveError, match="in use by another server"):
        ft.record(image, image.with_name("b.parquet"))
    assert not image.with_name("b.parquet").exists()
