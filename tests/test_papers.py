"""The papers: verdicts, the search for the rate, items, and a run end to end on a trace that takes seconds."""

import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin.cli import run as cli_run
from flashtwin.papers import bench, choose, origins, papers, running
from flashtwin.papers.ca_ssd import results as ca_ssd
from flashtwin.papers.claims import Agreement, Claim, judge, number, orders
from flashtwin.papers.designs import measure_under
from flashtwin.papers.ds_ftl import items as ds_ftl
from flashtwin.papers.facts import measured
from flashtwin.papers.model import all_quantities, claims_of
from flashtwin.papers.rr_ssd import common
from flashtwin.papers.rr_ssd import results as rr_ssd
from flashtwin.papers.running import ReproductionOptions
from flashtwin.papers.search import CLOSE
from flashtwin.recipes.workloads import Workload

from .conftest import fiu


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (number("w", "q", 20.0, 24.0), Agreement.AGREES),  # a fifth
        (number("w", "q", 20.0, 24.1), Agreement.SIGN),
        (number("w", "q", 5.0, 8.0), Agreement.AGREES),  # 3 points
        (number("w", "q", 5.0, 8.1, "x"), Agreement.SIGN),  # no points for a factor
        (number("w", "q", 20.0, 40.1), Agreement.DISAGREES),  # more than twice
        (number("w", "q", 20.0, 9.9), Agreement.DISAGREES),
        (number("w", "q", 20.0, 1.0, effect=True), Agreement.SIGN),
        (number("w", "q", 20.0, 0.4, effect=True), Agreement.DISAGREES),  # no effect
        (number("w", "q", 20.0, -5.0, effect=True), Agreement.DISAGREES),
        (number("w", "q", -20.0, -90.0, effect=True), Agreement.SIGN),
        (number("w", "q", 20.0, None), Agreement.UNKNOWN),
        (Claim("w", "q", 25.0, 77.0, 20.5), Agreement.AGREES),  # a fifth below the lower end
        (Claim("w", "q", 25.0, 77.0, 92.3), Agreement.AGREES),
        (Claim("w", "q", 25.0, 77.0, 93.0), Agreement.SIGN),
        (Claim("w", "q", 32.0, None, 4000.0, "x"), Agreement.AGREES),
        (Claim("w", "q", 32.0, None, 20.0, "x"), Agreement.SIGN),
        (Claim("w", "q", None, 8.0, 0.0), Agreement.AGREES),
        (Claim("w", "q", 0.0, None, 0.0, "points", effect=True), Agreement.AGREES),
        (Claim("w", "q", 0.0, None, -0.4, "points", effect=True), Agreement.DISAGREES),
        (Claim("w", "q", 0.0, None, -40.0, "points", effect=True), Agreement.DISAGREES),
    ],
)
def test_verdict_of_a_claim(claim: Claim, verdict: Agreement) -> None:
    assert claim.verdict is verdict


def test_verdict_of_an_item() -> None:
    good, fair, bad = number("a", "q", 10.0, 10.0), number("b", "q", 30.0, 50.0), number("c", "q", 60.0, 1.0)
    assert judge([]).verdict is Agreement.UNKNOWN
    assert judge([number("a", "q", 1.0, None)]).verdict is Agreement.UNKNOWN
    assert judge([good, number("d", "q", 1.0, None)]).verdict is Agreement.AGREES
    assert judge([good, fair]).verdict is Agreement.SIGN
    assert judge([good, bad]).verdict is Agreement.DISAGREES
    assert judge([good, fair]).orders == (1, 1)
    # One in four may miss, unless the order goes with it.
    assert judge([good, good, good, number("c", "other", 60.0, 1.0)]).verdict is Agreement.SIGN
    assert judge([good, fair, fair, bad]).verdict is Agreement.DISAGREES


def test_orders_are_of_one_quantity_and_clearly_apart() -> None:
    assert orders([number("a", "q", 10.0, 5.0), number("b", "q", 30.0, 4.0)]) == (0, 1)
    assert orders([number("a", "q", 10.0, 5.0), number("b", "other", 30.0, 4.0)]) == (0, 0)
    assert orders([number("a", "q", 28.0, 5.0), number("b", "q", 30.0, 4.0)]) == (0, 0)
    assert orders([Claim("a", "q", 1.0, 2.0, 5.0), number("b", "q", 30.0, 4.0)]) == (0, 0)


