"""`flashtwin trace`: traces inspected, converted, cut, split, sampled, made and imitated."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from flashtwin.cli import _types
from flashtwin.cli._bridge import Shared, verb
from flashtwin.cli._comparing import as_row, comparison, replayed_row, side_by_side
from flashtwin.cli._options import File, Folder, Force, Json, Output, Seed, TracePath, TracePaths, expect_new
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import data, data_json, duration, pairs, say
from flashtwin.cli._types import Text
from flashtwin.errors import FlashtwinError
from flashtwin.recipes.workloads import workload
from flashtwin.results.folder import write_text
from flashtwin.traces import splitting
from flashtwin.traces.reading import Reading, Source
from flashtwin.traces.trace import Layout, Trace
from flashtwin.traces.trace import merge as merge_traces

Shifts = Annotated[tuple[float, ...], Text(_types.shifts)]
AnyOutput = Annotated[Path, click.Path(path_type=Path, dir_okay=False), Shared(metavar="OUTPUT")]


class _Trace(click.Group):
    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """A verb about traces; an old name is answered with the new one."""
        if name == "fit":
            ctx.fail("`flashtwin trace fit` is called `flashtwin trace imitate` now")
        return super().get_command(ctx, name)


@click.group(cls=_Trace)
def trace() -> None:
    """Inspect, convert, cut, split, sample, make and imitate traces.

    \b
    Example:
      flashtwin trace info mail.fiu.zst
    """


@verb("Print requests, bytes, footprint and duplicates of a trace.", trace)
def info(path: TracePath, *, reading: Reading, json: Json = False) -> None:
    """Print requests, bytes, footprint and duplicates of TRACE, and the quality of the file.

    \b
    Example:
      flashtwin trace info mail.fiu.zst
      zstdcat mail.fiu.zst | flashtwin trace info - --json
    """
    with Bars() as bars:
        found = Source(path, reading).open(bars.job).info
    shown = {"read as": found["read_as"]["text"], **{key: value for key, value in found.items() if key != "read_as"}}
    data_json(found) if json else data(pairs(list(_flat(shown))))


@verb("Convert a trace to canonical Parquet.", trace)
def convert(path: TracePath, output: Output, *, reading: Reading, force: Force = False) -> None:
    """Convert TRACE to the canonical Parquet file that docs/trace-formats.md describes.

    \b
    Example:
      flashtwin trace convert mail.fiu.zst mail.parquet
    """
    _convert(Source(path, reading), output, lambda trace: trace, force=force)


@verb("Merge traces into one.", trace)
def merge(
    *paths: TracePaths, reading: Reading, out: File, shift_s: Shifts | None = None, clock: float = 1.0,
    repeat: Annotated[int, click.IntRange(min=1)] = 1, fresh_contents: bool = False, fold: bool = False,
    force: Force = False,
) -> None:  # fmt: skip
    """Merge TRACEs into one, as if one host ran them on one drive, and write it as canonical Parquet.

    Contents are compared by their digests. Volumes stay apart, and equal names get their trace's name in front.

    \b
    Example:
      flashtwin trace merge web.fiu.zst mail.fiu.zst --out both.parquet --shift 0,1h --fold
      flashtwin trace merge week.parquet --repeat 52 --out year.parquet

    Args:
        out (OUTPUT.parquet): The canonical Parquet file to write.
        shift_s (TIME,...): How long each trace begins after the first one. Example: --shift 0,1h
        clock (X): Clock of each trace: X times as fast as recorded. Example: --clock 2
        repeat (N): How often each trace is repeated, at the same addresses. Example: --repeat 3
        fresh_contents: Give each repetition contents of its own.
        fold: Lay all volumes on one drive, one behind the other.
    """
    _check_output(out, force=force)
    with Bars() as bars:
        opened = [Source(path, reading).open(bars.job) for path in paths]
        parts = [one.scale(clock).repeat(repeat, fresh_contents=fresh_contents) for one in opened]
        merged = merge_traces(parts, shift_s=shift_s or (), name=out.name.split(".")[0])
        merged = merged.fold() if fold else merged
        merged.write_parquet(out)
    say(f"{len(merged):,} requests: {out}")


@verb("Write a trace in the layout of another tool.", trace)
def export(path: TracePath, output: AnyOutput, *, reading: Reading, to: Layout, force: Force = False) -> None:
    """Write TRACE in the layout of another tool, and say what the layout cannot hold.

    \b
    Example:
      flashtwin trace export mail.fiu.zst mail.trace --to mqsim
      flashtwin trace export mail.fiu.zst mail.csv --to csv

    Args:
        to: mqsim (also SSDSim), fio (iolog of version 3), oraclegeneral (libCacheSim), or csv. Example: --to fio
    """
    expect_new(output, (output.suffix,), force=force)
    with Bars() as bars:
        opened = Source(path, reading).open(bars.job)
        lost = opened.export(output, to=to)
    say(f"{len(opened):,} requests: {output}")
    for what, count in lost.items():
        say(f"not kept: {count:,} {what}")


@verb("Cut a span of time out of a trace.", trace)
def cut(path: TracePath, output: Output, *, reading: Reading, force: Force = False) -> None:
    """Write the requests from --from on and before --to as a new trace.

    Contents of pages from before --from are lost. All verbs that read a trace take --from and --to as well.

    \b
    Example:
      flashtwin trace cut mail.fiu.zst mail-day-2.parquet --from 1d --to 2d
    """
    if reading.from_s is None and reading.to_s is None:
        raise FlashtwinError("nothing is to be cut; give --from TIME, --to TIME or both, for example --from 1d")
    _convert(Source(path, reading), output, lambda trace: trace, force=force)


@verb("Split a trace into a file for each volume.", trace)
def split(path: TracePath, *, reading: Reading, by: str = "volume", out: Folder) -> None:
    """Split TRACE in one pass into canonical Parquet files and a manifest.json. Every verb takes their folder.

    Contents keep their digests, so that equal contents of different parts stay equal. Each part begins at 0; the
    manifest has the time of its first request.

    \b
    Example:
      flashtwin trace split alibaba.csv.gz --out volumes
      flashtwin characterize volumes --on dask://node1:8786 --out workloads
      flashtwin trace split alibaba.csv.gz --by hash:100 --out parts

    Args:
        by (volume|hash:N): A part for each volume, or N parts of whole volumes. Example: --by hash:100
        out (DIR): New folder for the parts.
    """
    with Bars() as bars:
        made = splitting.run(path, out, by, reading, bars.job)
    say(f"{sum(part['requests'] for part in made):,} requests in {len(made):,} parts: {out}")


@verb("Sample a trace by pages or by contents.", trace)
def sample(
    path: TracePath,
    output: Output,
    *,
    reading: Reading,
    rate: Annotated[float, click.FloatRange(min=0, max=1, min_open=True)],
    by: Literal["address", "content"] = "address",
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Keep a share of TRACE's pages (or contents), chosen by hash, with all their requests.

    The load shrinks by the same share: replay the result faster, for example with --speed 10, to keep queues alike.

    \b
    Example:
      flashtwin trace sample mail.fiu.zst mail-tenth.parquet --rate 0.1

    Args:
        rate (RATE): Share of pages or contents to keep, above 0 up to 1. Example: --rate 0.1
        by: Unit of sampling: pages of 4 KiB by address, or contents. Example: --by content
    """
    _convert(Source(path, reading), output, lambda trace: trace.sample(rate, seed=seed, by=by), force=force)


