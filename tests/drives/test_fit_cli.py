"""`flashtwin fit` as people run it: tables, files, and messages in place of tracebacks."""

import csv
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.cli import run
from flashtwin.drives import fitting
from flashtwin.drives.drive import FittedDrive, settings
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.tables import Measurements
from flashtwin.progress import Notify

from ..conftest import Cli, finished
from . import made_fio as made
from .test_fio import REAL

Fit = Callable[..., tuple[int, str, str]]


def fitted(measured: Measurements, note: Notify, *, seed: int = 0) -> FittedDrive:
    """In place of minutes of fitting."""
    note("reads")
    keys = {
        "space_gib": 1073.0, "overhead": 1.03, "nand.program_us": 1500.0, "engine.controller_us": 10.0,
        "idle_read_us": 58.0, "engine.suspend_us": 40.0, "engine.suspend_slice_us": 90.0, "engine.resume_us": 5.0,
    }  # fmt: skip
    source = f"read percentiles at {len(measured.open_loop)} rates"
    estimates = [
        *settings(keys, 16, {"space_gib": "uniform writes"}, 894.0),
        Estimate("nand.read_us", 45.0, "us", 44.0, 46.0, source),
        Estimate("ftl.gc.victim", "greedy", source="usual", is_measured=False),
    ]
    return FittedDrive(measured.drive, Estimates(estimates), measured)


def predicted(drive: FittedDrive, asked: Measurements, note: Notify, *, seed: int = 1) -> Measurements:
    """A twin whose reads take a tenth longer."""
    slower = ({name: 1.1 * time for name, time in row.read_us.items()} for row in asked.open_loop)
    rows = tuple(replace(row, read_us=read_us) for row, read_us in zip(asked.open_loop, slower, strict=True))
    return replace(asked, open_loop=rows, overwritten=())