def test_items_are_unique_and_stand_without_a_trace() -> None:
    for paper in papers().values():
        assert len({item.id for item in paper.items}) == len(paper.items)
        names = {workload.name for workload in paper.workloads}
        assert len(names) == len({workload.recipe for workload in paper.workloads}) == len(paper.workloads)
        for item in paper.items:
            assert set(item.workloads) <= names
            assert item.judge({}).claims or paper.population, f"{item.id}: what was published stands without a trace"


def test_a_name_that_is_not_known_names_the_nearest() -> None:
    with pytest.raises(ft.FlashtwinError, match=r"no paper is called 'rr-sd'; did you mean 'rr-ssd'\?"):
        choose("rr-sd")
    with pytest.raises(ft.FlashtwinError, match=r"rr-ssd: no item is called 'table4'; did you mean 'table-4'\?"):
        choose("rr-ssd", ["table4"])
    [(paper, items)] = choose("rr-ssd", ["fig-9", "table-4", "fig-9"])
    assert (paper.id, [item.id for item in items]) == ("rr-ssd", ["fig-9", "table-4"])


def test_recorded_traces_are_found_under_their_publishers_names(tmp_path: Path) -> None:
    names = (
        "cheetah.cs.fiu.edu-110108-113008.2.blkparse", "cheetah.cs.fiu.edu-110108-113008.10.blkparse",
        "webmail+online.cs.fiu.edu-110108-113008.1.blkparse", "homes-110108-112108.1.blkparse", "trans.csv.gz",
        "README.md", "webvm-small.fiu.zst", "homesick.csv",
    )  # fmt: skip
    (tmp_path / "mail").mkdir()
    for name in names:
        (tmp_path / ("mail" if "cheetah" in name else ".") / name).touch()
    paper = papers()["rr-ssd"]
    found = {one.name: [path.name for path in origins.recorded(one, tmp_path)] for one in paper.workloads}
    assert found == {
        "webvm": [names[2]],
        "homes": [names[3]],
        "mail": [names[0], names[1]],
        "hadoop": [],
        "trans": [names[4]],
        "desktop": [],
    }


def test_days_in_files_of_their_own_are_one_trace(tmp_path: Path) -> None:
    for day in (1, 2):
        text = fiu(((day * 100 + i) * 1000, i, "W", i) for i in range(20))
        (tmp_path / f"homes-110108-112108.{day}.blkparse").write_text(text)
    source = origins.find(papers()["rr-ssd"].workload("homes"), tmp_path, 1.0, 0, tmp_path)
    assert source.kind == "recorded"
    assert len(source.open(None)) == 40


def busy_trace(path: Path, requests: int = 2500, seed: int = 1) -> ft.Trace:
    """Single pages, half of them reads, contents by popularity; two thousand requests a simulated second."""
    draw = random.Random(seed)
    contents = [int(60 * draw.random() ** 3) for _ in range(300)]
    now = 0
    rows: list[tuple[int, int, str, int]] = []
    for _ in range(requests):
        now += int(draw.expovariate(1.0) * 40_000)
        page = int(300 * draw.random() ** 2)
        write = draw.random() < 0.5
        if write:
            contents[page] = int(60 * draw.random() ** 3) if draw.random() < 0.6 else 1000 + len(rows)
        rows.append((now, page, "W" if write else "R", contents[page]))
    path.write_text(fiu(rows))
    return ft.open(path)


