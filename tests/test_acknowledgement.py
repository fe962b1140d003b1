"""When a drive answers a write, on every drive that ships: never in no time, and by rules that the drive can have."""

from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.replays import presets
from flashtwin.results.keys import undetermined

from .conftest import ROOT

FITTED = sorted(str(path) for path in (ROOT / "devices" / "real").glob("*.toml"))
DEVICES = [*ft.devices(), *FITTED]
UNITS = [*FITTED, "tlc-unit-2021"]
COMPLETES = "engine.write_completes"


@pytest.fixture(scope="module")
def trace() -> ft.Trace:
    """Writes at once and with pauses, some over pages written before. Of their contents many are known."""
    count = 60
    return ft.Trace.from_frame({
        "time_ns": [number // 6 * 3_000_000 for number in range(count)],
        "op": ["write", "write", "read"] * (count // 3),
        "offset_bytes": [number % 17 * 16_384 for number in range(count)],
        "length_bytes": [16_384] * count,
    }, name="writes")  # fmt: skip


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: Path(device).stem)
def test_no_write_is_free_on_any_drive(device: str, trace: ft.Trace) -> None:
    """Of every system, by every rule that the drive can have."""
    answered = 0
    for name in ft.systems():
        # `modern` programs several planes at once, as drives with program units do anyway.
        if name == "modern" and device in UNITS:
            continue
        system = ft.system(name, device=device)
        small = {"nand.blocks_per_plane": 40, "replay.period_s": 0.01, "replay.content": "zipf(0.9,9)"}
        for rule in presets.acknowledgements(system):
            sets = {COMPLETES: rule, **small}
            response = ft.replay(trace, system.with_sets(sets)).summary["response"]["write"]
            assert response["min_ns"] >= 1_000, (name, rule)
            answered += 1
    assert answered >= 14


def test_the_values_that_a_drive_cannot_have_are_said_with_reason() -> None:
    def on(name: str, device: str) -> list[str]:
        return presets.acknowledgements(ft.system(name, device=device))

    assert on("ca-ssd", "rr-ssd") == ["programmed", "hashed", "buffered"]
    assert on("ca-ssd", "tlc-unit-2021") == ["hashed", "buffered"], "a page would wait for its unit without end"
    assert on("modern", "tlc-2021") == ["programmed"], "a write cache answers"
    drive = ft.system("ca-ssd", device="tlc-unit-2021")
    assert "units would never fill" in presets.refusal(drive, {COMPLETES: "programmed"})
    assert "with a write cache" in presets.refusal(drive, {"engine.write_cache_pages": 4096})
    assert presets.refusal(drive, {"engine.hash_lanes": 4}) == ""


def test_a_key_is_undetermined_until_it_is_set() -> None:
    assert undetermined(ft.system("ca-ssd", device="rr-ssd").config) == ()
    for device in UNITS:
        drive = ft.system("ca-ssd", device=device)
        assert COMPLETES in undetermined(drive.config)
        assert COMPLETES not in undetermined(drive.with_sets({COMPLETES: "hashed"}).config)
        assert drive.config["engine"]["write_completes"] == "buffered"
        assert drive.config["engine"]["write_cache_protected"]
