"""The schema of everything that is written, as the core's types have it, and deviations from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from flashtwin import _core

#: `run` and `characterization` with `summary` and `tables`, `trace` with `info` and `tables`.
SCHEMA: dict[str, Any] = json.loads(_core.results_schema())
#: Described elsewhere, by the schemas of configuration and options.
OPEN = ("config", "standard_errors")
_JSON_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip


def resolved(node: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of a node: itself, or its reference."""
    if "$ref" in node:
        return [root["$defs"][node["$ref"].rpartition("/")[2]]]
    if "anyOf" in node:
        return [one for option in node["anyOf"] for one in resolved(option, root)]
    return [node]


def leaves(root: dict[str, Any], node: dict[str, Any] | None = None, path: str = "") -> Iterator[str]:
    """Dotted paths of all figures of a schema; those of lists as of their entries."""
    for option in resolved(node if node is not None else root, root):
        within = resolved(option["items"], root)[0] if option.get("type") == "array" else option
        if "properties" not in within:
            if option.get("type") != "null":
                yield path
            continue
        for name, one in within["properties"].items():
            yield from leaves(root, one, f"{path}.{name}" if path else name)


def faults(value: Any, root: dict[str, Any], node: dict[str, Any] | None = None, path: str = "") -> list[str]:
    """What in a value the schema does not know, or knows to be of another type."""
    if path in OPEN:
        return []
    options = resolved(node if node is not None else root, root)
    kinds = [kind for option in options for kind in _kinds(option)]
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [f"{path}: {value!r} is not {' or '.join(kinds)}"]
    if isinstance(value, list):
        items = next(option["items"] for option in options if "items" in option)
        return [fault for entry in value for fault in faults(entry, root, items, f"{path}[]")]
    if not isinstance(value, dict):
        return []
    known = next(option["properties"] for option in options if "properties" in option)
    found = [f"{path}.{key}: unknown" for key in value if key not in known]
    for key in known:
        if key in value:
            found += faults(value[key], root, known[key], f"{path}.{key}" if path else key)
    return found


def table_faults(name: str, table: pa.Schema, tables: dict[str, Any]) -> list[str]:
    """What in a table the schema does not know, or knows to be of another kind: whole, real, text."""
    if name not in tables:
        return [f"{name}: unknown"]
    known = tables[name]["properties"]
    found = [f"{name}.{column}: unknown" for column in table.names if column not in known]
    for field in table:
        kinds = _kinds(known.get(field.name, {}))
        if kinds and not any(_column_is(field.type, kind) for kind in kinds):
            found.append(f"{name}.{field.name}: {field.type} is not {kinds[0]}")
    return found


def made(name: str, columns: dict[str, list[Any]], tables: dict[str, Any]) -> pa.Table:
    """A table made up, with the types of the core's; a column that the core does not write is refused."""
    known = tables[name]["properties"]
    return pa.table({column: pa.array(values, _arrow_type(known[column])) for column, values in columns.items()})


def _arrow_type(node: dict[str, Any]) -> pa.DataType:
    kind = node.get("format", _kinds(node)[0])
    return {"double": pa.float64()}.get(kind) or pa.type_for_alias(kind)


def _kinds(node: dict[str, Any]) -> list[str]:
    kinds = node.get("type", "object" if "properties" in node else [])
    return list(kinds) if isinstance(kinds, list) else [kinds]


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _JSON_TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _column_is(found: pa.DataType, kind: str) -> bool:
    tests = {
        "string": pa.types.is_string,
        "integer": pa.types.is_integer,
        "number": pa.types.is_floating,
        "boolean": pa.types.is_boolean,
        "null": pa.types.is_null,
    }
    return tests[kind](found)
