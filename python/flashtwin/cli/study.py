"""`flashtwin study`: the main job, from a trace to a report."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin import folder
from flashtwin.cli._options import (
    Reading,
    Running,
    json_option,
    out_option,
    reading_options,
    running_options,
    systems_option,
)
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import say, show_report
from flashtwin.replays import name_systems
from flashtwin.studies import SYSTEMS, finish, replay_into


@click.command(short_help="Characterize a trace, replay it on several systems, write the report.")
@reading_options
@systems_option(default=",".join(SYSTEMS))
@running_options
@out_option("Folder for results and report.  [default: the trace's name and -study]")
@json_option
def study(reading: Reading, running: Running, systems: list[str], out: Path | None, as_json: bool) -> None:
    """Characterize TRACE, replay it on several systems and write the report.

    TRACE is a file in any format of docs/trace-formats.md, plain or compressed, or - for standard input.
    Run again with the same folder, only what is new is computed.

    \b
    Example:
      flashtwin study mail.fiu.zst --period 1d --out mail-study
    """
    chosen = name_systems([running.system(name) for name in systems], {})
    with folder.prepared(out or Path(f"{reading.stem}-study")) as path, Bars() as bars:
        trace = reading.open(bars.reading())
        replay_into(path, trace, chosen, running.threads, bars.job, say)
        done = finish(path, trace, chosen, bars.job)
    show_report(done.report, done.findings, as_json=as_json)
