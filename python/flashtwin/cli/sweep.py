"""`flashtwin sweep`: many replays, one table; or a search for the best of them."""

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import click

from flashtwin.cli import _types
from flashtwin.cli._bridge import Shared, is_default, verb
from flashtwin.cli._options import EqualGround, Json, On, Report, Sets, Shard, Systems, TracePaths, Workers
from flashtwin.cli._progress import Bars
from flashtwin.cli._sweeping import show
from flashtwin.cli._talk import say
from flashtwin.cli._types import Text
from flashtwin.replays.filling import FILL
from flashtwin.replays.folders import SYSTEMS
from flashtwin.replays.presets import resolve_text
from flashtwin.replays.running import name_systems
from flashtwin.results.keys import K
from flashtwin.results.over import Over
from flashtwin.sweeps import plan, sweeping
from flashtwin.traces.reading import Reading


@dataclass(frozen=True, kw_only=True)
class AxisOptions:
    """Keys with several values.

    Attributes:
        set (KEY=A,B,...): Set a configuration key to several values: A,B,... or LOW:HIGH:STEP; repeatable. For
            --sample and --minimize also a range, LOW:HIGH or LOW:HIGH:log. Example: --set replication.alpha=0.1,0.2
        speed (X,Y,...): Replay X, Y, ... times as fast as recorded. Example: --speed 1,10
        queue_depth (N,M,...): Ignore recorded times; keep N, M, ... requests outstanding. Example: --queue-depth 1,32
        period (TIME,...): Period length; popular contents are copied when one ends. Example: --period 1h,1d
            [default: each trace's own]
        warm_up (TIME,...): Count requests that arrive this long after the first one, and operations from then on.
            Example: --warm-up 10min,1h
        device (NAME,...): NAND devices: names of `flashtwin devices`, or TOML files.
            Example: --device rr-ssd,tlc-unit-2021
        fill (SHARE,...): Shrink the drive until the trace fills this share of it, so that garbage collection runs.
            Example: --fill 80%,90%,95%
        content (SOURCE,...): Page contents, as in `flashtwin replay`. Example: --content recorded,unique
    """

    set: Sets = ()
    speed: str | None = None
    queue_depth: Annotated[str, Text(_types.queue_depths)] | None = None
    period: Annotated[str, Text(_types.times)] | None = None
    warm_up: Annotated[str, Text(_types.times)] | None = None
    device: str | None = None
    fill: str | None = None
    content: str | None = None

    @property
    def axes(self) -> dict[str, plan.Axis]:
        fill = self.fill and re.sub(r"([\d.]+)\s*%", lambda share: str(Decimal(share[1]) / 100), self.fill)
        short = {
            "device": self.device,
            K.replay.speed: self.speed,
            K.replay.queue_depth: self.queue_depth,
            K.replay.content: self.content,
            K.replay.period_s: self.period,
            K.replay.warm_up_s: self.warm_up,
            FILL: fill,
        }
        sets = [*self.set, *((key, text) for key, text in short.items() if text is not None)]
        keys = [key for key, _ in sets]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise click.BadParameter(f"'{twice}' is set twice; give all of its values at once: {twice}=a,b")
        return {key: plan.axis(text) for key, text in sets}


Grid = Annotated[
    bool,
    Shared("Combine each value with each, or first with first, second with second.  [default: grid]",
           spelling=("--grid/--zip",)),
]  # fmt: skip


@verb()
def sweep(
    *paths: TracePaths,
    axes: AxisOptions,
    systems: Systems = SYSTEMS,
    equal_ground: EqualGround = False,
    grid: Grid = True,
    sample: Annotated[int, click.IntRange(min=1)] | None = None,
    search_seed: Annotated[int, click.IntRange(min=0)] = 0,
    minimize: str = "",
    maximize: str = "",
    subject_to: str = "",
    trials: Annotated[int, click.IntRange(min=1)] = 100,
    over: Over = "mean",
    trade: str = sweeping.TRADE,
    reading: Reading,
    stream: bool = False,
    workers: Workers = 0,
    on: On | None = None,
    shard: Shard | None = None,
    store: Path | None = None,
    keep_tables: bool = False,
    report: Report = True,
    out: Path | None = None,
    json: Json = False,
) -> int:
    """Replay each TRACE on several systems over a grid of settings; the result has a row per point.

    TRACE is a file, or a folder of files. The same command with the same folder replays only missing points. A point
    with settings that are refused becomes a row with the reason, and the exit status is 1.

    \b
    Example:
      flashtwin sweep mail.fiu.zst --systems rr-ssd --set alpha=0.05,0.1,0.2,0.4 --speed 1,10 --out mail-sweep
      flashtwin sweep traces/ --set write_cache_pages=0:4096:1024 --shard 2/8 --out all
      flashtwin sweep mail.fiu.zst --systems rr-ssd --set alpha=0.01:0.5 --minimize read.p99 --subject-to "wa<=1.2"

    Args:
        sample (N): Replay only N random points. Example: --sample 20
        search_seed (N): Seed of --sample and of a search. (Of the systems: --set seed=1,2.) Example: --search-seed 7
        minimize (FIGURE,...): Search for the smallest figure, or the trade-off of several; unless a key has several
            values, over the controller changes that `flashtwin study` tries. Example: --minimize read.p99,wa
        maximize (FIGURE,...): Search for the largest throughput. Example: --maximize iops
        subject_to (BOUND,...): Limits of a search. Example: --subject-to 'wa<=1.2,ram<=64MB'
        trials (N): Points a search may replay; with several traces, settings. Example: --trials 30
        over: With several traces, judge a setting by the geometric mean of its ratios to the first system, or by the
            worst. Example: --over worst
        trade (X,Y): The two figures of the report's trade-off chart. Example: --trade read.p99,wa
        stream: Read the file again for each replay instead of keeping it in memory; same results.
        store (DIR): Folder that keeps runs; sweeps may share one. Example: --store runs [default: store in --out]
        keep_tables: Also keep the tables of each run, about a hundred times the size.
        out (DIR): Folder for table and report. Example: --out mail-sweep [default: sweep]
    """
    how = sweeping.SweepOptions(
        reading, "grid" if grid else "zip", sample, search_seed, workers, on, shard, store, keep_tables, equal_ground,
        stream, trade, minimize, maximize, subject_to, trials, over, any_systems=is_default("systems"), report=report,
    )  # fmt: skip
    chosen = name_systems([resolve_text(name, []) for name in systems], {})
    with Bars() as bars:
        heard = {"reading": bars.named("reading", "traces"), "runs": bars.named("replaying", "runs")}
        done = sweeping.run(
            paths, out or Path("sweep"), chosen, axes.axes, how, lambda what, *steps: heard[what](what, *steps), say
        )
    show(done, as_json=json)
    return 1 if done.failed or (done.missing and shard is None) else 0
