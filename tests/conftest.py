"""What several tests share: running the program as people do, small traces, golden files."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO
from unittest import mock

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent

# Hypothesis would otherwise make a folder of its own beside the sources.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".pytest_cache" / "hypothesis"))

# No test is to find, or to leave, an aged drive in somebody's home.
os.environ["FLASHTWIN_CACHE"] = "off"

# A shell's background jobs ignore Ctrl-C, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Guards against hanging only, so it is long: a machine may be busy.
PATIENCE_S = float(os.environ.get("FLASHTWIN_PATIENCE_S", "300"))

Counted = Callable[[int, str], None]

PROGRAM = Path(sys.executable).with_name("flashtwin")


def pytest_configure(config: pytest.Config) -> None:
    """Twenty drawn cases a test where slow tests are left out, a hundred where they run."""
    common = {"deadline": None, "derandomize": True, "database": None}
    hypothesis.settings.register_profile("quick", max_examples=20, **common)
    hypothesis.settings.register_profile("thorough", max_examples=100, **common)
    hypothesis.settings.load_profile("quick" if config.option.markexpr == "not slow" else "thorough")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files of tests/golden again")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Charts, which take most of a page's time, are drawn for the tests of the report alone."""
    of_report = item.path.is_relative_to(ROOT / "tests" / "report")
    os.environ["FLASHTWIN_CHARTS"] = "page" if of_report else "none"


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


Cli = Callable[..., Outcome]
Process = Callable[..., Outcome]


def clean_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR", "COLUMNS")}
    return {**kept, "TERM": "dumb", "LC_ALL": "C.UTF-8", "MPLBACKEND": "agg"}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs `flashtwin ARGUMENTS` in an empty folder, within this process, because Python takes its time to start.

    Standard input is empty: Rust reads ahead in it, and would hand the rest to the next test. A `status` is asserted.
    """
    from flashtwin.cli import run

    def call(*arguments: str | Path, status: int | None = None) -> Outcome:
        words = list(map(str, arguments))
        with (
            Path(os.devnull).open("rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
            _standard_stream(0, nothing) as stdin, _standard_stream(1, out) as stdout, _standard_stream(2, err) as talk,
            contextlib.chdir(tmp_path), mock.patch.dict(os.environ, clean_environment(), clear=True),
            mock.patch.multiple(sys, argv=[str(PROGRAM), *words], stdin=stdin, stdout=stdout, stderr=talk),
        ):  # fmt: skip
            found = run(words)
            stdout.flush()
            talk.flush()
            for file in (out, err):
                file.seek(0)
            done = Outcome(found, out.read().decode(), err.read().decode())
        assert status in (None, done.status), done.err + done.out
        return done

    return call


@contextlib.contextmanager
def _standard_stream(number: int, file: IO[bytes]) -> Iterator[TextIO]:
    """Puts a file in the place of a standard stream, for Rust and for processes that are started as well."""
    before = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        mode = "r" if number == 0 else "w"
        with open(number, mode, encoding="utf-8", errors="surrogateescape", closefd=False) as stream:
            yield stream
    finally:
        os.dup2(before, number)
        os.close(before)


def finished(*words: object, **how: Any) -> Outcome:
    how = {"env": clean_environment(), "capture_output": True, "encoding": "utf-8", "timeout": PATIENCE_S, **how}
    done = subprocess.run(list(map(str, words)), check=False, **how)
    return Outcome(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def started(*words: object, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """A process, killed on the way out if it still runs: `Popen` alone would wait for it for ever."""
    with subprocess.Popen(list(map(str, words)), text=True, **{"env": clean_environment(), **how}) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(holds: Callable[[], bool], every_s: float = 0.01, process: subprocess.Popen[str] | None = None) -> None:
    """Waits for a condition, while a process runs."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it does not happen"
        assert process is None or process.poll() is None, "it has ended"
        time.sleep(every_s)


@pytest.fixture
def process(tmp_path: Path) -> Process:
    """Runs `flashtwin ARGUMENTS` in an empty folder as a process, for tests of what only a process has."""
    return lambda *arguments, stdin="": finished(PROGRAM, *arguments, cwd=tmp_path, input=stdin)


