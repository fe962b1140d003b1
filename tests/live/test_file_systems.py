"""File systems, builds and databases on served drives, with a recording: all they wrote is there afterwards."""

from pathlib import Path

import pytest

import flashtwin as ft

from . import mounting
from .serving import blank


@pytest.mark.parametrize("file_system", ["ext4", "xfs"])
def test_a_build_and_a_database_on_a_recorded_file_system(file_system: str, tmp_path: Path) -> None:
    mounting.needs(file_system, "make", "cc")
    image, out = blank(tmp_path / "disk.img", 512 << 20), tmp_path / "recorded.parquet"
    with ft.record(image, out) as server, mounting.mounted(server.uri, tmp_path, file_system) as place:
        mounting.build_project(place / "project")
        rows = mounting.fill_database(place / "base.sqlite")
    assert rows
    # The file itself holds the bytes written through the server, and so it does when it is served again.
    with ft.record(image, tmp_path / "again.parquet") as server:  # noqa: SIM117 - the mount must end before the server
        with mounting.mounted(server.uri, tmp_path, file_system, make=False) as place:
            assert mounting.read_database(place / "base.sqlite") == rows
            assert (place / "project" / "program").stat().st_size > 0
    trace = ft.open(out)
    info = trace.info
    assert info["has_content"]
    assert info["writes"] > 0
    compared = ft.compare(trace, ["conventional", "ca-ssd"])
    written = {name: result.summary["host_pages_written"] for name, result in compared.items()}
    assert written["conventional"] == written["ca-ssd"]
    assert compared["ca-ssd"].summary["page_ops"]["duplicate_writes"] > 0


@pytest.mark.parametrize("file_system", ["ext4", "xfs"])
def test_a_database_on_a_drive_that_deduplicates(file_system: str, tmp_path: Path) -> None:
    """The file system is clean each time it is unmounted, and all is there when the drive is opened again."""
    mounting.needs(file_system)
    image = tmp_path / "drive.img"
    with (
        ft.serve(image, system="rr-ssd", size_bytes=512 << 20) as server,
        mounting.mounted(server.uri, tmp_path, file_system) as place,
    ):
        rows = mounting.fill_database(place / "base.sqlite")
        for copy in ("one", "two"):
            (place / copy).write_bytes((place / "base.sqlite").read_bytes())
    assert rows
    assert server.figures["drive"]["page_ops"]["duplicate_writes"] > 0
    with ft.serve(image) as server, mounting.mounted(server.uri, tmp_path, file_system, make=False) as place:
        assert mounting.read_database(place / "base.sqlite") == rows
        assert (place / "one").read_bytes() == (place / "two").read_bytes()
    assert ft.check_drive(image, all_pages=True)["problems"] == []
