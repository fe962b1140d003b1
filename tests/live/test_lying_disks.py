"""A disk that says to have written what it lost, misplaced, tore or changed: answers are right or an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft

from ..conftest import Counted, clean_environment
from ..tools import need
from .nbd import PAGE, Client, Pages
from .serving import SMALL, flashtwin, run

SIZE = 4 << 20


def data_at(image: Path) -> int:
    """Where the pages begin, which come last."""
    info = ft.drive_info(image)
    nand = info["config"]["nand"]
    levels = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block")
    pages = 1
    for level in levels:
        pages *= nand[level]
    return int(info["medium_bytes"]) - pages * PAGE


@contextmanager
def served(image: Path, lies: dict[str, object]) -> Iterator[Client]:
    how: dict[str, Any] = {"env": {**clean_environment(), **{name: str(value) for name, value in lies.items()}}}
    with flashtwin("serve", image, "--socket", image.with_name("s"), **how) as (_, uri), Client(uri) as client:
        yield client


def lies(folder: Path, system: str, seed: int) -> int:
    """Errors of a drive on a disk that lies, and then on one that does not; it asserts that no byte is wrong."""
    image, library = folder / f"{system}-{seed}.img", folder / "lies.so"
    source = Path(__file__).with_name("lying_disk.c")
    if not library.exists():
        run("cc", "-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-o", library, source)
    ft.serve(image, system=system, size_bytes=SIZE, sets=SMALL).stop()
    pages, errors = Pages(seed, SIZE // PAGE), 0
    how = {
        "LD_PRELOAD": library, "LIES_IMAGE": image, "LIES_FROM": data_at(image), "LIES_EVERY": 50,
        "LIES_SEED": seed + 1, "LIES_SYNCS": 40 if seed % 3 == 2 else 0,
    }  # fmt: skip
    for _ in range(2):
        with served(image, how) as client:
            for step in range(1_500):
                draw = pages.draw.random()
                change = pages.flush if draw < 0.01 else pages.trim if draw < 0.05 else pages.write
                change(client)
                if step % 500 == 499:
                    errors += pages.read_all(client)
        pages.restart()
    with served(image, {}) as client:
        errors += pages.read_all(client)
        for page in range(pages.pages):
            assert client.write(page * PAGE, bytes([seed + 1]) * PAGE) == 0
        for page in range(pages.pages):
            assert client.read(page * PAGE, PAGE) == (0, bytes([seed + 1]) * PAGE)
    image.unlink()
    return errors


@pytest.mark.parametrize("system", ["conventional", "ca-ssd", "rr-ssd", "ds-ftl"])
@pytest.mark.parametrize("seeds", [range(1, 3), pytest.param(range(3, 40), marks=pytest.mark.slow)], ids=str)
def test_no_byte_is_wrong_on_a_disk_that_lies(system: str, seeds: range, tmp_path: Path, counted: Counted) -> None:
    need("cc")
    assert sum(lies(tmp_path, system, seed) for seed in seeds) > 20, "it lied, and nobody saw"
    counted(len(seeds), "lying disks")
