"""`flashtwin drive`: inspects the image of a drive, checks it, and compares its figures with a replay."""

from pathlib import Path

import click

from flashtwin.cli._bridge import verb
from flashtwin.cli._options import File, Folder, Json
from flashtwin.cli._talk import data, data_json, pairs, say, table
from flashtwin.errors import FlashtwinError
from flashtwin.live.beside import FigurePair, compare_drive, drive_system
from flashtwin.live.drives import check_drive, drive_info

_CHECKED = {
    "mapped_pages": "logical pages that hold something",
    "pages_read": "pages read",
    "spares_compared": "spare bytes compared",
    "log_batches": "batches of the log since the checkpoint",
    "unreadable_pages": "logical pages that cannot be read",
    "retired_blocks": "blocks used no more",
}


@click.group
def drive() -> None:
    """Inspect or check an image made by `flashtwin serve`.

    \b
    Example:
      flashtwin drive check drive.img --verify
    """


@verb("Print system and size of a drive.", drive)
def info(image: File, *, json: Json = False) -> None:
    """Print system and size of the drive in IMAGE, without opening it.

    \b
    Example:
      flashtwin drive info drive.img
    """
    found = drive_info(image)
    if json:
        data_json(found)
        return
    rows = [
        ("system", found["system"]),
        ("size", f"{found['size_bytes']:,} bytes"),
        ("image", f"{found['medium_bytes']:,} bytes"),
        ("read at most to open it", f"{found['most_recovery_bytes']:,} bytes"),
        ("checkpoints", f"{found['checkpoints']:,}"),
        ("pages programmed before the last", f"{found['pages_programmed']:,}"),
        ("format", str(found["format"])),
        ("number", found["uuid"]),
    ]
    data(pairs(rows))


@verb("Check a drive for damage.", drive)
def check(image: File, *, verify: bool = False, json: Json = False) -> None:
    """Check the tables of the drive in IMAGE against each other and against the spare area; write nothing.

    Exit status 2 if something is wrong.

    \b
    Example:
      flashtwin drive check drive.img --verify

    Args:
        verify: Also read every page in use and check its digest.
    """
    found = check_drive(image, all_pages=verify)
    if json:
        data_json(found)
    else:
        data(pairs([(label, f"{found[key]:,}") for key, label in _CHECKED.items()]))
    for note in found["notes"]:
        say(f"note: {note}")
    problems = found["problems"]
    for problem in problems[1:]:
        say(f"problem: {problem}")
    if problems:
        raise FlashtwinError(f"{image}: {problems[0]}{f' (and {len(problems) - 1} more)' if problems[1:] else ''}")


@verb("Print a drive's system as TOML, for replays.", drive)
def system(image: File) -> None:
    """Print the system of the drive in IMAGE, with every key, as a TOML file for `--system`.

    It has the drive's geometry, not its data: a replay begins with an empty drive.

    \b
    Example:
      flashtwin drive system drive.img > drive.toml
    """
    data(drive_system(image).toml.rstrip())


@verb("Compare a served drive with a replay.", drive)
def compare(served: Path, result: Folder, *, json: Json = False) -> None:
    """Compare the figures of a served drive with a replay.

    SERVED is the folder of `flashtwin serve --out`, RESULT that of `flashtwin replay --out`. Served times are of this
    machine, replayed times of the modelled drive.

    \b
    Example:
      flashtwin drive compare served predicted
    """
    rows = compare_drive(served, result)
    if json:
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
