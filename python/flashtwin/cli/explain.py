"""`flashtwin explain`: what limits me, and what removes it."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.causes.explaining import Explanations, InterruptedExplanation
from flashtwin.causes.explaining import explain as explain_all
from flashtwin.cli._options import (
    Effort,
    Running,
    device_option,
    goal_option,
    json_option,
    out_option,
    reading_options,
    running_options,
    stream_option,
)
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import data, data_json, say
from flashtwin.traces.reading import Source


@click.command(short_help="Say what holds a trace back, what removes it, and what that brings.")
@reading_options
@click.option(
    "--system", "--systems", "system", metavar="A,B,...", help="The systems; of a folder its runs, all without this."
)
@device_option
@goal_option
@click.option(
    "--effort",
    type=Effort(),
    metavar="N",
    default="100M",
    show_default=True,
    help="Page operations of replays: 20M, 2G; four replays of a system are made at least. 0: none; all: as many as it "
    "takes. What was replayed before takes none.",
)
@click.option("--trace", "trace_file", metavar="FILE", help="Of a folder: its trace, where that was moved.")
@running_options
@stream_option
@out_option("Folder to keep replays in: the same command, interrupted, goes on from there.")
@json_option
def explain(
    source: Source,
    running: Running,
    system: str | None,
    goal: str | None,
    effort: int | None,
    trace_file: str | None,
    stream: bool,
    out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Say what holds TRACE back on a system, which change removes it, what that brings and takes, and the command.

    TRACE is a file, or a folder that `study`, `compare` or `replay` wrote. One thing at a time is made ideal and the
    trace replayed again, then steps that can be taken; docs/report.md tells how to read it.

    \b
    Example:
      flashtwin explain mail.fiu.zst --system rr-ssd --goal read.p99
      flashtwin explain mail-study --effort 1G
    """
    of = None if system is None else [name.strip() for name in system.split(",") if name.strip()]
    try:
        with Bars() as bars:
            found = _explained(source, running, of, goal, effort, trace_file, out, bars, stream=stream)
    except InterruptedExplanation as stopped:
        _show(stopped.found, as_json=as_json)
        if out is not None or Path(source.path).is_dir():
            say(f"the replays are kept in {out or source.path}; the same command goes on from there")
        raise
    _show(found, as_json=as_json)
    if as_json:
        return
    if Path(source.path).is_dir():
        say(f"kept in {source.path}; `flashtwin report {source.path}` shows it")


def _show(found: Explanations, *, as_json: bool) -> None:
    if as_json:
        data_json([dict(one.data) for _, one in found.items()])
    else:
        data(found.text)


def _explained(
    source: Source,
    running: Running,
    systems: list[str] | None,
    goal: str | None,
    effort: int | None,
    trace_file: str | None,
    out: Path | None,
    bars: Bars,
    *,
    stream: bool,
) -> Explanations:
    heard = bars.named("causes", "replays")
    if Path(source.path).is_dir():
        if running.sets or running.fill is not None:
            raise click.UsageError(
                f"{source.path}: runs are explained as they were made; --set, --device and other short forms are for traces"
            )
        if stream:
            raise click.UsageError(f"{source.path}: its runs' trace is read as it was; --stream is for traces")
        if out is not None:
            raise click.UsageError(f"{source.path}: what is found is kept in it; --out is for traces")
        return explain_all(
            source.path, systems, goal=goal, effort=effort, trace=trace_file, threads=running.threads, progress=heard
        )
    if trace_file is not None:
        raise click.UsageError("--trace is for folders; here the trace itself is given")
    if not systems:
        raise click.UsageError("name a system to explain the trace on: --system ca-ssd")
    named = {name: running.system(name) for name in systems}
    trace = source.to_replay(stream=stream, progress=bars.reading(), notify=say)
    chosen = running.fitted(trace, named, bars.reading())
    return explain_all(
        trace, list(chosen.values()), goal=goal, effort=effort, out=out, threads=running.threads, progress=heard
    )
