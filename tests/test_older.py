"""What earlier versions made, and how it was called: read with what it has, or refused with the cause and the cure."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import flashtwin as ft
from flashtwin.results import folder
from flashtwin.results.formats import FORMAT

from .conftest import Cli, fiu_trace

LATER = FORMAT + 1


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each kind, as today's version makes it."""
    place = tmp_path_factory.mktemp("made")
    trace = place / "small.fiu"
    trace.write_text(fiu_trace(2000), encoding="ascii")
    ft.compare(ft.open(trace), ["conventional", "rr-ssd"], period_s=0.05).save(place / "results")
    ft.sweep(trace, place / "swept", ["ca-ssd"], settings={"hash_lanes": [1, 2]}, workers=1, report=False)
    ft.open(trace).write_parquet(place / "small.parquet")
    return place


def edit(file: Path, **changes: object) -> None:
    said = json.loads(file.read_text(encoding="utf-8")) | changes
    file.write_text(json.dumps({key: value for key, value in said.items() if value is not None}), encoding="utf-8")


def runs_of_format_1(place: Path) -> None:
    """Runs had no traits, no throughput and no tables of blocks."""
    edit(place / "results/study.json", format=None, flashtwin="0.1.0")
    for summary in place.glob("results/runs/*/summary.json"):
        edit(summary, flashtwin="0.1.0", traits=None, throughput=None, counted_from_ns=None)
        for table in summary.parent.glob("request_block*.parquet"):
            table.unlink()


def store_of_another_build(place: Path) -> None:
    """Keys name the build, so none of today's keys is there."""
    for file in place.glob("swept/store/runs/*/*.json"):
        file.rename(file.with_stem(file.stem[::-1]))


def parquet_of_a_later_schema(place: Path) -> None:
    table = pq.read_table(place / "small.parquet")
    later = {**table.schema.metadata, b"flashtwin.schema": b"2"}
    pq.write_table(table.replace_schema_metadata(later), place / "small.parquet")


def image_of_format_1(place: Path) -> None:
    pytest.importorskip("fcntl")
    ft.serve(place / "drive.img", system="ca-ssd", size_bytes=8 << 20).stop()
    with (place / "drive.img").open("r+b") as image:
        for superblock in (0, 64 << 10):
            image.seek(superblock + 8)
            image.write(b"\1")


REPLAY = "replay small.fiu --system mine.toml"
SWEEP = "sweep small.fiu --systems ca-ssd --set hash_lanes=1,2 --out swept --no-report"
#: What is old or how it is made, the command that meets it, its status, and what it says. A text is the file mine.toml.
CASES: dict[str, tuple[str | Callable[[Path], None], str, int, tuple[str, ...]]] = {
    "results": (runs_of_format_1, "compare results", 0, ("by flashtwin 0.1.0", f"this is {folder.VERSION}")),
    "results, later format": (
        lambda place: edit(place / "results/study.json", format=LATER), "compare results", 2,
        (f"in format {LATER}", f"up to {FORMAT}", "make it again"),
    ),
    "sweep": (
        lambda place: edit(place / "swept/sweep.json", format=None, flashtwin="0.1.0"), "compare swept", 0, ()
    ),
    "sweep, later format": (
        lambda place: edit(place / "swept/sweep.json", format=LATER), "compare swept", 2,
        (f"in format {LATER}", "update flashtwin", "flashtwin sweep"),
    ),
    "sweep, damaged": (
        lambda place: edit(place / "swept/sweep.json", axes={"engine.hash_lanes": True}), "report swept", 2,
        ("sweep.json: its value 'axes.engine.hash_lanes' is", "`flashtwin sweep TRACE --out swept`"),
    ),
    "sweep, damaged points": (
        lambda place: edit(place / "swept/sweep.json", points=[
            {**one, "ignored": 5} for one in json.loads((place / "swept/sweep.json").read_text())["points"]
        ]),
        "report swept", 2, ("sweep.json: its value 'points.0.ignored' is", "`flashtwin sweep TRACE --out swept`"),
    ),
    "store": (store_of_another_build, SWEEP, 0, ()),
    "trace, later schema": (
        parquet_of_a_later_schema, "trace info small.parquet", 2, ("schema version '2' is not known", "1 was")
    ),
    "image": (image_of_format_1, "drive info drive.img", 2, ("format 1", "open it with the program that made it")),
    "system": (
        'base = "rr-ssd"\n[engine]\nmerge_reads = true\n', REPLAY, 2, ("mine.toml:", "merge_reads", "same-page")
    ),
    "system, key not looked at": (
        'base = "rr-ssd"\n[ftl.spread]\nplace = "same-place"\n', REPLAY, 2, ("mine.toml:", "ftl.spread.place")
    ),
    "device": ('base = "rr-ssd"\nread_typical_us = 4\n', "devices mine.toml", 2, ("mine.toml:", "read_typical_us")),
    "recipe": ("[reads]\nreborn_percent = 4\n", "workloads mine.toml", 2, ("mine.toml", "reborn_percent")),
    "verb": ("", "trace fit small.fiu", 2, ("`flashtwin trace imitate`",)),
    "option": ("", "characterize small.fiu --no-reports", 2, ("--no-report'",)),
    "option of a sweep": ("", f"{SWEEP} --seed 3", 2, ("--search-seed",)),
    "key": ("", "characterize small.fiu --set wa.other_page_sizes=512", 2, ("'wa.other_page_bytes'",)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_old_is_read_or_refused_with_the_cure(case: str, made: Path, tmp_path: Path, cli: Cli) -> None:
    old, command, status, said = CASES[case]
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    if isinstance(old, str):
        (tmp_path / "mine.toml").write_text(old, encoding="utf-8")
    else:
        old(tmp_path)
    done = cli(*command.split(), status=status)
    assert [one for one in said if one not in done.err] == [], done.err
    assert "Traceback" not in done.err
    # A run of another build is none of this one's.
    assert "reusing" not in done.err
