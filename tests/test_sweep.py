"""`flashtwin sweep`: points, keys, the store, shards, refused points, missing points."""

import json
from pathlib import Path
from typing import Any

import polars
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin import report
from flashtwin.results import folder, names
from flashtwin.sweeps import plan, runs, store
from flashtwin.sweeps.store import Store

from .browser import printed_tables
from .conftest import Cli, fiu_trace

SYSTEMS = ("conventional", "rr-ssd")
ARGUMENTS = ("--systems", ",".join(SYSTEMS), "--speed", "1,10")


def stored(path: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in (path / names.RUNS).rglob("*") if file.is_file()}


def test_values_and_ranges() -> None:
    assert plan.axis("a, b,a") == ("a", "b")
    assert plan.axis('zipf(0.8,1000),unique,[1,2],"x,y"') == ("zipf(0.8,1000)", "unique", "[1,2]", '"x,y"')
    steps = plan.axis("0.1:0.5:0.1")
    assert isinstance(steps, plan.Range)
    assert steps.steps == ("0.1", "0.2", "0.3", "0.4", "0.5")
    drawn = plan.axis("1:64:log")
    assert isinstance(drawn, plan.Range)
    assert (drawn.log, drawn.whole, drawn.steps, drawn.at(0.5)) == (True, True, None, "8")
    for wrong in ("5:1", "1:5:-1", "0:5:log", "a,,b"):
        with pytest.raises(ft.ArgumentError):
            plan.axis(wrong)


def test_grid_zip_and_sample() -> None:
    axes = {"a": plan.axis("1,2,3"), "b": plan.axis("4,5,6"), "c": plan.axis("7")}
    grid = plan.points(2, SYSTEMS, axes)
    assert len(grid) == len(set(grid)) == 2 * 2 * 9
    assert [point.sets for point in plan.points(1, ["x"], axes, "zip")] == [
        (("a", first), ("b", second), ("c", "7")) for first, second in (("1", "4"), ("2", "5"), ("3", "6"))
    ]  # fmt: skip
    with pytest.raises(ft.ArgumentError, match="b has 2"):
        plan.points(1, ["x"], {"a": plan.axis("1,2,3"), "b": plan.axis("1,2")}, "zip")
    some = plan.sample(7, 0, 2, SYSTEMS, axes)
    assert len(set(some)) == 7
    assert set(some) <= set(grid)
    assert some == plan.sample(7, 0, 2, SYSTEMS, axes) != plan.sample(7, 1, 2, SYSTEMS, axes)
    assert set(plan.sample(99, 0, 2, SYSTEMS, axes)) == set(grid)


def test_a_sample_spreads_over_a_range() -> None:
    points = plan.sample(10, 0, 1, ["x"], {"a": plan.axis("0.0:1.0"), "b": plan.axis("u,v")})
    values = sorted(float(dict(point.sets)["a"]) for point in points)
    assert all(place / 10 <= value <= (place + 1) / 10 for place, value in enumerate(values)), "one in each tenth"
    assert [dict(point.sets)["b"] for point in points].count("u") == 5
    with pytest.raises(ft.ArgumentError, match="--sample"):
        plan.points(1, ["x"], {"a": plan.axis("0.0:1.0")})


@given(st.integers(0, 50), st.integers(1, 9))
def test_shards_are_a_partition(number: int, of: int) -> None:
    work = list(range(number))
    parts = [plan.shared(work, (one, of)) for one in range(1, of + 1)]
    assert sorted(entry for part in parts for entry in part) == work
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(ft.ArgumentError, match="2/8"):
        plan.shard(text)


def key(system: ft.System, digest: str = "d") -> str:
    return folder.run_key(digest, system.config)


def test_a_key_names_all_that_a_run_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    base = ft.system("rr-ssd")
    first = key(base.with_texts((("alpha", "0.3"), ("speed", "2"))))
    assert first == key(base.with_texts((("replay.speed", "2"), ("alpha", "0.3")))), "in whatever order, however short"
    assert len({first, key(base), key(base.with_texts((("alpha", "0.3"),))), key(ft.system("ca-ssd"))}) == 4
    assert key(base, "another trace") != key(base)
    before = key(base)
    monkeypatch.setattr(folder, "core_digest", lambda: "another core")
    assert key(base) != before


