"""What earlier versions made, and how it was called: read with what it has, or refused with the cause and the cure."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import flashtwin as ft
from flashtwin.results import folder, names
from flashtwin.results.formats import FORMAT

from .conftest import Cli, fiu_trace

LATER = FORMAT + 1
SYSTEMS = ("--systems", "conventional,rr-ssd", "--period", "0.05s")
SWEEP = ("sweep", "small.fiu", "--systems", "ca-ssd", "--set", "hash_lanes=1,2", "--out", "swept", "--no-report")


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


def results(**changes: object) -> Callable[[Path], None]:
    return lambda place: edit(place / "results" / names.STUDY, **changes)


def runs_of_format_1(place: Path) -> None:
    """Runs had no traits, no throughput and no tables of blocks."""
    edit(place / "results" / names.STUDY, format=None, flashtwin="0.1.0")
    for summary in place.glob("results/runs/*/summary.json"):
        edit(summary, flashtwin="0.1.0", traits=None, throughput=None, counted_from_ns=None)
        for table in summary.parent.glob("request_block*.parquet"):
            table.unlink()


def sweep(**changes: object) -> Callable[[Path], None]:
    return lambda place: edit(place / "swept" / names.SWEEP, **changes)


def store_of_another_build(place: Path) -> None:
    """Keys name the build, so none of today's keys is there."""
    for file in place.glob("swept/store/runs/*/*.json"):
        file.rename(file.with_stem(file.stem[::-1]))


def parquet_of_a_later_schema(place: Path) -> None:
    table = pq.read_table(place / "small.parquet")
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"flashtwin.schema": b"2"}),
                   place / "small.parquet")  # fmt: skip


def image_of_format_1(place: Path) -> None:
    ft.serve(place / "drive.img", system="ca-ssd", size_bytes=8 << 20).stop()
    with (place / "drive.img").open("r+b") as image:
        for superblock in (0, 64 << 10):
            image.seek(superblock + 8)
            image.write(b"\1")


def text(name: str, words: str) -> Callable[[Path], None]:
    return lambda place: (place / name).write_text(words, encoding="utf-8") and None


def nothing(_: Path) -> None: ...


MINE = 'base = "rr-ssd"\nname = "mine"\n'
REPLAY = ("replay", "small.fiu", "--system", "mine.toml")
#: What is old, the command that meets it, its status, and what it says.
CASES: dict[str, tuple[Callable[[Path], None], tuple[str, ...], int, tuple[str, ...]]] = {
    "results, format 1": (
        runs_of_format_1, ("compare", "results"), 0, ("made by flashtwin 0.1.0", f"this is {folder.VERSION}")
    ),
    "results, later format": (
        results(format=LATER), ("compare", "results"), 2, (f"in format {LATER}", f"up to {FORMAT}", "make it again")
    ),
    "sweep, format 1": (sweep(format=None, flashtwin="0.1.0"), ("compare", "swept"), 0, ()),
    "sweep, later format": (
        sweep(format=LATER), ("compare", "swept"), 2, (f"in format {LATER}", "update flashtwin", "flashtwin sweep")
    ),
    "sweep of other fields": (
        sweep(points=[{"number": 1}]), ("report", "swept"), 2, ("not a sweep of this version", "sweep again")
    ),
    "store of another build": (store_of_another_build, SWEEP, 0, ()),
    "trace, later schema": (
        parquet_of_a_later_schema, ("trace", "info", "small.parquet"), 2, ("schema version '2' is not known", "1 was")
    ),
    "image, format 1": (
        image_of_format_1, ("drive", "info", "drive.img"), 2, ("format 1", "open it with the program that made it")
    ),
    "system, merging as true": (
        text("mine.toml", f"{MINE}[engine]\nmerge_reads = true\n"), REPLAY, 2,
        ("mine.toml:", "merge_reads", "same-page"),
    ),
    "system, key that is gone": (
        text("mine.toml", f"{MINE}[engine]\nbus_mb_s = 400\n"), REPLAY, 2, ("mine.toml:", "bus_mb_s")
    ),
    "system, key it does not look at": (
        text("mine.toml", f'{MINE}[ftl.spread]\nplace = "same-place"\n'), REPLAY, 2, ("mine.toml:", "ftl.spread.place")
    ),
    "device, key that is gone": (
        text("drive.toml", 'base = "rr-ssd"\nread_typical_us = 40\n'), ("devices", "drive.toml"), 2,
        ("drive.toml:", "read_typical_us"),
    ),
    "recipe, key that is gone": (
        text("mine.toml", "[reads]\nreborn_percent = 4\n"), ("workloads", "mine.toml"), 2,
        ("mine.toml", "reborn_percent"),
    ),
    "verb trace fit": (nothing, ("trace", "fit", "small.fiu"), 2, ("`flashtwin trace imitate`",)),
    "option --no-reports": (nothing, ("characterize", "small.fiu", "--no-reports"), 2, ("--no-report'",)),
    "option --seed of a sweep": (nothing, (*SWEEP, "--seed", "3"), 2, ("--search-seed",)),
    "key wa.other_page_sizes": (
        nothing, ("characterize", "small.fiu", "--set", "wa.other_page_sizes=512"), 2, ("'wa.other_page_bytes'",)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_old_is_read_or_refused_with_the_cure(case: str, made: Path, tmp_path: Path, cli: Cli) -> None:
    make, words, status, said = CASES[case]
    if case.startswith("image"):
        pytest.importorskip("fcntl")
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    make(tmp_path)
    done = cli(*words, status=status)
    assert [one for one in said if one not in done.err] == [], done.err
    assert "Traceback" not in done.err
    if words == SWEEP:
        assert "reusing" not in done.err, "a run of another build is not one of this"
        assert ft.Sweep.read(tmp_path / "swept").complete


def test_old_names_in_python_are_answered(small_trace: Path) -> None:
    with pytest.warns(DeprecationWarning, match=r"flashtwin\.fit is called flashtwin\.imitate now"):
        assert ft.fit is ft.imitate
    with pytest.raises(ft.ArgumentError, match="'devices'"):
        ft.study(ft.open(small_trace), device="rr-ssd")  # type: ignore[call-arg]
