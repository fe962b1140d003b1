"""`flashtwin compare`: one trace on several systems side by side."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.cli._options import (
    Running,
    equal_ground_option,
    json_option,
    out_option,
    reading_options,
    running_options,
    stream_option,
    systems_option,
)
from flashtwin.cli._replaying import choose, replay_all, show
from flashtwin.replays.studies import SYSTEMS
from flashtwin.traces.reading import Source


@click.command(short_help="Replay a trace on several systems side by side.")
@reading_options
@systems_option(default=",".join(SYSTEMS))
@equal_ground_option
@running_options
@stream_option
@out_option("Folder for summaries and tables, as `flashtwin report` reads it; without it, figures are printed only.")
@json_option
def compare(
    source: Source,
    running: Running,
    systems: list[str],
    equal_ground: bool,
    stream: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Replay TRACE on several systems, on all cores, and print their figures side by side.

    What differs between the systems beyond what defines them, and moves reads or writes by itself, is listed.

    \b
    Example:
      flashtwin compare mail.fiu.zst --systems ca-ssd,rr-ssd --speed 10 --out mail-compared
    """
    chosen = choose(running, systems, equal_ground=equal_ground)
    show(replay_all(source, running, chosen, out, stream=stream, equal_ground=equal_ground), as_json=as_json)
