"""The length of a period where nobody says it."""

import json
from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.replays.periods import DAY_S, length_s, with_periods

from .conftest import Cli, fiu

DAY_NS = int(DAY_S * 1e9)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ten minutes of reads and writes of few contents, popular enough to be copied."""
    path = tmp_path / "short.fiu"
    pages = [(turn, turn * 7 % 50) for turn in range(2_000)]
    path.write_text(fiu((turn * 300_000_000, page, "W" if turn < 50 else "R", page % 10) for turn, page in pages))
    return path


@pytest.mark.parametrize("duration_s", [0.009, 0.5, 3, 59, 61, 833, 7_200, 86_400, 200_000])
def test_a_short_trace_has_eight_periods_or_a_few_more(duration_s: float) -> None:
    length = length_s(round(duration_s * 1e9))
    # Neighbours among the round lengths are 2.5 times apart at most.
    assert 8 <= duration_s / length < 8 * 2.5


@pytest.mark.parametrize("duration_ns", [0, 7_000_000, 3 * DAY_NS, 21 * DAY_NS])
def test_a_trace_of_days_and_one_of_nearly_nothing_keep_the_day(duration_ns: int) -> None:
    assert length_s(duration_ns) == DAY_S


def test_what_somebody_set_is_kept_and_everybodys(tmp_path: Path) -> None:
    hour = tmp_path / "hour.toml"
    hour.write_text("[replay]\nperiod_s = 3600.0\n")
    named = {"file": ft.system(hour), "rr": ft.system("rr-ssd")}
    assert {one.period_s for one in with_periods(10 * 60 * 10**9, named).values()} == {3600.0}
    # A day that somebody asks for is a day; a day in a file that was printed whole is nobody's wish.
    asked = {"rr": ft.system("rr-ssd", period_s=DAY_S)}
    assert with_periods(10 * 60 * 10**9, asked)["rr"].period_s == DAY_S
    whole = tmp_path / "whole.toml"
    whole.write_text(ft.system("rr-ssd").toml, encoding="utf-8")
    assert with_periods(10 * 60 * 10**9, {"rr": ft.system(whole)})["rr"].period_s == 60.0


def test_the_choice_is_stated_and_copies_are_made(cli: Cli, trace: Path) -> None:
    done = cli("compare", trace, "--systems", "ca-ssd,rr-ssd", "--json")
    assert "periods of 1 min, chosen from the trace's 10 min; --period sets another" in done.err
    found = json.loads(done.out)
    assert {one["config"]["replay"]["period_s"] for one in found.values()} == {60.0}
    assert found["rr-ssd"]["flash_writes"]["replica"] > 0
    assert ft.replay(trace, "rr-ssd").summary["flash_writes"] == found["rr-ssd"]["flash_writes"]
    assert ft.compare(trace, ["ca-ssd", "rr-ssd"])["rr-ssd"].summary["config"]["replay"]["period_s"] == 60.0


def test_a_period_that_never_ends_is_warned_of(cli: Cli, trace: Path) -> None:
    done = cli("compare", trace, "--systems", "ca-ssd,rr-ssd", "--period", "1d")
    assert "rr-ssd cannot copy anything" in done.err
    assert "none of 1 d does within the trace's 10 min; set a shorter --period" in done.err
    assert "chosen from" not in done.err
    assert "cannot copy" not in cli("replay", trace, "--system", "ca-ssd", "--period", "1d").err


@pytest.mark.usefixtures("no_pages")
def test_a_sweep_takes_each_trace_s_own(trace: Path, tmp_path: Path) -> None:
    long = tmp_path / "long.fiu"
    text = trace.read_text(encoding="utf-8").splitlines()
    long.write_text("\n".join(f"{int(line.split()[0]) * 60} {line.split(' ', 1)[1]}" for line in text) + "\n")
    swept = ft.sweep([trace, long], tmp_path / "out", ["rr-ssd"], alpha=[0.1, 0.2], workers=1)
    rows = swept.to_arrow().to_pylist()
    assert [row["config.replay.period_s"] for row in rows] == [3600.0, 3600.0, 60.0, 60.0]
    assert "replay.period_s=3600" in swept.plan.points[0].command
    asked = ft.sweep(trace, tmp_path / "asked", ["rr-ssd"], period_s=[30, 600], workers=1)
    assert [row["config.replay.period_s"] for row in asked.to_arrow().to_pylist()] == [30.0, 600.0]


def test_it_is_not_told_where_nobody_cares(cli: Cli, trace: Path) -> None:
    assert "periods" not in cli("replay", trace, "--system", "conventional").err