@verb("Make a trace anonymous, to hand it on.", trace)
def anonymize(
    path: TracePath,
    output: Output,
    *,
    reading: Reading,
    key_file: Annotated[Path, click.Path(exists=True, path_type=Path, dir_okay=False)] | None = None,
    force: Force = False,
) -> None:
    """Write TRACE without what it is about: for a drive it stays the same, and so does its characterization.

    Digests of contents become keyed digests. The addresses of each volume are shifted by a multiple of 1 GiB, which
    changes `span_bytes` alone. Names become numbers, and texts of skipped lines go.

    \b
    Example:
      flashtwin trace anonymize mail.fiu.zst mail-public.parquet

    Args:
        key_file (FILE): Secret of any length; with one secret, equal contents of several traces stay equal.
            Example: --key-file my.key [default: a random key that is not kept]
    """
    secret = None if key_file is None else key_file.read_bytes()
    _convert(Source(path, reading), output, lambda trace: trace.anonymize(secret), force=force)


@verb("Make a trace from a recipe.", trace)
def synthesize(
    recipe: str,
    *,
    out: File,
    scale: Annotated[float, click.FloatRange(min=0, min_open=True)] = 1.0,
    seed: Seed = 0,
    days: Annotated[int, click.IntRange(min=1)] | None = None,
    force: Force = False,
) -> None:
    """Make a trace from RECIPE: a name that `flashtwin workloads` lists, or a TOML file.

    Requests are written as they are made; the trace need not fit into memory. The same recipe, scale
    and seed make the same bytes.

    \b
    Example:
      flashtwin trace synthesize rr-ssd/webvm --scale 0.01 --out webvm.parquet
      flashtwin trace synthesize rr-ssd/webvm --scale 0.01 --days 21 --out three-weeks.parquet

    Args:
        recipe: The recipe.
        out (OUTPUT.parquet): The canonical Parquet file to write.
        scale: Multiplies requests, footprint, values and the length of days; the rate stays.
        days: Days to make; by default the recipe's. Fewer are the first of them, more go on after them.
    """
    _check_output(out, force=force)
    with Bars() as bars:
        made = workload(recipe).write(out, scale=scale, seed=seed, days=days, progress=bars.job)
    say(f"{made:,} requests: {out}")


