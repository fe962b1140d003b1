"""The first cause is right on workloads built to have a known one; and results do not depend on the way there."""

import re
from collections.abc import Callable

import pytest

import flashtwin as ft

from .scenarios import SCENARIOS, Scenario, hash_lane, hot_chip, slow_bus


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
    assert first["after_ns"] < found.data["before_ns"]
    assert found.command.startswith("flashtwin replay ")


def test_threads_change_nothing() -> None:
    one, many = (explained(slow_bus(), threads=threads).data for threads in (1, 3))
    assert one == many


def test_no_time_is_no_replay_and_says_so() -> None:
    found = explained(slow_bus(), effort=0)
    assert (found.answer, found.data["replays"], found.data["causes"]) == ("unknown", 0, [])
    assert found.command.endswith("--effort all")


def test_two_causes_that_share_the_blame_are_said_to() -> None:
    """Chips that are hot and channels that are slow to them: both keep a read waiting, and either may go."""
    pairs = {frozenset(pair["name"].split("+")): pair for pair in explained(hot_chip()).data["pairs"]}
    bus = pairs[frozenset(("placement", "bus"))]
    assert bus["interaction_percent"] < 0 < bus["percent"]


def test_the_words() -> None:
    lines = explained(hash_lane()).text.splitlines()
    assert lines[0].startswith(
        "The bottleneck of ca-ssd is the hash unit: with hashing at no cost the mean response of"
    )
    assert lines[1].startswith("  do: ")
    assert " hash lanes instead of 1: " in lines[1]
    assert re.match(r"      flashtwin replay TRACE --system ca-ssd --period 0.005s --set engine.hash_lanes=", lines[2])
