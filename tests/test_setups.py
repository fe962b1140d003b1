"""RR-SSD's set-up, the designed experiment that looks for the one nearest to all that it published, and its Fig. 1."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import pytest

import flashtwin as ft
from flashtwin.experiments import Factor
from flashtwin.papers import papers
from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import Agreement, Claim, number
from flashtwin.papers.designs import PRESETS, SETUP, Experiment, Headline
from flashtwin.papers.facts import Fact
from flashtwin.papers.model import Overall
from flashtwin.papers.rr_ssd import common, results
from flashtwin.settings import Value


def test_set_up_lists_its_changes_against_the_presets() -> None:
    for paper in papers().values():
        if paper.setup is None:
            continue
        for one in paper.setup.choices:
            assert f"--set {one.text}" in paper.setup.command
            assert one.words
            changed = ft.system("ca-ssd", settings={one.key: one.value})
            assert changed.config != ft.system("ca-ssd").config, one.key


def test_each_choice_is_taken_back_alone() -> None:
    every = common.SETUP.sets
    for one in common.SETUP.choices:
        without = results.FAIR_SETS[f"without {one.text}"]
        assert {one.key: one.value, **without} == every != without


@pytest.mark.parametrize(
    ("claim", "distance"),
    [
        (number("w", "q", 20.0, 20.0), 0.0),
        (number("w", "q", 20.0, 24.0), 1.0),
        (number("w", "q", 5.0, 11.0), 2.0),  # three points
        (number("w", "q", 20.0, None), None),
        (Claim("w", "q", 25.0, 77.0, 50.0), 0.0),
        (Claim("w", "q", 25.0, 77.0, 15.0), 2.0),
        (Claim("w", "q", None, 0.0, 2.0), 2.0 / 3.0),
    ],
)
def test_distance_is_one_where_a_number_just_agrees(claim: Claim, distance: float | None) -> None:
    found = claim.distance
    assert found == (distance if distance is None else pytest.approx(distance))
    if found is not None and abs(found - 1.0) > 1e-9:
        assert (found < 1.0) == (claim.verdict is Agreement.AGREES)


FACTORS = (
    Factor("order", {"rows": {"order": "rows"}, "columns": {"order": "columns"}}),
    Factor("cache", {"none": {"cache": 0}, "small": {"cache": 1}}),
    Factor("drive", {"new": {"drive": "new"}, "aged": {}}),
)
#: The addition of each choice to the one figure, published as 30.
EFFECT = {("order", "columns"): 20.0, ("cache", 1): 2.0, ("drive", "aged"): 5.0}


class FakeStand:
    def __init__(self, name: str, base: float, *, ages: bool = True) -> None:
        self.name, self.base, self.ages = name, base, ages
        self.setup: Mapping[str, Value] = {"order": "columns"}
        self.memo: dict[Any, Any] = {}

    @contextmanager
    def otherwise(self, sets: Mapping[str, Value], for_system: object) -> Iterator[None]:
        self.gain = self.base + sum(EFFECT.get(one, 0.0) for one in {**self.setup, **sets}.items())
        yield

    def runs(self, chosen: Mapping[str, Any], _: Any) -> Mapping[str, Any]:
        return chosen


GAIN, ALWAYS = (
    Fact((), lambda stand, _: cast("FakeStand", stand).gain), Fact((), lambda *_: True),
)  # fmt: skip


PLAN = Experiment(
    id="set-ups", place="", workloads=("a", "b"), factors=FACTORS, rows=8,
    quantities=[Overall("gain", GAIN, 30.0, effect=True, needs="any")],
    headlines=[Headline("gain", GAIN, 30.0, of=("a", "b"))], fixed={"drive": "aged"}, keep_up=ALWAYS,
    few={"order": ("rows", "columns"), "cache": ("none", "small")}, alone=(Factor("every", {"one": {"cache": 1}}),),
    worked={("drive", "aged"): lambda stand: {"drive": "aged"} if cast("FakeStand", stand).ages else None},
)  # fmt: skip


def measured(*stands: FakeStand) -> dict[str, dict[str, Any]]:
    return {stand.name: PLAN.measure(cast("Stand", stand)) for stand in stands}


def test_nearest_set_up_is_found_over_all_workloads() -> None:
    facts = measured(FakeStand("a", 4.0), FakeStand("b", 2.0))
    outcome = PLAN.judge(facts)
    # 3 + 20 + 2 + 5: every choice.
    assert [claim.measured for claim in outcome.claims] == [30.0]
    nearest = next(table for table in outcome.tables if table["title"].startswith("Set-ups nearest"))
    rows = {row[0] or row[1]: dict(zip(nearest["header"], row, strict=True)) for row in nearest["rows"]}
    assert rows["1"]["gain"] == "30.0"
    assert rows["1"]["set-up"] == "order columns, cache small, drive aged"
    assert rows[SETUP]["gain"] == "23.0"
    assert rows[PRESETS]["gain"] == "3.0"
    assert rows["1"]["distance"] == "0.00"
    assert "15 set-ups were tried, each on all 2 workloads" in outcome.notes[0]


def test_rows_that_a_workload_cannot_have_count_for_none() -> None:
    facts = measured(FakeStand("a", 4.0), FakeStand("b", 2.0, ages=False))
    tried = PLAN.tried(facts)
    assert tried, "new drives are left"
    assert all(one.row.get("drive") != "aged" for one in tried.values())
    outcome = PLAN.judge(facts)
    moved = next(table for table in outcome.tables if table["title"].startswith("What each choice moves"))
    assert "drive" not in [row[0] for row in moved["rows"]], "one level alone has no effect"


def test_nothing_measured_claims_nothing() -> None:
    assert [claim.measured for claim in PLAN.judge({}).claims] == [None]


@pytest.mark.parametrize(("pages", "expected"), [(4_000, None), (100_000, (16, 20)), (10_000_000, (256, 102))])
def test_a_drive_is_sized_to_the_workload(pages: int, expected: tuple[int, int] | None) -> None:
    class Sized:
        def fact(self, key: str) -> float | None:
            return float(pages)

    keys = common.sized(cast("Stand", Sized()))
    found = keys and (keys["nand.pages_per_block"], keys["nand.blocks_per_plane"])
    assert found == expected
    if keys:
        blocks = cast("int", keys["nand.blocks_per_plane"]) - common.RESERVE
        raw = common.PLANES * cast("int", keys["nand.pages_per_block"]) * blocks
        assert 1.2 * pages < raw < 1.4 * pages
        ft.system("rr-ssd", settings=dict(keys))
