"""`flashtwin systems`: lists the systems, or all keys of one."""

from __future__ import annotations

import click

from flashtwin.cli._listing import described
from flashtwin.cli._options import json_option, set_option
from flashtwin.cli._talk import data, data_json, pairs
from flashtwin.replays import presets


@click.command(short_help="List the systems, or print all keys of one.")
@click.argument("name", required=False)
@set_option
@json_option
def systems(name: str | None, sets: tuple[tuple[str, str], ...], as_json: bool) -> None:
    """List the systems; with NAME (or a TOML file), print all its keys with value, unit and source.

    The printed system is a TOML file for `--system`.

    \b
    Example:
      flashtwin systems rr-ssd > mine.toml
    """
    if name is None:
        found = {system: described(presets.system_toml(system)) for system in presets.systems()}
        data_json(found) if as_json else data(pairs(list(found.items())))
        return
    chosen = presets.resolve_text(name, list(sets))
    data_json(chosen.config) if as_json else data(chosen.toml.rstrip())
