"""Designed experiments: balanced, told apart, and effects found again that were put in."""

import random

import pytest

from flashtwin.errors import ArgumentError
from flashtwin.experiments import Factor, balanced, effects, sets_of

FACTORS = (
    Factor("wear", {"dynamic": {"ftl.wear.policy": "dynamic"}, "none": {"ftl.wear.policy": "none"}}),
    Factor("placement", {name: {"ftl.allocation.policy": name} for name in ("static", "dynamic", "least-loaded")}),
    Factor("load", {"light": {}, "busy": {"replay.speed": 4.0}}),
)


def test_each_level_stands_in_equally_many_rows() -> None:
    rows = balanced(FACTORS, 24)
    for factor in FACTORS:
        counts = [sum(row[factor.name] == level for row in rows) for level in factor.levels]
        assert counts == [24 // len(factor.levels)] * len(factor.levels)
    assert rows == balanced(FACTORS, 24)
    assert rows != balanced(FACTORS, 24, seed=2)


def test_rows_that_cannot_tell_factors_apart_are_refused() -> None:
    with pytest.raises(ArgumentError, match="5 rows are too few for 3 factors: 6 are needed"):
        balanced(FACTORS, 5)


@pytest.mark.parametrize("seed", range(20))
def test_effects_that_were_put_in_are_found(seed: int) -> None:
    draw = random.Random(seed)
    rows = balanced(FACTORS, 18, seed=seed)
    put = {factor.name: {level: draw.uniform(-1, 1) for level in factor.levels} for factor in FACTORS}
    figures: list[float | None] = [3.0 + sum(put[name][level] for name, level in row.items()) for row in rows]
    found = effects(FACTORS, rows, figures)
    assert found.residual == pytest.approx(0, abs=1e-9)
    for factor in FACTORS:
        mean = sum(put[factor.name].values()) / len(factor.levels)
        for level, value in put[factor.name].items():
            assert found.of[factor.name][level] == pytest.approx(value - mean)
    strongest = max(FACTORS, key=lambda one: max(put[one.name].values()) - min(put[one.name].values()))
    assert found.strongest()[0] == strongest.name


def test_rows_without_a_figure_do_not_count() -> None:
    rows = balanced(FACTORS, 18)
    figures: list[float | None] = [1.0 if row["load"] == "busy" else 0.0 for row in rows]
    figures[3] = figures[7] = None
    found = effects(FACTORS, rows, figures)
    assert found.range_of("load") == pytest.approx(1.0)
    assert effects(FACTORS, rows, [None] * 15 + figures[15:]) is None


def test_a_row_sets_the_keys_of_its_levels() -> None:
    row = {"wear": "none", "load": "busy"}
    assert sets_of(FACTORS, row) == {
        "ftl.wear.policy": "none", "ftl.allocation.policy": "static", "replay.speed": 4.0,
    }  # fmt: skip
    assert FACTORS[2].keys == {"replay.speed"}
