"""`flashtwin compare`: one trace on several systems side by side, or results that were saved."""

from pathlib import Path

import click

from flashtwin.cli._bridge import is_default, verb
from flashtwin.cli._options import AcrossTraces, Device, EqualGround, Json, PerRequest, ReplayOptions, Stream, Systems
from flashtwin.cli._replaying import choose, replay_all, show
from flashtwin.cli._talk import say
from flashtwin.replays.folders import SYSTEMS
from flashtwin.replays.running import Comparison
from flashtwin.results import together
from flashtwin.traces.reading import Reading, Source


@verb()
def compare(
    *paths: str,
    reading: Reading,
    systems: Systems = SYSTEMS,
    equal_ground: EqualGround = False,
    device: Device | None = None,
    running: ReplayOptions,
    per_request: PerRequest = False,
    stream: Stream = False,
    out: Path | None = None,
    across_traces: AcrossTraces = False,
    json: Json = False,
) -> None:
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

    Args:
        paths (TRACE | RESULT...): The trace, or saved results.
        out (DIR): Folder for summaries and tables, for `flashtwin report`. Example: --out mail-compared
    """
    saved = [Path(path) for path in paths if path != "-" and together.is_results(path)]
    if len(saved) == len(paths):
        from flashtwin.cli import _saved

        _saved.refuse_options(click.get_current_context())
        _saved.show(together.gather(saved), across_traces=across_traces, as_json=json)
        if out is not None:
            Comparison.of(*saved).save(out)
            say(f"results: {out}")
        return
    if len(paths) > 1:
        other = next(path for path in paths if Path(path) not in saved)
        raise click.UsageError(
            f"{other}: holds no results; several are compared only where all are results that were saved. Of one "
            "trace, --systems names what to replay it on"
        )
    if across_traces:
        raise click.UsageError("--across-traces is for saved results; a trace is one trace")
    running = running.on(device)
    chosen = choose(running, systems, equal_ground=equal_ground)
    summaries = replay_all(
        Source(paths[0], reading),
        running,
        chosen,
        out,
        stream=stream,
        equal_ground=equal_ground,
        any_systems=is_default("systems"),
        per_request=per_request,
    )
    show(summaries, as_json=json)
