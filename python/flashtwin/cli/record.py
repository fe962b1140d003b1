"""`flashtwin record`: a block trace, with page contents, from a live workload."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from flashtwin.cli._options import force_option, json_option
from flashtwin.cli._progress import Bars
from flashtwin.cli._serving import (
    for_option,
    listen_option,
    metrics,
    metrics_option,
    read_only_option,
    serve_until_end,
    socket_option,
    tls_option,
)
from flashtwin.cli._talk import data, data_json, say
from flashtwin.errors import FlashtwinError
from flashtwin.live.linux import expect_linux
from flashtwin.live.recording import Format, import_log, recover
from flashtwin.live.recording import record as begin

#: The ending of each format.
ENDINGS = {"parquet": ".parquet", "fiu": ".fiu"}


@click.command(short_help="Record a block trace, with page contents, from a live workload.")
@click.argument("target")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="TRACE",
    help="Trace to write. Example: --out mine.parquet",
)
@socket_option
@listen_option
@tls_option
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Key of the digests, created if missing; share it to compare recordings. Example: --key-file my.key  "
    "[default: a key that is not kept]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(ENDINGS)),
    default="parquet",
    show_default=True,
    help="Trace format; FIU's text has no trims and flushes. Example: --format fiu",
)
@read_only_option
@for_option
@metrics_option
@force_option
@click.option("--import", "is_log", is_flag=True, help="Convert TARGET, a log of dm-log-writes or QEMU's blklogwrites.")
@click.option("--recover", "is_cut", is_flag=True, help="Repair TARGET, a recording that was killed.")
@json_option
def record(
    target: str,
    command: tuple[str, ...],
    out: Path | None,
    form: Format,
    key_file: Path | None,
    seconds: float | None,
    metrics_at: str | None,
    force: bool,
    is_log: bool,
    is_cut: bool,
    as_json: bool,
    **served: Any,
) -> None:
    """Record a block trace, with page contents, from a live workload.

    flashtwin serves TARGET (a file, a block device, or another server's nbd:// or nbd+unix:// URI) as a network block
    device, prints its URI, and records all requests. Connect any NBD client. Recording ends with Ctrl-C, after --for,
    or when COMMAND ends, which finds the URI in NBD_URI and in place of {uri}. The trace stores a keyed digest of each
    4 KB, never the data; you can read it at any time, even after a crash.

    \b
    Example:
      flashtwin record disk.img --out mine.parquet -- qemu-io -f raw -c "write -P 7 0 64k" {uri}
    """
    if is_cut:
        _recover(Path(target), as_json=as_json)
        return
    expect_linux("recording")
    out = _checked(out, form, force=force)
    if is_log:
        with Bars() as bars:
            requests = import_log(target, out, key_file=key_file, progress=bars.named("importing the log", "req"))
        say(f"{requests:,} requests, without times and reads, which such logs have not: {out}")
        return
    socket, listen = served["socket"], served["listen"]
    if socket is None and listen is None:
        socket = out.with_suffix(".sock")
    server = begin(
        target, out, socket=socket, listen=listen, key_file=key_file, format=form, read_only=served["read_only"],
        tls_certificates=served["tls_certificates"],
    )  # fmt: skip
    with server:
        data(json.dumps({"uri": server.uri, "trace": str(out)}) if as_json else server.uri)
        sys.stdout.flush()
        with metrics(server, metrics_at):
            status = serve_until_end(server, command, seconds)
    figures = server.figures
    recording = figures["recording"]
    left_out = f", {recording['left_out']:,} left out, for which FIU has no words" if recording["left_out"] else ""
    if as_json:
        data_json(figures)
    say(f"{recording['requests']:,} requests{left_out}: {out}")
    if status:
        raise FlashtwinError(f"{command[0]}: ended with exit status {status}; the trace has what it did until then")


def _recover(path: Path, *, as_json: bool) -> None:
    requests, cut = recover(path)
    if as_json:
        data_json({"requests": requests, "cut_bytes": cut})
    say(f"{requests:,} requests, {cut:,} bytes cut off: {path}")


def _checked(out: Path | None, form: Format, *, force: bool) -> Path:
    ending = ENDINGS[form]
    if out is None:
        raise FlashtwinError(f"no trace is named; give --out NAME{ending}")
    if out.suffix != ending:
        raise FlashtwinError(f"{out}: the name must end in {ending}, the format that is written")
    if (out.exists() or out.is_symlink()) and not force:
        raise FlashtwinError(f"{out}: exists; give --force to replace it")
    if not out.absolute().parent.is_dir():
        raise FlashtwinError(f"{out}: there is no folder '{out.parent}'; make it first")
    return out
