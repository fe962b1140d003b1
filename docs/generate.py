"""Writes the generated pages and parts of pages: docs/cli.md from the verbs, docs/configuration.md, docs/results.md and
docs/characterization.md from the JSON schemas of what is read and written, docs/systems.md from systems and devices.

python docs/generate.py            write them
python docs/generate.py --check    say which are stale, exit 1 if any is
"""

import argparse
import copy
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

import flashtwin as ft
from flashtwin import _core
from flashtwin.cli import flashtwin
from flashtwin.results.keys import KEYS

Schema = dict[str, Any]
#: The name of a field and its text, from its name, its schema and the whole schema.
Entry = Callable[[str, Schema, Schema], tuple[str, str]]

DOCS = Path(__file__).resolve().parent
RESULTS: Schema = json.loads(_core.results_schema())
#: A generated part of a page, such as `<!-- schema: run.tables -->` up to `<!-- end of schema -->`.
BLOCK = re.compile(r"(<!-- (?P<kind>schema|generated): (?P<name>[a-z.]+) -->).*?(<!-- end of (?P=kind) -->)", re.DOTALL)
NOTE = "<!-- Written by `make docs` from {source}. Do not edit. -->"
#: Text without Markdown of its own.
PLAIN = str.maketrans({"*": "\\*", "<": "&lt;"})
#: Objects of a characterization that another page describes.
DESCRIBED_ON = {
    "info": "[as `trace` of `study.json`](results.md#studyjson)",
    "options": "[as in the configuration](configuration.md#options-of-a-characterization)",
}

CLI = """
# Command line

Data goes to stdout, messages to stderr; progress is shown on a terminal only. Exit status: 0 done,
1 flashtwin itself failed, 2 wrong usage or bad input, 130 interrupted. Interrupted commands leave complete
files only.

[Shared options](#shared-options) stand at the end; `flashtwin VERB --help` prints all options of a verb.
`--json` prints JSON instead of a table. `NO_COLOR=1` takes the colours away.

Your shell completes verbs and options after `eval "$(_FLASHTWIN_COMPLETE=bash_source flashtwin)"` in `~/.bashrc`.
For zsh it is `zsh_source`, for fish `fish_source`.
"""
CONFIGURATION = """
# Configuration

Every key of a system, with its default. `--set` changes a key on the command line, a keyword in Python.
You can shorten a key to an ending that no other key has: `--set alpha=0.2` sets `ftl.replication.alpha`.
`flashtwin systems NAME` prints all keys with the values of a system.
"""
CONDITIONS = """
## When a key matters

Some keys have an effect only under a condition. Where it does not hold, `compare` ignores a difference in
the key, and `sweep` replays one value for all. A word without `=`, such as `deduplicates`, is a trait that
policies give to a system; results list them under `traits`.
"""
OPTIONS = """
## Options of a characterization

Keys of `flashtwin characterize --set key=value` and of `ft.characterize(trace, key=value)`. A list needs no
brackets on the command line, for example `--set frequency_ratios=2,2.5,3,5`. A result keeps its options in
`characterization.json`. [Characterization](characterization.md) explains them.
"""


def cli_page() -> str:
    """Every verb's help as it is printed, without the options that verbs share; these stand at the end."""
    commands = dict(verbs(flashtwin, "flashtwin"))
    users = Counter(record for command in commands.values() for record in records(command))
    # Where verbs differ in the text of an option, the most frequent text is the shared one.
    shared = {flags: text for (flags, text), count in reversed(users.most_common()) if count > 1}
    blocks = [NOTE.format(source="the command line itself"), CLI]
    for path, command in commands.items():
        own = copy.copy(command)
        own.params = [
            one for one in command.params if help_record(one, command) not in shared.items() and not everywhere(one)
        ]
        own.add_help_option = False
        text = own.get_help(click.Context(own, info_name=path, terminal_width=100, max_content_width=100)).rstrip()
        if isinstance(command, click.Group) and command is not flashtwin:
            # Its verbs follow, each with a heading.
            text = text.partition("\n\nCommands:")[0]
        blocks += [f"## `{path}`", f"```text\n{text}\n```"]
        if also := [flags.split()[0].rstrip(",") for flags, text in records(command) if shared.get(flags) == text]:
            blocks.append(f"[Shared](#shared-options): `{'`, `'.join(also)}`.")
    options = (f"* `{flags}`: {line(text).translate(PLAIN)}" for flags, text in sorted(shared.items()))
    return joined([*blocks, "## Shared options", "\n".join(options)])


def help_record(option: click.Parameter, command: click.Command) -> tuple[str, str] | None:
    """An option as help prints it: its flags, and its text. None for an argument."""
    return option.get_help_record(click.Context(command)) if isinstance(option, click.Option) else None


def records(command: click.Command) -> list[tuple[str, str]]:
    """All options of a verb, but those that the page's first lines describe."""
    params = (one for one in command.params if not everywhere(one))
    return [record for one in params if (record := help_record(one, command))]


