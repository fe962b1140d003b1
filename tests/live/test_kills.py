"""The server killed in the middle of writes, again and again: data that a flush made durable are there."""

import threading
from contextlib import suppress
from pathlib import Path

import pytest

import flashtwin as ft

from ..conftest import Counted, wait_until
from ..tools import need
from .nbd import PAGE, Client, Pages
from .serving import SMALL, flashtwin, run

#: Pages of the drive that are written; few, so that blocks are collected all the time.
PAGES = 1_500
SIZE = 8 << 20


def writes_until_killed(image: Path, pages: Pages) -> int:
    """Serves the drive in a process of its own, has it written to, and kills it; flushes that were answered."""
    enough, flushes = pages.number + pages.draw.randrange(1_000, 2_000), 0
    with flashtwin("serve", image, "--socket", image.with_name("s"), "--period", "0.05s") as (server, uri):

        def kill() -> None:
            wait_until(lambda: pages.number >= enough, every_s=0.0001)
            server.kill()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        with suppress(OSError), Client(uri) as client:
            while True:
                for _ in range(pages.draw.randrange(1, 24)):
                    trims = pages.draw.random() < 0.05
                    assert not (
                        pages.trim(client) if trims else pages.write(client, durable=pages.draw.random() < 0.02)
                    )
                assert not pages.flush(client)
                flushes += 1
        killer.join()
    return flushes


def killed(folder: Path, system: str, times: int) -> None:
    """Kills the server this many times and compares the drive after each; at the end, fio's own verification."""
    need("fio")
    image, pages, flushes = folder / "d.img", Pages(times, PAGES), 0
    ft.serve(image, system=system, size_bytes=SIZE, sets=SMALL).stop()
    for _ in range(times):
        flushes += writes_until_killed(image, pages)
        pages.restart()
        with ft.serve(image, period_s=0.05) as server, Client(server.uri) as client:
            assert server.figures["drive"]["read_only"] is None
            assert pages.read_all(client) == 0
        pages.flushed()
    assert ft.check_drive(image, all_pages=True)["problems"] == []
    assert flushes > times
    # More than the device has: blocks were collected and erased on the way.
    assert ft.drive_info(image)["pages_programmed"] > 1.5 * SIZE / PAGE
    with ft.serve(image) as server:
        words = ["fio", "--name=v", "--ioengine=nbd", f"--uri={server.uri}", "--rw=randwrite", "--bs=4k", "--size=4M"]
        words += ["--verify=crc32c", "--iodepth=8", "--fsync=16"]
        run(*words, cwd=folder)


SYSTEMS = ("conventional", "ca-ssd", "rr-ssd", "ds-ftl")


@pytest.mark.parametrize(
    ("system", "times"),
    [("ca-ssd", 5), ("rr-ssd", 5), *(pytest.param(name, 50, marks=pytest.mark.slow) for name in SYSTEMS)],
)
def test_what_a_flush_promised_outlives_the_server(system: str, times: int, tmp_path: Path, counted: Counted) -> None:
    killed(tmp_path, system, times)
    counted(times, "kills")


def test_a_lost_promise_is_seen(tmp_path: Path) -> None:
    """The test itself: a page with a content overwritten before a flush is detected."""
    pages = Pages(0, 4)
    with ft.serve(tmp_path / "d.img", system="ca-ssd", size_bytes=SIZE) as server, Client(server.uri) as client:
        pages.now[3] = {8}
        for lost in (7, 10, 1 << 40):
            client.write(3 * PAGE, lost.to_bytes(8, "little") * (PAGE // 8))
            with pytest.raises(AssertionError, match="page 3 holds"):
                pages.read_all(client)
        client.write(3 * PAGE, (8).to_bytes(8, "little") * (PAGE // 8))
        assert pages.read_all(client) == 0
