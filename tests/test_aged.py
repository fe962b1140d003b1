"""Aged drives that are kept: a result does not tell whether its drive was, and a damaged file is found out."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin.replays import aged
from tests.conftest import ROOT

TRACE = ROOT / "traces" / "webvm-small.fiu.zst"
MINUTE_S = 60.0
SMALL = {"nand.channels": 2, "nand.chips_per_channel": 2, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
         "nand.pages_per_block": 32}  # fmt: skip


#: Settings that no preset has, each with the system that it is of.
MORE: list[tuple[str, dict[str, Any]]] = [
    ("conventional", {"mapping_cache.bytes": 65536, "mapping_cache.checkpoint_s": 1.0}),
    ("rr-ssd", {"mapping_cache.bytes": 65536, "mapping_cache.fingerprints": True}),
    ("rr-ssd", {"dedup.fingerprint_entries": 500, "dedup.eviction": "reference-count"}),
    ("ca-ssd-inverted", {"dedup.fingerprint_entries": 500}),
    ("conventional", {"partition.policy": "offline", "partition.partitions": 4}),
    ("ds-ftl", {"spread.place": "least-loaded", "spread.bloom_bits_per_page": 2}),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(aged.VARIABLE, str(folder))
    monkeypatch.setattr(aged, "LEAST_S", 0.0)
    return folder


@pytest.fixture(scope="module")
def trace() -> ft.Trace:
    return ft.open(TRACE, to_s=MINUTE_S)


def everything(result: ft.Result) -> dict[str, bytes]:
    found = {"summary": result._native.summary_json.encode()}
    for name in result.table_names:
        table: Any = result.table(name).to_arrow()
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        found[name] = sink.getvalue()
    return found


def newest() -> Path:
    folder = aged.folder()
    return folder / aged.drives()[0].name


def replayed(trace: ft.Trace, system: str, **sets: Any) -> dict[str, bytes]:
    keys = {"replay.preload": "footprint", **SMALL, **sets}
    return everything(ft.replay(trace, system, settings=keys, fill=0.8))


@pytest.mark.parametrize("contents", ["own", pytest.param("trace", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("system", "more"), [*((system, {}) for system in ft.systems()), *MORE])
def test_results_are_the_same_from_a_kept_drive(
    trace: ft.Trace, system: str, more: dict[str, Any], contents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = {"replay.preload_contents": contents, **more}
    made = replayed(trace, system, **sets)
    assert len(aged.drives()) == 1
    file = newest()
    bytes_of_file = file.read_bytes()
    os.utime(file, (1000, 1000))
    assert replayed(trace, system, **sets) == made
    assert file.stat().st_mtime > 1000, "the kept drive was not used"
    monkeypatch.setenv(aged.VARIABLE, aged.OFF)
    assert replayed(trace, system, **sets) == made
    # The file is the drive as it is: to the byte the same when it is made again.
    monkeypatch.setenv(aged.VARIABLE, str(file.parent))
    file.unlink()
    assert replayed(trace, system, **sets) == made
    assert file.read_bytes() == bytes_of_file


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    system=st.sampled_from(["conventional", "ca-ssd", "ds-ftl", "rr-ssd"]),
    channels=st.integers(1, 4),
    chips=st.integers(1, 3),
    planes=st.integers(1, 2),
    pages=st.sampled_from([16, 64, 100]),
    victim=st.sampled_from(["greedy", "fifo", "cost-benefit", "d-choices", "random"]),
    allocation=st.sampled_from(["static", "dynamic", "hipa", "least-loaded"]),
    wear=st.sampled_from(["none", "static"]),
    seed=st.integers(0, 3),
)
def test_any_drive_is_read_back_as_it_was(
    trace: ft.Trace, system: str, channels: int, chips: int, planes: int, pages: int, victim: str, allocation: str,
    wear: str, seed: int,
) -> None:  # fmt: skip
    sets = {
        "nand.channels": channels, "nand.chips_per_channel": chips, "nand.planes_per_die": planes,
        "nand.pages_per_block": pages, "gc.victim": victim, "allocation.policy": allocation, "wear.policy": wear,
        "seed": seed,
    }  # fmt: skip
    made = replayed(trace, system, **sets)
    assert replayed(trace, system, **sets) == made


def test_another_drive_is_another_file(trace: ft.Trace) -> None:
    replayed(trace, "conventional")
    for sets in (
        {"seed": 7},
        {"gc.victim": "fifo"},
        {"nand.pages_per_block": 64},
        {"replay.preload_contents": "trace"},
    ):
        before = len(aged.drives())
        replayed(trace, "conventional", **sets)
        assert len(aged.drives()) == before + 1
    before = len(aged.drives())
    # What comes after ageing does not matter to it, nor does a drive that nobody ages.
    replayed(trace, "conventional", **{"replay.speed": 2.0})
    replayed(trace, "conventional", **{"replay.preload": "none"})
    assert len(aged.drives()) == before


def test_a_folder_that_cannot_be_written_is_said_and_no_more(
    trace: ft.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = replayed(trace, "conventional")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(aged.VARIABLE, str(tmp_path / "file" / "below"))
    assert replayed(trace, "conventional") == made
    assert caplog.records
    assert all(
        "cannot be used" in one.getMessage() or "could not be kept" in one.getMessage() for one in caplog.records
    )


def test_limit_in_the_environment_is_heard(trace: ft.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    replayed(trace, "conventional", seed=1)
    (first,) = aged.drives()
    monkeypatch.setenv(aged.BYTES_VARIABLE, "1")
    replayed(trace, "conventional", seed=2)
    assert first not in aged.drives()
    monkeypatch.setenv(aged.BYTES_VARIABLE, "much")
    with pytest.raises(ft.FlashtwinError, match="whole number of bytes"):
        replayed(trace, "conventional", seed=3)


def test_two_processes_at_one_drive_do_no_harm(trace: ft.Trace, cache: Path) -> None:
    keys = {"replay.preload": "footprint", **SMALL}
    code = (
        "import flashtwin as ft; from flashtwin.replays import aged; aged.LEAST_S = 0.0\n"
        f"trace = ft.open({str(TRACE)!r}, to_s={MINUTE_S})\n"
        f"print(ft.replay(trace, 'ca-ssd', settings={keys!r}, fill=0.8)._native.summary_json)"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    texts = {process.communicate(timeout=100)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert texts == {replayed(trace, "ca-ssd")["summary"].decode()}
    assert len(list(cache.iterdir())) == 1


def test_the_command_shows_and_clears_what_is_kept(trace: ft.Trace, cli: Any, cache: Path) -> None:
    replayed(trace, "conventional")
    (cache / ".aged-conventional-0-1-0.part").write_text("half")
    name = aged.drives()[0].name
    assert name in cli("cache", "info").out
    assert name in cli("cache", "info", "--json").out
    done = cli("cache", "clear")
    assert (done.status, list(cache.iterdir())) == (0, [])
    cli("cache", "info", status=0)
    assert "no aged drives" in cli("--no-cache", "cache", "info").err