@pytest.fixture
def fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fit:
    """The command in this process, with a fit that takes no time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fitting, "fit_drive", fitted)
    monkeypatch.setattr(fitting, "predicted", predicted)

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(["fit", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def cells(out: str) -> set[tuple[str, ...]]:
    return {tuple(re.split(r"\s{2,}", line.strip())) for line in out.splitlines()}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    for number, offered in enumerate((20e3, 40e3, 60e3, 80e3, 120e3)):
        made.open_loop(folder, number, offered, 100e3, fill_gib=894)
    return folder


def test_keys_and_errors_are_shown_and_the_device_is_written(fit: Fit, results: Path, tmp_path: Path) -> None:
    status, out, err = fit("results", "--out", "mine.toml")
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0].split() == ["key", "value", "interval", "of", "95", "%", "experiment"]
    assert any(line.split() == ["nand.read_us", "45", "us", "44", "to", "46", "read", "percentiles", "at", "5", "rates"]
               for line in lines)  # fmt: skip
    assert any(line.startswith("ftl.gc.victim") and line.endswith("not determined: usual") for line in lines)
    assert ("below the knee", "read p50", "fitted", "4", "10.0 %", "10.0 %") in cells(out)
    assert ("saturated", "read p50", "fitted", "1", "10.0 %", "10.0 %") in cells(out)
    assert err.splitlines()[-1] == "wrote mine.toml"
    assert "fitting mine on 5 rates: takes 1 to 5 minutes" in err
    written = (tmp_path / "mine.toml").read_text()
    assert tomllib.loads(written)["read_us"] == 45.0
    twin = ft.fit_drive(results).fitted
    assert twin.toml == written


def test_every_other_rate_is_predicted(fit: Fit, results: Path, tmp_path: Path) -> None:
    status, out, err = fit("results", "--every-other", "--report", "errors.csv")
    assert status == 0, err
    for word in ("fitted", "predicted"):
        assert ("below the knee", "read p50", word, "2", "10.0 %", "10.0 %") in cells(out)
    rows = list(csv.DictReader((tmp_path / "errors.csv").read_text().splitlines()))
    rows = [row for row in rows if row["figure"] == "read p50"]
    assert [row["is_fitted"] for row in rows] == ["true", "false", "true", "false", "true"]
    assert rows[0]["error_percent"] == "10.00"
    assert (tmp_path / "mine.toml").is_file(), "the drive's name is that of the file"


def test_every_other_keeps_lowest_and_highest_fill(fit: Fit, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def remembered(measured: Measurements, note: Notify, *, seed: int = 0) -> FittedDrive:
        seen.extend(round(row.fill_gib) for row in measured.overwritten)
        return fitted(measured, note, seed=seed)

    monkeypatch.setattr(fitting, "fit_drive", remembered)
    for number, fill in enumerate((450, 630, 765, 894), start=10):
        made.overwriting(results, number, fill, 1.2)
    made.overwriting(results, 20, 894, 1.2, series="zones", tag="zones hot=5 writes=95")
    made.overwriting(results, 21, 700, 1.2, series="zones")
    assert fit("results", "--every-other")[0] == 0
    assert seen == [450, 894, 894, 700]


def test_more_results_are_predicted(fit: Fit, results: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    made.open_loop(more, 1, 50e3, 100e3, fill_gib=894)
    (more / "more.csv").write_text("drive,series,pattern,details,writes_per_s\nmine,one,zipf-shuffle,0.8,9000\n")
    status, out, err = fit("results", "--predict", "more", "--report", "errors.md")
    assert status == 0, err
    assert ("closed loop", "writes", "predicted", "1", "0.0 %", "0.0 %") in cells(out)
    assert ("below the knee", "read p50", "predicted", "1", "10.0 %", "10.0 %") in cells(out)
    report = (tmp_path / "errors.md").read_text()
    (row,) = (line for line in report.splitlines() if line.startswith("| open loop, 50,000/s | read p50 |"))
    assert row.endswith("| +10.0 % | predicted |")


def test_json_is_one_document(fit: Fit, results: Path) -> None:
    status, out, err = fit("results", "--json", "--seed", "3")
    assert status == 0, err
    found = json.loads(out)
    assert (found["drive"], found["device"], found["why_no_device"]) == ("mine", "mine.toml", None)
    assert {"key": "nand.read_us", "value": 45.0, "unit": "us", "low": 44.0, "high": 46.0, "is_measured": True,
            "experiment": "read percentiles at 5 rates"} in found["estimates"]  # fmt: skip
    assert found["compared"][0]["error_percent"] == pytest.approx(10.0)


def test_reads_alone_tell_some_figures_but_no_device(fit: Fit, tmp_path: Path) -> None:
    shutil.copytree(REAL, tmp_path / "results")
    status, out, err = fit("results", "--out", "mine.toml")
    assert status == 2
    assert "read_modes_us" in out
    assert "results: no device file: the twin needs response times at offered rates" in err
    assert not (tmp_path / "mine.toml").exists()


def test_files_are_not_replaced_unasked(fit: Fit, results: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("precious")
    for arguments in ((), ("--out", "mine.toml")):
        status, _, err = fit("results", *arguments)
        assert (status, "mine.toml: exists; give --force" in err) == (2, True)
    assert (tmp_path / "mine.toml").read_text() == "precious"
    assert fit("results", "--force")[0] == 0
    for name, message in (("mine.txt", "must end in .toml"), ("nowhere/mine.toml", "there is no folder")):
        assert message in fit("results", "--out", name)[2]
    assert "must end in .md or .csv" in fit("results", "--report", "errors.txt")[2]


def test_a_fit_that_fails_leaves_no_file(
    fit: Fit, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "predicted", interrupted)
    assert fit("results")[0] == 130
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


COLUMNS = "drive,fill_gib,offered_per_s,reads_per_s,writes_per_s,read_us_50p,read_us_99p,write_us_50p\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("mine,9,50,1,49,60,90,9\n", "mine: nothing tells how many writes a second saturate it"),
        ("mine,9,50,1,49,8000,9000,9000\nmine,9,99,1,98,8000,9000,9000\n",
         "open loop, 50/s: read p50 is 8,000, which no nand.read_us"),
    ],
)  # fmt: skip
def test_a_drive_without_a_twin_has_no_file(
    rows: str, message: str, fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(COLUMNS + rows)
    status, _, err = fit("a.csv")
    assert status == 2
    assert f"a.csv: no device file: {message}" in err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


NO_SCIPY = (
    "error: a fit needs SciPy, which is not installed; run `make extras` in your clone of flashtwin, "
    "or `pip install scipy`\n"
)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["fit", "nowhere"], 2, NO_SCIPY),
        (["measure", "tlc-unit-2021"], 2, NO_SCIPY),
        (["fit", "jobs"], 0, "these jobs"),
    ],
)
def test_without_scipy_the_commands_load_and_say_the_cure(arguments: list[str], status: int, said: str) -> None:
    """In a process of its own, whose modules are not loaded yet; jobs are printed all the same."""
    without = f"import sys; sys.modules['scipy'] = None; from flashtwin.cli import run; sys.exit(run({arguments!r}))"
    done = finished(sys.executable, "-c", without)
    assert (done.status, done.err[: len(said)]) == (status, said)
    assert done.out.startswith("#!/usr/bin/env bash") == (status == 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--json",), "name the folder of the results"),
        (("nowhere",), "nowhere: there is no such file or folder"),
        (("jobs", "--size", "some"), "'some' is no size of a drive"),
        (("jobs", "--size", "1K"), "'1K' is no size of a drive, 16M or more"),
        (("jobs", "--seconds", "0"), "0 is not in the range"),
    ],
)
def test_wrong_usage_is_said(arguments: tuple[str, ...], message: str, cli: Cli) -> None:
    done = cli("fit", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_jobs_are_printed_with_a_warning_apart_from_them(cli: Cli) -> None:
    reading = cli("fit", "jobs")
    assert (reading.status, reading.out.splitlines()[0]) == (0, "#!/usr/bin/env bash")
    assert reading.err.startswith("these jobs only read")
    writing = cli("fit", "jobs", "--destroys-data", "/dev/nvme9n9", "--size", "512G")
    assert writing.err == "warning: the script destroys all data on /dev/nvme9n9\n"
    assert f"SIZE={512 << 30}\n" in writing.out
    assert finished("bash", "-n", input=writing.out).status == 0


@pytest.mark.slow
def test_a_made_drive_is_fitted_from_results_of_fio(cli: Cli, tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    for number, offered in enumerate((10e3, 20e3, 30e3, 40e3, 50e3, 60e3, 70e3, 90e3), start=50):
        made.open_loop(results, number, offered, 80e3, fill_gib=894)
    from flashtwin.drives.laws import amplification

    for number, fill in enumerate((450, 625, 760, 894)):
        made.overwriting(results, number, fill, float(amplification(1073, fill, 1.03)))
    done = cli("fit", "results", "--out", "mine.toml", "--every-other", "--json", status=0)
    found = {one["key"]: one for one in json.loads(done.out)["estimates"]}
    assert found["space_gib"]["value"] == pytest.approx(1073, rel=0.01)
    assert found["overhead"]["value"] == pytest.approx(1.03, rel=0.01)
    assert found["engine.suspend_us"]["value"] + found["engine.suspend_slice_us"]["value"] == pytest.approx(
        130, rel=0.2
    )
    cli("devices", "mine.toml", status=0)
