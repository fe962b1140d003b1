"""Results are known in one place: how files are called, what fields and columns there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import flashtwin as ft
from flashtwin.cli import _characterizing
from flashtwin.judgement import judging
from flashtwin.judgement.evidence import Evidence
from flashtwin.results import names, schema
from flashtwin.results.reading import load
from flashtwin.results.trees import leaves

from .conftest import ROOT

PACKAGE = ROOT / "python" / "flashtwin"
PARQUET = re.compile(r"^\s*(from pyarrow import .*\bparquet\b|import pyarrow\.parquet)", re.MULTILINE)
FILES = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str) and "." in value[1:]}
#: A file of results by its ending, whether or not `names` has it; an ending alone is no name, but where it has a stem.
RESULTS = re.compile(r"\S*\w\.(json|parquet|csv|md|html)")
#: What people are shown of the command line, and the only files of the package that are none of results.
SHOWN = {
    ("cli", "_options.py"): {"OUTPUT.parquet"}, ("results", "schema.py"): {"schema.json"},
    # Data of the package: verdicts on the papers' items.
    ("cli", "_reproducing.py"): {"verdicts.json"},
}  # fmt: skip


def strings(path: Path) -> Iterator[str]:
    """The texts of a module, without its docstrings, which are for people."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


@pytest.mark.parametrize(
    "path", sorted(set(PACKAGE.rglob("*.py")) - {PACKAGE / "results" / "names.py"}), ids=lambda path: path.stem
)
def test_no_other_module_knows_the_name_of_a_file(path: Path) -> None:
    found = {text for text in strings(path) if text in FILES or RESULTS.fullmatch(text)}
    assert found <= SHOWN.get(path.parts[-2:], set())


def test_tables_are_read_and_written_in_one_room() -> None:
    using = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if PARQUET.search(path.read_text())}
    # Requests from a frame become a trace's file: no results.
    assert using == {"results/documents.py", "results/folder.py", "results/frames.py", "traces/frames.py"}


def fields(summary: Any) -> Iterator[str]:
    for path, value in leaves(summary):
        entries = [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
        yield from {f"{path}.{key}" for entry in entries for key in entry} | {path}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> ft.Trace:
    path = tmp_path_factory.mktemp("schema") / "small.fiu"
    lines = [f"{n * 50_000} 1 p {n % 40 * 8} 8 {'RW'[n % 3 > 0]} 8 0 {n % 7:032x}" for n in range(400)]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return ft.open(path)


def test_every_system_writes_what_the_schema_says(trace: ft.Trace) -> None:
    found: set[str] = set()
    for system in ft.systems():
        result = ft.replay(trace, system, period_s=0.005, per_request=True)
        found |= {path for path in fields(result.summary) if not path.startswith("config.")}
        assert {name: tuple(result.table(name).column_names) for name in result.table_names} == schema.TABLES
    assert found == schema.SUMMARY


def test_a_characterization_is_what_the_schema_says(trace: ft.Trace) -> None:
    found = ft.characterize(trace, period_s=0.005)
    assert set(fields(found.summary)) == schema.CHARACTERIZATION
    tables = {name: tuple(pyarrow.table(found.table(name)).column_names) for name in found.table_names}
    assert tables == schema.WORKLOAD_TABLES


def test_reading_what_there_cannot_be_is_a_mistake_of_ours(trace: ft.Trace, tmp_path: Path) -> None:
    study = load(ft.compare(trace, ["conventional"], period_s=0.005).save(tmp_path / "out"))
    assert study.baseline.number("response.read.mean_ns") is not None
    with pytest.raises(ft.InternalError, match=r"'response\.read\.mean_us'; the nearest is 'response\.read\.mean_ns'"):
        study.baseline.number("response.read.mean_us")
    with pytest.raises(ft.InternalError, match="'chip'; the nearest is 'chips'"):
        study.baseline.table("chip")
    chips = study.baseline.table("chips")
    assert chips is not None
    with pytest.raises(ft.InternalError, match="called 'busy'"):
        chips.get("busy")


class Asked(dict[str, Any]):
    """A row that notes the fields asked for."""

    def __init__(self, row: dict[str, Any]) -> None:
        super().__init__(row)
        self.keys_asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.keys_asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.keys_asked.add(key)
        return super().__getitem__(key)


def test_advice_and_the_command_line_ask_for_what_a_row_holds(trace: ft.Trace) -> None:
    row = ft.characterize(trace, period_s=0.005).row
    asked = Asked(row)
    judging.judge(Evidence(row=asked))
    assert len(asked.keys_asked) > 10
    assert asked.keys_asked | {key for _, key, _, _ in _characterizing._FIGURES} <= row.keys()
