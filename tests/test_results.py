"""Results are known in one place: what fields and columns there are, and of which types."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow
import pyarrow.parquet as pq
import pytest

import flashtwin as ft
from flashtwin import _core
from flashtwin.cli import _characterizing
from flashtwin.judgement import facts, judging
from flashtwin.judgement.evidence import Evidence
from flashtwin.report import colours
from flashtwin.results import ledger, schema
from flashtwin.results.reading import SavedRun, load, read_json
from flashtwin.results.trees import leaves


def fields(summary: Any) -> Iterator[str]:
    for path, value in leaves(summary):
        entries = [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
        yield from {f"{path}.{key}" for entry in entries for key in entry} | {path}


@pytest.fixture(scope="module")
def trace(brief_trace: Path) -> ft.Trace:
    return ft.open(brief_trace)


@pytest.fixture(scope="module")
def written(trace: ft.Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of systems that together write every table and every field."""
    systems = {name: name for name in ("conventional", "rr-ssd", "hot-cold")}
    return ft.compare(trace, systems, threads=1, period_s=0.005).save(tmp_path_factory.mktemp("written") / "out")


def test_every_system_writes_what_the_schema_says(trace: ft.Trace) -> None:
    found: set[str] = set()
    for system in [*ft.systems(), ft.system("rr-ssd", mirror="conventional")]:
        result = ft.replay(trace, system, period_s=0.005, per_request=True)
        found |= {path for path in fields(result.summary) if not path.startswith("config.")}
        assert {name: tuple(result.table(name).column_names) for name in result.table_names} == schema.TABLES
    assert found == schema.SUMMARY


def test_a_characterization_is_what_the_schema_says(trace: ft.Trace) -> None:
    found = ft.characterize(trace, period_s=0.005)
    assert set(fields(found.summary)) == schema.CHARACTERIZATION
    tables = {name: tuple(pyarrow.table(found.table(name)).column_names) for name in found.table_names}
    assert tables == schema.WORKLOAD_TABLES


def test_a_name_that_results_do_not_have_gets_the_nearest(trace: ft.Trace, tmp_path: Path) -> None:
    study = load(ft.compare(trace, ["conventional"], period_s=0.005).save(tmp_path / "out"))
    assert study.baseline.number("response.read.mean_ns") is not None
    with pytest.raises(ft.ArgumentError, match=r"'response\.read\.mean_us'; the nearest: 'response\.read\.mean_ns', '"):
        study.baseline.number("response.read.mean_us")
    with pytest.raises(ft.ArgumentError, match="'chip'; the nearest: 'chips'"):
        study.baseline.table("chip")
    chips = study.baseline.table("chips")
    with pytest.raises(ft.ArgumentError, match="called 'busy'"):
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


#: The schema by the core's types: `run` and `characterization` with `summary` and `tables`, `trace` with `info`.
TYPES: dict[str, Any] = json.loads(_core.results_schema())
#: 1.0 is no integer here, because a count that is written as a real one has changed its type.
STRICT = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
)
KINDS = {
    "string": pyarrow.types.is_string, "integer": pyarrow.types.is_integer, "number": pyarrow.types.is_floating,
    "boolean": pyarrow.types.is_boolean,
}  # fmt: skip


def mistyped(value: Any, types: dict[str, Any]) -> list[str]:
    return [f"{fault.json_path}: {fault.message}" for fault in STRICT(types).iter_errors(value)]


def mistyped_columns(name: str, table: Any, types: dict[str, Any]) -> list[str]:
    faults = []
    for field in pyarrow.table(table).schema:
        kinds = types[name]["properties"][field.name].get("type", [])
        kind = kinds if isinstance(kinds, str) else next(iter(kinds), None)
        if kind is not None and not KINDS[kind](field.type):
            faults.append(f"{name}.{field.name}: {field.type} is not {kind}")
    return faults


def test_fields_and_columns_are_of_the_types_of_the_core(trace: ft.Trace) -> None:
    """All fields in its order, and all columns of all tables."""
    found = ft.characterize(trace, period_s=0.005)
    runs = [ft.replay(trace, name, period_s=0.005) for name in ("conventional", "rr-ssd", "hot-cold")]
    assert mistyped(trace.info, TYPES["trace"]["info"]) == []
    for one, types in ((found, TYPES["characterization"]), *((run, TYPES["run"]) for run in runs)):
        assert mistyped(one.summary, types["summary"]) == []
        # Errors of a sample are there only if it was one.
        assert [*one.summary] == [name for name in types["summary"]["properties"] if name != "standard_errors"]
        for name in one.table_names:
            assert mistyped_columns(name, one.table(name), types["tables"]) == []
            assert one.table(name).column_names == [*types["tables"][name]["properties"]]


def test_value_of_another_type_is_found(trace: ft.Trace) -> None:
    summary = ft.replay(trace, "rr-ssd").summary
    summary["page_ops"]["read"], summary["erases"]["total"] = "many", 1.0
    assert [fault.split(":")[0] for fault in mistyped(summary, TYPES["run"]["summary"])] == [
        "$.page_ops.read", "$.erases.total",
    ]  # fmt: skip
    chips = pyarrow.table({"chip": [1], "utilisation": [0.5], "queue_max": ["3"]})
    assert mistyped_columns("chips", chips, TYPES["run"]["tables"]) == ["chips.queue_max: string is not integer"]


def test_parts_of_a_response_are_the_cores_and_have_words_and_colours(written: Path) -> None:
    summary = read_json(written / "runs" / "rr-ssd" / "summary.json")
    run = SavedRun("rr-ssd", written / "runs" / "rr-ssd", summary)
    for kind in ("read", "write", "all"):
        split = summary["response"][kind]["split"]
        assert set(split) == {f"{key}_ns" for key, _ in facts.PARTS}
        assert sum(split.values()) == pytest.approx(summary["response"][kind]["mean_ns"])
        found = ledger.ledger(run, kind)
        assert found.total_ns == pytest.approx(run.number(f"response.{kind}.mean_ns"))
        assert found.count == run.number(f"response.{kind}.count")
    table = pq.read_table(written / "runs" / "rr-ssd" / "wait_ledger.parquet").to_pylist()
    waits = {row["charge"] for row in table if row["part"] != ledger.SERVICE}
    # Slots and the link are waited for by drives with a front end alone, and this one has none.
    assert waits | {"slot", "link"} == set(ledger.WAITS) == set(colours.WAIT_COLOURS) - {"other", ledger.SERVICE}
