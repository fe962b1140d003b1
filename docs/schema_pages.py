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
#: Charges of the wait ledger, each of which is a column of the table of requests.
CHARGES = tuple(
    f"{charge}_ns"
    for charge in (
        "host_read", "host_program", "gc_read", "gc_program", "erase", "copy", "table_page", "comparison", "order",
        "suspension", "channel", "hash_queue", "tables", "page_program", "cache_place", "earlier_writes", "slot",
        "link", "hash", "transfer", "flash", "controller",
    )
)  # fmt: skip
#: Objects of a characterization that another page describes.
ELSEWHERE_ON = {
    "info": "[as `trace` of `study.json`](results.md#studyjson)",
    "options": "[as in the configuration](configuration.md#options-of-a-characterization)",
}

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
    lines = (
        tables(found)
        if part == "tables"
        else fields(found, found, "", ELSEWHERE_ON if of == "characterization" else {})
    )
    return "\n".join([f"<!-- schema: {what} -->", "", *lines, "", "<!-- end of schema -->"])


def fields(node: Schema, root: Schema, path: str, elsewhere: dict[str, str]) -> list[str]:
    """The plain fields of an object as a list, then a section for each object within."""
    properties = node.get("properties", {})
    objects = list(_objects({name: one for name, one in properties.items() if name not in elsewhere}, root))
    within = {name for names, _ in objects for name in names}
    rows = [
        (
            f"`{name}`{'?' if _nullable(one) else ''}",
            ", ".join([_cell(one), *([elsewhere[name]] if name in elsewhere else [])]),
        )
        for name, one in properties.items()
        if name not in within
    ]
    lines = [*_entries(rows), ""] if rows else []
    for names, target in objects:
        title = ", ".join(f"`{path}{name}`" if place == 0 else f"`.{name}`" for place, name in enumerate(names))
        # Of one object the field's own text, which says when it is missing; several share that of their type.
        texts = [f"{_cell(properties[names[0]])}."] if len(names) == 1 and _cell(properties[names[0]]) else []
        texts += [text for text in _paragraphs(target) if text not in texts]
        lines += [f"### {title}", "", *_joined(texts)]
        lines += [*fields(target, root, f"{path}{names[0]}.", {}), ""]
    return lines[:-1]


def tables(schemas: dict[str, Schema]) -> list[str]:
    """A section for each table: what a row is, and its columns."""
    lines: list[str] = []
    for name, row in schemas.items():
        lines += ["", f"### `{name}`", "", *_joined(_paragraphs(row))]
        lines += _entries([(f"`{column}`", _cell(one)) for column, one in _columns(row)])
    return lines[1:]


def _columns(row: Schema) -> list[tuple[str, Schema]]:
    """The columns of a table; those of the charges, one each, as one."""
    columns: dict[str, Schema] = row["properties"]
    if not set(CHARGES) <= set(columns):
        return list(columns.items())
    found = [(name, one) for name, one in columns.items() if name not in CHARGES]
    text = "The request's time by [charge](#charges-of-wait_ledger); the columns sum to `response_ns`"
    return [*found, ("CHARGE_ns", {**columns[CHARGES[0]], "description": text})]


def _entries(entries: list[tuple[str, str]]) -> list[str]:
    """A list of names with their texts; neighbours with the same text are one entry."""
    grouped: list[tuple[list[str], str]] = []
    for name, text in entries:
        if grouped and grouped[-1][1] == text:
            grouped[-1][0].append(name)
        else:
            grouped.append(([name], text))
    return [f"* {', '.join(names)}: {text}" for names, text in grouped]


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


def _nullable(node: Schema) -> bool:
    """Whether a field can be null."""
    kinds = node.get("type", [])
    return {"type": "null"} in node.get("anyOf", []) or (isinstance(kinds, list) and "null" in kinds)


def _paragraphs(node: Schema) -> list[str]:
    return [" ".join(part.split()) for part in node.get("description", "").split("\n\n") if part.strip()]


def _joined(paragraphs: list[str]) -> list[str]:
    """Paragraphs with an empty line behind each."""
    return [line for paragraph in paragraphs for line in (paragraph, "")]


def _cell(node: Schema) -> str:
    """A description without the full stop at its end."""
    text = " ".join(_paragraphs(node))
    return text.removesuffix(".")