#: Items of a run end to end: with claims by workload and over all of them, a table, a note, facts of the trace.
CHOSEN = ("recorded-rate", "table-1", "fig-4")
TINY = ReproductionOptions(scale=1.0, period_s=0.02, workloads=("webvm",))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of three items of the RR-SSD paper on a made-up trace; do not write to it."""
    scratch = tmp_path_factory.mktemp("papers")
    with pytest.MonkeyPatch.context() as patch:
        patch_recipes(patch, scratch)
        assert running.run(choose("rr-ssd", CHOSEN), scratch / "out", TINY).replayed == 6
    return scratch / "out"


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> bench.Stand:
    """The workload webvm of the RR-SSD paper, on a made-up trace."""
    scratch = tmp_path_factory.mktemp("stand")
    paper = papers()["rr-ssd"]
    source = origins.WorkloadSource("synthetic", "made up", "key", 1.0, lambda _: busy_trace(scratch / "webvm.fiu"))
    sets = common.SETUP.sets
    return bench.Stand(paper.workload("webvm"), source, scratch / "kept", period_s=0.02, setup=sets)


def patch_recipes(patch: pytest.MonkeyPatch, scratch: Path) -> None:
    def synthesize(recipe: Workload, *, scale: float, seed: int, progress: Any, days: int | None = None) -> ft.Trace:
        path = scratch / f"{recipe.name[7:]}-{days}.fiu"
        return busy_trace(path, requests=2500 * (days or 7) // 7, seed=len(recipe.name) + seed)

    patch.setattr(Workload, "synthesize", synthesize)


def test_a_run_leaves_results_of_its_items(made: Path) -> None:
    [paper] = json.loads((made / "reproduction.json").read_text())["papers"]
    assert [item["id"] for item in paper["items"]] == list(CHOSEN)
    recorded = {(one["subject"], one["quantity"]): one for one in paper["items"][0]["claims"]}
    share = recorded["webvm", "share of Oracle's"]
    assert share["published_low"] == pytest.approx(100 * 23.43 / 26.60)
    assert share["measured"] is not None
    assert recorded["mail", "RR-SSD, reads"]["why"] == "not part of this run"
    assert recorded["mean", "RR-SSD, reads"]["why"] == "the mean is over all six workloads"
    assert [workload["name"] for workload in paper["workloads"]] == ["webvm"]
    assert [claim["quantity"] for claim in paper["workloads"][0]["statistics"]] == [
        "writes", "unique values among writes", "unique values among reads",
    ]  # fmt: skip
    page = (made / "reproduction.md").read_text()
    assert page.count("\n### ") == 1 + len(paper["items"])
    assert "Not measured: homes, mail, hadoop, trans, desktop: not part of this run; mean: the mean is over" in page
    lines = (made / "claims.csv").read_text().splitlines()
    assert len(lines) == 1 + sum(len(item["claims"]) for item in paper["items"])
    assert (made / "report.html").is_file()


def test_the_rate_is_the_only_thing_chosen(stand: bench.Stand) -> None:
    """Oracle's reads are as published, and replays at that rate are those that the search has made."""
    found = common.matched(stand)
    assert found.met
    assert found.value == pytest.approx(common.ORACLE_READ["webvm"], abs=CLOSE)
    before = stand.replayed
    facts = measured(common.RATED.values(), stand)
    assert facts[common.RATED["Oracle read"]] == found.value
    assert stand.replayed == before + 1, "of rr-ssd, which the search does not look at"
    for summary in stand.path.glob("runs/*/summary.json"):
        config = json.loads(summary.read_text())["config"]
        chosen = {**common.SETUP.sets, "replay.period_s": 0.02, "replay.speed": config["replay"]["speed"]}
        assert config == ft.system(config["name"], settings=chosen).config


def test_at_the_recorded_rate_nothing_is_chosen(stand: bench.Stand) -> None:
    """What `recorded-rate` says is what replays under the set-up at the trace's own clock have."""
    settings = {**common.SETUP.sets, "replay.period_s": 0.02, "replay.speed": 1.0}
    runs = ft.compare(stand.trace, ["ca-ssd", "rr-ssd", "oracle"], settings=settings)
    base, rr, oracle = (run.summary["response"]["read"]["mean_ns"] for run in runs.values())
    item = next(one for one in papers()["rr-ssd"].items if one.id == "recorded-rate")
    claims = {one.quantity: one.measured for one in item.judge({"webvm": item.measure(stand)}).claims
              if one.subject == "webvm"}  # fmt: skip
    assert claims["RR-SSD, reads"] == pytest.approx(100 * (1 - rr / base))
    assert claims["Oracle, reads"] == pytest.approx(100 * (1 - oracle / base))
    assert claims["share of Oracle's"] == pytest.approx(100 * (base - rr) / (base - oracle))


