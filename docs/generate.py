"""Writes the generated pages of the manual: docs/cli.md from the verbs, docs/configuration.md from the schema,
docs/compositions.md from the presets, docs/images/crates.svg from the crates; and the generated parts of
docs/results.md and docs/characterization.md, from the types of what is written.

python docs/generate.py            write them
python docs/generate.py --check    say which are stale, exit 1 if any is
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import schema_pages
from picture import picture

import flashtwin as ft
from flashtwin.cli import flashtwin
from flashtwin.cli._characterizing import measuring_options
from flashtwin.cli._options import files_options, running_options
from flashtwin.cli._serving import (
    for_option,
    listen_option,
    metrics_option,
    read_only_option,
    socket_option,
    tls_option,
)
from flashtwin.cli._spread import spread_options
from flashtwin.results.keys import KEYS

DOCS = Path(__file__).resolve().parent
NOTE = "<!-- Written by `make docs` from {source}. Do not edit. -->"


def parameters(*options: Any) -> list[click.Parameter]:
    """The parameters that decorators add to a command, in the order of its help."""

    def command() -> None:
        """Does nothing."""

    decorated: Any = command
    for option in reversed(options):
        decorated = option(decorated)
    return list(reversed(decorated.__click_params__))


#: Options that several verbs share, by the heading that describes them: printed once, not with each verb.
SHARED = {
    "Reading a trace": parameters(files_options),
    "Replaying": parameters(running_options),
    "Characterizing": parameters(measuring_options)[len(parameters(files_options)) :],
    "Several machines": parameters(spread_options),
    "Serving": parameters(socket_option, listen_option, tls_option, read_only_option, for_option, metrics_option),
}


def cli_page() -> str:
    """Every verb's help, with shared options in sections of their own."""
    parts = [
        NOTE.format(source="the command line itself"),
        "",
        "# Command line",
        "",
        "Data goes to stdout, messages to stderr; progress shows on a terminal only. Exit status: 0 done, 1 internal",
        "error, 2 wrong usage or bad input, 130 interrupted. An interrupted command leaves complete files only.",
        "Every verb has `--help`, and options that several verbs share stand [below](#shared-options).",
    ]
    for path, command in verbs(flashtwin, "flashtwin"):
        own, shared = split(command)
        parts += ["", f"## `{path}`", "", "```text", help_of(command, path, own), "```"]
        if shared:
            links = ", ".join(f"[{title.lower()}](#{title.lower().replace(' ', '-')})" for title in shared)
            parts += ["", f"Further options: {links}."]
    parts += ["", "## Shared options"]
    for title, options in SHARED.items():
        text = help_of(click.Command(title), "", options).partition("Options:\n")[2]
        parts += ["", f"### {title}", "", "```text", text, "```"]
    return "\n".join(parts) + "\n"


def split(command: click.Command) -> tuple[list[click.Parameter], list[str]]:
    """A verb's own parameters, and the titles of the groups that it has in full."""
    found = {as_printed(one) for one in command.params}
    titles = [title for title, options in SHARED.items() if found.issuperset(map(as_printed, options))]
    shared = {as_printed(one) for title in titles for one in SHARED[title]}
    return [one for one in command.params if as_printed(one) not in shared], titles


def as_printed(parameter: click.Parameter) -> object:
    """Equal for parameters that a help page shows alike; arguments are all different."""
    context = click.Context(click.Command("flashtwin"))
    return parameter.get_help_record(context) or id(parameter)


def help_of(command: click.Command, path: str, parameters: list[click.Parameter]) -> str:
    """The help of a command with these parameters only; `--help` itself is left out."""
    short = copy.copy(command)
    short.params, short.add_help_option = parameters, False
    return short.get_help(click.Context(short, info_name=path, terminal_width=100, max_content_width=100)).rstrip()


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
        "Every key of a system. `--set key=value` changes one, as does a keyword in Python; a key may be shortened to",
        "any ending that names one key only. `flashtwin systems NAME` prints all keys with the values of a system.",
        "Where a system's TOML file leaves a key out, the default below holds.",
    ]
    parts += sections(schema, schema, "")
    parts += [
        "",
        "## When a key matters",
        "",
        "Another value of a key of this list changes what happens only where its condition holds. A comparison leaves",
        "such a key out where it does not, and in a sweep one run stands for all its values. Words without `=` are",
        "traits, which policies give to a system; results name them under `traits`.",
        "",
        "| key | matters where |",
        "| --- | --- |",
        *(f"| `{key.name}` | {condition(key.when)} |" for key in KEYS.values() if key.when != "always"),
    ]
    options = ft.options_schema()
    parts += [
        "",
        "# Options of a characterization",
        "",
        "Every key of `flashtwin characterize --set key=value`, and of `ft.characterize(trace, key=value)`; shortened",
        "as above. A list needs no brackets on the command line: `--set frequency_ratios=2,2.5,3,5`. The options of a",
        "result stand in its `characterization.json`, under `options`. What they mean:",
        "[characterization](characterization.md).",
    ]
    parts += sections(options, options, "")
    return "\n".join(parts) + "\n"


