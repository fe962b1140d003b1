"""`flashtwin trace split` and `anonymize`: parts, their manifest, and the verbs that take it."""

import json
import shutil
from pathlib import Path

import polars
import pytest
from pyarrow import parquet

import flashtwin as ft
from flashtwin.sweeps import batch
from flashtwin.traces import joining

from .conftest import Cli, fiu_trace
from .test_bad_input import complains
from .test_characterize import BRIEF, volumes_trace
from .test_full_disks import VERBS
from .test_trace_values import contents_of, drawn


@pytest.fixture
def many(tmp_path: Path) -> Path:
    (tmp_path / "many.csv").write_text(volumes_trace(3000))
    return tmp_path / "many.csv"


def test_parts_are_the_trace_again_and_verbs_take_their_list(many: Path, cli: Cli, tmp_path: Path) -> None:
    cli("trace", "split", many, "--out", "parts", status=0)
    whole, manifest = ft.open(many), json.loads((tmp_path / "parts/manifest.json").read_text())
    assert (manifest["name"], manifest["format"], manifest["digest"]) == ("many", "msr", whole.digest)
    for part in manifest["parts"]:
        read = ft.open(tmp_path / "parts" / part["file"])
        assert (read.digest, read.volumes) == (whole.volume(part["name"]).digest, [part["name"]])
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


@pytest.mark.parametrize("by", ["volume", "hash:2"])
@pytest.mark.parametrize("digests", [True, False])
def test_parts_merge_into_the_source(tmp_path: Path, by: str, digests: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_ROWS", 7)
    for seed in range(1, 20):
        # Requests of one time would be in the order of their volumes.
        frame = drawn(seed, tmp_path / "drawn.parquet").to_polars().with_columns(time_ns=polars.int_range(polars.len()))
        (source := tmp_path / f"{seed}.parquet").unlink(missing_ok=True)
        ft.Trace.from_frame(frame).write_parquet(source)
        if not digests and "digest" in (table := parquet.read_table(source)).column_names:
            known = {**table.schema.metadata, b"flashtwin.has_digests": b"false"}
            parquet.write_table(table.drop_columns(["digest"]).replace_schema_metadata(known), source)
        whole, parts, again = ft.open(source), tmp_path / f"parts{seed}", tmp_path / f"again{seed}"
        listed = ft.split(source, parts, by=by)
        for part in listed:
            parquet.write_table(parquet.read_table(parts / part["file"]), parts / part["file"], row_group_size=5)
        merged = ft.open(parts)
        assert (merged.digest, merged.name, ft.scan(parts / "manifest.json").digest) == (
            whole.digest,
            str(seed),
            whole.digest,
        )
        assert (set(merged.volumes), merged.info["hole_bytes"]) == (set(whole.volumes), whole.info["hole_bytes"])
        assert merged.info["zero_write_percent"] == whole.info["zero_write_percent"]
        if digests:
            assert contents_of(merged) == contents_of(whole)
        for part, same in zip(listed, ft.split(parts, again, by=by), strict=True):
            assert ft.open(again / same["file"]).digest == ft.open(parts / part["file"]).digest


@pytest.mark.parametrize("verb", [verb for verb, words in VERBS.items() if "TRACE" in words and "char" not in verb])
def test_every_verb_takes_the_manifest(verb: str, cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    shutil.copy(small_trace, tmp_path / "traces/other.fiu")
    ft.split(small_trace, tmp_path / "volumes.d")
    said = []
    for given in ("small.fiu", "volumes.d"):
        done = cli(*verb.split(), *VERBS[verb].replace("TRACE", given).replace("OUT", "out").split(), status=0)
        lines = (done.out + done.err).replace(given, "TRACE").splitlines()
        said.append([line for line in lines if not line.startswith(("read as", "read_as", "format"))])
        for made in tmp_path.glob("out*"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()
    assert said[0] == said[1]
    assert said[0]


def test_a_manifest_is_checked(many: Path, cli: Cli, tmp_path: Path) -> None:
    parts = ft.split(many, tmp_path / "parts")
    files = [tmp_path / "parts" / part["file"] for part in parts]
    shutil.copy(files[0], kept := tmp_path / "kept")
    table = parquet.read_table(files[0])
    parquet.write_table(table.slice(1), files[0])
    complains(cli("trace", "info", "parts"), "parts: the parts have 2,999 requests, the manifest says 3,000", "split")
    files[0].write_bytes(kept.read_bytes()[:500])
    complains(cli("trace", "info", "parts"), "parts: a part cannot be read", "split the trace again")
    files[0].unlink()
    (tmp_path / "odd").mkdir()
    for odd in (3, [], [3], [{"file": 1}]):
        (tmp_path / "odd/manifest.json").write_text(json.dumps({"flashtwin": "", "name": "x", "parts": odd}))
        complains(cli("trace", "info", "odd"), "odd: this manifest does not say what its parts are", "split")
    complains(cli("trace", "info", "parts"), "parts: its part", files[0].name, "is missing", "split")


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
