"""`flashtwin sweep`: many replays, one table; or a search for the best of them."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from flashtwin.cli._options import (
    KEYS,
    Durations,
    KeyValue,
    at_least_one,
    equal_ground_option,
    files_options,
    json_option,
    out_option,
    systems_option,
    taken_reading,
)
from flashtwin.cli._progress import Bars
from flashtwin.cli._spread import spread_options
from flashtwin.cli._sweeping import show
from flashtwin.cli._talk import say
from flashtwin.replays.filling import FILL
from flashtwin.replays.presets import resolve_text
from flashtwin.replays.running import name_systems
from flashtwin.replays.studies import SYSTEMS
from flashtwin.sweeps import plan, sweeping

#: The short forms of `--set` that take several values here.
_SHORT = ("speed", "queue_depth", "content", "period")


@click.command(short_help="Replay traces with keys set to one value after another.")
@click.argument("paths", metavar="TRACE...", nargs=-1, required=True)
@click.option(
    "--set", "sets", multiple=True, type=KeyValue(), metavar="KEY=A,B,...",
    help="Set a key to each of several values: a,b,c, or LOW:HIGH:STEP; repeatable. LOW:HIGH and LOW:HIGH:log are "
    "drawn from, with --sample or --minimize.",
)  # fmt: skip
@click.option("--speed", metavar="X,Y,...", help="Replay X, Y, ... times as fast as recorded.")
@click.option(
    "--queue-depth", metavar="N,M,...", callback=at_least_one,
    help="Ignore the recorded times; keep N, M, ... requests under way.",
)  # fmt: skip
@click.option(
    "--period", type=Durations(), metavar="TIME,...",
    help="Length of a period, at whose end contents are copied: 120s, 1h, 1d.  [default: each trace's own]",
)  # fmt: skip
@click.option("--device", metavar="NAME,...", help="The NAND devices, by names of `flashtwin devices` or TOML files.")
@click.option(
    "--fill", metavar="SHARE,...",
    help="Give the drive as few blocks as it can have if the trace's pages are to take up no more than this of it: "
    "80%,90%,95%.",
)  # fmt: skip
@click.option("--content", metavar="SOURCE,...", help="Contents of pages, as in `flashtwin replay`.")
@systems_option(default=",".join(SYSTEMS))
@equal_ground_option
@click.option("--grid/--zip", "grid", default=True, help="Each value with each, or the first with the first.  [grid]")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Only N of the points, drawn by --seed.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of a sample or a search.")
@click.option(
    "--minimize", default="", metavar="FIGURE,...",
    help="Search for the smallest: read.p99, wa, ram, ...; of several, for the trade-off.",
)  # fmt: skip
@click.option(
    "--maximize", default="", metavar="FIGURE,...", help="Search for the largest throughput: iops, read.mb_per_s, ...",
)  # fmt: skip
@click.option("--subject-to", default="", metavar="BOUND,...", help="What a search must keep: wa<=1.2,ram<=64MB.")
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Points that a search may replay; of several traces, settings.",
)
@click.option(
    "--over", type=click.Choice(["mean", "worst"]), default="mean", show_default=True,
    help="How a search judges a setting on several traces: by the geometric mean of its ratios to the first system "
    "as it is, or by the worst of them.",
)  # fmt: skip
@click.option(
    "--trade", default=sweeping.TRADE, show_default=True, metavar="X,Y",
    help="The two figures that the page sets against one another.",
)  # fmt: skip
@files_options
@click.option(
    "--stream", is_flag=True, help="Each run reads its file again instead of holding the trace; results are the same."
)
@click.option("--workers", type=click.IntRange(min=0), default=0, help="Runs at once; 0: one for each core.")
@spread_options
@click.option(
    "--store", type=click.Path(path_type=Path), metavar="DIR",
    help="Where runs are kept; sweeps may share one.  [default: store in the folder]",
)  # fmt: skip
@click.option("--keep-tables", is_flag=True, help="Keep the tables of each run as well, a hundred times as much.")
@out_option("Folder for table and page.  [default: sweep]")
@json_option
@click.pass_context
def sweep(ctx: click.Context, /, paths: tuple[str, ...], out: Path | None, as_json: bool, **options: Any) -> None:
    """Replay each TRACE on several systems with keys set to one value after another: a row for each point.

    TRACE is a file, or a folder of files. Every run is kept as it ends; run again with the same folder, only what
    is missing is replayed. A point that is refused is a row with the reason, and the exit status is 1.

    \b
    Example:
      flashtwin sweep mail.fiu.zst --systems rr-ssd --set alpha=0.05,0.1,0.2,0.4 --speed 1,10 --out mail-sweep
      flashtwin sweep traces/ --set write_cache_pages=0:4096:1024 --shard 2/8 --out all
      flashtwin sweep mail.fiu.zst --systems rr-ssd --set alpha=0.01:0.5 --minimize read.p99 --subject-to "wa<=1.2"
    """
    systems = options["systems"]
    nobody_named = ctx.get_parameter_source("systems") is click.core.ParameterSource.DEFAULT
    how = sweeping.SweepOptions(
        reading=taken_reading(options),
        mode="grid" if options["grid"] else "zip",
        any_systems=nobody_named,
        **{
            name: options[name]
            for name in ("sample", "seed", "workers", "on", "shard", "store", "keep_tables", "equal_ground", "stream",
                         "trade", "minimize", "maximize", "subject_to", "trials", "over")
        },
    )  # fmt: skip
    chosen = name_systems([resolve_text(name, []) for name in systems], {})
    with Bars() as bars:
        heard = {"reading": bars.named("reading", "traces"), "runs": bars.named("replaying", "runs")}
        done = sweeping.run(
            paths, out or Path("sweep"), chosen, _axes(options), how,
            lambda what, *steps: heard[what](what, *steps), say,
        )  # fmt: skip
    show(done, as_json=as_json)
    if done.failed or (done.missing and how.shard is None):
        ctx.exit(1)


def _axes(options: dict[str, Any]) -> dict[str, plan.Axis]:
    """Keys with what to set them to in turn."""
    sets = list(options["sets"])
    sets += [("device", options["device"])] if options["device"] is not None else []
    sets += [(KEYS[flag], options[flag]) for flag in _SHORT if options[flag] is not None]
    if options["fill"] is not None:
        sets.append((FILL, re.sub(r"([\d.]+)\s*%", lambda found: str(Decimal(found[1]) / 100), options["fill"])))
    twice = next((key for key, _ in sets if [other for other, _ in sets].count(key) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"'{twice}' is set twice; give all of its values at once: {twice}=a,b")
    return {key: plan.axis(text) for key, text in sets}
