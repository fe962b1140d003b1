"""`flashtwin reproduce`: re-runs the papers' experiments and compares with the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flashtwin.cli._options import Duration, json_option, out_option, seed_option, workers_option
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


@click.command(short_help="Re-run a paper's experiments and compare with its numbers.")
@click.argument("paper", required=False)
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option(
    "--traces", type=click.Path(path_type=Path), metavar="DIR",
    help="Folder of recorded traces, under their published names or the workloads'; synthetic ones replace the rest. "
    "Example: --traces fiu",
)  # fmt: skip
@click.option("--workloads", metavar="A,B,...", default="", help="Only these workloads. Example: --workloads mail,web")
@click.option(
    "--scale", type=ScaleOption(), metavar="SHARE", default="default", show_default=True,
    help="Size of the synthetic workloads: quick (all papers in 3 minutes), default (30 minutes), or a share of the "
    "published size. Example: --scale 0.01",
)  # fmt: skip
@seed_option(0, click.INT)
@click.option(
    "--period", type=Duration(), metavar="TIME", default="1d", show_default=True,
    help="Length of a day of the traces. Example: --period 1h",
)  # fmt: skip
@workers_option
@spread_options
@click.option("--list", "listing", is_flag=True, help="Only list papers and items.")
@out_option("Folder for results and report. Example: --out rr-ssd  [default: reproduction]")
@json_option
def reproduce(
    paper: str | None, items: tuple[str, ...], traces: Path | None, workloads: str, scale: Scale, seed: int,
    period: float, workers: int, on: str | None, shard: tuple[int, int] | None, listing: bool, out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Re-run the experiments of a PAPER and compare each table and figure with its published numbers.

    Without PAPER, all four are run. The same command with the same folder computes only missing results.

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
