"""Shared by verbs that serve: the end of serving, and the display meanwhile."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import click
from rich.console import Console
from rich.live import Live

from flashtwin.cli._bridge import Shared
from flashtwin.cli._metrics import metrics
from flashtwin.cli._options import File
from flashtwin.cli._talk import data, say
from flashtwin.errors import FlashtwinError
from flashtwin.live.recording import Server

For = Annotated[float, Shared("Stop after this time. Example: --for 30min", "TIME")]
_METRICS = "Serve Prometheus metrics at http://HOST:PORT/metrics. Example: --metrics 127.0.0.1:9100"
Metrics = Annotated[str, Shared(_METRICS, "HOST:PORT")]
ReadOnly = Annotated[bool, Shared("Refuse writes.")]


@dataclass(frozen=True)
class Address:
    """Where to serve, and to whom.

    Attributes:
        socket (PATH): Unix socket to serve on; only you can connect. Example: --socket disk.sock
            [default: the file's name and .sock]
        listen (HOST:PORT): Serve on a loopback port instead. Example: --listen 127.0.0.1:10809
        tls_certificates (DIR): Require TLS: DIR holds server-cert.pem and server-key.pem. With ca-cert.pem, clients
            need a certificate from that authority and may connect from other machines. Example: --tls-certificates tls
    """

    socket: File | None = None
    listen: str | None = None
    tls_certificates: Annotated[Path, click.Path(path_type=Path, file_okay=False, exists=True)] | None = None

    def beside(self, file: Path) -> dict[str, Any]:
        """As arguments; without an address, the socket is beside the file."""
        by_default = file.with_suffix(".sock") if self.socket is None and self.listen is None else self.socket
        return {"socket": by_default, "listen": self.listen, "tls_certificates": self.tls_certificates}


LOOK_S = 0.5


def serve(
    server: Server, what: dict[str, str], command: Sequence[str], seconds: float | None, metrics_at: str | None, *,
    as_json: bool,
) -> int:  # fmt: skip
    """Prints the address; serves until the command has ended, the time is over or somebody interrupts.

    Returns the command's exit status.
    """
    data(json.dumps({"uri": server.uri, **what}) if as_json else server.uri)
    sys.stdout.flush()
    with metrics(server, metrics_at), _terminated_as_interrupted(), _line() as draw:
        running = _started(command, server.uri) if command else None
        try:
            return _wait(server, running, seconds, draw)
        except KeyboardInterrupt:
            # How a server is ended.
            return 0
        finally:
            if running is not None and running.poll() is None:
                running.terminate()
                running.wait()


def _wait(server: Server, running: subprocess.Popen[bytes] | None, seconds: float | None, draw: Any) -> int:
    began = last = time.monotonic()
    before = server.figures
    told: set[str] = set()
    while seconds is None or time.monotonic() - began < seconds:
        left = LOOK_S if seconds is None else min(LOOK_S, max(0.0, began + seconds - time.monotonic()))
        if running is None:
            time.sleep(left)
        else:
            with suppress(subprocess.TimeoutExpired):
                return running.wait(left)
        now, figures = time.monotonic(), server.figures
        draw(line(before, figures, max(now - last, 1e-9)))
        before, last = figures, now
        warn(figures, told)
    return 0


def warn(figures: Mapping[str, Any], told: set[str]) -> None:
    for kind, words in (("failure", _failure(figures)), ("damage", _damage(figures))):
        if words and kind not in told:
            told.add(kind)
            say(f"warning: {words}")


def _damage(figures: Mapping[str, Any]) -> str | None:
    """Losses of a drive since it was opened, or before."""
    if "drive" not in figures:
        return None
    lost, damaged = figures["drive"]["state"]["lost_pages"], figures["drive"]["store"]["damaged_pages"]
    if not lost and not damaged:
        return None
    met = f"{damaged:,} flash pages did not hold what was written to them, " if damaged else ""
    return f"{met}the data of {lost:,} are lost; `flashtwin drive check IMAGE` lists what cannot be read"


def _failure(figures: Mapping[str, Any]) -> str | None:
    """Functions that have stopped though the server goes on."""
    if "drive" in figures:
        drive = figures["drive"]
        stopped = figures.get("twin", {}).get("failure")
        return (
            drive["read_only"]
            or (drive["failure"] and f"no more periods end: {drive['failure']}")
            or (stopped and f"answers are not held back any more, the modelled drive stopped: {stopped}")
            or None
        )
    failure = figures["recording"]["failure"]
    return f"nothing is recorded any more, requests go on: {failure}" if failure else None


def _started(command: Sequence[str], uri: str) -> subprocess.Popen[bytes]:
    words = [word.replace("{uri}", uri) for word in command]
    try:
        return subprocess.Popen(words, env={**os.environ, "NBD_URI": uri})  # noqa: S603 - the user's own command
    except OSError as error:
        raise FlashtwinError(f"{words[0]}: cannot be started ({(error.strerror or str(error)).lower()})") from error


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends a server as Ctrl-C does; signals are the main thread's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _line() -> Iterator[Any]:
    """Draws one line on a terminal, again and again; nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield lambda text: live.update(text, refresh=True)


def line(before: Mapping[str, Any], now: Mapping[str, Any], seconds: float) -> str:
    parts = []
    for was, found in zip(before["server"]["operations"], now["server"]["operations"], strict=True):
        requests = found["requests"] - was["requests"]
        if requests:
            name = found["operation"].replace("_", " ")
            megabytes = (found["bytes"] - was["bytes"]) / seconds / 1e6
            mean_us = (found["time_ns"] - was["time_ns"]) / requests / 1e3
            parts.append(f"{name} {requests / seconds:,.0f}/s {megabytes:,.1f} MB/s {mean_us:,.0f} µs")
    clients = f"{now['server']['connections']} connected"
    return "  |  ".join([clients, *(parts or ["idle"]), _behind(now)])


def _behind(now: Mapping[str, Any]) -> str:
    if "drive" not in now:
        recording = now["recording"]
        return f"recorded {recording['requests']:,} requests, {recording['file_bytes'] / 1e6:,.1f} MB"
    drive = now["drive"]
    share = drive["duplicate_write_share"]
    programs = [f"{cause.replace('_', ' ')} {pages:,}" for cause, pages in drive["flash_writes"].items() if pages]
    duplicates = [] if share is None or drive["state"]["contents"] is None else [f"duplicates {share:.1%}"]
    queues = now.get("twin", {}).get("chip_queues", [])
    waiting = [f"at the chips {sum(queues):,}, at one at most {max(queues):,}"] if queues else []
    return ", ".join([*duplicates, f"programmed: {', '.join(programs) or 'nothing'}", *waiting])
