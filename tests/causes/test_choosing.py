"""The candidates of a study are the fastest and the cheapest of all, found in few replays; the choice is by margin."""

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin.causes import choosing, holding
from flashtwin.causes.case import key_of
from flashtwin.causes.searching import Point, SettingsSearch
from flashtwin.judgement import choosing as judged
from flashtwin.judgement import facts
from flashtwin.judgement.choosing import Candidate, Decision, Loss
from flashtwin.judgement.choosing import decide as decide_study
from flashtwin.judgement.costs import Prices
from flashtwin.judgement.goals import Figures
from flashtwin.judgement.goals import goal_of as goal
from flashtwin.replays import aged
from flashtwin.replays.folders import SYSTEMS
from flashtwin.replays.presets import refusal
from flashtwin.replays.running import Result
from flashtwin.results import names
from flashtwin.results.intervals import Blocks, KindBlocks
from flashtwin.results.keys import matters
from flashtwin.results.reading import SavedRun, StudyFolder, load

from ..conftest import ROOT, Cli
from . import scenarios

MEAN = goal("all.mean")
#: Scenarios that say what the others say, with more replays.
DEARER = [pytest.param(name, marks=pytest.mark.slow) for name in ("replica_pass", "too_few_dies")]
FEW, MANY = "4 hash lanes", "16 hash lanes"


def made(ns: float, **more: float) -> Figures:
    counts = {
        "response.all.mean_ns": ns,
        "response.all.count": 10,
        "replay.speed": 1.0,
        "pages_programmed": 1,
        "page_ops.pages_hashed": 1,
        "response.read.count": 5,
    }
    return Figures({**counts, **more}, {"all": {"all": {"host_read": ns / 2, "service": ns / 2}}})


def by_settings(search_system: ft.System, figures: Figures) -> float:
    """A price by what was set: a unit for each key that is not as the preset has it, and for programs."""
    return figures["programs"] + search_system.config["engine"]["hash_lanes"] / 100.0


def search_of(name: str) -> SettingsSearch:
    search = SettingsSearch(ft.system(name), MEAN, price=by_settings)
    search.known[()] = made(9e5)
    return search


def searched(search: SettingsSearch, value: Callable[[Mapping[str, Any]], float]) -> int:
    """Answers a search until it asks for nothing more; returns how many replays that took."""
    search.goes_on = True
    asked = 0
    while wanted := search.wanted():
        for sets in wanted:
            search.known[key_of(sets)] = made(value(sets))
            asked += 1
    return asked


def every(search: SettingsSearch) -> list[Point]:
    levels = (range(len(levels) + 1) for _, levels in search.axes)
    return [point for point in itertools.product(*levels) if search.is_sensible(point)]


def words(search: SettingsSearch, point: Point | None) -> list[str]:
    return [level.words for level in search.levels(point)] if point is not None else []


@given(
    factors=st.lists(st.floats(0.5, 2.0), min_size=12, max_size=12), name=st.sampled_from(["conventional", "rr-ssd"])
)
def test_independent_settings_reach_the_optimum(factors: list[float], name: str) -> None:
    """Each key shortens or lengthens the time by a factor of its own: then one at a time is enough."""
    search = search_of(name)
    keys = dict.fromkeys(item for _, of in search.axes for level in of for item in level.sets.items())
    factor = dict(zip(keys, itertools.cycle(factors), strict=False))

    def value(point: Point) -> float:
        return 1e6 * math.prod(factor[item] for item in sorted(search.sets(point).items()))

    by_key = {key_of(search.sets(point)): value(point) for point in every(search)}
    search.known[()] = made(by_key[()])
    asked = searched(search, lambda sets: by_key[key_of(sets)])
    best = search.fastest()
    assert value(best) == min(by_key.values())
    assert asked <= len(by_key)


def test_what_brings_nothing_is_not_set() -> None:
    search = search_of("rr-ssd")
    search.known[()] = made(1e6)
    searched(search, lambda sets: 1e6 if "engine.hash_lanes" not in sets else 5e5)
    assert words(search, search.fastest()) == [FEW]


def known(search: SettingsSearch, settings: Mapping[tuple[str, ...], Figures]) -> None:
    for point in every(search):
        if tuple(words(search, point)) in settings:
            search.asked([point])
            search.known[key_of(search.sets(point))] = settings[tuple(words(search, point))]


