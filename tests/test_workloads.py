"""Synthetic workloads: recipes keep their promise, as flashtwin's own characterization measures it."""

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin.characterization.statistics import METRICS
from flashtwin.recipes.workloads import Achieved, Target

from .conftest import ROOT, Cli, fiu, peak_mib

SMALL = 60_000
WEBVM = ROOT / "traces" / "webvm-small.fiu.zst"


def missed(achieved: list[Achieved]) -> list[str]:
    return [
        f"{one.target.metric}: {one.wanted} {one.found}" for one in achieved if one.verdict in ("missed", "undefined")
    ]


def test_recipes_are_the_files_of_the_folder() -> None:
    files = {str(path.relative_to(ROOT / "workloads").with_suffix("")) for path in ROOT.glob("workloads/*/*.toml")}
    assert set(ft.workloads()) == files


@pytest.mark.parametrize("name", ["rr-ssd/webvm", "rr-ssd/desktop", "ca-ssd/web", "ca-ssd/cello99", "ds-ftl/webmail"])
def test_a_small_trace_is_what_its_recipe_says(name: str) -> None:
    workload = ft.workload(name)
    # Caches of a thousandth hold too few entries to say anything.
    of_caches = ("popular_write_miss_percent", "write_entries_for_90_percent", "write_memory_saved_percent")
    scale = SMALL / workload.recipe["requests"]["count"]
    achieved = workload.check(scale=scale)
    assert not missed([one for one in achieved if one.target.metric not in of_caches])
    assert len(achieved) == len(workload.targets)


@pytest.mark.slow
@pytest.mark.parametrize("name", ft.workloads())
def test_every_recipe_is_what_it_says(name: str) -> None:
    assert not missed(ft.workload(name).check())


def test_every_target_has_its_source_and_is_a_known_statistic() -> None:
    for name in ft.workloads():
        targets = ft.workload(name).targets
        assert targets, name
        for target in targets:
            assert target.metric in METRICS
            assert "paper" in target.source or "public trace" in target.source
            assert target.bound in ("equal", "at-most", "at-least")


def test_a_verdict_says_what_happened() -> None:
    def verdict(wanted: float, found: float | None, **more: str | float) -> str:
        return Achieved(Target("write_percent", wanted, "a paper", **more), wanted, found).verdict  # type: ignore[arg-type]

    assert verdict(50, 52.4) == "met"
    assert verdict(50, 52.6) == "missed"
    assert verdict(50, 47.4) == "missed"
    assert verdict(50, 47.4, bound="at-most") == "met"
    assert verdict(50, 60, bound="at-most") == "missed"
    assert verdict(50, 47.6, bound="at-least") == "met"
    assert verdict(50, 90, bound="at-least") == "met"
    assert verdict(50, 47.4, bound="at-least") == "missed"
    assert verdict(50, 60, conflict="another table") == "conflict"
    assert verdict(50, None) == "undefined"
    assert verdict(50, 60, within_percent=20) == "met"
    assert verdict(50, 61, within_percent=20) == "missed"
    assert verdict(0, 0) == "met"
    assert verdict(0, 1) == "missed"


def test_a_synthetic_trace_is_replayed_and_compared() -> None:
    trace = ft.synthesize("rr-ssd/webvm", scale=0.002, seed=3)
    assert (len(trace), trace.name, trace.has_content) == (7600, "webvm", True)
    period = ft.workload("rr-ssd/webvm").period_s(0.002)
    result = ft.compare(trace, ["ca-ssd", "rr-ssd"], verify=True, **{"replay.period_s": period})
    assert list(result) == ["ca-ssd", "rr-ssd"]
    assert trace.info["page_quality"]["read_mismatches"] == 0


def test_the_command_line_makes_the_same_trace(cli: Cli, tmp_path: Path) -> None:
    made = cli("trace", "synthesize", "ca-ssd/hm", "--scale", "0.001", "--seed", "5", "--out", "hm.parquet")
    assert (made.status, made.err) == (0, "11,110 requests: hm.parquet\n")
    assert ft.open(tmp_path / "hm.parquet").digest == ft.synthesize("ca-ssd/hm", 0.001, 5).digest
    again = cli("trace", "synthesize", "ca-ssd/hm", "--scale", "0.001", "--out", "hm.parquet", status=2)
    assert "give --force to replace it" in again.err


