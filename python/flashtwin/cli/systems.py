"""`flashtwin systems`: which systems there are, and all keys of one."""

from __future__ import annotations

import click

from flashtwin.cli._listing import described
from flashtwin.cli._options import KeyValue, json_option
from flashtwin.cli._talk import data, data_json, pairs
from flashtwin.replays import presets


@click.command(short_help="List the systems, or show one with every key.")
@click.argument("name", required=False)
@click.option("--set", "sets", multiple=True, type=KeyValue(), help="Set a key of the configuration; repeatable.")
@json_option
def systems(name: str | None, sets: tuple[tuple[str, str], ...], as_json: bool) -> None:
    """List the systems; with NAME (or a TOML file), print it with every key, value, unit and source.

    What is printed for one system is a TOML file that `--system` reads.

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
