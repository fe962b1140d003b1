"""Real disks that are full, and images with damaged pages: right bytes or an error, and undamaged parts go on."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import flashtwin as ft

from ..conftest import PROGRAM, Cli, clean_environment
from .nbd import EIO, ENOSPC, Client

SIZE, PAGE = 4 << 20, 4096
#: A device so small that writes soon come to its last blocks, and to erased ones.
SMALL = {
    "nand.channels": "2",
    "nand.chips_per_channel": "2",
    "nand.dies_per_chip": "1",
    "nand.planes_per_die": "1",
    "nand.pages_per_block": "16",
    "nand.page_bytes": "4096",
}
SYSTEMS = ["conventional", "static", "dynamic", "hipa", "modern", "ca-ssd", "ca-ssd-inverted", "caftl", "rr-ssd",
           "rr-ssd-online", "pblru", "ds-ftl"]  # fmt: skip


class Pages:
    """The allowed contents of each page: values name their page, so that another page's old bytes are found out."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.now: dict[int, set[int]] = {}
        self.kept: dict[int, set[int]] = {}
        self.number = self.first = (seed + 1) * 1_000_000

    def write(self, client: Client) -> int:
        """Writes a page, mostly one of few; the error."""
        page = self.draw.randrange(SIZE // PAGE // (8 if self.draw.random() < 0.7 else 1))
        self.number += 1
        # Some writes repeat earlier contents.
        value = self.number if self.draw.random() < 0.8 else self.number - self.draw.randrange(1, 40)
        error = client.write(page * PAGE, value.to_bytes(8, "little") * (PAGE // 8))
        before = self.now.get(page, {0})
        self.now[page] = {value} | (before if error else set())
        self.kept[page] = self.kept.get(page, {0}) | {value}
        return error

    def flush(self, client: Client) -> int:
        """Flushes; the error."""
        error = client.flush()
        if not error:
            self.kept = {page: set(values) for page, values in self.now.items()}
        return error

    def read_all(self, client: Client) -> int:
        """Reads every page; how many are errors. All others must hold what they may."""
        errors = 0
        for page in range(SIZE // PAGE):
            error, data = client.read(page * PAGE, PAGE)
            if error:
                assert error == EIO, f"page {page}: error {error}"
                errors += 1
                continue
            value = int.from_bytes(data[:8], "little")
            assert data == data[:8] * (PAGE // 8), f"page {page} is no page that was written"
            may = self.now.get(page, {0})
            assert value in may, f"page {page} holds {value}, not {may}"
        return errors

    def restart(self) -> None:
        """The drive was opened again."""
        self.now = {page: set(values) for page, values in self.kept.items()}


@contextmanager
def served(image: Path, limit_bytes: int | None = None) -> Iterator[Client]:
    """The image served by a process of its own, whose files end at a limit, and which is killed at the end."""
    command = [str(PROGRAM), "serve", str(image), "--socket", str(image.with_name("s"))]
    if limit_bytes is not None:
        command = ["prlimit", f"--fsize={limit_bytes}", *command]
    with subprocess.Popen(
        command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            with Client(process.stdout.readline().strip()) as client:
                yield client
        finally:
            process.kill()


def fills_up(image: Path, seed: int, limit_bytes: int) -> int:
    """Writes until the disk is full; reads all then; how many pages are errors."""
    pages = Pages(seed)
    with served(image, limit_bytes) as client:
        error = 0
        while not error:
            error = pages.write(client) if pages.draw.random() < 0.97 else pages.flush(client)
            assert pages.number - pages.first < 50_000, "the disk does not get full"
        assert error == ENOSPC
        errors = pages.read_all(client)
        assert pages.write(client) == ENOSPC, "it is still full"
        assert pages.flush(client) == ENOSPC, "what was written is not durable"
        assert pages.read_all(client) == errors
    pages.restart()
    with served(image) as client:
        assert pages.read_all(client) == 0, "opened again it has what was flushed"
    return errors


def full_by_limit(folder: Path, seed: int) -> int:
    if shutil.which("prlimit") is None:
        pytest.skip("not installed: prlimit, of util-linux")
    draw = random.Random(seed)
    image = folder / f"d{seed}.img"
    ft.serve(image, system=SYSTEMS[seed % len(SYSTEMS)], size_bytes=SIZE, sets=SMALL).stop()
    # Somewhere in the middle of the data, which come last.
    limit = ft.drive_info(image)["medium_bytes"] - SIZE // 2 + draw.randrange(SIZE // 3)
    try:
        return fills_up(image, seed, limit)
    finally:
        image.unlink()


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    """A file system in memory of this many bytes."""
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
        return _until_it_has_room(image, place, seed)


def _until_it_has_room(image: Path, place: Path, seed: int) -> int:
    pages = Pages(seed)
    with served(image) as client:
        error = 0
        while not error:
            error = pages.write(client) if pages.draw.random() < 0.97 else pages.flush(client)
        assert error == ENOSPC
        errors = pages.read_all(client)
        assert pages.write(client) == ENOSPC
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


def test_a_full_disk_costs_no_byte_that_was_flushed(tmp_path: Path) -> None:
    assert sum(full_by_limit(tmp_path, seed) for seed in range(6)) > 0


def test_full_file_system_is_reported_and_recovers_with_space(tmp_path: Path) -> None:
    assert sum(full_by_size(tmp_path, seed) for seed in range(4)) > 0


@pytest.mark.slow
def test_two_hundred_full_disks(tmp_path: Path) -> None:
    errors = [full_by_limit(tmp_path, seed) for seed in range(1_000, 1_150)]
    errors += [full_by_size(tmp_path, seed) for seed in range(2_000, 2_050)]
    assert sum(count > 0 for count in errors) > 20


def damaged(folder: Path, seed: int) -> tuple[int, int]:
    """Damages some pages of an image and writes on; pages that were errors, and blocks retired."""
    draw, pages, image = random.Random(seed), Pages(seed), folder / f"d{seed}.img"
    system = SYSTEMS[seed % len(SYSTEMS)]
    with ft.serve(image, system=system, size_bytes=SIZE, sets=SMALL) as server, Client(server.uri) as client:
        for _ in range(1_500):
            assert pages.write(client) == 0
    # It was closed in order.
    pages.kept = {page: set(values) for page, values in pages.now.items()}
    whole = ft.drive_info(image)["medium_bytes"]
    with image.open("r+b") as file:
        for _ in range(draw.randrange(1, 40)):
            # The data come last: most of this range.
            file.seek(whole - draw.randrange(1, SIZE))
            file.write(bytes([draw.randrange(256)]))
    with ft.serve(image) as server, Client(server.uri) as client:
        errors = pages.read_all(client)
        for _ in range(3_000):
            assert pages.write(client) == 0, "the drive goes on"
        assert pages.flush(client) == 0
        pages.read_all(client)
        drive = server.figures["drive"]
        assert drive["read_only"] is None
    found = ft.check_drive(image, all_pages=True)
    with ft.serve(image) as server, Client(server.uri) as client:
        assert pages.read_all(client) == found["unreadable_pages"]
    image.unlink()
    return errors, found["retired_blocks"]


def test_damaged_pages_cost_themselves(tmp_path: Path) -> None:
    found = [damaged(tmp_path, seed) for seed in range(6)]
    assert sum(errors for errors, _ in found) > 0


@pytest.mark.slow
def test_two_hundred_damaged_images(tmp_path: Path) -> None:
    found = [damaged(tmp_path, seed) for seed in range(3_000, 3_200)]
    assert sum(errors for errors, _ in found) > 200
    assert sum(blocks for _, blocks in found) > 5


def test_check_lists_the_bytes_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    value = b"a page that nobody else has".ljust(64, b".") * 64
    with ft.serve(image, system="conventional", size_bytes=SIZE, sets=SMALL) as server, Client(server.uri) as client:
        assert client.write(5 * PAGE, value) == 0
    whole = image.read_bytes()
    with image.open("r+b") as file:
        file.seek(whole.rindex(value) + 100)
        file.write(b"?")
    done = cli("drive", "check", "drive.img", "--verify")
    assert done.status == 2
    assert "bytes 20480 to 24575 of the drive cannot be read until they are written or trimmed" in done.err
    assert "logical pages that cannot be read" in done.out
    assert ft.check_drive(image, all_pages=True)["unreadable"] == [{"offset_bytes": 5 * PAGE, "length_bytes": PAGE}]
    with ft.serve(image) as server, Client(server.uri) as client:
        assert client.read(5 * PAGE, PAGE)[0] == EIO
        assert client.trim(5 * PAGE, PAGE) == 0
        assert client.read(5 * PAGE, PAGE) == (0, bytes(PAGE))
    assert cli("drive", "check", "drive.img", "--verify").status == 0
