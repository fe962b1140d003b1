"""`flashtwin characterize` and `advise`: one trace, many, broken ones, again, interrupted, in parallel."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import polars
import pytest

import flashtwin as ft
from flashtwin.results import schema
from flashtwin.sweeps import across, batch, crew

from .conftest import PATIENCE_S, Cli, contents, fiu_trace, started
from .test_bad_input import complains

TABLES = set(schema.WORKLOAD_TABLES)
SHORT = ("--period", "0.05s")
BRIEF = (*SHORT, "--no-report")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    folder = tmp_path / "many"
    for name, requests in (("mail/a", 1500), ("mail/b", 1800), ("web/a", 1200)):
        path = folder / f"{name}.fiu"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fiu_trace(requests))
    (folder / "broken.fiu").write_text("not a trace\n")
    (folder / "README.md").write_text("what these are\n")
    (folder / ".hidden").write_text("not to be looked at\n")
    return folder


def test_one_trace(cli: Cli, small_trace: Path, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    done = cli("characterize", "small.fiu", *SHORT)
    assert (done.status, done.err) == (0, ""), done.err
    golden("characterize.txt", done.out)
    folder = tmp_path / "small-workload"
    assert {"characterization.json", "advice.json", "report.html", "charts", "workload"} <= {
        path.name for path in folder.iterdir()
    }
    assert {path.stem for path in (folder / "workload").iterdir()} >= TABLES
    summary = json.loads((folder / "characterization.json").read_text())
    assert summary["info"]["requests"] == 2000
    assert summary["flashtwin"] == ft.__version__


def test_advice_in_words(cli: Cli, small_trace: Path, golden: Callable[[str, str], None]) -> None:
    done = cli("advise", "small.fiu", *SHORT)
    assert (done.status, done.err) == (0, ""), done.err
    golden("advise.txt", done.out)


@pytest.mark.usefixtures("no_pages")
def test_advice_of_a_study_knows_its_runs(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    study = ("study", small_trace, "--systems", "conventional,ca-ssd", *SHORT, "--effort", "0", "--out", "both")
    told = "shorter than `conventional` as configured"
    for _ in range(2):
        cli(*study, status=0)
        assert told in (tmp_path / "both" / "advice.json").read_text()
        done = cli("advise", "both")
        assert (done.status, done.err) == (0, "")
        assert told in done.out
    done = cli("advise", "both", "--stream")
    assert done.err == "both: advice is from what was measured; options of reading and measuring do not apply\n"


def test_advice_on_a_folder_without_characterization_is_refused(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    cli("compare", small_trace, "--systems", "conventional", "--out", "runs", status=0)
    done = cli("advise", "runs", status=2)
    assert "runs: no characterization.json in it; it holds runs of `compare` or `replay`" in done.err
    (tmp_path / "empty").mkdir()
    assert "expected a folder that `flashtwin characterize` or `study` wrote" in cli("advise", "empty").err


def test_json_holds_what_the_files_hold(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    done = cli("characterize", "small.fiu", *BRIEF, "--out", "out", "--json")
    printed = json.loads(done.out)
    summary = json.loads((tmp_path / "out" / "characterization.json").read_text())
    assert {key: printed[key] for key in summary if key != "flashtwin"} == {
        key: value for key, value in summary.items() if key != "flashtwin"
    }
    assert printed["advice"] == json.loads((tmp_path / "out" / "advice.json").read_text())["advice"]
    assert printed["row"]["info.requests"] == 2000
    of_folder = cli("advise", "out", "--json", status=0)
    assert json.loads(of_folder.out) == json.loads(cli("advise", "small.fiu", *SHORT, "--json").out)


def test_a_study_holds_the_characterization_too(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    cli("study", "small.fiu", *SHORT, "--systems", "conventional", "--effort", "0", "--out", "study", status=0)
    cli("characterize", "small.fiu", *BRIEF, "--out", "alone", status=0)
    for name in ("characterization.json", *(f"workload/{table}.parquet" for table in TABLES)):
        assert (tmp_path / "study" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes(), name
    # What the trace says is the same; what to do is a change of the study's choice.
    advice = [json.loads((tmp_path / path / "advice.json").read_text())["advice"] for path in ("study", "alone")]
    said = [[{**entry, "action": None} for entry in entries] for entries in advice]
    assert said[0] == said[1]
    page = (tmp_path / "study" / "report.html").read_text()
    assert 'id="advice"' in page
    assert 'id="chart-temperature"' in page


def test_options_can_be_set_and_stand_in_the_result(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    sets = {
        "frequency_ratios": "2,2.5,3,5",
        "wa.partitions": "[1, 3]",
        "wa.over_provisioning_percent": "7",
        "other_page_bytes": "16384",
        "other_partitions": "5",
        "other_over_provisioning_percent": "28, 50",
        "distance_max": "256",
        "time_max": "100",
    }
    flags = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    cli("characterize", "small.fiu", *BRIEF, *flags, "--out", "out", status=0)
    found = ft.Characterization.read(tmp_path / "out")
    wa, locality = found.summary["options"]["wa"], found.summary["options"]["locality"]
    assert (wa["frequency_ratios"], wa["partitions"], wa["other_page_bytes"]) == ([2.0, 2.5, 3.0, 5.0], [1, 3], [16384])
    assert locality == {"distance_max": 256, "time_max": 100, "direction": "forward"}
    rows = polars.DataFrame(found.table("write_amplification"))
    cells = set(rows.select("page_bytes", "over_provisioning_percent", "partitions_asked", "purpose").iter_rows())
    assert {(4096, 7, 3, "grid"), (16384, 28, 5, "grid")} <= cells
    same = ft.characterize(
        small_trace,
        period_s=0.05,
        distance_max=256,
        time_max=100,
        partitions=[1, 3],
        over_provisioning_percent=[7],
        other_page_bytes=[16384],
        **{"wa.frequency_ratios": [2, 2.5, 3, 5], "other_partitions": 5, "other_over_provisioning_percent": [28, 50]},
    )
    assert same.summary == found.summary


def test_flags_are_short_forms_of_keys(cli: Cli, small_trace: Path) -> None:
    short = cli("advise", "small.fiu", *SHORT, "--op", "7,28", "--partitions", "1,2", "--json", status=0)
    keys = ("--set", "wa.over_provisioning_percent=[7,28]", "--set", "partitions=1,2")
    assert short.out == cli("advise", "small.fiu", *SHORT, "--json", *keys).out


def test_a_report_can_be_drawn_of_next_to_nothing(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    none = [f"--set={key}=[]" for key in ("planes", "frequency_ratios", "wa.partitions", "other_page_bytes")]
    cli("characterize", "small.fiu", *SHORT, *none, "--set", "distance_max=0", "--set", "time_max=1", status=0)
    assert (tmp_path / "small-workload" / "report.html").is_file()


def test_many_traces(cli: Cli, many: Path, tmp_path: Path) -> None:
    done = cli("characterize", many, *SHORT, "--out", "all", "--workers", "2", status=1)
    assert "not characterized: broken:" in done.err
    assert "Traceback" not in done.err
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["trace", "b", "mail-a.fiu", "web-a.fiu"]
    assert lines[-1] == "report: all/report.html"
    out = tmp_path / "all"
    rows = polars.read_parquet(out / "traces.parquet")
    assert rows["trace"].to_list() == ["b", "mail-a.fiu", "web-a.fiu"]
    assert rows["category"].to_list() == ["mail", "mail", "web"]
    assert rows["info.requests"].to_list() == [1800, 1500, 1200]
    assert polars.read_parquet(out / "distributions.parquet").columns == list(across.COLUMNS)
    failures = json.loads((out / "failures.json").read_text())["failures"]
    assert [failure["trace"] for failure in failures] == ["broken"]
    assert json.loads((out / "traces.json").read_text())["counts"]["traces"] == 3
    page = (out / "report.html").read_text()
    assert "broken" in page
    assert "No trace enters this statistic" in page
    for name in ("b", "mail-a.fiu", "web-a.fiu"):
        assert (out / "traces" / name / "report.html").is_file()


def volumes_trace(requests: int) -> str:
    """MSR lines over three disks in turn."""
    lines = []
    for number in range(requests):
        host, disk = (("hm", 0), ("hm", 1), ("src", 0))[number * 7 % 3]
        kind = "Write" if number % 2 else "Read"
        page = number * 7919 % 400
        lines.append(f"{128166372000000000 + number * 10_000},{host},{disk},{kind},{page * 4096},4096,100")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("stream", [False, True])
def test_each_volume_by_itself(stream: bool, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text(volumes_trace(3000))
    options = ("--by-volume", *BRIEF, *(["--stream"] if stream else []))
    done = cli("characterize", "many.csv", *options, "--out", "out", status=0)
    assert [line.split()[0] for line in done.out.splitlines()[-4:-1]] == ["hm.0", "hm.1", "src.0"]
    found = ft.Characterization.read(tmp_path / "out")
    assert found.summary["info"]["volumes"] == 3
    assert (
        polars.DataFrame(found.table("volumes"))["volume"].to_list() == list(found.volumes) == ["hm.0", "hm.1", "src.0"]
    )
    for name, volume in [*found.volumes.items(), *pickle.loads(pickle.dumps(found)).volumes.items()]:
        alone = ft.characterize(ft.open(tmp_path / "many.csv", volume=name), period_s=0.05)
        assert volume.summary == alone.summary
        assert volume.row == alone.row
        for table in volume.table_names:
            assert volume.table(table).to_arrow().to_pylist() == alone.table(table).to_arrow().to_pylist(), table
    # Each table has all volumes in one file.
    assert set(polars.read_parquet(tmp_path / "out/volumes/miss_ratio.parquet")["volume"]) == set(found.volumes)
    again = cli("characterize", "many.csv", *options, "--out", "out")
    assert again.err.startswith("reusing out")
    assert again.out == done.out
    whole = cli("characterize", "many.csv", *BRIEF, "--out", "out")
    assert "reusing" not in whole.err
    assert not (tmp_path / "out" / "volumes").exists()


@pytest.mark.slow
def test_volumes_are_the_workloads_of_a_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in" / "msr").mkdir(parents=True)
    (tmp_path / "in" / "msr" / "many.csv").write_text(volumes_trace(3000))
    (tmp_path / "in" / "one.fiu").write_text(fiu_trace(1000))
    cli("characterize", "in", "--by-volume", *SHORT, "--out", "out", "--workers", "2", status=0)
    rows = polars.read_parquet(tmp_path / "out" / "traces.parquet")
    assert rows["trace"].to_list() == ["many:hm.0", "many:hm.1", "many:src.0", "one"]
    assert rows["category"].to_list() == ["msr", "msr", "msr", ""]
    assert rows["info.requests"].to_list() == [1000, 1000, 1000, 1000]
    assert json.loads((tmp_path / "out" / "traces.json").read_text())["counts"]["traces"] == 4
    for place in ("many", "one"):
        assert (tmp_path / "out" / "traces" / place / "report.html").is_file(), place
    cli("characterize", "in", *BRIEF, "--out", "out", status=0)
    assert polars.read_parquet(tmp_path / "out" / "traces.parquet")["trace"].to_list() == ["many", "one"]


def test_one_volume_of_a_trace(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text(volumes_trace(3000))
    one = json.loads(cli("trace", "info", "many.csv", "--volume", "hm.1", "--json").out)
    assert (one["name"], one["requests"], one["volumes"]) == ("many:hm.1", 1000, 1)
    trace = ft.open(tmp_path / "many.csv")
    assert trace.volumes == ["hm.0", "hm.1", "src.0"]
    assert trace.volume("hm.1").digest == one["digest"] == ft.open(tmp_path / "many.csv", volume="hm.1").digest
    cli("replay", "many.csv", "--volume", "hm.1", "--system", "conventional", "--json", status=0)
    complains(cli("replay", "many.csv", "--volume", "hm.7", "--system", "conventional"), "hm.7", "hm.0, hm.1")
    cli("characterize", "many.csv", "--volume", "hm.1", *BRIEF, status=0)
    assert (tmp_path / "many-hm.1-workload" / "characterization.json").is_file()


def test_a_span_of_time_of_a_trace(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text(volumes_trace(3000))
    whole = ft.open(tmp_path / "many.csv")
    middle_s = whole.info["duration_ns"] / 2e9
    head, tail = whole.excerpt(to_s=middle_s), whole.excerpt(from_s=middle_s)
    assert len(head) + len(tail) == len(whole)
    assert len(head) > 100 < len(tail)
    assert ft.open(tmp_path / "many.csv", from_s=middle_s).digest == tail.digest
    for source in ("many.csv", "tail.parquet"):
        if source.endswith(".parquet"):
            whole.write_parquet(tmp_path / source)
        cli("trace", "cut", source, "cut.parquet", "--to", f"{middle_s}s", "--force", status=0)
        assert ft.open(tmp_path / "cut.parquet").digest == head.digest
    # In memory or streamed, a span is characterized alike, and its results have a name of their own.
    for more in ((), ("--stream",)):
        cli("characterize", "many.csv", "--from", f"{middle_s}s", *BRIEF, *more, status=0)
        (made,) = tmp_path.glob("many-from-*-workload")
        found = json.loads((made / "characterization.json").read_text())
        assert (found["info"]["requests"], found["info"]["digest"]) == (len(tail), tail.digest)


def test_a_span_without_requests_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text(volumes_trace(3000))
    complains(cli("trace", "info", "many.csv", "--from", "9w"), "no request arrives from", "the last one")
    complains(cli("trace", "info", "many.csv", "--from", "2s", "--to", "1s"), "no time lies", "behind")
    complains(cli("trace", "cut", "many.csv", "cut.parquet"), "nothing is to be cut", "--from")
    with pytest.raises(ft.ArgumentError, match="no time lies"):
        ft.open(tmp_path / "many.csv", from_s=-1)
    assert not (tmp_path / "cut.parquet").exists()


@pytest.mark.usefixtures("no_pages")
def test_any_number_of_workers_writes_the_same_bytes(cli: Cli, many: Path, tmp_path: Path) -> None:
    for workers in ("1", "3"):
        cli("characterize", many, *BRIEF, "--out", f"w{workers}", "--workers", workers, status=1)
    one, three = contents(tmp_path / "w1"), contents(tmp_path / "w3")
    assert three.keys() == one.keys()
    # The page of all traces bears the name of its folder.
    assert [name for name in one if three[name] != one[name] and name != "report.html"] == []


@pytest.mark.usefixtures("no_pages")
def test_done_again_only_what_is_new_is_done(cli: Cli, many: Path, tmp_path: Path) -> None:
    command = ("characterize", many, *BRIEF, "--out", "all", "--workers", "1")
    cli(*command)
    kept = tmp_path / "all" / "traces" / "b" / "characterization.json"
    before = kept.stat().st_mtime_ns
    same = cli(*command)
    assert same.err.startswith("reusing 3 of 4 traces from all: same file, same options\n")
    assert kept.stat().st_mtime_ns == before
    (many / "web" / "a.fiu").write_text(fiu_trace(900))
    changed = cli(*command, "--json")
    assert changed.err.startswith("reusing 2 of 4 traces")
    assert {row["trace"]: row["info.requests"] for row in json.loads(changed.out)["traces"]}["web-a.fiu"] == 900
    assert kept.stat().st_mtime_ns == before
    assert "reusing" not in cli(*command, "--partitions", "1,2").err
    (many / "broken.fiu").write_text(fiu_trace(1000))
    cli(*command, "--partitions", "1,2", status=0)


def test_a_single_trace_is_done_again_for_other_options_only(cli: Cli, small_trace: Path) -> None:
    command = ("characterize", "small.fiu", *BRIEF, "--out", "out")
    first, again = cli(*command), cli(*command)
    assert again.err == "reusing out: same file, same options\n"
    assert again.out == first.out
    assert cli(*command, "--set", "distance_max=512").err == ""
    assert "reusing" in cli(*command, "--set", "locality.distance_max=512").err


@pytest.mark.usefixtures("no_pages")
def test_a_worker_that_dies_takes_one_trace_with_it(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    die = (
        "import os\nfrom flashtwin.sweeps import jobs, worker\ndo = jobs.do\n"
        "jobs.do = lambda job, *rest: os.kill(os.getpid(), 9) if job.name == 'b' else do(job, *rest)\n"
        "worker.main()"
    )
    monkeypatch.setattr(crew, "WORKER", (sys.executable, "-c", die))
    done = ft.characterize_many(many, tmp_path / "all", workers=2, report=False, period_s=0.05)
    assert done.traces == ["mail-a.fiu", "web-a.fiu"]
    failed = {failure.trace: failure.message for failure in done.failures}
    assert failed.keys() == {"b", "broken"}
    assert "signal 9" in failed["b"]
    assert "--stream" in failed["b"]


def test_workers_end_with_their_parent() -> None:
    with started(*crew.WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        worker.stdin.close()
        assert worker.wait(timeout=PATIENCE_S) == 0


def test_a_worker_ends_though_it_waits_for_a_task_when_its_signal_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    # As when the signal comes after Python's last look for one: it interrupts nothing.
    deaf = (
        "import signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "for line in sys.stdin: print('{}', flush=True)"
    )
    monkeypatch.setattr(crew, "WORKER", (sys.executable, "-c", deaf))
    processes, start = [], crew._start
    monkeypatch.setattr(crew, "_start", lambda: processes.append(start()) or processes[-1])
    task = mock.Mock(spec=crew.Task, ATTEMPTS=1, as_json=dict)
    # One worker, so that the one that is told has answered and is deaf by then.
    assert list(crew.in_processes([task], 1)) == [(task, {})]
    assert [process.returncode for process in processes] == [0], "ended by itself, not killed"


def test_names_of_traces(tmp_path: Path) -> None:
    for name in ("one/x.csv", "two/x.csv", "two/y.csv.gz", "z.csv", "two/.hidden/w.csv", "notes.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = {name: category for name, (_, category) in batch.find([tmp_path]).items()}
    assert found == {"one-x.csv": "one", "two-x.csv": "two", "y": "two", "z": ""}
    assert len(batch.find([tmp_path / "z.csv", tmp_path / "z.csv"])) == 1
