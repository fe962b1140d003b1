"""The figures of a server for Prometheus: as text, and over HTTP."""

import ipaddress
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flashtwin.cli._talk import say
from flashtwin.errors import FlashtwinError
from flashtwin.live.recording import Server
from flashtwin.results.trees import dig

#: Of each operation: the figure, the name and the help of its family.
_OPERATIONS = (
    ("requests", "requests", "Requests answered, errors among them."),
    ("errors", "errors", "Requests answered with an error."),
    ("bytes", "bytes", "Bytes of requests without error."),
)
#: Where a figure stands, the name and the help of its family. Names of counters end in `_total`.
_FIGURES = (
    ("server.connections", "connections", "Clients connected."),
    ("server.in_flight", "in_flight", "Requests being worked on."),
    ("server.connections_in_all", "connections_total", "Clients that were ever connected."),
    ("server.connections_refused", "connections_refused_total", "Clients sent away since there were too many."),
    ("drive.flash_writes", "flash_writes_total", "Pages programmed, by cause."),
    ("drive.flash_reads", "flash_reads_total", "Pages read, by cause."),
    ("drive.erases.total", "erases_total", "Blocks erased."),
    ("drive.host_pages_written", "host_pages_written_total", "Page writes of clients."),
    ("drive.page_ops.duplicate_writes", "duplicate_writes_total", "Of these, pages whose content was on flash."),
    ("drive.state.mapped_pages", "mapped_pages", "Logical pages that hold something."),
    ("drive.state.pages_in_use", "pages_in_use", "Flash pages that hold what these have."),
    ("drive.state.replica_pages", "replica_pages", "Of these, copies made on purpose."),
    ("drive.state.table_bytes", "table_bytes", "Bytes of all tables in RAM."),
    ("drive.store.log_batches", "log_batches_total", "Batches of the log written."),
    ("drive.store.lone_batches", "lone_batches_total", "Of these, batches of which only one copy could be written."),
    ("drive.store.checkpoints", "checkpoints_total", "Checkpoints written."),
    ("drive.store.damaged_pages", "damaged_pages_total", "Pages that did not hold what was written to them."),
    ("drive.store.retried_writes", "retried_writes_total", "Writes of the image that failed and were tried again."),
    ("drive.store.replaced_pages", "replaced_pages_total", "Pages written elsewhere since their places failed."),
    ("drive.state.lost_pages", "lost_pages", "Flash pages that stand for data that are lost."),
    ("drive.state.retired_blocks", "retired_blocks", "Blocks that are used no more."),
    ("drive.read_only", "read_only", "1 when nothing is written any more."),
    ("twin.held_back", "twin_held_back_total", "Answers held back until the modelled drive had them."),
    ("twin.store_was_slower", "twin_store_was_slower_total", "Answers for which the image's disk took longer."),
    ("twin.late_ns", "twin_late_seconds_total", "By how much answers held back came after the modelled drive's."),
    ("twin.chip_queues", "twin_chip_queue", "Operations waiting and in service at a chip of the modelled drive."),
    ("twin.failure", "twin_failed", "1 when nothing is held back any more."),
    ("recording.requests", "recorded_requests_total", "Requests written down."),
    ("recording.file_bytes", "recording_bytes", "Bytes of the recording."),
    ("recording.failure", "recording_failed", "1 when nothing is written down any more."),
    ("recording.stalled_ns", "recording_stalled_seconds_total", "Time that requests waited for the recording."),
)


def prometheus(figures: Mapping[str, Any]) -> str:
    operations = figures["server"]["operations"]
    lines: list[str] = []
    for key, name, words in _OPERATIONS:
        counts = {f'{{operation="{one["operation"]}"}}': one[key] for one in operations}
        lines += _family(f"{name}_total", "counter", words, counts)
    times = {label: value for one in operations for label, value in _histogram(one)}
    lines += _family("request_seconds", "histogram", "Time from request to reply.", times)
    for path, name, words in _FIGURES:
        if path.partition(".")[0] in figures:
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += _family(name, kind, words, _samples(path, dig(figures, path)))
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, words: str, samples: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP flashtwin_{name} {words}"
    yield f"# TYPE flashtwin_{name} {kind}"
    yield from (f"flashtwin_{name}{label} {value:.10g}" for label, value in samples.items())


def _samples(path: str, value: Any) -> dict[str, float]:
    """The samples of a figure by label: counts by cause, queues by chip, whether there is a reason, or a number."""
    if isinstance(value, Mapping):
        return {f'{{cause="{cause}"}}': count for cause, count in value.items()}
    if isinstance(value, list):
        return {f'{{chip="{chip}"}}': length for chip, length in enumerate(value)}
    if value is None or isinstance(value, str):
        return {"": bool(value)}
    return {"": value / 1e9 if path.endswith("_ns") else value}


def _histogram(one: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The samples of one operation's histogram: ranges up to 1 µs, 2 µs, 4 µs and so on, the last without end."""
    label = f'operation="{one["operation"]}"'
    count = 0
    for number, times in enumerate(one["times"]):
        count += times
        bound = "+Inf" if number == len(one["times"]) - 1 else f"{2**number / 1e6:.10g}"
        yield f'_bucket{{{label},le="{bound}"}}', count
    yield f"_sum{{{label}}}", one["time_ns"] / 1e9
    yield f"_count{{{label}}}", count


def _warn_of_others(host: str) -> None:
    try:
        places = {found[4][0] for found in socket.getaddrinfo(host, None)}
        alone = all(ipaddress.ip_address(str(place).partition("%")[0]).is_loopback for place in places)
    except (OSError, ValueError):
        return
    if not alone:
        say(f"warning: whoever reaches {host} can read the figures; write 127.0.0.1:PORT to keep them on this machine")


@contextmanager
def metrics(server: Server, address: str | None) -> Iterator[None]:
    """Answers GET /metrics at an address as long as it is used; nothing without one."""
    if address is None:
        yield
        return

    class Answer(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            found = self.path.split("?")[0] in ("/metrics", "/")
            body = prometheus(server.figures).encode() if found else b"there is /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Says nothing."""

    host, _, port = address.rpartition(":")
    try:
        http = ThreadingHTTPServer((host.strip("[]"), int(port)), Answer)
    except (ValueError, OverflowError, OSError) as error:
        raise FlashtwinError(f"'{address}': figures cannot be told there ({error}); write 127.0.0.1:9090") from error
    http.daemon_threads = True
    _warn_of_others(host.strip("[]"))
    with http:
        threading.Thread(target=http.serve_forever, name="metrics", daemon=True).start()
        say(f"figures: http://{host}:{http.server_port}/metrics")
        try:
            yield
        finally:
            http.shutdown()
