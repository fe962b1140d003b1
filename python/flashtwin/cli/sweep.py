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
    seed_option,
    systems_option,
    taken_reading,
    workers_option,
)
from flashtwin.cli._progress import Bars
from flashtwin.cli._spread import spread_options
from flashtwin.cli._sweeping import show
from flashtwin.cli._talk import say
from flashtwin.replays.filling import FILL
from flashtwin.replays.folders import SYSTEMS
from flashtwin.replays.presets import resolve_text
from flashtwin.replays.running import name_systems
from flashtwin.sweeps import plan, sweeping

#: The short forms of `--set` that take several values here.
_SHORT = ("speed", "queue_depth", "content", "period")


@click.command(short_help="Replay traces over a grid of settings, or search for the best.")
@click.argument("paths", metavar="TRACE...", nargs=-1, required=True)
@click.option(
    "--set", "sets", multiple=True, type=KeyValue(), metavar="KEY=A,B,...",
    help="Set a configuration key to several values: A,B,... or LOW:HIGH:STEP; repeatable. For --sample and "
    "--minimize also a range, LOW:HIGH or LOW:HIGH:log. Example: --set replication.alpha=0.1,0.2",
)  # fmt: skip
@click.option("--speed", metavar="X,Y,...", help="Replay X, Y, ... times as fast as recorded. Example: --speed 1,10")
@click.option(
    "--queue-depth", metavar="N,M,...", callback=at_least_one,
    help="Ignore recorded times; keep N, M, ... requests outstanding. Example: --queue-depth 1,32",
)  # fmt: skip
@click.option(
    "--period", type=Durations(), metavar="TIME,...",
    help="Period length; popular contents are copied when one ends. Example: --period 1h,1d  "
    "[default: each trace's own]",
)  # fmt: skip
@click.option(
    "--device", metavar="NAME,...",
    help="NAND devices: names of `flashtwin devices`, or TOML files. Example: --device rr-ssd,tlc-unit-2021",
)  # fmt: skip
@click.option(
    "--fill", metavar="SHARE,...",
    help="Shrink the drive until the trace fills this share of it, so that garbage collection runs. "
    "Example: --fill 80%,90%,95%",
)  # fmt: skip
@click.option(
    "--content",
    metavar="SOURCE,...",
    help="Page contents, as in `flashtwin replay`. Example: --content recorded,unique",
)
@systems_option(default=",".join(SYSTEMS))
@equal_ground_option
@click.option(
    "--grid/--zip",
    "grid",
    default=True,
    help="Combine each value with each, or first with first, second with second.  [default: grid]",
)
@click.option(
    "--sample", type=click.IntRange(min=1), metavar="N", help="Replay only N random points. Example: --sample 20"
)
@seed_option(0, click.INT)
@click.option(
    "--minimize", default="", metavar="FIGURE,...",
    help="Search for the smallest figure, or the trade-off of several. Example: --minimize read.p99,wa",
)  # fmt: skip
@click.option(
    "--maximize", default="", metavar="FIGURE,...", help="Search for the largest throughput. Example: --maximize iops",
)  # fmt: skip
@click.option(
    "--subject-to", default="", metavar="BOUND,...",
    help="Limits of a search. Example: --subject-to 'wa<=1.2,ram<=64MB'",
)  # fmt: skip
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Points a search may replay; with several traces, settings. Example: --trials 30",
)
@click.option(
    "--over", type=click.Choice(["mean", "worst"]), default="mean", show_default=True,
    help="With several traces, judge a setting by the geometric mean of its ratios to the first system, or by the "
    "worst. Example: --over worst",
)  # fmt: skip
@click.option(
    "--trade", default=sweeping.TRADE, show_default=True, metavar="X,Y",
    help="The two figures of the report's trade-off chart. Example: --trade read.p99,wa",
)  # fmt: skip
@files_options
@click.option(
    "--stream",
    is_flag=True,
    help="Read the file again for each replay instead of keeping it in memory; same results.",
)
@workers_option
@spread_options
@click.option(
    "--store", type=click.Path(path_type=Path), metavar="DIR",
    help="Folder that keeps runs; sweeps may share one. Example: --store runs  [default: store in --out]",
)  # fmt: skip
@click.option("--keep-tables", is_flag=True, help="Also keep the tables of each run, about a hundred times the size.")
@out_option("Folder for table and report. Example: --out mail-sweep  [default: sweep]")
@json_option
@click.pass_context
def sweep(ctx: click.Context, /, paths: tuple[str, ...], out: Path | None, as_json: bool, **options: Any) -> None:
    """Replay each TRACE on several systems over a grid of settings; the result has a row per point.

    TRACE is a file, or a folder of files. The same command with the same folder replays only missing points. A point
    with settings that are refused becomes a row with the reason, and the exit status is 1.

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
    """Keys with their values."""
    sets = list(options["sets"])
    sets += [("device", options["device"])] if options["device"] is not None else []
    sets += [(KEYS[flag], options[flag]) for flag in _SHORT if options[flag] is not None]
    if options["fill"] is not None:
        sets.append((FILL, re.sub(r"([\d.]+)\s*%", lambda found: str(Decimal(found[1]) / 100), options["fill"])))
    twice = next((key for key, _ in sets if [other for other, _ in sets].count(key) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"'{twice}' is set twice; give all of its values at once: {twice}=a,b")
    return {key: plan.axis(text) for key, text in sets}
