"""`flashtwin reproduce`: re-runs the papers' experiments and compares with the published numbers."""

from pathlib import Path
from typing import Annotated

from flashtwin.cli._bridge import verb
from flashtwin.cli._options import AnySeed, Json, On, Report, Shard, Workers
from flashtwin.cli._progress import Bars
from flashtwin.cli._reproducing import counts, show
from flashtwin.cli._talk import data, data_json, say, show_page, table
from flashtwin.cli._types import Text, words
from flashtwin.errors import ArgumentError
from flashtwin.papers import choose
from flashtwin.papers.model import Scale
from flashtwin.papers.running import ReproductionOptions, run


def scale(text: str) -> Scale:
    """`default`, `quick`, or a share of the published size."""
    if text in ("default", "quick"):
        return "quick" if text == "quick" else "default"
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise ArgumentError(f"'{text}' is neither `quick` nor `default` nor a share above 0, up to 1")
    return share


@verb()
def reproduce(
    paper: str | None = None,
    *items: str,
    traces: Path | None = None,
    workloads: Annotated[tuple[str, ...], Text(words)] | None = None,
    scale: Annotated[Scale, Text(scale)] = "default",
    seed: AnySeed = 0,
    period_s: float = 86_400.0,
    workers: Workers = 0,
    on: On | None = None,
    shard: Shard | None = None,
    list_: bool = False,
    report: Report = True,
    out: Path | None = None,
    json: Json = False,
) -> None:
    """Re-run the experiments of a PAPER and compare each table and figure with its published numbers.

    Without PAPER, all four are run. The same command with the same folder computes only missing results.

    \b
    Example:
      flashtwin reproduce rr-ssd --scale quick
      flashtwin reproduce rr-ssd table-4 fig-9 --traces fiu/ --out rr-ssd

    Args:
        items ([ITEM]...): Tables and figures of the paper.
        traces (DIR): Folder of recorded traces, under their published names or the workloads'; synthetic ones replace
            the rest. Example: --traces fiu
        workloads (A,B,...): Only these workloads. Example: --workloads mail,web
        scale (SHARE): Size of the synthetic workloads: quick (some minutes), default (an hour), or a
            share of the published size. Example: --scale 0.01
        period_s: Length of a day of the traces. Example: --period 1h
        list_: Only list papers and items.
        out (DIR): Folder for results and report. Example: --out rr-ssd [default: reproduction]
    """
    chosen = choose(paper, items)
    if list_:
        data(table(["paper", "item", "place", "title"], [
            [one.id, item.id, item.place, item.title] for one, wanted in chosen for item in wanted
        ]))  # fmt: skip
        return
    how = ReproductionOptions(traces, scale, seed, period_s, workloads or (), workers, on, shard, report)
    with Bars() as bars:
        done = run(
            chosen, out or Path("reproduction"), how,
            progress=bars.named("measuring", "items"), notify=say,
        )  # fmt: skip
    if shard is not None:
        say(f"when all parts have ended, the same without --shard puts the papers together in {done.path}")
        return
    if json:
        page = None if done.report is None else str(done.report)
        data_json({"report": page, "counts": counts(done.papers), "papers": done.papers})
        return
    show(done.papers, done.path)
    show_page(done.report, done.path)
