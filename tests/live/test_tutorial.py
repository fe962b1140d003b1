"""docs/your-machine.md, typed as it stands: a build and a database are recorded, studied, served and compared."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from ..conftest import PROGRAM, ROOT
from . import mounting
from .serving import run

#: Differences allowed between two runs of the work: times in inodes, random numbers in the superblock.
NOT_TWICE_THE_SAME_PERCENT = 2.0
#: A file system reads ahead by windows of 32 pages, more or fewer of them by its cache and by time. Of 14 runs of the
#: work each read 750 to 826 pages.
NOT_TWICE_READ_PAGES = 4 * 32
#: The work on one processor: ext4 allocates by the processor a program runs on, and its journal follows. Of 14
#: recordings on two processors 12 wrote 4,155 to 4,158 pages and two 4,071, the rest in the journal; of 14 on one all
#: wrote 4,158.
WORK = "examples/live/build-and-load.sh"


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    """A folder that looks like a clone, after all of the page has been typed there."""
    mounting.needs("ext4", "make", "cc", "python3", "blkid", "taskset")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "docs" / "your-machine.md").read_text(encoding="utf-8")
    lines = [
        line
        for block in re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
    ]
    assert len(lines) > 5
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines:
        run("bash", "-euo", "pipefail", "-c", as_tested(line), cwd=tmp_path, env={**os.environ, "PATH": path})
    return tmp_path


def as_tested(line: str) -> str:
    on_one_processor = f"taskset -c {min(os.sched_getaffinity(0))} {ROOT / WORK}"
    return line.replace(" study ", " study --effort 0 ").replace(f"}} {WORK}", f"}} {on_one_processor}")


def test_a_build_and_a_database_from_recording_to_a_drive(typed: Path) -> None:
    assert (typed / "mine-study" / "report.html").stat().st_size > 0
    told = json.loads(flashtwin(typed, "trace", "info", "mine.parquet", "--json"))
    assert told["duplicate_write_percent"] > 20, "work trees and backups repeat what is there"
    rows = {
        row["figure"]: row for row in json.loads(flashtwin(typed, "drive", "compare", "served", "predicted", "--json"))
    }
    assert rows["host_pages_written"]["served"] > 1000
    assert rows["flash_writes.unique"]["served"] < 0.8 * rows["host_pages_written"]["served"]
    for name, row in rows.items():
        if row["served"] and not name.startswith("response."):
            if name == "page_ops.unmapped_reads":
                assert abs(row["replayed"] - row["served"]) <= NOT_TWICE_READ_PAGES, row
            else:
                assert abs(row["difference_percent"]) < NOT_TWICE_THE_SAME_PERCENT, row


def flashtwin(folder: Path, *words: str) -> str:
    return run(PROGRAM, *words, cwd=folder)