def test_workloads_lists_shows_and_checks(cli: Cli, tmp_path: Path) -> None:
    assert [line.split()[0] for line in cli("workloads").out.splitlines()] == ft.workloads()
    shown = cli("workloads", "ca-ssd/cello99").out
    assert shown.strip() == ft.workload("ca-ssd/cello99").toml.strip()
    (tmp_path / "mine.toml").write_text(shown.replace("value = 70.79", "value = 60.0"))
    met = cli("workloads", "ca-ssd/cello99", "--check", "--scale", "0.05")
    assert (met.status, met.out.count(" met")) == (0, 3)
    wrong = cli("workloads", "mine.toml", "--check", "--scale", "0.05", "--json", status=1)
    rows = {row["metric"]: row["verdict"] for row in json.loads(wrong.out)["targets"]}
    assert rows == {"requests": "met", "write_percent": "missed", "footprint_pages": "met"}


def test_check_of_all_recipes_fails_if_one_misses(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    two = ["ca-ssd/cello99", "rr-ssd/hadoop"]
    monkeypatch.setattr("flashtwin.cli.workloads.names", lambda: two)
    met = cli("workloads", "--check", "--scale", "0.02", status=0)
    assert [line.split()[0] for line in met.out.splitlines() if "at scale" in line] == two
    targets = sum(len(ft.workload(name).targets) for name in two)
    assert met.out.splitlines()[-1].startswith(f"{targets} targets: ")
    # Of a few hundred requests caches, days and trains are not as they should be.
    missed = cli("workloads", "--check", "--scale", "0.001", "--json", status=1)
    verdicts = {name: {row["verdict"] for row in rows} for name, rows in json.loads(missed.out).items()}
    assert list(verdicts) == two
    assert "missed" in verdicts["rr-ssd/hadoop"]


def test_other_days_are_made(cli: Cli, tmp_path: Path) -> None:
    two = ft.synthesize("rr-ssd/webvm", scale=0.002, days=14)
    cli("trace", "synthesize", "rr-ssd/webvm", "--scale", "0.002", "--days", "14", "--out", "two.parquet", status=0)
    assert ft.open(tmp_path / "two.parquet").digest == two.digest
    day = ft.workload("rr-ssd/webvm").period_s(0.002)
    assert two.info["duration_ns"] / 1e9 == pytest.approx(14 * day, rel=0.02)


def test_a_trace_is_written_without_being_held(tmp_path: Path) -> None:
    # 3.8 million requests with one content each are 140 MB as columns. The pages and values that have to
    # be kept in mind are under 20 MB, a few batches of rows about as much.
    words = ("trace", "synthesize", "rr-ssd/webvm", "--force", "--out", "webvm.parquet", "--scale")
    (_, small), (done, whole) = (peak_mib(tmp_path, *words, scale) for scale in ("0.07", "1"))
    assert done.status == 0, done.err
    assert whole - small < 67, (small, whole)


@pytest.mark.parametrize("options", [(), ("--json",), ("--check",)])
def test_a_file_that_is_no_recipe_is_not_shown(options: tuple[str, ...], cli: Cli, tmp_path: Path) -> None:
    for text, message in (("garbage", "key with no value"), ("title = 'x'", "unknown field `title`")):
        (tmp_path / "garbage.toml").write_text(text)
        told = cli("workloads", "garbage.toml", *options)
        assert (told.status, told.out) == (2, "")
        assert told.err.startswith("error: garbage.toml:1:")
        assert message in told.err


def test_what_is_not_there_is_told(cli: Cli) -> None:
    assert "no workload is called 'rr-ssd/web'" in cli("workloads", "rr-ssd/web").err
    assert "none.toml: No such file or directory" in cli("workloads", "none.toml").err


@pytest.mark.parametrize("reads", [3, 7, 41])
def test_fit_of_sequential_reads_leaves_writes_random(tmp_path: Path, reads: int) -> None:
    # Every read but the first follows the one before, no write does: a share rounded up can leave writes less
    # than nothing, and the recipe is then refused.
    at = [9_000 * (row + 1) for row in range(150 - reads)]
    pages = [*at, *range(reads)]
    kinds = ["W"] * len(at) + ["R"] * reads
    trace = tmp_path / "x.fiu"
    trace.write_text(fiu((n * 1_000_000, pages[n], kinds[n], n % 97) for n in range(len(pages))))
    found = ft.imitate(trace, period_s=1.0).workload.recipe["requests"]
    assert found["read_sequential_percent"] <= 100 * (reads - 1) / reads
    assert found["read_sequential_percent"] == pytest.approx(100 * (reads - 1) / reads, abs=0.02)


def random_trace(path: Path, seed: int) -> Path:
    """A few hundred requests of pages with contents, drawn from as many sorts of workload as there are seeds."""
    draw = random.Random(seed)
    values = int(10 ** draw.uniform(0.5, 4))
    weights = [rank ** -draw.uniform(0.1, 2) for rank in range(1, values + 1)]
    cumulative = list(itertools.accumulate(weights))
    footprint, written, follows = draw.randint(20, 5_000), draw.uniform(0.05, 1), draw.uniform(0, 0.7)
    apart_ns, most = 10 ** draw.uniform(5, 9), draw.randint(1, 8)
    time_ns, end, rows = 0.0, 0, []
    for _ in range(draw.randint(150, 1_500)):
        time_ns += draw.expovariate(1 / apart_ns)
        kind = "W" if draw.random() < written else "R"
        start = end if draw.random() < follows else draw.randrange(footprint)
        end = start + draw.randint(1, most)
        contents = draw.choices(range(values), cum_weights=cumulative, k=end - start)
        for page, content in zip(range(start, end), contents, strict=True):
            rows.append((round(time_ns), page, kind, content))
    path.write_text(fiu(rows))
    return path


@pytest.mark.parametrize("seed", range(12))
def test_fit_of_any_small_trace_makes_a_trace_that_fits(tmp_path: Path, seed: int) -> None:
    # With few values popularity comes in steps that no other number of accesses can have.
    trace = ft.open(random_trace(tmp_path / "x.fiu", seed))
    fit = ft.imitate(trace, period_s=max(1.0, trace.info["duration_ns"] / 3e9), replay=False)
    imitation = fit.workload.synthesize()
    assert len(imitation) == len(trace)
    again = ft.imitate(imitation, period_s=fit.workload.period_s(1.0), replay=False).workload.recipe
    for section, key in (("requests", "write_percent"), ("writes", "unique_percent")):
        assert again[section][key] == pytest.approx(fit.workload.recipe[section][key], abs=0.5), key


def test_a_fit_imitates_its_trace(tmp_path: Path) -> None:
    trace = ft.synthesize("rr-ssd/trans", scale=0.02, seed=1)
    period = ft.workload("rr-ssd/trans").period_s(0.02)
    fit = ft.imitate(trace, period_s=period)
    by_name = {one.target.metric: one for one in fit.achieved}
    for metric in (
        "requests",
        "write_percent",
        "mean_request_kib",
        "footprint_pages",
        "unique_write_percent",
        "values_for_half_of_writes_percent",
    ):
        assert by_name[metric].verdict == "met", by_name[metric]
    # Reads come in extents, of which there are few here.
    unique = by_name["unique_read_percent"]
    assert unique.found == pytest.approx(unique.wanted, rel=0.25)
    entries = by_name["write_entries_for_90_percent"]
    assert entries.found == pytest.approx(entries.wanted, rel=0.15)
    sequential = by_name["sequential_percent"]
    assert sequential.found == pytest.approx(sequential.wanted, abs=1.5)
    found, given = fit.workload.recipe, ft.workload("rr-ssd/trans").recipe
    assert found["arrivals"]["days"] == given["arrivals"]["days"]
    # Trains are few here, some thirty an hour: their counts tell burst less exactly than those of requests would.
    assert found["arrivals"]["burst"] == pytest.approx(given["arrivals"]["burst"], abs=0.08)
    assert found["arrivals"]["daily_swing"] == pytest.approx(given["arrivals"]["daily_swing"], abs=0.05)
    assert found["arrivals"]["busiest_hour"] == pytest.approx(given["arrivals"]["busiest_hour"], abs=0.5)
    # Of values that occur twice it cannot be told whether they belong to a day or came back soon.
    assert given["writes"]["of_the_day_percent"] <= found["writes"]["of_the_day_percent"] < 40
    assert found["reads"]["written_percent"] == pytest.approx(given["reads"]["written_percent"], abs=5)


def test_a_fit_imitates_duplicates() -> None:
    trace = ft.open(WEBVM)
    fit = ft.imitate(trace, replay=False)
    # Values that are read before they are written, counted one by one.
    read: set[bytes] = set()
    written: dict[bytes, bool] = {}
    rows = trace.to_arrow().select(["op", "content_digest"]).to_pylist()
    for row in rows:
        for value in row["content_digest"] or ():
            if row["op"] == "read" or row["op"] == 0:
                read.add(value)
            else:
                written.setdefault(value, value in read)
    share = 100 * sum(written.values()) / len(written)
    assert fit.workload.recipe["writes"]["read_before_percent"] == pytest.approx(share, abs=1e-3)
    by_name = {one.target.metric: one for one in fit.achieved}
    for metric, points in (
        ("duplicate_write_percent", 0.1), ("held_duplicate_write_percent", 3.0), ("duplicate_read_percent", 6.0),
    ):  # fmt: skip
        assert by_name[metric].found == pytest.approx(by_name[metric].wanted, abs=points), metric


@pytest.mark.parametrize(("values", "reads"), [(11_805, 3), (6_706, 1)])
def test_a_fit_of_values_all_read_before_holds_at_any_scale(values: int, reads: int) -> None:
    ops = ["read"] * (values * reads) + ["write"] * values
    trace = ft.Trace.from_frame({
        "time_ns": [1_000_000 * at for at in range(len(ops))],
        "op": ops,
        "offset_bytes": [4096 * (at % values + (5 * values if op == "write" else 0)) for at, op in enumerate(ops)],
        "length_bytes": [4096] * len(ops),
        "content": [[at % values] for at in range(len(ops))],
    }, name="read-first")  # fmt: skip
    recipe = ft.imitate(trace, replay=False).workload
    for scale in (0.013, 0.1, 0.37, 0.5, 0.777, 1.5):
        assert len(recipe.synthesize(scale=scale)) == pytest.approx(scale * len(ops), abs=1)


def test_a_fit_replays_the_trace_and_its_imitation(cli: Cli) -> None:
    done = cli("trace", "imitate", WEBVM, "--json", status=0)
    replays = json.loads(done.out)["replays"]
    assert {row["system"] for row in replays} == {"conventional", "ca-ssd", "rr-ssd"}
    result = ft.replay(WEBVM, "ca-ssd")
    (mean,) = (row for row in replays if (row["system"], row["figure"]) == ("ca-ssd", "mean read, us"))
    assert mean["original"] == pytest.approx(result.summary["response"]["read"]["mean_ns"] / 1e3)
    (programs,) = (row for row in replays if row["system"] == "ca-ssd" and row["figure"].startswith("flash programs"))
    # Without the contents that lay there before the trace, the imitation programmed 65 % more.
    assert abs(programs["error"]) < 0.2
    assert json.loads(cli("trace", "imitate", WEBVM, "--json", "--no-replay").out)["replays"] == []


def test_a_trace_without_contents_cannot_be_imitated(tmp_path: Path) -> None:
    lines = [f"{100 * at},host,0,{'Read' if at % 3 else 'Write'},{4096 * at},4096,1" for at in range(200)]
    (tmp_path / "plain.csv").write_text("\n".join(lines))
    with pytest.raises(ft.TraceError, match="has no contents"):
        ft.imitate(ft.open(tmp_path / "plain.csv"))


def keys(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in schema.get("properties", {}).items():
        yield f"{prefix}{key}"
        yield from keys(value, f"{prefix}{key}.") if prefix == "" else ()


def test_the_manual_names_every_key_and_statistic() -> None:
    page = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
    found = [key for key in keys(ft.recipe_schema()) if "." in key]
    assert len(found) > 20
    assert not [name for name in (*found, *METRICS) if f"`{name}`" not in page]
