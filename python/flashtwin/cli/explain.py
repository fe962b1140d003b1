"""`flashtwin explain`: the bottleneck of a trace, and the change that removes it."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.causes.explaining import Explanations, InterruptedExplanation
from flashtwin.causes.explaining import explain as explain_all
from flashtwin.cli._options import (
    ReplayOptions,
    device_option,
    effort_option,
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


@click.command(short_help="Find a trace's bottleneck, the change that removes it, and the gain.")
@reading_options
@click.option(
    "--system",
    "--systems",
    "system",
    metavar="A,B,...",
    help="Systems to explain; for a folder, its runs. Example: --system rr-ssd  [default: all runs of a folder]",
)
@device_option
@goal_option
@effort_option("100M")
@click.option(
    "--trace", "trace_file", metavar="FILE", help="The folder's trace, if you moved it. Example: --trace mail.fiu.zst"
)
@running_options
@stream_option
@out_option("Folder that keeps replays, so that an interrupted command can continue. Example: --out mail-why")
@json_option
def explain(
    source: Source,
    running: ReplayOptions,
    system: str | None,
    goal: str | None,
    effort: int | None,
    trace_file: str | None,
    stream: bool,
    out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Find the bottleneck of TRACE on a system, the change that removes it, its gain and cost, and the command.

    TRACE is a file, or a folder from `study`, `compare` or `replay`. flashtwin makes one resource at a time ideal,
    replays the trace, then tries practical changes, at least four replays per system. Replays kept in the folder are
    not repeated. docs/report.md explains the output.

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
    running: ReplayOptions,
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
                f"{source.path}: its runs keep their settings; --set, --device and the like are for traces"
            )
        if stream:
            raise click.UsageError(f"{source.path}: its trace is read as before; --stream is for traces")
        if out is not None:
            raise click.UsageError(f"{source.path}: the folder keeps the result itself; --out is for traces")
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