def test_how_reads_renew_is_varied_on_recipes_of_days_alone(tmp_path: Path) -> None:
    paper = papers()["rr-ssd"]
    source = origins.find(paper.workload("homes"), None, 0.002, 0, tmp_path)
    at = bench.Stand(paper.workload("homes"), source, tmp_path / "kept", period_s=172.8, setup=common.SETUP.sets)
    pages, whole = at.again(renewed=1), at.again(renewed=4096)
    assert pages is not None
    assert whole is not None
    assert at.again(renewed=1) is pages, "made once"
    assert len({one.source.key for one in (at, pages, whole)}) == 3
    wanted = [common.CLOCKED["RR-SSD read"]]
    [by_page] = measure_under(at, {"reads.renewed_pages": 1}, lambda _, sets: sets, wanted).values()
    runs = ft.compare(pages.trace, ["ca-ssd", "rr-ssd"], settings={**common.SETUP.sets, "replay.period_s": 172.8})
    base, rr = (run.summary["response"]["read"]["mean_ns"] for run in runs.values())
    assert by_page == pytest.approx(100 * (1 - rr / base))
    at.close()
    assert at.replayed == 2, "replays of a variant count"
    # Reads of a trace, and recorded ones, do not renew by days.
    other = papers()["ca-ssd"].workload("financial")
    at.source = origins.find(other, None, 0.002, 0, tmp_path)
    at.memo.clear()
    assert at.again(renewed=1) is None
    assert measure_under(at, {"reads.renewed_pages": 1}, lambda _, sets: sets, wanted) == {wanted[0]: None}


def test_verdict_by_the_first_rule_stands_beside_the_present_one() -> None:
    """A bound above the published share agrees today, and did not when it had to equal the share."""
    bound = next(one for one in papers()["rr-ssd"].items if one.id == "fair-bound")
    facts = {one.fact: 200.0 for one in all_quantities(bound.claims)}
    every = {name: {**facts, rr_ssd.BY_DAY: {}} for name in bound.workloads}
    assert judge(claims_of(bound.claims, every, bound.workloads)).verdict is Agreement.AGREES
    assert bound.judge_first(every) is Agreement.DISAGREES
    for item in (item for paper in papers().values() for item in paper.items if item.first):
        assert date.fromisoformat(item.first.changed) > date(2026, 11, 21)
        assert item.judge_first({}) is Agreement.UNKNOWN


def test_a_share_of_next_to_nothing_is_none() -> None:
    assert common.share_of_oracle(0.2, 0.4) is None
    assert common.share_of_oracle(0.2, 0.5) == 40.0