def everywhere(option: click.Parameter) -> bool:
    """Whether the page's first lines describe the option."""
    return bool({"--help", "--json"} & set(option.opts))


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
    """Every key of the configuration and of a characterization's options, with type, default and description."""
    systems, options = ft.config_schema(), ft.options_schema()
    return joined([
        NOTE.format(source="the configuration's schema"),
        CONFIGURATION, *sections(systems, systems, "", "##", key_entry),
        CONDITIONS, "\n".join(conditions()), OPTIONS, *sections(options, options, "", "##", key_entry),
    ])  # fmt: skip


def conditions() -> list[str]:
    """Conditions, each with the keys that have an effect under it."""
    keys: dict[str, list[str]] = {}
    for key in KEYS.values():
        keys.setdefault(key.when, []).append(f"`{key.name}`")
    return [f"* `{when}`: {', '.join(names)}" for when, names in keys.items() if when != "always"]


def joined(blocks: Iterable[str]) -> str:
    """A page of its blocks."""
    return "\n\n".join(block.strip("\n") for block in blocks) + "\n"


def sections(node: Schema, root: Schema, path: str, level: str, entry: Entry) -> Iterator[str]:
    """The plain fields of an object as a list, then a section for each object within; objects of a type share one."""
    plain: list[tuple[str, str]] = []
    objects: dict[str, tuple[Schema, list[str]]] = {}
    for name, field in node.get("properties", {}).items():
        if link := DESCRIBED_ON.get(f"{path}{name}"):
            plain.append(entry(name, {"description": f"{described(field)}, {link}"}, root))
        elif found := object_of(field, root):
            objects.setdefault(referred(field) or name, (found, []))[1].append(name)
        else:
            plain.append(entry(name, field, root))
    if plain:
        yield entries(plain)
    for found, names in objects.values():
        yield f"{level} " + ", ".join([f"`{path}{names[0]}`", *(f"`.{name}`" for name in names[1:])])
        # Of one object the field's own text, which says when it is missing; several share that of their type.
        own = [f"{text}." for name in names[: len(names) == 1] if (text := described(node["properties"][name]))]
        yield from dict.fromkeys([*own, *paragraphs(found)])
        yield from sections(found, root, f"{path}{names[0]}.", level, entry)


