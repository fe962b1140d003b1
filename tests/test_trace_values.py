"""A trace is a value: nothing of it is lost in a frame, a merge, or a layout that has a place for it."""

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import flashtwin as ft
from flashtwin.traces import foreign

from .conftest import ROOT

SAMPLES = sorted(path.name for path in (ROOT / "tests" / "data").glob("sample*"))
ZEROES = bytes.fromhex("620f0b67a91f7f74151bc5be745b7110")
KINDS = {"time_ns": pa.int64(), "volume": pa.uint32(), "op": pa.uint8(), "offset_bytes": pa.uint64(),
         "length_bytes": pa.uint32(), "content_digest": pa.list_(pa.binary(16)), "flags": pa.uint8(),
         "stream": pa.uint16()}  # fmt: skip


def drawn(seed: int, path: Path) -> ft.Trace:
    """A trace with all that traces can have, from a file that PyArrow writes by docs/trace-formats.md."""
    draw = random.Random(seed)
    # Contents 0 and 1 are the same in all traces, 0 is zeroes, and one is unknown.
    digests = [ZEROES, *(bytes([one, seed * (one > 1)]) * 8 for one in range(1, 5)), None]
    rows, time_ns = [], 0
    for _ in range(draw.randint(1, 60)):
        op = draw.choice([0, 0, 1, 1, 1, 2, 3])
        length = 0 if op == 3 else draw.choice([512, 4096, 8192, 12288, 5000])
        contents = draw.choices(digests, k=-(-length // 4096)) if op < 2 and seed % 5 and draw.random() < 0.8 else None
        offset, flags = 0 if op == 3 else draw.randrange(50) * 4096, draw.choice([0, 0, 1, 8, 249])
        stream = draw.choice([None, 0, 7, 65_534]) if seed % 3 else None
        values = (time_ns, draw.randrange(3), op, offset, length, contents, flags, stream)
        rows.append(dict(zip(KINDS, values, strict=True)))
        time_ns += draw.choice([0, 1, 999, 10**9])
    holes = [[volume, draw.randrange(9) * 4096, 8192] for volume in {row["volume"] for row in rows}]
    table = pa.Table.from_pylist(rows, pa.schema(list(KINDS.items())))
    volumes = [f"dev {number}, {draw.choice('ab')}" for number in range(3)]
    kept = {"flashtwin.volume_names": json.dumps(volumes), "flashtwin.holes": json.dumps(holes[:2])}
    table = table.replace_schema_metadata(kept)
    without = [name for name, every in (("content_digest", 5), ("stream", 6)) if seed % every == 0]
    pq.write_table(table.drop_columns(without), path)
    return ft.open(path)


FRAMES: dict[str, Callable[[ft.Trace], Any]] = {
    "itself": lambda trace: trace,
    "arrow": ft.Trace.to_arrow,
    "polars": ft.Trace.to_polars,
    "pandas": ft.Trace.to_pandas,
    "rows of pandas": pandas.DataFrame,
    "arrow of pandas": lambda trace: trace.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype),
}


@pytest.mark.parametrize("library", FRAMES)
def test_nothing_is_lost_in_a_frame(library: str, tmp_path: Path) -> None:
    of_bytes = {"sample-bytes.disksim.gz": "disksim-bytes"}
    traces = [ft.open(ROOT / "tests" / "data" / name, of_bytes.get(name)) for name in SAMPLES]
    for trace in (*traces, *(drawn(seed, tmp_path / "t.parquet") for seed in range(25))):
        again = ft.Trace.from_frame(FRAMES[library](trace), name=trace.name)
        assert (again.digest, again.volumes) == (trace.digest, trace.volumes)
        assert {key for key in trace.info if again.info[key] != trace.info[key]} <= {"format", "quality", "read_as"}
        # The digests of contents, too, which a trace's own digest leaves out.
        assert again.to_arrow().equals(trace.to_arrow())


def rows_of(trace: ft.Trace) -> list[dict[str, Any]]:
    return trace.to_arrow().to_pylist()


def contents_of(trace: ft.Trace) -> set[bytes]:
    return {content for row in rows_of(trace) for content in row["content_digest"] or () if content is not None}


@pytest.mark.parametrize(
    ("rows", "volumes"),
    [
        ([(0, "a"), (1, "b")], ["a", "b"]),
        ([(7, "a"), (3, "b")], ["b", "a"]),
        # Two traces of one volume each: their names tell them apart, or numbers that somebody gave them.
        ([(0, "a"), (0, "b")], ["a", "b"]),
        ([(0, "a"), (1, "a")], ["a:0", "a:1"]),
        ([(0, "a"), (0, "a")], ["a"]),
        ([(0, "a"), (1, "b"), (0, "b")], None),
    ],
)
def test_volumes_of_several_traces_are_told_apart(rows: list[tuple[int, str]], volumes: list[str] | None) -> None:
    numbers, names = zip(*rows, strict=True)
    asked = {"time_ns": 0, "op": "W", "offset_bytes": 0, "length_bytes": 4096}
    frame = pandas.DataFrame({"volume": numbers, "volume_name": names}).assign(**asked)
    if volumes is not None:
        assert ft.Trace.from_frame(frame).volumes == volumes
        return
    with pytest.raises(ft.TraceError, match=r"volume and volume_name contradict each other.*drop"):
        ft.Trace.from_frame(frame)
    assert ft.Trace.from_frame(frame.drop(columns="volume")).volumes == ["a", "b"]
    assert ft.Trace.from_frame(frame.drop(columns="volume_name")).volumes == ["0", "1"]


def test_contents_of_several_traces_are_told_apart(tmp_path: Path) -> None:
    recorded = [drawn(seed, tmp_path / "t.parquet") for seed in (1, 2)]
    made = [ft.synthesize("rr-ssd/webvm", scale=5e-4, seed=seed) for seed in (1, 2, 1)]
    for one, other, *_ in (recorded, made):
        both = ft.Trace.from_frame(polars.concat(
            [one.to_polars(), other.to_polars().with_columns(volume=polars.lit(9, polars.UInt32))]
        ).drop("volume_name"))  # fmt: skip
        assert contents_of(both) == contents_of(one) | contents_of(other)
    assert not contents_of(made[0]) & contents_of(made[1]), "numbers of one trace mean nothing in another"
    assert contents_of(made[2]) == contents_of(made[0]), "equal traces have equal contents"


TIMES = [0, 500, 1_700_000_000_123_456_789]
COLUMNS: dict[str, list[Any]] = {
    "op": [
        pa.array(["W", "R", "W"]).cast(pa.string_view()), pa.array(["W", "R", "W"]).dictionary_encode(),
        pa.array([1, 0, 1], pa.int8()), pa.array([1.0, 0.0, 1.0]), pa.array(["write", "READ", "REQ_OP_WRITE"]),
        polars.Series(["W", "R", "W"]).cast(polars.Categorical),
        polars.Series(["W", "R", "W"], dtype=polars.Enum("RW")),
        pandas.Series(["W", "R", "W"], dtype="category"), pandas.Series(["W", "R", "W"], dtype=object),
    ],
    "time_ns": [
        pa.array(TIMES), pa.array(TIMES, pa.timestamp("ns", "UTC")), pa.array(TIMES, pa.duration("ns")),
        pa.array([str(time) for time in TIMES], pa.large_string()), pa.array(TIMES, pa.decimal128(30, 3)),
        pandas.Series(TIMES, dtype="Int64"), pandas.Series(TIMES, dtype=object),
        pandas.Series(pandas.to_datetime(TIMES)), polars.Series(TIMES).cast(polars.Datetime("ns")),
        polars.Series(TIMES).cast(polars.Decimal(scale=2)),
    ],
    "content": [
        pa.array([[b"a"], None, [b"b"]], pa.large_list(pa.large_binary())),
        pa.array([[b"a"], None, [b"b"]], pa.list_(pa.binary(), 1)),
        pa.array(["a", "", "b"]).dictionary_encode(), pa.array(["a", None, "b"]).cast(pa.string_view()),
        polars.Series(["a", None, "b"]).cast(polars.Categorical), pandas.Series(["a", None, "b"], dtype="category"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("column", "values"), [(name, one) for name, many in COLUMNS.items() for one in many])
def test_columns_of_any_type_are_read(column: str, values: Any) -> None:
    plain = {"time_ns": TIMES, "op": ["W", "R", "W"], "offset_bytes": [0, 0, 4096], "length_bytes": [4096] * 3,
             "content": [["61"], None, ["62"]]}  # fmt: skip
    expected = ft.Trace.from_frame(plain)
    libraries = {"polars": polars.DataFrame, "pandas": pandas.DataFrame, "pyarrow": pa.table}
    library = libraries[type(values).__module__.partition(".")[0]]
    made = ft.Trace.from_frame(library({**plain, column: values}))
    assert (made.digest, made.info["contents"]) == (expected.digest, 2)


def test_times_are_exact() -> None:
    rows = {"op": ["R", "R"], "offset_bytes": [0, 0], "length_bytes": [512, 512]}
    for times, unit, later_ns in [
        ([1700000000.123456, 1700000000.123457], "s", 1_000),
        ([1.7e18, 1.7e18 + 512], "ns", 512),
        (["1700000000.123456789", "1700000000.123456790"], "s", 1),
        (["2026-01-01 00:00:00", "2026-01-01T00:00:00.000000007"], "ns", 7),
        (pa.array([5, 9], pa.time64("ns")), "s", 4),
        (pa.array([5, 6], pa.date32()), "s", 86_400 * 10**9),
    ]:
        assert ft.Trace.from_frame({**rows, "time_ns": times}, time_unit=unit).duration_ns == later_ns


def test_a_flush_before_a_durable_write_is_a_request_of_its_own() -> None:
    rows = {"time_ns": [0, 5, 9], "op": ["R", "FWFS", "N"], "offset_bytes": [0, 4096, None],
            "length_bytes": [512, 4096, None], "content": [None, "a", None]}  # fmt: skip
    made = rows_of(ft.Trace.from_frame(rows))
    kept = [(row["time_ns"], row["op"], row["offset_bytes"], row["length_bytes"], row["flags"]) for row in made]
    assert kept == [(0, 0, 0, 512, 0), (5, 3, 0, 0, 0), (5, 1, 4096, 4096, 1)]
    assert [row["content_digest"] is not None for row in made] == [False, False, True]


def test_merged_trace_splits_into_its_parts(tmp_path: Path) -> None:
    for seed in range(20):
        parts = [drawn(one, tmp_path / f"t{one % 3}.parquet") for one in range(seed, seed + 3)]
        shifts_ns = (500_000_000, 0, 1)
        merged = ft.merge(parts, shift_s=[shift / 1e9 for shift in shifts_ns])
        names = iter(merged.volumes)
        for part in parts:
            for volume in part.volumes:
                assert merged.volume(next(names)).digest == part.volume(volume).digest
        assert len(set(merged.volumes)) == len(merged.volumes) == sum(len(part.volumes) for part in parts)
        assert merged.info["contents"] == len(set.union(*map(contents_of, parts)))
        times = sorted(at + row["time_ns"] for part, at in zip(parts, shifts_ns, strict=True) for row in rows_of(part))
        assert [row["time_ns"] for row in rows_of(merged)] == [time - times[0] for time in times]


def test_repetitions_follow_each_other_at_the_same_addresses(tmp_path: Path) -> None:
    for seed in range(1, 12):
        trace = drawn(seed, tmp_path / "t.parquet")
        rows, length_ns = rows_of(trace), trace.duration_ns + max(1, trace.duration_ns // max(1, len(trace) - 1))
        again, fresh = (rows_of(trace.repeat(3, fresh_contents=new)) for new in (False, True))
        for at, row in enumerate(again):
            lap, nth = divmod(at, len(rows))
            holes = None if lap else rows[nth]["holes"]
            assert row == {**rows[nth], "time_ns": rows[nth]["time_ns"] + lap * length_ns, "holes": holes}
        assert [row | {"content_digest": None} for row in fresh] == [row | {"content_digest": None} for row in again]
        # Contents of all laps correspond one to one, and only zeroes are the same.
        lists = [[row["content_digest"] or [] for row in pair] for pair in zip(again, fresh, strict=True)]
        pairs = {(at // len(rows), *pair) for at, both in enumerate(lists) for pair in zip(*both, strict=True)}
        assert len(pairs) == len({(lap, old) for lap, old, _ in pairs}) == len({(lap, new) for lap, _, new in pairs})
        assert all((old == new) == (lap == 0 or old in (None, ZEROES)) for lap, old, new in pairs)


def test_folded_volumes_lie_one_behind_the_other(tmp_path: Path) -> None:
    for seed in range(12):
        trace = drawn(seed, tmp_path / "t.parquet")
        starts: dict[str, set[int]] = {name: set() for name in trace.volumes}
        for before, after in zip(rows_of(trace), rows_of(trace.fold()), strict=True):
            name, start = before["volume_name"], after["offset_bytes"] - before["offset_bytes"]
            starts[name] |= {start} if before["op"] != 3 else set()
            for moved in ("volume", "volume_name", "offset_bytes", "holes"):
                del before[moved], after[moved]
            assert before == after
        known = [start for all_ in starts.values() for start in all_]
        assert sorted(known) == known, "one start a volume, in their order"
        assert len(set(known)) == len(known)
        assert all(start % 2**20 == 0 for start in known)
        for figure in ("footprint_pages", "hole_bytes"):
            assert trace.fold().info[figure] == trace.info[figure]


def test_scaled_trace_has_the_times_of_a_faster_replay(tmp_path: Path) -> None:
    trace = drawn(2, tmp_path / "t.parquet")
    faster = ft.replay(trace, "conventional", settings={"replay.speed": 3.0}).summary["response"]
    assert ft.replay(trace.scale(3.0), "conventional").summary["response"] == faster
    for wrong in (0.0, -1.0, 1e-300, float("nan")):
        with pytest.raises(ft.ArgumentError, match="146 years"):
            trace.scale(wrong)


def of(trace: ft.Trace, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows_of(trace)]


def test_exported_traces_read_back(tmp_path: Path) -> None:
    fields, path = ("op", "offset_bytes", "length_bytes"), tmp_path / "exported"
    for seed in range(15):
        trace = drawn(seed, tmp_path / "t.parquet")
        trace.export(path, to="fio")
        read = ft.open(path)
        assert of(read, *fields) == of(trace, *fields)
        assert of(read, "time_ns") == [(time_ns // 1000 * 1000,) for (time_ns,) in of(trace, "time_ns")]
        assert of(read, "volume_name") == [("_".join(name.split()),) for (name,) in of(trace, "volume_name")]
        # A content that is unknown takes those beside it along; what else is lost has no place in the layouts.
        frame = trace.to_polars()
        of_sectors = (frame["op"] < 2) & (frame["length_bytes"] % 512 == 0) & (frame["flags"] == 0)
        of_sectors &= frame["stream"].is_null()
        for layout, place in {"csv": frame["op"] < 3, "mqsim": of_sectors}.items():
            if place.any():
                trace = ft.Trace.from_frame(frame.filter(place).drop("holes"))
                trace.export(path, to=layout)
                read = ft.Trace.from_csv(path) if layout == "csv" else ft.open(path, layout)
                kept = ("time_ns", *fields, "flags", "stream")
                assert of(read, *kept) == of(trace, *kept)
                assert of(read, "content_digest") == [
                    (None if None in (row or [None]) else row,) for (row,) in of(trace, "content_digest")
                ]


def test_export_says_how_much_it_cannot_keep(tmp_path: Path) -> None:
    rows = {"time_ns": [0, 1, 2_000_000_000, 3_000_000_000], "op": ["WF", "R", "R", "D"],
            "offset_bytes": [4096, 0, 8192, 0], "length_bytes": [8192, 4000, 4096, 512],
            "stream": [None, None, 3, None], "content": [["a" * 32, "b" * 32], None, None, None]}  # fmt: skip
    trace = ft.Trace.from_frame(rows)
    path = tmp_path / "t"
    assert trace.export(path, to="oraclegeneral") == {
        "trims and flushes": 1, "operations, and times below 1 s": 3, "contents": 2}  # fmt: skip
    assert list(struct.iter_unpack("<IQIq", path.read_bytes())) == [
        (0, 1, 4096, -1), (0, 2, 4096, 3), (0, 0, 4096, -1), (2, 2, 4096, -1)]  # fmt: skip
    # Objects are read back as pages, accesses as reads.
    assert of(ft.open(path, "oraclegeneral"), "time_ns", "op", "offset_bytes", "length_bytes") == [
        (0, 0, 4096, 4096), (0, 0, 8192, 4096), (0, 0, 0, 4096), (2_000_000_000, 0, 8192, 4096)]  # fmt: skip
    assert trace.export(path, to="mqsim") == {
        "trims and flushes": 1, "requests that grew to whole sectors": 1,
        "requests with FUA, of a queue or of a stream": 2}  # fmt: skip
    assert path.read_text() == f"0 0 8 16 0 {'a' * 32}{'b' * 32}\n1 0 0 8 1\n2000000000 0 16 8 1\n"
    assert trace.export(path, to="fio") == {
        "times cut to microseconds": 1, "contents": 2, "requests with FUA, of a queue or of a stream": 2}  # fmt: skip
    assert trace.export(path, to="csv") == {}
    with pytest.raises(ft.TraceError, match="no request fits the layout mqsim"):
        trace.excerpt(from_s=3).export(tmp_path / "none", to="mqsim")
    assert not (tmp_path / "none").exists()


#: A table of another tool, and how `ft.open` is told about it.
TABLE = pa.table({
    "ts": [0, 1_500, 2_000], "kind": ["Write", "Read", "Discard"], "lba": [8, 0, 8], "size": [4096, 8192, 4096],
    "disk": ["sdb", "sda", "sda"], "md5": ["11" * 16, None, None],
})  # fmt: skip
HOW = {"columns": "time=ts,op=kind,offset=lba:512,length=size,volume=disk,content=6", "time_unit": "us"}


def write_pandas(path: Path) -> None:
    frame = TABLE.to_pandas().astype({"kind": "category", "lba": "Int32"})
    frame.assign(ts=pandas.to_timedelta(frame.ts, unit="us")).to_parquet(path, compression="gzip")


def write_spark(path: Path) -> None:
    path.mkdir()
    table = TABLE.set_column(0, "ts", pa.array([0, 1_500_000, 2_000_000], pa.timestamp("ns")))
    for part in range(3):
        pq.write_table(table.slice(part, 1), path / f"part-{part}.parquet", use_deprecated_int96_timestamps=True)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "pandas.parquet": write_pandas,
    "spark.parquet": write_spark,
    "polars.parquet": polars.DataFrame(TABLE).cast({"size": polars.Decimal(12, 2)}).write_parquet,
    "polars.arrow": polars.DataFrame(TABLE).write_ipc,
    "pyarrow.orc": lambda path: orc.write_table(TABLE, path),
    "many.parquet": lambda path: pq.write_table(TABLE, path, row_group_size=1, compression="brotli"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_table_of_another_tool_is_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "_BATCH_ROWS", 2)
    path = tmp_path / name
    WRITERS[name](path)
    trace = ft.open(path, **HOW)
    assert of(trace, "time_ns", "volume_name", "op", "offset_bytes", "length_bytes") == [
        (0, "sdb", 1, 4096, 4096), (1_500_000, "sda", 0, 0, 8192), (2_000_000, "sda", 2, 4096, 4096),
    ]  # fmt: skip
    assert (trace.name, trace.volumes, contents_of(trace)) == (Path(name).stem, ["sda", "sdb"], {b"\x11" * 16})
    assert (
        ft.scan(path, **HOW).digest == ft.characterize(ft.scan(path, **HOW)).summary["info"]["digest"] == trace.digest
    )
    with pytest.raises(ft.TraceError) as error:
        ft.open(path)
    assert f"{path}: the columns of this table are not the canonical ones: ts (" in str(error.value)
    assert f"--columns '{HOW['columns'].replace('6', 'md5')}'" in str(error.value)


def test_duckdb_takes_and_gives_traces(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    trace = drawn(3, tmp_path / "t.parquet").to_arrow()
    relation = duckdb.sql("SELECT * FROM trace ORDER BY time_ns")
    assert of(ft.Trace.from_frame(relation), *KINDS) == of(ft.Trace.from_frame(trace), *KINDS)


def test_frame_that_polars_saved_is_the_trace(tmp_path: Path) -> None:
    trace = drawn(3, tmp_path / "t.parquet")
    trace.to_polars().write_parquet(tmp_path / "frame.parquet")
    again = ft.open(tmp_path / "frame.parquet")
    assert (again.digest, again.volumes, again.info["hole_bytes"]) == (
        trace.digest,
        trace.volumes,
        trace.info["hole_bytes"],
    )
    with pytest.raises(ft.ArgumentError, match="the unit of offset is 'x'; give bytes"):
        ft.open(tmp_path / "frame.parquet", columns={"offset": "offset_bytes:x"})
