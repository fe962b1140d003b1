"""Writes the generated pages of the manual: docs/cli.md from the verbs, docs/configuration.md from the schema; and the
generated parts of docs/systems.md, from systems and devices, and of docs/results.md and docs/characterization.md, from
the types of the files.

python docs/generate.py            write them
python docs/generate.py --check    say which are stale, exit 1 if any is
"""

from __future__ import annotations

import argparse
import copy
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import schema_pages

import flashtwin as ft
from flashtwin.cli import flashtwin
from flashtwin.results.keys import KEYS

DOCS = Path(__file__).resolve().parent
NOTE = "<!-- Written by `make docs` from {source}. Do not edit. -->"


#: Options that several verbs share are described once. Groups by the option that identifies them, with their headings.
GROUPS = {"--sort-window": "Trace options", "--aged": "Replay options", "--op": "Characterization options"}
#: An option is described once if at least so many verbs have it with the same text.
SHARED_BY = 2
EVERYWHERE = ("--help", "--json")


def cli_page() -> str:
    """Every verb's help as it is printed, without the options that verbs share; these stand at the end."""
    commands = dict(verbs(flashtwin, "flashtwin"))
    shared = shared_options(commands)
    parts = [
        NOTE.format(source="the command line itself"),
        "",
        "# Command line",
        "",
        "Data goes to stdout, messages to stderr; progress is shown on a terminal only. Exit status: 0 done,",
        "1 flashtwin itself failed, 2 wrong usage or bad input, 130 interrupted. Interrupted commands leave complete",
        "files only.",
        "",
        "[Shared options](#shared-options) stand at the end; `flashtwin VERB --help` prints all options of a verb.",
        "`--json` prints JSON instead of a table.",
    ]
    for path, command in commands.items():
        own = copy.copy(command)
        own.params = [one for one in command.params if record(one, command) not in shared and not everywhere(one)]
        own.add_help_option = False
        context = click.Context(own, info_name=path, terminal_width=100, max_content_width=100)
        text = own.get_help(context).rstrip()
        if isinstance(command, click.Group) and command is not flashtwin:
            # Its verbs follow, each with a heading.
            text = text.partition("\n\nCommands:")[0]
        parts += ["", f"## `{path}`", "", "```text", text, "```"]
        parts += also(command, shared)
    parts += ["", "## Shared options"]
    for heading in dict.fromkeys(shared.values()):
        rows = [one for one, its in shared.items() if its == heading]
        parts += ["", f"### {heading}", "", *(f"* `{flags}`: {plain(text)}" for flags, text in rows)]
    return "\n".join(parts) + "\n"


def record(option: click.Parameter, command: click.Command) -> tuple[str, str]:
    """An option as help prints it: its flags, and its text; of an argument nothing."""
    if not isinstance(option, click.Option):
        return "", ""
    found = option.get_help_record(click.Context(command)) or ("", "")
    return found[0], found[1]


def everywhere(option: click.Parameter) -> bool:
    """Whether the page's first lines describe the option."""
    return any(name in EVERYWHERE for name in option.opts)


def shared_options(commands: dict[str, click.Command]) -> dict[tuple[str, str], str]:
    """Options that several verbs share, with the heading under which the page describes them."""
    users: dict[tuple[str, str], list[str]] = {}
    for path, command in commands.items():
        for one in command.params:
            found = record(one, command)
            if found[0] and not everywhere(one):
                users.setdefault(found, []).append(path)
    often = {found: tuple(paths) for found, paths in users.items() if len(paths) >= SHARED_BY}
    named = {
        paths: heading
        for (flags, _), paths in often.items()
        for name, heading in GROUPS.items()
        if name in flags.replace(",", "").split()
    }
    found = {one: named.get(paths, "Other options") for one, paths in often.items()}
    order = [*GROUPS.values(), "Other options"]
    return dict(sorted(found.items(), key=lambda one: order.index(one[1])))


def also(command: click.Command, shared: dict[tuple[str, str], str]) -> list[str]:
    """A line that names the shared options of a verb: whole groups by their headings, the others one by one."""
    has = [found for one in command.params if (found := record(one, command)) in shared]
    groups = list(dict.fromkeys(shared[one] for one in has if shared[one] in GROUPS.values()))
    links = [f"[{one.lower()}](#{one.lower().replace(' ', '-')})" for one in groups]
    links += [f"`{flags.split()[0].rstrip(',')}`" for flags, _ in has if shared[flags, _] not in groups]
    return ["", f"Also: {', '.join(links)}."] if links else []


def plain(text: str) -> str:
    """Text on one line, without Markdown of its own."""
    return " ".join(text.split()).replace("*", "\\*").replace("<", "&lt;")


