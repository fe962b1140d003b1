"""What modules that read results as plain mappings ask for is there; `results.reading` checks all other names."""

import ast
from collections.abc import Iterator

import pytest

import flashtwin as ft
from flashtwin.results import schema
from flashtwin.results.trees import leaves

from .conftest import ROOT

PACKAGE = ROOT / "python" / "flashtwin"
TABLES = {**schema.TABLES, **schema.WORKLOAD_TABLES}
COLUMNS = {column for columns in TABLES.values() for column in columns}
FIELDS = schema.SUMMARY | schema.CHARACTERIZATION

#: The modules, and what they look up that is no field of results: the purposes of write amplifications, the columns of
#: a row of many traces that are made from tables, the facts of a paper, the parts of a recipe, what a server tells.
MODULES: dict[str, set[str]] = {
    "judgement/costs.py": set(),
    "judgement/evidence.py": {"change", "command", "sets", "steps", "value", "words"},
    "judgement/facts.py": set(),
    "results/ledger.py": set(),
    "judgement/choosing.py": {
        "also", "as_configured", "baseline", "candidates", "capacity_bytes", "changes", "command", "goal", "prices",
        "sets", "settings", "worth",
    },
    "judgement/goals.py": set(),
    "judgement/workload.py": {"answer", "fingerprint_bytes", "partitions_fr3", "saved_percent", "wa_why_missing"},
    "results/rows.py": {"wa_page_bytes", "wa_partitions_1", "wa_why_missing"},
    "characterization/statistics.py": {"unique_read_percent"},
    "cli/serve.py": {"drive", "drive.notes", "failure", "held_back", "late_ns", "store_was_slower", "twin"},
    "live/beside.py": {"operation", "server.operations"},
    "papers/bench.py": set(),
    "papers/swc.py": {"large_enough", "read_full_ns_32768", "read_full_ns_4096", "row", "tables", "traces"},
    "recipes/imitation.py": {
        "content_digest", "description", "length_bytes", "of_the_day_percent", "offset_bytes", "read_pages",
        "read_sequential_percent", "targets", "unique_pages_percent", "unique_percent", "write_percent",
        "written_percent",
    },
    "sweeps/across.py": {"f_r<=2", "f_r<=3"},
}  # fmt: skip
#: Functions and methods whose texts are names of fields, columns and tables.
READERS = {"_at", "_first", "_one", "_rows", "dig"}
METHODS = {"at_grid", "at_sector", "mean", "number"}


def parts(fields: frozenset[str]) -> set[str]:
    """Every run of keys that leads through a field: of `a.b.c` also `a.b`, `b.c`, `b`, ..."""
    found = set()
    for field in fields:
        keys = field.split(".")
        found |= {".".join(keys[first:last]) for first in range(len(keys)) for last in range(first + 1, len(keys) + 1)}
    return found


#: The configuration is in every summary; docs/configuration.md has its keys, and a schema of its own.
CONFIG = frozenset(path for path, _ in leaves({"config": ft.system("rr-ssd").config}))
KNOWN = parts(FIELDS | CONFIG) | COLUMNS | set(TABLES)


def chain(node: ast.expr) -> list[str]:
    """The keys of `x["a"].get("b")["c"]`, also where there is `or {}` between."""
    match node:
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))):
            return [*chain(inner), key]
        case ast.Call(func=ast.Attribute(value=inner, attr="get"), args=[ast.Constant(value=str(key))]):
            return [*chain(inner), key]
        case ast.Call(func=ast.Attribute(value=inner, attr="get"), args=[ast.Constant(value=str(key)), _]):
            return [*chain(inner), key]
        case ast.BoolOp(values=[first, *_]):
            return chain(first)
    return []


def asked(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and not isinstance(node, ast.BoolOp) and (keys := chain(node)):
            yield ".".join(keys)
        if isinstance(node, ast.Call):
            method = isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
            if method or (isinstance(node.func, ast.Name) and node.func.id in READERS):
                texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
                yield from (text for text in texts if isinstance(text, str))
                yield from (one.arg for one in node.keywords if one.arg is not None)


@pytest.mark.parametrize("module", MODULES)
def test_what_is_asked_of_results_is_in_them(module: str) -> None:
    unknown = set(asked(ast.parse((PACKAGE / module).read_text(encoding="utf-8")))) - KNOWN - MODULES[module]
    assert not unknown, f"{module} asks for {sorted(unknown)}, which no result has"


def test_a_wrong_name_would_be_found() -> None:
    wrong = """
summary["response"]["read"]["mean_us"]
(summary.get("popularity") or {}).get("reads")
trace.at_sector("f_max")
_first(rows, "gain", along="time", att=1)
_at("info", "train")
"""
    assert set(asked(ast.parse(wrong))) - KNOWN == {
        "response.read.mean_us", "popularity.reads", "f_max", "att", "train",
    }  # fmt: skip


def policies(schema_: object) -> set[str]:
    """The names of all policies of a schema's keys; but for those that are words of other things as well."""
    if isinstance(schema_, list):
        return {name for one in schema_ for name in policies(one)}
    if not isinstance(schema_, dict):
        return set()
    own = {schema_["const"]} if isinstance(schema_.get("const"), str) else set()
    listed = {name for name in schema_.get("enum", ()) if isinstance(name, str)}
    inner = {name for one in schema_.values() for name in policies(one)}
    return (own | listed | inner) - {"none", "mean", "content", "page"}


def test_nothing_compares_with_a_policy_by_name() -> None:
    """A system is known by its traits: a new policy brings its own, and a list of names would miss it."""
    known = policies(ft.config_schema()["properties"]["ftl"])
    assert {"end-of-period", "any-chip", "reserve", "least-loaded"} <= known
    for path in sorted(PACKAGE.rglob("*.py")):
        # fio has a distribution called random.
        if "papers" in path.parts or path.name in ("presets.py", "fio.py"):
            continue
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        compared = [node for node in nodes if isinstance(node, ast.Compare)]
        texts = {text.value for node in compared for text in ast.walk(node) if isinstance(text, ast.Constant)}
        assert not texts & known, path.relative_to(PACKAGE)
