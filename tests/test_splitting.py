"""`flashtwin trace split` and `anonymize`: parts, their manifest, and the verbs that take it."""

import json
from pathlib import Path

import polars
import pytest

import flashtwin as ft
from flashtwin.sweeps import batch

from .conftest import Cli, fiu_trace
from .test_bad_input import complains
from .test_characterize import BRIEF, volumes_trace


@pytest.fixture
def many(tmp_path: Path) -> Path:
    (tmp_path / "many.csv").write_text(volumes_trace(3000))
    return tmp_path / "many.csv"


def test_parts_are_the_trace_again_and_verbs_take_their_list(many: Path, cli: Cli, tmp_path: Path) -> None:
    cli("trace", "split", many, "--out", "parts", status=0)
    whole, manifest = ft.open(many), json.loads((tmp_path / "parts/manifest.json").read_text())
    assert (manifest["name"], manifest["format"], manifest["digest"]) == ("many", "msr", whole.digest)
    frames = []
    for part in manifest["parts"]:
        read = ft.open(tmp_path / "parts" / part["file"])
        assert (read.digest, read.volumes) == (whole.volume(part["name"]).digest, [part["name"]])
        frames.append(polars.DataFrame(read).with_columns(polars.col("time_ns") + part["start_ns"]))
    columns = ["time_ns", "op", "offset_bytes", "length_bytes"]
    merged = polars.concat([frame.select(columns) for frame in frames]).sort("time_ns")
    assert merged.equals(polars.DataFrame(whole).select(columns))
    for given, out in (("parts", "a"), ("parts/manifest.json", "b")):
        cli("characterize", given, *BRIEF, "--out", out, "--workers", "1", status=0)
        rows = polars.read_parquet(tmp_path / out / "traces.parquet")
        assert rows["trace"].to_list() == ["hm.0", "hm.1", "src.0"]
        assert rows["info.requests"].to_list() == [1000, 1000, 1000]
    swept = ft.sweep(tmp_path / "parts", tmp_path / "sweep", ["conventional"], workers=1, report=False)
    assert set(polars.DataFrame(swept)["trace"]) == {"hm.0", "hm.1", "src.0"}


def test_parts_of_whole_volumes(many: Path, cli: Cli, tmp_path: Path) -> None:
    cli("trace", "split", many, "--by", "hash:2", "--out", "parts", status=0)
    parts = json.loads((tmp_path / "parts/manifest.json").read_text())["parts"]
    assert sorted(volume for part in parts for volume in part["volumes"]) == ["hm.0", "hm.1", "src.0"]
    assert sum(part["requests"] for part in parts) == 3000
    complains(cli("trace", "split", many, "--out", "parts"), "parts: exists", "choose another folder")
    complains(cli("trace", "split", many, "--by", "hash:0", "--out", "none"), "hash:0", "hash:8")
    assert not (tmp_path / "none").exists()
    # A manifest of others says nothing.
    (tmp_path / "manifest.json").write_text('{"parts": 3}')
    assert "many" in batch.find([tmp_path])


def test_anonymous_traces(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "secret.fiu").write_text(fiu_trace(1500))
    (tmp_path / "my.key").write_text("a phrase")
    for name, key in (("a", ("--key-file", "my.key")), ("b", ("--key-file", "my.key")), ("c", ())):
        cli("trace", "anonymize", "secret.fiu", f"{name}.parquet", *key, status=0)
    files = [(tmp_path / f"{name}.parquet").read_bytes() for name in "abc"]
    assert files[0] == files[1] != files[2]
    assert b"secret" not in files[2]
    named, public = (ft.characterize(tmp_path / file, period_s=0.05) for file in ("secret.fiu", "c.parquet"))
    changed = {key for key in named.row if named.row[key] != public.row[key] and "read_as" not in key}
    assert changed == {"info.name", "info.format", "info.digest", "info.span_bytes"}
    ft.open(tmp_path / "secret.fiu").write_parquet(tmp_path / "secret.parquet")
    tables = [polars.read_parquet(tmp_path / f"{name}.parquet") for name in ("secret", "a", "c")]
    digests = [set(table["digest"].explode().drop_nulls()) for table in tables]
    assert len(digests[0]) == len(digests[0] | digests[1] | digests[2]) / 3 > 100
