"""The devices that were fitted to real drives are whole, and their figures are those of the data."""

import json

import pytest

import flashtwin as ft
from flashtwin.results.keys import undetermined

from ..conftest import ROOT

DEVICES = sorted((ROOT / "devices" / "real").glob("*.toml"))
DATA = ROOT / "docs" / "evidence" / "real-drives.json"


def test_every_drive_that_was_fitted_has_its_device() -> None:
    """The record of the study names the drives; python -m evidence writes their devices."""
    assert [path.stem for path in DEVICES] == json.loads(DATA.read_text(encoding="utf-8"))["figures"]["names"]


@pytest.mark.parametrize("name", [path.stem for path in DEVICES])
def test_device_states_its_source_and_error(name: str) -> None:
    path = ROOT / "devices" / "real" / f"{name}.toml"
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Measurements: Haas")
    assert f'# {name}, fitted to measurements.\nsource = "Fitted on ' in text
    assert "# predicted, below the knee: read p50: " in text
    for system in ("conventional", "rr-ssd"):
        config = ft.system(system, device=str(path)).config
        assert config["engine"]["suspend"] != "none"
        assert "engine.write_completes" in undetermined(config)