def condition(text: str) -> str:
    """In code, with the bars between values as a table's cell needs them."""
    return f"`{text.replace('|', chr(92) + '|')}`"


def sections(node: dict[str, Any], schema: dict[str, Any], path: str) -> list[str]:
    """The tables of one level of the configuration, then those below it."""
    keys = properties(node, schema)
    plain = {key: value for key, value in keys.items() if not properties(value, schema)}
    lines: list[str] = []
    if path:
        lines += ["", f"## `{path}`", "", *paragraph(node.get("description", ""))]
    if plain:
        lines += ["", "| key | type | default | meaning |", "| --- | --- | --- | --- |"]
        lines += [row(key, value, schema) for key, value in plain.items()]
    for key, value in keys.items():
        if key not in plain:
            lines += sections(merged(value, schema), schema, f"{path}.{key}" if path else key)
    return lines


def row(key: str, value: dict[str, Any], schema: dict[str, Any]) -> str:
    """One key as a row of a table."""
    found = merged(value, schema)
    default = f"`{toml(found['default'])}`" if "default" in found else ""
    meaning = " ".join([*paragraph(value.get("description", found.get("description", ""))), *choices(found, schema)])
    return f"| `{key}` | {kind(found, schema)} | {default} | {meaning.replace('|', chr(92) + '|')} |"


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
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true or false",
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


#: Columns of the table of systems: the decision, and the key that names who decides.
DECISIONS = {
    "mapping": "ftl.mapping",
    "tables": "ftl.dedup.tables",
    "allocation": "ftl.allocation.policy",
    "victim": "ftl.gc.victim",
    "copies": "ftl.replication.policy",
    "reads go to": "ftl.redirection.policy",
    "duplicates": "ftl.spread.policy",
    "device": "device",
}

#: Said once for all, not part of what a system is.
APART = ("name", "description", "nand", "seed", "verify", "replay")


def compositions_page() -> str:
    """What each system is composed of."""
    parts = [
        NOTE.format(source="the presets in systems/"),
        "",
        "# What each system is composed of",
        "",
        "A system is a choice of policies. Any choice may be combined with any other, in a TOML file or with `--set`;",
        "what cannot go together is refused with the reason. In words: [systems](systems.md); every key:",
        "[configuration](configuration.md).",
        "",
        f"| system | {' | '.join(DECISIONS)} |",
        f"| --- |{' --- |' * len(DECISIONS)}",
    ]
    configs = {name: ft.system(name).config for name in ft.systems()}
    parts += [decisions(name, flat(config)) for name, config in configs.items()]
    parts += [
        "",
        "`tables` matters with `mapping = content` only.",
        "",
        "## What else differs",
        "",
        "Keys whose value is not that of `conventional`, beyond those of the table.",
        "",
        "| system | keys |",
        "| --- | --- |",
    ]
    usual = flat(configs["conventional"])
    parts += [differences(name, flat(config), usual) for name, config in configs.items() if name != "conventional"]
    return "\n".join(parts) + "\n"


def flat(config: dict[str, Any], path: str = "") -> dict[str, Any]:
    """A configuration by dotted keys, without what is apart from the system itself."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        if not path and key in APART:
            continue
        dotted = f"{path}.{key}" if path else key
        found |= flat(value, dotted) if isinstance(value, dict) else {dotted: value}
    return found


def decisions(name: str, config: dict[str, Any]) -> str:
    """A system as a row of the table of decisions."""
    cells = []
    for key in DECISIONS.values():
        applies = key != "ftl.dedup.tables" or config["ftl.mapping"] == "content"
        order = config["ftl.allocation.order"] if config[key] in ("static", "dynamic", "hipa") else None
        cells.append(f"{config[key]}{f' {order}' if order else ''}" if applies and config[key] != "none" else "-")
    return f"| `{name}` | {' | '.join(cells)} |"


def differences(name: str, config: dict[str, Any], usual: dict[str, Any]) -> str:
    """What a system sets otherwise than `conventional`, beyond the decisions."""
    keys = [key for key in config if key not in DECISIONS.values() and config[key] != usual.get(key)]
    return f"| `{name}` | {', '.join(f'`{key} = {toml(config[key])}`' for key in keys) or '-'} |"


PAGES = {
    # First: whoever reads results needs it, the command line below included.
    "../python/flashtwin/results/schema.json": schema_pages.names,
    "cli.md": cli_page,
    "configuration.md": configuration_page,
    "compositions.md": compositions_page,
    "results.md": lambda: schema_pages.page(DOCS / "results.md"),
    "characterization.md": lambda: schema_pages.page(DOCS / "characterization.md"),
    "images/crates.svg": lambda: picture(DOCS.parent),
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
