"""Real disks that are full keep what was flushed, and a check lists what of an image cannot be read."""

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import flashtwin as ft

from ..conftest import Cli, Counted
from ..tools import need
from .nbd import EIO, ENOSPC, PAGE, Client, Pages
from .serving import SMALL, flashtwin

SIZE = 4 << 20
SYSTEMS = ["conventional", "static", "dynamic", "hipa", "modern", "ca-ssd", "ca-ssd-inverted", "caftl", "rr-ssd",
           "rr-ssd-online", "pblru", "ds-ftl"]  # fmt: skip


@contextmanager
def served(image: Path, limit_bytes: int | None = None) -> Iterator[Client]:
    """The image served by a process of its own, whose files end at a limit, and which is killed at the end."""
    limit = () if limit_bytes is None else ("prlimit", f"--fsize={limit_bytes}")
    words = ("serve", image, "--socket", image.with_name("s"))
    with flashtwin(*words, before=limit) as (_, uri), Client(uri) as client:
        yield client


def fill(pages: Pages, client: Client) -> int:
    error = 0
    while not error:
        error = pages.write(client) if pages.draw.random() < 0.97 else pages.flush(client)
        assert pages.number - pages.first < 50_000, "the disk does not get full"
    assert error == ENOSPC
    errors = pages.read_all(client)
    assert pages.write(client) == ENOSPC, "it is still full"
    return errors


def full_by_limit(folder: Path, seed: int) -> int:
    need("prlimit")
    draw = random.Random(seed)
    image = folder / f"d{seed}.img"
    ft.serve(image, system=SYSTEMS[seed % len(SYSTEMS)], size_bytes=SIZE, sets=SMALL).stop()
    # Somewhere in the middle of the data, which come last.
    limit = ft.drive_info(image)["medium_bytes"] - SIZE // 2 + draw.randrange(SIZE // 3)
    pages = Pages(seed, SIZE // PAGE)
    with served(image, limit) as client:
        errors = fill(pages, client)
        assert pages.flush(client) == ENOSPC, "what was written is not durable"
        assert pages.read_all(client) == errors
    pages.restart()
    with served(image) as client:
        assert pages.read_all(client) == 0, "opened again it has what was flushed"
    image.unlink()
    return errors


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    place = folder / "small"
    place.mkdir(exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system takes root")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def full_by_size(folder: Path, seed: int) -> int:
    draw = random.Random(seed)
    # The size of the tables, and some of the data.
    with small_disk(folder, SIZE // 2 + draw.randrange(SIZE // 4) // PAGE * PAGE) as place:
        image = place / "d.img"
        ft.serve(image, system=SYSTEMS[seed % len(SYSTEMS)], size_bytes=SIZE, sets=SMALL).stop()
        pages = Pages(seed, SIZE // PAGE)
        with served(image) as client:
            errors = fill(pages, client)
        pages.restart()
        # Opening it again takes no room that it had not before; then it goes on.
        subprocess.run(["mount", "-o", f"remount,size={4 * SIZE}", str(place)], check=True)
        with served(image) as client:
            assert pages.read_all(client) == 0
            for _ in range(200):
                assert pages.write(client) == 0
            assert pages.flush(client) == 0
            assert pages.read_all(client) == 0
        return errors


@pytest.mark.parametrize(
    ("full", "seeds"),
    [
        (full_by_limit, range(6)), (full_by_size, range(4)),
        pytest.param(full_by_limit, range(1_000, 1_150), marks=pytest.mark.slow),
        pytest.param(full_by_size, range(2_000, 2_050), marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_full_disk_costs_no_byte_that_was_flushed(
    full: Callable[..., int], seeds: range, tmp_path: Path, counted: Counted
) -> None:
    assert sum(full(tmp_path, seed) > 0 for seed in seeds) > len(seeds) // 10
    counted(len(seeds), "full disks")


def test_check_lists_the_bytes_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    value = b"a page that nobody else has".ljust(64, b".") * 64
    with ft.serve(image, system="conventional", size_bytes=SIZE, sets=SMALL) as server, Client(server.uri) as client:
        assert client.write(5 * PAGE, value) == 0
    whole = image.read_bytes()
    with image.open("r+b") as file:
        file.seek(whole.rindex(value) + 100)
        file.write(b"?")
    done = cli("drive", "check", "drive.img", "--verify", status=2)
    assert "bytes 20480 to 24575 of the drive cannot be read until they are written or trimmed" in done.err
    assert "logical pages that cannot be read" in done.out
    assert ft.check_drive(image, all_pages=True)["unreadable"] == [{"offset_bytes": 5 * PAGE, "length_bytes": PAGE}]
    with ft.serve(image) as server, Client(server.uri) as client:
        assert client.read(5 * PAGE, PAGE)[0] == EIO
        assert client.trim(5 * PAGE, PAGE) == 0
        assert client.read(5 * PAGE, PAGE) == (0, bytes(PAGE))
    cli("drive", "check", "drive.img", "--verify", status=0)
