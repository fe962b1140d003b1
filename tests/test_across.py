"""Statistics over many traces, from hand-made numbers and against plain recomputation."""

import statistics
from typing import Any

import numpy as np
import pytest

from flashtwin.sweeps import across
from flashtwin.sweeps.across import CharacterizedTrace

from .tiny import characterized


def found(traces: list[CharacterizedTrace], figure: str) -> list[dict[str, Any]]:
    everything = across.distributions(across.entrants(traces))
    return [dict(zip(across.COLUMNS, row, strict=True)) for row in everything if row[0] == figure]


@pytest.fixture(scope="module")
def traces() -> list[CharacterizedTrace]:
    return [characterized(f"t{seed}", seed, "mail" if seed % 3 else "web") for seed in range(9)]


@pytest.mark.parametrize(
    ("facts", "counts"),
    [
        ({}, (1, 1, 1)),
        ({"requests": 10_000, "writes": 5_000, "reads": 5_000}, (1, 1, 1)),
        ({"requests": 9_999}, (0, 0, 0)),
        ({"writes": 4_999}, (0, 0, 0)),
        ({"reads": 4_999}, (1, 1, 0)),
    ],
)
def test_who_enters(facts: dict[str, int], counts: tuple[int, int, int]) -> None:
    who = across.entrants([characterized("one", **facts)])
    assert (len(who.any), len(who.writing), len(who.reading)) == counts
    assert who.counts["traces"] == 1


def test_too_few_writes_a_page_do_not_enter_write_amplification() -> None:
    trace = characterized("one")
    row = {**trace.row, "write_amplification.enters_statistics": False}
    who = across.entrants([CharacterizedTrace("one", "", row, trace.tables)])
    assert (len(who.any), len(who.writing)) == (1, 0)


def test_every_figure_of_the_paper_is_there_and_in_order(traces: list[CharacterizedTrace]) -> None:
    figures = [row[0] for row in across.distributions(across.entrants(traces))]
    expected = ["1a", "1b", "1c", "2", "3", "4", "6", "7", "9", "10", "12", "15", "16", "17", "18"]
    assert list(dict.fromkeys(figures)) == expected
    assert across.distributions(across.entrants([])) == []


def test_regression_of_points_on_a_line_and_of_too_few() -> None:
    fit = across.regression([(x, 0.9 * x + 0.1) for x in (0.0, 1.0, 2.0, 5.0)])
    assert fit == pytest.approx({"slope": 0.9, "intercept": 0.1, "r_squared": 1.0, "count": 4})
    for points in ([], [(0.0, 1.0), (1.0, 2.0)], [(1.0, 1.0)] * 5):
        assert across.regression(points) == {}


def test_percentiles_are_those_of_the_values(traces: list[CharacterizedTrace]) -> None:
    needed = [
        row["partitions"]
        for trace in traces
        for row in trace.tables["partitions"]
        if (row["page_bytes"], row["frequency_ratio"]) == (512, 2.0)
    ]
    stats = {row["statistic"]: row["value"] for row in found(traces, "1b") if row["x"] == 2.0}
    assert stats["count"] == len(traces)
    assert (stats["minimum"], stats["maximum"]) == (min(needed), max(needed))
    assert stats["median"] == statistics.median(needed)
    assert stats["p75"] == pytest.approx(np.percentile(needed, 75))
    by_folder = {row["series"]: row["value"] for row in found(traces, "1a") if row["statistic"] == "count"}
    assert by_folder == {"all": 9, "mail": 6, "web": 3}


def test_means_have_their_confidence_interval(traces: list[CharacterizedTrace]) -> None:
    values = [
        row["write_amplification"]
        for trace in traces
        for row in trace.tables["write_amplification"]
        if (row["page_bytes"], row["over_provisioning_percent"], row["partitions_asked"], row["purpose"])
        == (4096, 7.0, 4, "grid")
    ]
    stats = {row["statistic"]: row["value"] for row in found(traces, "2") if (row["series"], row["x"]) == ("OP 7 %", 4)}
    half = 1.96 * statistics.stdev(values) / len(values) ** 0.5
    assert stats["mean"] == pytest.approx(statistics.mean(values))
    assert stats["ci95_low"] == pytest.approx(statistics.mean(values) - half)
    assert stats["ci95_high"] == pytest.approx(statistics.mean(values) + half)


def test_one_trace_has_no_confidence_interval() -> None:
    names = {row["statistic"] for row in found([characterized("one")], "2")}
    assert names == {"mean", "count"}


def test_f_min_beyond_the_search_counts_as_its_end() -> None:
    plain = characterized("one")
    beyond = [{**row, "f_min": None if row["partitions"] == 2 else row["f_min"]} for row in plain.tables["f_min"]]
    trace = CharacterizedTrace("one", "", plain.row, {**plain.tables, "f_min": beyond})
    stats = {row["statistic"]: row["value"] for row in found([trace], "1c") if row["x"] == 2}
    assert stats["maximum"] == stats["minimum"] == 1_000.0


