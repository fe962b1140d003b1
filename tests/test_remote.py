"""Traces at URLs: copied once a version, complete or not at all."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.traces import sources

from .conftest import Cli, fiu_trace
from .test_bad_input import complains
from .test_characterize import BRIEF


class _Server(http.server.SimpleHTTPRequestHandler):
    def send_header(self, name: str, value: str) -> None:
        # Files of this name end early.
        longer = name == "Content-Length" and "torn" in self.path
        super().send_header(name, str(int(value) + 5) if longer else value)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    handler = functools.partial(_Server, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def test_a_url_is_read_like_a_file(server: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mail.fiu").write_text(fiu_trace(1500))
    here = ft.open(tmp_path / "mail.fiu")
    there = ft.open(f"{server}/mail.fiu?key=secret")
    assert (there.digest, there.name) == (here.digest, "mail")
    assert ft.scan(Path(f"{server}/mail.fiu")).digest == here.digest
    verb = ("replay", "--system", "conventional", "--json", "--out", "there")
    assert cli(*verb, f"{server}/mail.fiu", status=0).out == cli(*verb[:-1], "here", "mail.fiu", status=0).out
    # Another version at the same address is copied again.
    (tmp_path / "mail.fiu").write_text(fiu_trace(1600))
    assert len(ft.open(f"{server}/mail.fiu")) == 1600


def test_a_split_trace_at_a_url(server: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mail.fiu").write_text(fiu_trace(1500))
    ft.split(tmp_path / "mail.fiu", tmp_path / "parts")
    manifest = f"{server}/parts/manifest.json"
    cli("characterize", manifest, *BRIEF, "--workers", "1", "--out", "out", status=0)
    done = cli("characterize", manifest, *BRIEF, "--workers", "1", "--out", "out", status=0)
    assert "reusing 1 of 1 traces" in done.err
    assert not list(Path(sources.scratch().name).rglob("*8-0*")), "a volume that is done needs no copy"
    assert ft.open(manifest).digest == ft.open(tmp_path / "mail.fiu").digest
    swept = ft.sweep(manifest, tmp_path / "sweep", ["conventional"], workers=1, report=False)
    assert swept.counts["done"] == 1


def test_urls_that_cannot_be_read(server: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "torn.fiu").write_text(fiu_trace(10))
    (tmp_path / "wrong.csv").write_text("1,2\n")
    url = f"{server}/torn.fiu"
    complains(cli("trace", "info", url), f"{url}: ended after", "try again")
    complains(cli("trace", "info", f"{server}/none.fiu"), f"error: {server}/none.fiu: the server answers 404")
    complains(cli("trace", "info", "http://127.0.0.1:9/x"), "http://127.0.0.1:9/x: cannot be read", "check address")
    complains(cli("trace", "info", "nosuch://x/y"), "nosuch://x/y: cannot be read", "nosuch")
    complains(cli("trace", "info", f"{server}/wrong.csv"), f"{server}/wrong.csv")


def test_stores(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    (tmp_path / "mail.fiu").write_text(fiu_trace(1500))
    with fsspec.open("memory://traces/mail.fiu", "wb") as file:
        file.write((tmp_path / "mail.fiu").read_bytes())
    # PyArrow reads files as it reads stores.
    for url in ("memory://traces/mail.fiu", (tmp_path / "mail.fiu").as_uri()):
        assert ft.open(url).digest == ft.open(tmp_path / "mail.fiu").digest
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    complains(cli("trace", "info", "memory://traces/mail.fiu"), "memory:// is read through fsspec", "pip install")
