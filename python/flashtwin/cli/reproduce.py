"""`flashtwin reproduce`: the papers, published beside measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flashtwin.cli._options import Duration, json_option, out_option
from flashtwin.cli._progress import Bars
from flashtwin.cli._reproducing import counts, show
from flashtwin.cli._spread import spread_options
from flashtwin.cli._talk import data, data_json, say, table
from flashtwin.papers import choose
from flashtwin.papers.model import Scale
from flashtwin.papers.running import ReproductionOptions, run


class ScaleOption(click.ParamType[Scale]):
    """`default`, `quick`, or a share of the published size."""

    name = "scale"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Scale:
        """Reads the text."""
        if value in ("default", "quick"):
            return "quick" if value == "quick" else "default"
        try:
            share = float(value)
        except ValueError:
            share = 0.0
        if not 0.0 < share <= 1.0:
            self.fail(f"'{value}' is neither `quick` nor `default` nor a share above 0, up to 1", param, ctx)
        return share


@click.command(short_help="Published beside measured: a paper's tables and figures.")
@click.argument("paper", required=False)
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option(
    "--traces", type=click.Path(path_type=Path), metavar="DIR",
    help="Recorded traces, under their publishers' file names or the workloads' own; recipes stand in for the others.",
)  # fmt: skip
@click.option("--workloads", metavar="A,B,...", default="", help="Only these workloads.")
@click.option(
    "--scale", type=ScaleOption(), metavar="SHARE", default="default", show_default=True,
    help="Size of the synthetic workloads, as a share of the published one: quick (all papers in three minutes), "
    "default (in half an hour), or a number up to 1.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the synthetic workloads.")
@click.option(
    "--period", type=Duration(), metavar="TIME", default="1d", show_default=True, help="Length of a day of the traces."
)
@click.option("--workers", type=click.IntRange(min=0), default=0, help="Replays at once; 0: one for each core.")
@spread_options
@click.option("--list", "listing", is_flag=True, help="List papers and items, and do nothing.")
@out_option("Folder for results and report.  [default: reproduction]")
@json_option
def reproduce(
    paper: str | None, items: tuple[str, ...], traces: Path | None, workloads: str, scale: Scale, seed: int,
    period: float, workers: int, on: str | None, shard: tuple[int, int] | None, listing: bool, out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Measure the tables and figures of a PAPER and put them beside what was published.

    Without a paper, all four are measured. Every replay is kept in the folder as it finishes; run again with
    the same folder, only what is new is computed.

    \b
    Example:
      flashtwin reproduce rr-ssd --scale quick
      flashtwin reproduce rr-ssd table-4 fig-9 --traces fiu/ --out rr-ssd
    """
    chosen = choose(paper, items)
    if listing:
        data(table(["paper", "item", "place", "title"], [
            [one.id, item.id, item.place, item.title] for one, wanted in chosen for item in wanted
        ]))  # fmt: skip
        return
    names = tuple(name.strip() for name in workloads.split(",") if name.strip())
    how = ReproductionOptions(traces, scale, seed, period, names, workers, on, shard)
    with Bars() as bars:
        done = run(
            chosen, out or Path("reproduction"), how,
            progress=bars.named("measuring", "items"), notify=say,
        )  # fmt: skip
    if done.report is None:
        say(f"when all parts have ended, the same without --shard puts the papers together in {done.path}")
        return
    if as_json:
        data_json({"report": str(done.report), "counts": counts(done.papers), "papers": done.papers})
        return
    show(done.papers, done.path)
    data(f"report: {done.report}")
