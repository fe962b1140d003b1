"""Rules for every replay, of any trace on any system: through the whole program, `verify` on."""

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft

from .conftest import fiu

#: Few pages, so that garbage collection works, and several chips, so that copies have somewhere to go.
SMALL_DEVICE = {
    "channels": 2, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 1, "blocks_per_plane": 12,
    "pages_per_block": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line of a FIU trace: a gap since the line before, a page, whether it is written, a content."""

    gap_us: int
    page: int
    write: bool
    content: int


LINES = st.lists(
    st.builds(
        Line,
        gap_us=st.sampled_from([0, 1, 50, 400, 20_000]),
        page=st.integers(0, 119),
        write=st.booleans(),
        content=st.integers(0, 60),
    ),
    min_size=1,
    max_size=400,
)


def opened(lines: list[Line]) -> ft.Trace:
    times_us = accumulate(line.gap_us for line in lines)
    rows = ((1000 * at, one.page, "RW"[one.write], one.content) for at, one in zip(times_us, lines, strict=True))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any.fiu"
        path.write_text(fiu(rows))
        return ft.open(path)


@given(lines=LINES, system=st.sampled_from(ft.systems()), period_s=st.sampled_from([0.001, 0.1, 10.0]))
def test_every_replay_adds_up(lines: list[Line], system: str, period_s: float) -> None:
    trace = opened(lines)
    summary = ft.replay(trace, system, verify=True, period_s=period_s, **SMALL_DEVICE).summary
    assert summary["requests"]["completed"] == len(trace)
    assert sum(summary["requests"][kind] for kind in ("read", "write", "trim")) == len(trace)
    assert sum(summary["flash_writes"].values()) == summary["pages_programmed"]
    for kind in ("read", "write", "all"):
        response = summary["response"][kind]
        if response["count"]:
            assert abs(sum(response["split"].values()) - response["mean_ns"]) <= 1e-6 * response["mean_ns"] + 1e-6
            assert response["min_ns"] <= response["p50_ns"] <= response["p99_ns"] <= response["max_ns"]
        else:
            assert response["mean_ns"] is None


@given(lines=LINES)
def test_any_trace_survives_the_way_through_parquet(lines: list[Line]) -> None:
    trace = opened(lines)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any.parquet"
        trace.write_parquet(path)
        again = ft.open(path)
    assert again.digest == trace.digest
    assert {**again.info, "format": ""} == {**trace.info, "format": ""}
