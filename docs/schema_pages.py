"""The generated parts of docs/results.md and docs/characterization.md: every field and every column of what is written,
from the schema of the types that write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flashtwin import _core

SCHEMA: dict[str, Any] = json.loads(_core.results_schema())
#: A part of a page that is made from the schema: `<!-- schema: run.tables -->` up to `<!-- end of schema -->`.
BLOCK = re.compile(r"<!-- schema: (?P<what>[a-z.]+) -->.*?<!-- end of schema -->", re.DOTALL)
WORDS = {"integer": "integer", "number": "number", "string": "text", "boolean": "boolean"}
#: Charges of the wait ledger, each of which is a column of the table of requests.
CHARGES = tuple(
    f"{charge}_ns"
    for charge in (
        "host_read", "host_program", "gc_read", "gc_program", "erase", "copy", "table_page", "comparison", "order",
        "suspension", "channel", "hash_queue", "tables", "page_program", "cache_place", "earlier_writes", "slot",
        "link", "hash", "transfer", "flash", "controller",
    )
)  # fmt: skip
#: Arrow's names of the types of columns.
COLUMN_TYPES = {
    "string": "string", "uint32": "uint32", "uint64": "uint64", "int64": "int64", "double": "double", "boolean": "bool",
}  # fmt: skip

#: Types that the pages mention once, not at each field and column.
USUAL = ("integer", "object", "uint64")

Schema = dict[str, Any]
#: What the schema of a run or of a characterization leaves to the schemas of configuration and options.
ELSEWHERE = ("config", "standard_errors")


def names() -> str:
    """Fields, by their dotted paths, and columns of what is written: what readers in Python are checked against."""
    found = {
        what: {
            "fields": sorted(path for path in _paths(part["summary"], part["summary"], "") if path not in ELSEWHERE),
            "tables": {name: list(row["properties"]) for name, row in part["tables"].items()},
        }
        for what, part in SCHEMA.items()
        if "summary" in part
    }
    return json.dumps(found, indent=1) + "\n"


def _paths(node: Schema, root: Schema, path: str) -> Iterator[str]:
    """Paths of all figures below a node; a list's own, and those of its entries."""
    for name, one in node.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        reference = _reference(one)
        within = _target(reference, root) if reference else {}
        if "properties" not in within or one.get("type") == "array":
            yield below
        yield from _paths(within, root, below)


def page(path: Path) -> str:
    """A page with its generated parts written again."""
    return BLOCK.sub(_block, path.read_text(encoding="utf-8"))


def _block(mark: re.Match[str]) -> str:
    what = mark["what"]
    of, _, part = what.partition(".")
    found = SCHEMA[of][part]
    lines = tables(found) if part == "tables" else fields(found, found, "")
    return "\n".join([f"<!-- schema: {what} -->", "", *lines, "", "<!-- end of schema -->"])


def fields(node: Schema, root: Schema, path: str) -> list[str]:
    """The fields of an object as a table, then a section for each object within."""
    properties = node.get("properties", {})
    lines = ["| field | meaning |", "| --- | --- |"]
    lines += _rows([(name, _kind(one, root), _cell(one)) for name, one in properties.items()])
    for names, target in _objects(properties, root):
        title = ", ".join(f"`{path}{name}`" if place == 0 else f"`.{name}`" for place, name in enumerate(names))
        lines += ["", f"### {title}", "", *_joined(_paragraphs(target))]
        lines += fields(target, root, f"{path}{names[0]}.")
    return lines


def tables(schemas: dict[str, Schema]) -> list[str]:
    """A section for each table: what a row is, and its columns."""
    lines: list[str] = []
    for name, row in schemas.items():
        lines += [
            "",
            f"### `{name}`",
            "",
            *_joined(_paragraphs(row)),
            "| column | meaning |",
            "| --- | --- |",
        ]
        lines += _rows([(column, _column(one), _cell(one)) for column, one in _columns(row)])
    return lines[1:]


def _columns(row: Schema) -> list[tuple[str, Schema]]:
    """The columns of a table; those of the charges, one each, as one."""
    columns: dict[str, Schema] = row["properties"]
    if not set(CHARGES) <= set(columns):
        return list(columns.items())
    found = [(name, one) for name, one in columns.items() if name not in CHARGES]
    text = "The request's time by [charge](#charges-of-wait_ledger); the columns sum to `response_ns`"
    return [*found, ("CHARGE_ns", {**columns[CHARGES[0]], "description": text})]


def _rows(cells: list[tuple[str, str, str]]) -> list[str]:
    """Rows of a table; neighbours that differ in nothing but the name are one row."""
    rows: list[tuple[list[str], str, str]] = []
    for name, kind, text in cells:
        if rows and rows[-1][1:] == (kind, text):
            rows[-1][0].append(name)
        else:
            rows.append(([name], kind, text))
    return [
        f"| {', '.join(f'`{name}`' for name in names)} | {text}{'' if kind in USUAL else f' ({kind})'} |"
        for names, kind, text in rows
    ]


def _objects(properties: dict[str, Schema], root: Schema) -> Iterator[tuple[list[str], Schema]]:
    """The fields that are objects, those of one type together: their names and the type."""
    groups: dict[str, list[str]] = {}
    for name, node in properties.items():
        found = _reference(node)
        if found and "properties" in _target(found, root):
            groups.setdefault(found, []).append(name)
    for reference, names in groups.items():
        yield names, _target(reference, root)


def _reference(node: Schema) -> str | None:
    """What a field refers to: an object, a list of them, or one that may be missing."""
    options = [node, node.get("items", {}), *node.get("anyOf", [])]
    return next((option["$ref"] for option in options if "$ref" in option), None)


def _target(reference: str, root: Schema) -> Schema:
    found: Schema = root["$defs"][reference.rpartition("/")[2]]
    return found


def _kind(node: Schema, root: Schema) -> str:
    """The type of a field in words."""
    if node.get("type") == "array":
        within = "objects" if "$ref" in node["items"] else _kind(node["items"], root)
        return f"list of {within}"
    found = _reference(node)
    if found:
        target = _target(found, root)
        kind = "object" if "properties" in target else "text"
        return f"{kind}?" if {"type": "null"} in node.get("anyOf", []) else kind
    kinds = node.get("type", "object")
    words = [WORDS.get(one, one) for one in (kinds if isinstance(kinds, list) else [kinds]) if one != "null"]
    return " or ".join(words) + ("?" if "null" in kinds else "")


def _column(node: Schema) -> str:
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return COLUMN_TYPES[node.get("format", kinds[0])]


def _paragraphs(node: Schema) -> list[str]:
    return [" ".join(part.split()) for part in node.get("description", "").split("\n\n") if part.strip()]


def _joined(paragraphs: list[str]) -> list[str]:
    """Paragraphs with an empty line behind each."""
    return [line for paragraph in paragraphs for line in (paragraph, "")]


def _cell(node: Schema) -> str:
    """A description as a cell of a table, without the full stop at its end."""
    text = " ".join(_paragraphs(node)).replace("|", "\\|")
    return text.removesuffix(".")
