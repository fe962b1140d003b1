"""Columns of one's own, units and what was read, on the command line and in Python."""

import json
from datetime import datetime
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

import flashtwin as ft
from flashtwin import _core
from flashtwin.characterization.measuring import measure, options
from flashtwin.errors import ArgumentError
from flashtwin.traces.reading import Reading, Source

from .conftest import Cli

LINES = "When;Kind;LBA;Count;Disk\n1712345678.000000100;True;8;8;db\n1712345678.000000300;False;0;8;log\n"
ROWS = [(0, 1, 4096, 4096), (200, 0, 0, 4096)]
COLUMNS = "time=When:s,op=Kind,offset=LBA:512,length=Count:512,volume=Disk"
WORDS = "true=write,false=read"
TOML = """
time_unit = "s"
offset_unit = 512
length_unit = 512
[columns]
time = "When"
op = 2
offset = "LBA"
length = "Count"
volume = "Disk"
[op_words]
true = "write"
false = "read"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "mine.log").write_text(LINES)
    (tmp_path / "mine.toml").write_text(TOML)
    return tmp_path / "mine.log"


def rows(trace: ft.Trace) -> list[tuple[int, ...]]:
    names = ("time_ns", "op", "offset_bytes", "length_bytes")
    return [tuple(row[name] for name in names) for row in trace.to_arrow().to_pylist()]


def test_every_way_to_name_columns_reads_the_same(path: Path, cli: Cli) -> None:
    toml = str(path.with_suffix(".toml"))
    columns = {"time": "When:s", "op": 2, "offset": "LBA:512", "length": "4:512", "volume": "Disk"}
    words = {"true": "write", "false": "read"}
    by_toml = Reading(columns=toml)
    assert Source.from_json(
        {"path": str(path), "reading": json.loads(json.dumps(vars(by_toml))), "stream": False}
    ).open()
    units = {"time_unit": "s", "offset_unit": 512, "length_unit": 512}
    names = {"time": "When", "op": "Kind", "offset": "LBA", "length": "Count", "volume": "Disk"}
    traces = [
        ft.open(path, columns=columns, op_words=words),
        ft.open(path, columns=COLUMNS, op_words=WORDS),
        ft.Trace.from_csv(path, names, op_words=words, **units),
        by_toml.open(path),
        ft.scan(path, columns=columns, op_words=words).open(),
    ]
    for trace in traces:
        assert rows(trace) == ROWS
        assert (trace.name, trace.format, trace.volumes) == ("mine", "columns", ["db", "log"])
        assert trace.read_as == "columns, time s, offset and length in units of 512 bytes, 2 volumes"
    for how in (("--columns", COLUMNS, "--op-words", WORDS), ("--columns", toml), by_toml.words):
        found = json.loads(cli("trace", "info", path, *how, "--json", status=0).out)
        assert found["digest"] == traces[0].digest
        assert found["read_as"] == {
            "text": traces[0].read_as, "format": "columns", "time_unit_ns": 10**9, "offset_unit_bytes": 512,
            "length_unit_bytes": 512, "notes": [],
        }  # fmt: skip


def test_what_was_read_heads_each_run_and_stands_in_its_summary(path: Path, cli: Cli, tmp_path: Path) -> None:
    how = ("--columns", COLUMNS, "--op-words", WORDS, "--system", "conventional")
    said = "columns, time s, offset and length in units of 512 bytes"
    done = cli("replay", path, *how, "--out", "run", status=0)
    assert done.err.splitlines()[0] == f"read as: {said}, 2 volumes"
    summary = next((tmp_path / "run").rglob("summary.json"))
    assert json.loads(summary.read_text())["trace"]["read_as"] == f"{said}, 2 volumes"
    streamed = cli("replay", path, *how, "--stream", status=0)
    assert streamed.err.splitlines()[0].startswith(f"read as: {said}")


def test_a_headless_text_and_units_of_a_format(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "t.txt").write_text("100 R 0 4096\n250 FWFS 4096 4096\n")
    by_number = ("--columns", "time=1,op=2,offset=3,length=4", "--no-header", "--time-unit", "us")
    found = json.loads(cli("trace", "info", "t.txt", *by_number, "--json", status=0).out)
    assert (found["flushes"], found["durable_writes"], found["duration_ns"]) == (1, 1, 150_000)
    (tmp_path / "d.trace").write_text("17.25 0 0 8 0\n17.2531 0 8 9 1\n")
    units = ("--time-unit", "s", "--format", "disksim")
    assert json.loads(cli("trace", "info", "d.trace", *units, "--json", status=0).out)["duration_ns"] == 3_100_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "time"}, "'time' is not NAME=VALUE; write it like time=1,op=3"),
        ({"delimiter": ";"}, "give columns as well"),
        ({"offset_unit": 0}, "offset_unit is 0; give bytes, 1 or more"),
    ],
)
def test_wrong_options_are_refused(path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ft.open(path, **options)


def test_a_file_of_options_is_checked(path: Path) -> None:
    for text, message in (
        ("a = 1\n[columns]", "no option 'a'"),
        ("header = true", r"no table \[columns\]"),
        ("=", "TOML"),
        ("time_unit = 'm9'\n[columns]", "time_unit is 'm9', .*: expected one of 's', 'ms'"),
        ("offset_unit = 0\n[columns]", "offset_unit is 0; give bytes, 1 or more"),
    ):
        (path.parent / "wrong.toml").write_text(text)
        with pytest.raises(ArgumentError, match=f"wrong.toml: .*{message}"):
            Reading(columns=str(path.parent / "wrong.toml"))


def test_words_of_operations_are_numbers_of_the_canonical_column() -> None:
    words = ["R", "WS", "FWFS", "discard", "FN", "N", "3", "on"]
    assert _core.operations(words, {"on": "WFS"}) == [
        (0, False, False), (1, False, False), (1, True, True), (2, False, False), (3, False, False),
        (None, False, False), (3, False, False), (1, False, True),
    ]  # fmt: skip
    with pytest.raises(ft.TraceError, match="'3', 'on' is no operation"):
        _core.operations(words, numbers=False)


def test_units_of_a_table_are_said_and_checked(tmp_path: Path) -> None:
    """As those of a text: sectors taken for bytes are refused, and what was taken is said, by volume as well."""
    sectors = {"ts": [at * 100 for at in range(60)], "kind": ["R", "W"] * 30, "lba": [at * 8 for at in range(60)],
               "count": [8] * 60, "disk": ["a", "b", "b"] * 20}  # fmt: skip
    parquet.write_table(pyarrow.table(sectors), tmp_path / "own.parquet")
    columns = {"time": "ts", "op": "kind", "offset": "lba", "length": "count", "volume": "disk"}
    with pytest.raises(ft.TraceError, match="8 bytes, no multiple of 512; check the columns"):
        ft.open(tmp_path / "own.parquet", columns=columns)
    names = dict(columns)
    columns |= {"time": "ts:us", "offset": "lba:512", "length": "count:512"}
    said = "parquet, time us, offset and length in units of 512 bytes, "
    assert ft.open(tmp_path / "own.parquet", columns=columns).read_as == f"{said}2 volumes"
    for kept, unit in (({}, None), ({"ts": [datetime(2026, 1, 1, second=at) for at in range(60)]}, "as dates")):
        frame = {**sectors, **kept}
        with pytest.raises(ft.TraceError, match=r"^frame: .* 8 bytes, no multiple of 512; check the columns"):
            ft.Trace.from_frame(frame, columns=names)
        made = ft.Trace.from_frame(frame, columns=names, time_unit="us", offset_unit=512, length_unit=512)
        assert made.read_as == f"{said}2 volumes".replace("us", unit or "us")
    dates = "".join(f"2026-01-01T00:00:{at}.5,R,{at * 4096},4096\n" for at in range(10, 60))
    (tmp_path / "dates.csv").write_text(dates)
    by_number = {"time": 1, "op": 2, "offset": 3, "length": 4}
    assert ft.open(tmp_path / "dates.csv", columns=by_number).read_as.startswith("columns, time as dates, ")
    reading = Reading(columns=",".join(f"{part}={column}" for part, column in columns.items()))
    found = measure(tmp_path / "own.parquet", options({"period_s": 1.0}), reading, stream=True, by_volume=True)
    assert {one.summary["info"]["read_as"]["text"] for one in found.volumes.values()} == {f"{said}1 volume"}


def test_a_format_and_columns_of_ones_own_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("1,R,0,512\n")
    with pytest.raises(
        ft.TraceError, match="the format msr has columns and a delimiter of its own; leave out --format"
    ):
        ft.open(tmp_path / "own.csv", "msr", columns={"time": 1, "op": 2, "offset": 3, "length": 4})
