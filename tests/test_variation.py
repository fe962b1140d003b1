"""Which figures of a sweep deserve a chart or a column, and which runs are one."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin import report
from flashtwin.report import drawing
from flashtwin.report.charts import sweeps as charts
from flashtwin.results import names, sweeps, variation
from flashtwin.results.figures import figure
from flashtwin.results.variation import RunGroup

LANES, SPEED, SEED = "engine.hash_lanes", "replay.speed", "seed"
READ, WRITE = figure("read.mean").path, figure("write.mean").path


def row(point: int, key: str | None = None, system: str = "ca-ssd", **more: Any) -> dict[str, Any]:
    return {"point": point, "trace": "t", "system": system, "status": "done", "key": key or f"run {point}", **more}


def group(name: str, *values: float) -> list[RunGroup]:
    return [RunGroup(at, (row(at, **{figure(name).path: value}),), whole=True) for at, value in enumerate(values)]


def ranked(groups: dict[str, tuple[float, ...]]) -> list[str]:
    wanted = [figure(name) for name in groups]
    found = variation.variations([group(name, *values) for name, values in groups.items()], wanted)
    return [one.figure.name for one in variation.in_turn(found)]


def fabricated(rows: list[dict[str, Any]], axes: dict[str, list[Any]], mode: str = "grid") -> sweeps.SavedSweep:
    plan = {
        "mode": mode, "traces": [{"name": "t"}], "systems": list(dict.fromkeys(one["system"] for one in rows)),
        "axes": {key: [str(value) for value in values] for key, values in axes.items()},
        "trade": ["read.mean", "programs"],
        "points": [{"point": one["point"], "command": "", "settings": {}} for one in rows],
    }  # fmt: skip
    return sweeps.SavedSweep(Path("made-up"), plan, rows)


def grid(axes: dict[str, list[Any]], **of: Any) -> list[dict[str, Any]]:
    """A row for each setting; `of` has a function of the setting for each figure, and for `key` and `status`."""
    rows = []
    for point, values in enumerate(itertools.product(*axes.values()), start=1):
        setting = dict(zip(axes, values, strict=True))
        told = {name: make(setting) for name, make in of.items()}
        rows.append(row(point, **{**{f"config.{key}": value for key, value in setting.items()}, **told}))
    return rows


@pytest.mark.parametrize(
    ("varies", "turns"),
    [
        ({"write.p99": (1, 50), "write.p50": (1, 40), "read.mean": (2, 3)}, ["write.p99", "read.mean", "write.p50"]),
        # What hardly varies has no turn.
        ({"write.p99": (1, 50), "write.p50": (1, 40), "read.mean": (97, 100)}, ["write.p99", "write.p50", "read.mean"]),
        # 87 and 89 % are both nine tenths, and a mean stands first; 60 % is not.
        ({"write.mean": (13, 100), "write.p99": (11, 100)}, ["write.mean", "write.p99"]),
        ({"write.mean": (40, 100), "write.p99": (11, 100)}, ["write.p99", "write.mean"]),
    ],
)
def test_families_take_turns(varies: dict[str, tuple[float, ...]], turns: list[str]) -> None:
    assert ranked(varies) == turns


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=6))
def test_range_is_a_share_between_two_of_the_values(values: list[float]) -> None:
    (found,) = variation.variations([group("read.mean", *values)], [figure("read.mean")])
    assert 0 <= found.share <= 1
    assert {found.first, found.last} == {min(values), max(values)}
    assert (found.share == 0) == (min(values) == max(values))
    turned = variation.variations([group("read.mean", *reversed(values))], [figure("read.mean")])
    assert turned[0].share == found.share


def test_figure_is_compared_within_a_line_only() -> None:
    """Two systems far apart, each of which does not change with the key: nothing varies."""
    groups = [group("read.mean", 10, 10), group("read.mean", 900, 900)]
    assert variation.variations(groups, [figure("read.mean")])[0].share == 0


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=20))
def test_run_counts_once(keys: list[str]) -> None:
    rows = [row(at, key) for at, key in enumerate(keys)]
    assert [one["key"] for one in variation.distinct(rows)] == list(dict.fromkeys(keys))
    together = variation.alike(rows)
    assert sorted(one["point"] for run in together for one in run) == list(range(len(keys)))
    assert len(together) == len(set(keys))
    assert len(variation.alike([{**one, "status": "missing"} for one in rows])) == len(rows)


def test_table_shows_what_differs_and_names_what_does_not() -> None:
    rows = [row(at, pages_programmed=7, **{READ: 5.0, WRITE: float(at)}) for at in (1, 2)]
    found = variation.columns(rows, [figure("read.mean"), figure("programs")], closed=False, at_most=8)
    assert [one.path for one in found.shown] == [WRITE]
    assert {one.path: value for one, value in found.equal} == {READ: 5.0, "pages_programmed": 7}
    alone = variation.columns([row(1, **{READ: 5.0})], [], closed=False, at_most=8)
    assert [one.path for one in alone.shown] == [READ], "a table has a figure even if none differs"


def test_rates_of_an_open_loop_are_left_out() -> None:
    rows = [row(at, **{READ: 5.0, "throughput.all.iops": at}) for at in (1, 2)]
    assert [one.path for one in variation.candidates(rows, closed=False)] == [READ]
    assert len(variation.candidates(rows, closed=True)) == 2


def test_chart_draws_writes_where_reads_do_not_change() -> None:
    axes = {LANES: [1, 2, 4]}
    rows = grid(
        axes, **{READ: lambda _: 9e4, WRITE: lambda sets: 2.5e6 / sets[LANES], "pages_programmed": lambda _: 10}
    )
    drawn = charts.by_key(fabricated(rows, axes), LANES)
    assert [axes.get_title("left") for axes in drawing.figure(drawn.frame).axes] == ["mean write"]
    said = " ".join(drawn.sees)
    assert "mean write (2.50 ms to 625 µs) varies most" in said
    assert "Did not vary: mean read, pages programmed." in said


def test_other_keys_have_panels_and_no_mean() -> None:
    axes = {LANES: [1, 2], SPEED: [1, 10]}
    rows = grid(axes, **{WRITE: lambda sets: 1e6 * sets[SPEED] / sets[LANES]})
    drawn = charts.by_key(fabricated(rows, axes), LANES)
    lines = {axes.get_title("left"): list(axes.lines[0].get_ydata()) for axes in drawing.figure(drawn.frame).axes}
    assert lines == {"mean write; speed 1": [1e6, 5e5], "mean write; speed 10": [1e7, 5e6]}


def test_settings_that_made_the_same_runs_have_one_panel() -> None:
    axes = {LANES: [1, 2], SPEED: [1, 10]}
    rows = grid(axes, key=lambda sets: f"{sets[LANES]}", **{WRITE: lambda sets: 1e6 / sets[LANES]})
    assert [panel.title for panel in charts.panels_of(fabricated(rows, axes), LANES)] == ["speed 1, 10"]


def test_one_run_for_all_values_is_a_dashed_line() -> None:
    axes = {LANES: [1, 2, 4]}
    rows = grid(axes, key=lambda _: "one", **{WRITE: lambda _: 5e5})
    for one in rows:
        one["system"] = "conventional"
    rows += [{**one, "point": one["point"] + 3} for one in grid(axes, **{WRITE: lambda sets: 1e6 / sets[LANES]})]
    drawn = charts.by_key(fabricated(rows, axes), LANES)
    dashed, line = drawing.figure(drawn.frame).axes[0].lines
    assert list(dashed.get_ydata()) == [5e5, 5e5]
    assert len(line.get_xdata()) == 3
    assert any(said.startswith("Dashed: `conventional` made one run") for said in drawn.sees)


def test_seeds_are_a_band_around_their_mean() -> None:
    axes = {LANES: [1, 2, 4], SEED: [1, 2, 3]}
    rows = grid(axes, **{WRITE: lambda sets: 1e6 / sets[LANES] + sets[SEED] * 1e4})
    found = fabricated(rows, axes)
    assert charts.keys_of(found) == [LANES]
    drawn = charts.by_key(found, LANES)
    (panel,) = drawing.figure(drawn.frame).axes
    assert list(panel.lines[0].get_ydata()) == [1.02e6, 5.2e5, 2.7e5]
    assert len(panel.collections) == 1
    rows[0]["status"] = "missing"
    drawn = charts.by_key(fabricated(rows, axes), LANES)
    first, *others = drawing.figure(drawn.frame).axes[0].lines[0].get_ydata()
    assert first != first, "no mean over seeds of which one is missing"
    assert others == [5.2e5, 2.7e5]


def test_values_side_by_side_have_one_chart() -> None:
    rows = [row(at, **{f"config.{LANES}": at, f"config.{SPEED}": 10 * at, WRITE: 1e6 / at}) for at in (1, 2, 3)]
    found = fabricated(rows, {LANES: [1, 2, 3], SPEED: [10, 20, 30]}, "zip")
    assert charts.keys_of(found) == [charts.SETTING]
    drawn = charts.by_key(found, charts.SETTING)
    assert drawn.frame.panels[0].x.of == ["1, 10", "2, 20", "3, 30"]


def test_no_trade_off_is_drawn_where_a_figure_is_flat() -> None:
    axes = {LANES: [1, 2]}
    rows = grid(axes, **{READ: lambda sets: 9e4 + sets[LANES], "pages_programmed": lambda _: 10})
    drawn = charts.trade(fabricated(rows, axes))
    assert drawn.frame is None
    assert list(drawn.absent) == ["There is none: pages programmed is the same at every point."]


def test_points_compete_within_a_condition() -> None:
    """At ten times the speed every response is longer, which is no fault of a choice."""
    axes = {LANES: [1, 2, 3], SPEED: [1, 10], "device": ["a", "b"]}
    rows = grid(
        axes,
        **{
            READ: lambda sets: 1e4 * sets[SPEED] / sets[LANES] + (sets["device"] == "b"),
            "pages_programmed": lambda sets: 10 * max(sets[LANES], 5 - sets[LANES]) * sets[SPEED],
        },
    )
    drawn = charts.trade(fabricated(rows, axes))
    assert [panel.title for panel in drawn.frame.panels] == [
        f"speed {speed}, device {device}" for speed in (1, 10) for device in "ab"
    ]
    # Of one, two and three lanes with 40, 30 and 30 programs, three lanes beat both others, at each condition.
    beats_all = [one["point"] for one in rows if one[f"config.{LANES}"] == 3]
    assert drawn.sees[1:] == [
        f"{panel.title}: 1 of 3 runs is beaten by no other one: point {point}."
        for panel, point in zip(drawn.frame.panels, beats_all, strict=True)
    ]


def test_page_shows_a_run_once(small_trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHTWIN_CHARTS", "page")
    out = tmp_path / "out"
    done = ft.sweep(small_trace, out, ["conventional", "ca-ssd"], settings={"hash_lanes": [1, 2, 4]}, workers=1)
    page = report.build(out).read_text(encoding="utf-8")
    assert page.count('<th scope="row">') == 4, "one line for conventional, three for ca-ssd"
    assert '<th scope="row">1, 2, 3</th>' in page
    assert "The same at every point: trace small" in page
    (chart,) = (out / names.CHARTS).glob("by-*.csv")
    assert WRITE in chart.read_text(encoding="utf-8")
    assert len(done) == 6
