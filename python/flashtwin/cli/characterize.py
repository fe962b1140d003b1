"""`flashtwin characterize`: the properties of workloads that matter to an SSD."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.characterization.measuring import Characterization
from flashtwin.cli._characterizing import MeasuringOptions, measuring_options, show, show_batch
from flashtwin.cli._options import json_option, out_option, workers_option
from flashtwin.cli._progress import Bars
from flashtwin.cli._spread import spread_options
from flashtwin.cli._talk import say
from flashtwin.results import names
from flashtwin.sweeps import batch, jobs


@click.command(short_help="Measure the properties of traces that matter to an SSD.")
@click.argument("paths", metavar="TRACE...", nargs=-1, required=True)
@measuring_options
@workers_option
@spread_options
@click.option(
    "--reports/--no-reports", default=True, show_default=True, help="Write a report for each trace; each takes seconds."
)
@click.option("--by-volume", is_flag=True, help="Also characterize each volume of a file by itself.")
@out_option(
    "Folder for results and report. Example: --out mail-workload  "
    "[default: the trace's name and -workload, or workloads]"
)
@json_option
@click.pass_context
def characterize(
    ctx: click.Context,
    paths: tuple[str, ...],
    measuring: MeasuringOptions,
    workers: int,
    on: str | None,
    shard: tuple[int, int] | None,
    reports: bool,
    by_volume: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure the properties of each TRACE that matter to an SSD (docs/characterization.md) and write a report.

    TRACE is a file, - for standard input, or a folder. Several traces get a folder each below DIR/traces, and DIR gets
    a table with a row per trace and the distributions. A trace that cannot be read is listed at the end (exit status
    1). The same command with the same folder computes only missing results. After all parts of --shard, run once
    without it for statistics and report.

    A file with several volumes is one trace. With --by-volume, each volume gets a folder below volumes/, and the
    tables show the volumes instead of the file, as in the SWC paper.

    \b
    Example:
      flashtwin characterize mail.fiu.zst --out mail-workload
      flashtwin characterize huge.csv.gz --stream --sample 0.01
      flashtwin characterize traces/ --shard 2/8 --out all
      flashtwin characterize traces/ --workers 2 --partitions 1,4,8 --op 7,28 --no-reports --out all
    """
    if len(paths) == 1 and not Path(paths[0]).is_dir() and on is None and shard is None:
        _one(paths[0], measuring, out, reports=reports, by_volume=by_volume, as_json=as_json)
        return
    with Bars() as bars:
        done = batch.run(
            paths,
            out or Path("workloads"),
            measuring.options,
            measuring.reading,
            stream=measuring.stream,
            by_volume=by_volume,
            reports=reports,
            workers=workers,
            on=on,
            shard=shard,
            progress=bars.named("characterizing", "traces"),
            notify=say,
        )
    show_batch(done, as_json=as_json)
    if done.failures:
        ctx.exit(1)


def _one(
    path: str, measuring: MeasuringOptions, out: Path | None, *, reports: bool, by_volume: bool, as_json: bool
) -> None:
    """One trace: its folder and its report, whether or not they were there before."""
    target = out or Path(f"{measuring.stem(path)}-workload")
    job = jobs.Job(
        name=path,
        path=path,
        out=str(target),
        options=measuring.options,
        reading=measuring.reading,
        stream=measuring.stream,
        by_volume=by_volume,
        report=reports,
        key=measuring.key(path, by_volume=by_volume),
    )
    if path != "-" and job.is_done:
        say(f"reusing {target}: same file, same options")
        found = Characterization.read(target)
    else:
        with Bars() as bars:
            found = jobs.do(job, bars.named("characterizing", "steps"))
    show(found, target / names.REPORT if reports else None, as_json=as_json)
    if not reports:
        say(f"results: {target}")