def test_a_trace_is_known_by_its_content(tmp_path: Path, small_trace: Path, no_pages: None) -> None:
    first = ft.sweep(small_trace, tmp_path / "out", "conventional", speed=[1, 2], workers=1)
    before = stored(tmp_path / "out" / names.STORE)
    copy = tmp_path / "copy.fiu"
    copy.write_bytes(small_trace.read_bytes())
    again = ft.sweep(copy, tmp_path / "two", "conventional", speed=[1, 2], store=tmp_path / "out" / names.STORE)
    assert stored(tmp_path / "out" / names.STORE) == before
    assert again.to_polars()["trace.name"].to_list() == ["copy", "copy"], "called as its own file"
    copy.write_text(fiu_trace(1999), encoding="ascii")
    other = ft.sweep(copy, tmp_path / "two", "conventional", speed=[1, 2], workers=1)
    assert not {point.key for point in first.plan.points} & {point.key for point in other.plan.points}


def test_a_run_is_complete_or_absent(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    kept.put("ab12", {"x": 1})
    found = kept.get("ab12")
    assert found.summary == {"x": 1}
    file = names.stored_run(tmp_path, "ab12")
    whole = file.read_bytes()
    for torn in (b"", whole[:40], whole[:-5], whole[:70] + b"y" + whole[71:]):
        file.write_bytes(torn)
        assert kept.get("ab12") is None
        assert not kept.has("ab12")
    names.stored_run(tmp_path, "abcd").write_bytes(whole)
    assert kept.get("abcd") is None, "a run under another's name"
    kept.put_refusal("ab12", "no")
    assert kept.has("ab12", tables=True)


def test_what_a_killed_process_left_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Store(tmp_path)
    kept.put("ab12", {})
    mine = store._beside(names.stored_run(tmp_path, "ab12"))
    monkeypatch.setattr(store.os, "getpid", lambda: 2**22 + 1)
    dead = store._beside(names.stored_run(tmp_path, "ab12"))
    monkeypatch.setattr(store.socket, "gethostname", lambda: "elsewhere")
    elsewhere = store._beside(names.stored_run(tmp_path, "ab12"))
    for partial in (mine, dead, elsewhere):
        partial.touch()
    monkeypatch.undo()
    kept.clear_left_over()
    assert (mine.exists(), dead.exists(), elsewhere.exists(), kept.has("ab12")) == (True, False, True, True)


def test_the_next_sweep_takes_away_what_a_killed_one_left(
    tmp_path: Path, small_trace: Path, no_pages: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ft.sweep(small_trace, tmp_path / "out", SYSTEMS)
    with monkeypatch.context() as killed:
        killed.setattr(store.os, "getpid", lambda: 2**22 + 1)
        left = [store._beside(tmp_path / "out" / name) for name in (names.SWEEP, f"{names.STORE}/{names.RUNS}/ab/ab12")]
    for partial in left:
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(b"half of")
    ft.sweep(small_trace, tmp_path / "out", SYSTEMS)
    assert not [partial for partial in left if partial.exists()]


def test_a_sweep_is_what_replays_one_by_one_are(tmp_path: Path, small_trace: Path, no_pages: None) -> None:
    done = ft.sweep(small_trace, tmp_path / "out", SYSTEMS, settings={"speed": [1, 20]}, alpha=[0.1, 0.4], workers=2)
    assert (len(done), done.complete, done.counts["done"]) == (8, True, 8)
    trace = ft.open(small_trace)
    for row, point in zip(done.to_arrow().to_pylist(), done.plan.points, strict=True):
        # Of a key that the system does not look at the point alone tells.
        made = {key: float(value) for key, value in point.settings.items() if key not in point.ignored}
        alone = ft.replay(trace, point.system, settings=made)
        assert done.result(point.point).summary == alone.summary
        other = {"system", *(f"config.{key}" for key in point.ignored)}
        assert all(row[name] == value for name, value in alone.row.items() if name not in other)
        assert all(row[f"config.{key}"] == float(value) for key, value in point.settings.items())
        assert row["config.replay.speed"] == float(point.settings["replay.speed"])
    assert polars.DataFrame(done).equals(polars.read_parquet(names.table(tmp_path / "out", names.SWEEP_ROWS)))
    assert ft.Sweep.read(tmp_path / "out").to_arrow().equals(done.to_arrow())
    bests, rows = done.bests("read.p99"), done.to_arrow().to_pylist()
    assert [best["config.replay.speed"] for best in bests] == [1.0, 20.0]
    for best in bests:
        alike = [row for row in rows if row["config.replay.speed"] == best["config.replay.speed"]]
        assert best["response.read.p99_ns"] == min(row["response.read.p99_ns"] for row in alike)
    with pytest.raises(ft.ArgumentError, match=r"points of 2 conditions \(replay.speed\) do not compete; `bests`"):
        done.best("read.p99")
    assert "8 points" in repr(done)
    assert "config.replay.speed" in done._repr_html_()


def test_the_table_does_not_depend_on_who_replays(tmp_path: Path, small_trace: Path, no_pages: None) -> None:
    tables = []
    for workers in (1, 2, 3):
        out = tmp_path / f"out-{workers}"
        ft.sweep(small_trace, out, SYSTEMS, speed=[1, 2, 5], workers=workers)
        tables.append(names.table(out, names.SWEEP_ROWS).read_bytes())
    assert tables[0] == tables[1] == tables[2]


def test_only_what_is_missing_is_replayed(tmp_path: Path, small_trace: Path, no_pages: None) -> None:
    said: list[str] = []
    heard: list[tuple[int, int]] = []
    first = ft.sweep(small_trace, tmp_path / "out", SYSTEMS, speed=[1, 2], workers=1)
    place = tmp_path / "out" / names.STORE
    before = stored(place)
    names.stored_run(place, str(first.plan.points[2].key)).unlink()
    assert not ft.Sweep.read(tmp_path / "out").complete
    again = ft.sweep(
        small_trace, tmp_path / "out", SYSTEMS, speed=[1, 2], workers=1, notify=said.append,
        progress=lambda _, done, total: heard.append((done, total)),
    )  # fmt: skip
    assert again.complete
    assert (0, 1) in heard
    assert (1, 1) in heard
    assert said[0].startswith("reusing 3 of 4 runs")
    after = stored(place)
    assert after.keys() == before.keys()
    assert sum(after[name] != before[name] for name in after) == 1
    ft.sweep(small_trace, tmp_path / "out", SYSTEMS, speed=[1, 2, 3], workers=1)
    assert {name: time for name, time in stored(place).items() if name in after} == after


def test_points_that_are_refused_are_rows(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    arguments = ("sweep", small_trace, "--systems", "conventional,rr-ssd", "--speed", "1,0", "--out", "out")
    done = cli(*arguments, status=1)
    assert "point 2 refused: replay.speed is 0" in done.err
    found = ft.Sweep.read(tmp_path / "out")
    assert (found.complete, found.counts) == (True, {"done": 2, "failed": 2, "missing": 0})
    rows = found.to_arrow().to_pylist()
    assert [row["status"] for row in rows] == ["done", "failed", "done", "failed"]
    assert rows[1]["config.replay.speed"] == 0
    assert rows[1]["response.read.mean_ns"] is None
    assert "replay.speed is 0" in rows[1]["error"]
    page = (tmp_path / "out" / names.REPORT).read_text(encoding="utf-8")
    assert "2 points were refused" in page.replace("\u00a0", " ")
    cli(*arguments, status=1)


def test_what_the_core_refuses_is_kept_and_not_tried_again(tmp_path: Path, no_pages: None) -> None:
    # Without contents, which the system looks at: found out by the replay.
    bare = tmp_path / "bare.csv"
    bare.write_text("".join(f"{100 * n},host,0,{'Write' if n % 2 else 'Read'},{4096 * n},4096,0\n" for n in range(50)))
    first = ft.sweep(bare, tmp_path / "out", ["conventional", "ca-ssd"], workers=1)
    assert first.counts == {"done": 1, "failed": 1, "missing": 0}
    assert "content" in first.errors[2]
    before = stored(tmp_path / "out" / names.STORE)
    ft.sweep(bare, tmp_path / "out", ["conventional", "ca-ssd"], workers=1)
    assert stored(tmp_path / "out" / names.STORE) == before
    # Of systems that nobody named, only those that can.
    assert set(ft.sweep(bare, tmp_path / "any", workers=1).to_polars()["system"]) == {"conventional"}


def test_shards_make_the_same_sweep(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    cli("sweep", small_trace, *ARGUMENTS, "--out", "whole", status=0)
    first = cli("sweep", small_trace, *ARGUMENTS, "--shard", "2/3", "--out", "out", status=0)
    assert "partial: 1 of 4 points, 3 missing" in first.err
    assert not names.table(tmp_path / "out", names.SWEEP_ROWS).exists()
    half = ft.Sweep.read(tmp_path / "out")
    assert [point.point for point in half.missing] == [1, 3, 4]
    assert half.to_arrow().schema.metadata[b"flashtwin.complete"] == b"false"
    cli("sweep", small_trace, *ARGUMENTS, "--shard", "1/3", "--out", "out", status=0)
    cli("sweep", small_trace, *ARGUMENTS, "--shard", "3/3", "--out", "out", status=0)
    tables = [names.table(tmp_path / place, names.SWEEP_ROWS).read_bytes() for place in ("out", "whole")]
    assert tables[0] == tables[1]


def test_a_partial_sweep_says_so_wherever_it_is_shown(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    cli("sweep", small_trace, *ARGUMENTS, "--shard", "1/2", "--out", "out", status=0)
    cli("report", "out", status=0)
    found = ft.Sweep.read(tmp_path / "out")
    assert "partial: 2 of 4 points" in repr(found)
    assert "partial: 2 of 4 points" in found._repr_html_()
    page = (tmp_path / "out" / names.REPORT).read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "This sweep is partial: 2 points of 4 are missing." in page
    table = pyarrow.parquet.read_table(names.table(tmp_path / "out", names.SWEEP_ROWS))
    assert table.schema.metadata[b"flashtwin.complete"] == b"false"
    assert table["status"].to_pylist().count("missing") == 2


def test_tables_on_request(tmp_path: Path, small_trace: Path, no_pages: None) -> None:
    plain = ft.sweep(small_trace, tmp_path / "out", ["conventional"], workers=1)
    assert plain.result(1).table_names == []
    kept = ft.sweep(small_trace, tmp_path / "out", ["conventional"], workers=1, keep_tables=True)
    assert len(kept.result(1).table("chips")) == 64
    with pytest.raises(ft.ArgumentError, match="numbered from 1 to 1"):
        kept.result(2)


def test_traces_in_memory_and_in_folders(tmp_path: Path, small_trace: Path, no_pages: None) -> None:
    (tmp_path / "traces").mkdir()
    for number in (500, 600):
        (tmp_path / "traces" / f"t{number}.fiu").write_text(fiu_trace(number), encoding="ascii")
    held = ft.open(small_trace).sample(0.5)
    done = ft.sweep([held, tmp_path / "traces"], tmp_path / "out", ["conventional"], workers=1)
    assert done.to_polars()["trace"].to_list() == [held.name, "t500", "t600"]
    assert done.result(1).summary["trace"]["digest"] == held.digest


def test_equal_ground_for_each_point(tmp_path: Path, small_trace: Path, no_pages: None) -> None:
    done = ft.sweep(
        small_trace, tmp_path / "out", ["conventional", "ds-ftl"], speed=[1, 2], equal_ground=True, workers=1
    )
    alone = ft.compare(ft.open(small_trace), ["conventional", "ds-ftl"], equal_ground=True, speed=2)
    assert done.result(4).summary == alone["ds-ftl"].summary
    # A key that equals the other device's own: setting the device alone would reset it.
    own = ft.system("ds-ftl").config["nand"]["pages_per_block"]
    keys: dict[str, Any] = {"nand.pages_per_block": own, "nand.channels": [2, 4]}
    swept = ft.sweep(small_trace, tmp_path / "own", ["conventional", "ds-ftl"], settings=keys, equal_ground=True)
    nand = [swept.result(point.point).summary["config"]["nand"] for point in swept.plan.points]
    by_channels: dict[int, list[Any]] = {}
    for one in nand:
        by_channels.setdefault(one["channels"], []).append({**one, "source": ""})
    assert [len(alike) for alike in by_channels.values()] == [2, 2]
    assert all(one == other for one, other in by_channels.values())


def test_a_point_is_made_again_by_its_command(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    found = json.loads(cli("sweep", small_trace, *ARGUMENTS, "--out", "out", "--json").out)
    assert (found["complete"], found["counts"]["done"]) == (True, 4)
    point = found["points"][3]
    words = point["command"].split()
    assert words[:2] == ["flashtwin", "replay"]
    alone = json.loads(cli(*words[1:], "--json").out)["rr-ssd"]
    alone.pop("ground", None)
    assert ft.Sweep.read(tmp_path / "out").result(4).summary == alone


def test_a_trace_that_changed_meanwhile_is_noticed(tmp_path: Path, small_trace: Path) -> None:
    system = ft.system("conventional")
    wanted = key(system, ft.open(small_trace).digest)
    task = runs.RunTask(
        wanted, str(tmp_path / "s"), runs.Source(str(small_trace)), "conventional", "conventional", (), False
    )
    small_trace.write_text(fiu_trace(10), encoding="ascii")
    assert "not what it was when the sweep began" in task.answer()["error"]
    assert not Store(tmp_path / "s").has(wanted)


def test_every_trace_has_panels_of_its_own(tmp_path: Path, small_trace: Path) -> None:
    other = tmp_path / "other.fiu"
    other.write_text(fiu_trace(800), encoding="ascii")
    done = ft.sweep([small_trace, other], tmp_path / "out", SYSTEMS, victim=["greedy", "random"], workers=1)
    page = done.report.read_text(encoding="utf-8")
    assert "other" in page
    assert done.plan.points[5].command in page
    assert 'id="chart-by-1"' in page
    assert [table for table in printed_tables(done.report, tmp_path, 210) if table[0] > 3 or table[1] > 0] == []
    again = report.build(tmp_path / "out").read_text(encoding="utf-8")
    assert again == page, "byte for byte"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--set", "alpha=0.1:0.5"), "--sample"),
        (("--set", "alpha=0.1,0.2", "--set", "alpha=0.3"), "set twice"),
        (("--shard", "3/2"), "no shard"),
        (("--minimize", "read.p98"), "did you mean"),
        (("--minimize", "wa", "--subject-to", "wa<=1.2MB"), "has no unit"),
        (("--minimize", "wa", "--subject-to", "wa=1.2"), "no bound"),
        (("--minimize", "wa", "--shard", "1/2", "--speed", "1,2"), "do not go together"),
        (("--on", "tcp://x"), "dask://"),
        (("--trade", "wa,nothing"), "no figure"),
        (("--systems", "nothing"), "nothing"),
        (("--set", "hash_lane=1,2"), "there is no key 'hash_lane'; did you mean 'engine.hash_lanes'?"),
    ],
)
def test_wrong_use(cli: Cli, small_trace: Path, arguments: tuple[str, ...], complaint: str) -> None:
    done = cli("sweep", small_trace, *arguments, status=2)
    assert complaint in done.err
    assert "Traceback" not in done.err
    assert not done.out


def test_only_into_folders_of_sweeps(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    done = cli("sweep", small_trace, "--out", "out", status=2)
    assert "holds 'thesis.tex' but no sweep" in done.err
    with pytest.raises(ft.ReportError, match=r"sweep\.json"):
        ft.Sweep.read(tmp_path)


def test_a_damaged_table_names_its_column(tmp_path: Path, small_trace: Path) -> None:
    path = Path(ft.sweep(small_trace, tmp_path / "out", ["conventional"], workers=1, report=False).path)
    file = names.table(path, names.SWEEP_ROWS)
    table = pyarrow.parquet.read_table(file)
    for column, values in (("status", None), ("point", [None]), ("pages_programmed", ["many"]), ("trace", [1])):
        damaged = table.drop_columns(column)
        if values is not None:
            damaged = damaged.append_column(column, pyarrow.array(values))
        pyarrow.parquet.write_table(damaged, file)
        with pytest.raises(ft.ReportError, match=rf"{file.name}: its column {column} is missing or of another kind"):
            report.build(path)


def test_a_page_left_out_is_drawn_later(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    words = ("sweep", small_trace, *ARGUMENTS, "--workers", "1", "--out")
    drawn = cli(*words, "drawn", status=0)
    page = (tmp_path / "drawn/report.html").read_bytes()
    left_out = "report: left out; `flashtwin report drawn` draws it"
    assert cli(*words, "drawn", "--no-report").out.splitlines()[-1] == left_out
    assert not (tmp_path / "drawn/report.html").exists(), "the old page may show other points"
    assert json.loads(cli(*words, "drawn", "--no-report", "--json").out)["report"] is None
    cli("report", "drawn", status=0)
    assert (tmp_path / "drawn/report.html").read_bytes() == page
    assert drawn.out.splitlines()[-1] == "report: drawn/report.html"


@pytest.mark.parametrize("words", [
    ("study", "small.fiu", "--systems", "conventional", "--effort", "0"),
    ("characterize", "small.fiu"), ("characterize", "in"),
    ("reproduce", "rr-ssd", "table-4", "--scale", "0.002", "--workloads", "webvm", "--workers", "1"),
])  # fmt: skip
def test_every_verb_leaves_its_page_out(
    words: tuple[str, ...], cli: Cli, small_trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASHTWIN_CHARTS", "none")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/small.fiu").write_bytes(small_trace.read_bytes())
    (tmp_path / "small.fiu").write_bytes(small_trace.read_bytes())
    done = cli(*words, "--no-report", "--out", "my out", status=0)
    assert "report: left out; `flashtwin report 'my out'` draws it" in done.out.splitlines()
    assert not list(tmp_path.rglob("report.html"))
    cli("report", "my out", status=0)
    assert (tmp_path / "my out/report.html").is_file()


@pytest.mark.parametrize("of", [1, 2])
def test_shards_of_characterize(cli: Cli, tmp_path: Path, of: int) -> None:
    for number in (500, 600, 700):
        (tmp_path / f"in/t{number}.fiu").parent.mkdir(exist_ok=True)
        (tmp_path / f"in/t{number}.fiu").write_text(fiu_trace(number), encoding="ascii")
    common = ("characterize", "in", "--no-report", "--period", "0.05s")
    for part in range(1, of + 1):
        done = cli(*common, "--shard", f"{part}/{of}", "--out", "out", status=0)
        assert "without --shard" in done.err
    last = cli(*common, "--out", "out")
    assert last.err.startswith("reusing 3 of 3 traces")
    cli(*common, "--out", "whole", status=0)
    tables = [names.table(tmp_path / place, names.TRACE_ROWS).read_bytes() for place in ("out", "whole")]
    assert tables[0] == tables[1]


def test_shards_of_reproduce(tmp_path: Path) -> None:
    small = {"scale": 0.002, "workloads": ["mail", "webvm"], "workers": 1}
    whole = ft.reproduce("rr-ssd", ["fig-4"], out=tmp_path / "whole", **small)
    for part in ("1/2", "2/2"):
        done = ft.reproduce("rr-ssd", ["fig-4"], out=tmp_path / "out", shard=part, **small)
        assert done.report is None
    last = ft.reproduce("rr-ssd", ["fig-4"], out=tmp_path / "out", **small)
    assert last.papers == whole.papers
    assert last.report is not None


def test_a_paper_measured_by_a_worker_is_found_again(tmp_path: Path) -> None:
    from flashtwin.papers import choose
    from flashtwin.papers.running import PaperTask, ReproductionOptions, run
    from flashtwin.sweeps import worker

    chosen, how = choose("rr-ssd", ["table-4"]), ReproductionOptions(scale=0.002, workloads=("webvm",), workers=1)
    task = PaperTask("rr-ssd", "webvm", ("table-4",), str(tmp_path), None, 0.002, 0, how.period_s)
    (tmp_path / "traces").mkdir()
    assert worker.answer(json.loads(json.dumps(task.as_json()))) == {}
    (tmp_path / names.MADE_FROM).write_text("{}")
    assert run(chosen, tmp_path, how).replayed == 0
