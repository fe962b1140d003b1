"""What people read on the command line: exact words where they are ours, golden files in tests/golden."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.cli import VERBS
from flashtwin.cli._talk import duration

from .conftest import PROGRAM, Cli, Process, clean_environment, finished, fiu_trace, started

Golden = Callable[[str, str], None]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("help", ("--help",)),
        ("systems", ("systems",)),
        ("devices", ("devices",)),
        ("trace-info", ("trace", "info", "small.fiu")),
        ("trace-info-json", ("trace", "info", "small.fiu", "--json")),
        ("compare", ("compare", "small.fiu", "--period", "0.05s")),
        ("replay", ("replay", "small.fiu", "--system", "rr-ssd", "--period", "0.05s", "--set", "alpha=0.2")),
    ],
)
def test_output(name: str, arguments: tuple[str, ...], cli: Cli, small_trace: Path, golden: Golden) -> None:
    done = cli(*arguments, status=0)
    assert without_time(done.err) == ""
    golden(f"{name}.txt", done.out)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("unknown-verb", ("studdy",)),
        ("unknown-key", ("replay", "small.fiu", "--system", "rr-ssd", "--set", "replication.alpah=1")),
        ("ambiguous-key", ("replay", "small.fiu", "--system", "rr-ssd", "--set", "policy=greedy")),
        ("wrong-type", ("replay", "small.fiu", "--system", "rr-ssd", "--set", "replication.alpha=lots")),
        ("unknown-system", ("systems", "rr-sdd")),
        ("no-such-trace", ("trace", "info", "smal.fiu")),
        ("unknown-format", ("trace", "info", "small.fiu", "--format", "fui")),
    ],
)
def test_complaints(name: str, arguments: tuple[str, ...], cli: Cli, small_trace: Path, golden: Golden) -> None:
    done = cli(*arguments)
    assert (done.status, done.out) == (2, "")
    golden(f"error-{name}.txt", done.err)


def without_time(err: str) -> str:
    """Without how long a study will take, which depends on the machine, and how its trace was read."""
    return re.sub(r"(candidates: .+ more at most, for .+|read as: .+)\n", "", err)


def test_study_names_choice_bottlenecks_and_findings(
    cli: Cli, small_trace: Path, tmp_path: Path, golden: Golden
) -> None:
    done = cli("study", "small.fiu", "--period", "0.05s", "--speed", "20")
    assert (done.status, without_time(done.err)) == (0, "")
    golden("study.txt", done.out)
    study = json.loads((tmp_path / "small-study" / "study.json").read_text())
    assert study["runs"] == ["conventional", "ca-ssd", "rr-ssd", "oracle"]
    assert study["trace"]["requests"] == 2000
    for run in study["runs"]:
        assert (tmp_path / "small-study" / "runs" / run / "periods.parquet").is_file()
    assert (tmp_path / "small-study" / "workload" / "popularity.parquet").is_file()
    assert (tmp_path / "small-study" / "report.html").stat().st_size > 10_000


def test_done_again_only_what_changed_is_done(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    options = ("--systems", "conventional,rr-ssd", "--period", "0.05s", "--out", "out")
    cli("compare", small_trace, *options, status=0)
    same = cli("compare", small_trace, *options)
    reused = "reusing conventional, rr-ssd from out: same trace, same configuration\nresults: out\n"
    assert without_time(same.err) == reused
    other_key = cli("compare", small_trace, *options, "--set", "replication.alpha=0.7")
    assert "reusing" not in other_key.err
    small_trace.write_text(fiu_trace(1999))
    other_trace = cli("compare", small_trace, *options)
    assert (other_trace.status, "reusing" in other_trace.err) == (0, False)


@pytest.mark.usefixtures("no_pages")
def test_study_without_contents_skips_systems_that_need_them(cli: Cli, tmp_path: Path) -> None:
    """Most public traces have none; the verb that newcomers type first once ended with an error."""
    rows = [
        f"{128166372003061629 + n * 20_000},host,0,{'Write' if n % 3 else 'Read'},{n % 64 * 4096},4096,1"
        for n in range(600)
    ]
    (tmp_path / "plain.csv").write_text("\n".join(rows) + "\n")
    done = cli("study", "plain.csv", "--effort", "0", "--out", "out", status=0)
    assert without_time(done.err) == (
        "plain has no contents, which ca-ssd, rr-ssd, oracle look at: only what does not is replayed "
        "(--content unique, or zipf(A,N), makes contents up)\n"
    )
    assert json.loads((tmp_path / "out" / "study.json").read_text())["runs"] == ["conventional"]
    made_up = cli("study", "plain.csv", "--effort", "0", "--out", "made-up", "--content", "unique")
    assert (made_up.status, without_time(made_up.err)) == (
        0,
        "periods of 100 ms, chosen from the trace's 1.2 s; --period sets another\n",
    )
    assert "With made-up contents (unique), conventional as configured" in made_up.out
    assert list(json.loads(cli("compare", "plain.csv", "--json").out)) == ["conventional"]
    for systems in ("conventional,ca-ssd", "conventional,ca-ssd,rr-ssd,oracle"):
        cli("study", "plain.csv", "--out", "named", "--systems", systems, status=2)


def test_a_system_printed_is_a_system_read(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    printed = cli("systems", "rr-ssd", "--set", "replication.alpha=0.3")
    (tmp_path / "mine.toml").write_text(printed.out)
    options = ("--json", "--period", "0.05s")
    mine = json.loads(cli("replay", small_trace, "--system", "mine.toml", *options).out)["rr-ssd"]
    preset = json.loads(
        cli("replay", small_trace, "--system", "rr-ssd", "--set", "replication.alpha=0.3", *options).out
    )["rr-ssd"]
    assert mine["config"] == preset["config"]
    assert mine["response"] == preset["response"]


def test_a_device_printed_is_a_device_read(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    printed = cli("devices", "ds-ftl").out
    (tmp_path / "mine.toml").write_text(printed)
    again = cli("devices", "mine.toml")
    assert (again.status, again.out) == (0, printed)
    nand = json.loads(cli("replay", small_trace, "--system", "static", "--set", "device=mine.toml", "--json").out)
    preset = json.loads(cli("replay", small_trace, "--system", "static", "--set", "device=ds-ftl", "--json").out)
    assert nand["static"]["config"]["nand"] == preset["static"]["config"]["nand"]


def test_a_wrong_file_of_a_device_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(cli("devices", "ds-ftl").out.replace("channels", "chanels"))
    done = cli("devices", "wrong.toml", status=2)
    assert done.err.startswith("error: wrong.toml: ")
    assert "chan" in done.err
    assert len(done.err) < 400, "the key, not the whole file"


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "0 ns"),
        (1_999, "1,999 ns"),
        (2_500, "2.5 µs"),
        (199_900_000, "199.9 ms"),
        (119_000_000_000, "119 s"),
        (150_000_000_000, "2.5 min (150.000 s)"),
        (1_209_600_000_000_001, "14 d (1,209,600.000 s)"),
    ],
)
def test_times_are_in_units_that_people_read(time_ns: int, text: str) -> None:
    assert duration(time_ns) == text


def test_a_trace_from_standard_input(cli: Cli, process: Process, small_trace: Path) -> None:
    piped = process("trace", "info", "-", "--json", stdin=small_trace.read_text())
    assert piped.status == 0, piped.err
    named = json.loads(cli("trace", "info", small_trace, "--json").out)
    assert {**json.loads(piped.out), "name": ""} == {**named, "name": ""}


def test_output_cut_short_is_not_an_error() -> None:
    done = finished("bash", "-c", f"'{PROGRAM}' systems rr-ssd | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert (done.status, done.err) == (0, "")


def test_an_encoding_of_few_letters_is_no_error(small_trace: Path, tmp_path: Path) -> None:
    named = small_trace.rename(tmp_path / "α≤½.fiu")
    few = {"env": {**clean_environment(), "PYTHONIOENCODING": "cp1252"}, "encoding": "cp1252"}
    done = finished(PROGRAM, "trace", "info", named.name, cwd=tmp_path, **few)
    assert (done.status, done.err) == (0, "")
    assert "\\u03b1\\u2264½" in done.out


def test_progress_is_shown_on_a_terminal_only(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "long.fiu").write_text(fiu_trace(200_000, footprint=50_000))
    arguments = ("replay", "long.fiu", "--system", "rr-ssd")
    assert "%" not in cli(*arguments).err
    terminal, other_end = pty.openpty()
    wide = {**clean_environment(), "TERM": "xterm", "COLUMNS": "100"}
    with started(PROGRAM, *arguments, cwd=tmp_path, env=wide, stdout=subprocess.PIPE, stderr=other_end) as program:
        os.close(other_end)
        drawn = drain(terminal)
        program.communicate(timeout=60)
    assert "rr-ssd" in drawn
    assert "/s" in drawn


def test_a_shell_completes_verbs_and_options() -> None:
    """As Click has it: the shell asks with words and the place of the one that is typed."""

    def completions(words: str, at: int) -> set[str]:
        asked = {"COMP_WORDS": f"flashtwin {words}", "COMP_CWORD": f"{at}", "_FLASHTWIN_COMPLETE": "bash_complete"}
        out = finished(PROGRAM, env={**clean_environment(), **asked}).out
        return {line.partition(",")[2] for line in out.splitlines()}

    assert completions("re", 1) == {verb for verb in VERBS if verb.startswith("re")}
    assert {"--system", "--set"} <= completions("replay --s", 2)
    source = finished(PROGRAM, env={**clean_environment(), "_FLASHTWIN_COMPLETE": "bash_source"})
    assert (source.status, "complete -o nosort -F" in source.out) == (0, True)


def test_errors_have_no_colour_where_none_is_wanted(tmp_path: Path) -> None:
    for wanted, shown in (({}, True), ({"NO_COLOR": "1"}, False)):
        terminal, other_end = pty.openpty()
        where = {**clean_environment(), "TERM": "xterm", **wanted}
        with started(PROGRAM, "replay", "no.fiu", cwd=tmp_path, env=where, stderr=other_end) as program:
            os.close(other_end)
            drawn = drain(terminal)
            program.communicate(timeout=60)
        assert "error:" in drawn
        assert ("\x1b[" in drawn) is shown


def drain(terminal: int) -> str:
    seen = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            return seen.decode()
        if not chunk:
            return seen.decode()
        seen += chunk


def test_an_internal_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from flashtwin.cli import run, version

    def fail(**arguments: object) -> None:
        raise RuntimeError("something\nnobody expected")

    monkeypatch.setattr(version.version, "callback", fail)
    assert run(["version"]) == 1
    assert capsys.readouterr().err == (
        "error: internal error: RuntimeError: something nobody expected; please report it; "
        "`flashtwin --debug ...` shows where\n"
    )
    assert run(["--debug", "version"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_version(cli: Cli) -> None:
    assert cli("version").out == f"flashtwin {ft.__version__}\n"
    assert json.loads(cli("version", "--json").out)["flashtwin"] == ft.__version__
    assert cli("--version").out == cli("version").out


@pytest.mark.parametrize("word", ["--version", "rplay"])
def test_the_package_runs_as_the_program_does(process: Process, word: str) -> None:
    assert finished(sys.executable, "-m", "flashtwin", word) == process(word)


def test_a_sample_is_that_of_the_library(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "long.fiu").write_text(fiu_trace(4000))
    done = cli("trace", "sample", "long.fiu", "tenth.parquet", "--rate", "0.25", status=0)
    whole, part = ft.open(tmp_path / "long.fiu"), ft.open(tmp_path / "tenth.parquet")
    assert done.err.endswith(f"{len(part):,} of {len(whole):,} requests: tenth.parquet\n")
    assert part.digest == whole.sample(0.25).digest
