"""Impossible requests to serve are refused before they cost anything, with the cure; and warnings while serving."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import flashtwin as ft

from ..conftest import PATIENCE_S, PROGRAM, Cli, clean_environment, started, wait_until
from ..tools import need
from .nbd import Client
from .serving import run


def test_sizes_beyond_all_measure_are_refused(cli: Cli, tmp_path: Path) -> None:
    for size in ("99999999999999999999", "9" * 400, "129T"):
        done = cli("serve", "--system", "conventional", "--size", size, "x.img")
        assert (done.status, "is more than a drive can have" in done.err) == (2, True), done.err
    done = cli("serve", "--system", "conventional", "--size", "100T", "x.img")
    assert "are more pages than 31 bits number" in done.err
    for size_bytes in (1 << 63, 1 << 80, 0, -4096):
        with pytest.raises(ft.ConfigError, match="expected a positive number of whole pages"):
            ft.serve(tmp_path / "x.img", system="conventional", size_bytes=size_bytes)
    assert not list(tmp_path.iterdir())


def test_tables_larger_than_memory_are_refused_with_the_size(tmp_path: Path) -> None:
    need("prlimit")
    words = ("prlimit", f"--as={6 << 30}", PROGRAM, "serve", "--system", "ca-ssd", "--size", "4T", "x.img")
    said = run(*words, ok=False, cwd=tmp_path, env=clean_environment())
    assert "a drive of 4398046511104 bytes takes " in said
    assert "GB of memory for its tables once it is full" in said
    assert "make it smaller" in said
    assert not list(tmp_path.iterdir())


def _available_bytes() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))


def cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_is_heard_while_a_big_image_is_made(tmp_path: Path) -> None:
    if _available_bytes() < 8 << 30:
        pytest.skip("the tables of a big drive take memory that is not there")
    image = tmp_path / "big.img"
    words = (PROGRAM, "serve", "--system", "conventional", "--size", "256G", image)
    with started(*words, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: image.exists() or process.poll() is not None)
        # It takes seconds to fill its tables now.
        time.sleep(0.2)
        spent = cpu_s(process.pid) + sum(os.times()[2:4])
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
        assert sum(os.times()[2:4]) - spent < 1.5
    assert (process.returncode, out) == (130, ""), "it was not yet served"


def test_a_socket_that_nobody_could_connect_to_is_refused(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    room = 107 - len(str(tmp_path)) - 1
    for name, is_served in (("s" * room, True), ("s" * (room + 1), False)):
        socket = tmp_path / name
        if is_served:
            with (
                ft.serve(image, system="rr-ssd", size_bytes=8 << 20, socket=socket) as server,
                Client(server.uri) as at,
            ):
                assert at.read(0, 512) == (0, bytes(512))
        else:
            with pytest.raises(ft.LiveError, match=r"has at most 107 bytes, this one has 108.* name a shorter one"):
                ft.serve(image, socket=socket)


def test_figures_for_other_machines_are_told_with_a_warning(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from flashtwin.cli._metrics import metrics

    with ft.serve(tmp_path / "drive.img", system="rr-ssd", size_bytes=8 << 20) as server:
        for host, is_warned in (("0.0.0.0", True), ("127.0.0.1", False), ("localhost", False), ("[::1]", False)):
            try:
                with metrics(server, f"{host}:0"):
                    pass
            except ft.FlashtwinError:
                # No IPv6 here.
                continue
            assert (f"whoever reaches {host} can read the figures" in capsys.readouterr().err) == is_warned, host


def test_a_disk_with_too_little_room_is_told_beforehand(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flashtwin.cli import serve

    image = tmp_path / "drive.img"
    ft.serve(image, system="rr-ssd", size_bytes=8 << 20).stop()
    serve._warn_of_space(image)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(serve.shutil, "disk_usage", lambda _: type("usage", (), {"free": 1_000_000}))
    serve._warn_of_space(image)
    assert "its disk has 0.0 GB left" in capsys.readouterr().err


def test_a_recording_replaces_a_link_and_not_what_it_leads_to(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "disk.img").write_bytes(bytes(1 << 20))
    (tmp_path / "precious.parquet").write_bytes(b"an earlier recording")
    (tmp_path / "new.parquet").symlink_to("precious.parquet")
    (tmp_path / "nowhere.parquet").symlink_to("missing.parquet")
    for name in ("new.parquet", "nowhere.parquet"):
        refused = cli("record", "disk.img", "--out", name, "--for", "0.1s")
        assert (refused.status, "give --force to replace it" in refused.err) == (2, True), refused.err
        cli("record", "disk.img", "--out", name, "--force", "--for", "0.1s", status=0)
        assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "precious.parquet").read_bytes() == b"an earlier recording"
    assert not (tmp_path / "missing.parquet").exists()


def test_recording_that_has_stopped_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    from flashtwin.cli import _serving

    told: set[str] = set()
    for _ in range(2):
        _serving.warn({"recording": {"failure": "mine.parquet: File too large"}}, told)
    assert capsys.readouterr().err == (
        "warning: nothing is recorded any more, requests go on: mine.parquet: File too large\n"
    )
