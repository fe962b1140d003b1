"""`flashtwin serve`: a drive that keeps real bytes, as a network block device."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from flashtwin.cli._options import Duration, device_option, json_option, set_option
from flashtwin.cli._serving import (
    for_option,
    listen_option,
    metrics,
    metrics_option,
    read_only_option,
    serve_until_end,
    socket_option,
    tls_option,
    warn,
)
from flashtwin.cli._talk import data, data_json, say
from flashtwin.errors import FlashtwinError
from flashtwin.live.drives import Serving, begin
from flashtwin.live.linux import expect_linux
from flashtwin.live.recording import Server
from flashtwin.replays.running import Comparison
from flashtwin.results import names

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
#: More logical pages than a drive can number, for any page size.
_LARGEST = 1 << 47


class Size(click.ParamType[int]):
    """A number of bytes: `8G`, `512M`, `1T`, in powers of 1,024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Reads the text."""
        parts = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
        if parts is None or int(parts[1]) == 0:
            self.fail(f"'{value}' is not a number of bytes; write it like 512M, 8G or 1T", param, ctx)
        found = int(parts[1][:30]) * _UNITS[parts[2].upper()]
        if found > _LARGEST:
            self.fail(f"'{value}' is more than a drive can have, 128T with the largest pages", param, ctx)
        return found


@click.command(short_help="Serve a simulated drive that stores real bytes.")
@click.argument("image", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--system",
    metavar="NAME",
    help="System of a new image: a name of `flashtwin systems`, or a TOML file. Example: --system rr-ssd",
)
@click.option("--size", type=Size(), metavar="BYTES", help="Capacity of a new image. Example: --size 8G")
@set_option
@device_option
@click.option(
    "--period",
    type=Duration(),
    metavar="TIME",
    help="Period length, wall time; popular contents are copied when one ends. Example: --period 1h  "
    "[default: replay.period_s]",
)
@socket_option
@listen_option
@tls_option
@click.option(
    "--twin-time",
    is_flag=True,
    help="Answer as fast as the modelled drive would; --out also gets its result, in DIR/twin.",
)
@read_only_option
@for_option
@metrics_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the final figures. Example: --out served",
)
@json_option
def serve(
    image: Path,
    command: tuple[str, ...],
    size: int | None,
    sets: tuple[tuple[str, str], ...],
    device: str | None,
    period: float | None,
    seconds: float | None,
    metrics_at: str | None,
    out: Path | None,
    as_json: bool,
    **served: Any,
) -> None:
    """Serve the drive in IMAGE as a network block device; create IMAGE if it does not exist.

    Writes go through the system's controller, as in a replay, and stay in the image. Connect any NBD client to the URI
    that is printed. Serving ends with Ctrl-C or SIGTERM, after --for, or when COMMAND ends, which finds the URI in
    NBD_URI and in place of {uri}. An existing image keeps its system and size.

    \b
    Example:
      flashtwin serve --system rr-ssd --size 64M drive.img -- qemu-io -f raw -c "write -P 7 0 64k" {uri}
    """
    expect_linux("serving a drive")
    summary = _summary(out)
    socket, listen = served["socket"], served["listen"]
    if socket is None and listen is None:
        socket = image.with_suffix(".sock")
    settings = dict(sets) | ({"device": device} if device else {})
    how = Serving(
        socket=socket,
        listen=listen,
        read_only=served["read_only"],
        period_s=period,
        tls_certificates=served["tls_certificates"],
        twin_time=served["twin_time"],
    )
    server = begin(image, served["system"], size, list(settings.items()), how)
    with server:
        for note in server.figures["drive"]["notes"]:
            say(f"note: {note}")
        _warn_of_space(image)
        data(json.dumps({"uri": server.uri, "image": str(image)}) if as_json else server.uri)
        sys.stdout.flush()
        with metrics(server, metrics_at):
            status = serve_until_end(server, command, seconds)
    figures = server.figures
    if as_json:
        data_json(figures)
    if summary is not None:
        _write(summary, figures)
    if "twin" in figures:
        _modelled(server, figures["twin"], out)
    warn(figures, set())
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
    """Prints the response times of the modelled drive, and how closely the answers kept them."""
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


def _write(path: Path, figures: dict[str, Any]) -> None:
    part = path.with_name(f"{path.name}.part")
    beside = {key: figures[key] for key in ("server", "twin") if key in figures}
    text = json.dumps({**figures["drive"], **beside}, indent=2, allow_nan=False) + "\n"
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise FlashtwinError(f"{path}: cannot be written ({(error.strerror or str(error)).lower()})") from error
