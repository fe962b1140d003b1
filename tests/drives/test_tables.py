"""Measurements are read by their columns, and what cannot be is said with its line."""

import re
from pathlib import Path

import numpy as np
import pytest

import flashtwin as ft
from flashtwin.drives import history, results
from flashtwin.drives.laws import amplification
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Load
from flashtwin.errors import DriveError

LATENCY = "drive,fill_gib,offered_per_s,reads_per_s,writes_per_s,read_us_50p,read_us_99p,write_us_50p\n"
WRITES = "drive,fill_gib,pattern,details,file,overwrites,wa_last_quarter,writes_per_s_last_quarter\n"


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_file_is_known_by_its_columns(tmp_path: Path) -> None:
    written(tmp_path, "a.csv", f"{LATENCY}x,100,1000,500,490,60,200,9\nx,100,9000,500,4000,70,400,900\n")
    written(tmp_path, "b.csv", f"{WRITES}x,100,uniform,,one,4,2.5,5000\n")
    written(tmp_path, "other.csv", "a,b\n1,2\n")
    found = results.read_results(tmp_path)
    assert found.drive == "x"
    assert [row.is_reached for row in found.open_loop] == [row.offered_per_s < 2000 for row in found.open_loop]
    assert [row.read_us for row in found.open_loop] == [{"50p": 60.0, "99p": 200.0}, {"50p": 70.0, "99p": 400.0}]
    assert str(found.overwritten[0].pattern) == "uniform"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{LATENCY}x,100,1000,500,480,60,200\n", "a.csv:2: the line has other columns"),
        (f"{LATENCY}x,100,fast,500,480,60,200,9\n", "a.csv:2: offered_per_s is 'fast': a number"),
        (f"{LATENCY}x,100,0,500,480,60,200,9\n", "a.csv:2: offered_per_s is 0"),
        (f"{LATENCY}x,100,1000,500,480,0.06,200,9\n", "a.csv:2: read_us_50p is 0.06.*another unit"),
        (f"{LATENCY}x,100,1000,500,480,60,20,9\n", "a.csv:2: read_us_99p is 20, less than the percentile before"),
        (f"{WRITES}x,100,zipf-shuffle,steep,one,4,2.5,5000\n", "a.csv:2: details of zipf-shuffle is 'steep'"),
        (f"{WRITES}x,100,spiral,,one,4,2.5,5000\n", "a.csv:2: there is no pattern 'spiral'"),
        (f"{WRITES}x,100,zones-shuffle,s0.5 f0.2,one,4,2.5,5000\n", "shares of addresses and of writes that sum to 1"),
        (f'{WRITES}x,100,zones,s0.5 f" s0.5 f1,one,4,2.5,5000\n', "shares of addresses and of writes that sum to 1"),
        (f"{WRITES}x,100,zones,s-1 f0 s2 f1,one,4,2.5,5000\n", "shares of addresses and of writes that sum to 1"),
        (f"{WRITES}x,100,zones,snan f1,one,4,2.5,5000\n", "shares of addresses and of writes that sum to 1"),
        (f"{LATENCY}x,100,1000,0,0,60,200,9\n", "a.csv:2: it served nothing"),
        (f"{LATENCY}x,100,40,5000,39800,60,200,9\n", "a.csv:2: offered_per_s is 40, and 44,800/s were served"),
        (f"{LATENCY}x,1e9,1000,500,480,60,200,9\n", "a.csv:2: fill_gib is 1e\\+09.*another unit than GiB"),
        (f"{LATENCY}x,100,20000,5100,19900,65000,200000,9\n", "a.csv:2: read_us_50p is 65000.*another unit"),
        (
            f"{LATENCY}x,100,1000,500,480,60,200,9\nx,100,1000,500,480,90,200,9\n",
            "a.csv:3: read_us_50p is 90, and 60 in .*a.csv:2 for the same parameters",
        ),
        (f"{WRITES}x,100,uniform,,one,4,250,5000\n", "a.csv:2: the medium took 250 times.*in per cent"),
        ("a,b\n1,2\n", "no measurements"),
        (
            f"{LATENCY}x,100,1000,500,480,60,200,9\ny,100,1000,500,480,60,200,9\n",
            "measurements of several drives; name one of them: x, y",
        ),
    ],
)
def test_what_cannot_be_read_is_said(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DriveError, match=message):
        results.read_results(written(tmp_path, "a.csv", text))


