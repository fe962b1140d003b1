"""The papers: verdicts, the search for the rate, items, and a run end to end on a trace that takes seconds."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, cast

import pytest

import flashtwin as ft
from flashtwin.cli import run as cli_run
from flashtwin.papers import bench, choose, explanations, papers, running, sources
from flashtwin.papers.ca_ssd import drive_items
from flashtwin.papers.claims import Agreement, Claim, judge, number, orders
from flashtwin.papers.ds_ftl import load_item
from flashtwin.papers.model import Paper, PaperWorkload
from flashtwin.papers.rr_ssd import recorded_item
from flashtwin.papers.running import ReproductionOptions
from flashtwin.papers.search import CLOSE
from flashtwin.papers.sensitivity import AS_DECIDED
from flashtwin.recipes.workloads import Workload

#: Every item of the design's list of published results.
ITEMS = {
    "rr-ssd": (
        "fig-1", "fig-2", "fig-3", "fig-4", "fig-5", "fig-6", "table-1", "table-3", "table-4", "table-5", "fig-9",
        "fig-10", "fig-11", "fig-12", "fig-13", "sensitivity",
        "fair-variants", "recorded-rate", "fair-bound", "fig-11-causes", "space", "periods", "degrees", "set-ups",
    ),
    "ca-ssd": (
        "table-2", "fig-2", "fig-3", "fig-4", "fig-6", "fig-7a", "fig-7b", "fig-7c", "cache-size",
        "fig-8", "table-3", "value-locality", "hm-values", "begins-full", "anchor", "sensitivity", "set-ups",
    ),
    "ds-ftl": (
        "table-3", "fig-2", "fig-3", "fig-4", "fig-10a", "fig-10b", "fig-11", "fig-12", "fig-13", "fig-14",
        "load", "sensitivity", "set-ups",
    ),
    "swc": (
        "fig-1a", "fig-1b", "fig-1c", "fig-2", "fig-3", "fig-4", "fig-6", "fig-7", "fig-9", "fig-10", "fig-12",
        "fig-15", "fig-18",
    ),
}  # fmt: skip


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


def test_every_item_of_the_papers_is_there() -> None:
    assert {name: {item.id for item in paper.items} for name, paper in papers().items()} == {
        name: set(items) for name, items in ITEMS.items()
    }
    for paper in papers().values():
        assert len({item.id for item in paper.items}) == len(paper.items)
        names = {workload.name for workload in paper.workloads}
        for item in paper.items:
            assert set(item.workloads) <= names
            assert item.judge({}).claims or paper.population, f"{item.id}: what was published stands without a trace"


def test_explanations_are_of_items_that_there_are() -> None:
    assert set(explanations.ALL) == set(papers())
    for paper, texts in explanations.ALL.items():
        assert set(texts) <= {item.id for item in papers()[paper].items}


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
    found = {one.name: [path.name for path in sources.recorded(one, tmp_path)] for one in paper.workloads}
    assert found == {
        "webvm": [names[2]],
        "homes": [names[3]],
        "mail": [names[0], names[1]],
        "hadoop": [],
        "trans": [names[4]],
        "desktop": [],
    }


def test_days_in_files_of_their_own_are_one_trace(tmp_path: Path) -> None:
    line = "{time} 1 p {lba} 8 W 8 0 {content:032x}\n"
    for day in (1, 2):
        text = "".join(line.format(time=(day * 100 + i) * 1000, lba=8 * i, content=i) for i in range(20))
        (tmp_path / f"homes-110108-112108.{day}.blkparse").write_text(text)
    source = sources.find(papers()["rr-ssd"].workload("homes"), tmp_path, 1.0, 0, tmp_path)
    assert source.kind == "recorded"
    assert len(source.open(None)) == 40


def busy_trace(path: Path, requests: int = 2500, seed: int = 1) -> ft.Trace:
    """Single pages, half of them reads, contents by popularity; two thousand requests a simulated second."""
    draw = random.Random(seed)
    contents = [int(60 * draw.random() ** 3) for _ in range(300)]
    now = 0
    lines = []
    for _ in range(requests):
        now += int(draw.expovariate(1.0) * 40_000)
        page = int(300 * draw.random() ** 2)
        write = draw.random() < 0.5
        if write:
            contents[page] = int(60 * draw.random() ** 3) if draw.random() < 0.6 else 1000 + len(lines)
        lines.append(f"{now} 1 p {page * 8} 8 {'W' if write else 'R'} 8 0 {contents[page]:032x}\n")
    path.write_text("".join(lines), encoding="ascii")
    return ft.open(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the RR-SSD paper on made-up traces; do not write to it."""
    scratch = tmp_path_factory.mktemp("papers")
    with pytest.MonkeyPatch.context() as patch:
        patch_recipes(patch, scratch)
        done = running.run(choose("rr-ssd"), scratch / "out", tiny())
        assert done.replayed > 100
    return scratch / "out"