def entries(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of names with their texts. Neighbours with the same text are one entry."""
    texts = groupby(pairs, key=itemgetter(1))
    return "\n".join(f"* {', '.join(name for name, _ in group)}: {text}" for text, group in texts)


def key_entry(name: str, node: Schema, root: Schema) -> tuple[str, str]:
    """A key of the configuration with its type or default, and its text with its choices below."""
    found = merged(node, root)
    default = f" = `{toml(found['default'])}`" if "default" in found else ""
    its = kind(found, root)
    if not default or " " in its:
        # Elsewhere the default shows the type: `0` an integer, `0.0` a number.
        default += f" ({its})"
    choices = (f"    * `{choice}`{f': {line(text)}' if text else '.'}" for choice, text in names(found, root))
    return f"`{name}`{default}", "\n".join([line(found.get("description", "")), *choices])


def field_entry(name: str, node: Schema, _: Schema) -> tuple[str, str]:
    """A field of results, with a question mark if it can be null."""
    kinds = node.get("type", [])
    nullable = {"type": "null"} in node.get("anyOf", []) or (isinstance(kinds, list) and "null" in kinds)
    return f"`{name}`{'?' if nullable else ''}", described(node)


def tables(schemas: dict[str, Schema]) -> Iterator[str]:
    """A section for each table: the meaning of a row, and the columns."""
    for name, row in schemas.items():
        yield f"### `{name}`"
        yield from paragraphs(row)
        columns = [(f"`{column}`", described(node)) for column, node in row["properties"].items()]
        if name == "requests":
            # The charges of the wait ledger, one column each, come last.
            text = "The request's time by [charge](#charges-of-wait_ledger); the columns sum to `response_ns`"
            columns = [*takewhile(lambda column: column[0] != "`host_read_ns`", columns), ("`CHARGE_ns`", text)]
        yield entries(columns)


def paths(node: Schema, root: Schema, path: str) -> Iterator[str]:
    """Paths of all figures below a node; a list's own, and those of its entries."""
    for name, field in node.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        within = object_of(field, root)
        if not within or field.get("type") == "array":
            yield below
        yield from paths(within, root, below)


def result_names() -> str:
    """Fields, by their dotted paths, and columns of what is written: what readers in Python are checked against."""
    found = {
        what: {
            "fields": sorted({*paths(part["summary"], part["summary"], "")} - {"config", "standard_errors"}),
            "tables": {name: list(row["properties"]) for name, row in part["tables"].items()},
        }
        for what, part in RESULTS.items()
        if "summary" in part
    }
    return json.dumps(found, indent=1) + "\n"


def referred(node: Schema) -> str | None:
    """What a field refers to: an object, a list of them, or one that may be missing."""
    options = [node, node.get("items", {}), *node.get("anyOf", [])]
    return next((option["$ref"] for option in options if "$ref" in option), None)


def object_of(node: Schema, root: Schema) -> Schema:
    """The object that a field holds; empty for a plain field."""
    reference = referred(node)
    found = target(reference, root) if reference else node
    return found if "properties" in found else {}


def target(reference: str, root: Schema) -> Schema:
    """The object that a reference means."""
    return dict(root["$defs"][reference.rpartition("/")[2]])


def paragraphs(node: Schema) -> list[str]:
    """The paragraphs of a description."""
    return [line(part) for part in node.get("description", "").split("\n\n") if part.strip()]


def described(node: Schema) -> str:
    """A description without the full stop at its end."""
    return " ".join(paragraphs(node)).removesuffix(".")


def kind(node: Schema, schema: Schema) -> str:
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
        return f"list: {kind(node.get('items', {}), schema)}"
    words = {"string": "text", "null": "none"}
    kinds = found if isinstance(found, list) else [found]
    return " or ".join(words.get(one, one) for one in kinds) + bounds(node)


def bounds(node: Schema) -> str:
    """The range of a number where it is more than what its type holds."""
    least, above, most = (node.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
    if above is not None:
        return f" above {above:g}" + (f", up to {most:,g}" if most is not None else "")
    if most is not None:
        return f" from {least or 0:g} to {most:,.0f}"
    return f" from {least:g} up" if least else ""


def names(node: Schema, schema: Schema) -> list[tuple[str, str]]:
    """The fixed names that a value may have; none when it may be anything else."""
    if "enum" in node:
        return [(str(name), "") for name in node["enum"]]
    options = [merged(option, schema) for option in node.get("oneOf", [])]
    if not options or not all({"const", "enum", "pattern"} & option.keys() for option in options):
        return []
    return [
        (str(name), option.get("description", ""))
        for option in options
        for name in option.get("enum", [option.get("const", f"{option.get('pattern', '')[1:]}...")])
    ]


def merged(node: Schema, root: Schema) -> Schema:
    """A node with what it refers to; what stands on the node itself wins."""
    return {**merged(target(node["$ref"], root), root), **node} if "$ref" in node else node


def line(text: str) -> str:
    """Text without line breaks."""
    return " ".join(text.split())


def toml(value: Any) -> str:
    """A value as it is written in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


#: Not part of the design that a system is.
LEFT_OUT = ("name", "description", "nand", "seed", "verify", "replay")


def page(name: str) -> str:
    """A page with its generated parts written again."""

    def block(mark: re.Match[str]) -> str:
        what, _, part = mark["name"].partition(".")
        if mark["kind"] == "generated":
            return "\n".join([mark[1], *GENERATED[what](), mark[4]])
        node = RESULTS[what][part]
        parts = tables(node) if part == "tables" else sections(node, node, "", "###", field_entry)
        return joined([mark[1], *parts, mark[4]]).rstrip()

    return BLOCK.sub(block, (DOCS / name).read_text(encoding="utf-8"))


def composition() -> list[str]:
    """Each system by the keys in which it differs from `conventional`."""
    configs = {name: flat(ft.system(name).config) for name in ft.systems()}
    usual = configs.pop("conventional")
    rows = []
    for name, config in configs.items():
        keys = [f"`{key} = {toml(value)}`" for key, value in config.items() if value != usual.get(key)]
        rows.append(f"| `{name}` | {', '.join(keys)} |")
    return ["| system | keys |", "| --- | --- |", *rows]


def limits() -> list[str]:
    """Limits of a server, from its own constants."""
    usual, twin = (
        {key: value / 2**20 if key.endswith("_bytes") else value for key, value in _core.server_limits(twin).items()}
        for twin in (False, True)
    )
    memory = [math.ceil(limits["connection_bytes"]) for limits in (usual, twin)]
    return [
        f"* {usual['connections']} clients, {usual['requests']} requests under way each, with `--twin-time` "
        f"{twin['requests']}. A client's further requests wait for its earlier ones.",
        f"* Requests of a client take up to {memory[0]} MiB of memory, with `--twin-time` {memory[1]} MiB. No client "
        "waits for another's.",
        f"* A request has at most {usual['request_bytes']:g} MiB. Above {usual['piece_bytes']:g} MiB it is carried "
        f"out, timed and recorded in pieces of {usual['piece_bytes']:g} MiB, as a kernel cuts it for a real drive.",
        f"* A client that for {usual['stalled_s']} s takes nothing of a reply, or sends nothing of a begun request, "
        "loses its connection. A client at rest keeps it.",
        f"* A client has {usual['handshake_s']} s to choose the export. If it leaves, its unanswered requests may be "
        "done in part.",
        "* Ending (Ctrl-C, SIGTERM) takes as long as begun requests do. Clients that do not take their replies are cut "
        f"off after {usual['farewell_s']} s.",
    ]


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


#: What writes a generated part of a page.
GENERATED = {"composition": composition, "devices": devices, "limits": limits}
PAGES: dict[str, Callable[[], str]] = {
    # First: whoever reads results needs it, the command line below included.
    "../python/flashtwin/results/schema.json": result_names,
    "cli.md": cli_page,
    "configuration.md": configuration_page,
    **{name: partial(page, name) for name in ("systems.md", "results.md", "characterization.md", "record.md")},
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