def test_specimens_of_a_model_are_one_drive(tmp_path: Path) -> None:
    written(tmp_path, "a.csv", f"{LATENCY}x-1-a,100,1000,500,490,60,200,9\n")
    written(tmp_path, "b.csv", f"{WRITES}x-1,100,uniform,,one,4,2.5,5000\ny,100,uniform,,one,4,2.5,5000\n")
    for name in ("x-1", "x-1-a"):
        found = results.read_results(tmp_path, name)
        assert (found.drive, found.specimen, len(found.open_loop), len(found.overwritten)) == ("x-1", "x-1-a", 1, 1)
    assert results.drives(tmp_path) == ["x-1"]


def test_two_units_are_two_drives(tmp_path: Path) -> None:
    rows = "x-1-a,100,1000,500,490,60,200,9\nx-1-b,100,1000,500,490,90,200,9\nx-1,100,1000,500,490,75,200,9\n"
    written(tmp_path, "a.csv", LATENCY + rows)
    assert results.drives(tmp_path) == ["x-1", "x-1-a", "x-1-b"]
    for name, read_us in (("x-1-a", 60), ("x-1-b", 90), ("x-1", 75)):
        (row,) = results.read_results(tmp_path, name).open_loop
        assert row.read_us["50p"] == read_us
    with pytest.raises(DriveError, match="several drives; name one of them: x-1, x-1-a, x-1-b"):
        results.read_results(tmp_path)


def test_a_bad_row_matters_to_its_own_drive_alone(tmp_path: Path) -> None:
    written(tmp_path, "a.csv", f"{LATENCY}x,100,1000,500,490,60,200,9\ny,100,fast,500,490,60,200,9\ny,100,1000\n")
    assert len(results.read_results(tmp_path, "x").open_loop) == 1
    with pytest.raises(DriveError, match=r"a\.csv:3: offered_per_s is 'fast'"):
        results.read_results(tmp_path, "y")


def test_bad_rows_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    rows = "x,100,1000,500,490,60,200,9\nx,100,2000,0,0,60,200,9\nx,100,fast,500,490,60,200,9\n"
    notes: list[str] = []
    found = results.read_results(written(tmp_path, "a.csv", LATENCY + rows), note=notes.append, skip_bad=True)
    assert len(found.open_loop) == 1
    assert sorted(note.split(": ")[2] for note in notes[:2]) == ["it served nothing; run it again, or delete it",
                                                                 "offered_per_s is 'fast'"]  # fmt: skip


def test_a_copied_file_counts_once(tmp_path: Path) -> None:
    written(tmp_path, "a.csv", f"{LATENCY}x,100,1000,500,490,60,200,9\n")
    for name in ("b.csv", "c.csv"):
        # The second sequential run is as good as the first, and both belong to the series.
        written(tmp_path, name, f"{WRITES}x,100,sequential,,one,1,1.0,9000\nx,100,sequential,,one,1,1.0,9000\n")
    written(tmp_path, "d.csv", f"{LATENCY}x,100,1000,500,490,60,200,9\n")
    found = results.read_results(tmp_path)
    assert (len(found.open_loop), len(found.overwritten)) == (1, 2)


def test_patterns_that_cannot_be_played_are_left_out_by_row(tmp_path: Path) -> None:
    rows = "x,9,zns-noshuffle,,one,4,1.0,5000\nx,9,zipf-noshuffle,0.8,two,4,1.5,5000\n"
    notes: list[str] = []
    found = results.read_results(written(tmp_path, "a.csv", WRITES + rows), note=notes.append).overwritten
    assert "left out: zns at 9 GiB, one: nobody can draw its addresses again" in notes
    assert [series[0].series for series in history.playable(found)] == ["two"]


def test_requests_beside_the_offered_ones_are_inferred_from_light_rates(tmp_path: Path) -> None:
    """5,000 reads/s that no column counts: at 80,000/s offered the drive serves 94 % of 85,000/s, and is saturated."""
    rows = "".join(f"x,100,{rate},5050,{served - 5050},60,200,9\n"
                   for rate, served in ((10_000, 15_000), (20_000, 25_002), (80_000, 80_000)))  # fmt: skip
    found = results.read_results(written(tmp_path, "a.csv", LATENCY + rows)).open_loop
    assert [row.asked_per_s for row in found] == pytest.approx([15_000, 25_000, 85_000], abs=2)
    assert [row.is_saturated for row in found] == [False, False, True]


