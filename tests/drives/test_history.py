"""A small drive amplifies as the large one does that it stands for."""

import pytest

import flashtwin as ft
from flashtwin.drives import history
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import OverwriteRun

BLOCKS, LARGE, SMALL = 300, 4096, 512


def amplified(pattern: Pattern, pages: int, space_gib: float, monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(history, "BLOCKS", BLOCKS)
    monkeypatch.setattr(history, "BLOCK_PAGES", pages)
    keys = {**history._ONE_PLANE, "nand.blocks_per_plane": BLOCKS, "nand.pages_per_block": pages}
    monkeypatch.setattr(history, "_ONE_PLANE", {**keys, **history.begin_collection(BLOCKS)})
    runs = ((Pattern("sequential"), 1.0), (pattern, 3.0))
    rows = [OverwriteRun(0.84 * space_gib, one, "one", times, None, 0.0) for one, times in runs]
    drive = ft.system("conventional", settings={"ftl.gc.victim": "greedy"})
    return history.played(rows, space_gib, drive)[-1]


@pytest.mark.parametrize("exponent", [0.8, 1.0])
def test_skew_survives_on_a_smaller_drive(exponent: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The large one has as many pages as its space says: each is a rank of its own."""
    zipf = Pattern("zipf", is_shuffled=True, exponent=exponent)
    space_gib = (BLOCKS - history.KEPT_BACK) * LARGE * 4096 / 2**30
    large = amplified(zipf, LARGE, space_gib, monkeypatch)
    assert amplified(zipf, SMALL, space_gib, monkeypatch) == pytest.approx(large, rel=0.02)


def test_without_the_ranks_of_the_large_drive_the_small_one_amplifies_more(monkeypatch: pytest.MonkeyPatch) -> None:
    zipf = Pattern("zipf", is_shuffled=True, exponent=1.0)
    per_page = (BLOCKS - history.KEPT_BACK) * 4096 / 2**30
    few, many = (amplified(zipf, SMALL, pages * per_page, monkeypatch) for pages in (SMALL, 1000 * SMALL))
    assert many < 0.9 * few


@pytest.mark.parametrize(("cold", "least", "most"), [(0.9, 1.0, 1.5), (0.6, 3.0, 4.5)])
def test_a_hot_tenth_stays_apart_after_a_fill_in_order(
    cold: float, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth that alone is written fits in the spare space twice, so that nothing cold need ever be moved."""
    zones = Pattern("zones", is_shuffled=True, zones=((cold, 0.0), (1.0 - cold, 1.0)))
    assert least < amplified(zones, SMALL, 4000.0, monkeypatch) < most
