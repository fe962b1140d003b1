"""Traces that stay in their files: the same results, and memory that does not grow with the requests."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from benches import long_trace

import flashtwin as ft
from flashtwin.replays.folders import replay_into
from flashtwin.results import names

from .conftest import Cli, Process, fiu_trace, peak_mib

LITTLE = {"blocks_per_plane": 20, "pages_per_block": 16, "channels": 2, "chips_per_channel": 2, "planes_per_die": 1}
#: What depends on the end of the trace, or on all of it, when the first request is served.
SETTINGS: dict[str, dict[str, object]] = {
    "new": {},
    "aged": {"preload": "footprint"},
    "of-the-trace": {"preload": "footprint", "preload_contents": "trace"},
    "empty": {"preload": "none"},
    "closed": {"queue_depth": 4},
    "deep": {"queue_depth": 64, "period_s": 0.05},
    "fast": {"speed": 20.0, "partial_write": "ignore"},
    "unique": {"content": "unique"},
    "drawn": {"content": "zipf(0.9,50)", "preload": "footprint"},
    "address": {"content": "same-as-address"},
}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A trace of whole pages, and one of several volumes with trims, parts of pages, and late requests."""
    folder = tmp_path_factory.mktemp("traces")
    whole, mixed = folder / "whole.fiu", folder / "mixed.csv"
    whole.write_text(fiu_trace(1500, step_ns=20_000), encoding="ascii")
    # Alibaba's columns: device, operation, offset, length, microseconds.
    lines = []
    for number in range(1500):
        page = (number * 7919 + (number // 3) * 31) % 300
        part = 512 * (number % 7) if number % 5 == 0 else 0
        length = 4096 * (1 + number % 3) - (512 if number % 11 == 0 else 0)
        late = 1000 if number % 13 == 0 and number else 0
        lines.append(
            f"{(number // 50) % 3 + 4},{'RW'[number % 2]},{page * 4096 + part},{length},{10_000 + number * 120 - late}"
        )
    mixed.write_text("\n".join(lines) + "\n", encoding="ascii")
    return {"whole": whole, "mixed": mixed}


def same(one: ft.Result, other: ft.Result) -> None:
    assert one._native.summary_json == other._native.summary_json
    assert one.table_names == other.table_names
    for name in one.table_names:
        assert one.table(name).to_arrow().equals(other.table(name).to_arrow()), name


@pytest.mark.parametrize("system", ft.systems())
def test_all_systems(system: str, traces: dict[str, Path]) -> None:
    for name, path in traces.items():
        sets = {**LITTLE, "content": "recorded" if name == "whole" else "unique"}
        held = ft.replay(ft.open(path), system, **sets)
        for window in (1, 700, None):
            same(held, ft.replay(ft.scan(path, window_requests=window), system, **sets))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("system", ["conventional", "ca-ssd", "rr-ssd", "hot-cold", "ds-ftl"])
def test_what_needs_the_whole_trace(system: str, setting: str, traces: dict[str, Path]) -> None:
    for name, path in traces.items():
        sets = {**LITTLE, "content": "recorded" if name == "whole" else "unique", **SETTINGS[setting]}
        held = ft.replay(ft.open(path), system, **sets)
        for window in (97, None):
            same(held, ft.replay(ft.scan(path, window_requests=window), system, **sets))


@pytest.mark.parametrize("part", [{"from_s": 0.01}, {"to_s": 0.03}, {"from_s": 0.01, "to_s": 0.04}, {"volume": "5"}])
def test_parts_of_a_trace(part: dict[str, object], traces: dict[str, Path]) -> None:
    for policy in ("bloom-filters", "offline"):
        sets = {**LITTLE, "content": "unique", "partition.policy": policy}
        held, streamed = ft.open(traces["mixed"], **part), ft.scan(traces["mixed"], window_requests=50, **part)
        same(ft.replay(held, "hot-cold", settings=sets), ft.replay(streamed, "hot-cold", settings=sets))
        assert (len(held), held.digest, held.name) == (len(streamed), streamed.digest, streamed.name)


def test_a_scan_stands_where_a_trace_does(traces: dict[str, Path], tmp_path: Path) -> None:
    held, streamed = ft.open(traces["whole"]), ft.scan(traces["whole"])
    assert streamed.info == held.info
    assert pickle.loads(pickle.dumps(streamed)).digest == held.digest
    both = ft.compare(streamed, ["conventional", "rr-ssd"], settings=LITTLE)
    for name, result in ft.compare(held, ["conventional", "rr-ssd"], settings=LITTLE).items():
        same(result, both[name])
    assert both.info == held.info
    assert ft.characterize(streamed).row == ft.characterize(traces["whole"], stream=True).row
    chosen = {name: ft.system(name, settings=LITTLE) for name in ("conventional", "rr-ssd")}
    for name, one in (("held", held), ("streamed", streamed)):
        replay_into(tmp_path / name, one, chosen)
    for file in ("runs/conventional/summary.json", "runs/rr-ssd/summary.json"):
        assert (tmp_path / "streamed" / file).read_bytes() == (tmp_path / "held" / file).read_bytes()
    found = [ft.explain(one, "rr-ssd", settings=LITTLE, effort=10_000_000)["rr-ssd"].data for one in (held, streamed)]
    assert found[0]["answer"] == found[1]["answer"]
    with pytest.raises(ft.ArgumentError, match=r"expected what `ft\.open` or `Scan\.open` returned"):
        ft.imitate(streamed)  # type: ignore[arg-type]


@pytest.mark.usefixtures("no_pages")
def test_a_sweep_of_a_file_that_is_not_held_is_the_same(traces: dict[str, Path], tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"settings": {**LITTLE, "speed": [1, 10]}, "workers": 1}
    systems = ["conventional", "rr-ssd"]
    held = ft.sweep(list(traces.values()), tmp_path / "held", systems, **arguments)
    scanned = ft.sweep([ft.scan(path) for path in traces.values()], tmp_path / "scanned", systems, **arguments)
    asked = ft.sweep(list(traces.values()), tmp_path / "asked", systems, stream=True, **arguments)
    rows = [one.to_arrow().sort_by([("trace", "ascending"), ("point", "ascending")]) for one in (held, scanned, asked)]
    assert rows[0].drop(["point"]).equals(rows[1].drop(["point"]))
    assert rows[0].equals(rows[2])
    assert all(point.command.count(" --stream ") == 1 for point in [*scanned.plan.points, *asked.plan.points])
    store = {path: path.stat().st_mtime_ns for path in (tmp_path / "held" / names.STORE).rglob("*.json")}
    ft.sweep(list(traces.values()), tmp_path / "held", systems, stream=True, **arguments)
    assert store.items() <= {
        path: path.stat().st_mtime_ns for path in (tmp_path / "held" / names.STORE).rglob("*.json")
    }.items()  # fmt: skip


@pytest.mark.usefixtures("no_pages")
def test_explain_and_sweep_can_stream_the_trace(cli: Cli, traces: dict[str, Path], tmp_path: Path) -> None:
    words = ["explain", traces["whole"], "--system", "rr-ssd", "--effort", "0", "--set", "blocks_per_plane=20"]
    held, streamed = cli(*words), cli(*words, "--stream")
    assert (streamed.status, streamed.out) == (0, held.out), streamed.err
    assert "rr-ssd" in held.out
    cli("sweep", traces["whole"], "--systems", "conventional", "--speed", "1,2", "--stream", "--out", "swept", status=0)
    refused = cli("explain", tmp_path / "swept", "--stream", status=2)
    assert "--stream is for traces" in refused.err


def test_progress_of_both_readings(traces: dict[str, Path]) -> None:
    heard: dict[str, tuple[int, int]] = {}
    ft.replay(
        ft.scan(traces["whole"]), "rr-ssd", progress=lambda what, done, of: heard.update({what: (done, of)}), **LITTLE
    )
    size = traces["whole"].stat().st_size
    assert heard == {"reading": (size, size), "rr-ssd": (1500, 1500)}


def test_command_line(traces: dict[str, Path], cli: Cli, process: Process) -> None:
    options = ["--content", "unique", "--set", "blocks_per_plane=20", "--json"]
    held = cli("replay", traces["mixed"], "--system", "rr-ssd", *options)
    streamed = cli("replay", traces["mixed"], "--system", "rr-ssd", "--stream", *options)
    assert (streamed.status, streamed.out, streamed.err) == (0, held.out, held.err)
    piped = process("compare", "-", "--stream", stdin=traces["whole"].read_text())
    assert piped.status == 2
    assert piped.err.startswith("error: standard input: standard input can be read only once")
    assert "flashtwin trace convert - FILE.parquet" in piped.err


def test_trace_larger_than_memory_is_streamed_with_a_note(
    traces: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flashtwin import _core
    from flashtwin.traces.reading import Source

    said: list[str] = []
    source = Source(str(traces["whole"]))
    assert isinstance(source.to_replay(stream=False, notify=said.append), ft.Trace)
    monkeypatch.setattr(_core, "memory_in_whole", lambda *_, **__: (12_340_000_000, 8_000_000_000))
    assert isinstance(source.to_replay(stream=False, notify=said.append), ft.Scan)
    assert [line for line in said if not line.startswith("read as: ")] == [
        f"{traces['whole']} would take about 12.3 GB of memory, 8.0 GB can be had: it is read again for each replay "
        "instead (as with --stream), results are the same"
    ]


def test_memory_does_not_grow_with_the_requests(tmp_path: Path) -> None:
    peaks = []
    for requests in (1_000_000, 2_500_000):
        path = tmp_path / f"{requests}.parquet"
        long_trace.write(path, requests, pages=100_000, contents=100_000)
        # A small device: its tables of physical pages are touched all over by the first million requests.
        little = ["--set", "blocks_per_plane=40"]
        done, mib = peak_mib(tmp_path, "replay", path, "--system", "rr-ssd", "--stream", *little)
        assert done.status == 0, done.err
        peaks.append(mib)
    # In memory they would be 100 MiB more.
    assert peaks[1] - peaks[0] < 30, peaks


@pytest.mark.slow
@pytest.mark.parametrize("system", ["conventional", "rr-ssd"])
def test_a_hundred_million_requests_in_two_gigabytes(system: str, tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    long_trace.write(path, 100_000_000, pages=2_000_000, contents=10_000_000)
    done, mib = peak_mib(tmp_path, "replay", path, "--system", system, "--stream", "--json")
    assert done.status == 0, done.err
    assert mib * 2**20 < 2e9, f"{mib:.0f} MiB"
