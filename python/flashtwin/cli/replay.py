"""`flashtwin replay`: one trace on one system."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.cli._options import (
    ReplayOptions,
    device_option,
    json_option,
    out_option,
    per_request_option,
    reading_options,
    running_options,
    stream_option,
    timeline_options,
)
from flashtwin.cli._replaying import choose, replay_all, show
from flashtwin.replays.timelines import Timeline
from flashtwin.traces.reading import Source


@click.command(short_help="Replay a trace on one system.")
@reading_options
@click.option(
    "--system",
    required=True,
    metavar="NAME",
    help="System: a name of `flashtwin systems`, or a TOML file. Example: --system rr-ssd",
)
@device_option
@running_options
@per_request_option
@timeline_options
@stream_option
@out_option("Folder for summary and tables. Example: --out mail-run  [default: print the figures only]")
@json_option
def replay(
    source: Source,
    running: ReplayOptions,
    system: str,
    per_request: bool,
    timeline: Timeline | None,
    stream: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Replay TRACE on one system and print its figures: response times, throughput, write amplification.

    \b
    Examples:
      flashtwin replay mail.fiu.zst --system rr-ssd --set replication.alpha=0.2
      flashtwin replay mail.fiu.zst --system rr-ssd --timeline run.pftrace --timeline-from 3s --timeline-to 4s
    """
    chosen = choose(running, [system])
    summaries = replay_all(source, running, chosen, out, stream=stream, per_request=per_request, timeline=timeline)
    show(summaries, as_json=as_json)
