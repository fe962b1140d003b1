"""Rules for every trace; those for every replay are in crates/sim/tests/it/swarm.rs."""

from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft

from .conftest import fiu

#: Requests of a page: the gap since the one before in us, the page, the kind, the content.
REQUESTS = st.lists(
    st.tuples(st.sampled_from([0, 1, 50, 400, 20_000]), st.integers(0, 119), st.sampled_from("RW"), st.integers(0, 60)),
    min_size=1,
    max_size=400,
)


@given(requests=REQUESTS)
def test_any_trace_survives_the_way_through_parquet(requests: list[tuple[int, int, str, int]]) -> None:
    times_us = accumulate(gap_us for gap_us, *_ in requests)
    with TemporaryDirectory() as folder:
        text, parquet = Path(folder) / "any.fiu", Path(folder) / "any.parquet"
        text.write_text(fiu((1000 * at, *rest) for at, (_, *rest) in zip(times_us, requests, strict=True)))
        trace = ft.open(text)
        trace.write_parquet(parquet)
        again = ft.open(parquet)
    assert again.digest == trace.digest
    assert {**again.info, "format": "", "read_as": {}} == {**trace.info, "format": "", "read_as": {}}