def test_the_threads_of_a_load_are_columns(tmp_path: Path) -> None:
    columns = LATENCY.strip() + ",fixed_per_s,read_share,depth,threads\n"
    (row,) = results.read_results(
        written(tmp_path, "a.csv", f"{columns}x,9,1000,700,300,60,200,9,0,0.7,32,4\n")
    ).open_loop
    assert row.load == Load(0.0, 0.7, 32, 4)
    assert row.load.under_way == 128
    with pytest.raises(DriveError, match=r"a\.csv:2: read_share is 70: 1 at most is expected"):
        results.read_results(written(tmp_path, "a.csv", f"{columns}x,9,1000,700,300,60,200,9,0,70,32,4\n"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "x,9,10000,5000,9990,40000,90000,9\nx,9,20000,5000,19900,64,200,9\n",
            "a.csv:2: read_us_50p is 40000, and 64 at",
        ),
        ("x,9,1000,500,490,60,200,9000\nx,9,2000,500,1490,64,200,9\n", "a.csv:2: write_us_50p is 9000, and 9 at a"),
        ("x,9,10000,100,900,60,200,9\nx,9,90000,5000,84900,64,200,9\n", "a.csv:2: 1,000/s were served, and 89,900/s"),
    ],
)
def test_a_row_that_heavier_loads_contradict_is_refused(rows: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DriveError, match=message):
        results.read_results(written(tmp_path, "a.csv", LATENCY + rows))
    assert len(results.read_results(tmp_path, skip_bad=True).open_loop) == 1


def test_files_that_cannot_be_read_do_not_end_the_fit_of_a_named_drive(tmp_path: Path) -> None:
    written(tmp_path, "a.csv", f"{LATENCY}x,100,1000,500,490,60,200,9\n,100,1000,500,490,60,200,9\n")
    written(tmp_path, "cut.json", '{"fio version": "fio-3.33", "jobs": [')
    notes: list[str] = []
    assert results.read_results(tmp_path, "x", notes.append).open_loop
    assert [re.sub(".*/", "", note)[:27] for note in notes[:2]] == [
        "a.csv:3: drive is missing",
        "cut.json: the JSON is cut o",
    ]
    with pytest.raises(DriveError, match="drive is missing"):
        results.read_results(tmp_path)


def test_patterns_draw_what_they_say() -> None:
    random = np.random.default_rng(0)
    pages = 10_000
    zones = Pattern.read("zones-shuffle", "s0.95 f0.05 s0.05 f0.95").addresses(pages, 200_000, random)
    counts = np.sort(np.bincount(zones, minlength=pages))[::-1]
    assert counts[: pages // 20].sum() / 200_000 == pytest.approx(0.95, abs=0.01)
    zipf = Pattern.read("zipf-shuffle", "0.8").addresses(pages, 200_000, random)
    ranked = np.sort(np.bincount(zipf, minlength=pages))[::-1] / 200_000
    weights = np.arange(1, pages + 1) ** -0.8
    assert ranked[:10].sum() == pytest.approx(weights[:10].sum() / weights.sum(), rel=0.03)
    assert list(Pattern.read("sequential", "").addresses(4, 6, random)) == [0, 1, 2, 3, 0, 1]
    assert sorted(Pattern.read("sequential-shuffle", "").addresses(50, 50, random)) == list(range(50))


def test_history_follows_the_law_and_smaller_fill_restarts(tmp_path: Path) -> None:
    rows = "x,800,sequential,,one,1,1,9000\nx,800,uniform,,one,4,2,5000\nx,600,sequential,,one,1,1,9000\n"
    found = results.read_results(written(tmp_path, "a.csv", WRITES + rows)).overwritten
    first, second = history.by_series(found)
    assert [len(first), len(second)] == [2, 1]
    sequential, uniform = history.played(first, 1000.0, ft.system("conventional", settings={"ftl.gc.victim": "greedy"}))
    assert sequential == pytest.approx(1.0)
    # Greedy is a little better than the law, which is FIFO's; with 600 blocks by less than 3 %.
    assert uniform == pytest.approx(float(amplification(1000, 800)), rel=0.03)
