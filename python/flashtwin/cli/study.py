"""`flashtwin study`: the main job, from a trace to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from flashtwin.causes.choosing import TODAY
from flashtwin.cli._options import (
    ReplayOptions,
    effort_option,
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
from flashtwin.replays.folders import SYSTEMS, replay_into, without_contents
from flashtwin.results import folder, ground
from flashtwin.studies import EFFORT, StudyQuestions, finish
from flashtwin.traces.reading import Source


def _split_devices(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[str]:
    """`a` or `a,b` as a list."""
    found = [name.strip() for name in (value or "").split(",") if name.strip()]
    if len(found) > 2:
        raise click.BadParameter(f"'{value}' names {len(found)} drives; candidates are shown on two at most")
    return found


@click.command(short_help="Replay a trace on several systems and report the best choice.")
@reading_options
@systems_option(default=",".join(SYSTEMS))
@equal_ground_option
@running_options
@per_request_option
@stream_option
@goal_option
@effort_option(f"{EFFORT // 10**6}M")
@click.option(
    "--device",
    "devices",
    callback=_split_devices,
    metavar="A[,B]",
    help="NAND device, by name or TOML file, and a second one to show the candidates on. Example: --device "
    f"rr-ssd,{TODAY}  [default: the systems' own, and {TODAY}]",
)
@out_option("Folder for results and report. Example: --out mail-study  [default: the trace's name and -study]")
@json_option
def study(
    source: Source,
    running: ReplayOptions,
    systems: list[str],
    equal_ground: bool,
    per_request: bool,
    goal: str | None,
    effort: int | None,
    devices: list[str],
    stream: bool,
    out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Characterize TRACE, replay it on several systems, and report which to choose and why.

    TRACE is a file in a format of docs/trace-formats.md, plain or compressed, or - for standard input. The same
    command with the same folder computes only missing results. Without page contents, only systems that ignore
    contents are replayed, unless you give `--content` or `--systems`. --effort allows at least six replays per system,
    to find its best settings and its bottleneck.

    \b
    Example:
      flashtwin study mail.fiu.zst --period 1d --out mail-study
    """
    nobody_named = click.get_current_context().get_parameter_source("systems") is ParameterSource.DEFAULT
    if devices:
        running = replace(running, sets=[("device", devices[0]), *running.sets])
    chosen = choose(running, systems, equal_ground=equal_ground)
    with folder.prepared(out or Path(f"{source.stem}-study")) as path, Bars() as bars:
        trace = source.to_replay(stream=stream, progress=bars.reading(), notify=say)
        if nobody_named:
            chosen = dict(without_contents(trace, chosen, say))
        chosen = running.fitted(trace, chosen, bars.reading())
        replay_into(
            path, trace, chosen, running.threads, bars.job, say, equal_ground=equal_ground, per_request=per_request
        )
        other = devices[1] if len(devices) > 1 else None
        asked = StudyQuestions(effort, goal, other, running.fill, more_systems=nobody_named)
        done = finish(path, trace, chosen, asked, running.threads, bars.job, say)
    unequal = ground.ground({name: system.config for name, system in chosen.items()})
    show_report(done.report, done.findings, unequal, done.limits, done.choice, as_json=as_json)