def test_series_are_in_the_order_of_their_numbers(traces: list[CharacterizedTrace]) -> None:
    series = list(dict.fromkeys(row["series"] for row in found(traces, "2")))
    assert series == ["OP 7 %", "OP 28 %", "OP 50 %", "OP 75 %", "OP 100 %"]


def wa_row(purpose: str, amplification: float | None, overhead: float = 0.1, **other: Any) -> dict[str, Any]:
    return {
        "page_bytes": 4096,
        "block_pages": 128,
        "over_provisioning_percent": 7,
        "purpose": purpose,
        "write_amplification": amplification,
        "partitioning_overhead": overhead,
        **other,
    }


@pytest.mark.parametrize(
    ("two", "three", "change"),
    [
        (wa_row("f_r<=2", 2.0), wa_row("f_r<=3", 2.1), 5.0),
        (wa_row("f_r<=2", 2.0), wa_row("f_r<=3", 1.5), -25.0),
        (wa_row("f_r<=2", 2.0), wa_row("f_r<=3", None), None),
        (wa_row("f_r<=2", 2.0, 1.0), wa_row("f_r<=3", 2.0, 1.0), 0.0),
        (wa_row("f_r<=2", 2.0, 1.01), wa_row("f_r<=3", 2.0), None),
        (wa_row("f_r<=2", 2.0, block_pages=256), wa_row("f_r<=3", 2.0), None),
        (wa_row("f_r<=2", 2.0, over_provisioning_percent=28), wa_row("f_r<=3", 2.0), None),
    ],
)
def test_change_from_two_to_three(two: dict[str, Any], three: dict[str, Any], change: float | None) -> None:
    assert across.wa_change([two, three], overhead_max=1.0) == pytest.approx(change)


def test_histograms_count_every_trace_once(traces: list[CharacterizedTrace]) -> None:
    for figure in ("4", "9"):
        values = [row["value"] for row in found(traces, figure) if row["statistic"] == "traces"]
        assert sum(values) == len(traces)
    for figure in ("15", "16"):
        series: dict[str, float] = {}
        for row in found(traces, figure):
            if row["statistic"] == "traces":
                series[row["series"]] = series.get(row["series"], 0) + row["value"]
        assert set(series.values()) == {9.0}
        assert len(series) == 6


def test_changes_beyond_the_bins_are_in_the_last_ones() -> None:
    rows_ = across._changes("4", [-90.0, 3.0, 300.0])
    counts = [row[4] for row in rows_ if row[3] == "traces"]
    assert (counts[0], counts[-1], sum(counts)) == (1, 1, 3)
    shares = {row[3]: row[4] for row in rows_ if row[2] is None}
    assert shares["below_5_percent"] == pytest.approx(200 / 3)
    assert shares["down_percent"] == pytest.approx(100 / 3)


def test_scatters_name_their_traces(traces: list[CharacterizedTrace]) -> None:
    for figure in ("17", "18"):
        points = [row for row in found(traces, figure) if row["statistic"] == "trace"]
        assert {row["trace"] for row in points} == {trace.name for trace in traces}
        assert all(row["x"] is not None for row in points)
    eight = [row for row in found(traces, "18") if row["series"] == "pages of 16384, cache of 8"]
    fit = {row["statistic"]: row["value"] for row in eight if row["x"] is None}
    x, y = zip(*((row["x"], row["value"]) for row in eight if row["statistic"] == "trace"), strict=True)
    assert [fit["slope"], fit["intercept"]] == pytest.approx(list(np.polyfit(x, y, 1)))


def test_scatters_show_ra_relative_to_one_sector_pages() -> None:
    one = characterized("one")
    plain, half = (
        CharacterizedTrace("one", "", one.row, {**one.tables, "read_amplification": [
            {**row, "read_amplification": share * row["normalised"]} for row in one.tables["read_amplification"]
        ]})
        for share in (1.0, 0.5)
    )  # fmt: skip
    # A cache that serves half of the one-sector pages' reads makes no page cheaper beside another (SWC 5.2).
    for figure in ("17", "18"):
        assert found([half], figure) == found([plain], figure)
    medians = [[row["value"] for row in found([one], "10") if row["statistic"] == "median"] for one in (half, plain)]
    assert medians[0] == pytest.approx([value / 2 for value in medians[1]])


def test_order_of_traces_does_not_matter(traces: list[CharacterizedTrace]) -> None:
    forward = [row for row in across.distributions(across.entrants(traces)) if row[3] != "trace"]
    backward = [row for row in across.distributions(across.entrants(traces[::-1])) if row[3] != "trace"]
    assert [row[:4] for row in forward] == [row[:4] for row in backward]
    assert [row[4] for row in forward] == pytest.approx([row[4] for row in backward])
