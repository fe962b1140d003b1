"""`flashtwin compare`: one trace on several systems side by side."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.cli._options import (
    Reading,
    Running,
    json_option,
    out_option,
    reading_options,
    running_options,
    systems_option,
)
from flashtwin.cli._replaying import replay_all, show
from flashtwin.studies import SYSTEMS


@click.command(short_help="Replay a trace on several systems side by side.")
@reading_options
@systems_option(default=",".join(SYSTEMS))
@running_options
@out_option("Folder for summaries and tables, as `flashtwin report` reads it; without it, figures are printed only.")
@json_option
def compare(reading: Reading, running: Running, systems: list[str], out: Path | None, as_json: bool) -> None:
    """Replay TRACE on several systems, on all cores, and print their figures side by side.

    \b
    Example:
      flashtwin compare mail.fiu.zst --systems ca-ssd,rr-ssd --speed 10 --out mail-compared
    """
    show(replay_all(reading, running, systems, out), as_json=as_json)
