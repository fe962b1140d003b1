"""Results that an inquiry keeps, and input that it refuses."""

from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.causes import replaying

from .scenarios import slow_bus


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """A folder of one run, whose trace is a file beside it."""
    slow_bus().trace().write_parquet(tmp_path / "bus.parquet")
    trace = ft.open(tmp_path / "bus.parquet")
    ft.study(trace, tmp_path / "out", ["conventional"], settings=slow_bus().settings, effort=0)
    return tmp_path / "out"


def test_a_folder_is_explained_from_what_it_holds(compared: Path) -> None:
    with pytest.raises(ft.ReportError, match="nothing in it was explained"):
        ft.Explanations.read(compared)
    found = ft.explain(compared, effort=None)
    assert found["conventional"].answer == "bus"
    assert ft.Explanations.read(compared)["conventional"].data == found["conventional"].data
    assert "--set nand.bus_mt_s=" in found["conventional"].command


def test_what_was_replayed_is_not_replayed_again(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ft.explain(compared, effort=None)
    monkeypatch.setattr(replaying, "_run", lambda *_: pytest.fail("replayed again"))
    assert ft.explain(compared, effort=None)["conventional"].data == first["conventional"].data


def test_a_trace_that_is_gone_or_another_is_named_with_the_cure(compared: Path) -> None:
    file = compared.parent / "bus.parquet"
    file.rename(compared.parent / "moved.parquet")
    with pytest.raises(ft.TraceError, match="is not there; name it: `flashtwin explain"):
        ft.explain(compared)
    assert ft.explain(compared, trace=compared.parent / "moved.parquet", effort=0)["conventional"].answer == "unknown"
    ft.Trace.from_frame({"time_ns": [0], "op": ["R"], "offset_bytes": [0], "length_bytes": [4096]}).write_parquet(file)
    with pytest.raises(ft.TraceError, match="another one than the runs were made from"):
        ft.explain(compared)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "read.p98"}, "did you mean 'read.p9"),
        ({"systems": ["ca-ssd"]}, "no run is called 'ca-ssd'"),
        ({"hash_lanes": 2}, "runs are explained as they were made"),
    ],
)
def test_what_cannot_be_meant_is_refused(compared: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ft.FlashtwinError, match=message):
        ft.explain(compared, **arguments)  # type: ignore[arg-type]
