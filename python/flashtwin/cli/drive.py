"""`flashtwin drive`: inspects the image of a drive, checks it, and compares its figures with a replay."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.cli._options import json_option
from flashtwin.cli._talk import data, data_json, pairs, say, table
from flashtwin.errors import FlashtwinError
from flashtwin.live.beside import FigurePair, compare_drive, drive_system
from flashtwin.live.drives import check_drive, drive_info

_image = click.argument("image", type=click.Path(path_type=Path, dir_okay=False))


@click.group(short_help="Inspect or check the image of a served drive.")
def drive() -> None:
    """Inspect or check an image made by `flashtwin serve`.

    \b
    Example:
      flashtwin drive check drive.img --verify
    """


@drive.command(short_help="Print system and size of a drive.")
@_image
@json_option
def info(image: Path, as_json: bool) -> None:
    """Print system and size of the drive in IMAGE, without opening it.

    \b
    Example:
      flashtwin drive info drive.img
    """
    found = drive_info(image)
    if as_json:
        data_json(found)
        return
    data(
        pairs(
            [
                ("system", found["system"]),
                ("size", f"{found['size_bytes']:,} bytes"),
                ("image", f"{found['medium_bytes']:,} bytes"),
                ("read at most to open it", f"{found['most_recovery_bytes']:,} bytes"),
                ("checkpoints", f"{found['checkpoints']:,}"),
                ("pages programmed before the last", f"{found['pages_programmed']:,}"),
                ("format", str(found["format"])),
                ("number", found["uuid"]),
            ]
        )
    )


@drive.command(short_help="Check a drive for damage.")
@_image
@click.option("--verify", is_flag=True, help="Also read every page in use and check its digest.")
@json_option
def check(image: Path, verify: bool, as_json: bool) -> None:
    """Check the tables of the drive in IMAGE against each other and against the spare area; write nothing.

    Exit status 2 if something is wrong.

    \b
    Example:
      flashtwin drive check drive.img --verify
    """
    found = check_drive(image, all_pages=verify)
    if as_json:
        data_json(found)
    else:
        looked = [("logical pages that hold something", f"{found['mapped_pages']:,}")]
        looked.append(("pages read", f"{found['pages_read']:,}"))
        looked.append(("spare bytes compared", f"{found['spares_compared']:,}"))
        looked.append(("batches of the log since the checkpoint", f"{found['log_batches']:,}"))
        looked.append(("logical pages that cannot be read", f"{found['unreadable_pages']:,}"))
        looked.append(("blocks used no more", f"{found['retired_blocks']:,}"))
        data(pairs(looked))
    for note in found["notes"]:
        say(f"note: {note}")
    problems = found["problems"]
    for problem in problems[1:]:
        say(f"problem: {problem}")
    if problems:
        raise FlashtwinError(f"{image}: {problems[0]}{f' (and {len(problems) - 1} more)' if problems[1:] else ''}")


@drive.command(short_help="Print a drive's system as TOML, for replays.")
@_image
def system(image: Path) -> None:
    """Print the system of the drive in IMAGE, with every key, as a TOML file for `--system`.

    It has the drive's geometry, not its data: a replay begins with an empty drive.

    \b
    Example:
      flashtwin drive system drive.img > drive.toml
    """
    data(drive_system(image).toml.rstrip())


@drive.command(short_help="Compare a served drive with a replay.")
@click.argument("served", type=click.Path(path_type=Path))
@click.argument("result", type=click.Path(path_type=Path, file_okay=False))
@json_option
def compare(served: Path, result: Path, as_json: bool) -> None:
    """Compare the figures of a served drive with a replay.

    SERVED is the folder of `flashtwin serve --out`, RESULT that of `flashtwin replay --out`. Served times are of this
    machine, replayed times of the modelled drive.

    \b
    Example:
      flashtwin drive compare served predicted
    """
    rows = compare_drive(served, result)
    if as_json:
        data_json([row.as_json() for row in rows])
        return
    data(table(("figure", "served", "replayed", "difference"), [_cells(row) for row in rows]))
    say("times: the server's own on this machine, and the modelled drive's")


def _cells(row: FigurePair) -> tuple[str, str, str, str]:
    change = row.difference_percent
    return row.figure, _cell(row.served), _cell(row.replayed), "" if change is None else f"{change:+.1f} %"


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
