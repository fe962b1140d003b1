"""Beside every study: the same runs with a write-back cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin import report
from flashtwin.judgement import caching
from flashtwin.judgement.verdict import Verdict
from flashtwin.replays import aged
from flashtwin.replays.caching import PAGES, with_cache
from flashtwin.results import names

from .conftest import Cli

SYSTEMS = ("conventional", "ca-ssd", "oracle")
QUICK: dict[str, Any] = {"effort_s": 0.0, "period_s": 0.05, "speed": 5}


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies write no page: drawing it takes longer than the rest."""
    monkeypatch.setattr(report, "build", lambda path: path / names.REPORT)


def cached(done: ft.Study) -> Verdict:
    """What a study says of the cache."""
    assert done.write_cache is not None
    return done.write_cache


def saved(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / names.WRITE_CACHE).read_text(encoding="utf-8"))
    return found


@pytest.mark.usefixtures("without_pages")
def test_a_study_has_the_figures_of_replays_with_a_cache(small_trace: Path, tmp_path: Path) -> None:
    done = ft.study(small_trace, tmp_path / "out", SYSTEMS, **QUICK)
    found = cached(done)
    assert found.evidence == SYSTEMS
    for name in SYSTEMS:
        alone = ft.replay(small_trace, name, period_s=0.05, speed=5, write_cache_pages=4096).summary["response"]
        now = done.comparison[name].summary["response"]
        assert saved(done.path)["response"][name]["read"]["p99_9"] == alone["read"]["p99_9_ns"]
        expected = [
            (now[kind][key], alone[kind][key])
            for kind, key in (("all", "mean_ns"), ("read", "mean_ns"), ("write", "mean_ns"), ("write", "p99_ns"))
        ]
        assert caching.times(found.figures, name) == expected
        # What takes the time of a write is no longer its program.
        assert expected[2] == (now["write"]["mean_ns"], 9000.0)
    assert found.claim.startswith("With a write cache of 4,096 pages (16.0 MiB), ")


@pytest.mark.usefixtures("without_pages")
def test_any_number_of_threads_writes_the_same(small_trace: Path, tmp_path: Path) -> None:
    for threads in (1, 3):
        ft.study(small_trace, tmp_path / str(threads), SYSTEMS, threads=threads, **QUICK)
    one, three = ((tmp_path / threads / names.WRITE_CACHE).read_bytes() for threads in ("1", "3"))
    assert one == three


