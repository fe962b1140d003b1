"""Drives that are served: data they keep, requests they refuse, figures they report."""

import json
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft

from ..conftest import PATIENCE_S, Cli, wait_until
from ..tools import need
from .serving import flashtwin, nbdsh, run

SIZE = 64 << 20


def qemu(uri: str, *commands: str) -> None:
    told = [word for command in commands for word in ("-c", command)]
    said = run("qemu-io", "-f", "raw", *told, uri)
    assert "failed" not in said, said


@pytest.mark.parametrize("system", ["conventional", "rr-ssd", "ca-ssd"])
def test_what_was_written_is_there_after_a_restart(system: str, tmp_path: Path) -> None:
    need("qemu-io")
    image = tmp_path / "drive.img"
    with ft.serve(image, system=system, size_bytes=SIZE) as server:
        assert server.size_bytes == SIZE
        qemu(server.uri, "write -P 1 0 1M", "write -P 2 1M 64k", "write -P 3 5000 100", "discard 64k 64k", "flush")
    with ft.serve(image) as server:
        qemu(server.uri, "read -P 2 1M 64k", "read -P 3 5000 100", "read -P 1 8k 56k", "read -P 0 64k 64k")
        assert server.figures["drive"]["recovery"]["log_batches"] == 0, "it ended with a checkpoint"
    assert ft.check_drive(image, all_pages=True)["problems"] == []


