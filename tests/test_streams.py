"""Standard streams and memory that a process cannot have: one line that says so, no traceback, no abort."""

import sys
from pathlib import Path

import pytest

from .conftest import PROGRAM, Outcome, finished

linux = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full and `ulimit -v` are of Linux")


def shell(line: str, folder: Path) -> Outcome:
    """Runs a line of the shell in which `flashtwin` is the program under test."""
    return finished("bash", "-c", f"flashtwin() {{ '{PROGRAM}' \"$@\"; }}; {line}", cwd=folder)


@linux
@pytest.mark.parametrize(
    "arguments", ["systems", "systems --json", "systems rr-ssd", "trace info small.fiu", "--help", "trace info --help"]
)
def test_standard_output_that_is_full(arguments: str, small_trace: Path) -> None:
    done = shell(f"flashtwin {arguments} > /dev/full", small_trace.parent)
    message = "error: standard output: cannot be written to (no space left on device); send it elsewhere\n"
    assert (done.status, done.err) == (2, message)


def test_standard_output_that_is_closed(small_trace: Path) -> None:
    done = shell("flashtwin trace convert small.fiu out.parquet >&-", small_trace.parent)
    message = "error: standard output is closed, but results go there; send it to a file, or to /dev/null\n"
    assert (done.status, done.err) == (2, message)
    assert [path.name for path in small_trace.parent.iterdir()] == ["small.fiu"]


@linux
@pytest.mark.parametrize("stream", ["2> /dev/full", "2>&-"])
def test_talk_that_cannot_be_written_changes_no_status(stream: str, small_trace: Path) -> None:
    assert shell(f"flashtwin systems nothing-like-it {stream}", small_trace.parent).status == 2
    done = shell(f"flashtwin trace convert small.fiu out.parquet {stream}", small_trace.parent)
    assert done.status == 0
    assert (small_trace.parent / "out.parquet").is_file()


@pytest.mark.parametrize("stream", ["<&-", "< /dev/null"])
def test_standard_input_without_a_trace(stream: str, tmp_path: Path) -> None:
    done = shell(f"flashtwin trace info - {stream}", tmp_path)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: standard input: the input is empty")


@linux
def test_memory_that_cannot_be_had_is_known_before_it_is_taken(small_trace: Path) -> None:
    # 52 GB of tables, of which next to nothing would be touched.
    large = "flashtwin replay small.fiu --system ca-ssd-inverted --set nand.planes_per_die=17"
    done = shell(f"ulimit -v 6000000; {large}", small_trace.parent)
    assert (done.status, done.out) == (2, "")
    read_as, error = done.err.splitlines()
    assert read_as.startswith("read as: fiu, time ns")
    assert error.startswith("error: ")
    for words in ("the tables of 'ca-ssd-inverted'", "GB of address space", "ulimit -v", "nand.blocks_per_plane"):
        assert words in error