def verbs(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from verbs(below, f"{path} {name}")


def configuration_page() -> str:
    """Every key of the configuration with type, default and description."""
    schema = ft.config_schema()
    parts = [
        NOTE.format(source="the configuration's schema"),
        "",
        "# Configuration",
        "",
        "Every key of a system, with its default. `--set` changes a key on the command line, a keyword in Python.",
        "You can shorten a key to an ending that no other key has: `--set alpha=0.2` sets `ftl.replication.alpha`.",
        "`flashtwin systems NAME` prints all keys with the values of a system.",
    ]
    parts += sections(schema, schema, "")
    parts += [
        "",
        "## When a key matters",
        "",
        "Some keys have an effect only under a condition. Where it does not hold, `compare` ignores a difference in",
        "the key, and `sweep` replays one value for all. A word without `=`, such as `deduplicates`, is a trait that",
        "policies give to a system; results list them under `traits`.",
        "",
        *conditions(),
    ]
    options = ft.options_schema()
    parts += [
        "",
        "## Options of a characterization",
        "",
        "Keys of `flashtwin characterize --set key=value` and of `ft.characterize(trace, key=value)`. A list needs no",
        "brackets on the command line, for example `--set frequency_ratios=2,2.5,3,5`. A result keeps its options in",
        "`characterization.json`. [Characterization](characterization.md) explains them.",
    ]
    parts += sections(options, options, "")
    return "\n".join(parts) + "\n"


def conditions() -> list[str]:
    """Conditions, each with the keys that have an effect under it."""
    keys: dict[str, list[str]] = {}
    for key in KEYS.values():
        keys.setdefault(key.when, []).append(f"`{key.name}`")
    return [f"* `{when}`: {', '.join(names)}" for when, names in keys.items() if when != "always"]


def sections(node: dict[str, Any], schema: dict[str, Any], path: str) -> list[str]:
    """The tables of one level of the configuration, then those below it."""
    keys = properties(node, schema)
    plain = {key: value for key, value in keys.items() if not properties(value, schema)}
    lines: list[str] = []
    if path:
        lines += ["", f"## `{path}`", "", *paragraph(node.get("description", ""))]
    if plain:
        lines += ["", *(line for key, value in plain.items() for line in entry(key, value, schema))]
    for key, value in keys.items():
        if key not in plain:
            lines += sections(merged(value, schema), schema, f"{path}.{key}" if path else key)
    return lines


def entry(key: str, value: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """One key as an entry of a list, its choices below it."""
    found = merged(value, schema)
    default = f" = `{toml(found['default'])}`" if "default" in found else ""
    its = kind(found, schema)
    if not default or " " in its:
        # Elsewhere the default shows the type: `0` an integer, `0.0` a number.
        default += f" ({its})"
    text = " ".join(paragraph(value.get("description", found.get("description", ""))))
    return [f"* `{key}`{default}: {text}", *(f"    * {choice}" for choice in choices(found, schema))]


def kind(node: dict[str, Any], schema: dict[str, Any]) -> str:
    """The type of a value in words."""
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node or names(node, schema):
        return "name"
    options = node.get("anyOf") or node.get("oneOf")
    if options:
        return " or ".join(dict.fromkeys(kind(merged(option, schema), schema) for option in options))
    found = node.get("type", "value")
    if found == "array":
        each = kind(node.get("items", {}), schema)
        return f"list: {each}"
    words = {
        "integer": "integer",
        "number": "number",
        "string": "text",
        "boolean": "boolean",
        "null": "none",
    }
    kinds = found if isinstance(found, list) else [found]
    return " or ".join(words.get(one, one) for one in kinds) + bounds(node)


def bounds(node: dict[str, Any]) -> str:
    """The range of a number where it is more than what its type holds."""
    least, above, most = (node.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
    if above is not None:
        return f" above {above:g}" + (f", up to {most:,g}" if most is not None else "")
    if most is not None:
        return f" from {least or 0:g} to {most:,.0f}"
    return f" from {least:g} up" if least else ""


def choices(node: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """The names that a value may have, with what each means."""
    return [
        f"`{name}`: {' '.join(paragraph(meaning))}" if meaning else f"`{name}`."
        for name, meaning in names(node, schema)
    ]


def names(node: dict[str, Any], schema: dict[str, Any]) -> list[tuple[str, str]]:
    """The fixed names that a value may have; none when it may be anything else."""
    if "enum" in node:
        return [(str(name), "") for name in node["enum"]]
    options = [merged(option, schema) for option in node.get("oneOf", [])]
    if not options or not all("const" in option or "enum" in option for option in options):
        return []
    return [
        (str(name), option.get("description", ""))
        for option in options
        for name in option.get("enum", [option.get("const")])
    ]


def properties(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The keys of a table; none for a plain value."""
    found: dict[str, Any] = merged(node, schema).get("properties", {})
    return found


def merged(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A node with what it refers to; what stands on the node itself wins."""
    if "$ref" not in node:
        return node
    target: Any = schema
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**merged(target, schema), **{key: value for key, value in node.items() if key != "$ref"}}


def paragraph(text: str) -> list[str]:
    """Text without line breaks, as a list that may be empty."""
    return [" ".join(text.split())] if text.strip() else []


def toml(value: Any) -> str:
    """A value as it is written in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


#: Not part of the design that a system is.
LEFT_OUT = ("name", "description", "nand", "seed", "verify", "replay")
#: A generated part of docs/systems.md: `<!-- generated: devices -->` up to `<!-- end of generated -->`.
BLOCK = re.compile(r"<!-- generated: (?P<name>[a-z]+) -->.*?<!-- end of generated -->", re.DOTALL)


def systems_page() -> str:
    """docs/systems.md with its tables of systems and devices."""
    made = {"composition": composition, "devices": devices}
    return BLOCK.sub(
        lambda mark: "\n".join(
            [f"<!-- generated: {mark['name']} -->", *made[mark["name"]](), "<!-- end of generated -->"]
        ),
        (DOCS / "systems.md").read_text(encoding="utf-8"),
    )


def composition() -> list[str]:
    """Each system by the keys in which it differs from `conventional`."""
    configs = {name: flat(ft.system(name).config) for name in ft.systems()}
    usual = configs.pop("conventional")
    rows = []
    for name, config in configs.items():
        keys = [f"`{key} = {toml(value)}`" for key, value in config.items() if value != usual.get(key)]
        rows.append(f"| `{name}` | {', '.join(keys)} |")
    return ["| system | keys |", "| --- | --- |", *rows]


def flat(config: dict[str, Any], path: str = "") -> dict[str, Any]:
    """A configuration by dotted keys, without those that are not part of the design."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        if not path and key in LEFT_OUT:
            continue
        dotted = f"{path}.{key}" if path else key
        found |= flat(value, dotted) if isinstance(value, dict) else {dotted: value}
    return found


def devices() -> list[str]:
    """Geometry and times of each device, with the time of one page on an idle drive."""
    head = ["device", "channels x chips x dies x planes", "blocks x pages", "page + spare, B", "capacity, GiB"]
    head += ["tR, us", "tPROG, us", "tBERS, ms", "bus, MT/s x bit", "command, ns", "cycles", "transfer, us", "read, us"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for name in ft.devices():
        nand = ft.system("conventional", device=name).config["nand"]
        lines.append(f"| `{name}` | {' | '.join(device(nand))} |")
    return lines


def device(nand: dict[str, Any]) -> list[str]:
    """The cells of one device."""
    levels = [nand[key] for key in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")]
    pages = math.prod(levels) * nand["blocks_per_plane"] * nand["pages_per_block"]
    bits = (nand["page_bytes"] + nand["metadata_bytes"]) * 8
    transfer_us = math.ceil(bits / nand["bus_width_bits"]) / nand["bus_mt_s"]
    several = f" for {nand['program_pages']} pages" if nand["program_pages"] > 1 else ""
    return [
        " x ".join(map(str, levels)),
        f"{nand['blocks_per_plane']} x {nand['pages_per_block']}",
        f"{nand['page_bytes']} + {nand['metadata_bytes']}",
        f"{pages * nand['page_bytes'] / 2**30:,.0f}",
        f"{nand['read_us']:g}",
        f"{nand['program_us']:g}{several}",
        f"{nand['erase_us'] / 1000:g}",
        f"{nand['bus_mt_s']:g} x {nand['bus_width_bits']}",
        str(nand["command_ns"]),
        f"{nand['pe_cycles']:,}",
        f"{transfer_us:.2f}",
        f"{nand['command_ns'] / 1000 + nand['read_us'] + transfer_us:.1f}",
    ]


PAGES = {
    # First: whoever reads results needs it, the command line below included.
    "../python/flashtwin/results/schema.json": schema_pages.names,
    "cli.md": cli_page,
    "configuration.md": configuration_page,
    "systems.md": systems_page,
    "results.md": lambda: schema_pages.page(DOCS / "results.md"),
    "characterization.md": lambda: schema_pages.page(DOCS / "characterization.md"),
}


def main() -> int:
    """Writes or checks all pages; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="only say which pages are stale")
    check = parser.parse_args().check
    stale = []
    for name, page in PAGES.items():
        path = DOCS / name
        text = page()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"stale: {', '.join(stale)}; run `make docs`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