def test_another_drive_than_the_one_asked_for_is_refused(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    ft.serve(image, system="rr-ssd", size_bytes=SIZE).stop()
    ft.serve(image, system="rr-ssd", size_bytes=SIZE).stop()
    for asked, words in [
        ({"system": "conventional"}, "of the system 'rr-ssd', and 'conventional' was asked for"),
        ({"size_bytes": 2 * SIZE}, f"a drive of {SIZE} bytes, and {2 * SIZE} were asked for"),
        ({"sets": {"ftl.dedup.sampling_pages": "4"}}, "other settings of ftl"),
        ({"system": "no-such"}, "no-such"),
    ]:
        with pytest.raises(ft.FlashtwinError, match=words):
            ft.serve(image, **asked).stop()  # type: ignore[arg-type]
    with pytest.raises(ft.LiveError, match="name a system and a size"):
        ft.serve(tmp_path / "other.img")
    other = tmp_path / "text.img"
    other.write_bytes(b"no drive at all" * 100_000)
    with pytest.raises(ft.LiveError, match="not a drive of flashtwin"):
        ft.serve(other)
    with pytest.raises(ft.ConfigError, match="cannot be served"):
        ft.serve(tmp_path / "x.img", system="rr-ssd", size_bytes=SIZE, sets={"redirection.policy": '"any-chip"'})
    assert not (tmp_path / "x.img").exists()


def test_a_system_and_its_keys_are_named_as_for_a_replay(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(ft.system("rr-ssd", settings={"replication.alpha": 0.3}).toml)
    ways: dict[str, dict[str, Any]] = {
        "keywords": {"system": "rr-ssd", "alpha": 0.3},
        "settings": {"system": "rr-ssd", "settings": {"replication.alpha": 0.3}},
        "file": {"system": own},
        "system": {"system": ft.system("rr-ssd", alpha=0.3)},
        "as before": {"system": "rr-ssd", "sets": {"replication.alpha": "0.3"}},
    }
    for name, asked in ways.items():
        image = tmp_path / f"{name}.img"
        ft.serve(image, size_bytes=SIZE, **asked).stop()
        assert ft.drive_info(image)["config"]["ftl"]["replication"]["alpha"] == 0.3, name
    image = tmp_path / "system.img"
    ft.serve(image, **ways["system"]).stop()
    with pytest.raises(ft.LiveError, match="other settings of ftl"):
        ft.serve(image, alpha=0.4)
    with pytest.raises(ft.ConfigError, match="finished system 'rr-ssd'"):
        ft.serve(image, system=ft.system("rr-ssd"), alpha=0.3)
    with pytest.raises(ft.ArgumentError, match="system is 5, of type int"):
        ft.serve(image, system=5)  # type: ignore[arg-type]
    with pytest.raises(ft.ArgumentError, match="give it once"):
        ft.serve(image, settings={"alpha": 0.3}, alpha=0.3)
    with pytest.raises(ft.ArgumentError, match="sets is no mapping"):
        ft.serve(image, sets=5)


def test_periods_end_with_the_clock(tmp_path: Path) -> None:
    with ft.serve(tmp_path / "drive.img", system="rr-ssd", size_bytes=SIZE, period_s=0.05) as server:
        wait_until(lambda: server.figures["drive"]["periods"] >= 2)
        assert server.figures["drive"]["failure"] is None


def test_the_verbs(cli: Cli, tmp_path: Path) -> None:
    need("qemu-io")
    write = ("--", "qemu-io", "-f", "raw", "-c", "write -P 7 0 64k", "-c", "flush", "{uri}")
    cli("serve", "--system", "rr-ssd", "--size", "64M", "drive.img", "--out", "served", *write, status=0)
    summary = json.loads((tmp_path / "served" / "served.json").read_text())
    assert (summary["host_pages_written"], summary["flash_writes"]["unique"]) == (16, 1)
    assert summary["duplicate_write_share"] == 15 / 16
    assert summary["pages_programmed"] == sum(summary["flash_writes"].values())
    info = json.loads(cli("drive", "info", "drive.img", "--json").out)
    assert (info["system"], info["size_bytes"]) == ("rr-ssd", SIZE)
    checked = cli("drive", "check", "drive.img", "--verify", "--json")
    assert json.loads(checked.out)["mapped_pages"] == 16
    cli("serve", "--size", "32M", "drive.img", status=2)
    cli("drive", "check", "nothing.img", status=2)


#: A client that writes pages again and again, some of them with equal contents, one request after the other.
CLIENT = """
import random
random.seed(2)
pages = [random.randbytes(4096) for _ in range(4000)]
for number in range(6000):
    h.pwrite(pages[min(int(random.expovariate(1 / 1500)), 3999)], random.randrange(1900) * 4096)
    if number % 97 == 0:
        h.trim(4096, random.randrange(1900) * 4096)
        h.pread(8192, random.randrange(1899) * 4096)
h.flush()
"""

#: Two chips with blocks of 32 pages, so that 8 MB are collected.
LITTLE = {"channels": 1, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 1, "pages_per_block": 32}


@pytest.mark.parametrize("system", ["conventional", "rr-ssd", "ca-ssd", "ds-ftl"])
def test_the_replay_of_a_recording_programs_what_the_drive_did(system: str, tmp_path: Path) -> None:
    """By cause, and exactly: the recorder stands before the drive, and no period ends."""
    need("nbdsh")
    image, trace = tmp_path / "d.img", tmp_path / "t.parquet"
    sets = {f"nand.{key}": str(value) for key, value in LITTLE.items()}
    with (
        ft.serve(image, system=system, size_bytes=8 << 20, sets=sets, period_s=1e6) as server,
        ft.record(server.uri, trace) as recorder,
    ):
        nbdsh(recorder.uri, CLIENT)
    drive = server.figures["drive"]
    # The drive's own system, new as the drive was, and one request after the other as the client has them.
    twin = ft.drive_system(image).with_sets({"replay.queue_depth": 1, "replay.period_s": 1e6})
    result = ft.replay(trace, twin)
    summary = result.summary
    assert drive["flash_writes"] == summary["flash_writes"]
    assert drive["flash_writes"]["gc"] > 0
    assert drive["erases"]["total"] == summary["erases"]["total"]
    assert drive["page_ops"]["duplicate_writes"] == summary["page_ops"]["duplicate_writes"]
    assert drive["host_pages_written"] == summary["host_pages_written"]
    (tmp_path / "served.json").write_text(json.dumps({**drive, "server": server.figures["server"]}))
    beside = {row.figure: row for row in ft.compare_drive(tmp_path, result)}
    programs = {name: row for name, row in beside.items() if not name.startswith("response.")}
    assert {"flash_writes.gc", "write_amplification", "erases.total"} < programs.keys()
    assert all(row.served == row.replayed and row.difference_percent in (0, None) for row in programs.values())
    assert beside["response.write.mean_ns"].served != beside["response.write.mean_ns"].replayed


def test_what_cannot_be_compared_is_named(tmp_path: Path, small_trace: Path) -> None:
    result = ft.replay(ft.open(small_trace), "conventional")
    with pytest.raises(ft.ReportError, match="nowhere: does not exist; expected the folder of `flashtwin serve"):
        ft.compare_drive(tmp_path / "nowhere", result)
    (tmp_path / "served.json").write_text("{}")
    with pytest.raises(ft.ReportError, match="no replay in it"):
        ft.compare_drive(tmp_path, tmp_path)
    ft.compare(ft.open(small_trace), ["conventional", "ca-ssd"]).save(tmp_path / "both")
    with pytest.raises(ft.ReportError, match=r"2 runs in it; name one, as .*ca-ssd"):
        ft.compare_drive(tmp_path, tmp_path / "both")
    rows = ft.compare_drive(tmp_path, tmp_path / "both" / "runs" / "ca-ssd")
    assert all(row.served is None and row.difference_percent is None for row in rows)


def test_sigterm_ends_it_in_order(tmp_path: Path) -> None:
    need("qemu-io")
    words = ("serve", "--system", "rr-ssd", "--size", "64M", "drive.img", "--out", "served")
    with flashtwin(*words, cwd=tmp_path) as (server, uri):
        assert (tmp_path / "drive.sock").stat().st_mode & 0o077 == 0
        with pytest.raises(ft.LiveError, match="another process is using it"):
            ft.serve(tmp_path / "drive.img")
        qemu(uri, "write -P 5 1M 64k")
        server.terminate()
        assert server.wait(PATIENCE_S) == 0
    assert json.loads((tmp_path / "served" / "served.json").read_text())["host_pages_written"] == 16
    assert ft.check_drive(tmp_path / "drive.img")["log_batches"] == 0
    with ft.serve(tmp_path / "drive.img") as again:
        qemu(again.uri, "read -P 5 1M 64k")
