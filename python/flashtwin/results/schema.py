"""The names of all fields and columns of results. Code that reads one by its name is checked against these.

The names come from the types that write results: `make docs` writes them beside this module, as JSON, so that a report
is made without the core; a test compares the two. A column that is renamed in the core is a mistake where it is read,
instead of being absent from a chart. Units are in the names; docs/results.md and docs/characterization.md say what each
field means.
"""

import difflib
import json
from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from itertools import accumulate
from typing import Any

from flashtwin.errors import ArgumentError
from flashtwin.results.trees import leaves

FILE = "schema.json"


@cache
def _written() -> dict[str, Any]:
    """`run` and `characterization`, each with `fields` and `tables`."""
    found: dict[str, Any] = json.loads(resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return found


def _fields(what: str) -> frozenset[str]:
    return frozenset(_written()[what]["fields"])


def _tables(what: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(columns) for name, columns in _written()[what]["tables"].items()}


#: Fields of the summary of a run by their dotted paths, but for the configuration; of lists, those of the entries.
SUMMARY = _fields("run")
TABLES = _tables("run")
CHARACTERIZATION = _fields("characterization")
WORKLOAD_TABLES = _tables("characterization")
#: The field of a run with its whole configuration; its keys are those of docs/configuration.md.
CONFIG = "config"


_LISTS: Mapping[str, type] = {"traits": str, "partitions": dict}
TEXTS = {"flashtwin", "system", "trace.name", "trace.digest", "trace.read_as", "trace.content_source"}


@cache
def _branches(fields: frozenset[str]) -> frozenset[str]:
    """All paths that lead to fields, the fields themselves included."""
    return frozenset(".".join(path.split(".")[:end]) for path in fields for end in range(1, path.count(".") + 2))


def misfit(summary: Mapping[str, Any]) -> str | None:
    """What a summary of a run has in the place of a number, a text or a list; None if it is as the core writes it."""
    branches = _branches(SUMMARY | {CONFIG})
    for path, value in leaves(summary):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if path in _LISTS:
            if not isinstance(value, list) or not all(isinstance(one, _LISTS[path]) for one in value):
                return f"{path} is {value!r:.60}: expected a list"
        elif path in TEXTS:
            if not isinstance(value, str | None):
                return f"{path} is {value!r:.60}: expected a text"
        elif path in SUMMARY and not (is_number or value is None):
            return f"{path} is {value!r:.60}: expected a number"
        elif path not in SUMMARY and path in branches and value not in ({}, None):
            return f"{path} is {value!r:.60}: expected an object"
        elif above := next(filter(SUMMARY.__contains__, accumulate(path.split(".")[:-1], "{}.{}".format)), None):
            return f"{above} is an object: expected a {'text' if above in TEXTS else 'number or a list'}"
    return None


def summary_field(path: str) -> str:
    """A path into the summary of a run; where there is none of that name, an `ArgumentError` names the nearest."""
    return path if path.split(".", maxsplit=1)[0] == CONFIG else _known(path, _branches(SUMMARY), "summary of a run")


def characterization_field(path: str) -> str:
    return _known(path, _branches(CHARACTERIZATION), "characterization")


def trace_field(path: str) -> str:
    """A path into the facts of a trace: as a characterization has it, or as a run does; as `summary_field`."""
    of_runs = {field.removeprefix("trace.") for field in SUMMARY if field.startswith("trace.")}
    of_traces = {field.removeprefix("info.") for field in CHARACTERIZATION if field.startswith("info.")}
    return _known(path, _branches(frozenset(of_runs | of_traces)), "trace in numbers")


def run_table(name: str) -> str:
    return _known(name, TABLES, "run's tables")


def workload_table(name: str) -> str:
    return _known(name, WORKLOAD_TABLES, "tables of a characterization")


def column(name: str, columns: Collection[str]) -> str:
    return _known(name, columns, "table")


def _known(name: str, names: Collection[str], what: str) -> str:
    if name in names:
        return name
    near = difflib.get_close_matches(name, names)
    hint = f"; the nearest: {', '.join(map(repr, near))}" if near else ""
    raise ArgumentError(f"nothing in the {what} is called '{name}'{hint}")
