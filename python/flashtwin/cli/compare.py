"""`flashtwin compare`: one trace on several systems side by side, or results that were saved."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from flashtwin.cli._options import (
    ReplayOptions,
    device_option,
    equal_ground_option,
    json_option,
    out_option,
    per_request_option,
    results_or_trace_options,
    running_options,
    stream_option,
    systems_option,
)
from flashtwin.cli._replaying import choose, replay_all, show
from flashtwin.cli._talk import say
from flashtwin.replays.folders import SYSTEMS
from flashtwin.replays.running import Comparison
from flashtwin.traces.reading import Source


@click.command(short_help="Compare systems on a trace, or saved results.")
@results_or_trace_options
@systems_option(default=",".join(SYSTEMS))
@equal_ground_option
@device_option
@running_options
@per_request_option
@stream_option
@out_option("Folder for summaries and tables, for `flashtwin report`. Example: --out mail-compared")
@click.option("--across-traces", is_flag=True, help="Compare saved results even if their traces differ.")
@json_option
@click.pass_context
def compare(
    ctx: click.Context,
    source: Source | None,
    results: list[Path] | None,
    running: ReplayOptions,
    systems: list[str],
    equal_ground: bool,
    per_request: bool,
    stream: bool,
    out: Path | None,
    across_traces: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Replay TRACE on several systems, on all cores, and print their figures side by side; or compare RESULTs.

    Without page contents, only systems that ignore contents are replayed, unless you give `--content` or `--systems`.
    Settings that differ between the systems, apart from their mechanisms, are listed.

    RESULTs are compared without a replay: first the settings that differ, then the figures, the first RESULT being the
    baseline. A RESULT is a folder from `study`, `compare` or `replay`, one run in it, a sweep's folder, or an entry of
    its store.

    \b
    Examples:
      flashtwin compare mail.fiu.zst --systems ca-ssd,rr-ssd --speed 10 --out mail-compared
      flashtwin compare mail-monday mail-tuesday
    """
    if results is not None:
        _of_results(ctx, results, out, across_traces=across_traces, as_json=as_json)
        return
    if across_traces:
        raise click.UsageError("--across-traces is for saved results; a trace is one trace")
    assert source is not None  # noqa: S101 - one of the two is given
    nobody_named = ctx.get_parameter_source("systems") is ParameterSource.DEFAULT
    chosen = choose(running, systems, equal_ground=equal_ground)
    found = replay_all(
        source,
        running,
        chosen,
        out,
        stream=stream,
        equal_ground=equal_ground,
        any_systems=nobody_named,
        per_request=per_request,
    )
    show(found, as_json=as_json)


def _of_results(
    ctx: click.Context, results: list[Path], out: Path | None, *, across_traces: bool, as_json: bool
) -> None:
    from flashtwin.cli import _saved
    from flashtwin.results import together

    _saved.refuse_options(ctx)
    _saved.show(together.gather(results), across_traces=across_traces, as_json=as_json)
    if out is not None:
        Comparison.of(*results).save(out)
        say(f"results: {out}")
