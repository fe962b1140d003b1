"""Effects of the engine's choices: how they are judged, put in words and put together."""

import json
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin.papers import choose, papers, running
from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import number
from flashtwin.papers.designs import Headline
from flashtwin.papers.ds_ftl import items
from flashtwin.papers.facts import Fact
from flashtwin.papers.running import ReproductionOptions
from flashtwin.papers.sensitivity import AS_DECIDED, CHOICES, VARIANTS, Move, Sensitivity, move
from flashtwin.results.trees import dig

from .test_paper_items import FakeRun
from .test_papers import patch_recipes


@pytest.mark.parametrize(
    ("decided", "otherwise", "effect", "becomes"),
    [
        (10.0, 11.9, True, Move.NONE),  # within 2 points
        (10.0, 12.1, True, Move.POINTS),
        (16.0, 13.9, True, Move.VERDICT),  # published 20: no longer within a fifth
        (17.0, 15.9, True, Move.NONE),  # the mark changes, the conclusion hardly
        (1.0, -1.0, True, Move.SIGN),  # a gain becomes a loss
        (1.0, -1.0, False, Move.NONE),  # of a share, the sign says nothing
        (0.4, 0.6, True, Move.NONE),
        (0.4, 5.0, True, Move.SIGN),  # next to nothing becomes a gain
        (10.0, None, True, Move.GONE),
        (None, 10.0, True, None),
    ],
)
def test_what_becomes_of_a_headline(
    decided: float | None, otherwise: float | None, effect: bool, becomes: Move | None
) -> None:
    claims = [number("w", "q", 20.0, value, effect=effect) for value in (decided, otherwise)]
    assert move(*claims) is becomes


X, Y = (Fact((), lambda *_: None) for _ in range(2))


def made_up(left_out: dict[str, str], decided: tuple[str, ...] = ()) -> Sensitivity:
    """Two headlines that are never measured: their figures are given."""
    headlines = [Headline(title, fact, 20.0, of=("w",)) for title, fact in (("x", X), ("y", Y))]
    return Sensitivity(
        id="sensitivity", place="", workloads=("w",), headlines=headlines, left_out=left_out, decided=decided
    )


def figures(plan: Sensitivity, **otherwise: tuple[float | None, float | None]) -> dict[str, Any]:
    """Facts of one workload: x and y are 20 and 10, but for the variants named (blanks as underscores)."""
    names = {one: one.partition(" = ")[2].replace("-", "_") for one in plan.variants}
    values = {one: otherwise.get(name, (20.0, 10.0)) for one, name in names.items()}
    return {"w": {label: {X: x, Y: y} for label, (x, y) in {AS_DECIDED: (20.0, 10.0), **values}.items()}}


def test_the_table_says_in_words_what_a_headline_depends_on() -> None:
    later = dict.fromkeys(
        ("allocation", "order", "idle rule", "write cache", "suspension", "ties", "zero page", "renewal", "copies"),
        "not.",
    )
    decided = ("merging = none", "concurrency = die", "write completes = programmed")
    plan = made_up({"hashing": "nothing is hashed.", "preload = footprint": "too large.", **later}, decided)
    facts = figures(
        plan, chip=(-5.0, 10.0), plane=(21.0, 10.0), off=(20.0, 13.5), buffered=(None, 10.0), none=(30.0, 10.0)
    )
    outcome = plan.judge(facts)
    table, by_choice = outcome.tables
    assert table["header"][:3] == ["headline", "published", AS_DECIDED]
    assert [len(row) for row in table["rows"]] == [len(table["header"])] * 2
    x, y = (dict(zip(table["header"], row, strict=True)) for row in table["rows"])
    assert x[AS_DECIDED] == "20.0 ✓"
    assert x["concurrency: chip / die / plane"] == "-5.0 ✗ / = / 21.0 ✓"
    assert x["preload: footprint / none"] == "– / 30.0 ~"
    assert x["hashing: 1 lane / 4 lanes / 16 lanes / a pipeline / 0 µs"] == "– / – / – / – / –"
    assert x["merging: none / same-page"] == "= / 20.0 ✓"
    assert x["depends on"] == (
        "no figure: write completes (buffered); sign: concurrency (chip); verdict: preload (none)"
    )  # fmt: skip
    assert y["depends on"] == "up to +3.5 points: buffer reads"
    assert by_choice["rows"] == [
        ["concurrency", "0", "1", "0", "0", "1"],
        ["load", "0", "0", "0", "0", "2"],
        ["buffer reads", "0", "0", "0", "1", "1"],
        ["preload", "0", "0", "1", "0", "1"],
        ["write completes", "1", "0", "0", "0", "1"],
        ["merging", "0", "0", "0", "0", "2"],
    ]
    lowest = {claim.subject: claim.measured for claim in outcome.claims if claim.quantity.startswith("lowest")}
    assert lowest == {"x": -5.0, "y": 10.0}
    assert outcome.notes[:2] == ["Left out: hashing: nothing is hashed.", "Left out: preload = footprint: too large."]
    assert len(outcome.notes) == 11, "what the presets have already is not left out"
    assert outcome.chart is not None
    same = plan.judge(figures(plan))
    assert {row[-1] for row in same.tables[0]["rows"]} == {"holds within 2 points"}