#: Starts a program and writes its peak memory in KiB and its status into a file.
MEASURE = """
import os, subprocess, sys
program = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(program.pid, 0)
program.returncode = os.waitstatus_to_exitcode(status)
with open(sys.argv[1], "w") as out:
    out.write(f"{usage.ru_maxrss} {program.returncode}")
"""


def peak_mib(folder: Path, *arguments: str | Path) -> tuple[Outcome, float]:
    """The outcome of a command and its peak memory. A small process starts it, because Linux adds its parent's."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.NamedTemporaryFile() as found:
        command = [sys.executable, "-S", "-c", MEASURE, found.name, str(PROGRAM), *map(str, arguments)]
        subprocess.run(command, cwd=folder, env=clean_environment(), stdout=out, stderr=err, check=True)
        kib, status = map(int, Path(found.name).read_text(encoding="ascii").split())
        for stream in (out, err):
            stream.seek(0)
        done = Outcome(status, out.read().decode(), err.read().decode())
    return done, kib / 1024


@pytest.fixture
def no_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty pages, for tests of all but the report: drawing one takes longer than the replays of such a test."""
    from flashtwin import report
    from flashtwin.results import names

    def build(folder: Path | str, *, out: Path | str | None = None) -> Path:
        page = Path(folder if out is None else out) / names.REPORT
        page.touch()
        return page

    monkeypatch.setattr(report, "build", build)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with `tests/golden/NAME`; `--update-golden` writes it."""

    def check(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"{path} is missing; write it with `pytest tests --update-golden`"
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture
def golden_digests(request: pytest.FixtureRequest) -> Callable[[str, dict[str, str]], None]:
    """Compares digests, by field, with the line of a case in `tests/golden/TEST.json`; `--update-golden` writes it."""
    path = ROOT / "tests" / "golden" / f"{request.path.stem.removeprefix('test_')}.json"

    def check(case: str, found: dict[str, str]) -> None:
        known: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        fields = known.pop("fields", "").split()
        if request.config.getoption("--update-golden"):
            fields += [field for field in found if field not in fields]
            known[case] = " ".join(found.get(field, "-") for field in fields)
            entries = {"fields": " ".join(fields), **dict(sorted(known.items()))}
            lines = (f"{json.dumps(name)}: {json.dumps(text)}" for name, text in entries.items())
            path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            return
        assert case in known, f"{path.name} does not know {case!r}; write it with `pytest tests --update-golden`"
        # A field that a case written earlier does not have is no field of it.
        before = {field: digest for field, digest in zip(fields, known[case].split(), strict=False) if digest != "-"}
        changed = sorted(field for field in found.keys() | before.keys() if found.get(field) != before.get(field))
        assert not changed, f"{case}: {', '.join(changed)}"

    return check


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fiu(rows: Iterable[tuple[int, int, str, int]]) -> str:
    """Requests of a page each: time in ns, page, kind, content."""
    return "".join(f"{time} 1 p {page * 8} 8 {kind} 8 0 {content:032x}\n" for time, page, kind, content in rows)


def fiu_trace(requests: int, *, footprint: int = 400, step_ns: int = 100_000) -> str:
    """A FIU trace of one-page requests: half of them writes, a third of these of 20 common contents."""
    rows = []
    held: dict[int, int] = {}
    for number in range(requests):
        page = (number * 7919 + (number // 3) * 31) % footprint
        if number % 2 == 0:
            held[page] = number % 20 if number % 3 == 0 else 1_000_000 + number
        content = held.setdefault(page, 100 + page % 50)
        kind = "W" if number % 2 == 0 else "R"
        rows.append((number * step_ns, page, kind, content))
    return fiu(rows)


@pytest.fixture(scope="session")
def brief_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 requests with seven contents on 40 pages of two volumes, in 20 ms."""
    path = tmp_path_factory.mktemp("brief") / "small.fiu"
    lines = [f"{n * 50_000} 1 p {n % 40 * 8} 8 {'RW'[n % 3 > 0]} 8 {n % 2} {n % 7:032x}" for n in range(400)]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Counted:
    """Says how often a test tried something, for the study `reliability`."""
    return lambda number, what: record_property(f"counted {what}", number)


@pytest.fixture
def small_trace(tmp_path: Path) -> Path:
    """2,000 requests with contents on 400 pages, in 0.2 s."""
    path = tmp_path / "small.fiu"
    path.write_text(fiu_trace(2000), encoding="ascii")
    return path
