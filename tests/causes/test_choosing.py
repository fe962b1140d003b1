"""The candidate that a study names is the best of all, found in few replays; a lead that chance made is none."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin.causes import choosing
from flashtwin.causes.case import key_of
from flashtwin.causes.cheap import LANES, PLACEMENTS
from flashtwin.causes.figures import COUNTS, Figures, goal
from flashtwin.causes.replaying import base_figures
from flashtwin.causes.searching import EQUAL, Point, Search, lateness
from flashtwin.judgement import choosing as judged
from flashtwin.replays import aged
from flashtwin.replays.running import Result
from flashtwin.results import names
from flashtwin.results.keys import matters

from ..conftest import Cli
from . import scenarios

MEAN = goal("all.mean")
#: Scenarios that say what the others say, with more replays.
DEARER = [pytest.param(name, marks=pytest.mark.slow) for name in ("replica_pass", "too_few_dies")]


def made(ns: float) -> Figures:
    return Figures(
        {"all": {"mean": ns}}, {"all": {"all": {"host_read": ns / 2, "service": ns / 2}}}, dict.fromkeys(COUNTS, 1)
    )


def searched(search: Search, value: Any) -> int:
    """Answers a search until it asks for nothing more; returns how many replays that took."""
    search.goes_on = True
    asked = 0
    while wanted := search.wanted():
        for sets in wanted:
            search.known[key_of(sets)] = made(value(sets))
            asked += 1
    return asked


def every(search: Search) -> list[Point]:
    levels = (range(len(axis) + 1) for axis in search.axes)
    return [point for point in itertools.product(*levels) if search._sensible(point)]


@given(
    factors=st.lists(st.floats(0.5, 2.0), min_size=12, max_size=12), name=st.sampled_from(["conventional", "rr-ssd"])
)
def test_independent_settings_reach_the_optimum(factors: list[float], name: str) -> None:
    """Each setting shortens or lengthens the time by a factor of its own: then one at a time is enough."""
    search = Search(ft.system(name), MEAN)
    words = [level.words for axis in search.axes for level in axis]
    factor = dict(zip(words, factors, strict=False))

    def value(point: Point) -> float:
        return 1e6 * math.prod(factor[level.words] for level in search.levels(point))

    by_key = {key_of(search.sets(point)): value(point) for point in every(search)}
    asked = searched(search, lambda sets: by_key[key_of(sets)])
    best = search.best()
    assert value(best) <= min(by_key.values()) * (1 + EQUAL) ** (len(search.axes) + 1)
    assert asked <= len(by_key)


def test_what_brings_nothing_is_not_advised() -> None:
    search = Search(ft.system("rr-ssd"), MEAN)
    searched(search, lambda sets: 1e6 if "engine.hash_lanes" not in sets else 5e5)
    best = search.best()
    assert [level.words for level in search.levels(best)] == [f"{LANES[0]} hash lanes"]


def known(search: Search, settings: Mapping[tuple[str, ...], Figures]) -> None:
    for point in every(search):
        words = tuple(level.words for level in search.levels(point))
        if words in settings:
            search._missing([point])
            search.known[key_of(search.sets(point))] = settings[words]


def test_of_equal_settings_the_cheapest_is_best() -> None:
    """More lanes and suspension are ahead by less than 1 %: four lanes alone it is."""
    search = Search(ft.system("rr-ssd"), MEAN)
    few, many = (f"{lanes} hash lanes" for lanes in LANES)
    both = (few, "suspension")
    known(search, {(): made(9e5), (few,): made(1000.0), (many,): made(995.0), both: made(992.0)})
    best = search.best()
    assert [level.words for level in search.levels(best)] == [few]
    equal = [{**one, "programs": programs} for one, programs in zip(candidates(("old", 9e3), ("dear", 1000.0),
             ("cheap", 1001.0))["candidates"], (10, 90, 80), strict=True)]  # fmt: skip
    first = judged.chosen(candidates(("old", 9e3), candidates=equal))
    assert first.name == "cheap"


def test_a_late_candidate_is_compared_by_its_lateness() -> None:
    """Pages of a drive that falls behind wait in RAM without end, so that its responses may be short."""
    search = Search(ft.system("rr-ssd"), MEAN)
    counts = {**dict.fromkeys(COUNTS, 1), "duration_ns": 10**9}
    late, later = (replace(made(1.0), counts={**counts, "completed_ns": ns}) for ns in (2 * 10**9, 3 * 10**9))
    few, many = (f"{lanes} hash lanes" for lanes in LANES)
    known(search, {(): later, (few,): late, (many,): replace(later, response={"all": {"mean": 0.5}})})
    best = search.best()
    assert [level.words for level in search.levels(best)] == [few]
    known(search, {("suspension",): made(1e6)})
    on_time = search.best()
    assert [level.words for level in search.levels(on_time)] == ["suspension"]
    found = candidates(("slow", 1000.0), ("late", 1.0), ("later", 0.5))
    for one, times in zip(found["candidates"], (None, 2.0, 3.0), strict=True):
        one["late"] = times
    assert [one.name for one in judged.ranking(found)] == ["slow", "late", "later"]


def test_settings_that_do_not_matter_are_not_tried() -> None:
    """Nothing is hashed, and no load is looked at, but where pages go to the least loaded chip."""
    search = Search(ft.system("conventional"), MEAN)
    points = every(search)
    assert not any("hash" in level.words for point in points for level in search.levels(point))
    weighing = [point for point in points if any("by expected wait" in one.words for one in search.levels(point))]
    assert weighing
    assert all(any("least-loaded" in one.words for one in search.levels(point)) for point in weighing)


def grid(trace: ft.Trace, competing: Mapping[str, ft.System], goals: Sequence[str]) -> dict[str, float]:
    """The best figure of every combination of lanes, cache, placement and suspension on every system, by goal."""
    systems = []
    for one in competing.values():
        lanes = (1, *LANES) if matters("engine.hash_lanes", one.config) else (1,)
        for number, pages, placed, suspended in itertools.product(
            lanes, (0, 4096), PLACEMENTS, ("none", "program-erase")
        ):
            keys = {
                "engine.hash_lanes": number, "engine.write_cache_pages": pages, "ftl.allocation.policy": placed,
                "engine.suspend": suspended, "engine.write_cache_protected": bool(pages),
            }  # fmt: skip
            systems.append(one.with_sets(keys))
    found: list[Figures] = []
    aged.run(trace, systems, 0, None, lambda _, native: found.append(base_figures(Result("replay", native))))
    on_time = [one for one in found if lateness(systems[0], one) is None]
    return {name: min(value for one in on_time if (value := one.value(goal(name))) is not None) for name in goals}


@pytest.mark.usefixtures("no_pages")
@pytest.mark.parametrize("scenario", ["hash_lane", "hot_chip", *DEARER])
def test_it_is_the_best_of_the_whole_grid(scenario: str, tmp_path: Path) -> None:
    one = getattr(scenarios, scenario)()
    trace = one.trace()
    systems = ["conventional", "ca-ssd", "rr-ssd"] if trace.has_content else ["conventional", "hipa", "hot-cold"]
    kinds = {row[1] for row in one.requests}
    goals = ["all.mean", "write.mean" if kinds == {"W"} else "read.p99"]
    chosen = {name: ft.system(name, settings=one.settings) for name in systems}
    best = grid(trace, choosing.contenders(chosen, more=False), goals)
    for name in goals:
        done = ft.study(trace, tmp_path / name, chosen, goal=name)
        found = json.loads((done.path / names.CANDIDATES).read_text(encoding="utf-8"))
        first = judged.chosen(found)
        assert (name, first.ns / best[name]) == (name, pytest.approx(1.0, abs=0.03)) or first.ns < best[name]


def test_all_compete_on_the_flash_of_the_first() -> None:
    chosen = {"small": ft.system("conventional", blocks_per_plane=100), "ds-ftl": ft.system("ds-ftl")}
    found = choosing.contenders(chosen, more=True)
    assert list(found)[:2] == ["small", "ds-ftl"]
    assert {one.raw_pages for one in found.values()} == {chosen["small"].raw_pages}
    # A bound is no drive to choose, and one system with other settings is no candidate of its own.
    assert not {"oracle", "oracle-conventional", "static", "dynamic", "hipa"} & set(found)
    assert {"ca-ssd", "rr-ssd", "caftl", "hot-cold"} <= set(found)
    assert list(choosing.contenders(chosen, more=False)) == ["small", "ds-ftl"]


@pytest.mark.usefixtures("no_pages")
def test_fifteen_writes_choose_nothing(tmp_path: Path) -> None:
    rows = tuple((number * 1_000_000, "W", number, 1, number) for number in range(15))
    done = ft.study(scenarios.Scenario("few", "ca-ssd", rows).trace(), tmp_path / "out", ["conventional", "ca-ssd"])
    assert done.choice.answer == "unknown"
    assert done.choice.claim.startswith(
        "Too few requests to choose a system by: 15 requests, fewer than the 100 needed"
    )
    assert not done.choice.action


def candidates(*of: tuple[str, float], seeds: Mapping[str, list[float]] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "goal": "all.mean", "goal_words": MEAN.words, "baseline": of[0][0], "requests": 1000, "replays": 2,
        "unfinished": [], "left_out": {}, "seeds": seeds or {}, "device": None, "elsewhere": {},
        "candidates": [
            {"system": name, "cached": False, "settings": [], "takes": [], "sets": {}, "as_is_ns": ns, "after_ns": ns,
             "late": None, "completed_ns": 1, "response": {}, "programs": 100, "erases": 0, "ram_bytes": 10,
             "hash_lanes": 0, "life_years": None, "command": "flashtwin replay"}
            for name, ns in of
        ],
        **more,
    }  # fmt: skip


def test_a_lead_within_the_spread_over_seeds_is_none() -> None:
    chance = {"new": [960.0, 1010.0], "old": [1000.0, 1000.0]}
    lead = judged.chosen(candidates(("old", 1000.0), ("new", 960.0)))
    tie = judged.chosen(candidates(("old", 1000.0), ("new", 960.0), seeds=chance))
    assert (lead.name, tie.name) == ("new", "old")


@pytest.mark.parametrize(
    ("goal_name", "least"), [("all.mean", 100), ("read.p99", 1000), ("write.p99_9", 10_000), ("time", 100)]
)
def test_how_many_requests_a_choice_takes(goal_name: str, least: int) -> None:
    enough = candidates(("old", 1.0), goal=goal_name, requests=least)
    assert judged.too_few(enough) == ""
    assert judged.too_few({**enough, "requests": least - 1})


@pytest.mark.usefixtures("no_pages")
def test_threads_do_not_change_the_choice_or_repeat_replays(
    small_trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick: dict[str, Any] = {"period_s": 0.05, "speed": 5, "effort": 2_000_000}
    for threads in (1, 3):
        ft.study(small_trace, tmp_path / str(threads), ["conventional", "ca-ssd"], threads=threads, **quick)
    one, three = ((tmp_path / threads / names.CANDIDATES).read_bytes() for threads in ("1", "3"))
    assert one == three
    replayed: list[int] = []
    run = aged.run

    def counted(trace: ft.Trace, systems: Sequence[ft.System], *rest: Any, **more: Any) -> Any:
        replayed.append(len(systems))
        return run(trace, systems, *rest, **more)

    monkeypatch.setattr(aged, "run", counted)
    ft.study(small_trace, tmp_path / "1", ["conventional", "ca-ssd"], **quick)
    assert sum(replayed) == 0 or (tmp_path / "1" / names.CANDIDATES).read_bytes() == one


def test_a_time_is_no_effort(cli: Cli, small_trace: Path) -> None:
    done = cli("study", small_trace, "--effort", "30s", status=2)
    assert "page operations, not in time, so that a busy machine gives the same answer" in done.err


def test_terminal_page_and_json_say_it(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    words = ("--systems", "conventional,ca-ssd", "--period", "0.05s", "--effort", "1M", "--out", "out")
    done = cli("study", small_trace, *words, status=0)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.index('<section id="verdict">') < page.index('<section id="findings">')
    told = json.loads(cli("report", "out", "--json").out)["choice"]
    assert done.out.splitlines()[0] == f"{told['claim']} {told['reason']}".replace("`", "").strip()
    assert told["action"]["command"] in done.out
    cli(*told["action"]["command"].split()[1:], status=0)


@pytest.mark.usefixtures("no_pages")
def test_another_drive_is_shown_beside(small_trace: Path, tmp_path: Path) -> None:
    few = {"nand.channels": 2, "nand.chips_per_channel": 1}
    done = ft.study(small_trace, tmp_path / "out", ["conventional", "ca-ssd"], settings=few, effort=1, period_s=0.05)
    found = json.loads((done.path / names.CANDIDATES).read_text(encoding="utf-8"))
    assert found["device"] == choosing.TODAY
    there = ft.replay(small_trace, "conventional", settings={**few, "device": choosing.TODAY}, period_s=0.05)
    assert found["elsewhere"]["conventional"]["as_is_ns"] == there.summary["response"]["all"]["mean_ns"]