MEASURED = {
    "rr-ssd": ("ca-ssd", "rr-ssd", "oracle"),
    "ca-ssd": ("conventional", "ca-ssd-inverted"),
    "ds-ftl": items.SCHEMES,
}


PLANS = {paper.id: one for paper in papers().values() for one in paper.items if isinstance(one, Sensitivity)}


def changes(paper: str, key: str, value: object) -> list[bool]:
    setup = papers()[paper].setup
    configs = [ft.system(name, settings=setup.sets if setup else {}).config for name in MEASURED[paper]]
    return [dig(config, key) != value for config in configs]


def test_a_variant_is_another_choice_than_the_presets() -> None:
    """Else its column would show the present value; a present value is marked."""
    assert set(PLANS) == set(MEASURED)
    for name, plan in PLANS.items():
        assert set(plan.decided) <= set(VARIANTS)
        assert set(plan.left_out) <= {*CHOICES, *VARIANTS}
        for one in [*plan.variants, *plan.decided]:
            changed = any(any(changes(name, key, value)) for key, value in VARIANTS[one].items())
            assert changed == (one in plan.variants), f"{name}: {one}"


def test_every_choice_is_measured_in_some_paper() -> None:
    assert {one.partition(" = ")[0] for plan in PLANS.values() for one in plan.variants} == set(CHOICES)


def test_the_choices_of_several_papers_stand_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_recipes(monkeypatch, tmp_path)
    fake = lambda _, chosen, __: {name: FakeRun(system) for name, system in chosen.items()}  # noqa: E731
    monkeypatch.setattr(Stand, "runs", fake)
    how = ReproductionOptions(scale=0.02, period_s=0.02, workloads=("web", "home3"))
    chosen = [one for name in ("ca-ssd", "ds-ftl") for one in choose(name, ["sensitivity"])]
    running.run(chosen, tmp_path / "both", how)
    table, by_choice = json.loads((tmp_path / "both" / "reproduction.json").read_text())["sensitivity"]
    assert [row[0] for row in table["rows"]] == ["ca-ssd"] * 9 + ["ds-ftl"] * 20
    cells = {(row[0], row[1]): dict(zip(table["header"], row, strict=True)) for row in table["rows"]}
    web = cells["ca-ssd", "mean response cut, web"]
    assert web["concurrency: chip / die / plane"] == "– / – / –"
    assert "–" not in web["hashing: 1 lane / 4 lanes / 16 lanes / a pipeline / 0 µs"]
    home3 = cells["ds-ftl", "redirected writes, home3"]
    assert "–" not in home3["concurrency: chip / die / plane"]
    assert cells["ds-ftl", "reads below static"][AS_DECIDED] == "–", "the mean is over three workloads"
    assert {row[0] for row in by_choice["rows"]} == set(CHOICES) - {"copies", "renewal"}, "which neither paper has"
    assert (tmp_path / "both" / "reproduction.md").read_text().startswith("## Which conclusions depend on which choice")
    assert 'id="choices"' in (tmp_path / "both" / "report.html").read_text()
    alone = running.run(chosen[:1], tmp_path / "alone", how)
    assert json.loads((alone.path / "reproduction.json").read_text())["sensitivity"] == []
    assert 'id="choices"' not in alone.report.read_text()
