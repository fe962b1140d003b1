"""The page on gains: its words follow the figures, and its design can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from evidence import gains
from evidence.gains import Cell
from evidence.stages import gains as stage

import flashtwin as ft

from .conftest import ROOT


def cell(*changes: float, spread: float = 0.0) -> Cell:
    return Cell("drive", "trace", changes, spread)


@pytest.mark.parametrize(
    ("changes", "spread", "sign"),
    [
        ((-0.2,), 0.0, -1), ((0.2,), 0.0, 1), ((0.009,), 0.0, 0), ((-0.009,), 0.0, 0),
        ((-0.03,), 0.04, 0), ((-0.05,), 0.04, -1), ((0.03, 0.05), 0.02, 1), ((-0.01, 0.03), 0.04, 0),
    ],
)  # fmt: skip
def test_change_below_the_spread_over_seeds_is_a_tie(changes: Sequence[float], spread: float, sign: int) -> None:
    one = cell(*changes, spread=spread)
    assert one.sign == sign
    assert one.text.endswith("(tie)") == (sign == 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([-0.2, -0.4], "falls in all 2 cases (-40 to -20 %)"), ([0.2, 0.4], "rises in all 2 cases (+20 to +40 %)"),
        ([0.0, 0.004], "ties in all 2 cases (+0 %)"), ([-0.2, 0.0], "falls in 1 of 2 cases, ties in 1 (-20 to +0 %)"),
        ([-0.2, 0.3, 0.0], "falls in 1 of 3 cases, rises in 1, ties in 1 (-20 to +30 %)"),
    ],
)  # fmt: skip
def test_words_say_which_way_cells_go(changes: list[float], words: str) -> None:
    assert gains.went([cell(one) for one in changes]) == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([-0.2, -0.02], "pays"), ([0.2], "costs"), ([0.0, -0.009], "changes nothing"),
        ([-0.2, 0.0], "pays or changes nothing"), ([0.2, 0.0], "costs or changes nothing"),
        ([-0.2, 0.02, 0.0], "pays in some cases and costs in others"),
    ],
)  # fmt: skip
def test_a_verdict_is_borne_out_by_all_cells(changes: list[float], words: str) -> None:
    assert gains.verdict([cell(one) for one in changes]) == words


@pytest.mark.parametrize(
    ("filling", "static", "words"),
    [
        (80.0, 70.0, "Placement does not change the verdict on reads"),
        (80.0, 140.0, "Placement decides what `rr-ssd` does for reads"),
        (100.0, 140.0, "Placement decides what `rr-ssd` does for reads"),
    ],
)
def test_words_say_whether_placement_turns_the_verdict(filling: float, static: float, words: str) -> None:
    def ground(read_ns: float) -> dict[str, Any]:
        return {"conventional": {"1": {"read_ns": 100.0}}, "rr-ssd": {"1": {"read_ns": read_ns}}}

    loads = {stage.NEAR: ground(filling), stage.STATIC: ground(static)}
    assert gains.placements({"drives": {stage.MAIN[0]: {"mail": {"loads": loads}}}}, ["rr-ssd"]) == words


@pytest.mark.parametrize(
    ("with_it", "without", "words"),
    [
        (0.3, 0.0, "the effect is gone"), (0.3, -0.1, "the effect turns round"), (-0.3, -0.1, "most of it is gone"),
        (0.3, 0.2, "part of it is gone"), (0.3, 0.29, "the effect stays"), (0.3, 0.5, "the effect grows"),
        (0.005, 0.0, "no effect to explain"), (0.0, 0.4, "an effect appears"),
    ],
)  # fmt: skip
def test_a_cause_is_named_only_if_the_effect_goes_with_it(with_it: float, without: float, words: str) -> None:
    assert gains.gone(with_it, without) == words


@pytest.mark.parametrize(
    ("exponents", "words"),
    [
        ([1, 3], "takes more load in 2 of 2 cases before writes wait (2 to 8 times the clock)"),
        ([0, 3], "takes more load in 1 of 2 cases before writes wait (1 to 8 times the clock)"),
        ([-1, -1], "takes less load in 2 of 2 cases before writes wait (0.5 times the clock)"),
        ([0, 0], "takes as much load before writes wait"),
        ([-1, 1], "takes more load in 1 of 2 cases and less load in 1 of 2 cases before writes wait "
                  "(0.5 to 2 times the clock)"),
    ],
)  # fmt: skip
def test_words_say_where_the_knee_went(exponents: list[int], words: str) -> None:
    traces = {str(at): {"knees": {"conventional": 0, "ca-ssd": one}} for at, one in enumerate(exponents)}
    assert gains.knees_moved({"drives": {"drive": traces}}, "ca-ssd") == words


@pytest.mark.parametrize(("knee", "start"), [(-3, 0), (0, 0), (5, 0), (2, 4), (8, 6)])
def test_the_last_clock_that_is_kept_up_with_is_found(knee: int, start: int) -> None:
    assert stage.last(lambda at: at <= knee, start) == knee


def test_a_search_without_figures_has_no_result() -> None:
    assert stage.last(lambda _: None, 0) is None
    assert stage.last(lambda at: True if at < 2 else None, 0) is None


def test_the_choice_that_moves_a_change_most_is_named() -> None:
    levels = {f"{read_ns:g}": {"rr-ssd": {"read_ns": read_ns}} for read_ns in (85.0, 100.0, 130.0)}
    seeds = {name: {"1": {"read_ns": value}} for name, value in (("conventional", 100.0), ("rr-ssd", 80.0))}
    data = {
        "drives": {stage.MAIN[0]: {"mail": {"loads": {stage.NEAR: seeds}}}},
        "choices": {"mail": {stage.NEAR: {"size": levels}}},
    }
    found = gains.varied(data, "mail", "rr-ssd", "read_ns")
    assert found.ground == pytest.approx(-0.2)
    assert found.mover == ("size", "130")
    assert found.turned == [("size", "130")]


@pytest.mark.parametrize("choice", stage.CHOICES, ids=lambda one: one.name)
def test_every_level_of_every_choice_is_a_drive(choice: stage.Choice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    trace = ft.open("traces/webvm-small.fiu.zst")
    for name in choice.systems:
        for other in choice.drives.values():
            stage.one(name, *stage.SYSTEMS[name], stage.Drive(stage.MAIN[0], **other).keys(trace))  # type: ignore[arg-type]
        for sets in choice.levels.values():
            stage.one(name, *stage.SYSTEMS[name], {**stage.Drive(stage.MAIN[0]).keys(trace), **sets})