def test_within_the_limit_the_cheapest_settings_are_taken() -> None:
    search = search_of("rr-ssd")
    known(search, {(): made(9e5), (FEW,): made(1040.0), (MANY,): made(1000.0)})
    assert words(search, search.fastest()) == [MANY]
    search.limit = 1050.0
    assert words(search, search.cheapest()) == [FEW]
    search.limit = 1030.0
    assert words(search, search.cheapest()) == [MANY]


def test_settings_are_taken_away_while_the_figure_stays_within_the_limit() -> None:
    """Suspension brings 2 %, lanes 60 %: the fastest has both, and the cheapest within 5 % the lanes alone."""
    search = search_of("rr-ssd")

    def value(sets: Mapping[str, Any]) -> float:
        return 1e6 * (0.98 if "engine.suspend" in sets else 1.0) * (0.4 if "engine.hash_lanes" in sets else 1.0)

    search.known[()] = made(1e6)
    searched(search, value)
    search.limit = 0.4 * 0.98 * 1e6 * 1.05
    searched(search, value)
    assert "engine.suspend" in search.sets(search.fastest())
    assert words(search, search.cheapest()) == [FEW]


def test_a_late_candidate_is_compared_by_its_lateness() -> None:
    """Pages of a drive that falls behind wait in RAM without end, so that its responses may be short."""
    search = search_of("rr-ssd")
    late, later = (made(1.0, duration_ns=10**9, completed_ns=ns) for ns in (2 * 10**9, 3 * 10**9))
    shorter = replace(later, summary={**later.summary, "response.all.mean_ns": 0.5})
    known(search, {(): later, (FEW,): late, (MANY,): shorter})
    assert words(search, search.fastest()) == [FEW]
    known(search, {("merged reads",): made(1e6)})
    assert words(search, search.fastest()) == ["merged reads"]


def test_settings_that_do_not_matter_are_not_tried() -> None:
    """Nothing is hashed, and no load is looked at, but where pages go to the least loaded chip."""
    search = search_of("conventional")
    points = [words(search, point) for point in every(search)]
    assert not any("hash" in one for point in points for one in point)
    weighing = [point for point in points if "load by expected wait" in point]
    assert weighing
    assert all({"least-loaded placement", "placement by expected wait"} & set(point) for point in weighing)


def grid(trace: ft.Trace, competing: Mapping[str, ft.System]) -> list[Mapping[str, Any]]:
    """The figures of every combination of lanes, cache, placement and suspension on every system that keeps up."""
    systems = []
    for one in competing.values():
        lanes = (1, 4, 16) if matters("engine.hash_lanes", one.config) else (1,)
        for number, pages, placed, suspended in itertools.product(
            lanes, (0, 4096), ("static", "dynamic", "least-loaded"), ("none", "program-erase")
        ):
            keys = {
                "engine.hash_lanes": number, "engine.write_cache_pages": pages, "ftl.allocation.policy": placed,
                "engine.suspend": suspended, "engine.write_cache_protected": bool(pages),
            }  # fmt: skip
            # Where RAM answers writes, there is no write cache besides.
            if not refusal(one, keys):
                systems.append(one.with_sets(keys))
    found: list[Mapping[str, Any]] = []
    aged.run(trace, systems, 0, None, lambda _, native: found.append(Result("replay", native).row))
    return [one for one in found if facts.late_by(one) is None]


def check_against(path: Path, goal_name: str, points: Sequence[Mapping[str, Any]]) -> None:
    """The fastest is as fast as the best point, and the choice no dearer than any that is clearly within the margin."""
    made, of, capacity = decided(path), goal(goal_name), load(path).candidates["capacity_bytes"]
    costs = [value if (value := of.value(one)) is not None else math.inf for one in points]
    best, fastest, first = min(costs), made.value(made.fastest), made.choice
    told = f"{path.name}: fastest {fastest / best:.4f} of the grid's best, choice {made.value(first) / best:.4f}"
    assert fastest <= best * 1.03, told
    assert made.value(first) <= fastest * 1.05, told
    assert all(first.price <= one.price for one in made.candidates if made.loss(one).at_most <= 0.05)
    # As the decision prices them: flash by the most programs of any of its candidates.
    most = max(one.run.numbers["pages_programmed"] for one in made.candidates)
    near = [one for one, cost in zip(points, costs, strict=True) if cost <= min(best, fastest) * 1.03]
    price, *prices = (Prices.read().of(one, capacity, most) for one in (first.run.numbers, *near))
    assert price <= min(prices, default=price) * 1.01 or made.alike, told


