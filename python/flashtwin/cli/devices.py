"""`flashtwin devices`: which NAND devices there are, and the numbers of one."""

from __future__ import annotations

import tomllib

import click

from flashtwin.cli._listing import described
from flashtwin.cli._options import json_option
from flashtwin.cli._talk import data, data_json, pairs
from flashtwin.replays import presets


@click.command(short_help="List the NAND devices, or print one.")
@click.argument("name", required=False)
@json_option
def devices(name: str | None, as_json: bool) -> None:
    """List the NAND devices; with NAME (or a TOML file), print its numbers and their sources.

    The printed device is a TOML file for `--device`. Your own file may also have the tables `engine` and `ftl`, for the
    behaviour of that drive's controller in any design, for example `[engine]` with `suspend = "program-erase"`.

    \b
    Example:
      flashtwin devices rr-ssd > mine.toml
    """
    if name is None:
        found = {device: described(presets.device_toml(device)) for device in presets.devices()}
        data_json(found) if as_json else data(pairs(list(found.items())))
        return
    text = presets.device_toml(name)
    data_json(tomllib.loads(text)) if as_json else data(text.rstrip())
