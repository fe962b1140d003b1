"""One decision: nothing on a page speaks against its choice, and nothing that no one fixed changes it."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin import report
from flashtwin.judgement import judging
from flashtwin.judgement.choosing import Decision, decide
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.goals import goal_of
from flashtwin.judgement.verdict import CHOSEN, Verdict
from flashtwin.results import ground
from flashtwin.results.reading import load
from flashtwin.results.trees import dig, leaves

from .conftest import ROOT, Cli

#: Drives, speeds, and whether the drive is aged and nearly full. A drive with fewer blocks replays as fast.
GROUNDS: list[tuple[str, float, bool]] = [
    ("rr-ssd", 1.0, False), ("rr-ssd", 100.0, True), ("ds-ftl", 30.0, False), ("tlc-2021", 10.0, False),
    ("tlc-unit-2021", 1.0, False), ("tlc-unit-2021", 100.0, False),
    *((str(path), 10.0, False) for path in sorted((ROOT / "devices" / "real").glob("*.toml"))),
]  # fmt: skip
SYSTEMS = ["conventional", "ca-ssd", "rr-ssd", "oracle"]


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,400 requests, read from a file so that commands can name it."""
    path = tmp_path_factory.mktemp("trace") / "excerpt.parquet"
    ft.open(ROOT / "traces" / "webvm-small.fiu.zst").excerpt(to_s=12).write_parquet(path)
    return path


def studied(excerpt: Path, out: Path, systems: Any, of: tuple[str, float, bool], **more: Any) -> Path:
    device, speed, aged = of
    settings: dict[str, Any] = {"device": device, "replay.speed": speed, "replay.period_s": 3.0}
    if aged:
        settings |= {
            "replay.preload": "footprint", "nand.channels": 2, "nand.chips_per_channel": 2, "nand.pages_per_block": 32,
        }  # fmt: skip
    return ft.study(
        excerpt, out, systems, settings=settings, fill=0.8 if aged else None, **{"effort": 1, **more}
    ).path  # fmt: skip


@pytest.fixture(scope="module", params=GROUNDS, ids=lambda of: f"{Path(of[0]).stem}-{of[1]:g}x{'-aged' * of[2]}")
def folder(request: pytest.FixtureRequest, excerpt: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLASHTWIN_CHARTS", "none")
        return studied(excerpt, tmp_path_factory.mktemp("decision") / "out", SYSTEMS, request.param)


def decided(folder: Path) -> Decision:
    found = decide(load(folder))
    assert found is not None
    return found


def verdicts(folder: Path) -> list[Verdict]:
    return judging.judge(Evidence.of(load(folder)))


def test_no_verdict_speaks_against_the_choice(folder: Path) -> None:
    """None recommends what is set already, a key that the choice has otherwise, or what a replay shows to be worse."""
    made = decided(folder)
    choice = made.choice
    assert choice is not None
    explained = load(folder).at_their_best.explained.values()
    tried = {one["command"]: one for data in explained for one in data["steps"]}
    for one in verdicts(folder):
        if one.topic == "verdict" or not one.action.sets or one.action.words == CHOSEN:
            continue
        assert any(choice.run.setting(key) != value for key, value in one.action.sets.items()), one.action
        advised = not one.action.words.startswith("Leave ")
        against = {key for key, value in one.action.sets.items() if choice.sets.get(key, value) != value}
        if advised and (against or one.action.replayed):
            assert tried[one.action.command]["percent"] > 100.0 * made.worth, one.action
    for step in tried.values():
        change = made.goal.cost(step["value"]) / made.goal.cost(made.value(choice)) - 1.0
        assert step["percent"] == pytest.approx(-100.0 * change, abs=1e-6)


def test_all_candidates_stand_on_one_ground(folder: Path) -> None:
    study = load(folder)
    changed = {key for row in study.candidates["candidates"] for key in row["sets"]}
    runs = [run for run in study.every_candidate.runs if not run.is_ideal]
    assert len({run.raw_pages for run in runs}) == 1
    unequal = ground.ground({run.name: run.config for run in runs})
    assert {one.key for one in unequal} <= changed | {"engine.merge_reads"}
    assert f"{runs[0].raw_pages:,} raw pages" in report_page(folder)


def report_page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_every_system_that_a_sentence_names_is_in_the_table(folder: Path) -> None:
    page = report_page(folder)
    table = page[page.index('class="systems candidates"') :]
    headline = report.choice(folder)
    assert headline is not None
    named = {name for name in ft.systems() if f"`{name}`" in f"{headline.claim} {headline.reason}"}
    assert named
    assert all(f"<code>{name}</code>" in table for name in named)


def test_every_printed_command_gives_the_printed_figure(folder: Path, cli: Cli) -> None:
    """All candidates, and changes that were tried beside the choice."""
    study = load(folder)
    goal = goal_of(study.candidates["goal"])
    printed = {one.command: made.value(one) for made in [decided(folder)] for one in made.candidates}
    for data in study.at_their_best.explained.values():
        printed |= {one["command"]: one["value"] for one in data["steps"][:2]}
    for command, value in printed.items():
        words = shlex.split(command)
        (summary,) = json.loads(cli(*words[1:], "--json", status=0).out).values()
        assert goal.value(dict(leaves(summary))) == pytest.approx(value, rel=1e-12), command


def test_every_advised_command_runs(folder: Path, cli: Cli) -> None:
    for one in verdicts(folder):
        if one.action and not one.action.replayed:
            cli(*shlex.split(one.action.command)[1:], status=0)


def test_no_write_is_free(folder: Path) -> None:
    for run in load(folder).every_candidate.runs:
        assert dig(run.summary, "response.write.min_ns") >= 1_000, run.name


@pytest.mark.usefixtures("no_pages")
def test_order_and_copies_change_nothing_but_names(excerpt: Path, tmp_path: Path) -> None:
    def chosen(systems: Mapping[str, ft.System], name: str) -> tuple[Any, ...]:
        path = ft.study(excerpt, tmp_path / name, systems, effort=None).path
        made = decided(path)
        assert made.choice is not None
        assert made.fastest is not None
        return (
            {made.choice.system, *made.choice.also} - {"copy"}, made.choice.settings, made.value(made.choice),
            made.value(made.fastest), made.choice.price,
        )  # fmt: skip

    systems = {name: ft.system(name, speed=50.0, period_s=3.0) for name in ("conventional", "ca-ssd")}
    first = chosen(systems, "first")
    assert chosen(dict(reversed(systems.items())), "turned") == first
    copied = {**systems, "copy": ft.system("ca-ssd", speed=50.0, period_s=3.0)}
    assert chosen(copied, "copied") == first