def decided(path: Path) -> Decision:
    found = decide_study(load(path))
    assert found is not None
    return found


@pytest.mark.usefixtures("no_pages")
@pytest.mark.parametrize("scenario", ["hash_lane", "hot_chip", *DEARER])
def test_the_fastest_is_the_best_of_the_whole_grid(scenario: str, tmp_path: Path) -> None:
    one = getattr(scenarios, scenario)()
    trace = one.trace()
    systems = ["conventional", "ca-ssd", "rr-ssd"] if trace.has_content else ["conventional", "hipa", "hot-cold"]
    kinds = {row[1] for row in one.requests}
    chosen = {name: ft.system(name, settings=one.settings) for name in systems}
    points = grid(trace, choosing.contenders(chosen, MEAN, more=False).systems)
    for name in ("all.mean", "write.mean" if kinds == {"W"} else "read.p99"):
        check_against(ft.study(trace, tmp_path / name, chosen, goal=name).path, name, points)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("no_pages")
@pytest.mark.parametrize("device", ["rr-ssd", "tlc-unit-2021"])
@pytest.mark.parametrize("source", ["webvm-small", "ds-ftl/webmail"])
def test_no_point_of_a_grid_on_all_systems_is_faster(source: str, device: str, tmp_path: Path) -> None:
    """About 100,000 page operations, on every system that can be built."""
    trace = ft.open(ROOT / "traces" / "webvm-small.fiu.zst").excerpt(to_s=400)
    trace = trace if source == "webvm-small" else ft.synthesize(source, scale=0.005)
    how: dict[str, Any] = {"device": device, "speed": 20.0, "period_s": 60.0}
    named = {name: ft.system(name, **how) for name in SYSTEMS if name != "oracle"}
    points = grid(trace, choosing.contenders(named, MEAN, more=True).systems)
    for name in ("all.mean", "read.p99"):
        check_against(ft.study(trace, tmp_path / name, goal=name, **how).path, name, points)


def test_all_compete_on_the_flash_of_the_first() -> None:
    """With the key that happens to equal ds-ftl's own device, four times the flash competed and led."""
    own = ft.system("ds-ftl").config["nand"]["pages_per_block"]
    for sets in ({"blocks_per_plane": 100}, {"pages_per_block": own}, {"nand.read_us": 20.0}):
        chosen = {"small": ft.system("conventional", settings=sets), "ds-ftl": ft.system("ds-ftl")}
        found = choosing.contenders(chosen, MEAN, more=True)
        assert list(found.systems)[:2] == ["small", "ds-ftl"]
        assert {one.raw_pages for one in found.systems.values()} == {chosen["small"].raw_pages}
        numbers = [{**one.config["nand"], "source": ""} for one in found.systems.values()]
        assert all(one == numbers[0] for one in numbers)
    # A bound is no drive to choose, and one system with other settings is no candidate of its own.
    assert not {"oracle", "oracle-conventional", "static", "dynamic", "hipa"} & set(found.systems)
    assert {"ca-ssd", "rr-ssd", "caftl", "hot-cold"} <= set(found.systems)
    assert list(choosing.contenders(chosen, MEAN, more=False).systems) == ["small", "ds-ftl"]


@pytest.mark.usefixtures("no_pages")
def test_fifteen_writes_choose_nothing(tmp_path: Path) -> None:
    rows = tuple((number * 1_000_000, "W", number, 1, number) for number in range(15))
    done = ft.study(scenarios.Scenario("few", "ca-ssd", rows).trace(), tmp_path / "out", ["conventional", "ca-ssd"])
    assert done.choice.answer == "unknown"
    assert done.choice.claim.startswith(
        "Too few requests to choose a system by: 15 requests, fewer than the 100 needed"
    )
    assert not done.choice.action


