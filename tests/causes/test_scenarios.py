"""The first cause is right on workloads built to have a known one; and results do not depend on the way there."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.causes import replaying

from .scenarios import SCENARIOS, Scenario, hash_lane, slow_bus


def explained(scenario: Scenario, **how: object) -> ft.Explanation:
    found = ft.explain(
        scenario.trace(), scenario.system, goal=scenario.goal, settings=scenario.settings, **{"effort": None, **how}
    )
    return found[scenario.system]


@pytest.mark.parametrize("make", SCENARIOS, ids=[make.__name__ for make in SCENARIOS])
def test_the_first_cause_is_the_one_that_was_built_in(make: Callable[[], Scenario]) -> None:
    scenario = make()
    found = explained(scenario)
    assert found.answer == scenario.cause, found.text
    if scenario.cause == "nothing":
        assert "has no bottleneck" in found.text
        return
    first = next(cause for cause in found.data["causes"] if cause["name"] == scenario.cause)
    assert first["value"] < found.data["before"]
    assert found.command.startswith("flashtwin replay ")


def test_threads_change_nothing() -> None:
    one, many = (explained(slow_bus(), threads=threads).data for threads in (1, 3))
    assert one == many


def test_no_time_is_no_replay_and_says_so() -> None:
    found = explained(slow_bus(), effort=0)
    assert (found.answer, found.data["replays"], found.data["causes"]) == ("unknown", 0, [])
    assert found.command.endswith("--effort all")


def test_a_command_names_the_file_of_the_drive_instead_of_all_its_keys(tmp_path: Path) -> None:
    file, scenario = tmp_path / "mine.toml", hash_lane()
    file.write_text('base = "tlc-2021"\nread_us = 33.0\n', encoding="utf-8")
    settings = {**scenario.settings, "device": str(file)}
    found = ft.explain(scenario.trace(), scenario.system, settings=settings, effort=0)[scenario.system]
    assert f"--set device={file}" in found.command
    assert "nand.read_us" not in found.command


def test_the_words() -> None:
    lines = explained(hash_lane()).text.splitlines()
    assert lines[0].startswith(
        "The bottleneck of ca-ssd is the hash unit: with hashing at no cost the mean response of"
    )
    assert lines[1].startswith("  do: ")
    assert " hash lanes: " in lines[1]
    assert re.match(r"      flashtwin replay TRACE --system ca-ssd --period 0.005s --set engine.hash_lanes=", lines[2])


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """A folder of one run, whose trace is a file beside it."""
    slow_bus().trace().write_parquet(tmp_path / "bus.parquet")
    trace = ft.open(tmp_path / "bus.parquet")
    ft.study(trace, tmp_path / "out", ["conventional"], settings=slow_bus().settings, effort=0)
    return tmp_path / "out"


def test_a_folder_is_explained_from_what_it_holds(compared: Path) -> None:
    with pytest.raises(ft.ReportError, match="nothing in it was explained"):
        ft.Explanations.read(compared)
    found = ft.explain(compared, effort=None)
    assert found["conventional"].answer == "bus"
    assert ft.Explanations.read(compared)["conventional"].data == found["conventional"].data
    assert "--set nand.bus_mt_s=" in found["conventional"].command


def test_what_was_replayed_is_not_replayed_again(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ft.explain(compared, effort=None)
    monkeypatch.setattr(replaying, "_run", lambda *_: pytest.fail("replayed again"))
    assert ft.explain(compared, effort=None)["conventional"].data == first["conventional"].data


def test_a_trace_that_is_gone_or_another_is_named_with_the_cure(compared: Path) -> None:
    file = compared.parent / "bus.parquet"
    file.rename(compared.parent / "moved.parquet")
    with pytest.raises(ft.TraceError, match="is not there; name it: `flashtwin explain"):
        ft.explain(compared)
    assert ft.explain(compared, trace=compared.parent / "moved.parquet", effort=0)["conventional"].answer == "unknown"
    ft.Trace.from_frame({"time_ns": [0], "op": ["R"], "offset_bytes": [0], "length_bytes": [4096]}).write_parquet(file)
    with pytest.raises(ft.TraceError, match="another one than the runs were made from"):
        ft.explain(compared)


@pytest.mark.parametrize("source", [None, 3, "bus.parquet", ["bus.parquet"], {"path": 3}, {"format": "parquet"}])
def test_where_the_trace_is_unknown_the_cure_is_named(compared: Path, source: object) -> None:
    file = compared / "study.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "source": source}))
    with pytest.raises(ft.TraceError, match="is not recorded; name it: `flashtwin explain"):
        ft.explain(compared)
    answers = ft.explain(compared, trace=compared.parent / "bus.parquet", effort=0)
    assert answers["conventional"].answer == "unknown"


def test_damaged_explanations_are_refused(compared: Path) -> None:
    ft.explain(compared, effort=0)
    [file] = (compared / "causes").glob("*.explained.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "steps": 3}))
    with pytest.raises(ft.ReportError, match=r"explained\.json: its value 'steps' is .* `flashtwin explain"):
        ft.Explanations.read(compared)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "read.p98"}, "did you mean 'read.p9"),
        ({"systems": ["ca-ssd"]}, "no run is called 'ca-ssd'"),
        ({"hash_lanes": 2}, "runs are explained as they were made"),
    ],
)
def test_what_cannot_be_meant_is_refused(compared: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ft.FlashtwinError, match=message):
        ft.explain(compared, **arguments)  # type: ignore[arg-type]
