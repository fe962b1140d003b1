"""Rules for every trace; those for every replay are in crates/sim/tests/it/swarm.rs."""

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft

from .conftest import fiu


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


@given(lines=LINES)
def test_any_trace_survives_the_way_through_parquet(lines: list[Line]) -> None:
    trace = opened(lines)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any.parquet"
        trace.write_parquet(path)
        again = ft.open(path)
    assert again.digest == trace.digest
    assert {**again.info, "format": ""} == {**trace.info, "format": ""}