def run(name: str, ns: float, programs: float = 100.0, count: int = 1000, times: float = 1.0) -> SavedRun:
    return SavedRun(name, Path("nowhere"), {
        "config": ft.system("conventional").config, "pages_programmed": programs, "ram": {"total_bytes": 0},
        "response": {kind: {"count": count, "mean_ns": ns, "p99_ns": ns, "p99_9_ns": ns} for kind in
                     ("all", "read", "write")},
        "requests": {"completed": count}, "duration_ns": 1e9, "completed_ns": times * 1e9,
    })  # fmt: skip


def decision(
    *candidates: Candidate, worth: float = 0.05, goal_name: str = "all.mean", losses: Mapping[str, Loss] | None = None
) -> Decision:
    """A decision whose losses are given by hand where they have intervals."""
    of = goal(goal_name)
    ranked = sorted(candidates, key=lambda one: (of.value(one.run.numbers), one.price, one.system))
    found = Decision(of, worth, tuple(ranked), candidates[0], is_searched=True)
    if losses is not None:
        plain = found.loss
        object.__setattr__(found, "loss", lambda one, against=None: losses.get(one.system) or plain(one, against))
    return found


def candidate(name: str, ns: float, price: float, count: int = 1000) -> Candidate:
    return Candidate(run(name, ns, count=count), name, price)


def test_the_choice_is_the_cheapest_within_the_margin() -> None:
    of = [candidate("a", 1000.0, 9.0), candidate("b", 1049.0, 5.0), candidate("c", 1051.0, 1.0)]
    for order in itertools.permutations(of):
        assert decision(*order).choice.system == "b"
        assert decision(*order).fastest.system == "a"
    assert decision(*of, worth=0.0).choice.system == "a"
    assert decision(*of, worth=0.06).choice.system == "c"


def test_a_candidate_that_falls_behind_ranks_after_all_that_keep_up() -> None:
    """Pages of a drive that falls behind wait in RAM, so that its responses may be short."""
    runs = [run("slow", 1000.0), run("late", 1.0, times=2.0), run("later", 0.5, times=3.0)]
    found = decide_study(StudyFolder(Path("nowhere"), {}, runs=tuple(runs), baseline=runs[1]))
    assert found is not None
    assert [one.system for one in found.candidates] == ["slow", "late", "later"]
    assert found.choice.system == "slow"


