"""Flushes from a table to the page: read, counted, replayed with a cost, shown."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import flashtwin as ft
from flashtwin.report import tables
from flashtwin.results.reading import load

from .conftest import Cli

PAGE = 4096
WRITES, EVERY_NS, TRANSACTIONS = 4, 1_000_000, 300


def frame(flush: Any = "flush") -> dict[str, list[Any]]:
    rows = []
    for transaction in range(TRANSACTIONS):
        time_ns = transaction * EVERY_NS
        rows += [(time_ns, "write", (transaction * 7 + write) % 400 * PAGE, PAGE) for write in range(WRITES)]
        rows.append((time_ns, flush, None, None))
    return dict(zip(("time_ns", "op", "offset_bytes", "length_bytes"), map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture(scope="module")
def trace() -> ft.Trace:
    return ft.Trace.from_frame(frame(), name="transactions")


@pytest.mark.parametrize("word", ["flush", "F", "sync"])
def test_words_for_a_flush(word: str, trace: ft.Trace) -> None:
    assert ft.Trace.from_frame(frame(word), name="transactions").digest == trace.digest


def test_offset_and_length_of_a_flush_are_not_looked_at(trace: ft.Trace) -> None:
    given = frame()
    given["offset_bytes"] = [512 if offset is None else offset for offset in given["offset_bytes"]]
    given["length_bytes"] = [length or 512 for length in given["length_bytes"]]
    assert ft.Trace.from_frame(given, name="transactions").digest == trace.digest


def test_tables_show_flushes_where_there_are_some(trace: ft.Trace, tmp_path: Path, cli: Cli) -> None:
    trace.write_parquet(tmp_path / "flushed.parquet")
    told = json.loads(cli("trace", "info", tmp_path / "flushed.parquet", "--json").out)
    assert (told["flushes"], told["durable_writes"]) == (TRANSACTIONS, 0)
    shown = cli("replay", tmp_path / "flushed.parquet", "--system", "conventional", "--out", tmp_path / "run")
    assert "mean flush, us" in shown.out
    assert "  flushes" in shown.out
    cli("study", tmp_path / "flushed.parquet", "--effort", "0", "--out", tmp_path / "study",
                    "--systems", "conventional,static", status=0)  # fmt: skip
    titles, _ = tables.systems(load(tmp_path / "study"))
    assert ("Flush", "mean") in titles
    page = (tmp_path / "study" / "report.html").read_text(encoding="utf-8")
    assert "Flushes" in page
    plain = pa.table(trace).filter(pc.not_equal(pa.table(trace)["op"], 3))
    ft.Trace.from_frame(plain, name="plain").write_parquet(tmp_path / "plain.parquet")
    shown = cli("replay", tmp_path / "plain.parquet", "--system", "conventional", status=0)
    assert "flush" not in shown.out


def test_a_fitted_recipe_flushes_as_often() -> None:
    given = frame()
    given["content"] = [row % 50 if op == "write" else None for row, op in enumerate(given["op"])]
    fitted = ft.imitate(ft.Trace.from_frame(given, name="transactions"))
    made = fitted.workload.synthesize(seed=1)
    assert made.info["writes_per_flush"] == WRITES