def test_done_again_nothing_is_replayed(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_recipes(monkeypatch, tmp_path)
    monkeypatch.setattr(origins, "open_trace", refused)
    monkeypatch.setattr(bench, "compare", refused)
    monkeypatch.setattr(bench, "measure", refused)
    before = {name: (made / name).read_bytes() for name in ("reproduction.json", "claims.csv", "report.html")}
    said: list[str] = []
    done = running.run(choose("rr-ssd", CHOSEN), made, TINY, notify=said.append)
    assert done.replayed == 0
    assert said == ["no replay was needed"]
    assert before == {name: (made / name).read_bytes() for name in before}


def refused(*_: Any, **__: Any) -> None:
    raise AssertionError("this had been done before")


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_recipes(monkeypatch, tmp_path)
    how = ReproductionOptions(period_s=0.02, workloads=("webvm",))
    whole = running.run(choose("rr-ssd", ["fig-12"]), tmp_path / "whole", how).replayed
    real, left = bench.compare, [4]

    def runs_out(*args: Any, **keys: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(*args, **keys)

    monkeypatch.setattr(bench, "compare", runs_out)
    with pytest.raises(KeyboardInterrupt):
        running.run(choose("rr-ssd", ["fig-12"]), tmp_path / "cut", how)
    kept = len(list((tmp_path / "cut").glob("workloads/*/runs/*/summary.json")))
    assert 0 < kept < whole
    monkeypatch.setattr(bench, "compare", real)
    assert running.run(choose("rr-ssd", ["fig-12"]), tmp_path / "cut", how).replayed == whole - kept
    for name in ("reproduction.json", "claims.csv", "report.html"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_replay_that_fails_is_one_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device is too small for one item's system: the others are measured."""
    patch_recipes(monkeypatch, tmp_path)
    real = bench.Stand.system

    def spoilt(self: bench.Stand, name: str, **sets: Any) -> ft.System:
        return real(self, name, **{**sets, **({"blocks_per_plane": 1} if name == "rr-ssd-online" else {})})

    monkeypatch.setattr(bench.Stand, "system", spoilt)
    done = running.run(
        choose("rr-ssd", ["fig-12", "table-5"]),
        tmp_path / "out",
        ReproductionOptions(period_s=0.02, workloads=("webvm",)),
    )
    by_id = {item["id"]: item for item in done.papers[0]["items"]}
    failed = [claim for claim in by_id["fig-12"]["claims"] if claim["subject"] == "webvm"]
    assert [claim["measured"] for claim in failed] == [None]
    assert "blocks" in failed[0]["why"]
    assert by_id["table-5"]["claims"][0]["measured"] is not None


@pytest.mark.parametrize(
    ("paper", "workload", "items"),
    [("ca-ssd", "web", ("fig-7a", "cache-size", "begins-full")), ("ds-ftl", "home3", ("fig-2", "fig-4", "fig-13"))],
    ids=["ca-ssd", "ds-ftl"],
)
def test_the_papers_with_drives_run(
    paper: str, workload: str, items: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_recipes(monkeypatch, tmp_path)
    how = ReproductionOptions(period_s=0.02, workloads=(workload,))
    done = running.run(choose(paper, items), tmp_path / "out", how)
    assert done.replayed > 0
    assert all(any(one["measured"] is not None for one in item["claims"]) for item in done.papers[0]["items"])
    assert [one["kind"] for one in done.papers[0]["workloads"]] == ["synthetic"]
    assert running.run(choose(paper, items), tmp_path / "out", how).replayed == 0


def test_swc_takes_every_trace_of_a_folder(tmp_path: Path) -> None:
    for name, seed in (("mail", 3), ("oltp", 4), ("short", 5)):
        (tmp_path / "in").mkdir(exist_ok=True)
        busy_trace(tmp_path / "in" / f"{name}.fiu", 500 if name == "short" else 10_500, seed)
    done = running.run(choose("swc"), tmp_path / "out", ReproductionOptions(traces=tmp_path / "in", period_s=0.1))
    items = {item["id"]: item for item in done.papers[0]["items"]}
    assert [workload["name"] for workload in done.papers[0]["workloads"]] == ["mail", "oltp", "short"]
    assert done.replayed == 0
    measured = {claim["subject"]: claim["measured"] for claim in items["fig-1a"]["claims"]}
    assert None not in measured.values()
    assert "2 have 10,000 requests" in items["fig-1a"]["notes"][0]
    assert items["fig-15"]["chart"] is not None
    # Requests of 4 KB have a cost on pages of one sector, too.
    costs = {claim["quantity"]: claim["measured"] for claim in items["fig-12"]["claims"]}
    assert costs["cheapest with 4 KB pages (typical)"] == 100.0
    assert costs["partial reads of 16 KB pages halve the cost of 1-sector pages"] is not None


def test_swc_takes_each_volume_by_itself(tmp_path: Path) -> None:
    def write(name: str, requests: int) -> None:
        line = "{},hm,{},Write,{},4096,1\n"
        disks = (0, 1, 1, 0, 2)
        (tmp_path / name).write_text(
            "".join(line.format(128166372000000000 + n * 10_000, disks[n % 5], n % 50 * 4096) for n in range(requests))
        )

    write("long.csv", 26_000)
    write("short.csv", 400)
    (tmp_path / "notes.csv").write_text("no trace\n")
    found = papers()["swc"].population
    # A volume that is too short for any statistic is no workload, unless its file has none that is longer.
    assert [(one.name, one.volume) for one in found(tmp_path)] == [
        ("long:hm.0", "hm.0"), ("long:hm.1", "hm.1"), ("notes", None), ("short:hm.0", "hm.0"),
    ]  # fmt: skip


def test_swc_without_a_folder_takes_the_recipes_of_the_others() -> None:
    swc = papers()["swc"]
    recipes = {one.recipe for one in swc.population(None)}
    assert len(recipes) == 24
    assert {"rr-ssd/webvm", "ca-ssd/hm", "ds-ftl/webusers"} <= recipes


def test_a_folder_of_traces_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ft.FlashtwinError, match="no such folder; give the folder of the recorded traces"):
        running.run(choose("rr-ssd", ["fig-4"]), tmp_path / "out", ReproductionOptions(traces=tmp_path / "nowhere"))


def test_another_text_of_a_recipe_is_another_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of a workload are found again by their whole input, so that a changed recipe is replayed anew."""
    one = papers()["rr-ssd"].workloads[0]
    before = origins.find(one, None, 1.0, 0, tmp_path)
    assert origins.find(one, None, 1.0, 0, tmp_path).key == before.key
    others = [
        origins.find(one, None, 1.0, 1, tmp_path),
        origins.find(one, None, 0.5, 0, tmp_path),
        before.again(days=21),
    ]
    text = ft.workload(one.recipe).toml
    monkeypatch.setattr(origins, "workload", lambda name: Workload(name, text + "# changed"))
    others.append(origins.find(one, None, 1.0, 0, tmp_path))
    assert len({source.key for source in (before, *others)}) == 5


def test_the_command_line_lists_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli_run(["reproduce", "rr-ssd", "--list"]) == 0
    assert "table-4" in capsys.readouterr().out
    patch_recipes(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    arguments = ["reproduce", "rr-ssd", "fig-4", "--workloads", "webvm", "--period", "1s", "--out", "here"]
    assert cli_run(arguments) == 0
    out = capsys.readouterr().out
    assert "rr-ssd fig-4" in out
    assert "report: here/report.html" in out
    assert cli_run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["papers"][0]["id"] == "rr-ssd"
    assert cli_run(["reproduce", "rr-sd"]) == 2
    assert "did you mean 'rr-ssd'?" in capsys.readouterr().err


def test_scale_is_a_papers_own_or_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for paper in papers().values():
        assert 0 < paper.scale("quick") < paper.scale("default") == paper.default_scale <= 1
        assert paper.scale(0.5) == 0.5
    patch_recipes(monkeypatch, tmp_path)
    common = ["reproduce", "rr-ssd", "fig-4", "--workloads", "webvm", "--period", "1s", "--json", "--out"]
    for asked, scale in (("quick", papers()["rr-ssd"].quick_scale), ("0.5", 0.5)):
        assert cli_run([*common, str(tmp_path / asked), "--scale", asked]) == 0
        assert json.loads(capsys.readouterr().out)["papers"][0]["workloads"][0]["scale"] == scale
    for bad in (0, "slow"):
        with pytest.raises(ft.ArgumentError, match=f"scale is {bad!r}"):
            ft.reproduce("rr-ssd", scale=bad)
    for wrong in ("0", "1.5", "nan", "small"):
        assert cli_run([*common, str(tmp_path / "wrong"), "--scale", wrong]) == 2
        assert f"'{wrong}' is neither `quick` nor `default` nor a share above 0" in capsys.readouterr().err


def test_ca_ssd_numbers_of_the_traditional_drive_agree() -> None:
    """Write amplification by Fig. 7b is that of the victims of Fig. 6, and of the erases of Fig. 7c."""
    assert ca_ssd.traditional_wa("web") == pytest.approx(64 / (64 - 33.20), rel=0.05)
    assert ca_ssd.traditional_wa("mail") == pytest.approx(47_819 * 64 / (3.6e6 * 0.7732), rel=0.05)
    assert ca_ssd.traditional_wa("homes") == pytest.approx(3.14, abs=0.005)


def test_the_rate_of_ds_ftl_is_one_at_which_all_drives_keep_up() -> None:
    """Reads gain 35 % at 2000 and at 4000 times the clock, but one drive in eight does not keep up at the latter."""
    gains = {1.0: 0.0, 10.0: 1.0, 100.0: 5.0, 1000.0: 20.0, 2000.0: 34.0, 4000.0: 35.3, 8000.0: 60.0}
    by_speed = {fact: gains[speed] for (*_, speed), fact in (*ds_ftl.FIG_10.items(), *ds_ftl.FREE.items())}
    by_speed |= {fact: gains[speed] for speed, of in ds_ftl.MERGING.items() for fact in of.values()}
    item = next(one for one in papers()["ds-ftl"].items if one.id == "load")
    facts: dict[str, dict[Any, Any]] = {
        name: by_speed | {fact: speed < 4000 or (name != "home1" and speed == 4000)
                          for speed, fact in ds_ftl.KEEP_UP.items()}
        for name in ds_ftl.NAMES
    }  # fmt: skip
    found = item.judge(facts)
    assert {claim.measured for claim in found.claims} == {34.0}
    assert "2000 times" in found.notes[0]
    assert [row[1] for row in found.tables[0]["rows"]][-3:] == ["8 of 8", "7 of 8", "0 of 8"]
    assert {claim.measured for claim in item.judge({"home1": facts["home1"]}).claims} == {None}