def test_the_best_of_equals_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 candidates that are equal but for noise, the best is 1 % better on the half that it was ranked by."""
    rng, stated, seeming = np.random.default_rng(5), [], []
    for _ in range(60):
        counts, sums = np.full(100, 200.0), 2e5 * rng.normal(1.0, 0.03, (40, 100))
        kinds = [dict.fromkeys(("all", "read", "write", "flush"), KindBlocks(counts, one, counts[:, None]))
                 for one in sums]  # fmt: skip
        arrivals = np.arange(100.0)
        by = {f"run {at}": Blocks(arrivals, np.stack([arrivals, arrivals], axis=1), np.ones((2, 1)), kinds[at])
              for at in range(40)}  # fmt: skip
        monkeypatch.setattr(judged, "_blocks", lambda one, by=by: by[one.name])
        runs = [run(name, 1000.0, programs=at) for at, name in enumerate(by)]
        found = decide_study(StudyFolder(Path("nowhere"), {}, runs=tuple(runs), baseline=runs[0]))
        stated.append(found.loss(found.fastest, found.baseline))
        halves = (by[one.run.name].halves[0]["response.all.mean_ns"] for one in (found.fastest, found.baseline))
        seeming.append(next(halves) / next(halves) - 1.0)
    shares = [one.share for one in stated]
    error = np.std(shares) / math.sqrt(len(shares))
    assert abs(np.mean(shares)) < 3 * error
    assert np.mean(seeming) < -10 * error
    # An interval of 95 % holds 0 in about 57 of 60.
    ends = [one.interval or (0.0, 0.0) for one in stated]
    assert sum(low <= 0.0 <= high for low, high in ends) >= 51


def test_a_tie_goes_to_the_cheaper_one_in_any_order() -> None:
    of = [candidate("old", 1000.0, 9.0), candidate("new", 1000.0, 5.0)]
    assert {decision(*order).choice.system for order in itertools.permutations(of)} == {"new"}


def test_the_upper_end_of_an_interval_decides() -> None:
    of = [candidate("fast", 1000.0, 9.0), candidate("cheap", 1030.0, 1.0)]
    narrow, wide = Loss(0.03, (0.02, 0.04)), Loss(0.03, (0.01, 0.07))
    assert decision(*of, losses={"cheap": narrow}).choice.system == "cheap"
    found = decision(*of, losses={"cheap": wide})
    assert (found.choice.system, found.alike) == ("fast", [])
    unclear = decision(*of, losses={"cheap": Loss(0.03, (-0.01, 0.07))})
    assert unclear.choice.system == "fast"
    assert [one.system for one in unclear.alike] == ["cheap"]
    # Half the width is 4 %, and 3 % are to be told from 0: (4 / 3) squared.
    assert unclear.loss(of[1]).more_trace(0.05) == pytest.approx((0.04 / 0.03) ** 2)


@pytest.mark.parametrize(
    ("goal_name", "least"), [("all.mean", 100), ("read.p99", 1000), ("write.p99_9", 10_000), ("time", 100)]
)
def test_how_many_requests_a_choice_takes(goal_name: str, least: int) -> None:
    enough, fewer = (decision(candidate("a", 1.0, 1.0, count), goal_name=goal_name) for count in (least, least - 1))
    assert (enough.too_few, enough.choice is not None) == ("", True)
    assert (bool(fewer.too_few), fewer.choice) == (True, None)


def test_prices_by_hand(tmp_path: Path) -> None:
    """64 GiB of flash of which half the most is programmed, a protected cache of 16 MiB, and tables of 4 B a page."""
    one = ft.system("conventional", settings={"engine.write_cache_pages": 4096, "engine.write_cache_protected": True})
    dies = math.prod(one.config["nand"][key] for key in ("channels", "chips_per_channel", "dies_per_chip"))
    numbers = {f"config.{key}": value for key, value in ((f"{table}.{name}", of) for table in ("nand", "engine")
               for name, of in one.config[table].items())}  # fmt: skip
    numbers |= {"pages_programmed": 50, "trace.footprint_pages": 1000, "ram.total_bytes": 4000}
    numbers["ram.write_cache_bytes"] = 2**24
    numbers["config.engine.write_buffer_pages"] = 0
    usual = Prices.read()
    expected = 64 * 0.5 + 80.0 * 16 / 1024 + 40.0 * 64 / 1024 + usual.die * dies
    assert usual.of(numbers, 64 * 2**30, 100) == pytest.approx(expected)
    with_reads = numbers | {"config.engine.read_cache_pages": 4096}
    assert usual.of(with_reads, 64 * 2**30, 100) == pytest.approx(expected + 40.0 * 16 / 1024)
    (tmp_path / "mine.toml").write_text("flash_gib = 2\n")
    assert Prices.read(tmp_path / "mine.toml").of(numbers, 64 * 2**30, 100) == pytest.approx(expected + 32)
    for wrong in ("flash = 1", "lane = 'much'", "lane = -1", "lane"):
        (tmp_path / "mine.toml").write_text(wrong)
        with pytest.raises(ft.ConfigError, match="price"):
            Prices.read(tmp_path / "mine.toml")


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
    run_all = aged.run

    def counted(trace: ft.Trace, systems: Sequence[ft.System], *rest: Any, **more: Any) -> Any:
        replayed.append(len(systems))
        return run_all(trace, systems, *rest, **more)

    monkeypatch.setattr(aged, "run", counted)
    ft.study(small_trace, tmp_path / "1", ["conventional", "ca-ssd"], **quick)
    assert sum(replayed) == 0
    assert (tmp_path / "1" / names.CANDIDATES).read_bytes() == one


def test_a_time_is_no_effort(cli: Cli, small_trace: Path) -> None:
    done = cli("study", small_trace, "--effort", "30s", status=2)
    assert "page operations, not in time, so that a busy machine gives the same answer" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--goal", "read.p98"), "did you mean 'read.p9"), (("--goal", "life,wa,programs"), "names 3 goals"),
        (("--worth", "200%"), "is not a share"), (("--prices", "none.toml"), "none.toml"),
        (("--speed", "1,fast"), "is not a number above 0"),
    ],
)  # fmt: skip
def test_what_is_wanted_is_checked_before_anything_is_read(cli: Cli, options: tuple[str, str], message: str) -> None:
    done = cli("study", "no-such-trace.fiu", *options, status=2)
    assert message in done.err


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
def test_each_drive_and_load_is_searched_by_itself(small_trace: Path, tmp_path: Path) -> None:
    few: dict[str, Any] = {"period_s": 0.05, "effort": 1}
    systems = ["conventional", "ca-ssd"]
    done = ft.study(
        small_trace, tmp_path / "out", systems, devices=("rr-ssd", "tlc-unit-2021"), speeds=(1.0, 50.0), **few
    )  # fmt: skip
    found = json.loads((done.path / names.CHOICES).read_text(encoding="utf-8"))
    grounds = [("rr-ssd", 1.0), ("rr-ssd", 50.0), ("tlc-unit-2021", 1.0), ("tlc-unit-2021", 50.0)]
    assert [(row["device"], row["speed"]) for row in found["rows"]] == grounds
    for row, (device, speed) in zip(found["rows"], grounds, strict=True):
        alone = ft.study(small_trace, tmp_path / f"{device}{speed}", systems, device=device, speed=speed, **few)
        by_itself = decided(alone.path)
        assert (row["choice"], row["value"]) == (
            by_itself.choice.system, by_itself.goal.written(by_itself.value(by_itself.choice)),
        )  # fmt: skip


@given(low=st.floats(0.1, 10.0), times=st.floats(1.1, 100.0), share=st.floats(0.0, 1.0))
def test_an_interval_of_speeds_shrinks_around_the_change(low: float, times: float, share: float) -> None:
    change = low * times**share
    first, last = holding.narrowed(low, low * times, lambda speed: speed > change)
    assert low <= first <= change <= last <= low * times
    assert last / first <= times ** (1 / 16) * 1.2


@pytest.mark.usefixtures("no_pages")
def test_the_load_at_which_a_drive_falls_behind_is_that_of_its_reads(tmp_path: Path) -> None:
    """One die serves a read each R. The trace has one each millisecond, so that it is late from 1.1 ms / R on."""
    rows = tuple((scenarios.S + number * scenarios.MS, "R", number, 1, None) for number in range(5000))
    trace = scenarios.Scenario("reads", "conventional", rows).trace()
    how = {f"nand.{level}": 1 for level in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")}
    alone = ft.replay(trace, "conventional", settings={**how, "speed": 1000})
    each_s = alone.summary["completed_ns"] / 1e9 / 5000
    begins = 1.1 * 0.001 / (each_s - 0.05 / 5000)
    done = ft.study(trace, tmp_path / "out", "conventional", settings=how, speeds=(1.0, 100.0), effort=1)
    (sentence,) = load(done.path).grounds["changes"]
    assert sentence.endswith("times the recorded speed, the drive begins to fall behind.")
    low, high = map(float, re.findall(r"[\d.]+", sentence.partition("between")[2])[:2])
    assert low <= begins <= high <= 1.5 * low


@pytest.mark.usefixtures("no_pages")
def test_the_verdict_is_replayed_with_writes_answered_otherwise(small_trace: Path, tmp_path: Path) -> None:
    """Where it is asked for; a drive that answers from RAM has no write cache besides."""
    few: dict[str, Any] = {"period_s": 0.05, "effort": 1}
    plain = ft.study(small_trace, tmp_path / "plain", ["conventional", "ca-ssd"], **few)
    assert load(plain.path).candidates["acknowledged"] == {}
    done = ft.study(small_trace, tmp_path / "varied", ["conventional", "ca-ssd"], vary_acknowledgement=True, **few)
    found = load(done.path).candidates["acknowledged"]
    assert (found["value"], [one["value"] for one in found["others"]]) == ("programmed", ["hashed", "buffered"])
    for one in found["others"]:
        runs = [run for place in (done.path / names.GROUNDS).iterdir() for run in load(place).runs
                if run.setting("engine.write_completes") == one["value"]]  # fmt: skip
        assert one["choice"] in {run.name.partition(" (")[0] for run in runs}
        assert all(run.setting("engine.write_cache_pages") == 0 for run in runs)
        assert f"`engine.write_completes = {one['value']}`" in done.choice.reason
