"""`flashtwin systems` and `flashtwin devices`: lists the presets, or prints one."""

import itertools
import tomllib

from flashtwin.cli._bridge import verb
from flashtwin.cli._options import Json, Sets
from flashtwin.cli._talk import data, data_json, pairs
from flashtwin.replays import presets


@verb()
def systems(name: str | None = None, *, set_: Sets = (), json: Json = False) -> None:
    """List the systems; with NAME (or a TOML file), print all its keys with value, unit and source.

    The printed system is a TOML file for `--system`. With a `base`, for example `base = "rr-ssd"`, your own file has
    only the keys that differ.

    \b
    Example:
      flashtwin systems rr-ssd > mine.toml
    """
    if name is None:
        _list({system: _described(presets.system_toml(system)) for system in presets.systems()}, as_json=json)
        return
    chosen = presets.resolve_text(name, set_)
    presets.warn_of_ignored([(chosen.name, chosen)], [key for key, _ in set_])
    data_json(chosen.config) if json else data(chosen.toml.rstrip())


@verb()
def devices(name: str | None = None, *, json: Json = False) -> None:
    """List the NAND devices; with NAME (or a TOML file), print its numbers and their sources.

    The printed device is a TOML file for `--device`. Your own file may also have the tables `engine` and `ftl`, for the
    behaviour of that drive's controller in any design, for example `[engine]` with `suspend = "program-erase"`; with a
    `base`, for example `base = "tlc-unit-2021"`, it has only what differs.

    \b
    Example:
      flashtwin devices rr-ssd > mine.toml
    """
    if name is None:
        _list({device: _described(presets.device_toml(device)) for device in presets.devices()}, as_json=json)
        return
    text = presets.device_toml(name)
    data_json(tomllib.loads(text)) if json else data(text.rstrip())


def _list(described: dict[str, str], *, as_json: bool) -> None:
    data_json(described) if as_json else data(pairs(list(described.items())))


def _described(toml: str) -> str:
    """The summary of a preset: its `description`, or else its first comment; up to the first full stop."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), toml.splitlines())
    comment = " ".join(line.lstrip("#").strip() for line in lines).strip()
    text = str(tomllib.loads(toml).get("description") or comment)
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        # Sources in parentheses have abbreviations.
        if depth == 0 and text[at : at + 2] == ". ":
            return text[:at]
    return text.rstrip(".")
