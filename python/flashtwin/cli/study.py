"""`flashtwin study`: the main job, from a trace to a report."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from flashtwin.cli._options import (
    Effort,
    Running,
    equal_ground_option,
    goal_option,
    json_option,
    out_option,
    per_request_option,
    reading_options,
    running_options,
    stream_option,
    systems_option,
)
from flashtwin.cli._progress import Bars
from flashtwin.cli._replaying import choose
from flashtwin.cli._talk import say, show_report
from flashtwin.replays.studies import EFFORT_S, SYSTEMS, finish, replay_into, without_contents
from flashtwin.results import folder, ground
from flashtwin.traces.reading import Source


@click.command(short_help="Characterize a trace, replay it on several systems, write the report.")
@reading_options
@systems_option(default=",".join(SYSTEMS))
@equal_ground_option
@running_options
@per_request_option
@stream_option
@click.option(
    "--write-cache/--no-write-cache",
    default=True,
    help="Make each run once more with a write-back cache of 4,096 pages, and say what that changes.  [default: do]",
)
@goal_option
@click.option(
    "--effort",
    type=Effort(),
    metavar="TIME",
    default=f"{EFFORT_S:g}s",
    show_default=True,
    help="Time for replays that tell what holds each system back: 30s, 5m, 1h; 0: none.",
)
@out_option("Folder for results and report.  [default: the trace's name and -study]")
@json_option
def study(
    source: Source,
    running: Running,
    systems: list[str],
    equal_ground: bool,
    per_request: bool,
    write_cache: bool,
    goal: str | None,
    effort: float,
    stream: bool,
    out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Characterize TRACE, replay it on several systems, say what holds each back, and write the report.

    TRACE is a file in any format of docs/trace-formats.md, plain or compressed, or - for standard input.
    Run again with the same folder, only what is new is computed. A trace without contents is replayed on what does
    not look at them, unless `--content` or `--systems` says otherwise.

    \b
    Example:
      flashtwin study mail.fiu.zst --period 1d --out mail-study
    """
    nobody_named = click.get_current_context().get_parameter_source("systems") is ParameterSource.DEFAULT
    chosen = choose(running, systems, equal_ground=equal_ground)
    with folder.prepared(out or Path(f"{source.stem}-study")) as path, Bars() as bars:
        trace = source.to_replay(stream=stream, progress=bars.reading(), notify=say)
        if nobody_named:
            chosen = dict(without_contents(trace, chosen, say))
        chosen = running.fitted(trace, chosen, bars.reading())
        replay_into(
            path, trace, chosen, running.threads, bars.job, say, equal_ground=equal_ground, per_request=per_request,
            write_cache=write_cache,
        )  # fmt: skip
        done = finish(path, trace, chosen, bars.job, effort_s=effort, goal=goal, threads=running.threads)
    unequal = ground.ground({name: system.config for name, system in chosen.items()})
    show_report(done.report, done.findings, unequal, done.limits, done.write_cache, as_json=as_json)
