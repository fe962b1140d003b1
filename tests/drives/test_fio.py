"""Results of fio become rows; what cannot be used says the job and the cure, and nothing ends in a traceback."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flashtwin.drives import fio
from flashtwin.drives.figures import FatalDriveError
from flashtwin.drives.laws import amplification
from flashtwin.drives.results import read_results
from flashtwin.drives.tables import Load, Measurements
from flashtwin.errors import DriveError

from . import made_fio as made

#: Written by fio 3.33 on a file of 64 MiB; only the device's name was changed.
REAL = Path(__file__).parent / "data" / "fio"
READ = {60.0: 90, 62.0: 9, 400.0: 1}


@pytest.fixture
def real(tmp_path: Path) -> Path:
    shutil.copytree(REAL, tmp_path / "results")
    return tmp_path / "results"


def read(folder: Path, *, skip_bad: bool = False) -> tuple[Measurements, list[str]]:
    notes: list[str] = []
    return read_results(folder, note=notes.append, skip_bad=skip_bad), notes


def message(folder: Path, *, skip_bad: bool) -> str:
    try:
        read(folder, skip_bad=skip_bad)
    except DriveError as error:
        return str(error)
    return ""


def test_percentiles_are_those_that_fio_prints() -> None:
    (job,) = fio.read_jobs(REAL / "001-read-alone.json", lambda *_: None)
    printed = json.loads((REAL / "001-read-alone.json").read_text())["jobs"][0]["read"]["lat_ns"]["percentile"]
    for share in ("1.000000", "50.000000", "90.000000", "99.000000", "99.900000"):
        assert job.read.times.percentile_us(float(share) / 100) * 1e3 == pytest.approx(printed[share])
    assert job.read.times.count == job.read.requests
    assert job.write is None


def test_real_results_become_rows(real: Path) -> None:
    found, notes = read(real)
    assert found.drive == "my-drive"
    (alone,) = found.alone
    assert 50 < alone.times.percentile_us(0.5) < 150
    (written,) = found.overwritten
    assert (str(written.pattern), written.fill_gib, written.overwrites) == ("sequential", 0.0625, 1.0)
    # The job ran with rate=12m.
    assert written.writes_per_s * 4096 / 1e6 == pytest.approx(12.6, rel=0.02)
    assert "no run of writes has counters of the medium's bytes" in notes[0]


def test_messages_of_fio_around_the_json_do_not_matter(tmp_path: Path) -> None:
    text = (REAL / "001-read-alone.json").read_text()
    (tmp_path / "a.json").write_text(f"fio: this job is slow\n{text}\nfio: done\n")
    assert read(tmp_path)[0].alone


def test_rows_of_one_file(tmp_path: Path) -> None:
    assert read(REAL / "001-read-alone.json")[0].alone


def test_amplification_is_that_of_the_last_quarter(tmp_path: Path) -> None:
    for number, fill in enumerate((450, 630, 765, 900)):
        made.overwriting(tmp_path, number, fill, float(amplification(1000, fill, 1.05)))
    found, notes = read(tmp_path)
    assert [row.overwrites for row in found.overwritten] == pytest.approx([4.0] * 4, rel=1e-3)
    assert found.overwritten[0].writes_per_s == pytest.approx(80e3)
    assert [row.amplification for row in found.overwritten] == pytest.approx(
        [float(amplification(1000, row.fill_gib, 1.05)) for row in found.overwritten], rel=1e-3
    )
    assert not notes


def test_patterns_are_those_of_the_tables(tmp_path: Path) -> None:
    made.overwriting(tmp_path, 1, 10, 1.5, tag="zipf exponent=0.8", series="zipf")
    made.overwriting(tmp_path, 2, 10, 1.5, tag="zones hot=5 writes=95", series="zones")
    found, _ = read(tmp_path)
    assert [str(row.pattern) for row in found.overwritten] == ["fiozipf 0.8", "zones s0.05 f0.95 s0.95 f0.05"]


def test_the_open_loop_is_that_of_the_tables(tmp_path: Path) -> None:
    for number, offered in enumerate((40e3, 20e3, 120e3)):
        made.open_loop(tmp_path, number, offered, 100e3, fill_gib=900)
    rows = read(tmp_path)[0].open_loop
    assert [row.offered_per_s for row in rows] == [20e3, 40e3, 120e3]
    assert [row.is_reached for row in rows] == [True, True, False]
    assert rows[0].reads_per_s == pytest.approx(5000 + 100)
    assert set(rows[0].read_us) == {"50p", "90p", "99p", "99p9", "99p99"}
    assert (rows[0].bulk_write_us["50p"], rows[2].write_us["50p"]) == (10.0, 4000.0)


def test_a_host_short_of_time_offers_less(tmp_path: Path) -> None:
    """fio falls behind with exponential gaps on a busy host; what it did not issue the drive did not refuse."""
    made.open_loop(tmp_path, 1, 40e3, 100e3, fill_gib=900)
    file = tmp_path / "001-open-loop.json"
    file.write_text(file.read_text().replace("offered=40000", "offered=48000"))
    (row,) = read(tmp_path)[0].open_loop
    assert (row.offered_per_s, row.is_reached) == (pytest.approx(40e3), True)


def alone(tag: str = "experiment=read-alone drive=mine", **changes: Any) -> dict[str, Any]:
    return made.job("read-alone", tag, read=made.side(1e4, READ), **changes)


def one(job: dict[str, Any], **more: Any) -> Callable[[Path], object]:
    return lambda folder: made.result(folder / "a.json", job, **more)


def real_but(name: str, change: Callable[[str], str]) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        shutil.copytree(REAL, folder, dirs_exist_ok=True)
        (folder / name).write_text(change((folder / name).read_text()))

    return make


def run_but(change: Callable[[Path], object], **how: Any) -> Callable[[Path], object]:
    """A run of uniform writes in eight parts, changed."""

    def make(folder: Path) -> None:
        made.overwriting(folder, 1, 10, **{"amplification": 1.5, **how})
        change(folder)

    return make


def two_drives(folder: Path) -> None:
    made.result(folder / "a.json", alone())
    made.result(folder / "b.json", alone("experiment=read-alone drive=yours"))


def slc_cache(folder: Path) -> None:
    told = f"experiment=sequential series=whole fill={100 * made.GIB} drive=mine"
    rates = [2000 * 1024] * 20 + [600 * 1024] * 113
    bytes_per_s = int(np.mean(rates) * 1024)
    write = made.side(bytes_per_s / 2**20, {5e3: 1}, seconds=133, size=2**20)
    made.result(folder / "a.json", made.job("sequential", told, write=write))
    lines = (f"{second}000, {rate}, 1, 0, 0\n" for second, rate in enumerate(rates, start=1))
    (folder / "a_bw.1.log").write_text("".join(lines))


def no_rate(folder: Path) -> None:
    made.open_loop(folder, 1, 40e3, 100e3, fill_gib=900)
    file = folder / "001-open-loop.json"
    file.write_text(file.read_text().replace("offered=40000", "offered=${OFFERED}"))


def untagged(**changes: Any) -> dict[str, Any]:
    """A job that flashtwin did not ask for."""
    options = {"rw": "randread", "bs": "4k", "iodepth": "1", "direct": "1", "ioengine": "libaio", "size": "1M"}
    options |= {key: str(value) for key, value in changes.items() if key not in ("read", "write", "mixed")}
    sides = {key: value for key, value in changes.items() if key in ("read", "write", "mixed")}
    job = made.job("mine", "") | {"desc": "", "job options": options}
    return {**job, "read": made.side(1e4, READ), **sides} if not sides else {**job, **sides}


def percentiles(**us: float) -> dict[str, Any]:
    """One direction as plain `json` has it."""
    known = {f"{float(name[1:].replace('_', '.')):.6f}": round(time * 1e3) for name, time in us.items()}
    return made.side(1e4, {}) | {"lat_ns": {"mean": 1.0, "N": 9}, "clat_ns": {"N": 9, "mean": 9, "percentile": known}}


def in_bytes(log: str) -> str:
    lines = [line.split(", ") for line in log.splitlines()]
    return "".join(f"{time}, {int(rate) * 1024}, 1, 0, 0\n" for time, rate, *_ in lines)


LOG = "002-sequential-uniform-100_bw.1.log"
LAST_OCP, LAST_SMART = (f"001-uniform-8.after.{kind}.json" for kind in ("ocp", "smart"))
BACKWARDS = '{"Physical media units written": {"hi": 0, "lo": 5}}'
unsteady = run_but(lambda _: None, rates=(90e3, 90e3, 90e3, 90e3, 90e3, 80e3, 70e3, 60e3))
cut = real_but("001-read-alone.json", lambda text: text[: len(text) // 2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (one(alone(), version="fio-2.21"), "a.json: fio-2.21 counts in microseconds.*fio 3.0 or later"),
        (one({**alone(), "read": {**alone()["read"], "lat_ns": {"mean": 5}}}),
         "a.json: job 'read-alone', reads: neither bins nor percentiles.*--output-format=json+"),
        (one({**alone(), "read": percentiles(_100=9)}), "job 'read-alone', reads: neither bins nor percentiles"),
        (one(alone(error=5)), "a.json: job 'read-alone': fio reports error 5.*Run it again"),
        (one(made.job("read-alone", "experiment=read-alone", read=made.side(1e4, {0.06: 9}))),
         "job 'read-alone': times_50p is 0.06: no response time in microseconds"),
        (lambda folder: (folder / "a.json").touch(), "a.json: the file is empty; did fio fail"),
        (cut, "001-read-alone.json: the JSON is cut or damaged"),
        (one(alone("experiment=read-depth depth=999999999")), "job 'read-alone': 1e\\+09 requests under way"),
        (one(alone("experiment=read-depth depth=1e300")), "job 'read-alone': its description has no depth=NUMBER"),
        (one(made.job("a", "experiment=uniform fill=8192 of=999999999", write=made.side(1e4, READ))),
         "uniform at 0.0 GiB: parts 2, 3, 4, 5, 6, 7, 8, 9 and more of 999999999 are missing"),
        (one(made.job("a", "experiment=read-depth depth=1", read=made.side(1e-6, READ) | {"total_ios": 1})),
         "1e-06 requests a second: no drive does that"),
        (two_drives, "measurements of several drives; name one of them: mine, yours"),
        (unsteady, "uniform at 10.0 GiB: the drive was not in its steady state.*SNIA allows.*--overwrites 8"),
        (run_but(lambda folder: (folder / "001-uniform-7.json").unlink()),
         "uniform at 10.0 GiB: parts 7 of 8 are missing; run the script again"),
        (run_but(lambda folder: (folder / LAST_OCP).unlink()),
         "uniform-8.json.*medium's bytes after the job is missing; run the job again"),
        (run_but(lambda folder: (folder / LAST_OCP).write_text(BACKWARDS)), "uniform-8.json.*goes backwards"),
        (run_but(lambda _: None, amplification=0.0), "the medium's counter did not move"),
        (run_but(lambda folder: (folder / LAST_SMART).write_text('{"data_units_written": 9000000}')),
         "does something else write to the drive"),
        (real_but(LOG, lambda log: log[:-20]), "_bw.1.log:20: the log is cut in the middle of a line"),
        (real_but(LOG, lambda log: "".join(log.splitlines(keepends=True)[:5])),
         "job 'sequential': its log ends after 1 s of 5 s; the log is cut"),
        (real_but(LOG, lambda _: ""), "_bw.1.log: the log is empty"),
        (real_but(LOG, in_bytes), "the rate is 1.02e\\+03 times that of the result; is the log in another unit"),
        (slc_cache, "the rate drops once, from 2,097 to 629 MB/s, when 37% of the drive is written: an SLC cache"),
        (no_rate, "no offered=NUMBER but '\\${OFFERED}'"),
        (Path.touch, "no measurements; `flashtwin fit jobs` prints"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_says_job_and_cure(make: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(DriveError, match=message):
        read(tmp_path)


@pytest.mark.parametrize(
    ("job", "figures"),
    [
        (untagged(), {"alone": 1, "depths": 1}),
        (untagged(iodepth=16, numjobs=2), {"depths": 32}),
        (untagged(iodepth=16, numjobs=2, ioengine="psync"), {"depths": 2}),
        (untagged(rw="randwrite", write=made.side(1e4, READ)), {"alone": 1}),
        (untagged(rw="write", bs="1M", write=made.side(1e4, READ)), {"overwritten": 1}),
        (untagged(rw="randwrite", iodepth=32, write=made.side(1e4, READ)), {"overwritten": 1}),
        (untagged(iodepth=8, read=percentiles(p50=80, p90=90, p99=200)), {"depths": 8}),
    ],
)
def test_any_job_is_known_by_its_options(job: dict[str, Any], figures: dict[str, int], tmp_path: Path) -> None:
    found, _ = read(made.result(tmp_path / "whatever.json", job))
    for name in ("alone", "depths", "overwritten"):
        assert len(getattr(found, name)) == (name in figures)
    if "depths" in figures:
        assert found.depths[0].depth == figures["depths"]


@pytest.mark.parametrize(
    ("options", "load", "offered"),
    [
        ({"rate_iops": "700,300", "numjobs": 4, "iodepth": 32}, Load(0.0, 0.7, 32, 4), 4000),
        ({"rate_iops": "1000", "rwmixread": 75}, Load(0.0, 0.75, 1, 1), 1333),
        ({"rate": "4m,12m"}, Load(0.0, 0.25, 1, 1), 4096),
    ],
)
def test_an_open_loop_of_any_job_keeps_its_load(
    options: dict[str, Any], load: Load, offered: float, tmp_path: Path
) -> None:
    sides = {
        "read": made.side(offered * load.read_share, READ),
        "write": made.side(offered * (1 - load.read_share), READ),
    }
    made.result(tmp_path / "a.json", untagged(rw="randrw", size="8G", **options, **sides))
    (row,) = read(tmp_path)[0].open_loop
    assert (row.fill_gib, row.load.fixed_per_s, row.load.depth, row.load.threads) == (
        8.0,
        0.0,
        load.depth,
        load.threads,
    )
    assert row.load.read_share == pytest.approx(load.read_share)
    assert row.offered_per_s == pytest.approx(offered, rel=1e-3)
    assert row.read_us["50p"] == 60.0


def test_a_thread_at_a_fixed_rate_beside_another_job_is_the_one_that_counts(tmp_path: Path) -> None:
    sides = {"read": made.side(1000, READ), "write": made.side(1000, {9.0: 10})}
    fixed = untagged(rw="randrw", rate_iops="1000,1000", size="8G", iodepth=64, **sides)
    bulk = untagged(rw="randrw", rate_iops="50,4950", size="8G", iodepth=64, numjobs=6, read=made.side(300, {70.0: 10}),
                    write=made.side(29_700, {11.0: 10}))  # fmt: skip
    made.result(tmp_path / "a.json", {**fixed, "jobname": "probe"}, {**bulk, "jobname": "others"})
    (row,) = read(tmp_path)[0].open_loop
    assert row.load == Load(2000.0, 0.01, 64, 6)
    assert (row.offered_per_s, row.served_per_s) == pytest.approx((32_000, 32_000))
    assert (row.read_us["50p"], row.write_us["50p"], row.bulk_write_us["50p"]) == (60.0, 9.0, 11.0)
    made.result(tmp_path / "a.json", *({**bulk, "jobname": name} for name in "xyz"))
    with pytest.raises(DriveError, match="3 jobs with rates at the same time; an open loop is one job, or"):
        read(tmp_path)


def test_percentiles_alone_are_those_of_the_result(tmp_path: Path) -> None:
    side = percentiles(p50=80, p90=90, p99=200) | {"slat_ns": {"mean": 2000}}
    found, _ = read(made.result(tmp_path / "a.json", untagged(iodepth=8, read=side)))
    assert found.depths[0].read_us == {"50p": 82.0, "90p": 92.0, "99p": 202.0}, "from submission on"
    found, notes = read(made.result(tmp_path / "a.json", untagged(read=side)))
    assert (len(found.depths), len(found.alone)) == (1, 0)
    assert "job 'mine': plain `json` has percentiles only, and this needs the bins" in notes[0]


def test_fios_own_name_of_the_device_is_the_drive(tmp_path: Path) -> None:
    made.result(tmp_path / "a.json", untagged(filename="/dev/nvme1n1"))
    assert read(tmp_path)[0].drive == "nvme1n1"


def text_file(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "a.txt").write_text(text)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (one(untagged(direct=0)), "job 'mine': direct=0 measures the page cache.*run it with direct=1"),
        (one(untagged(mixed=made.side(1e4, READ))), "reads and writes as one; run it without unified_rw_reporting"),
        (one(untagged(read=made.side(1e4, {}) | {"lat_ns": {"mean": 0.0, "N": 0}})), "run it without gtod_reduce"),
        (one(untagged(rw="randrw", rwmixread=70, read=made.side(1e4, READ), write=made.side(1e4, READ))),
         "no experiment that a fit uses \\(rw=randrw, bs=4k, iodepth=1, rwmixread=70.*a fit uses random reads"),
        (one(untagged(bs="128k")), "no experiment that a fit uses \\(rw=randread, bs=128k"),
        (one(untagged(rw="randwrite", iodepth=32, size="8G", write=made.side(1e4, READ))),
         "its addresses were written 0.48 times over, and 3 are needed"),
        (text_file("3;fio-3.33;t;0;0;1024\n"), "terse or normal output.*--output-format=json\\+"),
        (text_file("  read: IOPS=51.2k, BW=200MiB/s\n"), "terse or normal output"),
        (text_file("Data Units Written : 64.663.716 (33,11 TB)\n"),
         "counters \\(33,107,822,592,000 bytes of the host\\) of no job; name them JOB.before.smart.txt"),
    ],
)  # fmt: skip
def test_what_nobody_asked_for_says_why_it_is_left_out(
    make: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    make(tmp_path)
    with pytest.raises(DriveError, match=message):
        read(tmp_path)
    made.result(tmp_path / "good.json", alone())
    found, notes = read_results(tmp_path, "mine"), []
    read_results(tmp_path, "mine", notes.append)
    assert found.alone
    assert any(re.search(message, note) for note in notes)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DriveError, match="there is no such file or folder; `flashtwin fit jobs`"):
        read(tmp_path / "nowhere")


def test_bad_experiments_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    unsteady(tmp_path)
    made.result(tmp_path / "a.json", alone())
    (tmp_path / "b.json").write_text('{"fio')
    found, notes = read(tmp_path, skip_bad=True)
    assert found.alone
    assert not found.overwritten
    assert [note.split(":")[0] for note in notes[:2]] == ["left out", "left out"]
    slc_cache(tmp_path)
    with pytest.raises(FatalDriveError):
        read(tmp_path, skip_bad=True)


def test_one_of_several_drives_is_read_though_the_other_is_bad(tmp_path: Path) -> None:
    unsteady(tmp_path)
    made.result(tmp_path / "a.json", alone("experiment=read-alone drive=yours"))
    assert read_results(tmp_path, "yours").alone


def test_too_few_fills_are_said(tmp_path: Path) -> None:
    made.overwriting(tmp_path, 1, 10, 1.5)
    _, notes = read(tmp_path)
    assert "uniform writes with counters: 1 of two fills" in notes[0]


def test_other_files_in_the_folder_do_not_matter(tmp_path: Path) -> None:
    made.result(tmp_path / "a.json", alone())
    (tmp_path / "other.json").write_text('{"a": [1, 2]}')
    made.result(tmp_path / "untagged.json", made.job("mine", "") | {"desc": "a job of somebody's"})
    (tmp_path / "drive.json").write_text('{"mn": "ACME  X1 ", "tnvmcap": 960197124096}')
    found, notes = read(tmp_path)
    assert (found.model, found.capacity_bytes) == ("ACME X1", pytest.approx(960.2e9, rel=1e-3))
    made.result(tmp_path / "b.json", alone("experiment=read-backwards drive=mine"))
    _, notes = read(tmp_path)
    assert any("there is no experiment 'read-backwards'" in note for note in notes)


def test_equal_experiments_may_differ_in_their_times(tmp_path: Path) -> None:
    for name, times in (("a", READ), ("b", {61.0: 9}), ("c", READ)):
        made.result(tmp_path / f"{name}.json", made.job("a", "experiment=read-alone", read=made.side(1e4, times)))
    assert len(read(tmp_path)[0].alone) == 2
