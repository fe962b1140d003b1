"""The result of a fit is a device file that every system takes."""

from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.drives.drive import FittedDrive, fitted_rows, settings
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.patterns import Pattern
from flashtwin.drives.tables import Measurements, OpenLoop, OverwriteRun

SPACE_GIB, USED_GIB = 1073.0, 894.0
SEEN = Measurements(
    "mine", tuple(OpenLoop(USED_GIB, rate, 0.0, rate, {"50p": 60.0}, {}) for rate in (20e3, 40e3)),
    (OverwriteRun(USED_GIB, Pattern("uniform"), "a", 4.0, 2.0, 80e3),),
)  # fmt: skip


def fitted() -> FittedDrive:
    keys = {
        "space_gib": SPACE_GIB, "overhead": 1.03, "nand.program_us": 1500.0, "engine.controller_us": 10.0,
        "idle_read_us": 58.03, "fast_page_share": 0.5, "slow_page_more_us": 10.0, "engine.suspend_us": 40.0,
        "engine.suspend_slice_us": 90.0, "engine.resume_us": 5.0,
    }  # fmt: skip
    sources = {"space_gib": "uniform writes at two fills"}
    estimates = [*settings(keys, 16, sources, USED_GIB), Estimate("ftl.gc.victim", "cost-benefit")]
    return FittedDrive("mine", Estimates(estimates), SEEN)


@pytest.mark.parametrize("name", ft.systems())
def test_every_system_runs_on_a_fitted_drive(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(fitted().toml, encoding="utf-8")
    config = ft.system(name, device=str(file)).config
    nand, engine, collection = config["nand"], config["engine"], config["ftl"]["gc"]
    assert (nand["program_pages"], nand["sense_pages"], nand["read_types_us"]) == (48, 4, [45.0] * 6 + [55.0] * 6)
    assert (engine["suspend"], engine["suspend_us"], engine["write_completes"]) == ("program-erase", 40.0, "buffered")
    assert (collection["victim"], collection["start"]) == ("cost-benefit", collection["stop"])
    bytes_of_flash = nand["page_bytes"] * nand["pages_per_block"] * nand["blocks_per_plane"]
    bytes_of_flash *= nand["channels"] * nand["chips_per_channel"]
    assert bytes_of_flash / 2**30 == pytest.approx(SPACE_GIB, rel=0.01)


def test_the_device_file_names_the_rows_that_the_fit_has_seen(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(fitted().toml, encoding="utf-8")
    rows = fitted_rows(ft.system("rr-ssd", device=str(file)))
    assert (rows.drive, rows.fill_gib) == ("mine", USED_GIB)
    new = OpenLoop(USED_GIB, 50e3, 0.0, 50e3, {"50p": 60.0}, {})
    assert rows.among(Measurements("mine", (*SEEN.open_loop, new), SEEN.overwritten)) == SEEN
    for other in (Measurements("yours", SEEN.open_loop), Measurements("mine", SEEN.open_loop, unit="b")):
        assert rows.among(other).open_loop == ()
    assert fitted_rows(ft.system("conventional", device="tlc-unit-2021")) is None
    file.write_text(fitted().toml.replace("open loop at 20000", "open loop at many"), encoding="utf-8")
    assert fitted_rows(ft.system("rr-ssd", device=str(file))) is None