def tiny() -> ReproductionOptions:
    return ReproductionOptions(scale=1.0, period_s=0.02, workloads=("webvm", "trans"))


def patch_recipes(patch: pytest.MonkeyPatch, scratch: Path) -> None:
    def synthesize(recipe: Workload, *, scale: float, seed: int, progress: Any, days: int | None = None) -> ft.Trace:
        path = scratch / f"{recipe.name[7:]}-{days}.fiu"
        return busy_trace(path, requests=2500 * (days or 7) // 7, seed=len(recipe.name) + seed)

    patch.setattr(Workload, "synthesize", synthesize)


def test_a_run_leaves_results_of_every_item(made: Path) -> None:
    [paper] = json.loads((made / "reproduction.json").read_text())["papers"]
    assert [item["id"] for item in paper["items"]] == [item.id for item in papers()["rr-ssd"].items]
    by_id = {item["id"]: item for item in paper["items"]}
    table_4 = {(claim["subject"], claim["quantity"]): claim for claim in by_id["table-4"]["claims"]}
    share = table_4["webvm", "RR-SSD's share of Oracle's read improvement"]
    assert share["published_low"] == pytest.approx(100 * 23.43 / 26.60)
    assert share["measured"] is not None
    assert table_4["mail", "RR-SSD, reads"]["why"] == "not part of this run"
    assert table_4["mean", "RR-SSD, reads"]["why"] == "the mean is over all six workloads"
    assert [workload["name"] for workload in paper["workloads"]] == ["webvm", "trans"]
    assert [claim["quantity"] for claim in paper["workloads"][0]["statistics"]] == [
        "writes", "unique values among writes", "unique values among reads",
    ]  # fmt: skip
    page = (made / "reproduction.md").read_text()
    assert page.count("\n### ") == 1 + len(paper["items"])
    assert "Not measured: homes, mail, hadoop, desktop: not part of this run; mean: the mean is over all six" in page
    lines = (made / "claims.csv").read_text().splitlines()
    assert len(lines) == 1 + sum(len(item["claims"]) for item in paper["items"])
    assert (made / "report.html").is_file()


def test_the_rate_is_the_only_thing_chosen(made: Path) -> None:
    """Oracle's reads are as published, and every replay has the preset's keys but those that its item names."""
    [paper] = json.loads((made / "reproduction.json").read_text())["papers"]
    table_4 = next(item for item in paper["items"] if item["id"] == "table-4")
    rates = table_4["tables"][0]
    assert rates["header"][1] == "replay.speed"
    missed = {claim["subject"] for claim in table_4["claims"] if "target not met" in claim["quantity"]}
    assert len(missed) < len(rates["rows"])
    for row in rates["rows"]:
        assert row[0] in missed or float(row[2].split()[0]) == pytest.approx(float(row[3].split()[0]), abs=2 * CLOSE)
    for summary in made.glob("workloads/*/runs/oracle-*/summary.json"):
        if "oracle-conventional" in str(summary):
            continue
        config = json.loads(summary.read_text())["config"]
        preset = ft.system("oracle").config
        changed = {key for key in preset if config[key] != preset[key]}
        assert changed <= {"replay", "engine", "ftl"}


def test_at_the_recorded_rate_nothing_is_chosen(made: Path) -> None:
    """What `recorded-rate` says is what replays under the set-up at the trace's own clock have."""
    setup = papers()["rr-ssd"].setup
    assert setup is not None
    [paper] = json.loads((made / "reproduction.json").read_text())["papers"]
    item = next(item for item in paper["items"] if item["id"] == "recorded-rate")
    claims = {(claim["subject"], claim["quantity"]): claim["measured"] for claim in item["claims"]}
    means: dict[str, float] = {}
    for path in made.glob("workloads/rr-ssd-trans/runs/*/summary.json"):
        name = path.parent.name.rpartition("-")[0]
        summary = json.loads(path.read_text())
        settings = {**setup.sets, "replay.period_s": 0.02, "replay.speed": 1.0}
        as_recorded = ft.system(name, settings=settings).config if name in ft.systems() else {}
        if summary["config"] == as_recorded:
            means[name] = summary["response"]["read"]["mean_ns"]
    for name, label in (("oracle", "Oracle, reads"), ("rr-ssd", "RR-SSD, reads")):
        assert claims["trans", label] == pytest.approx(100 * (1 - means[name] / means["ca-ssd"]))


def test_a_share_of_next_to_nothing_is_none() -> None:
    facts = {"mail": dict.fromkeys(("rr_read", "rr_all", "oracle_read", "oracle_all", "queueing"), 0.1)}
    facts["mail"] |= {"share": None, "rr_tail": None, "oracle_tail": None}
    claims = {claim.quantity: claim for claim in recorded_item.judge(facts).claims if claim.subject == "mail"}
    assert claims["share of Oracle's"].why == "Oracle gains next to nothing"
    assert claims["Oracle, reads"].measured == 0.1


def test_done_again_nothing_is_replayed(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_recipes(monkeypatch, tmp_path)
    monkeypatch.setattr(sources, "open_trace", refused)
    monkeypatch.setattr(bench, "compare", refused)
    monkeypatch.setattr(bench, "measure", refused)
    before = {name: (made / name).read_bytes() for name in ("reproduction.json", "claims.csv", "report.html")}
    said: list[str] = []
    done = running.run(choose("rr-ssd"), made, tiny(), notify=said.append)
    assert done.replayed == 0
    assert said == ["no replay was needed: all were there"]
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
    ("paper", "workloads", "measured"),
    [
        ("ca-ssd", ("web", "homes", "financial"), {"fig-2", "fig-3", "fig-7a", "cache-size", "fig-8", "table-2"}),
        ("ds-ftl", ("home2", "webmail"), {"fig-2", "fig-3", "fig-4", "fig-10b", "fig-12", "fig-13", "table-3"}),
    ],
)  # fmt: skip
def test_the_papers_with_drives_run(
    paper: str, workloads: tuple[str, ...], measured: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_recipes(monkeypatch, tmp_path)
    how = ReproductionOptions(period_s=0.02, workloads=workloads)
    done = running.run(choose(paper), tmp_path / "out", how)
    assert done.replayed > 0
    found = {item["id"] for item in done.papers[0]["items"] if any(c["measured"] is not None for c in item["claims"])}
    assert measured <= found
    assert all(workload["kind"] == "synthetic" for workload in done.papers[0]["workloads"])
    assert running.run(choose(paper), tmp_path / "out", how).replayed == 0


def test_swc_takes_every_trace_of_a_folder(tmp_path: Path) -> None:
    for name, seed in (("mail", 3), ("oltp", 4), ("short", 5)):
        (tmp_path / "in").mkdir(exist_ok=True)
        busy_trace(tmp_path / "in" / f"{name}.fiu", 500 if name == "short" else 13_000, seed)
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
    assert found is not None
    # A volume that is too short for any statistic is no workload, unless its file has none that is longer.
    assert [(one.name, one.volume) for one in found(tmp_path)] == [
        ("long:hm.0", "hm.0"), ("long:hm.1", "hm.1"), ("notes", None), ("short:hm.0", "hm.0"),
    ]  # fmt: skip


def test_swc_without_a_folder_takes_the_recipes_of_the_others() -> None:
    swc = papers()["swc"]
    assert swc.population is not None
    recipes = {one.recipe for one in swc.population(None)}
    assert len(recipes) == 24
    assert {"rr-ssd/webvm", "ca-ssd/hm", "ds-ftl/webusers"} <= recipes


def test_a_folder_of_traces_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ft.FlashtwinError, match="no such folder; give the folder of the recorded traces"):
        running.run(choose("rr-ssd", ["fig-4"]), tmp_path / "out", ReproductionOptions(traces=tmp_path / "nowhere"))


def test_another_text_of_a_recipe_is_another_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of a workload are found again by their whole input, so that a changed recipe is replayed anew."""
    one = papers()["rr-ssd"].workloads[0]
    before = sources.find(one, None, 1.0, 0, tmp_path)
    assert sources.find(one, None, 1.0, 0, tmp_path).key == before.key
    assert before.lasting is not None
    others = [sources.find(one, None, 1.0, 1, tmp_path), sources.find(one, None, 0.5, 0, tmp_path), before.lasting(21)]
    text = ft.workload(one.recipe).toml
    monkeypatch.setattr(sources, "workload", lambda name: Workload(name, text + "# changed"))
    others.append(sources.find(one, None, 1.0, 0, tmp_path))
    assert len({source.key for source in (before, *others)}) == 5


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ft.FlashtwinError, match=r"holds 'thesis\.tex' but no results of flashtwin"):
        running.run(choose("rr-ssd", ["fig-4"]), tmp_path, ReproductionOptions())


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


def test_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_recipes(monkeypatch, tmp_path)
    seen: list[tuple[int, int]] = []
    done = ft.reproduce(
        "rr-ssd", ["fig-4"], out=tmp_path / "out", scale=1.0, workloads=["webvm"], period_s=1.0,
        progress=lambda _, count, total: seen.append((count, total)),
    )  # fmt: skip
    assert done.report.is_file()
    assert [item["id"] for item in done.papers[0]["items"]] == ["fig-4"]
    assert seen[-1][0] == seen[-1][1]
    with pytest.raises(ft.ArgumentError, match="scale is 0"):
        ft.reproduce("rr-ssd", scale=0)
    with pytest.raises(ft.ArgumentError, match="scale is 'slow'"):
        ft.reproduce("rr-ssd", scale="slow")  # type: ignore[arg-type]


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
    for wrong in ("0", "1.5", "nan", "small"):
        assert cli_run([*common, str(tmp_path / "wrong"), "--scale", wrong]) == 2
        assert f"'{wrong}' is neither `quick` nor `default` nor a share above 0" in capsys.readouterr().err


def test_names_of_papers_workloads_are_unique() -> None:
    paper: Paper
    for paper in papers().values():
        names: list[PaperWorkload] = list(paper.workloads)
        assert len({one.name for one in names}) == len({one.recipe for one in names}) == len(names)


def test_ca_ssd_numbers_of_the_traditional_drive_agree() -> None:
    """Write amplification by Fig. 7b is that of the victims of Fig. 6, and of the erases of Fig. 7c."""
    assert drive_items.traditional_wa("web") == pytest.approx(64 / (64 - 33.20), rel=0.05)
    assert drive_items.traditional_wa("mail") == pytest.approx(47_819 * 64 / (3.6e6 * 0.7732), rel=0.05)
    assert drive_items.traditional_wa("homes") == pytest.approx(3.14, abs=0.005)


def test_the_rate_of_ds_ftl_is_one_at_which_all_drives_keep_up() -> None:
    """Reads gain 35 % at 2000 and at 4000 times the clock, but one drive in eight does not keep up at the latter."""
    gains = {1.0: 0.0, 10.0: 1.0, 100.0: 5.0, 1000.0: 20.0, 2000.0: 34.0, 4000.0: 35.3, 8000.0: 60.0}
    keys = (*load_item.LOAD_KEYS, *load_item.MERGING)
    facts = {
        name: {
            f"{speed:g}": {"keeps_up": speed < 4000 or (name != "home1" and speed == 4000), **dict.fromkeys(keys, gain)}
            for speed, gain in gains.items()
        }
        for name in load_item.NAMES
    }
    found = load_item.judge_load(facts)
    assert {claim.measured for claim in found.claims} == {34.0}
    assert "2000 times" in found.notes[0]
    assert [row[1] for row in found.tables[0]["rows"]][-3:] == ["8 of 8", "7 of 8", "0 of 8"]
    assert {claim.measured for claim in load_item.judge_load({"home1": facts["home1"]}).claims} == {None}


def test_what_ds_ftl_gains_is_told_apart_on_equal_ground(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging of pages was once given to DS-FTL alone, and 23 of its 24 points were that."""
    reads = {  # mean response by system and by what merges
        ("static", "same-page"): 100.0, ("static", "none"): 125.0, ("ds-ftl", "same-content"): 76.0,
        ("ds-ftl", "same-page"): 95.0, ("ds-ftl", "none"): 120.0, ("dynamic", "same-page"): 90.0,
        ("hipa", "same-page"): 90.0,
    }  # fmt: skip

    def runs_at(stand: object, *names: str, speed: float, **sets: Any) -> dict[str, Any]:
        merges = {"ds-ftl": "same-content"}
        keys = {name: (name, sets.get("engine.merge_reads", merges.get(name, "same-page"))) for name in names}
        return {name: Mean(reads[key]) for name, key in keys.items()}

    class Mean:
        def __init__(self, ns: float) -> None:
            self.ns = ns

        def get(self, dotted: str) -> float:
            return {"completed_ns": 0.0, "duration_ns": 1.0}.get(dotted, self.ns)

    monkeypatch.setattr(load_item, "runs_at", runs_at)
    found = load_item.measure_load(cast("Any", None))["1"]
    assert found["compared read static"] == pytest.approx(24.0)
    assert found[load_item.PLACEMENT] == pytest.approx(5.0), "both merge reads of one page"
    assert found[load_item.TWINS] == pytest.approx(20.0)
    assert found[load_item.NONE] == pytest.approx(4.0)
    assert found[load_item.PAGES] == pytest.approx(20.0)


def test_choices_are_made_at_the_recorded_rate(made: Path) -> None:
    [paper] = json.loads((made / "reproduction.json").read_text())["papers"]
    by_id = {item["id"]: item for item in paper["items"]}
    decided = {
        claim["subject"]: claim["measured"]
        for claim in by_id["recorded-rate"]["claims"]
        if "share of" in claim["quantity"]
    }
    table = by_id["sensitivity"]["tables"][0]
    rows = {row[0]: dict(zip(table["header"], row, strict=True)) for row in table["rows"]}
    for name in ("webvm", "trans"):
        row = rows[f"share of Oracle's reads, {name}"]
        assert float(row[AS_DECIDED].split()[0]) == pytest.approx(decided[name], abs=0.051)
        chip, die, plane = row["concurrency: chip / die / plane"].split(" / ")
        assert chip == "="
        assert die != plane
        assert row["preload: footprint / none"].startswith("– / ")
    assert rows["reads, mean"][AS_DECIDED] == "–", "the mean is over all six workloads"