@verb("Write a recipe that imitates a trace.", trace)
def imitate(
    path: TracePath,
    *,
    reading: Reading,
    period_s: float = 86_400.0,
    out: File | None = None,
    force: Force = False,
    replay: bool = True,
    json: Json = False,
) -> None:
    """Write a recipe that imitates TRACE, and compare a trace made from it with TRACE.

    \b
    Example:
      flashtwin trace imitate mail.fiu.zst --out mail.toml
      flashtwin trace imitate mail.fiu.zst --out mail.toml --no-replay

    Args:
        period_s: Length of the trace's days. Example: --period 2h
        out (RECIPE.toml): Write the recipe to this file. Example: --out mail.toml
        replay: Replay TRACE and its imitation on `conventional`, `ca-ssd` and `rr-ssd`, and print both side by side.
    """
    if out is not None:
        expect_new(out, (".toml",), ", the ending of recipes", force=force)
    with Bars() as bars:
        opened = Source(path, reading).open(bars.job, say)
    from flashtwin.recipes import imitation

    with Bars() as bars:
        found = imitation.imitate(opened, period_s=period_s, replay=replay, progress=bars.named("imitation", "replays"))
    if out is not None:
        write_text(out, found.workload.toml)
        say(f"recipe: {out}")
    say(f"compared at scale {found.scale:.4g}")
    if json:
        statistics, replays = map(as_row, found.achieved), map(replayed_row, found.replays)
        data_json({"statistics": list(statistics), "replays": list(replays)})
        return
    data(comparison(found.achieved))
    if found.replays:
        data("")
        data(side_by_side(found.replays))


def _convert(source: Source, output: Path, change: Callable[[Trace], Trace], *, force: bool) -> None:
    _check_output(output, force=force)
    with Bars() as bars:
        opened = source.open(bars.job, say)
        made = change(opened)
        made.write_parquet(output)
    of_all = f" of {len(opened):,}" if len(made) < len(opened) else ""
    say(f"{len(made):,}{of_all} requests: {output}")


def _check_output(output: Path, *, force: bool) -> None:
    expect_new(output, (".parquet",), ", the only format that is written", force=force)


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
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
