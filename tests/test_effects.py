"""Keys that change nothing: those that a system does not look at, and those whose time does not come."""

from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin.results import effects
from flashtwin.results.sweeps import load

from .conftest import fiu

DRIVE = {
    "channels": 2, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 2, "pages_per_block": 16,
    "blocks_per_plane": 10, "replay.period_s": 0.2,
}  # fmt: skip


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes and reads of few contents on few pages, so that all that a system can do is done."""
    path = tmp_path_factory.mktemp("effects") / "busy.fiu"
    pages = [turn * 7919 % 600 if turn % 3 else turn % 40 for turn in range(4_000)]
    kinds = ["W" if turn < 600 or turn % 2 else "R" for turn in range(4_000)]
    path.write_text(fiu((turn * 250_000, pages[turn], kinds[turn], pages[turn] * turn % 97) for turn in range(4_000)))
    return path


def test_points_that_differ_in_such_a_key_share_a_run(trace: Path, tmp_path: Path) -> None:
    said: list[str] = []
    out = tmp_path / "out"
    swept = ft.sweep(
        trace, out, ["conventional", "rr-ssd"], settings={"replication.alpha": [0.1, 0.2, 0.4], **_one(DRIVE)},
        workers=1, notify=said.append,
    )  # fmt: skip
    rows = swept.to_arrow().to_pylist()
    assert [row["config.ftl.replication.alpha"] for row in rows] == [0.1, 0.2, 0.4] * 2
    keys = {row["system"]: {other["key"] for other in rows if other["system"] == row["system"]} for row in rows}
    assert {name: len(found) for name, found in keys.items()} == {"conventional": 1, "rr-ssd": 3}
    line = (
        "ftl.replication.alpha changed nothing on conventional: the system does not look at it; one run stands for all "
        "values."
    )
    assert line in said
    assert [one.line for one in load(out).effects] == [one.line for one in swept.effects]
    assert line in (out / "report.html").read_text(encoding="utf-8")


def test_a_key_whose_time_does_not_come_is_said_to(trace: Path, tmp_path: Path) -> None:
    wide = {**_one(DRIVE), "blocks_per_plane": 400}
    swept = ft.sweep(
        trace, tmp_path / "out", ["rr-ssd"], settings={"replication.alpha": [0.9, 0.95], **wide}, workers=1
    )
    assert [one.why for one in swept.effects] == [
        "responses, flash operations and erases are the same for all its values; the room for copies was never used up"
    ]
    swept = ft.sweep(
        trace, tmp_path / "gc", ["conventional"], settings={"gc.victim": ["greedy", "fifo"], **wide}, workers=1
    )
    assert [one.why.split("; ")[-1] for one in swept.effects] == ["no block was collected"]
    swept = ft.sweep(
        trace, tmp_path / "full", ["conventional"], settings={"gc.victim": ["fifo", "random"], **_one(DRIVE)}, workers=1
    )
    assert swept.effects == []


def test_blocks_of_a_drive_follow_from_how_full_it_is() -> None:
    """Of three shares two gave the same drive: that is no reason to call the key without effect."""
    rows = [
        {"point": at, "trace": "t", "system": "conventional", "config.fill": fill,
         "config.nand.blocks_per_plane": blocks, "response.read.mean_ns": 1000 * blocks}
        for at, (fill, blocks) in enumerate([(0.8, 5), (0.9, 4), (0.95, 4)], start=1)
    ]  # fmt: skip
    assert effects.without_effect(rows, ["fill"], {}) == []
    assert [one.key for one in effects.without_effect(rows[1:], ["fill"], {})] == ["fill"]


def _one(sets: dict[str, Any]) -> dict[str, Any]:
    return {key: [value] for key, value in sets.items()}