def test_terminal_page_and_json_say_it(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    words = ("study", small_trace, "--systems", ",".join(SYSTEMS), "--period", "0.05s", "--effort", "0", "--out", "out")
    done = cli(*words)
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    told = next(place for place, line in enumerate(lines) if line.startswith("With a write cache of 4,096 pages"))
    table = lines[-5:-1]
    assert table[0].split() == ["mean", "response", "all", "cached", "reads", "cached", "writes", "cached"]
    assert [line.split()[0] for line in table[1:]] == list(SYSTEMS)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert '<section id="write-cache">' in page
    assert "all other numbers on this page are without it" in page
    # From the files alone.
    again = json.loads(cli("report", "out", "--json").out)["write_cache"]
    assert f"{again['claim']} {again['reason']}".replace("`", "") == lines[told]
    assert again["figures"]["ca-ssd+cache:response.write.mean_ns"] == 9000.0
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8") == page


@pytest.mark.usefixtures("without_pages")
def test_it_can_be_left_out(small_trace: Path, tmp_path: Path) -> None:
    done = ft.study(small_trace, tmp_path / "out", SYSTEMS, **QUICK)
    assert done.write_cache is not None
    left_out = ft.study(small_trace, tmp_path / "out", SYSTEMS, write_cache=False, **QUICK)
    assert left_out.write_cache is None
    assert not (tmp_path / "out" / names.WRITE_CACHE).exists()


@pytest.mark.usefixtures("without_pages")
def test_what_was_replayed_is_not_replayed_again(
    small_trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by the study again, nor by `explain`, which tries the same cache."""
    first = ft.study(small_trace, tmp_path / "out", SYSTEMS, **QUICK)
    before = saved(first.path)
    made: list[dict[str, Any]] = []
    run = aged.run

    def counted(trace: ft.Trace, systems: Sequence[ft.System], *rest: Any, **more: Any) -> Any:
        made.extend(system.config["engine"] for system in systems)
        return run(trace, systems, *rest, **more)

    monkeypatch.setattr(aged, "run", counted)
    assert saved(ft.study(small_trace, tmp_path / "out", SYSTEMS, **QUICK).path) == before
    assert made == []
    found = ft.explain(tmp_path / "out", "conventional", effort_s=None)["conventional"].data
    assert made
    assert not [engine for engine in made if engine["write_cache_pages"] == PAGES and engine["hash_us"] > 0]
    step = next(one for one in found["steps"] if "engine.write_cache_pages" in one["sets"])
    assert step["after_ns"] == before["response"]["conventional"]["all"]["mean"]


@pytest.mark.usefixtures("without_pages")
def test_runs_of_another_kind_take_it_away(small_trace: Path, tmp_path: Path) -> None:
    """A comparison written into the folder of a study has other runs than those the cache was told of."""
    done = ft.study(small_trace, tmp_path / "out", SYSTEMS, **QUICK)
    ft.compare(small_trace, SYSTEMS, period_s=0.05, speed=9).save(done.path)
    assert report.write_cache(done.path) is None


@pytest.mark.usefixtures("without_pages")
def test_every_request_is_written_of_the_runs_alone(small_trace: Path, tmp_path: Path) -> None:
    done = ft.study(small_trace, tmp_path / "out", ["conventional"], per_request=True, **QUICK)
    assert (done.path / "runs" / "conventional" / "requests.parquet").is_file()
    assert cached(done).evidence == ("conventional",)


@pytest.mark.usefixtures("without_pages")
def test_systems_that_answer_early_are_left_as_they_are(small_trace: Path, tmp_path: Path) -> None:
    systems = {
        "plain": ft.system("ca-ssd", period_s=0.05),
        "modern": ft.system("modern", period_s=0.05),
        "hashed": ft.system("ca-ssd", period_s=0.05, write_completes="hashed"),
        "buffered": ft.system("conventional", period_s=0.05, write_completes="buffered"),
    }
    done = ft.study(small_trace, tmp_path / "out", systems, effort_s=0.0)
    assert cached(done).evidence == ("plain",)
    assert cached(done).reason.endswith(
        "Not made with a write cache: `modern` (has one of 4,096 pages already), `hashed` (answers writes before they "
        "are programmed, `engine.write_completes = hashed`), `buffered` (answers writes before they are programmed, "
        "`engine.write_completes = buffered`)."
    )


@pytest.mark.usefixtures("without_pages")
def test_a_study_of_such_systems_alone(small_trace: Path, tmp_path: Path) -> None:
    done = ft.study(small_trace, tmp_path / "out", ["modern"], effort_s=0.0, period_s=0.05)
    assert cached(done).text == "Not made with a write cache: `modern` (has one of 4,096 pages already)."


@pytest.mark.parametrize("name", ft.systems())
def test_all_systems_take_a_cache_or_say_why_not(name: str) -> None:
    cached, skipped = with_cache({name: ft.system(name)})
    assert list(cached) + list(skipped) == [name]
    assert (name in skipped) == (name == "modern")


@pytest.mark.usefixtures("without_pages")
def test_a_cache_that_fails_ends_no_study(small_trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked beside is left out with the reason; a run itself that fails is an error as ever."""
    run, broken = aged.run, "ca-ssd"

    def failing(trace: ft.Trace, systems: Sequence[ft.System], *rest: Any, **more: Any) -> Any:
        for system in systems:
            if system.name == broken and (system.config["engine"]["write_cache_pages"] or broken == "conventional"):
                raise ft.SimError("the controller found no block")
        return run(trace, systems, *rest, **more)

    monkeypatch.setattr(aged, "run", failing)
    done = ft.study(small_trace, tmp_path / "out", SYSTEMS, **QUICK)
    assert list(done.comparison) == list(SYSTEMS)
    assert cached(done).evidence == ("conventional", "oracle")
    assert cached(done).reason.endswith("Not made with a write cache: `ca-ssd` (the controller found no block).")
    broken = "conventional"
    with pytest.raises(ft.SimError, match="found no block"):
        ft.study(small_trace, tmp_path / "other", SYSTEMS, **QUICK)


def told(
    tmp_path: Path, means: dict[str, tuple[float, float]], skipped: dict[str, str] | None = None, page: int = 4096
) -> Verdict:
    """What is said of systems with these means of all requests and of writes, in us, without the cache and with it."""
    path = tmp_path / "made-up"
    response = {}
    for name, (before, after) in means.items():
        kinds = {kind: {"count": 1, "mean_ns": before * 1e3, "p99_ns": before * 1e3} for kind in ("all", "write")}
        summary = {"response": kinds, "traits": ["bound"] if name == "oracle" else []}
        names.run(path, name).mkdir(parents=True, exist_ok=True)
        (names.run(path, name) / names.SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
        if name not in (skipped or {}):
            response[name] = {kind: {"mean": after * 1e3, "p99": after * 1e3} for kind in kinds}
    (path / names.STUDY).write_text(json.dumps({"runs": list(means), "baseline": next(iter(means))}), encoding="utf-8")
    found = {"pages": 4096, "bytes": dict.fromkeys(response, 4096 * page), "response": response,
             "skipped": skipped or {}}  # fmt: skip
    (path / names.WRITE_CACHE).write_text(json.dumps(found), encoding="utf-8")
    verdict = report.write_cache(path)
    assert verdict is not None
    return verdict


OPENING = "With a write cache of 4,096 pages (16.0 MiB), "
TWO = {"a": (200.0, 50.0), "b": (100.0, 50.1), "oracle": (90.0, 40.0)}


@pytest.mark.parametrize(
    ("means", "answer", "order", "apart"),
    [
        (TWO, "equal", "`a` and `b` are equal", ("0.20 %", "100 %")),
        ({**TWO, "b": (200.0, 50.0)}, "equal", "`a` and `b` are equal", ("0 %", "0 %")),
        ({**TWO, "b": (300.0, 60.0)}, "a", "`a` is the fastest, as without it", ("20.0 %", "50.0 %")),
        ({**TWO, "b": (100.0, 60.0)}, "a", "`a` is the fastest instead of `b`", ("20.0 %", "100 %")),
    ],
)
def test_the_order_with_a_cache(
    tmp_path: Path, means: dict[str, tuple[float, float]], answer: str, order: str, apart: tuple[str, str]
) -> None:
    """A bound is ahead of nobody."""
    found = told(tmp_path, means)
    than = f"the slowest takes {apart[0]} longer than the fastest, without it {apart[1]}."
    assert (found.answer, found.claim) == (answer, f"{OPENING}{order}: {than}")


def test_one_system_alone(tmp_path: Path) -> None:
    found = told(tmp_path, {"a": (100.0, 50.0)})
    assert found.text == (
        f"{OPENING}the mean response of `a` is 50.0 µs, 50.0 % shorter. The mean write changes by \N{MINUS SIGN}50.0 %."
    )


def test_systems_that_were_skipped_are_not_among_those_compared(tmp_path: Path) -> None:
    means = {"a": (100.0, 50.0), "b": (150.0, 50.0), "c": (40.0, 0.0)}
    found = told(tmp_path, means, {"c": "has one already"}, page=16_384)
    assert found.claim.startswith("With a write cache of 4,096 pages (64.0 MiB), `a` and `b` are equal:")
    assert found.reason.endswith(" Not made with a write cache: `c` (has one already).")


def test_a_cache_that_lengthens_writes_is_said_to(tmp_path: Path) -> None:
    found = told(tmp_path, {"a": (5.0, 9.0), "b": (100.0, 50.0)})
    assert found.reason == "The mean write changes by \N{MINUS SIGN}50.0 % to +80.0 %."
