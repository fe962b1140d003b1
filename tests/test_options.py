"""Options that mean the same on all verbs, names as tables print them, and errors that name the user's path."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin.causes.figures import goal
from flashtwin.results import figures, folder, schema

from .conftest import Cli


def test_device_is_an_option_of_replay_compare_and_explain(cli: Cli, small_trace: Path) -> None:
    for verb in (("replay", "--system"), ("compare", "--systems")):
        done = cli(verb[0], small_trace, verb[1], "conventional", "--device", "tlc-2021", "--json")
        assert done.status == 0, done.err
        found = json.loads(done.out)["conventional"]["config"]["nand"]
        assert found == ft.system("conventional", device="tlc-2021").config["nand"]
    done = cli("explain", small_trace, "--system", "conventional", "--device", "tlc-2021", "--effort", "0")
    assert "--set device=tlc-2021" in done.out, done.err


def test_key_of_the_device_that_is_set_goes_before_the_device(cli: Cli, small_trace: Path) -> None:
    done = cli(
        "replay", small_trace, "--system", "conventional", "--device", "tlc-2021", "--set", "channels=2", "--json"
    )
    assert json.loads(done.out)["conventional"]["config"]["nand"]["channels"] == 2


def test_sweep_takes_periods_and_devices(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    arguments = ("--systems", "rr-ssd", "--period", "100s,2min", "--device", "rr-ssd,tlc-2021", "--workers", "1")
    assert cli("sweep", small_trace, *arguments, "--out", "out").status == 0
    rows = ft.Sweep.read(tmp_path / "out").to_arrow().to_pylist()
    assert {(row["config.device"], row["config.replay.period_s"]) for row in rows} == {
        ("rr-ssd", 100), ("rr-ssd", 120), ("tlc-2021", 100), ("tlc-2021", 120),
    }  # fmt: skip
    refused = cli("sweep", small_trace, "--period", "1d,soon")
    assert refused.status == 2
    assert "'soon' is not a length of time" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [("replay", "--system", "conventional", "--queue-depth", "0"), ("sweep", "--queue-depth", "4,0")],
)
def test_queue_depth_of_none_is_refused(cli: Cli, small_trace: Path, arguments: tuple[str, ...]) -> None:
    done = cli(arguments[0], small_trace, *arguments[1:])
    assert done.status == 2
    assert "leave the option out to keep the recorded times" in done.err


@pytest.mark.parametrize("path", sorted(path for path in schema.SUMMARY if re.search(r"response\.\w+\.p\d", path)))
def test_percentile_is_found_as_it_is_printed(path: str) -> None:
    name = path.removeprefix("response.").removesuffix("_ns")
    printed = re.sub(r"(p\d+)_(\d+)", r"\1.\2", name)
    assert figures.figure(printed).path == figures.figure(name).path == path
    assert figures.bounds(f"{printed}<=2ms")[0].figure.path == path


def test_goal_is_found_as_it_is_printed() -> None:
    assert goal("write.p99.9") == goal("write.p99_9")


@given(st.text("abp0123456789._", max_size=12))
def test_other_names_stay_as_they_are(name: str) -> None:
    once = figures.spelled(name)
    assert once.replace("_", ".") == name.replace("_", ".")
    if not re.search(r"p\d+\.\d", name):
        assert once == name


@pytest.mark.parametrize("inner", [".ca-ssd-requests.partial", "runs/.ca-ssd.partial/periods.parquet"])
def test_full_disk_is_told_with_the_folder_that_was_given(tmp_path: Path, inner: str) -> None:
    out = tmp_path / "out"
    with pytest.raises(ft.OutputError) as told, folder.prepared(out):
        raise ft.SimError(f"{out / inner}: External: No space left on device (os error {errno.ENOSPC})")
    assert str(told.value) == (
        f"{out}: cannot be written (no space left on device); free some space, or choose a folder on another disk"
    )


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    error = ft.SimError("my.mail.partial.csv:3: size '40x6' is no number")
    with pytest.raises(ft.SimError) as told, folder.prepared(tmp_path / "out"):
        raise error
    assert told.value is error
