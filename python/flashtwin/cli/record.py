"""`flashtwin record`: a block trace, with page contents, from a live workload."""

from pathlib import Path
from typing import Annotated

import click

from flashtwin.cli._bridge import verb
from flashtwin.cli._options import File, Force, Json, expect_new
from flashtwin.cli._progress import Bars
from flashtwin.cli._serving import Address, For, Metrics, ReadOnly, serve
from flashtwin.cli._talk import data_json, say
from flashtwin.errors import FlashtwinError
from flashtwin.live import recording
from flashtwin.live.linux import expect_linux
from flashtwin.live.recording import Format

ENDINGS = {"parquet": ".parquet", "fiu": ".fiu"}


@verb()
def record(
    target: str,
    *command: Annotated[str, click.UNPROCESSED],
    out: File | None = None,
    at: Address,
    key_file: File | None = None,
    format: Format = "parquet",  # noqa: A002 - the option's name
    read_only: ReadOnly = False,
    for_s: For | None = None,
    metrics: Metrics | None = None,
    force: Force = False,
    import_: bool = False,
    recover: bool = False,
    json: Json = False,
) -> None:
    """Record a block trace, with page contents, from a live workload.

    flashtwin serves TARGET (a file, a block device, or another server's nbd:// or nbd+unix:// URI) as a network block
    device, prints its URI, and records all requests. Connect any NBD client. Recording ends with Ctrl-C, after --for,
    or when COMMAND ends, which finds the URI in NBD_URI and in place of {uri}. The trace stores a keyed digest of each
    4 KB, never the data; you can read it at any time, even after a crash.

    \b
    Example:
      flashtwin record disk.img --out mine.parquet -- qemu-io -f raw -c "write -P 7 0 64k" {uri}

    Args:
        command ([COMMAND]...): What to run meanwhile.
        out (TRACE): Trace to write. Example: --out mine.parquet
        key_file (FILE): Key of the digests, created if missing; share it to compare recordings.
            Example: --key-file my.key [default: a key that is not kept]
        format: Trace format; FIU's text has no trims and flushes. Example: --format fiu
        import_: Convert TARGET, a log of dm-log-writes or QEMU's blklogwrites.
        recover: Repair TARGET, a recording that was killed.
    """
    if recover:
        requests, cut = recording.recover(target)
        if json:
            data_json({"requests": requests, "cut_bytes": cut})
        say(f"{requests:,} requests, {cut:,} bytes cut off: {Path(target)}")
        return
    expect_linux("recording")
    if out is None:
        raise FlashtwinError(f"no trace is named; give --out NAME{ENDINGS[format]}")
    expect_new(out, (ENDINGS[format],), ", the format that is written", force=force)
    if import_:
        with Bars() as bars:
            requests = recording.import_log(
                target, out, key_file=key_file, progress=bars.named("importing the log", "req")
            )
        say(f"{requests:,} requests, without times and reads, which such logs have not: {out}")
        return
    server = recording.record(target, out, key_file=key_file, format=format, read_only=read_only, **at.beside(out))
    with server:
        status = serve(server, {"trace": str(out)}, command, for_s, metrics, as_json=json)
    figures = server.figures
    counts = figures["recording"]
    left_out = f", {counts['left_out']:,} left out, for which FIU has no words" if counts["left_out"] else ""
    if json:
        data_json(figures)
    say(f"{counts['requests']:,} requests{left_out}: {out}")
    if status:
        raise FlashtwinError(f"{command[0]}: ended with exit status {status}; the trace has what it did until then")
