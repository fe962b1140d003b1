"""One schema of results: what the core writes, what docs/results.md says, and what these tests make up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as pq
import pytest

import flashtwin as ft
from flashtwin.report import facts, ledger, style
from flashtwin.results.reading import Run, leaves, read_json

MANUAL = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
#: Words of the manual in backquotes, `.write` for a field of the table before it.
WORDS = {word.lstrip(".") for word in re.findall(r"`([^`\n]+)`", MANUAL)}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of systems that together write every table and every field."""
    folder = tmp_path_factory.mktemp("written")
    trace = folder / "small.fiu"
    lines = [f"{n * 50_000} 1 p {n % 40 * 8} 8 {'RW'[n % 3 > 0]} 8 0 {n % 7:032x}" for n in range(400)]
    trace.write_text("\n".join(lines) + "\n", encoding="ascii")
    systems = {"conventional": "conventional", "rr-ssd": "rr-ssd", "hot-cold": "hot-cold"}
    ft.compare(ft.open(trace), systems, threads=1, period_s=0.005).save(folder / "out")
    return folder / "out"


def fields(summary: Any) -> Iterator[str]:
    """Dotted paths of a summary but for the configuration, which has a page of its own; lists by their entries."""
    for path, value in leaves(summary):
        if path.startswith("config."):
            continue
        if isinstance(value, list):
            yield from {f"{path}.{key}" for entry in value for key in entry}
        else:
            yield path


def all_fields(folder: Path) -> set[str]:
    return {path for file in folder.glob("runs/*/summary.json") for path in fields(read_json(file))}


def columns(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for file in folder.glob("runs/*/*.parquet"):
        found.setdefault(file.stem, set()).update(pq.read_schema(file).names)
    return found


def described(path: str) -> bool:
    """Whether the manual names a field, alone or with its table, or all fields of a kind."""
    table, _, name = path.rpartition(".")
    return bool({path, name, f"{table.rpartition('.')[2]}.{name}"} & WORDS) or (
        table == "ram" and "ram.*_bytes" in WORDS
    )


def test_the_manual_describes_every_field_of_a_summary(written: Path) -> None:
    assert sorted(path for path in all_fields(written) if not described(path)) == []


def test_the_manual_describes_every_table_and_column(written: Path) -> None:
    for table, names in columns(written).items():
        assert table in WORDS
        assert sorted(name for name in names if name not in WORDS) == [], table


def test_what_these_tests_make_up_is_what_the_core_writes(written: Path, four: Path) -> None:
    """A column renamed in the core would otherwise be absent from charts whose tests pass."""
    assert sorted(all_fields(four) - all_fields(written)) == []
    real = columns(written)
    for table, names in columns(four).items():
        assert sorted(names - real[table]) == [], table


def test_configurations_made_up_have_keys_of_the_core(written: Path, four: Path) -> None:
    def keys(folder: Path) -> set[str]:
        configs = (read_json(file)["config"] for file in folder.glob("runs/*/summary.json"))
        return {path for config in configs for path, _ in leaves(config)}

    assert sorted(keys(four) - keys(written)) == []


def test_the_parts_of_a_response_time_are_the_core_s(written: Path) -> None:
    summary = read_json(written / "runs" / "rr-ssd" / "summary.json")
    for kind in ("read", "write", "all"):
        split = summary["response"][kind]["split"]
        assert set(split) == {f"{key}_ns" for key, _ in facts.PARTS}
        assert sum(split.values()) == pytest.approx(summary["response"][kind]["mean_ns"])


def test_every_charge_of_the_core_has_words_and_a_colour(written: Path) -> None:
    table = pq.read_table(written / "runs" / "rr-ssd" / "wait_ledger.parquet").to_pylist()
    waits = {row["charge"] for row in table if row["part"] != ledger.SERVICE}
    assert waits == set(ledger.WAITS) == set(style.WAIT_COLOURS) - {"other", ledger.SERVICE}
    run = Run("rr-ssd", written / "runs" / "rr-ssd", read_json(written / "runs" / "rr-ssd" / "summary.json"))
    for kind in ("read", "write", "all"):
        found = ledger.ledger(run, kind)
        assert found is not None
        assert found.total_ns == pytest.approx(run.number(f"response.{kind}.mean_ns"))
        assert found.count == run.number(f"response.{kind}.count")


def test_made_up_results_are_written_with_the_core_s_types(written: Path, four: Path) -> None:
    for file in (four / "runs" / "rr-ssd").glob("*.parquet"):
        real = pq.read_schema(written / "runs" / "rr-ssd" / file.name)
        for field in pq.read_schema(file):
            both = (field.type, real.field(field.name).type)
            assert len({pyarrow.types.is_string(one) for one in both}) == 1, f"{file.name}: {field.name}"


def test_synthetic_makes_every_table_of_the_core(written: Path, four: Path) -> None:
    drawn = {"planes", "blocks"}  # which no chart draws
    assert set(columns(written)) - set(columns(four)) == drawn
