"""A twin is measured as a drive is, and its tables are those that a fit reads."""

import itertools
import json
import statistics
from pathlib import Path

import pytest

from flashtwin.cli import run
from flashtwin.drives import history, measuring, results, twin

#: Dies of tlc-unit-2021, and how many are enough here.
FEW = (
    "--set", "chips_per_channel=1", "--set", "dies_per_chip=1", "--set", "engine.write_cache_us=0",
    "--set", "engine.write_buffer_pages=512", "--set", "engine.controller_us=8",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of the load is enough to see that each part is there."""
    monkeypatch.setattr(twin, "REQUESTS", 20_000)
    monkeypatch.setattr(measuring, "RATES", (0.2, 0.8))
    monkeypatch.setattr(measuring, "UNIFORM_OVERWRITES", 1.0)
    monkeypatch.setattr(history, "OVERWRITES", 1.0)


def test_the_tables_of_a_twin_are_read_back_and_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "tlc-unit-2021", *FEW, "--out", str(tmp_path / "twin")]) == 0
    printed = capsys.readouterr()
    assert "write amplification" in printed.out
    assert "latency.csv" in printed.err
    found = results.read_results(tmp_path / "twin")
    assert [round(row.offered_per_s / found.open_loop[0].offered_per_s) for row in found.open_loop] == [1, 4]
    assert all(row.is_reached for row in found.open_loop)
    assert found.open_loop[0].read_us["99p"] < found.open_loop[1].read_us["99p"]
    uniform = [row for row in found.overwritten if row.pattern.kind == "uniform"]
    assert [row.amplification for row in uniform] == sorted(row.amplification or 0 for row in uniform)
    assert all(one.writes_per_s > two.writes_per_s for one, two in itertools.pairwise(uniform))
    again = ["measure", "tlc-unit-2021", *FEW, "--predict", str(tmp_path / "twin"), "--json"]
    assert run(again) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) > 10
    assert not any(row["is_fitted"] for row in rows)
    errors = [abs(row["error_percent"]) for row in rows]
    # The loads are as dense, and not the same requests.
    assert statistics.fmean(errors) < 5
    assert max(errors) < 30


def test_a_drive_whose_ram_has_no_end_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "tlc-unit-2021", *FEW, "--set", "engine.write_buffer_pages=0"]) == 2
    assert "nothing saturates the drive; set how much RAM it has" in capsys.readouterr().err


def test_patterns_alone_need_the_fill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "drive,series,pattern,details,writes_per_s\nx,one,zipf-shuffle,0.8,9000\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert run(["measure", "tlc-unit-2021", *FEW, "--predict", str(tmp_path)]) == 2
    assert "and neither does the file of the twin; give --fill" in capsys.readouterr().err
    assert run(["measure", "tlc-unit-2021", *FEW, "--predict", str(tmp_path), "--fill", "80%"]) == 0


def test_a_drive_that_is_too_small_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text(
        "drive,fill_gib,offered_per_s,reads_per_s,writes_per_s,read_us_50p,read_us_99p,write_us_50p\n"
        "x,1e6,1000,500,490,60,200,9\n",
        encoding="utf-8",
    )
    assert run(["measure", "tlc-unit-2021", *FEW, "--predict", str(tmp_path)]) == 2
    assert "1,000,000 GiB in use do not fit on conventional, whose flash holds" in capsys.readouterr().err
