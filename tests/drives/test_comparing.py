"""Measured beside predicted, and measurements that are written and read back."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from flashtwin.drives import comparing, results, tidy
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Load, Measurements, OpenLoop, OverwriteRun, SteadyWrites

ZIPF = Pattern("zipf", is_shuffled=True, exponent=0.8)


def open_loop(offered: float, served: float, read_us: float, write_us: float) -> OpenLoop:
    times = {"50p": read_us, "99p": 2 * read_us}
    return OpenLoop(900.0, offered, served / 2, served / 2, times, {"50p": write_us}, {}, Load(), offered)


MEASURED = Measurements(
    "mine",
    (open_loop(1000, 1000, 60, 10), open_loop(9900, 9900, 90, 10), open_loop(20_000, 10_000, 100, 3000)),
    (
        OverwriteRun(900.0, Pattern("sequential"), "a", 1.0, 1.04, 9e4),
        OverwriteRun(900.0, Pattern("sequential"), "a", 1.0, 1.02, 9e4),
        OverwriteRun(900.0, ZIPF, "a", 10.0, 2.0, 5e4),
    ),
    (SteadyWrites("b", ZIPF, 4e4, {"50p": 700.0}),),
)


def test_each_row_stands_beside_its_own() -> None:
    twin = replace(
        MEASURED,
        open_loop=tuple(
            reversed([replace(row, read_us={"50p": row.read_us["50p"] * 1.1}) for row in MEASURED.open_loop])
        ),
        overwritten=tuple(
            replace(row, amplification=1.1 * (row.amplification or 0)) for row in MEASURED.overwritten[1:]
        ),
    )
    fitted = replace(MEASURED, open_loop=MEASURED.open_loop[:1])
    rows = comparing.compared(MEASURED, twin, fitted)
    assert {round(row.error_percent or 0, 6) for row in rows if row.figure == "read p50"} == {10.0}
    regimes = {row.experiment: row.regime for row in rows if row.unit == "us"}
    assert list(regimes.values()) == [comparing.BELOW_THE_KNEE, comparing.NEAR_THE_KNEE, comparing.SATURATED]
    assert [row.is_fitted for row in rows if row.figure == "read p50"] == [True, False, False]
    # The twin has one of two equal sequential runs: the first of the drive's.
    assert [row.measured for row in rows if row.figure.startswith("write amplification")] == [1.04, 2.0]
    found = {(one.figure, one.is_fitted): one for one in comparing.errors(rows)}
    assert found["read p50", True].points == 1
    assert found["write amplification, skewed", True].mean_percent == pytest.approx(10.0)


def test_measurements_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    tidy.write(MEASURED, tmp_path)
    rows = csv.DictReader((tmp_path / "latency.csv").read_text(encoding="utf-8").splitlines())
    assert [row["is_saturated"] for row in rows] == ["false", "false", "true"]
    assert results.read_results(tmp_path) == MEASURED
