"""`flashtwin serve`: a drive that keeps real bytes, as a network block device."""

import shutil
from pathlib import Path
from typing import Annotated, Any

import click

from flashtwin.cli import _serving
from flashtwin.cli._bridge import verb
from flashtwin.cli._options import Device, File, Folder, Json, Sets
from flashtwin.cli._serving import Address, For, Metrics, ReadOnly
from flashtwin.cli._talk import data_json, say
from flashtwin.cli._types import Text, byte_count
from flashtwin.errors import ArgumentError, FlashtwinError
from flashtwin.live import drives
from flashtwin.live.drives import Serving
from flashtwin.live.linux import expect_linux
from flashtwin.live.recording import Server
from flashtwin.replays.running import Comparison
from flashtwin.results import names
from flashtwin.results.folder import write_json

#: More logical pages than a drive can number, for any page size.
_LARGEST = 1 << 47


def size(text: str) -> int:
    """A number of bytes: `8G`, `512M`, `1T`, in powers of 1,024."""
    found = byte_count(text)
    if not found:
        raise ArgumentError(f"'{text}' is not a number of bytes; write it like 512M, 8G or 1T")
    if found > _LARGEST:
        raise ArgumentError(f"'{text}' is more than a drive can have, 128T with the largest pages")
    return found


@verb()
def serve(
    image: File,
    *command: Annotated[str, click.UNPROCESSED],
    system: str | None = None,
    size: Annotated[int, Text(size)] | None = None,
    set_: Sets = (),
    device: Device | None = None,
    period_s: float | None = None,
    at: Address,
    twin_time: bool = False,
    read_only: ReadOnly = False,
    for_s: For | None = None,
    metrics: Metrics | None = None,
    out: Folder | None = None,
    json: Json = False,
) -> None:
    """Serve the drive in IMAGE as a network block device; create IMAGE if it does not exist.

    Writes go through the system's controller, as in a replay, and stay in the image. Connect any NBD client to the URI
    that is printed. Serving ends with Ctrl-C or SIGTERM, after --for, or when COMMAND ends, which finds the URI in
    NBD_URI and in place of {uri}. An existing image keeps its system and size.

    \b
    Example:
      flashtwin serve --system rr-ssd --size 64M drive.img -- qemu-io -f raw -c "write -P 7 0 64k" {uri}

    Args:
        command ([COMMAND]...): What to run meanwhile.
        system (NAME): System of a new image: a name of `flashtwin systems`, or a TOML file. Example: --system rr-ssd
        size (BYTES): Capacity of a new image. Example: --size 8G
        period_s: Period length, wall time; popular contents are copied when one ends. Example: --period 1h
            [default: replay.period_s]
        twin_time: Answer as fast as the modelled drive would; --out also gets its result, in DIR/twin.
        out (DIR): Folder for the final figures. Example: --out served
    """
    expect_linux("serving a drive")
    summary = _summary(out)
    keys = dict(set_) | ({"device": device} if device else {})
    how = Serving(read_only=read_only, period_s=period_s, twin_time=twin_time, **at.beside(image))
    server = drives.begin(image, system, size, list(keys.items()), how)
    with server:
        for note in server.figures["drive"]["notes"]:
            say(f"note: {note}")
        _warn_of_space(image)
        status = _serving.serve(server, {"image": str(image)}, command, for_s, metrics, as_json=json)
    figures = server.figures
    if json:
        data_json(figures)
    if summary is not None:
        beside = {key: figures[key] for key in ("server", "twin") if key in figures}
        write_json(summary, {**figures["drive"], **beside})
    if "twin" in figures:
        _modelled(server, figures["twin"], out)
    _serving.warn(figures, set())
    drive = figures["drive"]
    say(f"{drive['host_pages_written']:,} pages written by clients, {drive['pages_programmed']:,} programmed: {image}")
    if status:
        raise FlashtwinError(f"{command[0]}: ended with exit status {status}; the drive has what it did until then")


def _warn_of_space(image: Path) -> None:
    """An image takes room as it is written to; where its disk has less, writes will fail."""
    if not image.is_file():
        return
    there = image.stat()
    grows, free = there.st_size - 512 * there.st_blocks, shutil.disk_usage(image).free
    if grows > free:
        say(
            f"warning: the image may take {grows / 1e9:,.1f} GB more, its disk has {free / 1e9:,.1f} GB left; a write "
            "that finds no room ends all writing until there is some and the drive is opened again"
        )


def _modelled(server: Server, twin: dict[str, Any], out: Path | None) -> None:
    result = server.result
    if result is None:
        say(f"warning: nothing was held back any more, the modelled drive stopped: {twin['failure']}")
        return
    if out is not None:
        Comparison.of(result).save(out / "twin")
    response = result.summary["response"]
    modelled = [
        f"{kind} {found['mean_ns'] / 1e3:,.1f} µs"
        for kind, found in response.items()
        if found.get("mean_ns") is not None
    ]
    say(f"the modelled drive: {', '.join(modelled) or 'no requests'} on average")
    held, slower = twin["held_back"], twin["store_was_slower"]
    if held + slower:
        late = f", {twin['late_ns'] / held / 1e3:,.0f} µs late on average" if held else ""
        say(
            f"{held:,} answers were held back{late}; for {slower:,} the image's disk was slower than the modelled drive"
        )


def _summary(out: Path | None) -> Path | None:
    """Where the figures will go; refused before anything is served rather than after."""
    if out is None:
        return None
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FlashtwinError(f"{out}: cannot be made ({(error.strerror or str(error)).lower()})") from error
    summary = out / names.SERVED
    if summary.exists():
        raise FlashtwinError(f"{summary}: exists; name another folder")
    return summary
