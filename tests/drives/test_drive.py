"""The result of a fit is a device file that every system takes."""

from pathlib import Path

import pytest

import flashtwin as ft
from flashtwin.drives import laws
from flashtwin.drives.drive import PROGRAM_PAGES, SENSE_PAGES, FittedDrive, flash_array
from flashtwin.drives.estimates import Estimate, Estimates
from flashtwin.drives.fitting import controller
from flashtwin.drives.tables import Measurements
from flashtwin.errors import DriveError

SPACE_GIB, USED_GIB, OVERHEAD, RATE = 1073.0, 894.0, 1.03, 80_000.0


def fitted(rate: float = RATE) -> FittedDrive:
    known = Estimates(
        [
            Estimate("space_gib", SPACE_GIB, "GiB", 1070.0, 1076.0, "uniform writes at two fills"),
            Estimate("overhead", OVERHEAD), Estimate("nand.read_us", 45.0, "us"),
            Estimate("nand.read_types_us", [40.0, 50.0], "us"),
            Estimate("ftl.gc.victim", "cost-benefit"),
            Estimate("engine.suspend_us", 40.0, "us"), *controller(Measurements("mine")),
        ]
    )  # fmt: skip
    saturated = Estimate("saturated_writes_per_s", rate, "1/s", rate * 0.99, rate * 1.01)
    return FittedDrive("mine", known.with_all(flash_array(known, saturated, USED_GIB)), "made figures")


@pytest.mark.parametrize("name", ft.systems())
def test_every_system_runs_on_a_fitted_drive(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(fitted().toml, encoding="utf-8")
    config = ft.system(name, device=str(file)).config
    nand, engine, collection = config["nand"], config["engine"], config["ftl"]["gc"]
    assert (nand["program_pages"], nand["sense_pages"], nand["read_types_us"]) == (48, 4, [40.0, 50.0])
    assert (engine["suspend"], engine["suspend_us"], engine["write_completes"]) == ("program-erase", 40.0, "buffered")
    assert (collection["victim"], collection["start"]) == ("cost-benefit", collection["stop"])
    bytes_of_flash = nand["page_bytes"] * nand["pages_per_block"] * nand["blocks_per_plane"]
    bytes_of_flash *= nand["channels"] * nand["chips_per_channel"]
    assert bytes_of_flash / 2**30 == pytest.approx(SPACE_GIB, rel=0.01)


def test_program_time_leaves_time_for_collection_reads() -> None:
    keys = fitted().estimates.number
    dies = keys("nand.channels") * keys("nand.chips_per_channel")
    amplified = float(laws.amplification(SPACE_GIB, USED_GIB))
    senses_us = 45.0 * float(laws.senses(laws.valid_share(amplified), SENSE_PAGES))
    page_us = keys("nand.program_us") / PROGRAM_PAGES + senses_us
    assert dies * 1e6 / page_us / (amplified * OVERHEAD) == pytest.approx(RATE, rel=1e-3)


def test_a_rate_that_no_flash_has_is_refused() -> None:
    with pytest.raises(DriveError, match="no time for programs"):
        fitted(rate=20e6)
