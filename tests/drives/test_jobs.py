"""The experiments as a script: fio takes each job, the reader knows each experiment, nothing is destroyed unasked."""

import os
import re
import shutil
from pathlib import Path

import pytest

from flashtwin.drives import checks, jobs
from flashtwin.drives.jobs import ProbePlan
from flashtwin.drives.results import EXPERIMENTS, read_results
from flashtwin.errors import ArgumentError

from ..conftest import Outcome, finished

ALL = ProbePlan(destroys="/dev/nvme9n9")
#: Values of all variables of the job files.
VARIABLES = {
    "DEVICE": "/dev/null", "DRIVE": "my-drive", "ENGINE": "libaio", "NAME": "x", "SERIES": "x", "SIZE": "1048576",
    "FILL": "1048576", "PART_BYTES": "1048576", "PART": "1", "QUEUE": "1", "JOBS": "1", "DEPTH": "1",
    "OFFERED": "20000", "READS": "1", "WRITES": "1",
}  # fmt: skip
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


@needs_fio
@pytest.mark.parametrize("name", jobs.job_files(ALL))
def test_fio_takes_the_job(name: str, tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text(jobs.job_files(ALL)[name])
    done = finished("fio", "--parse-only", "job.fio", cwd=tmp_path, env={**os.environ, **VARIABLES})
    assert (done.status, done.err) == (0, ""), done.out


def test_all_variables_of_the_jobs_have_values_in_the_script() -> None:
    used = {name for text in jobs.job_files(ALL).values() for name in re.findall(r"\$\{(\w+)\}", text)}
    assert used <= VARIABLES.keys()
    script = jobs.script(ALL)
    for name in used:
        assert re.search(rf"\b{name}=", script), f"{name} is never set"


def test_the_reader_knows_every_experiment() -> None:
    for text in jobs.job_files(ALL).values():
        found = re.search(r"^description=flashtwin experiment=(\S+) ", text, re.MULTILINE)
        assert found[1] in EXPERIMENTS


@pytest.mark.parametrize("plan", [ProbePlan(), ALL, ProbePlan(destroys="/dev/a b; rm -rf $HOME", size_bytes=1 << 40)])
def test_the_shell_takes_the_script(plan: ProbePlan) -> None:
    assert finished("bash", "-n", input=jobs.script(plan)) == Outcome(0, "", "")
    if plan.destroys is not None:
        assert re.search(r"^DEVICE=('/dev/a b; rm -rf \$HOME'|/dev/nvme9n9)$", jobs.script(plan), re.MULTILINE)


def test_a_device_name_cannot_add_a_command() -> None:
    with pytest.raises(ArgumentError, match="no name of a device"):
        ProbePlan(destroys="/dev/nvme9n9\nreboot")


def test_without_a_device_nothing_writes() -> None:
    script = jobs.script(ProbePlan())
    assert not re.search(r"rw=\w*write|rw=randrw|nvme format|blkdiscard|sanitize", script)
    assert "fio --readonly" in script
    assert jobs.PLACEHOLDER in script
    assert "--destroys-data DEVICE` prints all jobs" in script


def test_times_and_what_is_told_stand_in_comments() -> None:
    script = jobs.script(ProbePlan(destroys="/dev/nvme9n9", size_bytes=3_840_000_000_000))
    assert len(re.findall(r"^# .*: about [\d.]+ (s|min|h|d)\.\n# It tells: ", script, re.MULTILINE)) == len(
        jobs.probes(ALL)
    )
    assert "THIS SCRIPT DESTROYS ALL DATA ON /dev/nvme9n9" in script
    assert re.search(r"They take about [\d.]+ d\.", script)


def test_jobs_fill_first_and_are_steady_before_rates() -> None:
    names = [probe.job for probe in jobs.probes(ALL)]
    assert names[:3] == ["sequential", "read-alone", "read-depth"]
    assert names.index("uniform") < names.index("open-loop") < names.index("zipf")
    fills = re.findall(r"run \d+-sequential-uniform-(\d+)", jobs.script(ALL))
    assert fills == ["050", "070", "085", "100"], "a smaller fill than the one before would need an erased drive"


def run(script: str, folder: Path, *arguments: str) -> Outcome:
    (folder / "probe.sh").write_text(script)
    return finished("bash", "probe.sh", *arguments, cwd=folder, env=os.environ)


@needs_fio
@pytest.mark.slow
def test_the_whole_script_runs_on_a_file_and_is_read(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(b"\0" * (64 << 20))
    done = run(jobs.script(ProbePlan(str(disk), 64 << 20, seconds=1)), tmp_path)
    assert done.status == 0, done.err
    found = read_results(tmp_path / "results", skip_bad=True)
    assert len(found.depths) == len(jobs.DEPTHS)
    assert len(found.alone) == 2


@needs_fio
def test_a_script_that_only_reads_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(os.urandom(16 << 20))
    before = disk.read_bytes()
    script = jobs.script(ProbePlan(size_bytes=16 << 20, seconds=1))
    # The first experiment and one depth are enough here.
    kept = [line for line in script.splitlines() if not line.startswith("run ") or re.match(r"run 00[12]-", line)]
    done = run("\n".join(kept), tmp_path, str(disk), "results")
    assert done.status == 0, done.err
    assert disk.read_bytes() == before
    found = read_results(tmp_path / "results")
    assert found.drive == "my-drive"
    assert (len(found.alone), len(found.depths)) == (1, 1)
    again = run("\n".join(kept), tmp_path, str(disk), "results")
    assert "read-alone" not in again.err, "what is done is not done again"


#: In place of nvme-cli: the host's bytes are those that fio has written so far, the medium's 1.3 times as many.
NVME = r"""#!/usr/bin/env bash
host=$(cat *.json *.part 2> /dev/null | awk '/"write" : \{/ { on = 1 } on && /"io_bytes"/ { sub(/,/, "", $3)
  sum += $3; on = 0 } END { printf "%.0f", sum + 512000000 }')
case "$1 $2" in
  "id-ctrl "*) echo '{ "sn" : "S63SNE0R101425   ", "mn" : "ACME X1 960GB    ", "tnvmcap" : 960197124096 }' ;;
  "smart-log "*) echo "{ \"data_units_written\" : $((host / 512000)) }" ;;
  "ocp smart-add-log") echo "{ \"Physical media units written\" : { \"hi\" : 0, \"lo\" : $((host * 13 / 10)) } }" ;;
esac
"""


@needs_fio
def test_counters_stand_beside_each_part_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvme").write_text(NVME)
    (tmp_path / "bin" / "nvme").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    # A file in a machine that does other things is not steady.
    monkeypatch.setattr(checks, "unsteady", lambda _: None)
    disk = tmp_path / "disk"
    disk.write_bytes(b"\0" * (32 << 20))
    script = jobs.script(ProbePlan(str(disk), 32 << 20, seconds=1))
    step = re.compile(r"(run|saturated_rate|offer|rest|once)\b(?!\()")
    wanted = re.compile(r"once erase-uniform|run \d+-(sequential-)?uniform-050")
    kept = [line for line in script.splitlines() if not step.match(line) or wanted.match(line)]
    done = run("\n".join(kept), tmp_path)
    assert done.status == 0, done.err
    found = read_results(tmp_path / "results")
    assert found.drive == "acme-x1-960gb-1425"
    assert (found.model, found.capacity_bytes) == ("ACME X1 960GB", 960197124096)
    sequential, uniform = found.overwritten
    assert (sequential.overwrites, uniform.overwrites) == pytest.approx((1.0, 4.0))
    assert (sequential.fill_gib, uniform.fill_gib) == (1 / 64, 1 / 64)
    assert (sequential.amplification, uniform.amplification) == pytest.approx((1.3, 1.3), rel=1e-3)


@needs_fio
def test_a_job_that_fails_stops_the_script_and_says_where(tmp_path: Path) -> None:
    done = run(jobs.script(ProbePlan(size_bytes=16 << 20, seconds=1)), tmp_path, str(tmp_path / "nowhere"), "results")
    assert done.status == 1
    assert "001-read-alone failed; " in done.err
