"""flashtwin on systems other than Linux, whose core serves and records nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin import _core, cli
from flashtwin.live import linux

ONLY_THERE = (
    "Server", "record", "import_log_writes", "create_drive", "expect_drive", "serve_drive", "drive_info_json",
    "check_drive_json",
)  # fmt: skip

WHY = "lacks calls of the system that real bytes are kept with; use"


@pytest.fixture(params=["Windows", "macOS"])
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The name of a system whose core is without what serves and records; in an empty folder."""
    for name in ONLY_THERE:
        monkeypatch.delattr(_core, name)
    monkeypatch.setattr(linux, "HERE", request.param)
    monkeypatch.chdir(tmp_path)
    return str(request.param)


@pytest.mark.parametrize(
    ("call", "words", "what"),
    [
        (lambda: ft.serve("drive.img", system="rr-ssd", size_bytes=64 << 20),
         "serve --system rr-ssd --size 64M drive.img --out served", "serving a drive"),
        (lambda: ft.record("disk.img", "mine.parquet"), "record disk.img", "recording"),
        (lambda: ft.import_log("log.img", "mine.parquet"), "record --import log.img --out mine.parquet",
         "importing a log of writes"),
        (lambda: ft.drive_info("drive.img"), "drive info drive.img", "looking at a drive"),
        (lambda: ft.drive_system("drive.img"), "drive system drive.img", "looking at a drive"),
        (lambda: ft.check_drive("drive.img"), "drive check drive.img", "checking a drive"),
    ],
)  # fmt: skip
def test_real_bytes_are_refused_in_one_message(
    here: str, call: Callable[[], object], words: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cure = "WSL, or a Linux machine" if here == "Windows" else "a Linux machine, or a virtual one"
    message = f"takes Linux: {here} {WHY} {cure}"
    with pytest.raises(ft.LiveError) as refused:
        call()
    assert str(refused.value) == f"{what} {message}"
    assert cli.run(words.split()) == 2
    verb = "recording" if words.startswith("record") else what
    assert tuple(capsys.readouterr()) == ("", f"error: {verb} {message}\n")
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("verb", ["serve", "record", "drive"])
def test_their_help_is_there(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([verb, "--help"]) == 0
    assert "Usage:" in capsys.readouterr().out


@pytest.mark.usefixtures("here")
def test_an_interrupted_recording_is_cut_back_anywhere() -> None:
    Path("no.parquet").write_bytes(b"PAR1 but nothing else")
    with pytest.raises(ft.TraceError, match="this is no recording"):
        ft.recover("no.parquet")
    assert cli.run(["record", "--recover", "no.parquet"]) == 2
