"""fio on a served drive determines it. Reads take milliseconds here, because a client waits some hundred us more."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.drives import jobs, parallelism, results
from flashtwin.drives.estimates import Estimates
from flashtwin.drives.tables import Measurements


def _has_nbd_engine() -> bool:
    if shutil.which("fio") is None:
        return False
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=False).stdout
    return "nbd" in engines.split()


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not _has_nbd_engine(), reason="needs fio with its engine nbd")]

SIZE = 16 << 20
CHANNELS = 2
#: The jobs of the script that run, each by its own name.
STEPS = re.compile(r"sequential-whole-100|read-alone|read-depth-00..|write-alone|sequential-uniform-100|uniform-100-.*")
#: Times in microseconds. A read of a fast page, and the extra time of a slow one.
FAST_US, SLOWER_US, CONTROLLER_US = 3000.0, 3000.0, 1000.0
DRIVE = {
    "nand.channels": CHANNELS, "nand.dies_per_chip": 1, "nand.planes_per_die": 1, "nand.pages_per_block": 32,
    "nand.page_bytes": 4096, "nand.program_pages": 4, "nand.sense_pages": 1, "nand.read_us": FAST_US,
    "nand.program_us": 10_000.0, "nand.erase_us": 10_000.0, "engine.write_completes": "hashed",
    "engine.write_buffer_pages": 128, "engine.write_cache_us": 0.0, "engine.write_cache_protected": True,
    "engine.write_cache_pages": 0, "engine.buffer_reads": True,
    "engine.controller_us": CONTROLLER_US, "engine.collection_in_turn": True,
}  # fmt: skip


def measured(folder: Path, name: str, dies: int, **sets: object) -> Measurements:
    """A drive of this many dies, served, and measured by the jobs that `flashtwin fit jobs` prints."""
    place = folder / name
    place.mkdir()
    settings = {**DRIVE, "nand.chips_per_channel": dies // CHANNELS, **sets}
    with ft.serve(
        place / "drive.img", system="conventional", size_bytes=SIZE, settings=settings, twin_time=True
    ) as server:
        text = short_script(jobs.ProbePlan(str(place / "drive.img"), SIZE, seconds=3, overwrites=1.0), server.uri)
        environment = {**os.environ, "ENGINE": "nbd", "DRIVE": name}
        done = subprocess.run(
            ["bash", "-s", str(place / "results")], input=text, env=environment, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert server.figures["twin"]["failure"] is None
    return results.read_results(place / "results")


def short_script(plan: jobs.ProbePlan, uri: str) -> str:
    """The printed script with some of its jobs. The engine nbd of fio takes a URI in place of a file name."""
    lines = jobs.script(plan).replace("filename=${DEVICE}", f"uri={uri}").splitlines()
    return "\n".join(line for line in lines if is_kept(line))


def is_kept(line: str) -> bool:
    step = re.match(r"(?:.* )?run \d+-(\S+) ", line)
    if step is not None:
        return STEPS.fullmatch(step[1]) is not None
    return line != "saturated_rate" and not line.startswith(("once ", "offer "))


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measurements]:
    """Drives that differ in one thing each; they wait nearly all the time, so they are measured at once."""
    folder = tmp_path_factory.mktemp("served")
    kinds: dict[str, tuple[int, dict[str, object]]] = {
        "four-dies": (4, {}),
        "eight-dies": (8, {}),
        "slow-programs": (4, {"nand.program_us": 30_000.0}),
        "two-page-types": (4, {"nand.read_us": FAST_US + SLOWER_US / 2,
                               "nand.read_types_us": [FAST_US, FAST_US + SLOWER_US]}),
    }  # fmt: skip
    with ThreadPoolExecutor(len(kinds)) as pool:
        runs = {name: pool.submit(measured, folder, name, dies, **sets) for name, (dies, sets) in kinds.items()}
        return {name: run.result() for name, run in runs.items()}


def test_dies_are_told_by_reads_at_several_depths(drives: dict[str, Measurements]) -> None:
    for name, dies in (("four-dies", 4), ("eight-dies", 8), ("slow-programs", 4)):
        found = Estimates(parallelism.estimates(drives[name]))["parallel_units"]
        assert (name, found.value, found.is_measured) == (name, dies, True)


def strongest_us(drive: Measurements, modes: int) -> list[float]:
    """The modes with the most reads. A host short of time has others, where the server was woken late."""
    alone = drive.alone_of("read")
    found = sorted(alone.times.modes(), key=lambda mode: mode.share)[-modes:]
    return sorted(mode.time_us for mode in found)


def test_times_of_one_request_at_a_time_are_the_model_s(drives: dict[str, Measurements]) -> None:
    assert strongest_us(drives["four-dies"], 1) == pytest.approx([CONTROLLER_US + FAST_US], rel=0.1)
    # No answer comes before the model has it, also where the engine tells of it beforehand.
    alone = drives["four-dies"].alone_of("write")
    assert alone.times.percentile_us(0.01) >= CONTROLLER_US
    assert alone.times.percentile_us(0.5) == pytest.approx(CONTROLLER_US, rel=0.3)


def test_page_types_are_two_modes(drives: dict[str, Measurements]) -> None:
    known = [CONTROLLER_US + FAST_US, CONTROLLER_US + FAST_US + SLOWER_US]
    assert strongest_us(drives["two-page-types"], 2) == pytest.approx(known, rel=0.1)


def test_drives_rank_as_their_flash_does(drives: dict[str, Measurements]) -> None:
    writes = {name: one.overwritten[-1].writes_per_s for name, one in drives.items()}
    reads = {name: one.depths[-1].per_s for name, one in drives.items()}
    assert writes["slow-programs"] < 0.7 * writes["four-dies"]
    # Each die has spare blocks of its own, so that eight also collect less.
    assert writes["eight-dies"] > 1.6 * writes["four-dies"]
    assert 1.6 < reads["eight-dies"] / reads["four-dies"] < 2.4
    assert reads["slow-programs"] == pytest.approx(reads["four-dies"], rel=0.1)
