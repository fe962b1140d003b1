"""`flashtwin trace`: traces inspected, converted, cut, sampled, made and imitated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import click

from flashtwin.cli._comparing import as_row, comparison, replayed_row, side_by_side
from flashtwin.cli._options import Duration, force_option, json_option, reading_options, seed_option
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import data, data_json, duration, pairs, say
from flashtwin.errors import FlashtwinError
from flashtwin.recipes.workloads import workload
from flashtwin.results.folder import write_text
from flashtwin.traces.reading import Source


class _Trace(click.Group):
    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """A verb about traces; an old name is answered with the new one."""
        if name == "fit":
            ctx.fail("`flashtwin trace fit` is called `flashtwin trace imitate` now")
        return super().get_command(ctx, name)


@click.group(cls=_Trace, short_help="Inspect, convert, cut, sample, make and imitate traces.")
def trace() -> None:
    """Inspect, convert, cut, sample, make and imitate traces.

    \b
    Example:
      flashtwin trace info mail.fiu.zst
    """


@trace.command(short_help="Print requests, bytes, footprint and duplicates of a trace.")
@reading_options
@json_option
def info(source: Source, as_json: bool) -> None:
    """Print requests, bytes, footprint and duplicates of TRACE, and the quality of the file.

    \b
    Example:
      flashtwin trace info mail.fiu.zst
      zstdcat mail.fiu.zst | flashtwin trace info - --json
    """
    with Bars() as bars:
        found = source.open(bars.reading()).info
    data_json(found) if as_json else data(pairs(list(_flat(found))))


@trace.command(short_help="Convert a trace to canonical Parquet.")
@reading_options
@click.argument("output", type=click.Path(path_type=Path, dir_okay=False), metavar="OUTPUT.parquet")
@force_option
def convert(source: Source, output: Path, force: bool) -> None:
    """Convert TRACE to the canonical Parquet file that docs/trace-formats.md describes.

    \b
    Example:
      flashtwin trace convert mail.fiu.zst mail.parquet
    """
    _convert(source, output, force=force)


@trace.command(short_help="Cut a span of time out of a trace.")
@reading_options
@click.argument("output", type=click.Path(path_type=Path, dir_okay=False), metavar="OUTPUT.parquet")
@force_option
def cut(source: Source, output: Path, force: bool) -> None:
    """Write the requests from --from on and before --to as a new trace.

    Contents of pages from before --from are lost. All verbs that read a trace take --from and --to as well.

    \b
    Example:
      flashtwin trace cut mail.fiu.zst mail-day-2.parquet --from 1d --to 2d
    """
    if source.reading.from_s is None and source.reading.to_s is None:
        raise FlashtwinError("nothing is to be cut; give --from TIME, --to TIME or both, for example --from 1d")
    _convert(source, output, force=force)


@trace.command(short_help="Sample a trace by pages or by contents.")
@reading_options
@click.argument("output", type=click.Path(path_type=Path, dir_okay=False), metavar="OUTPUT.parquet")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, max=1, min_open=True),
    required=True,
    metavar="RATE",
    help="Share of pages or contents to keep, above 0 up to 1. Example: --rate 0.1",
)
@click.option(
    "--by",
    type=click.Choice(["address", "content"]),
    default="address",
    show_default=True,
    help="Unit of sampling: pages of 4 KiB by address, or contents. Example: --by content",
)
@seed_option(0)
@force_option
def sample(
    source: Source, output: Path, rate: float, by: Literal["address", "content"], seed: int, force: bool
) -> None:
    """Keep a share of TRACE's pages (or contents), chosen by hash, with all their requests.

    The load shrinks by the same share: replay the result faster, for example with --speed 10, to keep queues alike.

    \b
    Example:
      flashtwin trace sample mail.fiu.zst mail-tenth.parquet --rate 0.1
    """
    _check_output(output, force=force)
    with Bars() as bars:
        opened = source.open(bars.reading())
        sampled = opened.sample(rate, seed=seed, by=by)
        sampled.write_parquet(output)
    say(f"{len(sampled):,} of {len(opened):,} requests: {output}")


@trace.command(short_help="Make a trace from a recipe.")
@click.argument("recipe")
@click.option(
    "--out",
    "output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="OUTPUT.parquet",
    help="The canonical Parquet file to write.",
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Multiplies requests, footprint, values and the length of days; the rate stays.",
)
@seed_option(0)
@click.option(
    "--days",
    type=click.IntRange(min=1),
    help="Days to make; by default the recipe's. Fewer are the first of them, more go on after them.",
)
@force_option
def synthesize(recipe: str, output: Path, scale: float, seed: int, days: int | None, force: bool) -> None:
    """Make a trace from RECIPE: a name that `flashtwin workloads` lists, or a TOML file.

    Requests are written as they are made; the trace need not fit into memory. The same recipe, scale
    and seed make the same bytes.

    \b
    Example:
      flashtwin trace synthesize rr-ssd/webvm --scale 0.01 --out webvm.parquet
      flashtwin trace synthesize rr-ssd/webvm --scale 0.01 --days 21 --out three-weeks.parquet
    """
    _check_output(output, force=force)
    with Bars() as bars:
        made = workload(recipe).write(output, scale=scale, seed=seed, days=days, progress=bars.making())
    say(f"{made:,} requests: {output}")


@trace.command(short_help="Write a recipe that imitates a trace.")
@reading_options
@click.option(
    "--period",
    type=Duration(),
    default="1d",
    show_default=True,
    metavar="TIME",
    help="Length of the trace's days. Example: --period 2h",
)
@click.option(
    "--out",
    "output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="RECIPE.toml",
    help="Write the recipe to this file. Example: --out mail.toml",
)
@force_option
@click.option(
    "--replay/--no-replay",
    default=True,
    show_default=True,
    help="Replay TRACE and its imitation on `conventional`, `ca-ssd` and `rr-ssd`, and print both side by side.",
)
@json_option
def imitate(source: Source, period: float, output: Path | None, force: bool, replay: bool, as_json: bool) -> None:
    """Write a recipe that imitates TRACE, and compare a trace made from it with TRACE.

    \b
    Example:
      flashtwin trace imitate mail.fiu.zst --out mail.toml
      flashtwin trace imitate mail.fiu.zst --out mail.toml --no-replay
    """
    if output is not None:
        _check_name(output, ".toml", "the ending of recipes", force=force)
    with Bars() as bars:
        opened = source.open(bars.reading())
    # Only this verb needs these modules.
    from flashtwin.recipes import imitation

    with Bars() as bars:
        found = imitation.imitate(opened, period_s=period, replay=replay, progress=bars.named("imitation", "replays"))
    if output is not None:
        write_text(output, found.workload.toml)
        say(f"recipe: {output}")
    say(f"compared at scale {found.scale:.4g}")
    if as_json:
        statistics, replays = map(as_row, found.achieved), map(replayed_row, found.replays)
        data_json({"statistics": list(statistics), "replays": list(replays)})
        return
    data(comparison(found.achieved))
    if found.replays:
        data("")
        data(side_by_side(found.replays))


def _convert(source: Source, output: Path, *, force: bool) -> None:
    _check_output(output, force=force)
    with Bars() as bars:
        opened = source.open(bars.reading())
        opened.write_parquet(output)
    say(f"{len(opened):,} requests: {output}")


def _check_output(output: Path, *, force: bool) -> None:
    _check_name(output, ".parquet", "the only format that is written", force=force)


def _check_name(output: Path, ending: str, why: str, *, force: bool) -> None:
    if output.suffix != ending:
        raise FlashtwinError(f"{output}: the name must end in {ending}, {why}")
    if output.exists() and not force:
        raise FlashtwinError(f"{output}: exists; give --force to replace it")
    if not output.absolute().parent.is_dir():
        raise FlashtwinError(f"{output}: there is no folder '{output.parent}'; make it first")


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested values as dotted names and readable texts."""
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            rows += _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            rows += [(f"{prefix}{key}", str(entry)) for entry in value] or [(f"{prefix}{key}", "none")]
        elif key.endswith("_ns") and isinstance(value, int):
            rows.append((f"{prefix}{key.removesuffix('_ns')}", duration(value)))
        else:
            rows.append((f"{prefix}{key}", _text(value)))
    return rows


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
