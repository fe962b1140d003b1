"""`flashtwin explain`: the bottleneck of a trace, and the change that removes it."""

from pathlib import Path
from typing import Annotated, Any

import click

from flashtwin.causes.explaining import Explanations, InterruptedExplanation
from flashtwin.causes.explaining import explain as explain_all
from flashtwin.cli._bridge import Shared, verb
from flashtwin.cli._options import Device, Effort, EqualGround, Goal, Json, ReplayOptions, Stream, TracePath
from flashtwin.cli._progress import Bars
from flashtwin.cli._replaying import choose
from flashtwin.cli._talk import data, data_json, say
from flashtwin.cli._types import Text, words
from flashtwin.traces import sources
from flashtwin.traces.reading import Reading, Source

_SYSTEM = "Systems to explain; for a folder, its runs. Example: --system rr-ssd  [default: all runs of a folder]"
SystemOption = Annotated[tuple[str, ...], Text(words), Shared(_SYSTEM, "A,B,...", ("--system", "--systems"))]


@verb()
def explain(
    path: TracePath,
    *,
    reading: Reading,
    system: SystemOption | None = None,
    device: Device | None = None,
    equal_ground: EqualGround = False,
    goal: Goal | None = None,
    effort: Effort | None = 10**8,
    trace: str | None = None,
    running: ReplayOptions,
    stream: Stream = False,
    out: Path | None = None,
    json: Json = False,
) -> None:
    """Find the bottleneck of TRACE on a system, the change that removes it, its gain and cost, and the command.

    TRACE is a trace, or a folder from `study`, `compare` or `replay`. flashtwin makes one resource at a time ideal,
    replays the trace, then tries practical changes, at least four replays per system. Replays kept in the folder are
    not repeated. docs/report.md explains the output.

    \b
    Example:
      flashtwin explain mail.fiu.zst --system rr-ssd --goal read.p99
      flashtwin explain mail-study --effort 1G

    Args:
        trace (FILE): The folder's trace, if you moved it. Example: --trace mail.fiu.zst
        out (DIR): Folder that keeps replays, so that an interrupted command can continue. Example: --out mail-why
    """
    running, is_folder = running.on(device), sources.is_results(path)
    asked: dict[str, Any] = {"goal": goal, "effort": effort, "threads": running.threads}
    try:
        with Bars() as bars:
            heard = bars.named("causes", "replays")
            if is_folder:
                if running.sets or running.fill is not None or equal_ground:
                    raise click.UsageError(f"{path}: its runs keep their settings; --set and the like are for traces")
                for option, given in (("--stream", stream), ("--out", out is not None)):
                    if given:
                        raise click.UsageError(f"{path}: it has trace and results already; {option} is for traces")
                found = explain_all(path, system, trace=trace, progress=heard, **asked)
            else:
                if trace is not None:
                    raise click.UsageError("--trace is for folders; here the trace itself is given")
                if not system:
                    raise click.UsageError("name a system to explain the trace on: --system ca-ssd")
                chosen = choose(running, system, equal_ground=equal_ground)
                opened = Source(path, reading).to_replay(stream=stream, progress=bars.job, notify=say)
                fitted = running.fitted(opened, chosen, bars.job)
                systems = list(fitted.values())
                found = explain_all(opened, systems, out=out, progress=heard, equal_ground=equal_ground, **asked)
    except InterruptedExplanation as stopped:
        _show(stopped.found, as_json=json)
        if out is not None or is_folder:
            say(f"the replays are kept in {out or path}; the same command goes on from there")
        raise
    _show(found, as_json=json)
    if is_folder and not json:
        say(f"kept in {path}; `flashtwin report {path}` shows it")


def _show(found: Explanations, *, as_json: bool) -> None:
    if as_json:
        data_json([dict(one.data) for _, one in found.items()])
    else:
        data(found.text)
